"""Writes runs with every kind of data that TensorBoard 2.21 knows, old style and new, and some that are odd.

    write_every_kind.py DIRECTORY
"""

import io
import os
import struct
import sys
import time
import wave
import zlib

import numpy
from tensorboard.compat.proto import config_pb2, event_pb2, graph_pb2, summary_pb2, tensor_pb2
from tensorboard.plugins.audio import metadata as audio_metadata
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import metadata as custom_scalar_metadata
from tensorboard.plugins.histogram import summary_v2 as histogram
from tensorboard.plugins.hparams import summary_v2 as hparams
from tensorboard.plugins.image import metadata as image_metadata
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.pr_curve import metadata as pr_curve_metadata
from tensorboard.plugins.scalar import summary_v2 as scalar
from tensorboard.plugins.text import summary_v2 as text
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util
from tensorboardX import SummaryWriter

START = 1_700_000_000.0
STEPS = 30
BFLOAT16 = 14


def png(width, height, color):
    rows = b"".join(b"\0" + bytes(color) * width for _ in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def wav(frames):
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(8000)
        writer.writeframes((numpy.sin(numpy.arange(frames) * 0.3) * 9000).astype("<i2").tobytes())
    return file.getvalue()


def strings(values):
    return tensor_util.make_tensor_proto(numpy.array(values, dtype=object))


def value(tag, tensor, metadata):
    return summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, tensor=tensor, metadata=metadata)])


def add(writer, step, summary=None, wall_time=None, **fields):
    writer.add_event(event_pb2.Event(wall_time=START + step if wall_time is None else wall_time, step=step,
                                     summary=summary, **fields))


def write_series(writer):
    """Writes the values that grow from step to step."""
    for step in range(STEPS):
        add(writer, step, scalar.scalar_pb("loss", 1 / (step + 1), description="**falls**"))
        add(writer, step, histogram.histogram_pb("weights", numpy.random.RandomState(step).randn(500)))
        add(writer, step, text.text_pb("notes", numpy.array(["step %d" % step, "zwei"])))
        images = [png(8, 8, (step * 8, 40 * i, 0)) for i in range(1 + step % 3)]
        add(writer, step, value("picture", strings([b"8", b"8"] + images), image_metadata.create_summary_metadata(
            display_name=None, description="an image")))
        add(writer, step, value("sound", strings([wav(800 + step)]), audio_metadata.create_summary_metadata(
            display_name=None, description="a sound", encoding=audio_metadata.Encoding.Value("WAV"))))
        positive = numpy.linspace(100, 10, 7)
        curve = numpy.stack([positive, positive / 2, 100 - positive / 2, 100 - positive, numpy.full(7, 0.66), positive / 100])
        add(writer, step, value("curve", tensor_util.make_tensor_proto(curve.astype("f4")),
                                pr_curve_metadata.create_summary_metadata(None, None, 7)))


def write_meshes(writer):
    parts = (("VERTEX", 1, numpy.random.RandomState(0).rand(1, 4, 3).astype("f4")),
             ("FACE", 2, numpy.array([[[0, 1, 2], [1, 2, 3]]], dtype="i4")),
             ("COLOR", 3, numpy.full((1, 4, 3), 200, dtype="i4")))
    for name, content_type, array in parts:
        metadata = mesh_metadata.create_summary_metadata("m", None, content_type, 2 | 4 | 8, list(array.shape), "a mesh", "{}")
        add(writer, 0, value("m_" + name, tensor_util.make_tensor_proto(array), metadata))


def write_singles(writer):
    """Writes the values that a run has once."""
    add(writer, 0, hparams.hparams_pb({"lr": 0.1, "opt": "adam", "dropout": True}, trial_id="t1"))
    add(writer, 0, hparams.hparams_config_pb(
        [hparams.HParam("lr", hparams.RealInterval(0.0, 1.0)), hparams.HParam("opt", hparams.Discrete(["adam", "sgd"]))],
        [hparams.Metric("loss", display_name="Loss")]))
    chart = layout_pb2.Chart(title="all", multiline=layout_pb2.MultilineChartContent(tag=["loss", "acc"]))
    layout = layout_pb2.Layout(category=[layout_pb2.Category(title="c", chart=[chart])])
    add(writer, 0, value("custom_scalars__config__", strings(layout.SerializeToString()),
                         custom_scalar_metadata.create_summary_metadata()))
    graph = graph_pb2.GraphDef()
    graph.node.add(name="scope/a", op="Placeholder")
    graph.node.add(name="scope/b", op="Identity", input=["scope/a"])
    writer.add_event(event_pb2.Event(wall_time=START, graph_def=graph.SerializeToString()))
    writer.add_event(event_pb2.Event(wall_time=START + 1, step=1, tagged_run_metadata=event_pb2.TaggedRunMetadata(
        tag="step1", run_metadata=config_pb2.RunMetadata().SerializeToString())))
    for tag, data_class in (("other/t", 2), ("other/none", 0)):
        metadata = summary_pb2.SummaryMetadata(data_class=data_class)
        metadata.plugin_data.plugin_name = "greeter"
        metadata.plugin_data.content = b"\x01\x02"
        add(writer, 3, value(tag, strings(["hi"]), metadata))


