"""Problems, as fields and as the text that the library parses, and what their families draw alike."""
import dataclasses

import numpy as np

from formats import FORMATS, INTEGERS

ACTIVATIONS = ("none", "relu", "leaky_relu", "clamp", "gelu_erf", "gelu_tanh", "silu", "hard_swish", "sigmoid", "tanh")
BLOCK_OUTPUTS = (("e4m3", 32, "ue8m0"), ("e5m2", 32, "ue8m0"), ("e2m1", 32, "ue8m0"), ("e2m1", 16, "ue4m3"),
                 ("e3m2", 32, "ue8m0"), ("e2m3", 32, "ue8m0"))


@dataclasses.dataclass
class Scale:
    block: int = 0  # channels that share a factor; 0: none
    type: str = ""
    interleaved: bool = False

    def __str__(self):
        return f" scale {self.type}/{self.block}{'/interleaved' if self.interleaved else ''}" if self.block else ""


@dataclasses.dataclass
class Problem:
    """Axes are depth, height, width."""

    n: int = 1
    extent: tuple = (1, 1, 1)
    c: int = 1
    k: int = 1
    taps: tuple = (1, 1, 1)
    groups: int = 1
    before: tuple = (0, 0, 0)
    after: tuple = (0, 0, 0)
    stride: tuple = (1, 1, 1)
    dilation: tuple = (1, 1, 1)
    upsample: tuple = (1, 1, 1)
    transposed: bool = False
    output_padding: tuple = (0, 0, 0)
    flipped: bool = False  # the filter's taps lie in reverse order
    split_c: int = 0  # channels, or slices, of the input's first tensor
    split_d: int = 0
    input_pitch: int = 0
    second_pitch: int = 0
    output_pitch: int = 0
    residual_pitch: int = 0
    input_type: str = "f16"
    filter_type: str = "f16"
    output_type: str = "f16"
    bias_type: str = ""  # none
    residual_type: str = "f16"
    tf32: bool = False
    input_scale: Scale = dataclasses.field(default_factory=Scale)
    filter_scale: Scale = dataclasses.field(default_factory=Scale)
    output_scale: Scale = dataclasses.field(default_factory=Scale)
    input_zero: int = 0
    filter_zero: int = 0
    output_zero: int = 0
    alpha: float = 1.0
    beta: float = 0.0
    residual_last: bool = False
    out_scale: float = 1.0
    channel_scale: bool = False
    amax: bool = False
    input_first: bool = False  # NCHW
    output_first: bool = False
    separate: bool = False  # rounding to the output's type after every step
    activation: str = "none"
    parameters: tuple = ()

    def outputs(self):
        """Z, P and Q."""
        if self.transposed:
            return tuple(
                (e - 1) * s + d * (t - 1) + 1 + o - b - a
                for e, b, a, d, t, s, o in zip(
                    self.extent, self.before, self.after, self.dilation, self.taps, self.stride, self.output_padding
                )
            )
        return tuple(
            (e + b + a - d * (t - 1) - 1) // s + 1
            for e, b, a, d, t, s in zip(self.image(), self.before, self.after, self.dilation, self.taps, self.stride)
        )

    def image(self):
        """The extents that the filter sees."""
        return tuple(e * u for e, u in zip(self.extent, self.upsample))

    def group_channels(self):
        return self.c // self.groups

    def products(self):
        return self.n * int(np.prod(self.extent if self.transposed else self.outputs())) * self.k * int(np.prod(self.taps)) * self.group_channels()

    def text(self):
        deep = (self.extent[0], self.taps[0], self.before[0], self.after[0], self.stride[0], self.dilation[0]) != (1, 1, 0, 0, 1, 1)
        deep = deep or self.output_padding[0] != 0 or self.upsample[0] != 1
        axes = slice(0 if deep else 1, 3)
        shape = lambda *extents: "x".join(str(e) for e in extents)
        pads = ",".join(f"{b},{a}" for b, a in zip(self.before[axes], self.after[axes]))
        steps = lambda values: ",".join(str(v) for v in values[axes])
        word = lambda name, value, usual: f" {name} {value:.9g}" if value != usual else ""
        text = f"{shape(self.n, *self.extent[axes], self.c)} {self.input_type}{word('pitch', self.input_pitch, 0)}"
        text += f"{word('split_c', self.split_c, 0)}{word('split_d', self.split_d, 0)}{word('second_pitch', self.second_pitch, 0)}"
        text += f"{word('zero', self.input_zero, 0)}{self.input_scale}"
        text += " nchw" if self.input_first else ""
        text += f" upsample {steps(self.upsample)}" if self.upsample != (1, 1, 1) else ""
        text += f" * {shape(self.k, *self.taps[axes], self.group_channels())}"
        text += f" {self.filter_type}{word('groups', self.groups, 1)} pad {pads} stride {steps(self.stride)}"
        text += f" dilation {steps(self.dilation)}{' transposed' if self.transposed else ''}"
        text += f" output_padding {steps(self.output_padding)}" if any(self.output_padding) else ""
        text += " flipped" if self.flipped else ""
        text += f"{' compute tf32' if self.tf32 else ''}{word('zero', self.filter_zero, 0)}"
        text += f"{self.filter_scale} -> {self.output_type}{' nchw' if self.output_first else ''}{word('pitch', self.output_pitch, 0)}{word('alpha', self.alpha, 1)}"
        text += f"{' channel_scale' if self.channel_scale else ''}{f' bias {self.bias_type}' if self.bias_type else ''}"
        if self.beta != 0:
            text += f" residual {self.beta:.9g} residual_type {self.residual_type}{word('residual_pitch', self.residual_pitch, 0)}"
            text += " residual_last" if self.residual_last else ""
        if self.activation != "none":
            parameters = " " + ",".join(f"{p:.9g}" for p in self.parameters) if self.parameters else ""
            text += f" {self.activation}{parameters}"
        text += f"{' amax' if self.amax else ''}{' rounding separate' if self.separate else ''}{word('out_scale', self.out_scale, 1)}{word('zero', self.output_zero, 0)}"
        return text + str(self.output_scale)


