"""A broken yard says at once what is wrong, with the cause and the next step, which mends it; and `yard down` ends it.

Each way to break it is tried with each of the verbs that somebody types then. The next step is typed as it was
printed. A class is a target of its own (tests/BUILD), so that they run side by side.
"""

import dataclasses
import json
import os
import pathlib
import re
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Callable

from bazel.python import xml_runner
from tests import yard_case

SERVICES = ("registry", "launcher", "datamanager", "trainer", "web")
VERBS = ("ps", "status", "doctor", "up")
ANSWERS = 2  # Seconds, in which everything but `up` and `down` has answered.
COMES_UP = 10  # The time-out of `up`.
GOES_DOWN = 10
INSIDE = "BROKEN_YARD_TEST_IS_INSIDE"


@dataclasses.dataclass
class Way:
    """One way to break a yard."""

    breaks: Callable  # Gets the test case.
    cause: str = ""  # A regular expression; empty: the verbs find the yard well again, or make it so.
    # Verbs that say nothing of it, as they need nothing that is broken.
    quiet: tuple = ()
    # A person must do this before the next step helps.
    first: Callable = lambda case: None


class Yards(yard_case.YardCase):
    """Breaks one yard after the other."""

    @classmethod
    def _services(cls, *words):
        if words[0] == "up":
            # The printed commands can be typed: `yard` is on the PATH.
            bin_directory = pathlib.Path(cls.directory, "bin")
            bin_directory.mkdir()
            (bin_directory / "yard").symlink_to(cls.yard_program)
            cls.environment["PATH"] = "%s:%s" % (bin_directory, cls.environment["PATH"])
            cls.runtime = pathlib.Path(cls.directory, "run", "yard")
            cls.state = pathlib.Path(cls.directory, "state")
        super()._services(*words)

    def run_yard(self, *words):
        """(exit code, stdout, stderr, seconds) of a verb."""
        begin = time.monotonic()
        process = self.start_yard(*words)
        out, err = process.communicate(timeout=yard_case.LONG)
        return process.returncode, out, err, time.monotonic() - begin

    def type(self, command):
        """As a person would, in a shell."""
        typed = subprocess.run(["/bin/bash", "-c", command], cwd=self.directory, env=self.environment,
                               stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               timeout=yard_case.LONG)
        return "$ %s\n%s%s" % (command, typed.stdout, typed.stderr)

    def pid(self, service):
        return int((self.runtime / (service + ".ready")).read_text().split()[0])

    def send(self, service, number):
        """Returns after a SIGKILL once the process is gone."""
        process = os.pidfd_open(self.pid(service))
        signal.pidfd_send_signal(process, number)
        if number == signal.SIGKILL:
            select.select([process], [], [], yard_case.LONG)
        os.close(process)

    def processes(self):
        """The processes of this yard that run."""
        mark = ("YARD_STATE=%s" % self.state).encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if mark in (entry / "environ").read_bytes():
                    found.append("%s %s" % (entry.name, (entry / "cmdline").read_bytes().replace(b"\0", b" ")))
            except OSError:
                pass
        return found

    def assert_well(self, typed):
        """All services answer, soon."""
        last = [None]
        def is_well():
            last[0] = self.run_yard("status", "--check")
            return last[0][0] == 0
        self.await_true(is_well, lambda: "%s\n%s" % (typed, last[0]))
        self.assertEqual(self.run_yard("ps")[0], 0)

    def assert_gone(self, said):
        # (A process that has let go of its lock ends a moment later.)
        self.await_true(lambda: not self.processes(), lambda: "%s\n%s" % (said, self.processes()))
        self.assertFalse((self.state / "wanted").exists(), said)
        code, out, err, _ = self.run_yard("status")
        self.assertEqual((code, out), (4, ""), err)
        self.assertIn("the yard is not up; start it with: yard up", err)

    def prepare(self):
        """The yard is up, and a trial and a job run."""
        if self.run_yard("up")[0] != 0:
            # The test before has left this; it has failed, or ended what it had broken.
            self.type("yard down; rm -rf %s/*.db* %s/wanted*" % (self.state, self.state))
            self.yard("up")
        live = [json.loads(line)["state"] for line in self.yard("ps", "--json")[0].splitlines()]
        if live.count("running") < 2:
            self.yard("run", "--detach", "--", "sleep", "1000")
            self.yard("launch", "--detach", "--", "sleep", "1000")

    def next_step(self, verb, out, err, way):
        """The command that was printed; and the cause stands in the first line."""
        if verb == "doctor":
            bad = re.search(r"^bad .*(?:\n +fix: (.*))", out, re.M)
            self.assertTrue(bad, out + err)
            return bad[1]
        self.assertRegex(err.splitlines()[0], way.cause)
        step = re.search(r"; next: (.*)$", err.splitlines()[0])
        self.assertTrue(step, err)
        return step[1]

    def check_verb(self, way, verb):
        limit = COMES_UP + 1 if verb == "up" else ANSWERS
        for is_last in (False, True):
            self.prepare()
            way.breaks(self)
            code, out, err, seconds = self.run_yard(verb)
            # Another test may have had the processors.
            if seconds <= limit or is_last:
                break
            way.first(self)
            self.type("yard down --timeout 15")
        said = "%s of %s ended with %d after %.1f s\n%s%s" % (verb, way.cause, code, seconds, out, err)
        self.assertLessEqual(seconds, limit, said)
        typed = said
        if way.cause and verb not in way.quiet:
            if verb != "status":  # It shows what there is.
                self.assertNotEqual(code, 0, said)
            step = self.next_step(verb, out, err, way)
            way.first(self)
            typed += self.type(step)
            if step.startswith("df "):
                typed += self.type("yard up")
        else:
            self.assertEqual(code, 1 if verb == "doctor" and code == 1 else 0, said)
            way.first(self)
            if verb == "doctor" and code == 1:
                typed += self.type(self.next_step(verb, out, err, way))
            elif verb in way.quiet:
                typed += self.type(self.next_step("up", *self.run_yard("up")[1:3], way))
        self.assert_well(typed)

    def check(self, way):
        for verb in VERBS:
            with self.subTest(verb):
                self.check_verb(way, verb)
        with self.subTest("down"):
            self.prepare()
            way.breaks(self)
            code, out, err, seconds = self.run_yard("down")
            said = "down ended with %d after %.1f s\n%s%s" % (code, seconds, out, err)
            self.assertEqual(code, 0, said)
            self.assertLessEqual(seconds, GOES_DOWN, said)
            way.first(self)
            self.assert_gone(said)


