"""Jobs go on over what a cluster does to them: it suspends them, takes their nodes away with a warning or without one, in each way in
which Slurm keeps track of processes; and what a site does to their environment."""

import json
import os
import pathlib
import time
import unittest

from bazel.python import xml_runner
from tests import hung_files
from tests.slurm import farm_case, faults_case


class SlurmSuspendedTest(faults_case.FaultsCase):
    def test_a_job_that_is_suspended_goes_on_when_it_is_resumed(self):
        self.make_pool("lab", nodes=1)
        self.await_nodes(count=1)
        out = self.yard("run", "--at", "lab", "--detach", "--json", "--name", "rests", "--heartbeat", "5s", "--",
                        "/usr/bin/python3", "reports.py", self.directory, "rests")[0]
        self.await_true(lambda: len(self.noted("rests")) > 5, self.keeper_log)
        number = self.allocation()
        self.slurm("scontrol", "suspend", number)
        self.await_true(lambda: self.pool_row()["state"] == "SUSPENDED", self.pool_row)
        before = len(self.noted("rests"))
        # The launcher says of its node since when it has not answered.
        self.await_true(lambda: self.call("Nodes", pool="lab")["nodes"][0]["state"] == "away", lambda: self.call("Nodes"))
        node = self.call("Nodes", pool="lab")["nodes"][0]
        self.assertTrue(node["since_us"] and node["why"], node)
        # That took longer than its heartbeat time, and its attempt is not taken for silent.
        self.assertEqual(json.loads(self.yard("show", "rests", "--json")[0])["state"], "running")
        self.assertEqual(len(self.noted("rests")), before)
        self.slurm("scontrol", "resume", number)
        self.reports_go_on("rests")
        self.ends_whole("rests", json.loads(out)["id"])


class SlurmWarningsTest(faults_case.FaultsCase):
    """Slurm takes an allocation away, and warns its programs."""

    def test_at_the_time_limit_a_program_is_warned_and_goes_on_in_the_next_allocation(self):
        self.make_pool("lab", "--partition", "short", "--time", "1m", "--drain", "0s", nodes=1)
        process = self.start_warned("limit")
        self.await_second_attempt("limit")
        self.assertRegex(self.pool_row()["last_end"], r"^Slurm: TIMEOUT \(Slurm job [0-9]+\)$")
        self.goes_on_after_a_warning("limit", process)

    def test_a_program_that_is_preempted_is_warned_and_goes_on_in_the_next_allocation(self):
        self.make_pool("lab", "--partition", "low", nodes=3)
        process = self.start_warned("preempted")
        self.slurm("sbatch", "-J", "other", "-p", "main", "-D", "/", "-o", "/dev/null", "-N", "3", "--exclusive", "--wrap", "sleep 15")
        self.addCleanup(self.slurm, "scancel", "-n", "other")
        self.await_second_attempt("preempted")
        self.assertRegex(self.pool_row()["last_end"], r"^Slurm: PREEMPTED \(Slurm job [0-9]+\)$")
        self.goes_on_after_a_warning("preempted", process)


