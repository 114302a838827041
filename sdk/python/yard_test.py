import argparse
import array
import contextlib
import dataclasses
import decimal
import enum
import io
import json
import math
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock

_HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [_HERE, os.path.join(_HERE, "testing")]
import xml_runner
import yard
from fake_yard import FakeYard, HANG_UP, WELCOME, obliging, outside, stopping_at


def after_welcome(answer):
    return lambda message: WELCOME if message["t"] == "hello" else answer


class NumberLike:
    """As a NumPy or PyTorch scalar."""

    def __init__(self, value):
        self._value = value

    def item(self):
        return self._value


class YardTest(unittest.TestCase):

    def reporter(self, answer=obliging, **kwargs):
        """A reporter of this process, and its yard."""
        fake = FakeYard(answer)
        self.addCleanup(fake.__exit__)
        reporter = yard.Reporter(fd=fake.spec, path="", **kwargs)
        self.addCleanup(reporter.close)
        return reporter, fake

    def messages(self, reporter, fake):
        reporter.close()
        fake.finish()
        return fake.messages


class FloatLike:
    """As a Decimal."""

    def __float__(self):
        return 0.25


class ArrayLike:
    """As a TensorFlow tensor, which has no item of its own."""

    def numpy(self):
        return NumberLike(3)

    def __float__(self):
        raise TypeError("only 0-dimensional arrays can be converted")


class Masked:
    """As numpy.ma.masked."""
    mask = True

    def item(self):
        return 0.0


class LongDouble:
    """As numpy.longdouble, whose item is one again."""

    def item(self):
        return self

    def __float__(self):
        return 0.125


class SavingTest(YardTest):

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="sdk", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.temporary = os.path.join(self.directory, "checkpoint_tmp012345")

    def saving(self, message):
        """A yard that makes the directory, and says where it would be."""
        if message["t"] == "ckpt_begin":
            os.mkdir(self.temporary)
            return {"t": "ckpt_dir", "path": self.temporary}
        if message["t"] == "ckpt_end":
            return {"t": "ok", "path": "/r/checkpoint_000007", "events": []}
        return obliging(message)


class SaveTest(SavingTest):

    def test_begins_and_ends(self):
        reporter, fake = self.reporter(self.saving)
        self.assertIsNone(reporter.saved)
        with reporter.save(7) as directory:
            self.assertEqual(directory, self.temporary)
            self.assertIsNone(reporter.saved)
        self.assertEqual(reporter.saved, "/r/checkpoint_000007")
        self.assertTrue(reporter.report(loss=1))
        self.assertEqual(self.messages(reporter, fake)[1:], [
            {"t": "ckpt_begin", "step": 7},
            {"t": "ckpt_end", "path": self.temporary},
            {"t": "report", "m": {"loss": 1}, "seq": 1}])

    def test_what_was_written_is_synced_before_the_yard_waits_for_it(self):
        synced = []

        def fsync(fd, real=os.fsync):
            synced.append(os.path.basename(os.readlink("/proc/self/fd/%d" % fd)))
            real(fd)

        self.addCleanup(setattr, os, "fsync", os.fsync)
        os.fsync = fsync
        reporter, _ = self.reporter(self.saving)
        with reporter.save() as directory:
            os.mkdir(os.path.join(directory, "sub"))
            for name in ("a", "sub/b"):
                open(os.path.join(directory, name), "w").close()
            os.symlink("/etc/hostname", os.path.join(directory, "link"))
            os.mkfifo(os.path.join(directory, "pipe"))
        self.assertEqual([name for name in sorted(synced) if name != "pipe"], ["a", "b"])

    def test_a_block_that_raises_saves_nothing(self):
        reporter, fake = self.reporter(self.saving)
        with self.assertRaises(KeyError):
            with reporter.save() as directory:
                open(os.path.join(directory, "half"), "w").close()
                raise KeyError("x")
        self.assertFalse(os.path.exists(self.temporary))
        self.assertIsNone(reporter.saved)
        self.assertEqual(self.messages(reporter, fake)[1:], [{"t": "ckpt_begin"}])

    def test_what_the_yard_refuses_is_an_error_and_costs_only_itself(self):
        refusals = [({"t": "error", "code": "RESOURCE_EXHAUSTED", "error": "full"}, "full"),
                    ({"t": "stop", "reason": "stop"}, "told to stop"),
                    ({"t": "ckpt_dir", "path": 7}, "unknown kind"),
                    ({"t": "ok", "path": "/x"}, "unknown kind")]
        for refusal, text in refusals:
            reporter, _ = self.reporter(
                lambda message, refusal=refusal:
                    refusal if message["t"] == "ckpt_begin" else obliging(message))
            with self.assertRaisesRegex(yard.Error, text):
                with reporter.save():
                    self.fail("there is nothing to write into")
            self.assertTrue(reporter.report(loss=1))

    def test_a_failing_commit_is_an_error(self):
        reporter, _ = self.reporter(
            lambda message: {"t": "error", "code": "INVALID_ARGUMENT", "error": "a link"}
            if message["t"] == "ckpt_end" else self.saving(message))
        with self.assertRaisesRegex(yard.Error, "a link"):
            with reporter.save():
                pass
        self.assertIsNone(reporter.saved)

    def test_without_a_yard_it_is_a_directory_here(self):
        reporter = yard.Reporter(fd="", path="", out=io.StringIO())
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.directory)
        reporter.report(loss=1)
        for step, name in ((None, "checkpoint_000001"), (70, "checkpoint_000070")):
            with reporter.save(step) as directory:
                self.assertTrue(os.path.isdir(directory))
            self.assertEqual(reporter.saved, os.path.join(os.path.realpath(self.directory), name))


