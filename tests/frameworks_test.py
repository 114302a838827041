"""Programs of TensorFlow and torch run unchanged: what the launcher tells a task is all they need."""

import collections
import json
import os
import pathlib
import re
import signal
import sys
import time
import unittest

from bazel.python import xml_runner
from tests import yard_case

PROGRAMS = str(pathlib.Path("tests/programs").absolute())


def lines(text):
    """The lines of all tasks, without the names of the tasks, sorted."""
    return sorted(re.sub(r"^\[[^]]*\]: +", "", line) for line in text.splitlines())


class TensorFlowTest(yard_case.YardCase):
    peer = "tensorflow"

    def test_three_workers_train_together(self):
        out, _ = self.yard("launch", "--worker", "3", "--", "python", PROGRAMS + "/mirrored_fit.py")
        weight, square = 0.0, sum(x * x for x in (1, 2, 2, 3, 3, 4)) / 6
        for _ in range(8):
            weight -= 0.02 * 2 * (weight - 3) * square
        self.assertEqual(lines(out),
                         ["worker %d of 3: weight %.5f" % (rank, weight) for rank in range(3)])

    def test_a_cluster_whose_servers_never_return_ends_with_its_chief(self):
        out, err = self.yard("launch", "--chief", "--worker", "2", "--ps", "1", "--grpc_fail_fast",
                             "use_caller", "--", "python", PROGRAMS + "/parameter_server.py")
        self.assertIn("sum 66.0 of 12, kept by /job:ps/replica:0/task:0", out)
        self.assertEqual(out.count("serves at grpc://"), 3, out)
        self.assertNotIn("FAILED", err)
        job = json.loads(self.yard("ps", "--json")[0])
        self.assertEqual(job["state"], "done")
        ends = {task["id"].split("/")[1]: task["attempts"][0]["was_stopped"]
                for task in job["tasks"]}
        self.assertEqual(ends, {"chief-0": False, "worker-0": True, "worker-1": True,
                                "ps-0": True})


class TorchTest(yard_case.YardCase):
    peer = "torch"
    job = ["launch", "--worker", "3", "--gang", "--restart", "on-failure", "--", "python",
           PROGRAMS + "/ddp_fit.py"]

    def read_when_there(self, path, process):
        deadline = time.monotonic() + yard_case.LONG
        while not os.path.exists(path):
            self.assertIsNone(process.poll(), "the job has ended")
            self.assertLess(time.monotonic(), deadline, "%s is not there" % path)
            os.sched_yield()
        return pathlib.Path(path).read_text()

    def folder(self, name):
        path = os.path.join(self.directory, name)
        os.mkdir(path)
        return path

    def test_a_rank_killed_in_mid_training_brings_all_back_to_the_same_result(self):
        whole, _ = self.yard(*self.job, self.folder("whole"))
        ends = [line for line in lines(whole) if " sum " in line]
        self.assertEqual([end.split(" weight")[0] for end in ends],
                         ["rank %d: sum 180.0" % rank for rank in range(3)])
        self.assertEqual(len({end.split()[-1] for end in ends}), 1, ends)

        folder = self.folder("killed")
        process = self.start_yard(*self.job, folder, "1", "12")
        os.kill(int(self.read_when_there(folder + "/victim", process)), signal.SIGKILL)
        out, err = self.finish(process)
        self.assertEqual([line for line in lines(out) if " sum " in line], ends, out + err)
        begins = collections.defaultdict(set)
        for line in lines(out):
            found = re.match(r"rank (\d) of 3: port (\d+), restarts (\d), from step (\d+)", line)
            if found:
                rank, port, restarts, step = map(int, found.groups())
                begins[port].add((rank, restarts, step))
        self.assertEqual(list(begins.values()), [{(0, 0, 0), (1, 0, 0), (2, 0, 0),
                                                  (0, 1, 12), (1, 1, 12), (2, 1, 12)}], out)
        self.assertIn("1 restart", err)


LISTENS = """
import json, os, socket
config = json.loads(os.environ["TF_CONFIG"])
host, port = config["cluster"]["worker"][0].rsplit(":", 1)
listener = socket.socket()
%s
listener.bind((host, int(port)))
listener.listen()
"""


class HeldPortsTest(yard_case.YardCase):
    """The claims of docs/jobs.md about `hold_ports`."""

    def listen(self, option, *flags):
        set_option = option and "listener.setsockopt(socket.SOL_SOCKET, socket.%s, 1)" % option
        process = self.start_yard("launch", "--worker", "1", *flags, "--", "python3", "-c",
                                  LISTENS % set_option)
        _, err = process.communicate(timeout=yard_case.LONG)
        return "in use" if "Address already in use" in err else process.returncode

    def test_a_program_that_sets_one_of_the_two_options_gets_its_port(self):
        self.assertEqual(self.listen("SO_REUSEADDR"), 0)
        self.assertEqual(self.listen("SO_REUSEPORT"), 0)

    def test_one_that_sets_neither_needs_a_port_that_is_let_go(self):
        self.assertEqual(self.listen(""), "in use")
        self.assertEqual(self.listen("", "--hold_ports=false"), 0)


if __name__ == "__main__":
    xml_runner.main()
