"""The check of the containers, with commands that answer as told."""

import re
import subprocess
import unittest

from bazel.python import xml_runner
from tools.checks import containers


class ContainersTest(unittest.TestCase):
    def check(self, failing=""):
        """The complaints, and the commands that were run."""
        commands = []

        def run(words):
            words = re.sub(r"/\S*trainyard-prefix-\S+", "PREFIX", " ".join(words))
            commands.append(re.sub(r"/\S*trainyard-packages-\S+", "PACKAGES", words))
            fails = bool(failing) and failing in commands[-1]
            return subprocess.CompletedProcess(words, 3 if fails else 0, "line\n" * 100 + "why\n", "")
        return containers.check("/the/checkout", run), commands

    def test_the_cache_is_filled_before_the_image_is_built(self):
        complaints, commands = self.check()
        self.assertEqual(complaints, [])
        self.assertEqual(commands, ["tools/setup --containers", "env REFILL_CACHE=1 tools/install PREFIX",
                                    "tools/package PACKAGES", "/usr/bin/python3 -B -m tests.containers.main PACKAGES"])

    def test_the_first_step_that_fails_is_told_with_its_last_lines(self):
        for step in ("tools/setup", "tools/install", "tools/package", "tests.containers.main"):
            with self.subTest(step=step):
                complaints, commands = self.check(failing=step)
                self.assertIn(step, complaints[0])
                self.assertIn("ended with 3", complaints[0])
                self.assertEqual(complaints[-1], "why")
                self.assertLess(len(complaints), 100)
                self.assertIn(step, commands[-1])


if __name__ == "__main__":
    xml_runner.main()
