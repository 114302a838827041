"""tools/test and what it has started, when it is asked to end."""

import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from bazel.python import xml_runner

_SECONDS = 60
# In the place of Bazel: runs until it is told to end, or for ever.
_BAZEL = """#!/usr/bin/python3
import os, pathlib, signal, sys
here = pathlib.Path(__file__).parent
def told(number, frame):
    with open(here / "told", "a") as file:
        file.write("x")
    if not (here / "deaf").exists():
        sys.exit(8)
signal.signal(signal.SIGINT, told)
(here / "new").write_text(str(os.getpid()))
(here / "new").rename(here / "running")
while True:
    signal.pause()
"""
_TOOLS_TEST = "import sys; from tools.checks import main; sys.exit(main.main(['--config=fuzz'], bazel=sys.argv[1]))"
_IMPATIENT = """
import subprocess, sys
from tools.checks.interruption import Interruption
Interruption(grace_s=0).install()
subprocess.run(sys.argv[1:])
"""


class InterruptionTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.bazel = self.directory / "bazel"
        self.bazel.write_text(_BAZEL, encoding="utf-8")
        self.bazel.chmod(0o755)

    def start(self, code, *words, ignored=(), **options):
        """The program, once it has started its Bazel, and the pid of that."""
        def prepare():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
        running = self.directory / "running"
        running.unlink(missing_ok=True)
        (self.directory / "told").unlink(missing_ok=True)
        program = subprocess.Popen([sys.executable, "-c", code, *map(str, words)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=prepare,
                                   env={**os.environ, "TMPDIR": str(self.directory)}, **options)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        self.await_file(program, running)
        pid = int(running.read_text())
        self.addCleanup(self.has_killed, pid)
        return program, pid

    def await_file(self, program, path):
        deadline = time.monotonic() + _SECONDS
        while not path.exists():
            self.assertIsNone(program.poll(), "it has ended before it was told to")
            self.assertLess(time.monotonic(), deadline, "there is no " + path.name)

    def has_killed(self, pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def expect_gone(self, pid):
        self.assertFalse(self.has_killed(pid), "its Bazel was left behind")

    def expect_interrupted(self, program):
        said = program.communicate(timeout=_SECONDS)[0]
        self.assertEqual(said.splitlines()[-2:], ["failed: interrupted", "0 passed, 1 failed"])
        self.assertEqual(program.returncode, 1)

    def test_what_it_runs_is_asked_to_end_and_waited_for(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            for ignored in ((), (signal.SIGINT,)):  # As in the background of a script.
                with self.subTest(number=number, ignored=ignored):
                    program, pid = self.start(_TOOLS_TEST, self.bazel, ignored=ignored)
                    program.send_signal(number)
                    self.expect_interrupted(program)
                    self.expect_gone(pid)
                    self.assertEqual((self.directory / "told").read_text(), "x")

    def test_a_key_that_all_have_heard_is_not_repeated(self):
        program, pid = self.start(_TOOLS_TEST, self.bazel, start_new_session=True)
        os.killpg(program.pid, signal.SIGINT)
        self.expect_interrupted(program)
        self.expect_gone(pid)
        self.assertEqual((self.directory / "told").read_text(), "x")

    def test_what_does_not_end_is_killed(self):
        (self.directory / "deaf").touch()
        program, pid = self.start(_IMPATIENT, self.bazel)
        program.send_signal(signal.SIGTERM)
        self.assertIn("KeyboardInterrupt", program.communicate(timeout=_SECONDS)[0])
        self.expect_gone(pid)

    def test_a_second_signal_does_not_wait(self):
        (self.directory / "deaf").touch()
        program, pid = self.start(_TOOLS_TEST, self.bazel)
        program.send_signal(signal.SIGTERM)
        self.await_file(program, self.directory / "told")
        program.send_signal(signal.SIGHUP)
        self.expect_interrupted(program)
        self.expect_gone(pid)

    def test_what_a_script_runs_is_asked_too(self):
        program, pid = self.start(_IMPATIENT.replace("grace_s=0", ""), "/bin/sh", "-c", '"$0"; exit $?', self.bazel)
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=_SECONDS)
        self.expect_gone(pid)
        self.assertEqual((self.directory / "told").read_text(), "x")

    def test_who_ends_ci_ends_its_tests(self):
        folder = self.directory / "checkout"
        (folder / ".ci").mkdir(parents=True)
        (folder / "tools").mkdir()
        shutil.copy(".ci/run", folder / ".ci/run")
        words = shlex.join([sys.executable, "-c", _TOOLS_TEST, str(self.bazel)])
        for name, text in (("environment.sh", ""), ("setup", ""), ("test", f"cd {shlex.quote(os.getcwd())}; exec {words}")):
            (folder / "tools" / name).write_text("#!/bin/sh\n" + text, encoding="utf-8")
            (folder / "tools" / name).chmod(0o755)
        program, pid = self.start("import os, sys; os.execv(sys.argv[1], sys.argv[1:])", folder / ".ci/run")
        program.send_signal(signal.SIGTERM)
        self.expect_interrupted(program)
        self.expect_gone(pid)

    def test_nohup_is_respected(self):
        program, _ = self.start(_IMPATIENT, self.bazel, ignored=(signal.SIGHUP,))
        program.send_signal(signal.SIGHUP)
        self.assertEqual((self.directory / "told").exists(), False)
        self.assertIsNone(program.poll())


if __name__ == "__main__":
    xml_runner.main()
