"""Concatenations whose parts others read, too: the result is there from the beginning, and convolutions write and read their parts of it.

Blocks that concatenate what each of their layers gives are such (C2f of YOLO, ELAN, VoVNet): a later part is computed of an earlier one.
"""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence

import torch
from torch import fx

from . import patterns
from .census import Layer
from .deciding import Decider
from .fitting import ALIGNMENT, fit
from .layers import ShiftConv
from .operators import channels_last_strides, output_sizes


class Whole(torch.nn.Module):
    """The result of a concatenation, not yet written; None where torch.cat will make it.

    Args:
        conv: the convolution that gives the first of its parts.
        channels: of each part.
    """

    def __init__(self, conv: ShiftConv, channels: Sequence[int]) -> None:
        super().__init__()
        self._window = (tuple(conv.weight.shape), conv.stride, conv.dilation)
        self._padding_of, self._channels = conv.padding_of, tuple(channels)

    def forward(self, x: Any) -> Optional[torch.Tensor]:
        first = x[0] if isinstance(x, tuple) else x
        # A compiler sees through torch.cat; other subclasses of tensors and gradients are the business of the convolutions.
        if (
            torch.compiler.is_compiling()
            or type(first) is not torch.Tensor
            or torch.is_grad_enabled()
            or any(count * first.element_size() % ALIGNMENT for count in self._channels)
        ):
            return None
        filter_shape, stride, dilation = self._window
        pads = [number for pair in self._padding_of(first.shape) for number in pair]
        sizes = output_sizes(first.shape, filter_shape, stride, pads, dilation)
        sizes[1] = sum(self._channels)
        return torch.empty_strided(sizes, channels_last_strides(sizes), dtype=first.dtype, device=first.device)


class Part(torch.nn.Module):
    """A convolution that writes the channels of a ``Whole`` from ``first`` on: ``forward(whole, x, residual=None)``."""

    def __init__(self, conv: ShiftConv, first: int) -> None:
        super().__init__()
        self.conv, self.first = conv, first

    def forward(self, whole: Optional[torch.Tensor], x: Any, residual: Optional[torch.Tensor] = None) -> torch.Tensor:
        if whole is None:
            return self.conv(x, residual)
        return self.conv(x, residual, out=whole.narrow(1, self.first, self.conv.weight.shape[0]))


class Complete(torch.nn.Module):
    """The concatenation: ``forward(whole, *parts)``."""

    def forward(self, whole: Optional[torch.Tensor], *parts: torch.Tensor) -> torch.Tensor:
        return torch.cat(parts, 1) if whole is None else whole


def place(node: fx.Node, parts: Sequence[fx.Node], model: fx.GraphModule, decider: Decider, layers: dict[fx.Node, Layer]) -> bool:
    """Has the convolutions whose results a node concatenates write them there, where all parts are such, or parts of such."""
    sources = _sources(parts, layers)
    if sources is None or _is_written(node, sources, model) or not fit(sources, set(sources), model, decider):
        return False
    channels = [patterns.shape_of(source)[1] for source in sources]  # type: ignore[index]
    order = {other: place for place, other in enumerate(model.graph.nodes)}
    opening = min(sources, key=order.__getitem__)
    module: Any = patterns.module_of(opening, model)
    with model.graph.inserting_before(opening):
        whole = model.graph.call_module(patterns.add_module(model, node.name, Whole(module, channels)), (opening.args[0],))
    for place_of, source in enumerate(sources):
        conv: Any = patterns.module_of(source, model)
        target = patterns.add_module(model, str(source.target), Part(conv, sum(channels[:place_of])))
        layer = layers.pop(source)
        source.target, source.args = target, (whole, *source.args)
        layer.fused.append("cat")
    with model.graph.inserting_before(node):
        made = model.graph.call_module(patterns.add_module(model, node.name, Complete()), (whole, *parts))
    made.meta.update(node.meta)
    node.replace_all_uses_with(made)
    model.graph.erase_node(node)
    return True


def _sources(parts: Sequence[fx.Node], layers: dict[fx.Node, Layer]) -> Optional[list[fx.Node]]:
    """The convolutions whose results, one after the other, the parts are: whole, or split into all of their parts in order."""
    sources: list[fx.Node] = []
    place = 0
    while place < len(parts):
        source, count = (parts[place], 1) if parts[place] in layers else _split(parts[place:], layers)
        if source is None or source in sources:
            return None
        sources.append(source)
        place += count
    return sources


def _split(parts: Sequence[fx.Node], layers: dict[fx.Node, Layer]) -> tuple[Optional[fx.Node], int]:
    """The convolution whose result the first parts are, and how many."""
    split = parts[0].args[0] if patterns.is_item(parts[0], 0) else None
    source = patterns.split_channels(split) if isinstance(split, fx.Node) else None
    if source is None or source not in layers or (whole := patterns.shape_of(source)) is None:
        return None, 0
    channels = 0
    for count, part in enumerate(parts):
        shape = patterns.shape_of(part)
        if not patterns.is_item(part, count) or part.args[0] is not split or shape is None:
            break
        channels += shape[1]
        if channels == whole[1]:
            return source, count + 1
    return None, 0


def _is_written(node: fx.Node, sources: Sequence[fx.Node], model: fx.GraphModule) -> bool:
    """Whether anybody changes, or could, what will share memory: the result, and what it is made of, with its parts."""
    tensors = [*sources]
    for tensor in tensors:
        for user in tensor.users:
            if user.op == "output" or patterns.writes_to(user, tensor, model):
                return True
            if patterns.is_part(user):
                tensors.append(user)
    return any(patterns.writes_to(user, node, model) for user in node.users)
