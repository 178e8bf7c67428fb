"""What nodes of a traced model are: convolutions, and what can be fused into them."""

from __future__ import annotations

import math
import operator
from typing import Any, Iterator, Optional

import torch
import torch.nn.functional as F
from torch import fx, nn

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)

_MODULES = {
    nn.ReLU: "relu",
    nn.ReLU6: "relu6",
    nn.SiLU: "silu",
    nn.Hardswish: "hard_swish",
    nn.Sigmoid: "sigmoid",
    nn.Tanh: "tanh",
}
_FUNCTIONS = {
    F.relu: "relu",
    F.relu_: "relu",
    torch.relu: "relu",
    torch.relu_: "relu",
    F.relu6: "relu6",
    F.silu: "silu",
    F.hardswish: "hard_swish",
    F.sigmoid: "sigmoid",
    torch.sigmoid: "sigmoid",
    F.tanh: "tanh",
    torch.tanh: "tanh",
}
_PADDING = (F.pad, torch._C._nn.pad)
_DROPOUTS = (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout, F.feature_alpha_dropout)
_METHODS = {"relu": "relu", "relu_": "relu", "sigmoid": "sigmoid", "sigmoid_": "sigmoid", "tanh": "tanh", "tanh_": "tanh"}
_ADDITIONS = (operator.add, operator.iadd, torch.add)
_IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv, F.relu_, torch.relu_)


def module_of(node: fx.Node, model: fx.GraphModule) -> Optional[nn.Module]:
    return model.get_submodule(str(node.target)) if node.op == "call_module" else None


def add_module(model: fx.GraphModule, near: str, module: nn.Module) -> str:
    name, count = f"{near}_shiftconv", 0
    while _has_module(model, f"{name}{count}"):
        count += 1
    model.add_submodule(f"{name}{count}", module)
    return f"{name}{count}"


def _has_module(model: nn.Module, name: str) -> bool:
    try:
        model.get_submodule(name)
        return True
    except AttributeError:
        return False


def is_convolution(module: Optional[nn.Module]) -> bool:
    """One that computes what nn.Conv1d, nn.Conv2d or nn.Conv3d does; classes derived from them may do something else."""
    return any(isinstance(module, base) and type(module).forward is base.forward for base in CONVOLUTIONS)


def pads_as_tensorflow(module: Optional[nn.Module]) -> bool:
    """timm's, which has as many zeros around as give ceil(extent / stride) outputs."""
    return type(module).__name__ == "Conv2dSame" and isinstance(module, nn.Conv2d)


_CALLS = (torch.conv1d, torch.conv2d, torch.conv3d)


def is_convolution_call(node: fx.Node) -> bool:
    """A convolution whose weight is an argument."""
    return node.op == "call_function" and node.target in _CALLS


def flops_of(node: fx.Node, model: fx.GraphModule) -> float:
    """Of a convolution, two for each product; 0 where shapes are unknown."""
    module = module_of(node, model)
    if module is not None:
        filters: Any = tuple(module.weight.shape)  # type: ignore[union-attr]
    else:
        weight = node.args[1] if len(node.args) > 1 else node.kwargs.get("weight")
        filters = shape_of(weight) if isinstance(weight, fx.Node) else None
    made = shape_of(node)
    return 0.0 if made is None or filters is None else 2.0 * math.prod(made) * math.prod(filters[1:])


def is_batch_norm(module: Optional[nn.Module]) -> bool:
    """One whose statistics are constants."""
    if type(module).__name__ == "FrozenBatchNorm2d":
        return True
    if not isinstance(module, BATCH_NORMS) or type(module).forward is not nn.BatchNorm2d.forward:
        return False
    return not module.training and module.running_mean is not None


_DROPPING = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "StochasticDepth", "DropPath")
_LEAVES = ("FrozenBatchNorm2d", *_DROPPING)


def is_identity(node: fx.Node, model: fx.GraphModule) -> bool:
    """One that passes its input on in evaluation."""
    module = module_of(node, model)
    if module is not None:
        return type(module) is nn.Identity or (type(module).__name__ in _DROPPING and not module.training)
    if node.op != "call_function":
        return False
    if node.target in _DROPOUTS:
        return node.kwargs.get("training", node.args[2] if len(node.args) > 2 else True) is False
    if getattr(node.target, "__name__", "") != "stochastic_depth":
        return False
    return node.kwargs.get("training", node.args[3] if len(node.args) > 3 else True) is False


def _in_place(operation: Any) -> Any:
    return lambda self, other: self.tracer.create_proxy("call_function", operation, (self, other), {})


