"""torch.compile(..., backend=shiftconv.torch.backend) on small blocks, on the emulated device, against the models in float32."""

import copy
import os
import sys
import unittest
import warnings

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # a pool of processes takes longer to start than this compiles

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    print("skipped: this Python has no PyTorch (./bootstrap test --with torch fetches it)")
    sys.exit(77)

import shiftconv
import shiftconv.torch as sct
from blocks import Bottleneck, CausalBlock, InvertedResidual, UNetBlock, YoloBottleneck, inputs, with_statistics

shiftconv.emulate("sm_90a")


class Backend(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def check(self, model, compiled, x, dtype=torch.float16):
        """As close to float32 as PyTorch's own in this dtype, twice over for the order of sums."""
        with torch.no_grad():
            expected = model(x)
            theirs = copy.deepcopy(model).to(dtype)(x.to(dtype)).float()
            ours = compiled(x.to(dtype)).float()
        self.assertEqual(ours.shape, expected.shape)
        bound = 2 * (theirs - expected).abs().max() + 2.0**-11 * expected.abs().max()
        self.assertLessEqual((ours - expected).abs().max(), bound)

    def compiled(self, model, rest="aot_eager", dtype=torch.float16, **options):
        """The model in this dtype, compiled, and the list of censuses that it fills."""
        censuses = []
        options = {"rest": rest, "census": censuses.append}
        return torch.compile(copy.deepcopy(model).to(dtype), backend=sct.backend, options=options, fullgraph=True), censuses

    def fused(self, censuses):
        self.assertEqual(len(censuses), 1)
        return {layer.name: layer.fused for layer in censuses[0]}

    def test_resnet_block_with_inductor(self):
        model = with_statistics(Bottleneck())
        compiled, censuses = self.compiled(model, "inductor")
        self.check(model, compiled, inputs(2, 16, 6, 7))
        self.assertEqual(
            self.fused(censuses),
            {
                "conv1": ["batch_norm", "bias", "relu"],
                "conv2": ["batch_norm", "bias", "relu"],
                "conv3": ["batch_norm", "bias", "residual", "relu"],
                "downsample.0": ["batch_norm", "bias"],
            },
        )
        self.assertEqual(censuses[0].share, 1.0)

    def test_mobilenet_block(self):
        model = with_statistics(InvertedResidual())
        compiled, censuses = self.compiled(model)
        self.check(model, compiled, inputs(2, 8, 5, 6))
        self.assertEqual(
            self.fused(censuses),
            {
                "expand.0": ["batch_norm", "bias", "clamp"],
                "depthwise.0": ["batch_norm", "bias", "hard_swish"],
                "squeeze": ["bias", "silu"],
                "excite": ["bias", "sigmoid"],
                "project.0": ["batch_norm", "bias", "residual"],
            },
        )

    def test_yolo_block(self):
        for dtype in (torch.float16, torch.bfloat16):
            model = with_statistics(YoloBottleneck())
            compiled, censuses = self.compiled(model, dtype=dtype)
            self.check(model, compiled, inputs(2, 16, 5, 6), dtype)
            conv = ["batch_norm", "bias", "silu"]
            self.assertEqual(list(self.fused(censuses).values()), [conv, [*conv, "residual"]])

    def test_unet_block_with_any_batch_size(self):
        model = with_statistics(UNetBlock())
        compiled, censuses = self.compiled(model)
        x = inputs(3, 16, 5, 6)
        half = x.half()
        torch._dynamo.mark_dynamic(half, 0)
        with torch.no_grad():
            compiled(half)
        for batch in (3, 2, 7):
            self.check(model, compiled, inputs(batch, 16, 5, 6).contiguous(memory_format=torch.channels_last))
            self.check(model, compiled, inputs(batch, 16, 5, 6))
        self.assertLessEqual(len(censuses), 2, "one for each layout")
        for census in censuses:
            self.assertEqual({layer.name: layer.fused for layer in census}["shortcut"], ["bias", "residual"])
            self.assertEqual({layer.engine for layer in census}, {"shiftconv"})

    def test_causal_padding(self):
        model = with_statistics(CausalBlock())
        compiled, censuses = self.compiled(model)
        self.check(model, compiled, inputs(1, 8, 3, 5, 4))
        self.assertEqual(self.fused(censuses), {"conv1": ["pad", "bias", "silu"], "conv2": ["pad", "bias", "residual"]})

    def test_an_addition_in_place_that_others_see(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Conv2d(8, 8, 1), nn.Conv2d(8, 8, 1)

            def forward(self, x):
                y = F.silu(x)
                z = y
                z += self.a(x)
                return self.b(z) + y

        model = with_statistics(Model())
        compiled, censuses = self.compiled(model)
        self.check(model, compiled, inputs(2, 8, 4, 5))
        self.assertEqual(self.fused(censuses)["a"], ["bias"])

    def test_what_is_no_constant_stays(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.weight = nn.Conv2d(8, 8, 1), nn.Parameter(torch.randn(16, 8, 3, 3))

            def forward(self, x):
                return F.conv2d(self.conv(x), self.weight / self.weight.norm())

        model = with_statistics(Model())
        compiled, censuses = self.compiled(model)
        self.check(model, compiled, inputs(1, 8, 5, 4))
        conv, call = censuses[0]
        self.assertEqual((conv.engine, call.engine, call.reason), ("shiftconv", "aten", "a call of a function, not of a module"))

    def test_gradients_go_to_the_rest(self):
        model = with_statistics(Bottleneck())
        compiled, censuses = self.compiled(model, dtype=torch.float32)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled(inputs(1, 16, 4, 5)).sum().backward()
        self.assertIn("requires grad, but ShiftConv computes forward only", " ".join(str(warning.message) for warning in caught))
        self.assertEqual(censuses, [])

    def test_options(self):
        with self.assertRaisesRegex(Exception, "options must be of tune, tune_seconds, rest, census, but are faster"):
            with torch.no_grad():
                torch.compile(Bottleneck().eval(), backend=sct.backend, options={"faster": True})(inputs(1, 16, 4, 5))


if __name__ == "__main__":
    unittest.main()
