#!/usr/bin/env python3
"""Convolves block-scaled or f16 operands with NumPy in double: an implementation that shares nothing with the library.

    numpy_convolution.py <folder>

reads <folder>/problem.txt (name value lines: n h w c k r s, pads, strides, dilations, transposed, output paddings, input_type, filter_type,
block, scale_type) and input, input_scale, filter, filter_scale as raw bytes in plain order, and writes <folder>/sums: [n, p, q, k]
doubles. A transposed convolution spreads every input pixel over the output, as it is defined.

Formats: OCP Microscaling Formats 1.0 (e4m3, e5m2, e3m2, e2m3, e2m1 and ue8m0), and NVIDIA's ue4m3, which is e4m3 without a sign.
"""
import pathlib
import sys

import numpy as np

# Exponent bits, fraction bits, bias.
FORMATS = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "e3m2": (3, 2, 3), "e2m3": (2, 3, 1), "e2m1": (2, 1, 1), "f16": (5, 10, 15)}


def unpack(raw: bytes, bits: int) -> np.ndarray:
    """Codes of elements that lie densely packed, the first in the low bits."""
    stream = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")
    stream = stream[: len(stream) // bits * bits].reshape(-1, bits)
    return (stream.astype(np.int64) << np.arange(bits)).sum(axis=1)


def decode(raw: bytes, name: str) -> np.ndarray:
    exponent_bits, fraction_bits, bias = FORMATS[name]
    codes = unpack(raw, 1 + exponent_bits + fraction_bits)
    fraction = codes & ((1 << fraction_bits) - 1)
    exponent = codes >> fraction_bits & ((1 << exponent_bits) - 1)
    subnormal = exponent == 0
    significand = fraction / 2.0**fraction_bits + np.where(subnormal, 0.0, 1.0)
    sign = np.where(codes >> (exponent_bits + fraction_bits) & 1, -1.0, 1.0)
    return sign * significand * 2.0 ** (np.where(subnormal, 1, exponent) - bias)


def decode_scale(raw: bytes, name: str) -> np.ndarray:
    if name == "ue8m0":
        return 2.0 ** (np.frombuffer(raw, np.uint8).astype(np.int64) - 127)
    assert name == "ue4m3"
    return np.abs(decode(raw, "e4m3"))


def spread(x: np.ndarray, weights: np.ndarray, value: dict) -> np.ndarray:
    """Every tap of every input pixel, onto an output as large as they reach; then what padding takes off and output padding adds."""
    n, h, w, _ = x.shape
    k, r, s, _ = weights.shape
    stride_h, stride_w, dilation_h, dilation_w = (value[name] for name in ("stride_h", "stride_w", "dilation_h", "dilation_w"))
    height, width = (h - 1) * stride_h + dilation_h * (r - 1) + 1, (w - 1) * stride_w + dilation_w * (s - 1) + 1
    whole = np.zeros((n, height + value["output_padding_h"], width + value["output_padding_w"], k))
    for i in range(r):
        for j in range(s):
            rows = slice(i * dilation_h, i * dilation_h + (h - 1) * stride_h + 1, stride_h)
            columns = slice(j * dilation_w, j * dilation_w + (w - 1) * stride_w + 1, stride_w)
            whole[:, rows, columns] += x @ weights[:, i, j].T
    return whole[:, value["pad_top"] : whole.shape[1] - value["pad_bottom"], value["pad_left"] : whole.shape[2] - value["pad_right"]]


def main(folder: pathlib.Path) -> None:
    text = dict(line.split() for line in (folder / "problem.txt").read_text().splitlines())
    value = {name: int(word) for name, word in text.items() if word.lstrip("-").isdigit()}
    n, h, w, c, k, r, s = (value[name] for name in "nhwckrs")

    def operand(name: str, rows: int) -> np.ndarray:
        elements = decode((folder / name).read_bytes(), text[f"{name}_type"]).reshape(rows, c)
        if value["block"] == 0:
            return elements
        scales = decode_scale((folder / f"{name}_scale").read_bytes(), text["scale_type"]).reshape(rows, -1)
        return elements * np.repeat(scales, value["block"], axis=1)[:, :c]

    x = operand("input", n * h * w).reshape(n, h, w, c)
    weights = operand("filter", k * r * s).reshape(k, r, s, c)
    if value["transposed"]:
        (folder / "sums").write_bytes(spread(x, weights, value).tobytes())
        return
    x = np.pad(x, ((0, 0), (value["pad_top"], value["pad_bottom"]), (value["pad_left"], value["pad_right"]), (0, 0)))
    stride_h, stride_w, dilation_h, dilation_w = (value[name] for name in ("stride_h", "stride_w", "dilation_h", "dilation_w"))
    p = (x.shape[1] - dilation_h * (r - 1) - 1) // stride_h + 1
    q = (x.shape[2] - dilation_w * (s - 1) - 1) // stride_w + 1
    sums = np.zeros((n, p, q, k))
    for i in range(r):
        for j in range(s):
            rows = slice(i * dilation_h, i * dilation_h + (p - 1) * stride_h + 1, stride_h)
            columns = slice(j * dilation_w, j * dilation_w + (q - 1) * stride_w + 1, stride_w)
            sums += x[:, rows, columns, :] @ weights[:, i, j, :].T
    (folder / "sums").write_bytes(sums.tobytes())


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