def _part_count(node: fx.Node) -> Optional[int]:
    """Of what a node splits its tensor into, as the call has it."""
    if node.target in ("chunk", torch.chunk):
        count = node.args[1] if len(node.args) > 1 else node.kwargs.get("chunks")
        return count if isinstance(count, int) else None
    if node.target in ("split", torch.split):
        names = ("split_size", "split_size_or_sections")
        sizes = node.args[1] if len(node.args) > 1 else next((node.kwargs[name] for name in names if name in node.kwargs), None)
        return len(sizes) if isinstance(sizes, (list, tuple)) else None
    return None


class Proxy(fx.Proxy):
    """Records ``x += y`` as what it does; torch.fx takes it for ``x = x + y``, which other names of x do not see. Knows how many parts
    a call splits a tensor into, where the call says so: ``list(x.chunk(2, 1))`` is that many."""

    __iadd__, __isub__ = _in_place(operator.iadd), _in_place(operator.isub)
    __imul__, __itruediv__ = _in_place(operator.imul), _in_place(operator.itruediv)

    def __len__(self) -> int:
        count = _part_count(self.node)
        return super().__len__() if count is None else count


class Tracer(fx.Tracer):
    """Keeps together what the rewriting knows, also where it is derived from PyTorch's classes or comes with torchvision."""

    def proxy(self, node: fx.Node) -> fx.Proxy:
        return Proxy(node, self)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return (
            is_convolution(m)
            or pads_as_tensorflow(m)
            or type(m).__name__ in _LEAVES
            or super().is_leaf_module(m, module_qualified_name)
        )

    def iter(self, obj: fx.Proxy) -> Iterator[fx.Proxy]:
        return super().iter(obj) if _part_count(obj.node) is None else iter([obj[i] for i in range(len(obj))])

    def call_module(self, m: nn.Module, forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        last, depth = next(iter(reversed(self.graph.nodes)), None), len(self.module_stack)
        try:
            return super().call_module(m, forward, args, kwargs)
        except Exception:  # what it does depends on values or shapes: it stays as it is, and the rest can be followed
            for node in reversed(list(self.graph.nodes)):
                if node is last:
                    break
                self.graph.erase_node(node)
            while len(self.module_stack) > depth:
                self.module_stack.popitem()
            return self.create_proxy("call_module", self.path_of_module(m), args, kwargs)


def is_opaque(module: Optional[nn.Module]) -> bool:
    """One of another package that stayed as it is: it may do anything to what it takes."""
    if module is None or type(module).__name__ in _LEAVES:
        return False
    return not type(module).__module__.startswith(("torch.", __package__))


def traced(model: nn.Module) -> fx.GraphModule:
    """The model as a graph, in which modules that the tracer cannot follow stay as they are. Raises what the tracer raises where that
    is the model itself."""
    tracer = Tracer()
    return fx.GraphModule(model, tracer.trace(model), type(model).__name__)


def activation_of_node(node: fx.Node, model: fx.GraphModule) -> Any:
    """What ``conv`` calls the activation that a node computes; None when it is none."""
    module = module_of(node, model)
    if module is not None:
        if type(module) in _MODULES:
            return _MODULES[type(module)]
        if type(module) is nn.GELU:
            return "gelu" if module.approximate == "none" else "gelu_tanh"
        if type(module) is nn.LeakyReLU:
            return ("leaky_relu", module.negative_slope)
        if type(module) is nn.Hardtanh:
            return ("clamp", module.min_val, module.max_val)
        return None
    if node.op == "call_method":
        if node.target in ("clamp", "clamp_"):
            return _limits(node, "min", "max", None, None)
        return _METHODS.get(str(node.target)) if len(node.args) == 1 and not node.kwargs else None
    if node.op != "call_function":
        return None
    if node.target in (torch.clamp, torch.clamp_):
        return _limits(node, "min", "max", None, None)
    if node.target in (F.hardtanh, F.hardtanh_):
        return _limits(node, "min_val", "max_val", -1.0, 1.0)
    if node.target is F.gelu and len(node.args) == 1:
        return "gelu" if node.kwargs.get("approximate", "none") == "none" else "gelu_tanh"
    if node.target is F.leaky_relu:
        slope = node.args[1] if len(node.args) > 1 else node.kwargs.get("negative_slope", 0.01)
        return ("leaky_relu", slope) if isinstance(slope, (int, float)) else None
    return _FUNCTIONS.get(node.target)  # type: ignore[arg-type]


def _limits(node: fx.Node, low_name: str, high_name: str, low: Optional[float], high: Optional[float]) -> Any:
    low = node.args[1] if len(node.args) > 1 else node.kwargs.get(low_name, low)  # type: ignore[assignment]
    high = node.args[2] if len(node.args) > 2 else node.kwargs.get(high_name, high)  # type: ignore[assignment]
    return ("clamp", low, high) if all(isinstance(limit, (int, float)) for limit in (low, high)) else None


def addends(node: fx.Node) -> Optional[tuple[fx.Node, fx.Node]]:
    """The two tensors that a node adds, which have one shape."""
    is_method = node.op == "call_method" and node.target in ("add", "add_")
    if not is_method and not (node.op == "call_function" and node.target in _ADDITIONS):
        return None
    if len(node.args) != 2 or node.kwargs or not all(isinstance(arg, fx.Node) for arg in node.args):
        return None
    first, second = node.args
    shapes = [shape_of(arg) for arg in (first, second)]
    if shapes[0] is None or shapes[0] != shapes[1] or dtype_of(first) != dtype_of(second):
        return None
    return first, second  # type: ignore[return-value]


_CONCATENATIONS = (torch.cat, torch.concat, torch.concatenate)


def concatenated(node: fx.Node) -> Optional[list[fx.Node]]:
    """The tensors that a node puts next to each other along their channels."""
    if node.op != "call_function" or node.target not in _CONCATENATIONS:
        return None
    given = {**dict(zip(("tensors", "dim"), node.args)), **node.kwargs}
    parts, dim = given.get("tensors"), given.get("dim", 0)
    if set(given) != {"tensors", "dim"} or not isinstance(parts, (list, tuple)) or not all(isinstance(p, fx.Node) for p in parts):
        return None
    shape = shape_of(node)
    if shape is None or not isinstance(dim, int) or dim % len(shape) != 1:
        return None
    return list(parts)


def is_item(node: fx.Node, number: int) -> bool:
    """Whether a node is that one of several results."""
    return node.op == "call_function" and node.target is operator.getitem and node.args[1] == number


def is_part(node: fx.Node) -> bool:
    """Whether a node splits a tensor, or is one of the parts."""
    return node.target in (operator.getitem, "chunk", "split", torch.chunk, torch.split)


def split_channels(node: fx.Node) -> Optional[fx.Node]:
    """The tensor whose channels a node splits."""
    if node.target not in ("chunk", "split", torch.chunk, torch.split) or not node.args or not isinstance(node.args[0], fx.Node):
        return None
    dim, shape = node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0), shape_of(node.args[0])
    return node.args[0] if shape is not None and isinstance(dim, int) and dim % len(shape) == 1 else None