class SlurmNodesTest(faults_case.FaultsCase):
    """A node goes without a warning."""

    node_lost_after = "1m"

    def goes_on_elsewhere(self, name, host):
        """The second attempt runs on another host, which was asked for without the first one."""
        self.await_second_attempt(name)
        self.assertNotEqual(self.host_of(name), host)
        self.assertIn(" -x node%d " % host, self.calls_of("sbatch")[-1])
        self.assertRegex(self.pool_row()["last_end"], r"^Slurm: NODE_FAIL \(Slurm job [0-9]+\)$")

    def ends_in_the_second_attempt(self, name, process):
        """Rows of the second attempt come after all of the first one's, which have all that was acknowledged there."""
        (self.shared / "enough").touch()
        self.finish(process)
        steps = [json.loads(line)["step"] for line in pathlib.Path(self.directory, "runs", name, "result.json").read_text().splitlines()]
        begins = [at for at, step in enumerate(steps) if step == 1]
        self.assertEqual(len(begins), 2, steps)
        first, second = steps[:begins[1]], steps[begins[1]:]
        for steps, attempt in ((first, 1), (second, 2)):
            self.assertEqual(steps, list(range(1, len(steps) + 1)))
            self.assertEqual(steps[:len(self.steps(attempt))], self.steps(attempt))
            # (The program may have ended between an answer and its note of it.)
            self.assertLessEqual(len(steps) - len(self.steps(attempt)), 1)

    @farm_case.needs_namespaces("a node that loses its power is named, and left out of the next allocation")
    def test_a_node_that_loses_its_power_is_left_out_of_the_next_allocation(self):
        self.make_pool("lab", nodes=1)
        process = self.start_warned("power")
        host = self.host_of("power")
        self.farm.crash_node(host)
        self.goes_on_elsewhere("power", host)
        self.ends_in_the_second_attempt("power", process)

    @farm_case.needs_namespaces("behind a cable that is cut for long the old attempt ends, and nothing of it counts any more")
    def test_an_attempt_behind_a_cable_that_is_cut_for_long_is_replaced_and_killed_on_its_return(self):
        self.make_pool("lab", nodes=1)
        process = self.start_warned("cut")
        host = self.host_of("cut")
        self.farm.cut_node(host)
        self.goes_on_elsewhere("cut", host)
        self.assertTrue(self.programs_on(host))
        acknowledged = self.steps(1)
        self.farm.mend_node(host)
        self.await_true(lambda: not self.programs_on(host), lambda: (self.programs_on(host), self.queue()))
        self.assertEqual(self.steps(1), acknowledged)
        self.assertFalse((self.shared / "stopped-1").exists(), "a checkpoint of the old attempt was taken")
        self.ends_in_the_second_attempt("cut", process)


class SlurmSitesTest(faults_case.FaultsCase):
    """Jobs on a site that exports nothing, limits memory, and has not all directories on its nodes."""

    farm_options = {**faults_case.FaultsCase.farm_options, "proctrack": "cgroup"}

    def launch(self, argv, **more):
        job = self.call("Launch", spec={"argv": argv, "working_directory": "/", "environment": ["PATH=/usr/bin:/bin"], "pool": "lab",
                                        **more})["job"]["id"]
        return self.await_state(job, "failed", "lost", "done")

    def test_a_site_that_exports_nothing_runs_jobs(self):
        self.environment.update({"SBATCH_EXPORT": "NONE", "SLURM_EXPORT_ENV": "NONE"})
        try:
            self.make_pool("lab", "--sbatch", "--export=NONE", nodes=1)
        finally:
            for name in ("SBATCH_EXPORT", "SLURM_EXPORT_ENV"):
                del self.environment[name]
        job = self.launch(["sh", "-c", "echo $PATH; command -v env"])
        self.assertEqual(job["state"], "done", job)
        self.assertEqual([line.partition("]: ")[2].strip() for line in self.output(job["id"]).splitlines()], ["/usr/bin:/bin", "/usr/bin/env"])

    @farm_case.needs_namespaces("a working directory that a node does not have is named, and nothing runs")
    def test_a_working_directory_that_a_node_does_not_have_is_named_and_nothing_runs(self):
        self.make_pool("lab", nodes=1)
        missing = pathlib.Path(self.directory, "state/only-here")
        missing.mkdir(exist_ok=True)
        ended = self.launch(["touch", str(self.shared / "ran")], working_directory=str(missing))
        self.assertEqual(ended["state"], "failed", ended)
        self.assertIn(str(missing), ended["tasks"][0]["attempts"][0]["reason"])
        self.assertFalse((self.shared / "ran").exists())

    @farm_case.needs_namespaces("a program that takes more memory than Slurm gave is killed, alone, and that is said")
    def test_a_program_that_is_out_of_memory_ends_alone(self):
        self.make_pool("lab", "--memory", "300MiB", nodes=1)
        trial = self.run_trial("beside")
        self.await_true(lambda: len(self.noted("beside")) > 5, self.keeper_log)
        ended = self.launch(["python3", "-c", "x = bytearray(600 << 20)"])
        self.assertEqual(ended["state"], "failed", ended)
        attempt = ended["tasks"][0]["attempts"][0]
        self.assertEqual((attempt["signal"], attempt["out_of_memory"]), (9, True), attempt)
        self.assertIn("memory was short", attempt["reason"])
        self.reports_go_on("beside")
        self.ends_whole("beside", trial)


