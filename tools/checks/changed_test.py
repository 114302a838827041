"""Tests of the search for the tests that a change can have touched."""

import os
import subprocess
import tempfile
import unittest

from bazel.python import xml_runner
from tools.checks import changed


class ChangedTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)
        self.asked = []

    def write(self, *paths):
        for path in paths:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "a", encoding="utf-8") as file:
                file.write("line\n")

    def bazel(self, *words, code=0):
        self.asked.append(words[-1])
        return subprocess.CompletedProcess(words, code, "//a:x_test\n//b:y_test\n", "why")

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, capture_output=True)

    def test_what_differs_is_changed_moved_removed_and_new(self):
        self.write("a/kept.cc", "a/changed.cc", "a/moved.cc", "a/removed.cc", ".gitignore")
        with open(".gitignore", "w", encoding="utf-8") as file:
            file.write("*.log\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "one")
        self.write("a/changed.cc", "a/new.cc", "a/ignored.log")
        self.git("mv", "a/moved.cc", "a/there.cc")
        self.git("rm", "-q", "a/removed.cc")
        self.assertEqual(changed.files_since("HEAD"),
                         ["a/changed.cc", "a/moved.cc", "a/new.cc", "a/removed.cc", "a/there.cc"])
        with self.assertRaisesRegex(RuntimeError, "no commit named nosuch.*\n*Next step: "):
            changed.files_since("nosuch")

    def test_all_that_stands_on_a_changed_file_is_asked_for(self):
        self.write("a/BUILD", "a/deep/file.cc", "docs/page.md")
        self.assertEqual(changed.tests_touched(["a/deep/file.cc", "docs/page.md"], ["//a/...", "//b:c"], self.bazel),
                         ["//a:x_test", "//b:y_test"])
        self.assertEqual(self.asked, ["kind('_test rule', rdeps(//a/... + //b:c, "
                                      "set(\"//:docs/page.md\" \"//a:deep/file.cc\")))"])

    def test_the_whole_package_is_touched_by_its_BUILD_file_and_by_a_removed_file(self):
        self.write("a/BUILD", "b/BUILD")
        changed.tests_touched(["a/BUILD", "b/removed.cc"], ["//..."], self.bazel)
        self.assertIn('set("//a:all" "//b:all")', self.asked[0])

    def test_everything_is_touched_by_what_says_how_it_is_built(self):
        for path in (".bazelrc", "WORKSPACE", "BUILD", "bazel/defs.bzl"):
            with self.subTest(path=path):
                self.assertIsNone(changed.tests_touched([path, "a/b.cc"], ["//..."], self.bazel))
        self.assertEqual(self.asked, [])

    def test_files_that_no_target_has_touch_nothing(self):
        self.write("page.md")
        self.assertEqual(changed.tests_touched([], ["//..."], self.bazel), [])
        self.assertEqual(changed.tests_touched(["page.md"], ["//..."], lambda *words: self.bazel(*words, code=3)),
                         ["//a:x_test", "//b:y_test"])

    def test_nothing_is_left_out_without_an_answer(self):
        self.write("page.md")
        with self.assertRaisesRegex(RuntimeError, "why"):
            changed.tests_touched(["page.md"], ["//..."], lambda *words: self.bazel(*words, code=7))


if __name__ == "__main__":
    xml_runner.main()
