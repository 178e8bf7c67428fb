"""Programs of an existing build folder, linked once more with some sources replaced by copies that hold mutants.

The commands are those of the build itself (Ninja): sources with mutants are compiled from their copies, and whatever is made of a
changed file is made again in a folder of its own, with the same names. The build folder stays as it is.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess

import places


class BuildError(Exception):
    pass


class SwitchedBuild:
    def __init__(self, build, source, folder, jobs):
        self.build, self.source = pathlib.Path(build), pathlib.Path(source)
        self.folder, self.jobs = pathlib.Path(folder), jobs
        self.header = pathlib.Path(__file__).parent / "mutant.hpp"
        self.units = {}  # source, from the project's folder -> (compiled file, command)
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            for path in self.sources_of(pathlib.Path(entry["file"])):
                self.units.setdefault(path, (entry["file"], entry["command"]))

    def sources_of(self, path):
        """A unity source includes what it is made of."""
        files = [path]
        if path.name.startswith("unity_"):
            files = [pathlib.Path(name) for name in re.findall(r'#include "(.*\.cpp)"', path.read_text())]
        for file in files:
            if file.is_relative_to(self.source):
                yield str(file.relative_to(self.source))

    def copy_of(self, path):
        return self.folder / "source" / path

    def write(self, path, chosen):
        """The copy of a source, with the places of {number: place}. Returns nothing; the source itself stays."""
        text = places.mutate(path, (self.source / path).read_text(), chosen)
        copy = self.copy_of(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(f'#include "{self.header}"\n#line 1 "{copy}"\n{text}')

    def compile(self, chosen):
        """Compiles all units with places of {number: place}. Returns {object of the build: its replacement}; places that do not compile
        are removed from `chosen`."""
        replaced = {}
        by_unit = {}
        for place in chosen.values():
            by_unit.setdefault(self.units[place.path][0], set()).add(place.path)
        waiting = list(by_unit.items())
        running = []
        while waiting or running:
            while waiting and len(running) < self.jobs:
                running.append(self.start(*waiting.pop(0), chosen))
            unit, paths, output, process = running.pop(0)
            errors = process.communicate()[1]
            if process.returncode == 0:
                replaced[output] = str(self.folder / output)
                continue
            lines = {(found[0], int(found[1])) for found in re.findall(r"^(?:In file included from )?(/[^:\n]+):(\d+):", errors, re.M)}
            bad = [n for n, p in chosen.items() if p.path in paths and (str(self.copy_of(p.path)), p.line) in lines]
            if not bad:
                raise BuildError(f"{unit} does not compile, and not because of a mutant:\n{errors[:4000]}")
            for number in bad:
                del chosen[number]
            if any(p.path in paths for p in chosen.values()):
                waiting.append((unit, paths))
        return replaced

    def start(self, unit, paths, chosen):
        for path in paths:
            self.write(path, {n: p for n, p in chosen.items() if p.path == path})
        command = shlex.split(self.units[next(iter(paths))][1])
        compiled = unit
        if unit not in (str(self.source / path) for path in paths):
            text = pathlib.Path(unit).read_text()
            for path in paths:
                text = text.replace(f'"{self.source / path}"', f'"{self.copy_of(path)}"')
            copy = self.folder / "source" / pathlib.Path(unit).relative_to(self.build)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
            compiled = str(copy)
        else:
            compiled = str(self.copy_of(next(iter(paths))))
        output = command[command.index("-o") + 1]
        (self.folder / output).parent.mkdir(parents=True, exist_ok=True)
        command = [compiled if word == unit else str(self.folder / output) if word == output else word
                   for word in command if word not in ("-Werror", "-Winvalid-pch")]
        # Warnings of changed text mean nothing, and the tests wait longer for the compiler than for what it makes.
        command += ["-w", "-O1"]
        return unit, paths, output, subprocess.Popen(command, cwd=self.build, stderr=subprocess.PIPE, text=True)

    def link(self, replaced, targets):
        """Makes the targets again. `replaced`: {file of the build: its replacement}, to which all that is made of it is added."""
        moved = dict(replaced)
        files = {os.path.relpath(os.path.realpath(self.build / target), self.build) for target in targets}
        listed = subprocess.run(["ninja", "-C", str(self.build), "-t", "commands", *targets], check=True, capture_output=True, text=True)
        for line in listed.stdout.splitlines():
            for command in line.split(" && "):
                words = shlex.split(command)
                if len(words) > 1 and self.makes_again(words, moved, files):
                    self.run(words, moved)
        return moved

    def makes_again(self, words, moved, files):
        """Whether the command is to run for its changed words, or since it makes one of `files`. What it makes is changed then."""
        changed = any(word in moved or self.moved_word(word, moved) != word for word in words if not word.startswith("-Wl,"))
        outputs = []
        if "-o" in words:
            outputs = [words[words.index("-o") + 1]]
        elif os.path.basename(words[0]) == "ar":
            outputs = [words[2]]
        elif "cmake_symlink_library" in words:
            outputs = words[-2:]
        if any(output in moved for output in outputs) and "-c" in words:
            return False  # compiled already
        # Programs find libraries from where they lie themselves, so those that are asked for move in any case.
        if any(output in files for output in outputs):
            changed = True
        if changed:
            for output in outputs:
                moved[output] = str(self.folder / output)
                (self.folder / output).parent.mkdir(parents=True, exist_ok=True)
        return changed

    def moved_word(self, word, moved):
        """A word of a command: a file, or a definition or option that ends in the absolute path of one."""
        if word in moved:
            return moved[word]
        if word.startswith("-Wl,-rpath,"):
            return word.replace(str(self.build), str(self.folder))
        match = re.fullmatch(r'(-D\w+=")?' + re.escape(str(self.build)) + r'/(.*?)("?)', word)
        if match and match.group(2) in moved:
            return (match.group(1) or "") + moved[match.group(2)] + match.group(3)
        return word

    def run(self, words, moved):
        words = [self.moved_word(word, moved) for word in words]
        if "-c" in words:  # a test that names a changed program
            words = [word for word in words if word not in ("-Werror", "-Winvalid-pch")] + ["-w"]
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True)
        if done.returncode != 0:
            raise BuildError(f"{' '.join(words)}\n{done.stderr[:4000]}")