class SlurmHungTest(faults_case.FaultsCase):
    """The file system hangs that all hosts share, from which the nodes' programs were started."""

    @classmethod
    def setUpClass(cls):
        if not hung_files.may_mount():
            raise unittest.SkipTest("only root may mount a file system, and only with /dev/fuse")
        hung_files.leave_the_mounts_of_others()
        super().setUpClass()

    @classmethod
    def before_up(cls):
        shared = pathlib.Path(cls.directory, "shared")
        shared.mkdir()
        cls.files = hung_files.HungFiles(shared)
        cls.addClassCleanup(cls.files.unmount)
        super().before_up()

    def launch(self, script):
        return self.call("Launch", spec={"argv": ["sh", "-c", script], "working_directory": "/", "environment": ["PATH=/usr/bin:/bin"],
                                         "pool": "lab"})["job"]["id"]

    def servers_of_shims(self, host):
        found = []
        for pid in self.farm.pids_on(host):
            try:
                if pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().startswith(b"yard-shim\0--serve"):
                    found.append(pid)
            except OSError:
                continue
        self.assertTrue(found)
        return found

    def forget_pages(self):
        """No page of the nodes' programs is in memory, but for those that a process has read."""
        for path in self.shared.glob("b-*/**/*"):
            if path.is_file():
                with open(path, "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    @farm_case.needs_namespaces("reports, output, stops and starts go on while the shared file system hangs for a minute")
    def test_reports_output_stops_and_starts_go_on(self):
        self.make_pool("lab", nodes=1, slots=6)
        self.await_nodes(count=1)
        trial = self.run_trial("on")
        self.await_true(lambda: len(self.noted("on")) > 5, self.keeper_log)
        ticks = self.launch("while :; do echo tick; sleep 0.1; done")
        self.await_true(lambda: "tick" in self.output(ticks), "it does not start")
        self.forget_pages()
        self.files.hang()
        self.addCleanup(self.files.go_on)
        # The next shim needs a new server of shims, which is a program, too.
        self.kill_all(self.servers_of_shims(self.host_of("on")))
        begin = time.monotonic()
        self.reports_go_on("on", 100)
        said = self.output(ticks).count("tick")
        self.await_true(lambda: self.output(ticks).count("tick") > said + 5, "the output has stopped")
        for code in (3, 4, 5):
            started = self.launch("echo new; exit %d" % code)
            ended = self.await_state(started, "failed", "lost", "done")
            self.assertEqual(ended["tasks"][0]["attempts"][0]["exit_code"], code, ended)
            self.assertIn("new", self.output(started))
        self.yard("stop", ticks)
        self.await_state(ticks, "failed", "done")
        self.passes(60 - (time.monotonic() - begin))
        self.reports_go_on("on")
        self.files.go_on()
        self.ends_whole("on", trial)


class TrackedCase(faults_case.FaultsCase):
    """`yard stop`, scancel, and a stub that is killed, in one of Slurm's ways to keep track of processes."""

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

    @farm_case.needs_namespaces("a stub that is killed takes its attempts with it")
    def test_a_stub_that_is_killed_leaves_no_process(self):
        self.make_pool("lab", nodes=1)
        job = json.loads(self.yard("launch", "--at", "lab", "--detach", "--json", "--", "sh", "-c", "setsid sleep 1000 & sleep 1000")[0])["id"]
        self.await_true(lambda: len(self.left()) >= 3, self.left)
        for host in self.farm.each():
            self.kill_all(set(self.node_processes(host, b"--slurm")) - set(self.node_processes(host, b"--worker=")))
        ended = self.await_state(job, "failed", "lost")
        self.assertIn("lost", json.dumps(ended["tasks"][0]["attempts"][0]), ended)
        self.await_true(lambda: not self.left(), self.left)


class SlurmCgroupTest(TrackedCase):
    farm_options = {**faults_case.FaultsCase.farm_options, "proctrack": "cgroup"}


class SlurmPgidTest(TrackedCase):
    farm_options = {**faults_case.FaultsCase.farm_options, "proctrack": "pgid"}


if __name__ == "__main__":
    xml_runner.main()
