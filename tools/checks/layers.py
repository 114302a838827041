"""Who may use what: the table of docs/architecture.md ("Layers") against the build graph.

Bazel's visibility already stops most violations at build time. This check sees the rest: it knows
the table as a whole, it compares every direct edge with it, and it proves on a planted violation
that it can fail. An edge through `data` is not a use of code: it is how a program finds the
binaries of other processes, so those edges are free. Targets that are `testonly` are free too.
"""

import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

_BELOW_SERVICES = {"third_party", "runtime", "eventlog", "bus/schema", "bus"}

# folder -> folders its code may use besides its own
ALLOWED = {
    "third_party": set(),
    "bazel": {"third_party"},
    "runtime": {"third_party"},
    "eventlog": {"third_party", "runtime"},
    # The method descriptors generated beside a schema stand on //bus:method.
    "bus/schema": {"third_party", "bus"},
    "bus": {"third_party", "runtime", "bus/schema"},
    "registry": _BELOW_SERVICES,
    "launcher": _BELOW_SERVICES,
    "datamanager": _BELOW_SERVICES,
    "trainer": _BELOW_SERVICES,
    "web": _BELOW_SERVICES,
    "sdk": _BELOW_SERVICES,
    "tools": _BELOW_SERVICES | {"sdk"},
    # A program of a user's: with functions of its own it is a trainer.
    "examples": _BELOW_SERVICES | {"sdk", "trainer"},
}
# What needs more than one process may use anything; so may the root's aliases.
FREE = {"tests", "bench", ""}
# Everything may use what the build rules bring along, like the main() of fuzz tests.
FREE_TO_USE = {"bazel"}

# Attributes through which code gets into a target.
_CODE = {"deps", "implementation_deps", "srcs", "src", "hdrs", "textual_hdrs", "actual"}

# (pattern, folders where it may be, why it may not be elsewhere)
FORBIDDEN = [
    (r'#include\s*[<"]zmq\.(hpp|h)[>"]', ("bus/", "bench/", "tests/"),
     "sockets are opened in bus/ alone: use bus::Node and what stands on it"),
    # The one exception checks the shipped schema file, which is no message.
    (r"\bflatbuffers::Verifier\b", ("bus/", "bench/", "tests/", "tools/yard/message_json.cc"),
     "bytes become messages in bus/ alone, verified there"),
    (r'#include\s*[<"]asio(\.hpp|/)', ("runtime/",), "Asio stays behind the headers of runtime/"),
    (r'#include\s*[<"]boost/', ("web/http/server.cc",), "Boost stays behind web/http/server.h"),
    (r'#include\s*[<"]absl/synchronization/', (),
     "the thread sanitizer cannot see into it: use runtime/mutex.h"),
    # (The SDK stands alone, so that a training program links nothing else of ours.)
    (r"#include\s*<(mutex|shared_mutex|condition_variable)>", ("runtime/", "sdk/", "examples/"),
     "only runtime/mutex.h is annotated for thread-safety analysis"),
]

# What a planted violation looks like: a service that uses another one, and a lower layer that
# uses a higher one.
_SEED = {
    "registry/planted_violation": ["//launcher/planted_violation"],
    "launcher/planted_violation": [],
    "runtime/planted_violation": ["//bus/planted_violation"],
    "bus/planted_violation": [],
}


def folder_of(label):
    """The row of the table that `label` belongs to, or None if it is outside of the checkout."""
    if not label.startswith("//"):
        return None
    package = label[2:].split(":")[0]
    if package == "bus/schema" or package.startswith("bus/schema/"):
        return "bus/schema"
    return package.split("/")[0]


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


def violations(found):
    """One sentence for each edge that the table forbids."""
    sentences = []
    for user, used, testonly in found:
        above, below = folder_of(user), folder_of(used)
        if testonly or above is None or below is None or above == below or above in FREE:
            continue
        if above not in ALLOWED:
            sentences.append(f"{user}: the folder {above}/ is not in the table of layers")
        elif below not in ALLOWED[above] | FREE_TO_USE:
            sentences.append(f"{user} may not use {used}: {above}/ stands below or beside {below}/")
    return sorted(set(sentences))


def forbidden_lines(path, text):
    """One sentence for each line of `text` that may not be in a file at `path`."""
    sentences = []
    for pattern, folders, reason in FORBIDDEN:
        if path.startswith(folders):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(pattern, line.split("//")[0]):
                sentences.append(f"{path}:{number}: {reason}")
    return sentences


def check(bazel, sources):
    """What is wrong with the layers, as sentences; empty if nothing is.

    `bazel(*args)` runs Bazel in the checkout and gives a subprocess.CompletedProcess; `sources` are
    the C++ files to read.
    """
    answer = _query(bazel, "//...")
    sentences = violations(edges(answer.stdout))
    if answer.returncode != 0:
        sentences.append("some package cannot be loaded:\n" + answer.stderr.strip())
    for path in sources:
        with open(path, encoding="utf-8", errors="replace") as file:
            sentences += forbidden_lines(path, file.read())
    return sentences + _check_that_it_can_fail(bazel)


def _check_that_it_can_fail(bazel):
    with tempfile.TemporaryDirectory(prefix="trainyard-layers-") as root:
        for package, deps in _SEED.items():
            os.makedirs(os.path.join(root, package))
            with open(os.path.join(root, package, "BUILD"), "w", encoding="utf-8") as file:
                file.write(f"cc_library(name = 'planted_violation', deps = {deps})\n")
        packages = " + ".join(f"//{package}:all" for package in _SEED)
        answer = _query(bazel, packages, "--package_path=%workspace%:" + root)
    found = violations(edges(answer.stdout)) if answer.returncode == 0 else []
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
