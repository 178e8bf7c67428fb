"""Number formats, from their public definitions: what codes mean, what values round to, and how codes lie in memory.

IEEE 754 (binary16, binary32), bfloat16, OCP 8-bit floating point 1.0 (e4m3, e5m2), OCP Microscaling Formats 1.0 (e3m2, e2m3, e2m1,
ue8m0), and ue4m3: e4m3 without its sign. Values are float64, which holds all of them exactly.
"""
import numpy as np


class Float:
    """A sign, `exponent_bits` and `fraction_bits`. Of the largest exponent, kind "ieee" has infinities and NaN, "fn" the NaN with
    all fraction bits set, and "finite" nothing special. `saturates`: conversions go to the largest number instead of beyond it."""

    def __init__(self, exponent_bits, fraction_bits, kind, saturates):
        self.bits = 1 + exponent_bits + fraction_bits
        self.exponent_bits, self.fraction_bits, self.kind, self.saturates = exponent_bits, fraction_bits, kind, saturates
        self.bias = 2 ** (exponent_bits - 1) - 1
        self.least_exponent = 1 - self.bias
        top = 2**exponent_bits - (2 if kind == "ieee" else 1) - self.bias
        self.largest = (2 - 2.0**-fraction_bits * (2 if kind == "fn" else 1)) * 2.0**top

    def decode(self, codes):
        codes = np.asarray(codes).astype(np.int64)
        fraction = codes & (2**self.fraction_bits - 1)
        exponent = codes >> self.fraction_bits & (2**self.exponent_bits - 1)
        significand = fraction * 2.0**-self.fraction_bits + (exponent != 0)
        value = np.ldexp(significand, np.maximum(exponent, 1) - self.bias)
        if self.kind == "ieee":
            special = exponent == 2**self.exponent_bits - 1
            value = np.where(special, np.where(fraction == 0, np.inf, np.nan), value)
        elif self.kind == "fn":
            value = np.where((codes & (2 ** (self.bits - 1) - 1)) == 2 ** (self.bits - 1) - 1, np.nan, value)
        return np.where(codes >> (self.bits - 1) & 1, -value, value)

    def round(self, values):
        """The nearest representable value, ties to an even last bit."""
        values = np.asarray(values, np.float64)
        _, exponent = np.frexp(np.abs(values))
        step = np.ldexp(1.0, np.maximum(exponent - 1, self.least_exponent) - self.fraction_bits)
        with np.errstate(invalid="ignore"):
            rounded = np.where(np.isfinite(values), np.rint(values / step) * step, values)
        beyond = self.largest if self.saturates else np.inf
        return np.where(np.abs(rounded) > self.largest, np.copysign(beyond, rounded), rounded)


class Integer:
    def __init__(self, bits, low, high):
        self.bits, self.low, self.high = bits, low, high

    def decode(self, codes):
        codes = np.asarray(codes).astype(np.int64)
        return np.where(codes > self.high, codes - 2**self.bits, codes).astype(np.float64)

    def round(self, values):
        return np.clip(np.rint(values), self.low, self.high)


class Factor8:
    """ue8m0: powers of two."""

    bits = 8

    def decode(self, codes):
        codes = np.asarray(codes).astype(np.int64)
        return np.where(codes == 255, np.nan, np.ldexp(1.0, codes - 127))

    def of_block(self, largest, element):
        """The factor of blocks with these largest magnitudes: OCP MX 1.0, 6.3."""
        _, exponent = np.frexp(largest)
        _, top = np.frexp(element.largest)
        code = np.clip(np.where(largest == 0, -(10**6), exponent - 1) - (top - 1) + 127, 0, 254)
        return self.decode(code)


class Factor4:
    """ue4m3: the non-negative codes of e4m3."""

    bits = 8

    def decode(self, codes):
        return FORMATS["e4m3"].decode(np.asarray(codes) & 0x7F)

    def of_block(self, largest, element):
        return FORMATS["e4m3"].round(largest / element.largest)


FORMATS = {
    "f16": Float(5, 10, "ieee", False),
    "bf16": Float(8, 7, "ieee", False),
    "f32": Float(8, 23, "ieee", False),
    "e4m3": Float(4, 3, "fn", True),
    "e5m2": Float(5, 2, "ieee", True),
    "e3m2": Float(3, 2, "finite", True),
    "e2m3": Float(2, 3, "finite", True),
    "e2m1": Float(2, 1, "finite", True),
    "s8": Integer(8, -128, 127),
    "u8": Integer(8, 0, 255),
    "s32": Integer(32, -(2**31), 2**31 - 1),
    "ue8m0": Factor8(),
    "ue4m3": Factor4(),
}
INTEGERS = ("s8", "u8", "s32")


def pack(codes, bits):
    """Bytes of codes that lie densely packed, the first in the low bits."""
    codes = np.asarray(codes).astype(np.uint64)
    if bits % 8 == 0:
        return codes.astype(f"<u{bits // 8}").view(np.uint8)
    stream = (codes[:, None] >> np.arange(bits, dtype=np.uint64) & np.uint64(1)).astype(np.uint8)
    return np.packbits(stream.reshape(-1), bitorder="little")


def unpack(raw, bits, count):
    """The first `count` codes of bytes."""
    if bits % 8 == 0:
        return raw[: count * (bits // 8)].view(f"<u{bits // 8}").astype(np.int64)
    stream = np.unpackbits(raw, bitorder="little")[: count * bits].reshape(count, bits)
    return (stream.astype(np.int64) << np.arange(bits)).sum(axis=1)


def factor_offsets(rows, blocks, interleaved):
    """Where the scale factors of [rows][blocks] lie, and how many bytes they span: rows of blocks, or, as cuBLAS lays them out ("1D
    block scaling factors layout"), tiles of 128 rows x 4 blocks, in which row r and block b are at 16 * (r % 32) + 4 * (r / 32) + b."""
    row, block = np.arange(rows)[:, None], np.arange(blocks)[None, :]
    if not interleaved:
        return row * blocks + block, rows * blocks
    across, down = -(-blocks // 4), -(-rows // 128)
    inside = 16 * (row % 32) + 4 * (row % 128 // 32) + block % 4
    return (row // 128 * across + block // 4) * 512 + inside, across * down * 512
