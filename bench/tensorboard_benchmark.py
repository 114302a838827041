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

from tests import event_records, grpc_calls

# Beside this file in the runfiles.
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WRITER = os.path.join(ROOT, "bench/write_event_files")
CALLERS = os.path.join(ROOT, "bench/callers_at_once")
OURS = os.path.join(ROOT, "datamanager/tensorboard/yard-data-server")
RUNS, STEPS, TAGS = 20, 50_000, 5
SPIKE = 999
APPENDED, APPENDED_MANY, APPENDED_OURS = 5, 2, 100  # Its own server takes five seconds for each.
STARTS = 9
AT_ONCE, CALLS, LEAST_ANSWER = 64, 10_000, 10_000
MANY_RUNS, MANY_STEPS, WATCHED = 3000, 1200, 30
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


def point(step):
    """A record of it."""
    number = struct.pack("<Bf", 0x15, step)
    return event_records.event(step, event_records.value(b"train/loss", number), 1_700_000_000.0 + step)


def append(logdir, step):
    with open(pathlib.Path(logdir, "run_000", "events.out.tfevents.1700000000.host0.1000.0"), "ab") as file:
        file.write(point(step))


def measure_runs(tensorboard, logdir, is_ours):
    """Figures of a run that comes, whose file is replaced by a longer one (which is noticed by ours alone), and that goes."""
    path = pathlib.Path(logdir, "new", "events.out.tfevents.1700000000.host")

    def milliseconds(change, condition):
        began = time.monotonic()
        change()
        tensorboard.await_true(condition)
        return 1000 * (time.monotonic() - began)

    def come():
        path.parent.mkdir()
        path.write_bytes(point(1))

    def replace():
        path.with_name("copy").write_bytes(point(2) + point(3))
        path.with_name("copy").rename(path)

    figures = {"from a new run to the answer, ms (limit 500)": milliseconds(come, lambda: "new" in tensorboard.ask("runs"))}
    if is_ours:
        figures["from a replaced file to the answer, ms (limit 500)"] = milliseconds(
            replace, lambda: [shown[1] for shown in tensorboard.points("new", "train/loss")] == [2, 3])
    figures["from the removal of a run to the answer, ms (limit 500)"] = milliseconds(
        lambda: shutil.rmtree(path.parent), lambda: "new" not in tensorboard.ask("runs"))
    return figures


def measure(program, logdir, server, steps, last_step, directory):
    """Figures of one TensorBoard, and the step that was written last."""
    with TensorBoard(program, logdir, server, directory) as tensorboard:
        first = tensorboard.await_true(lambda: tensorboard.ask("logdir"))
        whole = tensorboard.await_true(lambda: tensorboard.is_whole(steps))
        figures = {"until it is whole, s": whole, "from the first answer until then, s (limit 0.5)": whole - first}
        if "GrpcDataProvider" not in tensorboard.ask("environment")["debug"]["data_provider"]:
            sys.exit("TensorBoard has fallen back to its reader in Python")
        tags = tensorboard.ask("plugin/scalars/tags")
        shown = [tensorboard.points(run, tag) for run, of_run in tags.items() for tag in of_run]
        figures["points shown of each series"] = statistics.mean(len(points) for points in shown)
        figures["spikes shown, %"] = 100 * statistics.mean(any(point[2] >= SPIKE for point in points) for points in shown)
        figures["first points shown, %"] = 100 * statistics.mean(points[0][1] == 0 for points in shown)
        servers = children_of(tensorboard.process.pid)
        figures["memory of the server, MB (limit 60)"] = sum(map(kilobytes_of, servers)) / 1000
        figures["time on a processor of the server, s"] = sum(map(seconds_of, servers))
        waits = []
        for _ in range(APPENDED_OURS if server else APPENDED):
            last_step += 1
            began = time.monotonic()
            append(logdir, last_step)
            tensorboard.await_true(lambda: tensorboard.points("run_000", "train/loss")[-1][1] == last_step)
            waits.append(time.monotonic() - began)
        figures["from an append to the answer, ms"] = 1000 * statistics.median(waits)
        figures["the same, 99th percentile, ms (limit 100)"] = 1000 * statistics.quantiles(waits, n=100, method="inclusive")[98]
        figures.update(measure_runs(tensorboard, logdir, bool(server)))
        if server:
            began = time.monotonic()
            os.kill(servers[1], signal.SIGKILL)
            tensorboard.await_true(lambda: tensorboard.ask("runs"))
            figures["from a kill -9 of the server to the next answer, ms"] = 1000 * (time.monotonic() - began)
    return figures, last_step


