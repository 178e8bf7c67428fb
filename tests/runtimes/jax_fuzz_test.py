"""Ten thousand calls of shiftconv.jax.conv and of its target that are mostly wrong: each gives a result or an exception.

    jax_fuzz_test.py --calls 1000 --seed 7
"""
import argparse
import os
import random
import sys
import unittest

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.pop("SHIFTCONV_DEVICE", None)  # what is right is refused at last, so that calls are quick

from shiftconv import glue_path

try:
    import jax
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not os.path.exists(glue_path("jax")):
    print(f"skipped: there is no {glue_path('jax')}; see docs/runtimes/jax.md")
    sys.exit(77)

import shiftconv.jax as sj

ARGUMENTS = argparse.Namespace(calls=10_000, seed=22)
REFUSALS = (ValueError, TypeError, NotImplementedError, OverflowError, jax.errors.JaxRuntimeError)


class Fuzz(unittest.TestCase):
    def setUp(self):
        print(f"seed {ARGUMENTS.seed}, {ARGUMENTS.calls} calls", flush=True)

    def testTheFunction(self):
        choose = random.Random(ARGUMENTS.seed)
        shapes = [(2, 5, 6, 8), (4, 3, 3, 8), (8, 1, 1, 8), (1, 3, 4, 5, 8), (8, 1, 1, 1, 8), (2, 11, 8), (4,), (8,), (), (0, 5, 6, 8)]
        kinds = ["float16"] * 6 + ["float32", "bfloat16", "float64", "int8", "bool", "complex64", "float8_e4m3fn"]
        arrays = [np.zeros(shape, jax.numpy.dtype(kind)) for shape in shapes for kind in kinds]
        numbers = [0, 2, -1, 1 << 40, -(1 << 63), (1, 1), (1, 2, 1), ((1, 2), (0, 1)), (), [], "SAME", None, 1.5, "x", (1 << 62, 1)]
        seen = set()
        for _ in range(ARGUMENTS.calls * 19 // 20):
            optional = [None] * 5 + [choose.choice(arrays) for _ in range(3)] + [3.0]
            arguments = dict(
                stride=choose.choice([1] * 9 + numbers), padding=choose.choice([1] * 9 + numbers), dilation=choose.choice([1] * 9 + numbers),
                groups=choose.choice([1] * 9 + [0, -1, 3, 8, 1 << 62, None]), activation=choose.choice(["none"] * 4 + ["relu", "clamp", 7, "\0"]),
                activation_parameters=choose.choice([()] * 5 + [(1, 0), (float("nan"),), 3]),
                residual_last=choose.choice([False] * 5 + [True, None, 1]), channel_scale=choose.choice(optional),
                alpha=choose.choice([1.0] * 5 + [float("inf"), "x"]), beta=choose.choice([1.0] * 5 + [0, None]),
                out_dtype=choose.choice([None] * 5 + ["float16", "float64", 5]), compute=choose.choice(["default"] * 6 + ["tf32", "", None]),
                algorithm=choose.choice([None] * 6 + ["halo", ":", "x" * 5000, "\0"]), options=choose.choice([None] * 6 + ["x=1" * 50, "|"]))
            try:
                sj.conv(choose.choice(arrays), choose.choice(arrays), choose.choice(optional), choose.choice(optional), **arguments).block_until_ready()
                self.fail(f"computed without a device: {arguments}")
            except REFUSALS as error:
                seen.add(str(error).split(" ")[0])
        self.assertLessEqual({"x", "w", "groups", "stride", "padding", "activation"}, seen)

    def testTheTarget(self):
        """Lines, operands and results that do not fit each other, past the checks of the module."""
        choose = random.Random(ARGUMENTS.seed)
        try:
            sj.conv(np.ones((1, 2, 2, 8), np.float16), np.ones((8, 1, 1, 8), np.float16))  # registers it
        except REFUSALS:
            pass
        os.environ["SHIFTCONV_DEVICE"] = "emulated"
        right = ["2x5x6x8 f16 * 4x3x3x8 -> f16", "1x2x2x8 f32 * 8x1x1x8 -> f32 bias f32 relu", "1x3x4x5x8 f16 * 8x1x1x1x8 -> f16 residual 1.0"]
        pieces = ["f16", "*", "->", "99999999999999999999", "-1", "x", "0", "groups 0", "| algorithm halo", "| options", "\0", "é", "", "relu relu"]
        arrays = [np.zeros(shape, kind) for shape in ((2, 5, 6, 8), (4, 3, 3, 8), (8,), (), (1, 2, 2, 8), (8, 1, 1, 8), (0, 3)) for kind in
                  ("float16", "float32", "int8")]
        sentences = set()
        for _ in range(ARGUMENTS.calls // 20):
            words = choose.choice(right).split(" ")
            for _ in range(choose.randrange(4)):
                words[choose.randrange(len(words))] = choose.choice(pieces + [word for line in right for word in line.split(" ")])
            result = choose.choice(arrays)
            call = jax.ffi.ffi_call("shiftconv_conv", jax.ShapeDtypeStruct(result.shape, result.dtype))
            try:
                call(*(choose.choice(arrays) for _ in range(choose.randrange(5))), problem=" ".join(words)).block_until_ready()
            except (*REFUSALS, UnicodeError) as error:
                sentences.add(str(error)[:60])
        self.assertGreater(len(sentences), 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=ARGUMENTS.calls)
    parser.add_argument("--seed", type=int, default=ARGUMENTS.seed)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
