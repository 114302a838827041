"""A yard is upgraded while it works: new programs over old state, and what runs goes on."""

import json
import math
import os
import pathlib
import shutil
import sqlite3
import threading

from bazel.python import xml_runner
from tests import provided, yard_case

SERVICES = ("registry", "launcher", "datamanager", "trainer", "web")
PROGRAMS = ("tools/yard/yard", "launcher/yard-shim", *("%s/%s" % (name, name) for name in SERVICES))

# A report for each line of `go`, and its answer to `done`.
PROGRAM = """
exec 5<go 6>done
i=0
while read -r line <&5; do
  i=$((i + 1))
  echo "{\\"t\\":\\"report\\",\\"m\\":{\\"loss\\":$i},\\"step\\":$i}" >&3
  read -r reply <&3
  echo "$i $$ $reply" >&6
done
"""


class Reports(threading.Thread):
    """Lets the program report, one after the other, until it is told to end."""

    def __init__(self, directory):
        super().__init__()
        self.acknowledged = 0
        self.pids = set()  # The pids of the program.
        self.ends = False
        for name in ("go", "done"):
            os.mkfifo(os.path.join(directory, name))
        # Both ends, so that neither opening waits.
        self._go = os.open(os.path.join(directory, "go"), os.O_RDWR)
        self._done = os.fdopen(os.open(os.path.join(directory, "done"), os.O_RDWR))

    def run(self):
        while not self.ends:
            os.write(self._go, b"go\n")
            number, pid, answer = self._done.readline().split(" ", 2)
            assert int(number) == self.acknowledged + 1 and '"ok"' in answer, answer
            self.pids.add(int(pid))
            self.acknowledged += 1
        os.close(self._go)

    def end(self):
        """The number of reports, after the last of which the program gets an end of file."""
        self.ends = True
        self.join(yard_case.LONG)
        assert not self.is_alive(), "the program does not report"
        return self.acknowledged


class Sweep:
    """A sweep of 60 trials, one at a time."""

    COUNT = 60
    FILE = """
name: %(name)s
method: %(method)s
metric: {name: loss}
run_cap: %(count)d
parallel: 1
seed: 11
parameters: {x: {min: 0.0, max: 1.0}, y: {distribution: log_uniform_values, min: 1e-4, max: 1.0}, z: {values: [a, b]}}
trial: {output: json}
"""
    # From the 20th on it waits while the file is there.
    PROGRAM = "case $YARD_TRIAL_NAME in *-00[2-5]?) while [ -e %s ]; do sleep 0.01; done ;; esac; echo '{\"loss\": {x}}'"

    def __init__(self, case, method):
        self.case, self.method = case, method
        self.hold = pathlib.Path(case.directory, "hold-" + method)

    def name(self, which):
        return "%s-%s" % (self.method, which)

    def start(self, which, *words):
        path = pathlib.Path(self.case.directory, self.name(which) + ".yaml")
        path.write_text(self.FILE % {"name": self.name(which), "method": self.method, "count": self.COUNT}, encoding="utf-8")
        return self.case.yard("sweep", str(path), *words, "--", "sh", "-c", self.PROGRAM % self.hold.name)

    def shown(self, which):
        return json.loads(self.case.yard("show", self.name(which), "--json")[0])

    def run(self, which):
        self.start(which)

    def begin(self, which):
        """It has 20 trials behind it, and one that waits."""
        self.hold.touch()
        self.start(which, "--detach")
        self.case.await_true(lambda: self.shown(which)["done"] == 20, "the sweep does not go on")

    def end(self, which):
        self.hold.unlink()
        self.case.yard("wait", self.name(which), "--timeout", str(yard_case.LONG))

    def configs(self, which):
        configs = [trial["config"] for trial in self.shown(which)["trial_list"]]
        self.case.assertEqual(len(configs), self.COUNT)
        return configs


def are_alike(one, other):
    return one.keys() == other.keys() and all(
        math.isclose(value, other[name], rel_tol=1e-4) if isinstance(value, float) else value == other[name]
        for name, value in one.items())


def reported_by(directory, run):
    with open(os.path.join(directory, "runs", run, "result.json")) as results:
        return [json.loads(line)["loss"] for line in results]


