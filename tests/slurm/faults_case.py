"""Test cases of faults: a cluster whose times are short, programs that save when they are warned, and ways to end the yard's parts."""

import json
import os
import pathlib
import random
import time

from tests.slurm import farm_case, slurm_case

# How many random kills a test does: 0 means as many as fit into a few minutes.
KILLS = int(os.environ.get("KILLS", "0"))


def dice():
    """Random numbers of a seed that is printed; SEED=N does a run again."""
    seed = int(os.environ.get("SEED") or time.time_ns() % 1_000_000)
    print("SEED=%d" % seed, flush=True)
    return random.Random(seed)


class FaultsCase(slurm_case.SlurmCase):
    farm_options = {"nodes": 3, "memory": 4000, "lines": ["MinJobAge=2", "KillWait=6", slurm_case.ROOM]}

    def setUp(self):
        super().setUp()
        for path in self.shared.glob("*"):
            if path.is_file():
                path.unlink()

    def allocation(self, pool="lab"):
        """The number of the pool's newest job in Slurm's queue."""
        return max((row[2] for name, row in self.queue().items() if name.startswith("y-%s-" % pool)), key=int)

    def start_warned(self, name):
        """A trial that saves when it is warned, and goes on in the next attempt (programs/warned.py)."""
        process = self.start_yard("run", "--at", "lab", "--name", name, "--max_restarts", "1", "--", "python3",
                                  farm_case.PROGRAMS + "/warned.py", str(self.shared))
        self.await_true((self.shared / "steps-1").exists, self.keeper_log)
        return process

    def steps(self, attempt):
        """The steps that an attempt of such a trial has reported, as its program knows it."""
        return [int(step) for step in (self.shared / ("steps-%d" % attempt)).read_text().split()]

    def await_second_attempt(self, name):
        self.await_true((self.shared / "steps-2").exists, lambda: (self.trial_of(name), self.queue(), self.keeper_log()))

    def goes_on_after_a_warning(self, name, process):
        """Its first attempt was warned and has saved, and the second one goes on from there."""
        self.await_second_attempt(name)
        said = json.loads((self.shared / "stopped-1").read_text())
        self.assertEqual((said["term"], said["stop"]), (True, "stop"), said)
        self.assertLessEqual(said["grace"], 4)  # (KillWait - 2 s)
        self.assertEqual(self.steps(2)[0], said["step"] + 1)
        (self.shared / "enough").touch()
        self.finish(process)

    def pool_row(self, pool="lab"):
        """The pool as `yard pool` shows it."""
        return json.loads(self.yard("pool", pool, "--json")[0].splitlines()[0])

    def host_of(self, name):
        """The number of the host where a trial runs."""
        node = self.job(self.trial_row(name)["job"])["tasks"][0]["node"]
        return int(next(one["host"] for one in self.call("Nodes")["nodes"] if one["name"] == node).removeprefix("node"))

    def trial_row(self, name):
        return json.loads(self.yard("call", "trainer", "Trials", json.dumps({"trial": name}))[0])["trials"][0]

    def passes(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)

    def reports_go_on(self, name, count=20):
        before = len(self.noted(name))
        self.await_true(lambda: len(self.noted(name)) > before + count, lambda: (self.trial_of(name), self.keeper_log()))

    def ends_whole(self, name, trial):
        """The trial ends, in its first attempt, and each acknowledged report is kept once."""
        pathlib.Path(self.directory, "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.assertEqual(self.noted(name), self.kept(name))
        self.assertEqual(self.kept(name), list(range(1, len(self.kept(name)) + 1)))
        self.assertEqual(self.trial_of(name)["attempt"], 1)
