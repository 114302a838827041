"""Finds the tests with a program that can have a second thread: the thread sanitizer finds nothing in the others."""

import os
import re

# A file with one of these can start a thread; so can a target that depends on it, or starts it as a program.
_STARTS_THREADS = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<(thread|future|pthread\.h|zmq\.h|zmq\.hpp|asio\b.*)>", re.MULTILINE)


def starters(sources):
    """The labels of those files of `sources` (paths from the root, the current folder) that can start a thread."""
    labels = []
    for path in sources:
        with open(path, encoding="utf-8", errors="replace") as file:
            if _STARTS_THREADS.search(file.read()):
                labels.append(_label(path))
    return labels


def tests_with(sources, targets, bazel):
    """The tests among `targets` (Bazel's patterns) that stand on one of the starters, or run what does.

    `bazel(*args)` runs Bazel in the checkout and gives a subprocess.CompletedProcess. RuntimeError if it cannot tell.
    """
    universe = " + ".join(targets)
    found = " + ".join(f'"{label}"' for label in starters(sources))
    if not found:
        raise RuntimeError("no source starts a thread: the pattern of tools/checks/threads.py is wrong")
    answer = bazel("query", "--noshow_progress", f"kind('_test rule', rdeps({universe}, {found}))")
    if answer.returncode != 0:
        raise RuntimeError("Bazel cannot tell which tests have threads:\n" + answer.stderr.strip())
    return answer.stdout.split()


def _label(path):
    package = os.path.dirname(path)
    while package and not os.path.exists(os.path.join(package, "BUILD")):
        package = os.path.dirname(package)
    return f"//{package}:{os.path.relpath(path, package or '.')}"
