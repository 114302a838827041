"""Tests of which files clang-tidy is asked about, with a program in its place that notes what it is asked."""

import os
import tempfile
import unittest

from bazel.python import xml_runner
from tools.checks import tidy


class TidyTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.said = []
        self.made = "execroot/made"
        for folder in ["a", "execroot/made/b"]:
            os.makedirs(os.path.join(self.directory, folder))
        self.write(".clang-tidy", "Checks: all\n")
        self.write(".bazelrc", "build --action_env=YARD_IMAGE=1\n")
        self.write("a/one.cc", '#include <vector>\n#include "a/one.h"\n#include "absl/none.h"\nint one;\n')
        self.write("a/one.h", '  #  include "b/made.h"\n')
        self.write("execroot/made/b/made.h", "// One.\n")
        self.write("a/two.cc", "int two;\n")
        self.write("tool", "#!/bin/sh\n"
                   'case "$1" in --version) echo "tool 1"; exit;; esac\n'
                   'for file; do :; done\necho "$file" >> asked\n'
                   'if grep -q bad "$file"; then echo "$file: bad"; exit 1; fi\n'
                   'if grep -q killed "$file"; then kill -9 $$; fi\n')
        os.chmod(os.path.join(self.directory, "tool"), 0o755)

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.write(text)

    def ask(self, **arguments):
        """Returns the files that the tool was asked about, and the complaints."""
        self.write("asked", "")
        made = os.path.join(self.directory, self.made)
        commands = [{"file": file, "arguments": ["gcc", "-isystem", made, *arguments.get(name, []), "-c", file]}
                    for name, file in [("one", "a/one.cc"), ("two", "a/two.cc")]]
        found = tidy.complaints(commands, self.directory, self.directory,
                                tidy.Passed(os.path.join(self.directory, "passed")), self.said.append,
                                tool=os.path.join(self.directory, "tool"))
        with open(os.path.join(self.directory, "asked"), encoding="utf-8") as file:
            return sorted(file.read().split()), found

    def test_a_file_that_has_passed_is_not_looked_at_again(self):
        self.assertEqual(self.ask(), (["a/one.cc", "a/two.cc"], []))
        self.assertEqual(self.ask(), ([], []))

    def test_a_file_that_is_complained_about_is_so_each_time_and_at_once(self):
        self.write("a/two.cc", "int bad;\n")
        self.assertEqual(self.ask(), (["a/one.cc", "a/two.cc"], ["a/two.cc: bad"]))
        self.assertEqual(self.ask(), (["a/two.cc"], ["a/two.cc: bad"]))
        self.assertIn("tidy: a/two.cc is complained about", self.said)

    def test_a_tool_that_dies_without_a_word_is_a_complaint(self):
        self.write("a/two.cc", "int killed;\n")
        _, found = self.ask()
        self.assertEqual([text[:9] for text in found], ["a/two.cc:"])
        self.assertEqual(self.ask()[0], ["a/two.cc"])

    def test_a_change_of_what_a_file_is_made_of_is_a_reason_to_look_at_it(self):
        self.ask()
        for name, text in [("a/one.cc", '#include "a/one.h"\nint another;\n'),
                           ("a/one.h", '#include "b/made.h"\n// More.\n'),
                           ("execroot/made/b/made.h", "// Another.\n")]:
            with self.subTest(name=name):
                self.write(name, text)
                self.assertEqual(self.ask(), (["a/one.cc"], []))

    def test_so_is_a_header_that_was_not_there(self):
        self.ask()
        os.makedirs(os.path.join(self.directory, "absl"))
        self.write("absl/none.h", "// Now.\n")
        self.assertEqual(self.ask(), (["a/one.cc"], []))

    def test_so_is_how_it_is_compiled(self):
        self.ask()
        self.assertEqual(self.ask(two=["-DNEW"]), (["a/two.cc"], []))

    def test_so_is_what_is_checked_and_with_what(self):
        self.ask()
        for name, old, new in [(".clang-tidy", "all", "more"), (".bazelrc", "1", "2"), ("tool", "tool 1", "tool 2")]:
            with self.subTest(name=name):
                with open(os.path.join(self.directory, name), encoding="utf-8") as file:
                    text = file.read()
                self.write(name, text.replace(old, new))
                self.assertEqual(self.ask(), (["a/one.cc", "a/two.cc"], []))

    def test_another_checkout_knows_it_too(self):
        self.ask()
        output_base = os.path.join(self.directory, "elsewhere", "execroot")
        os.makedirs(output_base)
        os.rename(os.path.join(self.directory, "execroot", "made"), os.path.join(output_base, "made"))
        self.made = os.path.join("elsewhere", "execroot", "made")
        self.assertEqual(self.ask(), ([], []))

    def test_what_was_not_asked_for_in_a_month_is_forgotten(self):
        folder = os.path.join(self.directory, "passed")
        passed = tidy.Passed(folder)
        passed.add("old")
        os.utime(os.path.join(folder, "old"), (1, 1))
        passed.add("new")
        passed.forget_unused(os.stat(os.path.join(folder, "new")).st_mtime)
        self.assertEqual(os.listdir(folder), ["new"])


if __name__ == "__main__":
    xml_runner.main()