class ReportTest(YardTest):

    def test_says_hello_first(self):
        reporter, fake = self.reporter()
        self.assertTrue(reporter.connected)
        self.assertEqual(self.messages(reporter, fake),
                         [{"t": "hello", "v": 1, "pid": os.getpid()}])

    def test_knows_what_the_welcome_said(self):
        reporter, _ = self.reporter(lambda _: {
            "t": "welcome", "config": {"lr": 0.1}, "checkpoint": "/c/7", "iteration": 7})
        self.assertEqual(reporter.config, {"lr": 0.1})
        self.assertEqual(reporter.checkpoint, "/c/7")
        self.assertEqual(reporter.iteration, 7)

    def test_a_welcome_may_say_nothing_or_nonsense(self):
        for welcome in ({"t": "welcome", "later": 1},
                        {"t": "welcome", "config": 1, "checkpoint": [], "iteration": "x"}):
            reporter, _ = self.reporter(lambda _, welcome=welcome: welcome)
            self.assertEqual(reporter.config, {})
            self.assertIsNone(reporter.checkpoint)
            self.assertEqual(reporter.iteration, 0)

    def test_sends_metrics_and_counts_reports_from_one(self):
        reporter, fake = self.reporter()
        self.assertTrue(reporter.report(loss=0.1, accuracy=0.9))
        self.assertTrue(reporter.report({"a/b": 1}, step=20, done=True))
        self.assertEqual(self.messages(reporter, fake)[1:], [
            {"t": "report", "m": {"loss": 0.1, "accuracy": 0.9}, "seq": 1},
            {"t": "report", "m": {"a/b": 1}, "seq": 2, "step": 20, "done": True}])

    def test_sends_numbers_that_are_none(self):
        reporter, fake = self.reporter()
        reporter.report(a=math.nan, b=math.inf, c=-math.inf)
        row = self.messages(reporter, fake)[1]["m"]
        self.assertTrue(math.isnan(row["a"]))
        self.assertEqual((row["b"], row["c"]), (math.inf, -math.inf))

    def test_every_float_arrives_exactly(self):
        reporter, fake = self.reporter()
        values = [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, 1 / 3]
        reporter.report({str(i): value for i, value in enumerate(values)})
        self.assertEqual(list(self.messages(reporter, fake)[1]["m"].values()), values)

    def test_takes_the_scalars_of_array_libraries(self):
        reporter, fake = self.reporter()
        reporter.report(a=NumberLike(0.5), b={"c": NumberLike(2)})
        self.assertEqual(self.messages(reporter, fake)[1]["m"], {"a": 0.5, "b": {"c": 2}})

    def test_whatever_holds_one_number_is_one(self):
        reporter, fake = self.reporter()
        reporter.report(a=FloatLike(), b=LongDouble(), c=decimal.Decimal("0.5"),
                        d=array.array("d", [1.5]), e=Masked(), f=ArrayLike())
        row = self.messages(reporter, fake)[1]["m"]
        self.assertTrue(math.isnan(row.pop("e")), "what is masked is no number")
        self.assertEqual(row, {"a": 0.25, "b": 0.125, "c": 0.5, "d": 1.5, "f": 3})

    def test_an_error_names_the_metric(self):
        for out in (None, io.StringIO()):  # To a yard, and printed.
            reporter = self.reporter()[0] if out is None else yard.Reporter(fd="", path="", out=out)
            for value in (object(), b"x", {1}, array.array("d", [1, 2]), 1j):
                with self.assertRaisesRegex(TypeError, "metric a/b cannot be a %s" %
                                            type(value).__name__):
                    reporter.report(loss=1, a={"c": 1, "b": value})
            circle = {}
            circle["self"] = [circle]
            with self.assertRaisesRegex(ValueError, "metric a/self "):
                reporter.report(a=circle)
            self.assertTrue(reporter.report(loss=1))

    def test_a_report_may_bring_a_checkpoint(self):
        reporter, fake = self.reporter(
            after_welcome({"t": "ok", "path": "/r/checkpoint_000003", "events": []}))
        reporter.report(loss=1, checkpoint="/r/mine")
        self.assertEqual(reporter.saved, "/r/checkpoint_000003")
        reporter.report(loss=1, checkpoint=os.curdir)
        self.assertEqual([message["ckpt"] for message in self.messages(reporter, fake)[1:]],
                         ["/r/mine", os.getcwd()])
        alone = yard.Reporter(fd="", path="", out=io.StringIO())
        alone.report(loss=1, checkpoint="mine")
        self.assertEqual(alone.saved, os.path.abspath("mine"))

    def test_refuses_what_cannot_be_a_row(self):
        reporter, fake = self.reporter()
        with self.assertRaisesRegex(TypeError, "cannot be a object"):
            reporter.report(a=object())
        with self.assertRaisesRegex(ValueError, "a is given twice"):
            reporter.report({"a": 1}, a=2)
        with self.assertRaises(TypeError):
            reporter.report(step=1.5)
        with self.assertRaisesRegex(ValueError, "no name"):
            reporter.report({"": 1})
        self.assertTrue(reporter.report(a=1))
        self.assertEqual([m.get("seq") for m in self.messages(reporter, fake)], [None, 1])

    def test_text_that_is_no_utf8_does_not_stop_a_report(self):
        reporter, fake = self.reporter()
        reporter.report(a="\udcff")
        reporter.log("\u20ac\udcff")
        self.assertEqual(self.messages(reporter, fake)[1]["m"], {"a": "?"})
        self.assertEqual(fake.messages[2]["text"], "\u20ac?")

    def test_ok_means_go_on(self):
        reporter, _ = self.reporter(after_welcome({"t": "ok", "seq": 1, "events": [{"lr": 1}]}))
        reply = reporter.report()
        self.assertTrue(reply)
        self.assertFalse(reply.stop)
        self.assertEqual(reply.events, [{"lr": 1}])

    def test_stop_carries_its_reason_and_its_grace(self):
        reporter, _ = self.reporter(
            after_welcome({"t": "stop", "reason": "pause", "grace_s": 2.5}))
        reply = reporter.report()
        self.assertFalse(reply)
        self.assertEqual((reply.stop, reply.reason, reply.grace_s), (True, "pause", 2.5))

    def test_a_bare_stop_is_enough(self):
        for grace in (b"", b',"grace_s":-1', b',"grace_s":"x"', b',"grace_s":NaN',
                      b',"grace_s":1' + b"0" * 400):
            reporter, _ = self.reporter(after_welcome(b'{"t":"stop"%s}\n' % grace))
            reply = reporter.report()
            self.assertEqual((reply.stop, reply.reason, reply.grace_s), (True, "stop", 0.0))

    def test_a_report_after_a_stop_is_sent_too(self):
        reporter, fake = self.reporter(stopping_at(1))
        self.assertFalse(reporter.report())
        self.assertFalse(reporter.report(done=True))
        self.assertEqual(len(self.messages(reporter, fake)), 3)

    def test_a_stop_in_place_of_a_welcome_is_heard_at_the_first_report(self):
        reporter, _ = self.reporter(lambda _: {"t": "stop"})
        self.assertFalse(reporter.report())

    def test_logs_heartbeats_and_failures_are_not_answered(self):
        reporter, fake = self.reporter()
        reporter.log("one\ntwo")
        reporter.heartbeat()
        reporter.fail(ValueError("x"))
        self.assertEqual(self.messages(reporter, fake)[1:], [
            {"t": "log", "text": "one\ntwo"}, {"t": "hb"}, {"t": "fail", "error": "x"}])

    def test_a_long_failure_is_cut_between_characters(self):
        reporter, fake = self.reporter()
        reporter.fail("x" + "\u20ac" * (1 << 20))
        self.assertEqual(self.messages(reporter, fake)[1]["error"], "x" + "\u20ac" * 21845)

    def test_threads_take_turns(self):
        reporter, fake = self.reporter()

        def work():
            for i in range(50):
                reporter.report(a=i)
                reporter.log("line")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        messages = self.messages(reporter, fake)
        self.assertEqual(len(messages), 401)
        self.assertEqual([m["seq"] for m in messages if m["t"] == "report"],
                         list(range(1, 201)))

    def test_works_on_a_socket_that_somebody_made_non_blocking(self):
        reporter, fake = self.reporter()
        os.set_blocking(fake.fd, False)
        self.assertTrue(reporter.report({"x" * 900000: 1}))

    def test_waits_for_an_answer_that_takes_its_time(self):
        restarted = threading.Event()

        def answer(message):
            if message["t"] == "report":
                restarted.wait()
            return obliging(message)

        reporter, _ = self.reporter(answer)
        replies = []
        thread = threading.Thread(target=lambda: replies.append(reporter.report()))
        thread.start()
        thread.join(0.03)
        self.assertEqual(replies, [])
        restarted.set()
        thread.join()
        self.assertTrue(replies[0])


