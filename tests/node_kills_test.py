"""A hundred kills of each process between a program on a node and its trial, and of the cable: each report is kept once, and nothing is left."""

import json
import os
import pathlib
import random
import signal

from bazel.python import xml_runner
from tests import pool_case

KILLS = 100

# Reports until there is a file `enough`, and notes each report that was acknowledged.
REPORTS = r"""
import json, os, sys, time
folder, trial = sys.argv[1:]
channel = os.fdopen(3, "r+b", buffering=0)
notes = open(os.path.join(folder, "noted-" + trial), "a")
i = 0
while not os.path.exists(os.path.join(folder, "enough")):
    i += 1
    channel.write(json.dumps({"t": "report", "m": {"i": i}}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        part = channel.read(1)
        if not part: sys.exit("the channel has ended")
        answer += part
    if json.loads(answer)["t"] == "stop": break
    notes.write("%d\n" % i)
    notes.flush()
    time.sleep(0.005)
"""


class NodeKillsTest(pool_case.PoolCase):
    up_words = ()

    def setUp(self):
        super().setUp()
        self.random = random.Random(os.environ.get("YARD_SEED", "7"))
        for name in pathlib.Path(self.directory).glob("noted-*"):
            name.unlink()
        pathlib.Path(self.directory, "enough").unlink(missing_ok=True)
        pathlib.Path(self.directory, "reports.py").write_text(REPORTS, encoding="utf-8")
        self.node("a", slots=4)

    def run_trial(self, name):
        out = self.yard("run", "--at", "lab", "--detach", "--json", "--name", name, "--",
                        "/usr/bin/python3", "reports.py", self.directory, name)[0]
        return json.loads(out)["id"]

    def noted(self, name):
        path = pathlib.Path(self.directory, "noted-" + name)
        return [int(line) for line in path.read_text().splitlines()] if path.exists() else []

    def kept(self, name):
        path = pathlib.Path(self.directory, "runs", name, "result.json")
        return [json.loads(line)["i"] for line in path.read_text().splitlines()] if path.exists() else []

    def await_end(self, trial):
        state = []

        def ended():
            state[:] = [json.loads(self.yard("call", "trainer", "Trials", json.dumps({"trial": trial}))[0])["trials"][0]["state"]]
            return state[0] in ("done", "failed", "stopped")

        self.await_true(ended, lambda: state)
        return state[0]

    def workers(self):
        """The process ids of the node's workers. (Its shims may be children of it, too.)"""
        pids = []
        for child in pathlib.Path("/proc/%d/task/%d/children" % (self.nodes["a"].pid, self.nodes["a"].pid)).read_text().split():
            try:
                words = pathlib.Path("/proc/%s/cmdline" % child).read_bytes().split(b"\0")
            except OSError:
                continue
            if any(word.startswith(b"--worker=") for word in words):
                pids.append(int(child))
        return pids

    def kill_worker(self):
        self.await_true(self.workers, "the node has no worker")
        for pid in self.workers():
            os.kill(pid, signal.SIGKILL)

    def test_what_may_be_killed_without_a_loss(self):
        trial = self.run_trial("one")
        self.await_true(lambda: self.noted("one"), "the trial does not begin")
        kills = KILLS * [self.kill_worker, lambda: self.kill_service("launcher"), lambda: self.kill_service("trainer"),
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
