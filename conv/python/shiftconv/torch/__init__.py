"""ShiftConv for PyTorch 2.11 and later: one operator, and what puts it into models.

>>> import torch, shiftconv.torch
>>> y = shiftconv.torch.conv(x, w, bias, padding=1, activation="relu")     # channels_last tensors on a GPU
"""

from .census import Census, Layer
from .compiling import backend
from .functional import conv, keep_bindings, kept
from .layers import ShiftConv
from .replacing import fold, replace

__all__ = ["Census", "Layer", "ShiftConv", "backend", "conv", "fold", "keep_bindings", "kept", "replace"]
