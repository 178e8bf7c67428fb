"""Convolutions for the tests of shiftconv.jax: operands, what lax makes of them in f64, and how far a result may be from that."""
import os
import random

import jax
import jax.numpy as jnp
import numpy as np

import reference
import shiftconv.jax as sj

LETTERS = {3: ("NWC", "OWI"), 4: ("NHWC", "OHWI"), 5: ("NDHWC", "ODHWI")}
ACTIVATE = {
    "none": lambda v: v, "relu": lambda v: np.maximum(v, 0), "clamp": lambda v: np.clip(v, -0.75, 1.5),
    "leaky_relu": lambda v: np.where(v < 0, np.float32(0.2) * v, v), "silu": lambda v: v / (1 + np.exp(-v)),
    "hard_swish": lambda v: v * np.clip(v + 3, 0, 6) / 6, "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "tanh": np.tanh,
    "gelu_erf": lambda v: np.asarray(v / 2 * (1 + jax.scipy.special.erf(v / np.sqrt(2)))),
    "gelu_tanh": lambda v: v / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v ** 3))),
}
PARAMETERS = {"clamp": (-0.75, 1.5), "leaky_relu": (0.2,)}


def onTheHost():
    """What lax computes in this context is computed on the CPU."""
    return jax.default_device(jax.devices("cpu")[0])


def draw(generator, shape, dtype):
    dtype = jnp.dtype(dtype)
    if dtype.kind in "iu":
        return generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)
    return generator.uniform(-1, 1, shape).astype(dtype)


def byLax(x, w, pads, stride, dilation, groups):
    """Exact to the rounding of f64, which the bound has room for."""
    layout = LETTERS[x.ndim]
    return np.asarray(jax.lax.conv_general_dilated(
        x.astype(np.float64), w.astype(np.float64), stride, pads, rhs_dilation=dilation, feature_group_count=groups,
        dimension_numbers=(*layout, layout[0])))


