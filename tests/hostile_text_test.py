"""The output and the reports of programs, and the names of things, never drive a terminal or a
log."""

import json
import os
import pathlib
import pty
import re
import subprocess
import threading

from bazel.python import xml_runner
from tests import yard_case

# A clear screen, a title, a C1 control, a right-to-left override, a carriage return, a byte that is no UTF-8.
HOSTILE = "a\x1b[2J\x1b]0;t\x07\u009b31m\u202eb\rc\x7f"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069\udc80-\udcff]")  # The last: bytes.
OURS = re.compile("\r+\n|\r\x1b\\[K")  # The end of a line, and the beginning of one that is drawn again.
PROGRAM = r"""
import json, os, sys
text = sys.argv[1]
def report(**fields):
    os.write(3, (json.dumps(fields) + "\n").encode())
    return os.read(3, 65536)
os.write(1, text.encode() + b"\xff\n")
os.write(2, text.encode() + b"\xff\n")
report(t="report", m={text: 1.5, "note": text})
os.write(3, (json.dumps({"t": "log", "text": text, "level": text}) + "\n").encode())
os.write(3, b"{\x1b[2J\xff\n")
if len(sys.argv) > 2:
    os.write(3, (json.dumps({"t": "fail", "error": text}) + "\n").encode())
    sys.exit(3)
"""


def read(terminal):
    try:
        return terminal.read(65536)
    except OSError:  # Nobody writes to it any more.
        return b""


class HostileTextTest(yard_case.YardCase):
    def run_harmlessly(self, *words):
        """On a terminal, however it ends."""
        ours, terminal = pty.openpty()
        with subprocess.Popen([self.yard_program, *words], cwd=self.directory,
                              env={**self.environment, "NO_COLOR": "1"}, stdin=subprocess.DEVNULL, stdout=terminal,
                              stderr=terminal) as process, os.fdopen(ours, "rb", buffering=0) as shown:
            os.close(terminal)
            deadline = threading.Timer(yard_case.LONG, process.kill)
            deadline.start()
            text = b"".join(iter(lambda: read(shown), b"")).decode("utf-8", "surrogateescape")
            deadline.cancel()
        self.assertIsNone(CONTROLS.search(OURS.sub("", text)), (words, process.returncode, text))

    def test_no_verb_prints_it(self):
        program = self.directory + "/program.py"
        pathlib.Path(program).write_text(PROGRAM, encoding="utf-8")
        started = []
        for extra in ([], ["fail"]):
            out, _ = self.yard("run", "--detach", "--config", json.dumps({HOSTILE: HOSTILE}), "--", "python3", program,
                               HOSTILE, *extra)
            started.append(out.split()[0])
        self.run_harmlessly("run", "--label", HOSTILE, "--", "true")
        self.run_harmlessly("run", "--name", HOSTILE, "--", "true")
        self.run_harmlessly("run", "--", HOSTILE)
        self.run_harmlessly("launch", "--worker", "2", "--labels", "x=" + HOSTILE, "--name", "job", "--",
                            "python3", program, HOSTILE, "fail")
        self.run_harmlessly("launch", HOSTILE)
        for thing in (*started, "job"):
            self.run_harmlessly("wait", thing)
        for words in (["ps", "-a"], ["ps", "-t"], ["runs"], ["runs", HOSTILE], ["status"], ["doctor"],
                      ["topic", "ls"], ["compare", *started], ["plot", HOSTILE], ["watch", "--all", started[0]],
                      ["tell", started[0], HOSTILE], ["stop", HOSTILE], ["rm", HOSTILE], ["export", started[0]],
                      ["pub", "e/" + HOSTILE, "{}"], ["pub", "e/a/", json.dumps({HOSTILE: HOSTILE})],
                      ["sub", "e/", "t/", "s/", "l/", "m/", "--last", "--timeout", "1"], ["call", HOSTILE, "x"],
                      ["call", "trainer", HOSTILE], ["call", "trainer", "Trials", HOSTILE], [HOSTILE],
                      *([verb, thing] for verb in ("show", "logs", "plot") for thing in (*started, "job")),
                      *(["show", thing, flag] for thing in started for flag in ("--run", "--files"))):
            self.run_harmlessly(*words)
            self.run_harmlessly(*words, "--json")

    def test_no_log_of_a_service_has_it(self):
        self.run_harmlessly("run", "--name", HOSTILE, "--", "true")
        self.run_harmlessly("call", "trainer", "StopTrial", json.dumps({"trial": HOSTILE, "reason": HOSTILE}))
        self.run_harmlessly("call", "launcher", "StopJob", json.dumps({"job": HOSTILE, "reason": HOSTILE}))
        logs = list(pathlib.Path(self.directory + "/state/log").iterdir())
        self.assertTrue(logs)
        for path in logs:
            for line in path.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
                self.assertIsNone(CONTROLS.search(line), (path, line))


if __name__ == "__main__":
    xml_runner.main()