def write_numbers(writer):
    """Scalars that are no 32-bit floats, or no numbers."""
    metadata = scalar.scalar_pb("x", 1).value[0].metadata
    arrays = {"f64": numpy.float64(0.1), "i64": numpy.int64(7), "rank1": numpy.array([3.0], dtype="f4"),
              "nan": numpy.float32("nan"), "inf": numpy.float32("inf")}
    for name, array in arrays.items():
        for step in range(3):
            add(writer, step, value("typed/" + name, tensor_util.make_tensor_proto(array), metadata))


def write_bfloat16(directory):
    """Writes a type that TensorBoard's reader in Python cannot read."""
    tensor = tensor_pb2.TensorProto(dtype=BFLOAT16, half_val=[0x3FC0])  # 1.5
    tensor.tensor_shape.SetInParent()
    writer = EventFileWriter(directory)
    add(writer, 1, value("bf16", tensor, scalar.scalar_pb("x", 1).value[0].metadata))
    writer.close()


def write_old(directory):
    writer = SummaryWriter(directory)
    for step in range(STEPS):
        then = {"global_step": step, "walltime": START + 100 + step}
        writer.add_scalar("loss", 1 / (step + 2), **then)
        writer.add_scalar("acc", step / 30, **then)
        writer.add_histogram("weights", numpy.random.RandomState(step).randn(500), **then)
        writer.add_image("picture", numpy.full((3, 8, 8), step * 8, dtype=numpy.uint8), **then)
        writer.add_text("notes", "step %d" % step, **then)
    writer.add_pr_curve("curve", numpy.array([0, 1, 1, 0]), numpy.array([0.1, 0.8, 0.7, 0.3]), 0, num_thresholds=7,
                        walltime=START + 100)
    writer.add_custom_scalars({"c": {"both": ["Multiline", ["loss", "acc"]]}})
    writer.close()
    # A sound of the old style, which tensorboardX only writes with a package of its own.
    writer = EventFileWriter(directory)
    audio = summary_pb2.Summary.Audio(sample_rate=8000, num_channels=1, length_frames=800, encoded_audio_string=wav(800),
                                      content_type="audio/wav")
    add(writer, 0, summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="sound", audio=audio)]), START + 100)
    writer.close()


def write_steps(directory, steps, start):
    writer = EventFileWriter(directory)
    for step in steps:
        add(writer, step, scalar.scalar_pb("loss", step + start), START + start + step)
    writer.close()


def main(directory):
    writer = EventFileWriter(os.path.join(directory, "new"))
    for write in (write_series, write_meshes, write_singles, write_numbers):
        write(writer)
    writer.close()
    write_old(os.path.join(directory, "old"))
    write_bfloat16(os.path.join(directory, "bfloat16"))
    for name in (".", "deep/er/run", 'n\u00e4me "q" <b>', "with space"):
        writer = EventFileWriter(os.path.join(directory, name))
        for step in range(5):
            add(writer, step, scalar.scalar_pb("a/b/c", step), START + 200 + step)
        writer.close()
    write_steps(os.path.join(directory, "resumed"), range(10), 300)
    time.sleep(1.1)  # The names of files have whole seconds.
    write_steps(os.path.join(directory, "resumed"), range(5, 13), 400)
    write_steps(os.path.join(directory, "disorder"), (0, 1, 2, 5, 3, 4, 6, 6, 7), 500)
    EventFileWriter(os.path.join(directory, "header_only")).close()
    os.makedirs(os.path.join(directory, "empty_file"))
    with open(os.path.join(directory, "empty_file", "events.out.tfevents.1700000000.h"), "w", encoding="utf-8"):
        pass


if __name__ == "__main__":
    main(sys.argv[1])
