"""Measures the page: what its service answers, and what a browser shows, beside TensorBoard on the same files, and
Aim and MLflow on the same points, as many as their writers take in minutes.

    bazel run //bench:page_benchmark -- [--rounds N] [--runs N] [--points N] [--heap_minutes M] [--json]

A figure is the best of the rounds; its limit stands beside it. --heap_minutes 60 also looks at the page for so long.
"""

import argparse
import contextlib
import http.client
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

from bench import trackers
from tests import browser, event_records

# Beside this file in the runfiles.
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
YARD = os.path.join(ROOT, "tools/yard/yard")
WRITER = os.path.join(ROOT, "bench/write_event_files")
SDK = os.path.join(ROOT, "sdk/python")
PATIENCE = 300  # Seconds.
TABLE_RUNS, LIVE_RUNS, STREAMS, COLUMNS, ASKS = 10_000, 20, 200, 600, 100
TURNS = 5
TRACKER_RUNS, TRACKER_POINTS = 100, 1000
TAG = "train/loss"
# name: (limit, whether less is better).
LIMITS = {
    "/runs of all runs, sorted by a metric, p95, ms": (10, True),
    "/series of all runs x 600, p95, ms": (50, True),
    "first chart of all runs, ms": (1000, True),
    "first chart of all runs in TensorBoard, ms": (None, True),
    "table of 10,000 runs, ms": (500, True),
    "frames a second while it scrolls": (60, False),
    "from a report to its pixel, p95, ms": (500, True),
    "memory of the service with 200 streams, MB": (50, True),
    "rate of a trainer that is looked at, % of the rate alone": (97, False),
    "growth of the heap from minute 10 on, MB": (5, True),
    **{"%s of %d runs of %d points, %s, ms" % (what, TRACKER_RUNS, TRACKER_POINTS, whose): (None, True)
       for what in ("table", "curves") for whose in ("ours", "aim", "mlflow")},
    "every point into numpy by yard.runs(), % of the time of yard export": (200, True),
}
READ = """
import yard
print(sum(len(run.scalars(tag).values) for run in yard.runs() for tag in run.tags()))
"""
# Reports as fast as it may for some seconds, or a few times a second; both until it is stopped.
REPORTS = r"""
import json, os, sys, time
channel = os.fdopen(3, "r+b", buffering=0)
def report(value):
    channel.write(json.dumps({"t": "report", "m": {"%s": value}}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"): answer += channel.read(1)
pause, seconds, notes = float(sys.argv[1]), float(sys.argv[2]), open(sys.argv[3], "w", buffering=1)
began, step = time.time(), 0
while time.time() < began + seconds:
    print(step, time.time(), file=notes)
    report(step)
    step += 1
    time.sleep(pause)
""" % TAG


class Socket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


class Yard:
    """One over a directory of runs; ends with the context."""

    def __init__(self, logdir):
        self.directory = tempfile.mkdtemp(prefix="page-", dir="/tmp")
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": self.directory, "LANG": "C.UTF-8", "TMPDIR": self.directory,
            "XDG_RUNTIME_DIR": self.directory + "/run", "YARD_STATE": self.directory + "/state",
            "RUNFILES_DIR": os.environ.get("RUNFILES_DIR", os.path.dirname(ROOT))}
        self.yard("up", "--logdir", logdir)
        self.yard("call", "datamanager", "Reload", "{}", "--timeout", str(PATIENCE))
        self.connection = Socket(self.socket_path())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.yard("down")
        shutil.rmtree(self.directory)

    def yard(self, *words):
        return subprocess.run([YARD, *words], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, check=True, timeout=PATIENCE, text=True).stdout

    def socket_path(self):
        return os.path.join(self.directory, "run", "yard", "http")

    def ask(self, method, path, body=None):
        """Milliseconds, and the answer."""
        began = time.monotonic()
        self.connection.request(method, "/api/v1/" + path, body=body and json.dumps(body),
                                headers={"Content-Type": "application/json"} if body else {})
        response = self.connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(answer.decode())
        return 1000 * (time.monotonic() - began), answer

    def address(self, path="/"):
        address = json.loads(self.yard("ui", "--json"))["address"]
        base, _, key = address.partition("#")
        return base.rstrip("/") + path + "#" + key

    def pid_of(self, service):
        return next(row["pid"] for row in map(json.loads, self.yard("status", "--json").splitlines())
                    if row.get("service") == service)


