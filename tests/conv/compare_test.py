#!/usr/bin/env python3
"""bench/conv/gpu/compare.py against a stand-in for h200_bench: compare_test.py COMPARE

Of its layers one is fine, one ends the process at plan 3 and fails the device at an engine's plan unless both are left out, one is
wrong, one fails behind all plans, and one has no plan of cuDNN.
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
at = sys.argv.index("--skip") + 1 if "--skip" in sys.argv else len(sys.argv)
skipped = sys.argv[at:]
if name == "ends" and "3" not in skipped:
    os.kill(os.getpid(), signal.SIGSEGV)
print("building eng7_k2=1", file=sys.stderr, flush=True)
if name == "ends" and "eng7_k2=1" not in skipped:
    sys.exit(2)
print("done with cuDNN", file=sys.stderr, flush=True)
if name == "late":
    sys.exit(2)
row = {"name": name, "class": "dense3x3" if name == "fine" else "1x1", "cudnn_skipped_plans": skipped}
if name == "unplanned":
    row["cudnn_refusal"] = "none"
else:
    row.update(ratio=2.0 if name == "fine" else 0.5, ratio_engines=1.0 if name == "fine" else 0.25)
json.dump({"date": "today", "rows": [row]}, open(argument("--json"), "w"))
"""


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program, layers, report = folder / "bench", folder / "layers.txt", folder / "report.json"
        program.write_text(STAND_IN)
        program.chmod(0o755)
        layers.write_text("# name class\nfine dense3x3\nends 1x1\nwrong 1x1\nlate 1x1\nunplanned 1x1\n")
        done = subprocess.run([sys.executable, sys.argv[1], program, layers, report, "--limit", "20", "--", "--rounds", "5"],
                              capture_output=True, text=True)
        assert done.returncode == 1, done
        found = json.loads(report.read_text())
        assert [(r["name"], r["cudnn_skipped_plans"]) for r in found["rows"]] == [
            ("fine", []), ("ends", ["3", "eng7_k2=1"]), ("unplanned", [])], found
        assert (found["geomean_all"], found["geomean_dense_3x3"], found["min_ratio"]) == (1.0, 2.0, 0.5), found
        assert found["geomean_engines"] == 0.5, found
        assert [m.split(": ")[:2] for m in found["missing"]] == [["wrong", "exit status 1"], ["late", "exit status 2"]], found

        done = subprocess.run([sys.executable, sys.argv[1], "--only", "fine", program, layers, report, "--", "--rounds", "5"],
                              capture_output=True, text=True)
        assert done.returncode == 0 and "missing" not in json.loads(report.read_text()), done


main()
