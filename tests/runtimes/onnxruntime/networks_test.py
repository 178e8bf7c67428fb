"""Networks and their blocks stay on the device, and their results are those of the CPU provider bit by bit."""
import threading
import unittest

from graphs import ARGUMENTS, ComparedWithCpu, Graph, assigned, claimed, main, onCpu, sc, session, wholeNumbers
import networks
import numpy as np


def residualNetwork(dtype, rng):
    """Like ResNet: a stem with pooling, two blocks, one of them with a projection, batch normalisation, and a classifier."""
    graph = Graph(dtype)

    def normalised(x, channels, name):
        ones = graph.constant(np.ones(channels))
        scale = graph.constant(2.0 ** rng.integers(-1, 1, channels) if dtype == np.float32 else np.ones(channels))
        return graph.add("BatchNormalization", [x, scale, graph.whole(rng, channels), graph.constant(np.zeros(channels)), ones], name, epsilon=0.0)

    def conv(x, out, channels, taps, name, stride=1):
        pad = taps // 2
        y = graph.add("Conv", [x, graph.whole(rng, out, channels, taps, taps)], name, pads=[pad] * 4, strides=[stride] * 2)
        return normalised(y, out, name + "_bn")

    def relu(x):
        return graph.add("Relu", [x], x + "_relu")

    x = relu(conv(graph.input("x", ["n", 3, "h", "w"]), 8, 3, 3, "stem", 2))
    x = graph.add("MaxPool", [x], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = conv(relu(conv(x, 8, 8, 3, "a1")), 8, 8, 1, "a2")
    x = relu(graph.add("Add", [y, x], "a_sum"))
    y = conv(relu(conv(x, 8, 8, 1, "b1")), 16, 8, 3, "b2", 2)
    x = relu(graph.add("Add", [conv(x, 16, 8, 1, "b_projection", 2), y], "b_sum"))
    x = graph.add("Flatten", [graph.add("GlobalAveragePool", [x], "mean")], "flat")
    graph.output(graph.add("Gemm", [x, graph.whole(rng, 5, 16), graph.whole(rng, 5)], "y", transB=1))
    return graph


def invertedResidual(dtype, rng):
    """MobileNetV2's block, and the squeeze and excitation of V3 without its activations."""
    graph = Graph(dtype)
    clip = [graph.constant(0.0), graph.constant(6.0)]
    x = graph.add("Conv", [graph.input("x", ["n", 8, 6, 5]), graph.whole(rng, 24, 8, 1, 1), graph.whole(rng, 24)], "expand")
    x = graph.add("Clip", [x, *clip], "expand_clip")
    x = graph.add("Conv", [x, graph.whole(rng, 24, 1, 3, 3), graph.whole(rng, 24)], "depthwise", group=24, pads=[1, 1, 1, 1])
    x = graph.add("Clip", [x, *clip], "depthwise_clip")
    x = graph.add("Conv", [x, graph.whole(rng, 8, 24, 1, 1), graph.whole(rng, 8)], "project")
    x = graph.add("Add", ["x", x], "sum")
    gate = graph.add("Conv", [graph.add("GlobalMaxPool", [x], "squeeze"), graph.constant(np.eye(8).reshape(8, 8, 1, 1))], "excite")
    graph.output(graph.add("Mul", [x, gate], "y"))
    return graph


class Networks(ComparedWithCpu):
    def testAResidualNetworkStaysOnTheDevice(self):
        for dtype in (np.float32, np.float16):
            rng = np.random.default_rng(ARGUMENTS.seed)
            feeds = [{"x": wholeNumbers(rng, shape, dtype, 1)} for shape in ((2, 3, 32, 32), (1, 3, 32, 32), (3, 3, 32, 16))]
            with self.subTest(dtype=dtype):
                self.check(residualNetwork(dtype, rng), feeds)
                self.assertEqual(claimed()[1], {})
                operators = [node["op"] for node in sc.report()["graphs"][0]["nodes"]]
                self.assertNotIn("BatchNormalization", operators, "it is folded before")
                self.assertEqual(operators.count("Conv"), 6)

    def testAnInvertedResidualStaysOnTheDevice(self):
        for dtype in (np.float32, np.float16):
            rng = np.random.default_rng(ARGUMENTS.seed)
            with self.subTest(dtype=dtype):
                self.check(invertedResidual(dtype, rng), [{"x": wholeNumbers(rng, (n, 8, 6, 5), dtype)} for n in (2, 1)])
                self.assertEqual(claimed()[1], {})

    def testSqueezeAndExcitationStaysOnTheDevice(self):
        """As exporters write MobileNetV3's: a mean over the axes, a hard sigmoid as the gate, and x times one of its own as hard swish."""
        for dtype, bound in ((np.float32, 1e-6), (np.float16, 4e-3)):
            rng = np.random.default_rng(ARGUMENTS.seed)
            weights = [rng.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape) for shape in ((16, 8, 3, 3), (4, 16, 1, 1), (16, 4, 1, 1), (8, 16, 1, 1))]

            def network(kind):
                graph = Graph(kind)
                filters = [graph.constant(np.asarray(w, dtype)) for w in weights]
                x = graph.add("Conv", [graph.input("x", ["n", 8, "h", "w"]), filters[0]], "expand", pads=[1] * 4)
                x = graph.add("Mul", [x, graph.add("HardSigmoid", [x], "own", alpha=1 / 6, beta=0.5)], "swish")
                mean = graph.add("ReduceMean", [x, graph.constant([2, 3], np.int64)], "mean")
                gate = graph.add("Conv", [graph.add("Relu", [graph.add("Conv", [mean, filters[1]], "squeeze")], "relu"), filters[2]], "excite")
                x = graph.add("Mul", [x, graph.add("HardSigmoid", [gate], "gate", alpha=1 / 6, beta=0.5)], "gated")
                graph.output(graph.add("Conv", [x, filters[3]], "project"))
                return graph.bytes()
            with self.subTest(dtype=dtype):
                made, cpu = session(network(dtype)), onCpu(network(np.float32))
                self.assertEqual(claimed()[1], {})
                self.assertEqual(len(sc.report()["graphs"][0]["islands"]), 1)
                for shape in ((2, 8, 6, 5), (1, 8, 4, 9)):
                    x = rng.uniform(-2, 2, shape).astype(dtype)
                    result, expected = made.run(None, {"x": x})[0], cpu.run(None, {"x": x.astype(np.float32)})[0]
                    self.assertLessEqual(np.abs(result - expected).max(), bound * np.abs(expected).max())

    def testWholeNetworksAreOneIsland(self):
        for build, convolutions in ((networks.resnet50, 53), (networks.mobilenetV2, 52), (networks.pyramid, 7)):
            for dtype in (np.float32, np.float16):
                with self.subTest(network=build.__name__, dtype=dtype):
                    graph = Graph(dtype)
                    build(graph)
                    made = session(graph.bytes())
                    self.assertEqual(list(assigned(made)), [sc.get_ep_name()])
                    shown = sc.report()["graphs"][0]
                    self.assertEqual(len(shown["islands"]), 1)
                    self.assertEqual([node["op"] for node in shown["nodes"]].count("Conv"), convolutions)

    def testWholeNetworksAreExact(self):
        for build, shape in ((networks.resnet50, (1, 3, 64, 64)), (networks.mobilenetV2, (2, 3, 32, 64)), (networks.pyramid, (2, 3, 16, 8))):
            for dtype in (np.float32, np.float16):
                with self.subTest(network=build.__name__, dtype=dtype):
                    graph = Graph(dtype)
                    build(graph, whole=True)
                    self.check(graph, [{"x": wholeNumbers(np.random.default_rng(ARGUMENTS.seed), shape, dtype)}])

    def testMoreShapesThanProgramsAreKept(self):
        graph, rng = Graph(), np.random.default_rng(3)
        graph.output(graph.add("Conv", [graph.input("x", ["n", 2, "h", "w"]), graph.whole(rng, 3, 2, 2, 2)], "y"))
        shapes = [(1 + i % 3, 2, 2 + i, 9 - i // 2) for i in range(11)]
        self.check(graph, [{"x": wholeNumbers(rng, shape)} for shape in shapes + shapes[:3]])

    def testThreadsShareASession(self):
        rng = np.random.default_rng(5)
        model = residualNetwork(np.float32, rng).bytes()
        made, cpu, failures = session(model), onCpu(model), []
        feeds = [{"x": wholeNumbers(rng, (n, 3, 32, 32), most=1)} for n in (1, 2, 3)]
        expected = [cpu.run(None, feed)[0] for feed in feeds]

        def work(i):
            for _ in range(3):
                if not np.array_equal(made.run(None, feeds[i])[0], expected[i]):
                    failures.append(i)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


if __name__ == "__main__":
    main()
