#!/usr/bin/python3
"""Linear regression on several workers, which average their gradients over TCP. Standard library only.

Every rank has a share of the points. In each step it sends the gradient over its share to rank 0, which
adds them up in the order of the ranks and sends the average back, so that all ranks have the same weights
at all times. Rank 0 reports, saves a checkpoint every few steps, and tells the others when to stop.

All the numbers are the same in every run of as many workers, so a run that was interrupted ends with
exactly the weights of one that was not.
"""

import argparse
import json
import os
import random
import signal
import socket
import struct
import sys
import time

# Installed, or on PYTHONPATH, the module would be found without this.
for path in (os.path.abspath, os.path.realpath):
    sys.path.append(os.path.join(os.path.dirname(path(__file__)), "../../sdk/python"))
import yard

TRUTH = [2.0, -3.0, 0.5, 1.5]  # The weights that the points were made with.
POINTS = 300
RATE, MOMENTUM = 0.1, 0.8


class Group:
    """The connections of rank 0 to each other rank, or of another rank to rank 0."""

    def __init__(self, rank, size, barrier):
        self.rank, self.size, self._peers = rank, size, []
        if size == 1:
            return
        address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        if rank == 0:
            listener = socket.create_server(address, backlog=size)
            barrier("listening")
            peers = {}
            while len(peers) < size - 1:
                peer = listener.accept()[0]
                peers[struct.unpack("!i", self._receive(peer, 4))[0]] = peer
            self._peers = [peers[other] for other in sorted(peers)]
        else:
            barrier("listening")
            self._peers = [socket.create_connection(address)]
            self._peers[0].sendall(struct.pack("!i", rank))

    @staticmethod
    def _receive(peer, size):
        data = b""
        while len(data) < size:
            more = peer.recv(size - len(data))
            if not more:
                sys.exit("another rank has gone")
            data += more
        return data

    def average(self, numbers):
        """The mean of each number over all ranks, the same on every rank."""
        form = "!%dd" % len(numbers)
        if self.rank > 0:
            self._peers[0].sendall(struct.pack(form, *numbers))
            return list(struct.unpack(form, self._receive(self._peers[0], 8 * len(numbers))))
        total = list(numbers)
        for peer in self._peers:
            others = struct.unpack(form, self._receive(peer, 8 * len(numbers)))
            total = [a + b for a, b in zip(total, others)]
        mean = [number / self.size for number in total]
        for peer in self._peers:
            peer.sendall(struct.pack(form, *mean))
        return mean

    def agree(self, go_on):
        """The decision of rank 0, for all ranks."""
        if self.rank > 0:
            return self._receive(self._peers[0], 1) == b"1"
        for peer in self._peers:
            peer.sendall(b"1" if go_on else b"0")
        return go_on


def share(rank, size):
    """The points of one rank: (features, target)."""
    source = random.Random(1)
    points = []
    for _ in range(POINTS):
        x = [source.uniform(-1, 1) for _ in TRUTH]
        points.append((x, sum(a * b for a, b in zip(x, TRUTH)) + source.gauss(0, 0.1)))
    return points[rank::size]


def gradient(weights, points):
    """The gradient of the mean squared error, and behind it the error itself."""
    slope, loss = [0.0] * len(weights), 0.0
    for x, target in points:
        error = sum(a * b for a, b in zip(x, weights)) - target
        loss += error * error / len(points)
        slope = [s + 2 * error * feature / len(points) for s, feature in zip(slope, x)]
    return slope + [loss]


def load(directory):
    if directory is None:
        return {"step": 0, "weights": [0.0] * len(TRUTH), "velocity": [0.0] * len(TRUTH)}
    with open(os.path.join(directory, "state.json")) as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--save_every", type=int, default=5)
    parser.add_argument("--min_step_ms", type=float, default=0, help="slow down to this")
    args = parser.parse_args()
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    first_attempt = os.environ.get("YARD_ATTEMPT") == "1"

    with yard.Reporter() as reporter:
        state = load(reporter.checkpoint)
        kill = reporter.config.get("kill")  # {"rank": 1, "step": 12}: dies there, the first time.
        points = share(rank, size)
        group = Group(rank, size, reporter.barrier)
        print("rank %d of %d: from step %d" % (rank, size, state["step"]), flush=True)
        go_on = True
        while go_on and state["step"] < args.steps:
            begin = time.monotonic()
            state["step"] += 1
            if first_attempt and kill == {"rank": rank, "step": state["step"]}:
                os.kill(os.getpid(), signal.SIGKILL)
            *slope, loss = group.average(gradient(state["weights"], points))
            state["velocity"] = [MOMENTUM * v - RATE * s for v, s in zip(state["velocity"], slope)]
            state["weights"] = [w + v for w, v in zip(state["weights"], state["velocity"])]
            time.sleep(max(0.0, begin + args.min_step_ms / 1000 - time.monotonic()))
            if rank == 0:
                is_last = state["step"] == args.steps
                go_on = bool(reporter.report(loss=loss, step=state["step"]))
                if is_last or not go_on or state["step"] % args.save_every == 0:
                    with reporter.save(state["step"]) as directory:
                        with open(os.path.join(directory, "state.json"), "w") as file:
                            json.dump(state, file)
            go_on = group.agree(go_on)
    print("rank %d of %d: weights %r" % (rank, size, state["weights"]), flush=True)


if __name__ == "__main__":
    main()
