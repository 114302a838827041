"""The man page yard.1 has every verb, and man renders it without a warning."""

import pathlib
import re
import subprocess
import tempfile
import unittest

from bazel.python import xml_runner
from tests import yard_case
from tools.references import man_page, pages

YARD = str(pathlib.Path(yard_case.YARD).absolute())


class ManPageTest(unittest.TestCase):
    def test_man_renders_it_without_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "yard.1")
            page.write_text(man_page.man_page(YARD), encoding="utf-8")
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(page)], capture_output=True, text=True,
                                  env={"PATH": "/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8", "MANWIDTH": "120",
                                       "MANPAGER": "cat", "PAGER": "cat", "GROFF_NO_SGR": "1"}, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = re.sub(".\b", "", done.stdout)  # Bold is typed twice.
        for verb in pages.verbs(YARD):
            self.assertIn("yard " + verb, text)
            for line in pages.run(YARD, verb, "--help").splitlines():
                self.assertIn(line.strip(), text)
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "ENVIRONMENT", "FILES"):
            self.assertIn(section, text)

    def test_text_that_roff_would_take_for_its_own_is_text(self):
        self.assertEqual(man_page.text_of(".TH \\fB--x\n'y"), "\\&.TH \\efB\\-\\-x\n\\&'y")


if __name__ == "__main__":
    xml_runner.main()
