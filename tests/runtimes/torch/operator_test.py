"""torch.ops.shiftconv.conv on the emulated device, against PyTorch in float32."""

import contextlib
import os
import pathlib
import random as pyrandom
import re
import sys
import threading
import unittest

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("skipped: this Python has no PyTorch (./bootstrap test --with torch fetches it)")
    sys.exit(77)

import shiftconv
import shiftconv.torch as sct

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench/runtimes"))
import call_cost

shiftconv.emulate("sm_90a")
HALF_ULP = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-24}
LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}


def random(*shape, dtype=torch.float16, seed=1):
    """A channels_last tensor of multiples of 1/8 in -2..2, which every dtype holds."""
    generator = torch.Generator().manual_seed(seed)
    made = (torch.randint(-16, 17, shape, generator=generator) / 8).to(dtype)
    return made.contiguous(memory_format=LAYOUTS[len(shape)]) if len(shape) in LAYOUTS else made


@contextlib.contextmanager
def not_emulated():
    named = os.environ.pop("SHIFTCONV_DEVICE")
    try:
        yield
    finally:
        os.environ["SHIFTCONV_DEVICE"] = named


def channels_last_1d(x):
    return x.transpose(1, 2).contiguous().transpose(1, 2)


class Case(unittest.TestCase):
    def check(self, y, expected, dtype=torch.float16):
        """Inputs are multiples of 1/8 and sums are short, so that float32 holds every sum exactly: the only error is that of the
        conversion to y's dtype, half a unit in the last place."""
        self.assertEqual(y.dtype, dtype)
        self.assertEqual(y.shape, expected.shape)
        bound = HALF_ULP[dtype] * expected.abs() + 2.0**-25
        wrong = (y.float() - expected).abs() > bound
        self.assertFalse(wrong.any(), f"{int(wrong.sum())} of {wrong.numel()} elements")


