"""Measures a yard whose nodes all come through its gate: real yard-node processes on this machine, each with so many ranks.

    bazel run //bench:scale_benchmark -- [--nodes N] [--ranks N] [--seconds S] [--steps N,N,...] [--json]
    bazel run //bench:scale_benchmark -- --runs RUNS:POINTS,...

A rank is a trial with a real shim, whose program (reporter.cc) does nothing but report once a second. In the middle of
the seconds that are measured the gate is killed. Every report is counted at the end, and one too few or too many is an error; a
limit that is missed is shown. --steps measures these numbers of nodes, one after the other, to see what grows. --runs measures instead a
data manager that reads so many runs, each with 5 tags of so many points.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

# Beside this file in the runfiles.
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
YARD = os.path.join(ROOT, "tools/yard/yard")
NODE = os.path.join(ROOT, "launcher/node/yard-node")
SHIM = os.path.join(ROOT, "launcher/yard-shim")
WRITER = os.path.join(ROOT, "bench/write_event_files")
REPORTER = os.path.join(ROOT, "bench/reporter")
PATIENCE = 600  # Seconds.
TAGS = 5  # Each run that is read has so many.
TICKS = os.sysconf("SC_CLK_TCK")
SERVICES = ("gate", "trainer", "launcher", "registry", "datamanager")
# name: (limit, whether less is better).
LIMITS = {
    "connect all nodes, s": (None, True),
    "start all ranks, s": (None, True),
    "reports over a killed gate, % of ideal": (98, False),
    "a report's answer, p50, ms": (None, True),
    "a report's answer, p99, ms": (None, True),
    "longest answer (the gate was killed), ms": (None, True),
    "memory of the gate, MB": (100, True),
    "memory of the launcher, MB": (None, True),
    "memory of the trainer, MB": (None, True),
    "memory of one node (stub and worker), MB": (None, True),
    "CPU of the gate, ms a report": (None, True),
    "CPU of the trainer, ms a report": (None, True),
    "CPU of the launcher, ms a second": (None, True),
    "CPU of a node, ms a report": (None, True),
}
SWEEP = """
name: ranks
method: random
metric: {name: loss}
run_cap: %(ranks)d
parallel: %(ranks)d
seed: 7
parameters: {x: {min: 0.0, max: 1.0}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_true(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("scale_benchmark: %s within %d s" % (what() if callable(what) else what, PATIENCE))
        time.sleep(0.05)


def memory(pid):
    """Resident bytes."""
    for line in pathlib.Path("/proc/%d/status" % pid).read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    return 0


def cpu(pid):
    """Seconds."""
    try:
        words = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / TICKS


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


class Yard:
    """A yard of its own with nodes that come through its gate, until the block ends."""

    def __init__(self, nodes=0, ranks=0):
        self.count, self.ranks = nodes, ranks
        self.nodes = []

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="sc-", dir="/tmp")
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": self.directory, "LANG": "C.UTF-8", "TMPDIR": self.directory,
            "XDG_RUNTIME_DIR": self.directory + "/run", "YARD_STATE": self.directory + "/state",
            "RUNFILES_DIR": os.path.dirname(ROOT),
        }
        self.yard("up", "--gate_port", str(free_port()), "--logdir", self.directory + "/runs")
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            for node in self.nodes:
                node.wait(60)
        subprocess.run([YARD, "down"], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def yard(self, *words):
        done = subprocess.run([YARD, *words], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            sys.exit("scale_benchmark: yard %s: %s%s" % (" ".join(words), done.stdout, done.stderr))
        return done.stdout

    def call(self, service, method, **request):
        return json.loads(self.yard("call", service, method, json.dumps(request)))

    def counters(self, service):
        stats = self.call(service, "Stats")
        return stats["pid"], {counter["name"]: int(counter.get("value", 0)) for counter in stats["counters"]}

    def pid_of(self, service):
        return self.call(service, "Stats")["pid"]

    def connect(self):
        """Seconds from the first node's start to the last one's connection."""
        for i in range(self.count):
            name = "n%d" % i
            self.call("launcher", "SetNode", name=name, pool="lab", slots=self.ranks)
            self.yard("gate", "allow", name, "--node")
        began = time.monotonic()
        with open(self.directory + "/nodes.log", "ab") as log:
            for i in range(self.count):
                self.nodes.append(subprocess.Popen(
                    [NODE, "--folder=%s/n/%d" % (self.directory, i), "--key=%s/n%d.yard-key" % (self.directory, i), "--shim=" + SHIM],
                    env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        states = []

        def connected():
            states[:] = [node["state"] for node in self.call("launcher", "Nodes")["nodes"]]
            return states.count("connected") == self.count

        await_true(connected, lambda: "%d of %d nodes have connected" % (states.count("connected"), self.count))
        return time.monotonic() - began

    def start_ranks(self, reports):
        """Seconds until all of them report."""
        pathlib.Path(self.directory, "notes").mkdir()
        pathlib.Path(self.directory, "ranks.yaml").write_text(SWEEP % {"ranks": self.count * self.ranks})
        began = time.monotonic()
        self.yard("sweep", "ranks.yaml", "--at", "lab", "--detach", "--", REPORTER, self.directory + "/notes", str(reports), "1000000")
        running = [0]

        def all_run():
            running[0] = self.counters("trainer")[1]["relay_connections"]
            return running[0] >= self.count * self.ranks

        await_true(all_run, lambda: "%d of %d ranks run" % (running[0], self.count * self.ranks))
        return time.monotonic() - began

    def processes_of_nodes(self):
        """Stubs and workers."""
        pids = []
        for node in self.nodes:
            pids.append(node.pid)
            for child in pathlib.Path("/proc/%d/task/%d/children" % (node.pid, node.pid)).read_text().split():
                with contextlib.suppress(OSError):
                    if b"--worker=" in pathlib.Path("/proc/%s/cmdline" % child).read_bytes():
                        pids.append(int(child))
        return pids

    def measure(self, seconds):
        """Figures of so many seconds; the gate is killed in their middle."""
        pids = {service: self.pid_of(service) for service in SERVICES}
        nodes = self.processes_of_nodes()
        before = {service: cpu(pid) for service, pid in pids.items()}
        nodes_before = sum(cpu(pid) for pid in nodes)
        began, reports_before = time.monotonic(), self.counters("trainer")[1]["reports"]
        time.sleep(seconds / 2)
        most = memory(pids["gate"])
        gate_cpu = cpu(pids["gate"]) - before["gate"]
        half, half_reports = time.monotonic() - began, self.counters("trainer")[1]["reports"] - reports_before
        os.kill(pids["gate"], signal.SIGKILL)
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        reports = self.counters("trainer")[1]["reports"] - reports_before
        took = time.monotonic() - began
        assert half > 0
        figures = {
            "reports over a killed gate, % of ideal": 100 * reports / (took * self.count * self.ranks),
            "memory of the gate, MB": max(most, memory(self.pid_of("gate"))) / 1e6,
            "CPU of the gate, ms a report": 1000 * gate_cpu / max(half_reports, 1),
            "CPU of the trainer, ms a report": 1000 * (cpu(pids["trainer"]) - before["trainer"]) / max(reports, 1),
            "CPU of the launcher, ms a second": 1000 * (cpu(pids["launcher"]) - before["launcher"]) / took,
            "CPU of a node, ms a report": 1000 * (sum(cpu(pid) for pid in nodes) - nodes_before) / max(reports, 1),
            "memory of one node (stub and worker), MB": sum(memory(pid) for pid in nodes) / 1e6 / self.count,
        }
        for service in ("launcher", "trainer"):
            figures["memory of the %s, MB" % service] = memory(pids[service]) / 1e6
        return figures

    def check(self, reports):
        """Waits for the end of all ranks, and counts what is kept of each: an error if that is not every report, once."""
        ranks, notes = self.count * self.ranks, pathlib.Path(self.directory, "notes")
        await_true(lambda: len(list(notes.iterdir())) == ranks,
                   lambda: "%d of %d ranks have ended" % (len(list(notes.iterdir())), ranks))
        trials = []

        def ended():
            trials[:] = self.call("trainer", "Trials")["trials"]
            return all(trial["state"] == "done" for trial in trials)

        await_true(ended, lambda: "%d trials are done" % sum(trial["state"] == "done" for trial in trials))
        kept = [[json.loads(line)["step"] for line in open(path)] for path in pathlib.Path(self.directory, "runs").glob("*/result.json")]
        wrong = sum(steps != list(range(1, reports + 1)) for steps in kept)
        if len(kept) != ranks or wrong != 0:
            sys.exit("scale_benchmark: %d of %d ranks are kept, %d of them not with each of %d reports once" % (len(kept), ranks, wrong, reports))
        answers = []
        for path in notes.iterdir():
            answers += [int(line) / 1e6 for line in path.read_text().split("\n")[1:] if line]
        return {
            "a report's answer, p50, ms": quantile(answers, 0.5),
            "a report's answer, p99, ms": quantile(answers, 0.99),
            "longest answer (the gate was killed), ms": max(answers),
        }


def measure(nodes, ranks, seconds):
    # (The first ranks report while the last ones are being started.)
    reports = int(seconds + 15 + nodes * ranks * 0.04)
    with Yard(nodes, ranks) as yard:
        figures = {"connect all nodes, s": yard.connect(), "start all ranks, s": yard.start_ranks(reports)}
        figures.update(yard.measure(seconds))
        figures.update(yard.check(reports))
    return figures


def measure_runs(runs, points):
    with Yard() as yard:
        directory = yard.directory + "/runs"
        subprocess.run([WRITER, directory, "old", str(runs), str(points), str(TAGS)], stdout=subprocess.DEVNULL, check=True)
        yard.yard("down")
        began = time.monotonic()
        yard.yard("up", "--logdir", directory)
        status = {}

        def is_read():
            status.update(yard.call("datamanager", "DataStatus"))
            return int(status.get("cached", 0)) == runs

        await_true(is_read, lambda: "all runs are not read: %s" % status)
        took, pid = time.monotonic() - began, yard.pid_of("datamanager")
        return {
            "until every point is in memory, s": took,
            "CPU of the data manager, s": cpu(pid),
            "memory of the data manager, MB": memory(pid) / 1e6,
            "indexes on the disk, MB": int(status.get("index_bytes", 0)) / 1e6,
        }


def show(title, figures):
    print(title)
    for name in figures:
        (limit, less), verdict = LIMITS.get(name, (None, True)), ""
        if limit is not None:
            holds = figures[name] <= limit if less else figures[name] >= limit
            verdict = "   limit %s %g: %s" % ("at most" if less else "at least", limit, "holds" if holds else "MISSED")
        print("  %-45s %10.2f%s" % (name, figures[name], verdict))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--ranks", type=int, default=8, help="of each node")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--steps", default="", help="numbers of nodes, separated by commas, instead of --nodes")
    parser.add_argument("--runs", default="", help="RUNS:POINTS, separated by commas, instead of nodes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for pair in [pair for pair in options.runs.split(",") if pair]:
        runs, points = (int(number) for number in pair.split(":"))
        rows.append({"runs": runs, "points": points * TAGS, "figures": measure_runs(runs, points)})
        if not options.json:
            show("%d runs of %d points" % (runs, points * TAGS), rows[-1]["figures"])
    for nodes in [] if options.runs else [int(step) for step in options.steps.split(",") if step] or [options.nodes]:
        figures = measure(nodes, options.ranks, options.seconds)
        rows.append({"nodes": nodes, "ranks": nodes * options.ranks, "figures": figures})
        if not options.json:
            show("%d nodes, %d ranks" % (nodes, nodes * options.ranks), figures)
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
