"""Loads the operators ``torch.ops.shiftconv.conv`` and ``conv_out``, and registers what PyTorch keeps in Python: their shapes without
data, and the refusal of gradients.

``_prepared`` and ``_prepared_out`` are the same with everything that is no tensor in one text. ``conv`` calls them where nobody looks at
the call, because PyTorch takes time for each argument. They leave gradients to their caller."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Sequence

import torch

from .._library import glue_path, library

LEAST_TORCH = (2, 11)


def _load() -> ctypes.CDLL:
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < LEAST_TORCH:
        raise ImportError(f"shiftconv.torch needs PyTorch 2.11 or later, but this is {torch.__version__}")
    library()  # names SHIFTCONV_LIBRARY where libshiftconv is missing
    path = glue_path("torch")
    if not os.path.exists(path):
        raise ImportError(f"{path} does not exist: this build of ShiftConv has no operators for PyTorch")
    torch.ops.load_library(path)
    glue = ctypes.CDLL(path)
    glue.shiftconv_torch_keep_bindings.argtypes = [ctypes.c_size_t]
    glue.shiftconv_torch_kept_bindings.restype = ctypes.c_size_t
    glue.shiftconv_torch_kept_plans.restype = ctypes.c_size_t
    return glue


glue = _load()


def spread(numbers: Sequence[int], spatial: int) -> list[int]:
    """One number for each spatial dimension."""
    return [numbers[0]] * spatial if len(numbers) == 1 else list(numbers)


def pairs_of(padding: Sequence[int], spatial: int) -> list[tuple[int, int]]:
    """Padding before and after, for each spatial dimension."""
    if len(padding) == 2 * spatial and len(padding) > 1:
        return [(padding[2 * i], padding[2 * i + 1]) for i in range(spatial)]
    return [(number, number) for number in spread(padding, spatial)]


def output_sizes(
    x: Sequence[Any], w: Sequence[Any], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> list[Any]:
    """The shape of the output, from those of x and w."""
    spatial = len(x) - 2
    if spatial not in (1, 2, 3):
        raise ValueError(f"shiftconv: x must have 3, 4 or 5 dimensions, but its shape is {tuple(x)}")
    if len(w) != len(x):
        raise ValueError(f"shiftconv: w must have as many dimensions as x, which has {len(x)}, but its shape is {tuple(w)}")
    strides, dilations, pads = spread(stride, spatial), spread(dilation, spatial), pairs_of(padding, spatial)
    for name, numbers in (("stride", strides), ("padding", pads), ("dilation", dilations)):
        if len(numbers) != spatial:
            raise ValueError(f"shiftconv: {name} does not fit an x with {spatial} spatial dimensions")
    return [
        x[0],
        w[0],
        *(
            (x[2 + i] + sum(pads[i]) - dilations[i] * (w[2 + i] - 1) - 1) // strides[i] + 1
            for i in range(spatial)
        ),
    ]


def channels_last_strides(sizes: Sequence[Any]) -> list[Any]:
    """Strides of a dense tensor whose channels lie next to each other."""
    strides: list[Any] = [0] * len(sizes)
    strides[1], following = 1, sizes[1]
    for dimension in reversed(range(2, len(sizes))):
        strides[dimension], following = following, following * sizes[dimension]
    strides[0] = following
    return strides


def _check_devices(x: torch.Tensor, **tensors: Optional[torch.Tensor]) -> None:
    """PyTorch comes here with a mixture of devices when one of them is "meta"."""
    for name, tensor in tensors.items():
        if tensor is not None and tensor.device != x.device:
            raise ValueError(f"shiftconv: {name} must be on the device of x, {x.device}, but is on {tensor.device}")


@torch.library.register_fake("shiftconv::conv")
def _conv_fake(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: Optional[torch.Tensor] = None,
    residual: Optional[torch.Tensor] = None,
    *,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    channel_scale: Optional[torch.Tensor] = None,
    out_dtype: Optional[torch.dtype] = None,
    **_: Any,
) -> torch.Tensor:
    _check_devices(x, w=w, bias=bias, residual=residual, channel_scale=channel_scale)
    sizes = output_sizes(x.shape, w.shape, stride, padding, dilation)
    return torch.empty_strided(sizes, channels_last_strides(sizes), dtype=out_dtype or x.dtype, device=x.device)


@torch.library.register_fake("shiftconv::conv_out")
def _conv_out_fake(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: Optional[torch.Tensor] = None,
    residual: Optional[torch.Tensor] = None,
    *,
    channel_scale: Optional[torch.Tensor] = None,
    y: torch.Tensor,
    **_: Any,
) -> None:
    _check_devices(x, w=w, bias=bias, residual=residual, channel_scale=channel_scale, out=y)


def settings_of(
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    activation: str,
    activation_a: float,
    activation_b: float,
    residual_last: bool,
    compute: str,
    plan: str,
) -> str:
    """What ``_prepared`` takes for these arguments of ``torch.ops.shiftconv.conv``."""
    lists = (",".join(map(str, numbers)) for numbers in (stride, padding, dilation))
    return " ".join((*lists, str(groups), activation, repr(activation_a), repr(activation_b), str(int(residual_last)), compute, plan))


def _windows_in(settings: str) -> dict[str, list[int]]:
    lists = settings.split(" ", 3)[:3]
    return {name: [int(n) for n in numbers.split(",")] for name, numbers in zip(("stride", "padding", "dilation"), lists)}


@torch.library.register_fake("shiftconv::_prepared")
def _prepared_fake(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: Optional[torch.Tensor],
    residual: Optional[torch.Tensor],
    channel_scale: Optional[torch.Tensor],
    settings: str,
    out_dtype: Optional[torch.dtype],
) -> torch.Tensor:
    return _conv_fake(x, w, bias, residual, channel_scale=channel_scale, out_dtype=out_dtype, **_windows_in(settings))


@torch.library.register_fake("shiftconv::_prepared_out")
def _prepared_out_fake(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: Optional[torch.Tensor],
    residual: Optional[torch.Tensor],
    channel_scale: Optional[torch.Tensor],
    settings: str,
    y: torch.Tensor,
) -> None:
    _conv_out_fake(x, w, bias, residual, channel_scale=channel_scale, y=y)


def _joined(x: torch.Tensor, second: torch.Tensor, dim: int) -> list[Any]:
    """The shape of x followed by second along a dimension."""
    if second.ndim != x.ndim or dim not in ((1, 2) if x.ndim == 5 else (1,)):
        raise ValueError(f"shiftconv: shapes {tuple(x.shape)} and {tuple(second.shape)} cannot be joined along dimension {dim}")
    return [size + second.shape[dim] if i == dim else size for i, size in enumerate(x.shape)]


@torch.library.register_fake("shiftconv::_pair")
def _pair_fake(
    x: torch.Tensor,
    second: torch.Tensor,
    dim: int,
    w: torch.Tensor,
    bias: Optional[torch.Tensor],
    residual: Optional[torch.Tensor],
    channel_scale: Optional[torch.Tensor],
    settings: str,
    out_dtype: Optional[torch.dtype],
) -> torch.Tensor:
    _check_devices(x, second=second, w=w, bias=bias, residual=residual, channel_scale=channel_scale)
    sizes = output_sizes(_joined(x, second, dim), w.shape, **_windows_in(settings))
    return torch.empty_strided(sizes, channels_last_strides(sizes), dtype=out_dtype or x.dtype, device=x.device)


@torch.library.register_fake("shiftconv::_pair_out")
def _pair_out_fake(
    x: torch.Tensor,
    second: torch.Tensor,
    dim: int,
    w: torch.Tensor,
    bias: Optional[torch.Tensor],
    residual: Optional[torch.Tensor],
    channel_scale: Optional[torch.Tensor],
    settings: str,
    y: torch.Tensor,
) -> None:
    _check_devices(x, second=second, w=w, bias=bias, residual=residual, channel_scale=channel_scale, out=y)


def refuse_gradients(args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    for name, value in [*zip(("x", "w", "bias", "residual", "channel_scale"), args), *kwargs.items()]:
        if isinstance(value, torch.Tensor) and value.requires_grad:
            raise NotImplementedError(
                f"shiftconv: {name} requires grad, but ShiftConv computes forward only; call it under torch.no_grad() or "
                "torch.inference_mode(), or detach the tensor"
            )


def _autograd_kernel(operator: Any) -> Any:
    def autograd(*args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled():
            refuse_gradients(args, kwargs)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*args, **kwargs)

    return autograd


CONV, CONV_OUT = torch.ops.shiftconv.conv.default, torch.ops.shiftconv.conv_out.default
PREPARED, PREPARED_OUT = torch.ops.shiftconv._prepared.default, torch.ops.shiftconv._prepared_out.default
PAIR, PAIR_OUT = torch.ops.shiftconv._pair.default, torch.ops.shiftconv._pair_out.default
_autograd = torch.library.Library("shiftconv", "IMPL")
for _operator in (CONV, CONV_OUT):
    _autograd.impl(_operator._opname, _autograd_kernel(_operator), "Autograd")
