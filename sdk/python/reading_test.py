"""Tests how `yard.runs()` and its like take a web service that is busy, is gone for a moment, or knows a run only in part.

(With a yard: tests/reading_test.py.)
"""

import array
import datetime
import http.server
import json
import os
import shutil
import socketserver
import struct
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from urllib.parse import urlsplit

_HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [_HERE]
import xml_runner
import yard
from yard import points, reading


def problem(status, title="the reason"):
    return status, json.dumps({"status": status, "title": title}).encode()


def found(value):
    return 200, json.dumps(value).encode()


def stream(*events):
    """The answer has an event for each (kind, data); None keeps the stream alive."""
    text = "".join(": keep-alive\n\n" if event is None else "event: %s\ndata: %s\n\n" % (event[0], json.dumps(event[1]))
                   for event in events)
    return 200, text.encode()


def columns(**series):
    """The export has rows of (step, time, value) for each tag of the run "one"."""
    body = b"YSC1\0\0\0\0"
    for tag, rows in series.items():
        name = json.dumps({"run": "one", "tag": tag}).encode()
        body += struct.pack("<II", len(name), len(rows)) + name
        for kind, column in zip("qdd", zip(*rows)):
            body += array.array(kind, column).tobytes()
    return 200, body + struct.pack("<II", 0, 0)


