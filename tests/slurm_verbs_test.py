"""Pools of Slurm and --engine slurm as a person types them, with sbatch, squeue and scancel that are scripts: the cluster
is not there, all of the yard is."""

import fcntl
import json
import pathlib
import shutil
import signal

from bazel.python import xml_runner
from tests import yard_case

REFUSAL = ("sbatch: error: invalid partition specified: nowhere\n"
           "sbatch: error: Batch job submission failed: Invalid partition name specified\n")
COMMANDS = ("sbatch", "squeue", "scancel", "scontrol", "srun")


class SlurmVerbsTest(yard_case.YardCase):
    @classmethod
    def setUpClass(cls):
        cls.up_words = ("--gate_address", "0.0.0.0", "--gate_port", str(yard_case.free_port()))
        super().setUpClass()
        cls.slurm = pathlib.Path(cls.directory, "slurm")
        cls.slurm.mkdir()
        for name in COMMANDS:
            shutil.copy("tests/fake_slurm.py", cls.slurm / name)
            (cls.slurm / name).chmod(0o755)
        cls.environment["PATH"] = "%s:%s" % (cls.slurm, cls.environment["PATH"])

    def setUp(self):
        self.addCleanup(self.remove_pools)
        for name in ("run", "refuse"):
            (self.slurm / name).unlink(missing_ok=True)

    def remove_pools(self):
        for pool in self.pools():
            # (A pool that was made for one job may go by itself meanwhile.)
            self.start_yard("pool", "rm", pool, "--force").communicate(timeout=yard_case.LONG)
        self.assertEqual(self.pools(), {})

    def jobs(self):
        """All jobs that Slurm has got, by their names."""
        jobs = [json.loads(path.read_text()) for path in (self.slurm / "jobs").glob("*.json")]
        return {job["name"]: job for job in jobs}

    def job_of(self, pool):
        """The newest job for a pool."""
        jobs = [job for name, job in self.jobs().items() if name.startswith("y-%s-" % pool)]
        return max(jobs, key=lambda job: int(job["id"]), default=None)

    def pools(self):
        """All pools of Slurm, by their names, as JSON."""
        lines = [json.loads(line) for line in self.yard("pool", "--json")[0].splitlines()]
        return {line["name"]: line for line in lines if line["kind"] == "pool"}

    def fails(self, exit_code, *words):
        return self.finish(self.start_yard(*words), exit_code)[1]

    def test_a_pool_is_made_shown_changed_and_removed(self):
        out, _ = self.yard("pool", "lab", "--engine", "slurm", "--nodes", "2", "--time", "8h", "--partition", "gpu",
                           "--memory", "4GiB", "--sbatch", "--mail-type=END")
        job = self.job_of("lab")
        self.assertIn("pool lab: Slurm job %s waits" % job["id"], out)
        self.await_true(lambda: self.pools()["lab"]["reason"] == "Priority", "Slurm has not said why it waits")
        for words in (["-p", "gpu"], ["-t", "480"], ["-N", "2"]):
            at = job["words"].index(words[0])
            self.assertEqual(job["words"][at:at + 2], words)
        self.assertIn("--mem=4096M", job["words"])
        self.assertIn("--mail-type=END", job["words"])
        table, _ = self.yard("pool", "lab")
        self.assertRegex(table, r"lab +slurm +%s +waiting +Priority +2" % job["id"])
        shown = self.pools()["lab"]
        self.assertEqual((shown["slurm_id"], shown["state"], shown["reason"], shown["nodes"], shown["once"]),
                         (job["id"], "PENDING", "Priority", 2, False))
        # (A job that waits is asked for anew.)
        self.yard("pool", "lab", "--engine", "slurm", "--nodes", "3")
        again = self.job_of("lab")
        self.assertNotEqual(again["name"], job["name"])
        self.assertEqual(again["nodes"], 3)
        self.assertEqual(self.jobs()[job["name"]]["state"], "CANCELLED")
        self.assertIn("pool lab is removed", self.yard("pool", "rm", "lab")[0])
        self.assertEqual(self.job_of("lab")["state"], "CANCELLED")
        self.assertNotIn("lab", self.pools())
        self.assertNotIn("lab", self.yard("gate", "list")[0])
        self.assertIn("no pool lab", self.fails(3, "pool", "lab"))

    def test_a_refusal_prints_the_words_of_sbatch_and_leaves_nothing(self):
        (self.slurm / "refuse").write_text(REFUSAL)
        said = self.fails(6, "pool", "bad", "--engine", "slurm", "--partition", "nowhere")
        self.assertIn("Invalid partition name specified", said)
        self.assertNotIn("bad", self.pools())
        self.assertNotIn("bad-", self.yard("pool", "--json")[0])
        said = self.fails(6, "run", "--engine", "slurm", "--partition", "nowhere", "--name", "no", "--", "true")
        self.assertIn("Invalid partition name specified", said)
        self.assertEqual(self.pools(), {})
        self.assertNotIn('"no"', self.yard("ps", "--all", "--json")[0])
        self.assertIsNone(self.job_of("bad"))

    def test_a_run_waits_with_a_pool_of_its_own_and_its_end_removes_it(self):
        run = self.start_yard("run", "--engine", "slurm", "--name", "waits", "--time", "1h", "--", "sleep", "100")
        self.await_true(lambda: "waits" in self.yard("ps")[0], "the run is not there")
        [(pool, shown)] = self.pools().items()
        self.assertTrue(shown["once"] and pool.startswith("slurm-"))
        self.await_true(lambda: "Priority" in self.yard("ps")[0], lambda: self.yard("ps")[0])
        run.send_signal(signal.SIGINT)
        _, err = self.finish(run, 130)
        self.assertIn("Slurm job %s: 1 node" % self.job_of(pool)["id"], err)
        self.await_true(lambda: not self.pools(), "the pool stays")
        self.assertEqual(self.job_of(pool)["state"], "CANCELLED")
        # The job that keeps the pools ends with the last one, and is no news.
        self.await_true(lambda: "slurm" not in self.names_in_ps(), self.names_in_ps)
        self.assertIn("slurm", self.names_in_ps("--all"))

    def names_in_ps(self, *words):
        return {json.loads(line).get("name") for line in self.yard("ps", "--json", *words)[0].splitlines()}

    def test_the_pool_of_a_sweep_notes_which_one_it_is(self):
        pathlib.Path(self.directory, "rests.yaml").write_text(
            "program: train.py\nmethod: random\nmetric: {name: loss, goal: minimize}\nrun_cap: 3\nparameters: {x: {values: [1, 2, 3]}}\n")
        pathlib.Path(self.directory, "train.py").touch()
        sweep = json.loads(self.yard("sweep", "rests.yaml", "--engine", "slurm", "--detach", "--json")[0])["id"]
        [pool] = self.pools()
        kept = json.loads(pathlib.Path(self.directory, "state/slurm/%s.json" % pool).read_text())
        self.assertEqual((kept["once"], kept["sweep"]), (True, sweep))
        self.yard("stop", sweep)

    def test_tasks_run_on_the_hosts_of_the_allocation(self):
        (self.slurm / "run").touch()
        out, err = self.yard("launch", "--engine", "slurm", "--slurm", "slots=1", "--worker", "2", "--name", "two", "--",
                             "/bin/sh", "-c", "echo rank $RANK")
        said = sorted(line.partition(" ")[2].strip() for line in out.splitlines())
        self.assertEqual(said, ["rank 0", "rank 1"], out + err)
        tasks = json.loads(self.yard("show", "two", "--json")[0])["tasks"]
        self.assertEqual({task["host"] for task in tasks}, {"fake0", "fake1"})
        self.assertRegex(self.yard("ps", "--all")[0], "two .* fake0 and 1 more")

    def test_what_excludes_each_other_is_named(self):
        for words in (("run", "--engine", "slurm", "--at", "lab", "--", "true"),
                      ("launch", "--engine", "slurm", "--at", "lab", "--", "true"),
                      ("run", "--engine", "local", "--at", "lab", "--", "true")):
            said = self.fails(2, *words)
            self.assertRegex(said, "--engine (slurm|local)")
            self.assertIn("--at lab", said)
        self.assertIn("--at NAME", self.fails(2, "run", "--engine", "pool", "--", "true"))
        self.assertIn("partition", self.fails(2, "run", "--partition", "gpu", "--", "true"))
        self.assertIn("expected local, pool or slurm", self.fails(2, "run", "--engine", "slrum", "--", "true"))
        self.assertIn("with --engine slurm tasks can ask for gpu and slots",
                      self.fails(2, "launch", "--engine", "slurm", "--resources", "lamp=1", "--", "true"))
        self.assertIn("of a pool of Slurm", self.fails(2, "pool", "lab", "--nodes", "2"))
        self.assertEqual(self.pools(), {})

    def test_a_job_file_and_a_configuration_say_the_same(self):
        folder = pathlib.Path(self.directory, "files")
        folder.mkdir()
        job = folder / "job.yaml"
        job.write_text("name: filed\ncommand: [sleep, '100']\nengine: slurm\nslurm: {nodes: 2, exclude: [n1, n2]}\n")
        configuration = pathlib.Path(self.directory, ".config/trainyard/yard.yaml")
        configuration.parent.mkdir(parents=True)
        configuration.write_text("slurm: {account: a1, nodes: 5}\n")
        self.addCleanup(configuration.unlink)
        self.yard("launch", "--detach", str(job))
        [pool] = self.pools()
        words = self.job_of(pool)["words"]
        for flag, value in (("-A", "a1"), ("-N", "2"), ("-x", "n1,n2")):
            self.assertEqual(words[words.index(flag) + 1], value)
        self.yard("stop", "filed")
        job.write_text("name: filed\ncommand: [sleep, '100']\nengine: slurm\nslurm: {partitoin: gpu}\n")
        self.assertRegex(self.fails(2, "launch", str(job)), r"job\.yaml:4:9: slurm: partitoin.*did you mean partition\?")
        job.write_text("name: filed\ncommand: [sleep, '100']\nengine: slurm\n")
        self.assertIn("yard pool NAME --engine slurm", self.fails(2, "apply", str(job)))

    def test_an_interrupt_before_the_answer_leaves_nothing(self):
        with open(self.slurm / "lock", "w") as lock:
            # sbatch does not answer.
            fcntl.flock(lock, fcntl.LOCK_EX)
            run = self.start_yard("run", "--engine", "slurm", "--name", "gone", "--", "true")
            self.await_true(self.pools, "the pool is not there")
            run.send_signal(signal.SIGINT)
        self.finish(run, 130)
        self.assertEqual(self.pools(), {})
        self.assertNotIn('"gone"', self.yard("ps", "--all", "--json")[0])
        self.assertEqual({job["state"] for job in self.jobs().values()} - {"CANCELLED"}, set())

    def test_no_secret_is_in_the_words_of_sbatch(self):
        self.yard("pool", "quiet", "--engine", "slurm")
        job = self.job_of("quiet")
        keys = [name for name in job["environment"] if name.startswith("YARD_NODE_KEY_")]
        self.assertEqual(len(keys), 1)
        secret = job["environment"][keys[0]]
        self.assertNotIn(secret, " ".join(job["words"]))
        self.assertFalse([name for name in job["environment"] if name.startswith(("SLURM_", "SBATCH_"))
                          and name not in ("SLURM_TIME_FORMAT",)])


class ThisHostAloneTest(yard_case.YardCase):
    def test_a_gate_that_no_other_host_reaches_is_said(self):
        slurm = pathlib.Path(self.directory, "slurm")
        slurm.mkdir()
        (slurm / "sbatch").symlink_to("/bin/true")
        process = self.start("env", "PATH=%s:/usr/bin:/bin" % slurm, self.yard_program, "pool", "lab", "--engine", "slurm")
        self.assertIn("yard up --gate_address 0.0.0.0", self.finish(process, 6)[1])
        process = self.start("env", "PATH=/nowhere", self.yard_program, "pool", "lab", "--engine", "slurm")
        self.assertIn("there is no sbatch", self.finish(process, 6)[1])
        self.assertEqual(self.yard("pool", "--json")[0], "")


if __name__ == "__main__":
    xml_runner.main()
