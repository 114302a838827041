"""Sweeps of real programs in a real yard: any language, services that are killed, pauses, failures (docs/sweeps.md)."""

import csv
import io
import json
import os
import pathlib
import signal

from bazel.python import xml_runner
from tests import yard_case

FILE = """
method: %(method)s
metric: {name: loss, goal: minimize}
run_cap: %(run_cap)d
parallel: %(parallel)d
seed: 7
early_terminate: {type: asha, min: 1, max: 9, eta: 3}
parameters:
  lr: {distribution: log_uniform_values, min: 1e-4, max: 1.0}
  width: {values: [8, 16, 32]}
trial: {output: json}
"""
TWO = """
name: two
method: tpe
metrics: [{name: loss}, {name: speed, goal: maximize}]
constraints: ["ms <= 15"]
run_cap: 16
seed: 7
parameters:
  x: {min: 0.0, max: 1.0}
  y: {min: 0.0, max: 20.0}
trial: {output: json}
"""
ONE = """
name: %(name)s
method: tpe
metric: {name: loss}
run_cap: 3
parallel: 1
%(warm)sparameters:
  x: {values: [0.1, 0.2, 0.3, 0.4, 0.5]}
trial: {output: json}
"""
CHANGED = """
name: wide
method: %(method)s
metric: {name: loss}
run_cap: %(run_cap)d
parallel: 4
seed: 7
parameters: {x: {min: 0.0, max: %(max)s}, z: {values: %(values)s}}
trial: {output: json}
"""
# The same search in three languages, none of which knows of a yard.
PYTHON = """
import json, os, sys, time
while "--held" in sys.argv and not os.path.exists("go"):
    time.sleep(0.01)
config = dict(word[2:].split("=") for word in sys.argv[1:] if "=" in word)
for step in range(1, 10):
    print(json.dumps({"step": step, "loss": abs(float(config["lr"]) - 0.1) + 1 / step}), flush=True)
"""
SHELL = """
for word in "$@"; do case $word in --lr=*) lr=${word#--lr=} ;; esac; done
for step in 1 2 3 4 5 6 7 8 9; do
  awk -v lr="$lr" -v s="$step" 'BEGIN { d = lr - 0.1; printf "{\\"step\\": %d, \\"loss\\": %g}\\n", s, (d < 0 ? -d : d) + 1 / s }'
done
"""
CPP = r"""
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
int main(int argc, char** argv) {
  double lr = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--lr=", 5) == 0) lr = std::atof(argv[i] + 5);
  }
  for (int step = 1; step < 10; ++step) {
    std::printf("{\"step\": %d, \"loss\": %g}\n", step, std::fabs(lr - 0.1) + 1.0 / step);
    std::fflush(stdout);
  }
}
"""


class SweepCase(yard_case.YardCase):
    def write(self, name, text):
        path = pathlib.Path(self.directory, name)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def sweep_file(self, name, method="random", run_cap=9, parallel=2):
        return self.write(name + ".yaml", FILE % {"method": method, "run_cap": run_cap, "parallel": parallel})

    def trials(self, name):
        """Their numbers, states, values and configurations."""
        rows = csv.DictReader(io.StringIO(self.yard("export", name)[0]))
        return [{"number": int(row["number"]), "state": row["state"], "value": row["value"],
                 "config": {key: row[key] for key in row if key.startswith("config/")}} for row in rows]

    def pid_of(self, service):
        return json.loads(self.yard("call", service, "Stats")[0])["pid"]


