"""Tests how `yard.runs()` and its like take a web service that is busy, is gone for a moment, or knows a run only in part.

(With a yard: tests/reading_test.py.)
"""

import array
import http.server
import json
import os
import shutil
import socketserver
import struct
import sys
import tempfile
import threading
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


if __name__ == "__main__":
    xml_runner.main()
