"""Checkpoints of trials on a node that does not see the run directory: they come to the yard's machine, and go to the node."""

import json

from bazel.python import xml_runner
from tests import far_node_case

# Saves every report, and goes on from its checkpoint. Notes what it was answered, and where.
SAVES = r"""
import json, os, pathlib, sys, time
notes, last = pathlib.Path(sys.argv[1]), int(sys.argv[2])
channel = os.fdopen(3, "r+b", buffering=0)
def say(**line):
    channel.write(json.dumps(line).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        part = channel.read(1)
        if not part: sys.exit("the channel has ended")
        answer += part
    return json.loads(answer)
def note(**what):
    with open(notes, "a") as file: file.write(json.dumps(what) + "\n")
welcome = say(t="hello", v=1)
start = welcome["checkpoint"]
assert (os.environ["YARD_CHECKPOINT"] or None) == start, start
step = 0
if start:
    step = int(pathlib.Path(start, "deep/er/step").read_text())
    assert pathlib.Path(start, "frozen").stat().st_size == 3 << 20
    assert "/attempts/" not in start or pathlib.Path(start, "empty").is_dir()
note(start=start, step=step, logdir=os.environ["YARD_LOGDIR"], seen=sorted(os.listdir(os.environ["YARD_LOGDIR"])))
while step < last:
    step += 1
    answer = say(t="report", m={"step": step})
    if answer["t"] == "stop": break
    path = pathlib.Path(say(t="ckpt_begin", step=step)["path"])
    (path / "deep/er").mkdir(parents=True)
    (path / "empty").mkdir()
    (path / "deep/er/step").write_text(str(step))
    (path / "frozen").write_bytes(b"frozen!!" * (3 << 17))
    (path / ("only-%d" % step)).write_bytes(os.urandom(700_000))
    answer = say(t="ckpt_end", path=str(path))
    note(answer=answer["t"], path=answer.get("path"), error=answer.get("error"), gone=not path.exists(),
         here=sorted(os.listdir(answer.get("path", "/"))))
    if not start and step == 3: os.kill(os.getpid(), 9)
"""


# Writes files into its run directory, and waits in between until the test has seen them on the other side.
WRITES = r"""
import os, pathlib, sys, time
logdir, seen = pathlib.Path(os.environ["YARD_LOGDIR"]), pathlib.Path(sys.argv[1])
events = open(logdir / "events.out.tfevents.1.far", "ab", buffering=0)
events.write(b"first")
(logdir / "plots").mkdir()
(logdir / "plots/loss.png").write_bytes(b"a plot")
while not seen.exists(): time.sleep(0.01)
events.write(b"second")
(logdir / "plots/loss.png").write_bytes(b"another plot")
(logdir / "model.bin").write_bytes(b"model" * 300_000)
(logdir / "result.json").write_text("no result")
os.symlink("/etc/passwd", logdir / "passwords")
"""


class CheckpointsAlongTest(far_node_case.FarNodeCase):
    def setUp(self):
        super().setUp()
        self.runs = self.here / "runs"
        self.runs.mkdir(exist_ok=True)
        self.program = self.here / "saves.py"
        self.program.write_text(SAVES)
        self.notes = self.here / ("notes-" + self.name)

    def noted(self):
        return [json.loads(line) for line in self.notes.read_text().splitlines()] if self.notes.exists() else []

    def run_it(self, last, *words, exit_code=0):
        return self.finish(self.start(self.yard_program, "run", "--at", self.name, "--name", self.name, *words, "--",
                                      "/usr/bin/python3", str(self.program), str(self.notes), str(last)), exit_code)

    def expect_whole(self, name, step):
        """The checkpoint is in the run directory here, as its manifest says."""
        directory = self.runs / self.name / name
        self.assertEqual((directory / "deep/er/step").read_text(), str(step))
        self.assertEqual((directory / "frozen").read_bytes(), b"frozen!!" * (3 << 17))
        self.assertTrue((directory / "empty").is_dir())
        manifest = json.loads((directory / ".manifest.json").read_text())
        self.assertIn("only-%d" % step, json.dumps(manifest))
        self.assertEqual((directory / ("only-%d" % step)).stat().st_size, 700_000)

    def test_a_trial_saves_and_goes_on_from_there(self):
        self.start_node(hides=(self.runs,))
        self.run_it(5, "--max_restarts", "1")
        notes = self.noted()
        starts = [note for note in notes if "step" in note]
        attempt = r"%s/attempts/[a-z0-9.-]+/run" % self.folder
        self.assertEqual([start["step"] for start in starts], [0, 3])
        self.assertRegex(starts[1]["start"], "^%s/checkpoint_000003$" % attempt)
        self.assertEqual(starts[1]["seen"], ["checkpoint_000003", "params.json"])
        for note in notes:
            if "answer" not in note:
                continue
            self.assertEqual((note["answer"], note["gone"]), ("ok", True), note)
            self.assertRegex(note["path"], "^%s/checkpoint_00000[1-5]$" % attempt)
            self.assertIn("frozen", note["here"])
        trial = self.trial(self.name)
        self.assertEqual((trial["state"], trial["reports"]), ("done", 5))
        self.expect_whole("checkpoint_000005", 5)
        self.assertEqual([path.name for path in (self.runs / self.name).glob("*tmp*")], [])

    def test_a_checkpoint_goes_on_on_the_yards_own_machine(self):
        self.start_node(hides=(self.runs,))
        self.run_it(2)
        checkpoint = self.runs / self.name / "checkpoint_000002"
        self.expect_whole(checkpoint.name, 2)
        self.yard("run", "--name", self.name + "-here", "--restore", str(checkpoint), "--", "/usr/bin/python3",
                  str(self.program), str(self.notes), "3")
        self.assertEqual([note["step"] for note in self.noted() if "step" in note], [0, 2])

    def test_files_of_the_run_directory_come_as_they_are_written(self):
        self.start_node(hides=(self.runs,))
        (self.here / "writes.py").write_text(WRITES)
        seen = self.here / "seen"
        run = self.start(self.yard_program, "run", "--at", self.name, "--name", self.name, "--", "/usr/bin/python3",
                         str(self.here / "writes.py"), str(seen))
        here = self.runs / self.name
        events, plot = here / "events.out.tfevents.1.far", here / "plots" / "loss.png"
        self.await_true(lambda: events.exists() and events.read_bytes() == b"first", "the event file does not come")
        self.await_true(lambda: plot.exists() and plot.read_bytes() == b"a plot", "the plot does not come")
        seen.touch()
        self.finish(run)
        # All is here once its end is told.
        self.assertEqual(events.read_bytes(), b"firstsecond")
        self.assertEqual(plot.read_bytes(), b"another plot")
        self.assertEqual((here / "model.bin").read_bytes(), b"model" * 300_000)
        self.assertNotEqual((here / "result.json").read_text() if (here / "result.json").exists() else "", "no result")
        self.assertFalse((here / "passwords").exists())
        self.assertEqual([path.name for path in here.glob(".yard-*")], [])
        self.assertIn("passwords is a symbolic link", self.yard("show", self.job_of(self.name))[0])

    def job_of(self, name):
        return self.trial(name)["job"]


if __name__ == "__main__":
    xml_runner.main()
