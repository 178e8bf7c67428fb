"""Layouts of tensors that the operators take."""

from __future__ import annotations

import torch

from .operators import channels_last_strides


def has_pixels(x: torch.Tensor) -> bool:
    """Whether the operators take x as it is: channels next to each other, pixels at one distance."""
    sizes, strides = x.shape, x.stride()
    if sizes[1] != 1 and strides[1] != 1:
        return False
    pitch, pixels = 0, 1
    for dimension in [*range(len(sizes) - 1, 1, -1), 0]:
        if sizes[dimension] != 1:
            pitch = pitch or strides[dimension] // pixels
            if pitch < sizes[1] or strides[dimension] != pitch * pixels:
                return False
            pixels *= sizes[dimension]
    return torch.compiler.is_compiling() or x.storage_offset() * x.element_size() % 16 == 0


def channels_last(x: torch.Tensor) -> torch.Tensor:
    """x itself where the operators take it, else a copy that they take."""
    if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last):
        if torch.compiler.is_compiling() or x.storage_offset() == 0:
            return x
    if has_pixels(x):
        return x
    copy = torch.empty_strided(x.shape, channels_last_strides(x.shape), dtype=x.dtype, device=x.device)
    return copy.copy_(x)
