"""A real program, and a GPU of a fake library, are measured: curves, top, Prometheus."""

import glob
import json
import os
import signal
import urllib.request

from bazel.python import xml_runner
from tests import yard_case
from tests.operate_test import free_ports, parse

# Burns a core, has 60 MB, and writes a megabyte again and again. Each 50th turn is a step.
PROGRAM = r"""
import json, os, time
channel = os.fdopen(3, "r+b", buffering=0)
ballast = b"x" * 60_000_000
with open("written", "wb", buffering=0) as file:
    for turn in range(10**9):
        until = time.monotonic() + 0.02
        while time.monotonic() < until: pass
        file.seek(0)
        if turn % 10 == 0: file.write(os.urandom(1 << 20)); os.fsync(file.fileno())
        if turn % 50: continue
        channel.write(json.dumps({"t": "report", "m": {"loss": 1 / (turn + 1)}, "step": turn // 50 * 100}).encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"): answer += channel.read(1)
"""


class SystemMetricsTest(yard_case.YardCase):
    port = free_ports(1)
    up_words = ("--metrics_port", str(port))
    # (The launcher finds two GPUs there.)
    variables = {"LD_LIBRARY_PATH": os.path.abspath("launcher/gpu/testing"), "CUDA_VISIBLE_DEVICES": "GPU-1"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._services("run", "--name", "burns", "--detach", "--", "python3", "-c", PROGRAM)

    def points(self):
        """{tag: [(step, value)]} of the run, in the order of measuring."""
        points = {}
        for line in self.yard("export", "burns", "--tags", "sys/", "--json")[0].splitlines():
            point = json.loads(line)
            points.setdefault(point["tag"], []).append((point["step"], point["value"]))
        return points

    def test_curves_go_on_over_a_killed_trainer(self):
        self.yard("sub", "m/burns/sys$2Fcpu_percent/", "-n", "1", "--timeout", str(yard_case.LONG))
        os.kill(json.loads(self.yard("call", "trainer", "Stats", "{}")[0])["pid"], signal.SIGKILL)
        before = len(self.points()["sys/cpu_percent"])
        self.await_true(lambda: len(self.points()["sys/cpu_percent"]) > before, "the next trainer measures")
        points = self.points()
        cpu, memory = points["sys/cpu_percent"], points["sys/memory_bytes"]
        self.assertGreaterEqual(len(cpu), 2)
        for _, percent in cpu:
            self.assertTrue(5 < percent < 250, cpu)
        for _, size in memory:
            self.assertTrue(60e6 < size < 1e9, memory)
        self.assertGreater(max(value for _, value in points["sys/disk_written_bytes_per_s"]), 100_000)
        self.assertEqual({value for _, value in points["sys/gpu0/utilization_percent"]}, {20})
        self.assertEqual({value for _, value in points["sys/gpu0/power_watts"]}, {101.5})
        self.assertNotIn("sys/gpu1/power_watts", points)
        # They stand under the loss.
        steps = {json.loads(line)["step"] for line in self.yard("export", "burns", "--tags", "^loss$", "--json")[0].splitlines()}
        for tag, its in points.items():
            self.assertEqual(sorted(its, key=lambda point: point[0]), its, tag)
            self.assertLessEqual({step for step, _ in its}, steps | {0}, tag)
        self.assertGreater(cpu[-1][0], 0)
        # No second file, and no damage, over the kill.
        run = os.path.join(self.directory, "runs/burns")
        self.assertEqual(len(glob.glob(run + "/events.out.tfevents.*-sys.*")), 1)
        self.assertNotIn("left out", self.yard("show", "burns", "--run")[0])

    def test_top_and_prometheus_have_them(self):
        usage = json.loads(self.yard("top", "--json")[0])["usage"]
        [task] = usage["tasks"]
        self.assertGreater(task["cores"], 0.05)
        self.assertEqual(task["gpus"], [1])
        self.assertIsNotNone(task["read_bytes_per_s"])
        self.await_true(lambda: json.loads(self.yard("top", "--json")[0])["usage"]["tasks"][0]["written_bytes"] > 1 << 20,
                        "it has written")
        self.assertEqual([gpu["utilization_percent"] for gpu in usage["gpus"]], [10, 20])
        self.assertIn("gpu 30% of 200%", self.yard("top", "--once")[0])
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.port, timeout=yard_case.LONG) as answer:
            metrics = parse(answer.read().decode())
        [written] = metrics["trainyard_task_written_bytes_total"][1].values()
        self.assertGreater(written, 1 << 20)
        self.assertEqual([dict(labels)["gpu"] for labels in metrics["trainyard_task_gpu"][1]], ["1"])
        self.assertEqual({dict(labels)["gpu"]: value for labels, value in metrics["trainyard_gpu_utilisation_ratio"][1].items()},
                         {"0": 0.1, "1": 0.2})
        for name in ("memory_used_bytes", "memory_bytes", "temperature_celsius", "power_watts"):
            self.assertEqual(len(metrics["trainyard_gpu_" + name][1]), 2)


if __name__ == "__main__":
    xml_runner.main()
