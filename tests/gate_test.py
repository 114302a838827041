"""The gate: who gets in from the network with which key, what a role may, and what floods and kills cost."""

import json
import os
import pathlib
import resource
import select
import signal
import socket
import struct
import subprocess
import threading
import time

from bazel.python import xml_runner
from tests import yard_case

LONG = yard_case.LONG
# A greeting of ZMTP 3.1 for CURVE, and the beginning of a HELLO.
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32)
HELLO = b"\x05HELLO\x01\x00" + bytes(72) + bytes(32) + struct.pack(">Q", 1) + bytes(80)
MOST_MEMORY = 64 << 20


class Flood:
    """Connections that a gate gets from somebody without a key, again and again, for as long as the block lasts."""

    def __init__(self, port, kind, at_once):
        self.port, self.kind, self.at_once = port, kind, at_once
        self.made = 0
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(4)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        deadline = time.monotonic() + LONG
        while self.made < self.at_once:
            assert time.monotonic() < deadline, "no flood: %d connections" % self.made
            os.sched_yield()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _run(self):
        open_ones = []
        while not self._end.is_set():
            try:
                one = socket.create_connection(("127.0.0.1", self.port), timeout=5)
                self._say(one)
            except OSError:
                continue
            self.made += 1
            open_ones.append(one)
            if len(open_ones) >= self.at_once // len(self._threads):
                open_ones.pop(0).close()
        for one in open_ones:
            one.close()

    def _say(self, one):
        if self.kind == "garbage":
            one.sendall(os.urandom(200))
        elif self.kind == "hello":
            one.sendall(GREETING + b"\x04" + bytes([len(HELLO)]) + HELLO)
        elif self.kind == "huge":
            # A command that says it has 2^40 bytes, and some of them.
            one.sendall(GREETING + b"\x06" + struct.pack(">Q", 1 << 40) + bytes(100_000))


