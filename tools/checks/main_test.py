"""Which stages a command line asks for, and what the report looks like."""

import contextlib
import io
import unittest

from bazel.python import xml_runner
from tools.checks import main
from tools.checks.build_events import Failure, Verdict

ORDER = ["layers", "format", "pages", "default", "install", "containers", "tidy", "long", "asan", "tsan", "fuzz"]


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
        self.verdict = main.run_stage(FakeStages(verdict), "asan", lines.append)
        return lines

    def test_what_failed_is_named_at_once(self):
        lines = self.said(Verdict(passed=1, failures=[Failure("//a:b S.C"), Failure("//a:b S.D")]))
        self.assertRegex(lines[0], r"^asan: 1 passed, 2 failed  \(0 s\)$")
        self.assertEqual(lines[1:], ["  //a:b S.C", "  //a:b S.D"])

    def test_one_that_cannot_be_run_has_failed(self):
        self.assertEqual(self.said(RuntimeError("no compiler"))[1:], ["  asan"])
        self.assertEqual(self.verdict.failures[0].text, "no compiler")


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

    def test_one_explanation_is_shown_once(self):
        lines = report(Verdict(failures=[Failure("a", text="the same"), Failure("b", text="the same")]))
        self.assertEqual(lines.count("the same"), 1)


if __name__ == "__main__":
    xml_runner.main()
