"""The provider for ONNX Runtime on the emulated device, against the CPU provider.

Graphs that are compared bit by bit have small whole numbers everywhere: then every sum is exact in f32 and f16, whatever its order.
"""
import argparse
import os
import random
import sys
import threading
import unittest

from shiftconv import glue_path

try:
    import numpy as np
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not os.path.exists(glue_path("onnxruntime")):
    print(f"skipped: there is no {glue_path('onnxruntime')}; see docs/runtimes/onnxruntime.md")
    sys.exit(77)

import networks
import reference
import shiftconv.onnxruntime as sc

ARGUMENTS = argparse.Namespace(problems=100, seed=22)
DEVICE = os.environ.get("SHIFTCONV_DEVICE", "emulated")
UNIT = 2.0**-24

ort.set_default_logger_severity(3)
ort.register_execution_provider_library("shiftconv", sc.get_library_path())
EP_DEVICES = [device for device in ort.get_ep_devices() if device.ep_name == sc.get_ep_name()]


class Graph:
    """A model in the making. Names of nodes are those of their outputs."""

    def __init__(self, dtype=np.float32, opset=20):
        self.dtype, self.opset = np.dtype(dtype), opset
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], []

    def input(self, name, shape, dtype=None):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype or self.dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def constant(self, array, dtype=None):
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, dtype or self.dtype), name))
        return name

    def add(self, op, inputs, name, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def output(self, name, dtype=None):
        self.outputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype or self.dtype)), None))

    def bytes(self):
        graph = helper.make_graph(self.nodes, "graph", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()

    def whole(self, rng, *shape):
        """A constant of -1, 0 and 1, four of five of them 0, so that sums stay small."""
        return self.constant(rng.choice((-1, 0, 0, 0, 0, 0, 0, 0, 0, 1), shape))

    def identity(self, x, channels, name, **attributes):
        """A 1x1 convolution that changes nothing, so that what follows is in an island."""
        return self.add("Conv", [x, self.constant(np.eye(channels).reshape(channels, channels, 1, 1))], name, **attributes)


def session(model, alone=True, **options):
    """alone: an error unless the provider takes every node."""
    settings = ort.SessionOptions()
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    if alone:
        settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    settings.add_provider_for_devices(EP_DEVICES, {"device": DEVICE, **options})
    return ort.InferenceSession(model, sess_options=settings)


def onCpu(model):
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"])


def claimed():
    """Names of the claimed nodes, and reasons of the others, of the first graph that was shown."""
    nodes = sc.report()["graphs"][0]["nodes"]
    return [node["name"] for node in nodes if node["claimed"]], {node["name"]: node["reason"] for node in nodes if not node["claimed"]}


def assigned(made):
    """Names of the nodes of each provider, as ONNX Runtime tells."""
    by = {}
    for part in made.get_provider_graph_assignment_info():
        by.setdefault(part.ep_name, []).append(sorted(node.name for node in part.get_nodes()))
    return {name: sorted(parts) for name, parts in by.items()}


def wholeNumbers(rng, shape, dtype=np.float32, most=3):
    return rng.integers(-most, most + 1, shape).astype(dtype)


# ---- Convolutions ----

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

    def bound(self, shape):
        """The library's own."""
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
        text += " relu" if self.relu else ""
        inner = (shape[0], *shape[2:], shape[1])
        return np.moveaxis(reference.exact(text, [x, w, self.bias, None, None], inner, DEVICE.replace(":", "_"))[1], -1, 1)


class Convolutions(unittest.TestCase):
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
                    expected = test.onCpu(absolute=False)
                    self.assertEqual(result.shape, expected.shape)
                    # The CPU provider adds in f32 in some order: each term is rounded once for each that follows.
                    terms = test.w[0].size + 2
                    bound = test.bound(result.shape) + terms * UNIT * test.onCpu(absolute=True)
                    error = np.abs(result.astype(np.float64) - expected)
                    self.assertTrue(np.all(error <= bound), f"error {np.max(error - bound)} beyond the bound")
                    largest = max(largest, float(np.max(error / np.where(bound > 0, bound, 1))))
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


# ---- Networks ----

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


class Networks(unittest.TestCase):
    def check(self, graph, feeds, islands=1, alone=True):
        model = graph.bytes()
        made, cpu = session(model, alone), onCpu(model)
        self.assertEqual(len(assigned(made)[sc.get_ep_name()]), islands)
        for feed in feeds:
            for result, expected in zip(made.run(None, feed), cpu.run(None, feed)):
                self.assertGreater(len(np.unique(expected)), 2)
                np.testing.assert_array_equal(result, expected)
        return made

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

    def testWholeNetworksAreOneIsland(self):
        for build, convolutions in ((networks.resnet50, 53), (networks.mobilenetV2, 52), (networks.pyramid, 6)):
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

    # ---- Single operators behind a convolution ----

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
        largest relative error is (1.25 v^2 + 32) 2^-24 of a factor of v."""
        x = np.linspace(-8, 8, 2 * 4 * 5 * 3, dtype=np.float32).reshape(2, 4, 5, 3)
        v = x.astype(np.float64)
        erf = np.vectorize(__import__("math").erf)
        table = {"Sigmoid": ({}, 1 / (1 + np.exp(-v))), "Tanh": ({}, np.tanh(v)), "HardSwish": ({}, v * np.clip(v + 3, 0, 6) / 6),
                 "LeakyRelu": ({"alpha": 0.1}, np.where(v < 0, np.float32(0.1) * v, v)), "Gelu": ({}, v / 2 * (1 + erf(v / np.sqrt(2)))),
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
                    self.assertTrue(np.all(np.abs(result - expected) <= UNIT * (1.25 * v**2 + 32) * np.maximum(1, np.abs(v))))


# ---- Who gets what ----

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
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=ARGUMENTS.problems)
    parser.add_argument("--seed", type=int, default=ARGUMENTS.seed)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
