#!/usr/bin/env python3
"""Builds Hopper examples of CUTLASS as their authors wrote them, and runs them on the emulated device under four schedules.

    hopper.py --emurun build/release/bin/emurun --folder build/cutlass [--cutlass CHECKOUT] [--examples 48,57] [--jobs N]

Each example judges its result itself. It has to pass, and the hazard checker must see no race. The sources are not part of this project:
they are those of --cutlass, or are fetched into the folder. An example takes some minutes of nvcc the first time.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess
import sys

REPOSITORY, REVISION = "https://github.com/NVIDIA/cutlass", "v4.7.0"


@dataclasses.dataclass(frozen=True)
class Recipe:
    source: str  # the only .cu of its folder
    arguments: str
    says: str = "Disposition: Passed"

    @property
    def number(self):
        return self.source.split("_")[0]


# Small problems: several tiles in each direction where the program has a choice.
RECIPES = [
    Recipe("48_hopper_warp_specialized_gemm", "--m=256 --n=256 --k=128 --iterations=0"),
    Recipe("54_hopper_fp8_warp_specialized_gemm", "--m=256 --n=256 --k=256 --iterations=0"),
    Recipe("55_hopper_mixed_dtype_gemm/55_hopper_mixed_dtype_gemm.cu", "--m=128 --n=128 --k=128 --iterations=0 --mode=1"),
    Recipe("57_hopper_grouped_gemm", "--m=128 --n=128 --k=128 --groups=2 --iterations=0"),
    Recipe("61_hopper_gemm_with_topk_and_softmax", "--m=128 --n=8 --k=64 --l=1 --iterations=0"),
    Recipe("67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling/67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling.cu",
           "--m=256 --n=256 --k=256 --iterations=0"),
]
SCHEDULES = ["--policy earliest", "--policy latest", "--policy random --seed 1", "--policy random --seed 2"]


def checkout(folder):
    """The sources, fetched unless they are there."""
    path = folder / REVISION
    if not (path / "include").is_dir():
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", "--branch", REVISION, REPOSITORY, path], check=True)
    return path


def build(recipe, cutlass, folder, nvcc, driver):
    source = cutlass / "examples" / recipe.source
    if source.is_dir():
        (source,) = source.glob("*.cu")
    program = folder / f"hopper_{recipe.number}"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    folders = [cutlass / part for part in ("include", "tools/util/include", "examples/common")]
    subprocess.run([nvcc, "-std=c++17", "-O1", "--expt-relaxed-constexpr", "-cudart", "shared", "-w", "-gencode",
                    "arch=compute_90a,code=compute_90a", *(f"-I{one}" for one in folders), "-o", program, source,
                    f"-L{driver}", "-lcuda"], check=True)
    return program


def complaint(recipe, program, emurun, schedule):
    """What is wrong with a run; empty when nothing is."""
    command = [emurun, "--sms", "8", "--hazards", "warn", "--severity", "race", *schedule.split(), program, *recipe.arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return f"exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    if recipe.says not in done.stdout:
        return f"does not say \"{recipe.says}\"\n{done.stdout[-2000:]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emurun", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="for programs and fetched sources")
    parser.add_argument("--cutlass", type=pathlib.Path, help=f"sources of CUTLASS; without it {REVISION} is fetched")
    parser.add_argument("--nvcc", default=os.environ.get("NVCC", "nvcc"))
    parser.add_argument("--examples", default="", help="these numbers alone, with commas between")
    parser.add_argument("--jobs", type=int, default=1, help="programs built at the same time; each takes about 2 GB")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    cutlass = options.cutlass or checkout(options.folder)
    asked = options.examples.split(",") if options.examples else []
    recipes = [recipe for recipe in RECIPES if not asked or recipe.number in asked]
    if not recipes:
        sys.exit(f"no example of {options.examples}; there are {', '.join(r.number for r in RECIPES)}")
    driver = options.emurun.resolve().parents[1] / "lib/emulated_cuda"  # some examples call the driver, which a machine may lack
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        programs = list(pool.map(lambda recipe: build(recipe, cutlass, options.folder, options.nvcc, driver), recipes))
    failed = 0
    for recipe, program in zip(recipes, programs):
        for schedule in SCHEDULES:
            wrong = complaint(recipe, program, options.emurun, schedule)
            print(f"{recipe.number} {schedule}: {wrong or 'passes, no race'}", flush=True)
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
