"""The smallest programs that report work, and are what the README of the SDKs shows."""

import os
import sys
import unittest

_HERE = os.path.dirname(os.path.abspath(__file__))
_SDK = os.path.join(_HERE, "../../sdk")
sys.path[:0] = [os.path.join(_SDK, "python", "testing")]
import xml_runner
from fake_yard import FakeYard, stopping_at

_COMMANDS = {
    "report.cc": [os.path.abspath(os.environ["REPORT"])],
    "report.py": ["/usr/bin/python3", os.path.join(_HERE, "report.py")],
    "report.sh": ["sh", os.path.join(_HERE, "report.sh")],
}


class SmallestTest(unittest.TestCase):

    def steps(self, name, yard):
        result = yard.run(_COMMANDS[name], env={"PYTHONPATH": os.path.join(_SDK, "python")})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for report in yard.reports():
            self.assertIsInstance(report["m"]["loss"], (int, float))
        return [report["step"] for report in yard.reports()]

    def test_each_reports_every_step(self):
        for name in _COMMANDS:
            with self.subTest(name), FakeYard() as yard:
                self.assertEqual(self.steps(name, yard), [1, 2, 3, 4, 5])

    def test_each_stops_when_told_to(self):
        for name in _COMMANDS:
            with self.subTest(name), FakeYard(stopping_at(3)) as yard:
                self.assertEqual(self.steps(name, yard), [1, 2, 3])

    def test_the_readme_shows_them(self):
        with open(os.path.join(_SDK, "README.md")) as file:
            readme = file.read().split("```")
        for name, block in zip(_COMMANDS, readme[1::2]):
            with self.subTest(name), open(os.path.join(_HERE, name)) as file:
                program = {line.strip() for line in file}
                for line in block.splitlines()[1:]:
                    self.assertIn(line.split("  //")[0].split("  #")[0].strip(), program)


if __name__ == "__main__":
    xml_runner.main()
