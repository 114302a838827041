"""A shared file system that hangs: only programs that touch it, and attempts that begin in it, notice."""

import json
import os
import pathlib
import subprocess
import unittest

from bazel.python import xml_runner
from tests import hung_files, pool_case, yard_case


class HungFilesTest(pool_case.ReportsCase):
    @classmethod
    def setUpClass(cls):
        if not hung_files.may_mount():
            raise unittest.SkipTest("only root may mount a file system, and only with /dev/fuse")
        # The services see what is mounted later.
        hung_files.leave_the_mounts_of_others()
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.shared = pathlib.Path(self.directory, "shared")
        self.shared.mkdir()
        self.files = hung_files.HungFiles(self.shared)
        self.addCleanup(self.files.unmount)
        (self.shared / "code").mkdir()
        (self.shared / "code/reports.py").write_text(pool_case.REPORTS, encoding="utf-8")
        self.addCleanup(self.files.go_on)  # Before the nodes are stopped.

    def in_code(self, *words):
        """Runs a command in the shared directory, and returns the JSON that it prints."""
        # (By env: this process must not wait for a file system that it answers for.)
        done = subprocess.run(["env", "-C", str(self.shared / "code"), self.yard_program, *words], cwd=self.directory,
                              env=self.environment, timeout=yard_case.LONG, check=True, stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL)
        return json.loads(done.stdout)

    def run_there(self, name):
        """A trial on a node, in a directory that node and yard share."""
        trial = self.in_code("run", "--at", "lab", "--sync", ".", "--detach", "--json", "--name", name, "--",
                             "/usr/bin/python3", "-u", self.directory + "/reports.py", self.directory, name)["id"]
        self.await_true(lambda: len(self.noted(name)) > 2, "no report comes")
        return trial

    def launch_there(self, script):
        return self.in_code("launch", "--at", "lab", "--sync", ".", "--detach", "--json", "--", "sh", "-c", script)["id"]

    def trial(self, trial):
        return json.loads(self.yard("call", "trainer", "Trials", json.dumps({"trial": trial}))[0])["trials"][0]

    def test_reports_logs_and_stops_go_on(self):
        self.node("a", slots=8)
        goes_on, is_stopped = self.run_there("goes-on"), self.run_there("is-stopped")
        self.assertEqual({task["cwd"] for task in self.places()}, {str(self.shared / "code")})
        restarted = self.launch_there("echo up; sleep 1000000")
        self.await_true(lambda: "up" in self.output(restarted), "it does not start")
        ticks = self.call("Launch", spec={"name": "ticks", "argv": ["sh", "-c", "while :; do echo tick; sleep .1; done"],
                                          "working_directory": "/", "pool": "lab", "environment": ["PATH=/usr/bin:/bin"]})
        self.files.hang()

        # An attempt begins there: it waits, and nobody else does.
        self.call("RestartJob", job=restarted)
        self.await_true(self.files.asked, "nobody has asked the file system")
        before = len(self.noted("goes-on"))
        self.await_true(lambda: len(self.noted("goes-on")) > before + 100, "the reports have stopped")
        said = self.output(ticks["job"]["id"]).count("tick")
        self.await_true(lambda: self.output(ticks["job"]["id"]).count("tick") > said + 5, "the output has stopped")
        self.yard("stop", is_stopped)
        self.assertEqual(self.await_end(is_stopped), "stopped")
        self.yard("stop", ticks["job"]["id"])

        # It fails, and says why.
        failed = self.await_state(restarted, "failed")
        self.assertIn("has not answered for 30s", json.dumps(failed["tasks"][0]["attempts"][-1]))
        self.files.go_on()
        pathlib.Path(self.directory, "enough").touch()
        self.assertEqual(self.await_end(goes_on), "done")
        for name in ("goes-on", "is-stopped"):
            kept = self.kept(name)
            self.assertEqual(kept, list(range(1, len(kept) + 1)), name)
            self.assertGreaterEqual(len(kept), len(self.noted(name)))
        self.await_true(lambda: os.listdir(self.shared / "code") == ["reports.py"], lambda: os.listdir(self.shared / "code"))

    def places(self):
        """Where the programs of the trials run."""
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if path.joinpath("cmdline").read_bytes().startswith(b"/usr/bin/python3\0-u\0" + self.directory.encode()):
                    yield {"pid": int(path.name), "cwd": os.readlink(path / "cwd")}
            except OSError:
                continue


if __name__ == "__main__":
    xml_runner.main()
