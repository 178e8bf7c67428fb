"""shiftconv.jax on the emulated device: random problems against lax, refusals, transformations, two devices."""
import argparse
import os
import random
import sys
import unittest

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"
os.environ.setdefault("SHIFTCONV_DEVICE", "emulated")

from shiftconv import glue_path

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not os.path.exists(glue_path("jax")):
    print(f"skipped: there is no {glue_path('jax')}; see docs/runtimes/jax.md")
    sys.exit(77)

import reference
import shiftconv.jax as sj

PRESET = os.environ["SHIFTCONV_DEVICE"].replace(":", "_")
LETTERS = {3: ("NWC", "OWI"), 4: ("NHWC", "OHWI"), 5: ("NDHWC", "ODHWI")}
FAILED = (jax.errors.JaxRuntimeError, ValueError)  # a call that failed on the device
ARGUMENTS = argparse.Namespace(problems=100, seed=22)


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


ACTIVATE = {
    "none": lambda v: v, "relu": lambda v: np.maximum(v, 0), "clamp": lambda v: np.clip(v, -0.75, 1.5),
    "leaky_relu": lambda v: np.where(v < 0, np.float32(0.2) * v, v), "silu": lambda v: v / (1 + np.exp(-v)),
    "hard_swish": lambda v: v * np.clip(v + 3, 0, 6) / 6, "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "tanh": np.tanh,
    "gelu_erf": lambda v: np.asarray(v / 2 * (1 + jax.scipy.special.erf(v / np.sqrt(2)))),
    "gelu_tanh": lambda v: v / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v ** 3))),
}
PARAMETERS = {"clamp": (-0.75, 1.5), "leaky_relu": (0.2,)}


