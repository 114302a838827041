"""The main() of a Python test: unittest, plus one line in Bazel's XML for each case.

Without the file Bazel counts the whole program as one case, and a skipped one cannot be seen.
"""

import os
import sys
import time
import unittest
from xml.sax import saxutils


class _Result(unittest.TextTestResult):
    def __init__(self, *args):
        super().__init__(*args)
        self.cases = []  # XML, in the order they ended

    def startTest(self, test):
        self._started = time.monotonic()
        super().startTest(test)

    def addSuccess(self, test):
        self._add(test)
        super().addSuccess(test)

    def addFailure(self, test, err):
        self._add(test, "failure", self._exc_info_to_string(err, test))
        super().addFailure(test, err)

    def addError(self, test, err):
        self._add(test, "error", self._exc_info_to_string(err, test))
        super().addError(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._add(subtest, "failure", self._exc_info_to_string(err, test))
        super().addSubTest(test, subtest, err)

    def addSkip(self, test, reason):
        self._add(test, "skipped", reason)
        super().addSkip(test, reason)

    def addExpectedFailure(self, test, err):
        self._add(test)
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test):
        self._add(test, "failure", "was expected to fail")
        super().addUnexpectedSuccess(test)

    def _add(self, test, outcome=None, text=""):
        # An error outside a test (setUpModule) has no start.
        seconds = time.monotonic() - getattr(self, "_started", time.monotonic())
        suite, name = (test.id().removeprefix("__main__.").rsplit(".", 1) + [""])[:2]
        body = f"<{outcome} message={_quote(text)}/>" if outcome else ""
        self.cases.append(f"<testcase classname={_quote(suite)} name={_quote(name)} "
                          f'time="{seconds:.3f}">{body}</testcase>')


def _quote(text):
    printable = "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)
    return saxutils.quoteattr(printable)


def main():
    """Runs the tests of the program's own module, writes $XML_OUTPUT_FILE, and exits."""
    runner = unittest.TextTestRunner(resultclass=_Result, verbosity=2)
    program = unittest.main(module="__main__", testRunner=runner, exit=False)
    path = os.environ.get("XML_OUTPUT_FILE")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write("<testsuites><testsuite>" + "\n".join(program.result.cases) + "</testsuite></testsuites>")
    sys.exit(not program.result.wasSuccessful())
