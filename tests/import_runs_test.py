"""`yard import`: what other trackers have kept, as the yard reads it then."""

import csv
import io
import json
import os
import pathlib

from bazel.python import xml_runner
from tests import yard_case

SDK = str(pathlib.Path("sdk/python").absolute())

WANDB = """
import wandb
run = wandb.init(mode="offline", project="digits", name="first try", tags=["base"], notes="by hand",
                 config={"lr": 0.1, "net": {"width": 3}, "word": "adam"})
for step in range(2000):
    run.log({"loss": 1 / (step + 1), "eval": {"acc": step}, "h": wandb.Histogram(np_histogram=([1, 2], [0, 1, 2])),
             "state": "up", "odd": float("nan")})
run.config.update({"late": 1})
run.finish()
"""

MLFLOW = """
import mlflow
mlflow.set_tracking_uri("file:./mlruns")
mlflow.set_experiment("digits")
with mlflow.start_run(run_name="it's: a 'run'"):
    mlflow.log_params({"lr": 0.5, "net/width": 3, "word": "adam"})
    for step in range(3):
        mlflow.log_metric("loss", 1 / (step + 1), step=step, timestamp=1700000000123 + step)
    mlflow.log_metric("eval/odd", float("nan"), step=2)
    mlflow.set_tags({"team": "x", "base": ""})
    mlflow.log_text("text", "note.txt")
with mlflow.start_run(run_name="gone") as gone:
    mlflow.log_metric("loss", 1)
mlflow.delete_run(gone.info.run_id)
"""