class GateCase(yard_case.YardCase):
    @classmethod
    def setUpClass(cls):
        cls.port = yard_case.free_port()
        cls.up_words = ("--gate_port", str(cls.port))
        super().setUpClass()

    def through(self, *words, code=0, key="", timeout=LONG):
        """stdout of a command, of this yard or through its gate with a key."""
        environment = dict(self.environment)
        if key:
            environment["YARD_REGISTRY"] = "gate:%s/%s.yard-key" % (self.directory, key)
            # Another machine has nothing of this yard's.
            environment["YARD_STATE"] = self.directory + "/elsewhere"
            environment["XDG_RUNTIME_DIR"] = self.directory + "/elsewhere-run"
        done = subprocess.run([self.yard_program, *words], cwd=self.directory, env=environment, timeout=timeout,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        self.assertEqual(done.returncode, code, "yard %s: %s%s" % (" ".join(words), done.stdout, done.stderr))
        self.said = done.stderr
        return done.stdout

    def allow(self, name, role):
        # (A key of an earlier case of the class.)
        subprocess.run([self.yard_program, "gate", "remove", name], cwd=self.directory, env=self.environment,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        pathlib.Path(self.directory, name + ".yard-key").unlink(missing_ok=True)
        return json.loads(self.through("gate", "allow", name, "--role", role, "--json"))

    def gate_pid(self):
        rows = [json.loads(line) for line in self.through("status", "--json").splitlines()]
        return next((row["pid"] for row in rows if row.get("service") == "gate" and row["state"] == "up"), None)

    def await_gate(self, other_than=None):
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            pid = self.gate_pid()
            if pid not in (None, other_than):
                return pid
        raise AssertionError("no gate is up")

    def memory(self, pid):
        for line in pathlib.Path("/proc/%d/status" % pid).read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
        raise AssertionError("no VmRSS")

    def counters(self):
        stats = json.loads(self.through("call", "gate", "Stats", "{}"))
        return {counter["name"]: counter.get("value", 0) for counter in stats["counters"]}


class NoKeyTest(GateCase):

    def test_there_is_a_gate_once_a_key_was_made_and_not_before(self):
        self.assertIsNone(self.gate_pid())
        self.assertFalse(self.listens())
        self.assertIn("this yard has no gate", self.through("gate", "list"))
        made = json.loads(self.through("gate", "key", "--json"))
        self.assertEqual(made["address"], "tcp://127.0.0.1:%d" % self.port)
        # The command has waited for it.
        self.assertTrue(self.listens())
        self.assertIsNotNone(self.gate_pid())
        self.assertTrue(made["running"])
        self.assertEqual(json.loads(self.through("gate", "key", "--json")), made)
        self.assertIn("it runs", self.through("gate", "list"))
        self.assertRegex(self.through("doctor"), r"gate +answers")
        self.through("down")
        self.assertFalse(self.listens())
        self.through("up", "--gate_port", str(self.port))
        self.assertTrue(self.listens())

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class GateTest(GateCase):

    def test_each_role_may_what_it_says(self):
        for role in ("read", "publish", "control"):
            self.allow(role, role)
        self.through("run", "--name", "mine", "--", "true")
        for role in ("read", "publish", "control"):
            self.assertIn("mine", self.through("ps", "--all", key=role) + self.through("runs", key=role))
            self.assertIn("trainer", self.through("status", key=role))
        self.through("pub", "e/note/", "1", key="read", code=6)
        self.assertIn("Publish needs the role publish, and the key read has read", self.said)
        self.through("pub", "e/note/", "1", key="publish")
        for role in ("read", "publish"):
            self.through("set", "mine", "--label", "+seen", key=role, code=6)
            self.assertIn("needs the role control", self.said)
        self.through("set", "mine", "--label", "+seen", key="control")
        self.assertIn("seen", self.through("show", "mine", "--json"))
        self.through("call", "launcher", "SetLogLevel", '{"level": "info"}', key="control", code=6)
        self.assertIn("needs the role admin", self.said)

    def test_a_remote_is_added_with_what_each_side_prints(self):
        home = pathlib.Path(self.directory, "laptop")
        laptop = {"PATH": "/usr/bin:/bin", "HOME": str(home), "USER": "ann", "XDG_RUNTIME_DIR": str(home / "run"),
                  "LANG": "C.UTF-8", "RUNFILES_DIR": os.environ["TEST_SRCDIR"]}

        def there(*words, code=0):
            done = subprocess.run([self.yard_program, *words], cwd=self.directory, env=laptop, timeout=LONG,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            return done.stdout + done.stderr

        self.assertIn("there is no remote", there("remote"))
        asked = there("remote", "add", "gpu1", "--role", "control")
        typed = next(line for line in asked.splitlines() if "yard gate allow" in line).split()
        self.assertRegex(typed[3], "^ann-")
        answer = self.through(*typed[1:], "--address", "tcp://127.0.0.1:%d" % self.port)
        self.assertIn("the gate is open to this machine alone", self.said)
        typed = answer.split("there: ")[1].split()
        self.assertEqual(typed[:3], ["yard", "remote", "add"])
        self.assertIn("next: yard --at gpu1 status", there("remote", "add", "gpu1", *typed[4:]))
        self.assertRegex(there("--at", "gpu1", "status"), "trainer +up")
        there("--at", "gpu1", "run", "--name", "from-the-laptop", "--", "true")
        self.assertIn("from-the-laptop", self.through("ps", "--all"))
        self.assertRegex(there("remote"), "gpu1 +tcp://127.0.0.1:[0-9]+ +control +ann-")
        self.assertIn("gpu1 is reached by its gate, and `yard ui` is of the machine", there("--at", "gpu1", "ui", code=6))
        self.assertIn("there is a remote gpu1 already", there("remote", "add", "gpu1", code=6))
        # Another file that was handed over, under another name.
        self.allow("bob", "read")
        there("remote", "add", "second", "--file", self.directory + "/bob.yard-key")
        self.assertIn("needs the role control", there("--at", "second", "set", "from-the-laptop", "--label", "+x", code=6))
        secrets = [json.loads(path.read_text())["secret_key"] for path in (home / ".config/trainyard/remotes").iterdir()]
        self.assertEqual(len(secrets), 3)
        for secret in secrets:
            self.assertNotIn(secret, asked + answer + there("remote", "--json"))
        there("remote", "rm", "gpu1")
        # Without it, the word is a host of ssh again.
        laptop["YARD_SSH"] = "false"
        there("--at", "gpu1", "status", code=255)

    def test_verbs_of_this_machine_are_refused_behind_a_gate(self):
        self.allow("alice", "admin")
        for verb in ("up", "down", "doctor"):
            self.through(verb, key="alice", code=6)
            self.assertIn("behind a gate", self.said)
        self.assertIsNotNone(self.gate_pid())

    def test_a_removed_key_and_an_unknown_one_are_refused_and_counted(self):
        self.allow("alice", "read")
        self.through("runs", key="alice")
        before = self.counters()["keys_refused"]
        self.through("gate", "remove", "alice")
        self.through("runs", key="alice", code=6)
        self.assertIn("does not let in the key alice", self.said)
        self.assertGreater(self.counters()["keys_refused"], before)
        public = json.loads(pathlib.Path(self.directory, "alice.yard-key").read_text())["public_key"]
        self.through("runs", key="alice", code=6)
        log = pathlib.Path(self.directory, "state/log/gate.log").read_text()
        self.assertEqual(log.count("refused a key that is not allowed, from 127.0.0.1: " + public), 1)

    def test_secrets_are_files_of_their_owner_and_in_no_output(self):
        made = self.allow("alice", "read")
        self.assertNotIn("secret", json.dumps(made))
        file = pathlib.Path(self.directory, "alice.yard-key")
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        secrets = {json.loads(file.read_text())["secret_key"],
                   json.loads(pathlib.Path(self.directory, "state/gate/server.key").read_text())["secret_key"]}
        for path in pathlib.Path(self.directory, "state").rglob("*"):
            if path.is_file() and path.name != "server.key":
                text = path.read_bytes()
                for secret in secrets:
                    self.assertNotIn(secret.encode(), text, path)
            if "state/gate" in str(path):
                self.assertEqual(path.stat().st_mode & 0o077, 0, path)
        file.chmod(0o644)
        self.through("runs", key="alice", code=6)
        self.assertIn("others may read it; next: chmod 600", self.said)

    def test_a_killed_gate_costs_a_follower_no_event(self):
        self.allow("alice", "read")
        self.allow("bob", "publish")
        environment = {**self.environment, "YARD_REGISTRY": "gate:%s/alice.yard-key" % self.directory}
        follower = subprocess.Popen([self.yard_program, "sub", "e/kill/", "--json"], cwd=self.directory,
                                    env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
        self.addCleanup(follower.communicate)
        self.addCleanup(follower.kill)
        # Somebody listens once an event of this root has a subscriber.
        self.through("pub", "e/kill/", "0", "--wait", "1", key="bob")
        acknowledged = [0]
        for number in range(1, 6):
            os.kill(self.await_gate(), signal.SIGKILL)
            # While there is no gate, by somebody in the yard.
            self.through("pub", "e/kill/", str(number))
            acknowledged.append(number)
        said, deadline = b"", time.monotonic() + LONG
        while said.count(b"\n") < len(acknowledged) and time.monotonic() < deadline:
            if select.select([follower.stdout], [], [], 1)[0]:
                said += os.read(follower.stdout.fileno(), 65536)
        heard = [json.loads(line) for line in said.splitlines()]
        self.assertEqual([event.get("body", event).get("payload", event) for event in heard], acknowledged)

    def test_services_still_refuse_the_network_themselves(self):
        for service in ("registry", "trainer", "gate"):
            program = str(pathlib.Path(service, service).absolute())
            done = subprocess.run([program, "--listen=tcp://127.0.0.1:%d" % yard_case.free_port()], timeout=LONG,
                                  env={**self.environment, "YARD_STATE": self.directory + "/other",
                                       "XDG_RUNTIME_DIR": self.directory + "/other-run"},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False)
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn("tcp://", done.stdout)


class FloodTest(GateCase):
    """`FLOOD_SECONDS` says how long each flood lasts at least."""

    seconds = float(os.environ.get("FLOOD_SECONDS", "1"))

    def _withstands(self, kind, at_once):
        self.allow("alice", "read")
        pid = self.await_gate()
        self.through("runs", key="alice")
        slowest, most, calls = 0.0, 0, 0
        with Flood(self.port, kind, at_once) as flood:
            end = time.monotonic() + self.seconds
            while calls < 3 or time.monotonic() < end:
                begin = time.monotonic()
                self.through("call", "registry", "Lookup", '{"name": "trainer"}', key="alice")
                slowest = max(slowest, time.monotonic() - begin)
                most = max(most, self.memory(pid))
                calls += 1
        print("%s: %d connections, %d calls, the slowest %.2f s, %.1f MiB" % (
            kind, flood.made, calls, slowest, most / (1 << 20)))
        # A sanitizer keeps what was freed, and shadows of it.
        if "SANITIZED" not in os.environ:
            self.assertLess(most, MOST_MEMORY)
        self.assertEqual(self.gate_pid(), pid)

    def test_silence(self):
        # So many would take over 64 MiB, each 40 KiB, if the gate kept them.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self._withstands("silent", 2000)

    def test_garbage(self):
        self._withstands("garbage", 200)

    def test_hello(self):
        self._withstands("hello", 200)

    def test_huge_frames(self):
        self._withstands("huge", 100)


if __name__ == "__main__":
    xml_runner.main()
