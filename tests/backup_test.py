"""A running yard is copied, and a yard that is started with the copy has what was in it (docs/upgrades.md)."""

import json
import os
import pathlib
import subprocess

from bazel.python import xml_runner
from tests import yard_case

PROGRAM = """
for i in 1 2 3; do echo "{\\"t\\":\\"report\\",\\"m\\":{\\"loss\\":$i},\\"step\\":$i}" >&3; read -r reply <&3; done
"""
# It has reported once, and goes on until it is killed.
WAITS = PROGRAM + "\necho waits\nexec sleep 1000\n"


# Says from where it goes on, and saves a checkpoint.
SAVES = """
import sys
sys.path.insert(0, %r)
import yard
with yard.Reporter() as reporter:
    print("restored", reporter.iteration)
    reporter.report(loss=1.0)
    with reporter.save() as directory:
        open(directory + "/weights", "w").write("x")
    sys.exit(0 if reporter.checkpoint else 3)
""" % os.path.abspath("sdk/python")


class BackupTest(yard_case.YardCase):

    def back_up(self, service, directory):
        return json.loads(self.yard("call", service, "Backup", json.dumps({"directory": str(directory)}))[0])

    def test_a_restored_yard_has_what_was_there(self):
        self.yard("run", "--name", "ended", "--", "sh", "-c", PROGRAM)
        self.yard("run", "--detach", "--name", "running", "--", "sh", "-c", WAITS)
        self.await_true(lambda: "waits" in self.yard("logs", "running")[0], "the program does not start")
        copy = pathlib.Path(self.directory, "copy")
        for service in ("trainer", "launcher"):
            answer = self.back_up(service, copy)
            path = copy / (service + ".db")
            self.assertEqual(answer["files"], [str(path)])
            self.assertEqual(int(answer["bytes"]), path.stat().st_size)
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(copy.stat().st_mode & 0o777, 0o700)
        self.assertEqual({path.name for path in copy.iterdir()}, {"trainer.db", "launcher.db"})
        state = pathlib.Path(self.directory, "state")
        subprocess.run(["cp", "-a", state / "jobs", copy], check=True)
        # Later trials are not in the copy; the same directory can be used again.
        self.yard("run", "--name", "later", "--", "sh", "-c", PROGRAM)

        _, why = self.finish(self.start_yard("call", "trainer", "Backup", '{"directory": "copy"}'), 2)
        self.assertIn('"copy" is no absolute path of a directory', why)
        _, why = self.finish(
            self.start_yard("call", "trainer", "Backup", json.dumps({"directory": str(state)})), 2)
        self.assertIn("trainer.db is the database itself", why)
        self.finish(self.start_yard("call", "datamanager", "Backup", json.dumps({"directory": str(copy)})), 2)

        self.yard("down")
        away = pathlib.Path(self.directory, "away")
        away.mkdir()
        own = [*state.glob("*.db"), *state.glob("*.db-wal"), *state.glob("*.db-shm"), state / "jobs"]
        self.assertGreaterEqual({path.name for path in own}, {"trainer.db", "launcher.db", "jobs"})
        for path in own:
            path.rename(away / path.name)
        subprocess.run(["cp", "-a", "%s/." % copy, state], check=True)
        self.yard("up")
        listed = map(json.loads, self.yard("ps", "-a", "--json")[0].splitlines())
        trials = {trial["name"]: trial for trial in listed if trial["kind"] == "trial"}
        self.assertEqual(set(trials), {"ended", "running"})
        self.assertEqual((trials["ended"]["state"], trials["ended"]["reports"]), ("done", 3))
        reports = map(json.loads, self.yard("watch", "ended", "--all", "--json")[0].splitlines())
        self.assertEqual([report["metrics"]["loss"] for report in reports], [1, 2, 3])
        # Its process ended with the yard that was copied.
        self.await_true(lambda: json.loads(self.yard("show", "running", "--json")[0])["state"] == "failed",
                        lambda: self.yard("show", "running", "--json")[0])
        self.yard("run", "--name", "new", "--", "sh", "-c", PROGRAM)


