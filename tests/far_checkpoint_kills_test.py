"""Kills of each process, and cuts, while a trial on a node that does not see the run directory saves: no checkpoint that was acknowledged is lost or half."""

import hashlib
import json
import os
import pathlib
import random

from bazel.python import xml_runner
from tests import pool_case

KILLS = 60
NODE_KILLS = 15

# Saves again and again until there is a file `enough`; notes each checkpoint that was acknowledged.
SAVES = r"""
import hashlib, json, os, pathlib, sys
folder, trial = sys.argv[1:]
channel = os.fdopen(3, "r+b", buffering=0)
def say(**line):
    channel.write(json.dumps(line).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        part = channel.read(1)
        if not part: sys.exit("the channel has ended")
        answer += part
    return json.loads(answer)
notes = open(os.path.join(folder, "noted-" + trial), "a")
def note(word, step):
    notes.write("%s %d\n" % (word, step))
    notes.flush()
start = say(t="hello", v=1)["checkpoint"]
step = 0
if start:
    data = pathlib.Path(start, "data").read_bytes()
    assert hashlib.sha256(data).hexdigest() == pathlib.Path(start, "sum").read_text()
    step = int(pathlib.Path(start, "step").read_text())
note("start", step)
while not os.path.exists(os.path.join(folder, "enough")):
    step += 1
    if say(t="report", m={"i": step})["t"] == "stop": break
    begun = say(t="ckpt_begin", step=step)
    assert begun["t"] == "ckpt_dir", begun
    path = pathlib.Path(begun["path"])
    data = os.urandom(1_200_000)
    (path / "data").write_bytes(data)
    (path / "sum").write_text(hashlib.sha256(data).hexdigest())
    (path / "step").write_text(str(step))
    (path / "same").write_bytes(b"same" * 200_000)
    ended = say(t="ckpt_end", path=str(path))
    assert ended["t"] == "ok", ended
    note("saved", step)
"""


class FarCheckpointKillsTest(pool_case.ReportsCase):
    up_words = ()

    def setUp(self):
        super().setUp()
        self.random = random.Random(os.environ.get("YARD_SEED", "7"))
        self.here = pathlib.Path(self.directory)
        (self.here / "saves.py").write_text(SAVES, encoding="utf-8")
        self.runs = self.here / "runs"
        self.runs.mkdir(exist_ok=True)
        self.start_node()

    def start_node(self):
        self.node("a", slots=4, hides=(self.runs,))

    def save_trial(self, name, *words):
        out = self.yard("run", "--at", "lab", "--detach", "--json", "--name", name, *words, "--",
                        "/usr/bin/python3", "saves.py", self.directory, name)[0]
        return json.loads(out)["id"]

    def noted_of(self, name, word):
        path = self.here / ("noted-" + name)
        lines = path.read_text().splitlines() if path.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith(word + " ")]

    def expect_whole(self, name):
        """The newest checkpoint that was acknowledged is here, and each that is here is whole."""
        steps = []
        for path in (self.runs / name).glob("checkpoint_[0-9]*"):
            steps.append(int((path / "step").read_text()))
            self.assertEqual(path.name, "checkpoint_%06d" % steps[-1])
            self.assertEqual(hashlib.sha256((path / "data").read_bytes()).hexdigest(), (path / "sum").read_text(), path)
            self.assertEqual((path / "same").read_bytes(), b"same" * 200_000)
        self.assertIn(self.noted_of(name, "saved")[-1], steps)

    def test_what_may_be_killed_without_a_loss(self):
        trial = self.save_trial("one")
        self.await_true(lambda: self.noted_of("one", "saved"), "the trial does not begin")
        kills = KILLS // 5 * [lambda: self.kill_worker("a"), lambda: self.kill_service("launcher"), lambda: self.kill_service("trainer"),
                              *[cable.cut for cable in self.cables["a"]]]
        self.random.shuffle(kills)
        for kill in kills:
            kill()
            # Some are killed again before they are back, others after some checkpoints.
            if self.random.random() < 0.7:
                before = len(self.noted_of("one", "saved"))
                self.yard("up")  # (With the launcher and the trainer dead nobody starts either.)
                self.await_true(lambda: len(self.noted_of("one", "saved")) > before + self.random.randrange(3),
                                "no checkpoint is acknowledged any more")
                self.expect_whole_now("one")
        (self.here / "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.assertEqual(self.noted_of("one", "start"), [0])
        steps = self.noted_of("one", "saved")
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        lines = (self.runs / "one" / "result.json").read_text().splitlines()
        self.assertEqual([json.loads(line)["i"] for line in lines], steps)
        self.expect_whole("one")
        self.assertEqual(list((self.runs / "one").glob("checkpoint_tmp*")), [])

    def expect_whole_now(self, name):
        """A checkpoint with a name is whole at any time. (Older ones may go meanwhile.)"""
        for path in (self.runs / name).glob("checkpoint_[0-9]*"):
            try:
                data, digest = (path / "data").read_bytes(), (path / "sum").read_text()
            except FileNotFoundError:
                self.assertNotEqual(path.name, "checkpoint_%06d" % self.noted_of(name, "saved")[-1])
                continue
            self.assertEqual(hashlib.sha256(data).hexdigest(), digest, path)

    def test_a_node_that_is_killed_loses_no_checkpoint(self):
        trial = self.save_trial("lost", "--max_restarts", str(2 * NODE_KILLS))
        for number in range(NODE_KILLS):
            self.await_true(lambda: len(self.noted_of("lost", "start")) > number, "the trial does not begin again")
            before = len(self.noted_of("lost", "saved"))
            wanted = self.random.randrange(3)
            self.await_true(lambda: len(self.noted_of("lost", "saved")) >= before + wanted, "nothing is saved any more")
            acknowledged = (self.noted_of("lost", "saved") or [0])[-1]
            self.kill_node("a")
            self.start_node()
            self.await_true(lambda: len(self.noted_of("lost", "start")) > number + 1, lambda: self.yard("show", trial)[0])
            start = self.noted_of("lost", "start")[number + 1]
            self.assertGreaterEqual(start, acknowledged)
        (self.here / "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.expect_whole("lost")


if __name__ == "__main__":
    xml_runner.main()
