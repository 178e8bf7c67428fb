"""The convolution to compute."""

from __future__ import annotations

import ctypes
import enum
import operator
from typing import Any, NamedTuple, Union

from ._library import check, library, text_of
from ._structures import LONG_FIELDS, PROBLEM_FIELDS, PROBLEM_INIT, TENSORS, BlockScaleC, ProblemC, TensorBytesC


class Type(enum.IntEnum):
    """Element types. Elements of fewer than 8 bits are packed densely, the first in the low bits of a byte."""

    F16 = 0
    BF16 = 1
    F32 = 2
    E4M3 = 3
    E5M2 = 4
    E3M2 = 5
    E2M3 = 6
    E2M1 = 7
    S8 = 8
    U8 = 9
    S32 = 10
    UE8M0 = 11
    UE4M3 = 12


class Compute(enum.IntEnum):
    """How products are summed: exactly multiplied and summed in f32 (integers: s32); tf32 operands; summed in f16."""

    DEFAULT = 0
    TF32 = 1
    F16 = 2


class Activation(enum.IntEnum):
    """The function behind the sum. LEAKY_RELU reads activation_a; CLAMP reads activation_a and activation_b."""

    NONE = 0
    RELU = 1
    LEAKY_RELU = 2
    CLAMP = 3
    GELU_ERF = 4
    GELU_TANH = 5
    SILU = 6
    HARD_SWISH = 7
    SIGMOID = 8
    TANH = 9


class Rounding(enum.IntEnum):
    """Where values behind the sum are rounded to the output's type: once, where they are stored, or after every step, as where each is
    a kernel of its own."""

    ONCE = 0
    SEPARATE = 1


class Layout(enum.IntEnum):
    """Order of a tensor of pixels in memory; NCDHW and NDHWC in three dimensions."""

    NHWC = 0
    NCHW = 1


class ScaleOrder(enum.IntEnum):
    """Order of block-scale factors: [rows][blocks], or the 128x4 tiles of cuBLAS and cuDNN."""

    PLAIN = 0
    INTERLEAVED = 1


class BlockScale(NamedTuple):
    """One factor for every block of ``block_size`` neighbouring channels; all 0: the tensor has none."""

    block_size: int = 0
    type: int = 0
    order: int = 0


class TensorBytes(NamedTuple):
    """Bytes that each tensor spans in memory; 0 where the problem has no such tensor."""

    input: int
    filter: int
    bias: int
    residual: int
    channel_scale: int
    input_scale: int
    filter_scale: int
    output: int
    output_scale: int
    amax: int
    second_input: int


_kinds: dict[str, Any] = {
    **dict.fromkeys(["input_type", "filter_type", "output_type", "bias_type", "residual_type"], Type),
    "compute": Compute,
    "activation": Activation,
    "rounding": Rounding,
    "input_layout": Layout,
    "output_layout": Layout,
    **dict.fromkeys(["has_bias", "has_channel_scale", "has_amax", "transposed", "filter_flipped", "residual_last"], bool),
}
_scales = ("input_block_scale", "filter_block_scale", "output_block_scale")
_real = ("alpha", "beta", "out_scale", "activation_a", "activation_b")


