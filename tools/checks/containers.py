"""Does the composition of containers run, and do packages in containers? Fills Bazel's disk cache, with which tests/containers
builds the image and runs it, and makes the packages."""

import subprocess
import tempfile

_LINES = 60


def check(checkout, run=None):
    """Complaints about the containers, as sentences. `run(words)` runs a command in the checkout; default: for real."""
    run = run or (lambda words: _run(words, checkout))
    with tempfile.TemporaryDirectory(prefix="trainyard-prefix-") as prefix, \
            tempfile.TemporaryDirectory(prefix="trainyard-packages-") as packages:
        for words in (["tools/setup", "--containers"],
                      # (The cache may have lost what this checkout's own outputs came from.)
                      ["env", "REFILL_CACHE=1", "tools/install", prefix],
                      ["tools/package", packages],
                      ["/usr/bin/python3", "-B", "-m", "tests.containers.main", packages]):
            answer = run(words)
            if answer.returncode != 0:
                lines = answer.stdout.strip().splitlines()[-_LINES:]
                return ["%s ended with %d:" % (" ".join(words), answer.returncode), *lines]
    return []


def _run(words, checkout):
    return subprocess.run(words, cwd=checkout, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
