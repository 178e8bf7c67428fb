"""Thousands of calls of ONNX Runtime with the provider that are mostly wrong: sessions of random graphs and runs with random shapes. Each
gives a result or an exception.

    fuzz_test.py --calls 10000 --seed 7
"""
import random
import unittest

from graphs import ARGUMENTS, EP_DEVICES, main, ort
import numpy as np
from onnx import TensorProto, helper, numpy_helper

RUNS = 24  # of a session
ort.set_default_logger_severity(4)


class RandomGraph:
    """A convolution, a bottleneck or a Gemm, and behind it up to three operators with attributes that may not fit."""

    def __init__(self, choose):
        self.choose, self.nodes, self.constants = choose, [], []
        self.kind = choose.choice((np.float32, np.float32, np.float16))
        self.values = ["x", "other"]
        kind = choose.random()
        if kind < 0.15:
            x = self.bottleneck(self.add("Conv", ["x", self.numbers(4, 4, 1, 1)]))
        elif kind < 0.85:
            x = self.add("Conv", ["x", *self.filters()], group=choose.choice((1, 1, 1, 1, 1, 2, 3, 0, -1)), **self.window(2))
        else:
            x = self.add("Gemm", [self.add("Flatten", ["x"], axis=choose.choice((1, 1, 2, 0))), self.numbers(choose.choice((8, 16, 3)), 3)],
                         transB=choose.choice((0, 1)), alpha=choose.choice((1.0, 2.0, 0.0)))
        for _ in range(choose.randrange(4)):
            x = getattr(self, choose.choice(("conv", "pool", "pointwise", "shape", "resize", "concat", "norm", "bottleneck")))(x)
        self.result = x

    def add(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **{k: v for k, v in attributes.items() if v is not None}))
        self.values.append(name)
        return name

    def numbers(self, *shape, kind=None, values=None):
        rng = np.random.default_rng(self.choose.randrange(1 << 30))
        array = rng.integers(-1, 2, shape) if values is None else np.asarray(values)
        self.constants.append(numpy_helper.from_array(array.astype(kind or self.kind), f"c{len(self.constants)}"))
        return f"c{len(self.constants) - 1}"

    def filters(self):
        k, c = self.choose.choice((1, 2, 4, 8)), self.choose.choice((4, 4, 4, 4, 2, 3))
        self.taps = [self.choose.choice((1, 2, 3)) for _ in range(self.choose.choice((2, 2, 2, 2, 2, 2, 2, 1, 3)))]
        bias = [self.numbers(self.choose.choice((k, k, k, 1, k + 1)))] if self.choose.random() < 0.4 else []
        return [self.numbers(k, c, *self.taps), *bias]

    def window(self, axes):
        def some(*numbers, count=axes):
            if self.choose.random() < 0.5:
                return None
            right = numbers[:2] if self.choose.random() < 0.8 else numbers
            return [self.choose.choice(right) for _ in range(count)]
        return dict(strides=some(1, 2, 0, 5), dilations=some(1, 1, 2, 0, 1 << 40), pads=some(0, 1, 2, -1, 1 << 62, count=2 * axes),
                    auto_pad=self.choose.choice((None, None, None, None, "SAME_UPPER", "SAME_LOWER", "VALID", "NEVER")))

    def conv(self, x):
        return self.add("Conv", [x, *self.filters()], kernel_shape=self.choose.choice((None, None, [1, 1], [3, 3])), **self.window(2))

    def pool(self, x):
        if self.choose.random() < 0.3:
            return self.add(self.choose.choice(("GlobalAveragePool", "GlobalMaxPool")), [x])
        return self.add(self.choose.choice(("MaxPool", "AveragePool")), [x], kernel_shape=[self.choose.choice((1, 2, 3, 0, 100)) for _ in range(2)],
                        ceil_mode=self.choose.choice((None, 1)), **{**self.window(2), "dilations": None})

    def pointwise(self, x):
        if self.choose.random() < 0.5:
            return self.add(self.choose.choice(("Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Gelu")), [x])
        return self.add(self.choose.choice(("Add", "Mul")), [x, self.choose.choice(self.values)])

    def bottleneck(self, x):
        """x + act(conv(x)), or another sum; mostly of operands that fit."""
        c = self.choose.choice((4, 4, 4, 8))
        inner = self.add("Conv", [x, self.numbers(c, c, 3, 3)], pads=self.choose.choice(([1] * 4, [1] * 4, [1] * 4, [0] * 4)))
        for _ in range(self.choose.choice((1, 1, 1, 0, 2))):
            op = self.choose.choice(("SiLU", "SiLU", "Relu", "Tanh"))
            inner = self.add("Mul", [inner, self.add("Sigmoid", [inner])]) if op == "SiLU" else self.add(op, [inner])
        operands = [inner, x if self.choose.random() < 0.7 else self.choose.choice(self.values)]
        self.choose.shuffle(operands)
        return self.add("Add", operands)

    def shape(self, x):
        kind = self.choose.choice(("Reshape", "Transpose", "Flatten"))
        if kind == "Reshape" and self.choose.random() < 0.4:
            return self.add(kind, [x, self.add("Shape", [self.choose.choice(self.values)], start=self.choose.choice((None, None, 0, 1)))])
        if kind == "Reshape":
            return self.add(kind, [x, self.numbers(kind=np.int64, values=self.choose.choice(([0, -1], [-1], [0, 4, -1, 1], [2, -1, 0], [-1, -1], [7, 7])))])
        if kind == "Transpose":
            return self.add(kind, [x], perm=self.choose.choice((None, [0, 2, 3, 1], [0, 3, 1, 2], [1, 0], [0, 0, 1, 2], [3, 2, 1, 9])))
        return self.add(kind, [x], axis=self.choose.choice((0, 1, 2, -1, 9)))

    def resize(self, x):
        scales = self.choose.choice(([1, 1, 2, 2], [1, 1, 3, 1], [1, 1, 0.5, 0.5], [2, 2], [1, 1, 0, 2], [1, 1, -1, 2], [1, 1, 1e9, 1e9]))
        return self.add("Resize", [x, "", self.numbers(kind=np.float32, values=scales)], mode=self.choose.choice(("nearest", "nearest", "linear")))

    def concat(self, x):
        return self.add("Concat", [x, self.choose.choice(self.values), x][: self.choose.choice((1, 2, 3))], axis=self.choose.choice((1, 1, 0, -3, 2, 7)))

    def norm(self, x):
        c = self.choose.choice((4, 4, 8, 2, 3))
        scale, bias = self.numbers(c), self.numbers(self.choose.choice((c, c, c + 1)))
        if self.choose.random() < 0.5:
            return self.add("InstanceNormalization", [x, scale, bias], epsilon=self.choose.choice((None, 0.0, -1.0, float("nan"))))
        return self.add("GroupNormalization", [x, scale, bias], num_groups=self.choose.choice((1, 2, 4, 3, 0, -2, 1 << 40)))

    def bytes(self):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.kind))
        inputs = [helper.make_tensor_value_info(name, kind, ["n", "c", "h", "w"]) for name in ("x", "other")]
        outputs = [helper.make_tensor_value_info(self.result, kind, None)]
        graph = helper.make_graph(self.nodes, "graph", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.choose.choice((21, 21, 20, 13)))], ir_version=9).SerializeToString()