def withoutLowBits(tensor):
    """f32 as the tensor cores read it for compute "tf32"."""
    return (tensor.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


class Problem:
    """extents, taps and what follows: one number for each spatial axis; pads: one pair. beside: the type of a residual, and of bias where it
    is not f32."""

    def __init__(self, seed, kind, images, extents, channels, filters, taps, stride, pads, dilation=None, groups=1, bias=None, residual=False,
                 scale=False, activation="none", beta=1.0, beside=None, out=None, compute="default", last=False):
        generator = np.random.default_rng(seed)
        self.stride, self.pads, self.groups = tuple(stride), list(pads), groups
        self.dilation = tuple(dilation or (1,) * len(extents))
        self.x = draw(generator, (images, *extents, channels), kind)
        self.w = draw(generator, (filters, *taps, channels // groups), kind)
        spatial = [(extent + sum(pad) - step * (count - 1) - 1) // stride + 1 for extent, pad, step, count, stride in
                   zip(extents, self.pads, self.dilation, taps, self.stride)]
        self.shape = (images, *spatial, filters)
        self.bias = draw(generator, (filters,), bias) if bias else None
        self.residual = draw(generator, self.shape, beside or kind) if residual else None
        self.scale = draw(generator, (filters,), "float32") if scale else None
        self.activation, self.beta, self.out, self.compute = activation, beta, out, compute
        self.last = residual and last  # the residual after the activation

    def arguments(self):
        return dict(stride=self.stride, padding=self.pads, dilation=self.dilation, groups=self.groups,
                    activation=self.activation, activation_parameters=PARAMETERS.get(self.activation, ()), residual_last=self.last,
                    channel_scale=self.scale, beta=self.beta, out_dtype=self.out, compute=self.compute)

    def run(self):
        return np.asarray(sj.conv(self.x, self.w, self.bias, self.residual, **self.arguments())).astype(np.float64)

    def line(self):
        operands = {name: value for name, value in (("x", self.x), ("w", self.w), ("bias", self.bias), ("residual", self.residual),
                                                    ("channel_scale", self.scale)) if value is not None}
        return sj._problem(operands, self.stride, self.pads, self.dilation, self.groups, self.activation,
                           PARAMETERS.get(self.activation, ()), self.last, 1.0, self.beta, self.out, self.compute, None, None).line(self.x.shape[0])

    def expected(self):
        x, w = (withoutLowBits(tensor) if self.compute == "tf32" else tensor for tensor in (self.x, self.w))
        with onTheHost():
            value = byLax(x, w, self.pads, self.stride, self.dilation, self.groups)
            if self.scale is not None:
                value = value * self.scale.astype(np.float64)
            if self.bias is not None:
                value = value + self.bias.astype(np.float64)
            residual = 0 if self.residual is None else self.beta * self.residual.astype(np.float64)
            with np.errstate(over="ignore"):  # exp of large numbers: 1 / infinity is right
                return np.asarray(ACTIVATE[self.activation](value) + residual if self.last else ACTIVATE[self.activation](value + residual))

    def bound(self):
        return reference.exact(self.line(), [self.x, self.w, self.bias, self.residual, self.scale], self.shape, os.environ["SHIFTCONV_DEVICE"])[1]


def randomProblem(seed):
    """A small one of one to three dimensions, with everything that shiftconv.jax.conv offers."""
    choose = random.Random(seed)
    axes = choose.choice((1, 2, 2, 2, 2, 3))
    kind = choose.choice(("float16", "float16", "bfloat16", "float32", "int8", "float8_e4m3fn", "float8_e5m2"))
    narrow = kind == "int8" or kind.startswith("float8")  # what stands beside them is f32
    groups = choose.choice((1, 1, 1, 2, 3))
    channels = groups * choose.choice((1, 3, 4, 8)) if not narrow else groups * choose.choice((1, 4, 5))
    filters = groups * choose.choice((1, 2, 5, 8))
    if choose.random() < 0.15:
        groups, filters = channels, channels * choose.choice((1, 2))
    extents = [choose.randint(1, (9, 7, 5)[axes - 1]) for _ in range(axes)]
    taps = [choose.randint(1, 3) for _ in range(axes)]
    stride = [choose.randint(1, 2) for _ in range(axes)]
    dilation = [choose.choice((1, 1, 2)) for _ in range(axes)]
    pads = []
    for axis in range(axes):
        reach = (taps[axis] - 1) * dilation[axis]
        before = choose.randint(0, 2)
        pads.append((before, max(choose.randint(0, 2), reach + 1 - extents[axis] - before)))
    beside = "float32" if narrow else kind
    return Problem(
        seed, kind, choose.randint(1, 3), extents, channels, filters, taps, stride, pads, dilation, groups,
        bias=choose.choice(("float32", beside)) if choose.random() < 0.5 else None, residual=choose.random() < 0.3, scale=choose.random() < 0.2,
        activation=choose.choice(tuple(ACTIVATE)) if choose.random() < 0.7 else "none", beta=choose.choice((1.0, 0.5, -2.0)), beside=beside,
        out=None if choose.random() < 0.7 and not narrow else "float32", last=choose.random() < 0.5)


def layers():
    """What networks have: a problem for each engine of tensor cores, asymmetric, with tails. Gives (name, problem)."""
    table = {
        "3x3": dict(kind="float16", images=3, extents=(9, 7), channels=64, filters=72, taps=(3, 3), stride=(1, 1), pads=[(1, 0), (0, 1)], bias="float32",
                    residual=True, activation="relu"),
        "3x3, bf16": dict(kind="bfloat16", images=2, extents=(6, 11), channels=48, filters=40, taps=(3, 3), stride=(1, 1), pads=[(1, 1), (2, 0)],
                          bias="bfloat16", activation="silu"),
        "3x3, stride 2": dict(kind="float16", images=2, extents=(11, 8), channels=32, filters=64, taps=(3, 3), stride=(2, 2), pads=[(1, 1), (0, 1)],
                              bias="float16", scale=True),
        "5x3, dilated": dict(kind="float16", images=1, extents=(14, 9), channels=24, filters=33, taps=(5, 3), stride=(1, 2), dilation=(2, 1),
                             pads=[(3, 4), (1, 0)], activation="hard_swish"),
        "3x3, residual last": dict(kind="float16", images=2, extents=(9, 6), channels=32, filters=36, taps=(3, 3), stride=(1, 1), pads=[(1, 0), (1, 1)],
                                   bias="float32", residual=True, activation="silu", last=True),
        "3x3, bf16, residual last": dict(kind="bfloat16", images=3, extents=(5, 8), channels=48, filters=64, taps=(3, 3), stride=(1, 1),
                                         pads=[(1, 1), (0, 1)], bias="float32", residual=True, beta=0.5, activation="silu", last=True),
        "1x1": dict(kind="float16", images=3, extents=(5, 7), channels=96, filters=128, taps=(1, 1), stride=(1, 1), pads=[(0, 0), (0, 0)],
                    residual=True, beta=-2.0, activation="clamp"),
        "stem": dict(kind="float16", images=2, extents=(19, 22), channels=3, filters=32, taps=(7, 7), stride=(2, 2), pads=[(3, 2), (3, 3)],
                     bias="float32", activation="relu"),
        "depthwise": dict(kind="float16", images=2, extents=(8, 9), channels=40, filters=40, taps=(3, 5), stride=(1, 1), pads=[(1, 1), (2, 2)],
                          groups=40, bias="float32", activation="gelu_tanh"),
        "groups": dict(kind="bfloat16", images=2, extents=(7, 6), channels=128, filters=64, taps=(3, 3), stride=(1, 1), pads=[(1, 0), (1, 1)],
                       groups=4, activation="leaky_relu"),
        "one axis": dict(kind="float16", images=3, extents=(37,), channels=32, filters=24, taps=(7,), stride=(2,), pads=[(6, 0)], bias="float32",
                         activation="tanh"),
        "three axes": dict(kind="float16", images=1, extents=(4, 6, 5), channels=32, filters=48, taps=(3, 3, 2), stride=(1, 1, 1),
                           pads=[(2, 0), (1, 1), (0, 1)], residual=True),
        "tf32": dict(kind="float32", images=2, extents=(6, 7), channels=32, filters=40, taps=(3, 3), stride=(1, 1), pads=[(1, 1), (1, 0)],
                     bias="float32", activation="gelu_erf", compute="tf32"),
        "fp8": dict(kind="float8_e4m3fn", images=2, extents=(7, 9), channels=64, filters=48, taps=(3, 3), stride=(1, 1), pads=[(0, 1), (1, 1)],
                    bias="float32", scale=True, out="float16"),
        "int8": dict(kind="int8", images=2, extents=(6, 5), channels=64, filters=32, taps=(3, 2), stride=(1, 1), pads=[(1, 1), (1, 0)]),
    }
    return [(name, Problem(seed, **parameters)) for seed, (name, parameters) in enumerate(table.items(), 1)]
