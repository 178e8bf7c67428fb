"""shiftconv.torch.replace on small models, on the emulated device, against the models in float32."""

import json
import operator
import sys
import unittest
import unittest.mock

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    print("skipped: this Python has no PyTorch (./bootstrap test --with torch fetches it)")
    sys.exit(77)

import shiftconv
import shiftconv.torch as sct
from blocks import (
    Bottleneck, CausalBlock, ConvNeXtBlock, InvertedResidual, UNetBlock, YoloBottleneck, inputs, with_statistics,
)  # fmt: skip
from replaced_case import ReplacedCase

shiftconv.emulate("sm_90a")


class Replace(ReplacedCase):
    def test_bottleneck(self):
        made = self.replaced(Bottleneck(), inputs(2, 16, 6, 7))
        self.assertEqual(
            self.fused(made),
            {
                "conv1": ["batch_norm", "bias", "relu"],
                "conv2": ["batch_norm", "bias", "relu"],
                "conv3": ["batch_norm", "bias", "residual", "relu"],
                "downsample.0": ["batch_norm", "bias"],
            },
        )
        self.assertEqual([node.op for node in made.graph.nodes], ["placeholder", *["call_module"] * 4, "output"])
        self.assertEqual(made.shiftconv_census.share, 1.0)
        self.assertTrue(all(module.bias.dtype == torch.float32 for module in made.modules() if isinstance(module, sct.ShiftConv)))

    def test_other_shapes_than_the_example(self):
        model = with_statistics(Bottleneck())
        made = sct.replace(model, inputs(2, 16, 6, 7).half())
        x = inputs(1, 16, 9, 4)  # not in channels_last either
        with torch.no_grad():
            torch.testing.assert_close(made(x.half()).float(), model(x), rtol=4e-3, atol=4e-3)

    def test_inverted_residual(self):
        made = self.replaced(InvertedResidual(), inputs(2, 8, 5, 6))
        self.assertEqual(
            self.fused(made),
            {
                "expand.0": ["batch_norm", "bias", "relu6"],
                "depthwise.0": ["batch_norm", "bias", "hard_swish"],
                "squeeze": ["bias", "silu"],
                "excite": ["bias", "sigmoid"],
                "project.0": ["batch_norm", "bias", "residual"],
            },
        )

    def test_yolo(self):
        """The residual after the activation, in other words and in place, too."""
        swapped, into_y = lambda x, y: y + x, lambda x, y: y.add_(x)  # noqa: E731
        for add in (torch.add, operator.add, swapped, into_y, lambda x, y: operator.iadd(y, x)):
            for dtype, channels in ((torch.float16, 16), (torch.bfloat16, 24), (torch.float16, 20)):
                made = self.replaced(YoloBottleneck(channels, 8, add), inputs(2, channels, 5, 6), dtype)
                conv = ["batch_norm", "bias", "silu"]
                self.assertEqual(self.fused(made), {"cv1.0": conv, "cv2.0": [*conv, "residual"]})
                self.assertEqual([node.op for node in made.graph.nodes], ["placeholder", *["call_module"] * 2, "output"])
                self.assertEqual([m.residual_last for m in made.modules() if isinstance(m, sct.ShiftConv)], [False, True])
        model = nn.Sequential(YoloBottleneck(), YoloBottleneck(add=operator.iadd))  # nobody sees what the second writes to
        self.assertEqual(self.fused(self.replaced(model, inputs(2, 16, 5, 6)))["1.cv2.0"], [*conv, "residual"])

    def test_what_is_measured_of_aten(self):
        """The same as what is put in its place, with the residual on either side of the activation."""
        originals, layer = {}, sct.deciding.Decider.layer

        def spy(decider, name, *arguments):
            originals[name] = arguments[-1]()
            return layer(decider, name, *arguments)

        x, y = inputs(2, 16, 6, 7), inputs(2, 8, 6, 7) + 1
        yolo, resnet = with_statistics(YoloBottleneck()), with_statistics(Bottleneck(stride=1))
        with torch.no_grad(), unittest.mock.patch.object(sct.deciding.Decider, "layer", spy):
            sct.replace(yolo, x)
            torch.testing.assert_close(originals["cv2.0"](y, x), yolo.cv2(y) + x)
            sct.replace(resnet, x)
            shortcut = resnet.downsample(x)
            torch.testing.assert_close(originals["conv3"](y, shortcut), F.relu(resnet.bn3(resnet.conv3(y)) + shortcut))

    def test_what_must_not_be_added_after_an_activation(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                for name in "abcdefghij":
                    self.add_module(name, nn.Conv2d(8, 8, 1))

            def forward(self, x):
                a = F.silu(self.a(x))
                y = a + x + a  # a has two users
                b = F.silu(self.b(y))
                y.mul_(2)  # b's input changes before the addition
                z = b + y
                c = F.silu(self.c(x))
                c = c + z[:, :, :1]  # broadcast
                d = torch.add(F.silu(self.d(c)), c, alpha=2)
                e = F.silu(self.e(d))
                e = e + e
                f = F.relu(self.f(e) + d) + e  # one addition
                g = e
                g += F.silu(self.g(f))  # e, too
                h = F.relu(F.silu(self.h(g)) + self.i(g))  # i adds, and has the activation that follows
                return F.silu(self.j(h)) + 1 + e

        made = self.replaced(Model(), inputs(2, 8, 4, 5))
        fused = {**dict.fromkeys("abcdeghj", ["bias", "silu"]), "f": ["bias", "residual", "relu"], "i": ["bias", "residual", "relu"]}
        self.assertEqual(self.fused(made), fused)

    def test_convnext(self):
        made = self.replaced(ConvNeXtBlock(), inputs(1, 16, 9, 8), torch.bfloat16)
        self.assertEqual(self.fused(made), {"depthwise": ["bias"]})

    def test_unet(self):
        made = self.replaced(UNetBlock(), inputs(1, 16, 5, 6))
        self.assertEqual(self.fused(made)["conv2"], ["bias"])
        self.assertEqual(self.fused(made)["shortcut"], ["bias", "residual"])

    def test_causal_padding(self):
        made = self.replaced(CausalBlock(), inputs(1, 8, 3, 5, 4))
        self.assertEqual(self.fused(made), {"conv1": ["pad", "bias", "silu"], "conv2": ["pad", "bias", "residual"]})
        self.assertEqual([node.op for node in made.graph.nodes], ["placeholder", "call_module", "call_module", "output"])

    def test_what_must_not_be_fused(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c, self.d = (nn.Conv2d(8, 8, 1) for _ in range(4))
                self.e = nn.Conv2d(16, 8, 1)

            def forward(self, x):
                a = self.a(x)
                y = F.relu(a) + a  # a has two users
                b = self.b(y)
                y.mul_(2)  # b's input changes before the addition
                z = b + y
                z = F.pad(z, (1, 1), value=1.0)  # not zeros
                c = self.c(z)
                c = c + c[:, :, :1]  # broadcast
                d = self.d(F.pad(c, (0, 0, 0, 0, 0, 0))) + 1
                return self.e(F.pad(d, (0, 0, 0, 0, 6, 2)))  # channels

        made = self.replaced(Model(), inputs(2, 8, 4, 5))
        self.assertEqual(self.fused(made), {"a": ["bias"], "b": ["bias"], "c": ["bias"], "d": ["pad", "bias"], "e": ["bias"]})

    def test_an_addition_in_place_that_others_see(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c = (nn.Conv2d(8, 8, 1) for _ in range(3))

            def forward(self, x):
                y = F.silu(x)
                z = y
                z += self.a(x)  # y, too
                unseen = F.silu(z)
                unseen += self.b(y)
                unseen.relu_()
                unseen.add_(self.c(unseen))  # seen by the next line
                return unseen + y

        made = self.replaced(Model(), inputs(2, 8, 4, 5))
        self.assertEqual(self.fused(made), {"a": ["bias"], "b": ["bias", "residual"], "c": ["bias"]})

    def test_a_module_called_twice(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.bn, self.other = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.BatchNorm2d(8)

            def forward(self, x):
                return self.other(self.conv(self.bn(self.conv(x)).relu()))

        made = self.replaced(Model(), inputs(1, 8, 5, 4))
        self.assertEqual([layer.fused for layer in made.shiftconv_census], [["batch_norm", "bias", "relu"], ["batch_norm", "bias"]])

    def test_what_stays_with_aten(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.circular = nn.Conv2d(8, 8, 3, padding=1, padding_mode="circular")
                self.bn = nn.BatchNorm2d(8)
                self.plain = nn.Conv2d(8, 8, 1)

            def forward(self, x):
                return self.plain(self.bn(self.circular(x)).relu())

        made = self.replaced(Model(), inputs(1, 8, 5, 4))
        circular, plain = made.shiftconv_census
        self.assertEqual((circular.engine, circular.reason), ("aten", "padding_mode is 'circular'"))
        self.assertEqual(circular.fused, ["batch_norm"])
        self.assertEqual((circular.flops, plain.flops), (2 * 5 * 4 * 8 * 8 * 9, 2 * 5 * 4 * 8 * 8))
        self.assertEqual(plain.engine, "shiftconv")
        self.assertEqual(self.kinds(made), ["Conv2d", "ShiftConv"])
        wide = self.replaced(nn.Sequential(nn.Conv2d(8, 8, 3)), inputs(1, 8, 5, 4), torch.float32)
        self.assertIn("direct", wide.shiftconv_census.layers[0].reason)

    def test_a_function_call_is_listed(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.weight = nn.Conv2d(8, 8, 1), nn.Parameter(torch.randn(16, 4, 3, 3))

            def forward(self, x):
                return F.conv2d(self.conv(x), self.weight / self.weight.norm(), groups=2)

        made = self.replaced(Model(), inputs(1, 8, 5, 4))
        module, call = made.shiftconv_census
        self.assertEqual((call.engine, call.reason), ("aten", "a call of a function, not of a module"))
        self.assertEqual(call.flops, 2 * 3 * 2 * 16 * 4 * 9)
        self.assertEqual(made.shiftconv_census.share, module.flops / (module.flops + call.flops))

    def test_modules_of_other_packages(self):
        """As timm has them: a normalisation that goes on with an activation, and convolutions that standardise and scale their weights."""

        class NormAct(nn.BatchNorm2d):
            def __init__(self, channels):
                super().__init__(channels)
                self.drop, self.act = nn.Identity(), nn.ReLU(inplace=True)

            def forward(self, x):
                torch._assert(x.ndim == 4, f"expected 4D input (got {x.ndim}D input)")
                training = self.training or (self.running_mean is None and self.running_var is None)
                x = F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, training, 0.1, self.eps)
                return self.act(self.drop(x))

        class Scaled(nn.Conv2d):
            def __init__(self, *arguments, **named):
                super().__init__(*arguments, **named)
                self.gain, self.scale = nn.Parameter(torch.rand(self.out_channels, 1, 1, 1) + 0.5), 0.3

            def forward(self, x):
                weight = F.batch_norm(
                    self.weight.reshape(1, self.out_channels, -1), None, None, weight=(self.gain * self.scale).view(-1),
                    training=True, momentum=0.0, eps=1e-6,
                ).reshape_as(self.weight)  # fmt: skip
                return F.conv2d(x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.norm = nn.Conv2d(8, 16, 3, padding=1, bias=False), NormAct(16)
                self.scaled, self.alone = Scaled(16, 24, 3, stride=2, groups=2), NormAct(8)

            def forward(self, x):
                return F.silu(self.scaled(self.norm(self.conv(self.alone(x)))))

        made = self.replaced(Model(), inputs(2, 8, 6, 7))
        self.assertEqual(self.fused(made), {"conv": ["batch_norm", "bias", "relu"], "scaled": ["bias", "silu"]})
        self.assertEqual(self.kinds(made).count("ShiftConv"), 2)
        calls = [node.target for node in made.graph.nodes if node.op == "call_function"]
        self.assertEqual(calls.count(F.batch_norm), 1)  # of the input, which follows no convolution
        with torch.no_grad():
            self.assertEqual(made(inputs(1, 8, 9, 5).half()).shape, (1, 24, 4, 2))

    def test_padding_as_tensorflow(self):
        """timm's Conv2dSame, whose padding depends on the image."""

        class Conv2dSame(nn.Conv2d):
            def forward(self, x):
                totals = [
                    max((-(-extent // step) - 1) * step + (taps - 1) * dilation + 1 - extent, 0)
                    for extent, step, taps, dilation in zip(x.shape[2:], self.stride, self.kernel_size, self.dilation)
                ]
                flat = [number for total in reversed(totals) for number in (total // 2, total - total // 2)]
                return F.conv2d(F.pad(x, flat), self.weight, self.bias, self.stride, 0, self.dilation, self.groups)

        model = nn.Sequential(
            Conv2dSame(8, 16, 3, 2, bias=False), nn.BatchNorm2d(16), nn.SiLU(), Conv2dSame(16, 16, (4, 5), (1, 2), dilation=(2, 1), groups=2)
        )
        made = self.replaced(model, inputs(2, 8, 10, 7))
        self.assertEqual(self.fused(made), {"0": ["batch_norm", "bias", "silu"], "3": ["bias"]})
        with torch.no_grad():
            for extents in ((9, 8), (5, 5), (10, 7)):
                x = inputs(1, 8, *extents)
                expected = with_statistics(model)(x)
                torch.testing.assert_close(made(x.half()).float(), expected, rtol=4e-3, atol=4e-3)

    def test_modules_that_cannot_be_followed(self):
        """They stay as they are, and the model around them is followed."""

        class Branch(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())

            def forward(self, x):
                x += 1  # seen by the others
                return self.inner(x) if float(x.sum()) > -1e9 else x

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.norm, self.branch = nn.Conv2d(8, 16, 1), nn.BatchNorm2d(16), Branch()
                self.last = nn.Conv2d(16, 16, 3, padding=1)

            def forward(self, x):
                y = self.norm(self.first(x)).relu()
                z = self.last(y)
                return z + self.branch(y) + y

        made = self.replaced(Model(), inputs(1, 8, 5, 6))
        self.assertEqual(self.fused(made), {"branch.inner.0": ["bias"], "first": ["batch_norm", "bias", "relu"], "last": ["bias"]})
        self.assertTrue(made.shiftconv_census.traced)
        self.assertEqual(made.shiftconv_census.note, "not followed, so convolutions in them are exchanged by themselves: branch")
        self.assertIsInstance(made.branch.inner[0], sct.ShiftConv)

    def test_a_model_that_cannot_be_traced(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Sequential(nn.Conv2d(8, 16, 3, padding="same"), nn.ReLU())

            def forward(self, x):
                return self.inner(x) if float(x.sum()) > -1e9 else x

        model = Model()
        made = sct.replace(model, inputs(1, 8, 5, 4).half())
        self.assertIsInstance(made.inner[0], sct.ShiftConv)
        self.assertFalse(made.shiftconv_census.traced)
        self.assertRegex(made.shiftconv_census.note, "^not traced, so nothing but bias is fused: ")
        with torch.no_grad():
            torch.testing.assert_close(made(inputs(1, 8, 5, 4).half()).float(), model(inputs(1, 8, 5, 4)), rtol=2e-3, atol=2e-3)

    def test_census_as_json(self):
        made = sct.replace(with_statistics(Bottleneck()), inputs(1, 16, 6, 7).half())
        rows = json.loads(made.shiftconv_census.json())
        self.assertEqual([row["name"] for row in rows["layers"]], ["conv1", "conv2", "conv3", "downsample.0"])
        problem = shiftconv.Problem.parse(rows["layers"][2]["problem"])
        self.assertEqual((problem.n, problem.h, problem.w, problem.c, problem.k, problem.beta), (1, 3, 4, 8, 32, 1.0))
        self.assertEqual(rows["layers"][0]["flops"], 2 * 6 * 7 * 16 * 8)
        self.assertIn("4 of 4 convolutions with ShiftConv, 100.0%", str(made.shiftconv_census))

    def test_compile(self):
        model = with_statistics(InvertedResidual())
        x = inputs(2, 8, 5, 6)
        made = torch.compile(sct.replace(model, x.half()), fullgraph=True, backend="aot_eager")
        with torch.no_grad():
            torch.testing.assert_close(made(x.half()).float(), model(x), rtol=4e-3, atol=4e-3)

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "tune=True measures, which needs example inputs on a GPU"):
            sct.replace(Bottleneck(), inputs(1, 16, 6, 7), tune=True)
        with self.assertRaisesRegex(ValueError, "example_inputs must hold a floating-point tensor"):
            sct.replace(Bottleneck(), [torch.arange(3)])


if __name__ == "__main__":
    unittest.main()
