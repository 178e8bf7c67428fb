"""Concatenations in models that shiftconv.torch.replace replaces, on the emulated device."""

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
from blocks import C2f, Inception, inputs, with_statistics
from replaced_case import ReplacedCase

shiftconv.emulate("sm_90a")


class Concatenations(ReplacedCase):
    def test_lists_of_parts(self):
        halves = (lambda y: y.chunk(2, 1), lambda y: torch.chunk(y, chunks=2, dim=1), lambda y: y.split((16, 16), 1),
                  lambda y: torch.split(y, [16, 16], dim=1))  # fmt: skip
        for split in halves:
            made = self.replaced(C2f(split), inputs(2, 32, 5, 6))
            self.assertEqual(made.shiftconv_census.note, "")
            conv = ["batch_norm", "bias", "silu"]
            fused = self.fused(made)
            self.assertEqual([fused[f"m.{i}.cv2.0"] for i in (0, 1)], [[*conv, "residual", "cat"]] * 2)
            self.assertEqual(fused["cv1.0"], [*conv, "cat"])

    def test_concatenations_of_what_is_read_elsewhere(self):
        x = inputs(3, 32, 5, 6)
        made = self.replaced(C2f(lambda y: y.chunk(2, 1)), x)
        with torch.no_grad(), unittest.mock.patch("torch.cat", side_effect=AssertionError("a copy")):
            first = made(x.half())
            wider = made(inputs(2, 32, 7, 9).half())
        self.assertEqual(wider.shape, (2, 32, 7, 9))
        weight = made.get_submodule([name for name, m in made.named_modules() if isinstance(m, sct.ShiftConv)][0])
        with torch.enable_grad():  # each by itself, and the same numbers
            self.assertTrue(torch.equal(made(x.half()).detach(), first))
        self.assertEqual(weight.weight.shape[0], 32)

    def test_concatenations_that_stay(self):
        class Model(nn.Module):
            def __init__(self, change):
                super().__init__()
                self.a, self.b, self.c, self.change = nn.Conv2d(16, 16, 1), nn.Conv2d(8, 8, 1), nn.Conv2d(24, 8, 1), change

            def forward(self, x):
                a = self.a(x)
                left, right = a.chunk(2, 1)
                parts = [left, right, self.b(right)]
                return self.change(self, parts, a)

        def changed_later(model, parts, a):
            y = torch.cat(parts, 1)
            a.mul_(2)  # what was concatenated stays as it was
            return model.c(y)

        def part_changed_later(model, parts, a):
            y = torch.cat(parts, 1)
            a.split((4, 12), 1)[1].mul_(2)
            return model.c(y)

        def result_changed(model, parts, a):
            y = torch.cat(parts, 1)
            z = model.c(y)
            y.mul_(2)
            return z + a[:, :8] + y[:, 16:]

        def twice(model, parts, a):
            return model.c(torch.cat([parts[0], parts[0], parts[2]], 1))

        def swapped(model, parts, a):
            return model.c(torch.cat([parts[1], parts[0], parts[2]], 1))

        def given_back(model, parts, a):
            return model.c(torch.cat(parts, 1)), a

        def other(model, parts, a):
            return model.c(torch.cat([*parts[:2], F.max_pool2d(parts[2], 3, 1, 1)], 1))

        x = inputs(2, 16, 5, 6)
        for change in (changed_later, part_changed_later, result_changed, twice, swapped, given_back, other):
            model = with_statistics(Model(change))
            made = sct.replace(model, x.half())
            with torch.no_grad():
                expected, found = model(x), made(x.half())
            for one, another in zip(expected, found) if isinstance(expected, tuple) else [(expected, found)]:
                self.assertLess((one - another.float()).abs().max(), 2e-2 * one.abs().max(), change.__name__)
            self.assertTrue(any(node.target is torch.cat for node in made.graph.nodes), change.__name__)

    def test_inception(self):
        """Four convolutions of one concatenation, behind pooling, too; the next block reads it."""
        model = nn.Sequential(Inception(16, 8, 16, 8, 24), Inception(56, 16, 8, 8, 8))
        made = self.replaced(model, inputs(2, 16, 7, 6))
        self.assertEqual(self.kinds(made).count("Joined"), 2)
        self.assertEqual(self.fused(made)["0.three.1.0"], ["bias", "relu", "cat"])
        self.assertEqual(self.fused(made)["0.three.0.0"], ["bias", "relu"])
        self.assertFalse([node for node in made.graph.nodes if node.target is torch.cat])
        other = inputs(1, 16, 5, 9)
        with torch.no_grad():
            torch.testing.assert_close(made(other.half()).float(), model(other), rtol=4e-3, atol=4e-3)

    def test_a_concatenation_with_a_tensor_that_is_there(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c = nn.Conv2d(8, 16, 3, padding=1), nn.Conv2d(16, 8, 1), nn.Conv2d(16, 8, 1)

            def forward(self, x, skip):
                a = self.a(x)
                return torch.cat((F.relu(self.b(a) + skip), skip), dim=-3), torch.cat([self.c(a), skip, x], 1)

        model, x, skip = Model(), inputs(2, 8, 4, 5), inputs(2, 8, 4, 5) + 1
        made = sct.replace(model, (x.half(), skip.half()))
        self.assertEqual(self.fused(made), {"a": ["bias"], "b": ["bias", "residual", "relu", "cat"], "c": ["bias"]})
        with torch.no_grad():
            for ours, theirs in zip(made(x.half(), skip.half()), model(x, skip)):
                torch.testing.assert_close(ours.float(), theirs, rtol=4e-3, atol=4e-3)
            with self.assertRaisesRegex(ValueError, r"\(2, 8, 4, 5\) and \(1, 8, 4, 5\)"):
                made.get_submodule(next(n.target for n in made.graph.nodes if "cat" in str(n.target)))(
                    inputs(2, 16, 4, 5).half(), skip.half(), skip[:1].half()
                )

    def test_a_convolution_reads_both_tensors_of_a_concatenation(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.down, self.bottom, self.up = nn.Conv2d(8, 64, 3, 2, 1), nn.Conv2d(64, 64, 1), nn.ConvTranspose2d(64, 64, 2, 2)
                self.first, self.second, self.third = nn.Conv2d(72, 16, 3, padding=1), nn.Conv2d(24, 8, 1), nn.Conv2d(16, 8, 1)

            def forward(self, x):
                up = self.up(F.relu(self.bottom(self.down(x))))
                y = F.silu(self.first(torch.cat([up, x], 1)))
                z = self.second(torch.cat([y, x], 1))  # y is written to before anybody reads it
                changed = torch.cat([z, x], 1)
                z.mul_(2)
                return z + self.third(changed)

        model, x = Model(), inputs(2, 8, 6, 4)
        self.assertNotIn("cat of x", self.fused(sct.replace(model, x.half()))["first"])  # so small that another algorithm and a copy win
        with unittest.mock.patch("shiftconv.torch.joining.COPY_SECONDS", 1e-4):
            made = self.replaced(model, x)
        fused = self.fused(made)
        self.assertEqual(fused["first"], ["cat of x", "bias", "silu"])
        self.assertEqual(fused["second"], ["cat of x", "bias"])
        self.assertEqual(fused["third"], ["bias", "residual"])
        self.assertEqual(len([node for node in made.graph.nodes if node.target is torch.cat]), 1)
        other = inputs(1, 8, 4, 10)
        with torch.no_grad():
            torch.testing.assert_close(made(other.half()).float(), model(other), rtol=4e-3, atol=4e-3)
            expected = made(x.half())
            self.assertTrue(torch.equal(torch.compile(made, backend="eager", fullgraph=True)(x.half()), expected))
            with self.assertRaisesRegex((ValueError, RuntimeError), "shapes|second"):
                next(m for m in made.modules() if isinstance(m, sct.ShiftConv) and m.weight.shape[1] == 24)((x.half(), inputs(1, 16, 6, 4).half()))

    def test_a_joined_concatenation_under_autograd_and_compilation(self):
        model, x = Inception(16, 8, 16, 8, 24), inputs(2, 16, 7, 6).half()
        made = sct.replace(model, x)
        with torch.no_grad():
            expected = made(x)
        self.assertTrue(torch.equal(made(x.clone()), expected))  # gradients are enabled: through torch.cat
        with torch.no_grad():
            self.assertTrue(torch.equal(torch.compile(made, backend="eager", fullgraph=True)(x), expected))

    def test_what_must_not_be_joined(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c, self.d, self.e = (nn.Conv2d(8, 8, 1) for _ in range(5))
                self.f = nn.Conv2d(8, 12, 1)

            def forward(self, x):
                a = self.a(x)  # has two users
                y = F.silu(x)
                b = self.b(y)  # its input changes before the concatenation
                y.mul_(2)
                c = self.c(y)
                twice, rows = torch.cat([c, c], 1), torch.cat([self.d(y), y], 2)
                unaligned = torch.cat([self.e(x), self.f(x)], 1)  # 24 of 40 bytes: the next pixel begins at no multiple of 16
                return torch.cat([a, b], 1).mean() + a.mean() + twice.mean() + rows.mean() + unaligned.mean()

        model, x = Model(), inputs(2, 8, 4, 5)
        made = sct.replace(model, x.half())
        placed = ["bias", "cat"]  # where they are, and not where the concatenation is
        self.assertEqual(self.fused(made), {**{name: ["bias"] for name in "cdef"}, "a": placed, "b": placed})
        with torch.no_grad():
            torch.testing.assert_close(made(x.half()).float(), model(x), rtol=4e-3, atol=4e-3)


if __name__ == "__main__":
    unittest.main()
