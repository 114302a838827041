"""`yard.runs()` and its like read what runs have reported, also as data frames of the real pandas."""

import json
import os
import pathlib
import signal

from bazel.python import xml_runner
from tests import yard_case

SDK = str(pathlib.Path("sdk/python").absolute())
REPORTS = """
import sys, yard
with yard.Reporter() as reporter:
    for step in range(5):
        reporter.report(loss=reporter.config["lr"] / (step + 1), **({"acc": 1.0} if step % 2 else {}), step=step)
        print("line", step)
    with reporter.save() as directory:
        open(directory + "/w", "w").write("x")
print("failed", file=sys.stderr)
"""
# Reports once for each line that the test writes.
WAITS = """
import yard
with yard.Reporter() as reporter, open("go") as lines:
    for step, _ in enumerate(lines):
        reporter.report(loss=step / 8, step=step)
"""


class ReadingCase(yard_case.YardCase):
    variables = {"PYTHONPATH": SDK, "PYTHONDONTWRITEBYTECODE": "1"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, text in {"reports.py": REPORTS, "waits.py": WAITS}.items():
            pathlib.Path(cls.directory, name).write_text(text)
        cls._services("run", "--name", "one", "--config", '{"lr": 0.5, "net": {"depth": 3}}', "--label", "base", "--",
                      "/usr/bin/python3", "reports.py")
        cls._services("run", "--name", "two", "--config", '{"lr": 2}', "--", "/usr/bin/python3", "reports.py")

    def read(self, program):
        """The lines that a reading program prints, each as JSON."""
        out = self.finish(self.start(self.bin + "/python3", "-c", "import json, yard\n" + program))[0]
        return [json.loads(line) for line in out.splitlines()]


class ReadingTest(ReadingCase):

    def test_runs_by_a_query(self):
        self.await_true(lambda: len(self.read("for run in yard.runs('config.lr>0'): print(json.dumps(run.name))")) == 2,
                        "the data manager does not know both")
        found = self.read("""
for run in yard.runs("config.lr>0", sort="-loss"):
    print(json.dumps([run.name, run.state, run.labels, run.config, run.tags(), run.display_name, run.note]))
print(json.dumps([len(yard.runs()) >= 2, len(yard.runs(limit=1)), [run.name for run in yard.runs("label:base")]]))
""")
        self.assertEqual(found, [
            ["two", "done", [], {"lr": 2}, ["acc", "loss"], "two", None],
            ["one", "done", ["base"], {"lr": 0.5, "net": {"depth": 3}}, ["acc", "loss"], "one", None],
            [True, 1, ["one"]]])

    def test_what_is_in_a_run(self):
        steps, values, kinds, checkpoint, lines, last, errors, trial = self.read("""
run = yard.run("one")
loss = run.scalars("loss")
print(json.dumps(loss.steps.tolist())); print(json.dumps(loss.values.tolist()))
print(json.dumps([str(array.dtype) for array in loss]))
print(json.dumps(run.checkpoint()))
print(json.dumps(run.logs()))
print(json.dumps(run.logs(grep="line", limit=1)))
print(json.dumps(run.logs(stderr=True)))
print(json.dumps(yard.run(run.details()["trial"]["id"]).name))
""")
        self.assertEqual((steps, values), ([0, 1, 2, 3, 4], [0.5 / n for n in range(1, 6)]))
        self.assertEqual(kinds, ["int64", "float64", "float64"])
        self.assertTrue(os.path.isdir(checkpoint), checkpoint)
        self.assertEqual(sorted(line[3] for line in lines), ["failed"] + ["line %d" % n for n in range(5)])
        self.assertEqual([line[3] for line in last], ["line 4"])
        self.assertEqual([line[2:] for line in errors], [["stderr", "failed"]])
        self.assertEqual(trial, "one")

    def test_errors_say_what_is_wrong(self):
        found = self.read("""
for wrong in (lambda: yard.runs("loss<<"), lambda: yard.run("nobody"), lambda: yard.run("one").scalars("nothing"),
              lambda: yard.frame(library="excel"), lambda: next(yard.subscribe()),
              lambda: yard.runs(socket_file="/nowhere"), lambda: next(yard.subscribe("yard", socket_file="/nowhere")),
              lambda: yard.nothing):
    try:
        wrong()
    except Exception as error:
        print(json.dumps([type(error).__name__, str(error)]))
""")
        self.assertEqual([kind for kind, _ in found], ["ValueError", "LookupError", "LookupError", "ValueError", "ValueError",
                                                       "FileNotFoundError", "FileNotFoundError", "AttributeError"])
        for (_, text), says in zip(found, ("column 6", "nobody", "it has acc, loss", "pandas, polars or arrow", "run:RUN")):
            self.assertIn(says, text)

    def test_a_run_is_watched_to_its_end_each_point_once(self):
        os.mkfifo(self.directory + "/go")
        self.yard("run", "--detach", "--name", "watched", "--", "/usr/bin/python3", "waits.py")
        with open(self.directory + "/go", "w") as go:
            print("\n\n", file=go, flush=True)  # Three.
            reader = self.start("/usr/bin/python3", "-u", "-c", """
import yard
for point in yard.watch("watched"): print(point.step, point.value, flush=True)
print("end", flush=True)
""")
            self.assertEqual([reader.stdout.readline() for _ in range(3)], ["0 0.0\n", "1 0.125\n", "2 0.25\n"])
            for step in range(3, 10):
                print(file=go, flush=True)
                self.assertEqual(reader.stdout.readline(), "%d %s\n" % (step, step / 8))
        self.assertEqual(reader.stdout.readline(), "end\n")
        self.assertEqual(self.read("""
print(json.dumps([[point.step, point.value] for point in yard.watch("watched", tags=["loss"])]))""")[0],
                         [[step, step / 8] for step in range(10)])

    def test_lines_that_are_printed_at_once_are_watched_each_once(self):
        program = "read go < %s; for step in $(seq %d %d); do echo step=$step loss=0.5; done"
        os.mkfifo(self.directory + "/first")
        os.mkfifo(self.directory + "/second")
        self.yard("run", "--detach", "--name", "at-once", "--output", "values", "--", "sh", "-c",
                  "%s; %s" % (program % ("first", 1, 1000), program % ("second", 1001, 2000)))
        # It has printed nothing yet.
        reader = self.start("/usr/bin/python3", "-u", "-c", """
import yard
for point in yard.watch("at-once", tags=["loss"]): print(point.tag, point.step, point.value, flush=True)
""")
        lines = []
        for fifo in ("first", "second"):
            pathlib.Path(self.directory, fifo).write_text("go\n")
            while fifo == "first" and len(lines) < 1000:
                lines.append(reader.stdout.readline())
        lines += self.finish(reader)[0].splitlines(keepends=True)
        self.assertEqual(lines, ["loss %d 0.5\n" % step for step in range(1, 2001)])
        again = self.read('print(json.dumps([point.step for point in yard.watch("at-once", tags=["loss"])]))')[0]
        self.assertEqual(again, list(range(1, 2001)))

    def test_a_subscription_goes_on_after_a_kill_of_the_web_service(self):
        reader = self.start("/usr/bin/python3", "-u", "-c", """
import yard
for event in yard.subscribe("yard"):
    if event.kind == "resync": print("resync", flush=True)
    if event.kind == "trial": print(event.data["name"], event.data["state"], flush=True)
""")
        self.assertEqual(reader.stdout.readline(), "resync\n")
        os.kill(json.loads(self.yard("call", "web", "Stats")[0])["pid"], signal.SIGKILL)
        self.assertEqual(reader.stdout.readline(), "resync\n")
        self.yard("run", "--name", "after", "--", "true")
        for line in reader.stdout:
            if line == "after done\n":
                break


class FrameTest(ReadingCase):
    peer = "tensorboard"

    def test_long_and_wide(self):
        long, kinds, wide, empty = self.read("""
frame = yard.frame(tags=["loss", "acc"]).sort_values(["run", "tag", "step"])
print(json.dumps([list(frame.columns), len(frame), frame[frame.run == "two"].value.tolist()]))
print(json.dumps([str(kind) for kind in frame.dtypes]))
frame = yard.frame(wide=True, runs=["one"], first_step=1, last_step=3)
print(json.dumps([list(frame.columns), frame.step.tolist(), frame.loss.tolist(), frame.acc.isna().tolist()]))
print(json.dumps([len(yard.frame("loss<-1")), list(yard.frame("loss<-1", wide=True).columns)]))
""")
        self.assertEqual(long, [["run", "tag", "step", "time", "value"], 14, [2 / n for n in range(1, 6)] + [1, 1]])
        self.assertEqual(kinds, ["category", "category", "int64", "float64", "float64"])
        self.assertEqual(wide, [["run", "step", "acc", "loss"], [1, 2, 3], [0.25, 0.5 / 3, 0.125], [False, True, False]])
        self.assertEqual(empty, [0, ["run", "step"]])

    def test_media_that_a_summary_writer_wrote(self):
        pathlib.Path(self.directory, "write.py").write_text("""
import numpy, os
from tensorboardX import SummaryWriter
writer = SummaryWriter(os.environ["YARD_LOGDIR"])
writer.add_image("image", numpy.zeros((3, 4, 5), dtype="uint8"), 1)
writer.add_text("text", "a *text*", 2)
writer.add_histogram("histogram", numpy.array([1.0, 1, 3]), 3)
writer.add_scalar("loss", 1, 4)
writer.close()
""")
        self.yard("run", "--name", "media", "--", self.bin + "/python3", "write.py")
        found = self.read("""
for media in yard.run("media").media():
    data = media.data[:4].hex() if isinstance(media.data, bytes) else media.data
    print(json.dumps([media.tag, media.step, media.kind, data]))
print(json.dumps(len(list(yard.run("media").media("image")))))
""")
        self.assertEqual(found[0][:3], ["histogram", 3, "histogram"])
        self.assertEqual(sum(count for _, _, count in found[0][3]), 3)
        self.assertEqual(found[1], ["image", 1, "image", b"\x89PNG".hex()])
        self.assertEqual(found[2][1:], [2, "text", "a *text*"])
        self.assertEqual(found[3:], [1])


class OtherFramesTest(ReadingCase):
    peer = "frames"

    def test_polars_and_arrow(self):
        polars, wide, arrow, empty = self.read("""
frame = yard.frame(tags=["loss"], library="polars").sort("value")
print(json.dumps([frame.columns, [str(kind) for kind in frame.dtypes], frame["run"].to_list()[0], frame["value"].to_list()[-1]]))
print(json.dumps(yard.frame(wide=True, runs=["one"], library="polars")["loss"].to_list()))
table = yard.frame(runs=["two"], tags=["loss"], library="arrow")
print(json.dumps([table.column_names, table["run"].to_pylist(), table["value"].to_pylist()]))
print(json.dumps([len(yard.frame("loss<-1", library=name)) for name in ("polars", "arrow")]))
""")
        self.assertEqual(polars, [["run", "tag", "step", "time", "value"],
                                  ["Categorical", "Categorical", "Int64", "Float64", "Float64"], "one", 2])
        self.assertEqual(wide, [0.5 / n for n in range(1, 6)])
        self.assertEqual(arrow, [["run", "tag", "step", "time", "value"], ["two"] * 5, [2 / n for n in range(1, 6)]])
        self.assertEqual(empty, [0, 0])


class PageTest(ReadingCase):

    def test_the_page_names_all_that_there_is(self):
        page = pathlib.Path("docs/reading.md").read_text(encoding="utf-8")
        names, members = self.read("""
import yard.reading
print(json.dumps(yard.reading.__all__))
print(json.dumps([name for name in dir(yard.Run) if not name.startswith("_")]))
""")
        self.assertEqual([name for name in names if "`%s`" % name not in page and "`yard.%s(" % name not in page], [])
        self.assertEqual([name for name in members if "`%s" % name not in page], [])


if __name__ == "__main__":
    xml_runner.main()
