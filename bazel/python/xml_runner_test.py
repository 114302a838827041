import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import xml_runner

_PROGRAM = """
import sys, unittest
sys.path.insert(0, %r)
import xml_runner

class Cases(unittest.TestCase):
    %s

xml_runner.main()
"""


def run(*body, **environment):
    """The exit status and the cases (name to kind of outcome) of a test program."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "test.py")
        with open(path, "w") as file:
            file.write(_PROGRAM % (os.path.dirname(xml_runner.__file__), "\n    ".join(body)))
        output = os.path.join(directory, "out.xml")
        status = subprocess.run(
            [sys.executable, path], env={"XML_OUTPUT_FILE": output, **environment},
            stderr=subprocess.DEVNULL, timeout=60).returncode
        tree = xml.etree.ElementTree.parse(output)
    suite = tree.getroot().find("testsuite")
    outcomes = {}
    for case in suite.findall("testcase"):
        outcomes[case.get("name")] = [child.tag for child in case]
    return status, outcomes, suite


class XmlRunnerTest(unittest.TestCase):

    def test_lists_each_case(self):
        status, outcomes, suite = run("def test_a(self): pass", "def test_b(self): pass")
        self.assertEqual(status, 0)
        self.assertEqual(outcomes, {"test_a": [], "test_b": []})
        self.assertEqual(suite.get("tests"), "2")
        self.assertEqual(suite.find("testcase").get("classname"), "Cases")

    def test_a_failure_an_error_and_a_skip_are_told_apart(self):
        status, outcomes, suite = run(
            "def test_a(self): self.fail('<&\\x00\"]]>')", "def test_b(self): raise OSError('x')",
            "def test_c(self): self.skipTest('why')")
        self.assertNotEqual(status, 0)
        self.assertEqual(outcomes,
                         {"test_a": ["failure"], "test_b": ["error"], "test_c": ["skipped"]})
        self.assertEqual([suite.get(n) for n in ("failures", "errors", "skipped")], ["1"] * 3)
        self.assertIn("OSError: x", suite.findall("testcase")[1].find("error").get("message"))

    def test_a_failed_subtest_fails_its_case(self):
        status, outcomes, _ = run(
            "def test_a(self):", "    for i in 1, 2, 3:",
            "        with self.subTest(i=i): self.assertEqual(i, 2)")
        self.assertNotEqual(status, 0)
        self.assertEqual(outcomes, {"test_a": ["failure", "failure"]})

    def test_a_class_that_cannot_be_set_up_is_a_failed_case(self):
        status, outcomes, _ = run(
            "@classmethod", "def setUpClass(cls): raise OSError('x')", "def test_a(self): pass")
        self.assertNotEqual(status, 0)
        self.assertEqual(list(outcomes.values()), [["error"]])

    def test_no_case_at_all_is_a_failure(self):
        status, outcomes, _ = run("pass")
        self.assertEqual(status, 1)
        self.assertEqual(outcomes, {})

    def test_runs_what_the_filter_of_bazel_names(self):
        _, outcomes, _ = run("def test_a(self): pass", "def test_b(self): pass",
                             TESTBRIDGE_TEST_ONLY="test_b")
        self.assertEqual(outcomes, {"test_b": []})


if __name__ == "__main__":
    xml_runner.main()
