"""Completion in the real shells, with the names that a real yard has."""

import json
import os
import pathlib
import select
import signal
import subprocess
import time

from bazel.python import xml_runner
from tests import yard_case

# A name that a shell would run, were it not quoted.
HOSTILE = "$(touch pwned);touch pwned;`touch pwned`'\"& x"
# `command yard`, which the scripts call, is still the program.
ECHO = "yard() { printf '<%s>' \"$@\"; echo; }\n"
# Typed, and the words that are there then. \t is the key.
CASES = (
    ("yard pau\t", ("pause",)),
    ("yard pause fir\t", ("pause", "first")),
    ("yard wait --timeout 3 fir\t", ("wait", "--timeout", "3", "first")),
    ("yard plot first --over\tru\t", ("plot", "first", "--overlap", "rust")),
    ("yard plot first --overlap=ru\t", ("plot", "first", "--overlap=rust")),
    ("yard plot first -m lo\t", ("plot", "first", "-m", "loss")),
    ("yard logs train/w\t", ("logs", "train/worker-0")),
    ("yard signal trai\tSIGUSR1\t", ("signal", "train", "SIGUSR1")),
    ("yard topic ls e/no\t", ("topic", "ls", "e/note/")),
    ("yard up --service log_file_\t64", ("up", "--service", "log_file_mb=64")),
    ("yard call laun\t", ("call", "launcher")),
    ("yard launch job.y\t", ("launch", "job.yaml")),
    ("yard run -- pyt\t", ("run", "--", "pytrain")),
    ("yard run -- 'pyt\t", ("run", "--", "pytrain")),
    ("yard stop nobody trai\t", ("stop", "nobody", "train")),
    ("yard launch --gang --restart=on\tjob.y\t", ("launch", "--gang", "--restart=on-failure", "job.yaml")),
    ("yard logs \\$\t", ("logs", HOSTILE)),
    ("yard --a\tgpu1 pau\t", ("--at", "gpu1", "pause")),
)


class Terminal:
    """A shell that believes a person types."""

    def __init__(self, test, *words, **environment):
        self.test = test
        master, slave = os.openpty()
        self.process = subprocess.Popen(
            words, stdin=slave, stdout=slave, stderr=slave, cwd=test.directory,
            env=dict(test.environment, TERM="vt100", **environment), start_new_session=True)
        os.close(slave)
        self.master, self.text = master, ""
        test.addCleanup(os.close, master)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)

    def type_in(self, keys):
        os.write(self.master, keys.encode())

    def await_text(self, wanted):
        """Waits until it is on the screen, and forgets what is before."""
        deadline = time.monotonic() + yard_case.LONG
        while wanted not in self.text:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                self.test.fail("%r did not come; the screen: %r" % (wanted, self.text[-3000:]))
            try:
                self.text += os.read(self.master, 65536).decode("utf-8", "replace")
            except OSError:
                self.test.fail("the shell has ended; the screen: %r" % self.text[-3000:])
        self.text = self.text.partition(wanted)[2]


