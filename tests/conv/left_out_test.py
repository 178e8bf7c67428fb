"""Which kernels a build has: in a quick build none that a list left_out_of_quick_builds.txt names, in others all of them.

    left_out_test.py SOURCE BUILD quick|whole
"""
import pathlib
import re
import sys
import unittest

source, build, kind = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]


class LeftOutKernels(unittest.TestCase):
    def test_lists(self):
        lists = sorted(source.glob("conv/algorithms/*/left_out_of_quick_builds.txt"))
        self.assertTrue(lists)
        for path in lists:
            names = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
            self.assertEqual(len(names), len(set(names)), path)
            folder = build / path.parent.relative_to(source)
            kernels = [name for ptx in folder.glob("*_image/*.ptx") for name in re.findall(r"^\.visible \.entry (\w+)", ptx.read_text(), re.MULTILINE)]
            self.assertTrue(kernels, folder)
            present = sorted(set(names) & set(kernels))
            self.assertEqual(present, [] if kind == "quick" else sorted(names), path)


unittest.main(argv=sys.argv[:1])
