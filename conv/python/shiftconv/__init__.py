"""ShiftConv: forward convolution on NVIDIA Hopper and Blackwell GPUs, and on emulated ones, which need no GPU.

>>> import shiftconv
>>> problem = shiftconv.Problem.parse("32x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias relu")
>>> print(shiftconv.Plan(problem, shiftconv.preset("H200")).describe())

The package is pure Python over the C API of libshiftconv.so and needs no other package. Frameworks are in modules of their own,
such as ``shiftconv.torch``, which import the framework.
"""

from __future__ import annotations

from ._library import glue_path, library, library_folder, library_path
from .device import Device, DeviceKind, DeviceProperties, Memory, devices, emulate, preset
from .errors import DeviceError, Error, InternalError, InvalidArgument, NotFound, OutOfMemory, Unsupported
from .plan import Estimate, Plan, algorithm_options, algorithms, support
from .problem import Activation, BlockScale, Compute, Layout, Problem, Rounding, ScaleOrder, TensorBytes, Type

__version__ = "0.3.0"


def library_version() -> str:
    """Version of the loaded library, such as "0.3.0"."""
    return str(library().shiftconv_version_string().decode())


__all__ = [
    "Activation",
    "BlockScale",
    "Compute",
    "Device",
    "DeviceError",
    "DeviceKind",
    "DeviceProperties",
    "Error",
    "Estimate",
    "InternalError",
    "InvalidArgument",
    "Memory",
    "NotFound",
    "OutOfMemory",
    "Plan",
    "Layout",
    "Problem",
    "Rounding",
    "ScaleOrder",
    "TensorBytes",
    "Type",
    "Unsupported",
    "algorithm_options",
    "algorithms",
    "devices",
    "emulate",
    "glue_path",
    "library_folder",
    "library_path",
    "library_version",
    "preset",
    "support",
]