class Preempted(Exception):
    pass


class SignalTest(SavingTest):
    """A signal handler interrupts a call, which raises what the handler raises."""

    def on_signal(self, handler):
        before = signal.signal(signal.SIGUSR1, handler)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)

    def interrupting(self, answer):
        """As `answer`, but the first report is interrupted before it is answered."""
        reports = []

        def interrupt(message):
            if message["t"] == "report":
                reports.append(message)
                if len(reports) == 1:
                    os.kill(os.getpid(), signal.SIGUSR1)
                    self.interrupted.wait(60)
            return answer(message)

        self.interrupted = threading.Event()
        self.addCleanup(self.interrupted.set)
        return interrupt

    def report_is_interrupted(self, reporter, error=Preempted):
        with self.assertRaises(error):
            reporter.report(loss=1)
        self.interrupted.set()

    def raises(self, error):
        def handler(*_):
            raise error
        self.on_signal(handler)

    def test_what_follows_gets_its_own_answer(self):
        self.raises(Preempted())
        reporter, fake = self.reporter(self.interrupting(self.saving))
        self.report_is_interrupted(reporter)
        with reporter.save(7) as directory:
            self.assertEqual(directory, self.temporary)
        self.assertEqual(reporter.saved, "/r/checkpoint_000007")
        self.assertTrue(reporter.report(loss=2))
        self.assertEqual([message.get("seq") for message in self.messages(reporter, fake)],
                         [None, 1, None, None, 2])

    def test_a_stop_that_nobody_read_refuses_no_checkpoint(self):
        self.raises(Preempted())

        def answer(message):
            return {"t": "stop"} if message["t"] == "report" else self.saving(message)

        reporter, _ = self.reporter(self.interrupting(answer))
        self.report_is_interrupted(reporter)
        with reporter.save(7):
            pass
        self.assertEqual(reporter.saved, "/r/checkpoint_000007")

    def test_a_handlers_own_timeout_does_not_break_the_channel(self):
        self.raises(TimeoutError("too slow"))
        reporter, _ = self.reporter(self.interrupting(obliging))
        self.report_is_interrupted(reporter, TimeoutError)
        self.assertTrue(reporter.report(loss=1))

    def test_a_line_that_was_cut_off_is_finished(self):
        self.raises(Preempted())
        logged, reads = threading.Event(), threading.Event()
        self.addCleanup(reads.set)

        def answer(message):
            if message["t"] == "log":
                logged.set()
                reads.wait(60)
            return obliging(message)

        reporter, fake = self.reporter(answer)
        reporter.log("from here on nobody reads")
        self.assertTrue(logged.wait(60))

        def interrupt():
            # Not before the socket is full of it.
            while not fake.is_full():
                pass
            os.kill(os.getpid(), signal.SIGUSR1)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with self.assertRaises(Preempted):
            reporter.report({"x" * 900000: 1})
        thread.join()
        reads.set()
        self.assertTrue(reporter.report(loss=1))
        reports = [message for message in self.messages(reporter, fake) if message["t"] == "report"]
        self.assertEqual([len(list(message["m"])[0]) for message in reports], [900000, 4])

    def test_interrupted_anywhere_it_goes_on(self):
        armed = [False]
        interrupted = [0]

        def handler(*_):
            if armed[0]:
                interrupted[0] += 1
                raise Preempted

        self.on_signal(handler)
        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        reporter, fake = self.reporter(self.saving)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        while interrupted[0] < 200:
            try:
                armed[0] = True
                while True:
                    reporter.report(loss=1, text="x" * 5000)
                    reporter.log("a line")
            except Preempted:
                armed[0] = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        with reporter.save(7):
            pass
        self.assertEqual(reporter.saved, "/r/checkpoint_000007")
        self.assertTrue(reporter.report(loss=2))
        self.messages(reporter, fake)  # Whole lines, all of them.

    def test_a_handler_that_calls_hears_that_it_must_not(self):
        heard = []

        def handler(*_):
            for call in (lambda: reporter.report(loss=1), lambda: reporter.save().__enter__(),
                         lambda: reporter.barrier("a")):
                try:
                    call()
                except yard.Error as error:
                    heard.append(str(error))
            self.interrupted.set()

        self.on_signal(handler)
        reporter, fake = self.reporter(self.interrupting(obliging))
        self.assertTrue(reporter.report(loss=1))
        self.assertEqual(len(heard), 3)
        for text in heard:
            self.assertIn("a signal handler has interrupted a call of this thread", text)
        self.assertEqual([message["t"] for message in self.messages(reporter, fake)],
                         ["hello", "report"])


