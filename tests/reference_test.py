"""The pages that are written by a program say what the program says today."""

import difflib
import pathlib
import unittest

from bazel.python import xml_runner
from tools.references import pages

YARD = "tools/yard/yard"
LINES = 30  # Lines of a difference that are shown.


class ReferenceTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.pages = pages.pages(YARD)

    def test_every_page_is_up_to_date(self):
        self.assertEqual(len(self.pages), 3)
        for name, text in self.pages.items():
            with self.subTest(name):
                path = pathlib.Path("docs", name)
                written = path.read_text(encoding="utf-8") if path.exists() else ""
                difference = list(difflib.unified_diff(
                    written.splitlines(), text.splitlines(), str(path), "what it should be", lineterm="", n=1))
                self.assertEqual(difference, [], "\n%s is out of date; this mends it: %s\n%s" % (
                    path, pages.MEND, "\n".join(difference[:LINES])))

    def test_commands_has_every_verb(self):
        verbs = pages.verbs(YARD)
        self.assertIn("up", verbs)
        self.assertIn("call", verbs)
        for verb in verbs:
            self.assertTrue("## %s\n\n```text\n  yard %s" % (verb, verb) in self.pages["commands.md"], verb)

    def test_the_protocol_has_every_service(self):
        titles = self.pages["protocol_reference.md"].splitlines()
        for service in ("Registry", "Launcher", "Trainer", "Datamanager", "Common"):
            self.assertEqual(titles.count("### Methods of %s" % service), 1, service)


if __name__ == "__main__":
    xml_runner.main()
