"""Pools whose nodes come from a real Slurm: what their jobs find there, how they end, and what is left."""

import base64
import json
import pathlib
import re
import time

from bazel.python import xml_runner
from tests.slurm import farm_case, slurm_case, submit_case

RANKS = farm_case.PROGRAMS + "/ranks.py"
ROOM = slurm_case.ROOM


class SlurmPoolTest(slurm_case.SlurmCase):
    """One allocation of three nodes for all tests."""

    # (A busy machine may notice late that a cable is mended.)
    farm_options = {"nodes": 3, "memory": 4000, "lines": ["SlurmdTimeout=120", ROOM]}

    def setUp(self):
        super().setUp()
        if not any(node["pool"] == "lab" for node in self.call("Nodes").get("nodes", [])):
            # As if typed inside a job of the cluster.
            self.environment.update({"SLURM_NTASKS": "7", "SLURM_JOB_ID": "1", "SBATCH_PARTITION": "low", "SLURM_NNODES": "1"})
            self.make_pool("lab", "--gpus", "2", "--time", "1h")
            for name in ("SLURM_NTASKS", "SLURM_JOB_ID", "SBATCH_PARTITION", "SLURM_NNODES"):
                del self.environment[name]
        self.await_nodes()

    def stop_nodes(self):
        """The pool stays for the next test."""
        self.await_true(lambda: not self.left(), self.left)

    @classmethod
    def tearDownClass(cls):
        assert not (cls.calls / "sacct").exists(), "sacct was called"

    def allocation(self):
        """The one job of the pool in Slurm's queue."""
        [name] = [name for name in self.queue() if name.startswith("y-lab-")]
        return name, self.queue()[name][2]

    def launch(self, *words):
        job = json.loads(self.yard("launch", "--at", "lab", "--detach", "--json", *words)[0])["id"]
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        """A test that fails leaves the slots to the next one."""
        self.start_yard("call", "launcher", "StopJob", json.dumps({"job": job, "grace_ms": 100})).communicate()
        self.await_state(job, "done", "failed", "lost")

    @farm_case.needs_namespaces("three nodes x 2 ranks meet, with each node's own address in TF_CONFIG and GPUs of its own for each rank")
    def test_six_ranks_on_three_nodes_meet(self):
        out, err = self.yard("launch", "--at", "lab", "--worker", "6", "--gang", "--resources", "gpu=1", "--", "python3", RANKS)
        rows = self.rank_lines(out)
        self.assertEqual(sorted(rows), list(range(6)), out + err)
        job = json.loads(self.yard("ps", "--json", "--all")[0].splitlines()[-1])["id"]
        node_of = {int(task.rpartition("-")[2]): node for task, node in self.tasks(job).items()}
        self.assertEqual(sorted(node_of.values()), sorted(2 * ["lab-1-0", "lab-1-1", "lab-1-2"]))
        for row in rows.values():
            same = [rank for rank in rows if node_of[rank] == node_of[row["rank"]]]
            self.assertEqual(len({rows[rank]["CUDA_VISIBLE_DEVICES"] for rank in same}), 2, rows)
            self.assertEqual((row["size"], row["LOCAL_WORLD_SIZE"]), (6, "2"))
            self.assertEqual([rank for rank, _ in row["met"]], [1, 2, 3, 4, 5])
            cluster = json.loads(row["TF_CONFIG"])["cluster"]["worker"]
            addresses = [self.farm.address(int(rows[rank]["host"].removeprefix("node"))) for rank in range(6)]
            self.assertEqual([address for _, address in row["met"]], addresses[1:])
            self.assertIn(row["MASTER_ADDR"], (addresses[0], rows[0]["host"]))
            self.assertEqual([address.rpartition(":")[0] for address in cluster], [rows[rank]["host"] for rank in range(6)])

    def test_nothing_of_the_submitting_shell_reaches_the_allocation(self):
        name, number = self.allocation()
        self.assertEqual(self.slurm("squeue", "-h", "-j", number, "-o", "%P %D %C").split()[:2], ["main", "3"])
        job = self.launch("--", "env")
        self.await_state(job, "done")
        seen = self.output(job)
        self.assertNotIn("SBATCH_", seen)
        self.assertNotIn("YARD_NODE_KEY", seen)
        self.assertNotIn("SLURM_NTASKS=7", seen)
        self.assertRegex(name, r"^y-lab-1-[0-9a-f]{8}$")

    def test_a_key_is_in_no_argument_name_comment_or_script(self):
        _, number = self.allocation()
        secrets = []
        for path in pathlib.Path(self.directory, "state/slurm/lab.keys").iterdir():
            text = path.read_bytes()
            secrets += [base64.b64encode(text).decode()[:60], *re.findall(r'[^"]{40,}', text.decode())]
        self.assertGreater(len(secrets), 5)
        told = self.slurm("scontrol", "-d", "show", "job", number) + self.slurm("scontrol", "write", "batch_script", number, "-")
        self.assertIn("yard-node", told)
        self.assertIn("Comment=yard", told)
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                told += path.read_bytes().decode(errors="replace")
            except OSError:
                continue
        public = self.yard("gate", "list", "--json")[0] + pathlib.Path(self.directory, "state/gate/server.key").read_text()
        for secret in secrets:
            if secret not in public:
                self.assertNotIn(secret, told)

    def test_ends_are_told_as_they_are_here(self):
        nothing = pathlib.Path(self.directory, "not-executable")
        nothing.write_text("#!/bin/sh\n")
        for argv in (["sh", "-c", "exit 5"], ["sh", "-c", "kill -9 $$"], ["no-such-program"], [str(nothing)], ["true"]):
            ends = []
            for pool in ("", "lab"):
                spec = {"argv": argv, "working_directory": self.directory, "environment": ["PATH=/usr/bin:/bin"], "pool": pool}
                job = self.await_state(self.call("Launch", spec=spec)["job"]["id"], "done", "failed", "lost")
                attempt = job["tasks"][0]["attempts"][0]
                ends.append((job["state"], job["reason"], *(attempt[key] for key in ("exit_code", "signal", "reason", "error_number"))))
            self.assertEqual(ends[0], ends[1], argv)

    def test_the_first_rank_that_fails_is_named(self):
        out = self.finish(self.start_yard("launch", "--at", "lab", "--worker", "6", "--gang", "--", "sh", "-c",
                                          "test $RANK = 3 && exit 5; exec sleep 1000"), 5)
        self.assertIn("worker-3", out[1])
        self.assertIn("exit code 5", out[1])

    @farm_case.needs_namespaces("after yard stop no process is left on any node")
    def test_a_stop_leaves_no_process_on_any_node(self):
        job = self.launch("--worker", "6", "--gang", "--", "sh", "-c", "trap '' TERM; setsid sleep 1000 & sleep 1000 & wait")
        self.await_true(lambda: len(self.left()) >= 18, self.left)
        self.call("StopJob", job=job, grace_ms=200)
        self.await_state(job, "failed", "done")
        self.assertEqual(self.left(), [])

    @farm_case.needs_namespaces("a cable that is cut for 8 s costs no report and doubles none")
    def test_a_cable_that_is_cut_for_eight_seconds_costs_nothing(self):
        trial = self.run_trial("cut")
        self.await_true(lambda: len(self.noted("cut")) > 20, self.keeper_log)
        host = int(self.show_host("cut").removeprefix("node"))
        self.farm.cut_node(host)
        begin = time.monotonic()
        self.await_true(lambda: time.monotonic() - begin > 8, "time stands still")
        during = len(self.kept("cut"))
        self.farm.mend_node(host)
        self.await_true(lambda: len(self.noted("cut")) > during + 20, self.keeper_log)
        pathlib.Path(self.directory, "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.assertEqual(self.noted("cut"), self.kept("cut"))
        self.assertEqual(self.kept("cut"), list(range(1, len(self.kept("cut")) + 1)))

    def show_host(self, trial):
        """The host of the cluster where a trial runs."""
        trial = json.loads(self.yard("call", "trainer", "Trials", json.dumps({"trial": trial}))[0])["trials"][0]
        node = self.job(trial["job"])["tasks"][0]["node"]
        return next(one["host"] for one in self.call("Nodes")["nodes"] if one["name"] == node)

    def test_one_squeue_is_asked_every_ten_seconds_at_most(self):
        times = [float(line.split()[0]) for line in self.calls_of("squeue") if " -n " not in line and " -j " not in line]
        self.assertTrue(times)
        gaps = [after - before for before, after in zip(times, times[1:])]
        self.assertTrue(all(gap > 5 for gap in gaps[3:]), gaps)


class SlurmLifeTest(slurm_case.SlurmCase):
    """Allocations come, are refused, wait, and end in ways that Slurm has, each test with its own."""

    farm_options = {"nodes": 3, "memory": 4000, "lines": ["MinJobAge=2", "KillWait=6", ROOM]}

    def test_an_exit_code_is_told_though_slurm_has_forgotten_the_job(self):
        _, err = self.finish(self.start_yard("run", "--engine", "slurm", "--slurm", "gate=" + self.gate, "--slurm",
                                             "directory=%s" % self.shared, "--", "sh", "-c", "exit 7"), 1)
        self.assertIn("FAILED: exit code 7", err)
        self.await_true(lambda: not list(pathlib.Path(self.directory, "state/slurm").glob("*.json")), "its pool stays")
        self.assertEqual(self.calls_of("sacct"), [])

    def test_a_refusal_is_printed_in_the_words_of_sbatch_and_tried_once(self):
        before = len(self.calls_of("sbatch"))
        _, err = self.make_pool("bad", "--partition", "nowhere", exit_code=6)
        self.assertIn("invalid partition specified: nowhere", err)
        self.assertEqual(len(self.calls_of("sbatch")), before + 1)

    @farm_case.needs_namespaces("the shims of a node whose worker was killed are adopted")
    def test_a_worker_that_is_killed_costs_nothing_and_a_stub_its_attempts(self):
        self.make_pool("lab", nodes=1)
        trial = self.run_trial("kept")
        self.await_true(lambda: len(self.noted("kept")) > 5, self.keeper_log)
        host = next(host for host in self.farm.each() if self.node_processes(host, b"--worker="))
        self.kill_all(self.node_processes(host, b"--worker="))
        before = len(self.noted("kept"))
        self.await_true(lambda: len(self.noted("kept")) > before + 20, self.keeper_log)
        [program] = [pid for pid in self.left() if b"reports.py" in pathlib.Path("/proc/%d/cmdline" % pid).read_bytes()]
        self.kill_all(set(self.node_processes(host, b"--slurm")) - set(self.node_processes(host, b"--worker=")))
        self.await_true(lambda: not pathlib.Path("/proc/%d" % program).exists(), "the program goes on without its node")
        self.assertEqual(self.await_end(trial), "failed")
        # (It may have been killed between an answer and its note of it.)
        self.assertEqual(self.noted("kept"), self.kept("kept")[:len(self.noted("kept"))])
        self.assertLessEqual(len(self.kept("kept")) - len(self.noted("kept")), 1)

    def test_why_it_waits_is_said_and_that_it_waits_for_ever(self):
        self.slurm("sbatch", "-J", "other", "-D", "/", "-o", "/dev/null", "-N", "3", "--exclusive", "--wrap", "sleep 1000")
        self.addCleanup(self.slurm, "scancel", "-n", "other")
        self.make_pool("wait", nodes=2)
        self.make_pool("never", "--partition", "short", "--time", "9h", nodes=1)
        for pool, words in (("wait", "(?:Resources|Priority)"), ("never", "PartitionTimeLimit, which does not end by itself")):
            job, _ = self.start_once(pool)
            self.await_true(lambda job=job, words=words: re.search(words, self.job(job)["reason"]),
                            lambda job=job: (self.job(job), self.keeper_log()))
            self.assertRegex(self.yard("ps")[0], "Slurm job [0-9]+ waits: " + words.partition(",")[0])
            self.call("StopJob", job=job)

    def test_a_scancel_by_hand_warns_the_program_which_saves_and_goes_on_in_the_next_allocation(self):
        self.make_pool("lab", nodes=1)
        process = self.start_yard("run", "--at", "lab", "--name", "warned", "--max_restarts", "1", "--", "python3",
                                  farm_case.PROGRAMS + "/warned.py", str(self.shared))
        self.await_true(lambda: (self.shared / "steps-1").exists(), self.keeper_log)
        [number] = [row[2] for name, row in self.queue().items() if name.startswith("y-lab-1-")]
        self.slurm("scancel", number)
        self.await_true(lambda: (self.shared / "steps-2").exists(), lambda: (self.trial_of("warned"), self.keeper_log()))
        said = json.loads((self.shared / "stopped-1").read_text())
        self.assertTrue(said["term"], said)
        self.assertEqual(said["stop"], "stop")
        self.assertLessEqual(said["grace"], 4)
        self.assertEqual((self.shared / "steps-2").read_text().split()[0], str(said["step"] + 1))
        (self.shared / "enough").touch()
        self.finish(process)


class SlurmSubmitTest(submit_case.SubmitCase):
    def test_sbatch_is_killed_after_a_few_milliseconds(self):
        self.once('timeout -s KILL 0.008 /usr/bin/sbatch "$@"; exit 137')
        self.starts_once()
        self.assertTrue(self.killed.exists())

    def test_the_keeper_is_killed_before_sbatch(self):
        self.once("kill -9 $PPID; exit 1")
        self.starts_once()
        self.assertTrue(self.killed.exists())

    def test_the_keeper_is_killed_when_sbatch_has_the_id(self):
        self.once('/usr/bin/sbatch "$@" > /dev/null; kill -9 $PPID; exit 1')
        self.starts_once()
        self.assertTrue(self.killed.exists())

    def test_sbatch_says_that_it_has_failed_though_the_job_is_there(self):
        self.once('/usr/bin/sbatch "$@" > /dev/null; echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv '
                  'operation" >&3; exit 1')
        self.wrap("sbatch", (self.commands / "sbatch").read_text().splitlines()[2].replace("if mkdir", "exec 3>&2; if mkdir"))
        self.starts_once()
        self.assertTrue(self.killed.exists())

    def test_the_launcher_is_killed_while_slurm_is_asked(self):
        def kill():
            self.await_true(lambda: self.calls_of("sbatch"), "sbatch is not called")
            self.kill_service("launcher")
            self.yard("up", *self.up_words)
        self.starts_once(kill)


if __name__ == "__main__":
    xml_runner.main()
