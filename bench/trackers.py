"""Aim and MLflow over the same points as ours: how long their servers take for what our page asks."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
import urllib.parse

from bench import fill_tracker

FILL = fill_tracker.__file__
PATIENCE = 300  # Seconds.
LIMIT, POINTS = 100, 600  # Rows of a table, and points of a curve.


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class _Server:
    """A program that answers HTTP on `port`; ends with the context."""

    def __init__(self, words, directory, port):
        self.port = port
        with open(os.path.join(directory, "server.log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(words, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def __enter__(self):
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.ask("GET", "/")
                return self
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    self.__exit__()
                    raise
                time.sleep(0.1)

    def __exit__(self, *error):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ask(self, method, path, body=None):
        """Milliseconds, and the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        began = time.monotonic()
        connection.request(method, path, body=body and json.dumps(body), headers={"Content-Type": "application/json"} if body else {})
        response = connection.getresponse()
        answer = response.read()
        took = 1000 * (time.monotonic() - began)
        connection.close()
        if response.status != 200:
            raise RuntimeError("%s: %s" % (path, answer.decode(errors="replace")[:500]))
        return took, answer


def _aim(program, directory):
    port = _free_port()
    with _Server([program, "up", "--repo", directory, "--host", "127.0.0.1", "--port", str(port)], directory, port) as server:
        table = "/api/runs/search/run/?" + urllib.parse.urlencode({"q": "", "limit": LIMIT})
        curves = "/api/runs/search/metric/?" + urllib.parse.urlencode({"q": "metric.name == '%s'" % fill_tracker.TAG, "p": POINTS})
        server.ask("GET", table)  # The first answer makes its caches.
        return server.ask("GET", table)[0], server.ask("GET", curves)[0]


def _mlflow(program, directory):
    port = _free_port()
    with _Server([program, "server", "--backend-store-uri", "sqlite:///%s/mlflow.db" % directory, "--artifacts-destination", directory,
                  "--host", "127.0.0.1", "--port", str(port), "--workers", "1", "--gunicorn-opts", "--limit-request-line 8190"], directory, port) as server:
        question = {"experiment_ids": ["1"], "max_results": LIMIT, "order_by": ["metrics.`%s` DESC" % fill_tracker.TAG]}
        server.ask("POST", "/api/2.0/mlflow/runs/search", question)
        took, answer = server.ask("POST", "/api/2.0/mlflow/runs/search", question)
        # (It takes no more than 100 runs in one question.)
        runs = [("run_ids", run["info"]["run_id"]) for run in json.loads(answer)["runs"]]
        words = urllib.parse.urlencode(runs + [("metric_key", fill_tracker.TAG), ("max_results", POINTS)])
        return took, server.ask("GET", "/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval?" + words)[0]


def measure(name, directory, runs, points):
    """(table, curves) in milliseconds of the tracker, which gets `points` ("step,wall_time,value" lines) as so many
    runs; None if it is not installed (tools/peers NAME)."""
    peers = os.environ.get("YARD_PEERS", os.path.expanduser("~/.cache/trainyard/peers"))
    programs = os.path.join(peers, name, "bin")
    if not os.path.exists(os.path.join(programs, name)):
        return None
    os.makedirs(directory)
    subprocess.run([os.path.join(programs, "python"), FILL, name, directory, str(runs)], input=points, text=True, cwd=directory,
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {"aim": _aim, "mlflow": _mlflow}[name](os.path.join(programs, name), directory)
