"""A program that hangs says where: on demand, and when its time without a sign of life is over."""

import json
import pathlib
import re

from bazel.python import xml_runner
from tests import yard_case

SDK = str(pathlib.Path("sdk/python").absolute())
HANG = """
import os, sys, threading, yard

def wait_for_ever():
    with yard.Reporter() as reporter:
        reporter.report(loss=1)
        print("hangs", flush=True)
        threading.Event().wait()

wait_for_ever()
"""
RANKS = """
import threading, yard
def wait_for_others():
    print("waits", flush=True)
    threading.Event().wait()
wait_for_others()
"""


class StacksTest(yard_case.YardCase):
    variables = {"PYTHONPATH": SDK, "PYTHONDONTWRITEBYTECODE": "1"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, text in {"hang.py": HANG, "ranks.py": RANKS}.items():
            pathlib.Path(cls.directory, name).write_text(text)

    def await_output(self, name, text):
        self.await_true(lambda: text in self.start_yard("logs", name).communicate(timeout=yard_case.LONG)[0],
                        "it does not say " + text)

    def test_a_python_program_says_its_stacks_and_goes_on(self):
        self.yard("run", "--detach", "--name", "hangs", "--", "python3", "hang.py")
        self.await_output("hangs", "hangs")
        for _ in range(2):
            out = self.yard("show", "hangs", "--stacks")[0]
            self.assertRegex(out, r"^task +j-\w{5}/worker-0\nprocess \d+ \(python3\)\n  thread \d+ \(python3\) S, waits in ")
            self.assertRegex(out, r'File ".*hang.py", line 8 in wait_for_ever')
        found = json.loads(self.yard("show", "hangs", "--stacks", "--json")[0])
        process, = found["tasks"][0]["processes"]
        self.assertIn("wait_for_ever", process["python"])
        self.assertEqual(json.loads(self.yard("show", "hangs", "--json")[0])["state"], "running")
        self.yard("stop", "hangs")
        self.start_yard("wait", "hangs").communicate(timeout=yard_case.LONG)
        err = self.finish(self.start_yard("show", "hangs", "--stacks"), exit_code=3)[1]
        self.assertIn("nothing of it runs now", err)

    def test_each_rank_of_a_job_says_its_own(self):
        self.yard("launch", "--detach", "--name", "ranks", "--worker", "2", "--", "python3", "ranks.py")
        for task in ("ranks/worker-0", "ranks/worker-1"):
            self.await_output(task, "waits")
        tasks = json.loads(self.yard("show", "ranks", "--stacks", "--json")[0])["tasks"]
        self.assertEqual([task["task"][-8:] for task in tasks], ["worker-0", "worker-1"])
        for task in tasks:
            self.assertIn("wait_for_others", task["processes"][0]["python"])
        self.assertEqual(self.yard("show", "ranks/worker-1", "--stacks")[0].count("wait_for_others"), 1)
        self.yard("stop", "ranks")

    def test_another_program_says_what_it_waits_for(self):
        self.yard("run", "--detach", "--name", "shell", "--", "sh", "-c", "echo begins; sleep 1000 & wait")
        self.await_output("shell", "begins")
        processes = []

        def both_run():  # The second one is sh, too, until it has begun.
            processes[:] = json.loads(self.yard("show", "shell", "--stacks", "--json")[0])["tasks"][0]["processes"]
            return [process["command"] for process in processes] == ["sh", "sleep"]

        self.await_true(both_run, processes)
        for process in processes:
            self.assertEqual(process["threads"][0]["state"], "S")
            self.assertTrue(process["native"] or process["note"], process)
        self.yard("stop", "shell")

    def test_a_time_out_says_where_it_was(self):
        self.finish(self.start_yard("run", "--name", "silent", "--heartbeat", "1s", "--", "python3", "hang.py"), 1)
        trial = json.loads(self.yard("show", "silent", "--json")[0])
        self.assertEqual(trial["state"], "failed")
        texts = [line["text"] for line in trial["log"]]
        self.assertTrue(re.search(r"no sign of life for 1s; it was here:\n(.*\n)*.* in wait_for_ever", "".join(texts)), texts)
        self.assertIn("in wait_for_ever", self.yard("show", "silent")[0])

    def test_an_attempt_that_runs_for_too_long_says_where_it_was(self):
        self.finish(self.start_yard("run", "--name", "long", "--max_run_time", "4s", "--", "python3", "hang.py"), 1)
        trial = json.loads(self.yard("show", "long", "--json")[0])
        self.assertEqual((trial["state"], trial["reason"]), ("failed", "its time of 4s is over"))
        texts = [line["text"] for line in trial["log"]]
        self.assertTrue(re.search(r"its time of 4s is over; it was here:\n(.*\n)*.* in wait_for_ever", "".join(texts)), texts)


if __name__ == "__main__":
    xml_runner.main()
