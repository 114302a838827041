"""The programs of docs/python.md, each with its real library in a real yard: to their end, and told to stop."""

import json
import os
import pathlib

from bazel.python import xml_runner
from tests import fenced_blocks, yard_case

SDK = str(pathlib.Path("sdk/python").absolute())
PAGE = "docs/python.md"
PROGRAMS = {block.file: block.text
            for block in fenced_blocks.blocks(pathlib.Path(PAGE).read_text(encoding="utf-8")) if block.file}


class IntegrationCase(yard_case.YardCase):
    variables = {"PYTHONPATH": SDK, "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1",
                 "TF_CPP_MIN_LOG_LEVEL": "3"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, text in PROGRAMS.items():
            pathlib.Path(cls.directory, name).write_text(text, encoding="utf-8")
        programs = os.path.join(cls.directory, ".bin")
        os.mkdir(programs)
        os.symlink(cls.yard_program, os.path.join(programs, "yard"))
        cls.environment["PATH"] = programs + ":" + cls.environment["PATH"]

    def train(self, program, *flags, name="", before=()):
        """The trial as the yard knows it, its reports and its output, once it has ended well."""
        name = name or self._testMethodName
        out, _ = self.yard("run", "--name", name, *flags, "--", "python", *before, program)
        trial = json.loads(self.yard("show", name, "--json")[0])
        self.assertEqual(trial["state"], "done", trial)
        with open(os.path.join(trial["directory"], "result.json")) as file:
            return trial, [json.loads(line) for line in file], out

    def stops_after_two(self, program):
        """A criterion that is met is told to the program as `yard stop` is."""
        _, rows, out = self.train(program, "--stop", "training_iteration=2", name=self._testMethodName + "-stopped")
        self.assertEqual(len(rows), 2, out)
        return out

    def goes_on(self, program, name):
        """The reports of a trial that starts from another's newest checkpoint."""
        return self.train(program, "--from", name, name=name + "-further")[1]

    def column(self, rows, name):
        return [row.get(name) for row in rows]


class SklearnTest(IntegrationCase):
    peer = "sklearn"

    def test_batches(self):
        _, rows, _ = self.train("train_sklearn.py")
        self.assertEqual(self.column(rows, "step"), list(range(1, 11)))
        self.assertGreater(rows[-1]["accuracy"], 0.6)
        self.stops_after_two("train_sklearn.py")


class SklearnSearchTest(IntegrationCase):
    peer = "sklearn"

    def test_search(self):
        _, rows, out = self.train("search_sklearn.py")
        self.assertEqual(self.column(rows, "step"), list(range(1, 7)))
        self.assertEqual(rows[0]["params"], {"C": 0.1, "kernel": "linear"})
        best = max(rows, key=lambda row: row["mean_test_score"])
        self.assertIn("best %s" % best["params"], out)
        self.assertIn("best {'C': 0.1, 'kernel': 'linear'}", self.stops_after_two("search_sklearn.py"))


class KerasTest(IntegrationCase):
    peer = "tensorflow"

    def test_keras(self):
        trial, rows, _ = self.train("train_keras.py")
        self.assertEqual(self.column(rows, "step"), [1, 2, 3, 4])
        self.assertLess(rows[-1]["loss"], rows[0]["loss"])
        self.assertIn("val_loss", rows[0])
        self.assertTrue(os.path.exists(trial["checkpoint"] + "/model.keras"), trial["checkpoint"])
        self.stops_after_two("train_keras.py")
        rows = self.goes_on("train_keras.py", "test_keras-stopped")
        self.assertEqual(self.column(rows, "step"), [3, 4])

    def test_the_flags_of_absl(self):
        pathlib.Path(self.directory, "flags.py").write_text("""
import numpy, yard
from absl import app, flags
flags.DEFINE_float("lr", 0.1, "the rate")
flags.DEFINE_list("layers", ["4", "8"], "their widths")
def main(argv):
    with yard.Reporter() as reporter:
        reporter.config_update(flags.FLAGS, width=numpy.int64(3), mean=numpy.array([0.5, 1]), kind=numpy.float32)
        reporter.report(loss=1)
app.run(main)
""")
        out, _ = self.yard("run", "--name", "flags", "--", "python", "flags.py", "--lr", "0.5")
        config = json.loads(self.yard("show", "flags", "--json")[0])["config"]
        self.assertEqual({name: config[name] for name in ("lr", "layers", "width", "mean", "kind")},
                         {"lr": 0.5, "layers": ["4", "8"], "width": 3, "mean": [0.5, 1], "kind": "float32"}, out)

    def test_keras_as_it_prints(self):
        for verbose, form in ((1, "keras"), (2, "auto")):
            text = PROGRAMS["train_keras.py"].replace("verbose=0", "verbose=%d" % verbose).replace(
                "          callbacks=[callback]", "          callbacks=[]")
            pathlib.Path(self.directory, "print_keras.py").write_text(text)
            _, rows, _ = self.train("print_keras.py", "--output", form, name="prints-" + form)
            self.assertEqual(len(rows), 4)
            self.assertLess(rows[-1]["loss"], rows[0]["loss"])
            self.assertIn("val_loss", rows[0])

    def test_the_tensorboard_of_keras_writes_into_the_run(self):
        pathlib.Path(self.directory, "fit.py").write_text("""
import keras, numpy
model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
model.compile(loss="mse")
model.fit(numpy.ones((4, 2)), numpy.ones(4), epochs=2, verbose=0, callbacks=[keras.callbacks.TensorBoard("board")])
""")
        trial, _, _ = self.train("fit.py", before=["-m", "yard.summary_writer"])
        self.assertIn("epoch_loss", self.yard("export", os.path.basename(trial["directory"]))[0])
        self.assertFalse(os.path.exists(self.directory + "/board/train"))


class BoostingTest(IntegrationCase):
    peer = "boosting"

    def test_xgboost(self):
        trial, rows, _ = self.train("train_xgboost.py")
        self.assertEqual(self.column(rows, "step"), [1, 2, 3, 4, 5, 6])
        self.assertLess(rows[-1]["train/rmse"], rows[0]["train/rmse"])
        self.assertTrue(os.path.exists(trial["checkpoint"] + "/model.ubj"), trial["checkpoint"])
        self.stops_after_two("train_xgboost.py")
        self.assertEqual(self.column(self.goes_on("train_xgboost.py", "test_xgboost-stopped"), "step"), [3, 4, 5, 6])

    def test_lightgbm(self):
        _, rows, out = self.train("train_lightgbm.py")
        self.assertEqual(self.column(rows, "step"), [1, 2, 3, 4, 5, 6])
        self.assertLess(rows[-1]["train/l2"], rows[0]["train/l2"])
        self.assertIn("rounds 6", out)
        self.assertIn("rounds 2", self.stops_after_two("train_lightgbm.py"))

    def test_xgboost_as_it_prints(self):
        for form in ("xgboost", "auto"):
            _, rows, _ = self.train("print_xgboost.py", "--output", form, name="prints-" + form)
            self.assertEqual(self.column(rows, "step"), [0, 1, 2, 3, 4, 5])
            self.assertLess(rows[-1]["train/rmse"], rows[0]["train/rmse"])

    def test_lightgbm_as_it_prints(self):
        text = PROGRAMS["train_lightgbm.py"].replace("callbacks=[YardCallback()]",
                                                     "callbacks=[lightgbm.log_evaluation(1)]")
        pathlib.Path(self.directory, "print_lightgbm.py").write_text(text)
        for form in ("lightgbm", "auto"):
            _, rows, _ = self.train("print_lightgbm.py", "--output", form, name="lgb-" + form)
            self.assertEqual(self.column(rows, "step"), [1, 2, 3, 4, 5, 6])
            self.assertLess(rows[-1]["train/l2"], rows[0]["train/l2"])

    def test_catboost(self):
        _, rows, out = self.train("train_catboost.py")
        self.assertEqual(self.column(rows, "step"), [1, 2, 3, 4, 5, 6])
        self.assertLess(rows[-1]["learn/RMSE"], rows[0]["learn/RMSE"])
        self.assertIn("validation/RMSE", rows[0])
        self.assertIn("trees 2", self.stops_after_two("train_catboost.py"))


class JaxTest(IntegrationCase):
    peer = "jax"

    def test_jax(self):
        trial, rows, _ = self.train("train_jax.py")
        self.assertEqual(self.column(rows, "step"), [2, 4, 6, 8, 10, 12])
        self.assertLess(rows[-1]["loss"], rows[0]["loss"])
        self.assertTrue(os.path.exists(trial["checkpoint"] + "/state.msgpack"), trial["checkpoint"])
        self.stops_after_two("train_jax.py")
        rows = self.goes_on("train_jax.py", "test_jax-stopped")
        self.assertEqual(self.column(rows, "step"), [6, 8, 10, 12])


# Each module of Lightning imports that where torch is older than 2.1; torch 1.13 on Python 3.11 cannot (a dataclass with
# a default that is no constant), whatever the program does.
SHARDED_TENSORS = """
import sys, types
module = types.ModuleType("torch.distributed._shard.sharded_tensor")
module.state_dict_hook = module.pre_load_state_dict_hook = lambda *args, **kwargs: None
sys.modules[module.__name__] = module
"""


class LightningTest(IntegrationCase):
    peer = "torch_libraries"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        pathlib.Path(cls.directory, "site").mkdir()
        pathlib.Path(cls.directory, "site/sitecustomize.py").write_text(SHARDED_TENSORS)
        cls.environment["PYTHONPATH"] += ":" + cls.directory + "/site"

    def test_lightning(self):
        trial, rows, out = self.train("train_lightning.py")
        self.assertEqual(self.column(rows, "step"), [1, 3, 5, 7])
        self.assertIn("loss", rows[0])
        self.assertIn("steps 8", out)
        self.assertTrue(os.path.exists(trial["checkpoint"] + "/model.ckpt"), trial["checkpoint"])
        self.assertIn("steps 4", self.stops_after_two("train_lightning.py"))
        # (A batch that is being ended when Lightning saves is not yet counted in the steps that its loggers are told.)
        _, rows, out = self.train("train_lightning.py", "--from", "test_lightning-stopped", name="further")
        self.assertEqual(len(rows), 2)
        self.assertIn("steps 8", out)


class TorchLibrariesTest(IntegrationCase):
    peer = "torch_libraries"

    def test_transformers(self):
        trial, rows, out = self.train("train_transformers.py")
        self.assertEqual(self.column(rows, "step"), [2, 4, 6, 8, 8])
        self.assertIn("loss", rows[0])
        self.assertIn("train_runtime", rows[-1])
        self.assertTrue(os.path.exists(trial["checkpoint"] + "/trainer_state.json"), trial["checkpoint"])
        out = self.train("train_transformers.py", "--stop", "training_iteration=2", name="hf-stopped")[2]
        self.assertIn("steps 4", out)
        self.assertEqual(self.column(self.goes_on("train_transformers.py", "hf-stopped"), "step"), [6, 8, 8])

    def test_transformers_as_it_prints(self):
        text = PROGRAMS["train_transformers.py"].replace("callbacks=[YardCallback()]", "callbacks=[]")
        pathlib.Path(self.directory, "print_transformers.py").write_text(text)
        for form in ("dict", "auto"):
            _, rows, _ = self.train("print_transformers.py", "--output", form, name="hf-prints-" + form)
            self.assertEqual(len([row for row in rows if "loss" in row]), 4)
            self.assertIn("train_runtime", [row for row in rows if "train_loss" in row][0])

    def test_a_bar_of_tqdm(self):
        pathlib.Path(self.directory, "bar.py").write_text("""
import sys, tqdm
bar = tqdm.trange(5, file=sys.stdout, mininterval=0)
for n in bar:
    bar.set_postfix(loss=1 / (n + 1))
""")
        for form in ("tqdm", "auto"):
            _, rows, _ = self.train("bar.py", "--output", form, name="bar-" + form)
            self.assertEqual(self.column(rows, "loss"), [1, 0.5, 0.333, 0.25, 0.2])

    def test_accelerate(self):
        _, rows, _ = self.train("train_accelerate.py")
        self.assertEqual(self.column(rows, "step"), [1, 2, 3, 4, 5, 6])
        self.assertLess(rows[-1]["loss"], rows[0]["loss"])
        self.stops_after_two("train_accelerate.py")

    def test_stable_baselines3(self):
        trial, rows, out = self.train("train_sb3.py")
        self.assertEqual(self.column(rows, "step"), [64, 128, 192, 256])
        self.assertIn("rollout/ep_rew_mean", rows[0])
        self.assertIn("train/loss", rows[1])
        self.assertTrue(os.path.exists(trial["checkpoint"] + "/model.zip"), trial["checkpoint"])
        self.assertIn("steps 129", self.stops_after_two("train_sb3.py"))

    def test_a_summary_writer_of_torch_writes_into_the_run(self):
        pathlib.Path(self.directory, "write.py").write_text(
            PROGRAMS["train_summary.py"].replace("tensorboardX", "torch.utils.tensorboard"))
        self.train("write.py", name="torch-writes", before=["-m", "yard.summary_writer"])
        self.assertEqual(self.yard("export", "torch-writes", "-m", "loss")[0].count("\n"), 6)
        self.assertFalse(os.path.exists(self.directory + "/logs"))


class TuningTest(IntegrationCase):
    peer = "tuning"

    def test_optuna(self):
        _, rows, out = self.train("study.py")
        ended = [row for row in rows if "state" in row]
        self.assertEqual(self.column(ended, "step"), [0, 1, 2, 3])
        self.assertEqual(ended[-1]["best"], min(row["value"] for row in ended))
        self.assertAlmostEqual(ended[0]["params"]["x"] ** 2, ended[0]["value"])
        self.assertEqual(len([row for row in rows if "intermediate" in row]), 12)
        self.assertIn("trials 4", out)
        # The second intermediate value of the first trial; that it was pruned is a third report.
        out = self.train("study.py", "--stop", "training_iteration=2", name="study-stopped")[2]
        self.assertIn("trials 1", out)

    def test_hydra_starts_a_trial_for_each_job(self):
        self.finish(self.start("python", "train_hydra.py", "--multirun", "hydra/launcher=yard", "lr=0.5,0.25",
                               "hydra.launcher.words=[--label,swept]"))
        runs = [json.loads(line)["run"] for line in self.yard("runs", "label:swept", "--json")[0].splitlines()]
        trials = [json.loads(self.yard("show", run, "--json")[0]) for run in runs]
        self.assertEqual(sorted(trial["config"]["lr"] for trial in trials), [0.25, 0.5])
        for trial in trials:
            self.assertEqual((trial["state"], trial["reports"]), ("done", 3), trial)
            self.assertEqual(trial["metrics"]["loss"], trial["config"]["lr"] / 3)

    def test_a_configuration_of_omegaconf(self):
        pathlib.Path(self.directory, "omega.py").write_text("""
import yard
from omegaconf import OmegaConf
with yard.Reporter() as reporter:
    reporter.config_update(OmegaConf.create({"lr": 0.5, "net": {"width": 4, "depth": "${.width}"}}))
    reporter.report(loss=1)
""")
        trial, _, _ = self.train("omega.py")
        self.assertEqual(trial["config"], {"lr": 0.5, "net": {"width": 4, "depth": 4}})

    def test_a_job_of_hydra_that_fails_is_told(self):
        _, err = self.finish(self.start("python", "train_hydra.py", "--multirun", "hydra/launcher=yard", "lr=oops"),
                             exit_code=1)
        self.assertRegex(err, r"trial t-\w+: ")


class SummaryWriterTest(IntegrationCase):
    peer = "tensorboard"

    def test_a_summary_writer_writes_into_the_run(self):
        trial, _, _ = self.train("train_summary.py", name="writes", before=["-m", "yard.summary_writer"])
        self.assertEqual(self.yard("export", "writes", "-m", "loss")[0].count("\n"), 6)
        self.assertEqual(self.yard("export", "writes/test", "-m", "accuracy")[0].count("\n"), 6)
        self.assertEqual(trial["reports"], 0)
        self.assertFalse(os.path.exists(self.directory + "/logs"))

    def test_by_hand_nothing_is_changed(self):
        self.finish(self.start("python", "-m", "yard.summary_writer", "train_summary.py"))
        self.assertEqual(sorted(os.listdir(self.directory + "/logs")), ["test", "train"])
        _, err = self.finish(self.start("python", "-m", "yard.summary_writer"), exit_code=1)
        self.assertIn("usage: ", err)


class PrintedLinesTest(IntegrationCase):
    """docs/python.md says this of `--output`."""

    def reports(self, text, form="values"):
        self.yard("run", "--name", self._testMethodName, "--output", form, "--", "python3", "-c",
                  "import sys; sys.stdout.write(%r)" % text)
        path = pathlib.Path(self.directory, "runs", self._testMethodName, "result.json")
        return [json.loads(line) for line in path.read_text().splitlines()]

    def test_the_last_state_of_a_bar_of_tqdm(self):
        bar = "".join("\r%3d%%|##  | %d/4 [00:00<00:00, 9.1it/s, loss=%s]" % (25 * n, n, 1 / n) for n in range(1, 5))
        self.assertEqual([row["loss"] for row in self.reports(bar + "\n")], [0.25])

    def test_lines_of_libraries(self):
        lines = ("4/4 - 0s - 9ms/step - loss: 0.5 - val_loss: 0.25\n[0]\ttrain-rmse:0.51234\n"
                 "[1]\ttraining's l2: 0.25\n{'loss': 0.5, 'epoch': 1.0}\n")
        rows = self.reports(lines, "auto")
        self.assertEqual([row.get("val_loss") for row in rows], [0.25, None, None, None])
        self.assertEqual([row.get("step") for row in rows][1:3], [0, 1])
        self.assertEqual((rows[1]["train/rmse"], rows[2]["training/l2"], rows[3]["epoch"]), (0.51234, 0.25, 1))

    def test_lines_of_libraries_have_no_values_with_equal_signs(self):
        self.assertEqual(self.reports("4/4 - 0s - loss: 0.5\n[0]\ttrain-rmse:0.5\n{'loss': 0.5}\n"), [])


if __name__ == "__main__":
    xml_runner.main()