class UpgradeTest(yard_case.YardCase):
    """The yard that is up was started from the build; the new one is in a folder of its own."""

    def install(self, release):
        """Programs that differ from those before, put in their place in one step as an installer does."""
        folder = pathlib.Path(self.directory, "prefix", "bin")
        folder.mkdir(parents=True, exist_ok=True)
        for program in PROGRAMS:
            new = folder / (os.path.basename(program) + ".new")
            shutil.copy(program, new)
            with open(new, "ab") as binary:
                binary.write(b"release %d\n" % release)
            os.replace(new, folder / os.path.basename(program))
        type(self).yard_program = str(folder / "yard")

    def pids(self):
        return {line["service"]: line["pid"] for line in self.up()[0]}

    def up(self, *words):
        out, err = self.yard("up", "--json", *words)
        lines = [json.loads(line) for line in out.splitlines()]
        return lines, err

    def upgrade(self, reports):
        """Upgrades under the reports, and returns the new pids."""
        before = self.pids()
        _, notice = self.up()
        self.assertIn("launcher, registry, datamanager, trainer, web run another program than is installed now", notice)
        self.assertIn("yard up --upgrade", notice)
        findings = [json.loads(line) for line in self.yard("doctor", "--json")[0].splitlines()]
        self.assertEqual({finding["check"] for finding in findings if finding["fix"] == "yard up --upgrade"},
                         set(SERVICES))
        count = reports.acknowledged
        lines, notice = self.up("--upgrade", "--timeout", str(yard_case.LONG))
        self.assertEqual(notice, "")
        restarted = {line["service"]: line for line in lines if line["state"] == "restarted"}
        self.assertEqual(list(restarted), ["launcher", "registry", "datamanager", "trainer", "web"])
        for service, line in restarted.items():
            self.assertEqual(line["before"], before[service])
            self.assertEqual(os.readlink("/proc/%d/exe" % line["pid"]),
                             os.path.join(os.path.dirname(self.yard_program), service))
        # Two, so that one has begun after it.
        self.await_true(lambda: reports.acknowledged > count + 2, "no report comes after the upgrade")
        self.assertEqual(self.up("--upgrade")[1], "")
        self.assertEqual(self.pids(), {service: line["pid"] for service, line in restarted.items()})

    def test_running_trials_go_on_and_nothing_is_lost(self):
        reports = Reports(self.directory)
        with open(os.path.join(self.directory, "program.sh"), "w") as program:
            program.write(PROGRAM)
        self.yard("run", "--detach", "--name", "first", "--", "sh", "program.sh")
        reports.start()
        self.await_true(lambda: reports.acknowledged >= 3, "the program does not report")
        for release in (1, 2):
            self.install(release)
            self.upgrade(reports)
            self.assertEqual(len(reports.pids), 1, "the program was started again")
        number = reports.end()
        self.yard("wait", "first", "--timeout", str(yard_case.LONG))
        self.assertEqual(reported_by(self.directory, "first"), list(range(1, number + 1)))

        # A step back, to programs that are older than the state: they refuse it by name.
        self.yard("down")
        path = os.path.join(self.directory, "state", "trainer.db")
        with sqlite3.connect(path) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            database.execute("PRAGMA user_version=99")
        database.close()
        _, why = self.finish(self.start_yard("up", "--timeout", "5"), 4)
        self.assertTrue(why.startswith("yard up: the trainer cannot start: "), why)
        self.assertIn("99", why)
        self.assertIn(path, why)
        doctor, _ = self.finish(self.start_yard("doctor"), 1)
        self.assertRegex(doctor, r"bad +trainer +does not stay up: .*99")
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version=%d" % version)
        database.close()
        self.up("--timeout", str(yard_case.LONG))
        self.assertIn("first", self.yard("ps", "-a")[0])


    def test_a_sweep_goes_on_with_the_suggestions_that_it_would_have_had(self):
        for release, method in enumerate(("random", "tpe", "gp"), 3):
            sweep = Sweep(self, method)
            sweep.begin("upgraded")
            self.install(release)
            self.up("--upgrade", "--timeout", str(yard_case.LONG))
            sweep.end("upgraded")
            sweep.run("whole")
            self.assertEqual(sweep.configs("upgraded"), sweep.configs("whole"), method)


# A task of a job: it waits for a line, and ends as that says.
TASK = """
read -r code <end
exit "$code"
"""


