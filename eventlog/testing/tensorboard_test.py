"""TensorBoard's readers read our event files, and we read those of TensorBoard's writers."""

import os
import subprocess
import tempfile
import unittest

import xml_runner

TOOL = os.path.join(os.environ["TEST_SRCDIR"], "yard/eventlog/testing/event_tool")

READ = """
import glob, sys
from tensorboard.backend.event_processing import event_accumulator
accumulator = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
accumulator.Reload()
for tag in accumulator.Tags()["scalars"]:
    for event in accumulator.Scalars(tag):
        print(event.step, tag, repr(event.value), event.wall_time)
"""

WRITE_X = """
import sys
from tensorboardX import SummaryWriter
with SummaryWriter(sys.argv[1]) as writer:
    for step in range(20):
        writer.add_scalar("loss", step * 0.5, step)
    writer.add_text("note", "words", 1)
"""

WRITE_NEW_STYLE = """
import sys
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter(sys.argv[1])
for step in range(20):
    new_style = summary_pb2.Summary()
    value = new_style.value.add(tag="loss")
    value.metadata.plugin_data.plugin_name = "scalars"
    value.tensor.dtype = 1
    value.tensor.float_val.append(step * 0.5)
    event = event_pb2.Event(step=step, wall_time=1, summary=new_style)
    writer.add_event(event)
writer.close()
"""


class TensorBoardTest(unittest.TestCase):

    def setUp(self):
        peers = os.environ.get("YARD_PEERS")
        if not peers:
            self.skipTest("YARD_PEERS is not set: tools/test installs TensorBoard and sets it")
        self.python = os.path.join(peers, "tensorboard/bin/python")
        self.assertTrue(os.path.exists(self.python), self.python)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def run_python(self, program):
        return subprocess.run([self.python, "-c", program, self.directory], check=True, timeout=120,
                              stdout=subprocess.PIPE, text=True).stdout

    def dump(self):
        (name,) = [n for n in os.listdir(self.directory) if "tfevents" in n]
        return subprocess.run([TOOL, "dump", os.path.join(self.directory, name)], check=True,
                              timeout=60, stdout=subprocess.PIPE, text=True).stdout.splitlines()

    def test_tensorboard_reads_every_value_we_write(self):
        path = os.path.join(self.directory, "events.out.tfevents.1700000000.host.1.0")
        subprocess.run([TOOL, "write", path], check=True, timeout=60)
        rows = [line.split() for line in self.run_python(READ).splitlines()]
        loss = {int(r[0]): float(r[2]) for r in rows if r[1] == "loss"}
        accuracy = {int(r[0]): float(r[2]) for r in rows if r[1] == "train/accuracy"}
        self.assertEqual(sorted(loss), list(range(100)))
        for step, value in loss.items():
            self.assertAlmostEqual(value, 1 / (step + 1), places=6)
        self.assertEqual(accuracy[50], float("inf"))
        self.assertEqual(accuracy[99], 99 * 0.25)
        self.assertEqual(float(rows[0][3]), 1700000000.5)

    def test_we_read_tensorboardx(self):
        self.run_python(WRITE_X)
        self.assertEqual(self.dump(), ["%d loss %.9g" % (s, s * 0.5) for s in range(20)])

    def test_we_read_new_style_scalars(self):
        self.run_python(WRITE_NEW_STYLE)
        self.assertEqual(self.dump(), ["%d loss %.9g" % (s, s * 0.5) for s in range(20)])


if __name__ == "__main__":
    xml_runner.main()