# One trial at a time; each ends when its file `go` is there, in the directory where the sweep was started.
SWEEP = """
name: nights
method: grid
metric: {name: loss}
parallel: 1
parameters: {x: {values: [1, 2, 3]}}
"""


class BackupVerbTest(yard_case.YardCase):
    def test_a_sweep_goes_on_where_its_runs_are_now(self):
        folder = pathlib.Path(self.directory)
        (folder / "nights.yaml").write_text(SWEEP)
        go = folder / "go"
        self.yard("sweep", str(folder / "nights.yaml"), "--detach", "--", "sh", "-c",
                  "until test -e %s; do sleep 0.05; done; %s" % (go, PROGRAM))
        self.yard("pause", "nights", "--drain")
        go.touch()
        self.yard("wait", "nights-0000")
        copy = folder / "copy of the night"
        self.yard("backup", str(copy), "--runs")
        self.yard("down")
        self.yard("backup", "--restore", str(copy), "--logdir", str(folder / "moved"), "--replace")
        self.yard("up")
        self.yard("resume", "nights")
        self.yard("wait", "nights")
        for number in range(3):
            trial = json.loads(self.yard("show", "nights-%04d" % number, "--json")[0])
            self.assertEqual(trial["directory"], str(folder / "moved" / trial["name"]))
            self.assertEqual((trial["state"], trial["reports"]), ("done", 3))

    def test_a_back_up_moves_to_another_machine(self):
        self.yard("run", "--name", "moves", "--", "sh", "-c", PROGRAM + "\necho said\n")
        self.finish(self.start_yard("run", "--name", "saves", "--", "/usr/bin/python3", "-c", SAVES), 1)
        self.yard("run", "--detach", "--name", "live", "--", "sh", "-c", WAITS)
        self.await_true(lambda: "waits" in self.yard("logs", "live")[0], "the program does not start")
        pathlib.Path(self.directory, "state", "web.views").write_text("views")
        copy = pathlib.Path(self.directory, "whole")
        made = json.loads(self.yard("backup", str(copy), "--runs", "--json")[0])
        self.assertEqual((made["restored"], made["runs"], made["directory"]), (False, True, str(copy)))
        self.assertEqual(copy.stat().st_mode & 0o777, 0o700)
        names = {path.name for path in copy.iterdir()}
        self.assertLessEqual({"backup.json", "trainer.db", "launcher.db", "jobs", "wanted", "runs", "web.views"}, names)
        self.assertFalse([name for name in names if name.endswith((".lock", "-wal", ".sessions")) or name == "log"], names)
        # Another one takes its place; a directory with something else in it is left alone.
        self.yard("backup", str(copy), "--runs")
        self.assertFalse(pathlib.Path(str(copy) + ".part").exists())
        _, why = self.finish(self.start_yard("backup", self.directory), 6)
        self.assertIn("is there and is no back-up of a yard; name another directory", why)
        _, why = self.finish(self.start_yard("backup", self.directory + "/state/copy"), 6)
        self.assertIn("which is copied; name a directory elsewhere", why)

        # The other machine: other paths, and the first yard goes on.
        there = pathlib.Path(self.directory, "there")
        there.mkdir()
        elsewhere = {**self.environment, "YARD_STATE": str(there / "state"), "XDG_RUNTIME_DIR": str(there / "run")}

        def other(*words, exit_code=0):
            done = subprocess.run([self.yard_program, *words], cwd=there, env=elsewhere, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=yard_case.LONG)
            self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
            return done.stdout, done.stderr

        self.addCleanup(subprocess.run, [self.yard_program, "down"], cwd=there, env=elsewhere, capture_output=True)
        logdir = str(there / "runs here")
        _, why = other("backup", "--restore", str(there), exit_code=3)
        self.assertIn("is no back-up of a yard: it has no backup.json", why)
        put = json.loads(other("backup", "--restore", str(copy), "--logdir", logdir, "--json")[0])
        self.assertEqual((put["restored"], put["logdir"], put["aside"]), (True, logdir, None))
        self.assertEqual(pathlib.Path(there, "state", "web.views").read_text(), "views")
        other("up")
        trials = {trial["name"]: trial for trial in map(json.loads, other("ps", "-a", "--json")[0].splitlines())
                  if trial["kind"] == "trial"}
        self.assertLessEqual({"moves", "saves", "live"}, set(trials))
        self.assertEqual(trials["moves"]["directory"], logdir + "/moves")
        self.assertEqual(other("logs", "moves", "--raw")[0], "said\n")
        runs = [run["run"] for run in map(json.loads, other("runs", "--json")[0].splitlines())]
        self.assertLessEqual({"moves", "saves"}, set(runs))
        # The program of the first yard is not taken for one of this yard: it goes on.
        self.await_true(lambda: json.loads(other("show", "live", "--json")[0])["state"] == "failed", "live goes on")
        self.assertEqual(json.loads(self.yard("show", "live", "--json")[0])["state"], "running")
        # A trial goes on from its checkpoint, where that is now.
        other("resume", "saves")
        other("wait", "saves")
        self.assertIn("restored 1", other("logs", "saves")[0])
        # A yard that runs, and a state that is there, are left as they are.
        _, why = other("backup", "--restore", str(copy), "--logdir", str(there / "more"), exit_code=6)
        self.assertIn("the yard runs", why)
        self.assertIn("next: yard down", why)
        other("down")
        _, why = other("backup", "--restore", str(copy), "--logdir", logdir, exit_code=6)
        self.assertIn("is there already; name an empty directory", why)
        _, why = other("backup", "--restore", str(copy), "--logdir", str(there / "more"), exit_code=6)
        self.assertIn("has a yard's state already; --replace moves it aside", why)
        put = json.loads(other("backup", "--restore", str(copy), "--logdir", str(there / "more"), "--replace", "--json")[0])
        self.assertTrue(pathlib.Path(put["aside"], "trainer.db").exists(), put)
        other("up")
        self.assertEqual(json.loads(other("show", "moves", "--json")[0])["directory"], str(there / "more" / "moves"))
        self.yard("stop", "live")

    def test_a_back_up_of_a_yard_that_is_down_is_the_same(self):
        self.yard("run", "--name", "before", "--", "sh", "-c", PROGRAM)
        self.yard("down")
        copy = pathlib.Path(self.directory, "down")
        self.assertIn(", copied to %s\n" % copy, self.yard("backup", str(copy))[0])
        # Twice within a second: each has a place of its own for what was there.
        asides = [json.loads(self.yard("backup", "--restore", str(copy), "--replace", "--json")[0])["aside"] for _ in range(2)]
        for aside in asides:
            self.assertTrue(pathlib.Path(aside, "trainer.db").exists(), asides)
        self.yard("up")
        self.assertEqual(json.loads(self.yard("show", "before", "--json")[0])["state"], "done")

    def test_a_back_up_that_was_killed_is_begun_anew(self):
        self.yard("run", "--name", "some", "--", "sh", "-c", PROGRAM)
        copy = pathlib.Path(self.directory, "killed")
        part = pathlib.Path(str(copy) + ".part")
        part.mkdir()
        (part / "unfinished").touch()
        (part / "half").touch()
        self.yard("backup", str(copy))
        self.assertFalse((copy / "half").exists())
        self.assertFalse(part.exists())
        # A directory that somebody else has put there is not removed.
        part.mkdir()
        _, why = self.finish(self.start_yard("backup", str(copy)), 6)
        self.assertIn("is in the way, where the back-up is made; move it away", why)
        part.rmdir()


if __name__ == "__main__":
    xml_runner.main()
