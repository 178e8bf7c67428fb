"""What paths of edits mean, and what is noticed when they do not fit."""
import os
import tempfile
import unittest

import edited_copy
from edited_copy import Fault, Source

TEXT = """// site: is a word in this comment, too
#pragma unroll 1
  for (int32_t turn = 0; turn < kTurns * (1 + 2); ++turn) {  // site: turns
  if (a(b, c) && lane == 0)  // a comment, (
    ring.full(stage)->wait<4>(first, "),;", second[turn + 1][2]);  // why; site: wait
  const uint32_t sum = base + f(x, y) - g(z)[i];  // site: sum
  total[turn] = sum <= limit ? here : there;  // site: total
  while (p == q) {  // site: loop
  }
} else if (r != s && t) {  // site: branch
  return many(1,
              2);  // site: result
}
MACRO(other, Type)
MACRO(name, Type)  // site: macro
"""


class Paths(unittest.TestCase):
    def find(self, path):
        source = Source(TEXT)
        return source.text[slice(*source.find(path))]

    def testPieces(self):
        for path, text in {
                "turns": "for (int32_t turn = 0; turn < kTurns * (1 + 2); ++turn) {", "turns.name": "turn", "turns.limit": "kTurns * (1 + 2)",
                "wait.cond": "a(b, c) && lane == 0", "wait.cond.first": "a(b, c)", "wait.cond.first.2": "c", "wait.cond.last": "lane == 0",
                "wait.cond.last.last": "0", "wait.then": 'ring.full(stage)->wait<4>(first, "),;", second[turn + 1][2]);',
                "wait.callee": "ring.full(stage)->wait<4>", "wait.object": "ring.full(stage)", "wait.object.1": "stage", "wait.1": "first",
                "wait.2": '"),;"', "wait.3": "second[turn + 1][2]", "wait.3.[2]": "2", "wait.[1].first": "turn",
                "sum.left": "const uint32_t sum", "sum.name": "sum", "sum.right.first": "base", "sum.right.last": "g(z)[i]", "sum.[1]": "i",
                "total.left": "total[turn]", "total.name": "total", "total.right": "sum <= limit ? here : there",
                "loop.cond": "p == q", "branch.cond.first.last": "s", "result.right": "many(1,\n              2)", "result.2": "2",
                "macro": "MACRO(name, Type)", "macro.1": "name"}.items():
            with self.subTest(path):
                self.assertEqual(self.find(path), text)
        self.assertTrue(self.find("wait").startswith("if (a(b, c)"))
        self.assertTrue(self.find("wait").endswith("[2]);"))

    def testWhatIsNotThere(self):
        for path, sentence in {"absent": 'marked with "site: absent"', "is": "is marked", "total.cond": "no condition", "total.1": "no call",
                               "sum.[3]": "no subscript 3", "wait.4": "no argument 4", "turns.right.3": "turns", "loop.limit": "no for",
                               "total.first": "no operands", "macro.object": "no member", "turns.size": "nothing is called size"}.items():
            with self.subTest(path), self.assertRaisesRegex(Fault, sentence):
                self.find(path)

    def testMarks(self):
        for text, sentence in (("a();  // site: one\nb();  // site: one\n", "two sites are called one"),
                               ("f(a,  // site: one\n  b);\n", "no statement ends"), ("// site: one\n", "no statement ends")):
            with self.subTest(text), self.assertRaisesRegex(Fault, sentence):
                Source(text)


class Edits(unittest.TestCase):
    def testReplaceManyAtOnce(self):
        text = "if (a) f(x, y);  // site: one\nint b = c;  // site: two\n"
        edits = [("one.1", "$ + $(two.name)"), ("two", "$(one)\n$"), ("one.2", "")]
        self.assertEqual(Source(text).edited(edits), "if (a) f(x + b, );  // site: one\nif (a) f(x, y);\nint b = c;  // site: two\n")
        with self.assertRaisesRegex(Fault, "two edits change the same text"):
            Source(text).edited([("one", ""), ("one.1", "z")])

    def testNamesDoNotMatter(self):
        """The mistake is the same after everything local has another name."""
        edits = [("one.1", "$ + $(two.name)"), ("one.callee", "other")]
        text = "f(x, y);  // site: one\nint b = c;  // site: two\n"
        renamed = text.replace("x", "place").replace("int b", "int answer")
        self.assertEqual(Source(renamed).edited(edits), Source(text).edited(edits).replace("x + b", "place + answer").replace("int b", "int answer"))

    def testCheckNamesWhatDoesNotFit(self):
        with tempfile.TemporaryDirectory() as folder:
            source, edits = os.path.join(folder, "source"), os.path.join(folder, "edits")
            with open(source, "w", encoding="utf-8") as file:
                file.write("f(x);  // site: used\ng(x);  // site: unused\n")
            for replacement, faults in (("$(unused.1)", 0), ("$", 1), ("$(unused.2)", 1)):
                with open(edits, "w", encoding="utf-8") as file:
                    file.write(f"{source}\ncopy\n@@ used.1\n{replacement}\n")
                self.assertEqual(len(edited_copy.check([edits])), faults, replacement)

    def testProofsNameSites(self):
        with tempfile.TemporaryDirectory() as folder:
            proofs = os.path.join(folder, "proofs")
            for place, faults in (("site: here/there", 0), ("*", 0), ("run/multiply", 1)):
                with open(proofs, "w", encoding="utf-8") as file:
                    file.write(f"# kernel | place | instruction\nkernel_* | {place} | bar.sync | * | deleted | Why.\n")
                self.assertEqual(len(edited_copy.check([], [proofs])), faults, place)

    def testHeadersAreEditedBesideTheCopy(self):
        with tempfile.TemporaryDirectory() as folder:
            root, edited_copy.ROOT = edited_copy.ROOT, folder
            try:
                os.makedirs(os.path.join(folder, "common"))
                source, copy = os.path.join(folder, "source.cu"), os.path.join(folder, "copy.cu")
                files = {"source.cu": '#include <cuda.h>\n#include "common/one.cuh"\nf(x);  // site: here\n',
                         "common/one.cuh": '#include "common/two.cuh"\n', "common/two.cuh": "g(y);  // site: below\n"}
                for name, text in files.items():
                    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                        file.write(text)
                with open(copy + ".edits", "w", encoding="utf-8") as file:
                    file.write(f"{source}\n{copy}\n@@ below.1\n$ + $(here.1)\n")
                edited_copy.main([copy + ".edits"])
                with open(os.path.join(copy + ".include", "common/two.cuh"), encoding="utf-8") as file:
                    self.assertEqual(file.read(), "g(y + x);  // site: below\n")
                with open(copy, encoding="utf-8") as file:
                    self.assertEqual(file.read(), files["source.cu"])
                self.assertFalse(os.path.exists(os.path.join(copy + ".include", "common/one.cuh")))
                with open(copy + ".d", encoding="utf-8") as file:
                    self.assertIn("common/two.cuh", file.read())
            finally:
                edited_copy.ROOT = root


if __name__ == "__main__":
    unittest.main()
