"""The web service of a real yard: who gets in, what it answers, and what a kill costs."""

import array
import csv
import http.client
import io
import json
import os
import signal
import socket
import struct
import subprocess
import urllib.parse

from bazel.python import xml_runner
from tests import yard_case
from yard import points

# One report for each line that it is told on its log channel is not needed: it reports, and waits for a file.
REPORTS = r"""
i=0
while [ $i -lt %d ]; do
  printf '{"t":"report","m":{"loss":%%s,"acc":0.1}}\n' "$((i * i)).125" >&3; read -r ok <&3
  echo "line $i"
  i=$((i + 1))
done
"""
HOSTILE = "<img src=x onerror=alert(1)>"


class Socket(http.client.HTTPConnection):
    """HTTP over the unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=yard_case.LONG)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(yard_case.LONG)
        self.sock.connect(self.path)


def series(body):
    """Decodes a body in the format of web/api/series_format.h: a list of dicts of lists."""
    assert body[:4] == b"YSR1", body[:100]
    length = struct.unpack_from("<I", body, 4)[0]
    found = json.loads(body[8:8 + length])["series"]
    types = {"f64": "d", "f32": "f", "u32": "I", "i64": "q"}
    for one in found:
        for name, place in one.items():
            if isinstance(place, dict):
                values = array.array(types[place["type"]])
                values.frombytes(body[place["at"]:place["at"] + one["columns"] * values.itemsize])
                one[name] = [int(place.get("base", 0)) + value if name.endswith("step") else value for value in values]
        for name, same in (("last_step", "first_step"), ("min", "last"), ("max", "last")):
            one.setdefault(name, one[same])
    return found


def columns(body):
    """Reads arrays of web/api/export.h as dicts of lists; fails where they were cut off."""
    assert body[:8] == b"YSC1\0\0\0\0", body[:100]
    blocks, at = [], 8
    while True:
        length, count = struct.unpack_from("<II", body, at)
        at += 8
        if length == 0:
            assert at == len(body)
            return blocks
        block = json.loads(body[at:at + length])
        at += length
        for name, kind in (("steps", "q"), ("times", "d"), ("values", "d")):
            block[name] = list(struct.unpack_from("<%d%s" % (count, kind), body, at))
            at += 8 * count
        blocks.append(block)


class PageTest(yard_case.YardCase):

    def socket_path(self):
        return os.path.join(self.directory, "run", "yard", "http")

    def ask(self, method, path, body=None, connection=None, **headers):
        connection = connection or Socket(self.socket_path())
        self.addCleanup(connection.close)
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()

    def get(self, path):
        status, body = self.ask("GET", "/api/v1/" + path)
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def address(self):
        return urllib.parse.urlsplit(json.loads(self.yard("ui", "--json")[0])["address"])

    def port(self):
        return http.client.HTTPConnection("127.0.0.1", self.address().port, timeout=yard_case.LONG)

    def token(self):
        key = self.address().fragment.removeprefix("k=")
        status, body = self.ask("POST", "/api/v1/session", json.dumps({"k": key}), self.port())
        self.assertEqual(status, 200, body)
        return json.loads(body)["token"]

    def run_program(self, name, reports):
        self.yard("run", "--name", name, "--", "sh", "-c", REPORTS % reports)

    def stream(self, *topics, **headers):
        """A stream of events, and a function that gives the next one of a name."""
        connection = Socket(self.socket_path())
        self.addCleanup(connection.close)
        connection.request("GET", "/api/v1/events?" + urllib.parse.urlencode([("topic", topic) for topic in topics]),
                           headers=headers)
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        lines = io.TextIOWrapper(response, encoding="utf-8")

        def following(*names):
            event = {}
            for line in lines:
                key, _, value = line.rstrip("\n").partition(": ")
                if not key and event.get("event") in names:
                    return event
                event = {} if not key else {**event, key: value}
            raise AssertionError("the stream has ended")
        return following

    def test_who_has_the_key_gets_in_once(self):
        token = self.token()
        status, _ = self.ask("GET", "/api/v1/yard", None, self.port(), Authorization="Bearer " + token)
        self.assertEqual(status, 200)
        key = self.address().fragment.removeprefix("k=")
        for expected in (200, 403):
            self.assertEqual(self.ask("POST", "/api/v1/session", json.dumps({"k": key}), self.port())[0], expected)

    def test_strangers_stay_out(self):
        self.assertEqual(self.ask("GET", "/api/v1/yard", None, self.port())[0], 401)
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost@evil"):
            self.assertIn(self.ask("GET", "/", None, self.port(), Host=host)[0], (400, 421), host)
        self.assertEqual(oct(os.stat(self.socket_path()).st_mode & 0o777), "0o600")
        status, page = self.ask("GET", "/", None, self.port())
        self.assertEqual((status, page[:15]), (200, b"<!doctype html>"))

    def test_the_page_of_http_is_as_it_says(self):
        self.yard("run", "--name", "base", "--config", '{"lr": 0.5}', "--", "sh", "-c",
                  'printf \'{"t":"report","m":{"loss":0.0625}}\\n\' >&3; read -r ok <&3')
        self.yard("call", "datamanager", "Reload", "{}")
        with open("docs/page.md", encoding="utf-8") as page:
            lines = [line for line in page.read().splitlines() if line.startswith("curl ")]
        self.assertEqual(len(lines), 4)
        answers = []
        for line in lines:
            done = subprocess.run(["/bin/sh", "-c", line + " -sS --fail-with-body"], cwd=self.directory, env=self.environment, capture_output=True,
                                  text=True, timeout=yard_case.LONG, check=False)
            self.assertEqual(done.returncode, 0, line + done.stdout + done.stderr)
            answers.append(done.stdout)
        (row,) = json.loads(answers[0])["rows"]
        self.assertEqual((row["run"], row["cols"]), ("base", {"loss": 0.0625, "config.lr": 0.5}))
        with open(os.path.join(self.directory, "points.csv"), encoding="utf-8") as file:
            self.assertEqual([float(point["value"]) for point in csv.DictReader(file)], [0.0625])
        with open(os.path.join(self.directory, "curves.series"), "rb") as file:
            self.assertEqual([curve["last"] for curve in series(file.read())], [[0.0625]])
        self.assertEqual(self.get("runs/base")["labels"], ["good"])

    def test_curves_are_what_export_says(self):
        self.run_program("exact", 300)
        self.yard("call", "datamanager", "Reload", "{}")
        rows = [row for row in csv.DictReader(io.StringIO(self.yard("export", "exact", "-m", "loss")[0]))]
        self.assertEqual(len(rows), 300)
        steps, values = [int(row["step"]) for row in rows], [float(row["value"]) for row in rows]
        status, body = self.ask("POST", "/api/v1/series", json.dumps({"sel": [["exact", "loss"]], "n": 1000}))
        self.assertEqual(status, 200, body)
        (curve,) = series(body)
        self.assertEqual((curve["first_step"], curve["last"], curve["points"]), (steps, values, 300))
        # In fewer columns: each has the least, the greatest and the last of its points.
        (curve,) = series(self.ask("POST", "/api/v1/series", json.dumps({"sel": [["exact", "loss"]], "n": 7}))[1])
        self.assertLessEqual(curve["columns"], 7)
        for first, last, low, high, end in zip(curve["first_step"], curve["last_step"], curve["min"], curve["max"], curve["last"]):
            inside = [value for step, value in zip(steps, values) if first <= step <= last]
            self.assertEqual((low, high, end), (min(inside), max(inside), inside[-1]))
        # A part of it, as a page asks that is zoomed.
        (curve,) = series(self.ask("POST", "/api/v1/series", json.dumps(
            {"sel": [["exact", "loss"]], "n": 100, "from": steps[100], "to": steps[149]}))[1])
        self.assertEqual(curve["first_step"], steps[100:150])

    def test_an_export_is_what_the_command_line_exports(self):
        self.run_program("exported", 50)
        self.yard("call", "datamanager", "Reload", "{}")
        for form in ("csv", "jsonl"):
            status, body = self.ask("GET", "/api/v1/export?run=exported&format=" + form)
            self.assertEqual(status, 200, body)
            out, _ = self.finish(self.start_yard("export", "exported", "--format", form), 0)
            self.assertEqual(body.decode().splitlines(), out.splitlines(), form)
        status, body = self.ask("GET", "/api/v1/export?run=exported&tag=loss&format=columns")
        self.assertEqual(status, 200, body)
        (block,) = columns(body)
        rows = list(csv.DictReader(io.StringIO(self.yard("export", "exported", "-m", "loss")[0])))
        self.assertEqual((block["run"], block["tag"]), ("exported", "loss"))
        self.assertEqual(block["steps"], [int(row["step"]) for row in rows])
        self.assertEqual(block["times"], [float(row["wall_time"]) for row in rows])
        self.assertEqual(block["values"], [float(row["value"]) for row in rows])
        # A part of it, and what is not there.
        first, last = block["steps"][10], block["steps"][19]
        (part,) = columns(self.ask("GET", "/api/v1/export?run=exported&tag=loss&format=columns&from=%d&to=%d" % (first, last))[1])
        self.assertEqual(part["values"], block["values"][10:20])
        self.assertEqual(self.ask("GET", "/api/v1/export?run=none")[0], 404)

    def test_the_python_module_reads_every_point(self):
        self.run_program("read-back", 300)
        self.yard("call", "datamanager", "Reload", "{}")
        (loss,) = points.read(runs=["read-back"], tags=["loss"], socket_file=self.socket_path())
        rows = list(csv.DictReader(io.StringIO(self.yard("export", "read-back", "-m", "loss")[0])))
        self.assertEqual((loss.run, loss.tag, len(loss.values)), ("read-back", "loss", 300))
        self.assertEqual(list(loss.steps), [int(row["step"]) for row in rows])
        self.assertEqual(list(loss.values), [float(row["value"]) for row in rows])
        self.assertEqual(list(loss.times), [float(row["wall_time"]) for row in rows])
        with self.assertRaisesRegex(LookupError, "none"):
            list(points.read(runs=["none"], socket_file=self.socket_path()))
        whole = self.ask("GET", "/api/v1/export?run=read-back&tag=loss&format=columns")[1]
        self.assertEqual(list(points.read_blocks(io.BytesIO(whole))), [loss])
        # (A long series comes in several blocks.)
        (twice,) = points.read_blocks(io.BytesIO(whole[:-8] + whole[8:]))
        self.assertEqual(list(twice.values), 2 * list(loss.values))
        with self.assertRaises(EOFError):
            list(points.read_blocks(io.BytesIO(whole[:-8])))

    def test_another_metric_may_be_x(self):
        self.run_program("crossed", 20)
        self.yard("call", "datamanager", "Reload", "{}")
        (curve,) = series(self.ask("POST", "/api/v1/series", json.dumps({"sel": [["crossed", "acc"]], "x": "loss", "n": 100}))[1])
        self.assertEqual(curve["x"], [i * i + 0.125 for i in range(20)])
        self.assertEqual(curve["last"], [0.1] * 20)

    def test_a_run_is_shown_as_the_command_line_shows_it(self):
        self.run_program("shown", 3)
        self.yard("call", "datamanager", "Reload", "{}")
        (row,) = [row for row in self.get("runs?cols=loss,min:loss&sort=-updated")["rows"] if row["run"] == "shown"]
        said = json.loads(self.yard("runs", "shown", "--json")[0])
        self.assertEqual({key: row[key] for key in ("run", "points", "tags", "last_step", "trial", "bytes")},
                         {key: said[key] for key in ("run", "points", "tags", "last_step", "trial", "bytes")})
        self.assertEqual((row["trial_state"], row["cols"]), ("done", {"loss": 4.125, "min:loss": 0.125}))
        run = self.get("runs/shown")
        self.assertEqual(run["trial"]["name"], "shown")
        self.assertEqual(run["job"]["tasks"][0]["attempts"][0]["exit_code"], 0)
        self.assertEqual([line["text"] for line in self.get("runs/shown/logs")["lines"]], ["line 0", "line 1", "line 2"])
        self.assertEqual(self.get("runs/shown/logs?grep=1")["found"], 1)
        self.assertEqual(self.get("runs?q=loss%3E1e9")["match"], 0)

    def test_points_come_by_themselves(self):
        following = self.stream("yard", "run:live")
        self.run_program("live", 20)
        # (News of the trial before it may come first.)
        while json.loads(following("trial")["data"])["name"] != "live":
            pass
        points = []
        while len(points) < 20:
            event = json.loads(following("points")["data"])
            if event["tag"] == "loss":
                points += event["values"]
        self.assertEqual(points, [i * i + 0.125 for i in range(20)])

    def test_a_killed_service_comes_back_and_pages_go_on(self):
        token, port = self.token(), self.address().port
        following = self.stream("yard")
        self.run_program("before", 1)
        seen = following("trial")["id"]
        pid = next(row["pid"] for row in map(json.loads, self.yard("status", "--json")[0].splitlines())
                   if row.get("service") == "web")
        os.kill(pid, signal.SIGKILL)
        self.await_true(lambda: next(row["pid"] for row in map(json.loads, self.yard("status", "--json")[0].splitlines())
                                     if row.get("service") == "web") not in (None, pid), "web does not come back")
        self.yard("ui", "--print")
        self.assertEqual(self.address().port, port)
        status, _ = self.ask("GET", "/api/v1/yard", None, self.port(), Authorization="Bearer " + token)
        self.assertEqual(status, 200, "the token is as good as before")
        # The missed events cannot be known: the page reads anew.
        self.assertEqual(json.loads(self.stream("yard", **{"Last-Event-ID": seen})("resync")["data"]), {"topics": ["yard"]})

    def test_a_removed_socket_is_made_anew(self):
        os.unlink(self.socket_path())
        self.await_true(lambda: os.path.exists(self.socket_path()), "the socket stays away")
        self.assertEqual(self.ask("GET", "/healthz"), (200, b"ok\n"))

    def test_an_action_is_done(self):
        self.yard("run", "--detach", "--name", "goes-on", "--", "sleep", "1000000")
        self.yard("call", "datamanager", "Reload", "{}")
        trial = next(row for row in self.get("trials")["trials"] if row["name"] == "goes-on")
        status, body = self.ask("POST", "/api/v1/trials/%s/stop" % trial["id"], "{}")
        self.assertEqual(status, 200, body)
        self.assertIn("stopped", "".join(self.yard("wait", "goes-on")))
        self.assertEqual(self.ask("POST", "/api/v1/trials/%s/stop" % HOSTILE.replace(" ", "%20"), "{}")[0], 404)


class PageOffTest(yard_case.YardCase):

    up_words = ("--page", "off")

    def test_the_socket_stays(self):
        why = self.finish(self.start_yard("ui", "--print"), 6)[1]
        self.assertIn("the page is off", why)
        connection = Socket(os.path.join(self.directory, "run", "yard", "http"))
        self.addCleanup(connection.close)
        connection.request("GET", "/api/v1/yard")
        self.assertEqual(connection.getresponse().status, 200)


if __name__ == "__main__":
    xml_runner.main()
