"""yard top in a real terminal: tmux."""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess

from bazel.python import xml_runner
from tests import yard_case

REPORTS = """echo 'first line'; printf '\\033]0;owned\\007\\033[2J\\n'
for i in 4 3 2 1; do echo '{"t":"report","m":{"loss":'$i'}}' >&3; read -r ok <&3; done; exec sleep 1000000"""
# A person's shell: it says how top has ended and whether the terminal is as it was.
SHELL = """before=$(stty -g); sh -c 'echo $$ >"$0"; exec "$@"' %s %s; code=$?
after=$(stty -g); [ "$before" = "$after" ] && echo "as it was, exit code $code"; exec sleep 1000000"""


class TopTest(yard_case.YardCase):
    up_words = ("--slots", "8")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment["TERM"] = "xterm-256color"
        cls.count = 0

    def new_name(self):
        type(self).count += 1
        return "trial-%d" % self.count

    def new_trial(self):
        """A trial that has reported, and goes on."""
        name = self.new_name()
        self.yard("run", "--name", name, "--detach", "--grace", "100ms", "--", "sh", "-c", REPORTS)
        self.addCleanup(subprocess.run, [self.yard_program, "stop", name], env=self.environment,
                        capture_output=True, timeout=yard_case.LONG, check=False)
        self.await_true(lambda: '"reports":4' in self.yard("show", name, "--json")[0], name + " has not reported")
        return name

    def tmux(self, *words, socket=None):
        return subprocess.run(["tmux", "-f", "/dev/null", "-S", socket or self.socket, *words], env=self.environment,
                              capture_output=True, text=True, timeout=yard_case.LONG, check=True).stdout

    def open_top(self, *words, width=80, height=24):
        name = self.new_name()
        self.socket = os.path.join(self.directory, name + ".tmux")
        self.pid_file = pathlib.Path(self.directory, name + ".pid")
        command = SHELL % (shlex.quote(str(self.pid_file)), shlex.join([self.yard_program, "top", *words]))
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), "-c", self.directory,
                  shlex.join(["sh", "-c", command]))
        self.addCleanup(self.tmux, "kill-server", socket=self.socket)
        self.await_screen("yard top .*cpu")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def await_screen(self, pattern):
        self.await_true(lambda: re.search(pattern, self.screen()),
                        lambda: "no %s in\n%s" % (pattern, self.screen()))

    def await_no(self, pattern):
        self.await_true(lambda: not re.search(pattern, self.screen()),
                        lambda: "%s is still in\n%s" % (pattern, self.screen()))

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def only(self, name):
        """Types a search, so that only this thing is selected."""
        self.keys("/", *name, "Enter")
        self.await_screen(r"\[%s\]" % name)

    def state_of(self, name):
        return re.search('"state":"([a-z]+)"', self.yard("show", name, "--json")[0])[1]

    def test_shows_what_runs(self):
        name = self.new_trial()
        self.open_top()
        self.only(name)
        self.await_screen(r">t-\w{5} %s +running .* [1-9]\d*\.\d .B +0 loss 1" % name)
        self.await_screen("registry up +launcher up +datamanager up +trainer up +web up")
        self.await_screen(r"loss █▆▃▁  1 to 4")
        self.await_screen(r"cpu \d+% of \d+00%")

    def test_a_filter_hides_the_others(self):
        first, second = self.new_trial(), self.new_trial()
        self.open_top()
        self.await_screen(first)
        self.await_screen(second)
        self.only(second)
        self.await_no(first + " ")
        self.keys("Escape")
        self.await_screen(first)

    def test_output_is_shown_and_drives_nothing(self):
        name = self.new_trial()
        self.open_top()
        self.only(name)
        self.keys("l")
        self.await_screen(r"output of t-\w{5} %s -+" % name)
        self.await_screen(r"\n first line\n \\x1B\]0;owned\\x07\\x1B\[2J\n")
        self.keys("l")
        self.await_no("first line")

    def test_stop_asks_and_then_stops(self):
        name = self.new_trial()
        self.open_top()
        self.only(name)
        self.keys("s")
        self.await_screen(r"stop t-\w{5} %s\? y/n" % name)
        self.keys("n")
        self.await_screen("nothing is done")
        self.assertEqual(self.state_of(name), "running")
        self.keys("s")
        self.await_screen(r"stop t-\w{5} %s\? y/n" % name)
        self.keys("y")
        self.await_true(lambda: self.state_of(name) == "stopped", name + " goes on")
        self.await_screen(r"%s +stopped" % name)

    def test_restart_asks_and_then_restarts(self):
        name = self.new_name()
        self.yard("launch", "--name", name, "--detach", "--worker", "2", "--", "sh", "-c",
                  "echo up; exec sleep 1000000")
        self.addCleanup(subprocess.run, [self.yard_program, "stop", name], env=self.environment,
                        capture_output=True, timeout=yard_case.LONG, check=False)
        self.open_top()
        self.only(name)
        self.await_screen(r"  worker-1 +running")
        self.keys("Down", "Down", "r")
        self.await_screen(r"restart j-\w{5}/worker-1\? y/n")
        self.keys("y")
        self.await_true(lambda: re.search(r'"attempt":2|"number":2', self.yard("ps", name, "--json")[0]),
                        lambda: self.yard("ps", name, "--json")[0])

    def test_quitting_stops_nothing_and_leaves_the_terminal_as_it_was(self):
        name = self.new_trial()
        self.open_top()
        self.await_screen(name)
        self.keys("q")
        self.await_screen("as it was, exit code 0")
        self.assertNotIn("yard top", self.screen())
        self.assertEqual(self.state_of(name), "running")

    def service_pids(self):
        return [json.loads(line)["pid"] for line in self.yard("status", "--json")[0].splitlines()]

    def test_so_does_every_other_end(self):
        name = self.new_trial()
        pids = self.service_pids()
        self.assertEqual(len(set(pids)), 5)
        for how, code in (("C-c", 130), (signal.SIGTERM, 130), (signal.SIGHUP, 129), (signal.SIGSEGV, 139),
                          (signal.SIGABRT, 134)):
            with self.subTest(how):
                self.open_top()
                self.await_screen(name)
                if isinstance(how, str):
                    self.keys(how)
                else:
                    os.kill(int(self.pid_file.read_text()), how)
                self.await_screen("as it was, exit code %d" % code)
                self.assertNotIn("yard top", self.screen())
                self.assertEqual(self.tmux("display-message", "-p", "#{cursor_flag}#{alternate_on}").strip(), "10")
                self.assertEqual(self.state_of(name), "running")
        self.assertEqual(self.service_pids(), pids)

    def test_resizes(self):
        self.open_top()
        self.await_screen(r"NAME +STATE .* DETAILS")
        self.tmux("resize-window", "-x", "30", "-y", "9")
        self.await_true(lambda: self.screen().split("\n")[8].startswith(" q quit"), self.screen)
        self.await_no("DETAILS")
        self.tmux("resize-window", "-x", "132", "-y", "40")
        self.await_true(lambda: self.screen().split("\n")[39].startswith(" q quit"), self.screen)
        self.await_screen(r"NAME +STATE .* DETAILS")
        for width, height in ((2, 2), (1, 1), (80, 24)):
            self.tmux("resize-window", "-x", str(width), "-y", str(height))
        self.await_screen(r"NAME +STATE .* DETAILS")

    def test_help(self):
        self.open_top()
        self.keys("?")
        self.await_screen("quit; nothing is stopped")
        self.keys("q")
        self.await_no("quit; nothing is stopped")
        self.await_screen("yard top")


if __name__ == "__main__":
    xml_runner.main()