class OlderCase(yard_case.YardCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = provided.folder("YARD_OLD_PREFIX", "an installation of an older commit (tools/install)")
        super().setUpClass()


class OlderSweepTest(OlderCase):
    """A sweep of the programs of an older commit goes on under those of this tree."""

    up_words = ("--slots", "4")

    def test_a_sweep_goes_on_with_the_suggestions_that_it_would_have_had(self):
        sweeps = [Sweep(self, method) for method in ("random", "tpe", "gp")]
        for sweep in sweeps:
            sweep.begin("upgraded")
        self.yard("down", "--keep")
        type(self).yard_program = str(pathlib.Path(yard_case.YARD).absolute())
        self.yard("up", *self.up_words)
        for sweep in sweeps:
            sweep.end("upgraded")
            sweep.run("whole")
            upgraded, whole = sweep.configs("upgraded"), sweep.configs("whole")
            if sweep.method != "gp":
                self.assertEqual(upgraded, whole, sweep.method)
            # (Another compiler, or other flags of it, round the sums of a Gaussian process in another way.)
            self.assertEqual([pair for pair in zip(upgraded, whole) if not are_alike(*pair)], [], sweep.method)


class OlderProgramsTest(OlderCase):
    """A trial and a job of the programs of an older commit go on under those of this tree."""

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w") as file:
            file.write(text)

    def show(self, name):
        return json.loads(self.yard("show", name, "--json")[0].splitlines()[0])

    def programs(self):
        """The folders in which the programs of the running services are."""
        lines = [json.loads(line) for line in self.yard("status", "--json")[0].splitlines()]
        pids = {line["service"]: line["pid"] for line in lines if line["service"] in SERVICES and line["pid"]}
        # (Older programs have no web service.)
        self.assertLessEqual(set(SERVICES) - {"web"}, set(pids))
        return {os.path.dirname(os.readlink("/proc/%d/exe" % pid)) for pid in pids.values()}

    def attempts(self, job):
        """The number and the pid of each attempt of each task."""
        return [[(attempt["number"], attempt["pid"]) for attempt in task["attempts"]]
                for task in self.show(job)["tasks"]]

    def points(self, run):
        points = [json.loads(line) for line in self.yard("export", run, "--json")[0].splitlines()]
        return [point["value"] for point in points if point["tag"] == "loss"]

    def test_a_trial_and_a_job_go_on_and_end_under_the_programs_of_this_tree(self):
        self.write("program.sh", PROGRAM)
        self.write("task.sh", TASK)
        os.mkfifo(os.path.join(self.directory, "end"))
        reports = Reports(self.directory)
        self.yard("run", "--name", "ended", "--", "sh", "-c", "echo '{\"t\":\"report\",\"m\":{\"loss\":1}}' >&3")
        self.yard("run", "--detach", "--name", "first", "--", "sh", "program.sh")
        self.yard("launch", "--detach", "--name", "job", "--worker", "2", "--", "sh", "task.sh")
        reports.start()
        self.await_true(lambda: reports.acknowledged >= 3, "the program does not report")
        self.await_true(lambda: [task["state"] for task in self.show("job")["tasks"]] == ["running"] * 2,
                        "the job does not run")
        trial = self.show("first")
        before = {job: self.attempts(job) for job in (trial["job"], "job")}
        self.assertEqual(before[trial["job"]], [[(1, min(reports.pids))]])
        old_programs = self.programs()
        self.assertEqual({os.path.commonpath([self.prefix, folder]) for folder in old_programs}, {self.prefix})

        # The program goes on to report meanwhile, and waits for its answer.
        self.yard("down", "--keep")
        type(self).yard_program = str(pathlib.Path(yard_case.YARD).absolute())
        count = reports.acknowledged
        self.yard("up")
        self.assertFalse(self.programs() & old_programs)
        self.await_true(lambda: reports.acknowledged > count + 2, "no report comes under the programs of this tree")
        self.assertEqual({job: self.attempts(job) for job in before}, before)
        self.assertEqual({line["state"]: line["name"] for line in map(self.show, ("ended", "first"))},
                         {"done": "ended", "running": "first"})
        self.assertEqual(self.show("first")["id"], trial["id"])

        number = reports.end()
        self.yard("wait", "first", "--timeout", str(yard_case.LONG))
        with open(os.path.join(self.directory, "end"), "w") as end:
            end.write("0\n7\n")
        self.finish(self.start_yard("wait", "job", "--timeout", str(yard_case.LONG)), 1)
        self.assertEqual({job: self.attempts(job) for job in before}, before)
        self.assertEqual(len(reports.pids), 1, "the program was started again")
        self.assertEqual(reported_by(self.directory, "first"), list(range(1, number + 1)))
        self.assertEqual(self.show("first")["reports"], number)
        codes = [task["attempts"][0]["exit_code"] for task in self.show("job")["tasks"]]
        self.assertEqual(sorted(codes), [0, 7])
        self.await_true(lambda: self.points("first") == list(range(1, number + 1)), "not all points are there")


if __name__ == "__main__":
    xml_runner.main()
