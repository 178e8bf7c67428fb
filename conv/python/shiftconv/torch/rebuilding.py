"""Calls of functions with constant weights as calls of modules again, as symbolic tracing gives the modules of torch.nn."""

from __future__ import annotations

import inspect
import operator
from typing import Any, Optional, Sequence

import torch
import torch.nn.functional as F
from torch import fx, nn

from . import patterns

_CONVOLUTIONS = {torch.conv1d: nn.Conv1d, torch.conv2d: nn.Conv2d, torch.conv3d: nn.Conv3d}
_CONVOLUTION = inspect.signature(lambda input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1: None)
_NORM = inspect.signature(F.batch_norm)

# What weights are computed with, where they are standardised or scaled: gives new tensors and has no state.
_PURE_FUNCTIONS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.getitem,
    torch.add, torch.sub, torch.mul, torch.div, torch.sqrt, torch.rsqrt, torch.var_mean, torch.std_mean, torch.mean,
)  # fmt: skip
_PURE_METHODS = ("reshape", "reshape_as", "view", "view_as", "flatten", "unsqueeze", "squeeze", "mul", "add", "sub", "div", "mean", "sqrt", "rsqrt")


def rebuild(model: fx.GraphModule) -> None:
    """In a traced model: modules of other packages that call functions of torch with weights of their own, such as batch normalisations
    that go on with an activation, or convolutions that standardise their weights. Weights are taken as they are now."""
    _drop_rank_checks(model)
    constants: dict[fx.Node, torch.Tensor] = {}
    for node in model.graph.nodes:
        value = _constant(node, model, constants)
        if value is not None:
            constants[node] = value
    make_modules(model, constants)
    for node in reversed(list(model.graph.nodes)):
        if node in constants and not node.users:
            model.graph.erase_node(node)


def make_modules(model: fx.GraphModule, constants: dict[fx.Node, torch.Tensor]) -> None:
    """Convolutions, and batch normalisations that follow one, of which all weights are among the constants."""
    for node in list(model.graph.nodes):
        if node.op != "call_function":
            continue
        made: Optional[nn.Module] = None
        if node.target in _CONVOLUTIONS:
            arguments = _bound(_CONVOLUTION, node)
            if _are_constant(constants, arguments["weight"], arguments["bias"]):
                made = _convolution(_CONVOLUTIONS[node.target], arguments, constants)
        elif node.target is F.batch_norm and isinstance(node.args[0] if node.args else None, fx.Node):
            arguments = _bound(_NORM, node)
            kind = _norm_after(patterns.module_of(arguments["input"], model))
            numbers = [arguments[name] for name in ("running_mean", "running_var", "weight", "bias")]
            if kind is not None and not arguments["training"] and _are_constant(constants, *numbers) and numbers[0] is not None:
                made = _norm(kind, [constants.get(number) for number in numbers], arguments["eps"])
        if made is not None:
            with model.graph.inserting_after(node):
                call = model.graph.call_module(patterns.add_module(model, node.name, made), (arguments["input"],))
            call.meta.update(node.meta, shiftconv_name=_name_of(node))
            node.replace_all_uses_with(call)
            model.graph.erase_node(node)


def _constant(node: fx.Node, model: fx.GraphModule, known: dict[fx.Node, torch.Tensor]) -> Any:
    """What a node gives in every run, where that is a parameter, a buffer or computed of such."""
    if node.op == "get_attr":
        owner, _, name = str(node.target).rpartition(".")
        value = getattr(model.get_submodule(owner), name)
        return value.detach() if isinstance(value, torch.Tensor) else None
    inputs = node.all_input_nodes
    if not inputs or not all(one in known for one in inputs):
        return None
    arguments, named = fx.node.map_arg((node.args, node.kwargs), lambda one: known[one])
    if node.op == "call_method" and node.target in _PURE_METHODS:
        return getattr(arguments[0], str(node.target))(*arguments[1:], **named)
    if node.op != "call_function":
        return None
    standardises = node.target is F.batch_norm and _bound(_NORM, node)["running_mean"] is None
    return node.target(*arguments, **named) if standardises or node.target in _PURE_FUNCTIONS else None


def _drop_rank_checks(model: fx.GraphModule) -> None:
    """Assertions that a tensor has so many dimensions. They would be another reader of a convolution's result, which has as many as its
    weight, and convolutions check it themselves."""
    for node in list(model.graph.nodes):
        if node.op == "call_function" and node.target is torch._assert and node.args and isinstance(condition := node.args[0], fx.Node):
            if condition.target is operator.eq and _is_rank(condition.args[0]) and isinstance(condition.args[1], int):
                model.graph.erase_node(node)
                if not condition.users:
                    model.graph.erase_node(condition)
    for node in list(model.graph.nodes):
        if _is_rank(node) and not node.users:  # those in the assertions' sentences, too
            model.graph.erase_node(node)


def _is_rank(value: Any) -> bool:
    if not isinstance(value, fx.Node):
        return False
    return (value.target is getattr and value.args[1] == "ndim") or (value.op == "call_method" and value.target == "dim")


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


def _norm_after(module: Optional[nn.Module]) -> Any:
    """The kind of batch normalisation that can be folded into a module."""
    if not patterns.is_convolution(module) and not patterns.pads_as_tensorflow(module):
        return None
    return next(norm for conv, norm in zip(patterns.CONVOLUTIONS, patterns.BATCH_NORMS) if isinstance(module, conv))


def _norm(kind: Any, numbers: Sequence[Optional[torch.Tensor]], eps: float) -> nn.Module:
    mean, variance, weight, bias = numbers
    assert mean is not None and variance is not None
    made = kind(mean.numel(), eps, affine=False).eval()
    made.running_mean, made.running_var = mean.detach(), variance.detach()
    made.weight, made.bias = (None if value is None else nn.Parameter(value.detach(), requires_grad=False) for value in (weight, bias))
    return made


def _name_of(node: fx.Node) -> str:
    """Where its module is in the model, or the node's name. Dynamo writes L['self'] in front."""
    stack = node.meta.get("nn_module_stack")
    path = next(reversed(stack.values()))[0] if stack else ""
    return (path.partition("].")[2] if "]" in path else path) or node.name
