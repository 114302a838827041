"""Runs the unittest cases of the main module, and tells Bazel of each one.

    if __name__ == "__main__":
        xml_runner.main()

Bazel counts a py_test as one case unless it writes $XML_OUTPUT_FILE itself; this does, in the
form that GoogleTest uses. Arguments are those of unittest.main(). A filter given with
--test_filter is a -k pattern.
"""

import os
import sys
import time
import unittest
from xml.sax import saxutils


def _clean(text):
    """XML 1.0 has no place for most control characters, escaped or not."""
    return "".join(c if c in "\t\n\r" or 0x20 <= ord(c) < 0xD800 or 0xE000 <= ord(c) < 0xFFFE
                   or ord(c) > 0xFFFF else "?" for c in text)


def _attribute(text):
    return saxutils.quoteattr(_clean(text), {"\n": "&#10;"})


class _Result(unittest.TextTestResult):
    """Notes the time and the outcome of each case; the outcome is XML, empty if it passed."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cases = {}
        self._begin = 0.0

    def startTest(self, test):
        super().startTest(test)
        self._begin = time.monotonic()
        self.cases[test] = [0.0, ""]

    def stopTest(self, test):
        self.cases[test][0] = time.monotonic() - self._begin
        super().stopTest(test)

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "error", self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failure", self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failure", "%s: %s" % (subtest, self._exc_info_to_string(err, test)))

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._note(test, "failure", "unexpected success")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped", reason)

    def _note(self, test, kind, text):
        # A failure outside a case (in setUpClass, at an import) is reported as a case of its own.
        case = self.cases.setdefault(test, [0.0, ""])
        last_line = (text.strip().splitlines() or [""])[-1]
        case[1] += "<%s message=%s>%s</%s>" % (
            kind, _attribute(last_line), saxutils.escape(_clean(text)), kind)


def _xml(result, suite):
    failed = sum("<failure" in outcome for _, outcome in result.cases.values())
    errors = sum("<error" in outcome for _, outcome in result.cases.values())
    skipped = sum("<skipped" in outcome for _, outcome in result.cases.values())
    counts = 'tests="%d" failures="%d" errors="%d" skipped="%d"' % (
        len(result.cases), failed, errors, skipped)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites %s>" % counts,
             "<testsuite name=%s %s>" % (_attribute(suite), counts)]
    for test, (seconds, outcome) in result.cases.items():
        names = test.id().split(".")
        lines.append('<testcase name=%s classname=%s status="run" time="%.3f">%s</testcase>' % (
            _attribute(names[-1]), _attribute(names[-2] if len(names) > 1 else suite), seconds,
            outcome))
    return "\n".join(lines + ["</testsuite>", "</testsuites>"]) + "\n"


class _Runner(unittest.TextTestRunner):
    resultclass = _Result

    def run(self, test):
        result = super().run(test)
        path = os.environ.get("XML_OUTPUT_FILE")
        if path:
            suite = os.path.splitext(os.path.basename(sys.argv[0]))[0]
            with open(path, "w", encoding="utf-8") as file:
                file.write(_xml(result, suite))
        if not result.cases:
            print("no test ran", file=sys.stderr)
            sys.exit(1)
        return result


def main():
    arguments = list(sys.argv)
    test_filter = os.environ.get("TESTBRIDGE_TEST_ONLY")
    if test_filter:
        arguments += ["-k", test_filter]
    unittest.main(module="__main__", argv=arguments, testRunner=_Runner, verbosity=2)
