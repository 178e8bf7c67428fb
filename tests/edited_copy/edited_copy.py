#!/usr/bin/env python3
"""Edited copies of sources, for tests that want a kernel with one mistake in it.

A source marks a statement with a comment behind it, `// site: name`, and an edit says what becomes of a piece of that statement. No edit
quotes a source, so whoever renames or moves something changes no list of edits. A site may stand in a header of the project that the source
includes: the edited copy of that header lies below COPY.include, which the compiler searches first.

    name            the statement: from behind the one before it, with what it hangs on (`if (a)` in front of it), to the mark; or the
                    head of a block, up to its brace; or a macro that is not indented
    name.cond       what stands in the parentheses of its if, while or for, and
    name.then       what follows them
    name.left       both sides of its assignment or initialisation,
    name.right      or what it returns
    name.name       the variable on the left, or of a for, and
    name.limit      what a for compares it with
    name.first      the first and the last operand of its && or ||, or its == or !=, or its + or -
    name.last
    name.callee     its outermost call: the function, what it is a member of,
    name.object
    name.1          and the arguments, from 1
    name.[1]        the first subscript in it

Pieces of pieces have longer names: name.2.[1]. In the text that replaces a piece, `$` is the piece as it was, and `$(name.2)` any other.

    edited_copy.py EDITS           writes the copy that a file of shiftconv_edited_copy (EditedCopy.cmake) describes
    edited_copy.py --check LIST PROOFS...    tries all files that are listed in a file; every mark of their sources must be used by one, or by
                                             a file of proofs that names it (tests/algorithms/halo/equivalent.txt)
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
MARK = re.compile(r"\bsite: (\w+)[ \t]*$", re.M)
OPENING, CLOSING = "([{", ")]}"
HEAD = re.compile(r"(?:\} )?(?:else )?(?:if|while|for)(?: constexpr)? \(")
OPERATORS = [re.compile(r" (?:&&|\|\|)\s"), re.compile(r" (?:==|!=)\s"), re.compile(r" [+-]\s")]


class Fault(Exception):
    pass


def masked(text):
    """The text, of the same length, with comments blank and literals of one character."""
    blank = lambda match: re.sub(r"[^\n]", " " if match.group(0).startswith("/") else "_", match.group(0))
    return re.sub(r'//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])*\'', blank, text)


class Source:
    def __init__(self, text):
        self.text, self.code = text, masked(text)
        self.sites = {}
        for match in MARK.finditer(text):
            if match.group(1) in self.sites:
                raise Fault(f"two sites are called {match.group(1)}")
            self.sites[match.group(1)] = self.statement(match.start())

    def statement(self, mark):
        """Of the code in front of a mark: where it begins and ends."""
        end = len(self.code[:mark].rstrip())
        start = self.text.rfind("\n", 0, end) + 1
        if end == 0 or self.code[end - 1] not in ";{)":
            raise Fault(f"no statement ends in front of the mark: {self.text[start:mark].strip()}")
        while start > 0 and self.text[start].isspace():  # what is not indented continues nothing
            before = self.text.rfind("\n", 0, start - 1) + 1
            line = self.code[before:start].strip()
            if line == "" or line.startswith("#") or line[-1] in ";{}:":
                break
            start = before
        return self.trimmed(start, end)

    def trimmed(self, start, end):
        while start < end and self.code[start].isspace():
            start += 1
        while start < end and self.code[end - 1].isspace():
            end -= 1
        return start, end

    def close(self, opening):
        """Where the bracket that opens here closes."""
        depth = 0
        for i in range(opening, len(self.code)):
            depth += (self.code[i] in OPENING) - (self.code[i] in CLOSING)
            if depth == 0:
                return i
        raise Fault("a bracket stays open")

    def top(self, start, end, pattern):
        """The first match outside of brackets."""
        i = start
        while i < end:
            if self.code[i] in OPENING:
                i = self.close(i)
            elif match := pattern.match(self.code, i, end):
                return match
            i += 1
        return None

    def head(self, start, end):
        match = HEAD.match(self.code, start, end)
        return match and (match.end(), self.close(match.end() - 1))

    def plain(self, start, end):
        """Without head and semicolon."""
        head = self.head(start, end)
        start, end = self.trimmed(head[1] + 1 if head else start, end)
        return self.trimmed(start, end - 1 if self.code[end - 1] == ";" else end)

    def sides(self, start, end):
        start, end = self.plain(start, end)
        if self.code.startswith("return ", start):
            return (start, start + 6), self.trimmed(start + 7, end)
        match = self.top(start, end, re.compile(r"=(?<![=!<>]=)(?!=)"))
        return match and (self.trimmed(start, match.start()), self.trimmed(match.end(), end))

    def call(self, start, end):
        """Callee, and the arguments."""
        sides = self.sides(start, end)
        start, end = sides[1] if sides else self.plain(start, end)
        i = start
        while i < end:
            if self.code[i] in OPENING:
                closing = self.close(i)
                if closing == end - 1 and self.code[i] == "(":
                    break
                i = closing
            i += 1
        if i >= end:
            raise Fault("it is no call")
        arguments, first = [], i + 1
        while comma := self.top(first, end - 1, re.compile(",")):
            arguments.append(self.trimmed(first, comma.start()))
            first = comma.end()
        return (start, i), arguments + [self.trimmed(first, end - 1)]

    def piece(self, span, name):
        start, end = span
        if name in ("cond", "then"):
            head = self.head(start, end)
            if not head:
                raise Fault("it has no condition")
            return self.trimmed(*head) if name == "cond" else self.trimmed(head[1] + 1, end)
        if name in ("left", "right", "name"):
            head = self.head(start, end)
            if name == "name" and head:
                found = self.top(*head, re.compile(r"(\w+)(?= (?:=|:) )"))
            else:
                sides = self.sides(start, end)
                if not sides:
                    raise Fault("it assigns nothing")
                if name != "name":
                    return sides[0 if name == "left" else 1]
                found = self.top(*sides[0], re.compile(r"(\w+)(?=(?:\[[^]]*\])*$)"))
            if not found:
                raise Fault("it names no variable")
            return found.span(1)
        if name == "limit":
            head = self.head(start, end)
            found = head and self.top(*head, re.compile(r" < ([^;]+);"))
            if not found:
                raise Fault("it is no for with an end")
            return found.span(1)
        if name in ("first", "last"):
            for operator in OPERATORS:
                found, place = [], start
                while match := self.top(place, end, operator):
                    found.append(match)
                    place = match.end()
                if found:
                    return (start, found[0].start()) if name == "first" else self.trimmed(found[-1].end(), end)
            raise Fault("it has no operands")
        if name in ("callee", "object"):
            callee = self.call(start, end)[0]
            if name == "callee":
                return callee
            member = max(self.code.rfind(".", *callee), self.code.rfind("->", *callee))
            if member < 0:
                raise Fault("it calls no member")
            return callee[0], member
        if name.isdigit():
            arguments = self.call(start, end)[1]
            if not 1 <= int(name) <= len(arguments):
                raise Fault(f"it has no argument {name}")
            return arguments[int(name) - 1]
        if match := re.fullmatch(r"\[(\d+)\]", name):
            opening = start - 1
            for _ in range(int(match.group(1))):
                opening = self.code.find("[", opening + 1, end)
                if opening < 0:
                    raise Fault(f"it has no subscript {match.group(1)}")
            return self.trimmed(opening + 1, self.close(opening))
        raise Fault(f"nothing is called {name}")

    def find(self, path):
        site, *names = path.split(".")
        if site not in self.sites:
            raise Fault(f"no statement is marked with \"site: {site}\"")
        span = self.sites[site]
        for name in names:
            try:
                span = self.piece(span, name)
            except Fault as fault:
                raise Fault(f"site {path}: {fault}: {self.text[slice(*span)]}") from None
        return span

    def piece_text(self, path):
        return self.text[slice(*self.find(path))]

    def edited(self, edits, text_of=None):
        """The text after edits, pairs of a path and its replacement. text_of: what stands at other paths."""
        changes = []
        for path, template in edits:
            span = self.find(path)
            present = lambda match: (text_of or self.piece_text)(match.group(1)) if match.group(1) else self.text[slice(*span)]
            changes.append((span, re.sub(r"\$(?:\(([\w.\[\]]+)\))?", present, template)))
        text, limit = self.text, len(self.text)
        for (start, end), replacement in sorted(changes, reverse=True):
            if end > limit:
                raise Fault("two edits change the same text")
            text, limit = text[:start] + replacement + text[end:], start
        return text


class Sources:
    """A source and the project's headers that it includes, directly or through others."""

    def __init__(self, source, parsed=None):
        self.source, self.parsed, self.files = source, {} if parsed is None else parsed, [source]
        for path in self.files:
            for header in INCLUDE.findall(self.at(path).text):
                header = os.path.join(ROOT, header)
                if header not in self.files and os.path.exists(header):
                    self.files.append(header)

    def at(self, path):
        if path not in self.parsed:
            with open(path, encoding="utf-8") as file:
                self.parsed[path] = Source(file.read())
        return self.parsed[path]

    def home(self, path):
        """The file that marks the site of a path."""
        homes = [file for file in self.files if path.split(".")[0] in self.at(file).sites]
        if len(homes) > 1 and homes[0] != self.source:
            raise Fault(f"site {path} is marked in several headers: {', '.join(homes)}")
        return homes[0] if homes else self.source

    def edited(self, edits):
        """The texts that change, by file; the source's in any case."""
        by_file = {self.source: []}
        for edit in edits:
            by_file.setdefault(self.home(edit[0]), []).append(edit)
        text_of = lambda path: self.at(self.home(path)).piece_text(path)
        return {file: self.at(file).edited(of_file, text_of) for file, of_file in by_file.items()}