class ErrorTest(YardTest):

    def breaks(self, answer, pattern, **kwargs):
        reporter, _ = self.reporter(after_welcome(answer), **kwargs)
        with self.assertRaisesRegex(yard.Error, pattern):
            reporter.report(a=1)
        with self.assertRaisesRegex(yard.Error, pattern):
            reporter.report(a=1)
        with self.assertRaisesRegex(yard.Error, pattern):
            reporter.heartbeat()

    def costs_only_its_report(self, answer, pattern):
        reporter, _ = self.reporter(
            lambda message: answer if message.get("seq") == 1 else obliging(message))
        with self.assertRaisesRegex(yard.Error, pattern) as raised:
            reporter.report(a=1)
        self.assertTrue(reporter.report(a=2))
        return raised.exception

    def test_an_error_costs_only_its_report(self):
        error = self.costs_only_its_report(
            {"t": "error", "code": "INVALID_ARGUMENT", "error": "bad tag"},
            "^INVALID_ARGUMENT: bad tag$")
        self.assertEqual(error.code, "INVALID_ARGUMENT")
        self.costs_only_its_report({"t": "error"}, "did not say which")

    def test_an_answer_of_an_unknown_kind_costs_only_its_report(self):
        self.costs_only_its_report({"t": "dance"}, "unknown kind.*dance")
        self.costs_only_its_report({"t": ["ok"]}, "unknown kind")

    def test_a_line_that_is_too_long_is_refused_and_costs_only_itself(self):
        reporter, fake = self.reporter()
        with self.assertRaisesRegex(yard.Error, "over the limit of 1048576"):
            reporter.report(a="x" * (1 << 20))
        with self.assertRaisesRegex(yard.Error, "over the limit of 1048576"):
            reporter.log("x" * (1 << 20))
        self.assertTrue(reporter.report(a=1))
        self.assertEqual([m.get("seq") for m in self.messages(reporter, fake)], [None, 1])

    def test_a_yard_that_hangs_up_is_an_error(self):
        self.breaks(HANG_UP, "the yard closed the report channel")

    def test_garbage_breaks_the_channel(self):
        for garbage in (b"what?\n", b"\n", b"[]\n", b"7\n", b'{"t":"ok"\n', b"\xff\xfe\n",
                        b"[" * 100000 + b"\n"):
            with self.subTest(garbage=garbage[:10]):
                self.breaks(garbage, "not JSON")

    def test_the_answer_to_another_report_breaks_the_channel(self):
        self.breaks({"t": "ok", "seq": 9}, "answered report 9 instead of 1")

    def test_an_answer_that_is_too_long_breaks_the_channel(self):
        self.breaks(b"x" * (2 << 20) + b"\n", "longer than 1048576")

    def test_a_timeout_breaks_the_channel(self):
        reporter, _ = self.reporter(after_welcome(None))
        reporter._timeout = 0.02
        for _ in range(2):
            with self.assertRaisesRegex(yard.Error, "within 0.02 s"):
                reporter.report()

    def test_a_second_reporter_hears_the_error(self):
        with self.assertRaisesRegex(yard.Error, "another one reports"):
            self.reporter(lambda _: {"t": "error", "error": "another one reports"})

    def test_garbage_in_place_of_a_welcome_is_an_error(self):
        with self.assertRaisesRegex(yard.Error, "HTTP/1.1 400"):
            self.reporter(lambda _: b"HTTP/1.1 400 Bad Request\n")

    def test_a_yard_that_is_gone_raises_no_signal(self):
        before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        self.addCleanup(signal.signal, signal.SIGPIPE, before)
        ours, theirs = socket.socketpair()
        theirs.close()
        with ours, self.assertRaisesRegex(yard.Error, "report channel"):
            yard.Reporter(fd="%d:%d" % (ours.fileno(), os.fstat(ours.fileno()).st_ino))

    def test_a_closed_reporter_says_so(self):
        reporter, _ = self.reporter()
        reporter.close()
        with self.assertRaisesRegex(yard.Error, "is closed"):
            reporter.report()


