#!/usr/bin/env python3
"""Host time of one call of a small convolution, beside that of operators with the same signatures that do nothing.

    bench/runtimes/call_cost.py            on a GPU; without one, everything but launch and allocation, on CPU tensors

Prints microseconds, medians of batches of calls. bench/runtimes/measure writes them into its rows. The operators _nothing, _nothing_prepared
and _look are in libshiftconv_torch.so for this program only.
"""
import os
import pathlib
import statistics
import sys
import time

if "SHIFTCONV_INSTALLED" not in os.environ:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "conv/python"))

import torch  # noqa: E402

import shiftconv.torch as sct  # noqa: E402
import shiftconv.torch.functional as functional  # noqa: E402

OPERATORS = torch.ops.shiftconv


def microseconds(function, batches=21, calls=200):
    function()
    times = []
    for _ in range(batches):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - start) / calls)
    return round(statistics.median(times) * 1e6, 2)


def call_costs(device):
    """Readings by name, for tensors on a GPU or the CPU."""
    x = torch.randn(1, 16, 8, 8).to(device, torch.float16).contiguous(memory_format=torch.channels_last)
    w = torch.randn(16, 16, 1, 1).to(device, torch.float16).contiguous(memory_format=torch.channels_last)
    bias, out = torch.randn(16).to(device), torch.empty_like(x)
    text = "1 0 1 1 relu 0.0 0.0 0 default "
    ways = {
        "empty_us": lambda: OPERATORS._nothing.default(x, w, bias, activation="relu", y=out),
        "empty_prepared_us": lambda: OPERATORS._nothing_prepared.default(x, w, bias, None, None, text, out),
        "call_us": lambda: sct.conv(x, w, bias, activation="relu", out=out),
    }
    if device == "cuda":
        module = sct.ShiftConv(w, bias, activation="relu")
        half = bias.half()
        ways |= {
            "operator_us": lambda: OPERATORS.conv_out.default(x, w, bias, activation="relu", y=out),
            "module_us": lambda: module(x),
            "aten_us": lambda: torch.nn.functional.conv2d(x, w, half),
        }
    launching = functional.PREPARED_OUT
    try:
        if device == "cpu":
            functional.PREPARED_OUT = OPERATORS._look.default
        with torch.inference_mode():
            return {name: microseconds(way) for name, way in ways.items()}
    finally:
        functional.PREPARED_OUT = launching


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    readings = call_costs(device)
    print(f"{device}, torch {torch.__version__}: " + ", ".join(f"{name[:-3]} {value} us" for name, value in readings.items()))
    print(f"a call with out= above an empty operator of conv_out's signature: {readings['call_us'] - readings['empty_us']:.2f} us")


if __name__ == "__main__":
    main()
