"""Compares the build graph with the table of docs/architecture.md ("Layers"), which says which folder may use which.

Bazel's visibility already stops most violations at build time. This check sees the rest: it knows
the table as a whole, it compares every direct edge with it, it compares the groups of layers/BUILD
with it, and it proves on a planted violation that it can fail. An edge through `data` is not a use
of code: it is how a program finds the binaries of other processes, so those edges are free. Targets
that are `testonly` are free too.
"""

import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

PAGE = "docs/architecture.md"
GROUPS = "layers/BUILD"
# The last cell of the row of a folder that may use all others.
_ANYTHING = "anything"

# Everything may use what the build rules bring along, like the main() of fuzz tests.
FREE_TO_USE = {"bazel"}

# Attributes through which code gets into a target.
_CODE = {"deps", "implementation_deps", "srcs", "src", "hdrs", "textual_hdrs", "actual"}

# (pattern, folders where it may be, why it may not be elsewhere)
FORBIDDEN = [
    (r'#include\s*[<"]zmq\.(hpp|h)[>"]', ("bus/", "bench/", "tests/"),
     "sockets are opened in bus/ alone: use bus::Node and what stands on it"),
    # The one exception checks the shipped schema file, which is no message.
    (r"\bflatbuffers::Verifier\b", ("bus/", "bench/", "tests/", "tools/yard/json/message_schema.cc"),
     "bytes become messages in bus/ alone, verified there"),
    (r'#include\s*[<"]asio(\.hpp|/)', ("runtime/",), "Asio stays behind the headers of runtime/"),
    (r'#include\s*[<"]boost/', ("web/http/server.cc", "web/http/connection.cc", "web/http/connection.h"),
     "Boost stays behind web/http/server.h"),
    (r'#include\s*[<"]absl/synchronization/', (),
     "the thread sanitizer cannot see into it: use runtime/mutex.h"),
    # (The SDK stands alone, so that a training program links nothing else of ours.)
    (r"#include\s*<(mutex|shared_mutex|condition_variable)>", ("runtime/", "sdk/", "examples/"),
     "only runtime/mutex.h is annotated for thread-safety analysis"),
]

# Folders and files that the static shim is compiled from, and all that it may include of ours and of libraries. Tests,
# and helpers that only tests link, are free.
_SHIM = ("launcher/wire/", "launcher/process/", "launcher/shim/", "launcher/shim_main.cc")
_SHIM_INCLUDES = _SHIM[:3] + (
    "runtime/counted.h", "runtime/sanitizer.h", "runtime/timer.h", "runtime/file/unique_fd.h",
    "runtime/process/peer.h", "runtime/report_channel/relay_protocol.h")

# Planted violations: a service that uses another one, a lower layer that uses a
# higher one, and a folder of a service that uses one above it.
_SEED = {
    "registry/planted_violation": ["//launcher/planted_violation"],
    "launcher/planted_violation": [],
    "runtime/planted_violation": ["//bus/planted_violation"],
    "bus/planted_violation": [],
    "trainer/report/planted_violation": ["//trainer/table/planted_violation"],
    "trainer/table/planted_violation": [],
}


class Table:
    """The rows of the page: which folder may use which.

    A row is "| `runtime/` | what it is | `third_party/` |". The last cell names the folders whose code the first
    one may use besides its own; "as `trainer/`" takes over what that row says, and "anything" is what it says. A
    folder without a row of its own belongs to the one that it lies in. A row that names a folder names all folders in
    it as well, except from within: `runtime/sqlite/` that names `runtime/` may not use `runtime/process/`.
    """

    def __init__(self, page):
        self.errors = []
        section = page.partition("\n## Layers\n")[2].partition("\n## ")[0]
        cells = [[cell.strip() for cell in line.strip("|").split("|")]
                 for line in section.splitlines() if line.startswith("| `")]
        self._cells = {self._folder(names[0]): names[-1] for names in cells}
        if not self._cells:
            self.errors.append(f"{PAGE} has no table under \"## Layers\"")
        for folder in self._cells:
            for name in self.may_use(folder) - set(self._cells):
                self.errors.append(f"{PAGE}: the row of {folder}/ names {name}/, which has no row")

    @staticmethod
    def _folder(cell):
        return cell.strip("`").rstrip("/")

    def folders(self):
        return sorted(self._cells)

    def may_use_anything(self, folder):
        return self._cells[folder] == _ANYTHING

    def may_use(self, folder, seen=()):
        """The folders that a row's last cell names, those of the rows that it takes over too."""
        cell = self._cells[folder]
        names = set()
        for word, name in re.findall(r"(as )?`([^`]+)`", cell):
            name = name.rstrip("/")
            if not word:
                names |= self._named(name, seen[0] if seen else folder)
            elif name in self._cells and name not in seen:
                names |= self.may_use(name, (*seen, folder))
        return names

    def _named(self, name, by):
        """The folders that the row of `by` means by `name`: that folder, and all folders inside it that have rows."""
        if by.startswith(name + "/"):
            return {name}
        return {name} | {folder for folder in self._cells if folder.startswith(name + "/")}

    def folder_of(self, label):
        """The folder whose row `label` belongs to; the top folder if it has none; None outside of the checkout."""
        if not label.startswith("//"):
            return None
        package = label[2:].split(":")[0]
        parts = package.split("/")
        for length in range(len(parts), 0, -1):
            if "/".join(parts[:length]) in self._cells:
                return "/".join(parts[:length])
        return parts[0]


