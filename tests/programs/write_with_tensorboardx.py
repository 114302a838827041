"""Writes a run with tensorboardX: one of each kind that it needs no other library for.

    write_with_tensorboardx.py DIRECTORY
"""

import sys

import numpy
from tensorboardX import SummaryWriter
from tensorboardX.summary import hparams


def main(directory):
    random = numpy.random.default_rng(1)
    with SummaryWriter(directory) as writer:
        # (writer.add_hparams() makes a run of its own.)
        for summary in hparams({"rate": 0.5, "optimizer": "sgd"}, {"loss": 0}):
            writer.file_writer.add_summary(summary)
        for step in range(12):
            writer.add_scalar("loss", 1 / (step + 1), step)
            writer.add_scalar("a tag/with \u00e9", 10.0**(3 * step), -step, walltime=1.5 + step)
            writer.add_histogram("weights", random.normal(size=100), step, bins="auto")
            writer.add_image("picture", random.integers(0, 255, [3, 4, 6], numpy.uint8), step)
            writer.add_text("words", "step %d" % step, step)
            writer.add_pr_curve("curve", random.integers(0, 2, 20), random.random(20), step,
                                num_thresholds=5)
            writer.add_mesh("mesh", random.random([1, 5, 3]), global_step=step)


if __name__ == "__main__":
    main(sys.argv[1])
