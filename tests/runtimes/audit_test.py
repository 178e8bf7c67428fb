"""What the glue for JAX and ONNX Runtime needs and shows: neither CUDA nor the runtime, and only the functions that a runtime calls. Needs
neither runtime."""
import os
import re
import subprocess
import sys
import unittest

import shiftconv

SHOWN = {
    "jax": {"shiftconv_jax_conv_cpu", "shiftconv_jax_conv_cuda"},
    "onnxruntime": {"CreateEpFactories", "ReleaseEpFactory", "shiftconv_onnxruntime_report"},
}
BUILT = {name: shiftconv.glue_path(name) for name in SHOWN if os.path.exists(shiftconv.glue_path(name))}
if not BUILT:
    print("skipped: this build has glue for neither")
    sys.exit(77)
# libshiftconv, and what every C++ program needs.
NEEDED = {"libshiftconv.so.0.3", "libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "libdl.so.2", "ld-linux-x86-64.so.2"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Audit(unittest.TestCase):
    def testDefinedSymbols(self):
        for name, path in BUILT.items():
            with self.subTest(name):
                self.assertEqual({line.split()[-1] for line in output("nm", "-D", "--defined-only", path).splitlines()}, SHOWN[name])

    def testUndefinedSymbols(self):
        for name, path in BUILT.items():
            for line in output("nm", "-D", "--undefined-only", path).splitlines():
                symbol = line.split()[-1]
                with self.subTest(name, symbol=symbol):
                    self.assertRegex(symbol, r"^shiftconv_|@(GLIBC|GLIBCXX|CXXABI|GCC)_|^_ITM_|^__gmon_start__$")

    def testLibraries(self):
        for name, path in BUILT.items():
            with self.subTest(name):
                dynamic = output("readelf", "-d", path)
                self.assertLessEqual(set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)), NEEDED)
                self.assertIn("libshiftconv.so.0.3", dynamic)
                self.assertRegex(dynamic, r"R(UN)?PATH.*\[\$ORIGIN\]")


if __name__ == "__main__":
    unittest.main()