class SweepTest(SweepCase):
    def test_programs_of_any_language_are_swept_by_one_file(self):
        file = self.sweep_file("any")
        self.write("train.py", PYTHON)
        self.write("train.sh", SHELL)
        self.write("train.cc", CPP)
        self.finish(self.start("c++", "-O1", "-o", "train", "train.cc"))
        configs = {}
        for name, words in {"python": ("python3", "train.py"), "shell": ("sh", "train.sh"), "cpp": ("./train",)}.items():
            self.yard("sweep", file, "--name", name, "--parallel", "1", "--", *words, "${args}")
            trials = self.trials(name)
            self.assertEqual([trial["number"] for trial in trials], list(range(9)))
            self.assertIn("done", {trial["state"] for trial in trials})
            configs[name] = [trial["config"] for trial in trials]
        self.assertEqual(configs["python"], configs["shell"])
        self.assertEqual(configs["python"], configs["cpp"])

    def test_two_metrics_have_a_front_and_constraints_hold_for_it(self):
        file = self.write("two.yaml", TWO)
        out, err = self.yard("sweep", file, "--parallel", "2", "--", "sh", "-c", "echo '{\"loss\": {x}, \"speed\": {x}, \"ms\": {y}}'")
        self.assertIn("ms is no parameter: it is a metric", err)
        self.assertIn("(in the front so far)", out)
        shown = json.loads(self.yard("show", "two", "--json")[0])
        trials = {trial["number"]: trial for trial in shown["trial_list"]}
        fitting = {number for number, trial in trials.items() if trial["config"]["y"] <= 15}
        self.assertEqual({number for number, trial in trials.items() if trial["breaks"] == "ms <= 15"}, trials.keys() - fitting)
        # (A trial that is good for one metric is bad for the other.)
        self.assertEqual(set(shown["front"]), fitting)
        self.assertEqual(shown["best"]["number"], shown["front"][0])
        self.assertEqual(shown["objectives"], [{"metric": "loss", "goal": "minimize"}, {"metric": "speed", "goal": "maximize"}])
        text = self.yard("show", "two")[0]
        self.assertIn("a front of %d trials" % len(fitting), text)
        self.assertRegex(text, r"breaks +%d trials?: ms <= 15" % (16 - len(fitting)))
        plot = json.loads(self.yard("plot", "two", "--json")[0])
        self.assertEqual(len(plot["front"]), len(fitting))
        self.assertIn("front: speed over loss", self.yard("plot", "two", "--width", "60", "--height", "10")[0])
        rows = list(csv.DictReader(io.StringIO(self.yard("export", "two")[0])))
        self.assertEqual({row["name"] for row in rows if not row["breaks"]}, {"two-%04d" % number for number in fitting})
        self.assertEqual(rows[0]["value/speed"], rows[0]["value"])

    def test_the_results_of_runs_are_known_to_a_sweep(self):
        command = ("--", "sh", "-c", "echo '{\"loss\": {x}}'")
        one = self.write("one.yaml", ONE % {"name": "first", "warm": ""})
        self.yard("sweep", one, *command)
        self.yard("run", "--name", "other", "--label", "known", "--", "sh", "-c", "exit 0")
        self.yard("call", "datamanager", "Reload", "{}")
        warm = self.write("warm.yaml", ONE % {"name": "second", "warm": "warm_start: {runs: 'label:\"sweep=first\" | label:known'}\n"})
        _, err = self.yard("sweep", warm, *command)
        self.assertIn("warm_start.runs: 3 of 4 runs fit the space and have the metric, and count", err)
        tried = {name: {row["config"]["config/x"] for row in self.trials(name)} for name in ("first", "second")}
        self.assertEqual(len(tried["first"] | tried["second"]), 5)
        self.assertEqual(tried["first"] & tried["second"], set())
        nothing = self.write("nothing.yaml", ONE % {"name": "third", "warm": "warm_start: {runs: 'label:nobody'}\n"})
        _, err = self.yard("sweep", nothing, *command)
        self.assertIn("so nothing is known from one", err)

    def test_a_sweep_outlives_the_services_that_run_it(self):
        file = self.sweep_file("killed", method="tpe", run_cap=40)
        self.write("train.py", PYTHON)
        sweep = self.start_yard("sweep", file, "--name", "killed", "--", "python3", "train.py", "${args}")
        for service in ("trainer", "trainer", "launcher", "trainer"):
            before = self.count("killed")
            os.kill(self.pid_of(service), signal.SIGKILL)
            self.await_true(lambda: self.count("killed") > before or sweep.poll() is not None,
                            "the sweep does not go on without " + service)
        out, _ = self.finish(sweep)
        trials = self.trials("killed")
        self.assertEqual([trial["number"] for trial in trials], list(range(40)))
        self.assertLessEqual({trial["state"] for trial in trials}, {"done", "stopped early"})
        # Each has its line once, however often a service went.
        said = [line.split()[0] for line in out.splitlines() if line.startswith("killed-")]
        self.assertEqual(sorted(said), ["killed-%04d" % number for number in range(40)])

    def count(self, name):
        """How many trials it has; 0: it is not there, or nobody answers now."""
        process = self.start_yard("show", name, "--json")
        out, _ = process.communicate(timeout=yard_case.LONG)
        return json.loads(out)["trials"] if process.returncode == 0 else 0

    def test_a_sweep_that_rested_goes_on_with_the_same_suggestions(self):
        file = self.sweep_file("rest", method="tpe", run_cap=16, parallel=1)
        self.write("train.py", PYTHON)
        command = ("--", "python3", "train.py", "--held", "${args}")
        self.yard("sweep", file, "--name", "rested", "--detach", *command)
        self.yard("pause", "rested", "--drain")
        self.write("go", "")
        self._services("down", "--keep")
        self._services("up")
        self.assertLess(self.count("rested"), 16)
        self.yard("resume", "rested")
        self.yard("wait", "rested")
        self.yard("sweep", file, "--name", "whole", *command)
        self.assertEqual(self.trials("rested"), self.trials("whole"))

    def test_a_program_that_always_fails_ends_it_with_its_last_lines(self):
        file = self.sweep_file("fails", run_cap=50)
        process = self.start_yard("sweep", file, "--name", "fails", "--set", "failures.max_in_a_row=5",
                                  "--parallel", "1", "--", "sh", "-c", "echo 'no such data set' >&2; exit 3")
        out, err = self.finish(process, 1)
        self.assertEqual([trial["state"] for trial in self.trials("fails")], ["failed"] * 5)
        self.assertIn("no such data set", out + err)
        self.assertIn("5 trials in a row have failed", self.yard("show", "fails")[0])


