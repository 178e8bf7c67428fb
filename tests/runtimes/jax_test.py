"""shiftconv.jax on the device that SHIFTCONV_DEVICE names, the emulated one by default: random problems and layers against lax, refusals,
transformations, programs, two devices.

    SHIFTCONV_DEVICE=cuda:0 jax_test.py        on a GPU
"""
import argparse
import os
import sys
import unittest

os.environ["JAX_ENABLE_X64"] = "1"
ON_GPU = os.environ.setdefault("SHIFTCONV_DEVICE", "emulated").startswith("cuda")
if ON_GPU:
    os.environ["JAX_PLATFORMS"] = "cuda,cpu"
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
else:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    os.environ["JAX_PLATFORMS"] = "cpu"

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
if ON_GPU and jax.default_backend() != "gpu":
    print("skipped: JAX sees no GPU")
    sys.exit(77)

import shiftconv.jax as sj
from jax_problem import Problem, draw, layers, onTheHost, randomProblem

FAILED = (jax.errors.JaxRuntimeError, ValueError)  # a call that failed on the device
ARGUMENTS = argparse.Namespace(problems=100, seed=22)


class AgainstLax(unittest.TestCase):
    def judge(self, test):
        """The largest error in shares of its bound."""
        result = test.run()
        self.assertEqual(result.shape, test.shape)
        bound, error = test.bound(), np.abs(result - test.expected())
        self.assertTrue(np.all(error <= bound), f"error {np.max(error - bound)} beyond the bound")
        return float(np.max(error / np.where(bound > 0, bound, 1)))

    def testRandomProblems(self):
        print(f"seed {ARGUMENTS.seed}, {ARGUMENTS.problems} problems", flush=True)
        largest = 0.0
        for number in range(ARGUMENTS.problems):
            seed = ARGUMENTS.seed * 100000 + number
            test = randomProblem(seed)
            with self.subTest(seed=seed, problem=test.line()):
                largest = max(largest, self.judge(test))
        print(f"random problems: largest error {largest:.3f} of its bound", flush=True)

    def testLayers(self):
        largest = {}
        for name, test in layers():
            with self.subTest(layer=name, problem=test.line()):
                largest[name] = self.judge(test)
        print(f"{len(largest)} layers: largest error {max(largest.values()):.3f} of its bound", flush=True)

    def testPlansWithAWorkspaceAreLeftOut(self):
        """The planner's choice for this problem merges groups on both emulated devices, and packs the filter in a workspace."""
        test = Problem(ARGUMENTS.seed, "float16", 2, (5, 16, 17), 8, 8, (3, 3, 3), (1,) * 3, [(1, 1), (2, 2), (2, 2)], dilation=(1, 2, 2), groups=2)
        self.judge(test)

    def testABoundIsNotIdle(self):
        """It tells apart what differs by 2^-9 of 1 and of the value."""
        test = Problem(ARGUMENTS.seed, "float16", 2, (5, 4), 8, 3, (3, 2), (1, 1), [(1, 0), (0, 1)])
        self.assertTrue(np.all(2.0**-9 * (1 + np.abs(test.run())) > 2 * test.bound()))

    def testPaddingByName(self):
        x, w = np.ones((1, 7, 6, 4), np.float16), np.ones((2, 3, 4, 4), np.float16)
        for padding in ("SAME", "VALID"):
            mine = sj.conv(x, w, stride=(2, 1), dilation=(1, 1), padding=padding)
            with onTheHost():
                theirs = jax.lax.conv_general_dilated(x, w, (2, 1), padding, dimension_numbers=("NHWC", "OHWI", "NHWC"))
                np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))


class Programs(unittest.TestCase):
    """Calls inside of compiled programs: each has the bits of a call by itself."""

    def setUp(self):
        generator = np.random.default_rng(ARGUMENTS.seed)
        self.x = draw(generator, (2, 7, 6, 32), "float16")
        self.filters = [draw(generator, (32, 3, 3, 32), "float16") / 8 for _ in range(6)]

    def layer(self, x, w):
        return sj.conv(x, w, residual=x, padding=((1, 1), (2, 0)), activation="relu")

    def testBetweenOthersWork(self):
        """What XLA computes before and after a call is done in this order, however long it takes."""
        x, w = jnp.asarray(self.x), self.filters[0]

        def late(x):
            slow = jnp.ones(1 << 24 if ON_GPU else 1 << 10, jnp.float32)
            slow = jax.lax.fori_loop(0, 300, lambda _, v: v * 0.5 + 0.25, slow)
            return (x.astype(jnp.float32) * 2 + slow[0] * 0).astype(jnp.float16)
        result = jax.jit(lambda x: self.layer(late(x), w) + jnp.float16(1))(x)
        np.testing.assert_array_equal(np.asarray(result), np.asarray(self.layer(x * 2, w) + jnp.float16(1)))

    def testAChain(self):
        """On a GPU, XLA may record so many launches in a graph, and replay it with other arrays."""
        def chain(x, filters):
            for w in filters:
                x = self.layer(x, w)
            return x
        compiled = jax.jit(chain)
        for seed in range(4):
            x = draw(np.random.default_rng(seed), self.x.shape, "float16")
            np.testing.assert_array_equal(np.asarray(compiled(x, self.filters)), np.asarray(chain(x, self.filters)))

    def testALoop(self):
        compiled = jax.jit(lambda x, w: jax.lax.fori_loop(0, 5, lambda _, x: self.layer(x, w), x))
        for w in self.filters[:2]:
            x = self.x
            for _ in range(5):
                x = self.layer(x, w)
            np.testing.assert_array_equal(np.asarray(compiled(self.x, w)), np.asarray(x))

    def testMoreAddressesThanBindingsAreKept(self):
        x, w = draw(np.random.default_rng(3), (1, 3, 2, 8), "float16"), draw(np.random.default_rng(4), (8, 1, 1, 8), "float16")
        held = [jnp.asarray(x + np.float16(i)) for i in range(150)]
        results = [sj.conv(one, w) for one in held]
        once = np.asarray(sj.conv(np.concatenate([np.asarray(one) for one in held]), w))
        np.testing.assert_array_equal(np.concatenate([np.asarray(one) for one in results]), once)


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

    def onTwoDevices(self, axis):
        if ON_GPU and jax.device_count() < 2:
            self.skipTest("JAX sees one GPU")
        return jax.make_mesh((2,), (axis,), devices=jax.devices()[:2])

    def testShardsOfTheBatch(self):
        mesh = self.onTwoDevices("batch")
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
        mesh = self.onTwoDevices("channels")
        x = jax.device_put(self.x, NamedSharding(mesh, PartitionSpec(None, None, None, "channels")))
        np.testing.assert_array_equal(np.asarray(jax.jit(self.convolve)(x)), np.asarray(self.convolve(self.x)))

    def testShardsUnderAMap(self):
        mesh = self.onTwoDevices("batch")
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
        (ValueError, "residual_last must be False without a residual", dict(residual_last=True)),
        (TypeError, "residual_last must be True or False, but is 'no'", dict(residual_last="no")),
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
            with onTheHost(), self.assertRaisesRegex(FAILED, "set SHIFTCONV_DEVICE to emulated"):
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
