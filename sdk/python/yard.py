"""Report from a Python training program to the yard.

    import yard

    with yard.Reporter() as reporter:
        for epoch in range(1, 31):
            loss = train()
            if not reporter.report(loss=loss, step=epoch):
                break

One file, standard library only, Python 3.8 or later. Without a yard, and in a task that is no trial,
it prints what it is given and goes on, so that the same program runs by hand.
"""

import contextlib
import json
import operator
import os
import select
import shutil
import socket
import stat
import sys
import threading
import time
import traceback

__all__ = ["Error", "Reply", "Reporter"]

_MAX_LINE = 1 << 20  # Bytes; when sending, the newline counts too.
_NOBODY_COLLECTS = "FAILED_PRECONDITION"  # Answers hello in a task that is no trial.
_MAX_FAIL_TEXT = 64 << 10


class Error(RuntimeError):
    """A report was not stored. `code` is the yard's code for it, or None if it is not from the yard."""

    def __init__(self, message, code=None):
        super().__init__(message if code is None else "%s: %s" % (code, message))
        self.code = code


class Reply:
    """The answer to a report. True means go on; else save if need be and end within `grace_s`."""

    __slots__ = ("stop", "reason", "grace_s", "events")

    def __init__(self, stop=False, reason="", grace_s=0.0, events=()):
        self.stop = stop
        self.reason = reason  # "stop" or "pause"; empty when told to go on.
        self.grace_s = grace_s  # Seconds.
        self.events = list(events)  # What was sent to this run since its last report.

    def __bool__(self):
        return not self.stop

    def __repr__(self):
        return "Reply(stop=%r, reason=%r, grace_s=%r, events=%r)" % (
            self.stop, self.reason, self.grace_s, self.events)


