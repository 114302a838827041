"""Functions of a user's own trainer (examples/functions) as trials."""

import json
import os
import pathlib
import signal

from bazel.python import xml_runner
from tests import yard_case


class FunctionTrialsTest(yard_case.YardCase):
    up_words = ("--trainer", str(pathlib.Path("examples/functions/my_trainer").absolute()))

    def trial(self, name):
        return json.loads(self.yard("show", name, "--json")[0])

    def rows(self, name):
        with open(os.path.join(self.directory, "runs", name, "result.json")) as lines:
            return [json.loads(line) for line in lines]

    def await_rows(self, name, count):
        self.yard("watch", name, "--all", "-n", str(count))

    def test_a_function_runs_to_its_end(self):
        _, err = self.yard("run", "--function", "newton", "--name", "root", "--label", "a", "--keep_checkpoints=-1",
                           "--config", '{"target": 9}')
        self.assertIn("done in", err)
        rows = self.rows("root")
        self.assertAlmostEqual(rows[-1]["root"], 3)
        self.assertEqual([row["training_iteration"] for row in rows], list(range(1, len(rows) + 1)))
        trial = self.trial("root")
        self.assertEqual((trial["state"], trial["options"]["function"], trial["argv"]),
                         ("done", "newton", []))
        # One an iteration, by its number.
        self.assertEqual([c["training_iteration"] for c in trial["checkpoints"]],
                         list(range(len(rows), 0, -1)))
        self.assertIn("function   newton", self.yard("show", "root")[0])
        with open(os.path.join(self.directory, "runs/root/provenance.json")) as file:
            self.assertEqual(json.load(file)["function"], "newton")

    def test_its_stop_function_ends_a_grid(self):
        self.yard("run", "--function", "descent", "--grid", "rate=0.1,0.4", "--name", "d-{rate}")
        for name in ("d-0.1", "d-0.4"):
            self.assertEqual(self.trial(name)["state"], "done")
            self.assertTrue(self.rows(name)[-1]["done"])
            self.assertLess(self.rows(name)[-1]["loss"], 1e-6)
            self.assertGreater(self.rows(name)[-2]["loss"], 1e-6)

    def test_its_failure_is_named(self):
        process = self.start_yard("run", "--function", "descent", "--name", "far", "--config",
                                  '{"rate": 1.5}')
        err = self.finish(process, exit_code=1)[1]
        self.assertIn("FAILED: function descent failed: diverged with a rate of 1.5", err)
        self.assertIn("function  descent", err)

    def test_what_is_not_there_is_refused(self):
        err = self.finish(self.start_yard("run", "--function", "newtown"), exit_code=2)[1]
        self.assertIn("no function newtown is registered; there is descent, newton", err)
        own = self.start_yard("up", "--trainer", "/bin/true")
        err = self.finish(own, exit_code=6)[1]
        self.assertIn("the yard is up with the trainer " + self.up_words[1], err)
        self.assertIn("already up", self.yard("up")[0])

    def test_it_survives_a_killed_trainer_and_others_go_on_from_it(self):
        self.yard("run", "--detach", "--function", "descent", "--name", "long", "--keep_checkpoints=-1", "--stop",
                  "training_iteration=60", "--config", '{"rate": 0.001, "min_ms": 20}')
        self.await_rows("long", 5)
        job = self.trial("long")["job"]
        self.kill_service("trainer")
        self.await_rows("long", 15)
        self.kill_service("trainer")
        self.yard("wait", "long")
        trial = self.trial("long")
        # The same process, and each report once.
        self.assertEqual((trial["state"], trial["attempt"], trial["job"]), ("done", 1, job))
        self.assertEqual([row["step"] for row in self.rows("long")], list(range(1, 61)))
        self.yard("run", "--from", "long", "--name", "next", "--stop", "step=70", "--config",
                  '{"rate": 0.01}')
        self.assertEqual(self.trial("next")["options"]["function"], "descent")
        self.assertEqual([row["step"] for row in self.rows("next")], list(range(61, 71)))
        self.assertEqual(self.rows("next")[0]["training_iteration"], 61)
        checkpoint = os.path.join(self.directory, "runs/long/checkpoint_000010")
        self.yard("run", "--restore", checkpoint, "--function", "descent", "--name", "early",
                  "--stop", "step=12", "--config", '{"rate": 0.01}')
        self.assertEqual([row["step"] for row in self.rows("early")], [11, 12])

    def test_it_is_paused_goes_on_and_is_stopped(self):
        self.yard("run", "--detach", "--function", "newton", "--name", "p", "--config",
                  '{"target": 1e300, "start": 1, "min_ms": 10}')
        self.await_rows("p", 3)
        self.yard("pause", "p")
        rows = len(self.rows("p"))
        checkpoints = self.trial("p")["checkpoints"]
        self.assertEqual(checkpoints[0]["training_iteration"], rows)
        self.yard("resume", "p")
        self.await_rows("p", rows + 2)
        # From values, not from the start.
        after = self.rows("p")[rows]
        self.assertEqual(after["training_iteration"], rows + 1)
        self.assertLess(after["root"], self.rows("p")[rows - 1]["root"])
        self.yard("stop", "p")
        self.assertEqual(self.trial("p")["state"], "stopped")
        self.assertFalse([name for name in os.listdir(os.path.join(self.directory, "runs/p"))
                          if name.startswith("checkpoint_tmp")])

    def test_one_that_is_killed_goes_on_from_its_checkpoint(self):
        self.yard("run", "--detach", "--function", "descent", "--name", "k", "--max_restarts", "1",
                  "--config", '{"rate": 0.001, "min_ms": 20}')
        self.await_rows("k", 4)
        pid = self.rows("k")[-1]["pid"]
        os.kill(pid, signal.SIGKILL)
        self.await_true(lambda: self.rows("k")[-1]["pid"] != pid, lambda: "no row of another process")
        self.yard("stop", "k")
        self.assertEqual(self.trial("k")["attempt"], 2)
        steps = [row["step"] for row in self.rows("k") if row["pid"] != pid]
        self.assertGreater(steps[0], 3)
        self.assertEqual(steps, list(range(steps[0], steps[0] + len(steps))))
        with open(os.path.join(self.directory, "runs/k/error.txt")) as file:
            self.assertIn("signal 9", file.read())