class FakeWeb(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers each path with the next of its answers, with the last one again and again.

    An answer is (status, body), or is called for it; a body may be an iterator of parts.
    """

    daemon_threads = True
    request_queue_size = 16

    def __init__(self, path, answers):
        super().__init__(path, _Handler)
        self._answers = {name: list(those) for name, those in answers.items()}
        self._lock = threading.Lock()
        self.asked = []  # The targets.

    def answer(self, target):
        path = urlsplit(target).path[len("/api/v1/"):]
        with self._lock:
            self.asked.append(target)
            answers = self._answers[path]
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return answer() if callable(answer) else answer


class _Handler(http.server.BaseHTTPRequestHandler):

    def do_GET(self):
        status, body = self.server.answer(self.path)
        self.send_response(status)
        self.end_headers()
        for part in [body] if isinstance(body, bytes) else body:
            self.wfile.write(part)

    def address_string(self):
        return "a test"

    def log_message(self, *_):
        pass


class WebCase(unittest.TestCase):

    def serve(self, **answers):
        """The socket of a web service with these answers; `self.web` is the service."""
        directory = tempfile.mkdtemp(prefix="sdk", dir="/tmp")
        self.addCleanup(shutil.rmtree, directory)
        self.web = FakeWeb(directory + "/http", {name.replace("__", "/"): those for name, those in answers.items()})
        self.addCleanup(self.web.server_close)
        thread = threading.Thread(target=self.web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.web.shutdown)
        return directory + "/http"


class StatusTest(WebCase):

    def test_each_status_is_one_error_whatever_was_asked(self):
        calls = {
            "runs": lambda socket: yard.runs(socket_file=socket),
            "run": lambda socket: yard.run("one", socket),
            "tags": lambda socket: yard.Run({"run": "one"}, socket).tags(),
            "scalars": lambda socket: yard.Run({"run": "one"}, socket).scalars("loss"),
            "frame": lambda socket: yard.frame(socket_file=socket),
            "points": lambda socket: list(points.read(socket_file=socket)),
        }
        for status, error in {400: ValueError, 404: LookupError, 429: points.Unavailable, 500: points.Unavailable,
                              503: points.Unavailable, 504: points.Unavailable}.items():
            socket = self.serve(**{name: [problem(status)] for name in ("runs", "runs__one", "runs__one__tags", "export")})
            for name, call in calls.items():
                with self.subTest(status=status, call=name), self.assertRaisesRegex(error, "the reason") as caught:
                    call(socket)
                self.assertEqual(str(caught.exception).endswith(": ask again"), error is points.Unavailable)
        self.assertTrue(issubclass(points.Unavailable, OSError))

    def test_a_subscription_to_nothing_is_refused_at_once(self):
        for status, error in {400: ValueError, 404: LookupError}.items():
            with self.assertRaisesRegex(error, "the reason"):
                next(yard.subscribe("yard", socket_file=self.serve(events=[problem(status)])))


class SubscribeTest(WebCase):

    def test_it_asks_again_where_the_yard_cannot_answer_now(self):
        socket = self.serve(events=[problem(503), problem(429), stream(("job", 1)), problem(503), stream(("job", 2))])
        events = yard.subscribe("yard", socket_file=socket)
        self.assertEqual([(event.kind, event.data) for event in (next(events) for _ in range(4))],
                         [("resync", {"topics": ["yard"]}), ("job", 1), ("resync", {"topics": ["yard"]}), ("job", 2)])

    def test_its_patience_has_an_end(self):
        socket = self.serve(events=[problem(503)])
        with unittest.mock.patch.object(reading, "_PATIENCE", 0.3), self.assertRaisesRegex(points.Unavailable, "ask again"):
            next(yard.subscribe("yard", socket_file=socket))
        self.assertGreaterEqual(len(self.web.asked), 2)

    def test_a_stream_on_which_nothing_happened_for_long_is_opened_again(self):
        clock = unittest.mock.Mock(return_value=0)
        has_come = threading.Event()

        def idle():
            yield stream(("job", 1))[1]
            has_come.wait(60)
            clock.return_value = 100
            yield stream(None)[1]

        def gone():
            clock.return_value = 150
            return problem(503)

        socket = self.serve(events=[(200, idle()), gone, stream(("job", 2))])
        with unittest.mock.patch.object(reading.time, "monotonic", clock):
            events = yard.subscribe("yard", socket_file=socket)
            while next(events).data != 1:
                pass
            has_come.set()
            while next(events).data != 2:
                pass


def trial(state, reports=3, age=10.0):
    """The trial of the run "one"; if it has ended, `age` seconds ago."""
    ended = datetime.datetime.fromtimestamp(time.time() - age, datetime.timezone.utc)
    return {"name": "one", "state": state, "reports": reports, "directory": "/runs/one", "labels": ["base"], "note": None,
            "display_name": None, "ended": ended.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}


def run_of(its_trial, read_bytes=100, **more):
    return found({"run": "one", "bytes": 100, "read_bytes": read_bytes, "trial": its_trial, **more})


def told(*rows):
    """The event of points of the tag "loss" that came by themselves."""
    steps, times, values = zip(*rows)
    return "points", {"run": "one", "tag": "loss", "steps": steps, "times": times, "values": values}


ENDED = ("trial", {"name": "one", "state": "done"})
ROWS = [(step, 5.0, step / 2) for step in range(4)]  # At one time.
BEGUN = found({"run": None, "trial": trial("pending", reports=0)})
NO_RUN = problem(404, 'no run "one"')


class WatchTest(WebCase):

    def watched(self, tags=(), **answers):
        socket = self.serve(**answers)
        return [(point.tag, point.step, point.value) for point in yard.watch("one", tags=tags, socket_file=socket)]

    def losses(self, rows):
        return [("loss", step, value) for step, _, value in rows]

    def test_points_of_one_time_come_once_each(self):
        running, done = run_of(trial("running")), run_of(trial("done"))
        self.assertEqual(self.watched(runs__one=[running, running, done], export=[columns(loss=ROWS[:2]), columns(loss=ROWS)],
                                      events=[stream(told(*ROWS[1:3]), told(*ROWS[:2]), ENDED)]), self.losses(ROWS))

    def test_points_at_one_step_and_time_come_once_each(self):
        rows = [(1, 5.0, 0.5), (1, 5.0, float("inf")), (1, 5.0, 0.5)]
        running, done = run_of(trial("running")), run_of(trial("done"))
        self.assertEqual(self.watched(runs__one=[running, running, done], export=[columns(), columns(loss=rows)],
                                      events=[stream(told(*rows[:1]), told(*rows[:1]), ENDED)]), self.losses(rows))

    def test_what_was_not_read_yet_at_the_end_comes(self):
        running, done = run_of(trial("running")), run_of(trial("done"))
        behind = run_of(trial("done"), read_bytes=60)
        unread = found({"run": None, "trial": trial("done")})
        some, all_of_them = columns(loss=ROWS[:1]), columns(loss=ROWS)
        for before, exports in {behind: [some, some, all_of_them], unread: [NO_RUN, NO_RUN, all_of_them]}.items():
            with self.subTest(before=before):
                self.assertEqual(self.watched(runs__one=[running, running, before, done], export=exports,
                                              events=[stream(ENDED)]), self.losses(ROWS))
                # It may have ended before it was watched.
                self.assertEqual(self.watched(runs__one=[before, before, done], export=exports[1:],
                                              events=[stream()]), self.losses(ROWS))

    def test_a_trial_that_has_just_ended_is_read_until_it_has_settled(self):
        moment = time.time()
        just = lambda: run_of(trial("done", age=time.time() - moment))
        with unittest.mock.patch.object(reading, "_SETTLED", 0.4):
            self.assertEqual(self.watched(runs__one=[just], events=[stream()], export=[
                lambda: columns(loss=ROWS[:1] if time.time() < moment + 0.4 else ROWS)]), self.losses(ROWS))

    def test_what_is_never_read_is_not_waited_for_without_end(self):
        with unittest.mock.patch.object(reading, "_PATIENCE", 9):
            self.assertEqual(self.watched(runs__one=[run_of(trial("done", age=10), read_bytes=60)], events=[stream()],
                                          export=[columns(loss=ROWS)]), self.losses(ROWS))

    def test_a_trial_that_nobody_has_read_yet_is_watched_from_its_first_point(self):
        self.assertEqual(self.watched(tags=["loss"], runs__one=[BEGUN, BEGUN, run_of(trial("done"))],
                                      export=[NO_RUN, columns(acc=ROWS, loss=ROWS)],
                                      events=[stream(told(*ROWS[:2]), ENDED)]), self.losses(ROWS))
        self.assertTrue(all("tag=" not in target for target in self.web.asked), self.web.asked)

    def test_a_trial_that_nobody_has_read_yet_is_a_run(self):
        run = yard.run("one", self.serve(runs__one=[BEGUN]))
        self.assertEqual((run.name, run.state, run.directory, run.labels, run.display_name, run.config),
                         ("one", "pending", "/runs/one", ["base"], "one", {}))

    def test_services_that_are_gone_for_a_moment_are_waited_for(self):
        without_trainer = found({"run": "one", "bytes": 1, "read_bytes": 1, "missing": ["trainer"]})
        running, done = run_of(trial("running")), run_of(trial("done"))
        self.assertEqual(self.watched(
            runs__one=[problem(503), without_trainer, running, problem(503), running, without_trainer, problem(503), done],
            export=[problem(429), columns(loss=ROWS[:1]), problem(503), columns(loss=ROWS)],
            events=[problem(503), stream(ENDED)]), self.losses(ROWS))

    def test_a_run_that_there_is_not_is_said_at_once(self):
        with self.assertRaisesRegex(LookupError, "no run"):
            self.watched(runs__one=[NO_RUN])


if __name__ == "__main__":
    xml_runner.main()
