"""``backend``: ShiftConv in what torch.compile compiles."""

from __future__ import annotations

import inspect
import types
import warnings
from typing import Any, Callable, Optional, Sequence

import torch
import torch.nn.functional as F
from torch import fx, nn

from . import patterns
from .census import Census
from .deciding import Decider
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
        _make_modules(model, _constants(model, example_inputs))
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


_CONVOLUTIONS = {torch.conv1d: nn.Conv1d, torch.conv2d: nn.Conv2d, torch.conv3d: nn.Conv3d}
_NORMS = dict(zip(patterns.CONVOLUTIONS, patterns.BATCH_NORMS))
_CONVOLUTION = inspect.signature(lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1: None)
_NORM = inspect.signature(F.batch_norm)


def _make_modules(model: fx.GraphModule, constants: dict[fx.Node, torch.Tensor]) -> None:
    """Makes calls of functions with constant weights calls of modules again, as symbolic tracing gives them."""
    for node in list(model.graph.nodes):
        if node.op != "call_function":
            continue
        made: Optional[nn.Module] = None
        if node.target in _CONVOLUTIONS:
            arguments = _bound(_CONVOLUTION, node)
            if _are_constant(constants, arguments["weight"], arguments["bias"]):
                made = _convolution(_CONVOLUTIONS[node.target], arguments, constants)
        elif node.target is F.batch_norm:
            arguments = _bound(_NORM, node)
            before = patterns.module_of(arguments["input"], model)
            numbers = [arguments[name] for name in ("running_mean", "running_var", "weight", "bias")]
            if type(before) in _NORMS and not arguments["training"] and _are_constant(constants, *numbers) and numbers[0] is not None:
                made = _norm(_NORMS[type(before)], [constants.get(number) for number in numbers], arguments["eps"])
        if made is not None:
            with model.graph.inserting_after(node):
                call = model.graph.call_module(patterns.add_module(model, node.name, made), (arguments["input"],))
            call.meta.update(node.meta, shiftconv_name=_name_of(node))
            node.replace_all_uses_with(call)
            model.graph.erase_node(node)


def _bound(signature: inspect.Signature, node: fx.Node) -> dict[str, Any]:
    bound = signature.bind(*node.args, **node.kwargs)
    bound.apply_defaults()
    return bound.arguments


def _are_constant(constants: dict[fx.Node, torch.Tensor], *values: Any) -> bool:
    return all(value is None or value in constants for value in values)


def _convolution(kind: Any, arguments: dict[str, Any], constants: dict[fx.Node, torch.Tensor]) -> nn.Module:
    weight = constants[arguments["weight"]]
    made = kind(
        weight.shape[1] * arguments["groups"], weight.shape[0], tuple(weight.shape[2:]), arguments["stride"], arguments["padding"],
        arguments["dilation"], arguments["groups"], bias=arguments["bias"] is not None, device="meta",
    )  # fmt: skip
    made.weight = nn.Parameter(weight.detach(), requires_grad=False)
    if arguments["bias"] is not None:
        made.bias = nn.Parameter(constants[arguments["bias"]].detach(), requires_grad=False)
    return made.eval()


def _norm(kind: Any, numbers: Sequence[Optional[torch.Tensor]], eps: float) -> nn.Module:
    mean, variance, weight, bias = numbers
    assert mean is not None and variance is not None
    made = kind(mean.numel(), eps, affine=False).eval()
    made.running_mean, made.running_var = mean.detach(), variance.detach()
    made.weight, made.bias = (None if value is None else nn.Parameter(value.detach(), requires_grad=False) for value in (weight, bias))
    return made


def _name_of(node: fx.Node) -> str:
    """Where its module is in the model, or the node's name."""
    stack = node.meta.get("nn_module_stack")
    path = next(reversed(stack.values()))[0] if stack else ""
    return path.partition("].")[2] or node.name


def _convert(model: fx.GraphModule, found: Any) -> None:
    """Folding leaves float32; back to the dtype of the convolution's input."""
    for node, *_ in found:
        module = patterns.module_of(node, model)
        if module is not None:
            dtype = patterns.dtype_of(node)
            module.to(dtype)
            for parameter in module.parameters():
                parameter.data = in_channels_last(parameter.data)
