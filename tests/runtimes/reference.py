"""The exact convolution of the library's host reference, with the error bound that tests in C++ use."""
import ctypes
import os

import numpy as np

_library = ctypes.CDLL(os.environ["SHIFTCONV_TEST_REFERENCE"])
_library.reference_convolve.restype = ctypes.c_char_p


def exact(line, operands, shape, device):
    """Values before their conversion to the output type, and how far from each a result may be; both f64, of this shape.

    line:      a problem, " | algorithm NAME" may follow
    operands:  input, filter, bias, residual, channel scale; None where the problem has none
    device:    as SHIFTCONV_DEVICE has it, "emulated:sm_90a" or "cuda:0" for example; the problem is planned for it"""
    kept = [None if operand is None else np.ascontiguousarray(operand) for operand in operands]
    addresses = (ctypes.c_void_p * 5)(*[None if operand is None else operand.ctypes.data for operand in kept])
    value, bound = np.empty(shape), np.empty(shape)
    double = ctypes.POINTER(ctypes.c_double)
    failure = _library.reference_convolve(line.encode(), device.encode(), addresses, value.ctypes.data_as(double), bound.ctypes.data_as(double))
    if failure is not None:
        raise ValueError(failure.decode())
    return value, bound
