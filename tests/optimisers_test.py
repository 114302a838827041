"""Sweeps whose suggestions come from a program: one of the test's, Optuna, Nevergrad (docs/sweeps.md)."""

import contextlib
import csv
import io
import json
import math
import os
import pathlib
import random
import signal
import subprocess

from bazel.python import xml_runner
from tests import yard_case

SDK = os.path.abspath("sdk/python")
FILE = """
method: external
external: {command: %s, options: %s, timeout: %d}
metric: {name: loss, goal: minimize}
run_cap: %d
parallel: 1
seed: 7
parameters:
  lr: {distribution: log_uniform_values, min: 1e-4, max: 1.0}
  optimizer: {values: [sgd, adam, 1, true]}
  momentum: {min: 0.0, max: 0.99, when: {optimizer: sgd}}
  width: {min: 8, max: 32, q: 8}
trial: {output: json}
"""
TRAIN = """
import json, math, sys
config = json.loads(sys.argv[1])
assert ("momentum" in config) == (config["optimizer"] == "sgd"), config
if config["width"] == 8:
    sys.exit(3)
print(json.dumps({"loss": abs(math.log10(config["lr"]) + 1) + (config["optimizer"] != "adam")}))
"""
OWN = """
import os
from yard import optimisers

class Own:
    def start(self, request):
        self.values = request["space"]["optimizer"]["values"]
        self.sum = request["seed"]
        self.options = request["options"]
        return "own"
    def ask(self, number):
        if "garbage" in self.options:
            os.write(int(os.environ["YARD_FD"].split(":")[0]), b"garbage " * 100000)
            os.write(int(os.environ["YARD_FD"].split(":")[0]), b"\\n")
        if number in self.options.get("dies_at", []) and not os.path.exists("died-%d" % number):
            open("died-%d" % number, "w").close()
            os.kill(os.getpid(), 9)
        if "end" in self.options:
            raise RuntimeError("no idea for %d" % number)
        self.sum = self.sum * 31 % 997
        return {"lr": 10 ** (-4 * self.sum / 997), "optimizer": self.values[1], "width": 16}
    def tell(self, result):
        self.sum += int(1e6 * sum(result["values"]))

optimisers.serve(Own())
"""


class OptimiserCase(yard_case.YardCase):
    variables = {"PYTHONPATH": SDK, "PYTHONDONTWRITEBYTECODE": "1"}

    def setUp(self):
        super().setUp()
        for name, text in {"train.py": TRAIN, "own.py": OWN}.items():
            pathlib.Path(self.directory, name).write_text(text, encoding="utf-8")

    def sweep(self, name, command, options="{}", run_cap=12, timeout=60):
        """A sweep that runs; await_end() waits for its end."""
        path = pathlib.Path(self.directory, name + ".yaml")
        path.write_text(FILE % (json.dumps(command), options, timeout, run_cap), encoding="utf-8")
        return self.start_yard("sweep", str(path), "--name", name, "--", "python3", "train.py", "${args_json}")

    def shown(self, name):
        return json.loads(self.yard("show", name, "--json")[0])

    def kill_optimisers(self, sweep):
        """How many were killed."""
        kills = 0
        for pid in self.optimisers(sweep):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                kills += 1
        return kills

    def trials(self, name):
        """How many there are; 0: there is no such sweep yet."""
        out, _ = (process := self.start_yard("show", name, "--json")).communicate(timeout=yard_case.LONG)
        return json.loads(out)["trials"] if process.returncode == 0 else 0

    def configs(self, name):
        rows = csv.DictReader(io.StringIO(self.yard("export", name)[0]))
        return [{key: row[key] for key in row if key.startswith("config/")} for row in rows]

    def optimisers(self, sweep):
        """Pids of its programs that run."""
        things = [json.loads(line) for line in self.yard("ps", "--json")[0].splitlines()]
        jobs = [thing for thing in things if thing["kind"] == "job" and thing["state"] == "running"]
        return [job["tasks"][0]["attempts"][-1]["pid"] for job in jobs if job["name"].startswith(sweep + "-optimiser-")]

    def suggests_the_same(self, module, options, every):
        """An adapter that dies at an ask, of every so many, and is told the same again."""
        whole = Talk(self, module, options)
        log = whole.run([], 60)
        whole.end()
        asks = [at for at, (request, _) in enumerate(log) if request["t"] == "ask"]
        self.assertEqual(len(asks), 60)
        for at in asks[::every] + asks[-1:]:
            again = Talk(self, module, options)
            self.assertEqual([again.ask(request) for request, _ in log[:at + 1]],
                             [answer for _, answer in log[:at + 1]], "%s at line %d" % (module, at))
            again.end()