class RandomProblem:
    """A small problem of one to three dimensions, with everything that shiftconv.jax.conv offers."""

    def __init__(self, seed):
        choose, generator = random.Random(seed), np.random.default_rng(seed)
        axes = choose.choice((1, 2, 2, 2, 2, 3))
        kind = choose.choice(("float16", "float16", "bfloat16", "float32", "int8", "float8_e4m3fn", "float8_e5m2"))
        narrow = kind == "int8" or kind.startswith("float8")  # what stands beside them is f32
        self.groups = choose.choice((1, 1, 1, 2, 3))
        channels = self.groups * choose.choice((1, 3, 4, 8)) if not narrow else self.groups * choose.choice((1, 4, 5))
        filters = self.groups * choose.choice((1, 2, 5, 8))
        if choose.random() < 0.15:
            self.groups, filters = channels, channels * choose.choice((1, 2))
        extents = [choose.randint(1, (9, 7, 5)[axes - 1]) for _ in range(axes)]
        taps = [choose.randint(1, 3) for _ in range(axes)]
        self.stride = tuple(choose.randint(1, 2) for _ in range(axes))
        self.dilation = tuple(choose.choice((1, 1, 2)) for _ in range(axes))
        self.pads = []
        for axis in range(axes):
            reach = (taps[axis] - 1) * self.dilation[axis]
            before = choose.randint(0, 2)
            self.pads.append((before, max(choose.randint(0, 2), reach + 1 - extents[axis] - before)))
        images = choose.randint(1, 3)
        self.x = draw(generator, (images, *extents, channels), kind)
        self.w = draw(generator, (filters, *taps, channels // self.groups), kind)
        out = [(extent + sum(pad) - step * (count - 1) - 1) // stride + 1 for extent, pad, step, count, stride in
               zip(extents, self.pads, self.dilation, taps, self.stride)]
        self.shape = (images, *out, filters)
        beside = "float32" if narrow else kind
        self.bias = draw(generator, (filters,), choose.choice(("float32", beside))) if choose.random() < 0.5 else None
        self.residual = draw(generator, self.shape, beside) if choose.random() < 0.3 else None
        self.scale = draw(generator, (filters,), "float32") if choose.random() < 0.2 else None
        self.activation = choose.choice(tuple(ACTIVATE)) if choose.random() < 0.7 else "none"
        self.beta = choose.choice((1.0, 0.5, -2.0))
        self.out = None if choose.random() < 0.7 and not narrow else "float32"

    def arguments(self):
        return dict(stride=self.stride, padding=self.pads, dilation=self.dilation, groups=self.groups,
                    activation=self.activation, activation_parameters=PARAMETERS.get(self.activation, ()),
                    channel_scale=self.scale, beta=self.beta, out_dtype=self.out)

    def line(self):
        operands = {name: value for name, value in (("x", self.x), ("w", self.w), ("bias", self.bias), ("residual", self.residual),
                                                    ("channel_scale", self.scale)) if value is not None}
        return sj._problem(operands, self.stride, self.pads, self.dilation, self.groups, self.activation,
                           PARAMETERS.get(self.activation, ()), 1.0, self.beta, self.out, "default", None, None).line(self.x.shape[0])

    def expected(self):
        value = byLax(self.x, self.w, self.pads, self.stride, self.dilation, self.groups)
        if self.scale is not None:
            value = value * self.scale.astype(np.float64)
        if self.bias is not None:
            value = value + self.bias.astype(np.float64)
        if self.residual is not None:
            value = value + self.beta * self.residual.astype(np.float64)
        with np.errstate(over="ignore"):  # exp of large numbers: 1 / infinity is right
            return np.asarray(ACTIVATE[self.activation](value))

    def bound(self):
        return reference.exact(self.line(), [self.x, self.w, self.bias, self.residual, self.scale], self.shape, PRESET)[1]


class AgainstLax(unittest.TestCase):
    def testRandomProblems(self):
        print(f"seed {ARGUMENTS.seed}, {ARGUMENTS.problems} problems", flush=True)
        largest = 0.0
        for number in range(ARGUMENTS.problems):
            seed = ARGUMENTS.seed * 100000 + number
            test = RandomProblem(seed)
            with self.subTest(seed=seed, problem=test.line()):
                result = np.asarray(sj.conv(test.x, test.w, test.bias, test.residual, **test.arguments())).astype(np.float64)
                self.assertEqual(result.shape, test.shape)
                bound, error = test.bound(), np.abs(result - test.expected())
                self.assertTrue(np.all(error <= bound), f"error {np.max(error - bound)} beyond the bound")
                largest = max(largest, float(np.max(error / np.where(bound > 0, bound, 1))))
        print(f"largest error {largest:.3f} of its bound", flush=True)

    def testABoundIsNotIdle(self):
        """It tells apart what differs by 2^-9 of 1 and of the value."""
        generator = np.random.default_rng(ARGUMENTS.seed)
        test = RandomProblem(ARGUMENTS.seed)
        test.x, test.w = draw(generator, (2, 5, 4, 8), "float16"), draw(generator, (3, 3, 2, 8), "float16")
        test.stride, test.dilation, test.pads, test.groups = (1, 1), (1, 1), [(1, 0), (0, 1)], 1
        test.shape = (2, 4, 4, 3)
        test.bias = test.residual = test.scale = test.out = None
        test.activation = "none"
        result = np.asarray(sj.conv(test.x, test.w, **test.arguments())).astype(np.float64)
        self.assertEqual(result.shape, test.shape)
        self.assertTrue(np.all(2.0**-9 * (1 + np.abs(result)) > 2 * test.bound()))

    def testPaddingByName(self):
        x, w = jnp.ones((1, 7, 6, 4), jnp.float16), jnp.ones((2, 3, 4, 4), jnp.float16)
        for padding in ("SAME", "VALID"):
            mine = sj.conv(x, w, stride=(2, 1), dilation=(1, 1), padding=padding)
            theirs = jax.lax.conv_general_dilated(x, w, (2, 1), padding, dimension_numbers=("NHWC", "OHWI", "NHWC"))
            np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))