class Fuzz(unittest.TestCase):
    def testSessionsAndRuns(self):
        print(f"seed {ARGUMENTS.seed}, {ARGUMENTS.calls} calls", flush=True)
        choose, calls, made, ran = random.Random(ARGUMENTS.seed), 0, 0, 0
        while calls < ARGUMENTS.calls:
            graph = RandomGraph(choose)
            model = graph.bytes()
            settings = ort.SessionOptions()
            settings.add_provider_for_devices(EP_DEVICES, {"device": "emulated:sm_90a"})
            settings.intra_op_num_threads = 1
            calls += 1
            try:
                session = ort.InferenceSession(model, sess_options=settings)
            except Exception as error:  # ONNX Runtime has a class for each status
                self.assertGreater(len(str(error)), 0)
                continue
            made += 1
            for _ in range(RUNS):
                shape = choose.choice([(1, 4, 3, 2), (2, 4, 3, 3), (1, 4, 1, 1), (1, 3, 4, 4), (0, 4, 3, 3), (1, 4, 2, 1), (2, 8, 2, 2)])
                other = shape if choose.random() < 0.7 else (1, 4, 2, 2)
                rng = np.random.default_rng(choose.randrange(1 << 30))
                feed = {name: rng.integers(-1, 2, size).astype(graph.kind) for name, size in (("x", shape), ("other", other))}
                calls += 1
                try:
                    session.run(None, feed)
                    ran += 1
                except Exception as error:
                    self.assertGreater(len(str(error)), 0)
        print(f"{made} sessions and {ran} runs were right", flush=True)
        self.assertGreater(made, calls // 200)
        self.assertGreater(ran, calls // 50)


if __name__ == "__main__":
    main()
