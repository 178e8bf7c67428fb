"""The module that stands for a convolution and what is fused into it."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import torch

from ..problem import Activation, Compute, Problem, Type
from .functional import activation_of, conv, is_distributed, settings
from .layouts import channels_last, has_pixels
from .operators import PREPARED, PREPARED_OUT, pairs_of, spread

LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}
TYPES = {
    torch.float16: Type.F16,
    torch.bfloat16: Type.BF16,
    torch.float32: Type.F32,
    torch.float8_e4m3fn: Type.E4M3,
    torch.float8_e5m2: Type.E5M2,
    torch.int8: Type.S8,
    torch.uint8: Type.U8,
    torch.int32: Type.S32,
}


class ShiftConv(torch.nn.Module):
    """``conv`` with constant weights: ``forward(x, residual=None, out=None)``. x may be a pair, whose channels follow one another.
    With residual_last every call has a residual.

    The weight keeps its dtype, in channels_last; the bias is float32. Neither requires grad. An x that is not channels_last is copied.
    With padding "same", also with strides, there are ceil(extent / stride) outputs, and the odd zero is the last, as in TensorFlow.
    """

    weight: torch.Tensor
    bias: Optional[torch.Tensor]

    def __init__(
        self,
        weight: torch.Tensor,
        bias: Optional[torch.Tensor] = None,
        *,
        stride: Sequence[int] = (1,),
        padding: Union[Sequence[int], str] = (0,),
        dilation: Sequence[int] = (1,),
        groups: int = 1,
        activation: Any = None,
        residual_last: bool = False,
        plan: str = "",
    ) -> None:
        super().__init__()
        self.register_buffer("weight", channels_last(weight.detach()))
        self.register_buffer("bias", None if bias is None else bias.detach().float())
        spatial = weight.dim() - 2
        self.stride, self.dilation = tuple(spread(stride, spatial)), tuple(spread(dilation, spatial))
        if isinstance(padding, str) and padding != "same":
            raise ValueError(f'shiftconv: padding must be numbers or "same", but is {padding!r}')
        self.padding: Optional[tuple[tuple[int, int], ...]] = None if isinstance(padding, str) else tuple(pairs_of(padding, spatial))
        self.groups, self.activation, self.residual_last = groups, activation, residual_last
        self.plan = plan

    @property
    def plan(self) -> str:
        """ "algorithm", "algorithm:options", or "" for the planner's choice."""
        return self._plan

    @plan.setter
    def plan(self, plan: str) -> None:
        self._plan = plan
        self._settings = None if self.padding is None else self._settings_for(self.padding)
        self._settings_of: dict[tuple[int, ...], Optional[str]] = {}  # with padding "same", by the spatial extents of x

    def _settings_for(self, padding: Sequence[tuple[int, int]]) -> Optional[str]:
        return settings(
            self.weight.shape, self.stride, padding, self.dilation, self.groups, self.activation, "default", self._plan,
            self.residual_last,
        )  # fmt: skip

    def padding_of(self, x_shape: Sequence[int]) -> Sequence[tuple[int, int]]:
        """(before, after) of each spatial dimension, for an x of this shape."""
        if self.padding is not None:
            return self.padding
        totals = [
            max((-(-extent // step) - 1) * step + (taps - 1) * dilation + 1 - extent, 0)
            for extent, step, taps, dilation in zip(x_shape[2:], self.stride, self.weight.shape[2:], self.dilation)
        ]
        return [(total // 2, total - total // 2) for total in totals]

    def _known_settings(self, x_shape: Sequence[int]) -> Optional[str]:
        if self.padding is not None:
            return self._settings
        extents = tuple(x_shape[2:])
        if extents not in self._settings_of:
            self._settings_of[extents] = self._settings_for(self.padding_of(x_shape))
        return self._settings_of[extents]

    def forward(
        self,
        x: Union[torch.Tensor, tuple[torch.Tensor, torch.Tensor]],
        residual: Optional[torch.Tensor] = None,
        out: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        if isinstance(x, tuple) and any(is_distributed(part) for part in x):
            x = torch.cat(x, 1)
        if isinstance(x, tuple):
            return conv(
                tuple(channels_last(part) for part in x), self.weight, self.bias, None if residual is None else channels_last(residual),
                stride=self.stride, padding=self.padding_of(x[0].shape), dilation=self.dilation, groups=self.groups,
                activation=self.activation, residual_last=self.residual_last, plan=self.plan, out=out,
            )  # fmt: skip
        if type(x) is torch.Tensor or not is_distributed(x):  # of those, conv sees to the layout of the parts
            x = channels_last(x)
            residual = None if residual is None else channels_last(residual)
        calls_conv = torch.compiler.is_compiling() or type(x) is not torch.Tensor or torch.is_grad_enabled()
        prepared = None if calls_conv else self._known_settings(x.shape)
        if prepared is None:
            return conv(
                x, self.weight, self.bias, residual, stride=self.stride, padding=self.padding_of(x.shape), dilation=self.dilation,
                groups=self.groups, activation=self.activation, residual_last=self.residual_last, plan=self.plan, out=out,
            )  # fmt: skip
        constant = self._buffers  # attributes of a module take PyTorch longer
        if out is None:
            return PREPARED(x, constant["weight"], constant["bias"], residual, None, prepared, None)
        PREPARED_OUT(x, constant["weight"], constant["bias"], residual, None, prepared, out)
        return out

    def _apply(self, fn: Any, recurse: bool = True) -> "ShiftConv":
        super()._apply(fn, recurse)
        if self.bias is not None and self.bias.dtype != torch.float32:  # .half() is meant for what is multiplied
            self.bias = self.bias.float()
        if not has_pixels(self.weight):
            self.weight = channels_last(self.weight)
        return self

    def problem(self, x_shape: Sequence[int], residual: bool, dtype: Optional[torch.dtype] = None) -> Problem:
        """What a call with a dense x of this shape computes."""
        spatial = len(x_shape) - 2
        problem = Problem(n=x_shape[0], c=x_shape[1], k=self.weight.shape[0], h=1, r=1, groups=self.groups)
        for i, (before, after) in enumerate(self.padding_of(x_shape)):
            axis = 3 - spatial + i
            setattr(problem, "dhw"[axis], x_shape[2 + i])
            setattr(problem, "trs"[axis], self.weight.shape[2 + i])
            setattr(problem, f"stride_{'dhw'[axis]}", self.stride[i])
            setattr(problem, f"dilation_{'dhw'[axis]}", self.dilation[i])
            setattr(problem, ("pad_front", "pad_top", "pad_left")[axis], before)
            setattr(problem, ("pad_back", "pad_bottom", "pad_right")[axis], after)
        kind = TYPES[dtype or self.weight.dtype]
        problem.input_type = problem.filter_type = problem.output_type = kind
        problem.has_bias = self.bias is not None
        if residual:
            problem.beta, problem.residual_type = 1.0, kind
        problem.residual_last = self.residual_last
        name, problem.activation_a, problem.activation_b = activation_of(self.activation)
        problem.activation = Activation[name.upper()]
        problem.compute = Compute.DEFAULT
        return problem

    def extra_repr(self) -> str:
        return (
            f"{tuple(self.weight.shape)}, stride={self.stride}, padding={self.padding or 'same'}, dilation={self.dilation}, "
            f"groups={self.groups}, activation={self.activation!r}, residual_last={self.residual_last}, bias={self.bias is not None}, "
            f"plan={self.plan!r}"
        )
