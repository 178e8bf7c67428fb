"""A residual block of a diffusion model: normalisations with SiLU, two convolutions, an embedding of the time, a shortcut, and a doubling of rows
and columns. In every way in which exporters write its normalisations, with random weights, and what it gives in doubles."""
from graphs import ARGUMENTS, UNIT, Graph
import numpy as np

FORMS = ("group", "instance", "exported", "dynamic")
GROUPS = 4


class ResidualBlock:
    """Of `channels` channels, to `filters`. extents: of the form "exported", whose shapes are constants."""

    def __init__(self, dtype, form, channels, filters, extents):
        self.form, self.channels = form, channels
        self.rng, self.graph, self.weights = np.random.default_rng(ARGUMENTS.seed), Graph(dtype, 21), {}
        graph, exported = self.graph, form == "exported"
        x = graph.input("x", ["n", channels, *(extents if exported else ("h", "w"))])
        y = self.conv(self.norm(x, channels, "norm1", extents), filters, channels, 3, "conv1")
        time = graph.add("Conv", [graph.input("time", ["n", 4, 1, 1]), self.weight("time_w", filters, 4, 1, 1)], "embedding")
        y = self.conv(self.norm(graph.add("Add", [y, time], "timed"), filters, "norm2", extents), filters, filters, 3, "conv2")
        y = graph.add("Add", [self.conv(x, filters, channels, 1, "shortcut"), y], "sum")
        graph.output(graph.add("Resize", [y, "", graph.constant([1, 1, 2, 2], np.float32)], "y", mode="nearest"))

    def weight(self, name, *shape, scale=1.0):
        self.weights[name] = (self.rng.uniform(-1, 1, shape) * scale).astype(self.graph.dtype)
        return self.graph.constant(self.weights[name])

    def norm(self, x, channels, name, extents):
        graph, written = self.graph, self.form in ("exported", "dynamic")
        each = (channels, 1, 1) if written else (channels,)
        scale, bias = self.weight(name + "_scale", *each), self.weight(name + "_bias", *each)
        if self.form == "instance":
            y = graph.add("InstanceNormalization", [x, scale, bias], name, epsilon=1e-3)
        elif written:
            shape = graph.add("Shape", [x], name + "_extents") if self.form == "dynamic" else graph.constant([-1, channels, *extents], np.int64)
            y = graph.add("Reshape", [x, graph.constant([0, GROUPS, -1], np.int64)], name + "_there")
            y = graph.add("InstanceNormalization", [y, graph.constant(np.ones(GROUPS)), graph.constant(np.zeros(GROUPS))], name + "_inner", epsilon=1e-3)
            y = graph.add("Reshape", [y, shape], name + "_back")
            y = graph.add("Add", [graph.add("Mul", [y, scale], name + "_scaled"), bias], name)
        else:
            y = graph.add("GroupNormalization", [x, scale, bias], name, num_groups=GROUPS, epsilon=1e-3)
        return graph.add("Mul", [y, graph.add("Sigmoid", [y], name + "_gate")], name + "_silu")

    def conv(self, x, out, channels, taps, name):
        operands = [x, self.weight(name + "_w", out, channels, taps, taps, scale=(channels * taps**2) ** -0.5), self.weight(name + "_b", out)]
        return self.graph.add("Conv", operands, name, pads=[taps // 2] * 4)

    def names(self):
        """Of its nodes."""
        names = ["norm1", "norm1_gate", "norm1_silu", "conv1", "embedding", "timed", "norm2", "norm2_gate", "norm2_silu", "conv2", "shortcut", "sum", "y"]
        if self.form in ("exported", "dynamic"):
            parts = ("there", "inner", "back", "scaled") + ("extents",) * (self.form == "dynamic")
            names += [f"norm{i}_{part}" for i in (1, 2) for part in parts]
        return names

    def feed(self, images, extents):
        return {"x": self.rng.uniform(-2, 2, (images, self.channels, *extents)).astype(self.graph.dtype),
                "time": self.rng.uniform(-1, 1, (images, 4, 1, 1)).astype(self.graph.dtype)}

    def inDoubles(self, feed):
        """The block's values and, to first order with a tenth of room, how far rounding may lead from them: each step hands on the errors of its
        operands and rounds to the type; sums round once for each term."""
        unit = 2.0**-11 if feed["x"].dtype == np.float16 else UNIT
        w = {name: value.astype(np.float64).reshape(-1) if value.shape[1:] == (1, 1) else value.astype(np.float64) for name, value in self.weights.items()}

        def norm(value, error, name):
            groups = value.shape[1] if self.form == "instance" else GROUPS
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