class ContextTest(YardTest):

    def fails_with(self, error):
        reporter, fake = self.reporter()
        with self.assertRaises(type(error)) as raised:
            with reporter:
                raise error
        self.assertIs(raised.exception, error)
        fake.finish()
        return [m["error"] for m in fake.messages if m["t"] == "fail"]

    def test_an_exception_tells_the_yard_and_passes(self):
        self.assertEqual(self.fails_with(ValueError("bad lr")), ["ValueError: bad lr"])
        self.assertEqual(self.fails_with(KeyboardInterrupt()), ["KeyboardInterrupt"])
        self.assertEqual(self.fails_with(SystemExit(3)), ["SystemExit: 3"])

    def test_a_clean_exit_is_no_failure(self):
        self.assertEqual(self.fails_with(SystemExit()), [])
        self.assertEqual(self.fails_with(SystemExit(0)), [])

    def test_an_end_without_exception_is_no_failure(self):
        reporter, fake = self.reporter()
        with reporter as same:
            same.report(a=1)
        fake.finish()
        self.assertEqual([m["t"] for m in fake.messages], ["hello", "report"])

    def test_an_exception_passes_a_broken_channel(self):
        reporter, _ = self.reporter(after_welcome(HANG_UP))
        with self.assertRaises(yard.Error), reporter:
            reporter.report()
        reporter, fake = self.reporter()
        with self.assertRaises(ZeroDivisionError), reporter:
            fake._end.shutdown(socket.SHUT_RDWR)
            1 / 0


class Kind(enum.Enum):
    ADAM = 1


@dataclasses.dataclass
class Settings:
    lr: float
    path: pathlib.Path
    inner: object = None


class Matrix:
    """As a NumPy array, which is a number if it has one element."""

    def item(self):
        raise ValueError("can only convert an array of size 1")

    def tolist(self):
        return [[1, 2], [3, 4]]


class Flags:
    """As absl.flags.FLAGS."""

    def flag_values_dict(self):
        return {"lr": 0.5, "help": False}


def taking_all(message):
    return {"t": "ok", "events": []} if message["t"] in ("config", "annotate") else obliging(message)


class ConfigTest(YardTest):

    def updated(self, *args, **kwargs):
        """The members that are sent."""
        reporter, fake = self.reporter(taking_all)
        reporter.config_update(*args, **kwargs)
        sent = self.messages(reporter, fake)[1:]
        self.assertEqual([message["t"] for message in sent], ["config"])
        self.assertEqual(reporter.config, sent[0]["c"])
        return sent[0]["c"]

    def test_of_each_kind(self):
        for config in ({"lr": 0.5}, argparse.Namespace(lr=0.5), types.SimpleNamespace(lr=0.5),
                       types.MappingProxyType({"lr": 0.5})):
            self.assertEqual(self.updated(config), {"lr": 0.5})
        self.assertEqual(self.updated(Settings(0.5, pathlib.Path("/data"), Settings(1, pathlib.Path("a")))),
                         {"lr": 0.5, "path": "/data", "inner": {"lr": 1, "path": "a", "inner": None}})
        self.assertEqual(self.updated(Flags()), {"lr": 0.5, "help": False})
        self.assertEqual(self.updated({"lr": 1, "b": 2}, lr=0.5), {"lr": 0.5, "b": 2})
        self.assertEqual(self.updated(lr=0.5), {"lr": 0.5})

    def test_values_that_json_lacks_become_text(self):
        self.assertEqual(
            self.updated({"kind": Kind.ADAM, "class": Settings, "function": obliging, "set": {3, 1}, "tuple": (1, 2),
                          "number": NumberLike(4), "array": array.array("d", [1, 2]),
                          "matrix": Matrix(), 7: {"a": [{"b": Kind.ADAM}]},
                          "none": None, "other": decimal.Decimal("0.5"),
                          "settings": [Settings(1, pathlib.Path("/"))], "object": FloatLike(), "b": b"x"}),
            {"kind": "ADAM", "class": "Settings", "function": "obliging", "set": [1, 3], "tuple": [1, 2],
             "number": 4, "array": [1.0, 2.0], "matrix": [[1, 2], [3, 4]], "7": {"a": [{"b": "ADAM"}]}, "none": None, "other": 0.5,
             "settings": [{"lr": 1, "path": "/", "inner": None}], "object": 0.25, "b": "b'x'"})

    def test_numbers_that_json_lacks_become_text(self):
        added = self.updated({"nan": math.nan, "net": [math.inf, {"low": -math.inf}], "array": array.array("d", [math.nan, 1]),
                              "like": NumberLike(math.nan)})
        self.assertEqual(added, {"nan": "nan", "net": ["inf", {"low": "-inf"}], "array": ["nan", 1.0], "like": "nan"})

    def test_a_configuration_of_all_levels_is_sent(self):
        deep = 1
        for _ in range(32):
            deep = {"a": deep}
        self.assertEqual(self.updated(deep), deep)

    def test_a_later_value_replaces_the_one_before(self):
        reporter, _ = self.reporter(lambda message: dict(WELCOME, config={"lr": 1, "net": {"a": 1}})
                                    if message["t"] == "hello" else taking_all(message))
        reporter.config_update({"net": {"b": 2}})
        self.assertEqual(reporter.config, {"lr": 1, "net": {"b": 2}})

    def test_what_is_refused_changes_nothing(self):
        reporter, _ = self.reporter(after_welcome({"t": "error", "code": "INVALID_ARGUMENT", "error": "too much"}))
        with self.assertRaisesRegex(yard.Error, "too much"):
            reporter.config_update(lr=1)
        self.assertEqual(reporter.config, {})
        for wrong in (3, [1], "text", Settings):
            with self.assertRaisesRegex(TypeError, "cannot be a (int|list|str|type)"):
                reporter.config_update(wrong)
        deep = {}
        deep["deep"] = deep
        with self.assertRaisesRegex(yard.Error, "^INVALID_ARGUMENT: the configuration has more than 32 levels$") as caught:
            reporter.config_update(deep)
        self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
        with self.assertRaisesRegex(yard.Error, "over the limit"):
            reporter.config_update(text="x" * (1 << 20))

    def test_by_hand_it_is_printed_as_no_report(self):
        out = io.StringIO()
        with yard.Reporter(fd="", path="", out=out) as reporter:
            reporter.config_update(argparse.Namespace(lr=0.5))
            reporter.set(labels="base", note="two\nlines")
        self.assertEqual(out.getvalue(), 'config: {"lr":0.5}\nset: {"labels":["base"],"note":"two\\nlines"}\n')
        self.assertEqual(reporter.config, {"lr": 0.5})