class Transformations(unittest.TestCase):
    def setUp(self):
        generator = np.random.default_rng(ARGUMENTS.seed)
        self.x, self.w = draw(generator, (4, 5, 6, 8), "float16"), draw(generator, (16, 3, 2, 8), "float16")
        self.bias = draw(generator, (16,), "float32")
        self.convolve = lambda x: sj.conv(x, self.w, self.bias, padding=((1, 0), (0, 1)), activation="relu")

    def testJit(self):
        np.testing.assert_array_equal(np.asarray(jax.jit(self.convolve)(self.x)), np.asarray(self.convolve(self.x)))

    def testVmapIsFoldedIntoTheImages(self):
        x = np.stack([self.x, self.x[::-1], -self.x])
        mapped = jax.jit(jax.vmap(self.convolve))
        np.testing.assert_array_equal(np.asarray(mapped(x)), np.stack([np.asarray(self.convolve(image)) for image in x]))
        self.assertEqual(mapped.lower(x).as_text().count("@shiftconv_conv"), 1)
        self.assertIn("12x1x5x6x8", mapped.lower(x).as_text())
        twice = jax.vmap(jax.vmap(self.convolve), in_axes=1, out_axes=2)(x[:, None])
        np.testing.assert_array_equal(np.moveaxis(np.asarray(twice), 2, 0)[0], np.asarray(mapped(x)))

    def testVmapOverResidualsAlone(self):
        residual = draw(np.random.default_rng(1), (3, 4, 5, 6, 16), "float16")
        one = lambda r: sj.conv(self.x, self.w, residual=r, padding=((1, 1), (0, 1)))
        np.testing.assert_array_equal(np.asarray(jax.vmap(one)(residual)), np.stack([np.asarray(one(r)) for r in residual]))

    def testVmapOverFilters(self):
        w = np.stack([self.w, -self.w])
        result = jax.vmap(lambda w: sj.conv(self.x, w, self.bias))(w)
        np.testing.assert_array_equal(np.asarray(result), np.stack([np.asarray(sj.conv(self.x, one, self.bias)) for one in w]))

    def testDerivativesAreRefused(self):
        for attempt in (lambda: jax.grad(lambda x: self.convolve(x).astype(jnp.float32).sum())(self.x),
                        lambda: jax.jvp(self.convolve, (self.x,), (self.x,)),
                        lambda: jax.vmap(jax.grad(lambda x: self.convolve(x).astype(jnp.float32).sum()))(self.x[None]),
                        lambda: jax.grad(lambda w: sj.conv(self.x, w).astype(jnp.float32).sum())(self.w)):
            with self.assertRaisesRegex(NotImplementedError, "shiftconv.jax.conv has no derivative"):
                attempt()

    def testWhatIsNotDifferentiatedMayPass(self):
        gradient = jax.grad(lambda s: (s * self.convolve(jax.lax.stop_gradient(self.x)).astype(jnp.float32)).sum())(2.0)
        self.assertAlmostEqual(float(gradient), float(np.asarray(self.convolve(self.x)).astype(np.float32).sum()), places=2)

    def testShardsOfTheBatch(self):
        self.assertEqual(jax.device_count(), 2)
        mesh = jax.make_mesh((2,), ("batch",))
        residual = draw(np.random.default_rng(1), (4, 5, 6, 16), "float16")
        convolve = jax.jit(lambda x, r: sj.conv(x, self.w, self.bias, r, padding=((1, 1), (0, 1))))
        whole = np.asarray(convolve(self.x, residual))
        split = NamedSharding(mesh, PartitionSpec("batch"))
        x, r = jax.device_put(self.x, split), jax.device_put(residual, split)
        result = convolve(x, r)
        self.assertEqual(result.sharding.spec[0], "batch")
        np.testing.assert_array_equal(np.asarray(result), whole)
        program = convolve.lower(x, r).compile().as_text()
        self.assertIn("2x1x5x6x8 f16", program)
        self.assertNotIn("all-gather", program)

    def testShardsOfChannelsAreGathered(self):
        mesh = jax.make_mesh((2,), ("channels",))
        x = jax.device_put(self.x, NamedSharding(mesh, PartitionSpec(None, None, None, "channels")))
        np.testing.assert_array_equal(np.asarray(jax.jit(self.convolve)(x)), np.asarray(self.convolve(self.x)))

    def testShardsUnderAMap(self):
        mesh = jax.make_mesh((2,), ("batch",))
        one = PartitionSpec("batch")
        result = jax.jit(jax.shard_map(self.convolve, mesh=mesh, in_specs=one, out_specs=one, check_vma=False))(
            jax.device_put(self.x, NamedSharding(mesh, one)))
        np.testing.assert_array_equal(np.asarray(result), np.asarray(self.convolve(self.x)))


