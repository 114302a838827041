"""The stages, with a program in Bazel's place that answers as told."""

import io
import os
import tempfile
import unittest
import unittest.mock

from bazel.python import xml_runner
from tools.checks import stages


class InADirectory(unittest.TestCase):
    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)
        self.directory = self._directory.name

    def path(self, name, text, mode=0o644):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path


class StagesTest(InADirectory):
    def run_stage(self, name, events="", exit_code=0, **options):
        """`events` is what the stand-in writes into the build event file."""
        self.enterContext(unittest.mock.patch.object(stages.compiled, "tests_with", return_value=["//a:b_test"]))
        self.enterContext(unittest.mock.patch.object(stages, "open", lambda path, *words, **options: (
            io.StringIO("the page") if path == "docs/build.md" else open(path, *words, **options)), create=True))
        events_path = self.path("events", events)
        bazel = self.path("bazel", "#!/usr/bin/env bash\n"
                          'echo "called: $*"\n'
                          'for word in "$@"; do case "$word" in --build_event_json_file=*)\n'
                          f'  cp {events_path} "${{word#*=}}" ;; esac; done\n'
                          f"exit {exit_code}\n", 0o755)
        running = stages.Stages(["//a/..."], self.directory, lambda line: None, bazel, **options)
        verdict = running.run(name)
        with open(running.log_path(name), encoding="utf-8") as log:
            return verdict, log.read()

    def test_the_default_configuration_leaves_long_tests_out(self):
        _, log = self.run_stage("default")
        self.assertIn("--test_tag_filters=-long", log)
        self.assertIn("-- //a/...", log)
        self.assertNotIn("--config", log)

    def test_each_configuration_is_asked_for_by_its_name(self):
        for name in ["asan", "fuzz"]:
            with self.subTest(name=name):
                self.assertIn("--config=" + name, self.run_stage(name)[1])

    def test_the_address_sanitizer_is_given_the_tests_of_what_is_compiled(self):
        _, log = self.run_stage("asan")
        self.assertIn("--config=asan --build_tests_only -- //a:b_test\n", log)
        with unittest.mock.patch.object(stages.compiled, "tests_with", return_value=[]) as asked:
            self.assertEqual(stages.Stages([], self.directory, lambda line: None).run("asan").summary(), "0 passed, 0 failed")
            self.assertEqual(asked.call_args.args[:2], ([], "the page"))

    def test_the_other_compiler_builds_everything(self):
        finished = '{"id":{"buildFinished":{}},"finished":{"exitCode":{"name":"%s"}}}\n'
        verdict, log = self.run_stage("gcc", finished % "SUCCESS")
        self.assertIn("called: build ", log)
        self.assertIn("--config=gcc -- //a/...", log)
        self.assertEqual(verdict.summary(), "1 passed, 0 failed")
        self.assertEqual(self.run_stage("gcc", finished % "BUILD_FAILURE", 1)[0].summary(), "0 passed, 1 failed")

    def test_all_is_compiled_while_the_peers_are_not_there(self):
        said = []
        bazel = self.path("bazel_that_tells", f"#!/bin/sh\necho $1 >>{self.directory}/order\n", 0o755)
        running = stages.Stages(["//..."], self.directory, said.append, bazel, peers_are_there=lambda: False,
                                await_peers=lambda: self.path("awaited", open(self.directory + "/order").read()))
        running.run("default")
        with open(self.directory + "/awaited", encoding="utf-8") as before, \
                open(self.directory + "/order", encoding="utf-8") as all_of_it:
            self.assertEqual((before.read(), all_of_it.read()), ("build\n", "build\ntest\n"))

    def test_the_thread_sanitizer_is_given_the_tests_that_have_threads(self):
        with unittest.mock.patch.object(stages.threads, "tests_with", return_value=["//a:b_test"]) as chosen, \
                unittest.mock.patch.object(stages, "tracked_sources", return_value=["a/b.cc"]):
            _, log = self.run_stage("tsan")
            self.assertEqual(chosen.call_args.args[:2], (["a/b.cc"], ["//a/..."]))
            self.assertIn("--config=tsan", log)
            self.assertIn("-- //a:b_test\n", log)
            chosen.return_value = []
            self.assertEqual(stages.Stages([], self.directory, lambda line: None).run("tsan").summary(), "0 passed, 0 failed")

    def test_a_bazel_that_dies_is_a_failure_with_its_log(self):
        for name in ["default", "long", "gcc", "asan", "fuzz"]:
            with self.subTest(name=name):
                verdict, _ = self.run_stage(name, exit_code=37)
                self.assertEqual((verdict.passed, len(verdict.failures)), (0, 1))
                failure = verdict.failures[0]
                self.assertIn("called:", failure.text)

    def test_what_the_compiler_said_outlives_the_next_stage(self):
        said = self.path("stderr-1", "x.cc:1: error: no such thing\n")
        events = ('{"id":{"targetConfigured":{"label":"//a:b"}},"configured":{"testSize":"SMALL"}}\n'
                  '{"id":{"actionCompleted":{"label":"//a:b"}},"action":{"stderr":{"uri":"file://%s"}}}\n'
                  '{"id":{"buildFinished":{}},"finished":{"exitCode":{"name":"BUILD_FAILURE"}}}\n' % said)
        for name, shown in [("default", "//a:b (did not build or run)"), ("asan", "asan: //a:b (did not build or run)")]:
            with self.subTest(name=name):
                failure = self.run_stage(name, events, 1)[0].failures[0]
                self.assertEqual(failure.name, shown)
                self.assertIn("no such thing", failure.text)

    def test_what_is_no_test_is_analysed_too(self):
        for name, only_tests in [("default", False), ("asan", True), ("fuzz", True)]:
            with self.subTest(name=name):
                self.assertEqual("--build_tests_only" in self.run_stage(name)[1], only_tests)


