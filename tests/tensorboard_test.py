"""The real TensorBoard and the yard find, list and reuse each other's instances; its pages have what trials report."""

import contextlib
import datetime
import json
import os
import signal
import socket
import unittest.mock
import urllib.error
import urllib.request

from bazel.python import xml_runner
from tests import yard_case

START = """
import sys
from tensorboard import manager
result = manager.start(sys.argv[1:], timeout=__import__("datetime").timedelta(seconds=100))
print(type(result).__name__, getattr(getattr(result, "info", None), "pid", result))
"""
GET_ALL = """
from tensorboard import manager
for info in manager.get_all(): print(info.pid, info.port, info.logdir, info.cache_key)
"""
LIST = """
from tensorboard import notebook
notebook.list()
"""


class TensorBoardTest(yard_case.YardCase):
    peer = "tensorboard"

    def tools(self):
        rows = map(json.loads, self.yard("status", "--json")[0].splitlines())
        return [row for row in rows if "tool" in row]

    @staticmethod
    def children_of(pid):
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            return [int(child) for child in file.read().split()]

    def test_its_manager_lists_and_reuses_what_the_yard_started(self):
        words = ["--logdir", "runs", "--port", "0"]
        address = self.yard("tensorboard", *words)[0].strip()
        with urllib.request.urlopen(address + "data/logdir", timeout=yard_case.LONG) as answer:
            self.assertIn("logdir", json.load(answer))
        with urllib.request.urlopen(address + "data/environment", timeout=yard_case.LONG) as answer:
            self.assertIn("GrpcDataProvider", json.load(answer)["debug"]["data_provider"])
        tool, = self.tools()
        self.assertEqual(tool["url"], address)
        server, = self.children_of(tool["pid"])
        self.assertEqual(os.path.basename(os.readlink("/proc/%d/exe" % server)), "yard-data-server")
        listed = self.python(GET_ALL).split()
        self.assertEqual(listed, [str(tool["pid"]), str(tool["port"]), "runs", tool["cache_key"]])
        self.assertIn("pid %d" % tool["pid"], self.python(LIST))
        self.assertEqual(self.python(START, *words).split(), ["StartReused", str(tool["pid"])])
        self.yard("stop", tool["id"])
        self.assertEqual(self.tools(), [])
        self.assertEqual(self.python(GET_ALL), "")

    def test_its_pages_have_what_a_trial_has_reported(self):
        report = """echo '{"t":"report","m":{"eval":{"loss":0.5}}}' >&3; read reply <&3"""
        self.yard("run", "--name", "reports", "--", "sh", "-c", report)
        address = self.yard("tensorboard", "--logdir", "runs", "--port", "0")[0].strip()
        tool, = self.tools()
        self.addCleanup(self.yard, "stop", tool["id"])

        def ask(what):
            url = address + "data/plugin/scalars/" + what
            with urllib.request.urlopen(url, timeout=yard_case.LONG) as answer:
                return json.load(answer)

        self.await_true(lambda: "eval/loss" in ask("tags").get("reports", {}), lambda: ask("tags"))
        (_, step, value), = ask("scalars?run=reports&tag=eval%2Floss")
        self.assertEqual((step, value), (1, 0.5))

    def test_its_hparams_tab_has_how_each_trial_ended(self):
        report = """echo '{"t":"report","m":{"loss":0.5}}' >&3; read reply <&3; exit %d"""
        self.yard("run", "--name", "good", "--", "sh", "-c", report % 0, "sh", "--lr=0.25")
        self.finish(self.start_yard("run", "--name", "bad", "--", "sh", "-c", report % 3, "sh", "--lr=0.5"), 1)
        address = self.yard("tensorboard", "--logdir", "runs", "--port", "0", "--window_title", "hparams")[0].strip()
        tool, = self.tools()
        self.addCleanup(self.yard, "stop", tool["id"])
        wanted = {"experimentName": "", "startIndex": 0, "sliceSize": 100, "colParams": [], "allowedStatuses": [
            "STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"]}
        request = urllib.request.Request(address + "data/plugin/hparams/session_groups", json.dumps(wanted).encode(),
                                         {"Content-Type": "application/json"})

        def sessions():
            with contextlib.suppress(urllib.error.HTTPError):
                with urllib.request.urlopen(request, timeout=yard_case.LONG) as answer:
                    groups = json.load(answer)["sessionGroups"]
                    return {group["sessions"][0]["name"]: (group["hparams"].get("lr"), group["sessions"][0]) for group in groups}
            return {}

        self.await_true(lambda: {"good", "bad"} <= set(sessions()), "no row")
        for name, rate, status in (("good", 0.25, "STATUS_SUCCESS"), ("bad", 0.5, "STATUS_FAILURE")):
            ended = json.loads(self.yard("show", name, "--json")[0].splitlines()[0])["ended"]
            shown_rate, session = sessions()[name]
            self.assertEqual((shown_rate, session["status"]), (rate, status))
            self.assertAlmostEqual(session["endTimeSecs"], datetime.datetime.fromisoformat(ended).timestamp(), 3)

    def test_the_yards_data_manager_reads_for_it(self):
        report = """echo '{"t":"report","m":{"eval":{"loss":0.5}}}' >&3; read reply <&3"""
        self.yard("run", "--name", "read-once", "--", "sh", "-c", report)
        address = self.yard("tensorboard", "--logdir", "runs", "--port", "0", "--window_title", "read")[0].strip()
        tool, = self.tools()
        self.addCleanup(self.yard, "stop", tool["id"])
        parent, = self.children_of(tool["pid"])

        def shows_it():
            # (A request fails if the server ends that it has reached.)
            with contextlib.suppress(urllib.error.HTTPError):
                with urllib.request.urlopen(address + "data/runs", timeout=yard_case.LONG) as answer:
                    return "read-once" in json.load(answer)
            return False

        def data_manager():
            rows = map(json.loads, self.yard("status", "--json")[0].splitlines())
            return next(row for row in rows if row.get("service") == "datamanager")

        self.await_true(shows_it, "no run")
        # Its child, the parent of data servers, has started none.
        self.assertEqual(self.children_of(parent), [])
        before = data_manager()["pid"]
        os.kill(before, signal.SIGKILL)
        self.await_true(lambda: self.children_of(parent), "it does not read itself")
        self.await_true(shows_it, "it does not come back")
        self.await_true(lambda: data_manager()["state"] == "up" and data_manager()["pid"] != before, data_manager)
        # When it has to begin anew, it asks the yard again.
        os.kill(self.children_of(parent)[0], signal.SIGKILL)
        self.await_true(shows_it, "it does not come back from its own")
        self.await_true(lambda: not self.children_of(parent), "it does not ask the yard again")

    def test_it_reads_other_runs_itself(self):
        os.makedirs(os.path.join(self.directory, "other"), exist_ok=True)
        self.yard("tensorboard", "--logdir", "other", "--port", "0")
        tool, = self.tools()
        self.addCleanup(self.yard, "stop", tool["id"])
        parent, = self.children_of(tool["pid"])
        self.await_true(lambda: self.children_of(parent), "it has started no server")

    def test_the_doctor_names_one_that_reads_by_python_instead(self):
        server = os.path.abspath("datamanager/tensorboard/yard-data-server")
        words = ["--logdir", "runs", "--port", "0", "--window_title", "fallen"]
        nobody = socket.socket()  # It is bound and does not listen.
        self.addCleanup(nobody.close)
        nobody.bind(("127.0.0.1", 0))
        proxy = "http://127.0.0.1:%d" % nobody.getsockname()[1]
        variables = {"TENSORBOARD_DATA_SERVER_BINARY": server, "http_proxy": proxy}
        with unittest.mock.patch.dict(self.environment, variables):
            pid = self.python(START, *words).split()[1]

        def warnings():
            found = map(json.loads, self.yard("doctor", "--json")[0].splitlines())
            return [finding for finding in found if finding["check"] == "tensorboard"]

        found = warnings()
        self.yard("stop", pid)
        warning, = found
        self.assertEqual(warning["level"], "warn")
        self.assertRegex(warning["found"], r"process %s does not use yard-data-server.*through a proxy" % pid)
        self.assertIn("no_grpc_proxy=localhost", warning["fix"])
        # Our own makes localhost an exception.
        with unittest.mock.patch.dict(self.environment, {"http_proxy": proxy}):
            self.yard("tensorboard", *words)
        tool, = self.tools()
        self.addCleanup(self.yard, "stop", tool["id"])
        self.assertEqual(warnings(), [])

    def test_the_yard_lists_and_reuses_what_its_manager_started(self):
        words = ["--logdir", "runs", "--port", "0"]
        outcome, pid = self.python(START, *words).split()
        self.assertEqual(outcome, "StartLaunched")
        tool, = self.tools()
        self.assertEqual(tool["pid"], int(pid))
        address, notice = self.yard("tensorboard", *words)
        self.assertIn("runs already", notice)
        self.assertEqual(address.strip(), tool["url"])
        self.yard("stop", pid)
        self.assertEqual(self.tools(), [])

    def test_its_manager_accepts_a_file_that_the_registry_wrote(self):
        info = {"version": "2.21.0", "start_time": 1700000000, "pid": os.getpid(), "port": 6123,
                "logdir": "/r\u00e9", "cache_key": "x"}
        self.yard("call", "registry", "AnnounceInstance",
                  json.dumps({"info": info, "tool_version": "2.21.0",
                              "environment": ["TMPDIR=" + self.directory]}))
        self.assertEqual(self.python(GET_ALL).split(), [str(os.getpid()), "6123", "/r\u00e9", "x"])
        self.yard("call", "registry", "WithdrawInstance",
                  json.dumps({"pid": os.getpid(), "environment": ["TMPDIR=" + self.directory]}))
        self.assertEqual(self.python(GET_ALL), "")


if __name__ == "__main__":
    xml_runner.main()