class Refusals(unittest.TestCase):
    """Each argument by name."""
    X, W = np.ones((2, 5, 6, 8), np.float16), np.ones((4, 3, 3, 8), np.float16)
    TABLE = [
        (ValueError, "x must have 3, 4 or 5 axes", dict(x=np.ones((5, 6), np.float16))),
        (ValueError, "x must have at least one image", dict(x=np.ones((0, 5, 6, 8), np.float16))),
        (ValueError, "w must have 4 axes as x has", dict(w=np.ones((4, 3, 8), np.float16))),
        (ValueError, "w must have C / groups = 8 / 1 channels, but has 7", dict(w=np.ones((4, 3, 3, 7), np.float16))),
        (TypeError, "x must be of one of the types .*, but is float64", dict(x=np.ones((2, 5, 6, 8), np.float64))),
        (TypeError, "x must be of one of the types .*, but is s32", dict(x=np.ones((2, 5, 6, 8), np.int32))),
        (TypeError, "bias must be f32, f16 or bf16, but is s8", dict(bias=np.ones(4, np.int8))),
        (ValueError, r"bias must have the shape \(4,\), but has \(3,\)", dict(bias=np.ones(3, np.float32))),
        (ValueError, r"residual must have the shape \(2, 3, 4, 4\)", dict(residual=np.ones((2, 5, 6, 4), np.float16))),
        (ValueError, "beta must not be 0", dict(residual=np.ones((2, 3, 4, 4), np.float16), beta=0)),
        (TypeError, "channel_scale must be f32, but is f16", dict(channel_scale=np.ones(4, np.float16))),
        (ValueError, "groups must be a positive number, but is 0", dict(groups=0)),
        (ValueError, "groups", dict(w=np.ones((5, 3, 3, 4), np.float16), groups=2)),
        (ValueError, "stride must be a positive number, or 2 of them", dict(stride=(1, 2, 3))),
        (ValueError, "dilation must be a positive number", dict(dilation=0)),
        (ValueError, "padding must be a number", dict(padding="CIRCULAR")),
        (ValueError, "padding must have two numbers", dict(padding=((1, -1), (0, 0)))),
        (ValueError, "activation must be one of none, relu", dict(activation="swoosh")),
        (ValueError, "activation clamp has 2 activation_parameters, but there are 0", dict(activation="clamp")),
        (ValueError, "activation_parameters must be finite", dict(activation="clamp", activation_parameters=(0, float("inf")))),
        (ValueError, "alpha must be finite", dict(alpha=float("nan"))),
        (ValueError, "compute must be default, tf32 or f16", dict(compute="f64")),
        (TypeError, "out_dtype must be of one of the types", dict(out_dtype="float64")),
        (ValueError, "output", dict(x=np.ones((2, 2, 6, 8), np.float16))),
        (FAILED, "algorithm .*fastest", dict(algorithm="fastest")),
        (ValueError, "compute TF32 .* is for input_type and filter_type F32", dict(compute="tf32")),
        (FAILED, "shiftconv.jax.conv: shift_window", dict(algorithm="shift_window", w=np.ones((4, 3, 3, 4), np.float16), groups=2)),
    ]

    def testTable(self):
        for error, sentence, changes in self.TABLE:
            with self.subTest(sentence=sentence):
                arguments = {"x": self.X, "w": self.W, **changes}
                with self.assertRaisesRegex(error, sentence):
                    sj.conv(**arguments).block_until_ready()

    def testTheEmulatedDeviceHasToBeAskedFor(self):
        asked = os.environ.pop("SHIFTCONV_DEVICE")
        try:
            with self.assertRaisesRegex(FAILED, "set SHIFTCONV_DEVICE to emulated"):
                sj.conv(self.X, self.W).block_until_ready()
        finally:
            os.environ["SHIFTCONV_DEVICE"] = asked

    def testCallsPastTheModule(self):
        """The target checks what XLA hands over against the problem."""
        sj.conv(self.X, self.W).block_until_ready()  # registers it
        line = "2x5x6x8 f16 * 4x3x3x8 -> f16"
        result = jax.ShapeDtypeStruct((2, 3, 4, 4), jnp.float16)
        for sentence, operands, shape in (
                ("x has 840 bytes, but the problem needs 960", (self.X[:, :, :, :7], self.W), result),
                ("the call lacks the operand w", (self.X,), result),
                ("the call has 3 operands, but the problem 2", (self.X, self.W, self.W), result),
                ("w has another element type", (self.X, self.W.astype(np.int16)), result),
                ("the result has ", (self.X, self.W), jax.ShapeDtypeStruct((2, 3, 4, 3), jnp.float16))):
            with self.subTest(sentence=sentence), self.assertRaisesRegex(FAILED, sentence):
                jax.ffi.ffi_call("shiftconv_conv", shape)(*operands, problem=line).block_until_ready()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=ARGUMENTS.problems)
    parser.add_argument("--seed", type=int, default=ARGUMENTS.seed)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
