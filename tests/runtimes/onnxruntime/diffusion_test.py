"""A block of a diffusion model, in every way in which exporters write its normalisations, against sums in doubles."""
import unittest

from graphs import ARGUMENTS, UNIT, Graph, assigned, claimed, main, onCpu, sc, session
import numpy as np


class Diffusion(unittest.TestCase):
    def testAResidualBlockOfADiffusionModelStaysOnTheDevice(self):
        """Normalisations with SiLU, two convolutions, an embedding of the time, a shortcut, and a doubling of rows and columns; against f64."""
        for dtype in (np.float32, np.float16):
            for form in ("group", "instance", "exported", "dynamic"):
                with self.subTest(dtype=dtype, form=form):
                    rng, graph, weights = np.random.default_rng(ARGUMENTS.seed), Graph(dtype, 21), {}

                    def weight(name, *shape, scale=1.0):
                        weights[name] = (rng.uniform(-1, 1, shape) * scale).astype(dtype)
                        return graph.constant(weights[name])

                    def norm(x, channels, name):
                        each = (channels, 1, 1) if form in ("exported", "dynamic") else (channels,)
                        scale, bias = weight(name + "_scale", *each), weight(name + "_bias", *each)
                        if form == "instance":
                            y = graph.add("InstanceNormalization", [x, scale, bias], name, epsilon=1e-3)
                        elif form in ("exported", "dynamic"):
                            extents = graph.add("Shape", [x], name + "_extents") if form == "dynamic" else graph.constant([-1, channels, 5, 4], np.int64)
                            y = graph.add("Reshape", [x, graph.constant([0, 4, -1], np.int64)], name + "_there")
                            y = graph.add("InstanceNormalization", [y, graph.constant(np.ones(4)), graph.constant(np.zeros(4))], name + "_inner", epsilon=1e-3)
                            y = graph.add("Reshape", [y, extents], name + "_back")
                            y = graph.add("Add", [graph.add("Mul", [y, scale], name + "_scaled"), bias], name)
                        else:
                            y = graph.add("GroupNormalization", [x, scale, bias], name, num_groups=4, epsilon=1e-3)
                        return graph.add("Mul", [y, graph.add("Sigmoid", [y], name + "_gate")], name + "_silu")

                    def conv(x, out, channels, taps, name):
                        operands = [x, weight(name + "_w", out, channels, taps, taps, scale=(channels * taps**2) ** -0.5), weight(name + "_b", out)]
                        return graph.add("Conv", operands, name, pads=[taps // 2] * 4)

                    x = graph.input("x", ["n", 8, 5, 4] if form == "exported" else ["n", 8, "h", "w"])
                    y = conv(norm(x, 8, "norm1"), 16, 8, 3, "conv1")
                    time = graph.add("Conv", [graph.input("time", ["n", 4, 1, 1]), weight("time_w", 16, 4, 1, 1)], "embedding")
                    y = conv(norm(graph.add("Add", [y, time], "timed"), 16, "norm2"), 16, 16, 3, "conv2")
                    y = graph.add("Add", [conv(x, 16, 8, 1, "shortcut"), y], "sum")
                    graph.output(graph.add("Resize", [y, "", graph.constant([1, 1, 2, 2], np.float32)], "y", mode="nearest"))
                    made = session(graph.bytes())
                    names = ["norm1", "norm1_gate", "norm1_silu", "conv1", "embedding", "timed", "norm2", "norm2_gate", "norm2_silu", "conv2",
                             "shortcut", "sum", "y"]
                    if form in ("exported", "dynamic"):
                        parts = ("there", "inner", "back", "scaled") + ("extents",) * (form == "dynamic")
                        names += [f"norm{i}_{part}" for i in (1, 2) for part in parts]
                    self.assertEqual(assigned(made), {sc.get_ep_name(): [sorted(names)]})
                    self.assertEqual(claimed()[1], {})
                    for shape in ((2, 8, 5, 4), (1, 8, 5, 4) if form == "exported" else (1, 8, 3, 7)):
                        feed = {"x": rng.uniform(-2, 2, shape).astype(dtype), "time": rng.uniform(-1, 1, (shape[0], 4, 1, 1)).astype(dtype)}
                        result, (expected, bound) = made.run(None, feed)[0], self.blockInDoubles(feed, weights, form == "instance")
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

    def blockInDoubles(self, feed, weights, instance):
        """The block's values and, to first order with a tenth of room, how far rounding may lead from them: each step hands on the errors of its
        operands and rounds to the type; sums round once for each term."""
        unit = 2.0**-11 if feed["x"].dtype == np.float16 else UNIT
        w = {name: value.astype(np.float64).reshape(-1) if value.shape[1:] == (1, 1) else value.astype(np.float64) for name, value in weights.items()}

        def norm(value, error, name):
            groups = value.shape[1] if instance else 4
            v, e = (array.reshape(value.shape[0], groups, -1) for array in (value, error))
            distance, factor = v - v.mean(2, keepdims=True), 1 / np.sqrt(v.var(2, keepdims=True) + 1e-3)
            spread = e + e.mean(2, keepdims=True) + v.shape[2] * UNIT * np.abs(v).mean(2, keepdims=True)
            y, change = distance * factor, factor * (spread + np.abs(distance) * factor * np.sqrt((spread**2).mean(2, keepdims=True)))
            scale, bias = w[name + "_scale"][:, None, None], w[name + "_bias"][:, None, None]
            y, change = y.reshape(value.shape) * scale + bias, change.reshape(value.shape) * np.abs(scale) + 40 * UNIT
            y = y / (1 + np.exp(-y))  # its derivative is at most 1.1
            return y, 1.1 * (1.1 * change + unit * np.abs(y))

        def conv(value, error, name):
            filters, taps = w[name + "_w"], w[name + "_w"].shape[2]

            def summed(array, filters):
                padded = np.pad(array, ((0, 0), (0, 0), (taps // 2,) * 2, (taps // 2,) * 2))
                return np.einsum("nchwrs,kcrs->nkhw", np.lib.stride_tricks.sliding_window_view(padded, (taps, taps), (2, 3)), filters)
            y = summed(value, filters) + w.get(name + "_b", np.zeros(len(filters)))[:, None, None]
            return y, summed(error + filters[0].size * UNIT * np.abs(value), np.abs(filters)) + unit * np.abs(y)

        def total(a, b):
            return a[0] + b[0], a[1] + b[1] + unit * np.abs(a[0] + b[0])

        x, time = ((feed[name].astype(np.float64), np.zeros(feed[name].shape)) for name in ("x", "time"))
        y = total(conv(*norm(*x, "norm1"), "conv1"), conv(*time, "time"))
        y = total(conv(*norm(*y, "norm2"), "conv2"), conv(*x, "shortcut"))
        return tuple(array.repeat(2, axis=2).repeat(2, axis=3) for array in y)


if __name__ == "__main__":
    main()
