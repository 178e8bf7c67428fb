#!/usr/bin/env python3
"""bench/conv/gpu/compare.py against a stand-in for h200_bench: compare_test.py COMPARE

Of its three layers one is fine, one ends the process at plan 3 unless that is left out, and one is wrong.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

STAND_IN = """#!/usr/bin/env python3
import json, os, signal, sys
argument = lambda name: sys.argv[sys.argv.index(name) + 1]
assert argument("--rounds") == "5" and "--limit" not in sys.argv, sys.argv
name = argument("--only")
print("running 3", file=sys.stderr, flush=True)
if name == "wrong":
    sys.exit(1)
skipped = [int(argument("--skip"))] if "--skip" in sys.argv else []
if name == "ends" and skipped != [3]:
    os.kill(os.getpid(), signal.SIGSEGV)
row = {"name": name, "class": "dense3x3" if name == "fine" else "1x1", "ratio": 2.0 if name == "fine" else 0.5, "cudnn_skipped_plans": skipped}
json.dump({"date": "today", "rows": [row]}, open(argument("--json"), "w"))
"""


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program, layers, report = folder / "bench", folder / "layers.txt", folder / "report.json"
        program.write_text(STAND_IN)
        program.chmod(0o755)
        layers.write_text("# name class\nfine dense3x3\nends 1x1\nwrong 1x1\n")
        done = subprocess.run([sys.executable, sys.argv[1], program, layers, report, "--limit", "20", "--", "--rounds", "5"],
                              capture_output=True, text=True)
        assert done.returncode == 1, done
        found = json.loads(report.read_text())
        assert [(r["name"], r["cudnn_skipped_plans"]) for r in found["rows"]] == [("fine", []), ("ends", [3])], found
        assert (found["geomean_all"], found["geomean_dense_3x3"], found["min_ratio"]) == (1.0, 2.0, 0.5), found
        assert len(found["missing"]) == 1 and found["missing"][0].startswith("wrong: exit status 1"), found

        done = subprocess.run([sys.executable, sys.argv[1], "--only", "fine", program, layers, report, "--", "--rounds", "5"],
                              capture_output=True, text=True)
        assert done.returncode == 0 and "missing" not in json.loads(report.read_text()), done


main()
