"""Real programs over three hosts with addresses of their own, one of which loses its power in mid-training.

The hosts are network namespaces that come through the gate; where the machine denies those, nodes at 127.0.0.2, 127.0.0.3, ...
"""

import json
import pathlib
import re

from bazel.python import xml_runner
from tests import pool_case
from tests.slurm import farm_case, slurm_farm

PROGRAMS = str(pathlib.Path("tests/programs").absolute())
EXAMPLE = str(pathlib.Path("examples/data_parallel/train.py").absolute())


def lines(text):
    """The lines of all tasks, without the names of the tasks, sorted."""
    return sorted(re.sub(r"^\[[^]]*\]: +", "", line) for line in text.splitlines())


class FarmHosts(farm_case.HostsCase):
    farm_options = {"nodes": 4, "hosts_only": True}
    node_lost_after = "5s"

    def setUp(self):
        super().setUp()
        self.hosts = {}

    def node(self, name, number=1, slots=2):
        self.hosts[name] = number - 1  # (127.0.0.1 is no host.)
        super().node(name, self.hosts[name], slots)

    def cut_power(self, name):
        self.farm.crash_node(self.hosts[name])


class PoolProgramsCase(FarmHosts if slurm_farm.namespaces_allowed() else pool_case.PoolCase):
    def setUp(self):
        super().setUp()
        for number, name in enumerate(("a", "b", "c"), 2):
            self.node(name, number, slots=1)


class TensorFlowTest(PoolProgramsCase):
    peer = "tensorflow"

    def test_three_hosts_train_together(self):
        out, _ = self.yard("launch", "--at", "lab", "--worker", "3", "--gang", "--", "python", PROGRAMS + "/mirrored_fit.py")
        weight, square = 0.0, sum(x * x for x in (1, 2, 2, 3, 3, 4)) / 6
        for _ in range(8):
            weight -= 0.02 * 2 * (weight - 3) * square
        self.assertEqual(lines(out), ["worker %d of 3: weight %.5f" % (rank, weight) for rank in range(3)])
        self.assertEqual(set(self.tasks(json.loads(self.yard("ps", "--json")[0])["id"]).values()), {"a", "b", "c"})


class TorchTest(PoolProgramsCase):
    peer = "torch"

    def test_a_host_that_dies_in_mid_training_is_replaced_and_the_sum_is_right(self):
        folder = pathlib.Path(self.directory, "ddp")
        folder.mkdir()
        job = json.loads(self.yard("launch", "--at", "lab", "--worker", "3", "--gang", "--restart", "on-failure", "--detach",
                                   "--json", "--", "python", PROGRAMS + "/ddp_fit.py", str(folder), "1", "12")[0])["id"]
        self.await_true((folder / "victim").exists, lambda: self.output(job))
        self.node("d", 5, slots=1)
        self.cut_power(self.tasks(job)["worker-1"])
        self.await_state(job, "done", "failed")
        out = self.output(job)
        self.assertEqual([line.split(" weight")[0] for line in lines(out) if " sum " in line],
                         ["rank %d: sum 180.0" % rank for rank in range(3)], out)
        self.assertEqual(len(re.findall(r"restarts 1, from step 12", out)), 3, out)
        self.assertIn("d", self.tasks(job).values())


class DataParallelTest(PoolProgramsCase):
    def weights(self, *words):
        out, _ = self.yard("run", *words)
        found = re.findall(r"rank \d of 3: weights (.*)", out)
        self.assertEqual(len(found), 3, out)
        return found

    def test_a_trial_of_three_hosts_loses_one_and_reports_nothing_twice(self):
        whole = self.weights("--name", "whole", "--worker", "3", "--", "python3", EXAMPLE)
        process = self.start_yard("run", "--at", "lab", "--name", "cut", "--worker", "3", "--max_restarts", "1",
                                  "--", "python3", EXAMPLE, "--min_step_ms", "100")
        results = pathlib.Path(self.directory, "runs/cut/result.json")
        self.await_true(lambda: results.exists() and len(results.read_text().splitlines()) >= 12, "no reports")
        job = json.loads(self.yard("call", "trainer", "Trials", '{"trial": "cut"}')[0])["trials"][0]["job"]
        self.node("d", 5, slots=1)
        self.cut_power(self.tasks(job)["worker-1"])
        out, err = self.finish(process)
        self.assertEqual(re.findall(r"rank \d of 3: weights (.*)", out), whole, out + err)
        rows = [json.loads(line) for line in results.read_text().splitlines()]
        begins = [number for number, row in enumerate(rows) if row["iterations_since_restore"] == 1]
        iterations = [row["training_iteration"] for row in rows]
        self.assertEqual(begins, [0, begins[-1]], rows)
        # (The second attempt goes on from the newest checkpoint, which is made every 5 steps.)
        first = iterations[begins[-1]]
        self.assertIn(first, (11, 16, 21, 26))
        self.assertEqual(iterations, [*range(1, begins[-1] + 1), *range(first, 31)])


if __name__ == "__main__":
    xml_runner.main()
