#!/usr/bin/env python3
"""Writes ml_dtypes.table: what the number types of ml_dtypes (PyPI) decode to and round to. Run with numpy and ml_dtypes installed:

    python3 tests/numerics/ml_dtypes_table.py > tests/numerics/ml_dtypes.table

Lines:
  decode TYPE CODE F32BITS            every code; nan for any NaN
  range TYPE CODE FIRST LAST          the f32 bit patterns from FIRST to LAST, all not negative, round to CODE
  overflow TYPE CODE FIRST            patterns from FIRST to infinity give CODE, that of an infinity, a NaN or the largest value
  block FORMAT SCALE VALUES CODES     a block of f32 values quantised by OCP MX 1.0, 6.3, written here with numpy alone
"""
import sys

import ml_dtypes
import numpy as np

TYPES = {
    "e4m3": (ml_dtypes.float8_e4m3fn, 8),
    "e5m2": (ml_dtypes.float8_e5m2, 8),
    "e3m2": (ml_dtypes.float6_e3m2fn, 6),
    "e2m3": (ml_dtypes.float6_e2m3fn, 6),
    "e2m1": (ml_dtypes.float4_e2m1fn, 4),
    "ue8m0": (ml_dtypes.float8_e8m0fnu, 8),
}
INFINITY = 0x7F800000


def code_of(dtype, patterns):
    return np.asarray(patterns, np.uint32).view(np.float32).astype(dtype).view(np.uint8)


def first_pattern_after(dtype, code, low):
    """The smallest pattern above `low` that does not give `code`, which `low` gives; rounding is monotone."""
    high = INFINITY + 1
    while high - low > 1:
        middle = (low + high) // 2
        if code_of(dtype, [middle])[0] == code:
            low = middle
        else:
            high = middle
    return high


def write_type(name, dtype, bits):
    for code in range(1 << bits):
        value = np.asarray([code], np.uint8).view(dtype).astype(np.float32)
        text = "nan" if np.isnan(value[0]) else f"{value.view(np.uint32)[0]:08x}"
        print(f"decode {name} {code:02x} {text}")
    start, ranges = 0, []
    while start <= INFINITY:
        code = code_of(dtype, [start])[0]
        end = first_pattern_after(dtype, code, start)
        ranges.append((code, start, end - 1))
        if end > INFINITY:
            print(f"overflow {name} {code:02x} {start:08x}")
        else:
            print(f"range {name} {code:02x} {start:08x} {end - 1:08x}")
        start = end
    # The bisection took monotony for granted; look at every f16 and bf16 value, and at random ones.
    half = np.arange(0x7C01, dtype=np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    brain = np.arange(0x7F81, dtype=np.uint32) << 16
    drawn = np.random.default_rng(8).integers(0, INFINITY, 1 << 20, dtype=np.uint32)
    patterns = np.concatenate([half, brain, drawn])
    firsts = np.asarray([first for _, first, _ in ranges], np.uint32)
    codes = np.asarray([code for code, _, _ in ranges], np.uint8)
    expected = codes[np.searchsorted(firsts, patterns, side="right") - 1]
    assert (code_of(dtype, patterns) == expected).all(), name


def write_blocks():
    """ldexp and casts only: scale 2^(floor(log2(amax)) - emax), elements the saturated casts of value / scale."""
    draw = np.random.default_rng(20250101)
    for name, kind, emax, largest in [("mxfp8_e4m3", "e4m3", 8, 448), ("mxfp8_e5m2", "e5m2", 15, 57344), ("mxfp6_e3m2", "e3m2", 4, 28),
                                      ("mxfp6_e2m3", "e2m3", 2, 7.5), ("mxfp4", "e2m1", 2, 6), ("nvfp4", "e2m1", 0, 6)]:
        for index in range(8):
            size = 16 if name == "nvfp4" else 32
            center = [0, -140, 100, -126, 3, -9, 60, 127][index] if name != "nvfp4" else [0, -9, 5, -20, 3, 8, 1, -7][index]
            values = (draw.standard_normal(size) * np.exp2(draw.uniform(-6, 0, size))).astype(np.float64)
            values = np.ldexp(values / np.abs(values).max() * draw.uniform(1, 2), center).astype(np.float32)
            if index == 3:
                values[1::2] = 0
            wide = values.astype(np.float64)
            amax = np.abs(wide).max()
            if name == "nvfp4":
                scale = np.asarray([min(amax / 6, 448)]).astype(ml_dtypes.float8_e4m3fn)
                code, factor = scale.view(np.uint8)[0], scale.astype(np.float64)[0]
            else:
                exponent = max(int(np.floor(np.log2(amax))) - emax, -127)
                code, factor = exponent + 127, np.ldexp(1.0, exponent)
            scaled = np.clip(wide / factor, -largest, largest) if factor != 0 else np.zeros(size)
            # Casts of f64 to the narrow types round once; casts of f32 are what the ranges above pin.
            codes = scaled.astype(TYPES[kind][0]).view(np.uint8)
            print(f"block {name} {code:02x} {','.join(f'{b:08x}' for b in values.view(np.uint32))} {','.join(f'{c:02x}' for c in codes)}")


def main():
    print(f"# Made by ml_dtypes_table.py with ml_dtypes {ml_dtypes.__version__} (https://pypi.org/project/ml-dtypes/) and numpy {np.__version__}; do not edit.")
    for name, (dtype, bits) in TYPES.items():
        write_type(name, dtype, bits)
    write_blocks()


if __name__ == "__main__":
    sys.exit(main())
