"""Finds the tests that a change can have touched: those that stand on a file that differs from a commit."""

import os
import subprocess

# A change of one of these can change how anything is built.
_EVERYTHING = (".bazelrc", "WORKSPACE", "BUILD")
_RULES = (".bzl",)


def files_since(revision):
    """The files that differ from `revision`, uncommitted and new ones included, as paths from the root.

    RuntimeError if there is no such commit.
    """
    difference = _git("diff", "--name-only", "--no-renames", "-z", revision, "--")
    if difference.returncode != 0:
        raise RuntimeError(f"git knows no commit named {revision}: {difference.stderr.strip()}\n"
                           "Next step: name one that is in this checkout, such as HEAD or main (git log --oneline)")
    new = _git("ls-files", "--others", "--exclude-standard", "-z")
    return sorted({path for path in (difference.stdout + new.stdout).split("\0") if path})


def tests_touched(files, targets, bazel):
    """The tests among `targets` (Bazel's patterns) that stand on one of `files`; None if that can be every test.

    `bazel(*args)` runs Bazel in the checkout and gives a subprocess.CompletedProcess. RuntimeError if it cannot tell.
    """
    if any(path in _EVERYTHING or path.endswith(_RULES) for path in files):
        return None
    labels = sorted({label for path in files for label in _labels(path)})
    if not labels:
        return []
    # A file that no target has, such as most pages, is no error.
    universe = " + ".join(targets)
    answer = bazel("query", "--noshow_progress", "--keep_going",
                   f"kind('_test rule', rdeps({universe}, set({' '.join(labels)})))")
    if answer.returncode not in (0, _PARTLY):
        raise RuntimeError("Bazel cannot tell what the change touches:\n" + answer.stderr.strip())
    return answer.stdout.split()


_PARTLY = 3  # Bazel's exit code when --keep_going left something out.


def _labels(path):
    package = os.path.dirname(path)
    while package and not os.path.exists(os.path.join(package, "BUILD")):
        package = os.path.dirname(package)
    if os.path.basename(path) == "BUILD" or not os.path.exists(path):
        # Any of its targets may be another one now, and what had a file that is gone may have it by a pattern.
        return [f'"//{package}:all"']
    return [f'"//{package}:{os.path.relpath(path, package or ".")}"']


def _git(*words):
    return subprocess.run(["git", "-c", "safe.directory=*", *words], capture_output=True, text=True, check=False)
