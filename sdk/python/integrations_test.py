"""Tests of the part that all integrations share. (Each with its library: tests/integrations_test.py.)"""

import contextlib
import decimal
import glob
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

_HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [_HERE, os.path.join(_HERE, "testing")]
import xml_runner
import yard
from fake_yard import FakeYard, outside
from yard import integrations


class NumberLike:
    """As a scalar of NumPy (`size` is a number) or torch (`numel` is a method)."""

    def __init__(self, value, count):
        self._value, self.size = value, count

    def item(self):
        return self._value


class TensorLike(NumberLike):

    def __init__(self, value, count):
        super().__init__(value, count)
        self.size, self.numel = (lambda: (count,)), (lambda: count)


class IntegrationsTest(unittest.TestCase):

    def test_numbers_are_found_and_the_rest_is_left_out(self):
        self.assertEqual(
            integrations.numbers_in({"a": 1, "b": {"c": 0.5, "d": "text"}, "yes": True, "none": None, "i": 1j,
                                     "d": decimal.Decimal("0.5"), "numpy": NumberLike(2, 1), "array": NumberLike(3, 4),
                                     "torch": TensorLike(4, 1), "tensor": TensorLike(5, 6), "list": [1]}),
            {"a": 1, "b/c": 0.5, "yes": True, "d": decimal.Decimal("0.5"), "numpy": 2, "torch": 4})

    def test_all_of_a_process_report_by_one(self):
        program = ("from yard.integrations import shared_reporter\n"
                   "assert shared_reporter() is shared_reporter()\n"
                   "shared_reporter().report(loss=1)\n")
        with FakeYard() as fake:
            result = fake.run([sys.executable, "-c", program], env={"PYTHONPATH": _HERE})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual([message["t"] for message in fake.messages], ["hello", "report"])

    def test_the_programs_own_is_that_of_all(self):
        mine = yard.Reporter(fd="", path="", out=io.StringIO())
        self.assertIs(integrations.shared_reporter(mine), mine)
        self.assertIs(integrations.shared_reporter(), mine)

    def test_a_run_that_is_finished_is_used_no_more(self):
        directory = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, directory)
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()) as said:
            with yard.init(offline=True, directory=directory) as run:
                self.assertIs(integrations.shared_reporter(), run)
            self.assertIsNot(integrations.shared_reporter(), run)
            integrations.shared_reporter().report(loss=1)
            self.assertIn("loss", said.getvalue())
            self.assertIs(integrations.shared_reporter(), integrations.shared_reporter())

    def test_no_library_is_imported_with_the_module(self):
        program = ("import sys; before = set(sys.modules); import yard, yard.integrations, yard.summary_writer\n"
                   "print({name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))")
        result = subprocess.run([sys.executable, "-c", program], env=outside({"PYTHONPATH": _HERE}), check=True,
                                stdout=subprocess.PIPE, text=True)
        self.assertEqual(result.stdout, "{'yard'}\n")

    def test_each_is_short(self):
        files = glob.glob(os.path.join(_HERE, "yard/integrations/*.py"))
        self.assertGreater(len(files), 10)
        for path in files:
            with open(path) as file:
                self.assertLess(len(file.readlines()), 80, path)


if __name__ == "__main__":
    xml_runner.main()
