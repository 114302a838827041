"""yard.h is all that a program needs: copied alone, with any compiler, in more than one source file."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(_HERE, "../python/testing")]
import xml_runner
from fake_yard import FakeYard

_COMPILERS = [["/usr/bin/g++", "-std=c++17"], ["/usr/bin/clang++-14", "-std=c++20"]]
_WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]

_MAIN = """
#include "yard.h"
bool Go(yard::Reporter& reporter, double loss);
int main() {
  yard::Reporter reporter;
  return Go(reporter, yard::NumberIn(reporter.config(), "lr").value_or(0.5)) ? 0 : 1;
}
"""
_OTHER = """
#include "yard.h"
#include "yard.h"
bool Go(yard::Reporter& reporter, double loss);
bool Go(yard::Reporter& reporter, double loss) {
  yard::ReportOptions options;
  options.step = 3;
  return static_cast<bool>(reporter.Report({{"loss", loss}, {"eval", {{"f1", 1}}}}, options));
}
"""


class OneHeaderTest(unittest.TestCase):
    def test_compiles_alone_in_two_source_files_and_reports(self):
        for compiler in _COMPILERS:
            with self.subTest(compiler), tempfile.TemporaryDirectory() as directory:
                include = os.path.join(directory, "include")
                os.mkdir(include)
                shutil.copy(os.path.join(_HERE, "yard.h"), include)
                for name, text in {"main.cc": _MAIN, "other.cc": _OTHER}.items():
                    with open(os.path.join(directory, name), "w") as file:
                        file.write(text)
                made = subprocess.run([*compiler, *_WARNINGS, "-I", include, "main.cc", "other.cc", "-o", "program"],
                                      cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.assertEqual((made.returncode, made.stdout), (0, ""))
                with FakeYard() as yard:
                    result = yard.run([os.path.join(directory, "program")])
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(yard.reports(), [
                        {"t": "report", "m": {"loss": 0.5, "eval": {"f1": 1}}, "seq": 1, "step": 3}])


if __name__ == "__main__":
    xml_runner.main()
