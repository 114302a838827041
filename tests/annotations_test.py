"""Labels, notes and names of runs are kept, whoever sets them, and whichever service is killed meanwhile."""

import json
import os
import pathlib
import shutil
import signal
import urllib.parse

from bazel.python import xml_runner
from tests import yard_case

REPORTS = ("sh", "-c", """echo '{"t":"report","m":{"loss":1}}' >&3; read -r reply <&3""")
ROUNDS = 12


class AnnotationsTest(yard_case.YardCase):

    def lines(self, *words):
        return [json.loads(line) for line in self.yard(*words, "--json")[0].splitlines()]

    def run_on_disk(self, name):
        return [run for run in self.lines("runs") if run["run"] == name][0]

    def await_said(self, name, **wanted):
        """In `yard runs`: of a trial the data manager hears of it when the file changes."""
        of = lambda: {key: self.run_on_disk(name)[key] for key in wanted}
        self.await_true(lambda: of() == wanted, of)

    def await_run(self, name):
        self.await_true(lambda: any(run["run"] == name for run in self.lines("runs")), "there is no run " + name)

    def file_of(self, name):
        return json.loads(pathlib.Path(self.directory, "runs", name, "annotations.json").read_text())

    def refused(self, code, *words):
        return self.finish(self.start_yard(*words), code)[1]

    def pid_of(self, service):
        return json.loads(self.yard("call", service, "Stats")[0])["pid"]

    def test_a_trial_is_found_by_what_is_said_of_it(self):
        self.yard("run", "--name", "first", "--label", "base", "--", *REPORTS)
        self.yard("run", "--name", "other", "--", *REPORTS)
        out, _ = self.yard("set", "first", "--label", "+best,-base", "--note", "lr too high\nsecond", "--name", "The best")
        self.assertEqual(out, "first  labels best  called The best  with a note\n")
        said = {"labels": ["best"], "note": "lr too high\nsecond", "display_name": "The best"}
        self.assertEqual(self.file_of("first"), said)
        self.await_said("first", **said)
        for query in ("label:best", "note:'too high'", "name:'^The best'", "name:^first$"):
            self.assertEqual([run["run"] for run in self.lines("runs", query)], ["first"], query)
        self.assertEqual(self.lines("runs", "name:^first$ & label:base"), [])
        shown = self.lines("show", "first")[0]
        self.assertEqual({key: shown[key] for key in said}, said)
        text = self.yard("show", "first")[0]
        for line in ("called     The best", "labels     best", "note       lr too high", "note       second"):
            self.assertIn(line + "\n", text)
        rows = {row["name"]: row["values"] for row in self.lines("compare", "first", "other")}
        self.assertEqual(rows["label:"], {"first": ["best"], "other": None})
        self.assertEqual(rows["name:"], {"first": "The best", "other": None})
        # The directory, and what it is found by, stay.
        self.assertTrue(pathlib.Path(self.directory, "runs", "first", "result.json").exists())
        self.assertEqual(self.lines("set", "first", "--note", "", "--name", "")[0],
                         {"run": "first", "labels": ["best"], "note": None, "display_name": None, "priority": 0})

    def test_a_run_of_no_trial_is_annotated_in_its_directory(self):
        self.yard("run", "--name", "source", "--label", "base", "--", *REPORTS)
        self.await_run("source")
        runs = pathlib.Path(self.directory, "runs")
        shutil.copytree(runs / "source", runs / "copies" / "one")
        self.await_run("copies/one")
        self.yard("set", "copies/one", "--label", "copied")
        # At once, and kept by the file alone.
        self.assertEqual(self.run_on_disk("copies/one")["labels"], ["base", "copied"])
        self.assertEqual(self.run_on_disk("source")["labels"], ["base"])
        os.kill(self.pid_of("datamanager"), signal.SIGKILL)
        self.await_said("copies/one", labels=["base", "copied"])
        # Somebody else's hand is seen.
        (runs / "copies" / "one" / "annotations.json").write_text('{"labels": ["by hand"]}')
        os.utime(runs / "copies" / "one")
        self.await_said("copies/one", labels=["by hand"])
        taken = runs / "copies" / "two"
        shutil.copytree(runs / "source", taken)
        (taken / "annotations.json").mkdir()
        (taken / "annotations.json" / "something").touch()
        self.await_run("copies/two")
        why = self.refused(6, "set", "copies/two", "--label", "copied")
        self.assertIn(str(taken), why)

    def test_what_was_answered_outlives_the_kill_of_any_service(self):
        self.yard("run", "--name", "killed", "--", *REPORTS)
        for i in range(ROUNDS):
            label = "round-%d" % i
            victim = self.pid_of(("trainer", "datamanager")[i % 2])
            setting = self.start_yard("set", "killed", "--label", "+%s,-round-%d" % (label, i - 1), "--note", label)
            os.kill(victim, signal.SIGKILL)
            self.finish(setting)
            self.assertEqual(self.lines("set", "killed")[0],
                             {"run": "killed", "labels": [label], "note": label, "display_name": None, "priority": 0})
            self.assertEqual(self.file_of("killed")["labels"], [label])
            self.await_said("killed", labels=[label], note=label)
        self.yard("down")
        self.yard("up")
        self.assertEqual(self.lines("set", "killed")[0]["labels"], ["round-%d" % (ROUNDS - 1)])

    def test_what_is_refused_changes_nothing(self):
        self.yard("run", "--name", "kept", "--label", "base", "--", *REPORTS)
        for words, why in ((("--label", "+a\nb"), "it holds a control character"),
                           (("--label", "x" * 257), "it has more than 256 bytes"),
                           (("--label", "+a,-a"), "is to be added and removed at once"),
                           (("--label", "+"), "a label is empty"),
                           (("--label", ",".join(map(str, range(65)))), "more than 64"),
                           (("--note", "\x1b[2J"), "the note of a run is refused: it holds a control character"),
                           (("--note", "x" * 4097), "it has more than 4096 bytes"),
                           (("--name", "a\u202eb"), "the display name of a run is refused")):
            self.assertIn(why, self.refused(2, "set", "kept", *words), words)
        self.refused(2, "set", "kept", "kept", "--name", "both")
        self.refused(3, "set", "nobody", "--label", "a")
        self.assertEqual(self.lines("set", "kept")[0]["labels"], ["base"])

    def test_programs_set_it_over_http(self):
        self.yard("run", "--name", "http", "--", *REPORTS)
        self.await_run("http")
        body = json.dumps({"add_labels": ["<b>bold</b>"], "note": "<script>alert(1)</script>"})
        answer = self.finish(self.start(
            "curl", "-sS", "--unix-socket", self.directory + "/run/yard/http", "-H", "Content-Type: application/json",
            "-d", body, "http://localhost/api/v1/runs/%s/set" % urllib.parse.quote("http", safe="")))[0]
        self.assertEqual(json.loads(answer)["labels"], ["<b>bold</b>"])
        self.await_said("http", labels=["<b>bold</b>"], note="<script>alert(1)</script>")


if __name__ == "__main__":
    xml_runner.main()
