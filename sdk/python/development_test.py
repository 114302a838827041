"""The module's tests pass under pytest, and its types are right, as a user of `pytest` and `mypy` sees them."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.join(_HERE, "../..")
sys.path.insert(0, _HERE)
import build_wheel
import xml_runner

_MODULE = ["sdk/python/" + name for name in build_wheel.MODULE]
# As they lie in the checkout.
_FILES = ["sdk/python/pyproject.toml", "sdk/python/build_wheel.py", "sdk/python/yard_test.py",
          "sdk/python/testing/fake_yard.py", "bazel/python/xml_runner.py", *_MODULE]


class DevelopmentTest(unittest.TestCase):

    def setUp(self):
        peers = os.environ.get("YARD_PEERS")
        if not peers:
            what = "YARD_PEERS is not set: tools/test installs pytest and mypy and sets it"
            raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
        self.python = os.path.join(peers, "python", "bin", "python")
        self.directory = tempfile.mkdtemp(prefix="sdk", dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.directory)
        for name in _FILES:
            path = os.path.join(self.directory, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copyfile(os.path.join(_ROOT, name), path)

    def run_there(self, *words):
        """The exit code and the output of a Python program."""
        result = subprocess.run([self.python, *words], cwd=os.path.join(self.directory, "sdk/python"),
                                env={"PATH": "/usr/bin:/bin", "HOME": self.directory, "LANG": "C.UTF-8"},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=250)
        return result.returncode, result.stdout

    def test_its_tests_pass_under_pytest(self):
        code, output = self.run_there("-m", "pytest", "-q")
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"\b[1-9]\d+ passed")

    def test_its_types_are_right(self):
        code, output = self.run_there("-m", "mypy")
        self.assertEqual(code, 0, output)
        # The check sees a wrong call, too.
        wrong = os.path.join(self.directory, "sdk/python/wrong.py")
        with open(wrong, "w") as file:
            file.write("import yard\nyard.Reporter().save(step='seven')\n")
        code, output = self.run_there("-m", "mypy", "--strict", "wrong.py")
        self.assertEqual(code, 1, output)
        self.assertIn('Argument "step" to "save"', output)


if __name__ == "__main__":
    xml_runner.main()
