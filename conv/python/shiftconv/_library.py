"""Finds and loads libshiftconv, and turns its statuses into exceptions and its buffers into strings."""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from typing import Any, Callable, Optional

from .errors import error_of

SONAME = "libshiftconv.so.0.3"
_ABI = (0, 3)

_loading = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def library_folder() -> Optional[pathlib.Path]:
    """The folder that holds libshiftconv, the emulated device and the glue of frameworks: that of the file that the environment
    variable SHIFTCONV_LIBRARY names, else ``lib`` inside the package. None where neither has a library; the system's loader
    is asked then."""
    named = os.environ.get("SHIFTCONV_LIBRARY")
    if named:
        return pathlib.Path(named).resolve().parent
    folder = pathlib.Path(__file__).resolve().parent / "lib"
    return folder if (folder / SONAME).exists() else None


def library_path() -> str:
    """What the loader is asked for: the path of libshiftconv, or its bare name where the system has to find it."""
    named = os.environ.get("SHIFTCONV_LIBRARY")
    if named:
        return named
    folder = library_folder()
    return str(folder / SONAME) if folder else SONAME


def glue_path(framework: str) -> str:
    """Path of the library that connects a framework ("torch", "jax", "onnxruntime") to ShiftConv. It need not exist.

    Raises:
        FileNotFoundError: there is no folder to look in: libshiftconv is the system's.
    """
    folder = library_folder()
    if folder is None:
        raise FileNotFoundError(
            f"libshiftconv_{framework}.so is looked for beside {SONAME}, which is neither inside the package nor named by "
            "SHIFTCONV_LIBRARY"
        )
    return str(folder / f"libshiftconv_{framework}.so")


def library() -> ctypes.CDLL:
    """libshiftconv, loaded at the first call.

    Raises:
        OSError: it cannot be loaded, or has another ABI than this package.
    """
    global _loaded
    if _loaded is None:
        with _loading:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def _load() -> ctypes.CDLL:
    path = library_path()
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise OSError(f"{path} cannot be loaded ({error}); SHIFTCONV_LIBRARY may name it") from error
    version = loaded.shiftconv_version()
    if (version // 10000, version // 100 % 100) != _ABI:
        raise OSError(f"{path} has version {version // 10000}.{version // 100 % 100}, but this package needs 0.3")
    for name, (result, arguments) in _signatures().items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def _signatures() -> dict[str, tuple[Any, list[Any]]]:
    from ._structures import AutotuneC, DevicePropertiesC, EstimateC, PlanOptionsC, ProblemC, TensorBytesC, TensorsC

    status, handle, text = ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p
    size, integer = ctypes.c_size_t, ctypes.c_int
    pointer = ctypes.POINTER
    written = [ctypes.c_char_p, size, pointer(size)]
    problem, properties = pointer(ProblemC), pointer(DevicePropertiesC)
    return {
        "shiftconv_version_string": (text, []),
        "shiftconv_status_string": (text, [integer]),
        "shiftconv_last_error": (text, []),
        "shiftconv_device_count": (status, [pointer(integer)]),
        "shiftconv_device_enumerate": (status, [integer, properties]),
        "shiftconv_device_preset": (status, [text, properties]),
        "shiftconv_device_open_named": (status, [text, pointer(handle)]),
        "shiftconv_device_close": (status, [handle]),
        "shiftconv_device_get_properties": (status, [handle, properties]),
        "shiftconv_device_allocate": (status, [handle, size, pointer(handle)]),
        "shiftconv_device_free": (status, [handle, handle]),
        "shiftconv_copy_to_device": (status, [handle, handle, handle, size, handle]),
        "shiftconv_copy_to_host": (status, [handle, handle, handle, size, handle]),
        "shiftconv_device_fill": (status, [handle, handle, ctypes.c_uint8, size, handle]),
        "shiftconv_stream_create": (status, [handle, pointer(handle)]),
        "shiftconv_stream_destroy": (status, [handle, handle]),
        "shiftconv_stream_synchronize": (status, [handle, handle]),
        "shiftconv_device_set_option": (status, [handle, text, text]),
        "shiftconv_device_counters": (status, [handle, integer, *written]),
        "shiftconv_device_reset_counters": (status, [handle]),
        "shiftconv_problem_validate": (status, [problem]),
        "shiftconv_problem_output_size": (status, [problem, *[pointer(ctypes.c_int64)] * 3]),
        "shiftconv_problem_tensor_bytes": (status, [problem, pointer(TensorBytesC)]),
        "shiftconv_problem_describe": (status, [problem, *written]),
        "shiftconv_problem_parse": (status, [text, problem]),
        "shiftconv_algorithm_count": (integer, []),
        "shiftconv_algorithm_name": (text, [integer]),
        "shiftconv_algorithm_options": (status, [text, *written]),
        "shiftconv_support": (status, [problem, properties, text, *written]),
        "shiftconv_plan_create": (status, [problem, properties, pointer(PlanOptionsC), pointer(handle)]),
        "shiftconv_plan_autotune": (status, [problem, handle, pointer(PlanOptionsC), pointer(AutotuneC), pointer(handle)]),
        "shiftconv_plan_to_bytes": (status, [handle, handle, size, pointer(size)]),
        "shiftconv_plan_from_bytes": (status, [ctypes.c_char_p, size, pointer(handle)]),
        "shiftconv_plan_destroy": (status, [handle]),
        "shiftconv_plan_describe": (status, [handle, *written]),
        "shiftconv_plan_candidates": (status, [handle, *written]),
        "shiftconv_plan_estimate": (status, [handle, pointer(EstimateC)]),
        "shiftconv_plan_algorithm": (text, [handle]),
        "shiftconv_plan_options": (text, [handle]),
        "shiftconv_plan_kernel_name": (text, [handle]),
        "shiftconv_plan_workspace_size": (status, [handle, pointer(size)]),
        "shiftconv_plan_prepare": (status, [handle, handle]),
        "shiftconv_run": (status, [handle, handle, pointer(TensorsC), handle]),
    }


def check(status: int) -> None:
    """Raises the exception of a status that is not success, with the library's sentence."""
    if status != 0:
        raise error_of(status, library().shiftconv_last_error().decode())


def text_of(function: Callable[..., int]) -> str:
    """The whole text of a C function that takes (buffer, size, needed) last."""
    size = 1024
    while True:
        buffer, needed = ctypes.create_string_buffer(size), ctypes.c_size_t()
        check(function(buffer, size, ctypes.byref(needed)))
        if needed.value <= size:
            return buffer.value.decode()
        size = needed.value
