"""Small blocks of known networks."""

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)  # tensors are small, and threads that wait for one another take longer


def with_statistics(model, seed=5):
    """Batch normalisation with constants that folding has to get right."""
    torch.manual_seed(seed)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 2)
            module.eps = 0.125
    return model.eval()


class Bottleneck(nn.Module):
    def __init__(self, width=8, stride=2):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(2 * width, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.downsample = nn.Sequential(nn.Conv2d(2 * width, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += self.downsample(x)
        return self.relu(y)


class InvertedResidual(nn.Module):
    def __init__(self):
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(8, 24, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU6(inplace=True))
        self.depthwise = nn.Sequential(nn.Conv2d(24, 24, 3, 1, 1, groups=24, bias=False), nn.BatchNorm2d(24), nn.Hardswish())
        self.squeeze, self.excite = nn.Conv2d(24, 8, 1), nn.Conv2d(8, 24, 1)
        self.project = nn.Sequential(nn.Conv2d(24, 8, 1, bias=False), nn.BatchNorm2d(8), nn.Dropout(0.5))

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        scale = self.excite(F.silu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))).sigmoid()
        return x + self.project(y * scale)


class YoloBottleneck(nn.Module):
    """The shortcut is added to what the activation gives."""

    def __init__(self, channels=16, hidden=8, add=torch.add):
        super().__init__()
        conv = lambda c, k: nn.Sequential(nn.Conv2d(c, k, 3, padding=1, bias=False), nn.BatchNorm2d(k), nn.SiLU())  # noqa: E731
        self.cv1, self.cv2, self.add = conv(channels, hidden), conv(hidden, channels), add

    def forward(self, x):
        return self.add(x, self.cv2(self.cv1(x)))


class C2f(nn.Module):
    """Parts that a list is made of: YOLOv8's block."""

    def __init__(self, split, channels=32, count=2):
        super().__init__()
        conv = lambda c, k: nn.Sequential(nn.Conv2d(c, k, 1, bias=False), nn.BatchNorm2d(k), nn.SiLU())  # noqa: E731
        self.cv1, self.cv2, self.split = conv(channels, channels), conv((2 + count) * channels // 2, channels), split
        self.m = nn.ModuleList(YoloBottleneck(channels // 2, channels // 2) for _ in range(count))

    def forward(self, x):
        parts = list(self.split(self.cv1(x)))
        parts.extend(m(parts[-1]) for m in self.m)
        return self.cv2(torch.cat(parts, 1))


class ConvNeXtBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.depthwise = nn.Conv2d(16, 16, 7, padding=3, groups=16)
        self.norm = nn.LayerNorm(16)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + self.down(F.gelu(self.up(y))).permute(0, 3, 1, 2)


class UNetBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, 16), nn.GroupNorm(4, 24)
        self.conv1, self.conv2 = nn.Conv2d(16, 24, 3, padding="same"), nn.Conv2d(24, 24, 3, padding=1)
        self.shortcut = nn.Conv2d(16, 24, 1)

    def forward(self, x):
        y = self.conv1(F.silu(self.norm1(x)))
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(y)))


class CausalBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv3d(8, 16, 3), nn.Conv3d(16, 8, (3, 1, 1), padding=0)

    def forward(self, x):
        y = F.silu(self.conv1(F.pad(x, (1, 1, 1, 1, 2, 0))))
        return x + self.conv2(F.pad(y, (0, 0, 0, 0, 2, 0)))


def inputs(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


class Inception(nn.Module):
    """Branches of 1x1, 3x3, 5x5 and a pooled 1x1 filter, side by side along the channels."""

    def __init__(self, channels, one, three, five, pooled):
        super().__init__()
        conv = lambda *args, **more: nn.Sequential(nn.Conv2d(*args, **more), nn.ReLU(inplace=True))  # noqa: E731
        self.one = conv(channels, one, 1)
        self.three = nn.Sequential(conv(channels, 8, 1), conv(8, three, 3, padding=1))
        self.five = nn.Sequential(conv(channels, 8, 1), conv(8, five, 5, padding=2))
        self.pooled = nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(channels, pooled, 1))

    def forward(self, x):
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pooled(x)], 1)