class SetTest(YardTest):

    def test_says_what_is_asked_for(self):
        reporter, fake = self.reporter(taking_all)
        reporter.set(labels=["a", "b"], note="", name="n", remove_labels="c")
        reporter.set("a")
        reporter.set(note="n")
        self.assertEqual(self.messages(reporter, fake)[1:], [
            {"t": "annotate", "labels": ["a", "b"], "remove_labels": ["c"], "note": "", "name": "n"},
            {"t": "annotate", "labels": ["a"]},
            {"t": "annotate", "labels": [], "note": "n"}])

    def test_what_is_refused_is_an_error(self):
        reporter, _ = self.reporter(after_welcome({"t": "error", "code": "INVALID_ARGUMENT", "error": "it is empty"}))
        with self.assertRaisesRegex(yard.Error, "it is empty") as caught:
            reporter.set(labels=[""])
        self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")


class BarrierTest(YardTest):

    def test_says_what_it_waits_for_and_which_place_it_has(self):
        reporter, fake = self.reporter(after_welcome({"t": "ok", "index": 2}))
        self.assertEqual(reporter.barrier("epoch-1", tasks=["worker", "ps-0"], timeout=1.5), 2)
        self.assertEqual(reporter.barrier("epoch-2"), 2)
        self.assertEqual(self.messages(reporter, fake)[1:], [
            {"t": "barrier", "name": "epoch-1", "tasks": ["worker", "ps-0"], "timeout_s": 1.5},
            {"t": "barrier", "name": "epoch-2"}])

    def test_a_broken_one_is_an_error_with_its_code(self):
        broken = {"t": "error", "code": "DEADLINE_EXCEEDED", "error": "worker-1 did not come"}
        reporter, _ = self.reporter(after_welcome(broken))
        with self.assertRaisesRegex(yard.Error, "worker-1 did not come") as caught:
            reporter.barrier("a")
        self.assertEqual(caught.exception.code, "DEADLINE_EXCEEDED")
        with self.assertRaises(yard.Error):
            reporter.barrier("b")  # It costs only itself.

    def test_other_answers_are_errors(self):
        for answer in ({"t": "welcome"}, b"no json\n"):
            with self.subTest(answer):
                reporter, _ = self.reporter(after_welcome(answer))
                with self.assertRaises(yard.Error):
                    reporter.barrier("a")

    def test_has_no_time_limit_of_its_own(self):
        came = threading.Event()

        def late(message):
            if message["t"] == "barrier":
                came.wait(60)
                return {"t": "ok", "index": 0}
            return obliging(message)

        reporter, _ = self.reporter(late, answer_timeout=0.05)
        timer = threading.Timer(0.2, came.set)
        timer.start()
        self.addCleanup(timer.join)
        self.assertEqual(reporter.barrier("a"), 0)

    def test_works_in_a_task_that_is_no_trial(self):
        def no_trial(message):
            if message["t"] == "barrier":
                return {"t": "ok", "index": 1}
            return {"t": "error", "code": "FAILED_PRECONDITION", "error": "this task is no trial"}

        with FakeYard(no_trial) as fake, contextlib.redirect_stderr(io.StringIO()):
            with yard.Reporter(fd=fake.spec, path="", out=io.StringIO()) as reporter:
                self.assertFalse(reporter.connected)
                self.assertEqual(reporter.barrier("a"), 1)
                self.assertTrue(reporter.report(loss=1))
            fake.finish()

    def test_without_a_yard_it_waits_for_nobody(self):
        self.assertEqual(yard.Reporter(fd="", path="").barrier("a"), 0)


