"""What the pages say of other files: links lead somewhere, labels of Bazel are there, quoted errors are said by
some program, C++ that is shown stands in a source, a test that is named as the one that holds a promise is there,
and tests/README.md names every test beside it; a page that people write is short enough to be read.

Marks in a page (any .md file):

    [words](path#title)                 a file of the checkout, and a title in it
    ### `text of an error`              in docs/troubleshooting.md; `...` stands for what differs
    `tests/kill_test.cc` `Suite.Case`   a case of a test (Python: `Class.case`, or its name alone)
    //bus/call:client, //registry            a target or a file of a package; the target with the package's name
    //bus/..., //bus/                   a folder
    ```cpp                              is, but for comments and white space, in the source that SHOWN_CODE names
"""

import os
import re

TROUBLESHOOTING = "docs/troubleshooting.md"
TESTS = "tests/README.md"
# Where the C++ of a page is compiled. (//tests:docs_test tries the code that a page writes to a file, ```cpp
# file=NAME.)
SHOWN_CODE = {
    "docs/instances.md": "registry/tool/instances_page_test.cc",
    "docs/multi_process_runner.md": "examples/all_reduce/ring_test.cc",
    "docs/trainables.md": "trainer/trainables_page_test.cc",
    "sdk/README.md": "examples/smallest/report.cc",
}

_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_TITLE = re.compile(r"^#{1,6} +(.*?) *$", re.MULTILINE)
_ERROR = re.compile(r"^### `(.+)`$", re.MULTILINE)
_CASE = re.compile(r"`([\w/.-]+_test\.(?:cc|py))` `([\w.]+)`")
_LONGEST_PAGE = 3000
_GENERATED = re.compile(r"^This page is written by `tools/reference`", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_CPP = re.compile(r"^```cpp$\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# No address (https://), nor a target of another repository (@name//...).
_LABEL = re.compile(r"(?<![\w:/@.])//([A-Za-z][\w/.+-]*|\.\.\.)?(?::([\w/.+-]+))?")
_LOAD = re.compile(r'^load\("//([\w/]*):([\w.]+)"', re.MULTILINE)
_WORD = re.compile(r'"([\w.+-]+)"')
_COUNTED_NAME = re.compile(r'\bname = (?:"([^"]*)" \+ )?\w+(?: \+ "([^"]*)")?,')
# Literals and comments of both languages, so that neither is looked for in the other. A text in three quotation marks
# that begins a statement of Python is no literal.
_CPP_PARTS = re.compile(r'''(R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])')|//[^\n]*|/\*.*?\*/''', re.DOTALL)
_PYTHON_PARTS = re.compile(r'''^[ ]*""".*?"""|("""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\#[^\n]*''',
                           re.DOTALL | re.MULTILINE)
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


def without_comments(path, text):
    """The text of the source at `path` (C++ or Python) without what its program cannot say."""
    parts = _PYTHON_PARTS if path.endswith(".py") else _CPP_PARTS
    return parts.sub(lambda part: part[1] or "", text)


def dead_labels(path, text, read):
    """A sentence for each label of Bazel in the page that names nothing."""
    sentences = []
    for package, target in dict.fromkeys(_LABEL.findall(text)):
        # A full stop may end the sentence; of three one is no end.
        folder = re.sub(r"(^|[^.])\.$", r"\1", package)
        if re.search(r"[A-Z]", folder):  # A word that the reader replaces: //FOLDER/...
            continue
        if not target and folder.endswith(("/", "...")):
            if folder != "..." and read(folder.removesuffix("...").rstrip("/")) is None:
                sentences.append(f"{path}: there is no folder //{folder}")
        elif folder or target:
            name = target.rstrip(".") or os.path.basename(folder)
            sentences += [f"{path}: {wrong}" for wrong in _wrong_label(folder, name, read)]
    return sentences


def _wrong_label(package, name, read):
    build = read(os.path.join(package, "BUILD"))
    if build is None:
        return [f"there is no package //{package}"]
    if _has_target(build, name, read) or read(os.path.join(package, name)):
        return []
    return [f"there is no target //{package}:{name}"]


def _has_target(build, name, read):
    """Whether the text of a BUILD file has it, also as one of a list: name = "absl_" + group."""
    if re.search(rf'\bname = "{re.escape(name)}"[,)]', build):
        return True
    lists = [read(f"{package}/{file}") or "" for package, file in _LOAD.findall(build)]
    words = set(_WORD.findall("".join([build, *lists])))
    return any(name == begin + word + end for begin, end in _COUNTED_NAME.findall(build) for word in words)


def uncompiled_code(path, text, read):
    """A sentence for each line of C++ in the page that is not in the source that SHOWN_CODE names for it."""
    shown = [line for block in _CPP.findall(text) for line in block.splitlines()]
    if not shown:
        return []
    source = read(SHOWN_CODE.get(path, ""))
    if source is None:
        return [f"{path}: no source has its C++: SHOWN_CODE of tools/checks/pages.py"]

    def essence(code):
        return re.sub(r"\s", "", without_comments(SHOWN_CODE[path], code))
    compiled = essence(source)
    return [f"{path}: {SHOWN_CODE[path]} has no line `{line.strip()}`" for line in shown
            if essence(line) not in compiled]


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


def too_long(path, text):
    """A sentence if a page that people write has more words than somebody reads at once."""
    words = len(text.split())
    if words <= _LONGEST_PAGE or _GENERATED.search(text[:600]):
        return []
    return [f"{path}: {words} words, and a page has at most {_LONGEST_PAGE}: make two of it"]


def unnamed_tests(path, text, tests):
    """A sentence for each of `tests` (paths) beside the page at `path` that it does not name."""
    folder = os.path.dirname(path)
    return [f"{path}: does not name {os.path.basename(test)}" for test in sorted(tests)
            if os.path.dirname(test) == folder and f"`{os.path.basename(test)}`" not in text]


def check(pages, sources, read=None, tests=()):
    """Complaints about `pages`, as sentences; `sources` are the paths of the programs' texts, `tests` those of tests."""
    read = read or read_text
    texts = {path: read(path) for path in pages}
    sentences = []
    for path, text in sorted(texts.items()):
        sentences += dead_links(path, text, read)
        sentences += dead_labels(path, text, read)
        sentences += uncompiled_code(path, text, read)
        sentences += missing_cases(path, text, read)
        sentences += too_long(path, text)
    if TESTS in texts:
        sentences += unnamed_tests(TESTS, texts[TESTS], tests)
    if TROUBLESHOOTING in texts:
        said = [without_comments(path, read(path)) for path in sources]
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
