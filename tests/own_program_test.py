"""The programs of docs/own_program.md, as they stand there, made from the binary schema alone that an installation has."""

import os
import pathlib
import re
import shutil
import subprocess

from bazel.python import xml_runner
from tests import fenced_blocks, yard_case

PAGE = "docs/own_program.md"
SCHEMA = "bus/schema/envelope.bfbs"
SERVICES = ("registry", "launcher", "trainer", "datamanager", "web")
REPORTS = """
import sys
sys.path.insert(0, %r)
import yard
with yard.Reporter() as reporter:
    reporter.report(loss=0.25)
""" % os.path.abspath("sdk/python")


class OwnProgramCase(yard_case.YardCase):
    files = ()  # The files of the page that make the program.

    def setUp(self):
        self.folder = os.path.join(self.directory, "own")
        os.mkdir(self.folder)
        shutil.copy(SCHEMA, self.folder)
        blocks = {block.file: block.text for block in fenced_blocks.blocks(pathlib.Path(PAGE).read_text(encoding="utf-8"))}
        for name in self.files:
            pathlib.Path(self.folder, name).write_text(blocks[name], encoding="utf-8")

    def make(self, *words, **environment):
        done = subprocess.run(words, cwd=self.folder, env={**self.environment, **environment}, capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])

    def hears_a_yard(self, *words, **environment):
        """Runs the program against the yard, and looks at what it prints."""
        runtime = self.environment["XDG_RUNTIME_DIR"] + "/yard"
        program = subprocess.Popen([*words, runtime], cwd=self.folder, env={**self.environment, **environment},
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        listed = dict(program.stdout.readline().split() for _ in SERVICES)
        self.assertEqual(set(listed), set(SERVICES), listed)
        self.assertTrue(all(address.startswith("ipc://" + runtime) for address in listed.values()), listed)
        self.yard("pub", "e/own/", '{"text": "hello"}', "-w", "1")
        self.await_line(program, r'^e/own/ \{"text": "hello"\}$')
        self.yard("run", "--name", "own", "--", "/usr/bin/python3", "-c", REPORTS)
        self.await_line(program, r'^t/t-\w+/ own .*"loss": ?0\.25')

    def await_line(self, program, pattern):
        seen = []
        while not seen or not re.search(pattern, seen[-1]):
            seen.append(program.stdout.readline())
            if not seen[-1]:
                self.fail("%s ended; it said %s" % (program.args, "".join(seen[-20:])))


class PythonTest(OwnProgramCase):
    files = ("own.py",)

    def test_the_program_of_the_page(self):
        self.make("flatc", "--python", "--gen-object-api", "-o", "classes", "envelope.bfbs")
        self.hears_a_yard("/usr/bin/python3", "own.py", PYTHONPATH=self.folder + "/classes")


class NodeTest(OwnProgramCase):
    peer = "bus_node"
    files = ("own.js",)

    def test_the_program_of_the_page(self):
        os.symlink(os.path.join(os.path.dirname(self.bin), "node_modules"), self.folder + "/node_modules")
        self.make("flatc", "--ts", "--gen-object-api", "-o", "classes", "envelope.bfbs")
        self.make("node", "node_modules/typescript/bin/tsc", "--skipLibCheck", "--module", "commonjs", "--target", "es2020",
                  "--moduleResolution", "node", "--outDir", "built", "classes/envelope_generated.ts")
        self.hears_a_yard("node", "own.js")


class GoTest(OwnProgramCase):
    peer = "bus_go"
    files = ("own.go", "go.mod")

    def test_the_program_of_the_page(self):
        shutil.copy(os.path.join(os.path.dirname(self.bin), "module", "go.sum"), self.folder)
        self.make("flatc", "--go", "-o", ".", "envelope.bfbs")
        self.make("go", "build", "-o", "own", ".", GOPATH=os.path.dirname(self.bin), GOPROXY="off", GOFLAGS="-mod=mod",
                  GOTOOLCHAIN="local", GOCACHE=self.directory + "/go-cache")
        self.hears_a_yard("./own")


if __name__ == "__main__":
    xml_runner.main()
