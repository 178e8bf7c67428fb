"""Convolutions of ShiftConv in JAX programs.

    import shiftconv.jax
    y = jax.jit(lambda x: shiftconv.jax.conv(x, w, bias, stride=2, padding=1, activation="relu"))(x)

Layouts are the library's, channels last: x is [N, W, C], [N, H, W, C] or [N, D, H, W, C]; w is [K, S, C/groups],
[K, R, S, C/groups] or [K, T, R, S, C/groups]; the result is like x, with K channels. In the words of
`jax.lax.conv_general_dilated`, 2-D: dimension_numbers=("NHWC", "OHWI", "NHWC").

Arrays on a GPU are convolved there, in XLA's stream. Arrays on the CPU are convolved by the emulated device, once it is asked for:
shiftconv.emulate(), or SHIFTCONV_DEVICE=emulated (or emulated:sm_90a) in the environment.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

from ._library import glue_path
from .problem import Problem

__all__ = ["conv", "ACTIVATIONS"]

#: Activations and how many numbers `activation_parameters` has for each.
ACTIVATIONS = {"none": 0, "relu": 0, "leaky_relu": 1, "clamp": 2, "gelu_erf": 0, "gelu_tanh": 0, "silu": 0, "hard_swish": 0,
               "sigmoid": 0, "tanh": 0}

_TARGET = "shiftconv_conv"
_TYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "int8": "s8",
          "uint8": "u8", "int32": "s32"}
_OPERAND_TYPES = ("f16", "bf16", "f32", "e4m3", "e5m2", "s8", "u8")


def conv(x: jax.typing.ArrayLike, w: jax.typing.ArrayLike, bias: Optional[jax.typing.ArrayLike] = None,
         residual: Optional[jax.typing.ArrayLike] = None, *, stride: Union[int, Sequence[int]] = 1,
         padding: Union[int, str, Sequence[Union[int, Sequence[int]]]] = 0, dilation: Union[int, Sequence[int]] = 1, groups: int = 1,
         activation: str = "none", activation_parameters: Sequence[float] = (), residual_last: bool = False,
         channel_scale: Optional[jax.typing.ArrayLike] = None, alpha: float = 1.0, beta: float = 1.0, out_dtype: Any = None,
         compute: str = "default", algorithm: Optional[str] = None, options: Optional[str] = None) -> jax.Array:
    """act(alpha * channel_scale * conv(x, w) + bias + beta * residual), or with residual_last
    act(alpha * channel_scale * conv(x, w) + bias) + beta * residual, in the output's type.

    x, w:           see the module; f16, bf16, f32, float8_e4m3fn, float8_e5m2, int8 or uint8.
    bias:           [K], f32, f16 or bf16.
    residual:       of the result's shape; any of these types, or int32.
    channel_scale:  [K], f32.
    stride, dilation:  a number, or one for each spatial axis.
    padding:        a number, one for each axis, a pair (before, after) for each axis, "VALID" or "SAME" (as in lax).
    activation:     a key of ACTIVATIONS, with so many activation_parameters: leaky_relu (slope,), clamp (least, most).
    residual_last:  the residual is added to what the activation gives. Only with a residual.
    out_dtype:      the result's type; None: that of x (integers: int32).
    compute:        "default", "tf32" (f32 operands without their 13 low bits) or "f16" (sums in f16).
    algorithm, options:  override the planner, see docs/planner.md.

    Errors: ValueError and TypeError name the argument. What no algorithm can do on the device shows when the program runs, as a
    ValueError or a jax.errors.JaxRuntimeError with the library's sentence. Transformations: jit, vmap (folded into N, unless w, bias or
    channel_scale are batched, too), arrays that are sharded over N (other axes are gathered first). There is no derivative."""
    operands = {"x": x, "w": w, "bias": bias, "residual": residual, "channel_scale": channel_scale}
    operands = {name: jnp.asarray(value) for name, value in operands.items() if value is not None}
    problem = _problem(operands, stride, padding, dilation, groups, activation, activation_parameters, residual_last, alpha, beta,
                       out_dtype, compute, algorithm, options)
    problem.check(operands)
    _register()
    return _differentiable(problem)(*operands.values())


class _Problem(NamedTuple):
    """A convolution but for the number of images; hashable."""
    names: tuple  # of the operands
    input: tuple  # extents behind N: D, H, W, C
    filter: tuple  # K, T, R, S, C/groups
    types: tuple  # of the operands, in the library's words
    rank: int  # of the arrays
    groups: int
    padding: tuple  # six numbers
    stride: tuple
    dilation: tuple
    activation: str
    residual_last: bool
    alpha: float
    beta: float
    out_type: str
    compute: str
    algorithm: str
    options: str

    def line(self, images):
        """For shiftconv_problem_parse."""
        kind = dict(zip(self.names, self.types))

        def shape(extents):
            return "x".join(map(str, extents))

        def numbers(values):
            return ",".join(map(str, values))
        text = f"{shape((images, *self.input))} {kind['x']} * {shape(self.filter)} {kind['w']} groups {self.groups}"
        text += f" pad {numbers(self.padding)} stride {numbers(self.stride)} dilation {numbers(self.dilation)}"
        if self.compute != "default":
            text += f" compute {self.compute}"
        text += f" -> {self.out_type} alpha {self.alpha!r}"
        if "channel_scale" in kind:
            text += " channel_scale"
        if "bias" in kind:
            text += f" bias {kind['bias']}"
        if "residual" in kind:
            text += f" residual {self.beta!r} residual_type {kind['residual']}"
        if self.residual_last:
            text += " residual_last"
        return text if self.activation == "none" else f"{text} {self.activation}"

    def attribute(self, images):
        """For the targets: the line and what overrides the planner."""
        text = self.line(images)
        if self.algorithm:
            text += f" | algorithm {self.algorithm}"
        return f"{text} | options {self.options}" if self.options else text

    def result(self, images):
        """What comes out for so many images."""
        spatial = Problem.parse(self.line(max(images, 1))).output_size[5 - self.rank:]
        return jax.ShapeDtypeStruct((images, *spatial, self.filter[0]), _dtypeOf(self.out_type))

    def check(self, operands):
        """Shapes of the operands beside x and w."""
        x = operands["x"]
        if x.shape[0] == 0:
            raise ValueError("x must have at least one image, but N is 0")
        result, k = self.result(x.shape[0]), self.filter[0]
        wanted = {"bias": (k,), "channel_scale": (k,), "residual": result.shape}
        for name, shape in wanted.items():
            if name in operands and operands[name].shape != shape:
                raise ValueError(f"{name} must have the shape {shape}, but has {operands[name].shape}")


def _problem(operands, stride, padding, dilation, groups, activation, activation_parameters, residual_last, alpha, beta, out_dtype,
             compute, algorithm, options):
    x, w = operands["x"], operands["w"]
    if x.ndim not in (3, 4, 5):
        raise ValueError(f"x must have 3, 4 or 5 axes (images, one to three spatial axes, channels), but has the shape {x.shape}")
    if w.ndim != x.ndim:
        raise ValueError(f"w must have {x.ndim} axes as x has, but has the shape {w.shape}")
    types = {name: _typeOf(name, value.dtype) for name, value in operands.items()}
    for name in ("x", "w"):
        if types[name] not in _OPERAND_TYPES:
            raise TypeError(f"{name} must be of one of the types {', '.join(_OPERAND_TYPES)}, but is {types[name]}")
    if "bias" in types and types["bias"] not in ("f32", "f16", "bf16"):
        raise TypeError(f"bias must be f32, f16 or bf16, but is {types['bias']}")
    if "channel_scale" in types and types["channel_scale"] != "f32":
        raise TypeError(f"channel_scale must be f32, but is {types['channel_scale']}")
    axes = x.ndim - 2
    strides, dilations = _steps("stride", stride, axes), _steps("dilation", dilation, axes)
    if not isinstance(groups, int) or groups < 1:
        raise ValueError(f"groups must be a positive number, but is {groups!r}")
    if w.shape[-1] * groups != x.shape[-1]:
        raise ValueError(f"w must have C / groups = {x.shape[-1]} / {groups} channels, but has {w.shape[-1]}")
    pads = _pads(padding, x.shape[1:-1], w.shape[1:-1], strides, dilations)
    if compute not in ("default", "tf32", "f16"):
        raise ValueError(f"compute must be default, tf32 or f16, but is {compute!r}")
    out_type = ("s32" if types["x"] in ("s8", "u8") else types["x"]) if out_dtype is None else _typeOf("out_dtype", out_dtype)
    missing = 3 - axes
    problem = _Problem(
        names=tuple(operands), types=tuple(types.values()), input=(1,) * missing + tuple(x.shape[1:]),
        filter=(w.shape[0],) + (1,) * missing + tuple(w.shape[1:]), rank=x.ndim, groups=groups,
        padding=(0,) * (2 * missing) + pads, stride=(1,) * missing + strides, dilation=(1,) * missing + dilations,
        activation=_activation(activation, activation_parameters), residual_last=residual_last, alpha=_number("alpha", alpha),
        beta=_number("beta", beta), out_type=out_type, compute=compute, algorithm=algorithm or "", options=options or "")
    if "residual" in operands and problem.beta == 0:
        raise ValueError("beta must not be 0 with a residual; leave out the residual")
    if not isinstance(residual_last, bool):
        raise TypeError(f"residual_last must be True or False, but is {residual_last!r}")
    if residual_last and "residual" not in operands:
        raise ValueError("residual_last must be False without a residual")
    return problem


def _typeOf(name, dtype):
    kind = _TYPES.get(jnp.dtype(dtype).name)
    if kind is None:
        raise TypeError(f"{name} must be of one of the types {', '.join(_TYPES)}, but is {jnp.dtype(dtype).name}")
    return kind


def _dtypeOf(kind):
    return jnp.dtype(next(name for name, known in _TYPES.items() if known == kind))


def _number(name, value):
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, but is {value}")
    return value


def _steps(name, value, axes):
    values = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(values) != axes or not all(isinstance(step, int) and step >= 1 for step in values):
        raise ValueError(f"{name} must be a positive number, or {axes} of them, but is {value!r}")
    return values


def _pads(padding, extents, taps, strides, dilations):
    axes = len(extents)
    if padding == "VALID":
        padding = 0
    if padding == "SAME":
        pads = []
        for extent, count, stride, dilation in zip(extents, taps, strides, dilations):
            total = max((-(-extent // stride) - 1) * stride + (count - 1) * dilation + 1 - extent, 0)
            pads += [total // 2, total - total // 2]
        return tuple(pads)
    if isinstance(padding, int):
        padding = (padding,) * axes
    if isinstance(padding, str) or len(padding) != axes:
        raise ValueError(f'padding must be a number, {axes} numbers, {axes} pairs, "VALID" or "SAME", but is {padding!r}')
    pads = tuple(pad for axis in padding for pad in ((axis, axis) if isinstance(axis, int) else tuple(axis)))
    if len(pads) != 2 * axes or not all(isinstance(pad, int) and pad >= 0 for pad in pads):
        raise ValueError(f"padding must have two numbers of at least 0 for each of {axes} axes, but is {padding!r}")
    return pads


def _activation(name, parameters):
    if name not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, but is {name!r}")
    if len(parameters) != ACTIVATIONS[name]:
        raise ValueError(f"activation {name} has {ACTIVATIONS[name]} activation_parameters, but there are {len(parameters)}")
    numbers = ",".join(repr(_number("activation_parameters", value)) for value in parameters)
    return f"{name} {numbers}" if numbers else name


# ---- Transformations: what is differentiated refuses; what is mapped folds the axis into N; what is sharded is split along N. ----

@functools.lru_cache(maxsize=1024)
def _differentiable(problem):
    @jax.custom_jvp
    def convolve(*operands):
        return _mappable(problem)(*operands)

    @convolve.defjvp
    def refuse(primals, tangents):
        raise NotImplementedError(
            "shiftconv.jax.conv has no derivative: the library computes forward convolutions for inference. Put "
            "jax.lax.stop_gradient around what need not be differentiated, or use jax.lax.conv_general_dilated.")
    return convolve


@functools.lru_cache(maxsize=1024)
def _mappable(problem):
    @custom_vmap
    def convolve(*operands):
        return _partitioned(problem)(*operands)

    @convolve.def_vmap
    def fold(size, batched, *operands):
        shared = [name for name, isBatched in zip(problem.names, batched) if isBatched and name not in ("x", "residual")]
        if shared:  # a filter for each element: one convolution after the other
            def one(mapped):
                rest = iter(mapped)
                return _mappable(problem)(*[next(rest) if isBatched else operand for operand, isBatched in zip(operands, batched)])
            return jax.lax.map(one, tuple(operand for operand, isBatched in zip(operands, batched) if isBatched)), True
        folded = []
        for name, operand, isBatched in zip(problem.names, operands, batched):
            if name in ("x", "residual"):
                if not isBatched:
                    operand = jnp.broadcast_to(operand, (size, *operand.shape))
                operand = operand.reshape(-1, *operand.shape[2:])
            folded.append(operand)
        result = _mappable(problem)(*folded)
        return result.reshape(size, -1, *result.shape[1:]), True
    return convolve


@functools.lru_cache(maxsize=1024)
def _partitioned(problem):
    def call(*operands):
        images = operands[0].shape[0]
        return jax.ffi.ffi_call(_TARGET, problem.result(images))(*operands, problem=problem.attribute(images))

    whole = custom_partitioning(call)

    def sharded(mesh, axis, rank):
        return NamedSharding(mesh, PartitionSpec(axis, *(None,) * (rank - 1)))

    def rank(name):
        return 1 if name in ("bias", "channel_scale") else problem.rank

    def partition(mesh, operands, result):
        spec = result.sharding.spec
        axis = spec[0] if len(spec) else None
        placed = tuple(sharded(mesh, axis if name in ("x", "residual") else None, rank(name)) for name in problem.names)
        return mesh, call, sharded(mesh, axis, problem.rank), placed

    def infer(mesh, operands, result):
        spec = operands[0].sharding.spec
        return sharded(mesh, spec[0] if len(spec) else None, problem.rank)

    # Every axis has a factor of its own; all but that of N have to be whole on every device.
    factors = []

    def axes(name):
        own = ["n" if axis == 0 and name in ("x", "residual", "y") else f"{name}{axis}" for axis in range(rank(name))]
        factors.extend(factor for factor in own if factor != "n")
        return " ".join(own)
    rule = ", ".join(axes(name) for name in problem.names) + " -> " + axes("y")
    whole.def_partition(partition, infer_sharding_from_operands=infer, sharding_rule=rule, need_replication_factors=tuple(factors))
    return whole


# ---- The library --------------------------------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def _register():
    """Makes the targets known to XLA."""
    glue = ctypes.CDLL(glue_path("jax"))
    jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(glue.shiftconv_jax_conv_cpu), platform="cpu")
    jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(glue.shiftconv_jax_conv_cuda), platform="CUDA")
