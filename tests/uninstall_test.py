"""tools/uninstall removes what its list names, nothing else, and nothing while a program of it runs."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from bazel.python import xml_runner

UNINSTALL = os.path.abspath("tools/uninstall")
FILES = ("bin/yard", "libexec/launcher", "share/yard/python/yard/__init__.py", "share/man/man1/yard.1",
         "share/yard/installed.txt")


class UninstallTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="un-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.prefix = self.directory / "pre fix"
        for name in FILES:
            path = self.prefix / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        self.write_list(FILES)

    def write_list(self, lines):
        (self.prefix / "share/yard/installed.txt").write_text("".join(line + "\n" for line in lines))

    def uninstall(self, exit_code=0):
        done = subprocess.run([UNINSTALL, str(self.prefix)], capture_output=True, text=True, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.directory)})
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def left(self):
        return {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*")}

    def test_all_of_it_goes_with_its_folders(self):
        cache = self.prefix / "share/yard/python/yard/__pycache__"
        cache.mkdir()
        (cache / "x.pyc").touch()
        self.assertIn("removed 5 files", self.uninstall())
        self.assertEqual(self.left(), set())

    def test_what_somebody_else_has_put_there_stays(self):
        (self.prefix / "bin/other").write_text("mine")
        (self.prefix / "share/man/man1/other.1").write_text("mine")
        self.uninstall()
        self.assertEqual(self.left(), {"bin", "bin/other", "share", "share/man", "share/man/man1", "share/man/man1/other.1"})

    def test_it_refuses_while_a_program_of_it_runs(self):
        shutil.copy("/bin/sleep", self.prefix / "libexec/launcher")
        with subprocess.Popen([str(self.prefix / "libexec/launcher"), "1000"]) as program:
            try:
                said = self.uninstall(1)
            finally:
                program.kill()
        self.assertIn("process %d launcher" % program.pid, said)
        self.assertIn("Next step: %s/bin/yard down" % self.prefix, said)
        self.assertLessEqual(set(FILES), self.left())
        self.uninstall()

    def test_a_list_that_leads_elsewhere_removes_nothing_there(self):
        precious = self.directory / "precious"
        precious.write_text("mine")
        for line in ("../precious", str(precious), "bin/../../precious", ""):
            self.write_list([line])
            self.assertIn("which tools/install has not written", self.uninstall(1))
        (self.prefix / "out").symlink_to(self.directory)
        self.write_list(["out/precious"])
        self.assertIn("leads out of", self.uninstall(1))
        self.assertEqual(precious.read_text(), "mine")

    def test_without_a_list_it_says_what_to_do(self):
        (self.prefix / "share/yard/installed.txt").unlink()
        self.assertIn("Next step: tools/install", self.uninstall(1))
        self.assertIn("bin/yard", self.left())


if __name__ == "__main__":
    xml_runner.main()
