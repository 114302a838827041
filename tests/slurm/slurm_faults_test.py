"""Jobs go on over what a cluster does to them: suspension, and ends in each way in which Slurm keeps track of processes; and over kills
of the yard."""

import json
import os
import pathlib
import random
import time

from bazel.python import xml_runner
from tests.slurm import farm_case, slurm_case

KILLS = int(os.environ.get("KILLS", "20"))


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

    def goes_on_after_a_warning(self, name, process):
        """Its first attempt was warned and has saved, and the second one goes on from there."""
        self.await_true((self.shared / "steps-2").exists, lambda: (self.trial_of(name), self.queue(), self.keeper_log()))
        said = json.loads((self.shared / "stopped-1").read_text())
        self.assertEqual((said["term"], said["stop"]), (True, "stop"), said)
        self.assertEqual((self.shared / "steps-2").read_text().split()[0], str(said["step"] + 1))
        (self.shared / "enough").touch()
        self.finish(process)

    def passes(self, seconds):
        end = time.monotonic() + seconds
        self.await_true(lambda: time.monotonic() > end, "time stands still")

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


class SlurmSuspendedTest(FaultsCase):
    def test_a_job_that_is_suspended_goes_on_when_it_is_resumed(self):
        self.make_pool("lab", nodes=1)
        self.await_nodes(count=1)
        out = self.yard("run", "--at", "lab", "--detach", "--json", "--name", "rests", "--heartbeat", "1m", "--",
                        "/usr/bin/python3", "reports.py", self.directory, "rests")[0]
        self.await_true(lambda: len(self.noted("rests")) > 5, self.keeper_log)
        number = self.allocation()
        self.slurm("scontrol", "suspend", number)
        self.passes(12)
        before = len(self.noted("rests"))
        self.passes(1)
        self.assertEqual(len(self.noted("rests")), before)  # It is.
        self.slurm("scontrol", "resume", number)
        self.reports_go_on("rests")
        self.ends_whole("rests", json.loads(out)["id"])


class TrackedCase(FaultsCase):
    """`yard stop` and scancel, in one of Slurm's ways to keep track of processes."""

    def test_a_scancel_warns_the_program(self):
        self.make_pool("lab", nodes=1)
        process = self.start_warned("warned")
        self.slurm("scancel", self.allocation())
        self.goes_on_after_a_warning("warned", process)

    @farm_case.needs_namespaces("after yard stop no process is left on any node")
    def test_a_stop_leaves_no_process_on_any_node(self):
        self.make_pool("lab")
        self.await_nodes()
        script = "trap '' TERM; setsid sleep 1000 & sleep 1000 & wait"
        job = json.loads(self.yard("launch", "--at", "lab", "--detach", "--json", "--worker", "6", "--gang", "--", "sh", "-c", script)[0])["id"]
        self.await_true(lambda: len(self.left()) >= 18, self.left)
        self.call("StopJob", job=job, grace_ms=200)
        self.await_state(job, "failed", "done")
        self.assertEqual(self.left(), [])


class SlurmCgroupTest(TrackedCase):
    farm_options = {**FaultsCase.farm_options, "proctrack": "cgroup"}


class SlurmPgidTest(TrackedCase):
    farm_options = {**FaultsCase.farm_options, "proctrack": "pgid"}


class SlurmKillsTest(FaultsCase):
    def test_every_acknowledged_report_is_kept_once_whatever_of_the_yard_is_killed(self):
        self.make_pool("lab", nodes=1)
        self.await_nodes(count=1)
        trial = self.run_trial("kills")
        self.await_true(lambda: len(self.noted("kills")) > 5, self.keeper_log)
        dice = random.Random(KILLS)
        for _ in range(KILLS):
            self.kill_service(dice.choice(("gate", "trainer", "launcher")))
            self.yard("up", *self.up_words)
            self.reports_go_on("kills", dice.randrange(1, 30))
        self.ends_whole("kills", trial)


if __name__ == "__main__":
    xml_runner.main()