class Problem:
    """A convolution, forward or transposed, in up to three dimensions: NHWC (NDHWC) activations, KRSC (KTRSC) filters, NPQK (NZPQK) output.

    The fields are those of shiftconv_problem_t in shiftconv.h, which says what each means; lengths are counted in elements.
    They are attributes, and keyword arguments of the constructor; those that are not given have the values of
    SHIFTCONV_PROBLEM_INIT: f16 tensors, no padding, strides of 1, no bias, no residual, no activation.

    >>> Problem(n=1, h=56, w=56, c=64, k=64, r=3, s=3, pad_top=1, pad_bottom=1, pad_left=1, pad_right=1)
    >>> Problem.parse("1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias relu")
    """

    __slots__ = ("_c",)

    n: int
    d: int
    h: int
    w: int
    c: int
    k: int
    t: int
    r: int
    s: int
    groups: int
    pad_front: int
    pad_back: int
    pad_top: int
    pad_bottom: int
    pad_left: int
    pad_right: int
    stride_d: int
    stride_h: int
    stride_w: int
    dilation_d: int
    dilation_h: int
    dilation_w: int
    input_pixel_pitch: int
    output_pixel_pitch: int
    residual_pixel_pitch: int
    input_type: Type
    filter_type: Type
    output_type: Type
    bias_type: Type
    residual_type: Type
    compute: Compute
    input_block_scale: BlockScale
    filter_block_scale: BlockScale
    output_block_scale: BlockScale
    input_zero_point: int
    filter_zero_point: int
    output_zero_point: int
    has_bias: bool
    has_channel_scale: bool
    has_amax: bool
    alpha: float
    beta: float
    out_scale: float
    activation: Activation
    activation_a: float
    activation_b: float
    transposed: bool
    rounding: Rounding
    output_padding_d: int
    output_padding_h: int
    output_padding_w: int
    upsample_d: int
    upsample_h: int
    upsample_w: int
    input_layout: Layout
    output_layout: Layout
    split_c: int
    split_d: int
    second_pixel_pitch: int
    filter_flipped: bool
    residual_last: bool

    def __init__(self, **fields: Union[int, float, BlockScale]) -> None:
        object.__setattr__(self, "_c", ProblemC(**PROBLEM_INIT))
        for name, value in fields.items():
            setattr(self, name, value)

    @classmethod
    def parse(cls, text: str) -> "Problem":
        """The problem that a line says, as ``describe`` writes it; it is valid.

        Raises:
            InvalidArgument: names the word that is wrong.
        """
        problem = cls()
        check(library().shiftconv_problem_parse(text.encode(), ctypes.byref(problem._c)))
        return problem

    def __getattr__(self, name: str) -> Any:
        if name not in PROBLEM_FIELDS:
            raise AttributeError(f"a problem has no field {name!r}")
        value = getattr(self._c, name)
        if name in _scales:
            return BlockScale(value.block_size, value.type, value.order)
        kind = _kinds.get(name)
        if kind is None:
            return value
        try:
            return kind(value)
        except ValueError:
            return value  # out of range: validate() says so

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in PROBLEM_FIELDS:
            raise AttributeError(f"a problem has no field {name!r}; it has {', '.join(PROBLEM_FIELDS)}")
        if name in _scales:
            setattr(self._c, name, BlockScaleC(*value))
            return
        if name in _real:
            try:
                setattr(self._c, name, float(value))
            except (TypeError, ValueError):
                raise TypeError(f"{name} must be a number, but is {value!r}") from None
            return
        try:
            integer = operator.index(value)
        except TypeError:
            raise TypeError(f"{name} must be an integer, but is {value!r}") from None
        bits = 64 if name in LONG_FIELDS else 32
        if not -(1 << (bits - 1)) <= integer < 1 << (bits - 1):
            raise OverflowError(f"{name} must fit into {bits} bits, but is {integer}")
        setattr(self._c, name, integer)

    def fields(self) -> dict[str, Any]:
        """All fields by name."""
        return {name: getattr(self, name) for name in PROBLEM_FIELDS}

    def copy(self, **changes: Union[int, float, BlockScale]) -> "Problem":
        """A problem with the same fields, except those given."""
        return Problem(**{**self.fields(), **changes})

    def validate(self) -> None:
        """Checks the problem by itself. A valid problem may still be beyond every algorithm; ``support`` tells.

        Raises:
            InvalidArgument: names the field and its limit.
        """
        check(library().shiftconv_problem_validate(ctypes.byref(self._c)))

    @property
    def output_size(self) -> tuple[int, int, int]:
        """Z, P and Q: depth, height and width of the output. Raises InvalidArgument when the problem is invalid."""
        sizes = [ctypes.c_int64() for _ in range(3)]
        check(library().shiftconv_problem_output_size(ctypes.byref(self._c), *map(ctypes.byref, sizes)))
        return sizes[0].value, sizes[1].value, sizes[2].value

    @property
    def output_shape(self) -> tuple[int, int, int, int, int]:
        """(N, Z, P, Q, K). Raises InvalidArgument when the problem is invalid."""
        return (self.n, *self.output_size, self.k)

    @property
    def tensor_bytes(self) -> TensorBytes:
        """What to allocate for each tensor. Raises InvalidArgument when the problem is invalid."""
        counted = TensorBytesC()
        check(library().shiftconv_problem_tensor_bytes(ctypes.byref(self._c), ctypes.byref(counted)))
        return TensorBytes(*(getattr(counted, name) for name in TENSORS))

    def describe(self) -> str:
        """One line that ``parse`` reads back. Raises InvalidArgument when the problem is invalid."""
        return text_of(lambda *text: library().shiftconv_problem_describe(ctypes.byref(self._c), *text))

    def __reduce__(self) -> Any:
        return _from_fields, (self.fields(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and bytes(self._c) == bytes(other._c)

    def __hash__(self) -> int:
        return hash(bytes(self._c))

    def __repr__(self) -> str:
        try:
            return f"Problem.parse({self.describe()!r})"
        except Exception:
            changed = {name: value for name, value in self.fields().items() if value != getattr(Problem(), name)}
            return f"Problem({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


def _from_fields(fields: dict[str, Any]) -> Problem:
    """What pickle and copy call."""
    return Problem(**fields)
