"""``replace``: a model whose convolutions run through ShiftConv, with what follows them fused."""

from __future__ import annotations

import contextlib
import copy
import io
from typing import Any, Callable, Optional, Sequence, Union

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.shape_prop import ShapeProp

from . import joining, patterns
from .census import Census, Layer
from .deciding import Decider
from .folding import folded
from .layers import LAYOUTS, ShiftConv
from .rebuilding import rebuild


def replace(
    model: nn.Module, example_inputs: Union[torch.Tensor, Sequence[Any]], tune: bool = False, tune_seconds: float = 1.0
) -> nn.Module:
    """A copy of a model for inference, with its convolutions in ShiftConv.

    The model is traced by torch.fx. Batch normalisation is folded into weights in float32, and bias, zero padding, the addition of a
    residual and the activation, in either order, run in the convolution's kernel, which also writes its part of a concatenation along
    the channels. Where a module, or the model, cannot be traced, it stays as it is, and each convolution module in it is exchanged by
    itself. A convolution stays with aten, with its batch normalisation folded all the same, where ShiftConv refuses it or has only
    ``direct`` for it.

    Args:
        model: left as it is. Give it in float32, so that folding loses nothing.
        example_inputs: a tensor, or the positional arguments. Their dtype is that in which the model will compute, their device where, and
            their shapes are what decisions are made for; the result takes other shapes, too.
        tune: on a GPU, measure each distinct convolution: every candidate of the planner, and aten. The fastest is taken.
        tune_seconds: at most about this long for the candidates of one convolution.

    Returns:
        A module with the attribute ``shiftconv_census``: layer by layer what happened and why (``print`` it, or ``.json()``).

    Raises:
        ValueError: no example input is a floating-point tensor, or tune without a GPU.
    """
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    tensors = [value for value in inputs if isinstance(value, torch.Tensor) and value.is_floating_point()]
    if not tensors:
        raise ValueError("shiftconv: example_inputs must hold a floating-point tensor")
    device, dtype = tensors[0].device, tensors[0].dtype
    decider = Decider(device, tune, tune_seconds)
    with torch.no_grad():
        model = copy.deepcopy(model).eval()
        inputs = tuple(in_channels_last(value) for value in inputs)
        try:
            traced, note = _traced(model), ""
        except Exception as error:  # whatever a model does that a tracer cannot follow
            traced, note = None, f"not traced, so nothing but bias is fused: {type(error).__name__}: {error}".splitlines()[0]
        is_traced = traced is not None
        if traced is None:
            layers = _exchange_modules(_prepared(model, device, dtype), inputs, decider, _convolutions(model))
            replaced: nn.Module = model
        else:
            if kept := _unfollowed(traced):
                note = f"not followed, so convolutions in them are exchanged by themselves: {', '.join(kept)}"
            replaced, layers = _rewrite(traced, inputs, decider, device, dtype)
    replaced.shiftconv_census = Census(layers, is_traced, note)  # type: ignore[assignment]
    return replaced


def fold(model: nn.Module, example_inputs: Union[torch.Tensor, Sequence[Any]]) -> nn.Module:
    """A copy of a model with batch normalisation folded as ``replace`` does it, and all convolutions in aten and channels_last: what
    ``replace`` is to be compared with."""
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    with torch.no_grad():
        traced = _traced(copy.deepcopy(model).eval())
        fold_all(traced)
        return finish(_prepared(traced, inputs[0].device, inputs[0].dtype))


def _traced(model: nn.Module) -> fx.GraphModule:
    traced = patterns.traced(model)
    rebuild(traced)
    return traced