def kill(service):
    return lambda case: case.send(service, signal.SIGKILL)


def suspend(service):
    return lambda case: yard_case.stop_process(case.pid(service))


class ServicesTest(Yards):
    """A service is dead, or stopped by a signal."""

    def test_the_launcher_is_dead(self):
        self.check(Way(kill("launcher")))

    def test_the_registry_is_dead(self):
        self.check(Way(kill("registry")))

    def test_the_trainer_is_stopped(self):
        self.check(Way(suspend("trainer"), r"the trainer \(pid \d+\) is stopped by a signal"))

    def test_the_data_manager_is_stopped(self):
        self.check(Way(suspend("datamanager"), r"the datamanager \(pid \d+\) is stopped by a signal",
                       quiet=("ps",)))


def damage(service):
    """Its database is none any more, and it has to read it."""
    def breaks(case):
        for name in ("-wal", "-shm"):
            (case.state / (service + ".db" + name)).unlink(missing_ok=True)
        with open(case.state / (service + ".db"), "r+b") as database:
            database.write(b"x" * 4096)
        case.send(service, signal.SIGKILL)
    return breaks


def newer(service):
    """A later version has written its database."""
    def breaks(case):
        # The launcher starts one again at once if it has not seen it fail a moment ago.
        case.yard("down", "--keep")
        case.yard("up")
        database = sqlite3.connect(case.state / (service + ".db"))
        database.execute("PRAGMA user_version=99")
        database.close()
        case.send(service, signal.SIGKILL)
    return breaks


