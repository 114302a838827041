"""Tests of bazel/inline_header.py: one text of several headers."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from bazel import inline_header
from bazel.python import xml_runner

_FILES = {
    "out/a/generated.h": '#ifndef G_\n#define G_\n#include "low.h"\nint generated = __LINE__;\n#endif\n',
    "low.h": "#ifndef L_\n#define L_\n#include <vector>\nstd::vector<int> low;\n#endif\n",
    "top.h": '#include "low.h"\n#include "a/generated.h"\n#include "gone.h"\nint top = __LINE__;\n',
}


class InlineHeaderTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)
        for path, content in _FILES.items():
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            pathlib.Path(path).write_text(content, encoding="utf-8")
        inline_header.main("text.h", "top.h", "low.h", "out/a/generated.h")
        self.text = pathlib.Path("text.h").read_text(encoding="utf-8")

    def test_each_header_of_ours_is_in_it_once_and_others_are_included(self):
        self.assertEqual(self.text.count("std::vector<int> low;"), 1)
        self.assertEqual(self.text.count("int generated"), 1)
        self.assertEqual([line for line in self.text.splitlines() if line.startswith("#include")],
                         ["#include <vector>", '#include "gone.h"'])

    def test_lines_keep_their_places(self):
        pathlib.Path("gone.h").touch()
        said = subprocess.run(["c++", "-E", "-iquote", ".", "-x", "c++", "text.h"], check=True, capture_output=True, text=True).stdout
        self.assertIn("int generated = 4;", said)
        self.assertIn("int top = 4;", said)
        self.assertIn('# 1 "a/generated.h"', said)


if __name__ == "__main__":
    xml_runner.main()
