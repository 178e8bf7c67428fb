#!/usr/bin/env python3
"""The kernel modules whose sources or headers have changed, one a line: what `./bootstrap assemble --since COMMIT` assembles.

usage: changed_kernels.py COMMIT           since the commit, with what is not committed
       changed_kernels.py --files FILE...  as if these had changed
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULE = re.compile(r"^\s*shiftconv_add_kernels\(NAME (\w+) SOURCE (\S+)", re.M)
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.M)


def git(*arguments):
    result = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr.strip())
    return result.stdout.splitlines()


def modules():
    """{name: its source}, both as CMake has them."""
    found = {}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name != "build" and not name.startswith(".")]
        if "CMakeLists.txt" in files:
            with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8") as file:
                for name, source in MODULE.findall(file.read()):
                    found[name] = os.path.normpath(os.path.join(os.path.relpath(folder, ROOT), source))
    return found


def includes(path, known):
    """The headers of the project that a file includes, itself among them."""
    if path not in known:
        known.add(path)
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            for header in INCLUDE.findall(file.read()):
                if os.path.exists(os.path.join(ROOT, header)):
                    includes(header, known)
    return known


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.exit(__doc__)
    changed = set(arguments[1:] if arguments[0] == "--files" else git("diff", "--name-only", arguments[0]))
    # What makes machine code of every source.
    everything = {"cmake/ShiftConvKernels.cmake", "cmake/AssembleCubin.cmake"} & changed
    for name, source in sorted(modules().items()):
        if everything or includes(source, set()) & changed:
            print(name)


main(sys.argv[1:])
