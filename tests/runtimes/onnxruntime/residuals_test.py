"""Sums behind a convolution and its activation, as YOLO's bottlenecks have them: x + silu(conv(x)). Which of them the convolution takes, and that
results are right either way."""
from graphs import ARGUMENTS, DEVICE, ComparedWithCpu, Graph, main, sc, session, wholeNumbers
import numpy as np
import reference

# As nodes, and in the library's notation.
ACTIVATIONS = {
    "silu": lambda g, x, name: g.add("Mul", [x, g.add("Sigmoid", [x], name + "_gate")], name),
    "hard_swish": lambda g, x, name: g.add("Mul", [g.add("HardSigmoid", [x], name + "_gate", alpha=1 / 6, beta=0.5), x], name),
    "gelu_erf": lambda g, x, name: g.add("Gelu", [x], name, domain="com.microsoft"),
    "sigmoid": lambda g, x, name: g.add("Sigmoid", [x], name),
    "tanh": lambda g, x, name: g.add("Tanh", [x], name),
    "relu": lambda g, x, name: g.add("Relu", [x], name),
    "leaky_relu 0.25": lambda g, x, name: g.add("LeakyRelu", [x], name, alpha=0.25),
    "clamp -0.5,0.75": lambda g, x, name: g.add("Clip", [x, g.constant(-0.5), g.constant(0.75)], name),
}


def steps():
    """Of the only island, sorted: ONNX Runtime has an order of its own."""
    (names,) = sc.report()["steps"]
    return sorted(names)


class Bottleneck:
    """Two convolutions with activations and, around both, a shortcut; what is between them is an output, too."""

    def __init__(self, dtype, activation, channels, hidden, pads=(1, 1, 1, 1)):
        self.dtype, self.activation, self.pads = dtype, activation, pads
        rng, self.graph = np.random.default_rng(ARGUMENTS.seed), Graph(dtype)
        self.weights = [rng.normal(0, 1 / np.sqrt(9 * c), (k, c, 3, 3)).astype(dtype) for k, c in ((hidden, channels), (channels, hidden))]
        self.biases = [rng.uniform(-1, 1, k).astype(dtype) for k in (hidden, channels)]
        self.graph.output(self.layer(0, self.graph.input("x", ["n", channels, "h", "w"]), "between"))
        self.graph.output(self.graph.add("Add", ["x", self.layer(1, "between", "activated")], "y"))

    def layer(self, i, x, name):
        operands = [x, self.graph.constant(self.weights[i]), self.graph.constant(self.biases[i])]
        conv = self.graph.add("Conv", operands, f"conv{i}", pads=[1] * 4 if i == 0 else list(self.pads))
        return ACTIVATIONS[self.activation](self.graph, conv, name)

    def expected(self, layer, x, residual=None):
        """Exact values, and the library's bound, for these inputs of a layer."""
        kind = "f16" if self.dtype == np.float16 else "f32"
        top, left, bottom, right = self.pads if layer == 1 else (1, 1, 1, 1)
        last = [np.moveaxis(array, 1, -1) for array in (x, self.weights[layer])]
        shapes = ["x".join(map(str, array.shape)) for array in last]
        text = f"{shapes[0]} {kind} * {shapes[1]} pad {top},{bottom},{left},{right} -> {kind} bias {kind} {self.activation}"
        shape = (*last[0].shape[:3], len(self.weights[layer]))
        if residual is not None:
            text += f" residual 1 residual_type {kind} residual_last"
            residual = np.moveaxis(residual, 1, -1)
        values = reference.exact(text, [*last, self.biases[layer], residual, None], shape, DEVICE)
        return [np.moveaxis(array, -1, 1) for array in values]