class OutputTest(yard_case.YardCase):
    """Reports of programs that know nothing of the yard, from what they print."""

    def steps(self, name):
        with open(os.path.join(self.directory, "runs", name, "result.json")) as lines:
            return [json.loads(line)["step"] for line in lines]

    def test_each_form_of_line_is_read(self):
        for form, line in [("json", '{"loss": 1, "step": 7}'), ("values", "at loss=1 step=7 ."),
                           ("tag:MINE", "MINE: loss=1, step=7")]:
            self.yard("run", "--output", form, "--name", form.replace(":", "-"), "--", "sh", "-c",
                      "echo hello; echo '%s'" % line)
            self.assertEqual(self.steps(form.replace(":", "-")), [7])

    def test_a_killed_trainer_loses_and_doubles_nothing(self):
        fifo = os.path.join(self.directory, "long.fifo")
        os.mkfifo(fifo)
        self.yard("run", "--detach", "--output", "values", "--name", "long", "--", "cat", fifo)
        lines = open(fifo, "w", buffering=1)
        self.addCleanup(lines.close)
        for step in range(1, 21):
            print("step=%d" % step, file=lines)
        self.yard("watch", "long", "--all", "-n", "5")
        self.kill_service("trainer")
        for step in range(21, 41):
            print("step=%d" % step, file=lines)
        lines.close()
        self.yard("wait", "long")
        self.assertEqual(self.steps("long"), list(range(1, 41)))
        self.assertIn("values", self.yard("show", "long")[0])

    def test_a_criterion_ends_it(self):
        program = "for i in 1 2 3 4 5; do echo acc=0.$i step=$i; done; exec tail -f /dev/null"
        self.yard("run", "--output", "values", "--name", "stops", "--stop", "step=5", "--", "sh",
                  "-c", program)
        self.assertEqual(json.loads(self.yard("show", "stops", "--json")[0])["state"], "done")
        self.assertEqual(self.steps("stops"), [1, 2, 3, 4, 5])

    def test_what_is_no_form_is_refused(self):
        err = self.finish(self.start_yard("run", "--output", "xml", "--", "true"), exit_code=2)[1]
        self.assertIn('output "xml" is not auto, json, values, tag:WORD, keras, xgboost, lightgbm, dict or tqdm', err)


if __name__ == "__main__":
    xml_runner.main()
