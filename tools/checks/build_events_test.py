"""Each way in which a test can end, and what the count says."""

import json
import unittest

from bazel.python import xml_runner
from tools.checks import build_events


def configured(label, tags=()):
    return {"id": {"targetConfigured": {"label": label}},
            "configured": {"targetKind": "cc_test rule", "testSize": "SMALL", "tag": list(tags)}}


def result(label, status="PASSED", attempt=1, shard=1, run=1):
    stem = f"file:///logs/{label.strip('/').replace(':', '/')}/{attempt}-{shard}-{run}"
    return {"id": {"testResult": {"label": label, "run": run, "shard": shard, "attempt": attempt}},
            "testResult": {"status": status,
                           "testActionOutput": [{"name": "test.log", "uri": stem + ".log"},
                                                {"name": "test.xml", "uri": stem + ".xml"}]}}


def completed(label, success=True):
    return {"id": {"targetCompleted": {"label": label}}, "completed": {"success": True} if success else {}}


def broken_action(label):
    return {"id": {"actionCompleted": {"label": label, "primaryOutput": "x.o"}},
            "action": {"exitCode": 1, "stderr": {"uri": "file:///logs/stderr-1"}}}


def finished(name):
    return {"id": {"buildFinished": {}}, "finished": {"exitCode": {"name": name}}}


PASS = '<testcase classname="S" name="Passes" status="run" result="completed"/>'
FAIL = '<testcase classname="S" name="Fails" status="run"><failure message="m"/></testcase>'
SKIP = '<testcase classname="S" name="Skips" status="run" result="skipped"><skipped/></testcase>'
OFF = '<testcase classname="S" name="DISABLED_Off" status="notrun" result="suppressed"/>'
CRASH = '<testcase name="a/x_test" status="run"><error message="exited with error code 134"/></testcase>'
WHOLE = '<testcase name="a/x_test" status="run"/>'


def judge(events, files=None, tag_filter=""):
    files = files or {}

    def read_file(path):
        if path not in files:
            raise FileNotFoundError(path)
        return f"<testsuites><testsuite>{files[path]}</testsuite></testsuites>".encode()

    lines = [json.dumps(event) for event in events]
    return build_events.judge(build_events.read_events(lines), build_events.TagFilter(tag_filter), read_file)


def names(failures):
    return [failure.name for failure in failures]


