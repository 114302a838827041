"""What a cluster does to its jobs: controllers and nodes that go, squeue that fails, time limits, preemption, suspension, in each
way in which Slurm keeps track of processes."""

import json
import os
import pathlib
import random
import time

from bazel.python import xml_runner
from tests import yard_case
from tests.slurm import farm_case, slurm_case

KILLS = int(os.environ.get("KILLS", "20"))
FAILING_SQUEUE = {
    "says_nothing": "exit 0",
    "fails": "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
    "hangs": "exec sleep 1000",
}


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

    def host_of(self, name):
        """The number of the host where a trial runs."""
        job = self.trial_of(name)["job"]
        return int(self.job(job)["tasks"][0]["host"].removeprefix("node"))

    def attempts(self, name):
        return [json.loads(line)["attempt"] for line in
                pathlib.Path(self.directory, "runs", name, "result.json").read_text().splitlines()]

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


class SlurmAwayTest(FaultsCase):
    """The controller is away, or its answers are."""

    def test_jobs_run_and_end_while_the_controller_is_away_for_a_minute(self):
        self.make_pool("lab", nodes=2)
        self.await_nodes(count=2)
        trial = self.run_trial("on")
        self.await_true(lambda: len(self.noted("on")) > 5, self.keeper_log)
        self.farm.crash_ctld()
        self.addCleanup(self.farm.start_ctld)
        self.passes(20)
        job = self.call("Launch", spec={"argv": ["sh", "-c", "exit 5"], "working_directory": "/", "environment": ["PATH=/usr/bin:/bin"],
                                        "pool": "lab"})["job"]["id"]
        self.assertEqual(self.await_state(job, "failed", "lost")["tasks"][0]["attempts"][0]["exit_code"], 5)
        self.passes(40)
        self.reports_go_on("on")
        self.farm.start_ctld()
        self.reports_go_on("on")
        self.ends_whole("on", trial)

    def test_a_controller_that_is_killed_after_the_end_starts_no_program_twice(self):
        self.make_pool("once", nodes=1)
        job, notes = self.start_once("once")
        self.await_true(notes.exists, self.keeper_log)
        (self.shared / "go").touch()
        self.await_state(job, "done")
        self.slurm("scancel", self.allocation("once"))
        self.farm.crash_ctld()
        self.farm.start_ctld()
        self.passes(20)  # (Then Slurm may run the job again.)
        self.assertEqual(notes.read_text(), "start\n")


def _add_failing_squeue(name, line):
    def test(self):
        self.make_pool("lab", nodes=1)
        self.await_nodes(count=1)
        trial = self.run_trial(name)
        self.wrap("squeue", line)
        self.addCleanup(self.wrap, "squeue")
        self.passes(100)
        self.reports_go_on(name)
        self.wrap("squeue")
        self.ends_whole(name, trial)
    setattr(SlurmAwayTest, "test_an_squeue_that_%s_ends_nothing" % name, test)


for _name, _line in FAILING_SQUEUE.items():
    _add_failing_squeue(_name, _line)


class SlurmNodesTest(FaultsCase):
    """Nodes go."""

    node_lost_after = "1m"

    @farm_case.needs_namespaces("a node that loses its power is named, and left out of the next allocation")
    def test_a_node_that_loses_its_power_is_left_out_of_the_next_allocation(self):
        self.make_pool("lab", nodes=1)
        process = self.start_warned("power")
        host = self.host_of("power")
        self.farm.crash_node(host)
        self.await_true((self.shared / "steps-2").exists, lambda: (self.trial_of("power"), self.queue(), self.keeper_log()))
        self.assertNotEqual(self.host_of("power"), host)
        self.assertIn(" -x node%d " % host, self.calls_of("sbatch")[-1] + " ")
        (self.shared / "enough").touch()
        self.finish(process)
        attempts = self.attempts("power")
        self.assertEqual(attempts, sorted(attempts))

    @farm_case.needs_namespaces("behind a cable that is cut for long the old attempt ends, and nothing of it counts any more")
    def test_an_attempt_behind_a_cable_that_is_cut_for_long_is_replaced_and_killed_on_its_return(self):
        self.make_pool("lab", nodes=1)
        process = self.start_warned("cut")
        host = self.host_of("cut")
        self.farm.cut_node(host)
        self.await_true((self.shared / "steps-2").exists, lambda: (self.trial_of("cut"), self.queue(), self.keeper_log()))
        self.assertNotEqual(self.host_of("cut"), host)
        self.assertTrue(self.programs_on(host))
        self.farm.mend_node(host)
        self.await_true(lambda: not self.programs_on(host), lambda: (self.programs_on(host), self.queue()))
        (self.shared / "enough").touch()
        self.finish(process)
        attempts = self.attempts("cut")
        self.assertEqual(attempts, sorted(attempts))
        # The program saw an answer for each row but for the last of an attempt, which may have been on its way.
        steps = [json.loads(line)["step"] for line in pathlib.Path(self.directory, "runs/cut/result.json").read_text().splitlines()]
        noted = [int(step) for number in (1, 2) for step in (self.shared / ("steps-%d" % number)).read_text().split()]
        self.assertLessEqual(set(noted), set(steps))


class SlurmWarningsTest(FaultsCase):
    """Slurm takes an allocation away, and tells its programs before."""

    def test_at_the_time_limit_a_program_is_warned_and_goes_on_in_the_next_allocation(self):
        self.make_pool("lab", "--partition", "short", "--time", "1m", "--drain", "0s", nodes=1)
        self.goes_on_after_a_warning("limit", self.start_warned("limit"))

    def test_a_program_that_is_preempted_is_warned_and_goes_on_in_the_next_allocation(self):
        self.make_pool("lab", "--partition", "low", nodes=3)
        process = self.start_warned("preempted")
        self.slurm("sbatch", "-J", "other", "-p", "main", "-D", "/", "-o", "/dev/null", "-N", "3", "--exclusive", "--wrap", "sleep 15")
        self.addCleanup(self.slurm, "scancel", "-n", "other")
        self.await_true((self.shared / "stopped-1").exists, lambda: (self.queue(), self.keeper_log()))
        self.await_true(lambda: "PREEMPTED" in json.dumps(self.call("Nodes")), lambda: self.call("Nodes"))
        self.goes_on_after_a_warning("preempted", process)

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

    def test_a_working_directory_that_a_node_does_not_see_is_named_and_nothing_runs(self):
        self.make_pool("lab", nodes=1)
        missing = pathlib.Path(self.directory, "state/only-here")
        missing.mkdir()
        job = self.call("Launch", spec={"argv": ["touch", str(self.shared / "ran")], "working_directory": str(missing),
                                        "environment": ["PATH=/usr/bin:/bin"], "pool": "lab"})["job"]["id"]
        ended = self.await_state(job, "failed", "lost", "done")
        if self.has_namespaces:
            self.assertIn(str(missing), ended["reason"])
            self.assertFalse((self.shared / "ran").exists())


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
