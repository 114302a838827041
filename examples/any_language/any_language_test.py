"""The programs of README.md speak the protocol, and the page shows them as they are."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.join(_HERE, "../..")
sys.path[:0] = [os.path.join(_ROOT, "sdk/python/testing")]
import xml_runner
from fake_yard import FakeYard, obliging, stopping_at

_INTERPRETERS = {"trial.sh": "/bin/sh", "trial.mjs": "/usr/bin/node", "trial.pl": "/usr/bin/perl"}
_COMPILED = tempfile.TemporaryDirectory()


def setUpModule():
    # As the page says.
    subprocess.run(["/usr/bin/cc", "-Wall", "-Wextra", "-Werror", os.path.join(_HERE, "trial.c"), "-o",
                    os.path.join(_COMPILED.name, "trial.c")], check=True)


def tearDownModule():
    _COMPILED.cleanup()


def commands():
    """Name and command of each program."""
    for name, interpreter in _INTERPRETERS.items():
        yield name, [interpreter, os.path.join(_HERE, name)]
    yield "trial.c", [os.path.join(_COMPILED.name, "trial.c")]


class Checkpoints:
    """Answers as `answer`, and keeps what is saved in a directory."""

    def __init__(self, directory, answer=obliging):
        self.directory = directory
        self.saved = []
        self._answer = answer

    def __call__(self, message):
        if message["t"] == "ckpt_begin":
            path = os.path.join(self.directory, "checkpoint_%d" % message["step"])
            os.mkdir(path)
            return {"t": "ckpt_dir", "path": path}
        if message["t"] == "ckpt_end":
            with open(os.path.join(message["path"], "step")) as file:
                self.saved.append(int(file.read()))
            return {"t": "ok", "path": message["path"], "events": []}
        return self._answer(message)


class AnyLanguageTest(unittest.TestCase):
    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)

    def each(self, answer, environment=None, code=0):
        """(name, result, reported steps, saved steps) of each program under a yard of its own."""
        for name, command in commands():
            directory = os.path.join(self._directory.name, name)
            os.mkdir(directory)
            checkpoints = Checkpoints(directory, answer())
            with self.subTest(name), FakeYard(checkpoints) as yard:
                result = yard.run(command, env=environment or {})
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual(result.stdout, "")
                yield name, result, [report["step"] for report in yard.reports()], checkpoints.saved

    def test_each_reports_and_saves(self):
        for _, _, steps, saved in self.each(lambda: obliging):
            self.assertEqual((steps, saved), ([1, 2, 3, 4, 5, 6], [2, 4, 6]))

    def test_each_saves_when_told_to_stop(self):
        for _, _, steps, saved in self.each(lambda: stopping_at(3)):
            self.assertEqual((steps, saved), ([1, 2, 3], [2, 3]))

    def test_each_goes_on_from_its_checkpoint(self):
        start = os.path.join(self._directory.name, "start")
        os.mkdir(start)
        with open(os.path.join(start, "step"), "w") as file:
            file.write("4\n")

        def welcome_back(message):
            if message["t"] == "hello":
                return {"t": "welcome", "v": 1, "config": {}, "checkpoint": start, "iteration": 4}
            return obliging(message)

        for _, _, steps, saved in self.each(lambda: welcome_back, {"YARD_CHECKPOINT": start}):
            self.assertEqual((steps, saved), ([5, 6], [6]))

    def test_each_ends_when_a_report_is_refused(self):
        def refuse(message):
            if message["t"] == "report":
                return {"t": "error", "code": "INVALID_ARGUMENT", "error": "not like that"}
            return obliging(message)

        for _, result, steps, saved in self.each(lambda: refuse, code=self.any_failure()):
            self.assertIn("refused", result.stderr)
            self.assertEqual((steps, saved), ([1], []))

    @staticmethod
    def any_failure():
        class NotZero:
            def __eq__(self, code):
                return code > 0

        return NotZero()

    def test_node_reads_what_it_is_told(self):
        def tell(message):
            answer = obliging(message)
            if message["t"] == "report" and message["step"] == 1:
                answer["events"] = [{"lr": 12}]
            return answer

        with FakeYard(Checkpoints(self._directory.name, tell)) as yard:
            yard.run([_INTERPRETERS["trial.mjs"], os.path.join(_HERE, "trial.mjs")])
            self.assertEqual([report["m"]["loss"] for report in yard.reports()][:3], [0.1, 6, 4])

    def test_each_prints_and_goes_on_without_a_yard(self):
        for name, command in commands():
            with self.subTest(name):
                with FakeYard() as yard:
                    # Another socket than the yard's: nothing is sent there.
                    result = yard.run(["/usr/bin/env", "YARD_FD=3:1", *command])
                    self.assertEqual(yard.messages, [])
                self.assertEqual(result.returncode, 0, result.stderr)
                reports = [json.loads(line) for line in result.stdout.splitlines()]
                steps = [report["step"] for report in reports if report["t"] == "report"]
                self.assertEqual(steps, [1, 2, 3, 4, 5, 6])

    def test_the_page_shows_them(self):
        with open(os.path.join(_HERE, "README.md")) as file:
            blocks = [block.split("\n", 1)[1] for block in file.read().split("```")[1::2]]
        for name, _ in commands():
            with self.subTest(name), open(os.path.join(_HERE, name)) as file:
                self.assertIn(file.read(), blocks)


if __name__ == "__main__":
    xml_runner.main()
