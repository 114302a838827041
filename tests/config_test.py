"""The configuration file of a yard: checked, taken by `yard up`, shown, reloaded, and started with the machine."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from bazel.python import xml_runner
from tests import yard_case

SERVICES = ("registry", "launcher", "datamanager", "trainer", "web")
PAGE = "docs/configuration.md"


class ConfigCase(yard_case.YardCase):
    """A yard for each case: `up` is what they try."""

    @classmethod
    def _services(cls, *words):
        if words[0] == "up":
            return
        super()._services(*words)

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="yard-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.environment = {**self.environment, "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home / "run"),
                            "YARD_STATE": str(self.home / "state")}
        self.directory = str(self.home)
        self.addCleanup(self.run_yard, "down")

    def run_yard(self, *words):
        """Its exit code, stdout and stderr."""
        tool = subprocess.run([self.yard_program, *words], cwd=self.home, env=self.environment, capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, timeout=yard_case.LONG, check=False)
        return tool.returncode, tool.stdout, tool.stderr

    def write(self, text, name="yard.yaml"):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def settings(self, *words):
        """{setting: (value, where it comes from)}"""
        rows = [json.loads(line) for line in self.yard("config", "show", *words, "--json")[0].splitlines()]
        return {row["setting"]: (row["value"], row["from"]) for row in rows}

    def pid(self, service):
        return json.loads(self.yard("call", service, "Stats")[0])["pid"]

    def command_line(self, service):
        return pathlib.Path("/proc/%d/cmdline" % self.pid(service)).read_bytes().decode().split("\0")[1:-1]


class ConfigTest(ConfigCase):
    def test_a_wrong_file_is_told_with_its_places_and_starts_nothing(self):
        path = self.write("slots: many\nservices:\n  web: {prot: 7711}\n")
        for words in (("config", "check", path), ("up", path), ("config", "flags", "trainer", path),
                      ("config", "enable", path)):
            code, out, err = self.run_yard(*words)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn("%s:1:8: slots: expected a whole number" % path, err)
        # An error that only the service knows has its place, too.
        path = self.write("slots: 2\nservices:\n  datamanager:\n    cache_mbs: 7\n")
        for words in (("config", "check", path), ("up", path)):
            code, _, err = self.run_yard(*words)
            self.assertEqual(code, 2, err)
            self.assertIn("%s:4:16: services.datamanager.cache_mbs: the datamanager: there is no flag --cache_mbs"
                          % path, err)
        path = self.write("log_level: info\nservices: {web: {port: seven}}\n")
        code, _, err = self.run_yard("config", "check", path)
        self.assertEqual(code, 2, err)
        self.assertIn("%s:2:24: services.web.port: " % path, err)
        self.assertFalse((self.home / "state" / "wanted").exists())
        self.assertEqual(self.run_yard("up", str(self.home / "none.yaml"))[0], 3)

    def test_a_yard_has_what_its_file_says_and_flags_win(self):
        path = self.write("logdir: mine\nslots: 3\nresources: {gpu: [0, 1]}\nkeep_trials: 7\nlog_level: debug\n"
                          "page: off\nservices: {datamanager: {cache_mb: 64}, web: {log_level: error}}\n")
        self.yard("up", path, "--slots", "5", "--service", "trainer.log_files=9")
        self.assertEqual(sorted(self.command_line("trainer")), sorted([
            "--logdir=%s/mine" % self.home, "--slots=5", "--keep_trials=7", "--log_level=debug", "--log_files=9"]))
        self.assertEqual(self.command_line("launcher"), ["--resources=gpu=0,1", "--log_level=debug"])
        self.assertEqual(sorted(self.command_line("datamanager")), sorted([
            "--logdir=%s/mine" % self.home, "--cache_mb=64", "--log_level=debug"]))
        self.assertEqual(sorted(self.command_line("web")), sorted(["--page=off", "--log_level=error"]))
        settings = self.settings()
        self.assertEqual(settings["logdir"], ("%s/mine" % self.home, path + ":1"))
        self.assertEqual(settings["slots"], ("5", "a flag of yard up"))
        self.assertEqual(settings["resources"], ("gpu=0,1", path + ":3"))
        self.assertEqual(settings["services.datamanager.cache_mb"], ("64", path + ":7"))
        self.assertEqual(settings["services.trainer.log_files"], ("9", "a flag of yard up"))
        self.assertEqual(settings["metrics_port"], ("none", "default"))
        # The yard keeps them: without the file, and after a service has died.
        os.unlink(path)
        self.yard("down")
        self.assertEqual(self.settings()["slots"], ("5", "a flag of yard up"))
        self.yard("up")
        self.assertIn("--cache_mb=64", self.command_line("datamanager"))

    def test_the_standard_file_is_taken_unless_defaults_are_asked_for(self):
        standard = self.write("slots: 3\n", ".config/trainyard/yard.yaml")
        self.assertEqual(self.settings()["slots"], ("3", standard + ":1"))
        self.yard("up")
        self.assertEqual(self.command_line("trainer")[1:], ["--slots=3"])
        self.yard("down")
        # A file says all: what an earlier yard was told is not in it.
        self.yard("up", "--defaults", "--keep_trials", "9")
        self.assertEqual(self.command_line("trainer")[1:], ["--keep_trials=9"])
        self.yard("down")
        self.yard("up")
        self.assertEqual(self.command_line("trainer")[1:], ["--slots=3"])

    def test_a_yard_that_is_up_keeps_its_settings_until_they_are_reloaded(self):
        path = self.write("slots: 2\nresources: {gpu: [0, 1]}\nlog_level: info\n")
        self.yard("up", path)
        self.yard("launch", "--detach", "--name", "server", "--resources", "gpu=1", "--", "sleep", "1000")
        self.await_true(lambda: json.loads(self.yard("show", "server", "--json")[0])["state"] == "running", "it runs")
        before = {service: self.pid(service) for service in SERVICES}
        path = self.write("slots: 4\nresources: {gpu: [0, 1], slots: 8}\nlog_level: debug\nkeep_trials: 5\n"
                          "services: {datamanager: {cache_mb: 64}}\n")
        _, err = self.yard("up", path)
        self.assertIn("the yard is up with other settings than %s says (" % path, err)
        self.assertIn("next: yard config reload %s" % path, err)
        out, _ = self.yard("config", "reload", path, "--dry_run")
        self.assertIn("slots: 2 -> 4  (would change)", out)
        self.assertEqual({service: self.pid(service) for service in SERVICES}, before)
        out, _ = self.yard("config", "reload")  # The file that it came up with.
        for line in ("slots: 2 -> 4  (changed)", "keep_trials: (default) -> 5  (changed)",
                     "resources: gpu=0,1 -> gpu=0,1 slots=8  (changed)", "log_level: info -> debug  (changed)"):
            self.assertIn(line, out)
        self.assertIn("--slots=4", self.command_line("trainer"))
        self.assertIn("--resources=gpu=0,1;slots=8", self.command_line("launcher"))
        self.assertIn("--cache_mb=64", self.command_line("datamanager"))
        # A log level needs no restart.
        self.assertEqual([self.pid("registry"), self.pid("web")], [before["registry"], before["web"]])
        self.assertEqual(json.loads(self.yard("call", "web", "Stats")[0])["log_level"], "debug")
        # The program has gone on, with its GPU.
        job = json.loads(self.yard("show", "server", "--json")[0])
        self.assertEqual((job["state"], len(job["tasks"][0]["attempts"])), ("running", 1))
        self.assertEqual(self.yard("config", "reload")[0], "the yard has what %s says\n" % path)

    def test_what_cannot_change_under_running_programs_is_named(self):
        path = self.write("logdir: one\nslots: 2\n")
        self.yard("up", path)
        self.write("logdir: two\nslots: 3\ntrainer: /bin/true\n")
        code, out, err = self.run_yard("config", "reload")
        # (/bin/true is no trainer: a wrong file changes nothing.)
        self.assertNotEqual(code, 0, out + err)
        self.assertEqual(self.settings()["slots"][0], "2")
        self.write("logdir: two\nslots: 3\n")
        code, out, _ = self.run_yard("config", "reload")
        self.assertEqual(code, 1, out)
        self.assertIn("logdir: %s/one -> %s/two  (not while the yard runs; next: yard down && yard up)"
                      % (self.home, self.home), out)
        self.assertIn("slots: 2 -> 3  (changed)", out)
        self.assertEqual(self.settings()["logdir"][0], "%s/one" % self.home)
        self.assertIn("--slots=3", self.command_line("trainer"))
        code, _, err = self.run_yard("config", "reload", self.write("slots: x\n", "bad.yaml"))
        self.assertEqual(code, 2, err)
        self.assertIn("--slots=3", self.command_line("trainer"))

    def test_a_reload_that_was_killed_is_finished_by_the_next(self):
        path = self.write("slots: 2\n")
        self.yard("up", path)
        self.write("slots: 3\n")
        # As it is between its two steps: the settings are stored, and no service is restarted.
        wanted = self.home / "state" / "wanted"
        wanted.write_text(json.dumps({**json.loads(wanted.read_text()), "slots": 3}))
        self.assertIn("--slots=2", self.command_line("trainer"))
        self.yard("config", "reload")
        self.assertIn("--slots=3", self.command_line("trainer"))

    def test_flags_of_a_service_are_words_of_a_shell(self):
        path = self.write("logdir: 'my runs'\nservices: {datamanager: {include: \"a b'c\"}}\nlog_files: 2\n")
        line = self.yard("config", "flags", "datamanager", path)[0]
        words = subprocess.run(["sh", "-c", 'eval "set -- $1"; printf "%s\\n" "$@"', "sh", line], capture_output=True,
                               text=True, check=True).stdout.splitlines()
        self.assertEqual(words, ["--logdir=%s/my runs" % self.home, "--include=a b'c", "--log_files=2"])
        self.assertEqual(self.yard("config", "flags", "registry", path)[0], "--log_files=2\n")
        self.assertEqual(self.yard("config", "flags", "registry")[0], "\n")
        self.assertEqual(self.run_yard("config", "flags", "registrar")[0], 2)

    def test_the_unit_starts_the_yard_of_the_file(self):
        path = self.write("slots: 3\n")
        out, _ = self.yard("config", "enable", path, "--dry_run")
        self.assertIn('up "%s"' % path, out)
        self.assertFalse((self.home / ".config").exists())
        out, _ = self.yard("config", "enable", path)
        self.assertIn("systemctl --user daemon-reload", out)
        unit = self.home / ".config/systemd/user/trainyard.service"
        self.assertEqual((unit.parent / "default.target.wants/trainyard.service").resolve(), unit.resolve())
        values = dict(line.split("=", 1) for line in unit.read_text().splitlines() if line.startswith("Exec"))
        # A shell, which has the same quotes here, does what a user's systemd would: in the home directory.
        subprocess.run(["sh", "-c", values["ExecStart"]], env=self.environment, cwd=self.home, check=True,
                       capture_output=True, timeout=yard_case.LONG)
        self.assertEqual(self.command_line("trainer")[-1], "--slots=3")
        subprocess.run(["sh", "-c", values["ExecStop"]], env=self.environment, cwd=self.home, check=True,
                       capture_output=True, timeout=yard_case.LONG)
        self.assertFalse((self.home / "state" / "wanted").exists())

    def test_nothing_is_reloaded_into_a_yard_that_is_not_up(self):
        code, _, err = self.run_yard("config", "reload", self.write("slots: 3\n"))
        self.assertEqual(code, 4, err)
        self.assertIn("next: yard up", err)
        self.assertFalse((self.home / "state" / "wanted").exists())


class PageTest(unittest.TestCase):
    def test_the_page_has_every_key_as_the_command_explains_it(self):
        tool = subprocess.run([yard_case.YARD, "config", "check", "--keys", "--json"], capture_output=True, text=True,
                              check=True, env={"PATH": "/usr/bin:/bin", "HOME": "/"})
        page = pathlib.Path(PAGE).read_text()
        rows = ["| `%(key)s` | %(type)s | %(default)s | %(meaning)s |" % json.loads(line)
                for line in tool.stdout.splitlines()]
        self.assertGreater(len(rows), 10)
        self.assertEqual([row for row in rows if row not in page.splitlines()], [])


if __name__ == "__main__":
    xml_runner.main()
