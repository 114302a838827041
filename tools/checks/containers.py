"""Does the composition of containers run? Builds an installation, the image from it, and runs tests/containers."""

import os
import subprocess
import tempfile

_LINES = 60


def check(checkout, run=None):
    """What is wrong, as sentences. `run(words, environment)` runs a command in the checkout; default: for real."""
    run = run or (lambda words, environment: _run(words, environment, checkout))
    with tempfile.TemporaryDirectory(prefix="trainyard-prefix-") as prefix:
        for words in (["tools/setup", "--containers"],
                      ["tools/install", prefix],
                      ["/usr/bin/python3", "-B", "-m", "tests.containers.composition_test"]):
            answer = run(words, {**os.environ, "YARD_PREFIX": prefix})
            if answer.returncode != 0:
                lines = answer.stdout.strip().splitlines()[-_LINES:]
                return ["%s ended with %d:" % (" ".join(words), answer.returncode), *lines]
    return []


def _run(words, environment, checkout):
    return subprocess.run(words, env=environment, cwd=checkout, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
