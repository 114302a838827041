"""Measures the real TensorBoard over its own data server and over ours, on the same files, in turns.

    bazel run //bench:tensorboard_benchmark -- [--rounds N] [--scale X] [--json]

Each series has one point that is far above all others, in the middle. The counts must be right; the times are only
shown.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from tests import event_records

# Beside this file in the runfiles.
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WRITER = os.path.join(ROOT, "bench/write_event_files")
OURS = os.path.join(ROOT, "datamanager/tensorboard/yard-data-server")
RUNS, STEPS, TAGS = 20, 50_000, 5
SPIKE = 999
APPENDED = 5
LONG = 300  # Seconds.
EACH_LOOK = 0.02  # Interval of the looks while it waits for TensorBoard, which notifies nobody.


def children_of(pid):
    with contextlib.suppress(OSError), open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        children = [int(child) for child in file.read().split()]
        return children + [deeper for child in children for deeper in children_of(child)]
    return []


def kilobytes_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def seconds_of(pid):
    """That a process has been on a processor."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class TensorBoard:
    """A TensorBoard that has just been started; `server` is the data server, empty: its own."""

    def __init__(self, program, logdir, server, directory):
        self.log = os.path.join(directory, "tensorboard.log")
        environment = {**os.environ, "TMPDIR": directory, "TENSORBOARD_DATA_SERVER_BINARY": server}
        self.started = time.monotonic()
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [program, "--logdir", logdir, "--port", "0", "--host", "127.0.0.1"], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, env=environment)
        self.url = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def ask(self, path, **parameters):
        """Nothing while it does not answer."""
        if self.url is None:
            with open(self.log, encoding="utf-8") as log:
                found = re.search(r"http://127.0.0.1:\d+/", log.read())
            if not found:
                return None
            self.url = found[0] + "data/"
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        with contextlib.suppress(OSError), urllib.request.urlopen(self.url + path + query, timeout=LONG) as answer:
            return json.load(answer)
        return None

    def points(self, run, tag):
        return self.ask("plugin/scalars/scalars", run=run, tag=tag) or []

    def await_true(self, condition):
        """Seconds since its start."""
        while not condition():
            if self.process.poll() is not None or time.monotonic() > self.started + LONG:
                with open(self.log, encoding="utf-8") as log:
                    sys.exit("TensorBoard does not get there:\n" + log.read())
            time.sleep(EACH_LOOK)
        return time.monotonic() - self.started

    def is_whole(self, steps):
        tags = self.ask("plugin/scalars/tags") or {}
        return len(tags) == RUNS and all(len(of_run) == TAGS for of_run in tags.values()) and all(
            self.points(run, min(of_run))[-1][1] >= steps - 1 for run, of_run in tags.items())


def append(logdir, step):
    number = struct.pack("<Bf", 0x15, step)
    record = event_records.event(step, event_records.value(b"train/loss", number), 1_700_000_000.0 + step)
    with open(pathlib.Path(logdir, "run_000", "events.out.tfevents.1700000000.host0.1000.0"), "ab") as file:
        file.write(record)


def measure(program, logdir, server, steps, last_step, directory):
    """Figures of one TensorBoard, and the step that was written last."""
    with TensorBoard(program, logdir, server, directory) as tensorboard:
        figures = {"until it is whole, s": tensorboard.await_true(lambda: tensorboard.is_whole(steps))}
        if "GrpcDataProvider" not in tensorboard.ask("environment")["debug"]["data_provider"]:
            sys.exit("TensorBoard has fallen back to its reader in Python")
        tags = tensorboard.ask("plugin/scalars/tags")
        shown = [tensorboard.points(run, tag) for run, of_run in tags.items() for tag in of_run]
        figures["points shown of each series"] = statistics.mean(len(points) for points in shown)
        figures["spikes shown, %"] = 100 * statistics.mean(any(point[2] >= SPIKE for point in points) for points in shown)
        figures["first points shown, %"] = 100 * statistics.mean(points[0][1] == 0 for points in shown)
        servers = children_of(tensorboard.process.pid)
        figures["memory of the server, MB"] = sum(map(kilobytes_of, servers)) / 1000
        figures["time on a processor of the server, s"] = sum(map(seconds_of, servers))
        waits = []
        for _ in range(APPENDED):
            last_step += 1
            began = time.monotonic()
            append(logdir, last_step)
            tensorboard.await_true(lambda: tensorboard.points("run_000", "train/loss")[-1][1] == last_step)
            waits.append(time.monotonic() - began)
        figures["from an append to the answer, ms"] = 1000 * statistics.median(waits)
        if server:
            began = time.monotonic()
            os.kill(servers[1], signal.SIGKILL)
            tensorboard.await_true(lambda: tensorboard.ask("runs"))
            figures["from a kill -9 of the server to the next answer, ms"] = 1000 * (time.monotonic() - began)
    return figures, last_step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of points")
    parser.add_argument("--json", action="store_true")
    flags = parser.parse_args()
    peers = os.environ.get("YARD_PEERS", os.path.expanduser("~/.cache/trainyard/peers"))
    program = os.path.join(peers, "tensorboard", "bin", "tensorboard")
    if not os.path.exists(program):
        print("not installed: tools/peers tensorboard")
        return
    steps = int(STEPS * flags.scale)
    directory = tempfile.mkdtemp(prefix="tensorboard-benchmark-")
    try:
        logdir = os.path.join(directory, "runs")
        subprocess.run([WRITER, logdir, "old", str(RUNS), str(steps), str(TAGS), "7", str(steps // 3)],
                       check=True, stdout=subprocess.DEVNULL)
        last_step, rows = steps - 1, {}
        for _ in range(flags.rounds):
            for name, server in (("ours", OURS), ("theirs", "")):
                figures, last_step = measure(program, logdir, server, steps, last_step, directory)
                for figure, value in figures.items():
                    rows.setdefault(figure, {}).setdefault(name, []).append(value)
    finally:
        shutil.rmtree(directory)
    medians = {figure: {name: statistics.median(values) for name, values in of.items()} for figure, of in rows.items()}
    if flags.json:
        json.dump({"figures": medians}, sys.stdout)
        return
    print("%d points in %d series, medians of %d rounds" % (RUNS * TAGS * steps, RUNS * TAGS, flags.rounds))
    print("%-52s %12s %12s" % ("", "ours", "its own"))
    for figure, of in medians.items():
        print("%-52s %12.1f %12s" % (figure, of["ours"], "%.1f" % of["theirs"] if "theirs" in of else "-"))


if __name__ == "__main__":
    main()
