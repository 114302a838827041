"""Tests of the choice of the tests that run with the address sanitizer."""

import subprocess
import unittest

from bazel.python import xml_runner
from tools.checks import compiled

_PAGE = """# Building
| `tools/test` | by hand |
| --- | --- |
| `--config=asan` | `bazel test` |

| tests | why |
| --- | --- |
| `//bench/...` | they measure |
| `//tests:docs_test` | types pages |
"""


class CompiledTest(unittest.TestCase):
    def bazel(self, *words, code=0):
        self.asked = words[-1]
        return subprocess.CompletedProcess(words, code, "//a:x_test\n//b:y_test\n", "why")

    def test_tests_that_run_what_is_compiled_are_asked_for_less_those_of_the_page(self):
        self.assertEqual(compiled.tests_with(["//a/...", "//b:c"], _PAGE, self.bazel), ["//a:x_test", "//b:y_test"])
        self.assertEqual(self.asked, "kind('_test rule', rdeps(//a/... + //b:c, "
                         "kind('cc_(library|binary|test) rule', //... except //third_party/...))) "
                         "except //bench/... except //tests:docs_test")

    def test_what_has_to_be_sanitized_cannot_be_left_out(self):
        for label in ("//eventlog/...", "//bus/call:client_test", "//runtime:all", "//launcher/shim:shim_test", "//trainer/store:trial_store_test",
                      "//datamanager/read:run_files_reader_test", "//tests:some_fuzz_test", "//..."):
            with self.subTest(label=label), self.assertRaisesRegex(RuntimeError, label + ", which has to.*\n*Next step: "):
                compiled.left_out(_PAGE + f"| `{label}` | it takes long |\n")

    def test_a_row_without_a_reason_leaves_nothing_out(self):
        self.assertEqual(compiled.left_out("| `//bench/...` |  |\n"), [])

    def test_nothing_is_left_out_without_an_answer(self):
        with self.assertRaisesRegex(RuntimeError, "why"):
            compiled.tests_with(["//..."], _PAGE, lambda *words: self.bazel(*words, code=7))


if __name__ == "__main__":
    xml_runner.main()
