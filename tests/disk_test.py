"""Room on the disk: what takes it, the trash and back, what waits for it."""

import json
import os
import pathlib

from bazel.python import xml_runner
from tests import yard_case

SAVES = r"""
import json, os, sys
channel = os.fdopen(3, "r+b", buffering=0)
def ask(**line):
    channel.write(json.dumps(line).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"): answer += channel.read(1)
    return json.loads(answer)
for i in range(6):
    ask(t="report", m={"loss": float(sys.argv[1]) + i})
    directory = ask(t="ckpt_begin")["path"]
    with open(os.path.join(directory, "model"), "wb") as file: file.write(bytes(100000))
    ask(t="ckpt_end", path=directory)
"""


class DiskTest(yard_case.YardCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        pathlib.Path(cls.directory, "saves.py").write_text(SAVES, encoding="utf-8")

    def train(self, name, loss="1", *words):
        self.yard("run", "--name", name, *words, "--", "/usr/bin/python3", "saves.py", loss)

    def run_directory(self, name):
        return pathlib.Path(self.directory, "runs", name)

    def await_runs(self, *names):
        """The data manager sees a run within seconds of its coming and going."""
        self.yard("call", "datamanager", "Reload", "{}")
        self.await_true(lambda: {one["run"] for one in map(json.loads, self.yard("runs", "--json")[0].splitlines())} >= set(names), "no " + str(names))

    def test_three_checkpoints_and_the_newest_stay(self):
        self.train("keeps")
        kept = [name for name in os.listdir(self.run_directory("keeps")) if name.startswith("checkpoint_0")]
        self.assertEqual(sorted(kept), ["checkpoint_000004", "checkpoint_000005", "checkpoint_000006"])
        self.train("keeps-all", "1", "--keep_checkpoints=-1")
        self.assertEqual(sum(name.startswith("checkpoint_0") for name in os.listdir(self.run_directory("keeps-all"))), 6)
        usage = json.loads(self.yard("du", "keeps", "keeps-all", "--json")[0])
        self.assertEqual([run["run"] for run in usage["runs"]], ["keeps-all", "keeps"])
        self.assertGreaterEqual(usage["runs"][0]["checkpoint_bytes"], 600000)
        self.assertGreaterEqual(usage["bytes"], 900000)
        text = self.yard("du", "-n", "1")[0]
        self.assertIn("keeps-all", text)
        self.assertRegex(text, r"smaller ones?\n\d+ runs: .* free on the disk of ")

    def test_what_is_removed_comes_back(self):
        self.train("comes-back")
        self.await_runs("comes-back")
        before = sorted(os.listdir(self.run_directory("comes-back")))
        self.yard("rm", "comes-back")
        self.assertFalse(self.run_directory("comes-back").exists())
        line, = [one for one in map(json.loads, self.yard("trash", "ls", "--json")[0].splitlines()) if one["run"] == "comes-back"]
        self.assertGreater(line["bytes"], 300000)
        self.assertIsNotNone(line["deleted"])
        self.assertRegex(self.yard("trash", "ls")[0], r"comes-back .* 29 d")
        self.train("comes-back")
        self.assertIn("--name OTHER", self.finish(self.start_yard("trash", "restore", "comes-back"), 6)[1])
        self.assertIn("restored to", self.yard("trash", "restore", "comes-back", "--name", "group/came-back")[0])
        self.assertEqual(sorted(os.listdir(self.run_directory("group/came-back"))), before)
        self.await_runs("group/came-back")
        self.assertIn("loss", self.yard("show", "group/came-back")[0])

    def test_a_query_removes_what_it_is_true_of(self):
        for name, loss in (("q-good", "1"), ("q-bad", "100"), ("q-worse", "1000")):
            self.train(name, loss)
        self.await_runs("q-good", "q-bad", "q-worse")
        shown = self.yard("rm", "loss>50", "--dry_run")[0]
        self.assertIn("q-bad", shown)
        self.assertIn("q-worse", shown)
        self.assertNotIn("q-good", shown)
        self.assertIn("nothing was removed", shown)
        self.assertTrue(self.run_directory("q-bad").exists())
        self.yard("rm", "loss>50")
        self.assertEqual([self.run_directory(name).exists() for name in ("q-good", "q-bad", "q-worse")], [True, False, False])
        self.assertIn("2 runs deleted: ", self.yard("trash", "empty", "q-bad", "q-worse")[0])

    def test_only_what_is_old_enough_is_deleted(self):
        self.train("young")
        self.yard("rm", "young")
        self.assertIn("0 runs deleted", self.yard("trash", "empty", "--older", "1h")[0])
        self.yard("trash", "empty", "young")
        self.assertIn("has no young", self.finish(self.start_yard("trash", "restore", "young"), 3)[1])
        self.assertIn("none of ls, restore, empty", self.finish(self.start_yard("trash", "burn"), 2)[1])


class FullDiskTest(yard_case.YardCase):
    up_words = ("--min_free", "99.999%")

    def test_trials_wait_while_too_little_is_free(self):
        trial = json.loads(self.yard("run", "--detach", "--json", "--name", "waits", "--", "true")[0])
        self.assertEqual(trial["state"], "pending")
        self.assertIn("have to stay free; next: yard du", self.yard("ps")[0].replace("\n", " ") + json.loads(self.yard("ps", "--json")[0])["reason"])
        self._services("down", "--keep")
        self.assertIn("such as 5GiB", self.finish(self.start_yard("up", "--min_free", "lots"), 2)[1])
        self._services("up", "--min_free", "0")
        self.assertIn("done", self.yard("wait", "waits")[0])


if __name__ == "__main__":
    xml_runner.main()
