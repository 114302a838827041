"""Tests of which sentences are counted, and that a count can only fall."""

import contextlib
import io
import os
import tempfile
import unittest

from bazel.python import xml_runner
from tools.checks import plain_english


class SentenceTest(unittest.TestCase):
    def test_headless_beginnings_are_not_plain(self):
        for sentence in ("What is sent here is kept.", "Who asks waits.", "Of each task, in order.", "Nor is it read.",
                         "One that ends is forgotten.", "Those that wait come first.", "Null: there is none.",
                         "(What cannot be read is left out.)", "Which tags there are."):
            with self.subTest(sentence=sentence):
                self.assertFalse(plain_english.is_plain(sentence))

    def test_a_subject_a_question_and_a_pointer_are(self):
        for sentence in ("The launcher keeps it.", "What does it cost?", "What if it is killed?", "Often nothing happens.",
                         "What is promised stands in bus.md.", "Whether it lives.", "One trial a line.", "Whole runs.",
                         "What each flag does is in [cli](cli.md)."):
            with self.subTest(sentence=sentence):
                self.assertTrue(plain_english.is_plain(sentence))


class FileTest(unittest.TestCase):
    def unplain(self, path, text):
        return plain_english.unplain(path, text)

    def test_comments_of_cpp_are_joined_over_lines(self):
        prose, _ = self.unplain("a/b.cc", "// The reader waits. What\n// it has read is kept.\nint x;  // Of all.\n")
        self.assertEqual(prose, ["What it has read is kept.", "Of all."])

    def test_an_address_in_a_literal_is_no_comment(self):
        self.assertEqual(self.unplain("a/b.cc", 'auto a = "http://Of all";\n'), ([], []))

    def test_texts_for_users_are_counted_apart_and_not_in_tests(self):
        text = 'flag("port", "Of the service that answers");\n'
        self.assertEqual(self.unplain("a/b.cc", text), ([], ["Of the service that answers"]))
        self.assertEqual(self.unplain("a/b_test.cc", text), ([], []))

    def test_pages_without_code_headings_and_heads_of_tables(self):
        text = ("# What it is\n\nThe yard runs. Who reads `this`\nknows.\n\n```\nWhat a code\n```\n\n"
                "| Of what | it |\n| --- | --- |\n| Of this | plain |\n\n- What is listed.\n")
        self.assertEqual(self.unplain("docs/a.md", text)[0], ["Who reads `this` knows.", "Of this", "What is listed."])

    def test_generated_pages_and_quotations_are_not_counted(self):
        self.assertEqual(self.unplain("docs/a.md", "# A\n\nThis page is written by `tools/reference`\n\nOf all.\n")[0], [])
        self.assertEqual(self.unplain("docs/a.md", 'It says "No. Of course."\n')[0], [])

    def test_python_and_scripts(self):
        self.assertEqual(self.unplain("a/b.py", '"""What it does."""\nx = "# Of"  # Of all.\n')[0], ["What it does.", "Of all."])
        self.assertEqual(self.unplain("tools/run.sh", "#!/bin/sh\n# Who runs it.\necho '# Of all'\n")[0], ["Who runs it."])


class RatchetTest(unittest.TestCase):
    def check(self, files, allowed):
        return plain_english.check(list(files), files.get, allowed)

    def test_a_folder_may_have_what_is_allowed_and_no_more(self):
        files = {"bus/call/a.cc": "// Of all.\n", "bus/call/b.cc": "// What is left.\n"}
        self.assertEqual(self.check(files, "    2 bus/call\n"), [])
        self.assertEqual(len(self.check(files, "    1 bus/call\n")), 1)
        self.assertIn("bus/call: 2 sentences", self.check(files, "")[0])

    def test_first_pages_and_texts_for_users_have_none(self):
        self.assertEqual(len(self.check({"bus/README.md": "Of all.\n"}, "9 bus\n")), 1)
        self.assertEqual(len(self.check({"docs/tutorial.md": "Of all.\n"}, "9 docs\n")), 1)
        self.assertEqual(len(self.check({"bus/a.cc": 'x("What is sent to the hub");'}, "9 bus\n")), 1)

    def test_written_counts_only_fall(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            os.makedirs("tools/checks")
            os.makedirs("bus")
            with open("bus/a.cc", "w", encoding="utf-8") as file:
                file.write("// Of all.\n\n// Of none.\n")
            for before, after in (("5 bus\n", "    2 bus\n"), ("1 bus\n", "    1 bus\n")):
                with open(plain_english.COUNTS, "w", encoding="utf-8") as file:
                    file.write(before)
                plain_english.main(["--write"], ["bus/a.cc"])
                with open(plain_english.COUNTS, encoding="utf-8") as file:
                    self.assertEqual(file.read(), after)

    def test_lists_those_of_a_folder(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            os.makedirs("bus")
            with open("bus/a.cc", "w", encoding="utf-8") as file:
                file.write("// Of all.\n")
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                plain_english.main(["bus"], ["bus/a.cc"])
                plain_english.main(["busy"], ["bus/a.cc"])
            self.assertEqual(said.getvalue(), "bus/a.cc: Of all.\n")


if __name__ == "__main__":
    xml_runner.main()
