"""Places of a C++ source where a small change is possible, found in its text: the project's sources are laid out by clang-format, so
binary operators have spaces around them and templates do not.

A mutant is chosen at run time, so the changed text holds both forms: `a < b` becomes `(on ? (a <= b) : (a < b))`.
"""

import dataclasses
import re

SWITCH = "::shiftconv::mutation::isOn<{number}>()"

LEVELS = [["=", "+=", "-=", "*=", "/=", "|=", "&=", "?", ":"], ["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="],
          ["<", "<=", ">", ">=", "<=>"], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]]
LEVEL = {operator: level for level, operators in enumerate(LEVELS) for operator in operators}

OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
         "+": "-", "-": "+", "*": "+", "/": "*", "%": "/"}

LEFT_ALONE = re.compile(r"^\s*(#|template|using|namespace|static_assert|enum|case |default:|typedef|friend|class |struct |public:|private:)"
                        r"|\bconstexpr\b|\boperator\b|\[\[")


@dataclasses.dataclass(frozen=True)
class Place:
    path: str
    line: int  # from 1
    begin: int
    end: int
    before: str
    after: str
    kind: str

    def apply(self, text, number):
        """The line with both forms."""
        switch = SWITCH.format(number=number)
        if self.kind == "statement":
            changed = f"{{ if (!{switch}) {{ {self.before} }} }}"
        elif self.kind == "condition":
            changed = f"!{switch} && ({self.before})" if self.after == "false" else f"{switch} || ({self.before})"
        else:
            changed = f"({switch} ? ({self.after}) : ({self.before}))"
        return text[:self.begin] + changed + text[self.end:]

    def __str__(self):
        what = {"statement": f"without `{self.before}`",
                "condition": f"`{self.before}` always {self.after}"}.get(self.kind, f"`{self.before}` -> `{self.after}`")
        return f"{self.path}:{self.line}: {what}"


def masked(text):
    """The text with comments blank and what is in quotes unreadable, of the same length."""
    def cover(match):
        found = match.group(0)
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        return re.sub(r"[^\n]", "\x01", found)
    return re.sub(r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])*\'', cover, text)


def closing(line, opening):
    """Where the bracket at `opening` closes, or -1."""
    depth = 0
    for at in range(opening, len(line)):
        depth += (line[at] in "([{") - (line[at] in ")]}")
        if depth == 0:
            return at
    return -1


def operators(line):
    """(position, operator) of the binary operators of a masked line."""
    for match in re.finditer(r"(?<= )(<=>|\|\||&&|[-+*/|&]=|[=!<>]=|<<|>>|[-+*/%<>=?:|&^])(?= )", line):
        yield match.start(), match.group(0)


def operand(line, at, step, level):
    """The other end of an operand that begins beside an operator at `at`; None where it is not whole on this line."""
    depth, positions = 0, dict(operators(line))
    while 0 <= at < len(line):
        character = line[at]
        inward, outward = ("([{", ")]}") if step > 0 else (")]}", "([{")
        if character in inward:
            depth += 1
        elif character in outward:
            depth -= 1
            if depth < 0:
                return at
        elif depth == 0 and character in ",;":
            return at
        elif depth == 0:
            start = next((p for p in range(at - 2, at + 1) if p in positions and p + len(positions[p]) > at), None)
            if start is not None:
                other = LEVEL[positions[start]]
                if other < level or (step > 0 and other == level):
                    return at
                at = start + len(positions[start]) if step > 0 else start - 1
                continue
        at += step
    return -1 if at < 0 else None


def changed_operators(path, number, text, line, previous):
    begins = re.search(r"[;{}(),=:]\s*$|^\s*else$", previous) is not None  # no operand comes from the line before
    for at, operator in operators(line):
        if operator not in OTHER:
            continue
        level = LEVEL[operator]
        left, right = operand(line, at - 1, -1, level), operand(line, at + len(operator), 1, level)
        if left is None or right is None or (left < 0 and not begins):
            continue
        begin, end = left + 1, right
        while text[begin] == " ":
            begin += 1
        while text[end - 1] == " ":
            end -= 1
        word = re.match(r"(return|throw|co_return|else|do|delete) ", text[begin:end])
        if word:
            begin += word.end()
        whole, first, second = line[begin:end], line[begin:at], line[at + len(operator):end]
        if not first.strip() or not second.strip() or re.search(r"[{}\[]\]?|\x01|->", whole):
            continue
        # A declaration (`T x = ...` ends at its `=`) or a cast in front of the operand cannot be told apart further: they do not
        # compile, and such places are left out.
        before = text[begin:end]
        yield Place(path, number, begin, end, before, text[begin:at] + OTHER[operator] + text[at + len(operator):end], "operator")


def conditions(path, number, text, line, _):
    for match in re.finditer(r"\b(?:if|while) \(", line):
        opening = match.end() - 1
        end = closing(line, opening)
        begin = opening + 1
        if end < 0:
            continue
        if ";" in line[begin:end]:
            begin = line.rindex(";", begin, end) + 2
        inside = line[begin:end]
        if re.search(r"[^=!<>]=[^=]|[{}]", inside) or not inside.strip():
            continue
        values = ("false", "true") if match.group(0).startswith("if") else ("false",)
        for value in values:
            yield Place(path, number, begin, end, text[begin:end], value, "condition")


def numbers(path, number, text, line, _):
    for match in re.finditer(r"(?<![\w.'<\[])(\d+)(?![\w.'>\]])", line):
        yield Place(path, number, match.start(), match.end(), match.group(0), f"{match.group(0)} + 1", "number")


STATEMENT = re.compile(r"^\s+((?!return\b|throw\b|else\b|delete\b|break|continue|goto\b)[A-Za-z_*][\w:.>\[\]*-]*(\(.*\)| [-+*/|&]?= .*);)$")


def statements(path, number, text, line, previous):
    match = STATEMENT.match(line)
    if not match or not re.search(r"[;{})]\s*$|^\s*else$", previous) or line.count("(") != line.count(")"):
        return
    if line.count("{") != line.count("}"):
        return
    yield Place(path, number, match.start(1), match.end(1), text[match.start(1):match.end(1)], "", "statement")


def places(path, source):
    """All places of a source, several of which may be on one line."""
    found, previous = [], "{"
    for number, (text, line) in enumerate(zip(source.split("\n"), masked(source).split("\n")), 1):
        if line.startswith(" ") and not LEFT_ALONE.search(line):
            for search in (changed_operators, conditions, numbers, statements):
                found += search(path, number, text, line, previous)
        if line.strip():
            previous = line
    return found


def mutate(path, source, chosen):
    """The source with the places of `chosen`, {number: place}; one of a line at most."""
    lines = source.split("\n")
    for number, place in chosen.items():
        lines[place.line - 1] = place.apply(lines[place.line - 1], number)
    return "\n".join(lines)
