"""The test case of submissions: whatever is killed around one, the job of the yard starts once, and no second allocation stays."""

from tests.slurm import slurm_case


class SubmitCase(slurm_case.SlurmCase):
    farm_options = {"nodes": 3, "memory": 4000, "lines": ["MessageTimeout=2", slurm_case.ROOM]}

    def setUp(self):
        super().setUp()
        self.pool = "p%d" % len(self.calls_of("sbatch"))
        self.killed = self.calls / ("killed-" + self.pool)
        self.addCleanup(self.wrap, "sbatch")

    def once(self, line):
        """The next call of sbatch runs this line of shell, in the place of sbatch or before it."""
        self.wrap("sbatch", "if mkdir %s; then %s; fi 2> /dev/null" % (self.killed, line))

    def starts_once(self, after=lambda: None):
        self.make_pool(self.pool, nodes=1)
        job, notes = self.start_once(self.pool)
        after()
        self.ends_after_one_start(self.pool, job, notes)
        return job

    def ends_after_one_start(self, pool, job, notes):
        self.await_true(notes.exists, lambda: (self.job(job), self.keeper_log(), self.queue()))
        self.assertLessEqual(len([name for name in self.queue() if name.startswith("y-" + pool + "-")]), 1, self.queue())
        (self.shared / "go").touch()
        self.addCleanup((self.shared / "go").unlink, missing_ok=True)
        self.await_state(job, "done")
        self.assertEqual(notes.read_text(), "start\n")
