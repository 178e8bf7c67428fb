"""What a problem's outputs are, in float64, and how far the arithmetic of the kernels may be from that.

The bound of a sum. Let A = sum |x * w| over the taps inside the image, K the number of their products, and u = 2^-24.

 - Integers are exact.
 - Fused multiply-adds in f32, in any order: a product passes at most K + 8 additions (those of a chain, and of partial sums of a few
   threads), each of which rounds a partial sum of magnitude A at most: (K + 8) * u * A. Results below 2^-126 lose 2^-150 each.
 - Tensor cores (as reported for Hopper and Blackwell): an instruction adds d exact products to the accumulator. Terms are aligned to
   the largest exponent, every term is cut off 2^-25 of its power of two, and the sum to 24 significant bits: one instruction loses
   less than (d + 1) * 2^-25 * M + 2^-23 * M, M being the larger of A and the largest 2^(ex + ew). The latter exceeds A only when
   operands are subnormal, which keep their type's least exponent; P is it then, and M <= A + P. d is 16 for 16-bit operands, 8 for
   tf32, 32 for 8 bits and less (16 where 8-bit floats become f16 first, by which no power of two grows), 64 for two 4-bit operands
   with scale factors, whose terms are exact sums of 16 products that lose less than 2^-35. Products of 8-bit floats in wgmma are
   aligned to, and their sums cut to, 13 bits: (d + 2) * 2^-13. A sum needs
   ceil(C / groups / d) instructions a tap. Partial sums of up to 8 CTAs or warps are added in f32: 8 * u * A.
 - float64 sums: K * 2^-52 * A.

The epilogue is f32: every operation rounds once, u of its result, and hands on the error of its operands. Activations made of ex2
(2^-22 relative, PTX ISA 9.7.3.21) and reciprocals (1 ulp, 2u): with z = v * log2(e) off by 1.5u of itself, exp(-v) is off by
(1.5|v| + 4)u, s = 1 / (1 + exp(-v)) by s * ((1 - s) * (1.5|v| + 4) + 3)u. SiLU and
GELU (tanh) share reciprocals and are off by 9u in place of 3u, GELU (tanh) has an argument of 4u in place of 1.5u, tanh is allowed 21u,
hard-swish 4u, GELU (erf) v * Phi(v) with Phi's smaller tail within (2 v^2 + 66)u of itself or 2^-38 of v times it; f32 results may
flush to 0 below 2^-126.

A computed element is right when it lies between the roundings of both ends of the interval: conversions are monotone.
"""
import math

import numpy as np

from formats import FORMATS, INTEGERS

U = 2.0**-24
TINY = 2.0**-126


class Numbers:
    """Values and how far a kernel's may be from them."""

    def __init__(self, value, error):
        self.value, self.error = value, error

    def rounded(self, value, error):
        """After an f32 operation with this exact value and the error of its operands."""
        exact = (error == 0) & (FORMATS["f32"].round(value) == value)
        return Numbers(value, np.where(exact, 0, error + (np.abs(value) + error) * U * (1 + 2.0**-20) + 2.0**-149))

    def converted(self, form):
        """After a conversion, which is monotone: between those of both ends. An overflow stays a number that overflows again."""
        value, low, high = (np.clip(form.round(end), -(2.0**120), 2.0**120)
                            for end in (self.value, self.value - self.error, self.value + self.error))
        return Numbers(value, np.maximum(high - value, value - low))

    def times(self, factor):
        return self if np.all(factor == 1) else self.rounded(self.value * factor, self.error * np.abs(factor))

    def plus(self, term, own=0):
        return self.rounded(self.value + term, self.error + own)


