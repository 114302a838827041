"""Tests of the choice of the tests that run with the thread sanitizer."""

import os
import subprocess
import tempfile
import unittest

from bazel.python import xml_runner
from tools.checks import threads

_FILES = {
    "a/BUILD": "",
    "a/one.cc": "#include <vector>\n// std::thread\n",
    "a/deep/pool.h": "#include <memory>\n  #  include <thread>\n",
    "a/deep/BUILD": "",
    "a/deep/sub/socket.cc": '#include "a.h"\n#include <zmq.hpp>\n',
    "loop.cc": "#include <asio/post.hpp>\n",
}


class ThreadsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)
        for path, content in _FILES.items():
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        self.sources = [path for path in _FILES if not path.endswith("BUILD")]
        self.asked = []

    def bazel(self, *words, code=0):
        self.asked.append(words)
        return subprocess.CompletedProcess(words, code, "//a:x_test\n//a:y_test\n", "why")

    def test_a_thread_begins_where_its_header_is_included(self):
        self.assertEqual(threads.starters(self.sources),
                         ["//a/deep:pool.h", "//a/deep:sub/socket.cc", "//:loop.cc"])

    def test_all_that_stands_on_it_is_asked_for(self):
        self.assertEqual(threads.tests_with(self.sources, ["//a/...", "//b:c"], self.bazel), ["//a:x_test", "//a:y_test"])
        expected = """kind('_test rule', rdeps(//a/... + //b:c, "//a/deep:pool.h" + "//a/deep:sub/socket.cc" + "//:loop.cc"))"""
        self.assertEqual(self.asked[0][-1], expected)

    def test_nothing_is_left_out_without_an_answer(self):
        with self.assertRaisesRegex(RuntimeError, "why"):
            threads.tests_with(self.sources, ["//..."], lambda *words: self.bazel(*words, code=7))
        with self.assertRaisesRegex(RuntimeError, "no source starts a thread"):
            threads.tests_with(["a/one.cc"], ["//..."], self.bazel)


if __name__ == "__main__":
    xml_runner.main()
