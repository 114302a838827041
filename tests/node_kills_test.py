"""A hundred kills of each process between a program on a node and its trial, and of the cable: each report is kept once, and nothing is left."""

import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import threading
import unittest

from bazel.python import xml_runner
from tests import yard_case

NODE = "launcher/node/yard-node"
SHIM = "launcher/yard-shim"
KILLS = 100

# Reports until there is a file `enough`, and notes each report that was acknowledged.
REPORTS = r"""
import json, os, sys, time
folder, trial = sys.argv[1:]
channel = os.fdopen(3, "r+b", buffering=0)
notes = open(os.path.join(folder, "noted-" + trial), "a")
i = 0
while not os.path.exists(os.path.join(folder, "enough")):
    i += 1
    channel.write(json.dumps({"t": "report", "m": {"i": i}}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        part = channel.read(1)
        if not part: sys.exit("the channel has ended")
        answer += part
    if json.loads(answer)["t"] == "stop": break
    notes.write("%d\n" % i)
    notes.flush()
    time.sleep(0.005)
"""


class Cable:
    """Connections of a unix socket here, passed on to another one until they are cut."""

    def __init__(self, path, real):
        self.real = real
        self.ends = []
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self.real)
            except OSError:
                near.close()
                far.close()
                continue
            with self.lock:
                self.ends += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        with self.lock:
            ends, self.ends = self.ends, []
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()


class NodeKillsTest(yard_case.YardCase):
    def setUp(self):
        self.random = random.Random(os.environ.get("YARD_SEED", "7"))
        for name in pathlib.Path(self.directory).glob("noted-*"):
            name.unlink()
        pathlib.Path(self.directory, "enough").unlink(missing_ok=True)
        pathlib.Path(self.directory, "reports.py").write_text(REPORTS, encoding="utf-8")
        reply = self.call("SetNode", name="a", pool="lab", slots=4)
        self.cables = []
        for name, real in (("l", reply["socket"]), ("t", reply["trainer_socket"])):
            path = os.path.join(self.directory, name)
            pathlib.Path(path).unlink(missing_ok=True)
            self.cables.append(Cable(path, real))
        self.start_node()
        self.addCleanup(self.stop_node)

    def call(self, method, **request):
        return json.loads(self.yard("call", "launcher", method, json.dumps(request))[0])

    def start_node(self):
        with open(os.path.join(self.directory, "node.log"), "ab") as log:
            self.node = subprocess.Popen(
                [NODE, "--folder=%s/n" % self.directory, "--launcher_socket=%s/l" % self.directory,
                 "--trainer_socket=%s/t" % self.directory, "--shim=" + str(pathlib.Path(SHIM).absolute())],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop_node(self):
        self.node.terminate()
        self.node.wait(yard_case.LONG)
        for cable in self.cables:
            cable.close()
        self.await_true(lambda: not self.left(), self.left)

    def left(self):
        """The command lines of processes that have a path of the node, or of its programs."""
        lines = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if any(self.directory + "/n" in word or word == "reports.py" for word in words):
                lines.append(" ".join(words))
        return lines

    def run_trial(self, name):
        out = self.yard("run", "--at", "lab", "--detach", "--json", "--name", name, "--",
                        "/usr/bin/python3", "reports.py", self.directory, name)[0]
        return json.loads(out)["id"]

    def noted(self, name):
        path = pathlib.Path(self.directory, "noted-" + name)
        return [int(line) for line in path.read_text().splitlines()] if path.exists() else []

    def kept(self, name):
        path = pathlib.Path(self.directory, "runs", name, "result.json")
        return [json.loads(line)["i"] for line in path.read_text().splitlines()] if path.exists() else []

    def await_end(self, trial):
        state = []

        def ended():
            state[:] = [json.loads(self.yard("call", "trainer", "Trials", json.dumps({"trial": trial}))[0])["trials"][0]["state"]]
            return state[0] in ("done", "failed", "stopped")

        self.await_true(ended, lambda: state)
        return state[0]

    def workers(self):
        """The process ids of the node's workers. (Its shims may be children of it, too.)"""
        pids = []
        for child in pathlib.Path("/proc/%d/task/%d/children" % (self.node.pid, self.node.pid)).read_text().split():
            try:
                words = pathlib.Path("/proc/%s/cmdline" % child).read_bytes().split(b"\0")
            except OSError:
                continue
            if any(word.startswith(b"--worker=") for word in words):
                pids.append(int(child))
        return pids

    def kill_worker(self):
        self.await_true(self.workers, "the node has no worker")
        for pid in self.workers():
            os.kill(pid, signal.SIGKILL)

    def test_what_may_be_killed_without_a_loss(self):
        trial = self.run_trial("one")
        self.await_true(lambda: self.noted("one"), "the trial does not begin")
        kills = KILLS * [self.kill_worker, lambda: self.kill_service("launcher"), lambda: self.kill_service("trainer"),
                         *[cable.cut for cable in self.cables]]
        self.random.shuffle(kills)
        for kill in kills:
            kill()
            # Some are killed again before they are back, others after some reports.
            if self.random.random() < 0.5:
                before = len(self.noted("one"))
                self.yard("up")  # (With the launcher and the trainer dead nobody starts either.)
                self.await_true(lambda: len(self.noted("one")) > before + self.random.randrange(5), "no report comes any more")
        pathlib.Path(self.directory, "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.assertEqual(self.noted("one"), self.kept("one"))
        self.assertEqual(self.kept("one"), list(range(1, len(self.kept("one")) + 1)))

    def test_a_node_that_is_killed_loses_its_attempts_and_no_report(self):
        for number in range(KILLS):
            name = "lost-%d" % number
            trial = self.run_trial(name)
            self.await_true(lambda: len(self.noted(name)) > self.random.randrange(3), "the trial does not begin")
            self.node.kill()
            self.node.wait(yard_case.LONG)
            self.start_node()
            self.assertEqual(self.await_end(trial), "failed")
            kept, noted = self.kept(name), self.noted(name)
            # (The last report may be kept without the program having heard of it.)
            self.assertIn(kept, (noted, noted + [len(noted) + 1]))


if __name__ == "__main__":
    xml_runner.main()
