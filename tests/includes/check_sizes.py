"""What CONTRIBUTING.md says of files: a source has at most 500 lines, a line of a page at most 400 characters, and pages name commits in
docs/verification only.

Argument: the root of the sources.
"""
import os
import re
import sys

from faults import close

SOURCES = (".h", ".hpp", ".cpp", ".cu", ".cuh", ".py", ".cmake", "CMakeLists.txt")
LINES, CHARACTERS = 500, 400
COMMIT = re.compile(r"`[0-9a-f]{7,40}`|\bcommit [0-9a-f]{7,40}\b")


def faults_of(path, lines):
    if path.endswith(SOURCES):
        return [f"{path} has {len(lines)} lines"] if len(lines) > LINES else []
    faults = [f"{path}:{number}: {len(line)} characters" for number, line in enumerate(lines, 1)
              if len(line) > CHARACTERS]
    if not path.startswith("docs/verification/"):
        faults += [f"{path}:{number} names a commit" for number, line in enumerate(lines, 1) if COMMIT.search(line)]
    return faults


def main():
    assert faults_of("a.cpp", [""] * 501) and not faults_of("a.cpp", [""] * 500)
    assert faults_of("a.md", ["x" * 401]) and faults_of("a.md", ["of commit 976b6b5"]) and not faults_of("docs/verification/a.md", ["`976b6b5`"])
    os.chdir(sys.argv[1])
    count, faults = 0, []
    for root in (".", "bench", "cmake", "common", "conv", "docs", "examples", "tests"):
        for folder, folders, files in os.walk(root):
            if root == ".":
                folders.clear()
            for path in (os.path.relpath(os.path.join(folder, name)) for name in files):
                if not path.endswith((*SOURCES, ".md")):
                    continue
                with open(path, encoding="utf-8") as file:
                    count += 1
                    faults += faults_of(path, file.read().splitlines())
    return close(faults, count, "files")


sys.exit(main())
