"""Random kills: of the yard's parts and of Slurm's, while a trial reports and around submissions. KILLS=100 and SEED=N say how many, and which."""

import os
import pathlib
import signal
import time

from bazel.python import xml_runner
from tests.slurm import faults_case, slurm_farm, submit_case


def keepers(mark):
    """The processes that keep the allocations of the yard of this state directory."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"--keep_slurm" in (path / "cmdline").read_bytes().split(b"\0") and mark.encode() in (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


class KillsCase(faults_case.FaultsCase):
    def goes_on_over_kills(self, name, parts, count):
        """A trial reports over `count` kills of `parts` (a function each)."""
        self.make_pool("lab", nodes=1)
        self.await_nodes(count=1)
        trial = self.run_trial(name)
        self.await_true(lambda: len(self.noted(name)) > 5, self.keeper_log)
        before = self.allocation()
        self.passes(6)  # (slurmctld saves its jobs every few seconds.)
        dice = faults_case.dice()
        for _ in range(faults_case.KILLS or count):
            dice.choice(parts)()
            self.reports_go_on(name, dice.randrange(1, 30))
        self.ends_whole(name, trial)
        self.assertEqual(self.allocation(), before)


class SlurmKillsTest(KillsCase):
    def test_every_acknowledged_report_is_kept_once_whatever_of_the_yard_is_killed(self):
        def kill_service(service):
            self.kill_service(service)
            self.yard("up", *self.up_words)

        parts = [lambda service=service: kill_service(service) for service in ("gate", "trainer", "launcher")]
        parts.append(lambda: self.kill_all(keepers(self.directory)))
        if self.has_namespaces:
            parts.append(lambda: self.kill_all(pid for host in self.farm.each() for pid in self.node_processes(host, b"--worker=")))
        self.goes_on_over_kills("kills", parts, count=100)


class SlurmClusterKillsTest(KillsCase):
    def test_every_acknowledged_report_is_kept_once_whatever_of_slurm_is_killed(self):
        def kill_controller():
            self.farm.crash_ctld()
            self.farm.start_ctld()

        def kill_daemon():
            for host in self.farm.each():
                self.farm.crash_slurmd(host)

        self.goes_on_over_kills("kills", [kill_controller, kill_daemon], count=100)


class SlurmSubmitKillsTest(submit_case.SubmitCase):
    """Each round asks for three pools at once, and kills something at a random moment around their submissions."""

    def test_a_job_starts_once_whatever_is_killed_around_its_submission(self):
        dice = faults_case.dice()
        end = time.monotonic() + 200
        kills = 0
        while kills < faults_case.KILLS if faults_case.KILLS else time.monotonic() < end:
            self.round(dice, kills)
            kills += 3
        print("%d submissions" % kills, flush=True)
        self.assertGreaterEqual(kills, 12)

    def round(self, dice, number):
        (self.shared / "go").unlink(missing_ok=True)
        pools = ["p%d" % (number + at) for at in range(3)]
        what = dice.choice(("launcher", "keeper", "sbatch", "controller"))
        delay = dice.uniform(0, 1.5)
        print("%s after %.3f s" % (what, delay), flush=True)
        if what == "sbatch":  # Each of these calls is killed, after 2 to 12 ms.
            marks = self.calls / ("marks-%d" % number)
            marks.mkdir()
            self.wrap("sbatch", "if mkdir %s/$(echo \"$*\" | md5sum | cut -c1-12) 2> /dev/null; then "
                                "timeout -s KILL %.3f /usr/bin/sbatch \"$@\"; exit 137; fi" % (marks, dice.uniform(0.002, 0.012)))
        begun = [self.begin_pool(pool) for pool in pools]
        if what != "sbatch":
            self.await_moment(delay)
            getattr(self, "kill_" + what)()
        for pool, process in zip(pools, begun):
            process.communicate(timeout=180)
            if process.returncode != 0:  # It has lost its launcher, and says so: people type it again.
                self.finish(self.begin_pool(pool))
        self.wrap("sbatch")
        jobs = [self.start_once(pool) for pool in pools]
        for pool, (job, notes) in zip(pools, jobs):
            self.ends_after_one_start(pool, job, notes)
        removals = [self.start_yard("pool", "rm", pool, "--force") for pool in pools]
        for removal in removals:
            self.finish(removal)

    def begin_pool(self, pool):
        return self.start_yard("pool", pool, "--engine", "slurm", "--nodes", "1", "--slots", "2", "--gate", self.gate,
                               "--directory", str(self.shared))

    def await_moment(self, delay):
        end = time.monotonic() + delay
        self.await_true(lambda: time.sleep(0.001) or time.monotonic() > end, "time stands still")

    def kill_launcher(self):
        self.kill_service("launcher")
        self.yard("up", *self.up_words)

    def kill_keeper(self):
        self.kill_all(keepers(self.directory))

    def kill_controller(self):
        """It hangs until sbatch gives up, and goes on then."""
        pid = self.farm.process_of_ctld()
        os.kill(pid, signal.SIGSTOP)
        self.await_moment(5)
        os.kill(pid, signal.SIGCONT)


class SlurmControllerKillsTest(submit_case.SubmitCase):
    """slurmctld is killed soon after a submission: it forgets the job, gives its number to another one, or starts it again."""

    def setUp(self):
        self.next_look = 0
        super().setUp()

    def test_a_job_runs_once_or_is_asked_for_again_and_no_other_job_is_taken_for_it(self):
        dice = faults_case.dice()
        end = time.monotonic() + 200
        kills = 0
        while kills < faults_case.KILLS if faults_case.KILLS else time.monotonic() < end:
            self.round("c%d" % kills, (0, 0.5, 2, 4)[kills % 4] + dice.uniform(0, 0.1))
            kills += 1
        print("%d kills" % kills, flush=True)
        self.assertGreaterEqual(kills, 3)

    def round(self, pool, delay):
        (self.shared / "go").unlink(missing_ok=True)
        self.make_pool(pool, nodes=1)
        submitted = time.monotonic()
        job, notes = self.start_once(pool, restart="OnFailure", max_restarts=5)
        self.await_true(lambda: time.monotonic() - submitted > delay, "time stands still")
        self.farm.crash_ctld()
        self.farm.start_ctld()
        other = self.slurm("sbatch", "--parsable", "-J", "other-" + pool, "-D", "/", "-o", "/dev/null", "--wrap", "sleep 1000").strip()
        self.await_true(lambda: self.has_nodes() and notes.exists(), lambda: (self.job(job), self.keeper_log(), self.queue()))
        (self.shared / "go").touch()
        self.await_true(lambda: self.has_nodes() and self.job(job)["state"] in ("done", "failed", "lost"), lambda: self.job(job))
        ended = self.job(job)
        self.assertEqual(ended["state"], "done", (ended, self.keeper_log()))
        # Each attempt has started at most once: one that was lost may have started as well.
        starts, attempts = notes.read_text().count("start"), len(ended["tasks"][0]["attempts"])
        self.assertLessEqual(starts, attempts, ended)
        print("killed after %.2f s: %d attempts, %d starts" % (delay, attempts, starts), flush=True)
        self.yard("pool", "rm", pool, "--force")
        self.assertIn(other, self.slurm("squeue", "-h", "-n", "other-" + pool, "-o", "%i").split(), self.keeper_log())
        self.empty_queue()

    def has_nodes(self):
        """True; an administrator brings back the nodes that slurmctld takes for dead after its end."""
        if time.monotonic() > self.next_look:
            self.next_look = time.monotonic() + 3
            for line in self.slurm("sinfo", "-h", "-N", "-p", "main", "-o", "%N %t").splitlines():
                node, state = line.split()
                if state.startswith(("down", "drain")):
                    slurm_farm.call("scontrol", "update", "NodeName=" + node, "State=RESUME", check=False, env=self.farm.environment)
        return True

    def empty_queue(self):
        """Jobs that have ended, and that slurmctld takes for running, hold the nodes for minutes."""
        def is_empty():
            self.slurm("scancel", "-u", str(os.geteuid()))
            return self.has_nodes() and (time.sleep(0.2) or not self.queue())
        self.await_true(is_empty, self.queue)


if __name__ == "__main__":
    xml_runner.main()
