"""What libshiftconv_torch.so needs and shows: PyTorch's stable C ABI only, and nothing of CUDA. Needs no PyTorch."""

import pathlib
import re
import subprocess
import unittest

import shiftconv

GLUE = shiftconv.glue_path("torch")
DECLARED = pathlib.Path(__file__).resolve().parents[3] / "conv/runtimes/torch/torch_abi.hpp"


def symbols(*flags):
    lines = subprocess.run(["nm", "-D", *flags, GLUE], check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[-1] for line in lines]


class Audit(unittest.TestCase):
    def test_undefined_symbols(self):
        declared = set(re.findall(r"\b((?:aoti_)?torch_\w+)\(", DECLARED.read_text()))
        for name in symbols("--undefined-only"):
            known = name in declared or name.startswith("shiftconv_") or "@" in name or name.startswith(("_ITM_", "__gmon_start__"))
            self.assertTrue(known, name)
        self.assertNotIn("aoti_torch_get_current_cuda_stream", symbols("--undefined-only"))  # no PyTorch for CPUs has it

    def test_defined_symbols(self):
        self.assertEqual([name for name in symbols("--defined-only") if not name.startswith("shiftconv_torch_")], [])

    def test_libraries(self):
        dynamic = subprocess.run(["readelf", "-d", GLUE], check=True, capture_output=True, text=True).stdout
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
        self.assertLessEqual({"libshiftconv.so.0.3", "libtorch.so"}, needed)
        self.assertEqual([name for name in needed if "cuda" in name or "c10" in name], [])
        self.assertRegex(dynamic, r"R(UN)?PATH.*\[\$ORIGIN\]")


if __name__ == "__main__":
    unittest.main()
