#!/usr/bin/env python3
"""Mutates some random places of the planner, the API and emurun in one switched build, and prints what no test notices.

    sample.py --build build/release [--mutants 40] [--seed N] [--programs a,b] [--keep FOLDER]

The tests run once without a mutant, which says which of them reach which place, then once for each mutant, those that reach it alone and
until one fails. A survivor is a place that nothing reaches, or a change that nothing notices: what a user could see of it wants a test.
"""

import argparse
import collections
import concurrent.futures
import datetime
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import places
import switched_build

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# What is mutated, and how much of the sample falls to it.
AREAS = {
    "planner": (0.5, ["conv/plan/*.cpp", "conv/planner/*.cpp", "conv/algorithms/**/*.cpp"]),
    "API": (0.2, ["conv/api/*.cpp", "conv/problem/*.cpp"]),
    "emurun": (0.3, ["common/emulator/cuda_runtime/**/*.cpp", "common/emulator/tools/emurun/*.cpp"]),
}

# Ordinary tests, the quick ones first. {python}: this interpreter; {bin}: the folder of programs; {source}: of the
# project.
ENGINE_TESTS = "--gtest_filter=-Nightly/*"
PROGRAMS = [
    ("problem_text_test", []), ("taps_test", []), ("planning_test", []), ("refusals_test", []), ("run_path_test", []),
    ("plan_search_test", [ENGINE_TESTS]), ("algorithm_plans_test", []),
    ("api_test", ["--gtest_filter=-Gpu/*"]), ("convolve_program_test", []),
    ("runtime_test", []), ("convolution_test", [ENGINE_TESTS]),
    ("random_driver", ["{python}", "{source}/tests/conv/random/random_convolutions.py", "--driver", "{bin}/random_driver"]),
    ("sm100_kernels_test", [ENGINE_TESTS]), ("sm90_engines_emulated_test", [ENGINE_TESTS]),
]
# What tests start or load, without being linked with it.
COMPANIONS = ["bin/emurun", "bin/ptxrun", "bin/convolve", "lib/libshiftconv.so", "lib/libshiftconv_emulated.so",
              "lib/emulated_cuda/libcuda.so.1", "lib/emulated_cuda/libcudart.so.13"]


def draw(count, generator):
    """{number: place}, more than asked for: some will not compile. No two on one line."""
    chosen, taken = {}, set()
    for share, patterns in AREAS.values():
        found = []
        for pattern in patterns:
            for path in sorted(SOURCE.glob(pattern)):
                found += places.places(str(path.relative_to(SOURCE)), path.read_text())
        generator.shuffle(found)
        wanted = len(chosen) + round(share * count * 1.3 + 1)
        for place in found:
            if len(chosen) == wanted:
                break
            if (place.path, place.line) not in taken:
                taken.add((place.path, place.line))
                chosen[len(chosen)] = place
    return chosen


def cut(chosen, count):
    """At most `count` of those that compile, of each area its share."""
    kept = {}
    for share, patterns in AREAS.values():
        of_area = [n for n, place in chosen.items() if any(pathlib.PurePath(place.path).match(p.replace("**/", "")) or
                                                           place.path.startswith(p.split("*")[0]) for p in patterns)]
        for number in of_area[:round(share * count)]:
            kept[number] = chosen[number]
    return kept


class Runner:
    def __init__(self, folder, programs):
        self.folder, self.programs, self.seconds = folder, programs, {}

    def run(self, name, arguments, limit, **environment):
        """Whether the program succeeded within the limit."""
        if arguments and not arguments[0].startswith("-"):
            command = [word.format(python=sys.executable, bin=self.folder / "bin", source=SOURCE) for word in arguments]
        else:
            command = [str(self.folder / "bin" / name), "--gtest_brief=1", "--gtest_fail_fast", *arguments]
        with tempfile.TemporaryDirectory() as scratch:
            process = subprocess.Popen(command, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                       env={**os.environ, "TMPDIR": scratch, "SHIFTCONV_AUTOTUNE_CACHE": "", **environment})
            try:
                self.output = process.communicate(timeout=limit)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return False
        return process.returncode == 0

    def reach(self, chosen):
        """{number: programs that reach it}, from a run without a mutant."""
        reaching = collections.defaultdict(list)
        for name, arguments in self.programs:
            with tempfile.NamedTemporaryFile() as noted:
                begin = time.monotonic()
                if not self.run(name, arguments, 3600, SHIFTCONV_MUTANTS_REACHED=noted.name):
                    sys.exit(f"{name} fails without a mutant:\n{self.output[-3000:]}")
                self.seconds[name] = time.monotonic() - begin
                numbers = {int(line) for line in pathlib.Path(noted.name).read_text().split()}
            for number in numbers:
                reaching[number].append((name, arguments))
            print(f"  {name}: {len(numbers & set(chosen))} of {len(chosen)} places in {self.seconds[name]:.0f} s", flush=True)
        return reaching

    def notices(self, number, programs):
        """The first program that a mutant breaks, or None."""
        for name, arguments in programs:
            runner = Runner(self.folder, [])
            if not runner.run(name, arguments, 5 * self.seconds[name] + 60, SHIFTCONV_MUTANT=str(number)):
                return name
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="a build folder of this project, of Ninja")
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--seed", type=int, default=datetime.date.today().toordinal(), help="today's by default: every night others")
    parser.add_argument("--programs", default="", help="these alone, with commas between")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="make the switched build in this folder, and leave it there")
    options = parser.parse_args()
    build = pathlib.Path(options.build).resolve()
    asked = options.programs.split(",") if options.programs else []
    programs = [one for one in PROGRAMS if not asked or one[0] in asked]
    print(f"seed {options.seed}", flush=True)
    targets = [f"bin/{name}" for name, _ in programs] + COMPANIONS
    subprocess.run(["cmake", "--build", str(build), "--target", *targets], check=True, stdout=subprocess.DEVNULL)

    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.keep or scratch).resolve()
        switched = switched_build.SwitchedBuild(build, SOURCE, folder, options.jobs)
        chosen = {n: p for n, p in draw(options.mutants, random.Random(options.seed)).items() if p.path in switched.units}
        drawn = len(chosen)
        replaced = switched.compile(chosen)
        print(f"{len(chosen)} of {drawn} places compile", flush=True)
        chosen = cut(chosen, options.mutants)
        switched.link(replaced, targets)
        runner = Runner(folder, programs)
        reaching = runner.reach(chosen)
        survivors = []
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            judged = {n: pool.submit(runner.notices, n, reaching[n]) for n in chosen}
            for number, future in judged.items():
                by = future.result()
                note = f"noticed by {by}" if by else "SURVIVES, reached by " + (", ".join(n for n, _ in reaching[number]) or "nothing")
                print(f"  {chosen[number]}: {note}", flush=True)
                if not by:
                    survivors.append(number)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} noticed, seed {options.seed}")
    for number in survivors:
        print(f"survives: {chosen[number]}")
    # Samples differ. When not even every second change is noticed, this program is what is broken.
    return 0 if 2 * len(survivors) < len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