def text_of(path):
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        return file.read()
    return ""


@contextlib.contextmanager
def data_server(server, logdir, directory):
    """The port of a server without a TensorBoard, the milliseconds from its exec until it was written, and its log."""
    port_file, log = os.path.join(directory, "port"), os.path.join(directory, "server.log")
    with contextlib.suppress(FileNotFoundError):
        os.remove(port_file)
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen([server, "--logdir=" + logdir, "--reload=5", "--port=0", "--port-file=" + port_file,
                                    "--die-after-stdin", "--verbose"], stdin=subprocess.PIPE, stdout=file, stderr=file)
    began = time.monotonic()  # (Popen returns when the program has been executed.)
    while not text_of(port_file).endswith("\n"):
        if process.poll() is not None:
            sys.exit("the data server has ended:\n" + text_of(log))
    until_port = 1000 * (time.monotonic() - began)
    yield int(text_of(port_file)), until_port, log
    process.stdin.close()
    process.wait()


def measure_start(server, logdir, directory):
    """Figures of the first moments of a data server, which TensorBoard waits for."""
    until_port, slowest = [], 0
    for _ in range(STARTS):
        with data_server(server, logdir, directory) as (_, took, _):
            until_port.append(took)
    with data_server(server, logdir, directory) as (port, _, log):
        connection = grpc_calls.Connection(port)
        # (As ours says that it has read all, and as TensorBoard's does.)
        while not re.search("has read|Finished load cycle", text_of(log)):
            began = time.monotonic()
            connection.call("GetExperiment")  # The one call with a deadline.
            slowest = max(slowest, 1000 * (time.monotonic() - began))
        connection.close()
        figures = {"from exec to the port file, ms (limit 10)": statistics.median(until_port),
                   "slowest GetExperiment during the load, ms (limit 50)": slowest}
        figures.update(measure_callers(port))
    return figures


def measure_callers(port):
    """Figures of many callers at once, each of which asks for the points of a series again and again."""
    request = grpc_calls.read_scalars("run_000", "train/loss", 1000)
    done = subprocess.run([CALLERS, str(port), str(AT_ONCE), str(CALLS), grpc_calls.PROVIDER + "ReadScalars", request.hex()],
                          check=True, stdout=subprocess.PIPE, text=True, timeout=LONG)
    median, most, size = done.stdout.split()
    if int(size) < LEAST_ANSWER:
        sys.exit("an answer has %s bytes, which are not 1,000 points" % size)
    return {"%d callers at once, median of a call of 1,000 points, ms (limit 2)" % AT_ONCE: float(median),
            "the same, 99th percentile, ms": float(most)}