class Reporter:
    """The report channel of this process; there can be one at a time.

    Any thread may call any method. `report` is in lock-step: it returns when the yard has stored
    the report and decided, however long that takes (while the yard's trainer is restarted it just
    takes longer; a yard that is gone for good closes the channel). `log` and `heartbeat` only wait
    while the socket is full.

    What goes wrong is raised as `Error`. A line over 1 MiB, and what the yard refuses, costs only
    itself. Everything else (the yard's end is gone, or does not speak the protocol) breaks the
    channel: every later call raises the same.

    Used as a context manager it tells the yard of an exception that leaves the block, and lets it
    pass.

    Args:
        fd: `N:INODE`; descriptor N is the channel if it is a socket with that inode. Default:
            $YARD_FD. (Launchers of launchers close it and give its number to another file.)
        path: of a unix socket that is the channel where `fd` is not. Default: $YARD_SOCKET.
        answer_timeout: seconds to wait for an answer; None, the default, means for ever. When it
            runs out the channel is broken.
        out: where reports are printed without a yard. Default: sys.stdout.

    Attributes:
        connected: False if nobody collects reports and they are printed.
        config: the run's configuration, a dict; on every rank of a cluster, as the next two.
        checkpoint: the directory of the checkpoint to start from, or None.
        iteration: how many reports of earlier attempts that checkpoint stands for.
        saved: the directory of the checkpoint that was saved last, or None.
    """

    def __init__(self, fd=None, path=None, answer_timeout=None, out=None):
        self.connected = False
        self.config = {}
        self.checkpoint = None
        self.iteration = 0
        self.saved = None
        self._out = out
        self._seq = 0
        self._buffer = b""
        self._broken = None
        self._in_trial = False  # Without being its reporter: not rank 0 of a cluster.
        self._pid = os.getpid()
        self._report_lock = threading.Lock()  # Held from a report to its answer.
        self._send_lock = threading.Lock()  # Held for a line. Taken after _report_lock.
        self._timeout = answer_timeout
        self._socket = _open(
            os.environ.get("YARD_FD", "") if fd is None else fd,
            os.environ.get("YARD_SOCKET", "") if path is None else path)
        if self._socket is not None:
            self.connected = True
            self._say_hello()

    def report(self, _metrics=None, *, step=None, done=False, **metrics):
        """Reports one row: numbers, strings, and mappings of them, by name. Returns a Reply.

        Names that are no Python words can be given as a mapping in the first argument. The yard
        draws curves over `step`, an integer; without one it counts reports. `done` marks the last
        report.
        """
        if step is not None:
            step = operator.index(step)
        row = dict(_metrics or {})
        twice = sorted(set(row) & set(metrics))
        if twice:
            raise ValueError("metric %s is given twice" % twice[0])
        row.update(metrics)
        if "" in row:
            raise ValueError("a metric has no name")
        if not self.connected:
            words = ["%s=%s" % (name, _encode(value)) for name, value in row.items()]
            self._print(" ".join(words if step is None else ["step=%d" % step] + words))
            self._seq += 1
            return Reply()
        with self._report_lock:
            message = {"t": "report", "m": row, "seq": self._seq + 1}
            if step is not None:
                message["step"] = step
            if done:
                message["done"] = True
            self._send(message)
            self._seq += 1
            return self._parse_answer(self._receive(), self._seq)

    @contextlib.contextmanager
    def save(self, step=None):
        """Saves a checkpoint: `with reporter.save() as directory:` write any files into it.

        At the end of the block the yard makes it permanent, in one step and safe from a crash, and
        `saved` is where it is. Left by an exception, the block saves nothing. `step` numbers it;
        without one it is the number of reports. Without a yard the directory is
        ./checkpoint_NUMBER. Only files and directories can be in it, no links. In a trial that is a
        cluster only rank 0 saves: it is an Error elsewhere.
        """
        if step is not None:
            step = operator.index(step)
        if not self.connected and not self._in_trial:
            directory = os.path.abspath("checkpoint_%06d" % (self._seq if step is None else step))
            os.makedirs(directory, exist_ok=True)
            yield directory
            self.saved = directory
            return
        begin = {"t": "ckpt_begin"}
        if step is not None:
            begin["step"] = step
        directory = self._ask_for_path(begin, "ckpt_dir")
        try:
            yield directory
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        _sync(directory)
        try:
            self.saved = self._ask_for_path({"t": "ckpt_end", "path": directory}, "ok")
        except Error:
            if self._broken is None:  # Else the yard may be about to keep it.
                shutil.rmtree(directory, ignore_errors=True)
            raise

    def barrier(self, name, tasks=None, timeout=None):
        """Waits until all tasks of this job have come to the barrier of that name.

        Returns in which place this one came, from 0. Without a yard that is 0, at once.

        Args:
            name: each time another one, or the same once all have passed.
            tasks: who must come, if not all: names ("worker-0") and types ("worker"); each of
                them has to name the same.
            timeout: seconds. When they are over the barrier is broken for all, and `Error.code` is
                DEADLINE_EXCEEDED; FAILED_PRECONDITION if somebody else broke it.
        """
        if self._socket is None:
            return 0
        message = {"t": "barrier", "name": name}
        if tasks is not None:
            message["tasks"] = list(tasks)
        if timeout is not None:
            message["timeout_s"] = timeout
        with self._report_lock:
            self._send(message)
            line = self._receive(patient=True)
        answer = _parse(line)
        if answer is None:
            raise self._break("the yard's answer is not JSON: " + _excerpt(line))
        if answer.get("t") == "error":
            raise Error(*_error_of(answer))
        if answer.get("t") != "ok":
            raise Error("the yard's answer is of an unknown kind: " + _excerpt(line))
        return _of_type(answer.get("index"), int, 0)

    def log(self, text):
        """Sends a line for the run's log. Not answered."""
        if not self.connected:
            self._print(str(text))
            return
        self._send({"t": "log", "text": str(text)})

    def heartbeat(self):
        """Says that the program is alive, for one that takes long between two reports."""
        if self.connected:
            self._send({"t": "hb"})

    def fail(self, error):
        """Says why the program fails; it should then exit with a status other than 0.

        Text over 64 KiB is cut. Without a yard it goes to standard error.
        """
        text = str(error)
        if not self.connected:
            print("failed: " + text, file=sys.stderr, flush=True)
            return
        cut = text.encode("utf-8", "replace")[:_MAX_FAIL_TEXT].decode("utf-8", "ignore")
        self._send({"t": "fail", "error": cut})

    def close(self):
        """Gives the channel up; later calls raise. Called at the end of a `with` block."""
        self._break("the report channel is closed")
        if self._socket is not None:
            self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        del trace
        # A child made by fork leaves the block too; the run is its parent's.
        if os.getpid() != self._pid:
            return False
        clean_exit = isinstance(error, SystemExit) and error.code in (None, 0)
        if error is not None and not clean_exit and self._broken is None:
            try:
                self.fail("".join(traceback.format_exception_only(kind, error)).strip())
            except Error:
                pass  # The exception that is on its way says more.
        if self._socket is not None:
            self.close()
        return False

    def _print(self, text):
        print(text, file=self._out or sys.stdout, flush=True)

    def _say_hello(self):
        self._send({"t": "hello", "v": 1, "pid": os.getpid()})
        line = self._receive()
        answer = _parse(line)
        kind = answer.get("t") if answer is not None else None
        if kind == "stop":
            return  # The first report is told so again.
        if kind == "error" and answer.get("code") == _NOBODY_COLLECTS:
            print("yard: reports are printed only: %s" % _error_of(answer)[0], file=sys.stderr,
                  flush=True)
            self.connected = False  # The channel still serves barriers.
            self._in_trial = answer.get("trial") is True
            if self._in_trial:
                self._read_environment()
            return
        if kind == "error":
            raise self._break(*_error_of(answer))
        if kind != "welcome":
            raise self._break("the yard answered hello with " + _excerpt(line))
        self.config = _of_type(answer.get("config"), dict, {})
        self.checkpoint = _of_type(answer.get("checkpoint"), str, None) or None
        self.iteration = _of_type(answer.get("iteration"), int, 0)

    def _read_environment(self):
        """What rank 0 has from its welcome."""
        path = os.environ.get("YARD_CONFIG", "")
        try:
            with open(path, encoding="utf-8") as file:
                self.config = _of_type(json.load(file), dict, {})
        except (OSError, ValueError, RecursionError) as error:
            raise self._break("cannot read the configuration %s: %s" % (path, error))
        self.checkpoint = os.environ.get("YARD_CHECKPOINT") or None
        iteration = os.environ.get("YARD_ITERATION", "")
        self.iteration = int(iteration) if iteration.isdecimal() else 0

    def _ask_for_path(self, message, kind):
        """The path in the answer to a line of a checkpoint."""
        with self._report_lock:
            self._send(message)
            line = self._receive()
        answer = _parse(line)
        if answer is None:
            raise self._break("the yard's answer is not JSON: " + _excerpt(line))
        if answer.get("t") == "error":
            raise Error(*_error_of(answer))
        if answer.get("t") == "stop":
            raise Error("nothing more can be saved: the run was told to stop and has saved since")
        path = _of_type(answer.get("path"), str, "")
        if answer.get("t") != kind or not path:
            raise Error("the yard's answer is of an unknown kind: " + _excerpt(line))
        return path

    def _parse_answer(self, line, seq):
        answer = _parse(line)
        if answer is None:
            raise self._break("the yard's answer is not JSON: " + _excerpt(line))
        kind = answer.get("t")
        if kind == "ok":
            if answer.get("seq") not in (None, seq):
                raise self._break("the yard answered report %.24s instead of %d" % (
                    json.dumps(answer["seq"]), seq))
            return Reply(events=_of_type(answer.get("events"), list, []))
        if kind == "stop":
            return Reply(
                stop=True,
                reason=_of_type(answer.get("reason"), str, "") or "stop",
                grace_s=_seconds(answer.get("grace_s")))
        if kind == "error":
            raise Error(*_error_of(answer))
        raise Error("the yard's answer is of an unknown kind: " + _excerpt(line))

    def _send(self, message):
        line = _encode(message).encode("utf-8", "replace") + b"\n"
        if len(line) > _MAX_LINE:
            raise Error("a line of %d bytes is over the limit of %d" % (len(line), _MAX_LINE))
        with self._send_lock:
            self._check()
            try:
                # No signal: Python ignores SIGPIPE, a program may not.
                rest = memoryview(line)
                while rest:
                    try:
                        rest = rest[self._socket.send(rest, socket.MSG_NOSIGNAL):]
                    except BlockingIOError:  # Another process made the socket non-blocking.
                        self._wait(select.POLLOUT, None)
            except OSError as error:
                raise self._break("cannot write to the report channel: %s" % error)

    def _receive(self, patient=False):
        self._check()
        limited = self._timeout is not None and not patient
        deadline = time.monotonic() + self._timeout if limited else None
        try:
            while b"\n" not in self._buffer and len(self._buffer) <= _MAX_LINE:
                if not self._wait(select.POLLIN, deadline):
                    raise self._break("no answer of the yard within %g s" % self._timeout)
                try:
                    got = self._socket.recv(1 << 16)
                except BlockingIOError:
                    continue
                if not got:
                    raise self._break("the yard closed the report channel")
                self._buffer += got
        except OSError as error:
            raise self._break("cannot read from the report channel: %s" % error)
        line, _, self._buffer = self._buffer.partition(b"\n")
        if len(line) > _MAX_LINE:
            raise self._break("an answer of the yard is longer than %d bytes" % _MAX_LINE)
        return line

    def _wait(self, event, deadline):
        """False if the deadline passed before the socket was ready."""
        poll = select.poll()
        poll.register(self._socket, event)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        return bool(poll.poll(left))

    def _check(self):
        if self._broken is not None:
            raise Error(*self._broken)

    def _break(self, message, code=None):
        if self._broken is None:
            self._broken = (message, code)
        return Error(*self._broken)


