"""Random valid problems. Each family is a corner of the problem space that one or more algorithms are for; all fields besides are drawn
freely."""
import numpy as np

from formats import FORMATS, INTEGERS
from problems import Draw, Problem, Scale

HALVES = ("f16", "bf16")
MOST_PRODUCTS = 1_500_000


def any_operands(d, p):
    """Types that engines of any shape multiply."""
    kind = d.one(("half", "half", "half", "tf32", "f8", "integer"))
    types = {"half": (d.one(HALVES),), "tf32": ("f32",), "f8": ("e4m3", "e5m2"), "integer": ("s8", "u8")}[kind]
    p.input_type, p.filter_type, p.tf32 = d.one(types), d.one(types), kind == "tf32"


def any_epilogue(d, p, plain):
    """The short one in a share of problems of 16-bit types."""
    if p.input_type in INTEGERS:
        d.zero_points(p)
    if p.input_type in HALVES and d.chance(plain):
        d.plain_epilogue(p)
    else:
        d.full_epilogue(p, d.spread(p))


def dense(d, p):
    kind = d.one(("half", "half", "tf32", "f8", "f8", "integer", "integer", "f32", "narrow"))
    if kind == "half":
        p.input_type = p.filter_type = d.one(HALVES)
        if d.chance(0.05):
            p.filter_type = d.one(HALVES)
    elif kind in ("tf32", "f32"):
        p.input_type = p.filter_type = "f32"
        p.tf32 = kind == "tf32"
    else:
        types = {"f8": ("e4m3", "e5m2"), "integer": ("s8", "u8"), "narrow": ("e4m3", "e3m2", "e2m3", "e2m1")}[kind]
        p.input_type, p.filter_type = d.one(types), d.one(types)
    d.geometry(p)
    step = 128 // min(FORMATS[p.input_type].bits, FORMATS[p.filter_type].bits)
    if kind == "narrow":
        step = 128
    p.c = step * d.between(1, 3 if step < 32 else 1) if d.chance(0.85) else d.fill(d.between(1, 20), p.input_type, p.filter_type)
    p.k = d.between(1, 40)
    if kind == "integer":
        d.zero_points(p)
    d.full_epilogue(p, d.spread(p), blocks=True)


def transposed(d, p):
    """The gradient of a convolution by its input: what stretches activations."""
    kind = d.one(("half", "half", "half", "tf32", "f8", "integer"))
    types = {"half": (d.one(HALVES),), "tf32": ("f32",), "f8": ("e4m3", "e5m2"), "integer": ("s8", "u8")}[kind]
    p.input_type, p.filter_type, p.tf32 = d.one(types), d.one(types), kind == "tf32"
    p.transposed = True
    rank = d.one((1, 2, 2, 2, 2, 3))
    for axis in range(3 - rank, 3):
        extent, taps = d.between(1, 4 if rank == 3 else 8), d.between(1, 3 if rank == 3 else 5)
        stride, dilation = d.one((1, 2, 2, 2, 3)), d.one((1, 1, 1, 2, 3))
        output = lambda: (extent - 1) * stride + dilation * (taps - 1) + 1
        while True:  # mostly as much padding as a convolution of this filter would have
            most = dilation * (taps - 1) + (stride if d.chance(0.2) else 0)
            before, after = d.between(0, most), d.between(0, most)
            padding = d.between(0, max(stride, dilation) - 1) if d.chance(0.5) else 0
            if output() - before - after + padding >= 1:
                break
        d.set_axis(p, axis, extent, taps, before, after, stride, dilation)
        p.output_padding = p.output_padding[:axis] + (padding,) + p.output_padding[axis + 1 :]
    p.groups = d.one((1, 1, 1, 1, 2, 3))
    if d.chance(0.8):
        p.c, p.k = p.groups * 16 * d.between(1, 2), p.groups * d.between(1, 3) * 8
    else:
        p.c, p.k = p.groups * d.between(1, 20), p.groups * d.between(1, 20)
    if kind == "integer":
        d.zero_points(p)
    if d.chance(0.4) and kind == "half":
        p.filter_type = p.input_type
        d.plain_epilogue(p)
    else:
        d.full_epilogue(p, d.spread(p))


