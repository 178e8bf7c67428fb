"""tests/run over a build tree of three programs that print what GoogleTest prints: the cases that fail are named, also where a program ends in
the middle of one, and the last line counts cases by label. Argument: tests/run."""
import os
import subprocess
import sys
import tempfile
import unittest

RUN = sys.argv.pop(1)
PROGRAMS = {
    "good_test": """[==========] Running 3 tests from 1 test suite.
[ RUN      ] Good.First
[       OK ] Good.First (0 ms)
[ RUN      ] Good.Second
[  SKIPPED ] Good.Second (0 ms)
[ RUN      ] Good.Third/3
[       OK ] Good.Third/3 (0 ms)
""",
    "bad_test": """[==========] Running 2 tests from 1 test suite.
[ RUN      ] Bad.First
[       OK ] Bad.First (0 ms)
[ RUN      ] Bad.Second
expected 3, got 4
[  FAILED  ] Bad.Second, where GetParam() = 3 (0 ms)
""",
    "dead_test": """[==========] Running 2 tests from 1 test suite.
[ RUN      ] Dead.First
going down
""",
    "script": "nothing that looks like a case\n",
}
STATUS = {"bad_test": 1, "dead_test": 134}
LABELS = {"good_test": "unit", "bad_test": "conv", "dead_test": "conv", "script": "unit"}


class Run(unittest.TestCase):
    def run_tree(self, names, *arguments):
        with tempfile.TemporaryDirectory() as tree:
            with open(os.path.join(tree, "CTestTestfile.cmake"), "w") as file:
                for name in names:
                    program = os.path.join(tree, name)
                    with open(program, "w") as script:
                        listing = "".join(f"  {line.split('.')[1]}\n" for line in PROGRAMS[name].splitlines() if "RUN" in line)
                        script.write(f"#!/bin/sh\ncase $* in *list_tests*) cat <<'X'\nSuite.\n{listing}X\nexit 0;; esac\n"
                                     f"cat <<'X'\n{PROGRAMS[name]}X\nexit {STATUS.get(name, 0)}\n")
                    os.chmod(program, 0o755)
                    file.write(f"add_test({name} {program})\nset_tests_properties({name} PROPERTIES LABELS {LABELS[name]})\n")
            done = subprocess.run([sys.executable, RUN, "--tree", tree, *arguments], capture_output=True, text=True)
            return done.returncode, done.stdout.splitlines()

    def test_counts_by_label(self):
        status, lines = self.run_tree(["good_test", "script"])
        self.assertEqual((status, lines[-1]), (0, "3 cases ran, none failed, 1 skipped: unit 3"))

    def test_names_what_failed(self):
        status, lines = self.run_tree(["good_test", "bad_test"])
        self.assertEqual(lines[-2:], ["FAILED Bad.Second (bad_test)", "4 cases ran, 1 FAILED, 1 skipped: conv 2, unit 2"])
        self.assertIn("expected 3, got 4", lines)
        self.assertNotEqual(status, 0)

    def test_names_the_case_in_which_a_program_ended(self):
        status, lines = self.run_tree(["dead_test"])
        self.assertEqual(lines[-2:], ["FAILED Dead.First (dead_test)", "1 cases ran, 1 FAILED: conv 1"])
        self.assertNotEqual(status, 0)

    def test_arguments_go_to_ctest(self):
        status, lines = self.run_tree(["good_test", "bad_test"], "-L", "unit")
        self.assertEqual((status, lines[-1]), (0, "2 cases ran, none failed, 1 skipped: unit 2"))

    def test_a_case_by_its_name(self):
        status, lines = self.run_tree(["bad_test", "script"], "--case", "Bad.*")
        self.assertEqual(lines[-1], "2 cases ran, 1 FAILED: conv 2")
        self.assertNotEqual(status, 0)

    def test_nothing_to_run_is_an_error(self):
        self.assertNotEqual(self.run_tree(["good_test"], "-L", "gemm")[0], 0)
        self.assertNotEqual(self.run_tree(["script"], "--case", "No.*")[0], 0)


unittest.main()
