"""A gang that adds numbers: in each step rank 0 adds its own number and that of each other rank, and reports the sum. It saves every fifth step.

    sums.py STEPS
"""

import json
import os
import pathlib
import socket
import sys
import time

steps = int(sys.argv[1])
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
master = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])


def say(channel, message):
    channel.write(json.dumps(message).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        part = channel.read(1)
        if not part:
            sys.exit("the channel has ended")
        answer += part
    answer = json.loads(answer)
    if answer["t"] == "error":
        sys.exit("refused: %s" % answer)
    return answer


def begin(step, total):
    """The state to go on with: of the checkpoint, if there is one."""
    path = os.environ.get("YARD_CHECKPOINT")
    if path:
        kept = json.loads(pathlib.Path(path, "state").read_text())
        step, total = kept["step"], kept["sum"]
    return step, total


def main_rank():
    channel = os.fdopen(3, "r+b", buffering=0)
    step, total = begin(0, 0)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", master[1]))
        listener.listen(size)
        others = [listener.accept()[0] for _ in range(size - 1)]
    files = [other.makefile("rw") for other in others]
    while step < steps:
        step += 1
        total += step
        for file in files:
            file.write("%d\n" % step)
            file.flush()
            total += int(file.readline())
        say(channel, {"t": "report", "step": step, "m": {"step": step, "sum": total, "attempt": int(os.environ["YARD_ATTEMPT"])}})
        if step % 5 == 0:
            place = say(channel, {"t": "ckpt_begin", "step": step})
            pathlib.Path(place["path"], "state").write_text(json.dumps({"step": step, "sum": total}))
            say(channel, {"t": "ckpt_end", "path": place["path"]})
        time.sleep(0.05)
    for file in files:
        file.write("0\n")
        file.flush()


def other_rank():
    for _ in range(1200):
        try:
            connection = socket.create_connection(master, timeout=5)
            break
        except OSError:
            time.sleep(0.05)
    connection.settimeout(None)
    file = connection.makefile("rw")
    for line in file:
        if int(line) == 0:
            return
        file.write("%d\n" % (int(line) + 1))
        file.flush()
    sys.exit("rank 0 has ended")


if rank == 0:
    main_rank()
else:
    other_rank()