def read(path):
    """Source, copy, and the edits between them."""
    with open(path, encoding="utf-8") as file:
        head, *parts = re.split(r"^@@ ", file.read(), flags=re.M)
    source, copy = head.splitlines()
    return source, copy, [(part.split("\n", 1)[0], part.split("\n", 1)[1].rstrip("\n")) for part in parts]


def proven(paths):
    """Sites that files of proofs name."""
    sites = set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for chain in re.findall(r"\| site: (\S+) \|", file.read()):
                sites.update(chain.split("/"))
    return sites


def unplaced(paths):
    """Sentences about proofs that name a place in another way than by its site: whoever renames a function would break them."""
    faults = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            places = [line.split(" | ")[1] for line in file if " | " in line and not line.startswith("#")]
        faults += [f"{path}: a proof names {place}, and no site" for place in places if place != "*" and not place.startswith("site: ")]
    return faults


def check(paths, proofs=()):
    """Sentences about edits that do not fit, about marks that nobody uses, and about proofs without a site."""
    elsewhere = proven(proofs)
    sources, parsed, used, faults = {}, {}, {}, unplaced(proofs)
    for path in paths:
        source, copy, edits = read(path)
        try:
            if source not in sources:
                sources[source] = Sources(source, parsed)
            for name in [name for edit in edits for name in (edit[0], *re.findall(r"\$\((\w+)", edit[1]))]:
                used.setdefault(sources[source].home(name), set()).add(name.split(".")[0])
            sources[source].edited(edits)
        except Fault as fault:
            faults.append(f"{copy} from {source}: {fault}")
    for file, parsed_file in parsed.items():
        names = used.get(file, set()) | elsewhere
        faults += [f"{file}: no edit uses site {site}" for site in parsed_file.sites if site not in names]
    return faults


def main(arguments):
    if arguments[0] != "--check":
        source, copy, edits = read(arguments[0])
        sources = Sources(source)
        for original, text in sources.edited(edits).items():
            target = copy if original == source else os.path.join(copy + ".include", os.path.relpath(original, ROOT))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as file:
                file.write(text)
        with open(copy + ".d", "w", encoding="utf-8") as file:
            file.write(f"{copy}: {' '.join(sources.files)}\n")
        return 0
    with open(arguments[1], encoding="utf-8") as file:
        paths = file.read().split("\n")
    paths = [path for path in paths if path]
    faults = check(paths, arguments[2:])
    print("\n".join([*faults, f"{len(paths)} edited copies"]))
    if len(paths) < 100:
        print("so few: has the list of edits been lost?")
    return 1 if faults or len(paths) < 100 else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Fault as fault:
        sys.exit(str(fault))
