"""A TensorFlow cluster with a parameter server. Its chief hands the work out and ends; the workers and
the parameter server serve until somebody ends them."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

STEPS = 12


def serve(resolver):
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id,
        protocol=resolver.rpc_layer, start=True)
    print("serves at", server.target, flush=True)
    server.join()


def coordinate(resolver):
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        total = tf.Variable(0.0)

    @tf.function
    def add(number):
        total.assign_add(number)
        return number

    parts = [coordinator.schedule(add, args=(tf.constant(float(i)),)) for i in range(STEPS)]
    coordinator.join()
    print("sum %.1f of %d, kept by %s" % (total.numpy(), len(coordinator.fetch(parts)),
                                          total.device), flush=True)


def main():
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type == "chief":
        coordinate(resolver)
    else:
        serve(resolver)


main()