class Results(Case):
    def test_2d_with_everything(self):
        x, w = random(2, 16, 9, 7), random(24, 16, 3, 2, seed=2)
        bias, residual = random(24, dtype=torch.float32, seed=3), random(2, 24, 5, 9, seed=4)
        y = sct.conv(x, w, bias, residual, stride=(2, 1), padding=((1, 2), (2, 1)), activation="relu")
        padded = F.pad(x.float(), (2, 1, 1, 2))
        expected = F.conv2d(padded, w.float(), bias, stride=(2, 1)) + residual.float()
        self.check(y, expected.relu())
        self.assertTrue(y.is_contiguous(memory_format=torch.channels_last))

    def test_plans_with_a_workspace(self):
        """merged writes the filter there. The second problem has it without being asked for."""
        for groups, channels, extents, plan in ((4, 16, (2, 3, 5), "merged"), (2, 8, (5, 16, 17), "")):
            x, w = random(2, channels, *extents), random(channels, channels // groups, 3, 3, 3, seed=2)
            x, w = (t * (torch.rand(t.shape, generator=torch.Generator().manual_seed(4)) < 0.2) for t in (x, w))  # sums stay short
            options = dict(padding=(1, 2, 2), dilation=(1, 2, 2), groups=groups)
            expected = F.conv3d(x.float(), w.float(), **options)
            self.check(sct.conv(x, w, plan=plan, **options), expected)
            y = torch.full_like(x, torch.nan)
            self.assertIs(sct.conv(x, w, plan=plan, out=y, **options), y)
            self.check(y, expected)

    def test_dtypes(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            x, w = random(1, 8, 5, 6, dtype=dtype), random(8, 8, 3, 3, dtype=dtype, seed=2)
            for out_dtype in (None, torch.float32):
                y = sct.conv(x, w, padding=1, out_dtype=out_dtype)
                self.check(y, F.conv2d(x.float(), w.float(), padding=1), out_dtype or dtype)

    def test_int8(self):
        x = torch.arange(-120, 120).reshape(1, 8, 5, 6).to(torch.int8).contiguous(memory_format=torch.channels_last)
        w = (torch.arange(8 * 8 * 9).reshape(8, 8, 3, 3) % 15 - 7).to(torch.int8).contiguous(memory_format=torch.channels_last)
        y = sct.conv(x, w, padding=1, out_dtype=torch.int32)
        self.assertTrue(torch.equal(y, F.conv2d(x.double(), w.double(), padding=1).int()))

    def test_fp8_with_channel_scale(self):
        x, w = random(1, 16, 4, 5).to(torch.float8_e4m3fn), random(8, 16, 1, 1, seed=2).to(torch.float8_e4m3fn)
        scale = 2.0 ** torch.arange(-4, 4)
        y = sct.conv(x, w, channel_scale=scale, out_dtype=torch.float16)
        self.check(y, F.conv2d(x.float(), w.float()) * scale[:, None, None])

    def test_3d_causal(self):
        x, w = random(1, 8, 3, 5, 4), random(8, 8, 3, 3, 3, seed=2)
        y = sct.conv(x, w, padding=((2, 0), (1, 1), (1, 1)))
        self.check(y, F.conv3d(F.pad(x.float(), (1, 1, 1, 1, 2, 0)), w.float()))
        self.assertTrue(y.is_contiguous(memory_format=torch.channels_last_3d))

    def test_pairs(self):
        skip, below = random(2, 24, 6, 7), random(2, 40, 6, 7, seed=2)[:, 8:24]
        w, bias = random(16, 40, 3, 3, seed=3), random(16, dtype=torch.float32, seed=4)
        expected = F.conv2d(torch.cat((skip, below), 1).float(), w.float(), bias, stride=(2, 1), padding=1).relu()
        arguments = dict(stride=(2, 1), padding=1, activation="relu")
        self.check(sct.conv((skip, below), w, bias, **arguments), expected)
        out = torch.empty(expected.shape, dtype=torch.float16).contiguous(memory_format=torch.channels_last)
        self.assertIs(sct.conv([skip, below], w, bias, out=out, **arguments), out)
        self.check(out, expected)
        other = random(2, 16, 6, 7, seed=9)  # the same shapes elsewhere
        self.check(sct.conv((skip, other), w, bias, **arguments),
                   F.conv2d(torch.cat((skip, other), 1).float(), w.float(), bias, stride=(2, 1), padding=1).relu())

    def test_pairs_along_the_depth(self):
        kept, new = random(2, 16, 2, 5, 4), random(2, 16, 3, 5, 4, seed=2)
        w = random(8, 16, 3, 3, 3, seed=3)
        padding = ((0, 0), (1, 1), (0, 1))
        joined = F.pad(torch.cat((kept, new), 2).float(), (0, 1, 1, 1))
        self.check(sct.conv((kept, new), w, padding=padding, dim=2), F.conv3d(joined, w.float()))
        with self.assertRaisesRegex(ValueError, "second must have the shape .*, that of x with any channels"):
            sct.conv((kept, new), random(8, 32, 3, 3, 3, seed=3), padding=padding)

    def test_pairs_that_are_none(self):
        x, w = random(1, 8, 5, 6), random(8, 16, 3, 3, seed=2)
        for words, call in (
            ("dim must be 1", lambda: sct.conv((x, x), w, dim=2)),
            ("second must have the dtype of x", lambda: sct.conv((x, x.float()), w)),
            ("x's channels / groups: x has 11 channels", lambda: sct.conv((x, random(1, 3, 5, 6)), w)),
        ):
            with self.assertRaisesRegex(ValueError, words):
                call()
        with self.assertRaisesRegex(TypeError, "pair of tensors, but is a tuple of 3"):
            sct.conv((x, x, x), w)
        with self.assertRaisesRegex(NotImplementedError, "the second tensor of x requires grad"):
            sct.conv((x, x.clone().requires_grad_()), w)

    def test_pairs_compiled(self):
        x, second, w = random(1, 8, 5, 6), random(1, 8, 5, 6, seed=4), random(8, 16, 3, 3, seed=2)
        compiled = torch.compile(lambda a, b: sct.conv((a * 2, b), w, padding=1), fullgraph=True, backend="aot_eager")
        self.check(compiled(x, second), F.conv2d(torch.cat((x * 2, second), 1).float(), w.float(), padding=1))

    def test_1d(self):
        x, w = channels_last_1d(random(2, 8, 11)), channels_last_1d(random(16, 8, 3, seed=2))
        y = sct.conv(x, w, padding=2, dilation=2)
        self.check(y, F.conv1d(x.float(), w.float(), padding=2, dilation=2))
        self.assertEqual(y.stride(), (11 * 16, 1, 16))

    def test_groups_depthwise_and_same(self):
        x = random(2, 12, 6, 7)
        w = random(12, 1, 3, 4, seed=2)
        self.check(sct.conv(x, w, groups=12, padding="same"), F.conv2d(x.float(), w.float(), groups=12, padding="same"))
        w = random(6, 4, 3, 3, seed=3)
        self.check(sct.conv(x, w, groups=3), F.conv2d(x.float(), w.float(), groups=3))

    def test_pixel_pitches_are_taken_as_they_are(self):
        wide = random(2, 32, 5, 6)
        x, residual = wide[:, 8:24], random(2, 40, 5, 6, seed=5)[:, 16:32]
        target = random(2, 48, 5, 6, seed=6)
        before = target.clone()
        w = random(16, 16, 1, 1, seed=2)
        out = target[:, 16:32]
        self.assertIs(sct.conv(x, w, residual=residual, out=out), out)
        self.check(out, F.conv2d(x.float(), w.float()) + residual.float())
        self.assertTrue(torch.equal(target[:, :16], before[:, :16]) and torch.equal(target[:, 32:], before[:, 32:]))

    def test_activations(self):
        x, w = random(1, 8, 3, 4), random(8, 8, 1, 1, seed=2)
        plain = F.conv2d(x.float(), w.float())
        exact = {
            "relu": F.relu,
            "relu6": F.relu6,
            ("leaky_relu", 0.25): lambda v: F.leaky_relu(v, 0.25),
            ("clamp", -0.5, 1.5): lambda v: v.clamp(-0.5, 1.5),
        }
        for name, function in exact.items():
            self.check(sct.conv(x, w, activation=name), function(plain))
        # Their own accuracy is tested with the library; here a wrong function would be off by far more.
        smooth = {
            "gelu": F.gelu,
            "gelu_tanh": lambda v: F.gelu(v, approximate="tanh"),
            "silu": F.silu,
            "hard_swish": F.hardswish,
            "sigmoid": F.sigmoid,
            "tanh": F.tanh,
        }
        for name, function in smooth.items():
            torch.testing.assert_close(sct.conv(x, w, activation=name).float(), function(plain), rtol=2e-3, atol=2e-3)

    def test_a_residual_after_the_activation(self):
        for dtype, k in ((torch.float16, 24), (torch.float16, 20), (torch.bfloat16, 24)):
            x, w = random(2, 16, 7, 5, dtype=dtype), random(k, 16, 3, 2, dtype=dtype, seed=2)
            bias, residual = random(k, dtype=torch.float32, seed=3), random(2, k, 7, 4, dtype=dtype, seed=4)
            arguments, wide = dict(padding=(1, 0), residual_last=True), residual.float()
            plain = F.conv2d(x.float(), w.float(), bias, padding=(1, 0))
            self.check(sct.conv(x, w, bias, residual, activation="relu", **arguments), plain.relu() + wide, dtype)
            limits = ("clamp", -0.5, 1.5)
            self.check(sct.conv(x, w, bias, residual, activation=limits, **arguments), plain.clamp(-0.5, 1.5) + wide, dtype)
            self.check(sct.conv(x, w, bias, residual, **arguments), plain + wide, dtype)  # the same as without it
            y = sct.conv(x, w, bias, residual, activation="silu", **arguments)
            torch.testing.assert_close(y.float(), F.silu(plain) + wide, rtol=2 * HALF_ULP[dtype], atol=2e-3)
            out = torch.empty_like(residual)
            self.assertIs(sct.conv(x, w, bias, residual, activation="silu", out=out, **arguments), out)
            self.assertTrue(torch.equal(out, y))
            pair = x[:, :8].contiguous(memory_format=torch.channels_last), x[:, 8:]
            self.check(sct.conv(pair, w, bias, residual, activation="relu", **arguments), plain.relu() + wide, dtype)
            module = sct.ShiftConv(w, bias, padding=(1, 0), activation="silu", residual_last=True)
            for x_of_module, more in ((x, {}), (x, {"out": torch.empty_like(y)}), (pair, {})):
                torch.testing.assert_close(module(x_of_module, residual, **more), y)
            with torch.no_grad():
                self.assertTrue(torch.equal(module(x, residual), y))
                self.assertTrue(torch.equal(torch.compile(module, fullgraph=True, backend="eager")(x, residual), y))
                with self.assertRaisesRegex(ValueError, "residual_last must be False without a residual"):
                    module(x)
            self.assertIn("activation='silu', residual_last=True", repr(module))
            self.assertTrue(module.problem(x.shape, True).residual_last)

    def test_a_chosen_plan(self):
        x, w = random(1, 16, 6, 5), random(16, 16, 3, 3, seed=2)
        expected = F.conv2d(x.float(), w.float(), padding=1)
        for plan in ("direct", "halo"):
            self.check(sct.conv(x, w, padding=1, plan=plan), expected)

    def test_calls_that_differ_in_one_thing_are_told_apart(self):
        """Each twice, so that the second finds what the first left; through the function and through the operator."""
        x, w, bias = random(2, 16, 6, 6), random(16, 8, 3, 3, seed=2), random(16, dtype=torch.float32, seed=3)
        plain = F.conv2d(x.float(), w.float(), bias, groups=2)
        wide = random(2, 24, 6, 6)
        residual = random(2, 16, 4, 4, seed=5)
        cases = [
            ((x, w, bias), {}, plain),
            ((x, w), {}, F.conv2d(x.float(), w.float(), groups=2)),
            ((x, w, bias), dict(stride=[2, 1]), F.conv2d(x.float(), w.float(), bias, (2, 1), groups=2)),
            ((x, w, bias), dict(stride=[1, 2]), F.conv2d(x.float(), w.float(), bias, (1, 2), groups=2)),
            ((x, w, bias), dict(padding=[1, 0, 0, 1]), F.conv2d(F.pad(x.float(), (0, 1, 1, 0)), w.float(), bias, groups=2)),
            ((x, w, bias), dict(padding=[0, 1, 1, 0]), F.conv2d(F.pad(x.float(), (1, 0, 0, 1)), w.float(), bias, groups=2)),
            ((x, w, bias), dict(dilation=[2]), F.conv2d(x.float(), w.float(), bias, dilation=2, groups=2)),
            ((x, w, bias), dict(activation="relu"), plain.relu()),
            ((x, w, bias), dict(activation="clamp", activation_a=-1.0, activation_b=2.0), plain.clamp(-1, 2)),
            ((x, w, bias), dict(activation="clamp", activation_a=-1.0, activation_b=3.0), plain.clamp(-1, 3)),
            ((x, w, bias, residual), {}, plain + residual.float()),
            ((x, w, bias, residual), dict(activation="relu"), (plain + residual.float()).relu()),
            ((x, w, bias, residual), dict(activation="relu", residual_last=True), plain.relu() + residual.float()),
            ((x, w, bias), dict(channel_scale=torch.full((16,), 0.5)), F.conv2d(x.float(), w.float(), groups=2) / 2 + bias.view(-1, 1, 1)),
            ((x, w, bias), dict(out_dtype=torch.float32), plain),
            ((wide[:, :16], w, bias), {}, F.conv2d(wide[:, :16].float(), w.float(), bias, groups=2)),
            ((x, random(16, 16, 1, 1), bias), dict(groups=1), F.conv2d(x.float(), random(16, 16, 1, 1).float(), bias)),
        ]
        for _ in range(2):
            for arguments, named, expected in cases:
                named = {"groups": 2, **named}
                dtype = named.get("out_dtype", torch.float16)
                self.check(torch.ops.shiftconv.conv(*arguments, **named), expected, dtype)
                pads = named.pop("padding", [0])
                given = dict(named, stride=tuple(named.get("stride", (1,))), dilation=tuple(named.get("dilation", (1,))))
                given["padding"] = tuple(pads) if len(pads) == 1 else ((pads[0], pads[1]), (pads[2], pads[3]))
                if "activation_a" in given:
                    given["activation"] = (given["activation"], given.pop("activation_a"), given.pop("activation_b"))
                self.check(sct.conv(*arguments, **given), expected, dtype)

    def test_threads(self):
        jobs = [(random(1 + i % 3, 8, 4, 5, seed=i), random(8, 8, 1, 1, seed=i + 50)) for i in range(8)]
        results = [None] * len(jobs)

        def work(first):
            for i in range(first, len(jobs), 4):
                results[i] = sct.conv(*jobs[i])

        threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for (x, w), y in zip(jobs, results):
            self.check(y, F.conv2d(x.float(), w.float()))


class Refusals(Case):
    def refused(self, kind, sentence, *args, **kwargs):
        with self.assertRaisesRegex(kind, "^shiftconv: " + sentence):
            sct.conv(*args, **kwargs)

    def test_arguments(self):
        x, w = random(2, 16, 9, 7), random(24, 16, 3, 2, seed=2)
        bias = torch.zeros(24)
        self.refused(ValueError, "x must be channels_last: .*channels_last\\) copies it", x.contiguous(), w)
        self.refused(ValueError, "x must be channels_last", x[:, :, :, ::2], w)
        self.refused(ValueError, "x must be channels_last", x[:1, :, :1].expand(2, 16, 9, 7), w)
        self.refused(ValueError, "x must not be empty", x[:0], w)
        self.refused(ValueError, "x must have 3, 4 or 5 dimensions", x[0, 0], w)
        self.refused(ValueError, "x must be float16, ", x.double(), w)
        self.refused(ValueError, "x must be float16, ", x.bool(), w)
        self.refused(TypeError, "x must be a tensor", [1.0], w)
        self.refused(TypeError, "bias must be a tensor or None", x, w, 1.0)
        self.refused(ValueError, "w must be channels_last", x, w.contiguous())
        self.refused(ValueError, "w must be dense", x, random(24, 32, 3, 2)[:, :16])
        self.refused(ValueError, "w must have as many dimensions as x, which has 4", x, w[0])
        self.refused(ValueError, "w must have x's channels / groups", x, w, groups=2)
        self.refused(ValueError, "w must have a positive number of groups", x, w, groups=0)
        self.refused(ValueError, "bias must have the shape \\(24\\), .* but has \\(23\\)", x, w, bias[:23])
        self.refused(ValueError, "bias must be on the device of x, cpu, but is on meta", x, w, bias.to("meta"))
        self.refused(ValueError, "out must be on the device of x", x, w, out=torch.empty(2, 24, 7, 6, device="meta"))
        self.refused(ValueError, "bias must be contiguous", x, w, torch.zeros(48)[::2])
        self.refused(ValueError, "channel_scale must be float32", x, w, channel_scale=bias.half())
        self.refused(ValueError, "residual must have the shape \\(2, 24, 7, 6\\)", x, w, None, x)
        self.refused(ValueError, "residual_last must be False without a residual", x, w, residual_last=True)
        with self.assertRaisesRegex(RuntimeError, "'bool' for argument 'residual_last'"):
            sct.conv(x, w, residual_last="no")
        self.refused(ValueError, "out must have the shape", x, w, out=x)
        self.refused(ValueError, "out_dtype is torch.float32, but out has", x, w, out=x, out_dtype=torch.float32)
        self.refused(ValueError, "out_dtype must be float16, ", x, w, out_dtype=torch.float64)
        self.refused(ValueError, "stride must have 1 or 2 numbers", x, w, stride=(1, 1, 1))
        self.refused(TypeError, "stride must be an integer", x, w, stride=1.5)
        self.refused(ValueError, "stride_h must be in 1..", x, w, stride=0)
        self.refused(ValueError, "pad_top must be in 0..", x, w, padding=-1)
        self.refused(ValueError, "padding must have 1 or 2 numbers", x, w, padding=(1, 1, 1))
        self.refused(ValueError, "padding must have a pair", x, w, padding=((1, 1), (1, 1, 1)))
        self.refused(ValueError, 'padding="same" is for a stride of 1', x, w, padding="same", stride=2)
        self.refused(ValueError, "padding must be numbers", x, w, padding="full")
        self.refused(ValueError, "activation must be one of none, relu", x, w, activation="softmax")
        self.refused(ValueError, "activation 'clamp' takes 2 parameters", x, w, activation="clamp")
        self.refused(ValueError, "compute must be one of", x, w, compute="f64")
        self.refused(RuntimeError, 'there is no algorithm "nonesuch"', x, w, plan="nonesuch")
        self.refused(RuntimeError, 'there is no option "nonesuch"', x, w, plan="halo:nonesuch=1")

    def test_settings(self):
        x, w = random(1, 8, 3, 4), random(8, 8, 1, 1)
        right = "1 0 1 1 none 0.0 0.0 0 default "
        self.assertTrue(torch.equal(torch.ops.shiftconv._prepared(x, w, None, None, None, right, None), sct.conv(x, w)))
        for wrong in ("", " ", right[:-1], "1  0 1 1 none 0.0 0.0 0 default ", "1, 0 1 1 none 0.0 0.0 0 default ", right.replace("0.0", "zero"),
                      right.replace("1", "99999999999999999999"), right.replace(" 0 d", " 2 d"), "\0" + right):  # fmt: skip
            with self.assertRaisesRegex(ValueError, '^shiftconv: settings must be "stride padding'):
                torch.ops.shiftconv._prepared(x, w, None, None, None, wrong, None)

    def test_gradients(self):
        x, w = random(1, 8, 3, 4).requires_grad_(), random(8, 8, 1, 1)
        self.refused(NotImplementedError, "x requires grad, but ShiftConv computes forward only", x, w)
        with self.assertRaisesRegex(NotImplementedError, "channel_scale requires grad"):
            torch.ops.shiftconv.conv(x.detach(), w, channel_scale=torch.ones(8, requires_grad=True))
        module = sct.ShiftConv(w)
        with self.assertRaisesRegex(NotImplementedError, "x requires grad"):
            module(x)
        with self.assertRaisesRegex(NotImplementedError, "bias requires grad"):
            sct.conv(x.detach(), w, torch.ones(8, requires_grad=True))
        self.assertFalse(module(x.detach()).requires_grad)
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                self.assertFalse(module(x).requires_grad)
                self.assertFalse(sct.conv(x, w).requires_grad)

    def test_cpu_without_emulation(self):
        with not_emulated():
            self.refused(RuntimeError, "x is on the CPU, .* call shiftconv.emulate\\(\\)", random(1, 8, 3, 4), random(8, 8, 1, 1))

    def test_nothing_crashes_the_interpreter(self):
        """Ten thousand calls with arguments that are mostly wrong. None computes, so that they are quick."""
        choose = pyrandom.Random(20261122)
        shapes = [(2, 16, 9, 7), (24, 16, 3, 2), (16, 16, 1, 1), (1, 8, 3, 4, 5), (8, 8, 1, 1, 1), (2, 8, 11), (24,), (16,), (), (0, 16, 9, 7)]
        dtypes = [torch.float16] * 6 + [torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.bool, torch.complex64]
        tensors = [torch.zeros(shape, dtype=dtype) for shape in shapes for dtype in dtypes]
        tensors += [t.contiguous(memory_format=LAYOUTS[t.dim()]) for t in tensors if t.dim() in LAYOUTS]
        tensors += [t.expand(3, *t.shape) for t in tensors[:20]] + [torch.zeros(2, 16, 9, 7, device="meta"), torch.eye(4).to_sparse()]
        numbers = [0, 1, 2, -1, 3, 1 << 40, -(1 << 63), (1, 1), (1, 2, 1), ((1, 2), (0, 1)), (), [], "same", None, 1.5, "x", (1 << 62, 1)]
        seen = set()
        with not_emulated():
            for _ in range(10_000):
                optional = [None] * 4 + [choose.choice(tensors) for _ in range(3)] + [3.0]
                arguments = dict(
                    bias=choose.choice(optional),
                    residual=choose.choice(optional),
                    stride=choose.choice([1] * 9 + numbers),
                    padding=choose.choice([1] * 9 + numbers),
                    dilation=choose.choice([1] * 9 + numbers),
                    groups=choose.choice([1] * 9 + [0, -1, 3, 16, 1 << 62]),
                    activation=choose.choice([None] * 4 + ["relu", "clamp", ("clamp", 1, 0), ("leaky_relu", float("nan")), 7, "\0"]),
                    residual_last=choose.choice([False] * 4 + [True, None, 1, "x"]),
                    channel_scale=choose.choice(optional),
                    out_dtype=choose.choice([None] * 4 + [torch.float16, torch.float64, "f16"]),
                    compute=choose.choice(["default"] * 6 + ["tf32", "", None]),
                    plan=choose.choice([""] * 6 + ["halo", ":", "halo:x=1" * 50, None]),
                    out=choose.choice(optional),
                )
                try:
                    y = sct.conv(choose.choice(tensors), choose.choice(tensors), **arguments)
                    self.assertEqual(y.device.type, "meta", "computed without a device")
                except (ValueError, TypeError, RuntimeError, OverflowError) as error:
                    seen.add(re.split(r"[ ,(]", str(error))[1])
        self.assertLessEqual({"x", "w", "stride", "padding", "activation"}, seen)

    def test_nothing_crashes_past_the_function(self):
        """Ten thousand calls of the operators themselves."""
        choose = pyrandom.Random(20261123)
        print("seed 20261123")
        shapes = [(2, 16, 9, 7), (24, 16, 3, 2), (16, 16, 1, 1), (1, 8, 3, 4, 5), (2, 8, 11), (24,), (16,), (), (0, 16, 9, 7), (1,) * 9]
        tensors = [torch.zeros(shape, dtype=dtype) for shape in shapes for dtype in (torch.float16, torch.float16, torch.float32, torch.bool)]
        tensors += [t.contiguous(memory_format=LAYOUTS[t.dim()]) for t in tensors if t.dim() in LAYOUTS]
        tensors += [torch.zeros(2, 16, 9, 7, device="meta"), torch.eye(4).to_sparse(), torch.zeros(2, 3, 3, 3).expand(2, 3, 3, 3)]
        fields = ["1", "0", "2,1", "1,0,2,1", "-1", "99999999999999999999", "1,,1", "relu", "none", "0.0", "nan", "1e999", "default", "halo", "", "\0"]
        lists = [[1]] * 5 + [[], [0], [-1], [2, 1], [1, 1, 1], [1 << 62] * 4, [1] * 100]
        texts = ["none"] * 5 + ["relu", "", "\0", "x" * 10_000]
        ops, seen = torch.ops.shiftconv, set()
        with not_emulated():
            for _ in range(5000):
                some = [choose.choice([None] * 3 + tensors[:4]) for _ in range(3)]
                x, w, y = (choose.choice(tensors) for _ in range(3))
                settings = " ".join(choose.choice(fields) for _ in range(choose.randrange(12)))
                if choose.random() < 0.5:
                    settings = choose.choice(["1 1 1 1 none 0.0 0.0 0 default ", "1 0 1 1 relu 0.0 0.0 1 default halo", "2,1 1,0,2,1 1 1 clamp 0.0 6.0 0 f16 "])
                named = {name: choose.choice(lists) for name in ("stride", "padding", "dilation")}
                named |= {name: choose.choice(texts) for name in ("activation", "compute", "plan")}
                named |= {"groups": choose.choice([1, 1, 1, 0, -1, 1 << 62]), "channel_scale": some[2], "residual_last": choose.random() < 0.2}
                if choose.random() < 0.7:
                    named |= {"compute": "default", "plan": ""}
                dtype = choose.choice([None, None, torch.float16, torch.float64])
                calls = [
                    lambda: ops._prepared(x, w, *some, settings, dtype),
                    lambda: ops._prepared_out(x, w, *some, settings, y),
                    lambda: ops.conv(x, w, *some[:2], out_dtype=dtype, **named),
                    lambda: ops.conv_out(x, w, *some[:2], y=y, **named),
                ]
                for call in choose.sample(calls, 2):
                    try:
                        made = call()
                        self.assertTrue("meta" in {t.device.type for t in (x, w, y)} or made is not None and made.device.type == "meta", "computed")
                    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
                        seen.add(re.split(r"[ ,(]", str(error))[1])
        self.assertLessEqual({"x", "w", "settings"}, seen)


class HostTime(Case):
    def test_what_a_call_costs_beside_its_launch(self):
        """A bound far above what it is: that of a call with out= on a GPU, launch included."""
        costs = call_cost.call_costs("cpu")
        self.assertLess(costs["call_us"], costs["empty_us"] + 5, costs)


class Compilation(Case):
    def test_opcheck(self):
        x, w, bias = random(2, 8, 5, 6), random(16, 8, 3, 3, seed=2), random(16, dtype=torch.float32)
        torch.library.opcheck(torch.ops.shiftconv.conv.default, (x, w, bias), {"padding": [1, 0, 2, 1], "activation": "relu"})
        torch.library.opcheck(torch.ops.shiftconv.conv.default, (random(2, 24, 5, 6)[:, 8:16], w), {"stride": [2], "out_dtype": torch.float32})
        after = {"activation": "relu", "residual_last": True}
        torch.library.opcheck(torch.ops.shiftconv.conv.default, (x, w, bias, random(2, 16, 3, 4)), after)
        out = random(2, 16, 3, 4)
        torch.library.opcheck(torch.ops.shiftconv.conv_out.default, (x, w), {"y": out})
        settings, tests = "1 1,0,2,1 1 1 relu 0.0 0.0 0 default ", ("test_schema", "test_faketensor")
        torch.library.opcheck(torch.ops.shiftconv._prepared.default, (x, w, bias, None, None, settings, None), test_utils=tests)
        out = random(2, 16, 4, 7)
        torch.library.opcheck(torch.ops.shiftconv._prepared_out.default, (x, w, bias, None, None, settings, out), test_utils=tests)

    def test_the_fake_kernel_says_what_the_real_one_makes(self):
        cases = [
            (random(3, 8, 5, 6), random(16, 8, 3, 3), dict(padding=((1, 0), (2, 1)), stride=(2, 1))),
            (random(2, 8, 4, 5, 6), random(24, 8, 2, 3, 1), dict(padding=(1, 0, 2), out_dtype=torch.float32)),
            (channels_last_1d(random(2, 8, 11)), channels_last_1d(random(16, 8, 3)), dict(dilation=2)),
        ]
        for x, w, arguments in cases:
            real, fake = sct.conv(x, w, **arguments), sct.conv(x.to("meta"), w.to("meta"), **arguments)
            self.assertEqual((fake.shape, fake.stride(), fake.dtype), (real.shape, real.stride(), real.dtype))

    def test_fullgraph(self):
        w = random(16, 8, 3, 3, seed=2)

        @torch.compile(fullgraph=True, backend="aot_eager")
        def function(x):
            return sct.conv(x * 2, w, padding=((1, 0), (2, 1)), stride=2, activation=("leaky_relu", 0.5)) + 1

        for shape in ((1, 8, 5, 6), (3, 8, 7, 4), (2, 8, 9, 9)):  # the second makes the shapes symbols
            x = random(*shape)
            expected = F.leaky_relu(F.conv2d(F.pad(x.float() * 2, (2, 1, 1, 0)), w.float(), stride=2), 0.5)
            self.check(function(x), expected.half().float() + 1)

    def test_fullgraph_with_out(self):
        w = random(8, 8, 1, 1, seed=2)

        @torch.compile(fullgraph=True, backend="aot_eager")
        def function(x, out):
            sct.conv(x, w, out=out)
            return out + 1

        x, out = random(1, 8, 3, 4), random(1, 8, 3, 4)
        expected = F.conv2d(x.float(), w.float())
        self.check(function(x, out), expected + 1)
        self.check(out, expected)


if __name__ == "__main__":
    unittest.main()
