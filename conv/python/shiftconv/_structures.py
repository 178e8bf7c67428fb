"""The structures of shiftconv.h for ctypes."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p


class _Sized(ctypes.Structure):
    """A structure whose first field is its own size, as the library wants it."""

    def __init__(self, **fields: object) -> None:
        super().__init__(size=ctypes.sizeof(self), **fields)


class DevicePropertiesC(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int32),
        ("compute_major", c_int32),
        ("compute_minor", c_int32),
        ("multiprocessors", c_uint32),
        ("shared_bytes_per_block", c_uint32),
        ("reserved", c_uint32),
        ("l2_bytes", c_uint64),
        ("global_bytes", c_uint64),
        ("name", c_char * 128),
    ]


class BlockScaleC(ctypes.Structure):
    _fields_ = [("block_size", c_int64), ("type", c_int32), ("order", c_int32)]


_LENGTHS = (
    "n d h w c k t r s groups pad_front pad_back pad_top pad_bottom pad_left pad_right stride_d stride_h stride_w "
    "dilation_d dilation_h dilation_w input_pixel_pitch output_pixel_pitch residual_pixel_pitch"
).split()
_TYPES = "input_type filter_type output_type bias_type residual_type compute".split()
_SCALES = "input_block_scale filter_block_scale output_block_scale".split()
_OUTPUT_PADDINGS = "output_padding_d output_padding_h output_padding_w".split()
_UPSAMPLE = "upsample_d upsample_h upsample_w".split()
_SPLIT = "split_c split_d second_pixel_pitch".split()
_INTEGERS = "input_zero_point filter_zero_point output_zero_point has_bias has_channel_scale has_amax".split()


class ProblemC(_Sized):
    _fields_ = [
        ("size", c_size_t),
        *((name, c_int64) for name in _LENGTHS),
        *((name, c_int32) for name in _TYPES),
        *((name, BlockScaleC) for name in _SCALES),
        *((name, c_int32) for name in _INTEGERS),
        ("alpha", c_float),
        ("beta", c_float),
        ("out_scale", c_float),
        ("activation", c_int32),
        ("activation_a", c_float),
        ("activation_b", c_float),
        ("transposed", c_int32),
        ("rounding", c_int32),
        *((name, c_int64) for name in _OUTPUT_PADDINGS + _UPSAMPLE),
        ("input_layout", c_int32),
        ("output_layout", c_int32),
        *((name, c_int64) for name in _SPLIT),
        ("filter_flipped", c_int32),
        ("residual_last", c_int32),
    ]


PROBLEM_FIELDS = tuple(name for name, *_ in ProblemC._fields_[1:])
LONG_FIELDS = frozenset(_LENGTHS + _OUTPUT_PADDINGS + _UPSAMPLE + _SPLIT)  # of 64 bits

# SHIFTCONV_PROBLEM_INIT: what is not 0.
PROBLEM_INIT = {
    **dict.fromkeys("d t groups stride_d stride_h stride_w dilation_d dilation_h dilation_w".split() + _UPSAMPLE, 1),
    "bias_type": 2,
    "alpha": 1.0,
    "out_scale": 1.0,
}

TENSORS = "input filter bias residual channel_scale input_scale filter_scale output output_scale amax second_input".split()


class TensorBytesC(_Sized):
    _fields_ = [("size", c_size_t), *((name, c_size_t) for name in TENSORS)]


class TensorsC(_Sized):
    _fields_ = [("size", c_size_t), *((name, c_void_p) for name in [*TENSORS[:-1], "workspace", TENSORS[-1], "packed_filter"])]


class PlanOptionsC(_Sized):
    _fields_ = [("size", c_size_t), ("algorithm", c_char_p), ("options", c_char_p), ("multiprocessors", c_uint32), ("batch_invariant", c_int32), ("constant_filter", c_int32), ("no_workspace", c_int32)]


class AutotuneC(_Sized):
    _fields_ = [
        ("size", c_size_t),
        ("cache", c_char_p),
        ("seconds", c_double),
        ("candidates", c_uint32),
        ("reserved", c_uint32),
    ]


class EstimateC(_Sized):
    _fields_ = [("size", c_size_t), ("seconds", c_double), ("flops", c_double), ("bytes", c_double), ("bound", c_char_p)]
