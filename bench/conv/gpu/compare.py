#!/usr/bin/env python3
"""Runs h200_bench layer by layer, each in a process of its own, and puts the rows into one report.

    bench/conv/gpu/compare.py PROGRAM LAYERS REPORT.json [--only NAMES] [--limit SECONDS] [-- OPTIONS OF h200_bench]

Some plans of cuDNN end the process, or leave the device unusable. Such a plan is left out and named in its row (cudnn_skipped_plans), and
the layer is run again. A layer that cuDNN has no plan for has a row without a ratio (cudnn_refusal). A layer that passes the limit, or
that is wrong, is named in the report ("missing"); the exit status is then 1. The report is written anew after every layer.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile


DEVICE_FAILED = 2  # exit status of h200_bench


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0.0


def run_layer(program, layers, name, options, limit):
    """The report of one layer, or a reason why there is none."""
    skipped = []
    while True:
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "row.json"
            command = [program, "--layers", layers, "--only", name, "--json", str(report), *options]
            if skipped:
                command += ["--skip", *skipped]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
            except subprocess.TimeoutExpired:
                return f"{name}: more than {limit} seconds"
            print(done.stdout, end="", flush=True)
            if done.returncode == 0 and report.exists():
                return json.loads(report.read_text())
            if done.returncode == 0:
                return f"{name}: nothing to compare"
            at = re.findall(r"^(building|running|done with) (\S+)$", done.stderr, re.MULTILINE)
            ended = done.returncode < 0 or done.returncode == DEVICE_FAILED
            if not ended or not at or at[-1][0] == "done with" or at[-1][1] in skipped:
                return f"{name}: exit status {done.returncode}: {done.stderr[-300:]}"
            skipped.append(at[-1][1])


def report_of(any_report, rows, missing):
    """What the report of one layer says of the run, about all rows."""
    whole = {key: value for key, value in any_report.items() if not key.startswith("geomean") and key not in ("min_ratio", "missing")}
    compared = [r for r in rows if "ratio" in r]
    if compared:
        whole.update(geomean_all=geomean([r["ratio"] for r in compared]), min_ratio=min(r["ratio"] for r in compared),
                     geomean_dense_3x3=geomean([r["ratio"] for r in compared if r["class"] == "dense3x3"]))
    searched = [r["ratio_engines"] for r in rows if "ratio_engines" in r]
    if searched:
        whole.update(geomean_engines=geomean(searched))
    whole.update(rows=rows)
    if missing:
        whole["missing"] = missing
    return whole


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("layers")
    parser.add_argument("report")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=60)
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    arguments = parser.parse_args(own)
    lines = pathlib.Path(arguments.layers).read_text().splitlines()
    names = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
    if arguments.only:
        names = [n for n in names if n in arguments.only.split(",")]

    rows, missing, whole = [], [], None
    for name in names:
        found = run_layer(arguments.program, arguments.layers, name, options, arguments.limit)
        if isinstance(found, str):
            print(found, file=sys.stderr, flush=True)
            missing.append(found)
            continue
        rows += found["rows"]
        whole = report_of(found, rows, missing)
        pathlib.Path(arguments.report).write_text(json.dumps(whole, indent=1) + "\n")
    if whole is None:
        return 1
    whole = report_of(whole, rows, missing)
    pathlib.Path(arguments.report).write_text(json.dumps(whole, indent=1) + "\n")
    if "geomean_all" in whole:
        print(f"geomean {whole['geomean_all']:.3f} over {sum('ratio' in r for r in rows)} rows, {whole['geomean_dense_3x3']:.3f} over the "
              f"dense 3x3 ones, least {whole['min_ratio']:.3f}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
