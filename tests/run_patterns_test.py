"""Tests of which runs a yard knows of, by `yard up --datamanager include=... --datamanager exclude=...`."""

import json
import pathlib

from bazel.python import xml_runner
from tests import yard_case
from tests.event_records import points

FILE = "events.out.tfevents.1.x"


class RunPatternsTest(yard_case.YardCase):

    # (With a comma: each flag is one pattern.)
    up_words = ("--datamanager", "include=^(train|eval)/[a-z]{1,9}", "--datamanager", "exclude=/huge$")

    def write(self, run):
        path = pathlib.Path(self.directory, "runs", run, FILE)
        path.parent.mkdir(parents=True)
        path.write_bytes(points(0, 3))

    def runs(self):
        out, _ = self.yard("runs", "--json")
        return sorted(json.loads(line)["run"] for line in out.splitlines())

    def test_runs_that_are_not_wanted_are_not_there(self):
        for run in ["train/huge", "train/huge/below", "train/1", "other/a", "train/a", "eval/b"]:
            self.write(run)
        wanted = ["eval/b", "train/a"]
        self.await_true(lambda: self.runs() == wanted, self.runs)
        self.yard("call", "datamanager", "Reload", "{}")
        self.assertEqual(self.runs(), wanted)
        process = self.start_yard("show", "other/a")
        self.assertIn("other/a", self.finish(process, exit_code=3)[1])


if __name__ == "__main__":
    xml_runner.main()
