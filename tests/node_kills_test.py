"""A hundred kills of each process between a program on a node and its trial, and of the cable: each report is kept once, and nothing is left."""

import os
import pathlib
import random

from bazel.python import xml_runner
from tests import pool_case

KILLS = 100


class NodeKillsTest(pool_case.ReportsCase):
    up_words = ()

    def setUp(self):
        super().setUp()
        self.random = random.Random(os.environ.get("YARD_SEED", "7"))
        self.node("a", slots=4)

    def test_what_may_be_killed_without_a_loss(self):
        trial = self.run_trial("one")
        self.await_true(lambda: self.noted("one"), "the trial does not begin")
        kills = KILLS * [lambda: self.kill_worker("a"), lambda: self.kill_service("launcher"), lambda: self.kill_service("trainer"),
                         *[cable.cut for cable in self.cables["a"]]]
        self.random.shuffle(kills)
        for kill in kills:
            kill()
            # Some are killed again before they are back, others after some reports.
            if self.random.random() < 0.5:
                before = len(self.noted("one"))
                self.yard("up")  # (With the launcher and the trainer dead nobody starts either.)
                self.await_true(lambda: len(self.noted("one")) > before + self.random.randrange(5), "no report comes any more")
        pathlib.Path(self.directory, "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.assertEqual(self.noted("one"), self.kept("one"))
        self.assertEqual(self.kept("one"), list(range(1, len(self.kept("one")) + 1)))

    def test_a_node_that_is_killed_loses_its_attempts_and_no_report(self):
        for number in range(KILLS):
            name = "lost-%d" % number
            trial = self.run_trial(name)
            self.await_true(lambda: len(self.noted(name)) > self.random.randrange(3), "the trial does not begin")
            self.kill_node("a")
            self.node("a", slots=4)
            self.assertEqual(self.await_end(trial), "failed")
            kept, noted = self.kept(name), self.noted(name)
            # (The last report may be kept without the program having heard of it.)
            self.assertIn(kept, (noted, noted + [len(noted) + 1]))


if __name__ == "__main__":
    xml_runner.main()