def write_many(logdir, runs):
    """So many runs, whose files but the first are one on the disk, under as many names."""
    subprocess.run([WRITER, logdir, "old", "1", str(MANY_STEPS), str(TAGS), "7", str(MANY_STEPS // 3)],
                   check=True, stdout=subprocess.DEVNULL)
    (first,) = pathlib.Path(logdir, "run_000").iterdir()
    shared = pathlib.Path(logdir, "run_00001", first.name)
    for number in range(1, runs):
        path = pathlib.Path(logdir, "run_%05d" % number, first.name)
        path.parent.mkdir()
        if path == shared:
            shutil.copy(first, path)
        else:
            os.link(shared, path)


def measure_many(program, logdir, server, runs, last_step, directory):
    """Figures of a TensorBoard of many runs, and the step that was written last. It looks at each point of a few of the runs."""
    watched = ["run_%05d" % number for number in range(1, runs, max(1, runs // WATCHED))] + ["run_000"]
    waiting = list(watched)
    with TensorBoard(program, logdir, server, directory) as tensorboard:
        def is_whole():
            tags = tensorboard.ask("plugin/scalars/tags") or {}
            if len(tags) < runs or any(len(of_run) < TAGS for of_run in tags.values()):
                return False
            while waiting:
                points = tensorboard.points(waiting[-1], "train/loss")
                if not points or points[-1][1] < MANY_STEPS - 1:
                    return False
                waiting.pop()
            return True

        name = "%d runs: " % runs
        figures = {name + "until they are whole, s": tensorboard.await_true(is_whole)}
        servers = children_of(tensorboard.process.pid)
        figures[name + "memory of the server, MB"] = sum(map(kilobytes_of, servers)) / 1000
        shown = [tensorboard.points(run, "train/loss") for run in watched]
        figures[name + "points shown of each series"] = statistics.mean(len(points) for points in shown)
        figures[name + "spikes shown, %"] = 100 * statistics.mean(any(point[2] >= SPIKE for point in points) for points in shown)
        waits = []
        for _ in range(APPENDED_MANY):
            last_step += 1
            began = time.monotonic()
            append(logdir, last_step)
            tensorboard.await_true(lambda: tensorboard.points("run_000", "train/loss")[-1][1] == last_step)
            waits.append(time.monotonic() - began)
        figures[name + "from an append to the answer, ms"] = 1000 * statistics.median(waits)
    return figures, last_step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of points, and of the many runs")
    parser.add_argument("--json", action="store_true")
    flags = parser.parse_args()
    peers = os.environ.get("YARD_PEERS", os.path.expanduser("~/.cache/trainyard/peers"))
    program = os.path.join(peers, "tensorboard", "bin", "tensorboard")
    if not os.path.exists(program):
        print("not installed: tools/peers tensorboard")
        return
    steps = int(STEPS * flags.scale)
    (theirs,) = pathlib.Path(peers, "tensorboard").glob("lib/*/site-packages/tensorboard_data_server/bin/server")
    directory = tempfile.mkdtemp(prefix="tensorboard-benchmark-")
    try:
        logdir = os.path.join(directory, "runs")
        subprocess.run([WRITER, logdir, "old", str(RUNS), str(steps), str(TAGS), "7", str(steps // 3)],
                       check=True, stdout=subprocess.DEVNULL)
        many, runs = os.path.join(directory, "many"), max(WATCHED, int(MANY_RUNS * flags.scale))
        write_many(many, runs)
        last_step, last_of_many, rows = steps - 1, MANY_STEPS - 1, {}
        for _ in range(flags.rounds):
            for name, server in (("ours", OURS), ("theirs", "")):
                figures = measure_start(server or str(theirs), logdir, directory)
                later, last_step = measure(program, logdir, server, steps, last_step, directory)
                figures.update(later)
                later, last_of_many = measure_many(program, many, server, runs, last_of_many, directory)
                figures.update(later)
                for figure, value in figures.items():
                    rows.setdefault(figure, {}).setdefault(name, []).append(value)
    finally:
        shutil.rmtree(directory)
    medians = {figure: {name: statistics.median(values) for name, values in of.items()} for figure, of in rows.items()}
    if flags.json:
        json.dump({"figures": medians}, sys.stdout)
        return
    print("%d points in %d series, medians of %d rounds" % (RUNS * TAGS * steps, RUNS * TAGS, flags.rounds))
    print("%-66s %10s %10s" % ("", "ours", "its own"))
    for figure, of in medians.items():
        print("%-66s %10.1f %10s" % (figure, of["ours"], "%.1f" % of["theirs"] if "theirs" in of else "-"))


if __name__ == "__main__":
    main()
