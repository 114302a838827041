"""TensorBoard's readers read our event files, and we read those of TensorBoard's writers."""

import math
import os
import struct
import subprocess
import tempfile
import unittest

import xml_runner

TOOL = os.path.join(os.environ["TEST_SRCDIR"], "yard/eventlog/testing/event_tool")

# Each prints "STEP TAG VALUE WALL_TIME" a line.
READ_WITH = {
    "TensorBoard's EventAccumulator": """
import sys
from tensorboard.backend.event_processing import event_accumulator
accumulator = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
accumulator.Reload()
for tag in accumulator.Tags()["scalars"]:
    for event in accumulator.Scalars(tag):
        print(event.step, tag, repr(float(event.value)), event.wall_time)
""",
    "TensorBoard's EventFileLoader": """
import glob, sys
from tensorboard.backend.event_processing import event_file_loader
from tensorboard.util import tensor_util
(path,) = glob.glob(sys.argv[1] + "/*tfevents*")
for event in event_file_loader.EventFileLoader(path).Load():
    for value in event.summary.value:
        number = float(tensor_util.make_ndarray(value.tensor).item())
        print(event.step, value.tag, repr(number), event.wall_time)
""",
    # The server says nowhere that it has read everything: ask until the last tag is there.
    "TensorBoard's Rust data server": """
import sys, time
from tensorboard import context
from tensorboard.data import provider, server_ingester
from tensorboard.util import grpc_util
ingester = server_ingester.SubprocessServerDataIngester(
    server_binary=server_ingester.get_server_binary(), logdir=sys.argv[1], reload_interval=0,
    channel_creds_type=grpc_util.ChannelCredsType.LOCAL, samples_per_plugin={"scalars": 0},
    extra_flags=["--checksum"])
ingester.start()
question = dict(ctx=context.RequestContext(), experiment_id="", plugin_name="scalars",
                run_tag_filter=provider.RunTagFilter())
for attempt in range(600):
    tags = ingester.data_provider.list_scalars(**question).get(".", {})
    if len(tags) == 3:
        break
    time.sleep(0.1)
answer = ingester.data_provider.read_scalars(downsample=100000, **question)
for tag, points in answer["."].items():
    for point in points:
        print(point.step, tag, repr(float(point.value)), point.wall_time)
""",
}

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

# Writes one value of each kind that is no scalar, and what else an event may be.
WRITE_OTHER_KINDS = """
import sys
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter
summary = summary_pb2.Summary()
summary.value.add(tag="a").histo.bucket_limit.extend([1, 2])
summary.value.add(tag="b").image.encoded_image_string = b"png"
summary.value.add(tag="c").audio.content_type = "audio/wav"
text = summary.value.add(tag="d")
text.tensor.dtype = 7
text.tensor.string_val.append(b"words")
text.metadata.plugin_data.plugin_name = "text"
writer = EventFileWriter(sys.argv[1])
writer.add_event(event_pb2.Event(step=1, summary=summary))
writer.add_event(event_pb2.Event(session_log=event_pb2.SessionLog(status=1)))
writer.add_event(event_pb2.Event(graph_def=b"a graph"))
writer.close()
"""

# Prints what the places on standard input hold, read by protobuf.
READ_PLACES = """
import glob, sys
from tensorboard.compat.proto import summary_pb2, tensor_pb2
(path,) = glob.glob(sys.argv[1] + "/*tfevents*")
content = open(path, "rb").read()
places = [line.split() for line in sys.stdin]
def message(kind, tag):
    ((offset, length),) = [(int(o), int(n)) for k, _, t, o, n in places if (k, t) == (kind, tag)]
    return content[offset:offset + length]
print(list(summary_pb2.HistogramProto.FromString(message("3", "a")).bucket_limit))
print(summary_pb2.Summary.Image.FromString(message("4", "b")).encoded_image_string)
print(summary_pb2.Summary.Audio.FromString(message("5", "c")).content_type)
print(tensor_pb2.TensorProto.FromString(message("2", "d")).string_val)
print(message("3", "0"))
"""


def as_float(value):
    """The nearest float, which is what an event file holds."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def written():
    """The rows that `event_tool write` writes: (step, tag, value, wall time)."""
    rows = []
    for step in range(100):
        rows.append((step, "loss", 1 / (step + 1), 1700000000.5 + step))
        accuracy = math.inf if step == 50 else step * 0.25
        rows.append((step, "train/accuracy", accuracy, 1700000000.5 + step))
    odd = {-3: math.nan, -2: -math.inf, 0: 1e300, 1: 1e-300, 2**53 + 1: -0.0}
    rows.extend((step, "odd/\u00e9t\u00e9", value, 1700000200.25) for step, value in odd.items())
    return sorted((step, tag, repr(as_float(value)), time) for step, tag, value, time in rows)


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

    def run_python(self, program, text=""):
        return subprocess.run([self.python, "-X", "utf8", "-c", program, self.directory],
                              check=True, timeout=120, input=text, stdout=subprocess.PIPE,
                              encoding="utf-8").stdout

    def run_tool(self, verb):
        (name,) = [n for n in os.listdir(self.directory) if "tfevents" in n]
        return subprocess.run([TOOL, verb, os.path.join(self.directory, name)], check=True,
                              timeout=60, stdout=subprocess.PIPE, text=True).stdout

    def dump(self):
        return self.run_tool("dump").splitlines()

    def test_tensorboards_readers_read_every_value_we_write(self):
        path = os.path.join(self.directory, "events.out.tfevents.1700000000.host.1.0")
        subprocess.run([TOOL, "write", path], check=True, timeout=60)
        for reader, program in READ_WITH.items():
            with self.subTest(reader):
                rows = [line.split() for line in self.run_python(program).splitlines()]
                self.assertEqual(sorted((int(step), tag, value, float(time))
                                        for step, tag, value, time in rows), written())

    def test_we_read_tensorboardx(self):
        self.run_python(WRITE_X)
        self.assertEqual(self.dump(), ["%d loss %.9g" % (s, s * 0.5) for s in range(20)])

    def test_we_read_new_style_scalars(self):
        self.run_python(WRITE_NEW_STYLE)
        self.assertEqual(self.dump(), ["%d loss %.9g" % (s, s * 0.5) for s in range(20)])

    def test_we_tell_where_the_other_kinds_are(self):
        self.run_python(WRITE_OTHER_KINDS)
        places = self.run_tool("places")
        first = places.splitlines()[0].split()
        self.assertEqual(first[:2], ["1", "tensorboard.summary.writer.event_file_writer"])
        self.assertIn("2 text d", places)
        # A session log's status is START.
        self.assertTrue(any(line.startswith("6 - 1 ") for line in places.splitlines()), places)
        self.assertEqual(self.run_python(READ_PLACES, places).splitlines(),
                         ["[1.0, 2.0]", "b'png'", "audio/wav", "[b'words']", "b'a graph'"])


if __name__ == "__main__":
    xml_runner.main()
