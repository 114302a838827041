"""TensorBoard, the real one, reads its runs by our data server, whatever becomes of that."""

import concurrent.futures
import contextlib
import ctypes
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from bazel.python import xml_runner
from tests import event_records, grpc_calls

SERVER = "datamanager/tensorboard/yard-data-server"
LONG = 150  # Seconds.
# Seconds without an answer that a kill of the server costs. (Under a sanitizer all takes longer.)
MOST_AWAY = 20 if "ASAN_OPTIONS" in os.environ else 2
WRONG_FLAGS, NO_PORT_FILE, NO_SUCH_LOGDIR, CANNOT_LISTEN = 2, 1, 8, 9

# What the server does otherwise than TensorBoard's own reader, by the names of the checks that see it; docs/tensorboard.md
# has the reasons.
DIFFERENCES = (
    # Steps that were written again.
    r"scalars of scalars (resumed|disorder)/loss: steps",
    # Numbers that NumPy does not have.
    r"scalars of scalars bfloat16: read",
    # Runs without anything.
    r"run (header_only|empty_file): listed",
)


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class DataServerCase(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="yard-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.server = str(pathlib.Path(SERVER).absolute())
        self.logdir = os.path.join(self.directory, "runs")

    def await_true(self, condition, what):
        deadline = time.monotonic() + LONG
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            os.sched_yield()

    def write_run(self, name, values):
        path = pathlib.Path(self.logdir, name, "events.out.tfevents.1700000000.host")
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            for step, value in values:
                number = struct.pack("<Bf", 0x15, value)
                file.write(event_records.event(step, event_records.value(b"loss", number)))
        return path

    def child_of(self, pid, but=()):
        """The process that it has started, once it has; none of `but`."""
        self.await_true(lambda: set(children_of(pid)) - set(but), "it has started nothing")
        child, = set(children_of(pid)) - set(but)
        return child

    def start_server(self, *words, **options):
        """The process and the port that it has written."""
        port_file = os.path.join(self.directory, "port")
        process = subprocess.Popen([self.server, "--logdir=" + self.logdir, "--reload=5", "--port=0",
                                    "--port-file=" + port_file, "--die-after-stdin", *words],
                                   stdin=subprocess.PIPE, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)

        def written():
            with contextlib.suppress(FileNotFoundError):
                return pathlib.Path(port_file).read_text(encoding="ascii")
            return ""

        self.await_true(lambda: written().endswith("\n"), "no port file")
        self.assertRegex(written(), r"\A[0-9]+\n\Z")
        return process, int(written())


class ProcessTest(DataServerCase):
    """The behaviour that TensorBoard relies on when it starts a server."""

    def run_to_its_end(self, *words):
        error_file = os.path.join(self.directory, "startup_error")
        done = subprocess.run([self.server, "--error-file=" + error_file, *words], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=LONG, check=False)
        with open(error_file, encoding="utf-8") as file:
            return done.returncode, file.read()

    def test_it_ends_when_stdin_does_and_so_does_what_it_has_started(self):
        process, _ = self.start_server()
        child = self.child_of(process.pid)
        process.stdin.close()
        self.assertEqual(process.wait(LONG), 0)
        self.await_true(lambda: not is_alive(child), "the server lives on")

    def test_what_cannot_be_served_is_said_in_the_error_file(self):
        code, why = self.run_to_its_end("--logdir=s3://bucket/runs", "--port=0")
        self.assertEqual(code, NO_SUCH_LOGDIR)
        self.assertIn("s3://bucket/runs", why)
        code, why = self.run_to_its_end("--logdir=x", "--reload=soon")
        self.assertEqual(code, WRONG_FLAGS)
        self.assertIn("--reload", why)
        code, why = self.run_to_its_end("--logdir=x", "--port=0", "--port-file=/nowhere/port")
        self.assertEqual(code, NO_PORT_FILE)
        self.assertIn("/nowhere/port", why)

    def test_a_port_that_is_taken_is_not_waited_for(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            code, why = self.run_to_its_end("--logdir=x", "--port=%d" % taken.getsockname()[1])
        self.assertEqual(code, CANNOT_LISTEN)
        self.assertIn("cannot listen", why)

    def test_the_port_is_written_before_anything_is_looked_at(self):
        # A directory that answers nobody would hold up whoever looks into it first.
        process, _ = self.start_server("--logdir=/proc/self/fd/0")
        self.assertIsNone(process.poll())

    def test_of_two_that_die_the_other_keeps_the_port(self):
        self.write_run("r", [(0, 1)])
        process, port = self.start_server(stderr=subprocess.PIPE)
        child = self.child_of(process.pid)
        os.kill(child, signal.SIGKILL)
        again = self.child_of(process.pid, but=[child])
        process.kill()
        process.wait(LONG)
        with socket.create_connection(("127.0.0.1", port), LONG) as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + struct.pack(">IBI", 4, 0, 0))
            self.assertTrue(connection.recv(9))
        process.stdin.close()
        self.await_true(lambda: not is_alive(again), "the server lives on")
        process.stderr.close()


    def test_a_kill_of_the_server_costs_a_caller_two_seconds_at_most(self):
        self.write_run("r", [(0, 1)])
        process, port = self.start_server(stderr=subprocess.DEVNULL)
        request = grpc_calls.read_scalars("r", "loss", 1000)

        def answer():
            with contextlib.suppress(OSError, grpc_calls.HungUp), contextlib.closing(grpc_calls.Connection(port)) as connection:
                return connection.call("ReadScalars", request)
            return b""

        self.await_true(answer, "no point")
        expected = answer()
        for _ in range(3):
            os.kill(self.child_of(process.pid), signal.SIGKILL)
            began = time.monotonic()
            self.await_true(lambda: answer() == expected, "it does not come back")
            self.assertLess(time.monotonic() - began, MOST_AWAY)


class FirstStepsTest(DataServerCase):
    """TensorBoard looks for the port 10 ms after the start, and then only every half second."""

    # 404 in an ordinary build, all but a few of which load libraries; a sanitizer makes 400 of its own.
    MOST_CALLS = 1000 if "ASAN_OPTIONS" in os.environ else 600
    PTRACE_TRACEME, PTRACE_SYSCALL, PTRACE_SETOPTIONS = 0, 24, 0x4200
    OPTIONS = 1 | 1 << 20  # A stop at a system call can be told apart; the child ends with this process.
    AT_CALL = signal.SIGTRAP | 0x80

    def test_few_system_calls_come_before_the_port(self):
        libc = ctypes.CDLL(None, use_errno=True)
        os.makedirs(self.logdir)
        port_file = os.path.join(self.directory, "port")
        stdin, held = os.pipe()
        self.addCleanup(os.close, held)
        child = os.fork()
        if child == 0:
            os.dup2(stdin, 0)
            os.close(held)
            libc.ptrace(self.PTRACE_TRACEME, 0, 0, 0)
            os.execv(self.server, [self.server, "--logdir=" + self.logdir, "--port=0", "--port-file=" + port_file,
                                   "--die-after-stdin"])
        os.close(stdin)
        stops = 0
        _, status = os.waitpid(child, 0)
        self.assertTrue(os.WIFSTOPPED(status), "this machine lets nobody trace a child")
        libc.ptrace(self.PTRACE_SETOPTIONS, child, 0, ctypes.c_void_p(self.OPTIONS))
        while not (os.path.exists(port_file) and os.path.getsize(port_file) > 0):
            self.assertEqual(libc.ptrace(self.PTRACE_SYSCALL, child, 0, 0), 0, os.strerror(ctypes.get_errno()))
            _, status = os.waitpid(child, 0)
            self.assertTrue(os.WIFSTOPPED(status), "it has ended")
            stops += os.WSTOPSIG(status) == self.AT_CALL
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        # Each has a stop before it and one behind it.
        self.assertLess(stops / 2, self.MOST_CALLS)
        self.assertGreater(stops / 2, 20)


class PeerCase(DataServerCase):
    @classmethod
    def setUpClass(cls):
        peers = os.environ.get("YARD_PEERS")
        if not peers:
            what = "YARD_PEERS is not set: tools/test installs tensorboard and sets it"
            raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
        cls.bin = os.path.join(peers, "tensorboard", "bin")

    def program(self, name, *words):
        done = subprocess.run([self.bin + "/python", os.path.join("tests/programs", name), *words], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start_tensorboard(self, *words, **variables):
        log = os.path.join(self.directory, "tensorboard.log")
        environment = {"PATH": self.bin + ":/usr/bin:/bin", "HOME": self.directory, "TMPDIR": self.directory,
                       "LANG": "C.UTF-8", "TENSORBOARD_DATA_SERVER_BINARY": self.server, **variables}
        with open(log, "w", encoding="utf-8") as file:
            process = subprocess.Popen([self.bin + "/tensorboard", "--logdir", self.logdir, "--port", "0", *words],
                                       env=environment, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def said():
            with open(log, encoding="utf-8") as file:
                return file.read()

        self.await_true(lambda: "http://" in said() or process.poll() is not None, said)
        self.assertIsNone(process.poll(), said())
        self.address = re.search(r"http://\S+?:(\d+)/", said())
        self.url = "http://localhost:%s/data/" % self.address[1]
        return process

    def ask(self, path, **parameters):
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        with urllib.request.urlopen(self.url + path + query, timeout=LONG) as answer:
            return json.load(answer)

    def answers(self, path):
        with contextlib.suppress(urllib.error.HTTPError):
            return self.ask(path)
        return None


class TensorBoardTest(PeerCase):
    def test_it_reads_by_our_server(self):
        self.write_run("r", [(step, step / 2) for step in range(10)])
        process = self.start_tensorboard()
        self.assertIn("GrpcDataProvider", self.ask("environment")["debug"]["data_provider"])
        server = self.child_of(process.pid)
        self.assertEqual(os.readlink("/proc/%d/exe" % server), os.path.realpath(self.server))
        self.await_true(lambda: self.ask("runs") == ["r"], "no run")
        points = self.ask("plugin/scalars/scalars", run="r", tag="loss")
        self.assertEqual([point[1:] for point in points], [[step, step / 2] for step in range(10)])
        self.write_run("r", [(10, 7)])
        self.write_run("s", [(0, 1)])
        self.await_true(lambda: self.ask("runs") == ["r", "s"], "no new run")
        self.await_true(lambda: self.ask("plugin/scalars/scalars", run="r", tag="loss")[-1][1:] == [10, 7], "no new point")

    def test_zero_samples_are_all(self):
        self.write_run("r", [(step, step) for step in range(3000)])
        self.start_tensorboard("--samples_per_plugin", "scalars=0")
        self.await_true(lambda: self.ask("runs") == ["r"], "no run")
        self.assertEqual(len(self.ask("plugin/scalars/scalars", run="r", tag="loss")), 3000)

    def test_it_outlives_a_kill_of_the_server(self):
        self.write_run("r", [(0, 1)])
        process = self.start_tensorboard()
        self.await_true(lambda: self.ask("runs") == ["r"], "no run")
        parent = self.child_of(process.pid)
        child = self.child_of(parent)
        os.kill(child, signal.SIGKILL)
        again = self.child_of(parent, but=[child])
        self.await_true(lambda: self.answers("runs") == ["r"], "it does not come back")
        # Without the parent nobody would start the server again, but it goes on.
        os.kill(parent, signal.SIGKILL)
        self.assertEqual(self.ask("runs"), ["r"])
        process.kill()
        process.wait(LONG)
        self.await_true(lambda: not is_alive(again), "the server lives on")


    def test_a_kill_of_the_server_costs_two_seconds_at_most(self):
        self.write_run("r", [(0, 1)])
        process = self.start_tensorboard()
        points = "plugin/scalars/scalars?run=r&tag=loss"
        self.await_true(lambda: self.answers(points), "no point")
        expected, parent, killed = self.answers(points), self.child_of(process.pid), threading.Event()

        def ask_through_it():
            """When it has an answer again."""
            while not killed.is_set():
                self.answers(points)
            self.await_true(lambda: self.answers(points) == expected, "it does not come back")
            return time.monotonic()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            back = [pool.submit(ask_through_it) for _ in range(4)]
            began = time.monotonic()
            os.kill(self.child_of(parent), signal.SIGKILL)
            killed.set()
            away = max(one.result() for one in back) - began
        self.assertLess(away, MOST_AWAY)


class ConformanceTest(PeerCase):
    RUNS = 9  # That have something.
    SAMPLES = "--samples-per-plugin=" + ",".join("%s=all" % plugin for plugin in (
        "scalars", "images", "audio", "histograms", "text", "pr_curves", "hparams", "mesh", "greeter", "custom_scalars"))

    def test_it_agrees_with_tensorboards_reader(self):
        self.program("write_every_kind.py", self.logdir)
        _, port = self.start_server(self.SAMPLES)
        self.assertTrue(json.loads(self.program("check_data_server.py", "--runs", str(port), str(self.RUNS))))
        found = json.loads(self.program("check_data_server.py", str(port), self.logdir))
        unexpected = {name: detail for name, detail in found["failed"].items()
                      if not any(re.fullmatch(difference, name) for difference in DIFFERENCES)}
        self.assertEqual(unexpected, {})
        for difference in DIFFERENCES:
            self.assertTrue(any(re.fullmatch(difference, name) for name in found["failed"]), difference + " is none any more")
        self.assertGreater(found["passed"], 400)


class ManyRunsTest(PeerCase):
    RUNS = 2000

    def test_sixty_four_descriptors_are_enough_for_two_thousand_runs(self):
        for run in range(self.RUNS):
            self.write_run("r%d" % run, [(0, run)])
        _, port = self.start_server(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        self.assertTrue(json.loads(self.program("check_data_server.py", "--runs", str(port), str(self.RUNS))))


if __name__ == "__main__":
    xml_runner.main()
