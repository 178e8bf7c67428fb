"""Small forms of the decoders that bench/runtimes measures, after replace and with the backend of torch.compile, on the emulated device."""

import copy
import pathlib
import sys
import unittest

try:
    import torch
except ImportError:
    print("skipped: this Python has no PyTorch (./bootstrap test --with torch fetches it)")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench/runtimes"))

import shiftconv
import shiftconv.torch as sct
import vae
from blocks import inputs

shiftconv.emulate("sm_90a")


def image_decoder():
    return vae.ImageDecoder(widths=(16, 8), blocks=1, groups=4).eval(), inputs(2, 4, 3, 4)


def video_decoder():
    return vae.VideoDecoder(width=32, latent=8).eval(), inputs(1, 8, 2, 3, 4)


class Decoders(unittest.TestCase):
    def check(self, model, x, made):
        """As close to float32 as PyTorch's own in this dtype, twice over for the order of sums."""
        with torch.no_grad():
            expected = model(x)
            theirs = copy.deepcopy(model).half()(x.half()).float()
            ours = made(x.half()).float()
        self.assertEqual(ours.shape, expected.shape)
        self.assertGreater(expected.abs().max(), 0.01)
        bound = 2 * (theirs - expected).abs().max() + 2.0**-11 * expected.abs().max()
        self.assertLessEqual((ours - expected).abs().max(), bound)

    def replaced(self, model, x):
        made = sct.replace(model, x.half())
        self.check(model, x, made)
        census = made.shiftconv_census
        self.assertTrue(census.traced, census.note)
        self.assertEqual(census.share, 1.0, str(census))
        return {layer.name: layer.fused for layer in census}

    def test_image(self):
        torch.manual_seed(1)
        fused = self.replaced(*image_decoder())
        self.assertEqual(len(fused), 2 + 3 * 2 + 1 + 3 + 1)  # in, residuals, upsampling, one residual with a shortcut, out
        self.assertEqual(fused["layers.2.conv1"], ["bias"])
        self.assertEqual(fused["layers.2.conv2"], ["bias", "residual"])
        self.assertEqual(fused["layers.7.shortcut"], ["bias", "residual"])  # the later one of a sum of two
        self.assertEqual(fused["layers.7.conv2"], ["bias"])

    def test_video(self):
        torch.manual_seed(2)
        fused = self.replaced(*video_decoder())
        self.assertTrue(all("pad" in what for name, what in fused.items() if "shortcut" not in name), fused)
        self.assertEqual(fused["layers.1.conv2.conv"], ["pad", "bias", "residual"])

    def test_compiled(self):
        for build in (image_decoder, video_decoder):
            with self.subTest(build.__name__):
                torch._dynamo.reset()
                torch.manual_seed(3)
                (model, x), censuses = build(), []
                options = {"rest": "aot_eager", "census": censuses.append}
                self.check(model, x, torch.compile(copy.deepcopy(model).half(), backend=sct.backend, options=options))
                self.assertEqual([census.share for census in censuses], [1.0])


if __name__ == "__main__":
    unittest.main()