class StateTest(Yards):
    """A file that a service reads when it starts is wrong."""

    def test_the_launcher_cannot_start(self):
        self.check(Way(damage("launcher"), "the launcher cannot start: .*launcher.db.*not a database"))

    def test_the_database_is_newer(self):
        self.check(Way(newer("trainer"), "the trainer cannot start: .*trainer.db was written by a newer version"))

    def test_a_flag_that_an_older_version_has_stored(self):
        def breaks(case):
            case.yard("down")
            (case.state / "wanted").write_text(json.dumps({
                "logdir": case.directory + "/runs",
                "flags": {service: ["loglevel=debug"] for service in SERVICES}}))
        self.check(Way(breaks, r"there is no flag --loglevel; did you mean --log_level\?"))


class DownTest(Yards):
    """Verbs right behind a kill, and how `yard down` ends what nobody reaches."""

    def test_a_command_right_behind_the_kill_of_the_launcher(self):
        self.prepare()
        for _ in range(6):
            self.send("launcher", signal.SIGKILL)
            code, out, err, seconds = self.run_yard("ps")
            self.assertEqual(code, 0, out + err)
            self.assertLessEqual(seconds, 4, out + err)
            self.assertEqual(err, "yard: the launcher was not running; started it again\n")

    def test_nobody_reads_what_down_says(self):
        self.prepare()
        self.type("yard down | true")
        self.assert_gone("")

    def test_tasks_that_no_launcher_finds_end_too(self):
        self.prepare()
        self.addCleanup(self.type, "rm -f %s/launcher.db*" % self.state)
        damage("launcher")(self)
        for path in (self.runtime / "tasks").iterdir():
            path.unlink()
        doctor = self.run_yard("doctor")[1]
        self.assertRegex(doctor, r"warn +unreachable shim +process \d+ runs j-\w+\.worker-0\.1, whose control socket is gone")
        code, out, err, seconds = self.run_yard("down")
        self.assertEqual(code, 0, out + err)
        self.assertIn("killed", out)
        self.assertTrue(err.startswith("yard down: the launcher cannot start: "), err)
        self.assertLessEqual(seconds, GOES_DOWN, out + err)
        self.assert_gone(out + err)

    def test_a_task_that_takes_its_time_is_killed_at_the_time_out(self):
        self.prepare()
        self.yard("run", "--detach", "--grace", "300", "--", "sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done")
        self.await_true(lambda: "up" in self.run_yard("logs", "--raw", self.newest())[1], "it does not start")
        code, out, err, seconds = self.run_yard("down", "--timeout", "6")
        self.assertEqual(code, 0, out + err)
        self.assertRegex(err, r"does not end within --timeout 6; what is left is killed")
        self.assertIn("killed", out)
        self.assertLessEqual(seconds, 8, out + err)
        self.assert_gone(out + err)

    def newest(self):
        trials = [json.loads(line) for line in self.yard("ps", "--json")[0].splitlines()]
        return [trial["id"] for trial in trials if trial["kind"] == "trial"][-1]


class FilesTest(Yards):
    """Files of the runtime directory are gone."""

    def remove(self, is_removed):
        for path in self.runtime.iterdir():
            if is_removed(path):
                path.unlink()

    def test_the_sockets_are_removed(self):
        self.check(Way(lambda case: case.remove(pathlib.Path.is_socket)))
        # Programs that report have a socket of their own to the trainer.
        self.prepare()
        self.remove(pathlib.Path.is_socket)
        self.await_true(lambda: all((self.runtime / name).is_socket() for name in SERVICES), "no sockets")
        self.yard("run", "--", "sh", "-c", """echo '{"t":"report","m":{"x":1}}' >&3; read -r r <&3""")

    def test_the_locks_are_removed(self):
        self.check(Way(lambda case: case.remove(pathlib.Path.is_file)))

    def test_the_runtime_directory_is_another_one(self):
        self.prepare()
        code, _, err, seconds = None, None, None, None
        for verb in ("ps", "up", "status", "down"):
            process = subprocess.run([self.yard_program, verb], cwd=self.directory, capture_output=True, text=True,
                                     env={**self.environment, "XDG_RUNTIME_DIR": self.directory + "/other"},
                                     timeout=yard_case.LONG, check=False)
            self.assertEqual(process.returncode, 6, process.stderr)
            self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
            self.assertIn("next: export XDG_RUNTIME_DIR=%s/run" % self.directory, process.stderr)


