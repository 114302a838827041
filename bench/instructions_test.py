"""How many instructions a record of an event file takes: a figure that no load of the machine moves.

A file of many records and one of few are scanned under callgrind; the difference is what a record
costs, without what a process costs.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import xml_runner

BINARIES = os.path.join(os.environ["TEST_SRCDIR"], "yard/bench")
LOAD_ONCE = os.path.join(os.environ["TEST_SRCDIR"], "yard/datamanager/load_once")
TAGS = 5
FEW, MANY = 200, 8200  # Steps.
# Instructions a record, of bytes in a file to the number of the tag and the value.
LIMITS = {"old": 600, "new": 750}
# Instructions a record of the whole data manager: until the point stands in its column.
WHOLE_LIMITS = {"old": 750, "new": 950}
# Under a sanitizer the count says nothing, but the readers must agree all the same.
IS_COUNTED = os.environ.get("YARD_SANITIZED") != "1"


class InstructionsTest(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def write(self, style, steps):
        place = os.path.join(self.directory, "%s%d" % (style, steps))
        subprocess.run([os.path.join(BINARIES, "write_event_files"), place, style, "1", str(steps),
                        str(TAGS)], check=True, timeout=60, stdout=subprocess.DEVNULL)
        (run,) = os.listdir(place)
        (name,) = os.listdir(os.path.join(place, run))
        return os.path.join(place, run, name)

    def run_program(self, words, prefix=(), env=None):
        done = subprocess.run([*prefix, *words], check=True, timeout=250, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.stdout.split(), done.stderr

    def scan(self, path):
        return [os.path.join(BINARIES, "scan_once"), path]

    def load(self, path):
        return [LOAD_ONCE, os.path.dirname(path), "1"]

    def count(self, words):
        # Otherwise each byte that `rep movsb` copies counts as an instruction.
        env = dict(os.environ, GLIBC_TUNABLES="glibc.cpu.x86_rep_movsb_threshold=2147483647:"
                                              "glibc.cpu.x86_rep_stosb_threshold=2147483647")
        _, errors = self.run_program(
            words, ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"], env)
        return int(re.search(r"Collected\s*:\s*(\d+)", errors).group(1))

    def check(self, what, program, style, limit, expected):
        few, many = self.write(style, FEW), self.write(style, MANY)
        answer, _ = self.run_program(program(many))
        self.assertEqual(answer[:len(expected)], expected)
        if not IS_COUNTED:
            return
        if shutil.which("valgrind") is None:
            what = "valgrind is not installed: tools/setup installs it"
            raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
        instructions = (self.count(program(many)) - self.count(program(few))) / ((MANY - FEW) * TAGS)
        print("%s, %s style: %.0f instructions a record, limit %d"
              % (what, style, instructions, limit))
        self.assertLess(instructions, limit)
        # Less than this, and it would not have read them.
        self.assertGreater(instructions, 50)

    def test_records_are_read(self):
        for style, limit in LIMITS.items():
            with self.subTest(style):
                self.check("read", self.scan, style, limit,
                           [str(MANY * TAGS + 1), str(MANY * TAGS), "0"])

    def test_runs_are_loaded(self):
        for style, limit in WHOLE_LIMITS.items():
            with self.subTest(style):
                self.check("loaded", self.load, style, limit, ["points=%d" % (MANY * TAGS)])


if __name__ == "__main__":
    xml_runner.main()
