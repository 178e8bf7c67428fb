"""torch.ops.shiftconv.conv on a GPU: streams, graphs, threads, caches. Skipped where there is none."""

import copy
import pathlib
import sys
import threading
import unittest

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU")
    sys.exit(77)

import shiftconv.torch as sct

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench/runtimes"))
import call_cost

torch.backends.cudnn.allow_tf32 = False


def random(*shape, dtype=torch.float16, seed=1):
    """Multiples of 1/8 in -2..2, so that float32 holds the sums of these tests exactly."""
    generator = torch.Generator().manual_seed(seed)
    made = (torch.randint(-16, 17, shape, generator=generator) / 8).to("cuda", dtype)
    layouts = {4: torch.channels_last, 5: torch.channels_last_3d}
    return made.contiguous(memory_format=layouts[len(shape)]) if len(shape) in layouts else made


class Gpu(unittest.TestCase):
    def check(self, y, expected):
        bound = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-23}[y.dtype] * expected.abs() + 2.0**-25
        wrong = (y.float() - expected).abs() > bound
        self.assertFalse(wrong.any(), f"{int(wrong.sum())} of {wrong.numel()} elements")

    def test_results(self):
        for dtype in (torch.float16, torch.bfloat16):
            x, w = random(3, 64, 17, 14, dtype=dtype), random(96, 64, 3, 3, dtype=dtype, seed=2)
            bias, residual = random(96, dtype=torch.float32, seed=3), random(3, 96, 9, 7, dtype=dtype, seed=4)
            y = sct.conv(x, w, bias, residual, stride=2, padding=1, activation="relu")
            self.check(y, F.relu(F.conv2d(x.float(), w.float(), bias, stride=2, padding=1) + residual.float()))
        x, w = random(1, 32, 4, 9, 10), random(32, 32, 3, 3, 3, seed=2)
        y = sct.conv(x, w, padding=((2, 0), (1, 1), (1, 1)))
        self.check(y, F.conv3d(F.pad(x.float(), (1, 1, 1, 1, 2, 0)), w.float()))

    def test_pairs(self):
        skip, below = random(2, 24, 6, 7), random(2, 40, 6, 7, seed=2)[:, 8:24]
        w, bias = random(16, 40, 3, 3, seed=3), random(16, dtype=torch.float32, seed=4)
        arguments = dict(stride=(2, 1), padding=1)
        expected = F.conv2d(torch.cat((skip, below), 1).float(), w.float(), bias, **arguments).relu()
        self.check(sct.conv((skip, below), w, bias, activation="relu", **arguments), expected)
        kept, new, w = random(2, 16, 2, 5, 4), random(2, 16, 3, 5, 4, seed=2), random(8, 16, 3, 3, 3, seed=3)
        joined = F.pad(torch.cat((kept, new), 2).float(), (0, 1, 1, 1))
        self.check(sct.conv((kept, new), w, padding=((0, 0), (1, 1), (0, 1)), dim=2), F.conv3d(joined, w.float()))

    def test_narrow_types(self):
        x, w = random(2, 32, 6, 5).to(torch.int8), random(16, 32, 3, 3, seed=2).to(torch.int8)
        y = sct.conv(x, w, padding=1, out_dtype=torch.int32)
        self.assertTrue(torch.equal(y, F.conv2d(x.double(), w.double(), padding=1).int()))
        x, w, scale = random(2, 32, 6, 5), random(16, 32, 3, 3, seed=2), 2.0 ** torch.arange(-8, 8, device="cuda")
        y = sct.conv(x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn), padding=1, channel_scale=scale, out_dtype=torch.float32)
        # The tensor cores keep 13 bits behind the largest term of a sum; terms here are at most 4 and multiples of 1/64.
        x, w = (tensor.to(torch.float8_e4m3fn).float() for tensor in (x, w))
        error = (y - F.conv2d(x, w, padding=1) * scale[:, None, None]).abs()
        self.assertTrue((error <= 288 * 4 * 2.0**-13 * scale[:, None, None]).all(), float(error.max()))

    def test_a_graph_without_a_call_before(self):
        x, w = random(2, 40, 11, 13), random(56, 40, 3, 3, seed=2)  # a shape of this test only
        out = random(2, 56, 9, 11)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            sct.conv(x, w, out=out)
            y = sct.conv(x, w, activation="relu")
        out.zero_()
        for seed in (7, 8):
            x.copy_(random(2, 40, 11, 13, seed=seed))
            graph.replay()
            expected = F.conv2d(x.float(), w.float())
            self.check(out, expected)
            self.check(y, expected.relu())

    def test_workspaces(self):
        """Plans that write the filter in another form: two layers at once in streams, and a graph that owns its workspaces."""
        x, w = random(1, 16, 160, 160), random(16, 16, 3, 3, seed=2)
        grouped, of_groups = random(2, 128, 5, 9, 10), random(128, 32, 3, 3, 3, seed=3) * (random(128, 32, 3, 3, 3, seed=4) > 1)
        expected = F.conv2d(x.float(), w.float(), padding=1), F.conv3d(grouped.float(), of_groups.float(), padding=1, groups=4)

        def run():
            return sct.conv(x, w, padding=1), sct.conv(grouped, of_groups, padding=1, groups=4), sct.conv(x, -w, padding=1)
        streams = [torch.cuda.Stream() for _ in range(2)]
        torch.cuda.synchronize()
        results = []
        for _ in range(20):
            for stream in streams:
                with torch.cuda.stream(stream):
                    results.append(run())
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results.append(run())
        others = [torch.full((1 << 22,), torch.nan, device="cuda") for _ in range(8)]  # what the graph needs is not given away
        graph.replay()
        torch.cuda.synchronize()
        for joined, merged, negative in results:
            self.check(joined, expected[0])
            self.check(merged, expected[1])
            self.check(negative, -expected[0])
        del others

    def test_side_streams(self):
        w = random(64, 64, 3, 3, seed=2)
        for seed in range(4):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                x = random(8, 64, 56, 56, seed=seed)
                torch.cuda._sleep(10_000_000)
                x = x * 1.0  # late: a kernel in another stream would read what was there before
                y = sct.conv(x, w, padding=1)
            stream.synchronize()
            self.check(y, F.conv2d(x.float(), w.float(), padding=1))

    def test_threads(self):
        w = random(64, 64, 1, 1, seed=2)
        failures = []

        def work(seed):
            with torch.cuda.stream(torch.cuda.Stream()):
                for i in range(20):
                    x = random(1 + i % 5, 64, 14, 14, seed=seed + i)
                    y = sct.conv(x, w)
                    if not torch.equal(y.float(), F.conv2d(x.float(), w.float()).half().float()):
                        failures.append((seed, i))

        threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_the_cache_of_bindings_is_bounded(self):
        x, w = random(1, 16, 4, 4), random(16, 16, 1, 1, seed=2)
        sct.keep_bindings(8)
        held = [sct.conv(x, w) for _ in range(20)]
        self.assertLessEqual(sct.kept()["bindings"], 8)
        sct.keep_bindings(2048)
        for y in held:
            self.check(y, F.conv2d(x.float(), w.float()))

    def test_refusals(self):
        x, w = random(1, 16, 4, 5), random(16, 16, 1, 1, seed=2)
        with self.assertRaisesRegex(ValueError, "w must be on the device of x"):
            sct.conv(x, w.cpu())
        with self.assertRaisesRegex(ValueError, "out must not overlap x"):
            sct.conv(x, w, out=x)
        with self.assertRaisesRegex(ValueError, "x must be aligned to 16 bytes, but its first element is 2 bytes past a multiple"):
            sct.conv(random(1, 24, 4, 5)[:, 1:17], w)

    def test_tuned_replacement(self):
        model = torch.nn.Sequential(torch.nn.Conv2d(32, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU()).cuda().eval()
        x = random(2, 32, 28, 28)
        made = sct.replace(model, x, tune=True)
        layer = made.shiftconv_census.layers[0]
        self.assertGreater(layer.microseconds, 0)
        self.assertGreater(layer.aten_microseconds, 0)
        with torch.no_grad():
            torch.testing.assert_close(made(x).float(), model(x.float()), rtol=4e-3, atol=4e-3)

    def test_compile(self):
        w = random(64, 64, 3, 3, seed=2)

        @torch.compile(fullgraph=True)
        def function(x):
            return sct.conv(x * 0.5, w, padding=1, activation="relu") * 2

        x = random(2, 64, 14, 13)
        self.check(function(x), F.relu(F.conv2d(x.float() * 0.5, w.float(), padding=1)).half().float() * 2)

    def test_backend(self):
        layers = [torch.nn.Conv2d(32, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.GroupNorm(4, 64), torch.nn.Conv2d(64, 32, 1)]
        model, censuses = torch.nn.Sequential(*layers).cuda().eval(), []
        made = torch.compile(copy.deepcopy(model).half(), backend=sct.backend, options={"census": censuses.append}, fullgraph=True)
        with torch.no_grad():
            for batch in (2, 3):
                x = random(batch, 32, 28, 28)
                torch.testing.assert_close(made(x).float(), model(x.float()), rtol=1e-2, atol=1e-2)
        self.assertEqual(censuses[0].share, 1.0)

    def test_the_host_time_of_a_call(self):
        costs = call_cost.call_costs("cuda")
        print(costs)
        self.assertLess(costs["call_us"], costs["empty_us"] + 5)


if __name__ == "__main__":
    unittest.main()
