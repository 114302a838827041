"""Tests of the tools for whoever operates a yard: metrics, log levels, logs of bounded size."""

import json
import os
import re
import signal
import socket
import urllib.request

from bazel.python import xml_runner
from tests import yard_case

SERVICES = ("registry", "launcher", "datamanager", "trainer", "web")

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\S+)')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"')


def free_ports(count):
    """The first of so many ports in a row that were free a moment ago."""
    for first in range(9464, 30000, 10):
        sockets = []
        try:
            for port in range(first, first + count):
                sockets.append(socket.socket())
                sockets[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise AssertionError("no %d free ports in a row" % count)


def parse(text):
    """{name: (type, {labels: value})} of a page in Prometheus' format 0.0.4; strict."""
    assert text.endswith("\n")
    metrics = {}
    kind = name = None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in metrics, "%s comes twice" % name
        elif line.startswith("# TYPE "):
            _, _, typed, kind = line.split(" ")
            assert typed == name and kind in ("counter", "gauge", "histogram"), line
            metrics[name] = (kind, {})
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            base = re.sub("_(bucket|sum|count)$", "", match[1]) if kind == "histogram" else match[1]
            assert base == name, "%s stands among the samples of %s" % (line, name)
            labels = tuple(sorted(LABEL.findall(match[2]))) + (("", match[1]),)
            assert labels not in metrics[name][1], line
            metrics[name][1][labels] = float(match[3])
    return metrics


class OperateTest(yard_case.YardCase):
    """A yard with metrics and small logs."""

    port = free_ports(1)
    up_words = ("--metrics_port", str(port), "--service", "log_file_mb=1", "--service", "log_files=2",
                "--keep_trials", "2")

    def get(self, path="/metrics"):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, path), timeout=yard_case.LONG) as answer:
            return answer.headers, answer.read().decode()

    def send(self, request):
        with socket.create_connection(("127.0.0.1", self.port), timeout=yard_case.LONG) as connection:
            connection.sendall(request)
            answer = b""
            while part := connection.recv(1 << 16):
                answer += part
        return answer

    def scrape(self):
        return parse(self.get()[1])

    def call(self, service, method, request=None):
        words = [json.dumps(request)] if request is not None else []
        return json.loads(self.yard("call", service, method, *words)[0])

    def test_metrics_of_every_service(self):
        headers, text = self.get()
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        metrics = parse(text)
        for name, (kind, _) in metrics.items():
            self.assertTrue(name.startswith(("trainyard_", "process_")), name)
            self.assertEqual(kind == "counter", name.endswith("_total"), name)
        for service in SERVICES:
            mine = (("service", service), )
            value = lambda name: metrics[name][1][mine + (("", name),)]
            with open("/proc/%d/stat" % self.pid_of(service)) as stat:
                ticks = int(stat.read().rsplit(")", 1)[1].split()[19])
            with open("/proc/stat") as stat:
                boot = int(re.search(r"^btime (\d+)", stat.read(), re.M)[1])
            started = boot + ticks / os.sysconf("SC_CLK_TCK")
            self.assertEqual(value("trainyard_up"), 1)
            self.assertAlmostEqual(value("process_start_time_seconds"), started, delta=60)
            self.assertGreater(value("process_cpu_seconds_total"), 0)
            self.assertGreater(value("process_resident_memory_bytes"), 1 << 20)
            self.assertGreater(value("process_open_fds"), 5)
            self.assertGreater(value("trainyard_process_threads"), 2)
            self.assertEqual(value("trainyard_stop_requested"), 0)
            # The same by the bus.
            self.assertEqual(parse(self.call(service, "Metrics")["text"]).keys() - metrics.keys(), set())
        self.assertEqual(self.get("/healthz")[1], "ok\n")

    def test_trials_and_their_tasks(self):
        name = 'named "so"'
        self.yard("run", "--detach", "--name", name, "--", "sh", "-c",
                  """echo '{"t":"report","m":{"x":1}}' >&3; read -r r <&3; echo reported; exec sleep 1000""")
        self.await_true(lambda: "reported" in self.yard("logs", name)[0], "the program does not report")
        trial = [row for row in map(json.loads, self.yard("ps", "--json")[0].splitlines()) if row["name"] == name][0]
        # (The launcher measures twice a second at most.)
        self.await_true(lambda: "trainyard_trial_memory_bytes" in self.scrape(), "nobody has measured the task")
        metrics = self.scrape()
        escaped = name.replace('"', '\\"')
        of_trial = (("name", escaped), ("trial", trial["id"]))
        of_task = (("job", trial["job"]), ("job_name", ""), ("task", trial["job"] + "/worker-0"))
        value = lambda name, labels: metrics[name][1][tuple(sorted(labels)) + (("", name),)]
        named = [dict(labels)["job_name"] for labels in metrics["trainyard_task_up"][1]]
        of_task = tuple((key, named[0] if key == "job_name" else of) for key, of in of_task)
        for what, labels in (("trial", of_trial), ("task", of_task)):
            self.assertEqual(value("trainyard_%s_up" % what, labels), 1)
            self.assertEqual(value("trainyard_%s_state" % what, labels + (("state", "running"),)), 1)
            self.assertEqual(value("trainyard_%s_restarts_total" % what, labels), 0)
            self.assertGreater(value("trainyard_%s_memory_bytes" % what, labels), 1 << 16)
            self.assertGreaterEqual(value("trainyard_%s_cpu_seconds_total" % what, labels), 0)
        self.assertEqual(value("trainyard_trial_reports_total", of_trial), 1)
        self.assertEqual(value("trainyard_trial_gpus", of_trial), 0)
        self.yard("stop", name)
        metrics = self.scrape()
        self.assertEqual(value("trainyard_trial_up", of_trial), 0)
        self.assertEqual(value("trainyard_trial_state", of_trial + (("state", "stopped"),)), 1)

    def test_a_service_that_does_not_answer_is_down(self):
        pid = self.pid_of("datamanager")
        yard_case.stop_process(pid)
        try:
            metrics = self.scrape()
            up = {dict(labels)["service"]: number for labels, number in metrics["trainyard_up"][1].items()}
            self.assertEqual(up, {service: float(service != "datamanager") for service in SERVICES})
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_a_call_is_counted(self):
        def counted():
            text = self.get()[1]
            found = re.search(
                r'^trainyard_call_duration_seconds_count\{service="trainer",method="Stats"\} (\d+)$', text, re.M)
            return int(found[1]) if found else 0
        before = counted()
        for _ in range(3):
            self.call("trainer", "Stats")
        self.assertGreaterEqual(counted(), before + 3)

    def test_web_pages_of_others_are_refused(self):
        for request, status in [
                (b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
                (b"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n", 400),
                (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n",
                 405),
                (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
                (b"GET /api/v1/yard HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
                (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
                (b"x" * 20000, 431)]:
            answer = self.send(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
                               if request.startswith((b"GET", b"POST")) else request)
            self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status), (request[:60], answer[:60]))
        self.assertEqual(self.get("/healthz")[1], "ok\n")

    def test_only_this_machine_is_served(self):
        with open("/proc/net/tcp") as table:
            listening = [line.split()[1] for line in table if line.split()[3] == "0A"]
        # One port for the whole yard: those behind it are nobody's.
        ours = [address for address in listening if address.split(":")[1] == "%04X" % self.port]
        self.assertEqual([address.split(":")[0] for address in ours], ["0100007F"])
        self.assertEqual(len(self.wanted_ports()), 1)

    def wanted_ports(self):
        with open(os.path.join(self.directory, "state", "wanted")) as wanted:
            return [flag for flags in json.load(wanted)["flags"].values() for flag in flags if "metrics_port" in flag]

    def test_log_level_of_a_running_service(self):
        for service in SERVICES:
            before = self.call(service, "SetLogLevel", {"level": "error"})["before"]
            self.assertEqual(before, "info")
            self.assertEqual(self.call(service, "Stats")["log_level"], "error")
            self.assertEqual(self.call(service, "SetLogLevel", {"level": before})["before"], "error")
        _, why = self.finish(self.start_yard("call", "trainer", "SetLogLevel", '{"level": "loud"}'), 2)
        self.assertIn('there is no log level "loud"; it must be debug, info, warning or error', why)

    def test_logs_do_not_grow_for_ever(self):
        logs = os.path.join(self.directory, "state", "log")
        size = lambda: sum(os.path.getsize(os.path.join(logs, name)) for name in os.listdir(logs)
                           if name.startswith("trainer.log"))
        before = size()
        self.call("trainer", "SetLogLevel", {"level": "info"})
        self.assertGreater(size(), before, "a call that changes something is a line of the log")
        with open(os.path.join(logs, "trainer.log"), "a") as log:
            log.write("x" * (1 << 20) + "\n")  # Full.
        self.call("trainer", "SetLogLevel", {"level": "info"})
        self.assertTrue(os.path.exists(os.path.join(logs, "trainer.log.1")))
        self.assertLess(os.path.getsize(os.path.join(logs, "trainer.log")), 1 << 19)
        with open(os.path.join(logs, "trainer.log")) as log:
            self.assertIn("SetLogLevel", log.read())

    def test_as_many_ended_trials_are_known_as_were_asked_for(self):
        for name in ("one", "two", "three"):
            self.yard("run", "--name", name, "--", "sh", "-c", 'echo \'{"t":"report","m":{"x":1}}\' >&3; read -r r <&3')
        known = lambda: {row["name"] for row in map(json.loads, self.yard("ps", "-a", "--json")[0].splitlines())
                         if row["kind"] == "trial"}
        self.await_true(lambda: known() == {"two", "three"}, known)
        # The run of the one that is forgotten stays.
        self.assertIn("one", self.yard("runs")[0])

    def test_what_cannot_be_served_is_refused(self):
        _, why = self.finish(self.start_yard("up", "--metrics_port", "65536"), 2)
        self.assertIn("--metrics_port 65536 is no number from 1 to 65535", why)
        _, why = self.finish(self.start_yard("up", "--service", "listen=tcp://x"), 2)
        self.assertIn("the yard itself decides about listen", why)
        _, why = self.finish(self.start_yard("up", "--service", "log_level=debug"), 6)
        self.assertIn("other flags of its services", why)
        _, why = self.finish(self.start_yard("up", "--keep_trials", "3"), 6)
        self.assertIn("leave --service, --notify, --metrics_port, --keep_trials, --min_free, --page, --gate_port and --gate_address out", why)

    def pid_of(self, service):
        return self.call(service, "Stats")["pid"]


if __name__ == "__main__":
    xml_runner.main()
