"""ResNet-50, MobileNetV2 and a feature pyramid as ONNX graphs: every layer of theirs, with fewer channels.

As they are, with random weights, or `whole`: with whole numbers as weights and between limits after every activation, so that every sum is
exact in f32 and f16, whatever its order. Then smooth activations are limits, too."""
import numpy as np


class Layers:
    """Adds layers to the graph of graphs.py."""

    def __init__(self, graph, channels, seed, whole):
        self.graph, self.rng, self.count, self.whole = graph, np.random.default_rng(seed), 0, whole
        self.x, self.channels = graph.input("x", ["n", channels, "h", "w"]), channels

    def name(self, kind):
        self.count += 1
        return f"{kind}{self.count}"

    def weights(self, *shape):
        terms = int(np.prod(shape[1:]))
        if self.whole:  # three of a sum are not 0
            return self.graph.constant(self.rng.choice((-1, 0, 1), shape, p=(1 / (2 * terms), 1 - 3 / terms, 5 / (2 * terms)) if terms > 6 else None))
        return self.graph.constant(self.rng.normal(0, 1 / np.sqrt(terms), shape))

    def conv(self, filters, taps, stride=1, groups=1, normalised=True):
        pad, channels = taps // 2, self.channels
        self.x = self.graph.add("Conv", [self.x, self.weights(filters, channels // groups, taps, taps)], self.name("conv"), group=groups,
                                strides=[stride] * 2, pads=[pad] * 4)
        self.channels = filters
        if normalised:
            factor, bias, mean, variance = self.rng.uniform(0.5, 1.5, (4, filters))
            if self.whole:
                factor, bias, mean, variance = np.ones(filters), self.rng.integers(0, 2, filters), np.zeros(filters), np.ones(filters)
            numbers = [self.graph.constant(values) for values in (factor, bias, mean, variance)]
            self.x = self.graph.add("BatchNormalization", [self.x, *numbers], self.name("norm"), epsilon=0.0)
        return self

    def activate(self, op):
        """Relu, Relu6, SiLU or Sigmoid."""
        limits = {"Relu6": (0.0, 6.0)}.get(op)
        if self.whole:
            limits = (0.0, 1.0) if op == "Sigmoid" else (0.0, 3.0)
        if limits:
            return self.apply("Clip", *map(self.graph.constant, limits))
        if op == "SiLU":
            x = self.x
            return self.apply("Sigmoid").apply("Mul", x)
        return self.apply(op)

    def apply(self, op, *others, **attributes):
        self.x = self.graph.add(op, [self.x, *others], self.name(op.lower()), **attributes)
        return self

    def classify(self, classes):
        self.apply("GlobalAveragePool").apply("Flatten")
        self.apply("Gemm", self.weights(classes, self.channels), self.weights(classes), transB=1)
        self.graph.output(self.x)


def resnet50(graph, whole=False, narrower=16):
    net = Layers(graph, 3, 1, whole)
    net.conv(64 // narrower, 7, 2).activate("Relu").apply("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage // narrower
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            before, channels = net.x, net.channels
            net.conv(width, 1).activate("Relu").conv(width, 3, stride).activate("Relu").conv(4 * width, 1)
            branch = net.x
            net.x = before
            if block == 0:
                net.channels = channels
                net.conv(4 * width, 1, stride)
            net.apply("Add", branch).activate("Relu")
    net.classify(10)


def mobilenetV2(graph, whole=False, narrower=8):
    net = Layers(graph, 3, 2, whole)
    net.conv(32 // narrower, 3, 2).activate("Relu6")
    for expansion, filters, repeats, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                              (6, 320, 1, 1)):
        for repeat in range(repeats):
            before, channels, stride = net.x, net.channels, first if repeat == 0 else 1
            if expansion > 1:
                net.conv(channels * expansion, 1).activate("Relu6")
            net.conv(net.channels, 3, stride, groups=net.channels).activate("Relu6").conv(filters // narrower, 1)
            if stride == 1 and net.channels == channels:
                net.apply("Add", before)
    net.conv(1280 // narrower, 1).activate("Relu6").classify(10)


def pyramid(graph, whole=False):
    """What detectors have: SiLU, a shortcut around it, squeeze and excitation, upsampling, concatenation."""
    net = Layers(graph, 3, 3, whole)
    net.conv(8, 3, 2).activate("SiLU")
    before = net.x
    net.conv(8, 3).activate("SiLU").apply("Add", before)
    fine, fineChannels = net.x, net.channels
    net.conv(16, 3, 2).activate("SiLU")
    gated, channels = net.x, net.channels
    net.apply("GlobalAveragePool").conv(4, 1, normalised=False).activate("Relu").conv(channels, 1, normalised=False).activate("Sigmoid").apply("Mul", gated)
    net.apply("Resize", "", graph.constant([1, 1, 2, 2], np.float32), mode="nearest").apply("Concat", fine, axis=1)
    net.channels += fineChannels
    net.conv(8, 1).activate("SiLU")
    graph.output(net.conv(5, 1, normalised=False).apply("Transpose", perm=[0, 2, 3, 1]).x)
