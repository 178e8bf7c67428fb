"""The version is written in several places, which agree. Argument: the root of the sources."""
import os
import re
import sys

os.chdir(sys.argv[1])


def found(path, pattern):
    with open(path, encoding="utf-8") as file:
        return ".".join(re.search(pattern, file.read(), re.S).groups())


header = found("conv/include/shiftconv/status.h", r"VERSION_MAJOR (\d+).*?VERSION_MINOR (\d+).*?VERSION_PATCH (\d+)")
minor = header.rpartition(".")[0]
places = {
    "CMakeLists.txt": found("CMakeLists.txt", r"project\(ShiftConv VERSION ([\d.]+)") == header,
    "pyproject.toml": found("pyproject.toml", r'\nversion = "([\d.]+)"') == header,
    "conv/python/shiftconv/__init__.py": found("conv/python/shiftconv/__init__.py", r'__version__ = "([\d.]+)"') == header,
    "conv/python/shiftconv/_library.py (SONAME)": found("conv/python/shiftconv/_library.py", r'libshiftconv\.so\.([\d.]+)"') == minor,
    "conv/python/shiftconv/_library.py (_ABI)": found("conv/python/shiftconv/_library.py", r"_ABI = \((\d+), (\d+)\)") == minor,
    "conv/python/CMakeLists.txt": found("conv/python/CMakeLists.txt", r"libshiftconv\.so\.([\d.]+) ") == minor,
    "README.md": found("README.md", r"find_package\(ShiftConv ([\d.]+) ") == minor,
    "CHANGELOG.md": found("CHANGELOG.md", r"\n## (?!Unreleased)([\d.]+)") == minor,
}
wrong = [place for place, agrees in places.items() if not agrees]
print(f"status.h says {header};", f"not so: {', '.join(wrong)}" if wrong else "so do all others")
sys.exit(bool(wrong))
