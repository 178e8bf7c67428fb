"""The example for PyTorch's decoders, as somebody runs it. Skipped where there is no PyTorch."""
import importlib.util
import pathlib
import runpy
import sys

if importlib.util.find_spec("torch") is None:
    print("skipped: no PyTorch")
    sys.exit(77)
runpy.run_path(str(pathlib.Path(__file__).resolve().parents[3] / "examples/torch_vae/torch_vae.py"), run_name="__main__")
