"""The folder installs itself without a network, and what it installs reports."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [_HERE, os.path.join(_HERE, "testing")]
import build_wheel
import xml_runner
from fake_yard import FakeYard

_FILES = ["build_wheel.py", "pyproject.toml", *build_wheel.MODULE]
_REPORT = """
import yard; print(yard.__file__)
from yard.integrations import shared_reporter
shared_reporter().report(loss=1)
"""


class BuildWheelTest(unittest.TestCase):

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="sdk", dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.directory)

    def folder(self):
        """A copy of the folder that nobody can write to, as an installed one may be."""
        folder = os.path.join(self.directory, "python")
        for name in _FILES:
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copyfile(os.path.join(_HERE, name), path)
            os.chmod(path, 0o444)
        return folder

    def run_quietly(self, *command):
        # The environment leaves out all settings of the caller for pip and for Python.
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.directory}
        result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, timeout=150)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_pip_installs_it_without_a_network(self):
        folder, venv = self.folder(), os.path.join(self.directory, "venv")
        self.run_quietly("/usr/bin/python3", "-m", "venv", venv)
        self.run_quietly(os.path.join(venv, "bin", "pip"), "install", "--no-index", folder)
        with FakeYard() as yard:
            result = yard.run([os.path.join(venv, "bin", "python3"), "-I", "-c", _REPORT], cwd=self.directory)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual([report["m"] for report in yard.reports()], [{"loss": 1}])
            self.assertIn("/site-packages/yard/", result.stdout)
            self.assertTrue(os.path.exists(os.path.join(os.path.dirname(result.stdout.strip()), "py.typed")))
        self.run_quietly(os.path.join(venv, "bin", "pip"), "check")
        self.run_quietly(os.path.join(venv, "bin", "pip"), "uninstall", "-y", "trainyard")

    def test_the_same_files_make_the_same_bytes(self):
        for build in (build_wheel.build_wheel, build_wheel.build_sdist):
            made = []
            for name in ("a", "b"):
                place = os.path.join(self.directory, build.__name__ + name)
                os.mkdir(place)
                with open(os.path.join(place, build(place)), "rb") as file:
                    made.append(file.read())
            self.assertEqual(*made)

    def test_the_source_archive_makes_the_same_wheel(self):
        archive = os.path.join(self.directory, build_wheel.build_sdist(self.directory))
        with tarfile.open(archive) as files:
            files.extractall(self.directory)
        wheels = [build_wheel.build_wheel(self.directory)]
        os.mkdir(os.path.join(self.directory, "again"))
        script = "import build_wheel; build_wheel.build_wheel(%r)" % os.path.join(self.directory, "again")
        subprocess.run(["/usr/bin/python3", "-c", script], check=True, timeout=60,
                       cwd=archive[:-len(".tar.gz")])
        wheels.append(os.path.join("again", wheels[0]))
        contents = []
        for wheel in wheels:
            with open(os.path.join(self.directory, wheel), "rb") as file:
                contents.append(file.read())
        self.assertEqual(*contents)


if __name__ == "__main__":
    xml_runner.main()