def upsampled(d, p):
    """Decoders: pixels are repeated, mostly twice along height and width, in front of a convolution."""
    any_operands(d, p)
    p.groups = d.one((1, 1, 1, 2))
    size = 16 if d.chance(0.6) else d.between(1, 12)
    p.c, p.k = p.groups * size, p.groups * d.between(1, 20)
    rank = d.one((1, 2, 2, 2, 3))
    d.geometry(p, rank=rank)
    p.extent = tuple(-(-e // 2) for e in p.extent)
    factors = lambda: d.one((1, 2, 2, 3)) if d.chance(0.4) else 2
    p.upsample = tuple(factors() if axis >= 3 - min(rank, 2) or (rank == 3 and d.chance(0.5)) else 1 for axis in range(3))
    # As many pixels more as keep the output from being empty.
    p.extent = tuple(
        max(e, -(-(dl * (t - 1) + 1 - b - a) // u))
        for e, dl, t, b, a, u in zip(p.extent, p.dilation, p.taps, p.before, p.after, p.upsample)
    )
    any_epilogue(d, p, 0.5)


def split(d, p):
    """A skip connection's channels, or frames that are kept, in a tensor of their own."""
    any_operands(d, p)
    if d.chance(0.1):
        p.input_type = p.filter_type = "f32"
        p.tf32 = False
    if d.chance(0.5):  # what engines for channels of whole vectors take
        step = 128 // FORMATS[p.input_type].bits
        p.c, p.k = step * d.between(2, 20), 8 * d.between(1, 6)
    else:
        step, p.groups = 1, d.one((1, 1, 2))
        p.c, p.k = p.groups * d.between(2, 20), p.groups * d.between(1, 20)
    if d.chance(0.5):
        p.split_c = step * d.between(1, p.c // step - 1)
        d.geometry(p)
    else:
        d.geometry(p, rank=3)
        p.extent = (max(2, p.extent[0]),) + p.extent[1:]
        if d.chance(0.3):  # slices that are whole tiles
            p.extent, p.taps, p.before, p.after = (p.extent[0], 8, 16), p.taps[:1] + (1, 1), p.before[:1] + (0, 0), p.after[:1] + (0, 0)
            p.stride, p.dilation = p.stride[:1] + (1, 1), p.dilation[:1] + (1, 1)
        p.split_d = d.between(1, p.extent[0] - 1)
    if d.chance(0.1) and p.stride == p.dilation == (1, 1, 1):
        p.upsample = (1, 2, 1)
    any_epilogue(d, p, 0.5)


def sliding(d, p):
    """What the engines that shift rows of pixels take."""
    dense(d, p)
    p.extent = p.taps = p.stride = p.dilation = (1, 1, 1)
    p.before = p.after = (0, 0, 0)
    d.same(p, 7, depth=d.chance(0.2))


def scaled(d, p):
    kind = d.one(("mxfp8", "mxfp8", "mxfp6", "mxfp4", "nvfp4", "mixed"))
    block, factor = (16, "ue4m3") if kind == "nvfp4" else (32, "ue8m0")
    types = {"mxfp8": ("e4m3", "e5m2"), "mxfp6": ("e3m2", "e2m3"), "mixed": ("e4m3", "e2m3", "e2m1")}.get(kind, ("e2m1",))
    p.input_type, p.filter_type = d.one(types), d.one(types)
    step = 128 if kind in ("mxfp6", "mixed") else 32
    p.c, p.k = step * d.between(1, 1 if step == 128 else 3), d.between(1, 40)
    p.input_scale, p.filter_scale = Scale(block, factor, d.chance(0.4)), Scale(block, factor, d.chance(0.4))
    if d.chance(0.5):
        d.geometry(p)
    else:
        d.same(p, 5)
    d.full_epilogue(p, d.spread(p), blocks=True)


def scaled_upsampled(d, p):
    scaled(d, p)
    p.upsample, p.input_scale.interleaved = (1, d.between(1, 2), 2), False


def matrices(d, p):
    """Products of two matrices, with and without block scales."""
    (scaled if d.chance(0.5) else dense)(d, p)
    p.n, p.extent = 1, (1, 1, d.between(1, 150))
    p.taps = p.stride = p.dilation = (1, 1, 1)
    p.before = p.after = (0, 0, 0)


def groups(d, p):
    any_operands(d, p)
    size = d.one((8, 8, 16, 32, 3))
    p.groups = d.between(1, 4)
    p.c, p.k = p.groups * size, p.groups * (size if d.chance(0.8) else d.between(1, 9))
    d.geometry(p, rank=d.one((2, 2, 2, 3)))
    any_epilogue(d, p, 0.5)


def uneven(d, p):
    """Channels that fill no vector."""
    any_operands(d, p)
    p.c, p.k = d.between(1, 40), d.between(1, 70)
    d.geometry(p)
    any_epilogue(d, p, 0.6)


def one_each(d, p):
    """One input channel a group, and any number of outputs."""
    any_operands(d, p)
    p.c = p.groups = d.between(1, 40)
    p.k = p.c * d.one((1, 1, 1, 2, 3))
    d.geometry(p)
    any_epilogue(d, p, 0.5)


def eights(d, p):
    """Eight channels a group, 3x3 and 5x5."""
    p.input_type = p.filter_type = d.one(HALVES)
    p.groups = d.between(1, 9)
    p.c = p.k = 8 * p.groups
    d.geometry(p, rank=2)
    side = d.one((3, 3, 5))
    for axis in (1, 2):
        reach = p.dilation[axis] * (side - 1)
        extent = max(p.extent[axis], reach + 1 - p.before[axis] - p.after[axis])
        d.set_axis(p, axis, extent, side, p.before[axis], p.after[axis], p.stride[axis], p.dilation[axis])
    d.plain_epilogue(p)
    p.beta, p.residual_type, p.residual_last = 0.0, "f16", False


def depthwise(d, p):
    p.input_type = p.filter_type = d.one(HALVES)
    p.c = p.k = p.groups = 8 * d.between(1, 5)
    for axis in (1, 2):
        taps = d.between(1, 8)
        before, after = d.between(0, taps), d.between(0, taps)
        extent = max(d.between(1, 40 if axis == 2 else 9), taps - before - after)
        d.set_axis(p, axis, extent, taps, before, after, 1, 1)
    if d.chance(0.5):
        d.plain_epilogue(p)
    else:
        d.full_epilogue(p, d.spread(p))


def stem(d, p):
    p.input_type = p.filter_type = d.one(HALVES)
    p.n, p.c, p.k = d.between(1, 3), 4, 8 * d.between(1, 5)
    for axis, taps in ((1, d.one((3, 7))), (2, d.between(1, 8))):
        before, after = d.between(0, taps - 1), d.between(0, taps - 1)
        extent = max(2 * d.between(1, 12), taps + (taps + 1) % 2)
        d.set_axis(p, axis, extent + extent % 2, taps, before, after, 2 if axis == 2 else d.between(1, 2), 1)
    d.plain_epilogue(p)


def resident(d, p):
    p.input_type = p.filter_type = d.one(HALVES)
    p.c, p.k = 8 * d.between(1, 20), 8 * d.between(1, 5)
    d.geometry(p, rank=2, steps=False)
    d.plain_epilogue(p)


def pointwise(d, p):
    """Filters of one tap without padding."""
    p.input_type = p.filter_type = d.one(HALVES)
    p.c, p.k = d.one((2, 4, 8)) * d.between(1, 20), d.between(1, 80)
    for axis in range(0 if d.chance(0.3) else 1, 3):
        stride = d.one((1, 1, 2, 3))
        d.set_axis(p, axis, d.between(1, 4 if axis == 0 else 14), 1, 0, 0, stride, 1)
    any_epilogue(d, p, 0.6)


def few_channels(d, p):
    """Rows of short pixels, some number of which divides the row's pixels and outputs."""
    any_operands(d, p)
    size = FORMATS[p.input_type].bits // 8
    p.c, p.k = d.between(16 // size, 64 // size), d.between(1, 40)
    if d.chance(0.7):
        p.c = 16 // size * d.between(1, 4)
    d.geometry(p)
    outputs, stride, taps, dilation = d.between(2, 8), d.one((1, 1, 1, 2, 3)), d.between(1, 7), d.one((1, 1, 1, 2, 4))
    reach = dilation * (taps - 1)
    before = d.between(0, reach)
    after = max(0, reach - before - d.between(0, stride - 1))
    d.set_axis(p, 2, outputs * stride * d.between(1, 4), taps, before, after, stride, dilation)
    any_epilogue(d, p, 0.5)


def large(d, p):
    """Layers of networks, scaled down: several tiles of pixels and of channels, and reductions of several steps."""
    any_operands(d, p)
    p.n = d.one((1, 1, 2, 5))
    channels = lambda: d.one((8, 16, 64)) * d.between(1, 9) if d.chance(0.7) else d.between(1, 300)
    kind = d.one(("dense", "dense", "dense", "groups", "depthwise"))
    if kind == "dense":
        p.c, p.k = channels(), channels()
    elif kind == "groups":
        size = d.one((4, 8, 16, 32, 64, d.between(1, 20)))
        p.groups = d.between(2, 12)
        p.c, p.k = p.groups * size, p.groups * d.one((size, size, d.between(1, 40)))
    else:
        p.c = p.groups = channels()
        p.k = p.c * d.one((1, 1, 1, 2))
    for axis in range(1 if d.chance(0.85) else 0, 3):
        taps = d.one((1, 1, 3, 3, 5)) if axis == 0 else d.one((1, 1, 3, 3, 3, 2, 5, 7))
        dilation = d.one((1, 1, 1, 1, 2, 6)) if taps > 1 else 1
        reach = dilation * (taps - 1)
        before, after = (reach - reach // 2, reach // 2) if d.chance(0.7) else (d.between(0, reach), d.between(0, reach))
        extent = max(d.between(2, 6) if axis == 0 else d.between(4, 50), reach + 1 - before - after)
        d.set_axis(p, axis, extent, taps, before, after, d.one((1, 1, 1, 2, 3)), dilation)
    any_epilogue(d, p, 0.5)


# Family, its weight, and the emulated devices that it is for: 0 is an sm_100a, 1 an sm_90a.
FAMILIES = (
    (dense, 6, (0, 1)),
    (sliding, 5, (0, 0, 1)),
    (scaled, 5, (0,)),
    (groups, 2, (0, 1, 1)),
    (uneven, 2, (0, 1)),
    (one_each, 1, (0, 1)),
    (eights, 2, (1,)),
    (depthwise, 2, (1,)),
    (stem, 2, (1,)),
    (resident, 2, (1,)),
    (pointwise, 2, (0, 1)),
    (matrices, 2, (0,)),
    (transposed, 4, (0, 1)),
    (upsampled, 3, (0, 1)),
    (scaled_upsampled, 1, (0,)),
    (split, 4, (0, 1)),
    (few_channels, 3, (0, 1)),
)


# For problems of more than MOST_PRODUCTS, which take an emulator long.
LARGE_FAMILIES = ((large, 1, (0, 1)),)


def draw(random, most_products=MOST_PRODUCTS):
    """A problem and the device that it is for."""
    dice = Draw(random)
    families = FAMILIES if most_products <= MOST_PRODUCTS else LARGE_FAMILIES
    weights = np.array([weight for _, weight, _ in families], float)
    family, _, devices = families[int(random.choice(len(families), p=weights / weights.sum()))]
    while True:
        p = Problem(n=dice.between(1, 3))
        family(dice, p)
        dice.pitches(p)
        if dice.chance(0.07):
            dice.layouts(p)
        p.flipped = dice.chance(0.1)
        if p.products() <= most_products:
            return p, dice.one(devices)
