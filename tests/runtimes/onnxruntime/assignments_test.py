"""Which nodes the provider for ONNX Runtime takes, why it leaves others, and what it refuses."""
import os
import unittest

from graphs import Graph, assigned, claimed, main, onCpu, sc, session, wholeNumbers
import numpy as np


class Assignments(unittest.TestCase):
    def testNodesBesideOthers(self):
        """Exp is left; what stands in front of it and behind it are two islands, and Softmax stays with the CPU provider."""
        rng, graph = np.random.default_rng(1), Graph()
        a = graph.add("Conv", [graph.input("x", [1, 4, 5, 6]), graph.whole(rng, 4, 4, 1, 1)], "a")
        b = graph.add("Relu", [a], "b")
        c = graph.add("Conv", [graph.add("Exp", [b], "exp"), graph.whole(rng, 4, 4, 1, 1)], "c")
        d = graph.add("Add", [b, c], "d")
        graph.output(graph.add("Softmax", [graph.add("Flatten", [d], "e")], "y"))
        made = session(graph.bytes(), alone=False)
        self.assertEqual(assigned(made), {sc.get_ep_name(): [["a", "b"], ["c", "d", "e"]], "CPUExecutionProvider": [["exp"], ["y"]]})
        self.assertEqual(sc.report()["graphs"][0]["islands"], [["a", "b"], ["c", "d", "e"]])
        self.assertEqual(claimed()[1], {"exp": "the library has no such operator", "y": "the library has no such operator"})
        x = wholeNumbers(rng, (1, 4, 5, 6))
        np.testing.assert_allclose(made.run(None, {"x": x})[0], onCpu(graph.bytes()).run(None, {"x": x})[0], rtol=2.0**-16)

    def testABypassIsNotPartOfTheIsland(self):
        """start -> log -> sum and start -> relu -> sum: sum may not run with start, which log waits for."""
        rng, graph = np.random.default_rng(1), Graph()
        x = graph.identity(graph.input("x", [1, 4, 5, 6]), 4, "start")
        total = graph.add("Add", [graph.add("Relu", [x], "relu"), graph.add("Abs", [x], "abs")], "sum")
        graph.output(graph.identity(total, 4, "y"))
        made = session(graph.bytes(), alone=False)
        self.assertEqual(assigned(made), {sc.get_ep_name(): [["relu", "start"], ["sum", "y"]], "CPUExecutionProvider": [["abs"]]})
        feed = {"x": wholeNumbers(rng, (1, 4, 5, 6))}
        np.testing.assert_array_equal(made.run(None, feed)[0], onCpu(graph.bytes()).run(None, feed)[0])

    def testReasons(self):
        """Each node that is left, and why; `start` in front of it is taken."""
        constant = "the library has no such operator"
        table = [
            ("is not a constant", lambda g, x: g.add("Conv", [x, g.input("w", [2, 4, 1, 1])], "y")),
            ("ceil_mode with count_include_pad", lambda g, x: g.add("AveragePool", [x], "y", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1,
                                                                    count_include_pad=1)),
            ("storage_order is not 0", lambda g, x: g.add("MaxPool", [x], "y", kernel_shape=[2, 2], storage_order=1)),
            ("the constant is not one number for each channel", lambda g, x: g.add("Add", [x, g.constant(np.full((1, 4, 5, 6), 2))], "y")),
            ("different shapes", lambda g, x: g.add("Mul", [x, g.input("w", [1, 1, 5, 6])], "y")),
            ("mode is not nearest", lambda g, x: g.add("Resize", [x, "", g.constant([1, 1, 2, 2], np.float32)], "y", mode="linear")),
            ("two whole numbers", lambda g, x: g.add("Resize", [x, "", g.constant([1, 1, 1.5, 2], np.float32)], "y", mode="nearest")),
            ("repeat pixels", lambda g, x: g.add("Resize", [x, "", g.constant([1, 1, 2, 2], np.float32)], "y", mode="nearest",
                                                 nearest_mode="ceil")),
            ("the axis is not that of the channels", lambda g, x: g.add("Concat", [x, x], "y", axis=2)),
            ("the axes are not the spatial ones", lambda g, x: g.add("ReduceMean", [x, g.constant([1, 2], np.int64)], "y")),
            ("the axes are not the spatial ones", lambda g, x: g.add("ReduceMean", [x], "y")),
            ("the axes are not constants", lambda g, x: g.add("ReduceMean", [x, g.input("axes", [2], np.int64)], "y")),
            ("the axis is not that of the channels", lambda g, x: g.add("Slice", [x, *(g.constant([n], np.int64) for n in (0, 2, 2))], "y")),
            ("the axis is not that of the channels", lambda g, x: g.add("Slice", [g.input("v", [6]), *(g.constant([n], np.int64) for n in (0, 2, 0))], "y")),
            ("a step is not 1", lambda g, x: g.add("Slice", [x, *(g.constant([n], np.int64) for n in (0, 4, 1, 2))], "y")),
            ("the ends are not constants", lambda g, x: g.add("Slice", [x, g.constant([0], np.int64), g.input("end", [1], np.int64),
                                                                        g.constant([1], np.int64)], "y")),
            ("it has no channels", lambda g, x: g.add("Slice", [x, *(g.constant([n], np.int64) for n in (3, 3, 1))], "y")),
            ("is not a constant", lambda g, x: g.add("BatchNormalization", [x, *(g.input(name, [4]) for name in ("s", "b", "m", "v"))], "y")),
            ("beta is not 1", lambda g, x: g.add("Gemm", [g.add("Flatten", [x], "f"), g.constant(np.ones((120, 3))), g.constant(np.ones(3))],
                                                 "y", beta=0.5)),
            ("is transposed", lambda g, x: g.add("Gemm", [g.add("Flatten", [x], "f"), g.constant(np.ones((1, 3)))], "y", transA=1)),
            ("not one number for each column", lambda g, x: g.add("Gemm", [g.add("Flatten", [x], "f"), g.constant(np.ones((120, 3))),
                                                                           g.constant(np.ones(1))], "y")),
            ("is not a constant", lambda g, x: g.add("Reshape", [x, g.input("shape", [2], np.int64)], "y")),
            ("is not one constant number", lambda g, x: g.add("Clip", [x, g.input("least", [])], "y")),
            (constant, lambda g, x: g.add("Softmax", [x], "y")),
            ("is not a constant", lambda g, x: g.add("InstanceNormalization", [x, g.input("scale", [4]), g.constant(np.ones(4))], "y")),
            ("not one number for each channel", lambda g, x: g.add("Mul", [x, g.constant(np.ones((5, 6)))], "y")),
            ("not one number for each channel", lambda g, x: g.add("Add", [x, g.constant(np.ones((4, 1, 1, 6)))], "y")),
            ("epsilon is negative", lambda g, x: g.add("InstanceNormalization", [x, g.constant(np.ones(4)), g.constant(np.ones(4))], "y", epsilon=-1.0)),
        ]
        for reason, build in table:
            with self.subTest(reason):
                graph = Graph()
                graph.output(build(graph, graph.identity(graph.input("x", [1, 4, 5, 6]), 4, "start")))
                session(graph.bytes(), alone=False)
                names, reasons = claimed()
                self.assertIn("start", names)
                self.assertIn(reason, reasons.get("y", f"claimed: {names}"))

    def testExtentsStayInTheirIsland(self):
        """Shape is taken for a Reshape beside it, but not where anybody else reads it, nor where the Reshape is in another island."""
        def build(kind):
            graph = Graph()
            x = graph.identity(graph.input("x", ["n", 4, "h", "w"]), 4, "start")
            extents = graph.add("Shape", [x], "extents")
            y = graph.add("Reshape", [x, graph.constant([0, 2, -1], np.int64)], "there")
            if kind == "between":
                y = graph.add("Exp", [y], "exp")
            graph.output(graph.identity(graph.add("Reshape", [y, extents], "back"), 4, "end"))
            if kind == "read":
                graph.output(graph.add("Gather", [extents, graph.constant(1, np.int64)], "channels"), np.int64)
            return graph.bytes()
        cases = {"beside": [["back", "end", "extents", "start", "there"]], "read": [["end"], ["start", "there"]], "between": [["end"], ["start", "there"]]}
        for kind, islands in cases.items():
            with self.subTest(kind):
                made = session(build(kind), alone=False)
                self.assertEqual(assigned(made)[sc.get_ep_name()], islands)
                for shape in ((2, 4, 3, 5), (1, 4, 2, 2)):
                    feed = {"x": wholeNumbers(np.random.default_rng(2), shape)}
                    for result, expected in zip(made.run(None, feed), onCpu(build(kind)).run(None, feed)):
                        np.testing.assert_allclose(result, expected, rtol=2.0**-16)

    def testNoConvolutionNoClaim(self):
        graph = Graph()
        graph.output(graph.add("Relu", [graph.add("MaxPool", [graph.input("x", [1, 4, 5, 6])], "pool", kernel_shape=[2, 2])], "y"))
        made = session(graph.bytes(), alone=False)
        self.assertNotIn(sc.get_ep_name(), assigned(made))
        self.assertIn("no convolution or Gemm", claimed()[1]["pool"])

    def testOtherTypesAreLeft(self):
        graph = Graph(np.float64)
        graph.output(graph.add("MaxPool", [graph.input("x", [1, 4, 5, 6])], "y", kernel_shape=[2, 2]))
        session(graph.bytes(), alone=False)
        self.assertIn("none of float, float16 and bfloat16", claimed()[1]["y"])


