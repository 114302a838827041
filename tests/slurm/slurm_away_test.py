"""Jobs go on while slurmctld, or its answers, are away; and a job that Slurm starts twice starts its programs once."""

import os
import shlex

from bazel.python import xml_runner
from tests.slurm import faults_case

# How squeue answers, one after the other.
BAD_ANSWERS = {
    "lists no job": "exit 0",
    "does not reach slurmctld": "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
    "does not know the job": "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1",
    "lists another job": "echo '1|other|RUNNING|1|node1|None|0'; exit 0",
    "says half a line": "printf '1|y-lab'; exit 0",
    "hangs": "exec sleep 1000",
}
# In seconds. A look is due every 30 s, and one that hangs takes 60 s; an allocation without a link would be lost after 300 s.
BAD_FOR = int(os.environ.get("BAD_FOR", "310"))


class SlurmAwayTest(faults_case.FaultsCase):
    def test_jobs_run_and_end_while_the_controller_is_away_for_a_minute(self):
        self.make_pool("lab", nodes=2)
        self.await_nodes(count=2)
        trial = self.run_trial("on")
        self.await_true(lambda: len(self.noted("on")) > 5, self.keeper_log)
        before = self.allocation()
        self.passes(6)  # (slurmctld saves its jobs every few seconds.)
        self.farm.crash_ctld()
        self.addCleanup(self.farm.start_ctld)
        self.passes(20)
        for code in (5, 0):
            job = self.call("Launch", spec={"argv": ["sh", "-c", "exit %d" % code], "working_directory": "/",
                                            "environment": ["PATH=/usr/bin:/bin"], "pool": "lab"})["job"]["id"]
            ended = self.await_state(job, "failed", "lost", "done")
            self.assertEqual((ended["state"], ended["tasks"][0]["attempts"][0]["exit_code"]), ("failed" if code else "done", code))
            self.passes(20)
        self.reports_go_on("on")
        self.farm.start_ctld()
        self.reports_go_on("on")
        self.ends_whole("on", trial)
        self.assertEqual(self.allocation(), before)


class SlurmQueueTest(faults_case.FaultsCase):
    def test_no_answer_of_squeue_ends_an_allocation_whose_nodes_are_connected(self):
        self.make_pool("lab", nodes=1)
        self.await_nodes(count=1)
        trial = self.run_trial("on")
        self.await_true(lambda: len(self.noted("on")) > 5, self.keeper_log)
        before = self.allocation()
        turns = self.calls / "turns"
        cases = "".join("%d) %s ;; " % at for at in enumerate(BAD_ANSWERS.values()))
        self.wrap("squeue", "n=$(wc -l 2> /dev/null < %s || echo 0); echo >> %s; case $((n %% %d)) in %s esac" % (
            turns, turns, len(BAD_ANSWERS), cases))
        self.addCleanup(self.wrap, "squeue")
        self.passes(BAD_FOR)
        self.assertGreaterEqual(len(turns.read_text().splitlines()), min(len(BAD_ANSWERS), BAD_FOR // 60))
        self.reports_go_on("on")
        self.wrap("squeue")
        self.ends_whole("on", trial)
        self.assertEqual(self.allocation(), before)


class SlurmTwiceTest(faults_case.FaultsCase):
    def keep_submissions(self):
        """Each sbatch of the yard is kept as a script that does it again."""
        again = self.calls / "again"
        again.mkdir(exist_ok=True)
        self.wrap("sbatch", "cat > %s/script; { echo '#!/bin/sh'; export -p; printf 'exec /usr/bin/sbatch'; "
                            "for word; do printf ' %%s' \"'$word'\"; done; echo ' < %s/script'; } > %s/sbatch; exec < %s/script" % (4 * (again,)))
        self.addCleanup(self.wrap, "sbatch")
        return again / "sbatch"

    def submit_again(self, script, *more):
        """A twin of the job, with its name and its keys; `more` are further words of sbatch. Returns its number."""
        text = script.read_text().replace("exec /usr/bin/sbatch", "exec /usr/bin/sbatch " + " ".join(map(shlex.quote, more)))
        # (Twins that wait for each other are another guard, which Slurm may forget.)
        return self.slurm("sh", "-c", text.replace(" '-d' 'singleton'", "")).strip()

    def await_end_of(self, number):
        self.await_true(lambda: number not in self.slurm("squeue", "-h", "-o", "%i").split(), self.queue)

    def test_a_twin_of_a_job_starts_no_program(self):
        script = self.keep_submissions()
        self.make_pool("once", nodes=1)
        job, notes = self.start_once("once")
        self.await_true(notes.exists, self.keeper_log)
        first = self.allocation("once")
        # While the first one runs, and a second task would have room.
        twin = self.submit_again(script)
        self.assertNotEqual(twin, first)
        second, _ = self.start_once("once")
        self.await_end_of(twin)
        (self.shared / "go").touch()
        for each in (job, second):
            self.assertEqual(self.await_state(each, "done", "failed", "lost")["state"], "done")
        self.assertEqual(notes.read_text(), 2 * "start\n")
        # After the end: the keys of the first one open nothing any more.
        (self.shared / "go").unlink()
        self.yard("pool", "rm", "once")
        late = self.submit_again(script, "--time=1")
        self.make_pool("once", nodes=1)
        third, _ = self.start_once("once")
        self.await_true(lambda: notes.read_text() == 3 * "start\n", lambda: (self.queue(), self.keeper_log()))
        node = self.job(third)["tasks"][0]["node"]
        run = next(one["run"] for one in self.call("Nodes")["nodes"] if one["name"] == node)
        self.assertFalse(run.startswith(late + "."), run)
        self.slurm("scancel", late)
        (self.shared / "go").touch()
        self.await_state(third, "done")
        self.assertEqual(notes.read_text(), 3 * "start\n")

    def test_a_controller_that_is_killed_after_the_end_starts_no_program_twice(self):
        for pool in ("one", "two", "three"):
            (self.shared / "go").unlink(missing_ok=True)
            self.make_pool(pool, nodes=1)
            job, notes = self.start_once(pool)
            self.await_true(notes.exists, self.keeper_log)
            self.passes(6)  # (slurmctld has saved that it runs.)
            (self.shared / "go").touch()
            self.await_state(job, "done")
            self.slurm("scancel", self.allocation(pool))
            self.farm.crash_ctld()
            self.farm.start_ctld()
            self.passes(25)  # (Then Slurm may run the job again.)
            self.assertEqual(notes.read_text(), "start\n")


if __name__ == "__main__":
    xml_runner.main()
