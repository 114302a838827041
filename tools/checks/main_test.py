"""Tests of the stages that a command line asks for, and of the report."""

import contextlib
import io
import os
import tempfile
import unittest
import unittest.mock

from bazel.python import xml_runner
from tools.checks import main
from tools.checks.build_events import Failure, Verdict

ORDER = ["layers", "format", "pages", "default", "install", "packages", "containers", "tidy", "long", "gcc", "asan", "tsan", "fuzz"]


def chosen(*arguments):
    return main.chosen(main.parse(arguments), ORDER)


def report(verdict, ci=False):
    lines = []
    main.report(verdict, lines.append, ci)
    return lines


class CommandLineTest(unittest.TestCase):
    def test_the_usual_run(self):
        self.assertEqual(chosen(), ["layers", "format", "pages", "default"])

    def test_long_is_everything(self):
        self.assertEqual(chosen("--long"), ORDER)
        self.assertEqual(sorted(main.CONFIGS + main.CHECKS), sorted(ORDER))

    def test_one_option_is_one_stage(self):
        self.assertEqual(chosen("--config=asan"), ["asan"])
        self.assertEqual(chosen("--check=tidy"), ["tidy"])
        self.assertEqual(chosen("--config=tsan", "--check=layers"), ["layers", "tsan"])

    def test_an_unknown_stage_is_refused(self):
        for arguments in (["--config=msan"], ["--long", "--config=asan"]):
            with self.subTest(arguments=arguments), contextlib.redirect_stderr(io.StringIO()):
                with self.assertRaises(SystemExit) as refused:
                    main.parse(arguments)
                self.assertEqual(refused.exception.code, 2)


class TouchedTest(unittest.TestCase):
    def touched(self, tests):
        lines = []
        with unittest.mock.patch.object(main.changed, "files_since", return_value=["a.cc", "b.cc"]), \
                unittest.mock.patch.object(main.changed, "tests_touched", return_value=tests):
            return main.touched(["//..."], "HEAD~3", lines.append), lines

    def test_only_what_a_change_can_have_touched_is_run(self):
        self.assertEqual(self.touched(["//a:x_test"]),
                         (["//a:x_test"], ["changed: 2 files since HEAD~3 can have touched 1 test programs"]))

    def test_all_is_run_when_that_can_be_everything(self):
        self.assertEqual(self.touched(None),
                         (["//..."], ["changed: 2 files since HEAD~3 can have touched every test program"]))


class PeersTest(unittest.TestCase):
    def peers(self, script, words=()):
        program = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "peers")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(program, 0o755)
        self.enterContext(unittest.mock.patch.dict(os.environ, {"YARD_PEERS": "/old"}))
        self.lines = []
        return main.Peers(self.lines.append, program, words)

    def test_their_folder_is_the_last_line(self):
        peers = self.peers("echo installed one >&2; echo /the/folder\n")
        peers.wait()
        self.assertEqual(os.environ["YARD_PEERS"], "/the/folder")
        self.assertTrue(peers.are_there())
        peers.wait()
        self.assertEqual(len(self.lines), 1)

    def test_those_of_long_tests_are_asked_for(self):
        self.peers('echo "/folder$*"\n', ["--long"]).wait()
        self.assertEqual(os.environ["YARD_PEERS"], "/folder--long")

    def test_without_them_the_tests_are_told_so(self):
        self.peers("echo cannot install one; exit 1\n").wait()
        self.assertNotIn("YARD_PEERS", os.environ)
        self.assertEqual(self.lines[0], "cannot install one")

    def test_they_are_not_there_while_they_are_installed(self):
        reading, writing = os.pipe()
        os.set_inheritable(reading, True)
        with unittest.mock.patch.object(main.subprocess, "Popen",
                                        lambda *words, **options: _POPEN(*words, **options, close_fds=False)):
            peers = self.peers(f"read line <&{reading}; echo /the/folder\n")
        self.assertFalse(peers.are_there())
        os.write(writing, b"go\n")
        peers.wait()
        self.assertEqual(os.environ["YARD_PEERS"], "/the/folder")
        os.close(reading)
        os.close(writing)


_POPEN = main.subprocess.Popen


class FakeStages:
    def __init__(self, verdict):
        self._verdict = verdict

    def run(self, name):
        if isinstance(self._verdict, Exception):
            raise self._verdict
        return self._verdict


class StageTest(unittest.TestCase):
    def said(self, verdict):
        lines = []
        self.verdict = main.run_stage(FakeStages(verdict), "asan", lines.append, self.durations)
        return lines

    def setUp(self):
        self.durations = {}

    def test_what_failed_is_named_at_once(self):
        lines = self.said(Verdict(passed=1, failures=[Failure("//a:b S.C"), Failure("//a:b S.D")]))
        self.assertRegex(lines[0], r"^asan: 1 passed, 2 failed  \(0 s\)$")
        self.assertEqual(lines[1:], ["  //a:b S.C", "  //a:b S.D"])

    def test_one_that_cannot_be_run_has_failed(self):
        self.assertEqual(self.said(RuntimeError("no compiler"))[1:], ["  asan"])
        self.assertEqual(self.verdict.failures[0].text, "no compiler")

    def test_its_seconds_are_noted(self):
        self.said(Verdict(passed=1))
        self.assertEqual(list(self.durations), ["asan"])
        self.assertLess(self.durations["asan"], 60)

    def test_the_longest_stage_comes_first_among_the_minutes(self):
        self.assertEqual(main.minutes({"layers": 6, "asan": 720, "default": 900}),
                         "took 27.1 min: default 15.0, asan 12.0, layers 0.1")


class ReportTest(unittest.TestCase):
    def test_the_count_is_the_last_line(self):
        self.assertEqual(report(Verdict(passed=3)), ["3 passed, 0 failed"])

    def test_failures_come_last_and_are_explained(self):
        lines = report(Verdict(passed=1, failures=[Failure("format", text="a.cc:1: wrong")], skipped=["//a:b S.C"]))
        self.assertEqual(lines[0], "skipped: //a:b S.C")
        self.assertIn("a.cc:1: wrong", lines)
        self.assertEqual(lines[-2:], ["failed: format", "1 passed, 1 failed, 1 skipped"])

    def test_a_skip_is_a_failure_under_ci(self):
        lines = report(Verdict(passed=1, skipped=["//a:b S.C"]), ci=True)
        self.assertEqual(lines[0], "skipped: //a:b S.C")
        self.assertEqual(lines[-2:], ["failed: //a:b S.C (skipped)", "1 passed, 1 failed"])

    def test_what_was_not_run_is_said_and_is_no_failure_under_ci(self):
        self.assertEqual(report(Verdict(passed=1, not_run=["//a:b S.C: X is not set"]), ci=True),
                         ["not run: //a:b S.C: X is not set", "1 passed, 0 failed"])

    def test_one_explanation_is_shown_once(self):
        lines = report(Verdict(failures=[Failure("a", text="the same"), Failure("b", text="the same")]))
        self.assertEqual(lines.count("the same"), 1)


if __name__ == "__main__":
    xml_runner.main()
