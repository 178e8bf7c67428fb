"""Whether convolutions can write parts of a concatenation."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import torch
from torch import fx

from ..problem import Problem
from . import patterns
from .deciding import Decider
from .layers import LAYOUTS

ALIGNMENT = 16  # bytes, of each part


def fit(parts: Sequence[fx.Node], convolutions: set[fx.Node], model: fx.GraphModule, decider: Decider) -> bool:
    """Whether every part begins where the kernels can store it, and the convolutions can be planned with gaps between their pixels."""
    shapes, dtypes = [patterns.shape_of(part) for part in parts], {patterns.dtype_of(part) for part in parts}
    if None in shapes or len(dtypes) != 1 or any(len(shape) not in LAYOUTS for shape in shapes):  # type: ignore[arg-type]
        return False
    (dtype,) = dtypes
    if dtype is None or any(shape[1] * dtype.itemsize % ALIGNMENT for shape in shapes):  # type: ignore[index]
        return False
    pitch = sum(shape[1] for shape in shapes)  # type: ignore[index]
    for part in convolutions:
        problem = _problem_of(part, model, dtype)
        if problem is None:
            return False
        problem.output_pixel_pitch = pitch
        if decider.seconds(problem, patterns.module_of(part, model).plan) is None:  # type: ignore[union-attr]
            return False
    return True


def _problem_of(call: fx.Node, model: fx.GraphModule, dtype: torch.dtype) -> Optional[Problem]:
    module: Any = patterns.module_of(call, model)
    pair = call.args[0] if isinstance(call.args[0], tuple) else (call.args[0],)
    shapes = [patterns.shape_of(x) for x in pair]  # type: ignore[arg-type]
    if None in shapes:
        return None
    first: tuple[int, ...] = shapes[0]  # type: ignore[assignment]
    channels = sum(shape[1] for shape in shapes)  # type: ignore[index]
    problem: Problem = module.problem((first[0], channels, *first[2:]), len(call.args) > 1, dtype)
    if len(pair) > 1:
        problem.split_c = first[1]
    return problem
