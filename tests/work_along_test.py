"""Files that come along to another host: `--at POOL`, `--sync DIR`."""

import json
import os
import signal
import subprocess

from bazel.python import xml_runner
from tests import far_node_case
from tests import yard_case

OLD = 1_000_000_000  # Seconds since 1970.
GO = """#!/bin/sh
pwd; cat ../library.py; cat "$YARD_CONFIG"; echo; echo "$YARD_LOGDIR" >&2
echo x >> "$RAN"
echo '{"t":"report","m":{"loss":1.5}}' >&3; read -r ok <&3
"""


class WorkAlongTest(far_node_case.FarNodeCase):
    def setUp(self):
        super().setUp()
        self.code = self.here / ("code-" + self.name)
        self.ran = self.here / ("ran-" + self.name)

    def make_code(self, repository=True):
        (self.code / "sub").mkdir(parents=True)
        (self.code / "sub" / "go.sh").write_text(GO)
        (self.code / "sub" / "go.sh").chmod(0o755)
        (self.code / "library.py").write_text("committed\n")
        (self.code / ".gitignore").write_text("*.big\n")
        (self.code / "data.big").write_text("ignored\n")
        if repository:
            for words in (("init", "-q"), ("add", "-A"),
                          ("-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-q", "-m", "first")):
                subprocess.run(["git", *words], cwd=self.code, env=self.environment, check=True)

    def start_in(self, directory, *words):
        return self.start("env", "RAN=%s" % self.ran, "sh", "-c", 'cd "$0" && exec "$@"', str(directory),
                          self.yard_program, *words)

    def run_in(self, directory, *words, exit_code=0):
        return self.finish(self.start_in(directory, *words), exit_code)

    def expect_clean(self):
        """No marks are left, and nothing of the attempts on the node."""
        for directory in (self.code, self.code / "sub", self.here / "runs", self.here / "runs" / self.name):
            if directory.exists():
                self.assertEqual([path.name for path in directory.glob(".yard-*")], [], directory)
        attempts = self.folder / "attempts"
        self.await_true(lambda: not list(attempts.iterdir()), lambda: list(attempts.iterdir()))

    def test_changes_come_along_where_the_node_sees_nothing(self):
        self.make_code()
        (self.code / "library.py").write_text("changed\n")
        (self.here / "runs").mkdir(exist_ok=True)
        self.start_node(hides=(self.code, self.here / "runs"))
        out, err = self.run_in(self.code / "sub", "run", "--at", self.name, "--name", self.name, "--config", '{"lr": 2}',
                               "--", "./go.sh")
        attempt = r"%s/attempts/[a-z0-9.-]+" % self.folder
        self.assertRegex(out, r"(?m)^%s/work/sub$" % attempt)
        self.assertIn("changed\n", out)
        self.assertRegex(out, r'"lr": ?2')
        self.assertRegex(out + err, r"(?m)%s/run$" % attempt)
        trial = self.trial(self.name)
        self.assertEqual((trial["pool"], trial["state"], trial["reports"]), (self.name, "done", 1))
        self.assertEqual(self.ran.read_text(), "x\n")
        self.expect_clean()
        # The same files again are not sent again.
        archives = list((self.folder / "work").iterdir())
        self.assertEqual(len(archives), 1)
        self.run_in(self.code / "sub", "run", "--at", self.name, "--name", self.name, "--again", "--", "./go.sh")
        self.assertEqual(list((self.folder / "work").iterdir()), archives)
        self.assertEqual(len(list((self.here / "state" / "work").glob(archives[0].name))), 1)

    def test_what_both_see_is_used_as_it_is(self):
        self.make_code()
        self.start_node()
        out, err = self.run_in(self.code / "sub", "run", "--at", self.name, "--name", self.name, "--", "./go.sh")
        self.assertRegex(out, r"(?m)^%s/sub$" % self.code)
        self.assertRegex(out + err, r"(?m)%s/runs/%s$" % (self.here, self.name))
        self.assertFalse((self.folder / "work").exists())
        self.expect_clean()

    def test_without_files_the_trial_fails_and_says_what_to_do(self):
        self.make_code(repository=False)
        self.start_node(hides=(self.code,))
        _, err = self.run_in(self.code / "sub", "run", "--at", self.name, "--name", self.name, "--", "./go.sh", exit_code=1)
        self.assertIn("directory %s/sub is not there on node %s" % (self.code, self.name), err)
        self.assertIn("--sync DIR", err)
        out, _ = self.run_in(self.code / "sub", "run", "--at", self.name, "--name", self.name, "--again", "--sync", "..",
                             "--", "./go.sh")
        self.assertRegex(out, r"/work/sub\n")
        self.expect_clean()

    def test_a_launcher_that_is_killed_meanwhile_starts_it_once(self):
        self.make_code()
        process = self.start_in(self.code / "sub", "run", "--at", self.name, "--name", self.name, "--", "./go.sh")
        self.await_true(lambda: '"name":"%s"' % self.name in self.yard("ps", "--json")[0], "no trial is there")
        self.kill_service("launcher")
        self.start_node(hides=(self.code, self.here / "runs"))
        out, _ = self.finish(process)
        self.assertIn("/work/sub\n", out)
        self.assertEqual(self.ran.read_text(), "x\n")
        self.expect_clean()

    def await_next_launcher(self):
        """Kills the launcher, and waits until the next one has removed what is old."""
        planted = self.here / "state" / "work" / ("0" * 64)
        planted.touch()
        os.utime(planted, (OLD, OLD))
        self.kill_service("launcher")
        self.yard("ps")
        self.await_true(lambda: not planted.exists(), "an old archive of no job is still there")

    def test_an_archive_stays_as_long_as_its_job(self):
        self.make_code()
        (self.code / "library.py").write_text("of this test alone\n")
        self.start_node()
        before = set((self.here / "state" / "work").glob("*"))
        job = self.run_in(self.code, "launch", "--at", self.name, "--detach", "--", "sh", "-c",
                          "while [ ! -e '%s' ]; do sleep 0.05; done" % self.ran)[0].strip()
        archive, = set((self.here / "state" / "work").glob("*")) - before
        self.await_true(lambda: '"state":"running"' in self.yard("ps", job, "--json")[0], lambda: self.yard("ps", job))
        # (A launcher that the node speaks to uses the archive again.)
        worker = int((self.folder / "worker.lock").read_text())
        yard_case.stop_process(worker)
        os.utime(archive, (OLD, OLD))
        self.await_next_launcher()
        self.assertTrue(archive.exists())
        os.kill(worker, signal.SIGCONT)
        self.ran.touch()
        self.yard("wait", job)
        os.utime(archive, (OLD, OLD))
        self.await_next_launcher()
        self.await_true(lambda: not archive.exists(), "the archive of a job that has ended is still there")

    def test_the_host_is_in_every_view(self):
        self.make_code()
        self.start_node(hides=(self.code,))
        job = self.run_in(self.code, "launch", "--at", self.name, "--name", self.name, "--worker", "2", "--detach",
                          "--", "sh", "-c", "pwd; cat library.py; while [ ! -e '%s' ]; do sleep 0.05; done" % self.ran)[0].strip()

        def runs():
            tasks = [json.loads(line) for line in self.yard("ps", job, "--json")[0].splitlines()]
            return [task["node"] for task in tasks if task["state"] == "running"] == [self.name] * 2

        self.await_true(runs, lambda: self.yard("ps", job))
        self.assertRegex(self.yard("ps", job)[0], r" HOST +ADDRESS")
        self.assertRegex(self.yard("ps")[0], r"(?m)^ID .* HOST .*\n(.*\n)*%s .* %s( |$)" % (job, self.name))
        self.assertRegex(self.yard("show", job)[0], r"host +a node of pool %s\n" % self.name)
        self.assertRegex(self.yard("show", job)[0], r"task .*worker-0 .*on %s" % self.name)
        self.assertEqual(json.loads(self.yard("show", job, "--json")[0])["pool"], self.name)
        self.assertRegex(self.yard("status")[0], r"(?m)^%s +%s .* connected .* 2/4 " % (self.name, self.name))
        node, = [node for node in json.loads(self.yard("top", "--json")[0])["nodes"] if node["name"] == self.name]
        self.assertEqual((node["state"], node["slots"], node["slots_used"]), ("connected", 4, 2))
        self.ran.touch()
        self.yard("wait", job)
        self.assertIn("committed", self.yard("logs", job)[0])
        self.expect_clean()


if __name__ == "__main__":
    xml_runner.main()