def _open(spec, path):
    """The channel's socket, or None if there is no yard."""
    fd = _inherited_socket(spec)
    if fd is not None:
        # A duplicate: its end does not close a descriptor that this process was given. Programs
        # started from here inherit neither.
        os.set_inheritable(fd, False)
        channel = socket.socket(fileno=os.dup(fd))
        channel.setblocking(True)
        return channel
    if not path:
        return None
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        channel.connect(path)
    except OSError as error:
        channel.close()
        raise Error("cannot connect to the yard at %s: %s" % (path, error))
    return channel


def _inherited_socket(spec):
    number, colon, inode = spec.partition(":")
    if not (colon and number.isdecimal() and inode.isdecimal()):
        return None
    try:
        status = os.fstat(int(number))
    except (OSError, OverflowError):
        return None
    if not stat.S_ISSOCK(status.st_mode) or status.st_ino != int(inode):
        return None
    return int(number)


def _sync(directory):
    """So that the yard, which syncs all of it again and serves others too, need not wait."""
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                fd = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                continue  # The yard says what is wrong with it.
            try:
                os.fsync(fd)
            except OSError:
                pass
            finally:
                os.close(fd)


def _encode(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value):
    """The Python number that a scalar of NumPy, PyTorch and others holds."""
    item = getattr(value, "item", None)
    if not callable(item):
        raise TypeError("a metric cannot be a %s" % type(value).__name__)
    return item()


def _parse(line):
    try:
        answer = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _of_type(value, kind, otherwise):
    return value if isinstance(value, kind) and not isinstance(value, bool) else otherwise


def _seconds(value):
    try:
        return max(0.0, float(_of_type(value, (int, float), 0)))
    except OverflowError:
        return 0.0


def _error_of(answer):
    code = _of_type(answer.get("code"), str, None)
    text = _of_type(answer.get("error"), str, "")
    if not code and not text:
        text = "the yard answered with an error and did not say which"
    return text, code or None


def _excerpt(line):
    text = ascii(line[:80].decode("utf-8", "replace"))
    return text + "..." if len(line) > 80 else text
