"""Programs that nobody launched report by `yard.init()`: trials of the yard that is up, or files without one."""

import json
import os
import pathlib
import shlex
import signal
import subprocess

from bazel.python import xml_runner
from tests import yard_case

REFUSED = 6  # The exit code where a thing is in no state for that.
SDK = str(pathlib.Path("sdk/python").absolute())
TRAIN = """
import sys, yard
run = yard.init(name="first", config={"lr": 0.5}, labels=["base"], note="by hand")
for step in range(5):
    run.report(loss=run.config["lr"] / (step + 1), step=step)
with run.save() as directory:
    open(directory + "/weights", "w").write("x")
run.log("said")
print("printed")
run.finish()
again = yard.init(name="first", finish_earlier=False)
again.report(loss=3)
print(run.name, again.name, run.trial, flush=True)
"""
# Does what the test writes, a line each, and says when it is done; runs are by their names.
TALK = """
import os, signal, sys, yard
signal.signal(signal.SIGTERM, lambda *_: print("signalled", flush=True))
runs = {}
if __name__ == "__main__":
    for line in sys.stdin:
        print(eval(line), flush=True)
"""
# The ways in which a process can end.
ENDS = {
    "without_finish": ("pass", 0, "done", ""),
    "by_an_exception": ("raise ValueError('bad <b>luck</b>')", 1, "failed", "ValueError: bad <b>luck</b>"),
    "by_exit": ("sys.exit(0)", 0, "done", ""),
    "at_once": ("os._exit(0)", 0, "failed", "process PID ended without yard.finish(): it crashed, was killed, or its kernel "
                "was restarted"),
    "killed": ("os.kill(os.getpid(), 9)", -9, "failed", "process PID ended without yard.finish(): it crashed, was killed, or "
               "its kernel was restarted"),
    "in_a_block": ("\nwith run:\n    raise KeyError('x')", 1, "failed", "KeyError: 'x'"),
}
END = "import os, sys, yard\nrun = yard.init(name=sys.argv[1])\nrun.report(loss=1)\n"
KILLS = """
import sys, yard
run = yard.init(name="kept")
for step, _ in enumerate(sys.stdin, 1):
    assert run.report(loss=step, step=step)
    print(step, flush=True)
run.finish()
"""


