"""``conv``: the operators with the arguments that people write."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import torch

from .operators import CONV, CONV_OUT, PAIR, PAIR_OUT, PREPARED, PREPARED_OUT, glue, refuse_gradients, settings_of, spread

Ints = Union[int, Sequence[int]]
Padding = Union[int, str, Sequence[Union[int, Sequence[int]]]]
ActivationLike = Union[None, str, Sequence[Any]]

# Names that frameworks use, and what they are here: name, activation_a, activation_b.
_ALIASES = {
    "identity": ("none", 0.0, 0.0),
    "relu6": ("clamp", 0.0, 6.0),
    "gelu": ("gelu_erf", 0.0, 0.0),
    "swish": ("silu", 0.0, 0.0),
    "hardswish": ("hard_swish", 0.0, 0.0),
}
_PARAMETERS = {"leaky_relu": 1, "clamp": 2}


def activation_of(activation: ActivationLike) -> tuple[str, float, float]:
    """Name and both parameters of what ``conv`` takes as activation."""
    if activation is None:
        return "none", 0.0, 0.0
    name, *given = [activation] if isinstance(activation, str) else list(activation)
    if not isinstance(name, str):
        raise TypeError(f"shiftconv: activation must be a name or a tuple of a name and its parameters, but is {activation!r}")
    if name in _ALIASES and not given:
        return _ALIASES[name]
    wanted = _PARAMETERS.get(name, 0)
    if len(given) != wanted:
        example = {1: '("leaky_relu", 0.1)', 2: '("clamp", 0.0, 6.0)'}.get(wanted, repr(name))
        raise ValueError(f"shiftconv: activation {name!r} takes {wanted} parameters, such as {example}, but is {activation!r}")
    return name, *(float(value) for value in [*given, 0.0, 0.0][:2])  # type: ignore[return-value]


def _integers(name: str, value: Any) -> list[int]:
    if isinstance(value, int):
        return [value]
    try:
        numbers = list(value)
    except TypeError:
        numbers = [None]
    if not all(isinstance(number, (int, torch.SymInt)) for number in numbers):
        raise TypeError(f"shiftconv: {name} must be an integer or a tuple of integers, but is {value!r}")
    return numbers


def padding_of(padding: Padding, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """What the operators take: one number, one for each spatial dimension, or (before, after) of each, one after the other."""
    if isinstance(padding, int):
        return [padding]
    if isinstance(padding, str):
        if padding == "valid":
            return [0]
        if padding != "same":
            raise ValueError(f'shiftconv: padding must be numbers, "same" or "valid", but is {padding!r}')
        spatial = len(kernel)
        if any(step != 1 for step in stride):
            raise ValueError('shiftconv: padding="same" is for a stride of 1')
        totals = [d * (taps - 1) for d, taps in zip(spread(dilation, spatial), kernel)]
        return [number for total in totals for number in (total // 2, total - total // 2)]
    given = list(padding)
    if given and all(isinstance(pair, (tuple, list)) for pair in given):
        if len(given) != len(kernel) or any(len(pair) != 2 for pair in given):  # type: ignore[arg-type]
            raise ValueError(
                f"shiftconv: padding must have a pair (before, after) for each of {len(kernel)} spatial dimensions, but is {padding!r}"
            )
        return [number for pair in given for number in _integers("padding", pair)]
    numbers = _integers("padding", padding)
    if len(numbers) not in (1, len(kernel)):
        raise ValueError(
            f"shiftconv: padding must have 1 or {len(kernel)} numbers, or {len(kernel)} pairs (before, after), but is {padding!r}"
        )
    return numbers


def _short(numbers: list[int], right_count: int) -> list[int]:
    """One number for all, where they are the same. What has another count is left for the operator to refuse."""
    return numbers[:1] if len(numbers) == right_count and numbers == numbers[:1] * right_count else numbers


_DEFAULTS = dict(stride=[1], padding=[0], dilation=[1], activation="none", activation_a=0.0, activation_b=0.0)


def _window_of(
    filter_shape: Sequence[int], stride: Ints, padding: Padding, dilation: Ints, activation: ActivationLike
) -> dict[str, Any]:
    """Those of the operators' arguments that are numbers and names, and not what they are by default: PyTorch takes about a
    microsecond for each list."""
    strides, dilations = _integers("stride", stride), _integers("dilation", dilation)
    pads = padding_of(padding, filter_shape[2:], strides, dilations)
    name, a, b = activation_of(activation)
    spatial = len(filter_shape) - 2
    if len(pads) == spatial:
        pads = [number for number in pads for _ in range(2)]
    given = dict(
        stride=_short(strides, spatial), padding=_short(pads, 2 * spatial), dilation=_short(dilations, spatial), activation=name,
        activation_a=a, activation_b=b,
    )  # fmt: skip
    return {key: value for key, value in given.items() if value != _DEFAULTS[key]}


def settings(
    filter_shape: Sequence[int],
    stride: Ints,
    padding: Padding,
    dilation: Ints,
    groups: int,
    activation: ActivationLike,
    compute: str,
    plan: str,
    residual_last: bool = False,
) -> Optional[str]:
    """All arguments of ``conv`` that are no tensors, as the prepared operators take them. None for what is wrong with a type or a name,
    of which the other operators have a sentence."""
    window = {**_DEFAULTS, **_window_of(filter_shape, stride, padding, dilation, activation)}
    numbers = [groups, *window["stride"], *window["padding"], *window["dilation"]]
    if not all(type(number) is int and abs(number) < 2**63 for number in numbers):
        return None
    if not all(isinstance(name, str) and " " not in name for name in (window["activation"], compute)) or not isinstance(plan, str):
        return None
    if not isinstance(residual_last, bool):
        return None
    return settings_of(groups=groups, residual_last=residual_last, compute=compute, plan=plan, **window)


_settings: dict[Any, str] = {}


def _known_settings(filter_shape: Sequence[int], *key: Any) -> Optional[str]:
    """``settings``, remembered for what can be a key. The last of it, residual_last, may be found by a number."""
    made = settings(filter_shape, *key)
    if made is not None and len(_settings) < 4096 and not {bool, float} & set(map(type, key[:-1])):  # True and 1.0 would be found as 1
        try:
            _settings[(len(filter_shape) if key[1] != "same" else filter_shape, *key)] = made
        except TypeError:  # a list
            pass
    return made


def conv(
    x: Union[torch.Tensor, Sequence[torch.Tensor]],
    w: torch.Tensor,
    bias: Optional[torch.Tensor] = None,
    residual: Optional[torch.Tensor] = None,
    *,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
    activation: ActivationLike = None,
    residual_last: bool = False,
    channel_scale: Optional[torch.Tensor] = None,
    out_dtype: Optional[torch.dtype] = None,
    compute: str = "default",
    plan: str = "",
    out: Optional[torch.Tensor] = None,
    dim: int = 1,
) -> torch.Tensor:
    """``activation(channel_scale * conv(x, w) + bias + residual)``, or with residual_last
    ``activation(channel_scale * conv(x, w) + bias) + residual``, in one kernel, in the current CUDA stream.

    Args:
        x: (N, C, H, W), (N, C, D, H, W) or (N, C, L), with channels next to each other: torch.channels_last, channels_last_3d, or a
            slice of channels of such a tensor. Nothing is copied. float16, bfloat16, float32, float8_e4m3fn, float8_e5m2, int8 or
            uint8; aligned to 16 bytes. On a GPU, or on the CPU after ``shiftconv.emulate()``. Or a pair of such tensors, which are
            read as ``torch.cat(x, dim)`` would be, without that copy: a skip connection, or frames that are kept and new ones.
        w: (K, C / groups, R, S) and so on, dense and channels_last.
        bias: (K), float32, float16 or bfloat16.
        residual: of the output's shape, channels_last; added before the activation, or after it with residual_last.
        stride, dilation: a number, or one for each spatial dimension.
        padding: a number, one for each spatial dimension, a pair (before, after) for each, "same" or "valid".
        groups: divides C and K.
        activation: None, "relu", "relu6", ("leaky_relu", slope), ("clamp", low, high), "gelu", "gelu_tanh", "silu", "hard_swish",
            "sigmoid" or "tanh".
        residual_last: the residual is added to what the activation gives. Only with a residual.
        channel_scale: (K), float32; multiplies the sum.
        out_dtype: of the output; by default that of x.
        compute: "default": exact products summed in float32; "tf32" for float32 tensors; "f16": summed in float16.
        plan: "algorithm" or "algorithm:options", as ``Plan`` has them; by default the planner's choice.
        out: written and returned, in the layouts of x; must not overlap the others.
        dim: of a pair: 1, the channels, or 2, the depth of five dimensions. Not read otherwise.

    Returns:
        A channels_last tensor (N, K, P, Q), or ``out``.

    Raises:
        ValueError: names the argument and what is wrong with it.
        NotImplementedError: an argument requires grad.
        RuntimeError: no algorithm can run this (with every reason), or x is on the CPU without ``shiftconv.emulate()``.
    """
    if torch.compiler.is_compiling() or type(x) is not torch.Tensor:
        if isinstance(x, (tuple, list)):
            prepared = settings(w.shape, stride, padding, dilation, groups, activation, compute, plan, residual_last)
            return _conv_of_pair(x, dim, w, bias, residual, channel_scale, prepared, out_dtype, out)
        return _conv_in_full(
            x, w, bias, residual, stride, padding, dilation, groups, activation, channel_scale, out_dtype, compute, plan,
            residual_last, out,
        )  # fmt: skip
    try:
        key = (stride, padding, dilation, groups, activation, compute, plan, residual_last)
        try:
            prepared = _settings.get((x.ndim if padding != "same" else w.shape, *key))
        except TypeError:  # a list
            prepared = None
        prepared = prepared or _known_settings(w.shape, *key)
        if prepared is None or torch.is_grad_enabled() and _requires_grad(x, w, bias, residual, channel_scale, out):
            return _conv_in_full(
                x, w, bias, residual, stride, padding, dilation, groups, activation, channel_scale, out_dtype, compute, plan,
                residual_last, out,
            )  # fmt: skip
        if out is None:
            return PREPARED(x, w, bias, residual, channel_scale, prepared, out_dtype)
        if out_dtype is not None:
            _check_dtype(out_dtype, out)
        PREPARED_OUT(x, w, bias, residual, channel_scale, prepared, out)
        return out
    except (AttributeError, TypeError, RuntimeError):
        _check_tensors(x, w, bias, residual, channel_scale, out)
        raise


def _conv_of_pair(
    x: Sequence[torch.Tensor],
    dim: int,
    w: torch.Tensor,
    bias: Optional[torch.Tensor],
    residual: Optional[torch.Tensor],
    channel_scale: Optional[torch.Tensor],
    prepared: Optional[str],
    out_dtype: Optional[torch.dtype],
    out: Optional[torch.Tensor],
) -> torch.Tensor:
    if len(x) != 2:
        raise TypeError(f"shiftconv: x must be a tensor or a pair of tensors, but is a {type(x).__name__} of {len(x)}")
    for tensor in x:
        _check_tensors(tensor, w, bias, residual, channel_scale, out)
    if prepared is None:
        raise ValueError("shiftconv: with a pair as x, the other arguments must be plain integers and texts")
    if torch.is_grad_enabled():
        refuse_gradients((x[0], w, bias, residual, channel_scale), {"the second tensor of x": x[1], "out": out})
    if out is None:
        return PAIR(x[0], x[1], dim, w, bias, residual, channel_scale, prepared, out_dtype)
    if out_dtype is not None:
        _check_dtype(out_dtype, out)
    PAIR_OUT(x[0], x[1], dim, w, bias, residual, channel_scale, prepared, out)
    return out


def is_distributed(x: torch.Tensor) -> bool:
    """Whether a tensor is a DTensor, whose module is not imported to find out."""
    return not torch.compiler.is_compiling() and type(x).__module__.startswith("torch.distributed.tensor")


def _requires_grad(*tensors: Optional[torch.Tensor]) -> bool:
    for tensor in tensors:
        if tensor is not None and tensor.requires_grad:
            return True
    return False


def _check_tensors(x: Any, w: Any, bias: Any, residual: Any, channel_scale: Any, out: Any) -> None:
    for name, tensor in (("x", x), ("w", w)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"shiftconv: {name} must be a tensor, but is {tensor!r}")
    for name, tensor in (("bias", bias), ("residual", residual), ("channel_scale", channel_scale), ("out", out)):
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(f"shiftconv: {name} must be a tensor or None, but is {tensor!r}")


def _check_dtype(out_dtype: torch.dtype, out: torch.Tensor) -> None:
    if out_dtype != out.dtype:
        raise ValueError(f"shiftconv: out_dtype is {out_dtype}, but out has {out.dtype}")


def _conv_in_full(
    x: torch.Tensor,
    w: torch.Tensor,
    bias: Optional[torch.Tensor],
    residual: Optional[torch.Tensor],
    stride: Ints,
    padding: Padding,
    dilation: Ints,
    groups: int,
    activation: ActivationLike,
    channel_scale: Optional[torch.Tensor],
    out_dtype: Optional[torch.dtype],
    compute: str,
    plan: str,
    residual_last: bool,
    out: Optional[torch.Tensor],
) -> torch.Tensor:
    """``conv`` for compilers and subclasses of tensors, which see every argument; but for distributed ones, of which PyTorch only
    redistributes those that are no keyword arguments."""
    _check_tensors(x, w, bias, residual, channel_scale, out)
    prepared = None
    if is_distributed(x) and out is None:
        prepared = settings(w.shape, stride, padding, dilation, groups, activation, compute, plan, residual_last)
    if prepared is not None and not (torch.is_grad_enabled() and _requires_grad(x, w, bias, residual, channel_scale)):
        from .sharding import conv_distributed

        return conv_distributed(x, w, bias, residual, channel_scale, prepared, out_dtype)
    arguments = _window_of(w.shape, stride, padding, dilation, activation)
    if groups != 1:
        arguments["groups"] = groups
    if channel_scale is not None:
        arguments["channel_scale"] = channel_scale
    if compute != "default":
        arguments["compute"] = compute
    if plan != "":
        arguments["plan"] = plan
    if residual_last:
        arguments["residual_last"] = residual_last
    if out is None:
        if out_dtype is not None:
            arguments["out_dtype"] = out_dtype
        return CONV(x, w, bias, residual, **arguments)
    if out_dtype is not None:
        _check_dtype(out_dtype, out)
    CONV_OUT(x, w, bias, residual, y=out, **arguments)
    return out


def keep_bindings(most: int) -> None:
    """How many combinations of tensors' addresses are kept ready to launch, at first 2048; those used longest ago go first. A call whose
    combination is kept only launches; any other first encodes what the kernel needs to know of the addresses."""
    if most < 1:
        raise ValueError(f"shiftconv: most must be at least 1, but is {most}")
    glue.shiftconv_torch_keep_bindings(most)


def kept() -> dict[str, int]:
    """How many plans and bindings are kept now."""
    return {"plans": glue.shiftconv_torch_kept_plans(), "bindings": glue.shiftconv_torch_kept_bindings()}