class FourSlotsTest(SweepCase):
    up_words = ("--slots", "4")

    def test_a_sweep_is_changed_while_four_trials_run(self):
        file = self.write("wide.yaml", CHANGED % {"method": "tpe", "max": "1.0", "values": "[a]", "run_cap": 4})
        command = ("--", "sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; echo '{\"loss\": {x}}'")
        self.yard("sweep", file, "--detach", *command)
        self.await_true(lambda: json.loads(self.yard("show", "wide", "--json")[0])["running"] == 4, "four do not run")
        before = self.trials("wide")
        file = self.write("wide.yaml", CHANGED % {"method": "gp", "max": "9.0", "values": "[a, b]", "run_cap": 24})
        out, _ = self.yard("sweep", "--change", "wide", file)
        self.assertIn("4 of its 4 trials fit the new space, and count", out)
        self.write("go", "")
        self.yard("wait", "wide")
        after = self.trials("wide")
        self.assertEqual([trial["number"] for trial in after], list(range(24)))
        self.assertEqual({trial["state"] for trial in after}, {"done"})
        self.assertEqual([trial["config"] for trial in after[:4]], [trial["config"] for trial in before])
        # The next suggestions are from the new space.
        new = [trial["config"] for trial in after[4:]]
        self.assertTrue(any(float(config["config/x"]) > 1 for config in new[:10]))
        self.assertTrue(any(config["config/z"] == "b" for config in new[:10]))
        self.assertEqual(json.loads(self.yard("show", "wide", "--json")[0])["method"], "gp")


class SharedSlotsTest(yard_case.YardCase):
    up_words = ("--slots", "2")

    def test_two_sweeps_and_a_trial_share_the_slots_and_none_starves(self):
        path = pathlib.Path(self.directory, "shared.yaml")
        path.write_text(ONE.replace("[0.1, 0.2, 0.3, 0.4, 0.5]", str([i / 10 for i in range(20)])) % {"name": "shared", "warm": ""}, encoding="utf-8")
        words = ("--parallel", "2", "--run_cap", "20", "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; echo '{\"loss\": {x}}'")
        for name in ("one", "two"):
            self.yard("sweep", str(path), "--detach", "--name", name, *words)
        self.yard("run", "--detach", "--name", "urgent", "--priority", "5", "--", "sh", "-c", "exit 0")
        pathlib.Path(self.directory, "go").touch()
        self.yard("wait", "one", "two", "urgent")
        began = {}
        for name in ("one", "two"):
            trials = json.loads(self.yard("show", name, "--json")[0])["trial_list"]
            self.assertEqual([trial["state"] for trial in trials], ["done"] * 20)
            began[name] = sorted(trial["started"] for trial in trials)
        # Each has begun before the other had begun its last trials, and the urgent one before nearly all.
        self.assertLess(began["two"][10], began["one"][19])
        self.assertLess(began["one"][10], began["two"][19])
        shown = json.loads(self.yard("show", "urgent", "--json")[0])
        self.assertLess(shown["started"], began["one"][10])


if __name__ == "__main__":
    xml_runner.main()
