"""A block of a diffusion model, in every way in which exporters write its normalisations, against sums in doubles."""
import unittest

from graphs import ARGUMENTS, UNIT, Graph, assigned, claimed, main, onCpu, sc, session
import numpy as np
from unet_block import FORMS, ResidualBlock


class Diffusion(unittest.TestCase):
    def testAResidualBlockOfADiffusionModelStaysOnTheDevice(self):
        for dtype in (np.float32, np.float16):
            for form in FORMS:
                with self.subTest(dtype=dtype, form=form):
                    block = ResidualBlock(dtype, form, 8, 16, (5, 4))
                    made = session(block.graph.bytes())
                    self.assertEqual(assigned(made), {sc.get_ep_name(): [sorted(block.names())]})
                    self.assertEqual(claimed()[1], {})
                    for images, extents in ((2, (5, 4)), (1, (5, 4) if form == "exported" else (3, 7))):
                        feed = block.feed(images, extents)
                        result, (expected, bound) = made.run(None, feed)[0], block.inDoubles(feed)
                        self.assertEqual(result.shape, expected.shape)
                        error = np.abs(result.astype(np.float64) - expected)
                        self.assertTrue(np.all(error <= bound), f"error {np.max(error - bound)} beyond the bound")
                        self.assertLess(bound.max(), 2.0**-3 if dtype == np.float16 else 2.0**-9, "a bound that says something")

    def testWhatOnlyLooksLikeAGroupNormalisation(self):
        """Other shapes between, and factors that are not 1: the result is that of the nodes as they stand."""
        rng = np.random.default_rng(ARGUMENTS.seed)
        feed = {"x": rng.uniform(-2, 2, (4, 8, 3, 5)).astype(np.float32)}
        for between, inner, back in (([2, 4, -1], 4, [4, 8, 3, 5]), ([0, 4, -1], 4, [4, 8, 5, 3]), ([8, 4, 15], 4, [4, 8, 3, 5]), ([0, 4, 6, 5], 4, [4, 8, 3, 5]),
                                     ([0, 2, -1], 2, [4, 8, 3, 5])):
            with self.subTest(between=between, back=back):
                graph = Graph()
                y = graph.identity(graph.input("x", [4, 8, 3, 5]), 8, "start")
                y = graph.add("Reshape", [y, graph.constant(between, np.int64)], "there")
                scale = np.ones(inner) if inner == 4 else np.array([1.0, 2.0])
                y = graph.add("InstanceNormalization", [y, graph.constant(scale), graph.constant(np.zeros(inner))], "inner")
                y = graph.add("Reshape", [y, graph.constant(back, np.int64)], "back")
                graph.output(graph.add("Mul", [y, graph.constant(rng.uniform(1, 2, (8, 1, 1)))], "y"))
                expected = onCpu(graph.bytes()).run(None, feed)[0]
                # Two sums of at most 120 terms and some roundings, each of numbers below 2 * 4, on both sides.
                np.testing.assert_allclose(session(graph.bytes()).run(None, feed)[0], expected, rtol=0, atol=2 * 300 * UNIT * 8)


if __name__ == "__main__":
    main()
