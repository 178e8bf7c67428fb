"""Single operators behind a convolution, against the CPU provider bit by bit, and activations against f64."""
from math import erf

from graphs import ARGUMENTS, UNIT, ComparedWithCpu, Graph, main, session, wholeNumbers
import numpy as np
from onnx import TensorProto


class Operators(ComparedWithCpu):
    def behind(self, build, shape=(2, 4, 6, 5), dtype=np.float32, most=3, channels=None):
        rng = np.random.default_rng(ARGUMENTS.seed)
        graph = Graph(dtype)
        x = graph.identity(graph.input("x", shape), shape[1], "start")
        result = build(graph, x, rng)
        for name in result if isinstance(result, tuple) else (result,):
            graph.output(name)
        return self.check(graph, [{"x": wholeNumbers(rng, shape, dtype, most)}])

    def testPools(self):
        for op, attributes in (("MaxPool", dict(kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 1, 2])),
                               ("MaxPool", dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)),
                               ("MaxPool", dict(kernel_shape=[2, 2], strides=[3, 3], ceil_mode=1, pads=[1, 1, 1, 1])),
                               ("MaxPool", dict(kernel_shape=[2, 2], dilations=[2, 3])),
                               ("MaxPool", dict(kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_LOWER")),
                               ("AveragePool", dict(kernel_shape=[2, 2], pads=[1, 0, 1, 1])),
                               ("AveragePool", dict(kernel_shape=[2, 2], pads=[1, 0, 1, 1], count_include_pad=1)),
                               ("AveragePool", dict(kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)),
                               ("GlobalMaxPool", {})):
            for dtype in (np.float32, np.float16):
                with self.subTest(op=op, dtype=dtype, **attributes):
                    self.behind(lambda g, x, rng: g.add(op, [x], "y", **attributes), dtype=dtype, most=50)

    def testMeans(self):
        """Over 32 pixels, so that nothing is rounded; axes are an attribute before operator set 18."""
        for axes, keepdims, opset in (([2, 3], 1, 20), ([-1, 2], 0, 20), ([3, 2], 1, 13), ([-2, -1], 0, 13)):
            for dtype in (np.float32, np.float16):
                with self.subTest(axes=axes, keepdims=keepdims, opset=opset, dtype=dtype):
                    graph = Graph(dtype, opset)
                    x = graph.identity(graph.input("x", ("n", 4, "h", "w")), 4, "start")
                    inputs, attributes = ([x, graph.constant(axes, np.int64)], {}) if opset >= 18 else ([x], {"axes": axes})
                    graph.output(graph.add("ReduceMean", inputs, "y", keepdims=keepdims, **attributes))
                    feeds = [{"x": wholeNumbers(np.random.default_rng(ARGUMENTS.seed), shape, dtype, 50)} for shape in ((2, 4, 4, 8), (1, 4, 16, 2))]
                    self.check(graph, feeds)

    def testMeansOfVolumes(self):
        self.behindVolume(lambda g, x: g.add("GlobalAveragePool", [x], "y"))
        self.behindVolume(lambda g, x: g.add("ReduceMean", [x, g.constant([2, 3, 4], np.int64)], "y", keepdims=0))

    def behindVolume(self, build):
        graph = Graph()
        start = graph.add("Conv", [graph.input("x", (2, 4, 2, 4, 8)), graph.constant(np.eye(4).reshape(4, 4, 1, 1, 1))], "start")
        graph.output(build(graph, start))
        self.check(graph, [{"x": wholeNumbers(np.random.default_rng(ARGUMENTS.seed), (2, 4, 2, 4, 8), np.float32, 50)}])

    def testSomeChannels(self):
        """By a slice, from either end, and by splits: all parts, parts that nobody reads but the graph, and parts that are joined again."""
        def sliced(first, last, axis=1):
            return lambda g, x, rng: g.add("Slice", [x, *(g.constant([number], np.int64) for number in (first, last, axis, 1))], "y")

        def split(sizes):
            def build(g, x, rng):
                names = [f"part{i}" for i in range(len(sizes))]
                g.addSeveral("Split", [x, g.constant(sizes, np.int64)], names, axis=1)
                return (*names[1:], g.add("Concat", [g.add("Relu", [names[0]], "r"), names[-1], names[0]], "y", axis=1))
            return build
        cases = {"first": sliced(0, 3), "last": sliced(-5, 2**63 - 1), "middle": sliced(2, -3, -3), "split": split([1, 4, 3]), "halves": split([4, 4])}
        for name, build in cases.items():
            for dtype in (np.float32, np.float16):
                with self.subTest(name, dtype=dtype):
                    self.behind(build, (2, 8, 3, 5), dtype, most=50)

    def testBatchNormalisation(self):
        """That follows no convolution: of a sum, with an activation behind it. Numbers are such that every result is exact."""
        def of(flat):
            def build(g, x, rng):
                scale, bias, mean = (g.constant(rng.integers(-3, 4, 4)) for _ in range(3))
                before = g.add("Flatten", [g.add("GlobalMaxPool", [x], "m")], "f") if flat else g.add("Add", [x, g.add("Relu", [x], "r")], "sum")
                norm = g.add("BatchNormalization", [before, scale, bias, mean, g.constant([1, 4, 0.25, 16])], "norm", epsilon=0.0)
                return g.add("Relu", [norm], "y")
            return build
        for flat in (False, True):
            for dtype in (np.float32, np.float16):
                with self.subTest(flat=flat, dtype=dtype):
                    self.behind(of(flat), dtype=dtype)

    def testShapes(self):
        def reshaped(shape):
            return lambda g, x, rng: g.add("Reshape", [x, g.constant(shape, np.int64)], "y")
        cases = {
            "flatten": lambda g, x, rng: g.add("Flatten", [x], "y"),
            "flatten 2": lambda g, x, rng: g.add("Flatten", [x], "y", axis=2),
            "flatten and multiply": lambda g, x, rng: g.add("Gemm", [g.add("Flatten", [x], "f"), g.whole(rng, 120, 7)], "y", alpha=2.0),
            "reshape": reshaped([0, -1, 3, 2]), "reshape to two": reshaped([8, 30]), "reshape to five": reshaped([2, 2, 2, 6, 5]),
            "transpose": lambda g, x, rng: g.add("Transpose", [x], "y", perm=[0, 2, 3, 1]),
            "transpose all": lambda g, x, rng: g.add("Transpose", [x], "y"),
            "transpose back": lambda g, x, rng: g.add("Transpose", [x], "y", perm=[0, 3, 1, 2]),
            "resize": lambda g, x, rng: g.add("Resize", [x, "", g.constant([1, 1, 2, 2], np.float32)], "y", mode="nearest",
                                              coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
            "resize 3": lambda g, x, rng: g.add("Resize", [x, "", g.constant([1, 1, 3, 1], np.float32)], "y", mode="nearest"),
            "half": lambda g, x, rng: g.add("Cast", [g.add("Cast", [x], "half", to=TensorProto.FLOAT16)], "y", to=TensorProto.FLOAT),
            "sum of both": lambda g, x, rng: g.add("Add", [g.identity(x, 4, "other"), x], "y"),
            "sum with itself": lambda g, x, rng: g.add("Relu", [g.add("Add", [x, x], "s")], "y"),
            "product": lambda g, x, rng: g.add("Mul", [g.add("GlobalMaxPool", [x], "m"), x], "y"),
            "two outputs": lambda g, x, rng: (g.add("Relu", [x], "r"), g.add("Add", [x, "r"], "y")),
            "numbers of channels": lambda g, x, rng: g.add("Add", [g.whole(rng, 4, 1, 1), g.add("Mul", [x, g.whole(rng, 1, 4, 1, 1)], "m")], "y"),
            "numbers of columns": lambda g, x, rng: g.add("Mul", [g.add("Flatten", [g.add("GlobalMaxPool", [x], "m")], "f"), g.constant([1, -1, 2, 3])], "y"),
            "matrix": lambda g, x, rng: g.add("MatMul", [g.add("Flatten", [g.add("GlobalMaxPool", [x], "m")], "f"), g.whole(rng, 4, 3)], "y"),
        }
        for name, build in cases.items():
            with self.subTest(name):
                self.behind(build)

    def testConcatenations(self):
        def parts(*channels):
            def build(g, x, rng):
                split = [g.add("Conv", [x, g.whole(rng, count, 4, 1, 1)], f"part{i}") for i, count in enumerate(channels)]
                y = g.add("Concat", split, "y", axis=1)
                return y, g.add("Conv", [y, g.whole(rng, 3, sum(channels), 2, 2)], "z"), g.add("Relu", [split[0]], "r")
            return build
        for dtype in (np.float32, np.float16):
            for channels in ((8, 16, 8), (3, 5), (8, 3), (4,)):
                with self.subTest(dtype=dtype, channels=channels):
                    self.behind(parts(*channels), dtype=dtype)
        with self.subTest("one tensor twice"):
            self.behind(lambda g, x, rng: g.add("Concat", [x, x], "y", axis=1))
        with self.subTest("an input of the graph"):
            self.behind(lambda g, x, rng: g.add("Concat", [x, "x"], "y", axis=-3))
        with self.subTest("concatenations of concatenations"):
            self.behind(lambda g, x, rng: g.add("Concat", [g.add("Concat", [x, "x"], "inner", axis=1), x], "y", axis=1))

    def testConcatenationOfWhatReadsTheOther(self):
        """As GhostNet has it: a part is computed of its neighbour, with which it cannot share memory."""
        def build(swapped):
            def parts(g, x, rng):
                first = g.add("Conv", [x, g.whole(rng, 8, 8, 1, 1)], "first")
                second = g.add("Conv", [first, g.whole(rng, 8, 1, 3, 3)], "second", group=8, pads=[1] * 4)
                return g.add("Relu", [g.add("Concat", [second, first] if swapped else [first, second], "joined", axis=1)], "y")
            return parts
        for swapped in (False, True):
            for dtype in (np.float32, np.float16):
                with self.subTest(swapped=swapped, dtype=dtype):
                    self.behind(build(swapped), (2, 8, 6, 5), dtype)

    def testFusedConvolutions(self):
        def fused(activation, parameters=(), z=True):
            def build(g, x, rng):
                operands = [x, g.whole(rng, 4, 4, 1, 1), g.whole(rng, 4)] + ([x] if z else [])
                attributes = {"activation_params": list(parameters)} if parameters else {}
                return g.add("FusedConv", operands, "y", domain="com.microsoft", activation=activation, **attributes)
            return build
        for activation, parameters in (("Relu", ()), ("Clip", (-1.0, 2.0)), ("LeakyRelu", (0.5,))):
            for z in (True, False):
                with self.subTest(activation=activation, z=z):
                    self.behind(fused(activation, parameters, z))

    def testActivations(self):
        """Of exact arguments, fused into a convolution and by themselves, against f64 within the bound of activation.cuh, where the
        largest relative error is (2 v^2 + 68) 2^-24 of a factor of v."""
        x = np.linspace(-8, 8, 2 * 4 * 5 * 3, dtype=np.float32).reshape(2, 4, 5, 3)
        v = x.astype(np.float64)
        table = {"Sigmoid": ({}, 1 / (1 + np.exp(-v))), "Tanh": ({}, np.tanh(v)), "HardSwish": ({}, v * np.clip(v + 3, 0, 6) / 6),
                 "HardSigmoid": ({"alpha": 0.3, "beta": 0.4}, np.clip(np.float32(0.3) * v + np.float32(0.4), 0, 1)),
                 "LeakyRelu": ({"alpha": 0.1}, np.where(v < 0, np.float32(0.1) * v, v)), "Gelu": ({}, v / 2 * (1 + np.vectorize(erf)(v / np.sqrt(2)))),
                 "Silu": ({}, v / (1 + np.exp(-v)))}
        for op, (attributes, expected) in table.items():
            for alone in (False, True):
                with self.subTest(op=op, alone=alone):
                    graph = Graph()
                    y = graph.identity(graph.input("x", x.shape), 4, "start")
                    if alone:
                        graph.output(y)
                    if op == "Silu":
                        graph.output(graph.add("Mul", [graph.add("Sigmoid", [y], "gate"), y], "y"))
                    else:
                        graph.output(graph.add(op, [y], "y", **attributes))
                    result = session(graph.bytes()).run(["y"], {"x": x})[0]
                    self.assertTrue(np.all(np.abs(result - expected) <= UNIT * (2 * v**2 + 68) * np.maximum(1, np.abs(v))))


if __name__ == "__main__":
    main()
