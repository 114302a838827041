"""A test case with a yard of its own, for programs of other projects that are written in Python."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

YARD = "tools/yard/yard"
LONG = 150  # Seconds.


class YardCase(unittest.TestCase):
    """`peer` names the environment of $YARD_PEERS whose programs are first on PATH."""

    peer = ""

    def setUp(self):
        peers = os.environ.get("YARD_PEERS")
        if not peers:
            what = "YARD_PEERS is not set: tools/test installs %s and sets it" % self.peer
            if os.environ.get("CI"):
                self.fail(what)
            self.skipTest(what)
        self.bin = os.path.join(peers, self.peer, "bin")
        self.directory = tempfile.mkdtemp(prefix="yard-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.environment = {
            "PATH": self.bin + ":/usr/bin:/bin",
            "HOME": self.directory,
            "LANG": "C.UTF-8",
            "TMPDIR": self.directory,
            "XDG_RUNTIME_DIR": self.directory + "/run",
            "YARD_STATE": self.directory + "/state",
            "RUNFILES_DIR": os.environ["TEST_SRCDIR"],
        }
        self.yard_program = str(pathlib.Path(YARD).absolute())
        self.yard("up")
        self.addCleanup(self.yard, "down")

    def start(self, *words):
        """Runs on while the test does something; killed at its end."""
        process = subprocess.Popen(words, cwd=self.directory, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def finish(self, process, exit_code=0):
        """What it has written to stdout and stderr, once it has ended as it should."""
        try:
            out, err = process.communicate(timeout=LONG)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail("%s has not ended\n%s%s" % (process.args, out, err))
        self.assertEqual(process.returncode, exit_code, out + err)
        return out, err

    def run_program(self, *words):
        """Its stdout and stderr."""
        return self.finish(self.start(*words))

    def yard(self, *words):
        return self.run_program(self.yard_program, *words)

    def python(self, program, *words):
        return self.run_program(self.bin + "/python", "-c", program, *words)[0]
