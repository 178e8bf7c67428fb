"""Every include of common and conv goes to the file's own folder or to one below it in the list, so that there is no circle. Tests of one
room, which is a folder of tests, include nothing of another room but tests/support.

Argument: the root of the sources. Folders that stand in one row lie side by side: none includes another.
"""
import os
import re
import sys

from faults import close

# From the ground up. A folder belongs to the longest of these paths that it begins with.
ROWS = [
    ["common"],  # launches, host and device, threads: files of the folder itself
    ["common/fmt", "common/command_line"],
    ["common/numerics"],
    ["common/layout"],
    ["common/ptx"],
    ["common/emulator"],  # its own order: tests/emulator/include_order
    ["common/device"],
    ["common/emulator/cuda_runtime"],
    ["common/emulator/tools"],
    ["common/gemm/epilogue"],
    ["common/gemm"],
    ["common/gemm/reference", "common/gemm/sm100"],
    ["conv/include"],
    ["conv/problem"],
    ["conv/reference", "conv/kernels"],
    ["conv/plan"],
    ["conv/algorithms/*"],  # an algorithm each
    ["conv/planner"],
    ["conv/helpers"],
    ["conv/api"],
    ["conv/tools"],
    ["conv/runtimes/capture"],
    ["conv/runtimes/jax", "conv/runtimes/onnxruntime", "conv/runtimes/torch"],
]
# One algorithm that stands on another.
NEIGHBOURS = {("conv/algorithms/resident", "conv/algorithms/halo")}
# Rooms that look at others: the mutation score breaks the kernels of all of them, and what is an algorithm's alone stands apart from conv's.
GUESTS = {("algorithms", "conv"), ("hazards", "conv"), ("hazards", "gemm"), ("runtimes", "conv")}
LAYER = {path: number for number, row in enumerate(ROWS) for path in row}


def folder_of(path):
    """(folder, layer) of a file."""
    folder = os.path.dirname(path)
    parts = folder.split("/")
    if parts[:2] == ["conv", "algorithms"] and len(parts) > 2:
        return "/".join(parts[:3]), LAYER["conv/algorithms/*"]
    while folder and folder not in LAYER:
        folder = os.path.dirname(folder)
        if folder == "common" and len(parts) > 1:  # which has no folders besides those that are named
            folder = ""
    if not folder:
        raise SystemExit(f"{path} lies in no folder of the list in check_includes.py")
    return folder, LAYER[folder]


def wrong(path, included):
    """Why the include may not be, or None."""
    folder, layer = folder_of(path)
    other, below = folder_of(included)
    if folder == other or below < layer or (folder, other) in NEIGHBOURS:
        return None
    return f"{path} includes {included}: {other} does not lie below {folder}"


def wrong_in_tests(path, included):
    """The same for two files of tests."""
    room, other = (p.split("/")[1] for p in (path, included))
    if room == other or other == "support" or (room, other) in GUESTS or included.count("/") == 1:
        return None
    return f"{path} includes {included}, of another room of the tests; tests/support is for what several rooms use"


def main():
    assert wrong("conv/plan/a.hpp", "conv/planner/b.hpp") and wrong("conv/algorithms/thin/a.cu", "conv/algorithms/stem/b.hpp")
    assert not wrong("conv/planner/a.hpp", "conv/plan/b.hpp") and not wrong("conv/plan/a.cpp", "conv/plan/a.hpp")
    os.chdir(sys.argv[1])
    count, faults = 0, []
    assert wrong_in_tests("tests/gemm/a.cpp", "tests/hazards/b.hpp") and not wrong_in_tests("tests/gemm/a.cpp", "tests/gemm/b.hpp")
    for root in ("common", "conv", "tests"):
        for folder, _, files in os.walk(root):
            for name in files:
                if not name.endswith((".h", ".hpp", ".cpp", ".cu", ".cuh")):
                    continue
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    for line in file:
                        if match := re.match(r'\s*#include "((?:common|conv|tests)/[^"]+)"', line):
                            count += 1
                            if root != "tests" or match[1].startswith("tests/"):
                                faults += filter(None, [(wrong_in_tests if root == "tests" else wrong)(path, match[1])])
    return close(faults, count, "includes")


sys.exit(main())
