"""The wheel of the built libraries, installed into a clean environment.

    wheel_test.py BYTES       the most that the wheel may have
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

try:
    import scikit_build_core  # noqa: F401
except ImportError:
    print("skipped: this Python has no scikit-build-core (./bootstrap test --with torch fetches it)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = """
import shiftconv, sys
assert not [name for name in sys.modules if name in ("torch", "numpy")]
problem = shiftconv.Problem.parse("1x3x4x8 f16 * 8x1x1x8 -> f16")
with shiftconv.Device("emulated:sm_90a") as device:
    plan = shiftconv.Plan(problem, device)
    x, w = device.upload(bytes(192)), device.upload(bytes(128))
    y = shiftconv.Memory(device, 192)
    y.fill(255)
    plan.run(device, input=x, filter=w, output=y)
    assert y.download() == bytes(192)
    del x, w, y
print(shiftconv.library_path())
"""


class Wheel(unittest.TestCase):
    def test_installed_into_a_clean_environment(self):
        library = pathlib.Path(os.environ["SHIFTCONV_LIBRARY"])
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SHIFTCONV", "PYTHON"))}
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            subprocess.run(
                [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--no-index", "--quiet",
                 "-w", str(folder), "-C", f"cmake.define.SHIFTCONV_LIBRARIES={library.parent}",
                 "-C", f"build-dir={folder / 'build'}"],
                env=environment, check=True,
            )  # fmt: skip
            (wheel,) = folder.glob("*.whl")
            self.assertRegex(wheel.name, r"^shiftconv-0\.3\.0-py3-none-linux_x86_64\.whl$")
            self.assertLess(wheel.stat().st_size, MOST_BYTES)
            names = zipfile.ZipFile(wheel).namelist()
            expected = {"libshiftconv.so.0.3", "libshiftconv_emulated.so", "libshiftconv_torch.so"}
            self.assertLessEqual(expected, {name.rpartition("/lib/")[2] for name in names if "/lib/" in name})
            self.assertIn("shiftconv/py.typed", names)
            self.assertFalse([name for name in names if "__pycache__" in name])
            subprocess.run([sys.executable, "-m", "venv", str(folder / "clean")], env=environment, check=True)
            python = folder / "clean/bin/python"
            subprocess.run([python, "-m", "pip", "install", "--no-index", "--quiet", str(wheel)], env=environment, check=True)
            done = subprocess.run([python, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True)
            self.assertRegex(done.stdout, rf"^{folder.resolve()}/clean/lib/.*/shiftconv/lib/libshiftconv\.so\.0\.3\n$")


if __name__ == "__main__":
    MOST_BYTES = int(sys.argv.pop(1))
    unittest.main()
