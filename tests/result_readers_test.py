"""pandas and the real TensorBoard read what a run leaves in its directory."""

import glob
import json
import math
import pathlib

from bazel.python import xml_runner
from tests import yard_case

# Reports each object of its argument in lock step.
PROGRAM = """
import json, os, sys
for metrics in json.loads(sys.argv[1]):
    os.write(3, json.dumps({"t": "report", "m": metrics}).encode() + b"\\n")
    assert json.loads(os.read(3, 65536))["t"] in ("ok", "stop")
print("said on stdout")
print("said on stderr", file=sys.stderr)
sys.exit(int(sys.argv[2]))
"""

READ_WITH_PANDAS = """
import json, sys
import pandas
table = pandas.read_csv(sys.argv[1] + "/progress.csv")
lines = pandas.read_json(sys.argv[1] + "/result.json", lines=True)
print(json.dumps({
    "columns": list(table.columns),
    "types": {name: str(kind) for name, kind in table.dtypes.items()},
    "table": json.loads(table.to_json(orient="records")),
    "lines": json.loads(lines.to_json(orient="records")),
    "odd": [[str(value) for value in frame["odd"]] for frame in (table, lines)],
}))
"""

READ_WITH_TENSORBOARD = """
import json, sys
from tensorboard.backend.event_processing import event_accumulator
accumulator = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
accumulator.Reload()
print(json.dumps({tag: [[point.step, point.value] for point in accumulator.Scalars(tag)]
                  for tag in accumulator.Tags()["scalars"]}))
"""

REPORTS = [
    {"loss": 2.5, "odd": math.nan, "eval": {"accuracy": 0.25}, "note": "a, \"b\"\nc"},
    {"loss": 1.5, "odd": math.inf, "eval": {"accuracy": 0.5}, "note": None, "mean_loss": 0},
    {"loss": 0.5, "odd": -math.inf, "eval": {"accuracy": 0.75}, "late": 7,
     "big": 9007199254740993},
]


class ResultReadersTest(yard_case.YardCase):
    peer = "tensorboard"

    def setUp(self):
        self.path = self.run_one(self._testMethodName, REPORTS)

    def run_one(self, name, reports, exit_code=0):
        """The directory of a run whose program reports that."""
        process = self.start_yard(
            "run", "--name", name, "--config", '{"lr": 0.1, "deep": {"n": 3}}', "--", "python", "-c",
            PROGRAM, json.dumps(reports), str(exit_code))
        self.finish(process, 1 if exit_code else 0)
        trial = json.loads(self.yard("show", name, "--json")[0])
        self.assertEqual(trial["reports"], len(reports))
        return pathlib.Path(trial["directory"])

    def test_pandas_reads_the_table_with_the_columns_that_came_later(self):
        seen = json.loads(self.python(READ_WITH_PANDAS, str(self.path)))
        table = seen["table"]
        self.assertEqual([row["loss"] for row in table], [2.5, 1.5, 0.5])
        self.assertEqual([row["eval/accuracy"] for row in table], [0.25, 0.5, 0.75])
        self.assertEqual([row["note"] for row in table], ["a, \"b\"\nc", None, None])
        self.assertEqual([row["late"] for row in table], [None, None, 7])
        self.assertEqual([row["neg_mean_loss"] for row in table], [None, 0, None])
        self.assertEqual([row["training_iteration"] for row in table], [1, 2, 3])
        self.assertEqual([row["iterations_since_restore"] for row in table], [1, 2, 3])
        self.assertEqual([row["done"] for row in table], [False] * 3)
        self.assertEqual(seen["types"]["done"], "bool")
        self.assertEqual(seen["types"]["time_total_s"], "float64")
        self.assertEqual(seen["types"]["experiment_id"], "object")
        self.assertEqual(seen["columns"][:4], ["loss", "odd", "eval/accuracy", "note"])
        self.assertEqual(seen["columns"][-4:], ["mean_loss", "neg_mean_loss", "late", "big"])

    def test_pandas_reads_the_lines(self):
        lines = json.loads(self.python(READ_WITH_PANDAS, str(self.path)))["lines"]
        self.assertEqual([row["loss"] for row in lines], [2.5, 1.5, 0.5])
        self.assertEqual(lines[1]["eval"], {"accuracy": 0.5})
        self.assertEqual(lines[2]["late"], 7)
        self.assertNotIn("config", lines[0])
        text = (self.path / "result.json").read_text()
        self.assertEqual(json.loads(text.splitlines()[2])["big"], 9007199254740993)

    def test_numbers_that_are_not_finite_are_read_as_they_are(self):
        seen = json.loads(self.python(READ_WITH_PANDAS, str(self.path)))
        self.assertEqual(seen["odd"], [["nan", "inf", "-inf"]] * 2)
        tags = json.loads(self.python(READ_WITH_TENSORBOARD, str(self.path)))
        self.assertEqual([str(value) for _, value in tags["odd"]], ["nan", "inf", "-inf"])

    def test_tensorboard_reads_the_numbers(self):
        tags = json.loads(self.python(READ_WITH_TENSORBOARD, str(self.path)))
        self.assertEqual(tags["loss"], [[1, 2.5], [2, 1.5], [3, 0.5]])
        self.assertEqual(tags["eval/accuracy"], [[1, 0.25], [2, 0.5], [3, 0.75]])
        self.assertEqual(tags["late"], [[3, 7.0]])
        self.assertNotIn("note", tags)

    def test_what_is_no_float_is_one_to_tensorboard_and_whole_to_the_yard(self):
        values = [0.1, 1e308, 5e-324, 16777217.0, 0.5]
        path = self.run_one("exact", [{"loss": value} for value in values])
        tags = json.loads(self.python(READ_WITH_TENSORBOARD, str(path)))
        self.assertEqual(sorted(tags), ["loss"])
        self.assertEqual([value for _, value in tags["loss"]],
                         [0.10000000149011612, math.inf, 0.0, 16777216.0, 0.5])
        lines = self.yard("export", "exact", "--format", "jsonl")[0].splitlines()
        self.assertEqual([json.loads(line)["value"] for line in lines], values)
        steps = [json.loads(line)["step"] for line in (path / "result.json").open()]
        self.assertEqual(steps, [1, 2, 3, 4, 5])

    def test_the_other_files_are_where_ray_has_them(self):
        self.assertEqual(json.loads((self.path / "params.json").read_text()),
                         {"lr": 0.1, "deep": {"n": 3}})
        self.assertEqual(len([path for path in glob.glob(str(self.path / "events.out.tfevents.*")) if "-sys." not in path]), 1)
        self.assertFalse((self.path / "error.txt").exists())
        (out,), (err,) = self.path.rglob("*.stdout"), self.path.rglob("*.stderr")
        self.assertEqual(out.read_text(), "said on stdout\n")
        self.assertEqual(err.read_text(), "said on stderr\n")

    def test_a_failure_is_in_the_error_file_with_the_last_lines_of_stderr(self):
        path = self.run_one("failing", [{"loss": 1}], exit_code=3)
        self.assertRegex((path / "error.txt").read_text(),
                         r"^Failure # 1 \(occurred at [-0-9_]+\)\n"
                         r"attempt 1: exit code 3\nsaid on stderr\n$")


if __name__ == "__main__":
    xml_runner.main()
