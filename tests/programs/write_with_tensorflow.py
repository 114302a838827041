"""Writes a run with tf.summary: `new` or `old` style, `resumed` with steps that were written again.

    write_with_tensorflow.py STYLE DIRECTORY
"""

import sys

import numpy
import tensorflow as tf

STEPS = 12
ODD = {3: float("nan"), 4: float("inf"), 5: float("-inf"), 6: -0.0, 7: 1e-45}
v1 = tf.compat.v1


def images(step):
    return numpy.random.default_rng(step).integers(0, 255, [2, 4, 6, 3], numpy.uint8)


def sound(step):
    return numpy.sin(numpy.arange(80, dtype=numpy.float32) * (step + 1)).reshape([2, 40, 1])


def tensor_metadata():
    metadata = v1.SummaryMetadata(display_name="a matrix", summary_description="of whole numbers")
    metadata.plugin_data.plugin_name = "matrices"
    metadata.data_class = 2  # DATA_CLASS_TENSOR
    return metadata


def write_new(directory):
    from tensorboard.plugins.hparams import api as hp
    writer = tf.summary.create_file_writer(directory)
    with writer.as_default():
        hp.hparams({"rate": 0.25, "optimizer": "adam", "nesterov": True, "layers": 3}, trial_id="one")
        for step in range(STEPS):
            tf.summary.scalar("loss", ODD.get(step, 1 / (step + 1)), step, description="a *note*")
            tf.summary.histogram("weights", numpy.arange(step + 1.0) / 3, step, buckets=5)
            tf.summary.image("pictures", images(step), step, max_outputs=2)
            tf.summary.audio("sounds", sound(step), 8000, step, max_outputs=2)
            tf.summary.text("words", ["step %d" % step, "sch\u00f6n"], step)
            tf.summary.write("matrix", tf.constant([[step, 2**62], [3, -4]], tf.int64), step,
                             metadata=tensor_metadata())
            tf.summary.write("plain", tf.constant([step / 7, 1e300], tf.float64), step)

        @tf.function
        def double(x):
            return tf.multiply(x, 2.0, name="twice")

        tf.summary.graph(double.get_concrete_function(tf.TensorSpec([3], tf.float32)).graph)
    writer.close()


def write_old(directory):
    graph = tf.Graph()
    with graph.as_default(), v1.Session() as session:
        number = v1.placeholder(tf.float32, [], "number")
        picture = v1.placeholder(tf.uint8, [2, 4, 6, 3])
        wave = v1.placeholder(tf.float32, [2, 40, 1])
        everything = v1.summary.merge([
            v1.summary.scalar("loss", number),
            v1.summary.histogram("weights", tf.range(20.0) * number - 5),
            v1.summary.image("pictures", picture, max_outputs=2),
            v1.summary.audio("sounds", wave, 8000, max_outputs=2),
            v1.summary.text("words", tf.strings.as_string([number, 2 * number])),
            v1.summary.tensor_summary("plain", [number, 1.0]),
        ])
        writer = v1.summary.FileWriter(directory, graph)
        for step in range(STEPS):
            feed = {number: 1 / (step + 1), picture: images(step), wave: sound(step)}
            writer.add_summary(session.run(everything, feed), step)
        writer.close()


def write_resumed(directory):
    """Each attempt starts a session some steps before the end of the one before."""
    with tf.Graph().as_default():
        writer = v1.summary.FileWriter(directory)
    for attempt, (first, last) in enumerate([(0, 10), (6, 14), (3, 9)]):
        writer.add_session_log(v1.SessionLog(status=v1.SessionLog.START), first)
        for step in range(first, last):
            summary = v1.Summary()
            summary.value.add(tag="loss", simple_value=step + attempt / 4)
            if attempt < 2:
                summary.value.add(tag="accuracy", simple_value=-step)
            writer.add_summary(summary, step)
    writer.close()


if __name__ == "__main__":
    {"new": write_new, "old": write_old, "resumed": write_resumed}[sys.argv[1]](sys.argv[2])
