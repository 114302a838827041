"""Trials that are clusters, with real processes: who reports, what every rank knows, how all of them end;
and examples/data_parallel as its page says."""

import json
import os
import pathlib
import re
import shlex
import time

from bazel.python import xml_runner
from tests import yard_case

EXAMPLE = str(pathlib.Path("examples/data_parallel").absolute())
SDK = str(pathlib.Path("sdk/python").absolute())

# Each rank says what it knows and meets the others at a barrier; all try to report.
KNOWS = """
import json, os, yard
rank = int(os.environ["RANK"])
with yard.Reporter() as reporter:
    place = reporter.barrier("met", tasks=["chief", "worker"])
    reply = reporter.report(rank=rank)
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    print("knows", json.dumps({
        "task": "%s-%d" % (task["type"], task["index"]), "rank": rank, "connected": reporter.connected,
        "lr": reporter.config["lr"], "checkpoint": reporter.checkpoint, "iteration": reporter.iteration,
        "met": 0 <= place < 3, "trial": os.environ["YARD_TRIAL_NAME"]}), flush=True)
    if rank == 0 and reporter.checkpoint is None:
        with reporter.save() as directory:
            open(os.path.join(directory, "state"), "w").close()
"""

# Rank 0 reports until it is told to stop; the others wait for a signal.
STOPS = """
import os, signal, sys, yard
rank = int(os.environ["RANK"])
def end(*_):
    print("rank %d got the signal" % rank, flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
with yard.Reporter() as reporter:
    if rank > 0:
        open("up-%d" % rank, "w").close()
        signal.pause()
    while reporter.report(a=1):
        pass
    print("rank 0 heard it", flush=True)
"""

FAILS = """
import os, signal, sys
if os.environ["RANK"] == "1":
    sys.exit("no more data")
signal.pause()
"""


class ClusterTrialsTest(yard_case.YardCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment["PYTHONPATH"] = SDK

    def show(self, trial):
        return json.loads(self.yard("show", "--json", trial)[0])

    def known(self, out):
        """By rank, what the program KNOWS has printed."""
        said = [json.loads(line.split("knows ", 1)[1]) for line in out.splitlines()
                if "knows " in line]
        return {one.pop("rank"): one for one in said}

    def test_every_rank_knows_its_place_and_only_the_first_reports(self):
        out, err = self.yard("run", "--name", "knows", "--chief", "--worker", "2", "--config",
                             '{"lr": 0.5}', "--", "python3", "-c", KNOWS)
        same = {"lr": 0.5, "checkpoint": None, "iteration": 0, "met": True, "trial": "knows"}
        self.assertEqual(self.known(out), {
            0: {"task": "chief-0", "connected": True, **same},
            1: {"task": "worker-0", "connected": False, **same},
            2: {"task": "worker-1", "connected": False, **same}}, out + err)
        self.assertIn("[worker-1]:", out)
        self.assertIn("rank 2 does not report: rank 0 does", err)
        trial = self.show("knows")
        self.assertEqual((trial["state"], trial["reports"], trial["statistics"]["rank"]["max"]),
                         ("done", 1, 0))
        self.assertEqual(trial["options"]["tasks"],
                         [{"type": "chief", "count": 1}, {"type": "worker", "count": 2}])
        self.assertIn("tasks      chief 1, worker 2\n", self.yard("show", "knows")[0])
        logs = self.yard("logs", "knows", "--out")[0]
        self.assertEqual(len([line for line in logs.splitlines() if "knows" in line]), 3, logs)
        files = os.listdir(self.directory + "/runs/knows")
        self.assertIn("chief-0.1.stdout", files)
        self.assertIn("worker-1.1.stderr", files)

        # A trial that goes on from it is such a cluster too, and all its ranks know where.
        out, _ = self.yard("run", "--name", "on", "--from", "knows")
        known = self.known(out)
        self.assertEqual(sorted(known), [0, 1, 2], out)
        for rank in range(3):
            self.assertRegex(known[rank]["checkpoint"], "/runs/on/checkpoint_")
            self.assertEqual((known[rank]["lr"], known[rank]["iteration"]), (0.5, 1))

    def test_a_stop_reaches_every_rank(self):
        self.yard("run", "--detach", "--name", "stops", "--worker", "3", "--", "python3", "-c", STOPS)
        self.await_true(
            lambda: all(os.path.exists("%s/up-%d" % (self.directory, rank)) for rank in (1, 2)) and
            self.show("stops")["reports"] > 0, "it does not come up")
        begin = time.monotonic()
        self.yard("stop", "stops")
        self.assertLess(time.monotonic() - begin, 9, "before the grace time is over")
        self.assertEqual(self.show("stops")["state"], "stopped")
        logs = self.yard("logs", "stops")[0]
        for words in ("rank 0 heard it", "rank 1 got the signal", "rank 2 got the signal"):
            self.assertIn(words, logs)

    def test_the_task_that_failed_first_is_the_reason(self):
        _, err = self.finish(self.start_yard("run", "--name", "fails", "--worker", "3", "--",
                                             "python3", "-c", FAILS), 1)
        self.assertIn("FAILED: worker-1: exit code 1", err)
        self.assertIn("  | no more data", err)

    def test_a_cluster_that_cannot_be_is_refused_before_anything_starts(self):
        _, err = self.finish(
            self.start_yard("run", "--worker", "600", "--ps", "600", "--", "true"), 2)
        self.assertIn("at most 1000 tasks, this one has 1200", err)

    def test_the_example_comes_to_the_same_weights_after_a_kill(self):
        """The commands of the page, in the order of the page."""
        page = pathlib.Path(EXAMPLE, "README.md").read_text()
        commands = re.findall(r"^    (\w+ .*)$", page, re.MULTILINE)
        self.assertEqual([command.split()[0] for command in commands], ["yard", "yard", "cmp"])
        whole, killed, compare = (
            [word.replace("examples/data_parallel", EXAMPLE) for word in shlex.split(command)]
            for command in commands)

        out, _ = self.yard(*whole[1:])
        weights = re.findall(r"rank \d of 3: weights (.*)", out)
        self.assertEqual(len(weights), 3, out)
        self.assertEqual(len(set(weights)), 1, "the ranks differ")

        out, _ = self.yard(*killed[1:])
        starts = sorted(re.findall(r"rank (\d) of 3: from step (\d+)", out))
        self.assertEqual(starts, [(str(rank), step) for rank in range(3) for step in ("0", "10")])
        self.assertEqual(re.findall(r"rank \d of 3: weights (.*)", out), weights)
        trial = self.show("killed")
        self.assertEqual((trial["state"], trial["attempt"]), ("done", 2))
        errors = pathlib.Path(self.directory, "runs/killed/error.txt").read_text()
        self.assertIn("worker-1: ", errors)

        self.finish(self.start(*compare))
        # And the numbers are right, not only the same.
        for got, wanted in zip(json.loads(weights[0]), [2.0, -3.0, 0.5, 1.5]):
            self.assertAlmostEqual(got, wanted, delta=0.25)


if __name__ == "__main__":
    xml_runner.main()