def p95(values):
    """The smallest of them that at least 95 % of them do not exceed."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


def megabytes_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1000


def write_runs(logdir, runs, points):
    """As many runs of as many points; a file is there once, under as many names."""
    subprocess.run([WRITER, logdir, "old", "1", str(points), "1", "7", str(points // 3)], check=True, stdout=subprocess.DEVNULL)
    (first,) = pathlib.Path(logdir).iterdir()
    for number in range(1, runs):
        copy = pathlib.Path(logdir, "run_%05d" % number)
        copy.mkdir()
        for file in first.iterdir():
            os.link(file, copy / file.name)


def await_idle(yard):
    """After a scan the data manager writes what it has read into its index, for minutes with many points."""
    def worked():
        with open("/proc/%d/stat" % yard.pid_of("datamanager"), encoding="ascii") as file:
            return sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13])
    deadline, before = time.monotonic() + PATIENCE, -1
    while worked() != before and time.monotonic() < deadline:
        before = worked()
        time.sleep(1)


def time_answers(yard, tag, figures):
    await_idle(yard)
    columns = "cols=%s,min:%s,max:%s,config.a,config.b,config.c,config.d,config.e" % (tag, tag, tag)
    # (The service keeps a table for a moment; each of these is another one.)
    took = [yard.ask("GET", "runs?limit=100&sort=%s%s&%s,config.n%d" % ("-" * (i % 2), tag, columns, i))[0] for i in range(ASKS)]
    figures["/runs of all runs, sorted by a metric, p95, ms"] = p95(took)
    took = [yard.ask("POST", "series", {"q": "", "tag": tag, "n": COLUMNS})[0] for _ in range(ASKS)]
    figures["/series of all runs x 600, p95, ms"] = p95(took)


def compare_trackers(directory, tag, figures):
    """The same points in our files, in Aim and in MLflow; each is asked for a table and for the curves of all runs."""
    logdir = os.path.join(directory, "few")
    write_runs(logdir, TRACKER_RUNS, TRACKER_POINTS)

    def note(whose, took):
        for what, milliseconds in zip(("table", "curves"), took):
            figures["%s of %d runs of %d points, %s, ms" % (what, TRACKER_RUNS, TRACKER_POINTS, whose)] = milliseconds
    with Yard(logdir) as yard:
        asked = lambda: (yard.ask("GET", "runs?limit=%d&sort=-%s&cols=%s" % (trackers.LIMIT, tag, tag))[0],
                         yard.ask("POST", "series", {"q": "", "tag": tag, "n": COLUMNS})[0])
        asked()
        time.sleep(1)  # The table is kept for a moment.
        note("ours", asked())
        rows = yard.yard("export", sorted(os.listdir(logdir))[0], "-m", tag).splitlines()
    head = rows[0].split(",")
    places = [head.index(name) for name in ("step", "wall_time", "value")]
    points = "".join(",".join(row.split(",")[place] for place in places) + "\n" for row in rows[1:])
    for name in ("aim", "mlflow"):
        took = trackers.measure(name, os.path.join(directory, name), TRACKER_RUNS, points)
        if took is None:
            print("not installed: %s (tools/peers %s)" % (name, name))
        else:
            note(name, took)


def hold_streams(yard, figures):
    connections = [Socket(yard.socket_path()) for _ in range(STREAMS)]
    for connection in connections:
        connection.request("GET", "/api/v1/events?topic=yard")
        connection.getresponse()
    yard.ask("GET", "yard")
    figures["memory of the service with 200 streams, MB"] = megabytes_of(yard.pid_of("web"))
    for connection in connections:
        connection.close()


# Milliseconds from the beginning of the page until a chart of that tag has ink.
_FIRST_INK = """new Promise(done => { const look = () => { const canvas = document.querySelector('figure canvas');
    if (canvas && canvas.width > 300 && document.querySelector('.legend .faint')) {
      const ink = canvas.getContext('2d').getImageData(60, 8, canvas.width - 72, canvas.height - 32).data;
      if (ink.some((value, i) => i % 4 === 3 && value > 0)) return done(performance.now()); }
    requestAnimationFrame(look); }; look(); })"""


def show_first_chart(yard, page, tag, figures):
    page.open(yard.address("/runs?cloud=1&pin=%s" % tag.replace("/", "%2F")))
    page.wait("document.querySelector('figure')")
    figures["first chart of all runs, ms"] = page.evaluate(_FIRST_INK)


def show_in_tensorboard(logdir, runs, page, figures):
    peers = os.environ.get("YARD_PEERS", os.path.expanduser("~/.cache/trainyard/peers"))
    program = os.path.join(peers, "tensorboard", "bin", "tensorboard")
    if not os.path.exists(program):
        return
    log = os.path.join(os.path.dirname(logdir), "tensorboard.log")
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen([program, "--logdir", logdir, "--port", "0", "--host", "127.0.0.1"], stdout=out, stderr=out,
                                   stdin=subprocess.DEVNULL)
    try:
        address, deadline = None, time.monotonic() + PATIENCE
        while address is None and time.monotonic() < deadline:
            with open(log, encoding="utf-8") as text:
                address = re.search(r"http://127.0.0.1:\d+/", text.read())
            time.sleep(0.02)
        page.open(address[0])
        # Until its data server has read the files the page has less to draw.
        page.wait("fetch('data/runs').then(answer => answer.json()).then(all => all.length >= %d)" % runs)
        page.open(address[0] + "?darkMode=false#timeseries")
        page.wait("document.querySelector('line-chart canvas, line-chart svg path')")
        figures["first chart of all runs in TensorBoard, ms"] = page.evaluate("performance.now()")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def scroll_table(yard, page, figures):
    page.open(yard.address("/runs"))
    page.wait("document.querySelector('.table')")
    figures["table of 10,000 runs, ms"] = page.evaluate(
        "new Promise(done => { const look = () => document.querySelector('[data-place] .run a') "
        "? requestAnimationFrame(() => done(performance.now())) : requestAnimationFrame(look); look(); })")
    frames = page.evaluate("""new Promise(done => { const table = document.querySelector('.table'), times = [];
        const turn = now => { times.push(now); table.scrollTop += 400; times.length < 121 ? requestAnimationFrame(turn) : done(times); };
        requestAnimationFrame(turn); })""")
    # (The browser says tenths of milliseconds.)
    figures["frames a second while it scrolls"] = round(1000 / statistics.median(b - a for a, b in zip(frames, frames[1:])))


# Notes when each step is shown.
_NOTE_STEPS = """(() => { globalThis.shown = {}; const look = () => { const value = document.querySelector('.legend .value');
    if (value) { const step = value.textContent.replaceAll(',', ''); if (!(step in shown)) shown[step] = Date.now() / 1000; }
    requestAnimationFrame(look); }; look(); })()"""


def fresh(name):
    """A name that no round before has given to a run."""
    return "%s-%s" % (name, os.urandom(3).hex())


def follow_reports(yard, page, seconds, figures):
    name = fresh("reports")
    notes = os.path.join(yard.directory, "notes")
    yard.yard("run", "--detach", "--name", name, "--", "python3", "-c", REPORTS, "0.3", str(seconds), notes)
    page.open(yard.address("/run/" + name))
    page.wait("document.querySelector('.legend .value')")
    page.evaluate(_NOTE_STEPS)
    yard.yard("wait", name)
    shown = page.evaluate("shown")
    with open(notes, encoding="ascii") as file:
        said = dict(line.split() for line in file)
    took = [1000 * (when - float(said[step])) for step, when in shown.items() if step in said]
    figures["from a report to its pixel, p95, ms"] = p95(took[1:])  # The first one was there before.


def compare_rates(yard, page, seconds, figures):
    """One program, looked at and not in turns: how fast it is does not depend on what loads, or on what ran before."""
    name = fresh("rates")
    notes = os.path.join(yard.directory, "rates")
    yard.yard("run", "--detach", "--name", name, "--", "python3", "-c", REPORTS, "0", str(PATIENCE), notes)

    def lines():
        with open(notes, "rb") as file:
            return file.read().count(b"\n")

    def rate(is_watched):
        page.open(yard.address("/run/" + name) if is_watched else "about:blank")
        if is_watched:
            page.wait("document.querySelector('.legend .value')")
        time.sleep(1)
        before, began = lines(), time.monotonic()
        time.sleep(seconds / (2 * TURNS))
        return (lines() - before) / (time.monotonic() - began)
    ratios = []
    for _ in range(TURNS):
        alone = rate(False)
        ratios.append(rate(True) / alone)
    yard.yard("stop", name)
    figures["rate of a trainer that is looked at, % of the rate alone"] = 100 * statistics.median(ratios)


def watch_heap(yard, page, minutes, figures):
    names = [fresh("live") for _ in range(LIVE_RUNS)]
    for name in names:
        yard.yard("run", "--detach", "--name", name, "--", "python3", "-c", REPORTS, "0.5", str(60 * minutes),
                  os.path.join(yard.directory, name))
    page.open(yard.address("/runs?sel=" + ",".join(names)))
    sizes = []
    for _ in range(int(minutes)):
        time.sleep(60)
        sizes.append(page.heap() / 1e6)
    figures["growth of the heap from minute 10 on, MB"] = sizes[-1] - sizes[min(9, len(sizes) - 1)]
    for name in names:
        yard.yard("stop", name)


def read_points(logdir, runs, steps, figures):
    with Yard(logdir) as yard:
        began = time.monotonic()
        with open(os.devnull, "w") as nowhere:
            names = ["run_%03d" % number for number in range(runs)]
            subprocess.run([YARD, "export", *names], cwd=yard.directory, env=yard.environment, stdout=nowhere, check=True, timeout=PATIENCE)
        exported = time.monotonic() - began
        began = time.monotonic()
        read = subprocess.run(["/usr/bin/python3", "-c", READ], env={**yard.environment, "PYTHONPATH": SDK}, stdout=subprocess.PIPE,
                              check=True, timeout=PATIENCE, text=True).stdout
        figures["every point into numpy by yard.runs(), % of the time of yard export"] = (
            100 * (time.monotonic() - began) / exported)
        assert int(read) == runs * steps * 5, read


def measure(flags, logdir, many, opened):
    figures = {}
    read_points(os.path.join(os.path.dirname(logdir), "points"), 3, flags.points, figures)
    with Yard(logdir) as yard:
        time_answers(yard, TAG, figures)
        hold_streams(yard, figures)
        if opened:
            show_first_chart(yard, opened.page(), TAG, figures)
            follow_reports(yard, opened.page(), flags.seconds, figures)
            compare_rates(yard, opened.page(), flags.seconds, figures)
            if flags.heap_minutes:
                watch_heap(yard, opened.page(), flags.heap_minutes, figures)
    if opened:
        show_in_tensorboard(logdir, flags.runs, opened.page(), figures)
        with Yard(many) as yard:
            scroll_table(yard, opened.page(), figures)
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--points", type=int, default=1_000_000, help="of each run; the files of all runs are one on the disk")
    parser.add_argument("--table", type=int, default=TABLE_RUNS, help="runs of the table that is scrolled")
    parser.add_argument("--seconds", type=float, default=20, help="of each program that reports")
    parser.add_argument("--heap_minutes", type=float, default=0)
    parser.add_argument("--no_trackers", action="store_true", help="without Aim and MLflow")
    parser.add_argument("--json", action="store_true")
    flags = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="page-benchmark-")
    best = {}
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory)
        logdir, many = os.path.join(directory, "runs"), os.path.join(directory, "many")
        write_runs(logdir, flags.runs, flags.points)
        subprocess.run([WRITER, os.path.join(directory, "points"), "old", "3", str(flags.points), "5"], check=True,
                       stdout=subprocess.DEVNULL)
        for number in range(flags.table):
            os.makedirs(os.path.join(many, "run_%05d" % number))
            with open(os.path.join(many, "run_%05d" % number, "events.out.tfevents.1.a"), "wb") as file:
                file.write(event_records.points(0, 10))
        opened = None
        if os.path.exists(browser.PROGRAM):
            opened = browser.Browser()
            stack.callback(opened.close)
        if not flags.no_trackers:
            compare_trackers(directory, TAG, best)
        for _ in range(flags.rounds):
            for name, value in measure(flags, logdir, many, opened).items():
                choose = min if LIMITS[name][1] else max
                best[name] = value if name not in best else choose(best[name], value)
    if flags.json:
        print(json.dumps({"figures": best}))
        return
    print("%d runs of %d points, best of %d rounds" % (flags.runs, flags.points, flags.rounds))
    print("%-60s %10s %10s" % ("", "measured", "limit"))
    for name, (limit, is_less) in LIMITS.items():
        if name in best:
            sign = "" if limit is None else "%s %g" % ("<=" if is_less else ">=", limit)
            print("%-60s %10.1f %10s" % (name, best[name], sign))
    if opened is None:
        print("not installed: chromium (tools/setup); nothing that a browser shows was measured")


if __name__ == "__main__":
    main()
