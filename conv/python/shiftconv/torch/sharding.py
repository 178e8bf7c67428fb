"""How distributed tensors (torch.distributed.tensor.DTensor) pass through ``conv``, which imports this when it meets one: split along N, or
along K, or whole on every rank. What comes otherwise is redistributed."""

from __future__ import annotations

import math
from typing import Any, Optional

import torch
from torch.distributed.tensor import DTensor, Placement, Replicate, Shard
from torch.distributed.tensor._op_schema import OpSchema, OpStrategy, RuntimeSchemaInfo, StrategyType
from torch.distributed.tensor._ops.utils import expand_to_full_mesh_op_strategy

from .layouts import channels_last
from .operators import PREPARED, channels_last_strides


def in_local_layout(tensor: Any) -> Any:
    """The same with this rank's part in channels_last: PyTorch makes parts contiguous when it splits a tensor."""
    if not isinstance(tensor, DTensor) or tensor.dim() < 3:
        return tensor
    local = tensor.to_local()
    laid = channels_last(local)
    if laid is local:
        return tensor
    return DTensor.from_local(
        laid, tensor.device_mesh, tensor.placements, run_check=False, shape=tensor.shape,
        stride=tuple(channels_last_strides(tensor.shape)),
    )  # fmt: skip


def _strategies(schema: OpSchema, operands: list[Any], groups: int) -> StrategyType:
    """operands: x, w, bias, residual and channel_scale in the order of the arguments; None where there is none."""

    def placed(output: Any, *inputs: Any) -> list[Any]:
        return [output, *(place for place, operand in zip(inputs, operands) if isinstance(operand, OpStrategy))]

    whole = Replicate()
    ways = [placed(whole, whole, whole, whole, whole, whole), placed(Shard(0), Shard(0), whole, whole, Shard(0), whole)]
    if groups == 1:
        ways.append(placed(Shard(1), whole, Shard(0), Shard(0), Shard(1), Shard(0)))
    return expand_to_full_mesh_op_strategy(schema.get_mesh_from_args(), schema, ways)


def _groups_in(settings: str) -> int:
    return int(settings.split(" ")[3])


def _prepared(schema: OpSchema) -> StrategyType:
    return _strategies(schema, list(schema.args_schema[:5]), _groups_in(str(schema.args_schema[5])))


# The settings decide about the output's shape, so they are part of the key of PyTorch's cache of decisions. That cannot hold lists of
# keyword arguments, which is why torch.ops.shiftconv.conv has no rule.
DTensor._op_dispatcher.sharding_propagator.register_op_strategy(PREPARED, _prepared, RuntimeSchemaInfo(static_argnum=5))


def _splits(extent: int, sizes: list[int]) -> bool:
    """Whether every rank gets something of an axis that is split over so many ranks. PyTorch's parts are of one size, the last smaller."""
    part = -(-extent // sizes[0])
    return extent % math.prod(sizes) == 0 or len(sizes) == 1 and -(-extent // part) == sizes[0]


def _placements(x: DTensor, w: DTensor, groups: int) -> list[tuple[Placement, Placement, Placement, Placement, Placement]]:
    """Of x, w, bias, residual and channel_scale, for each axis of the mesh: those of x and w where they fit, else whole."""
    whole, images, filters = Replicate(), Shard(0), Shard(0)
    sizes = list(x.device_mesh.shape)
    by_images = [i for i, place in enumerate(x.placements) if place == images]
    by_filters = [i for i, place in enumerate(w.placements) if place == filters and i not in by_images and x.placements[i] == whole]
    if by_images and not _splits(x.shape[0], [sizes[i] for i in by_images]):
        by_images = []
    if by_filters and (groups != 1 or not _splits(w.shape[0], [sizes[i] for i in by_filters])):
        by_filters = []
    return [
        (images, whole, whole, images, whole) if i in by_images
        else (whole, filters, filters, Shard(1), filters) if i in by_filters
        else (whole,) * 5
        for i in range(len(sizes))
    ]  # fmt: skip


def conv_distributed(
    x: Any, w: Any, bias: Any, residual: Any, channel_scale: Any, settings: str, out_dtype: Optional[torch.dtype]
) -> torch.Tensor:
    """PREPARED for distributed tensors. They are redistributed here, because PyTorch would do so behind the layout."""
    operands = [x, w, bias, residual, channel_scale]
    if all(operand is None or isinstance(operand, DTensor) for operand in operands):  # else PyTorch says what is mixed
        placements = zip(*_placements(x, w, _groups_in(settings)))
        operands = [
            None if operand is None else in_local_layout(operand.redistribute(placements=place))
            for operand, place in zip(operands, placements)
        ]
    return PREPARED(*operands, settings, out_dtype)
