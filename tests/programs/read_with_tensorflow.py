"""Prints the scalars that TensorFlow's summary_iterator reads in a directory's one event file.

    read_with_tensorflow.py DIRECTORY

As JSON: {"TAG": [[STEP, WALL_TIME, VALUE], ...]}, a value as text.
"""

import glob
import json
import sys

import tensorflow as tf


def main(directory):
    path, = glob.glob(directory + "/*tfevents*")
    seen = {}
    for event in tf.compat.v1.train.summary_iterator(path):
        for value in event.summary.value:
            seen.setdefault(value.tag, []).append(
                [event.step, event.wall_time, repr(value.simple_value)])
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
