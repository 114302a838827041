"""Tests of what `yard show RUN --files` says of event files that are damaged, or were changed behind the yard's
back."""

import json
import os
import pathlib
import re
import struct
import unittest

from bazel.python import xml_runner
from tests import yard_case
from tests.event_records import event, field, point, points, record, value

POINTS = 10
FILE = "events.out.tfevents.1.x"
SECOND = "events.out.tfevents.2.x"


def flipped(step, offset):
    data = bytearray(points(0, POINTS))
    data[len(points(0, step)) + offset] ^= 1
    return bytes(data)


def around(middle):
    return points(0, 5) + middle + points(5, POINTS)


# A scalar, as its metadata says, that is a text.
TEXT_AS_SCALAR = (field(9, field(1, field(1, b"scalars")) + field(4, 1)) +
                  field(8, field(1, 7) + field(2, b"") + field(8, b"text")))

# Name of the run, content of its file, the points that are left, and the message.
DAMAGED = [
    ("bad-payload", flipped(5, 20), 9, "1 bad payload, 42 bytes skipped, at byte 210"),
    ("bad-length", flipped(5, 0), 9, "1 bad length, 42 bytes skipped, at byte 210"),
    ("huge-length", around(record(b"", 1 << 63)), 10, "1 too long, 16 bytes skipped, at byte 210"),
    ("no-event", around(record(b"no event")), 10, "1 not an event, 8 bytes skipped, at byte 210"),
    ("empty", around(record(b"")), 10, "1 empty payload, at byte 210"),
    ("nan-time", around(point(5, float("nan"))), 11, "1 bad wall time, at byte 210"),
    ("unknown-field", around(event(5, field(100, 1))), 10, "1 unknown field, at byte 210"),
    ("bad-value", around(event(5, value(b"odd", TEXT_AS_SCALAR))), 10,
     '1 bad value, at byte 210: not what tag "odd" holds'),
    ("long-tag", around(event(5, value(b"t" * 65537, struct.pack("<Bf", 0x15, 5)))), 10,
     "1 tag too long, 65537 bytes skipped, at byte 210"),
    ("tail", points(0, POINTS)[:-3], 9, "39 bytes of a record that is not complete"),
]


def replace(path):
    path.with_name("new").write_bytes(points(20, 27))
    os.rename(path.with_name("new"), path)


def rewrite(path):
    with path.open("r+b") as file:
        file.write(points(40, 50))


# Name of the run, the change to a sound file, the points afterwards, and the message.
CHANGED = [
    ("shrunk", lambda path: os.truncate(path, len(points(0, 4))), 4, "1 shrunk, at byte 420"),
    ("replaced", replace, 7, "1 replaced, at byte 420"),
    ("rewritten", rewrite, 10, "1 rewritten, at byte 420"),
]


