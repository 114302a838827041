"""Trials in every language of examples/any_language, and of the Python module, whose trainer is killed: each waits for
its answer, goes on when a trainer comes back, and what it reports and saves is there once."""

import json
import os
import pathlib
import signal
import subprocess

from bazel.python import xml_runner
from tests import yard_case

EXAMPLES = pathlib.Path("examples").absolute()
SDK = str(pathlib.Path("sdk/python").absolute())

# Starts a program when it is let go.
WAITS = 'echo $$ > "$0.pid"; read -r word < "$0"; exec "$@"'


class AnyLanguageTrialsTest(yard_case.YardCase):
    up_words = ("--slots", "5")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment["PYTHONPATH"] = SDK

    def pid_of(self, service):
        services = map(json.loads, self.yard("status", "--json")[0].splitlines())
        return [one["pid"] for one in services if one.get("service") == service][0]

    def path(self, *parts):
        return pathlib.Path(self.directory, *parts)

    def commands(self):
        """Name and command of each program."""
        scripts = EXAMPLES / "any_language"
        compiled = str(self.path("trial"))
        subprocess.run(["/usr/bin/cc", str(scripts / "trial.c"), "-o", compiled], check=True)
        return {"c": [compiled],
                "shell": ["/bin/sh", str(scripts / "trial.sh")],
                "node": ["/usr/bin/node", str(scripts / "trial.mjs")],
                "perl": ["/usr/bin/perl", str(scripts / "trial.pl")],
                "python": ["/usr/bin/python3", str(EXAMPLES / "smallest/report.py")]}

    def has_written(self, name):
        """Whether the program has written as much as a line of the protocol."""
        pid = self.path(name + ".pid").read_text().strip()
        fields = pathlib.Path("/proc", pid, "io").read_text().split()
        return int(fields[fields.index("wchar:") + 1]) >= 24

    def test_each_waits_for_the_next_trainer(self):
        commands = self.commands()
        for name, command in commands.items():
            os.mkfifo(self.path(name))
            self.yard("run", "--detach", "--name", name, "--", "sh", "-c", WAITS, str(self.path(name)), *command)
        for name in commands:
            pid = self.path(name + ".pid")
            self.await_true(lambda: pid.exists() and pid.read_text().endswith("\n"),
                            name + " has not been started")
        launcher, trainer = self.pid_of("launcher"), self.pid_of("trainer")
        # So that nobody starts another trainer yet.
        yard_case.stop_process(launcher)
        self.addCleanup(os.kill, launcher, signal.SIGCONT)
        os.kill(trainer, signal.SIGKILL)
        for name in commands:
            with open(self.path(name), "w"):
                pass
        # (Python's module sends, which is not counted as writing.)
        for name in commands.keys() - {"python"}:
            self.await_true(lambda: self.has_written(name), name + " says nothing")
        for name in commands:
            self.assertEqual(self.path("runs", name, "result.json").read_text(), "", name)
        os.kill(launcher, signal.SIGCONT)
        for name in commands:
            self.yard("wait", name)
            trial = json.loads(self.yard("show", "--json", name)[0])
            self.assertEqual((trial["state"], trial["attempt"]), ("done", 1), trial)
            lines = self.path("runs", name, "result.json").read_text().splitlines()
            last = 5 if name == "python" else 6
            self.assertEqual([json.loads(line)["training_iteration"] for line in lines],
                             list(range(1, last + 1)), name)
            if name != "python":
                self.assertEqual([checkpoint["training_iteration"] for checkpoint in trial["checkpoints"]],
                                 [6, 4, 2], name)
        self.assertNotEqual(self.pid_of("trainer"), trainer)


if __name__ == "__main__":
    xml_runner.main()
