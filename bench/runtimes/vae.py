"""Decoders of variational autoencoders, written plainly: Stable Diffusion's for images, and a causal one for video. Random weights."""

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    """GroupNorm, SiLU and a convolution, twice."""

    def __init__(self, channels, out, groups):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(groups, channels), nn.Conv2d(channels, out, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(groups, out), nn.Conv2d(out, out, 3, padding=1)
        self.shortcut = nn.Conv2d(channels, out, 1) if channels != out else nn.Identity()

    def forward(self, x):
        y = self.conv1(F.silu(self.norm1(x)))
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(y)))


class Attention(nn.Module):
    """One head over all pixels."""

    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        self.query, self.key, self.value, self.out = (nn.Linear(channels, channels) for _ in range(4))

    def forward(self, x):
        y = self.norm(x).flatten(2).transpose(1, 2)
        y = F.scaled_dot_product_attention(self.query(y).unsqueeze(1), self.key(y).unsqueeze(1), self.value(y).unsqueeze(1)).squeeze(1)
        return x + self.out(y).transpose(1, 2).unflatten(2, x.shape[2:])


class Upsample(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, 3, padding=1)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))


class ImageDecoder(nn.Module):
    """Stable Diffusion's: latents (N, 4, H, W) to images (N, 3, 8 H, 8 W), where it has four widths."""

    def __init__(self, widths=(512, 512, 256, 128), blocks=3, groups=32, latent=4):
        super().__init__()
        width = widths[0]
        layers = [nn.Conv2d(latent, latent, 1), nn.Conv2d(latent, width, 3, padding=1)]
        layers += [Residual(width, width, groups), Attention(width, groups), Residual(width, width, groups)]
        for level, out in enumerate(widths):
            for _ in range(blocks):
                layers.append(Residual(width, out, groups))
                width = out
            if level + 1 < len(widths):
                layers.append(Upsample(width, width))
        self.layers = nn.Sequential(*layers)
        self.norm, self.out = nn.GroupNorm(groups, width), nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        return self.out(F.silu(self.norm(self.layers(x))))


class CausalConv3d(nn.Module):
    """No frame sees a later one: time is padded in front only."""

    def __init__(self, channels, out, taps):
        super().__init__()
        self.conv = nn.Conv3d(channels, out, taps)
        self.pads = (taps[2] // 2, taps[2] // 2, taps[1] // 2, taps[1] // 2, taps[0] - 1, 0)

    def forward(self, x):
        return self.conv(F.pad(x, self.pads))


class ChannelNorm(nn.Module):
    """Each pixel's channels divided by the root of the mean of their squares."""

    def __init__(self, channels):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(channels, 1, 1, 1))

    def forward(self, x):
        return F.normalize(x, dim=1) * (x.shape[1] ** 0.5 * self.gain)


class CausalResidual(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.norm1, self.conv1 = ChannelNorm(channels), CausalConv3d(channels, out, (3, 3, 3))
        self.norm2, self.conv2 = ChannelNorm(out), CausalConv3d(out, out, (3, 3, 3))
        self.shortcut = CausalConv3d(channels, out, (1, 1, 1)) if channels != out else nn.Identity()

    def forward(self, x):
        y = self.conv1(F.silu(self.norm1(x)))
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(y)))


class TimeAndSpaceUpsample(nn.Module):
    """Twice the frames, by a convolution over time; twice the rows and columns, by repetition and a convolution."""

    def __init__(self, channels, out):
        super().__init__()
        self.time, self.space = CausalConv3d(channels, 2 * channels, (3, 1, 1)), CausalConv3d(channels, out, (1, 3, 3))

    def forward(self, x):
        y = self.time(x).unflatten(1, (2, -1)).movedim(1, 3).flatten(2, 3)
        return self.space(F.interpolate(y, scale_factor=(1.0, 2.0, 2.0), mode="nearest"))


class VideoDecoder(nn.Module):
    """One stage of a causal decoder: latents (N, 16, T, H, W) to frames (N, 3, 2 T, 2 H, 2 W)."""

    def __init__(self, width=384, latent=16):
        super().__init__()
        self.layers = nn.Sequential(
            CausalConv3d(latent, width, (3, 3, 3)),
            CausalResidual(width, width),
            CausalResidual(width, width),
            TimeAndSpaceUpsample(width, width // 2),
            CausalResidual(width // 2, width // 2),
            CausalResidual(width // 2, width // 4),
        )
        self.norm, self.out = ChannelNorm(width // 4), CausalConv3d(width // 4, 3, (3, 3, 3))

    def forward(self, x):
        return self.out(F.silu(self.norm(self.layers(x))))
