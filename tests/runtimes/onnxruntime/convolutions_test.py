"""Random convolutions by the provider for ONNX Runtime, against the CPU provider within the bound of the library."""
import random
import unittest

import shiftconv
from graphs import ARGUMENTS, DEVICE, UNIT, Graph, assigned, main, onCpu, sc, session
import numpy as np
import reference


class RandomConvolution:
    def __init__(self, seed):
        choose, rng = random.Random(seed), np.random.default_rng(seed)
        axes = choose.choice((1, 2, 2, 2, 3))
        self.dtype = choose.choice((np.float32, np.float16))
        self.groups = choose.choice((1, 1, 2, 3))
        channels, filters = self.groups * choose.choice((1, 3, 4, 8)), self.groups * choose.choice((1, 2, 5, 8))
        if choose.random() < 0.2:
            self.groups, filters = channels, channels
        self.extents = [choose.randint(2, (9, 7, 4)[axes - 1]) for _ in range(axes)]
        self.taps = [choose.randint(1, min(3, extent)) for extent in self.extents]
        self.strides = [choose.randint(1, 2) for _ in range(axes)]
        self.dilations = [choose.choice((1, 1, 2)) if taps * 2 - 1 <= extent else 1 for taps, extent in zip(self.taps, self.extents)]
        self.pads = [choose.randint(0, 2) for _ in range(2 * axes)]
        self.autoPad = choose.choice(("NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"))
        if self.autoPad != "NOTSET":
            self.dilations = [1] * axes  # the CPU provider has no other
        self.x = rng.uniform(-1, 1, (choose.randint(1, 3), channels, *self.extents)).astype(self.dtype)
        self.w = rng.uniform(-1, 1, (filters, channels // self.groups, *self.taps)).astype(self.dtype)
        self.bias = rng.uniform(-1, 1, filters).astype(self.dtype) if choose.random() < 0.5 else None
        self.relu = choose.random() < 0.3

    def addTo(self, graph, name, x, w=None, bias=None):
        operands = [x, graph.constant(self.w if w is None else w, self.w.dtype if w is None else w.dtype)]
        if self.bias is not None:
            operands.append(graph.constant(self.bias if bias is None else bias, self.bias.dtype if bias is None else bias.dtype))
        pads = {} if self.autoPad != "NOTSET" else {"pads": self.pads}
        graph.add("Conv", operands, name, group=self.groups, strides=self.strides, dilations=self.dilations, auto_pad=self.autoPad, **pads)
        return graph.add("Relu", [name], name + "_relu") if self.relu else name

    def onCpu(self, absolute):
        """f32 sums of the same numbers; of their magnitudes."""
        def f32(array):
            return np.abs(array).astype(np.float32) if absolute else array.astype(np.float32)
        graph = Graph()
        graph.output(self.addTo(graph, "y", graph.input("x", self.x.shape), f32(self.w), None if self.bias is None else f32(self.bias)))
        return onCpu(graph.bytes()).run(None, {"x": f32(self.x)})[0].astype(np.float64)

    def places(self):
        """Pads in front and behind, of each axis, as ONNX defines auto_pad."""
        axes = len(self.taps)
        if self.autoPad == "NOTSET":
            return list(zip(self.pads[:axes], self.pads[axes:]))
        places = []
        for extent, taps, stride in zip(self.extents, self.taps, self.strides):
            total = max(0, (-(-extent // stride) - 1) * stride + taps - extent) if self.autoPad != "VALID" else 0
            small, large = total // 2, total - total // 2
            places.append((small, large) if self.autoPad == "SAME_UPPER" else (large, small))
        return places

    def line(self):
        """The problem in the library's notation."""
        kind = "f32" if self.dtype == np.float32 else "f16"
        ones = (1,) * (3 - len(self.taps))

        def last(array):
            return np.moveaxis(array, 1, -1)

        def line(values):
            return "x".join(map(str, values))
        x, w = last(self.x), last(self.w)
        pads = (0, 0) * len(ones) + tuple(pad for place in self.places() for pad in place)
        text = f"{line((x.shape[0], *ones, *x.shape[1:]))} {kind} * {line((w.shape[0], *ones, *w.shape[1:]))} groups {self.groups}"
        text += f" pad {','.join(map(str, pads))} stride {','.join(map(str, (*ones, *self.strides)))}"
        text += f" dilation {','.join(map(str, (*ones, *self.dilations)))} -> {kind}"
        text += "" if self.bias is None else f" bias {kind}"
        return text + (" relu" if self.relu else "")

    def bound(self, shape):
        """The library's own."""
        inner = (shape[0], *shape[2:], shape[1])
        x, w = (np.moveaxis(array, 1, -1) for array in (self.x, self.w))
        return np.moveaxis(reference.exact(self.line(), [x, w, self.bias, None, None], inner, DEVICE)[1], -1, 1)


class GroupsInThreeDimensions(RandomConvolution):
    """The planner's choice merges groups on both emulated devices, and packs the filter for that."""

    def __init__(self, seed, images):
        rng = np.random.default_rng(seed)
        self.dtype, self.groups, self.autoPad, self.relu, self.bias = np.float16, 2, "NOTSET", True, None
        self.extents, self.taps, self.strides, self.dilations, self.pads = [5, 16, 17], [3, 3, 3], [1] * 3, [1, 2, 2], [1, 2, 2, 1, 2, 2]
        self.x = rng.uniform(-1, 1, (images, 8, *self.extents)).astype(self.dtype)
        self.w = np.random.default_rng(7).uniform(-1, 1, (8, 4, 3, 3, 3)).astype(self.dtype)


class Convolutions(unittest.TestCase):
    def judge(self, test, result):
        """The error in shares of its bound."""
        expected = test.onCpu(absolute=False)
        self.assertEqual(result.shape, expected.shape)
        # The CPU provider adds in f32 in some order: each term is rounded once for each that follows.
        terms = test.w[0].size + 2
        bound = test.bound(result.shape) + terms * UNIT * test.onCpu(absolute=True)
        error = np.abs(result.astype(np.float64) - expected)
        self.assertTrue(np.all(error <= bound), f"error {np.max(error - bound)} beyond the bound")
        return float(np.max(error / np.where(bound > 0, bound, 1)))

    def testPlansThatPackTheFilter(self):
        """Two numbers of images, each with a program of its own, in turns: the filter is packed once for each."""
        graph, tests = Graph(), [GroupsInThreeDimensions(seed, images) for seed, images in ((1, 2), (2, 1), (3, 2))]
        for test in tests[:2] if DEVICE.startswith("emulated") else ():  # a GPU has other plans
            self.assertEqual(shiftconv.Plan(shiftconv.Problem.parse(test.line()), shiftconv.Device(DEVICE)).algorithm, "merged")
        graph.output(tests[0].addTo(graph, "y", graph.input("x", ("images", *tests[0].x.shape[1:]), np.float16)), np.float16)
        made = session(graph.bytes())
        for test in tests:
            self.judge(test, made.run(None, {"x": test.x})[0])

    def testRandomOnes(self):
        """Several in a model, each an island of its own."""
        print(f"seed {ARGUMENTS.seed}, {ARGUMENTS.problems} problems", flush=True)
        largest, together = 0.0, 10
        for first in range(0, ARGUMENTS.problems, together):
            tests = [RandomConvolution(ARGUMENTS.seed * 100000 + first + i) for i in range(together)]
            graph, names = Graph(), []
            for i, test in enumerate(tests):
                name = test.addTo(graph, f"y{i}", graph.input(f"x{i}", test.x.shape, test.dtype))
                graph.output(name, test.dtype)
                names.append(sorted({f"y{i}", name}))
            made = session(graph.bytes())
            self.assertEqual(assigned(made), {sc.get_ep_name(): sorted(names)})
            results = made.run(None, {f"x{i}": test.x for i, test in enumerate(tests)})
            for i, (test, result) in enumerate(zip(tests, results)):
                with self.subTest(seed=ARGUMENTS.seed * 100000 + first + i, x=test.x.shape, w=test.w.shape):
                    largest = max(largest, self.judge(test, result))
        print(f"largest error {largest:.3f} of its bound", flush=True)

    def testTf32IsAChoice(self):
        graph, rng = Graph(), np.random.default_rng(1)
        x, w = rng.uniform(-1, 1, (2, 16, 5, 6)).astype(np.float32), rng.uniform(-1, 1, (8, 16, 3, 3)).astype(np.float32)
        graph.output(graph.add("Conv", [graph.input("x", x.shape), graph.constant(w)], "y"))
        expected = onCpu(graph.bytes()).run(None, {"x": x})[0]
        exact = np.abs(session(graph.bytes()).run(None, {"x": x})[0] - expected).max()
        rounded = np.abs(session(graph.bytes(), use_tf32="1").run(None, {"x": x})[0] - expected).max()
        self.assertLess(exact, 1e-5)
        self.assertGreater(rounded, 10 * exact)
        self.assertLess(rounded, 144 * 2 * 2.0**-10)  # terms of at most 1, each factor off by 2^-10 relative


if __name__ == "__main__":
    main()
