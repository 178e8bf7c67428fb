"""``backend``: ShiftConv in what torch.compile compiles."""

from __future__ import annotations

import types
import warnings
from typing import Any, Callable, Optional, Sequence

import torch
from torch import fx

from . import patterns
from .census import Census
from .deciding import Decider
from .rebuilding import make_modules
from .replacing import decide_all, finish, fold_all, in_channels_last

_OPTIONS = {"tune": False, "tune_seconds": 1.0, "rest": "inductor", "census": None}


def backend(
    model: fx.GraphModule, example_inputs: Sequence[Any], *, options: Optional[dict[str, Any]] = None, **_: Any
) -> Callable[..., Any]:
    """``torch.compile(model, backend=shiftconv.torch.backend)``: convolutions as ``replace`` puts them into ShiftConv, and the rest, which
    Inductor compiles.

    Weights and statistics that belong to modules are taken as constants, folded once: compile again after changing them. Inputs may
    have any layout; what is not channels_last is copied. Where an input requires grad, nothing is done: all goes to the rest.

    Args:
        options: of ``torch.compile(options=...)``: "tune" and "tune_seconds" as ``replace`` has them; "rest": the backend for what is no
            convolution; "census": called with the ``Census`` of each graph.

    Raises:
        ValueError: there is no such option.
    """
    chosen = {**_OPTIONS, **(options or {})}
    if len(chosen) != len(_OPTIONS):
        raise ValueError(f"shiftconv: options must be of {', '.join(_OPTIONS)}, but are {', '.join(options or {})}")
    rest = torch._dynamo.lookup_backend(chosen["rest"])
    if torch.is_grad_enabled() and any(isinstance(value, torch.Tensor) and value.requires_grad for value in example_inputs):
        warnings.warn(
            "shiftconv: an input or a parameter requires grad, but ShiftConv computes forward only, so that nothing is replaced; call the "
            "compiled model under torch.no_grad() or torch.inference_mode()",
            stacklevel=2,
        )
        return rest(model, example_inputs)
    device = next((value.device for value in example_inputs if isinstance(value, torch.Tensor)), torch.device("cpu"))
    with torch.no_grad():
        _write_shapes(model)
        make_modules(model, _constants(model, example_inputs))
        found = fold_all(model)
        _convert(model, found)
        census = Census(decide_all(model, found, Decider(device, chosen["tune"], chosen["tune_seconds"])), traced=True)
        finish(model)
    if chosen["census"] is not None:
        chosen["census"](census)
    # Another module, of which PyTorch does not expect that all parameters came from Dynamo.
    return rest(fx.GraphModule(model, model.graph), example_inputs)


def _constants(model: fx.GraphModule, example_inputs: Sequence[Any]) -> dict[fx.Node, torch.Tensor]:
    """The placeholders that stand for parameters and buffers of modules."""
    placeholders = [node for node in model.graph.nodes if node.op == "placeholder"]
    return {
        node: value
        for node, value in zip(placeholders, example_inputs)
        if isinstance(value, torch.Tensor) and "_dynamo_static_input_type" in (node.meta.get("tensor_dict") or {})
    }


def _write_shapes(model: fx.GraphModule) -> None:
    """Shapes and dtypes as patterns.shape_of and dtype_of read them. Symbols have the sizes of the example."""
    for node in model.graph.nodes:
        value = node.meta.get("example_value")
        if isinstance(value, torch.Tensor):
            sizes = [size.node.hint if isinstance(size, torch.SymInt) else size for size in value.shape]
            if None not in sizes:
                node.meta["tensor_meta"] = types.SimpleNamespace(shape=tuple(sizes), dtype=value.dtype)


def _convert(model: fx.GraphModule, found: Any) -> None:
    """Folding leaves float32; back to the dtype of the convolution's input."""
    for node, *_ in found:
        module = patterns.module_of(node, model)
        if module is not None:
            dtype = patterns.dtype_of(node)
            module.to(dtype)
            for parameter in module.parameters():
                parameter.data = in_channels_last(parameter.data)
