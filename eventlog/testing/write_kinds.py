"""Writes one value of every kind as other programs write them, for golden_files_test.

    python3 write_kinds.py tensorflow golden/      tf.summary and TensorBoard's summaries (both installed)
    python3 write_kinds.py tensorboardx golden/    tensorboardX and TensorBoard's writer

Times are set to a fixed one, so that the files are the same each time but for what TensorFlow counts.
"""

import os
import shutil
import sys
import tempfile

WALL_TIME = 1700000000.25


def keep(directory, target):
    """Copies the one event file of a directory, with the wall times set."""
    from tensorboard.compat.proto import event_pb2
    from tensorboard.summary.writer.record_writer import RecordWriter
    from tensorboard.backend.event_processing import event_file_loader
    (name,) = [n for n in os.listdir(directory) if "tfevents" in n]
    with open(target, "wb") as out:
        writer = RecordWriter(out)
        for raw in event_file_loader.RawEventFileLoader(os.path.join(directory, name)).Load():
            event = event_pb2.Event.FromString(raw)
            event.wall_time = WALL_TIME
            writer.write(event.SerializeToString(deterministic=True))


def tensorflow(directory):
    import numpy
    import tensorflow as tf
    from tensorboard.plugins.custom_scalar import layout_pb2, summary as custom_scalars
    from tensorboard.plugins.hparams import api_pb2, summary as hparams, summary_v2
    from tensorboard.plugins.mesh import summary_v2 as mesh
    from tensorboard.plugins.pr_curve import summary as pr_curves
    writer = tf.summary.create_file_writer(directory)
    with writer.as_default(step=7):
        for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32,
                      tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.bool,
                      tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn):
            metadata = tf.compat.v1.SummaryMetadata()
            metadata.plugin_data.plugin_name = "scalars"
            tf.summary.write("scalar/" + dtype.name, tf.cast(tf.constant(1.0), dtype), metadata=metadata)
        tf.summary.scalar("loss", 0.5, description="how wrong it is")
        tf.summary.histogram("histogram", [1.0, 2.0, 2.0, 4.0], buckets=3)
        tf.summary.image("image", numpy.zeros([2, 2, 3, 1], numpy.uint8), max_outputs=2)
        tf.summary.audio("audio", numpy.zeros([1, 4, 1], numpy.float32), 8000,
                         encoding="wav")
        tf.summary.text("text", ["first", "second"])
        tf.summary.write("tensor", tf.constant([[1, 2], [3, 4]], tf.int64))
        tf.summary.write("complex", tf.constant([1 + 2j], tf.complex64))
        mesh.mesh("mesh", vertices=numpy.zeros([1, 2, 3], numpy.float32),
                  faces=numpy.zeros([1, 1, 3], numpy.int32))
    for proto in (
            pr_curves.pb("pr", labels=numpy.array([True, False]),
                         predictions=numpy.array([0.75, 0.25]), num_thresholds=3),
            custom_scalars.pb(layout_pb2.Layout(category=[layout_pb2.Category(title="all")])),
            summary_v2.hparams_pb({"rate": 0.1, "optimizer": "adam", "nesterov": True},
                                  trial_id="group", start_time_secs=1.5),
            summary_v2.hparams_config_pb(
                hparams=[summary_v2.HParam("rate", summary_v2.RealInterval(0.0, 1.0))],
                metrics=[summary_v2.Metric("loss", display_name="Loss")], time_created_secs=2.5),
            hparams.session_end_pb(api_pb2.STATUS_SUCCESS, end_time_secs=3.5),
    ):
        with writer.as_default(step=8):
            tf.summary.experimental.write_raw_pb(tf.constant(proto.SerializeToString()))
    with writer.as_default(step=9):
        @tf.function
        def double(x):
            return tf.multiply(x, 2.0, name="twice")
        graph = double.get_concrete_function(tf.TensorSpec([3], tf.float32)).graph
        tf.summary.graph(graph)
    writer.close()


def tensorboardx(directory):
    import numpy
    from tensorboardX.proto import event_pb2, summary_pb2
    from tensorboardX import SummaryWriter
    with SummaryWriter(directory) as writer:
        writer.add_scalar("loss", 0.5, 1, summary_description="words")
        writer.add_histogram_raw("histogram", min=1.0, max=4.0, num=4, sum=9.0, sum_squares=25.0,
                                 bucket_limits=[0.0, 1.5, 3.0, 5.0], bucket_counts=[0, 1, 2, 1],
                                 global_step=2)
        writer.add_image("image", numpy.zeros([3, 2, 4], numpy.uint8), 3)
        writer.add_text("text", "words", 5)
        writer.add_pr_curve("pr", numpy.array([1, 0]), numpy.array([0.75, 0.25]), 6,
                            num_thresholds=3)
        writer.add_mesh("mesh", numpy.zeros([1, 2, 3], numpy.float32), global_step=7)
        # Kinds that this writer writes only with another library, and kinds that nobody writes any more.
        summary = summary_pb2.Summary()
        audio = summary.value.add(tag="audio").audio
        audio.sample_rate, audio.num_channels, audio.length_frames = 8000, 1, 4
        audio.encoded_audio_string, audio.content_type = b"RIFF....WAVEfmt", "audio/wav"
        node = summary.value.add(node_name="node").tensor
        node.dtype = 1
        node.float_val.append(1.0)
        writer.file_writer.event_writer.add_event(event_pb2.Event(step=9, summary=summary))


def main():
    kind, target = sys.argv[1:]
    directory = tempfile.mkdtemp()
    try:
        globals()[kind](directory)
        keep(directory, os.path.join(target, kind + ".tfevents"))
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