class Bottlenecks(ComparedWithCpu):
    def judge(self, result, expected, bound):
        self.assertEqual(result.shape, expected.shape)
        error = np.abs(result.astype(np.float64) - expected)
        self.assertTrue(np.all(error <= bound), f"error {np.max(error - bound)} beyond the bound")

    def testTheShortcutIsPartOfTheConvolution(self):
        """Two steps, of all activations, within the library's bound; with other numbers of pixels and images in one session."""
        cases = [(activation, 16, 8, (1, 1, 1, 1)) for activation in ACTIVATIONS] + [("silu", 12, 6, (0, 2, 2, 0)), ("silu", 5, 24, (2, 1, 0, 1))]
        for dtype in (np.float16, np.float32):
            for activation, channels, hidden, pads in cases:
                with self.subTest(dtype=dtype, activation=activation, channels=channels):
                    net, rng = Bottleneck(dtype, activation, channels, hidden, pads), np.random.default_rng(1)
                    made = session(net.graph.bytes())
                    self.assertEqual(steps(), ["between", "y"])
                    for extents in ((2, 5, 9), (3, 8, 4)):
                        x = rng.uniform(-2, 2, (extents[0], channels, *extents[1:])).astype(dtype)
                        between, y = made.run(None, {"x": x})
                        self.judge(between, *net.expected(0, x))
                        self.judge(y, *net.expected(1, between, x))


