#!/usr/bin/python3
"""A two-layer network on the handwritten digits, reporting to the yard. Needs NumPy."""

import argparse
import os
import sys
import time

import numpy

_PLACES = [os.path.dirname(path(__file__)) for path in (os.path.abspath, os.path.realpath)]


def _find(name):
    """The path of a file of this source tree, as it lies around this program."""
    for place in _PLACES:
        path = os.path.join(place, name)
        if os.path.exists(path):
            return path
    return name


# Installed, or on PYTHONPATH, the module would be found without this.
sys.path.insert(0, _find("../../sdk/python"))
import yard


def read(path):
    """Pixels (0 to 1) and labels of the training part, then of the test part: every fifth row."""
    table = numpy.loadtxt(path, delimiter=",", dtype=numpy.float32)
    pixels, labels = table[:, :64] / 16, table[:, 64].astype(int)
    test = numpy.arange(len(table)) % 5 == 4
    return (pixels[~test], labels[~test]), (pixels[test], labels[test])


class Network:

    def __init__(self, seed, hidden=32, learning_rate=0.05, momentum=0.9, batch=32):
        self._random = numpy.random.RandomState(seed)
        normal = self._random.standard_normal
        self._parameters = [
            normal((64, hidden)) / 8, numpy.zeros(hidden),
            normal((hidden, 10)) / hidden**0.5, numpy.zeros(10)]
        self._velocities = [numpy.zeros_like(p) for p in self._parameters]
        self._learning_rate, self._momentum, self._batch = learning_rate, momentum, batch

    def _forward(self, pixels):
        w1, b1, w2, b2 = self._parameters
        hidden = numpy.tanh(pixels @ w1 + b1)
        logits = hidden @ w2 + b2
        odds = numpy.exp(logits - logits.max(axis=1, keepdims=True))
        return hidden, odds / odds.sum(axis=1, keepdims=True)

    def train(self, pixels, labels):
        """One pass over the examples in a new order. Returns the mean loss on the way."""
        order = self._random.permutation(len(labels))
        loss = 0.0
        for begin in range(0, len(order), self._batch):
            rows = order[begin:begin + self._batch]
            loss += self._step(pixels[rows], labels[rows])
        return loss / len(order)

    def _step(self, pixels, labels):
        hidden, p = self._forward(pixels)
        loss = -numpy.log(p[numpy.arange(len(labels)), labels] + 1e-12).sum()
        p[numpy.arange(len(labels)), labels] -= 1
        p /= len(labels)
        back = (p @ self._parameters[2].T) * (1 - hidden**2)
        gradients = [pixels.T @ back, back.sum(axis=0), hidden.T @ p, p.sum(axis=0)]
        for parameter, velocity, gradient in zip(self._parameters, self._velocities, gradients):
            velocity *= self._momentum
            velocity -= self._learning_rate * gradient
            parameter += velocity
        return loss

    def accuracy(self, pixels, labels):
        return (self._forward(pixels)[1].argmax(axis=1) == labels).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("YARD_SEED") or 1))
    parser.add_argument("--learning_rate", type=float, default=0.05)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--min_epoch_ms", type=float, default=0, help="slow down to this")
    parser.add_argument("--data", default=_find("digits.csv"))
    args = parser.parse_args()

    train, test = read(args.data)
    network = Network(args.seed % 2**32, args.hidden, args.learning_rate, args.momentum, args.batch)
    accuracy = network.accuracy(*test)
    with yard.Reporter() as reporter:
        for epoch in range(1, args.epochs + 1):
            begin = time.monotonic()
            loss = network.train(*train)
            accuracy = network.accuracy(*test)
            time.sleep(max(0.0, begin + args.min_epoch_ms / 1000 - time.monotonic()))
            reply = reporter.report(
                loss=loss, accuracy=accuracy, step=epoch, done=epoch == args.epochs)
            if not reply:
                print("told to stop: " + reply.reason)
                break
    print("accuracy %.4f" % accuracy)


if __name__ == "__main__":
    main()
