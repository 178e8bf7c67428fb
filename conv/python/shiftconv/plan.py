"""Plans: how a problem is computed on one kind of device."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Union

from ._library import check, library, text_of
from ._structures import AutotuneC, EstimateC, PlanOptionsC, TensorsC
from .device import Device, DeviceProperties, Memory
from .problem import Problem

_UNSUPPORTED = 2  # SHIFTCONV_STATUS_UNSUPPORTED


class Estimate(NamedTuple):
    """What the cost model predicts for one run: modelled, not measured. ``bytes`` is the least that device memory moves; ``bound`` is
    the resource that limits the time."""

    seconds: float
    flops: float
    bytes: float
    bound: str


def algorithms() -> list[str]:
    """Names of the library's algorithms."""
    return [library().shiftconv_algorithm_name(index).decode() for index in range(library().shiftconv_algorithm_count())]


def algorithm_options(algorithm: str) -> str:
    """The options of an algorithm, one line each: name, values, meaning. Raises NotFound."""
    return text_of(lambda *text: library().shiftconv_algorithm_options(algorithm.encode(), *text))


def support(problem: Problem, properties: DeviceProperties, algorithm: str) -> str:
    """"" when the algorithm can run the problem on such a device, else one sentence that says why not.

    Raises:
        InvalidArgument: the problem is invalid.
        NotFound: there is no such algorithm.
    """

    def ask(*text: Any) -> int:
        status = library().shiftconv_support(
            ctypes.byref(problem._c), ctypes.byref(properties._c), algorithm.encode(), *text
        )
        return 0 if status == _UNSUPPORTED else status

    return text_of(ask)


def _options(
    algorithm: Optional[str],
    options: Optional[str],
    multiprocessors: int = 0,
    batch_invariant: bool = False,
    constant_filter: bool = False,
    no_workspace: bool = False,
) -> PlanOptionsC:
    encoded = [None if text is None else text.encode() for text in (algorithm, options)]
    if not 0 <= multiprocessors < 1 << 32:
        raise OverflowError(f"multiprocessors must fit into 32 bits without a sign, but is {multiprocessors}")
    return PlanOptionsC(
        algorithm=encoded[0],
        options=encoded[1],
        multiprocessors=multiprocessors,
        batch_invariant=bool(batch_invariant),
        constant_filter=bool(constant_filter),
        no_workspace=bool(no_workspace),
    )


