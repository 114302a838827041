"""Each script tells its receiver, whatever the alert holds."""

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

from bazel.python import xml_runner

HERE = pathlib.Path("examples/notify").absolute()
HOSTILE = "--run \"$(touch owned)\" `touch owned` <!channel> @everyone ‮\n.\nTo: other@example.org\r\n\x1b[2J'"
ALERT = {"id": "a-abcdefg", "kind": "trial_failed", "name": "base", "reason": "failed: exit code 3",
         "lines": ["Traceback", "ValueError: 3"], "next": ["yard show t-abcde"], "trial": "t-abcde", "count": 1, "others": []}
# Writes its arguments, one a line, and its standard input into a file beside it.
STUB = """#!/bin/sh
{ printf '%s\\0' "$@"; case $0 in *sendmail) cat ;; esac; } > "$0.heard"
"""


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps what it was posted."""

    daemon_threads = True

    def __init__(self, code):
        self.heard = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.heard.append((self.path, self.headers["Content-Type"], json.loads(body)))
                self.send_response(code)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_words):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return "http://127.0.0.1:%d/hook" % self.server_port


class NotifyTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))
        self.addCleanup(shutil.rmtree, self.directory)
        for name in ("notify-send", "sendmail"):
            (self.directory / name).write_text(STUB)
            (self.directory / name).chmod(0o755)

    def run_script(self, name, alert, **variables):
        return subprocess.run(
            [str(HERE / name)], input=json.dumps(alert), cwd=self.directory, text=True, timeout=60, capture_output=True,
            env={"PATH": "%s:/usr/bin:/bin" % self.directory, "LANG": "C.UTF-8", "no_proxy": "*", **variables})

    def tell(self, name, alert, **variables):
        done = self.run_script(name, alert, **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse((self.directory / "owned").exists())

    def heard(self, name):
        return (self.directory / (name + ".heard")).read_bytes().decode()

    def post(self, name, variable, alert, **variables):
        receiver = Receiver(200)
        self.addCleanup(receiver.server_close)
        self.addCleanup(receiver.shutdown)
        self.tell(name, alert, **{variable: receiver.address}, **variables)
        (path, kind, body), = receiver.heard
        self.assertEqual((path, kind), ("/hook", "application/json"))
        return body

    def test_the_desktop(self):
        self.tell("desktop.sh", ALERT)
        self.assertEqual(self.heard("notify-send").split("\0")[:-1],
                         ["--app-name=Trainyard", "--urgency=critical", "--", "trial_failed: base", "failed: exit code 3"])
        self.tell("desktop.sh", {**ALERT, "name": HOSTILE, "kind": "disk_low"})
        words = self.heard("notify-send").split("\0")
        self.assertEqual(words[1:3], ["--urgency=normal", "--"])

    def test_a_mailbox(self):
        self.tell("mail.sh", ALERT, MAIL_TO="me@example.org")
        head, body = self.heard("sendmail").split("\n\n", 1)
        self.assertTrue(head.startswith("-i\0-t\0To: me@example.org\nSubject: trial_failed: base\n"), head)
        self.assertEqual(body.splitlines(), ["failed: exit code 3", "", "Traceback", "ValueError: 3", "", "next:", "  yard show t-abcde"])
        self.tell("mail.sh", {**ALERT, "name": HOSTILE}, MAIL_TO="me@example.org")
        head = self.heard("sendmail").split("\n\n", 1)[0]
        self.assertEqual(head.count("\n"), 2, "a name adds no header")

    def test_slack(self):
        self.assertEqual(self.post("slack.sh", "SLACK_URL", ALERT),
                         {"text": "*trial_failed* base\nfailed: exit code 3\nyard show t-abcde"})
        self.assertIn("&lt;!channel&gt;", self.post("slack.sh", "SLACK_URL", {**ALERT, "name": HOSTILE})["text"])

    def test_discord(self):
        body = self.post("discord.sh", "DISCORD_URL", {**ALERT, "reason": HOSTILE * 100})
        self.assertEqual(body["allowed_mentions"], {"parse": []})
        self.assertEqual(len(body["content"]), 2000)
        self.assertTrue(body["content"].startswith("**trial_failed** base\n"))

    def test_ntfy(self):
        self.assertEqual(self.post("ntfy.sh", "NTFY_URL", ALERT, NTFY_TOPIC="mine"),
                         {"topic": "mine", "title": "trial_failed: base", "message": "failed: exit code 3", "priority": 4,
                          "tags": ["warning"]})
        self.assertEqual(self.post("ntfy.sh", "NTFY_URL", {**ALERT, "name": HOSTILE}, NTFY_TOPIC="mine")["title"],
                         "trial_failed: " + HOSTILE)

    def test_a_receiver_that_refuses_is_a_failure_that_is_tried_again(self):
        receiver = Receiver(500)
        self.addCleanup(receiver.server_close)
        self.addCleanup(receiver.shutdown)
        for name, variable in (("slack.sh", "SLACK_URL"), ("discord.sh", "DISCORD_URL"), ("ntfy.sh", "NTFY_URL")):
            done = self.run_script(name, ALERT, **{variable: receiver.address, "NTFY_TOPIC": "mine"})
            self.assertNotEqual(done.returncode, 0, name)
            self.assertIn("500", done.stderr)


if __name__ == "__main__":
    xml_runner.main()