def zero_padding(node: fx.Node, model: fx.GraphModule, spatial: int) -> Optional[list[tuple[int, int]]]:
    """(before, after) of each spatial dimension, where a node pads with zeros and nothing else."""
    module = module_of(node, model)
    if module is not None:
        if not type(module).__name__.startswith(("ZeroPad", "ConstantPad")) or getattr(module, "value", 0) != 0:
            return None
        amounts = module.padding
    elif node.op == "call_function" and node.target in _PADDING:
        names = ("input", "pad", "mode", "value")
        given = {**dict(zip(names, node.args)), **node.kwargs}
        if given.get("mode", "constant") != "constant" or given.get("value") not in (None, 0, 0.0):
            return None
        amounts = given["pad"]
    else:
        return None
    if not all(isinstance(amount, int) and amount >= 0 for amount in amounts):
        return None
    pairs = [(amounts[i], amounts[i + 1]) for i in range(0, len(amounts), 2)]  # of the last dimension first
    if any(pair != (0, 0) for pair in pairs[spatial:]):
        return None
    pairs = pairs[:spatial] + [(0, 0)] * (spatial - len(pairs))
    return pairs[::-1]


def writes_to(node: fx.Node, target: fx.Node, model: fx.GraphModule) -> bool:
    """Whether a node changes a tensor that it takes."""
    module = module_of(node, model)
    if is_opaque(module) and not is_convolution(module) and not pads_as_tensorflow(module):
        return target in node.all_input_nodes
    if not node.args or node.args[0] is not target:
        return False
    if module is not None:
        return bool(getattr(module, "inplace", False))
    if node.op == "call_method":
        return str(node.target).endswith("_") and not str(node.target).endswith("__")
    # Where a flag is given by its place, it may be "inplace".
    return node.target in _IN_PLACE or bool(node.kwargs.get("inplace", False)) or any(arg is True for arg in node.args)


def shape_of(node: fx.Node) -> Optional[tuple[int, ...]]:
    metadata = node.meta.get("tensor_meta")
    return tuple(metadata.shape) if hasattr(metadata, "shape") else None


def dtype_of(node: fx.Node) -> Optional[torch.dtype]:
    return getattr(node.meta.get("tensor_meta"), "dtype", None)
