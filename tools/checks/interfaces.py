"""Finds classes with pure virtual functions that one class alone implements.

Such a class hides what it is and saves nothing: a second implementation (another class, or a fake of a test) or a
dependency that it turns round is what an interface is for. tools/checks/interfaces.txt has a line for each interface
with one implementation, with the reason why it is one.
"""

import re

REASONS = "tools/checks/interfaces.txt"

_COMMENT = re.compile(r"//[^\n]*")
_CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?([\w:]+)(?:\s+final)?\s*(:\s*(?!:)[^{};()]*)?\{")
_PURE = re.compile(r"\bvirtual\b[^;{}]*=\s*0\s*;")
_BASE = re.compile(r"(?:public|protected|private|virtual|\s)*([\w:]+)")


def _body(text, begin):
    """The text of a class from `begin` to its closing brace, without the bodies in it."""
    depth, parts, place = 1, [], begin
    for brace in re.finditer(r"[{}]", text[begin:]):
        at = begin + brace.start()
        if depth == 1:
            parts.append(text[place:at])
        depth += 1 if brace.group() == "{" else -1
        place = at + 1
        if depth == 0:
            break
    return ";".join(parts)


def _without_arguments(bases):
    """The list of bases without what stands between angle brackets."""
    while True:
        shorter = re.sub(r"<[^<>]*>", "", bases)
        if shorter == bases:
            return bases
        bases = shorter


def lonely(texts):
    """Names of interfaces with fewer than two implementations, each with its file. `texts`: the text of each file."""
    interfaces, implementations = {}, {}
    for path, text in texts.items():
        text = _COMMENT.sub("", text)
        for found in _CLASS.finditer(text):
            name = found.group(1).split("::")[-1]
            if _PURE.search(_body(text, found.end())):
                interfaces[name] = path
            for base in _without_arguments((found.group(2) or "").lstrip(": ")).split(","):
                match = _BASE.fullmatch(base.strip())
                if match:
                    implementations.setdefault(match.group(1).split("::")[-1], set()).add((path, name))
    return {name: path for name, path in interfaces.items() if len(implementations.get(name, ())) < 2}


def complaints(texts, reasons):
    """Sentences about interfaces without a reason, and about reasons without such an interface; empty if all is well."""
    known = {}
    for line in reasons.splitlines():
        name, _, reason = line.partition(" ")
        if name and not name.startswith("#"):
            known[name] = reason.strip()
    alone = lonely(texts)
    sentences = [f"{path}: {name} has pure virtual functions and fewer than two implementations. Next step: make it a "
                 f"plain class, or say in {REASONS} why it is an interface"
                 for name, path in sorted(alone.items()) if not known.get(name)]
    return sentences + [f"{REASONS}: {name} is no interface with fewer than two implementations: remove the line"
                        for name in sorted(known) if name not in alone]


def complaints_of(paths):
    """As complaints(), of the C++ files with these paths."""
    texts = {}
    for path in paths:
        if not path.startswith("third_party/"):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts[path] = file.read()
    with open(REASONS, encoding="utf-8") as file:
        return complaints(texts, file.read())
