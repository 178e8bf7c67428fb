"""Batch normalisation as weights and biases of the convolution before it, in float32."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import nn


def folded(conv: Any, norm: Optional[nn.Module]) -> tuple[torch.Tensor, Optional[torch.Tensor]]:
    """Weight and bias, in float32 (float64 stays), of a convolution followed by a batch normalisation with constant statistics."""
    weight, bias = _wide(conv.weight), _wide(conv.bias)
    assert weight is not None
    if norm is None:
        return weight, bias
    mean, variance = _wide(norm.running_mean), _wide(norm.running_var)  # type: ignore[arg-type]
    assert mean is not None and variance is not None
    gamma, beta = _wide(norm.weight), _wide(norm.bias)  # type: ignore[arg-type]
    scale = torch.rsqrt(variance + norm.eps)  # type: ignore[operator]
    if gamma is not None:
        scale = scale * gamma
    shift = -mean * scale if bias is None else (bias - mean) * scale
    if beta is not None:
        shift = shift + beta
    return weight * scale.reshape(-1, *[1] * (weight.dim() - 1)), shift


def _wide(tensor: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
    if tensor is None:
        return None
    return tensor.detach() if tensor.dtype == torch.float64 else tensor.detach().float()
