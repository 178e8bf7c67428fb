"""Whether a convolution goes to ShiftConv or stays with aten."""

from __future__ import annotations

import os
from typing import Any, Callable, Optional, Sequence

import torch

from ..device import Device, DeviceProperties, devices, preset
from ..errors import Error, Unsupported
from ..plan import Plan
from ..problem import Problem
from .census import Layer
from .layers import TYPES, ShiftConv
from .layouts import channels_last
from .measuring import microseconds


def emulated_properties() -> DeviceProperties:
    """Of the device that SHIFTCONV_DEVICE names, for tensors on the CPU; without one, of an H200, so that a model can be looked at."""
    name = os.environ.get("SHIFTCONV_DEVICE", "")
    if not name.startswith("emulated"):
        return preset("H200")
    return preset("emulated_sm_90a" if name.endswith("sm_90a") else "emulated")


def flops_of(problem: Problem) -> float:
    """Two for each product of a filter tap."""
    n, z, p, q, k = problem.output_shape
    return 2.0 * n * z * p * q * k * (problem.c // problem.groups) * problem.t * problem.r * problem.s


class Decider:
    """Decides for the convolutions of one model on one device. What was decided for a problem holds for the next of its kind."""

    def __init__(self, device: torch.device, tune: bool, seconds: float) -> None:
        if tune and device.type != "cuda":
            raise ValueError("shiftconv: tune=True measures, which needs example inputs on a GPU")
        self._device, self._tune, self._seconds = device, tune, seconds
        self._known: dict[str, Layer] = {}
        if device.type == "cuda":
            index = device.index if device.index is not None else torch.cuda.current_device()
            self._properties = devices()[index]
            self._open = Device(f"cuda:{index}") if tune else None
        else:
            self._properties, self._open = emulated_properties(), None

    def layer(
        self,
        name: str,
        conv: ShiftConv,
        x: Sequence[int],
        dtype: torch.dtype,
        residual: bool,
        original: Callable[[], Callable[..., torch.Tensor]],
    ) -> Layer:
        """The census row of a convolution whose x has this shape.

        Args:
            original: gives a function of (x, residual): what aten would compute, for measurements.
        """
        if dtype not in TYPES or conv.weight.dtype != dtype:
            return Layer(name, "", "aten", reason=f"x has {dtype} and the weight {conv.weight.dtype}")
        problem = conv.problem(x, residual, dtype)
        try:
            text = problem.describe()
        except Error as error:
            return Layer(name, "", "aten", reason=str(error))
        if text not in self._known:
            self._known[text] = self._decided(text, problem, conv, x, residual, original)
        known = self._known[text]
        conv.plan = known.algorithm if ":" in known.algorithm else ""
        return Layer(
            name, text, known.engine, known.algorithm, known.reason, [], flops_of(problem), known.microseconds,
            known.aten_microseconds,
        )  # fmt: skip

    def seconds(self, problem: Problem, plan: str) -> Optional[float]:
        """What a plan of ``ShiftConv``, or the planner's choice, is estimated to take; None where it cannot run the problem, or only as
        a last resort."""
        algorithm, _, options = plan.partition(":")
        try:
            made = Plan(problem, self._properties, algorithm or None, options or None)
        except Error:
            return None
        return None if made.algorithm == "direct" else made.estimate.seconds

    def _decided(
        self, text: str, problem: Problem, conv: ShiftConv, x: Sequence[int], residual: bool, original: Callable[[], Any]
    ) -> Layer:
        try:
            if self._open is not None:
                plan = Plan.autotuned(problem, self._open, seconds=self._seconds)
            else:
                plan = Plan(problem, self._properties)
        except Unsupported as error:
            return Layer("", text, "aten", reason=str(error))
        if not self._tune:
            if plan.algorithm == "direct":
                return Layer("", text, "aten", reason="direct is the only algorithm for it, and slower than aten's best")
            return Layer("", text, "shiftconv", plan.algorithm)
        choice = f"{plan.algorithm}:{plan.options}"
        conv.plan = choice
        ours, theirs = self._measured(conv, x, residual, original)
        layer = Layer("", text, "shiftconv", choice, microseconds=ours, aten_microseconds=theirs)
        if theirs < ours:
            layer.engine, layer.algorithm, layer.reason = "aten", "", f"measured faster than {plan.algorithm}"
        return layer

    def _measured(
        self, conv: ShiftConv, shape: Sequence[int], residual: bool, original: Callable[[], Callable[..., torch.Tensor]]
    ) -> tuple[float, float]:
        """Microseconds of one call, of ShiftConv and of aten."""
        theirs = original()
        with torch.inference_mode():
            x = channels_last(torch.randn(*shape, device=self._device).to(conv.weight.dtype))
            other = torch.randn_like(theirs(x, None)) if residual else None
            return microseconds(lambda: conv(x, other)), microseconds(lambda: theirs(x, other))
