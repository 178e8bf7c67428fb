"""ShiftConv as a plugin execution provider of ONNX Runtime 1.23 and later.

    import onnxruntime as ort, shiftconv.onnxruntime as sc
    ort.register_execution_provider_library("shiftconv", sc.get_library_path())
    devices = [device for device in ort.get_ep_devices() if device.ep_name == sc.get_ep_name()]
    options = ort.SessionOptions()
    options.add_provider_for_devices(devices, {"device": "cuda:0"})
    session = ort.InferenceSession("model.onnx", sess_options=options)
    print(sc.report())

This module needs no onnxruntime itself.
"""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any

from ._library import glue_path

__all__ = ["get_ep_name", "get_ep_names", "get_library_path", "report"]


def get_library_path() -> str:
    """Path of libshiftconv_onnxruntime.so, for onnxruntime.register_execution_provider_library.

    It lies beside libshiftconv.so: in the package's folder `lib`, or where the environment variable SHIFTCONV_LIBRARY says.
    FileNotFoundError where there is none."""
    path = glue_path("onnxruntime")
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no {path}; see docs/runtimes/onnxruntime.md for how to build it")
    return path


def get_ep_name() -> str:
    """The provider's name in ONNX Runtime."""
    return "ShiftConvExecutionProvider"


def get_ep_names() -> list[str]:
    """All names of providers in the library."""
    return [get_ep_name()]


def report() -> dict[str, Any]:
    """What the provider took of the graphs of the session that was made last in this process, and why not the rest.

    A dictionary: "device" is the name of the device that convolves; "graphs" has one for each graph that ONNX Runtime showed, with
    "nodes", each with "name", "op", "claimed" and, where that is false, "reason", and "islands", lists of names of nodes that run as
    one; "steps" has a list for each island that was compiled: of each step the name of the last node in it."""
    library = ctypes.CDLL(get_library_path())
    needed = ctypes.c_size_t()
    library.shiftconv_onnxruntime_report(None, ctypes.c_size_t(0), ctypes.byref(needed))
    buffer = ctypes.create_string_buffer(needed.value)
    library.shiftconv_onnxruntime_report(buffer, needed, ctypes.byref(needed))
    result: dict[str, Any] = json.loads(buffer.value)
    return result
