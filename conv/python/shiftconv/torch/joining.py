"""Concatenations along the channels, without their copies: a convolution reads two tensors as if they were one, or convolutions write
their parts of the result themselves."""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence

import torch
from torch import fx

from . import patterns
from .census import Layer
from .deciding import Decider
from .fitting import ALIGNMENT, fit
from .layers import ShiftConv
from .operators import channels_last_strides, output_sizes
from .placing import place

MOST_COPIES = 1  # parts that are no convolutions: torch.cat copies all of them in one launch, and this one by one


class Joined(torch.nn.Module):
    """``torch.cat`` along the channels, with the convolutions that make its parts.

    Args:
        parts: of each part its convolution, or None for a tensor that is there already.
        residuals: whether the convolution of a part adds a residual.

    ``forward`` takes what the parts are made of, one after the other: the tensor, or the convolution's x and its residual.
    """

    def __init__(self, parts: Sequence[Optional[ShiftConv]], residuals: Sequence[bool]) -> None:
        super().__init__()
        self.convolutions = torch.nn.ModuleList(part for part in parts if part is not None)
        self._is_convolution = [part is not None for part in parts]
        self._residuals = list(residuals)

    def _parts(self, tensors: Sequence[torch.Tensor]) -> list[tuple[Optional[ShiftConv], Sequence[torch.Tensor]]]:
        parts: list[tuple[Optional[ShiftConv], Sequence[torch.Tensor]]] = []
        convolutions, place = iter(self.convolutions), 0
        for is_convolution, has_residual in zip(self._is_convolution, self._residuals):
            count = 2 if has_residual else 1
            parts.append((next(convolutions) if is_convolution else None, tensors[place : place + count]))  # type: ignore[arg-type]
            place += count
        return parts

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        parts = self._parts(tensors)
        x = tensors[0]
        channels = [given[0].shape[1] if conv is None else conv.weight.shape[0] for conv, given in parts]
        # A compiler sees through torch.cat; other subclasses of tensors and gradients are the business of the convolutions.
        if (
            torch.compiler.is_compiling()
            or any(type(tensor) is not torch.Tensor for tensor in tensors)
            or torch.is_grad_enabled()
            or any(count * x.element_size() % ALIGNMENT for count in channels)
        ):
            return torch.cat([given[0] if conv is None else conv(*given) for conv, given in parts], 1)
        sizes = None
        for conv, given in parts:
            if conv is not None and sizes is None:
                pads = [number for pair in conv.padding_of(given[0].shape) for number in pair]
                sizes = output_sizes(given[0].shape, conv.weight.shape, conv.stride, pads, conv.dilation)
        assert sizes is not None  # there is a convolution
        sizes[1] = sum(channels)
        out = torch.empty_strided(sizes, channels_last_strides(sizes), dtype=x.dtype, device=x.device)
        first = 0
        for (conv, given), count in zip(parts, channels):
            part = out.narrow(1, first, count)
            first += count
            if conv is not None:
                conv(*given, out=part)
            elif given[0].shape == part.shape:
                part.copy_(given[0])
            else:
                raise ValueError(f"shiftconv: parts of shapes {tuple(part.shape)} and {tuple(given[0].shape)} cannot be concatenated")
        return out


def join_all(model: fx.GraphModule, decider: Decider, layers: dict[fx.Node, Layer]) -> None:
    """Takes out the concatenations of two tensors that only a convolution reads, and puts a ``Joined`` in the place of others for which
    it pays."""
    for node in list(model.graph.nodes):
        parts = patterns.concatenated(node)
        if parts is None or _read_as_pair(node, parts, model, decider, layers):
            continue
        convolutions = {part for part in parts if part in layers and _is_free(part, node, parts, model)}
        if convolutions and len(parts) - len(convolutions) <= MOST_COPIES and fit(parts, convolutions, model, decider):
            _put(node, parts, convolutions, model, layers)
        else:
            place(node, parts, model, decider, layers)


COPY_SECONDS, COPIED_BYTES_PER_SECOND = 2e-6, 4e12  # of torch.cat in a graph, on an H200; in its favour where the tensors are in L2


def _read_as_pair(
    node: fx.Node, parts: Sequence[fx.Node], model: fx.GraphModule, decider: Decider, layers: dict[fx.Node, Layer]
) -> bool:
    """Hands both parts to the convolution, where the planner does not expect more time of it than of the copy and what it does now."""
    reader = next(iter(node.users)) if len(node.users) == 1 else None
    if len(parts) != 2 or reader is None or reader not in layers or reader.args[0] is not node or node in reader.args[1:]:
        return False
    between = node.next
    while between is not reader:
        if any(patterns.writes_to(between, part, model) for part in parts):
            return False
        between = between.next
    module: Any = patterns.module_of(reader, model)
    shape, dtype, first = patterns.shape_of(node), patterns.dtype_of(node), patterns.shape_of(parts[0])
    if shape is None or dtype is None or first is None or {patterns.dtype_of(part) for part in parts} != {dtype}:
        return False
    problem = module.problem(shape, len(reader.args) > 1, dtype)
    together = decider.seconds(problem, module.plan)
    problem.split_c = first[1]
    apart = decider.seconds(problem, module.plan)
    copy = COPY_SECONDS + 2 * math.prod(shape) * dtype.itemsize / COPIED_BYTES_PER_SECOND
    if apart is None or together is None or apart > together + copy:
        return False
    reader.args = (tuple(parts), *reader.args[1:])
    model.graph.erase_node(node)
    layers[reader].fused.insert(0, "cat of x")
    return True


def _is_free(part: fx.Node, node: fx.Node, parts: Sequence[fx.Node], model: fx.GraphModule) -> bool:
    """Whether a convolution of one tensor can run where the concatenation is, and nobody sees the difference."""
    if list(part.users) != [node] or list(parts).count(part) != 1 or not isinstance(part.args[0], fx.Node):
        return False
    between = part.next
    while between is not node:
        if any(patterns.writes_to(between, tensor, model) for tensor in part.args):  # type: ignore[arg-type]
            return False
        between = between.next
    return True


def _put(
    node: fx.Node, parts: Sequence[fx.Node], convolutions: set[fx.Node], model: fx.GraphModule, layers: dict[fx.Node, Layer]
) -> None:
    modules: list[Any] = [patterns.module_of(part, model) if part in convolutions else None for part in parts]
    arguments = [part.args if part in convolutions else (part,) for part in parts]
    made = Joined(modules, [len(given) > 1 for given in arguments])
    with model.graph.inserting_before(node):
        target = patterns.add_module(model, node.name, made)
        call = model.graph.call_module(target, tuple(tensor for given in arguments for tensor in given))
    call.meta.update(node.meta)
    node.replace_all_uses_with(call)
    model.graph.erase_node(node)
    for part in convolutions:
        layers[part].fused.append("cat")
        model.graph.erase_node(part)
