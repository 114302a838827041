"""The commands that the pages show work as they stand there: each page is typed into a yard of its own.

How a block is marked: fenced_blocks.py.
"""

import json
import os
import pathlib
import signal
import subprocess
import unittest

from bazel.python import xml_runner
from tests import fenced_blocks, yard_case

# Pages with commands or C++ that nothing runs, each with the reason. It only gets shorter: a page that is
# not here runs what it shows, and one that has no such commands any more has to be taken out.
SHOWN_ONLY = {
    "docs/build.md": "Bazel and what builds; tools/test --check=pages looks for the labels",
    "docs/commands.md": "//tools/yard:command_line_test parses the examples of every --help",
    "docs/containers.md": "tools/test --check=containers runs the composition",
    "docs/hosts.md": "another machine is needed: //tests:at_verbs_test and the tests beside it have one",
    "docs/instances.md": "calls, one by one; //registry/tool:instances_page_test makes them (tools/test --check=pages)",
    "docs/multi_process_runner.md": "parts of //examples/all_reduce:ring_test (tools/test --check=pages)",
    "docs/own_program.md": "its programs are files, which //tests:own_program_python_test and those of Node and Go make and run",
    "docs/page.md": "//tests:page_test types its curl lines, //tests:page_browser_test looks at what it says of the page",
    "docs/performance.md": "its figures take minutes; the benchmarks have smoke tests, tools/test --check=pages "
                           "looks for the labels",
    "docs/scale.md": "its figures take minutes; //bench:scale_benchmark_smoke_test",
    "docs/shared_machine.md": "a second user is needed, and root: //tests:shared_gpus_test, //tests:gate_test",
    "docs/slurm.md": "a cluster with Slurm is needed: //tests:slurm_verbs_test has its commands",
    "docs/systemd.md": "a test has no systemd of its own; in tools/test --check=install systemd-analyze reads the units",
    "docs/trainables.md": "a trainer of one's own has to be built; //tests:function_trials_test does, "
                          "//trainer:trainables_page_test has the function (tools/test --check=pages)",
    "docs/upgrades.md": "an upgrade needs two versions, going back a state that was moved away: //tests:upgrade_test, "
                        "//tests:backup_test",
}
# Commands that a test cannot type, in whatever page they stand, and the check that runs each: they
# build, or want root.
HELD_ELSEWHERE = {
    "python3 -m venv": "tools/test --check=install: installed.pip_installs; of the wheel tools/test --check=containers",
    "tools/install": "tools/test --check=install",
    "tools/package": "tools/test --check=packages",
    "tools/quickstart": "tools/test --check=install",
    "tools/setup": "tools/quickstart, in tools/test --check=install",
    "tools/test": "//tools/checks:main_test",
}
# Environments of $YARD_PEERS that a page's commands need.
PEERS = {"docs/python.md": "sklearn", "docs/reading.md": "tensorboard", "docs/tutorial.md": "tensorboard"}
# Words of `yard up` for a page.
UP_WORDS = {"docs/alerts.md": ("--notify", "cat >> ~/alerts.jsonl"), "docs/jobs.md": ("--resources", "gpu=0,1,2")}
LONG = yard_case.LONG  # Seconds, for a block.
SDK = "sdk/python"
# Where `-I sdk/cc` finds the header, from a directory that is no checkout.
HEADERS = "sdk/cc"


def pages():
    """The paths of all pages."""
    return ["README.md", *sorted(str(path) for path in pathlib.Path("docs").glob("*.md"))]


def shown_commands(page):
    """The commands that no test and no check types."""
    return [command for command in fenced_blocks.shown_commands(read(page)) if not _held(command)]


def _held(command):
    return next((words for words in HELD_ELSEWHERE if (command + " ").startswith(words + " ")), None)


def read(page):
    return pathlib.Path(page).read_text(encoding="utf-8")


