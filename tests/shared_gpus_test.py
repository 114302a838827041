"""Two people, one machine: the yards of two users share GPUs by locks in a directory of an administrator.

`OneUserTest` has two yards of one user, `TwoUsersTest` (of root) those of real users, with the directory as
docs/shared_machine.md makes it, and `HostileDirectoryTest` what somebody of the group may leave there.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from bazel.python import xml_runner
from tests import yard_case

PROGRAMS = ("tools/yard/yard", "registry/registry", "launcher/launcher", "launcher/yard-shim", "datamanager/datamanager",
            "trainer/trainer", "web/web")
GROUP, ALICE, BOB, CAROL = 61000, 61001, 61002, 61003
# Ends when it is let go.
HOLDS = 'echo "has $CUDA_VISIBLE_DEVICES"; exec cat "$0"'


class Yard:
    """The yard of one person, in a directory of its own."""

    def __init__(self, case, program, name, machine, user=None, groups=()):
        self.case, self.program = case, program
        self.directory = os.path.join(case.directory, name)
        os.mkdir(self.directory)
        self.identity = {}
        if user is not None:
            os.chown(self.directory, user, user)
            self.identity = {"user": user, "group": user, "extra_groups": list(groups)}
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": self.directory, "LANG": "C.UTF-8", "TMPDIR": self.directory,
            "XDG_RUNTIME_DIR": self.directory + "/run", "YARD_STATE": self.directory + "/state",
            "RUNFILES_DIR": os.environ["TEST_SRCDIR"], "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", ""),
        }
        case.addCleanup(self.call, "down")
        self("up", "--resources", "gpu=0,1", "--resources", "licence=1", "--service", "launcher.machine_directory=" + machine, "--page", "off")

    def call(self, *words):
        return subprocess.run([self.program, *words], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=yard_case.LONG, **self.identity)

    def __call__(self, *words):
        done = self.call(*words)
        self.case.assertEqual(done.returncode, 0, "%s: %s%s" % (words, done.stdout, done.stderr))
        return done.stdout

    def show(self, trial):
        return json.loads(self("show", "--json", trial))

    def hold(self, name, resource="gpu=1"):
        """A trial that has a resource until let_go()."""
        fifo = os.path.join(self.directory, name + ".fifo")
        os.mkfifo(fifo)
        os.chmod(fifo, 0o666)
        self("run", "--detach", "--name", name, "--resources", resource, "--", "sh", "-c", HOLDS, fifo)

    def let_go(self, name):
        with open(os.path.join(self.directory, name + ".fifo"), "w"):
            pass

    def await_state(self, name, state):
        self.case.await_true(lambda: self.show(name)["state"] == state, lambda: self.show(name))

    def await_output(self, name, text):
        self.case.await_true(lambda: self("logs", name, "--raw") == text, lambda: self("logs", name, "--raw"))

    def await_reason(self, name, pattern):
        """Until a trial that waits says why."""
        self.case.await_true(lambda: self.case.matches(pattern, self.show(name)["reason"]), lambda: self.show(name))
        self.case.assertEqual(self.show(name)["state"], "pending")

    def kill_services(self):
        """All that is not a shim."""
        services = [json.loads(line) for line in self("status", "--json").splitlines()]
        pids = [one["pid"] for one in services if one.get("pid")]
        self.case.assertEqual(len(pids), 5, services)
        # The launcher first: it would start the others again.
        for one in sorted(services, key=lambda one: one.get("service") != "launcher"):
            os.kill(one["pid"], signal.SIGKILL)


class SharedCase(unittest.TestCase):
    await_true = yard_case.YardCase.await_true

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="yard-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        os.chmod(self.directory, 0o755)
        self.machine = self.directory + "/machine"
        os.mkdir(self.machine)

    def matches(self, pattern, text):
        return re.search(pattern, text) is not None

    def finding(self, yard):
        done = yard.call("doctor", "--json")
        found = [json.loads(line) for line in done.stdout.splitlines()]
        return [one for one in found if one["check"] == "shared GPUs"]


class OneUserTest(SharedCase):
    def setUp(self):
        super().setUp()
        pathlib.Path(self.machine, "shared").write_text("licence  # one seat\n")
        program = str(pathlib.Path(yard_case.YARD).absolute())
        self.alice = Yard(self, program, "a", self.machine)
        self.bob = Yard(self, program, "b", self.machine)

    def test_a_gpu_is_held_once_and_who_waits_says_for_whom(self):
        alice, bob = self.alice, self.bob
        alice.hold("lr-3")
        alice.await_state("lr-3", "running")
        bob.hold("other")
        bob.await_state("other", "running")
        alice.await_output("lr-3", "has 0\n")
        bob.await_output("other", "has 1\n")
        bob.hold("both", "gpu=1")
        bob.await_reason("both", r"^waits for gpu: gpu 0 is held by your trial lr-3 \(of the yard in .*/a/state\) since \d\d:\d\d$")
        self.assertIn("gpu 0 is held by your trial lr-3", bob("ps"))
        # The other way round, in the other's words.
        alice.hold("more")
        alice.await_reason("more", "^waits for gpu: gpu 1 is held by your trial other ")
        began = time.monotonic()
        alice.let_go("lr-3")
        self.await_true(lambda: "running" in (bob.show("both")["state"], alice.show("more")["state"]), "nobody got it")
        self.assertLess(time.monotonic() - began, 10)
        for yard, names in ((bob, ("other", "both")), (alice, ("more",))):
            for name in names:
                yard.await_state(name, "running")
                yard.let_go(name)
                yard("wait", name)
        self.assertEqual([one["level"] for one in self.finding(alice)], ["ok"])

    def test_other_resources_are_shared_if_the_administrator_says_so(self):
        self.alice.hold("seat", "licence=1")
        self.alice.await_state("seat", "running")
        self.bob.hold("waits", "licence=1")
        self.bob.await_reason("waits", "^waits for licence: licence 0 is held by your trial seat ")
        self.alice.let_go("seat")
        self.bob.await_state("waits", "running")
        self.bob.let_go("waits")
        self.bob("wait", "waits")

    def test_a_gpu_stays_held_when_all_but_the_shim_is_killed(self):
        alice, bob = self.alice, self.bob
        alice.hold("first", "gpu=2")
        alice.await_state("first", "running")
        bob.hold("second", "gpu=2")
        held = "^waits for 2 gpu: gpu 0 is held by your trial first .*; gpu 1 is held by your trial first "
        bob.await_reason("second", held)
        # The launcher alone, and then all services: a trial that runs keeps what it has.
        alice.kill_services()
        bob.await_reason("second", held)
        alice("up")
        alice.await_state("first", "running")
        bob.await_reason("second", held)
        alice.kill_services()
        alice.let_go("first")
        bob.await_state("second", "running")
        bob.let_go("second")
        bob("wait", "second")
        alice("up")
        alice("wait", "first")


class HostileDirectoryTest(SharedCase):
    def test_whatever_lies_there_nothing_bad_happens(self):
        precious = pathlib.Path(self.directory, "precious")
        precious.write_text("mine")
        os.symlink(precious, self.machine + "/gpu.0.lock")
        os.mkfifo(self.machine + "/gpu.1.lock")
        os.mkfifo(self.machine + "/shared")
        yard = Yard(self, str(pathlib.Path(yard_case.YARD).absolute()), "a", self.machine)
        yard.hold("waits", "gpu=2")
        yard.await_reason("waits", "^waits for 2 gpu: gpu 0: .*/gpu.0.lock is not a plain file .* remove it; gpu 1: .*gpu.1.lock is not ")
        self.assertEqual(precious.read_text(), "mine")
        self.assertEqual([one["level"] for one in self.finding(yard)], ["bad"])
        # Resources that a trial does not ask for do not hold it up.
        yard("run", "--resources", "licence=1", "--", "true")
        # Once they are gone, a file as large as a disk and full of nothing is as good as any.
        for name in ("gpu.0.lock", "gpu.1.lock"):
            os.remove(os.path.join(self.machine, name))
        with open(self.machine + "/gpu.0.lock", "wb") as file:
            file.truncate(1 << 40)
        yard.await_state("waits", "running")
        self.assertLess(os.path.getsize(self.machine + "/gpu.0.lock"), 4096)
        yard.let_go("waits")
        yard("wait", "waits")


@unittest.skipUnless(os.geteuid() == 0, "needs root, to be several users")
class TwoUsersTest(SharedCase):
    def setUp(self):
        super().setUp()
        # Where everybody may run them.
        folder = pathlib.Path(self.directory, "bin")
        folder.mkdir()
        for program in PROGRAMS:
            shutil.copy(program, folder)
        os.chown(self.machine, 0, GROUP)
        os.chmod(self.machine, 0o2770)
        self.program = str(folder / "yard")

    def yard(self, name, user, *groups):
        return Yard(self, self.program, name, self.machine, user, groups)

    def test_the_gpus_are_those_of_both(self):
        alice, bob = self.yard("a", ALICE, GROUP), self.yard("b", BOB, GROUP)
        alice.hold("lr-3", "gpu=2")
        alice.await_state("lr-3", "running")
        bob.hold("waits")
        held = r"^waits for gpu: gpu 0 is held by user 61001's trial lr-3 since \d\d:\d\d; gpu 1 is held by user 61001's "
        bob.await_reason("waits", held)
        self.assertIn("is held by user 61001's trial lr-3", bob("ps"))
        lock = os.stat(self.machine + "/gpu.0.lock")
        self.assertEqual((lock.st_uid, lock.st_gid, lock.st_mode & 0o7777), (ALICE, GROUP, 0o660))
        alice.kill_services()
        bob.await_reason("waits", held)
        alice.let_go("lr-3")
        bob.await_state("waits", "running")
        # The file is alice's, the lock is bob's.
        alice("up")
        alice.hold("again", "gpu=2")
        alice.await_reason("again", "^waits for 2 gpu: gpu 0 is held by user 61002's trial waits since ")
        self.assertEqual([one["level"] for one in self.finding(alice)], ["ok"])
        bob.let_go("waits")
        alice.await_state("again", "running")
        alice.let_go("again")
        alice("wait", "again")

    def test_who_is_not_in_the_group_waits_and_is_told_why(self):
        carol = self.yard("c", CAROL)
        carol.hold("waits")
        carol.await_reason("waits", "cannot open .*/machine: Permission denied: ask an administrator to let you in ")
        finding, = self.finding(carol)
        self.assertEqual(finding["level"], "bad")
        self.assertIn("yard-machine", finding["found"])
        carol("stop", "waits")

    def test_without_the_directory_the_doctor_warns_of_the_other(self):
        os.rmdir(self.machine)
        alice = self.yard("a", ALICE)
        # (Others may have a yard here that are none of this test.)
        self.assertNotIn("user 61002", str(self.finding(alice)))
        bob = self.yard("b", BOB)
        finding, = self.finding(bob)
        self.assertEqual(finding["level"], "warn")
        self.assertRegex(finding["found"], "trials of .*user 61001.* use")


if __name__ == "__main__":
    xml_runner.main()
