"""The three programs under a yard and without one, told nothing of where their data is."""

import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

_HERE = os.path.dirname(os.path.abspath(__file__))
_SDK = os.path.join(_HERE, "../../sdk/python")
sys.path[:0] = [_SDK, os.path.join(_SDK, "testing")]
import xml_runner
from fake_yard import FakeYard, HANG_UP, WELCOME, obliging, outside, stopping_at

_BINARY = os.path.abspath(os.environ["DIGITS"])


class Program:
    """The tests that each of the three programs passes; `command` starts it with a number of
    epochs."""

    def command(self, epochs):
        raise NotImplementedError

    def final_accuracy(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        last = result.stdout.splitlines()[-1]
        self.assertRegex(last, r"^accuracy 0\.\d{4}$")
        return float(last.split()[1])

    def test_learns_and_reports_each_epoch(self):
        with FakeYard() as yard:
            result = yard.run(self.command(self.epochs), cwd="/")
            accuracy = self.final_accuracy(result)
            self.assertGreaterEqual(accuracy, 0.95)
            rows = [report["m"] for report in yard.reports()]
            self.assertEqual([report["step"] for report in yard.reports()],
                             list(range(1, self.epochs + 1)))
            self.assertAlmostEqual(rows[-1]["accuracy"], accuracy, places=4)
            self.assertLess(rows[-1]["loss"], rows[0]["loss"] / 2)
            self.assertEqual(set(rows[0]), {"loss", "accuracy"})

    def test_stops_when_told_to(self):
        with FakeYard(stopping_at(2)) as yard:
            self.final_accuracy(yard.run(self.command(5)))
            self.assertEqual(len(yard.reports()), 2)

    def test_goes_on_without_a_yard(self):
        result = subprocess.run(self.command(2), env=outside(), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=60)
        self.final_accuracy(result)
        self.assertEqual(len(re.findall("loss", result.stdout)), 2)

    def test_goes_on_in_a_task_that_is_no_trial(self):
        def answer(message):
            return {"t": "error", "code": "FAILED_PRECONDITION", "error": "this task is no trial"}

        with FakeYard(answer) as yard:
            result = yard.run(self.command(2))
            self.final_accuracy(result)
            self.assertEqual(len(re.findall("loss", result.stdout)), 2)
            self.assertEqual(len(yard.messages), 1)

    def test_takes_no_other_file_for_the_channel(self):
        with FakeYard() as yard, tempfile.TemporaryFile() as file:
            shell = ["sh", "-c", 'exec "$@" 3>&1', "sh"] + self.command(1)
            result = subprocess.run(
                shell, env=outside({"YARD_FD": "3:%s" % yard.spec.split(":")[1]}),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
            self.final_accuracy(result)
            yard.finish()
            self.assertEqual(yard.messages, [])

    def test_a_yard_that_hangs_up_is_a_failure_with_a_reason(self):
        def answer(message):
            return WELCOME if message["t"] == "hello" else HANG_UP

        with FakeYard(answer) as yard:
            result = yard.run(self.command(3))
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn("the yard closed the report channel", result.stderr)

    def test_a_refused_report_is_a_failure_with_a_reason(self):
        def answer(message):
            if message["t"] == "report":
                return {"t": "error", "code": "INTERNAL", "error": "disk full"}
            return obliging(message)

        with FakeYard(answer) as yard:
            result = yard.run(self.command(3))
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn("disk full", result.stderr)
            self.assertEqual(len(yard.reports()), 1)


class Seeded(Program):

    def losses(self, *flags, **environment):
        with FakeYard() as yard:
            result = yard.run(self.command(2) + list(flags), env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            return [report["m"]["loss"] for report in yard.reports()]

    def test_the_seed_decides(self):
        first = self.losses("--seed=5")
        self.assertEqual(self.losses(YARD_SEED="5"), first)
        self.assertNotEqual(self.losses(YARD_SEED="6"), first)
        self.assertEqual(self.losses("--seed=5", YARD_SEED="6"), first)

    def test_says_hello_and_marks_the_last_report(self):
        with FakeYard() as yard:
            yard.run(self.command(2))
            hello = yard.messages[0]
            self.assertEqual((hello["t"], hello["v"]), ("hello", 1))
            self.assertEqual([report.get("done", False) for report in yard.reports()],
                             [False, True])
            self.assertEqual([report["seq"] for report in yard.reports()], [1, 2])

    def test_an_epoch_takes_at_least_as_long_as_asked(self):
        begin = time.monotonic()
        self.losses("--min_epoch_ms=100")
        self.assertGreaterEqual(time.monotonic() - begin, 0.2)

    def test_the_data_can_be_named(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "few.csv")
            with open(os.path.join(_HERE, "digits.csv")) as whole, open(path, "w") as few:
                few.writelines(whole.readlines()[:100])
            self.assertNotEqual(self.losses("--data", path), self.losses())
        result = subprocess.run(self.command(1) + ["--data", path], env=outside(),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn(path, result.stderr)

    def test_help_is_no_failure(self):
        result = subprocess.run(self.command(1) + ["--help"], env=outside(), text=True,
                                stdout=subprocess.PIPE)
        self.assertEqual(result.returncode, 0)
        self.assertIn("--min_epoch_ms", result.stdout)


class CcTest(Seeded, unittest.TestCase):
    epochs = 30

    def command(self, epochs):
        return [_BINARY, "--epochs", str(epochs)]

    def test_a_wrong_flag_is_refused(self):
        for flag in ("--epochs=0", "--epochs=x", "--nonsense"):
            result = subprocess.run([_BINARY, flag], env=outside(), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
            self.assertNotEqual(result.returncode, 0)


class PythonTest(Seeded, unittest.TestCase):
    epochs = 30

    def command(self, epochs):
        return ["/usr/bin/python3", os.path.join(_HERE, "digits.py"), "--epochs", str(epochs)]


class ShellTest(Program, unittest.TestCase):
    epochs = 5

    def command(self, epochs):
        return [os.path.join(_HERE, "digits.sh"), str(epochs)]


if __name__ == "__main__":
    xml_runner.main()
