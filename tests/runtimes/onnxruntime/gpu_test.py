"""Networks with all of their channels by the provider for ONNX Runtime on the GPU that SHIFTCONV_DEVICE names: who got which node, results against
the CPU provider, and times of both. Skipped where it names none."""
import statistics
import sys
import time

from graphs import ARGUMENTS, DEVICE, ComparedWithCpu, Graph, assigned, claimed, main, onCpu, sc, session, wholeNumbers
import networks
import numpy as np
from unet_block import ResidualBlock

if not DEVICE.startswith("cuda"):
    print("skipped: SHIFTCONV_DEVICE names no GPU")
    sys.exit(77)


def milliseconds(made, feed, runs=9):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        made.run(None, feed)
        times.append(time.perf_counter() - start)
    return round(statistics.median(times) * 1e3, 3)


class Gpu(ComparedWithCpu):
    def report(self, name, made, model, feed):
        """Runs from host memory to host memory."""
        device = sc.report()["device"]
        self.assertNotIn("emulated", device)
        print(f"{name} on {device}: {milliseconds(made, feed)} ms, CPU provider {milliseconds(onCpu(model), feed, 3)} ms", flush=True)

    def testNetworks(self):
        """Bit by bit over whole numbers, all nodes in one island; two shapes a session."""
        for build, convolutions in ((networks.resnet50, 53), (networks.mobilenetV2, 52)):
            for dtype in (np.float16, np.float32):
                with self.subTest(network=build.__name__, dtype=dtype):
                    graph, rng = Graph(dtype), np.random.default_rng(ARGUMENTS.seed)
                    build(graph, whole=True, narrower=1)
                    feeds = [{"x": wholeNumbers(rng, shape, dtype)} for shape in ((3, 3, 64, 128), (1, 3, 128, 64))]
                    made = self.check(graph, feeds)
                    self.assertEqual(list(assigned(made)), [sc.get_ep_name()])
                    self.assertEqual(claimed()[1], {})
                    self.assertEqual([node["op"] for node in sc.report()["graphs"][0]["nodes"]].count("Conv"), convolutions)
                    self.report(f"{build.__name__} {np.dtype(dtype).name} 1x3x128x64", made, graph.bytes(), feeds[1])

    def testAResidualBlockOfADiffusionModel(self):
        for dtype in (np.float16, np.float32):
            with self.subTest(dtype=dtype):
                block = ResidualBlock(dtype, "group", 64, 96, (16, 12))
                made = session(block.graph.bytes())
                self.assertEqual(assigned(made), {sc.get_ep_name(): [sorted(block.names())]})
                feed = block.feed(3, (16, 12))
                result, (expected, bound) = made.run(None, feed)[0], block.inDoubles(feed)
                self.assertEqual(result.shape, expected.shape)
                error = np.abs(result.astype(np.float64) - expected)
                self.assertTrue(np.all(error <= bound), f"error {np.max(error - bound)} beyond the bound")
                self.assertLess(bound.max(), 2.0**-2 if dtype == np.float16 else 2.0**-3, "a bound that says something")
                self.report(f"residual block {np.dtype(dtype).name} 3x64x16x12", made, block.graph.bytes(), feed)


if __name__ == "__main__":
    main()
