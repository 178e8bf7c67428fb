"""Times on a GPU."""

from __future__ import annotations

import statistics
from typing import Any, Callable

import torch


def captured(function: Callable[[], Any], warm_up: int = 3) -> tuple["torch.cuda.CUDAGraph", Any]:
    """A CUDA graph of one call, and what the call returned, which each replay writes again."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm_up):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()
    return graph, result


def replay_microseconds(graph: "torch.cuda.CUDAGraph", replays: int = 5, seconds: float = 0.2) -> float:
    """Median time of a replay."""
    graph.replay()
    torch.cuda.synchronize()
    times: list[float] = []
    while len(times) < replays or (sum(times) < seconds * 1e6 and len(times) < 10 * replays):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times)


def microseconds(function: Callable[[], Any]) -> float:
    """Median time of a call, from a CUDA graph of several short calls, or few long ones, back to back."""
    function()  # loads and searches
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    function()
    end.record()
    end.synchronize()
    calls = max(1, min(10, int(2.0 / max(start.elapsed_time(end), 1e-3))))

    def several() -> None:
        for _ in range(calls):
            function()

    graph, _ = captured(several, warm_up=1)
    return replay_microseconds(graph, seconds=0.0) / calls
