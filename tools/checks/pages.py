"""What the pages say of other files: links lead somewhere, quoted errors are said by some program,
a test that is named as the one that holds a promise is there, and tests/README.md names every test beside it.

Marks in a page (any .md file):

    [words](path#title)                 a file of the checkout, and a title in it
    ### `text of an error`              in docs/troubleshooting.md; `...` stands for what differs
    `tests/kill_test.cc` `Suite.Case`   a case of a test (Python: `Class.case`, or its name alone)
"""

import os
import re

TROUBLESHOOTING = "docs/troubleshooting.md"
TESTS = "tests/README.md"

_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_TITLE = re.compile(r"^#{1,6} +(.*?) *$", re.MULTILINE)
_ERROR = re.compile(r"^### `(.+)`$", re.MULTILINE)
_CASE = re.compile(r"`([\w/.-]+_test\.(?:cc|py))` `([\w.]+)`")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
# Literals that the compiler joins; between them may stand what is put in, as in StrCat("a ", b).
_JOINED = re.compile(r'"\s*\n\s*"')


def anchor(title):
    """The fragment that a title has, as common viewers of Markdown make it."""
    kept = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower())
    return kept.replace(" ", "-")


def anchors(text):
    return {anchor(title) for title in _TITLE.findall(_FENCED.sub("", text))}


def dead_links(path, text, read):
    """A sentence for each link of the page at `path` that leads nowhere; `read(path)` is None for no file."""
    sentences = []
    for target in _LINK.findall(_CODE.sub("", _FENCED.sub("", text))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        other = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        linked = text if not name else read(other)
        if linked is None:
            sentences.append(f"{path}: the link {target} leads nowhere: there is no {other}")
        elif fragment and fragment not in anchors(linked):
            sentences.append(f"{path}: the link {target} leads nowhere: no title of {other} is #{fragment}")
    return sentences


def unsaid_errors(path, text, sources):
    """A sentence for each quoted error of which no source has the parts."""
    joined = [_JOINED.sub("", source).replace('\\"', '"') for source in sources]
    sentences = []
    for quoted in _ERROR.findall(text):
        parts = [part.strip() for part in quoted.split("...") if part.strip()]
        if not any(all(part in source for part in parts) for source in joined):
            sentences.append(f"{path}: no program says `{quoted}` (any more)")
    return sentences


def missing_cases(path, text, read):
    """A sentence for each case of a test that is named and not there."""
    sentences = []
    for test, case in _CASE.findall(text):
        source = read(test)
        names = case.split(".")
        if source is None:
            sentences.append(f"{path}: there is no {test}")
        elif not all(re.search(rf"\b{name}\b", source) for name in names):
            sentences.append(f"{path}: {test} has no case {case}")
    return sentences


def unnamed_tests(path, text, tests):
    """A sentence for each of `tests` (paths) beside the page at `path` that it does not name."""
    folder = os.path.dirname(path)
    return [f"{path}: does not name {os.path.basename(test)}" for test in sorted(tests)
            if os.path.dirname(test) == folder and f"`{os.path.basename(test)}`" not in text]


def check(pages, sources, read=None, tests=()):
    """What is wrong with `pages`, as sentences; `sources` are the paths of what programs say, `tests` those of tests."""
    read = read or read_text
    texts = {path: read(path) for path in pages}
    sentences = []
    for path, text in sorted(texts.items()):
        sentences += dead_links(path, text, read)
        sentences += missing_cases(path, text, read)
    if TESTS in texts:
        sentences += unnamed_tests(TESTS, texts[TESTS], tests)
    if TROUBLESHOOTING in texts:
        said = [read(path) for path in sources]
        sentences += unsaid_errors(TROUBLESHOOTING, texts[TROUBLESHOOTING], said)
    return sentences


def read_text(path):
    """The text of a file; a folder has none, and None stands for nothing at all."""
    if os.path.isdir(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None