def edges(query_xml):
    """(user, used, testonly) of each direct edge in the answer of `bazel query --output=xml`."""
    found = []
    for rule in ElementTree.fromstring(query_xml).iter("rule"):
        testonly = any(b.get("name") == "testonly" and b.get("value") == "true" for b in rule.iter("boolean"))
        testonly = testonly or rule.get("class", "").endswith("_test")
        for attribute in rule:
            if attribute.get("name") not in _CODE:
                continue
            for label in attribute.iter("label"):
                found.append((rule.get("name"), label.get("value"), testonly))
    return found


def violations(found, table):
    """One sentence for each edge that the table forbids."""
    sentences = []
    for user, used, testonly in found:
        above, below = table.folder_of(user), table.folder_of(used)
        # (The root's aliases stand above everything.)
        if testonly or above in (None, "") or below is None or above == below:
            continue
        if above not in table.folders():
            sentences.append(f"{user}: the folder {above}/ is not in the table of layers")
        elif not table.may_use_anything(above) and below not in table.may_use(above) | FREE_TO_USE:
            sentences.append(f"{user} may not use {used}: {above}/ stands below or beside {below}/")
    return sorted(set(sentences))


def wrong_groups(table, build_file):
    """One sentence for each group of layers/BUILD that says something else than the table.

    The group `above_NAME` has the folders that may use the folder NAME ("bus_schema" is bus/schema).
    """
    sentences = []
    for name, packages in re.findall(r'name = "above_(\w+)",\s*packages = \[(.*?)\]', build_file, re.DOTALL):
        used = next((folder for folder in table.folders() if folder.replace("/", "_") == name), None)
        if used is None:
            sentences.append(f"{GROUPS}: above_{name} is of no folder in the table of {PAGE}")
            continue
        said = set(re.findall(r'"//([^"]+)/\.\.\."', packages))
        meant = {folder for folder in table.folders() if "/" not in folder and
                 (folder == used or table.may_use_anything(folder) or used in table.may_use(folder))}
        for folder in sorted(said ^ meant):
            sentences.append(f"{GROUPS}: above_{name} {'lacks' if folder in meant else 'has'} {folder}/, which the "
                             f"table of {PAGE} {'has' if folder in meant else 'lacks'}")
    return sentences


def forbidden_lines(path, text):
    """One sentence for each line of `text` that may not be in a file at `path`."""
    sentences = []
    if path.startswith(_SHIM) and not path.endswith("_test.cc"):
        for number, line in enumerate(text.splitlines(), 1):
            include = re.match(r'\s*#include "([^"]+)"', line)
            if include and not include[1].startswith(_SHIM_INCLUDES):
                sentences.append(f"{path}:{number}: the static shim links this: it includes nothing but what "
                                 "launcher/shim/README.md names")
    for pattern, folders, reason in FORBIDDEN:
        if path.startswith(folders):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(pattern, line.split("//")[0]):
                sentences.append(f"{path}:{number}: {reason}")
    return sentences


def check(bazel, sources, page=None, groups=None):
    """Complaints about the layers, as sentences; empty if there are no violations.

    `bazel(*args)` runs Bazel in the checkout and gives a subprocess.CompletedProcess; `sources` are
    the C++ files to read; `page` and `groups` stand for the text of PAGE and GROUPS.
    """
    table = Table(_text(PAGE) if page is None else page)
    answer = _query(bazel, "//...")
    sentences = table.errors + wrong_groups(table, _text(GROUPS) if groups is None else groups)
    sentences += violations(edges(answer.stdout), table)
    if answer.returncode != 0:
        sentences.append("some package cannot be loaded:\n" + answer.stderr.strip())
    for path in sources:
        with open(path, encoding="utf-8", errors="replace") as file:
            sentences += forbidden_lines(path, file.read())
    return sentences + _check_that_it_can_fail(bazel, table)


def _text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _check_that_it_can_fail(bazel, table):
    with tempfile.TemporaryDirectory(prefix="trainyard-layers-") as root:
        for package, deps in _SEED.items():
            os.makedirs(os.path.join(root, package))
            with open(os.path.join(root, package, "BUILD"), "w", encoding="utf-8") as file:
                file.write(f"cc_library(name = 'planted_violation', deps = {deps})\n")
        packages = " + ".join(f"//{package}:all" for package in _SEED)
        answer = _query(bazel, packages, "--package_path=%workspace%:" + root)
    found = violations(edges(answer.stdout), table) if answer.returncode == 0 else []
    wanted = sum(len(deps) for deps in _SEED.values())
    if len(found) == wanted:
        return []
    return [f"the check itself is broken: of {wanted} planted violations it found {found}\n{answer.stderr}"]


def _query(bazel, expression, *flags):
    answer = bazel("query", "--output=xml", "--noimplicit_deps", "--keep_going", "--noshow_progress",
                   *flags, f"kind(rule, {expression})")
    if not answer.stdout:
        return subprocess.CompletedProcess(answer.args, answer.returncode or 1, "<query/>", answer.stderr)
    return answer
