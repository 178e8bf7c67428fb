"""An example for PyTorch, as somebody runs it: example_test.py NAME MODULE... Skipped where a module is missing."""
import contextlib
import importlib.util
import io
import pathlib
import re
import runpy
import sys

name, *modules = sys.argv[1:]
if missing := [module for module in modules if importlib.util.find_spec(module) is None]:
    print("skipped: no", ", ".join(missing))
    sys.exit(77)
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    runpy.run_path(str(pathlib.Path(__file__).resolve().parents[3] / "examples" / name / f"{name}.py"), run_name="__main__")
print(printed.getvalue())
# Each convolution against the reference is for other tests. Here all of them go through the library, and the output is not nonsense.
assert "100.0% of their FLOPs" in printed.getvalue()
difference, largest = map(float, re.search(r"largest difference from float32: (\S+) of (\S+)$", printed.getvalue(), re.MULTILINE).groups())
assert 0 < difference < 0.05 * largest