class Draw:
    """The dice, and what is common to families."""

    def __init__(self, random):
        self.random = random

    def between(self, low, high):
        return int(self.random.integers(low, high + 1))

    def one(self, choices):
        return choices[self.between(0, len(choices) - 1)]

    def chance(self, probability):
        return self.random.random() < probability

    def eighths(self, low, high):
        """A number that f32 and a short text hold exactly."""
        return self.between(low * 8, high * 8) / 8

    def geometry(self, p, rank=None, steps=True):
        rank = rank or self.one((1, 2, 2, 2, 2, 3, 3))
        for axis in range(3 - rank, 3):
            extent = self.between(1, 6 if rank == 3 else 12)
            taps = self.between(1, 3 if rank == 3 else 5)
            dilation = self.between(1, 3) if steps and self.chance(0.3) else 1
            reach = dilation * (taps - 1)
            # Mostly within the filter's reach, at times with outputs that see nothing but padding.
            most = reach + (3 if self.chance(0.15) else 0)
            before, after = self.between(0, most), self.between(0, most)
            while extent + before + after <= reach:
                extent += 1
            stride = self.between(1, 3) if steps and self.chance(0.3) else 1
            if self.chance(0.1):  # a single pixel and a single tap, which may miss it
                extent = taps = 1
                before, after, stride = self.between(0, 2), self.between(0, 2), self.between(1, 3) if steps else 1
            self.set_axis(p, axis, extent, taps, before, after, stride, dilation)

    def same(self, p, width_taps, depth=False):
        """Neither strides nor dilations along the width, and no more outputs than pixels."""
        for axis in range(0 if depth else 1, 3):
            taps = self.between(2, width_taps) if axis == 2 else self.between(1, 3 if depth else 5)
            dilation = self.between(1, 2) if axis != 2 and self.chance(0.2) else 1
            reach = dilation * (taps - 1)
            before = self.between(0, reach)
            after = self.between(0, reach - before)
            extent = self.between(reach + 1, reach + (4 if axis == 0 else 9))
            self.set_axis(p, axis, extent, taps, before, after, 1, dilation)

    @staticmethod
    def set_axis(p, axis, extent, taps, before, after, stride, dilation):
        put = lambda values, value: values[:axis] + (value,) + values[axis + 1 :]
        p.extent, p.taps = put(p.extent, extent), put(p.taps, taps)
        p.before, p.after = put(p.before, before), put(p.after, after)
        p.stride, p.dilation = put(p.stride, stride), put(p.dilation, dilation)

    def pitches(self, p):
        """Gaps between pixels: of whole bytes, and mostly of what engines align their accesses to."""
        step = self.one((1, 8, 16, 32))
        if self.chance(0.25):
            p.input_pitch = self.fill((p.split_c or p.c) + self.between(1, 3) * step, p.input_type)
        if (p.split_c or p.split_d) and self.chance(0.4):
            p.second_pitch = self.fill(p.c - p.split_c + self.between(1, 3) * step, p.input_type)
        if self.chance(0.25):
            p.output_pitch = self.fill(p.k + self.between(1, 3) * step, p.output_type)
        if p.beta != 0 and self.chance(0.4):
            p.residual_pitch = self.fill(p.k + self.between(1, 3) * step, p.residual_type)
        if not p.output_pitch and p.k * FORMATS[p.output_type].bits % 8:
            p.output_pitch = self.fill(p.k, p.output_type)

    @staticmethod
    def fill(elements, *types):
        """The next number of elements that fills whole bytes."""
        while any(elements * FORMATS[kind].bits % 8 for kind in types):
            elements += 1
        return elements

    def plain_epilogue(self, p):
        """Bias, residual of the output's type, ReLU."""
        p.output_type = p.input_type
        p.bias_type = "f32" if self.chance(0.5) else ""
        if self.chance(0.3):
            p.beta, p.residual_type = self.one((1.0, -0.5, 2.0)), p.output_type
        p.activation = "relu" if self.chance(0.5) else "none"
        if p.beta != 0 and self.chance(0.3):
            p.activation, p.residual_last = self.one(("silu", "silu", "relu", "none")), True
        p.separate = self.chance(0.1)

    def full_epilogue(self, p, spread, blocks=False):
        """`spread`: how large sums are. Outputs have room for some, and saturate now and then."""
        if p.input_type in INTEGERS and self.chance(0.25):
            p.output_type = "s32"
            return
        p.output_type = self.one(("f32", "f16", "bf16", "e4m3", "e5m2", "s8", "u8"))
        if self.chance(0.03):
            p.output_type = self.one(("e3m2", "e2m3"))
        if blocks and self.chance(0.35):
            p.output_type, block, kind = self.one(BLOCK_OUTPUTS)
            p.output_scale = Scale(block, kind, self.chance(0.5))
        target = {"e4m3": 60, "e5m2": 60, "s8": 50, "u8": 80, "e3m2": 8, "e2m3": 3}.get(p.output_type, 4)
        # Sums of 8-bit floats reach beyond f16, from where some activations make NaN.
        small = FORMATS[p.input_type].bits > 8 or p.input_type in INTEGERS
        p.separate = p.output_type in ("f32", "bf16") + (("f16",) if small else ()) and self.chance(0.3)
        if self.chance(0.7) or p.input_type in INTEGERS or p.separate:
            p.alpha = float(np.float32(self.one((-1, 1, 1)) * 2 ** self.random.uniform(0, 2) / spread))
        if self.chance(0.5) or target > 4:
            p.out_scale = float(np.float32(target / 2 ** self.random.uniform(0, 2)))
        p.channel_scale = self.chance(0.25)
        p.bias_type = self.one(("f32", "f32", "f32", "f16", "bf16")) if self.chance(0.5) else ""
        if self.chance(0.3):
            p.beta = self.eighths(-2, 2) or 1.0
            p.residual_type = self.one(("f32", "f16", "bf16", "f32", "f16", "bf16", "s8"))
            if p.residual_type == "s8":
                p.beta /= 32
            p.residual_last = self.chance(0.3)
        p.activation = self.one(ACTIVATIONS)
        if p.activation == "leaky_relu":
            p.parameters = (self.eighths(-1, 1),)
        if p.activation == "clamp":
            p.parameters = tuple(sorted((self.eighths(-3, 3), self.eighths(-3, 3))))
        p.amax = self.chance(0.35)
        if p.output_type in ("s8", "u8") and self.chance(0.5):
            p.output_zero = self.between(*((-128, 127) if p.output_type == "s8" else (0, 255)))

    def layouts(self, p):
        """NCHW for dense tensors of whole bytes."""
        whole = lambda scale, *types: not scale.block and all(FORMATS[kind].bits % 8 == 0 for kind in types)
        if whole(p.input_scale, p.input_type) and not (p.split_c or p.split_d) and self.chance(0.6):
            p.input_first, p.input_pitch = True, 0
        if whole(p.output_scale, p.output_type, p.residual_type) and self.chance(0.6):
            p.output_first, p.output_pitch, p.residual_pitch = True, 0, 0

    def zero_points(self, p):
        draw = lambda kind: self.between(*((-128, 127) if kind == "s8" else (0, 255))) if self.chance(0.4) else 0
        p.input_zero, p.filter_zero = draw(p.input_type), draw(p.filter_type)

    def spread(self, p):
        """About the standard deviation of a sum."""
        size = {"s8": 74.0, "u8": 147.0, "e4m3": 4.0, "e5m2": 4.0, "e3m2": 6.0, "e2m3": 2.5, "e2m1": 2.5}
        depth = np.prod(p.taps) * p.group_channels()
        return size.get(p.input_type, 0.6) * size.get(p.filter_type, 0.6) * np.sqrt(depth)
