"""The image decoder of Stable Diffusion with its convolutions in ShiftConv: latents to a picture. Needs PyTorch 2.11 and a Hopper or Blackwell
GPU; without one, a small decoder runs on the emulated device. Weights are random: load yours into the float32 model first.

    pip install shiftconv[torch] && python torch_vae.py
"""

import pathlib
import sys

import torch

import shiftconv.torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/runtimes"))
from vae import ImageDecoder  # any nn.Module will do, such as diffusers' AutoencoderKL.decoder

device, widths, size = ("cuda", (512, 512, 256, 128), 64) if torch.cuda.is_available() else ("cpu", (32, 32), 4)
if device == "cpu":
    shiftconv.emulate("sm_90a")
decoder = ImageDecoder(widths).to(device).eval()
latents = torch.randn(1, 4, size, size, device=device, dtype=torch.float16)
fast = shiftconv.torch.replace(decoder, latents)
print(fast.shiftconv_census)
with torch.inference_mode():
    picture, expected = fast(latents).float(), decoder(latents.float())
    print(tuple(picture.shape), "largest difference from float32:", (picture - expected).abs().max().item(), "of", expected.abs().max().item())