class OtherVersionTest(YardTest):
    """A yard that is older or newer than this file."""

    @staticmethod
    def first_version(message):
        """Knows hello, report, log, hb and fail."""
        if message["t"] == "hello":
            return {"t": "welcome", "config": {"lr": 1}, "checkpoint": None, "iteration": 0}
        if message["t"] == "report":
            return {"t": "ok", "seq": message["seq"]}
        if message["t"] in ("log", "hb", "fail"):
            return None
        return {"t": "error", "code": "INVALID_ARGUMENT",
                "error": 'no kind of line is called "%s"' % message["t"]}

    def test_what_an_older_one_does_not_know_is_an_error_that_costs_only_itself(self):
        reporter, fake = self.reporter(self.first_version)
        self.assertEqual(reporter.config, {"lr": 1})
        for call in (lambda: reporter.save().__enter__(), lambda: reporter.barrier("a")):
            with self.assertRaisesRegex(yard.Error, "no kind of line is called") as raised:
                call()
            self.assertEqual(raised.exception.code, "INVALID_ARGUMENT")
        reply = reporter.report(loss=1)
        self.assertTrue(reply)
        self.assertEqual(reply.events, [])
        self.assertEqual([message["t"] for message in self.messages(reporter, fake)],
                         ["hello", "ckpt_begin", "barrier", "report"])

    def test_what_a_newer_one_says_besides_is_ignored(self):
        def newer(message):
            if message["t"] == "hello":
                return {"t": "welcome", "v": 9, "config": {"lr": 1}, "checkpoint": "/c", "iteration": 3,
                        "cluster": {"worker": 3}, "advice": [None]}
            if message.get("seq") == 1:
                return {"t": "ok", "seq": 1, "events": [2], "stored": {"row": 1}}
            return {"t": "stop", "seq": 2, "reason": "preempted", "grace_s": 5, "by": "somebody"}

        reporter, _ = self.reporter(newer)
        self.assertEqual((reporter.config, reporter.checkpoint, reporter.iteration),
                         ({"lr": 1}, "/c", 3))
        self.assertEqual(reporter.report(loss=1).events, [2])
        reply = reporter.report(loss=1)
        self.assertEqual((reply.stop, reply.reason, reply.grace_s), (True, "preempted", 5))


class OutsideTest(unittest.TestCase):

    def test_in_a_task_that_is_no_trial_it_prints(self):
        answer = {"t": "error", "code": "FAILED_PRECONDITION", "error": "this task is no trial"}
        out = io.StringIO()
        with FakeYard(lambda _: answer) as fake:
            with contextlib.redirect_stderr(io.StringIO()) as note:
                with yard.Reporter(fd=fake.spec, out=out) as reporter:
                    self.assertFalse(reporter.connected)
                    self.assertTrue(reporter.report(loss=1))
            fake.finish()
            self.assertEqual(len(fake.messages), 1)
        self.assertEqual(out.getvalue(), "loss=1\n")
        self.assertIn("this task is no trial", note.getvalue())

    def test_prints_without_a_yard(self):
        out = io.StringIO()
        with yard.Reporter(fd="", path="", out=out) as reporter:
            self.assertFalse(reporter.connected)
            self.assertTrue(reporter.report(loss=0.1, a=math.nan, step=4, b=NumberLike(1)))
            reporter.log("a line")
            reporter.heartbeat()
        self.assertEqual(out.getvalue(), "step=4 loss=0.1 a=NaN b=1\na line\n")
        self.assertEqual(reporter.config, {})

    def starting(self, config, answer=None):
        """A reporter that is told where to start by the environment, and by the yard's `answer`."""
        directory = tempfile.mkdtemp(prefix="sdk", dir="/tmp")
        self.addCleanup(shutil.rmtree, directory)
        path = os.path.join(directory, "params.json")
        with open(path, "w") as file:
            file.write(config)
        said = {"YARD_CONFIG": path, "YARD_CHECKPOINT": "/r/checkpoint_000004"}
        with unittest.mock.patch.dict(os.environ, said), contextlib.redirect_stderr(io.StringIO()):
            if answer is None:
                return yard.Reporter(fd="", path="")
            fake = FakeYard(lambda _: answer)
            self.addCleanup(fake.__exit__)
            reporter = yard.Reporter(fd=fake.spec, path="")
            self.addCleanup(reporter.close)
            return reporter

    def test_where_no_trainer_says_it_the_environment_says_what_to_start_from(self):
        no_trial = {"t": "error", "code": "FAILED_PRECONDITION", "error": "this task is no trial"}
        for answer in (None, no_trial, {"t": "stop"}):
            with self.subTest(answer):
                reporter = self.starting(' {"lr": 0.5}\n', answer)
                self.assertEqual(reporter.config, {"lr": 0.5})
                self.assertEqual(reporter.checkpoint, "/r/checkpoint_000004")
                self.assertEqual(reporter.iteration, 0)

    def test_a_trainers_welcome_counts(self):
        reporter = self.starting('{"lr": 0.5}', WELCOME)
        self.assertEqual((reporter.config, reporter.checkpoint), ({}, None))

    def test_a_configuration_that_cannot_be_read_is_an_error_that_names_it(self):
        for config in ("[1]", '{"lr":', "", " " * (5 << 20) + "{}"):
            with self.assertRaisesRegex(yard.Error, "params.json: it is not a JSON object"):
                self.starting(config)
        with unittest.mock.patch.dict(os.environ, {"YARD_CONFIG": "/r/none.json"}):
            with self.assertRaisesRegex(yard.Error, "/r/none.json: No such file"):
                yard.Reporter(fd="", path="")

    def test_a_descriptor_that_became_another_file_is_not_used(self):
        ours, theirs = socket.socketpair()
        with ours, theirs, tempfile.TemporaryFile() as file:
            fd, inode = ours.fileno(), os.fstat(ours.fileno()).st_ino
            for spec in ("%d:%d" % (fd, inode + 1), "%d" % fd, "%d:" % fd, "%d:x" % fd, ":", "x:1",
                         "-1:1", "1000000:1", "9" * 30 + ":1", "%d:%d:" % (fd, inode),
                         "%d:%d" % (file.fileno(), os.fstat(file.fileno()).st_ino)):
                with self.subTest(spec=spec):
                    self.assertFalse(yard.Reporter(fd=spec, path="").connected)

    def test_leaves_an_inherited_descriptor_open_and_private(self):
        with FakeYard() as fake:
            os.set_inheritable(fake.fd, True)
            yard.Reporter(fd=fake.spec).close()
            self.assertFalse(os.get_inheritable(fake.fd))

    def test_speaks_the_same_protocol_by_path(self):
        with FakeYard(listen=True) as fake:
            with yard.Reporter(fd="3:1", path=fake.path) as reporter:
                self.assertTrue(reporter.report(loss=1))
            fake.finish()
            self.assertEqual([m["t"] for m in fake.messages], ["hello", "report"])

    def test_takes_the_tested_descriptor_first(self):
        with FakeYard() as fake, FakeYard(listen=True) as other:
            with yard.Reporter(fd=fake.spec, path=other.path) as reporter:
                reporter.report()
            fake.finish()
            self.assertEqual(len(fake.messages), 2)

    def test_a_path_where_nobody_listens_is_an_error_that_names_it(self):
        for path in ("/tmp/nobody-listens-here", "/" + "x" * 200):
            with self.assertRaisesRegex(yard.Error, path):
                yard.Reporter(fd="", path=path)