class OwnTest(OptimiserCase):

    def test_a_killed_one_is_started_again_and_suggests_the_same(self):
        self.finish(self.sweep("whole", ["python3", "own.py"], run_cap=30))
        # (Each has suggested something: three that have not would end the sweep.)
        self.finish(self.sweep("killed", ["python3", "own.py"], "{dies_at: [3, 11, 12, 29]}", run_cap=30))
        self.assertEqual(len(list(pathlib.Path(self.directory).glob("died-*"))), 4)
        self.assertEqual(self.configs("killed"), self.configs("whole"))
        self.await_true(lambda: not self.optimisers("killed"), "its optimiser runs on")

    def test_one_that_answers_garbage_costs_its_sweep_alone(self):
        good = self.sweep("good", ["python3", "own.py"], run_cap=20)
        self.await_true(lambda: self.trials("good"), "no trial begins")
        for name, words in {"garbage": 'it has answered "garbage', "end": "no idea for 0"}.items():
            self.finish(self.sweep(name, ["python3", "own.py"], "{%s: true}" % name), 1)
            self.assertIn("failed 3 times in a row", self.shown(name)["reason"])
            self.assertIn(words, self.shown(name)["reason"])
        self.yard("wait", "good")
        self.finish(good)

    def test_one_that_is_not_there_or_silent_is_told(self):
        self.finish(self.sweep("none", ["no-such-program"]), 1)
        self.assertIn("no-such-program", self.shown("none")["reason"])
        self.finish(self.sweep("broken", ["python3", "-c", "import nothing_of_that_name"]), 1)
        self.assertIn("ModuleNotFoundError", self.shown("broken")["reason"])
        self.assertIn("yard logs broken-optimiser-3", self.shown("broken")["reason"])
        self.assertIn("ModuleNotFoundError", self.yard("logs", "broken-optimiser-3")[0])
        self.finish(self.sweep("silent", ["sleep", "1000"], timeout=1), 1)
        self.assertIn("it has said nothing for 1 s", self.shown("silent")["reason"])
        self.await_true(lambda: not self.optimisers("silent"), "its optimiser runs on")


class LibrariesTest(OptimiserCase):
    peer = "tuning"

    def test_optuna_and_nevergrad_suggest(self):
        for name, options in {"optuna": "{}", "nevergrad": "{optimizer: TwoPointsDE}"}.items():
            self.finish(self.sweep(name, ["python", "-m", "yard.optimisers." + name], options, run_cap=30))
            self.assertEqual(len(self.configs(name)), 30)
            self.assertLess(self.shown(name)["best"]["value"], 1.5)
            killed = self.sweep(name + "-killed", ["python", "-m", "yard.optimisers." + name], options, run_cap=30)
            self.await_true(lambda: self.trials(name + "-killed") >= 15, "it does not go on")
            self.assertTrue(self.kill_optimisers(name + "-killed"))
            self.finish(killed)
            self.assertEqual(self.configs(name + "-killed"), self.configs(name))

    def test_one_that_dies_at_any_ask_suggests_the_same(self):
        for module, options, every in (("optuna", {}, 1), ("optuna", {"sampler": "RandomSampler"}, 6), ("nevergrad", {}, 6)):
            self.suggests_the_same(module, options, every)


class GaussianProcessTest(OptimiserCase):
    """Optuna's GPSampler; the newest version that goes with Debian's torch."""

    peer = "tuning_gp"
    variables = {**OptimiserCase.variables, "OMP_NUM_THREADS": "1"}  # A matrix of 60 rows is no work for two.

    def test_one_that_dies_at_any_ask_suggests_the_same(self):
        self.suggests_the_same("optuna", {"sampler": "GPSampler"}, 6)

    def test_a_sweep_goes_on_over_a_kill(self):
        command, options = ["python", "-m", "yard.optimisers.optuna"], "{sampler: GPSampler}"
        self.finish(self.sweep("gp", command, options, run_cap=20))
        self.assertEqual(len(self.configs("gp")), 20)
        killed = self.sweep("gp-killed", command, options, run_cap=20)
        self.await_true(lambda: self.trials("gp-killed") >= 14, "it does not go on")
        self.assertTrue(self.kill_optimisers("gp-killed"))
        self.finish(killed)
        self.assertEqual(self.configs("gp-killed"), self.configs("gp"))


class Talk:
    """A conversation with an adapter, without a yard."""

    SPACE = {"lr": {"type": "float", "min": 1e-5, "max": 0.1, "log": True},
             "opt": {"type": "categorical", "values": ["sgd", "adam", 1, True]},
             "mom": {"type": "float", "min": 0, "max": 0.99, "when": {"opt": ["sgd"]}},
             "n": {"type": "int", "min": 1, "max": 9, "q": 2}}

    def __init__(self, case, module, options):
        environment = dict(os.environ, PYTHONPATH=SDK, OMP_NUM_THREADS="1")
        environment.pop("YARD_FD", None)
        self.start = {"t": "start", "v": 1, "seed": 7, "space": self.SPACE, "options": options,
                      "objectives": [{"name": "l", "goal": "maximize"}]}
        self.process = subprocess.Popen([case.bin + "/python", "-m", "yard.optimisers." + module], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        assert json.loads(self.process.stdout.readline())["t"] == "hello"

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def run(self, log, trials):
        """Trials end in an order of their own, three at a time; some fail, some are stopped, one was known before."""
        def say(request):
            log.append((request, self.ask(request)))
            assert log[-1][1]["t"] in ("ready", "ok", "config"), log[-1]
            return log[-1][1]
        say(self.start)
        say({"t": "add", "state": "done", "values": [-0.5], "at": 1.0, "config": {"lr": 0.01, "opt": True, "n": 3}})
        draw, running, configs = random.Random(1), [], []
        while len(configs) < trials or running:
            if len(running) < 3 and len(configs) < trials:
                running.append(len(configs))
                configs.append(say({"t": "ask", "id": len(configs)})["config"])
                continue
            trial = running.pop(draw.randrange(len(running)))
            state = "failed" if trial % 9 == 8 else "stopped" if trial % 4 == 3 else "done"
            value = -abs(math.log10(configs[trial]["lr"]) + 2) - (configs[trial]["opt"] != "adam")
            say({"t": "tell", "id": trial, "state": state, "values": [] if state == "failed" else [value], "at": 3.0,
                 "config": configs[trial]})
        return log

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=yard_case.LONG)
        self.process.stdout.close()


if __name__ == "__main__":
    xml_runner.main()
