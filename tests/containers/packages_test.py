"""The packages of tools/package in empty containers: installed, a yard is started, trains, plots and stops, and they are removed.

    python3 -m tests.containers.packages_test DIRECTORY

YARD_IMAGES: further images to try them in ("ubuntu:22.04 ubuntu:24.04"), which the engine has or can get.
"""

import glob
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

from tests import fenced_blocks
from tests.containers import docker_engine

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
# Lists the files of the container, but for those of the tests, and the notes of dpkg and Python.
LIST = ("find / -xdev \\( -path /proc -o -path /sys -o -path /tmp -o -path /home/user/work -o -path /home/user/.local "
        "-o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -name __pycache__ \\) -prune -o %s -print | sort")
# (pip removes folders that are empty, also those that were so before.)
FILES, FILES_AND_FOLDERS = LIST % "! -type d", LIST % "-true"
PROCESSES = "cat /proc/[0-9]*/comm"


class PackagesTest(unittest.TestCase):
    directory = ""

    @classmethod
    def setUpClass(cls):
        cls.engine = cls.enterClassContext(docker_engine.DockerEngine())
        cls.wheel, cls.deb = (cls.only(pattern) for pattern in ("*.whl", "*.deb"))
        cls.given = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="yard-", dir="/tmp"))
        os.chmod(cls.given, 0o755)
        for name in (cls.wheel, cls.deb):
            shutil.copy(os.path.join(cls.directory, name), cls.given)
        for page in ("docs/from_other_trackers.md", "README.md"):
            for block in fenced_blocks.blocks((CHECKOUT / page).read_text(encoding="utf-8")):
                if block.file:  # points.csv; train.py and train.sh.
                    pathlib.Path(cls.given, block.file).write_text(block.text, encoding="utf-8")
        cls.images = [docker_engine.BASE_IMAGE, *os.environ.get("YARD_IMAGES", "").split()]

    @classmethod
    def only(cls, pattern):
        found = glob.glob(os.path.join(cls.directory, pattern))
        if len(found) != 1:
            raise AssertionError("%s has %d packages %s; tools/package makes one" % (cls.directory, len(found), pattern))
        return os.path.basename(found[0])

    def container(self, image):
        """A container without a network, and with a user."""
        self.name = self.engine.run("run", "--detach", "--network", "none", "--init", "--volume", self.given + ":/given:ro",
                                    image, "sleep", "infinity").strip()
        self.addCleanup(self.engine.attempt, "docker", "rm", "--force", self.name)
        self.root("useradd", "--create-home", "--shell", "/bin/bash", "user")
        self.user("mkdir", "work")

    def root(self, *words):
        return self.engine.run("exec", self.name, *words)

    def user(self, *words):
        """Runs a command as the user, in the home directory, and returns its output."""
        return self.engine.run("exec", "--user", "user", "--workdir", "/home/user", "--env", "HOME=/home/user", "--env", "LANG=C.UTF-8",
                               self.name, *words)

    def with_python(self, image):
        """The image with what a user of pip has."""
        name = "trainyard-python-" + image.translate(str.maketrans(":/.", "---"))
        folder = self.enterContext(tempfile.TemporaryDirectory())
        pathlib.Path(folder, "Dockerfile").write_text(
            "FROM %s\nRUN apt-get update && apt-get install -y --no-install-recommends python3-venv\n" % image, encoding="utf-8")
        self.engine.run("build", "--network", "host", "--tag", name, folder)
        self.addCleanup(self.engine.attempt, "docker", "rmi", name)
        return name

    def expect_a_yard(self, yard, program):
        """The quick start of README.md by the command `yard`, and nothing is left of it."""
        self.assertEqual(self.user("head", "-c", "4", yard), "\x7fELF", "something runs before the program")
        self.user(yard, "up", "--logdir", "work/runs")
        self.user(yard, "status", "--check")
        self.user(yard, "run", "--name", "first", "--", *program)
        plotted = self.user(yard, "plot", "first", "-m", "loss")
        self.assertIn("loss", plotted)
        self.assertIn("│", plotted)
        self.assertIn("first,", self.user(yard, "export", "first"))
        self.assertIn("http://127.0.0.1:", self.user(yard, "ui", "--print"))
        self.user(yard, "down")
        processes = set(self.root("sh", "-c", PROCESSES).split())
        self.assertEqual(processes & {"registry", "launcher", "trainer", "datamanager", "web", "yard-shim", "yard"}, set())

    def test_the_wheel(self):
        for image in self.images:
            with self.subTest(image=image):
                self.container(self.with_python(image))
                self.user("python3", "-m", "venv", "venv")
                before = self.there_is(FILES)
                self.user("venv/bin/pip", "install", "--no-index", "/given/" + self.wheel)
                self.expect_a_yard("venv/bin/yard", ["venv/bin/python", "/given/train.py"])
                self.assertIn("old-1: 4 values", self.user("venv/bin/yard", "import", "--logdir", "work/runs", "/given/points.csv"))
                self.user("venv/bin/pip", "check")
                self.user("venv/bin/pip", "uninstall", "--yes", "trainyard")
                self.assertEqual(before ^ self.there_is(FILES), set())

    def test_the_deb(self):
        for image in self.images:
            with self.subTest(image=image):
                self.container(image)
                before = self.there_is(FILES_AND_FOLDERS)
                self.root("dpkg", "--install", "/given/" + self.deb)
                self.expect_a_yard("/usr/bin/yard", ["sh", "/given/train.sh"])
                self.root("dpkg", "--purge", "trainyard")
                self.assertEqual(before ^ self.there_is(FILES_AND_FOLDERS), set())

    def there_is(self, command):
        return set(self.root("sh", "-c", command).splitlines())


if __name__ == "__main__":
    PackagesTest.directory = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
