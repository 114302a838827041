"""The values of secret variables are nowhere to be seen, but where the program itself prints them."""

import json
import os
import pathlib
import stat
import uuid

from bazel.python import xml_runner
from tests import yard_case

SECRET = "word-" + uuid.uuid4().hex
REPORTS = """
for step in 1 2 3; do
  echo '{"t":"report","m":{"loss":0.5}}' >&3
  read -r reply <&3
done
"""
JOB = """
command: [sh, -c, "echo lost >&2; exit 3"]
environment: {HF_TOKEN: %s, PLAIN: seen}
tasks:
  worker: {count: 2, environment: {WORKER_PASSWORD: %s}}
restart: on-failure
max_restarts: 1
""" % (SECRET, SECRET)
# Where the launcher and the trainer keep what they need to start a program again.
KEEPS_ENVIRONMENT = ("state/launcher.db", "state/trainer.db", "state/jobs/")


class SecretsTest(yard_case.YardCase):
    variables = {
        "API_TOKEN": SECRET,
        "aws_secret_access_key": SECRET,
        "DATABASE": "postgres://me:%s@host/db" % SECRET,
        "PLAIN": "seen",
    }

    def expect_silence(self, text, where):
        self.assertNotIn(SECRET, text, where)

    def run_quietly(self, *words, exit_code=0):
        out, err = self.finish(self.start_yard(*words), exit_code)
        self.expect_silence(out + err, words)
        return out

    def files_with_the_secret(self):
        """Paths from the test's directory of files that somebody else could have read."""
        for path in sorted(pathlib.Path(self.directory).rglob("*")):
            try:
                about = path.lstat()
                if stat.S_ISREG(about.st_mode) and SECRET.encode() in path.read_bytes():
                    yield path.relative_to(self.directory), about.st_mode
            except FileNotFoundError:
                pass  # It has been removed meanwhile.

    def test_no_output_log_event_or_open_file_has_it(self):
        # Subscribed to in this order, so with the last one to all.
        events = self.start_yard("sub", "--json", "l/", "m/", "s/", "t/", "e/")
        self.yard("pub", "e/begin/", "{}", "-w", "1", "--timeout", "60")
        self.run_quietly("run", "--name", "trained", "--", "sh", "-c", REPORTS)
        self.run_quietly("run", "--name", "failed", "--max_restarts", "1", "--", "sh", "-c", "exit 3",
                         exit_code=1)
        self.run_quietly("run", "--name", "missing", "--", "no-such-program", exit_code=1)
        self.run_quietly("run", "--grid", "lr=1,2", "--name", "grid-{lr}", "--", "sh", "-c", REPORTS)
        file = self.directory + "/job.yaml"
        with open(file, "w", encoding="utf-8") as job:
            job.write(JOB)
        self.run_quietly("launch", file, "--name", "launched", exit_code=3)
        for words in (["--dry-run"], ["--dry-run", "--json"]):
            self.assertIn("HF_TOKEN", self.run_quietly("launch", file, *words))
        os.remove(file)

        for words in (["ps", "-a"], ["ps", "-t"], ["status"], ["doctor"], ["runs"], ["logs", "launched"],
                      ["topic", "ls"], ["compare", "trained", "grid-1"], ["show", "trained"],
                      ["show", "failed"], ["show", "launched"], ["show", "trained", "--run"],
                      ["show", "trained", "--files"], ["show", "trained", "--environment"],
                      ["show", "launched", "--environment"]):
            self.run_quietly(*words)
            self.run_quietly(*words, "--json")
        for service, method, request in (
                ("launcher", "Jobs", {"job": "launched", "environment": "Values"}),
                ("launcher", "Jobs", {}),
                ("trainer", "TrialDetails", {"trial": "trained", "environment": "Values"}),
                ("trainer", "Trials", {}),
                ("registry", "List", {}),
                *((name, "Stats", {}) for name in ("registry", "launcher", "trainer", "datamanager"))):
            self.run_quietly("call", service, method, json.dumps(request))

        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                self.expect_silence(path.read_text(errors="replace"), path)
            except OSError:
                pass  # It has ended.
        events.terminate()
        heard = "".join(events.communicate(timeout=yard_case.LONG))
        self.assertIn("s/launcher/", heard)
        self.assertIn("t/t-", heard)
        self.expect_silence(heard, "events")

        kept = list(self.files_with_the_secret())
        self.assertTrue(kept, "a restarted launcher would not know the environment")
        for path, mode in kept:
            self.assertTrue(str(path).startswith(KEEPS_ENVIRONMENT), path)
            self.assertEqual(mode & 0o077, 0, path)

    def test_nothing_is_left_of_a_trial_that_was_removed(self):
        other = "word-" + uuid.uuid4().hex
        self.environment = {**self.environment, "API_TOKEN": other}
        def places():
            found = []
            for path in pathlib.Path(self.directory, "state").rglob("*"):
                try:
                    if path.is_file() and other.encode() in path.read_bytes():
                        found.append(str(path))
                except FileNotFoundError:
                    pass
            return found
        self.yard("run", "--name", "gone", "--max_restarts", "1", "--", "sh", "-c", REPORTS + "test $YARD_ATTEMPT = 2")
        self.assertTrue(places())
        self.yard("rm", "gone")
        self.await_true(lambda: places() == [], places)

    def test_show_has_the_values_of_the_others(self):
        self.run_quietly("run", "--name", "shown", "--", "true")
        lines = self.run_quietly("show", "shown", "--environment").splitlines()
        for line in ("API_TOKEN=(hidden)", "aws_secret_access_key=(hidden)", "DATABASE=(hidden)", "PLAIN=seen"):
            self.assertIn(line, lines)
        shown = json.loads(self.run_quietly("show", "shown", "--environment", "--json"))
        self.assertEqual(shown["environment"]["PLAIN"], "seen")
        self.assertEqual(shown["environment"]["API_TOKEN"], "(hidden)")

    def test_what_the_program_prints_is_its_own(self):
        self.yard("run", "--name", "loud", "--", "sh", "-c", "echo $API_TOKEN")
        self.assertIn(SECRET, self.yard("logs", "loud")[0])
        logs = [path for path, _ in self.files_with_the_secret() if not str(path).startswith(KEEPS_ENVIRONMENT)]
        self.assertTrue(logs)
        for path in logs:
            self.assertEqual(path.parts[:2], ("runs", "loud"))


if __name__ == "__main__":
    xml_runner.main()