def in_channels_last(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dim() in LAYOUTS:
        return value.contiguous(memory_format=LAYOUTS[value.dim()])
    return value


def _prepared(model: Any, device: torch.device, dtype: torch.dtype) -> Any:
    model.to(device=device, dtype=dtype)
    for tensor in [*model.parameters(), *model.buffers()]:
        tensor.data = in_channels_last(tensor.data)
    return model


def finish(model: fx.GraphModule) -> fx.GraphModule:
    # No elimination of dead code: it would take what only writes to a tensor.
    model.delete_all_unused_submodules()
    model.graph.lint()
    model.recompile()
    return model


def _drop_identities(model: fx.GraphModule) -> None:
    for node in list(model.graph.nodes):
        if patterns.is_identity(node, model):
            node.replace_all_uses_with(node.args[0])
            model.graph.erase_node(node)


def _only_user(node: fx.Node) -> Optional[fx.Node]:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _fold_into(node: fx.Node, conv: Any, model: fx.GraphModule) -> bool:
    """Puts a convolution of its own in the place of the node's module, with the batch normalisation that follows."""
    user = _only_user(node)
    norm = patterns.module_of(user, model) if user is not None else None
    if norm is not None and not patterns.is_batch_norm(norm):
        norm = None
    weight, bias = folded(conv, norm)
    made = copy.deepcopy(conv)
    made.weight = nn.Parameter(weight, requires_grad=False)
    made.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
    node.target = patterns.add_module(model, str(node.target), made)
    if norm is not None and user is not None:
        user.replace_all_uses_with(node)
        model.graph.erase_node(user)
    return norm is not None


class _Chain:
    """A convolution with what its kernel can do, too."""

    def __init__(self, node: fx.Node, conv: Any, model: fx.GraphModule) -> None:
        self.node, self.conv, self.model = node, conv, model
        self.x: fx.Node = node.args[0]  # type: ignore[assignment]
        self.same = patterns.pads_as_tensorflow(conv)
        self.pads = self._own_padding()
        self.last, self.place = node, node
        self.residual: Optional[fx.Node] = None
        self.residual_last = False
        self.activation: Any = None
        self.fused: list[str] = []
        self.nodes = [node]  # in the order of the graph
        self._take_padding()
        if conv.bias is not None:
            self.fused.append("bias")
        self._take_addition()
        self._take_activation()
        if self.activation is not None and self.residual is None:
            self._take_addition()
            self.residual_last = self.residual is not None

    def _own_padding(self) -> list[tuple[int, int]]:
        spatial = len(self.conv.kernel_size)
        if isinstance(self.conv.padding, str):
            totals = [d * (k - 1) if self.conv.padding == "same" else 0 for d, k in zip(self.conv.dilation, self.conv.kernel_size)]
            return [(total // 2, total - total // 2) for total in totals]
        return [(self.conv.padding[i], self.conv.padding[i]) for i in range(spatial)]

    def _take_padding(self) -> None:
        if self.same or not isinstance(self.x, fx.Node) or len(self.x.users) != 1:
            return
        pads = patterns.zero_padding(self.x, self.model, len(self.pads))
        if pads is not None and isinstance(self.x.args[0], fx.Node):
            self.pads = [(a + c, b + d) for (a, b), (c, d) in zip(self.pads, pads)]
            self.nodes.insert(0, self.x)
            self.x = self.x.args[0]
            self.fused.append("pad")

    def _take_addition(self) -> None:
        addition = _only_user(self.last)
        pair = patterns.addends(addition) if addition is not None else None
        if pair is None or addition is None or pair[0] is pair[1] or self._x_changes_before(addition):
            return
        residual = pair[1] if pair[0] is self.last else pair[0]
        if self.activation is not None and self._is_left_to(residual):
            return
        if patterns.writes_to(addition, residual, self.model) and self._is_seen_after(addition, residual):
            return
        self.residual = residual
        self.last = self.place = addition
        self.nodes.append(addition)
        self.fused.append("residual")

    def _is_left_to(self, other: fx.Node) -> bool:
        """Whether the other addend is a convolution that comes later: that can add before an activation, which more kernels do."""
        module = patterns.module_of(other, self.model)
        is_convolution = patterns.is_convolution(module) or patterns.pads_as_tensorflow(module)
        return is_convolution and self.node < other and _only_user(other) is not None

    def _x_changes_before(self, end: fx.Node) -> bool:
        """The kernel would read x at the end of the chain."""
        between, node = [], self.node.next
        while node is not end:
            between.append(node)
            node = node.next
        return any(patterns.writes_to(user, self.x, self.model) for user in between)

    @staticmethod
    def _is_seen_after(node: fx.Node, tensor: fx.Node) -> bool:
        """Whether anybody would miss what a node writes into a tensor."""
        return tensor.op in ("placeholder", "get_attr") or any(node < user for user in tensor.users)

    def _take_activation(self) -> None:
        user = _only_user(self.last)
        activation = patterns.activation_of_node(user, self.model) if user is not None else None
        if activation is not None and user is not None:
            self.activation, self.last = activation, user
            self.nodes.append(user)
            self.fused.append(activation if isinstance(activation, str) else activation[0])

    def module(self) -> ShiftConv:
        return ShiftConv(
            self.conv.weight, self.conv.bias, stride=self.conv.stride, padding="same" if self.same else [n for pair in self.pads for n in pair],
            dilation=self.conv.dilation, groups=self.conv.groups, activation=self.activation, residual_last=self.residual_last,
        )  # fmt: skip

    def put(self, module: ShiftConv) -> fx.Node:
        """The module in the place of all nodes of the chain."""
        target = patterns.add_module(self.model, str(self.node.target), module)
        with self.model.graph.inserting_after(self.place):
            arguments = (self.x,) if self.residual is None else (self.x, self.residual)
            made = self.model.graph.call_module(target, arguments)
        made.meta.update(self.last.meta)
        self.last.replace_all_uses_with(made)
        for node in reversed(self.nodes):
            self.model.graph.erase_node(node)
        return made

    def original(self) -> Callable[..., torch.Tensor]:
        """What aten computes for the chain, from (x, residual)."""
        conv, activation, residual_last = copy.deepcopy(self.conv), self.activation, self.residual_last
        flat = [n for pair in reversed(self.pads) for n in pair]
        symmetric = all(before == after for before, after in self.pads)
        if symmetric and not self.same:
            conv.padding = tuple(before for before, _ in self.pads)
            conv.padding_mode = "zeros"
        elif not self.same:
            conv.padding = (0,) * len(self.pads)
        function = _function_of(activation)

        def run(x: torch.Tensor, residual: Optional[torch.Tensor] = None) -> torch.Tensor:
            y = conv(x if symmetric else in_channels_last(nn.functional.pad(x, flat)))
            if residual is None:
                return function(y)
            return function(y).add_(residual) if residual_last else function(y.add_(residual))

        return run


def _function_of(activation: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    functions: dict[str, Callable[..., torch.Tensor]] = {
        "relu": nn.functional.relu_,
        "relu6": lambda y: y.clamp_(0, 6),
        "clamp": lambda y, low, high: y.clamp_(low, high),
        "leaky_relu": nn.functional.leaky_relu_,
        "gelu": nn.functional.gelu,
        "gelu_tanh": lambda y: nn.functional.gelu(y, approximate="tanh"),
        "silu": lambda y: nn.functional.silu(y, inplace=True),
        "hard_swish": lambda y: nn.functional.hardswish(y, inplace=True),
        "sigmoid": lambda y: y.sigmoid_(),
        "tanh": lambda y: y.tanh_(),
    }
    if activation is None:
        return lambda y: y
    if isinstance(activation, str):
        return functions[activation]
    name, *parameters = activation
    return lambda y: functions[name](y, *parameters)


def _rewrite(
    model: fx.GraphModule, inputs: Sequence[Any], decider: Decider, device: torch.device, dtype: torch.dtype
) -> tuple[nn.Module, list[Layer]]:
    found = fold_all(model)
    _prepared(model, device, dtype)
    model.recompile()
    _find_shapes(model, inputs)
    layers = _exchange_modules(model, inputs, decider, _inner_convolutions(model)) + decide_all(model, found, decider)
    joining.join_all(model, decider, {node: node.meta["shiftconv_layer"] for node in model.graph.nodes if "shiftconv_layer" in node.meta})
    return finish(model), layers


Found = list[tuple[fx.Node, str, bool]]


def fold_all(model: fx.GraphModule) -> Found:
    """Folds batch normalisations, in float32. Gives the convolutions, with their names and whether something was folded into them."""
    _drop_identities(model)
    found: Found = []
    for node in list(model.graph.nodes):
        conv = patterns.module_of(node, model)
        if patterns.is_convolution(conv) or patterns.pads_as_tensorflow(conv):
            name = node.meta.get("shiftconv_name", str(node.target))
            found.append((node, name, _fold_into(node, conv, model)))
        elif patterns.is_convolution_call(node):
            found.append((node, node.name, False))
    return found


def decide_all(model: fx.GraphModule, found: Found, decider: Decider) -> list[Layer]:
    """Exchanges those that go to ShiftConv. The nodes know the shapes and dtypes of their results (patterns.shape_of, dtype_of)."""
    flops = {node: patterns.flops_of(node, model) for node, *_ in found}
    layers = []
    for node, name, has_norm in found:
        if node.op != "call_module":
            layer = Layer(name, "", "aten", reason="a call of a function, not of a module")
        else:
            layer = _decide(node, name, model, decider)
        layer.flops = layer.flops or flops[node]
        if has_norm:
            layer.fused.insert(0, "batch_norm")
        layers.append(layer)
    return layers


def _find_shapes(model: fx.GraphModule, inputs: Sequence[Any]) -> None:
    """Writes shape and dtype of every node's result into its metadata."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # it prints what it raises
            ShapeProp(model, FakeTensorMode()).propagate(*inputs)
    except Exception:  # something needs values: run it
        ShapeProp(model).propagate(*inputs)


def _decide(node: fx.Node, name: str, model: fx.GraphModule, decider: Decider) -> Layer:
    conv: Any = patterns.module_of(node, model)
    if conv.padding_mode != "zeros":
        return Layer(name, "", "aten", reason=f"padding_mode is {conv.padding_mode!r}")
    chain = _Chain(node, conv, model)
    shape, dtype = patterns.shape_of(chain.x), patterns.dtype_of(chain.x)
    if shape is None or dtype is None or len(shape) != conv.weight.dim():
        return Layer(name, "", "aten", reason="x has no batch dimension")
    module = chain.module()
    layer = decider.layer(name, module, shape, dtype, chain.residual is not None, chain.original)
    if layer.engine == "shiftconv":
        layer.fused = chain.fused
        chain.put(module).meta["shiftconv_layer"] = layer
    return layer


def _inner_convolutions(model: fx.GraphModule) -> list[str]:
    """Those of modules that the tracer could not follow."""
    return [f"{outer}.{name}" for outer in _unfollowed(model) for name in _convolutions(model.get_submodule(outer)) if name]


def _unfollowed(model: fx.GraphModule) -> list[str]:
    """Modules that stayed as they are and have convolutions in them."""
    called = {str(node.target) for node in model.graph.nodes if patterns.is_opaque(patterns.module_of(node, model))}
    return sorted(name for name in called if any(inner != "" for inner in _convolutions(model.get_submodule(name))))


def _convolutions(model: nn.Module) -> list[str]:
    return [name for name, module in model.named_modules() if patterns.is_convolution(module)]


def _exchange_modules(model: nn.Module, inputs: Sequence[Any], decider: Decider, names: Sequence[str]) -> list[Layer]:
    """Each convolution module by itself, with the shape that it sees when the model runs."""
    seen: dict[str, torch.Tensor] = {}
    if not names:
        return []
    hooks = [model.get_submodule(name).register_forward_pre_hook(_recorder(seen, name)) for name in names]
    model(*inputs)
    for hook in hooks:
        hook.remove()
    layers = []
    for name, x in seen.items():
        conv = model.get_submodule(name)
        layers.append(_exchange(model, name, conv, x, decider))
    return layers


def _recorder(seen: dict[str, torch.Tensor], name: str) -> Callable[..., None]:
    def record(_: nn.Module, arguments: tuple[Any, ...]) -> None:
        seen.setdefault(name, arguments[0])

    return record


def _exchange(model: nn.Module, name: str, conv: Any, x: torch.Tensor, decider: Decider) -> Layer:
    if conv.padding_mode != "zeros":
        return Layer(name, "", "aten", reason=f"padding_mode is {conv.padding_mode!r}")
    if x.dim() != conv.weight.dim():
        return Layer(name, "", "aten", reason="x has no batch dimension")
    pads = conv.padding
    if isinstance(pads, str):
        totals = [d * (k - 1) if pads == "same" else 0 for d, k in zip(conv.dilation, conv.kernel_size)]
        pads = [n for total in totals for n in (total // 2, total - total // 2)]
    module = ShiftConv(
        conv.weight, conv.bias, stride=conv.stride, padding=pads, dilation=conv.dilation, groups=conv.groups
    )  # fmt: skip

    layer = decider.layer(name, module, tuple(x.shape), x.dtype, False, lambda: lambda value, _: conv(value))
    if layer.engine == "shiftconv":
        layer.fused = ["bias"] if conv.bias is not None else []
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, module)
    return layer