class Sums(ComparedWithCpu):
    """Over whole numbers, bit by bit against the CPU provider. ReLU before a sum is not ReLU behind it: both operands have both signs."""

    def judge(self, build, expected, shape=(2, 8, 5, 3), dtypes=(np.float32, np.float16)):
        """Its steps, sorted, or their number; and its results for two numbers of images."""
        for dtype in dtypes:
            with self.subTest(dtype=dtype, shape=shape):
                graph, rng = Graph(dtype), np.random.default_rng(ARGUMENTS.seed)
                for name in build(graph, graph.input("x", ["n", shape[1], *"whd"[: len(shape) - 2]]), rng):
                    graph.output(name)
                self.check(graph, [{"x": wholeNumbers(rng, (n, *shape[1:]), dtype)} for n in (shape[0], shape[0] + 1)])
                self.assertEqual(len(steps()) if isinstance(expected, int) else steps(), expected)

    @staticmethod
    def conv(graph, rng, x, name, out=8, channels=8, taps=(3, 3), **attributes):
        pads = [tap // 2 for tap in taps]
        filters = graph.whole(rng, out, channels // attributes.get("group", 1), *taps)
        return graph.add("Conv", [x, filters, graph.constant(rng.integers(-2, 3, out))], name, pads=pads * 2, **attributes)

    def testOnesThatAreFused(self):
        def plain(channels, taps, **attributes):
            def build(g, x, rng):
                r = g.add("Relu", [self.conv(g, rng, x, "c", channels, channels, taps, **attributes)], "r")
                return [g.add("Add", [r, x] if channels == 8 else [x, r], "y")]
            return build
        for channels, taps, extents, attributes in ((8, (3, 3), (5, 3), {}), (6, (1, 3), (4, 7), {}), (12, (1, 1), (3, 5), {}), (16, (3,), (9,), {}),
                                                    (8, (3, 3, 1), (3, 4, 2), {}), (8, (3, 3), (6, 5), {"group": 8}), (16, (3, 3), (3, 4), {"group": 2})):
            self.judge(plain(channels, taps, **attributes), ["y"], (2, channels, *extents))

    def testOneOfTwoActivatedConvolutionsTakesIt(self):
        """The first one. The other's result comes later: the fused step runs where the sum stood."""
        def build(g, x, rng):
            first, second = (g.add("Relu", [self.conv(g, rng, x, f"c{i}")], f"r{i}") for i in (1, 2))
            return [g.add("Add", [first, second], "y")]
        self.judge(build, 2)

    def testOfAFusedConvolution(self):
        def build(g, x, rng):
            operands, limits = [x, g.whole(rng, 8, 8, 3, 3), g.whole(rng, 8)], [-1.0, 2.0]
            fused = g.add("FusedConv", operands, "c", domain="com.microsoft", activation="Clip", activation_params=limits, pads=[1] * 4)
            return [g.add("Add", [fused, x], "y")]
        self.judge(build, ["y"], dtypes=(np.float32,))

    def testOfAMatrix(self):
        def build(g, x, rng):
            return [g.add("Add", [x, g.add("Relu", [g.add("Gemm", [x, g.whole(rng, 12, 12), g.whole(rng, 12)], "c")], "r")], "y")]
        self.judge(build, ["y"], (5, 12))

    def testInAConcatenation(self):
        """YOLO's C2f: residual, result and another part of the input lie beside each other in one tensor."""
        def build(part):
            def parts(g, x, rng):
                g.addSeveral("Split", [g.identity(x, 2 * part, "start"), g.constant([part, part], np.int64)], ["a", "b"], axis=1)
                y = "b"
                for i in range(2):
                    inner = g.add("Relu", [self.conv(g, rng, y, f"inner{i}", part, part)], f"relu{i}")
                    outer = self.conv(g, rng, inner, f"outer{i}", part, part)
                    y = g.add("Add", [y, g.add("Clip", [outer, g.constant(-1.0), g.constant(2.0)], f"clip{i}")], f"sum{i}")
                return [self.conv(g, rng, g.add("Concat", ["a", "b", "sum0", "sum1"], "joined", axis=1), "y", 5, 4 * part, (1, 1))]
            return parts
        for part in (8, 3):
            self.judge(build(part), ["a", "a", "joined", "relu0", "relu1", "start", "sum0", "sum1", "y"], (2, 2 * part, 4, 5))

    def testOnesThatAreNot(self):
        def relu(g, rng, x, name="r"):
            return g.add("Relu", [self.conv(g, rng, x, name + "_conv")], name)
        cases = {
            "the activation's result is read twice": (
                ["r", "y", "z"], lambda g, x, rng: [g.add("Add", [relu(g, rng, x), x], "y"), g.add("Add", [x, "r"], "z")]),
            "it is an output": (["r", "y"], lambda g, x, rng: [g.add("Add", [relu(g, rng, x), x], "y"), "r"]),
            "it is its own residual": (["r", "y"], lambda g, x, rng: [g.add("Add", [relu(g, rng, x), "r"], "y")]),
            "the other operand is one pixel": (
                ["m", "r", "y"], lambda g, x, rng: [g.add("Add", [g.add("GlobalMaxPool", [x], "m"), relu(g, rng, x)], "y")]),
            "the result is one pixel": (
                ["m", "r", "y"], lambda g, x, rng: [g.add("Add", [relu(g, rng, g.add("GlobalMaxPool", [x], "m")), x], "y")]),
            "it is a constant": (["r", "y"], lambda g, x, rng: [g.add("Add", [relu(g, rng, x), g.constant(rng.integers(-3, 4, (8, 1, 1)))], "y")]),
            "it is a product": (["r", "y"], lambda g, x, rng: [g.add("Mul", [relu(g, rng, x), x], "y")]),
            "there is a residual before the activation": (
                ["r", "y"], lambda g, x, rng: [g.add("Add", [g.add("Relu", [g.add("Add", [self.conv(g, rng, x, "c"), x], "s")], "r"), x], "y")]),
            "there is one behind it": (["other", "s", "y"], lambda g, x, rng: [
                g.add("Add", [g.add("Add", [relu(g, rng, x), x], "s"), g.add("Relu", [x], "other")], "y")]),
            "the sum has an activation": (["r", "y"], lambda g, x, rng: [g.add("Relu", [g.add("Add", [relu(g, rng, x), x], "s")], "y")]),
            "another convolution takes it": (["r", "y"], lambda g, x, rng: [g.add("Add", [relu(g, rng, x), self.conv(g, rng, x, "c")], "y")]),
            "another one, which comes first": (["r", "y"], lambda g, x, rng: [g.add("Add", [self.conv(g, rng, x, "c"), relu(g, rng, x)], "y")]),
        }
        for name, (expected, build) in cases.items():
            with self.subTest(name):
                self.judge(build, expected)


if __name__ == "__main__":
    main()