class Refusals(unittest.TestCase):
    def model(self):
        graph = Graph()
        graph.output(graph.add("Conv", [graph.input("x", ["n", 4, "h", 6]), graph.constant(np.ones((2, 4, 3, 3)))], "y"))
        return graph.bytes()

    def testOptions(self):
        for options, sentence in (({"device": "abacus"}, "abacus"), ({"use_tf32": "yes"}, "use_tf32 must be 0 or 1")):
            with self.subTest(sentence), self.assertRaisesRegex(Exception, sentence):
                session(self.model(), **options)

    def testShapesThatCannotBe(self):
        made = session(self.model())
        for shape, sentence in (((0, 4, 5, 6), "the input 'x' has no elements"), ((1, 4, 2, 6), "node 'y': .*larger than the padded input")):
            with self.subTest(shape=shape), self.assertRaisesRegex(Exception, sentence):
                made.run(None, {"x": np.ones(shape, np.float32)})
        self.assertEqual(made.run(None, {"x": np.ones((1, 4, 3, 6), np.float32)})[0].shape, (1, 2, 1, 4))

    def testTheLibraryIsNamed(self):
        self.assertTrue(os.path.exists(sc.get_library_path()))
        kept = os.environ.pop("SHIFTCONV_LIBRARY")
        try:
            os.environ["SHIFTCONV_LIBRARY"] = "/nowhere/libshiftconv.so"
            with self.assertRaisesRegex(FileNotFoundError, "there is no /nowhere/libshiftconv_onnxruntime.so"):
                sc.get_library_path()
        finally:
            os.environ["SHIFTCONV_LIBRARY"] = kept


if __name__ == "__main__":
    main()
