"""Test cases with a yard of their own, written in Python."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

YARD = "tools/yard/yard"
LONG = 150  # Seconds.


def free_port():
    """A port of 127.0.0.1 that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stop_process(pid):
    """SIGSTOP, and waits until it has stopped: the signal is on its way for a moment, in which it still works."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + LONG
    while pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0] != "T":
        if time.monotonic() >= deadline:
            raise AssertionError("%d does not stop" % pid)
        os.sched_yield()


def hiding(words, directories):
    """The command line `words`, whose process does not see what is in these directories: a tmpfs of its own is there."""
    if not directories:
        return words
    mounts = " && ".join("mount -t tmpfs none '%s'" % path for path in directories)
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    if subprocess.run(["unshare", *user, "--mount", "true"], check=False).returncode != 0:
        raise unittest.SkipTest("this machine gives no mount namespace")
    return ["unshare", *user, "--mount", "sh", "-c", mounts + " && exec \"$@\"", "sh", *words]


class YardCase(unittest.TestCase):
    """All cases of a class share a fresh yard; `directory` is where they run.

    `peer` names the environment of $YARD_PEERS whose programs are first on PATH; empty: none is needed.
    `up_words` go with `yard up`. `variables` are added to the environment of all.
    `prefix` is where the programs are installed that start the yard; empty: those that Bazel has built.
    """

    peer = ""
    prefix = ""
    up_words = ()
    variables = {}

    @classmethod
    def setUpClass(cls):
        cls.bin = "/usr/bin"
        if cls.peer:
            peers = os.environ.get("YARD_PEERS")
            if not peers:
                what = "YARD_PEERS is not set: tools/test installs %s and sets it" % cls.peer
                raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
            cls.bin = os.path.join(peers, cls.peer, "bin")
        cls.directory = tempfile.mkdtemp(prefix="yard-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.environment = {
            "PATH": cls.bin + ":/usr/bin:/bin",
            "HOME": cls.directory,
            "LANG": "C.UTF-8",
            "TMPDIR": cls.directory,
            "XDG_RUNTIME_DIR": cls.directory + "/run",
            "YARD_STATE": cls.directory + "/state",
            "RUNFILES_DIR": os.environ["TEST_SRCDIR"],
            # (Under the thread sanitizer a program would sleep for a second when it ends.)
            "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", ""),
            **cls.variables,
        }
        cls.yard_program = str(pathlib.Path(cls.prefix, "bin/yard") if cls.prefix else pathlib.Path(YARD).absolute())
        cls.before_up()
        cls._services("up", *cls.up_words)
        cls.addClassCleanup(cls._services, "down")

    @classmethod
    def before_up(cls):
        """For what the yard needs before it is there; `directory` and `environment` are."""

    @classmethod
    def _services(cls, *words):
        subprocess.run([cls.yard_program, *words], cwd=cls.directory, env=cls.environment,
                       stdin=subprocess.DEVNULL, timeout=LONG, check=True)

    def start(self, *words, stdin=subprocess.DEVNULL):
        """Runs on while the test does something; killed at its end."""
        process = subprocess.Popen(words, cwd=self.directory, env=self.environment,
                                   stdin=stdin, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def start_yard(self, *words):
        return self.start(self.yard_program, *words)

    def finish(self, process, exit_code=0):
        """The output on stdout and stderr of `process`, once it has ended as it should."""
        try:
            out, err = process.communicate(timeout=LONG)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail("%s has not ended\n%s%s" % (process.args, out, err))
        self.assertEqual(process.returncode, exit_code, out + err)
        return out, err

    def yard(self, *words):
        """The stdout and stderr of a command that succeeds."""
        return self.finish(self.start_yard(*words))

    def kill_service(self, service):
        """Kills the newest process of a service, which may not have registered yet."""
        answers = []

        def answered():
            process = self.start_yard("call", service, "Stats")
            answers.append(process.communicate(timeout=LONG)[0])
            return process.returncode == 0

        self.await_true(answered, "the %s is not there" % service)
        os.kill(json.loads(answers[-1])["pid"], signal.SIGKILL)

    def await_true(self, condition, what):
        """Looks again and again; `what` is, or returns, what is said when it takes too long."""
        deadline = time.monotonic() + LONG
        while not condition():
            if time.monotonic() >= deadline:
                self.fail(str(what() if callable(what) else what))
            os.sched_yield()

    def python(self, program, *words):
        return self.finish(self.start(self.bin + "/python", "-c", program, *words))[0]
