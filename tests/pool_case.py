"""Test cases with a yard whose nodes are processes of this machine."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import threading

from tests import yard_case

NODE = "launcher/node/yard-node"
SHIM = "launcher/yard-shim"


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
        self.is_down = False
        self.listener = socket.socket(socket.AF_UNIX)
        pathlib.Path(path).unlink(missing_ok=True)
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
                if self.is_down:
                    raise ConnectionError("the cable is cut")
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

    def cut(self, stays=False):
        """`stays`: until mend() is called nothing gets through."""
        self.is_down = stays
        with self.lock:
            ends, self.ends = self.ends, []
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def mend(self):
        self.is_down = False

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()


class PoolCase(yard_case.YardCase):
    """Nodes are lost after two seconds, and gone at the end of each test."""

    up_words = ("--service", "launcher.node_lost_after=2s")

    def setUp(self):
        self.nodes, self.cables = {}, {}
        self.addCleanup(self.stop_nodes)

    def call(self, method, **request):
        return json.loads(self.yard("call", "launcher", method, json.dumps(request))[0])

    def node(self, name, number=1, pool="lab", hides=(), **more):
        """A node connects, at 127.0.0.NUMBER, through cables that can be cut. It does not see what is in the directories `hides`."""
        reply = self.call("SetNode", name=name, pool=pool, **more)
        if name not in self.cables:
            directory = pathlib.Path(self.directory, "c-" + name)
            directory.mkdir(exist_ok=True)
            self.cables[name] = [Cable(str(directory / kind), real) for kind, real in
                                 (("l", reply["socket"]), ("t", reply["trainer_socket"]))]
        words = [NODE, "--folder=%s/n/%s" % (self.directory, name), "--launcher_socket=%s/c-%s/l" % (self.directory, name),
                 "--trainer_socket=%s/c-%s/t" % (self.directory, name), "--shim=" + str(pathlib.Path(SHIM).absolute()),
                 "--address=127.0.0.%d" % number]
        with open(os.path.join(self.directory, name + ".log"), "ab") as log:
            self.nodes[name] = subprocess.Popen(yard_case.hiding(words, hides), env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.await_true(lambda: self.state(name) == "connected", lambda: self.call("Nodes"))

    def state(self, name):
        return {node["name"]: node["state"] for node in self.call("Nodes")["nodes"]}[name]

    def processes_of(self, name):
        """The processes of a node and of its attempts."""
        mark = ("%s/n/%s" % (self.directory, name)).encode()
        pids = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes() + (path / "cmdline").read_bytes():
                    pids.append(int(path.name))
            except OSError:
                continue
        return pids

    def kill_node(self, name):
        node = self.nodes.pop(name)
        node.kill()
        node.wait(yard_case.LONG)

    def cut_power(self, name):
        """Every process of the host is gone at once."""
        node = self.nodes.pop(name)
        self.kill_all([node.pid, *self.processes_of(name)])
        node.wait(yard_case.LONG)

    @staticmethod
    def kill_all(pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def stop_nodes(self):
        for node in self.nodes.values():
            node.terminate()
        for node in self.nodes.values():
            node.wait(yard_case.LONG)
        for cables in self.cables.values():
            for cable in cables:
                cable.close()
        for node in self.call("Nodes").get("nodes", []):
            name = node["name"]
            self.call("RemoveNode", name=name, force=True)
            if name in self.nodes:
                self.await_true(lambda name=name: not self.processes_of(name), "processes stay on " + name)
            self.kill_all(self.processes_of(name))  # (Shims of a node that was killed wait for the next one.)

    def job(self, job):
        return self.call("Jobs", job=job)["jobs"][0]

    def await_state(self, job, *states):
        self.await_true(lambda: self.job(job)["state"] in states, lambda: self.job(job))
        return self.job(job)

    def tasks(self, job):
        """The node of each task."""
        return {task["id"].partition("/")[2]: task["node"] for task in self.job(job)["tasks"]}

    def output(self, job):
        return self.yard("logs", job)[0]


class ReportsCase(PoolCase):
    """Trials that report until there is a file `enough`, and note each report that was acknowledged."""

    def setUp(self):
        super().setUp()
        for name in pathlib.Path(self.directory).glob("noted-*"):
            name.unlink()
        pathlib.Path(self.directory, "enough").unlink(missing_ok=True)
        pathlib.Path(self.directory, "reports.py").write_text(REPORTS, encoding="utf-8")

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

    def workers(self, name):
        """The process ids of a node's workers. (Its shims may be children of it, too.)"""
        pids = []
        for child in pathlib.Path("/proc/%d/task/%d/children" % (self.nodes[name].pid, self.nodes[name].pid)).read_text().split():
            try:
                words = pathlib.Path("/proc/%s/cmdline" % child).read_bytes().split(b"\0")
            except OSError:
                continue
            if any(word.startswith(b"--worker=") for word in words):
                pids.append(int(child))
        return pids

    def kill_worker(self, name):
        self.await_true(lambda: self.workers(name), "the node has no worker")
        self.kill_all(self.workers(name))  # (A worker that was killed a moment ago may be ending.)
