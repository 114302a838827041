"""A line fitted by TensorFlow on all workers of TF_CONFIG, each with points of its own.

Prints the same weight on every worker.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

STEPS = 8


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    workers = strategy.num_replicas_in_sync
    rank = strategy.cluster_resolver.task_id
    x = tf.constant([1.0, 2.0]) + float(rank)
    with strategy.scope():
        weight = tf.Variable(0.0)

    @tf.function
    def gradient():
        def of_this_worker():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((weight * x - 3.0 * x) ** 2)
            return tape.gradient(loss, weight)

        each = strategy.run(of_this_worker)
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, each, axis=None)

    for _ in range(STEPS):
        weight.assign_sub(0.02 * gradient())
    print("worker %d of %d: weight %.5f" % (rank, workers, weight.numpy()), flush=True)


main()