class AttachedCase(yard_case.YardCase):
    variables = {"PYTHONPATH": SDK, "PYTHONDONTWRITEBYTECODE": "1"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, text in {"train.py": TRAIN, "talk.py": TALK, "kills.py": KILLS}.items():
            pathlib.Path(cls.directory, name).write_text(text)

    def lines(self, *words):
        return [json.loads(line) for line in self.yard(*words, "--json")[0].splitlines()]

    def shown(self, name):
        return self.lines("show", name)[0]

    def rows(self, name):
        return [json.loads(line) for line in
                pathlib.Path(self.directory, "runs", name, "result.json").read_text().splitlines()]

    def await_state(self, name, state):
        self.await_true(lambda: self.shown(name)["state"] == state, lambda: self.shown(name))
        return self.shown(name)

    def counts_over_kills(self, kills):
        """The program reports when it is told to; every third report meets a trainer that is killed at that time."""
        program = subprocess.Popen(["/usr/bin/python3", "kills.py"], cwd=self.directory, env=self.environment, text=True, bufsize=1,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        for step in range(1, 3 * kills + 1):
            is_to_die = step % 3 == 0
            if is_to_die and step % 2 == 0:
                self.kill_service("trainer")
            program.stdin.write("go\n")
            if is_to_die and step % 2 == 1:
                self.kill_service("trainer")
            self.assertEqual(program.stdout.readline(), "%d\n" % step, program.poll())
        self.finish(program)
        self.assertEqual(self.await_state("kept", "done")["reports"], 3 * kills)
        self.assertEqual([(row["step"], row["loss"], row["training_iteration"]) for row in self.rows("kept")],
                         [(step, step, step) for step in range(1, 3 * kills + 1)])


class Talk:
    """A program that does one thing after the other."""

    def __init__(self, case):
        self.process = subprocess.Popen(["/usr/bin/python3", "talk.py"], cwd=case.directory, env=case.environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        case.addCleanup(self.process.communicate)
        case.addCleanup(self.process.kill)

    def __call__(self, expression):
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")


class AttachedTest(AttachedCase):

    def test_a_plain_program_is_a_trial(self):
        out = self.finish(self.start("/usr/bin/python3", "train.py"))[0].splitlines()
        self.assertEqual(out[0], "printed")
        name, other, trial = out[1].split()
        self.assertEqual((name, other), ("first", "first-2"))
        shown = self.shown("first")
        self.assertEqual((shown["state"], shown["reports"], shown["config"], shown["labels"], shown["note"], shown["job"]),
                         ("done", 5, {"lr": 0.5}, ["base"], "by hand", ""))
        self.assertEqual(shown["id"], trial)
        self.assertEqual(shown["argv"][1:], ["train.py"])
        self.assertEqual([line["text"] for line in shown["log"]], ["said"])
        self.assertTrue(os.path.isfile(shown["checkpoint"] + "/weights"))
        self.assertEqual([(row["step"], row["loss"], row["pid"]) for row in self.rows("first")],
                         [(step, 0.5 / (step + 1), shown["attached_pid"]) for step in range(5)])
        self.assertEqual(self.shown("first-2")["state"], "done")
        self.assertIn("first", [trial["name"] for trial in self.lines("ps", "-a") if trial["kind"] == "trial"])
        self.await_true(lambda: [run["run"] for run in self.lines("runs", "config.lr=0.5 & label:base")] == ["first"],
                        "the data manager does not know it")
        said = self.finish(self.start_yard("logs", "first"), REFUSED)[1]
        self.assertIn("the output of %s is not kept: its program, process %d, has attached itself" % (
            trial, shown["attached_pid"]), said)
        self.assertIn("has attached itself", self.yard("show", "first")[0])
        self.assertIn("does not look into", self.finish(self.start_yard("show", "first", "--stacks"), 3)[1])
        said = self.finish(self.start_yard("resume", "first"), REFUSED)[1]
        self.assertIn("cannot resume trial %s" % trial, said)

    def test_each_end_is_told_as_such(self):
        for name, (end, code, state, reason) in ENDS.items():
            with self.subTest(name):
                program = self.start("/usr/bin/python3", "-c", END + end, name)
                self.finish(program, code)
                shown = self.await_state(name, state)
                self.assertEqual(shown["reason"], reason.replace("PID", str(program.pid)))
                self.assertEqual(shown["reports"], 1)

    def test_a_stop_is_an_answer(self):
        talk = Talk(self)
        talk("runs.update(a=yard.init(name='told'), b=yard.init(name='idle'))")
        self.assertEqual(talk("runs['a'].report(loss=1)"), "Reply(stop=False, reason='', grace_s=0.0, events=[])")
        said = self.finish(self.start_yard("pause", "told"), REFUSED)[1]
        self.assertIn("its program has attached itself", said)
        said = self.finish(self.start_yard("signal", "told", "USR1"), REFUSED)[1]
        self.assertIn("which has attached itself", said)
        stop = self.start_yard("stop", "told")
        self.await_state("told", "stopping")
        self.assertIn("stop=True, reason='stop'", talk("runs['a'].report(loss=2)"))
        self.assertEqual(talk("runs['a'].finish()"), "None")
        self.finish(stop)
        self.assertEqual(self.shown("told")["state"], "stopped")
        # A process that says nothing is let be, and hears of it when it does.
        self.yard("stop", "--grace", "0.2", "idle")
        self.assertEqual(self.shown("idle")["state"], "stopped")
        self.assertIn("stop=True, reason='stop'", talk("runs['b'].report(loss=2)"))
        self.assertEqual(talk("runs['b'].finish()"), "None")
        self.assertEqual(self.shown("idle")["reports"], 0)
        self.assertEqual(talk("'nothing has signalled it'"), "nothing has signalled it")

    def test_several_in_one_process_and_in_its_children(self):
        talk = Talk(self)
        talk("runs.update(a=yard.init(name='one'), b=yard.init(name='two'))")
        talk("[run.report(loss=number) for number, run in enumerate(runs.values())]")
        self.assertEqual(talk("yard.active().name"), "two")
        self.assertEqual(talk("runs['b'].finish()"), "None")
        self.assertEqual(talk("yard.active().name"), "one")
        # A child that is forked has no part in its parent's run.
        in_child = "import yard; yard.finish(); r = yard.init(name='child'); r.report(loss=7); r.finish()"
        forks = "(lambda pid: os.waitpid(pid, 0)[1] if pid else (exec(%r), os._exit(0)))(os.fork())" % in_child
        self.assertEqual(talk(forks), "0")
        refused = ("try:\n    runs['a'].report(loss=1)\nexcept yard.Error as error:\n    os._exit(11 if 'was forked' in "
                   "str(error) else 12)")
        self.assertEqual(talk("(lambda pid: os.waitpid(pid, 0)[1] if pid else exec(%r))(os.fork())" % refused), str(11 << 8))
        spawned = "__import__('multiprocessing').get_context('spawn').Process(target=exec, args=(%r,))" % in_child
        self.assertEqual(talk("(lambda process: (process.start(), process.join(), process.exitcode)[2])(%s)" % spawned), "0")
        self.assertIn("stop=False", talk("runs['a'].report(loss=1)"))
        self.assertEqual(talk("yard.finish()"), "None")
        self.assertEqual([(name, self.shown(name)["state"], self.shown(name)["reports"])
                          for name in ("one", "two", "child", "child-2")],
                         [("one", "done", 2), ("two", "done", 1), ("child", "done", 1), ("child-2", "done", 1)])
        late = "(lambda: exec('try: runs[\\'a\\'].report(loss=1)\\nexcept yard.Error as error: runs[0] = str(error)') or runs[0])()"
        self.assertEqual(talk(late), "the report channel is closed")

    def test_a_process_that_only_closes_its_channel(self):
        talk = Talk(self)
        talk("runs.update(a=yard.init(name='closes'))")
        talk("runs['a'].close()")
        reason = self.await_state("closes", "failed")["reason"]
        self.assertEqual(reason, "process %d has closed its channel without yard.finish()" % talk.process.pid)

    def test_what_cannot_be_a_run_is_refused(self):
        talk = Talk(self)
        refuse = "(lambda: exec('try: yard.init(%s)\\nexcept yard.Error as error: runs[0] = str(error)') or runs[0])()"
        self.assertIn("cannot call a run", talk(refuse % 'name="a/b"'))
        self.assertIn("524288", talk(refuse % 'name="large", config={"a": "x" * 600000}'))
        self.assertEqual(talk("yard.active()"), "None")

    def test_in_a_launched_program_it_is_the_trial(self):
        self.yard("run", "--name", "launched", "--", "/usr/bin/python3", "-c",
                  "import yard\nwith yard.init(name='shown', config={'lr': 1}, labels='by') as run:\n    run.report(loss=1)")
        shown = self.shown("launched")
        self.assertEqual((shown["state"], shown["reports"], shown["config"], shown["labels"], shown["display_name"]),
                         ("done", 1, {"lr": 1}, ["by"], "shown"))
        self.assertIsNone(shown["attached_pid"])

    def test_each_report_counts_once_over_kills_of_the_trainer(self):
        self.counts_over_kills(4)

    def test_a_run_without_a_yard_can_be_imported(self):
        elsewhere = pathlib.Path(self.directory, "elsewhere")
        elsewhere.mkdir()
        program = subprocess.run(["/usr/bin/python3", self.directory + "/train.py"], cwd=elsewhere, text=True, timeout=yard_case.LONG,
                                 env={**self.environment, "XDG_RUNTIME_DIR": str(elsewhere)}, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        self.assertEqual(program.stdout, "said\nprinted\nfirst first-2 None\n")
        yard, *words = shlex.split(program.stderr.splitlines()[0].rpartition(": ")[2])
        self.assertEqual((yard, words[0]), ("yard", "import"))
        self.assertIn("offline-first", self.yard(*words, "--prefix", "offline-")[0])

        def imported():
            return [run for run in self.lines("runs", "config.lr=0.5") if run["run"] == "offline-first"]
        self.await_true(imported, "the data manager does not know it")
        points = [json.loads(line) for line in self.yard("export", "offline-first", "--json")[0].splitlines()]
        self.assertEqual([point["value"] for point in points if point.get("tag") == "loss"],
                         [0.5 / (step + 1) for step in range(5)], points)
        self.assertEqual(imported()[0]["labels"], ["base"])


class ManyKillsTest(AttachedCase):

    def test_each_report_counts_once_over_a_hundred_kills_of_the_trainer(self):
        self.counts_over_kills(100)


if __name__ == "__main__":
    xml_runner.main()