class DamagedRunsTest(yard_case.YardCase):

    def write(self, run, data):
        path = pathlib.Path(self.directory, "runs", run, FILE)
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        return path

    def await_points(self, run, count, generation=0):
        def look():
            out, _ = self.yard("runs", "--json")
            rows = {row["run"]: row for row in map(json.loads, out.splitlines())}
            row = rows.get(run, {})
            return row.get("points"), row.get("generation")
        self.await_true(lambda: look() == (count, generation),
                        lambda: "%s has (points, generation) %s" % (run, look()))

    def assert_said(self, run, what):
        text = self.yard("show", run, "--files")[0]
        self.assertRegex(text, r"(fault|tail) +%s: %s\n" % (re.escape(FILE), re.escape(what)))
        self.assertEqual(len(re.findall("^(?:fault|tail)", text, re.M)), 1, text)

    def test_damage_costs_what_it_must_and_is_told(self):
        for run, data, _, _ in DAMAGED:
            self.write(run, data)
        for run, _, left, what in DAMAGED:
            with self.subTest(run):
                self.await_points(run, left)
                self.assert_said(run, what)

    def test_a_file_that_is_gone_is_told(self):
        path = self.write("vanished", points(0, POINTS))
        path.with_name(SECOND).write_bytes(points(10, 14))
        self.await_points("vanished", POINTS + 4)
        path.unlink()
        self.await_points("vanished", 4, generation=1)
        text = self.yard("show", "vanished", "--files")[0]
        self.assertRegex(text, r"\nfault +1 vanished, at byte 420: %s: vanished\n" % re.escape(FILE))
        self.assertEqual(text.count("\nfault"), 1, text)

    def link_unreadable(self, run):
        """The path in the run, and why it cannot be read."""
        # Any user of the test may open this file; reading it is an error.
        unreadable = pathlib.Path("/sys/class/net/lo/speed")
        try:
            unreadable.read_bytes()
        except OSError as error:
            reason = error.strerror
        else:
            raise unittest.SkipTest("%s can be read here" % unreadable)
        path = pathlib.Path(self.directory, "runs", run, FILE)
        path.parent.mkdir(parents=True)
        path.symlink_to(unreadable)
        return path, reason

    def test_a_file_that_cannot_be_read_is_told(self):
        path, reason = self.link_unreadable("unreadable")
        path.with_name(SECOND).write_bytes(points(0, POINTS))
        self.await_points("unreadable", POINTS)
        text = self.yard("show", "unreadable", "--files")[0]
        self.assertRegex(text, r"\nfault +%s: \d+ unreadable: cannot read .*%s: %s\n" %
                         (re.escape(FILE), re.escape(FILE), re.escape(reason)))
        self.assertEqual(text.count("\nfault"), 1, text)
        # The verbs give the points that can be read, and then say what is missing.
        why = "cannot read %s: %s" % (path, reason)
        # (It has failed until its points are in memory.)
        show = lambda: self.yard("show", "unreadable")[0]
        self.await_true(lambda: "\nnot whole  %s\n" % why in show(), show)
        out, err = self.finish(self.start_yard("export", "unreadable", "--format", "csv"), 1)
        self.assertEqual(out.count("\nunreadable,"), POINTS)
        self.assertIn("run unreadable is not whole: %s\n" % why, err)
        out, err = self.finish(self.start_yard("plot", "unreadable"), 1)
        self.assertIn("%d points" % POINTS, out)
        self.assertIn("run unreadable is not whole: %s\n" % why, err)

    def test_a_run_without_an_event_file_cannot_be_read(self):
        path = self.write("packed", b"an archive of " + points(0, POINTS))
        self.write("whole", points(0, POINTS))
        self.await_points("whole", POINTS)
        why = "%s is no event file: it does not begin with a record" % path
        self.await_true(lambda: why in self.start_yard("show", "packed").communicate()[1], why)
        for words in (["show", "packed"], ["plot", "packed"], ["export", "packed"]):
            self.assertIn("run packed cannot be read: %s\n" % why, self.finish(self.start_yard(*words), 1)[1])
        out, err = self.finish(self.start_yard("export", "whole", "packed", "--format", "csv"), 1)
        self.assertIn("run packed is not whole: %s\n" % why, err)
        self.assertEqual(out.count("\nwhole,"), POINTS)
        out, err = self.finish(self.start_yard("plot", "whole", "packed", "-m", "loss"), 1)
        self.assertIn("run packed cannot be read: %s; it is left out\n" % why, err)
        self.assertIn("%d points" % POINTS, out)

    def test_a_run_that_cannot_be_read_costs_only_itself_and_says_why(self):
        path, reason = self.link_unreadable("closed")
        self.write("open", points(0, POINTS))
        self.await_points("open", POINTS)
        why = "run closed cannot be read: cannot read %s: %s" % (path, reason)
        out, err = self.finish(self.start_yard("show", "closed"), 1)
        self.assertIn("closed", out)
        self.assertIn(why, err)
        for words in (["plot", "closed"], ["export", "closed"]):
            self.assertIn(why, self.finish(self.start_yard(*words), 1)[1])
        for words, code in ((["plot", "closed", "open", "-m", "loss"], 1), (["compare", "closed", "open"], 0)):
            out, err = self.finish(self.start_yard(*words), code)
            self.assertIn("open", out)
            self.assertIn(why, err)
            self.assertIn("; it is left out\n", err)
        out, err = self.finish(self.start_yard("export", "open", "closed", "--format", "csv"), 1)
        self.assertIn("run closed is not whole: cannot read %s: %s\n" % (path, reason), err)
        self.assertEqual(out.count("\nopen,"), POINTS)

    def test_a_changed_file_is_read_anew_and_that_is_told(self):
        paths = [self.write(run, points(0, POINTS)) for run, _, _, _ in CHANGED]
        for path, (run, change, left, what) in zip(paths, CHANGED):
            with self.subTest(run):
                self.await_points(run, POINTS)
                change(path)
                self.await_points(run, left, generation=1)
                self.assert_said(run, what)


if __name__ == "__main__":
    xml_runner.main()