class PageCase(yard_case.YardCase):
    """The one case of a page; a class of its own each, for a yard of its own."""

    page = ""

    @classmethod
    def setUpClass(cls):
        cls.peer = PEERS.get(cls.page, "")
        cls.up_words = UP_WORDS.get(cls.page, ())
        super().setUpClass()
        programs = os.path.join(cls.directory, ".bin")
        os.mkdir(programs)
        os.symlink(cls.yard_program, os.path.join(programs, "yard"))
        cls.environment["PATH"] = programs + ":" + cls.environment["PATH"]
        cls.environment["PYTHONPATH"] = os.path.abspath(SDK)
        cls.environment["CPATH"] = os.path.abspath(HEADERS)

    def type_in(self, block, *words, stdin=""):
        """Runs the words; what they start and leave behind does not outlive the block."""
        process = subprocess.Popen(words, cwd=self.directory, env=self.environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            out = process.communicate(stdin, timeout=LONG)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out = process.communicate()[0] + "\n(it has not ended within %d s)" % LONG
        if process.returncode != 0:
            self.fail("%s:%d: exit code %d\n%s---\n%s" % (
                self.page, block.line, process.returncode, block.text, out))

    def follow(self, block):
        if block.file:
            pathlib.Path(self.directory, block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            self.type_in(block, "/bin/bash", "-euo", "pipefail", "-c", block.text)
        elif block.language == "python":
            self.type_in(block, "/usr/bin/python3", "-", stdin=block.text)
        elif block.language == "yaml":
            self.type_in(block, "yard", "launch", "-", "--dry-run", stdin=block.text)
        else:
            json.loads(block.text)

    def follow_page(self):
        for block in filter(fenced_blocks.runs, fenced_blocks.blocks(read(self.page))):
            self.follow(block)


class EveryPageTest(unittest.TestCase):
    def test_commands_and_programs_stand_in_blocks_that_run(self):
        shown = {page: shown_commands(page) for page in pages()}
        for page, commands in shown.items():
            with self.subTest(page):
                if page in SHOWN_ONLY:
                    self.assertNotEqual(commands, [], "all of it runs: take it out of SHOWN_ONLY")
                else:
                    self.assertEqual(commands, [], "put them into a block that runs: fenced_blocks.py")
        self.assertLessEqual(set(SHOWN_ONLY), set(shown), "there is no such page")

    def test_what_is_held_elsewhere_is_shown(self):
        shown = {_held(command) for page in pages() for command in fenced_blocks.shown_commands(read(page))}
        self.assertEqual(shown - {None}, set(HELD_ELSEWHERE))

    def test_the_index_has_every_page(self):
        index = read("docs/README.md")
        missing = [page for page in pages() if page.startswith("docs/") and page != "docs/README.md"
                   and "](%s)" % page.removeprefix("docs/") not in index]
        self.assertEqual(missing, [])


class FencedBlocksTest(unittest.TestCase):
    def test_a_block_has_its_language_its_file_and_its_text(self):
        first, second = fenced_blocks.blocks("a\n```sh\nyard up\n```\n```yaml file=job.yaml\na: 1\n\n```\n")
        self.assertEqual(first, ("sh", "", 2, "yard up\n"))
        self.assertEqual(second, ("yaml", "job.yaml", 5, "a: 1\n\n"))

    def test_only_what_a_reader_types_or_writes_is_run(self):
        text = "```\nx\n```\n```text\nx\n```\n```cpp\nx\n```\n```cpp file=x.cc\nx\n```\n```json\n1\n```\n"
        self.assertEqual([fenced_blocks.runs(block) for block in fenced_blocks.blocks(text)],
                         [False, False, False, True, True])

    def test_what_it_cannot_read_is_an_error(self):
        for text in ("```sh\nx", "```sh no idea\nx\n```", "```sh\n```sh\n", "```sh file=../x\n```"):
            with self.subTest(text), self.assertRaises(fenced_blocks.PageError):
                fenced_blocks.blocks(text)

    def test_commands_that_are_only_shown_are_found(self):
        text = ("Say:\n\n    yard up\n    # and\n    docker-compose down\n\n```text\n$ yard ps\n```\n"
                "```sh\nyard run\n```\nthen\n    yard no\n`yard status`\n")
        self.assertEqual(fenced_blocks.shown_commands(text), ["yard up", "docker-compose down", "$ yard ps"])

    def test_a_command_is_found_behind_its_variables(self):
        commands = ["tools/test --long", "bazel build //...", "systemctl --user stop x", "pip install x",
                    "python3 x.py", "curl localhost", "cp a b", "$ A=1 yard up",
                    "A=1 _B='x y' bazel run //x", 'A="x y"z python3 -c 1']
        others = ["tools", "bazelisk x", "a cp b", "cp: no such file", "A=1", "yard: not found", "x curl y"]
        text = "".join("\n    %s\n" % line for line in commands + others)
        self.assertEqual(fenced_blocks.shown_commands(text), commands)

    def test_a_program_that_is_only_shown_is_found(self):
        text = "```cpp\nint a;\n```\n```cpp file=a.cc\nint main() {}\n```\n```text\nint b;\n```\n"
        self.assertEqual(fenced_blocks.shown_commands(text), ["int a;"])


for _page in pages():
    if any(map(fenced_blocks.runs, fenced_blocks.blocks(read(_page)))):
        _name = "Test_" + _page.removesuffix(".md").replace("/", "_").replace("-", "_")
        globals()[_name] = type(_name, (PageCase,), {
            "__module__": __name__, "page": _page, "test_it_does_what_it_shows": PageCase.follow_page})


if __name__ == "__main__":
    xml_runner.main()
