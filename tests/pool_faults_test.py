"""Faults between a yard and its nodes: cables are cut for long, programs fail, hosts come back too late."""

import json
import pathlib
import re
import time

from bazel.python import xml_runner
from tests import pool_case

# Reports until there is a file `enough`.
REPORTS = r"""
import json, os, sys, time
channel = os.fdopen(3, "r+b", buffering=0)
attempt, i = int(os.environ["YARD_ATTEMPT"]), 0
while not os.path.exists(sys.argv[1]):
    i += 1
    channel.write(json.dumps({"t": "report", "m": {"i": i, "by": attempt}}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        part = channel.read(1)
        if not part: sys.exit("the channel has ended")
        answer += part
    if json.loads(answer)["t"] == "stop": break
    time.sleep(0.01)
"""


class PoolFaultsTest(pool_case.PoolCase):
    def setUp(self):
        super().setUp()
        self.enough = pathlib.Path(self.directory, "enough-" + self.id().rpartition(".")[2])
        self.name = self.id().rpartition(".")[2][:40]

    def run_trial(self, *flags):
        out = self.yard("run", "--at", "lab", "--detach", "--json", "--name", self.name, *flags, "--",
                        "/usr/bin/python3", "-c", REPORTS, str(self.enough))[0]
        trial = json.loads(out)["id"]
        self.await_true(lambda: self.rows(1), "no report comes")
        return trial

    def trial(self, trial):
        return json.loads(self.yard("call", "trainer", "Trials", json.dumps({"trial": trial}))[0])["trials"][0]

    def rows(self, attempt):
        """The numbers of the reports of an attempt."""
        path = pathlib.Path(self.directory, "runs", self.name, "result.json")
        if not path.exists():
            return []
        rows = map(json.loads, path.read_text().splitlines())
        return [row["i"] for row in rows if row["by"] == attempt]

    def cut(self, name, stays):
        for cable in self.cables[name]:
            if stays:
                cable.cut(stays=True)
            else:
                cable.mend()

    def test_a_cable_that_is_cut_for_a_while_costs_nothing(self):
        self.node("a", slots=1)
        trial = self.run_trial()
        self.cut("a", True)
        self.await_true(lambda: self.state("a") == "away", "the cut is not seen")
        self.assertEqual(self.trial(trial)["state"], "running")
        self.cut("a", False)
        before = len(self.rows(1))
        self.await_true(lambda: len(self.rows(1)) > before + 3, "no report comes after the cut")
        self.enough.touch()
        self.await_true(lambda: self.trial(trial)["state"] == "done", lambda: self.trial(trial))
        self.assertEqual(self.rows(1), list(range(1, len(self.rows(1)) + 1)))
        self.assertEqual(self.trial(trial)["attempt"], 1)

    def test_an_attempt_whose_host_comes_back_too_late_is_refused_and_killed(self):
        self.node("a", slots=1)
        trial = self.run_trial("--max_restarts", "1")
        self.node("b", slots=1)
        self.cut("a", True)
        self.await_true(lambda: self.rows(2), lambda: self.trial(trial))
        self.assertEqual(self.trial(trial)["node"], "b")
        first = self.rows(1)
        self.assertTrue(any(b"YARD_ATTEMPT=1" in pathlib.Path("/proc/%d/environ" % pid).read_bytes()
                            for pid in self.programs("a")), "the old program goes on behind the cut")
        self.cut("a", False)
        self.await_true(lambda: not self.programs("a"), "the old program is not killed")
        self.await_true(lambda: self.state("a") == "connected", "the node does not come back")
        self.assertEqual(self.rows(1), first)
        self.enough.touch()
        self.await_true(lambda: self.trial(trial)["state"] == "done", lambda: self.trial(trial))
        self.assertEqual(self.rows(2), list(range(1, len(self.rows(2)) + 1)))
        # The host is as good as any again.
        second = json.loads(self.yard("run", "--at", "lab", "--json", "--", "true")[0].splitlines()[-1])
        self.assertEqual(second["state"], "done")

    def programs(self, name):
        """The processes of the attempts of a node."""
        return [pid for pid in self.processes_of(name) if b"YARD_ATTEMPT=" in self.environ(pid)]

    @staticmethod
    def environ(pid):
        try:
            return pathlib.Path("/proc/%d/environ" % pid).read_bytes()
        except OSError:
            return b""

    def test_a_program_ends_there_as_it_does_here(self):
        self.node("a", slots=1)
        nothing = pathlib.Path(self.directory, "not-executable")
        nothing.write_text("#!/bin/sh\n")
        for argv in (["sh", "-c", "exit 5"], ["sh", "-c", "kill -9 $$"], ["sh", "-c", "kill -ABRT $$"], ["no-such-program"],
                     [str(nothing)], ["sh", "-c", "echo last words >&2; exit 1"], ["true"]):
            ends = []
            for pool in ("", "lab"):
                spec = {"argv": argv, "working_directory": self.directory, "environment": ["PATH=/usr/bin:/bin"], "pool": pool}
                job = self.await_state(self.call("Launch", spec=spec)["job"]["id"], "done", "failed", "lost")
                attempt = job["tasks"][0]["attempts"][0]
                failure = job.get("failure") or {}
                ends.append((job["state"], job["reason"], failure.get("last_lines"),
                             *(attempt[key] for key in ("exit_code", "signal", "reason", "error_number", "core_dumped"))))
            self.assertEqual(ends[0], ends[1], argv)

    def test_memory_that_is_short_there_is_told_as_it_is_here(self):
        self.node("a", slots=1)
        takes = "exec 2> /dev/null; python3 -c 'bytearray(256 << 20)'"
        for script in ("exec " + takes.partition("; ")[2], takes + "; exit 0", takes + "; exit 7"):
            ends = []
            for pool in ("", "lab"):
                spec = {"working_directory": self.directory, "environment": ["PATH=/usr/bin:/bin"], "pool": pool,
                        "groups": [{"type": "worker", "count": 1, "argv": ["sh", "-c", script],
                                    "control_limits": {"memory_bytes": 64 << 20}}]}
                job = self.await_state(self.call("Launch", spec=spec)["job"]["id"], "done", "failed", "lost")
                attempt = job["tasks"][0]["attempts"][0]
                ends.append((job["state"], job["reason"], attempt["out_of_memory"],
                             attempt["exit_code"], attempt["signal"], re.sub(r"/yard-[0-9-]+", "/GROUP", attempt["reason"])))
            self.assertEqual(ends[0], ends[1], script)
            if "could not be limited" not in ends[0][5]:  # A limit that the machine does not offer cannot be tried.
                self.assertTrue(ends[0][2], ends)

    def test_a_stop_leaves_no_process_there(self):
        self.node("a", slots=2)
        spec = {"argv": ["sh", "-c", "trap '' TERM; setsid sleep 1000 & sleep 1000 & wait"], "working_directory": "/tmp",
                "environment": ["PATH=/usr/bin:/bin", "YARD_ATTEMPT=none"], "pool": "lab"}
        job = self.call("Launch", spec=spec)["job"]["id"]
        self.await_true(lambda: len(self.programs("a")) >= 3, "it does not start")
        begin = time.monotonic()
        self.call("StopJob", job=job, grace_ms=200)
        self.await_state(job, "failed", "done")
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(self.programs("a"), [])


if __name__ == "__main__":
    xml_runner.main()