class TextTest(InADirectory):
    def test_case_output_is_the_part_of_that_case(self):
        log = self.path("log", "noise\n[ RUN      ] S.A\nwhy a\n[  FAILED  ] S.A (0 ms)\n"
                        "[ RUN      ] S.B\nwhy b\n[  FAILED  ] S.B (0 ms)\n")
        self.assertEqual(stages.case_output(log, "S.B", 10), "why b")

    def test_what_only_tests_use_is_no_program(self):
        files = ["a/b.cc", "a/b_test.cc", "a/testing/fake.h", "bench/run.cc", "tests/programs/train.py"]
        with unittest.mock.patch.object(stages, "tracked", return_value=files):
            self.assertEqual(stages._programs(), ["a/b.cc"])

    def test_case_output_of_a_long_case_is_its_ends(self):
        log = self.path("log", "[ RUN      ] S.A\n" + "".join(f"{i}\n" for i in range(100)) + "[  FAILED  ] S.A\n")
        self.assertEqual(stages.case_output(log, "S.A", 4).split(), ["0", "1", "...", "98", "99"])

    def test_case_output_of_a_crash_is_the_end_of_the_log(self):
        log = self.path("log", "[ RUN      ] S.A\nlast words\n")
        self.assertIn("last words", stages.case_output(log, "//a:x_test", 10))

    def test_errors_are_what_bazel_calls_so(self):
        self.assertEqual(stages.errors(self.path("log", "INFO: a\nERROR: b\nc\nERROR: d\n")), "ERROR: b\nERROR: d")
        self.assertEqual(stages.errors(self.path("log", "something else\n")), "something else")

    def test_the_tail_is_plain_text(self):
        log = self.path("log", 'exec ${PAGER:-/usr/bin/less} "$0" || exit 1\n\x1b[1mx.cc:1\x1b[0m \x1b[0;1;31merror\n')
        self.assertEqual(stages.tail(log, 5), "x.cc:1 error")

    def test_a_missing_log_is_no_text(self):
        self.assertEqual(stages.tail(os.path.join(self.directory, "none"), 3), "")
        self.assertEqual(stages.case_output(os.path.join(self.directory, "none"), "S.A", 3), "")


if __name__ == "__main__":
    xml_runner.main()