class ProgramTest(unittest.TestCase):
    """A program of its own, started as the yard starts one."""

    def command(self, *body):
        return [sys.executable, "-c", "import sys; sys.path.insert(0, %r)\nimport yard\n%s" % (
            _HERE, "\n".join(body))]

    def test_finds_the_channel_on_descriptor_3(self):
        with FakeYard() as fake:
            result = fake.run(self.command("print(bool(yard.Reporter().report(a=1)))"))
            self.assertEqual((result.returncode, result.stdout), (0, "True\n"), result.stderr)
            self.assertEqual(len(fake.reports()), 1)

    def test_finds_the_channel_by_path(self):
        with FakeYard(listen=True) as fake:
            result = fake.run(self.command("yard.Reporter().report(a=1)"))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(len(fake.reports()), 1)

    def test_a_child_that_lost_the_descriptor_prints(self):
        inner = self.command("yard.Reporter().report(a=1)")
        with FakeYard() as fake:
            result = fake.run(self.command("import subprocess", "subprocess.run(%r)" % inner))
            self.assertEqual((result.stdout, fake.messages), ("a=1\n", []), result.stderr)

    def test_an_uncaught_exception_reaches_the_yard(self):
        with FakeYard() as fake:
            result = fake.run(self.command("with yard.Reporter() as r:", "    r.report(a=1/0)"))
            self.assertEqual(result.returncode, 1)
            self.assertEqual(fake.messages[1],
                             {"t": "fail", "error": "ZeroDivisionError: division by zero"})

    def test_a_forked_child_does_not_fail_its_parent(self):
        with FakeYard() as fake:
            result = fake.run(self.command(
                "import os", "with yard.Reporter() as r:", "    child = os.fork()",
                "    if child == 0: sys.exit(1)", "    os.waitpid(child, 0)",
                "    r.report(a=1)"))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual([m["t"] for m in fake.messages], ["hello", "report"])

    def test_a_forked_child_that_reports_costs_its_parent_nothing(self):
        with FakeYard() as fake:
            result = fake.run(self.command(
                "import os", "r = yard.Reporter()", "child = os.fork()",
                "if child == 0:",
                "    for call in (lambda: r.report(b=1), lambda: r.log('x'), lambda: r.barrier('x'),",
                "                 lambda: r.save().__enter__(), yard.Reporter):",
                "        try: call()",
                "        except yard.Error as error: print(error, flush=True)",
                "    r.close()",
                "    os._exit(0)",
                "os.waitpid(child, 0)", "r.report(a=1)", "r.close()", "yard.Reporter().report(a=2)"))
            self.assertEqual(result.returncode, 0, result.stderr)
            lines = result.stdout.splitlines()
            self.assertEqual(len(lines), 5, result.stdout)
            for line in lines:
                self.assertRegex(line, "that of process .*forked: report there")
            self.assertEqual([m["m"] for m in fake.reports()], [{"a": 1}, {"a": 2}])

    def test_another_rank_than_the_reporter_knows_what_it_is_to_do(self):
        answer = {"t": "error", "code": "FAILED_PRECONDITION", "trial": True,
                  "error": "rank 2 does not report: rank 0 does"}
        body = [
            "r = yard.Reporter()",
            "print(r.connected, r.config, r.checkpoint, r.iteration, bool(r.report(a=1)))",
            "try:",
            "    with r.save(): print('saves')",
            "except yard.Error as error: print(error)"]
        with tempfile.TemporaryDirectory() as directory, FakeYard(lambda _: answer) as fake:
            path = os.path.join(directory, "params.json")
            with open(path, "w") as file:
                file.write('{"lr": NaN}\n')
            environment = {"YARD_CONFIG": path, "YARD_CHECKPOINT": "/c", "YARD_ITERATION": "7"}
            result = fake.run(self.command(*body), env=environment)
        self.assertEqual(result.stdout.splitlines(), [
            "a=1", "False {'lr': nan} /c 7 True",
            "FAILED_PRECONDITION: rank 2 does not report: rank 0 does"], result.stderr)

    def test_a_rank_without_its_configuration_says_so(self):
        answer = {"t": "error", "code": "FAILED_PRECONDITION", "trial": True, "error": "rank 1"}
        with FakeYard(lambda _: answer) as fake:
            result = fake.run(self.command("yard.Reporter()"),
                              env={"YARD_CONFIG": "/none/params.json"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("cannot read the configuration /none/params.json", result.stderr)

    def test_prints_outside(self):
        result = subprocess.run(self.command("yard.Reporter().report(a=1)"), env=outside(),
                                stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (0, "a=1\n"))


if __name__ == "__main__":
    xml_runner.main()