class CompletionTest(yard_case.YardCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        programs = pathlib.Path(cls.directory, "bin")
        programs.mkdir()
        (programs / "yard").symlink_to(cls.yard_program)
        cls.environment["PATH"] = "%s:%s" % (programs, cls.environment["PATH"])
        for name in ("job.yaml", "pytrain"):
            pathlib.Path(cls.directory, name).touch()
        reports = 'echo \'{"t":"report","m":{"loss":1},"step":1}\' >&3; read -r answer <&3'
        for words in (("run", "--name", "first", "--", "sh", "-c", reports),
                      ("launch", "--detach", "--name", "train", "--", "sleep", "1000"),
                      ("launch", "--detach", "--name", HOSTILE, "--", "sleep", "1000"),
                      ("plot", "first", "-m", "loss", "--timeout", "60"),
                      ("pub", "e/note/", "{}")):
            cls._services(*words)

    def names(self, service, request):
        """The names that the service has, and whether there are more."""
        reply = json.loads(self.yard("call", service, "Names", request)[0])
        return [name["name"] for name in reply["names"]], reply["more"]

    def test_each_service_has_names_of_its_own(self):
        for service, request, wanted in (
                ("trainer", "{}", {"first"}),
                ("trainer", "{prefix: 'fi', kind: 'trial'}", {"first"}),
                ("trainer", "{kind: 'job'}", set()),
                ("launcher", "{}", {"train", HOSTILE}),
                ("launcher", "{kind: 'task', prefix: 'train/'}", {"train/worker-0"}),
                ("datamanager", "{}", {"first"}),
                ("datamanager", "{kind: 'tag', of: 'first', prefix: 'lo'}", {"loss"}),
                ("datamanager", "{kind: 'tag', of: 'nobody'}", set()),
                ("datamanager", "{kind: 'tag'}", set()),
                ("registry", "{kind: 'service'}", {"registry", "launcher", "trainer", "datamanager", "web"}),
                ("registry", "{kind: 'topic', prefix: 'e/'}", {"e/note/"}),
                ("registry", "{kind: 'tool'}", set())):
            with self.subTest(service=service, request=request):
                names, more = self.names(service, request)
                self.assertEqual((set(names), len(names), more), (wanted, len(wanted), False))

    def test_an_id_is_there_once_it_is_typed(self):
        names, _ = self.names("trainer", "{prefix: 't-'}")
        self.assertEqual(len(names), 1)
        self.assertRegex(names[0], "^t-[a-z]{5}$")

    def test_what_is_too_much_is_cut_and_told(self):
        names, more = self.names("launcher", "{limit: 1}")
        self.assertEqual((len(names), more), (1, True))

    def test_the_program_offers_names_with_what_they_are(self):
        out, err = self.yard("completion", "complete", "--", "logs", "")
        self.assertEqual(err, "")
        self.assertEqual(set(out.splitlines()), {
            "first\ttrial, done", "train\tjob, running", HOSTILE + "\tjob, running"})

    def test_one_that_does_not_answer_costs_its_own_names_only(self):
        rows = self.yard("status")[0].splitlines()
        trainer, = [int(row.split()[2]) for row in rows if row.startswith("trainer ")]
        yard_case.stop_process(trainer)
        try:
            out, err = self.yard("completion", "complete", "--", "logs", "t")
        finally:
            os.kill(trainer, signal.SIGCONT)
        self.assertEqual((out, err), ("train\tjob, running\n", ""))

    def test_without_a_yard_it_says_and_starts_nothing(self):
        elsewhere = pathlib.Path(self.directory, "elsewhere")
        elsewhere.mkdir()
        environment = dict(self.environment, XDG_RUNTIME_DIR=str(elsewhere / "run"),
                           YARD_STATE=str(elsewhere / "state"))
        tool = subprocess.run([self.yard_program, "completion", "complete", "--", "pause", ""],
                              env=environment, capture_output=True, timeout=yard_case.LONG, check=True)
        self.assertEqual((tool.stdout, tool.stderr), (b"", b""))
        self.assertEqual(list(elsewhere.iterdir()), [])

    def complete_all(self, terminal):
        """Types each case and sees which words the shell makes of it."""
        for typed, words in CASES:
            with self.subTest(typed):
                terminal.type_in(typed + "\n")
                terminal.await_text("".join("<%s>" % word for word in words))
        self.assertFalse(pathlib.Path(self.directory, "pwned").exists(), "a name was run")

    def test_bash(self):
        terminal = Terminal(self, "/bin/bash", "--norc", "--noprofile", "-i", PS1="> ")
        terminal.type_in('eval "$(yard completion bash)"\n' + ECHO + "echo rea''dy\n")
        terminal.await_text("ready")
        self.complete_all(terminal)

    def test_zsh(self):
        terminal = Terminal(self, "/usr/bin/zsh", "-f", "-i", PS1="> ")
        terminal.type_in("autoload -Uz compinit; compinit -u -D\n"
                         'eval "$(yard completion zsh)"\n' + ECHO + "echo rea''dy\n")
        terminal.await_text("ready")
        self.complete_all(terminal)

    def fish(self, typed):
        """The words that fish offers for `typed`: {word: description}."""
        program = "yard completion fish | source; complete -C $argv[1]"
        out = self.finish(self.start("/usr/bin/fish", "--no-config", "-c", program, typed))[0]
        return dict((line.split("\t") + [""])[:2] for line in out.splitlines())

    def test_fish(self):
        self.assertEqual(self.fish("yard pause fir"), {"first": "trial, done"})
        self.assertEqual(self.fish("yard pau"), {"pause": "take a trial off its slot, to go on later"})
        self.assertEqual(set(self.fish("yard plot first --overlap ru")), {"rust"})
        self.assertEqual(set(self.fish("yard plot first --overlap=ru")), {"--overlap=rust"})
        self.assertEqual(set(self.fish("yard plot first -m lo")), {"loss"})
        self.assertEqual(set(self.fish("yard logs train/w")), {"train/worker-0"})
        self.assertEqual(set(self.fish("yard launch job.y")), {"job.yaml"})
        self.assertEqual(self.fish("yard logs \\$"), {HOSTILE: "job, running"})
        self.assertFalse(pathlib.Path(self.directory, "pwned").exists(), "a name was run")


if __name__ == "__main__":
    xml_runner.main()
