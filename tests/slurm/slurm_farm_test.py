"""The farm itself: `up` twice is one farm, `wipe` leaves nothing, a node that loses its power comes back, two farms live side by side."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from bazel.python import xml_runner
from tests.slurm import farm_case, slurm_farm

PROGRAM = str(pathlib.Path("tests/slurm/slurm_farm.py").absolute())


def processes_with(text):
    """The processes that have `text` in their command line or environment."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if path.name != str(os.getpid()) and text.encode() in (path / "cmdline").read_bytes() + (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


class SlurmFarmTest(unittest.TestCase):
    def setUp(self):
        farm_case.needs_slurm()
        self.directories = []

    def farm(self):
        top = tempfile.mkdtemp(prefix="farm-", dir="/tmp")
        os.chmod(top, 0o755)
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        directory = top + "/f"
        self.addCleanup(self.do, directory, "wipe")
        return directory

    def do(self, directory, *words, exit_code=0):
        done = subprocess.run([PROGRAM, "--dir", directory, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, check=False, cwd="/",
                              env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "SLURM_CONF": directory + "/etc/slurm.conf"})
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def run_on_all(self, directory, *words, gpus=0):
        done = subprocess.run(["srun", "-D", "/", "-N", "3", "-n", "3", "--gres=gpu:%d" % gpus, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, check=False, env={"PATH": "/usr/bin:/bin", "SLURM_CONF": directory + "/etc/slurm.conf"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted(done.stdout.splitlines())

    def test_up_twice_is_one_farm_and_wipe_leaves_nothing(self):
        directory = self.farm()
        self.do(directory, "up")
        before = self.do(directory, "status")
        self.do(directory, "up")
        self.assertEqual(self.do(directory, "status"), before)
        self.assertNotIn("down", before)
        self.assertEqual(self.run_on_all(directory, "sh", "-c", "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES", gpus=2),
                         ["node1 0,1", "node2 0,1", "node3 0,1"])
        self.assertEqual(self.run_on_all(directory, "sh", "-c", "echo $SLURM_TMPDIR"), 3 * [directory + "/local"])
        number = slurm_farm.Farm(directory).number
        self.assertTrue(processes_with(directory))
        self.do(directory, "wipe")
        self.do(directory, "wipe")
        self.assertFalse(pathlib.Path(directory).exists())
        self.assertEqual(processes_with(directory), [])
        for kind in (["netns", "list"], ["-o", "link"]):
            self.assertNotRegex(slurm_farm.call("ip", *kind).stdout, r"\bfarm%d\b|\bf%dn" % (number, number))

    def test_a_plain_farm_needs_no_root(self):
        directory = self.farm()
        as_user = []
        if os.geteuid() == 0:
            os.chown(pathlib.Path(directory).parent, 65534, 65534)
            as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "SLURM_CONF": directory + "/etc/slurm.conf"}
        copy = pathlib.Path(directory).parent / "slurm_farm.py"
        shutil.copy(PROGRAM, copy)
        for words in (["up"], ["up"], ["wipe"]):
            done = subprocess.run([*as_user, "/usr/bin/python3", str(copy), "--dir", directory, *words], stdin=subprocess.DEVNULL, cwd="/",
                                  capture_output=True, text=True, timeout=120, check=False, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(processes_with(directory), [])

    def test_a_node_and_a_controller_that_die_come_back(self):
        directory = self.farm()
        self.do(directory, "up")
        for verbs in ((["crash-node", "2"], ["start-node", "2"]), (["crash-ctld"], ["start-ctld"]), (["crash-node", "1"], ["up"])):
            for words in verbs:
                self.do(directory, *words)
        self.do(directory, "up")
        self.assertEqual(len(self.run_on_all(directory, "true")), 0)

    def test_two_farms_live_side_by_side(self):
        one, two = self.farm(), self.farm()
        self.do(one, "up")
        self.do(two, "up")
        self.assertNotEqual(slurm_farm.Farm(one).number, slurm_farm.Farm(two).number)
        self.do(one, "wipe")
        self.assertEqual(len(self.run_on_all(two, "echo", "here")), 3)

    def test_the_farm_of_an_owner_that_has_ended_is_a_ruin(self):
        directory = self.farm()
        owner = subprocess.Popen(["sleep", "1000"])
        try:
            slurm_farm.Farm(directory).up(nodes=1, owner=owner.pid)
            slurm_farm.clear_ruins(pathlib.Path(directory).parent)
            self.assertTrue(processes_with(directory))
        finally:
            owner.kill()
            owner.wait()
        slurm_farm.clear_ruins(pathlib.Path(directory).parent)
        self.assertFalse(pathlib.Path(directory).exists())
        self.assertEqual(processes_with(directory), [])

    def test_what_cannot_be_is_refused(self):
        directory = self.farm()
        for words, says in ((["up", "--nodes", "0"], "1 to 64 nodes"), (["up", "--net", "x"], "auto, netns or plain"),
                            (["up", "--proctrack", "x"], "linuxproc, pgid or cgroup"), (["crash-node", "1"], "there is no farm in")):
            self.assertIn(says, self.do(directory, *words, exit_code=1))
        self.assertFalse(pathlib.Path(directory).exists())


if __name__ == "__main__":
    xml_runner.main()
