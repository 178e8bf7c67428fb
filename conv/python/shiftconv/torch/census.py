"""What became of each convolution of a model, and why."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Iterator, Optional


@dataclasses.dataclass
class Layer:
    """One convolution.

    Attributes:
        name: where it is in the model.
        problem: as ``Problem.describe`` writes it; "" where it could not be expressed.
        engine: "shiftconv" or "aten".
        algorithm: of the plan, with its options behind a colon where they were tuned; "" for aten.
        reason: why it stays with aten; "" otherwise.
        fused: what the kernel does beside the convolution: "pad", "batch_norm", "bias", "residual", the activation's name, "cat of x"
            where it reads the two tensors of a concatenation, and "cat"
            where it writes into the result of a concatenation.
        flops: of one call.
        microseconds, aten_microseconds: of one call, where they were measured (tune=True).
    """

    name: str
    problem: str
    engine: str
    algorithm: str = ""
    reason: str = ""
    fused: list[str] = dataclasses.field(default_factory=list)
    flops: float = 0.0
    microseconds: Optional[float] = None
    aten_microseconds: Optional[float] = None


class Census:
    """The layers of a model in the order of their calls."""

    def __init__(self, layers: list[Layer], traced: bool, note: str = "") -> None:
        self.layers = layers
        self.traced = traced  # whether the model was traced; else only modules were exchanged
        self.note = note

    @property
    def share(self) -> float:
        """The share of the convolutions' FLOPs that run through ShiftConv, 0 to 1."""
        total = sum(layer.flops for layer in self.layers)
        return sum(layer.flops for layer in self.layers if layer.engine == "shiftconv") / total if total else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "traced": self.traced,
            "note": self.note,
            "share": self.share,
            "layers": [dataclasses.asdict(layer) for layer in self.layers],
        }

    def json(self) -> str:
        return json.dumps(self.as_dict())

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def __str__(self) -> str:
        lines = []
        for layer in self.layers:
            what = layer.algorithm.split(":")[0] if layer.engine == "shiftconv" else f"aten ({layer.reason})"
            times = "" if layer.microseconds is None else f", {layer.microseconds:.1f} us (aten {layer.aten_microseconds:.1f})"
            lines.append(f"{layer.name}: {layer.problem}: {what}{times}")
        ours = sum(layer.engine == "shiftconv" for layer in self.layers)
        lines.append(f"{ours} of {len(self.layers)} convolutions with ShiftConv, {self.share:.1%} of their FLOPs")
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)