class ImportCase(yard_case.YardCase):
    variables = {"PYTHONPATH": SDK, "WANDB_SILENT": "true", "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}

    def bring(self, *words, exit_code=0):
        return self.finish(self.start(self.yard_program, "import", *words), exit_code)

    def write(self, name, text):
        path = pathlib.Path(self.directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def points(self, run, *words):
        """Rows of `yard export`: tag, step, seconds, value."""
        rows = csv.DictReader(io.StringIO(self.yard("export", run, *words)[0]))
        return [(row["tag"], int(row["step"]), float(row["wall_time"]), float(row["value"])) for row in rows]

    def kept(self, run, name):
        return json.loads(pathlib.Path(self.directory, "runs", run, name).read_text())

    def found(self, query):
        return [json.loads(line)["run"] for line in self.yard("runs", query, "--json")[0].splitlines()]


class CsvTest(ImportCase):

    def test_a_column_for_each_metric(self):
        path = self.write("wide.csv", "step,wall_time,loss,acc,word\n1,1700000000.5,0.1,,a\n2,1700000001,0.2,1e308,b\n")
        out, _ = self.bring(path)
        self.assertIn("runs/wide: 3 values of 2 tags, 0 parameters\n  left out: 2 values that are no numbers\n", out)
        self.assertEqual(self.points("wide"), [("acc", 2, 1700000001.0, 1e308), ("loss", 1, 1700000000.5, 0.1),
                                               ("loss", 2, 1700000001.0, 0.2)])
        out, _ = self.bring(path)
        self.assertIn("is there already and stays as it is", out)
        self.bring(path, "--prefix", "again-")
        self.assertEqual(len(self.points("again-wide")), 3)

    def test_a_row_for_each_value_of_many_runs(self):
        path = self.write("long.csv", "dir_name,step,tag,value,wall_time\na,1,loss,0.5,2024-05-01T00:00:00+00:00\n"
                                      "b/c,1,loss,nan,1.5\nb/c,-3,acc,7,1.5\n")
        self.bring(path)
        self.assertEqual(self.points("a"), [("loss", 1, 1714521600.0, 0.5)])
        self.assertEqual([point[:2] for point in self.points("b_c")], [("acc", -3), ("loss", 1)])

    def test_columns_may_be_the_configuration(self):
        path = self.write("configured.csv", "name,step,metrics.loss,params.lr,config.opt\nc,1,0.5,0.1,adam\nc,2,0.25,,\n")
        out, _ = self.bring(path)
        self.assertIn("runs/c: 2 values of 1 tags, 2 parameters\n", out)
        self.assertEqual(self.kept("c", "params.json"), {"lr": 0.1, "opt": "adam"})
        self.assertEqual([point[:2] for point in self.points("c")], [("loss", 1), ("loss", 2)])

    def test_frames_of_tbparse_make_one_run(self):
        scalars = self.write("scalars.csv", "step,tag,value,wall_time,dir_name\n1,loss,0.5,10,t\n2,loss,0.25,20.5,t\n")
        hparams = self.write("hparams.csv", "tag,value,dir_name\nlr,0.1,t\nopt,adam,t\n")
        out, _ = self.bring(scalars, hparams)
        self.assertIn("runs/t: 2 values of 1 tags, 2 parameters\n", out)
        self.assertEqual(self.kept("t", "params.json"), {"lr": 0.1, "opt": "adam"})
        known = self.kept("t", "provenance.json")
        self.assertEqual((known["started"], known["ended"]), (10, 20.5))
        # Where a tag comes again these are values, whose rows are counted.
        self.bring(self.write("counted.csv", "tag,value\nloss,0.5\nloss,0.25\n"))
        self.assertEqual([point[:2] for point in self.points("counted")], [("loss", 1), ("loss", 2)])

    def test_a_frame_of_aim(self):
        path = self.write("aim.csv", ",idx,step,value,epoch,time,run.hash,run.hparams.lr,run.__system_params.x,metric.name,"
                                     "metric.context.subset,run.name\n0,0,3,1.0,,2024-05-01 00:00:00+00:00,abc,0.1,z,loss,train,try\n"
                                     "1,1,3,0.5,,2024-05-01 00:00:00+00:00,abc,0.1,z,loss,,try\n")
        self.bring(path)
        self.assertEqual(self.points("try"), [("loss", 3, 1714521600.0, 0.5), ("train/loss", 3, 1714521600.0, 1)])
        self.assertEqual(self.kept("try", "params.json"), {"hparams.lr": 0.1})

    def test_a_chart_of_wandb(self):
        path = self.write("chart.csv", '"Step","base - eval/loss","base - eval/loss__MIN","base - eval/loss__MAX","narrow - eval/loss"\n'
                                       '1,0.5,0.5,0.5,0.75\n2,0.25,0.25,0.25,\n')
        self.bring(path)
        self.assertEqual([(tag, step, value) for tag, step, _, value in self.points("base")],
                         [("eval/loss", 1, 0.5), ("eval/loss", 2, 0.25)])
        self.assertEqual(len(self.points("narrow")), 1)

    def test_the_module_does_the_same_without_a_yard(self):
        path = self.write("alone.csv", "step,loss\n1,0.5\n")
        logdir = os.path.join(self.directory, "elsewhere")
        words = ("/usr/bin/python3", "-m", "yard.import_runs", "--logdir", logdir, "--json", path)
        said = json.loads(self.finish(self.start(*words), 0)[0])
        self.assertEqual((said["run"], said["directory"], said["imported"], said["values"]),
                         ("alone", logdir + "/alone", True, 1))
        self.assertFalse(json.loads(self.finish(self.start(*words), 0)[0])["imported"])

    def test_it_needs_python(self):
        self.addCleanup(self.environment.update, PATH=self.environment["PATH"])
        self.environment["PATH"] = self.directory
        _, err = self.bring("x.csv", exit_code=3)
        self.assertIn("cannot start python3, which reads the files: it is not on PATH; next: install Python 3.8", err)

    def test_what_is_no_source_is_said(self):
        os.makedirs(self.directory + "/nothing", exist_ok=True)
        empty = self.write("x/run-abc.wandb", "")
        for source, said, code in (
                (self.directory + "/nothing", "holds no run: neither *.wandb, nor a meta.yaml with metrics/", 1),
                (self.write("one.csv", "a\n1\n"), "it is no CSV file with a header", 1),
                (self.directory + "/missing", "/missing: it is not there", 3), (os.path.dirname(empty), "it holds nothing", 1)):
            _, err = self.bring("--logdir", self.directory + "/other", source, exit_code=code)
            self.assertIn(said, err)


class TrackersTest(ImportCase):
    peer = "trackers"

    def test_a_run_of_wandb(self):
        self.python(WANDB)
        out, _ = self.bring("wandb")
        self.assertIn("runs/first try: 6000 values of 3 tags, 4 parameters\n", out)
        self.assertIn("2000 images, histograms and the like", out)
        self.assertIn("2000 values that are no numbers", out)
        self.assertEqual(self.kept("first try", "params.json"),
                         {"lr": 0.1, "net": {"width": 3}, "word": "adam", "late": 1})
        points = sorted(self.points("first try", "-m", "loss", "-m", "eval/acc"))
        self.assertEqual([(tag, step, value) for tag, step, _, value in points],
                         [("eval/acc", step, step) for step in range(2000)] +
                         [("loss", step, 1 / (step + 1)) for step in range(2000)])
        known = self.kept("first try", "provenance.json")
        self.assertEqual((known["project"], known["notes"], known["labels"]), ("digits", "by hand", ["base"]))
        self.assertLessEqual(known["started"], points[0][2])
        self.assertAlmostEqual(known["ended"], points[-1][2], places=4)
        self.assertEqual(self.found("label:base & config.lr=0.1"), ["first try"])
        # A byte that is wrong costs what is behind it, and that is said.
        path, = pathlib.Path(self.directory, "wandb").glob("offline-run-*/*.wandb")
        data = bytearray(path.read_bytes())
        data[100000] ^= 1
        path.write_bytes(data)
        out, err = self.bring("wandb", "--prefix", "damaged ", exit_code=1)
        self.assertRegex(err, "the rest could not be read: .*the record at byte [0-9]+ is damaged")
        self.assertGreater(len(self.points("damaged first try", "-m", "loss")), 10)

    def test_a_file_store_of_mlflow(self):
        self.python(MLFLOW)
        out, _ = self.bring("mlruns")
        name = "it's: a 'run'"
        self.assertIn("runs/%s: 4 values of 2 tags, 3 parameters\n  left out: 1 artifacts\n" % name, out)
        self.assertEqual(self.kept(name, "params.json"), {"lr": 0.5, "net/width": 3, "word": "adam"})
        self.assertEqual(self.points(name, "-m", "loss"),
                         [("loss", step, (1700000000123 + step) / 1000, 1 / (step + 1)) for step in range(3)])
        known = self.kept(name, "provenance.json")
        self.assertEqual((known["group"], sorted(known["labels"])), ("digits", ["base", "team=x"]))
        self.assertLessEqual(known["started"], known["ended"])
        self.assertEqual(self.found("label:base"), [name])
        self.assertEqual(self.found("label:deleted"), ["gone"])


if __name__ == "__main__":
    xml_runner.main()