def windows(p):
    """For each tap: its index, the pixels that it reads for every output, and which of them are inside the image."""
    axes = []
    for axis, positions in enumerate(p.outputs()):
        if p.transposed:  # what an input pixel adds to, seen from the output: nothing where the stride leaves a rest
            at = [np.arange(positions) + p.before[axis] - tap * p.dilation[axis] for tap in range(p.taps[axis])]
            axes.append([np.where(one % p.stride[axis] == 0, one // p.stride[axis], -1) for one in at])
            continue
        at = np.arange(positions) * p.stride[axis] - p.before[axis]
        axes.append([at + tap * p.dilation[axis] for tap in range(p.taps[axis])])
    for t, depth in enumerate(axes[0]):
        for r, row in enumerate(axes[1]):
            for s, column in enumerate(axes[2]):
                inside = [(0 <= at) & (at < extent) for at, extent in zip((depth, row, column), p.image())]
                if not all(one.any() for one in inside):
                    continue
                pixels = [np.clip(at, 0, e - 1) // u for at, e, u in zip((depth, row, column), p.image(), p.upsample)]
                yield (t, r, s), pixels, inside


def convolve(p, x, w):
    """Sums, and sums of magnitudes: [N, Z, P, Q, K] from [N, D, H, W, C] and [K, T, R, S, C / groups]."""
    z, y, q = p.outputs()
    shape = (p.n, z, y, q, p.groups, p.k // p.groups)
    sums, magnitudes = np.zeros(shape), np.zeros(shape)
    x = x.reshape(x.shape[:4] + (p.groups, p.group_channels()))
    w = w.reshape((p.groups, p.k // p.groups) + w.shape[1:])
    for (t, r, s), (depth, row, column), inside in windows(p):
        mask = inside[0][:, None, None] & inside[1][None, :, None] & inside[2][None, None, :]
        pixels = x[:, depth][:, :, row][:, :, :, column] * mask[None, :, :, :, None, None]
        weights = w[:, :, t, r, s]
        for group in range(p.groups):
            sums[..., group, :] += pixels[..., group, :] @ weights[group].T
            magnitudes[..., group, :] += np.abs(pixels[..., group, :]) @ np.abs(weights[group]).T
    return sums.reshape(p.n, z, y, q, p.k), magnitudes.reshape(p.n, z, y, q, p.k)


def largest_power(kind, values, factors):
    """The largest 2^(exponent that the hardware gives an element), if it may exceed the element; 0 otherwise."""
    least = 2.0 ** FORMATS[kind].least_exponent
    small = np.abs(values) < least if kind == "e2m1" else (np.abs(values) < least) & (values != 0)
    return (small * factors).max() * least


def sum_error(p, how, magnitudes, operands):
    """`how` sums are made: "fma", "mma" (which gets 8-bit floats as f16), "wgmma" or "tcgen05"."""
    if how not in ("fma", "mma", "wgmma", "tcgen05"):
        raise ValueError(f"no bound for sums of {how}")
    if p.input_type in INTEGERS:
        return np.zeros_like(magnitudes)
    taps, channels = int(np.prod(p.taps)), p.group_channels()
    products = taps * channels
    if how == "fma":
        error = (products + 8) * (U * magnitudes * (1 + 2.0**-10) + 2.0**-150)
    else:
        bits = max(FORMATS[p.input_type].bits, FORMATS[p.filter_type].bits)
        four = bits == 4 and p.input_scale.block != 0
        d = 64 if four else {16: 16, 32: 8}.get(bits, 16 if how == "mma" else 32)
        lost = (d / 16 + 1) * 2.0**-35 + 2.0**-23 if four else (d + 1) * 2.0**-25 + 2.0**-23
        if how == "wgmma" and bits == 8:
            lost = (d + 2) * 2.0**-13
        # Of subnormal x with any w, or the other way round.
        (x, fx), (w, fw) = operands
        largest = lambda values, factors: np.abs(values * factors).max()
        power = max(largest_power(p.input_type, x, fx) * max(largest(w, fw), largest_power(p.filter_type, w, fw)),
                    largest_power(p.filter_type, w, fw) * max(largest(x, fx), largest_power(p.input_type, x, fx)))
        error = taps * -(-channels // d) * lost * (magnitudes + power + TINY) + 8 * U * magnitudes
    # Products that are all zero change nothing.
    return np.where(magnitudes == 0, 0, error + products * 2.0**-52 * magnitudes)


def normal_tail(v):
    return 0.5 * np.vectorize(math.erfc, otypes=[float])(v / np.sqrt(2.0))


def sigmoid(v):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-v))


def activate(p, x):
    """The function, with the error of its argument handed on and its own."""
    v, w = x.value, np.abs(x.value) + x.error
    sigmoid_error = lambda s, most, argument: (s + 0.25 * x.error) * (
        np.minimum(1, 1 - s + 0.25 * x.error) * ((1.5 + argument) * most + 4) + 3) * U + TINY
    kind = p.activation
    if kind == "none":
        return x
    # How far a function that never falls is from its value at the ends of the interval.
    ends = lambda f: np.maximum(f(v + x.error) - f(v), f(v) - f(v - x.error))
    if kind == "relu":
        positive = lambda at: np.maximum(at, 0)
        return Numbers(positive(v), ends(positive))
    if kind == "leaky_relu":
        a = p.parameters[0]
        below = x.rounded(a * v, abs(a) * x.error)
        return Numbers(np.where(v < 0, below.value, v),
                       np.maximum(np.where(v - x.error < 0, below.error, 0), np.where(v + x.error >= 0, x.error, 0)))
    if kind == "clamp":
        clamped = lambda at: np.clip(at, *p.parameters)
        return Numbers(clamped(v), ends(clamped))
    if kind == "sigmoid":
        value = sigmoid(v)
        handed, own = ends(sigmoid), sigmoid_error(value, w, 0)
    elif kind == "silu":
        s = sigmoid(v)
        value, handed, own = v * s, 1.1 * x.error, w * sigmoid_error(s, w, 0) + 6 * w * (s + 0.25 * x.error) * U
    elif kind == "tanh":
        value = np.tanh(v)
        handed = ends(np.tanh)
        own = 21 * (np.abs(value) + handed) * U
    elif kind == "hard_swish":
        value = v * np.clip(v + 3, 0, 6) / 6
        handed, own = 1.5 * x.error, 4 * (np.abs(value) + 1.5 * x.error) * U
    elif kind == "gelu_tanh":
        inner = 2 * np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)
        most = 2 * np.sqrt(2 / np.pi) * (w + 0.044715 * w**3)
        s = sigmoid(inner)
        value, handed = v * s, 1.13 * x.error
        reach = 0.25 * np.maximum(most - np.abs(inner), 0)  # of exact arguments these may differ by roundings here
        own = w * ((s + reach) * ((1 - s + reach) * (4 * most + 4) + 9) * U + TINY)
    else:
        tail = normal_tail(np.abs(v)) + 0.4 * x.error
        value, handed = v * normal_tail(-v), 1.13 * x.error
        own = w * (tail * (2 * w * w + 66) * U + np.where(v > -x.error, U, 0) + TINY) + 2.0**-38 + np.abs(value) * U
    error = handed + own
    return Numbers(value, error * (1 + 2.0**-20) + np.abs(value) * 2.0**-50 + 2.0**-149)


def epilogue(p, sums, tensors):
    """v, and v times out_scale."""
    v = sums
    if p.output_type == "s32":
        return v, v
    if p.input_type in INTEGERS:
        v = v.rounded(v.value, v.error)
    step = lambda numbers: numbers.converted(FORMATS[p.output_type]) if p.separate else numbers
    v = step(v.times(p.alpha))
    if p.channel_scale:
        v = step(v.times(tensors["channel_scale"]))
    if p.bias_type:
        v = step(v.plus(tensors["bias"]))
    adds_last = p.residual_last and p.activation != "none"
    if adds_last:
        v = step(activate(p, v))
    if p.beta != 0:
        # Before the activation in either order with the bias.
        term = p.beta * tensors["residual"]
        either = U * (np.abs(term) + (np.abs(tensors["bias"]) if p.bias_type else 0))
        v = step(v.plus(term, 0 if adds_last else either))
    if not adds_last:
        v = step(activate(p, v))
    return v, v.times(p.out_scale)


def sum_to_odd(a, b):
    """a + b in float64, an inexact sum to the neighbour with an odd last bit: rounding it to fewer bits is then rounding the exact sum."""
    total = np.asarray(a + b, np.float64)
    with np.errstate(invalid="ignore"):
        of_b = total - a
        lost = (a - (total - of_b)) + (b - of_b)
    moves = np.isfinite(total) & (lost != 0) & (total.view(np.int64) & 1 == 0)
    return np.where(moves, np.nextafter(total, np.where(lost > 0, np.inf, -np.inf)), total)


def separate_steps(p, convolved, tensors):
    """What becomes of the outputs of the plain convolution where each step is an operation of its own, which computes in f32 and stores
    its result in the output's type: the least and the largest that it may be. They differ only behind activations with approximations.
    Products are exact in float64, and sums of two numbers of f32 so close that rounding them twice changes nothing. A product of the
    residual has more bits: what is added to it decides ties, however small."""
    single, form = FORMATS["f32"].round, FORMATS[p.output_type].round
    step = lambda numbers: form(single(numbers))
    v = convolved
    if p.channel_scale:
        v = step(v * tensors["channel_scale"])
    if p.bias_type:
        v = step(v + tensors["bias"])
    add = lambda v: step(sum_to_odd(v, p.beta * tensors["residual"]))
    if p.beta != 0 and not p.residual_last:
        v = add(v)
    low = high = v
    if p.activation == "relu":
        low = high = np.where(v < 0, 0, v)
    elif p.activation == "leaky_relu":
        low = high = np.where(v < 0, step(p.parameters[0] * v), v)
    elif p.activation == "clamp":
        low = high = form(np.clip(v, *p.parameters))
    elif p.activation == "hard_swish":
        low = high = step(v * single(np.clip(single(v + 3), 0, 6) * single(1 / 6)))
    elif p.activation != "none":
        activated = activate(p, Numbers(v, np.zeros_like(v)))
        low, high = form(activated.value - activated.error), form(activated.value + activated.error)
    if p.residual_last:
        low, high = add(low), add(high)
    return step(low * p.out_scale), step(high * p.out_scale)
