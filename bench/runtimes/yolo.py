"""A detector of YOLOv8's architecture, size s: backbone, pyramid and heads, without what turns their maps into boxes."""

import torch
from torch import nn


class Unit(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=1, stride=1):
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs, eps=1e-3), nn.SiLU(inplace=True)
        )


class Bottleneck(nn.Module):
    def __init__(self, channels, adds):
        super().__init__()
        self.first, self.second, self.adds = Unit(channels, channels, 3), Unit(channels, channels, 3), adds

    def forward(self, x):
        y = self.second(self.first(x))
        return x + y if self.adds else y


class Stage(nn.Module):
    """Half of the channels go through bottlenecks, one after the other; all of their results are concatenated."""

    def __init__(self, inputs, outputs, count, adds):
        super().__init__()
        half = outputs // 2
        self.enter, self.leave = Unit(inputs, outputs), Unit((2 + count) * half, outputs)
        self.blocks = nn.ModuleList(Bottleneck(half, adds) for _ in range(count))

    def forward(self, x):
        parts = list(self.enter(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(block(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class Pooling(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.enter, self.leave, self.pool = Unit(channels, channels // 2), Unit(2 * channels, channels), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.enter(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class Head(nn.Module):
    """Distances to the edges of a box, 16 bins each, and a score for each class."""

    def __init__(self, channels, least, classes):
        super().__init__()
        branch = lambda width, outputs: nn.Sequential(Unit(channels, width, 3), Unit(width, width, 3), nn.Conv2d(width, outputs, 1))  # noqa: E731
        self.box, self.score = branch(max(16, least // 4, 64), 64), branch(max(least, min(classes, 100)), classes)

    def forward(self, x):
        return torch.cat((self.box(x), self.score(x)), 1)


class Detector(nn.Module):
    def __init__(self, classes=80):
        super().__init__()
        self.stem = nn.Sequential(Unit(3, 32, 3, 2), Unit(32, 64, 3, 2), Stage(64, 64, 1, True))
        self.third = nn.Sequential(Unit(64, 128, 3, 2), Stage(128, 128, 2, True))
        self.fourth = nn.Sequential(Unit(128, 256, 3, 2), Stage(256, 256, 2, True))
        self.fifth = nn.Sequential(Unit(256, 512, 3, 2), Stage(512, 512, 1, True), Pooling(512))
        self.up = nn.Upsample(scale_factor=2)
        self.down_to_fourth, self.down_to_third = Stage(768, 256, 1, False), Stage(384, 128, 1, False)
        self.step_to_fourth, self.step_to_fifth = Unit(128, 128, 3, 2), Unit(256, 256, 3, 2)
        self.up_to_fourth, self.up_to_fifth = Stage(384, 256, 1, False), Stage(768, 512, 1, False)
        self.heads = nn.ModuleList(Head(channels, 128, classes) for channels in (128, 256, 512))

    def forward(self, x):
        third = self.third(self.stem(x))
        fourth = self.fourth(third)
        fifth = self.fifth(fourth)
        middle = self.down_to_fourth(torch.cat((self.up(fifth), fourth), 1))
        fine = self.down_to_third(torch.cat((self.up(middle), third), 1))
        middle = self.up_to_fourth(torch.cat((self.step_to_fourth(fine), middle), 1))
        coarse = self.up_to_fifth(torch.cat((self.step_to_fifth(middle), fifth), 1))
        return torch.cat([head(map).flatten(2) for head, map in zip(self.heads, (fine, middle, coarse))], 2)
