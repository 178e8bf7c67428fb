"""Models in the making, sessions on the emulated device and on the CPU provider, and who got which node: for the tests of this folder.

Graphs that are compared bit by bit have small whole numbers everywhere: then every sum is exact in f32 and f16, whatever its order.
"""
import argparse
import os
import sys
import unittest

from shiftconv import glue_path

try:
    import numpy as np
    import onnxruntime as ort
    from onnx import helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not os.path.exists(glue_path("onnxruntime")):
    print(f"skipped: there is no {glue_path('onnxruntime')}; see docs/runtimes/onnxruntime.md")
    sys.exit(77)

import shiftconv.onnxruntime as sc

ARGUMENTS = argparse.Namespace(problems=100, calls=2_000, seed=22)
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

    def addSeveral(self, op, inputs, names, **attributes):
        self.nodes.append(helper.make_node(op, inputs, names, name=names[0], **attributes))

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
    return ort.InferenceSession(model, sess_options=settings, enable_fallback=False)  # to the CPU provider, which hides the reason


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


class ComparedWithCpu(unittest.TestCase):
    def check(self, graph, feeds, islands=1, alone=True):
        model = graph.bytes()
        made, cpu = session(model, alone), onCpu(model)
        self.assertEqual(len(assigned(made)[sc.get_ep_name()]), islands)
        for feed in feeds:
            for result, expected in zip(made.run(None, feed), cpu.run(None, feed)):
                self.assertGreater(len(np.unique(expected)), 2)
                np.testing.assert_array_equal(result, expected)
        return made


def main():
    """Runs the tests of the program, with options for all of ARGUMENTS."""
    parser = argparse.ArgumentParser()
    for name, value in vars(ARGUMENTS).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    _, rest = parser.parse_known_args(namespace=ARGUMENTS)
    unittest.main(argv=[sys.argv[0], *rest])