class BuildEventsTest(unittest.TestCase):
    def test_counts_cases_and_not_targets(self):
        verdict = judge([configured("//a:x_test"), result("//a:x_test"), finished("SUCCESS")],
                        {"/logs/a/x_test/1-1-1.xml": PASS * 3})
        self.assertEqual(verdict.summary(), "3 passed, 0 failed")

    def test_names_a_failing_case_and_its_log(self):
        verdict = judge([configured("//a:x_test"), result("//a:x_test", "FAILED"), finished("TESTS_FAILED")],
                        {"/logs/a/x_test/1-1-1.xml": PASS + FAIL})
        self.assertEqual(verdict.summary(), "1 passed, 1 failed")
        self.assertEqual(names(verdict.failures), ["//a:x_test S.Fails"])
        self.assertEqual(verdict.failures[0].log, "/logs/a/x_test/1-1-1.log")

    def test_a_crash_is_one_failure(self):
        verdict = judge([configured("//a:x_test"), result("//a:x_test", "FAILED"), finished("TESTS_FAILED")],
                        {"/logs/a/x_test/1-1-1.xml": CRASH})
        self.assertEqual(names(verdict.failures), ["//a:x_test"])
        self.assertEqual(verdict.passed, 0)

    def test_a_failure_after_the_last_case_counts(self):
        verdict = judge([configured("//a:x_test"), result("//a:x_test", "FAILED"), finished("TESTS_FAILED")],
                        {"/logs/a/x_test/1-1-1.xml": PASS * 2})
        self.assertEqual(verdict.summary(), "2 passed, 1 failed")
        self.assertEqual(names(verdict.failures), ["//a:x_test (failed)"])

    def test_a_timeout_without_a_file_counts(self):
        verdict = judge([configured("//a:x_test"), result("//a:x_test", "TIMEOUT"), finished("TESTS_FAILED")])
        self.assertEqual(names(verdict.failures), ["//a:x_test (timeout)"])

    def test_a_test_that_did_not_build_counts_with_the_compiler_output(self):
        verdict = judge([configured("//a:x_test"), broken_action("//a:x_test"),
                         completed("//a:x_test", success=False), finished("BUILD_FAILURE")])
        self.assertEqual(names(verdict.failures), ["//a:x_test (did not build or run)"])
        self.assertEqual(verdict.failures[0].log, "/logs/stderr-1")

    def test_a_broken_library_is_named_beside_the_tests_it_took_along(self):
        verdict = judge([configured("//a:x_test"), broken_action("//a:lib"),
                         completed("//a:lib", success=False), completed("//a:x_test", success=False),
                         finished("BUILD_FAILURE")])
        self.assertEqual(sorted(names(verdict.failures)),
                         ["//a:lib (did not build)", "//a:x_test (did not build or run)"])

    def test_names_skipped_and_disabled_cases(self):
        verdict = judge([configured("//a:x_test"), result("//a:x_test"), finished("SUCCESS")],
                        {"/logs/a/x_test/1-1-1.xml": PASS + SKIP + OFF})
        self.assertEqual(verdict.summary(), "1 passed, 0 failed, 2 skipped")
        self.assertEqual(verdict.skipped, ["//a:x_test S.Skips", "//a:x_test S.DISABLED_Off"])

    def test_skips_can_count_as_failures(self):
        verdict = judge([configured("//a:x_test"), result("//a:x_test"), finished("SUCCESS")],
                        {"/logs/a/x_test/1-1-1.xml": PASS + SKIP})
        verdict.count_skips_as_failures()
        self.assertEqual(verdict.summary(), "1 passed, 1 failed")
        self.assertEqual(names(verdict.failures), ["//a:x_test S.Skips (skipped)"])

    def test_what_needs_something_that_may_be_missing_is_named_and_is_no_failure(self):
        not_run = '<testcase classname="S" name="Old" status="run"><skipped message="not run: X is not set: why"/></testcase>'
        verdict = judge([configured("//a:x_test"), result("//a:x_test"), finished("SUCCESS")],
                        {"/logs/a/x_test/1-1-1.xml": PASS + SKIP + not_run})
        self.assertEqual(verdict.not_run, ["//a:x_test S.Old: X is not set: why"])
        verdict.count_skips_as_failures()
        self.assertEqual(names(verdict.failures), ["//a:x_test S.Skips (skipped)"])

    def test_a_test_with_no_case_fails(self):
        verdict = judge([configured("//a:x_test"), result("//a:x_test"), finished("SUCCESS")],
                        {"/logs/a/x_test/1-1-1.xml": ""})
        self.assertEqual(names(verdict.failures), ["//a:x_test (has no test case)"])

    def test_a_program_without_cases_of_its_own_is_one_case(self):
        verdict = judge([configured("//a:x_test"), result("//a:x_test"), finished("SUCCESS")],
                        {"/logs/a/x_test/1-1-1.xml": WHOLE})
        self.assertEqual(verdict.summary(), "1 passed, 0 failed")

    def test_filtered_tests_are_not_missing(self):
        events = [configured("//a:x_test", ["long"]), finished("SUCCESS")]
        self.assertEqual(judge(events, tag_filter="-long").summary(), "0 passed, 0 failed")
        self.assertEqual(judge(events, tag_filter="fuzz").summary(), "0 passed, 0 failed")
        self.assertEqual(judge(events, tag_filter="long").summary(), "0 passed, 1 failed")

    def test_the_last_attempt_and_every_shard_count(self):
        verdict = judge([configured("//a:x_test"), result("//a:x_test", "FAILED", attempt=1),
                         result("//a:x_test", attempt=2), result("//a:x_test", shard=2), finished("SUCCESS")],
                        {"/logs/a/x_test/1-1-1.xml": FAIL, "/logs/a/x_test/2-1-1.xml": PASS,
                         "/logs/a/x_test/1-2-1.xml": PASS * 2})
        self.assertEqual(verdict.summary(), "3 passed, 0 failed")

    def test_a_run_that_broke_off_is_a_failure(self):
        self.assertEqual(names(judge([]).failures), ["bazel ended with no word"])
        self.assertEqual(names(judge([finished("COMMAND_LINE_ERROR")]).failures),
                         ["bazel ended with COMMAND_LINE_ERROR"])

    def test_a_torn_last_line_is_ignored(self):
        events = build_events.read_events([json.dumps(finished("SUCCESS")), '{"id": {"testRes'])
        self.assertEqual(build_events.judge(events).summary(), "0 passed, 0 failed")


if __name__ == "__main__":
    xml_runner.main()
