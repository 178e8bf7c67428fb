#!/usr/bin/env python3
"""Trains the denoiser of this folder and writes weights.bin. Needs PyTorch and NumPy; takes about five minutes of a CPU core.

    train.py [--steps N] [--seed S] [--output FILE]

The images are made here: overlapping shapes of random size, colour and texture ("dead leaves"), whose edges and areas are distributed
about as those of photographs are. No photograph is seen. Noise is Gaussian, of standard deviation 25 of 255. The upsampled layer
adds the first layer's output, and the last one the noisy image: the network predicts the noise's negative.

weights.bin, little endian, one layer after the other as LAYERS lists them: the filter [K][R][S][C/groups] in f16, the bias [K] in f32;
then, in f32, the largest output of each layer over the test images.
"""
import argparse
import pathlib
import time

import numpy as np
import torch
from torch import nn

SIGMA = 25 / 255
# Input channels, output channels, filter, stride, groups, upsampling, ReLU: as in network.cpp.
LAYERS = (
    (3, 32, 5, 1, 1, 1, True),
    (32, 64, 3, 2, 1, 1, True),
    (64, 64, 5, 1, 64, 1, True),
    (64, 64, 1, 1, 1, 1, True),
    (64, 64, 3, 1, 1, 1, True),
    (64, 64, 3, 1, 1, 1, True),
    (64, 64, 3, 1, 1, 1, True),
    (64, 32, 3, 1, 1, 2, True),
    (32, 32, 3, 1, 1, 1, True),
    (32, 3, 3, 1, 1, 1, False),
)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv2d(c, k, r, s, r // 2, groups=g) for c, k, r, s, g, _, _ in LAYERS)
        for conv in self.convolutions:
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            nn.init.zeros_(conv.bias)
        nn.init.normal_(self.convolutions[-1].weight, std=0.01)

    def forward(self, noisy, largest=None):
        x, first = noisy, None
        for conv, (*_, upsample, relu) in zip(self.convolutions, LAYERS):
            if upsample > 1:
                x = nn.functional.interpolate(x, scale_factor=upsample, mode="nearest")
            x = conv(x) + (first if upsample > 1 else 0)
            x = torch.relu(x) if relu else noisy + x
            first = x if first is None else first
            if largest is not None:
                largest.append(float(x.abs().max()))
        return x


def leaves(random, size):
    """An image [size, size, 3] of overlapping shapes, drawn at twice the size."""
    big = 2 * size
    y, x = np.mgrid[0:big, 0:big].astype(np.float32)
    tilt = random.normal(0, 0.15, 2)
    image = random.uniform(0, 1, 3)[None, None] + (tilt[0] * x + tilt[1] * y)[..., None] / big
    image = image.astype(np.float32)
    palette = np.clip(random.normal(0.45, 0.25, (6, 1)) + random.normal(0, 0.12, (6, 3)), 0, 1)
    for _ in range(int(random.integers(60, 220))):
        radius = min(big, 5 / random.power(1.2))
        at = random.uniform(-radius / 2, big + radius / 2, 2)
        angle, stretch = random.uniform(0, np.pi), random.uniform(0.3, 1)
        low, high = np.maximum(np.floor(at - radius), 0).astype(int), np.minimum(np.ceil(at + radius), big).astype(int)
        if (high <= low).any():
            continue
        part = (slice(low[1], high[1]), slice(low[0], high[0]))
        u = (x[part] - at[0]) * np.cos(angle) + (y[part] - at[1]) * np.sin(angle)
        v = (y[part] - at[1]) * np.cos(angle) - (x[part] - at[0]) * np.sin(angle)
        inside = u**2 + (v / stretch) ** 2 < radius**2 if random.random() < 0.6 else (abs(u) < radius * 0.7) & (abs(v) < radius * 0.7 * stretch)
        colour = np.clip(palette[random.integers(len(palette))] + random.normal(0, 0.05, 3), 0, 1)
        shade = random.normal(0, 0.3) * u / big + random.normal(0, 0.3) * v / big
        kind = random.random()
        if kind < 0.3:  # stripes
            shade = shade + random.uniform(0.02, 0.15) * np.sin(u * random.uniform(0.1, 1.2) + random.uniform(0, 6))
        elif kind < 0.5:  # grain
            cell = int(random.integers(2, 8))
            grain = random.normal(0, random.uniform(0.02, 0.12), (big // cell + 1, big // cell + 1))
            shade = shade + np.kron(grain, np.ones((cell, cell)))[part]
        image[part] = np.where(inside[..., None], colour + shade[..., None], image[part])
    image = image.reshape(size, 2, size, 2, 3).mean(axis=(1, 3))
    return np.clip(image, 0, 1).astype(np.float32)


def patches(images, random, count, side):
    batch = np.empty((count, side, side, 3), np.float32)
    for one in batch:
        image = images[random.integers(len(images))]
        top, left = random.integers(0, image.shape[0] - side + 1, 2)
        part = image[top : top + side, left : left + side]
        part = np.rot90(part, random.integers(4))
        one[:] = part[:, ::-1] if random.random() < 0.5 else part
    clean = torch.from_numpy(batch).permute(0, 3, 1, 2).contiguous()
    noise = torch.from_numpy(random.normal(0, SIGMA, clean.shape).astype(np.float32))
    return clean, clean + noise


def psnr(a, b):
    return float(-10 * torch.log10(((a.clamp(0, 1) - b) ** 2).mean()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=1800)
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path(__file__).with_name("weights.bin"))
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    torch.manual_seed(arguments.seed)
    start = time.process_time()
    images = [leaves(random, 128) for _ in range(240)]
    clean, noisy = patches([leaves(random, 128) for _ in range(16)], random, 16, 128)
    print(f"seed {arguments.seed}; {len(images)} images of 128 x 128 in {time.process_time() - start:.0f} s", flush=True)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.5e-3, arguments.steps, pct_start=0.15)
    for step in range(arguments.steps):
        batch, corrupted = patches(images, random, 12, 48)
        loss = ((model(corrupted) - batch) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        optimizer.step()
        schedule.step()
        if step % 250 == 249 or step + 1 == arguments.steps:
            with torch.no_grad():
                print(f"step {step + 1}: test images {psnr(noisy, clean):.2f} dB, denoised {psnr(model(noisy), clean):.2f} dB; "
                      f"{time.process_time() - start:.0f} s of processor time", flush=True)
    largest = []
    with torch.no_grad():
        for conv in model.convolutions:
            conv.weight.copy_(conv.weight.half().float())
        rounded = psnr(model(noisy, largest), clean)
    with arguments.output.open("wb") as file:
        for conv in model.convolutions:
            file.write(conv.weight.detach().permute(0, 2, 3, 1).contiguous().numpy().astype("<f2").tobytes())
            file.write(conv.bias.detach().numpy().astype("<f4").tobytes())
        file.write(np.array(largest, "<f4").tobytes())
    print(f"weights in f16: {rounded:.2f} dB; {arguments.output.stat().st_size} bytes in {arguments.output.name}")


if __name__ == "__main__":
    main()
