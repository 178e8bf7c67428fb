"""cmake/changed_kernels.py: a kernel's source, a header of several, and what is no kernel's. Argument: the script."""
import subprocess
import sys
import unittest

SCRIPT = sys.argv.pop(1)


def changed(*files):
    return subprocess.run([sys.executable, SCRIPT, "--files", *files], capture_output=True, text=True, check=True).stdout.split()


class ChangedKernels(unittest.TestCase):
    def test_a_source_is_its_module(self):
        self.assertEqual(changed("conv/algorithms/thin/thin.cu"), ["thin"])

    def test_a_header_is_all_modules_that_include_it(self):
        self.assertEqual(changed("conv/algorithms/thin/thin.cuh"), ["thin", "thin_bytes"])
        self.assertEqual(changed("common/gemm/sm100/skeleton.cuh"), ["gemm_sm100", "halo_sm100", "shift_stream", "shift_window"])

    def test_what_no_kernel_includes_is_none(self):
        self.assertEqual(changed("README.md", "conv/algorithms/thin/plan.cpp"), [])

    def test_how_kernels_are_assembled_is_all(self):
        self.assertGreater(len(changed("cmake/AssembleCubin.cmake")), 30)


unittest.main()