class DiskTest(Yards):
    """No room on the disk of the state and the runtime directory."""

    @classmethod
    def setUpClass(cls):
        if INSIDE not in os.environ:
            what = "user and mount namespaces are not allowed here"
            raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
        super().setUpClass()

    @classmethod
    def _services(cls, *words):
        if words[0] == "up":
            cls.disk = tempfile.mkdtemp(prefix="disk-", dir=cls.directory)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", cls.disk], check=True)
            cls.environment.update(XDG_RUNTIME_DIR=cls.disk + "/run", YARD_STATE=cls.disk + "/state",
                                   TMPDIR=cls.disk)
            cls.addClassCleanup(subprocess.run, ["umount", "-l", cls.disk], check=False)
        super()._services(*words)
        cls.runtime = pathlib.Path(cls.disk, "run", "yard")
        cls.state = pathlib.Path(cls.disk, "state")

    def fill(self):
        with open(self.disk + "/ballast", "wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(b"x" * 4096)
            except OSError:
                pass

    def free(self):
        pathlib.Path(self.disk, "ballast").unlink()

    def test_the_disk_is_full(self):
        self.check(Way(DiskTest.fill, first=DiskTest.free))

    def test_the_disk_is_full_and_the_launcher_is_dead(self):
        def breaks(case):
            case.fill()
            case.send("launcher", signal.SIGKILL)
        self.check(Way(breaks, first=DiskTest.free))

    def test_a_yard_does_not_come_up_on_a_full_disk(self):
        self.type("yard down")
        self.fill()
        code, _, err, seconds = self.run_yard("up", "--slots", "3")
        self.assertNotEqual(code, 0, err)
        self.assertIn("No space left on device", err.splitlines()[0])
        self.assertIn("; next: df ", err.splitlines()[0])
        self.assertLessEqual(seconds, COMES_UP, err)
        self.assertEqual(self.run_yard("down")[0], 0)
        self.free()
        self.assert_gone(err)


    def test_without_an_instance_of_inotify(self):
        # The limit is that of this user namespace alone.
        limit = pathlib.Path("/proc/sys/user/max_inotify_instances")
        self.type("yard down")
        before = limit.read_text()
        self.addCleanup(limit.write_text, before)
        limit.write_text("0")
        code, out, err, seconds = self.run_yard("up")
        self.assertEqual(code, 4, err)
        self.assertNotIn("launcher", out)
        self.assertRegex(err, r"^yard up: the launcher cannot start: cannot watch files by inotify: Too many open files: this user has "
                              r"no instance of it left; .*; next: sudo sysctl fs.inotify.max_user_instances=1024 && yard up\n$")
        self.assertLessEqual(seconds, 5, err)
        self.assert_gone(err)
        limit.write_text(before)
        self.yard("up")


class FlagsTest(Yards):
    """The flags of `yard up`."""

    def setUp(self):
        self.type("yard down; rm -f %s/wanted.*" % self.state)

    def wanted(self):
        return json.loads((self.state / "wanted").read_text())

    def test_a_flag_is_checked_before_anything_is_stored_or_started(self):
        for words, said in (
                (("--service", "loglevel=debug"), "there is no flag --loglevel; did you mean --log_level?"),
                (("--service", "log_level=loud"), "it must be debug, info, warning or error"),
                (("--service", "log_file_mb=0"), "--log_file_mb is 0; it must be from 1 to 1024"),
                (("--datamanager", "reload_interval=abc"), '--reload_interval does not take "abc", but what is like 3s'),
                (("--datamanager", "load_threads=99"), "--load_threads"),
                (("--datamanager", "include=("), "--include"),
                (("--datamanager", "cache=5"), "there is no flag --cache")):
            code, out, err, seconds = self.run_yard("up", *words)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(said, err)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertLessEqual(seconds, 3, err)
            self.assertFalse((self.state / "wanted").exists(), err)
            self.assertEqual(self.processes(), [], err)
        code, _, err, _ = self.run_yard("up", "--trainer", "/bin/sh")
        self.assertEqual(code, 6, err)
        self.assertIn("/bin/sh does not say whether it takes its flags", err)
        self.assertFalse((self.state / "wanted").exists(), err)

    def test_they_outlive_down(self):
        given = ("--slots", "3", "--resources", "gpu=0,1", "--datamanager", "cache_mb=7",
                 "--service", "log_level=warning", "--keep_trials", "5", "--logdir", "elsewhere")
        self.yard("up", *given)
        wanted = self.wanted()
        for words in (("down", "--keep"), ("down",)):
            self.yard(*words)
            _, err = self.yard("up")
            words = " ".join(given).replace("elsewhere", self.directory + "/elsewhere")
            for option, value in zip(words.split()[::2], words.split()[1::2]):
                self.assertIn("%s %s" % (option, value), err)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn("yard up --defaults: without", err)
            self.assertEqual(self.wanted(), wanted)
            self.assertEqual(self.yard("up")[1], "")
        # A flag that is given replaces the stored one, and the others stay.
        self.yard("down")
        self.yard("up", "--slots", "2")
        self.assertEqual(self.wanted(), {**wanted, "slots": 2})
        code, _, err, _ = self.run_yard("up", "--defaults")
        self.assertEqual(code, 6, err)
        self.assertIn("next: yard down --keep && yard up --defaults", err)
        self.type(re.search("next: (.*)", err)[1])
        self.assertEqual(self.wanted(), {"logdir": self.directory + "/runs"})
        self.yard("down")
        self.assertEqual(self.yard("up")[1], "")
        self.assertEqual(self.wanted(), {"logdir": self.directory + "/runs"})

    def test_what_can_never_start_says_so(self):
        self.yard("up", "--slots", "2", "--resources", "gpu=0,1")
        self.yard("launch", "--detach", "--name", "holds", "--resources", "gpu=2", "--", "sleep", "1000")
        self.yard("run", "--detach", "--name", "waits", "--resources", "gpu=1", "--", "sleep", "1000")
        self.yard("down", "--keep")
        self.yard("up", "--defaults", "--slots", "2")
        self.yard("stop", "holds")
        cause = "cannot start: .*asks for gpu=1, but there "
        self.await_true(lambda: re.search(cause, self.yard("ps")[0]), lambda: self.yard("ps")[0])
        code, _, err, _ = self.run_yard("status", "--check")
        self.assertEqual(code, 1)
        self.assertRegex(err, r"^yard status: t-\w+ " + cause)
        self.assertRegex(self.run_yard("doctor")[1], r"bad +trials +t-\w+ " + cause)
        self.yard("down", "--keep")
        self.yard("up", "--resources", "gpu=0,1")
        self.await_true(lambda: "running" in self.yard("ps", "waits")[0], lambda: self.yard("ps", "-t")[0])

    def test_tasks_that_go_on_keep_their_run_directory(self):
        self.yard("up")
        self.yard("down", "--keep")
        os.makedirs(self.directory + "/beside", exist_ok=True)
        up = lambda: subprocess.run([self.yard_program, "up"], cwd=self.directory + "/beside", env=self.environment,
                                    check=True, capture_output=True, text=True, timeout=yard_case.LONG)
        self.assertIn("--logdir %s/runs" % self.directory, up().stderr)
        self.assertEqual(self.wanted()["logdir"], self.directory + "/runs")
        self.type("rm -f %s/wanted" % self.state)
        self.yard("down")
        self.assertEqual(up().stderr, "")
        self.assertEqual(self.wanted()["logdir"], self.directory + "/beside/runs")

    def test_a_yard_that_cannot_start_is_not_wanted(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            code, out, err, seconds = self.run_yard("up", "--metrics_port", str(port))
        self.assertEqual(code, 4, out + err)
        self.assertRegex(err, r"^yard up: the web cannot start: --metrics_port: .*%d.*\n$" % port)
        self.assertLessEqual(seconds, 5, err)
        self.assertFalse((self.state / "wanted").exists())
        self.assertEqual(self.processes(), [])
        self.yard("up")


if __name__ == "__main__":
    if "DiskTest" in sys.argv and INSIDE not in os.environ and subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "true"], check=False).returncode == 0:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--mount", sys.executable, *sys.argv])
    xml_runner.main()
