"""Kernels that a build for tests does without: plans name them all the same, and their runs fail."""
import pathlib
import re

KERNELS = {
    line
    for path in pathlib.Path(__file__).resolve().parents[3].glob("conv/algorithms/*/left_out_of_quick_builds.txt")
    for line in path.read_text().splitlines()
    if line and not line.startswith("#")
}


def is_left_out(answer):
    """Whether a run's answer says that its library was built without one of these kernels."""
    found = re.match(rb"this plan's kernel (\w+) is not in this library, which was built for tests without it", answer)
    return found is not None and found[1].decode() in KERNELS