class Plan:
    """How a problem is computed on one kind of device. Planning is deterministic and touches no device. A plan is immutable; several
    devices, streams and threads may use it at once.

    Args:
        problem: what to compute.
        properties: of the device, or an open device.
        algorithm: the name of one; None: the one with the best candidate.
        options: its options, "tile_n=64,..."; None: the planner's. ``algorithm_options`` lists them.
        multiprocessors: the most that a run may occupy; 0: all of the device.
        batch_invariant: the outputs of an image are those that it has alone, bit for bit, whatever n is.
        constant_filter: everything that writes the filter has ended when a run is enqueued, so that kernels may read it while the
            work before the run in its stream still ends.
        no_workspace: a plan whose runs need no workspace.

    Raises:
        Unsupported: no algorithm, or not the one asked for, can run the problem; gives each reason.
        NotFound: there is no such algorithm.
        InvalidArgument: the problem or an option is invalid.
    """

    def __init__(
        self,
        problem: Problem,
        properties: Union[DeviceProperties, Device],
        algorithm: Optional[str] = None,
        options: Optional[str] = None,
        multiprocessors: int = 0,
        batch_invariant: bool = False,
        constant_filter: bool = False,
        no_workspace: bool = False,
    ) -> None:
        self._handle: Optional[ctypes.c_void_p] = None
        if isinstance(properties, Device):
            properties = properties.properties
        handle = ctypes.c_void_p()
        check(
            library().shiftconv_plan_create(
                ctypes.byref(problem._c),
                ctypes.byref(properties._c),
                ctypes.byref(_options(algorithm, options, multiprocessors, batch_invariant, constant_filter, no_workspace)),
                ctypes.byref(handle),
            )
        )
        self._handle = handle

    @classmethod
    def autotuned(
        cls,
        problem: Problem,
        device: Device,
        seconds: float = 1.0,
        cache: Optional[str] = None,
        candidates: int = 0,
        algorithm: Optional[str] = None,
        options: Optional[str] = None,
    ) -> "Plan":
        """The fastest candidate as measured on the device, or what the cache file remembers. Runs kernels and waits for them; let
        nothing else run on the device meanwhile.

        Args:
            seconds: after this time only the planner's own choice is still measured; at most 3600.
            cache: a file that remembers choices; "": none; None: what SHIFTCONV_AUTOTUNE_CACHE names.
            candidates: how many to measure, in the order of the cost model; 0: all.
        """
        handle = ctypes.c_void_p()
        how = AutotuneC(cache=None if cache is None else cache.encode(), seconds=seconds, candidates=candidates)
        check(
            library().shiftconv_plan_autotune(
                ctypes.byref(problem._c),
                device.handle,
                ctypes.byref(_options(algorithm, options)),
                ctypes.byref(how),
                ctypes.byref(handle),
            )
        )
        plan = cls.__new__(cls)
        plan._handle = handle
        return plan

    @classmethod
    def from_bytes(cls, data: bytes) -> "Plan":
        """The plan that ``to_bytes`` wrote, without a search or a measurement.

        Raises:
            InvalidArgument: the bytes are damaged, or of another version of the library, which the sentence names.
        """
        handle = ctypes.c_void_p()
        check(library().shiftconv_plan_from_bytes(data, len(data), ctypes.byref(handle)))
        plan = cls.__new__(cls)
        plan._handle = handle
        return plan

    def to_bytes(self) -> bytes:
        """The plan for a file; the same bytes on every machine. ``pickle`` uses them, too."""
        needed = ctypes.c_size_t()
        check(library().shiftconv_plan_to_bytes(self._handle, None, 0, ctypes.byref(needed)))
        buffer = ctypes.create_string_buffer(needed.value)
        check(library().shiftconv_plan_to_bytes(self._handle, buffer, needed.value, ctypes.byref(needed)))
        return buffer.raw

    def __reduce__(self) -> Any:
        return Plan.from_bytes, (self.to_bytes(),)

    @property
    def handle(self) -> Optional[ctypes.c_void_p]:
        """The shiftconv_plan_t."""
        return self._handle

    def describe(self) -> str:
        """Several lines for people: algorithm, options, launches, tile, memory, traffic, modelled time."""
        return text_of(lambda *text: library().shiftconv_plan_describe(self._handle, *text))

    def candidates(self) -> str:
        """How the plan was chosen, one line each: the chosen candidate, the others, the algorithms that refused."""
        return text_of(lambda *text: library().shiftconv_plan_candidates(self._handle, *text))

    @property
    def algorithm(self) -> str:
        return self._name(library().shiftconv_plan_algorithm)

    @property
    def options(self) -> str:
        """With ``algorithm``, what makes this plan again."""
        return self._name(library().shiftconv_plan_options)

    @property
    def kernel_name(self) -> str:
        """Name of the kernel that multiplies, as profilers show it."""
        return self._name(library().shiftconv_plan_kernel_name)

    @property
    def estimate(self) -> Estimate:
        """What the cost model predicts."""
        estimate = EstimateC()
        check(library().shiftconv_plan_estimate(self._handle, ctypes.byref(estimate)))
        return Estimate(estimate.seconds, estimate.flops, estimate.bytes, estimate.bound.decode())

    @property
    def workspace_bytes(self) -> int:
        """Device memory that a run needs as workspace; runs that may overlap in time need one each."""
        size = ctypes.c_size_t()
        check(library().shiftconv_plan_workspace_size(self._handle, ctypes.byref(size)))
        return size.value

    def prepare(self, device: Device) -> None:
        """Loads the kernels on a device now rather than at the first run."""
        check(library().shiftconv_plan_prepare(self._handle, device.handle))

    def run(self, device: Device, stream: Optional[int] = None, **tensors: Union[int, Memory]) -> None:
        """Enqueues the convolution once.

        Args:
            stream: a CUstream as a number; None: the default stream.
            tensors: by the names of shiftconv_tensors_t (input, filter, bias, residual, channel_scale, output, ...): addresses in
                device memory, or Memory. Exactly those that the problem has.

        Raises:
            InvalidArgument: names the tensor that is missing, not wanted, misaligned or overlapping.
        """
        addresses = {name: value.address if isinstance(value, Memory) else value for name, value in tensors.items()}
        known = {name for name, *_ in TensorsC._fields_[1:]}
        if unknown := sorted(set(addresses) - known):
            raise TypeError(f"a run has no tensor {unknown[0]!r}; the names are {', '.join(sorted(known))}")
        check(library().shiftconv_run(self._handle, device.handle, ctypes.byref(TensorsC(**addresses)), stream))

    def _name(self, function: Any) -> str:
        text = function(self._handle)
        return text.decode() if text is not None else ""

    def __repr__(self) -> str:
        return f"<Plan {self.algorithm}:{self.options}>"

    def __del__(self) -> None:
        try:
            if self._handle is not None:
                library().shiftconv_plan_destroy(self._handle)
        except Exception:  # the interpreter ends, or the library is gone
            pass
