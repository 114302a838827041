"""Report from a Python training program to the yard.

    import yard

    with yard.Reporter() as reporter:
        for epoch in range(1, 31):
            loss = train()
            if not reporter.report(loss=loss, step=epoch):
                break

Standard library only, Python 3.8 or later; this file alone, copied as yard.py, works too. Without a
yard, and in a task that is no trial, it prints what it is given and goes on, so that the same program
runs by hand.
"""

from __future__ import annotations

import contextlib
import enum
import json
import math
import operator
import os
import select
import shutil
import signal
import socket
import stat
import sys
import threading
import time
import traceback
import types
from typing import (TYPE_CHECKING, Any, ContextManager, Dict, Iterable, Iterator, List, Mapping, Optional, TextIO, Tuple,
                    Type, TypeVar, Union)

if TYPE_CHECKING:
    from yard.attach import ActiveRun as ActiveRun, active as active, finish as finish, init as init
    from yard.reading import Event as Event, LogLine as LogLine, Media as Media, Point as Point, Run as Run
    from yard.reading import Scalars as Scalars, frame as frame, run as run, runs as runs
    from yard.reading import subscribe as subscribe, watch as watch

__all__ = ["Error", "Reply", "Reporter"]

# These names are those of other modules, each of which is imported when one of its names is used first.
_READING = ("Event", "LogLine", "Media", "Point", "Run", "Scalars", "frame", "run", "runs", "subscribe", "watch")
_ATTACHING = ("ActiveRun", "active", "finish", "init")

_MAX_LINE = 1 << 20  # Bytes; when sending, the newline counts too.
_NOBODY_COLLECTS = "FAILED_PRECONDITION"  # Answers hello in a task that is no trial.
_IS_OVER = "CANCELLED"  # Answers each line of an attached program whose trial was ended without it.
_MAX_FAIL_TEXT = 64 << 10
_MAX_CONFIG = 4 << 20
_HIGH_DESCRIPTOR = 100
_MAX_LEVELS = 32  # A configuration has no more levels of lists and objects.

_CANNOT_BE_SENT = (TypeError, ValueError, RecursionError)  # The errors that json raises.

_T = TypeVar("_T")


def __getattr__(name: str) -> Any:
    if name in _READING:
        from yard import reading
        return getattr(reading, name)
    if name in _ATTACHING:
        from yard import attach
        return getattr(attach, name)
    if name == "load_ipython_extension":  # %load_ext yard
        from yard import notebook
        return notebook.load_ipython_extension
    raise AttributeError("module 'yard' has no attribute %r" % name)


# The process that has a Reporter on the inherited socket, by the socket's inode. A forked child has
# it, too.
_owners: Dict[int, int] = {}


class Error(RuntimeError):
    """A report was not stored. `code` is the yard's code for it, or None if it is not from the yard."""

    code: Optional[str]

    def __init__(self, message: str, code: Optional[str] = None) -> None:
        super().__init__(message if code is None else "%s: %s" % (code, message))
        self.code = code


class Reply:
    """The answer to a report. True means go on; else save if need be and end within `grace_s`."""

    __slots__ = ("stop", "reason", "grace_s", "events")

    stop: bool
    reason: str  # "stop" or "pause"; empty when told to go on.
    grace_s: float  # Seconds.
    events: List[Any]  # Events sent to this run (`yard tell`) since its last report, in order.

    def __init__(self, stop: bool = False, reason: str = "", grace_s: float = 0.0,
                 events: Iterable[Any] = ()) -> None:
        self.stop = stop
        self.reason = reason
        self.grace_s = grace_s
        self.events = list(events)

    def __bool__(self) -> bool:
        return not self.stop

    def __repr__(self) -> str:
        return "Reply(stop=%r, reason=%r, grace_s=%r, events=%r)" % (
            self.stop, self.reason, self.grace_s, self.events)


class Reporter:
    """The report channel of this process; there can be one at a time.

    Any thread may call any method. A signal handler may raise an exception, whatever it interrupts;
    where it interrupts a call of its own thread it cannot make another one, which is an `Error`. So
    is a call in a child that was forked: the run is its parent's. `report` is in lock-step: it
    returns when the yard has stored the report and decided, however long that takes (while the
    yard's trainer is restarted it just takes longer; a yard that is gone for good closes the
    channel). `log` and `heartbeat` only wait while the socket is full.

    Failures are raised as `Error`. A line over 1 MiB, and one that the yard refuses, costs only
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
        config: the run's configuration, a dict, with what `config_update` has added. Where no
            trainer says it (by hand, or in a task that is not its trial's reporter) it is what the
            file $YARD_CONFIG holds, at most 4 MiB.
        checkpoint: the directory of the checkpoint to start from, or None. Where no trainer says it,
            it is $YARD_CHECKPOINT.
        iteration: how many reports of earlier attempts that checkpoint stands for.
        saved: the directory of the checkpoint that was saved last, or None.
        trial: the id of its trial, "t-...", or None.
        name: of the run, or None.
    """

    trial: Optional[str]
    name: Optional[str]
    connected: bool
    config: Dict[str, Any]
    checkpoint: Optional[str]
    iteration: int
    saved: Optional[str]

    def __init__(self, fd: Optional[str] = None, path: Optional[str] = None,
                 answer_timeout: Optional[float] = None, out: Optional[TextIO] = None) -> None:
        self.connected = False
        self.config = {}
        self.checkpoint = None
        self.iteration = 0
        self.saved = None
        self.trial = None
        self.name = None
        self._out = out
        self._seq = 0
        self._line = _Line(b"", 0, 0)  # The last one that was begun. By way of _send_lock.
        self._inbox: Tuple[int, List[bytes]] = (0, [])  # Answers that were read; what came since.
        self._broken: Optional[Tuple[str, Optional[str]]] = None
        self._in_trial = False  # Without being its reporter: not rank 0 of a cluster.
        self._pid = os.getpid()
        self._ask_lock = threading.Lock()  # Held from a question to its answer.
        self._asker: Optional[int] = None  # The thread that holds it.
        self._send_lock = threading.Lock()  # Held for a line. Taken after _ask_lock.
        self._sender: Optional[int] = None
        self._timeout = answer_timeout
        self._deadline: Optional[float] = None  # All waits end then: the process does.
        self._socket = _open(
            os.environ.get("YARD_FD", "") if fd is None else fd,
            os.environ.get("YARD_SOCKET", "") if path is None else path)
        self.connected = self._socket is not None
        self._take_channel()
        if not (self.connected and self._say_hello()):
            self.config = _read_config(os.environ.get("YARD_CONFIG", ""))
            self.checkpoint = os.environ.get("YARD_CHECKPOINT") or None
            iteration = os.environ.get("YARD_ITERATION", "")
            self.iteration = int(iteration) if iteration.isdecimal() else 0

    def report(self, _metrics: Optional[Mapping[str, Any]] = None, *, step: Optional[int] = None,
               done: bool = False, checkpoint: Union[None, str, "os.PathLike[str]"] = None,
               **metrics: Any) -> Reply:
        """Reports one row: numbers, strings, and mappings of them, by name. Returns a Reply.

        Names that are no Python words can be given as a mapping in the first argument. A value of
        an array library is a number if it has one element; a masked one is NaN. The yard draws
        curves over `step`, an integer; without one it counts reports. `done` marks the last report.

        `checkpoint` is a directory inside the run's ($YARD_LOGDIR), which becomes a checkpoint of
        this report, and `saved`; or `saved` itself, which then belongs to this report.
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
        directory = None if checkpoint is None else os.path.abspath(os.fspath(checkpoint))
        if not self.connected:
            try:
                words = ["%s=%s" % (name, _encode(value)) for name, value in row.items()]
            except _CANNOT_BE_SENT:
                _name_what_cannot_be_sent(row)
                raise
            self._print(" ".join(words if step is None else ["step=%d" % step] + words))
            self._seq += 1
            self.saved = directory or self.saved
            return Reply()
        message: Dict[str, Any] = {"t": "report", "m": row}
        if step is not None:
            message["step"] = step
        if done:
            message["done"] = True
        if directory is not None:
            message["ckpt"] = directory
        try:
            line = self._ask(message)
        except _CANNOT_BE_SENT:
            _name_what_cannot_be_sent(row)
            raise
        return self._parse_answer(line, message["seq"])

    @contextlib.contextmanager
    def save(self, step: Optional[int] = None) -> Iterator[str]:
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
        begin: Dict[str, Any] = {"t": "ckpt_begin"}
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

    def barrier(self, name: str, tasks: Optional[Iterable[str]] = None,
                timeout: Optional[float] = None) -> int:
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
        message: Dict[str, Any] = {"t": "barrier", "name": name}
        if tasks is not None:
            message["tasks"] = list(tasks)
        if timeout is not None:
            message["timeout_s"] = timeout
        line = self._ask(message, patient=True)
        answer = _parse(line)
        if answer is None:
            raise self._break("the yard's answer is not JSON: " + _excerpt(line))
        if answer.get("t") == "error":
            raise Error(*_error_of(answer))
        if answer.get("t") != "ok":
            raise Error("the yard's answer is of an unknown kind: " + _excerpt(line))
        return _of_type(answer.get("index"), int) or 0

    def config_update(self, config: object = None, **values: Any) -> None:
        """Adds to the run's configuration, or changes it: `reporter.config_update(vars(args))`.

        Returns once the yard has stored it: params.json has it from then on, and so have
        comparisons, queries and the next attempt of this run. A value replaces that of its name as
        a whole. Values that JSON does not have become text (a path, the name of an enum or a class,
        "nan", "inf").

        Args:
            config: a mapping, a dataclass, an argparse.Namespace, or what OmegaConf or absl.flags
                have. None: only `values`.
            values: more, by name.

        Raises:
            Error: the whole configuration would be over 512 KiB, 20,000 values, or 32 levels deep
                (INVALID_ARGUMENT; nothing has changed), or the yard is older than this call.
            TypeError: `config` is of another kind.
        """
        added = _config_from(config)
        added.update(_config_from(values))
        if not self.connected:
            self._print("config: " + _encode(added))
        else:
            self._ask_for_ok({"t": "config", "c": added})
        self.config.update(added)

    def set(self, labels: Union[str, Iterable[str]] = (), note: Optional[str] = None,
            name: Optional[str] = None, remove_labels: Union[str, Iterable[str]] = ()) -> None:
        """Labels the run, notes something about it, or gives it another name to be shown.

        Returns once the yard has stored it, as `yard set` and the page do.

        Args:
            labels: to add; one, or several. At most 64 in the end, of 256 bytes each.
            note: replaces the run's note; at most 4 KiB, empty for none.
            name: shown instead of the run's name, which stays; at most 256 bytes, empty for none.
            remove_labels: to take away, if they are there.
        """
        message: Dict[str, Any] = {"t": "annotate", "labels": _texts(labels)}
        if _texts(remove_labels):
            message["remove_labels"] = _texts(remove_labels)
        if note is not None:
            message["note"] = note
        if name is not None:
            message["name"] = name
        if self.connected:
            self._ask_for_ok(message)
        else:
            del message["t"]
            self._print("set: " + _encode(message))

    def log(self, text: object) -> None:
        """Sends a line for the trial's log, which `yard show` has. Not answered."""
        if not self.connected:
            self._print(str(text))
            return
        self._send({"t": "log", "text": str(text)})

    def heartbeat(self) -> None:
        """Says that the program is alive, for one that takes long between two reports."""
        if self.connected:
            self._send({"t": "hb"})

    def fail(self, error: object) -> None:
        """Says why the program fails; it should then exit with a status other than 0.

        Text over 64 KiB is cut. Without a yard it goes to standard error.
        """
        text = str(error)
        if not self.connected:
            print("failed: " + text, file=sys.stderr, flush=True)
            return
        cut = text.encode("utf-8", "replace")[:_MAX_FAIL_TEXT].decode("utf-8", "ignore")
        self._send({"t": "fail", "error": cut})

    def close(self) -> None:
        """Gives the channel up; later calls raise. Called at the end of a `with` block."""
        self._break("the report channel is closed")
        for inode in [inode for inode, pid in _owners.items() if inode == self._inode]:
            if _owners[inode] == os.getpid():
                del _owners[inode]
        if self._socket is not None:
            self._socket.close()

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[types.TracebackType]) -> None:
        del trace
        # A child made by fork leaves the block too; the run is its parent's.
        if os.getpid() != self._pid:
            return
        clean_exit = isinstance(error, SystemExit) and error.code in (None, 0)
        if error is not None and not clean_exit and self._broken is None:
            try:
                self.fail("".join(traceback.format_exception_only(kind, error)).strip())
            except Error:
                pass  # The exception that is on its way says more.
        if self._socket is not None:
            self.close()

    def _print(self, text: str) -> None:
        print(text, file=self._out or sys.stdout, flush=True)

    def _take_channel(self) -> None:
        self._inode = 0 if self._socket is None else os.fstat(self._socket.fileno()).st_ino
        owner = _owners.get(self._inode, self._pid)
        if owner != self._pid:
            raise self._break("the report channel is that of process %d, from which this one was "
                              "forked: report there" % owner)
        if self._socket is not None:
            _owners[self._inode] = self._pid

    def _say_hello(self) -> bool:
        """False if no trainer has said what to start from."""
        line = self._ask({"t": "hello", "v": 1, "pid": os.getpid()})
        answer = _parse(line)
        kind = answer.get("t") if answer is not None else None
        if answer is None or kind not in ("welcome", "stop", "error"):
            raise self._break("the yard answered hello with " + _excerpt(line))
        if kind == "welcome":
            self.config = _of_type(answer.get("config"), dict) or {}
            self.checkpoint = _of_type(answer.get("checkpoint"), str) or None
            self.iteration = _of_type(answer.get("iteration"), int) or 0
            self.trial = _of_type(answer.get("trial"), str) or None
            self.name = _of_type(answer.get("name"), str) or None
            return True
        if kind == "error":
            message, code = _error_of(answer)
            if code != _NOBODY_COLLECTS:
                raise self._break(message, code)
            print("yard: reports are printed only: " + message, file=sys.stderr, flush=True)
            self.connected = False  # The channel still serves barriers.
            self._in_trial = answer is not None and answer.get("trial") is True
        return False  # Told to stop: the first report is told so again.

    def _ask_for_ok(self, message: Dict[str, Any]) -> None:
        line = self._ask(message)
        answer = _parse(line)
        if answer is None:
            raise self._break("the yard's answer is not JSON: " + _excerpt(line))
        if answer.get("t") == "error":
            raise Error(*_error_of(answer))
        if answer.get("t") != "ok":
            raise Error("the yard's answer is of an unknown kind: " + _excerpt(line))

    def _ask_for_path(self, message: Dict[str, Any], kind: str) -> str:
        """The path in the answer to a line of a checkpoint."""
        line = self._ask(message)
        answer = _parse(line)
        if answer is None:
            raise self._break("the yard's answer is not JSON: " + _excerpt(line))
        if answer.get("t") == "error":
            raise Error(*_error_of(answer))
        if answer.get("t") == "stop":
            raise Error("nothing more can be saved: the run was told to stop and has saved since")
        path = _of_type(answer.get("path"), str)
        if answer.get("t") != kind or not path:
            raise Error("the yard's answer is of an unknown kind: " + _excerpt(line))
        return path

    def _parse_answer(self, line: bytes, seq: int) -> Reply:
        answer = _parse(line)
        if answer is None:
            raise self._break("the yard's answer is not JSON: " + _excerpt(line))
        kind = answer.get("t")
        if kind == "ok":
            if answer.get("seq") not in (None, seq):
                raise self._break("the yard answered report %.24s instead of %d" % (
                    json.dumps(answer["seq"]), seq))
            self.saved = _of_type(answer.get("path"), str) or self.saved
            return Reply(events=_of_type(answer.get("events"), list) or [])
        if kind == "stop":
            return Reply(
                stop=True,
                reason=_of_type(answer.get("reason"), str) or "stop",
                grace_s=_seconds(answer.get("grace_s")))
        if kind == "error" and answer.get("code") == _IS_OVER:
            return Reply(stop=True, reason="stop")
        if kind == "error":
            raise Error(*_error_of(answer))
        raise Error("the yard's answer is of an unknown kind: " + _excerpt(line))

    # A signal handler may raise an exception between any two steps of what follows. So each change
    # of what is known of the channel is one step, and a line that was cut off is finished by the
    # next call, which also passes over the answers that nobody has read.

    def _ask(self, message: Dict[str, Any], patient: bool = False) -> bytes:
        """The answer to a line. Threads take turns. Numbers a report."""
        self._check_caller()
        self._check_turn(self._ask_lock, self._asker)
        with self._turn(self._ask_lock):
            try:
                self._asker = threading.get_ident()
                is_report = message["t"] == "report"
                if is_report:
                    message["seq"] = self._seq + 1
                data = _line_of(message)
                if is_report:
                    self._seq += 1
                return self._receive(self._send_line(data, asks=True), patient)
            finally:
                self._asker = None

    def _send(self, message: Dict[str, Any]) -> None:
        """A line that is not answered."""
        self._check_caller()
        self._send_line(_line_of(message), asks=False)

    def _check_caller(self) -> None:
        if os.getpid() != self._pid:
            raise Error("this Reporter is that of process %d, from which this one was forked: "
                        "report there" % self._pid)

    def _check_turn(self, lock: threading.Lock, holder: Optional[int]) -> None:
        """Else the thread would wait for itself."""
        if holder == threading.get_ident() and lock.locked():
            raise Error("a signal handler has interrupted a call of this thread and makes another "
                        "one: let it set a flag, or raise an exception, and call after that")

    def _turn(self, lock: threading.Lock) -> ContextManager[Any]:
        return lock if self._deadline is None else _LockUntil(lock, self._deadline)

    def _send_line(self, data: bytes, asks: bool) -> int:
        """How many lines that want an answer have been sent with it."""
        self._check_turn(self._send_lock, self._sender)
        with self._turn(self._send_lock):
            try:
                self._sender = threading.get_ident()
                before = self._line
                if before.sent:
                    self._finish(before)
                asked = before.asked if before.sent else before.asked_before
                line = _Line(data, asked, asked + asks)
                self._line = line
                self._finish(line)
                return line.asked
            except OSError as error:
                if error.errno is None:  # It is a signal handler's, such as a TimeoutError.
                    raise
                raise self._break("cannot write to the report channel: %s" % error)
            finally:
                self._sender = None

    def _finish(self, line: _Line) -> None:
        channel = self._channel()
        while True:
            rest = memoryview(line.data)[sum(line.sent):]
            if not rest:
                return
            try:
                # One step: what was sent is known. (No signal: Python ignores SIGPIPE, a program
                # may not.)
                line.sent.extend(map(channel.send, (rest,), (socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT,)))
            except BlockingIOError:
                if not self._wait(select.POLLOUT, self._deadline):
                    raise self._break("the yard takes no lines, and the process ends")

    def _receive(self, number: int, patient: bool) -> bytes:
        """The answer of that number."""
        channel = self._channel()
        timeout = None if patient else self._timeout
        if self._deadline is not None:
            left = max(0.0, round(self._deadline - time.monotonic(), 1))
            timeout = left if timeout is None else min(left, timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            while True:
                read, pieces = self._inbox
                line, newline, rest = b"".join(pieces).partition(b"\n")
                if len(line) > _MAX_LINE:
                    raise self._break("an answer of the yard is longer than %d bytes" % _MAX_LINE)
                if newline:
                    self._inbox = (read + 1, [rest] if rest else [])
                    if read + 1 >= number:
                        return line
                    continue
                if not self._wait(select.POLLIN, deadline):
                    raise self._break("no answer of the yard within %s s" % timeout)
                try:
                    pieces.extend(map(channel.recv, (1 << 16,)))  # One step, too.
                except BlockingIOError:
                    continue
                if not pieces[-1]:
                    raise self._break("the yard closed the report channel")
        except OSError as error:
            if error.errno is None:
                raise
            raise self._break("cannot read from the report channel: %s" % error)

    def _wait(self, event: int, deadline: Optional[float]) -> bool:
        """False if the deadline passed before the socket was ready."""
        poll = select.poll()
        poll.register(self._channel(), event)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        return bool(poll.poll(left))

    def _channel(self) -> socket.socket:
        if self._broken is not None:
            raise Error(*self._broken)
        assert self._socket is not None
        return self._socket

    def _break(self, message: str, code: Optional[str] = None) -> Error:
        if self._broken is None:
            self._broken = (message, code)
        return Error(*self._broken)


def _register_faulthandler() -> None:
    """In a task of a yard: a crash prints its stack, and `yard show --stacks` can ask for all stacks.

    It sends the signal that the name of a file without a path has, and reads that file.
    """
    in_task = any(name in os.environ for name in ("YARD_TRIAL_ID", "YARD_JOB_ID", "YARD_FD"))
    if not in_task or not hasattr(os, "memfd_create"):
        return
    try:
        import faulthandler
        import fcntl
        if not faulthandler.is_enabled():
            faulthandler.enable()
        number = int(signal.SIGRTMIN) + 20
        lowest = os.memfd_create("yard-stacks-%d" % number)
        # Programs expect the low numbers for files of their own, and 3 for the channel.
        file = fcntl.fcntl(lowest, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR)
        os.close(lowest)
        fcntl.fcntl(file, fcntl.F_SETFL, os.O_RDWR | os.O_APPEND)
        faulthandler.register(number, file=file, all_threads=True, chain=False)
    except (ImportError, OSError, RuntimeError, ValueError, AttributeError):
        pass  # It is no reason not to train.


class _LockUntil:
    """A lock that is waited for until a deadline."""

    def __init__(self, lock: threading.Lock, deadline: float) -> None:
        self._lock = lock
        self._deadline = deadline

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=max(0.0, self._deadline - time.monotonic())):
            raise Error("another thread waits for the yard, and the process ends")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class _Line:
    """A line on its way to the yard."""

    __slots__ = ("data", "sent", "asked_before", "asked")

    def __init__(self, data: bytes, asked_before: int, asked: int) -> None:
        self.data = data
        self.sent: List[int] = []  # Bytes of each send().
        self.asked_before = asked_before  # Lines that want an answer and were sent before it.
        self.asked = asked  # And with it.


def _line_of(message: Dict[str, Any]) -> bytes:
    line = _encode(message).encode("utf-8", "replace") + b"\n"
    if len(line) > _MAX_LINE:
        raise Error("a line of %d bytes is over the limit of %d" % (len(line), _MAX_LINE))
    return line


def _open(spec: str, path: str) -> Optional[socket.socket]:
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


def _inherited_socket(spec: str) -> Optional[int]:
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


def _read_config(path: str) -> Dict[str, Any]:
    if not path:
        return {}
    try:
        with open(path, "rb") as file:
            text = file.read(_MAX_CONFIG + 1)
    except OSError as error:
        raise Error("cannot read the configuration %s: %s" % (path, error.strerror))
    config = _parse(text) if len(text) <= _MAX_CONFIG else None
    if config is None:
        raise Error("cannot read the configuration %s: it is not a JSON object of at most 4 MiB" % path)
    return config


def _texts(words: Union[str, Iterable[str]]) -> List[str]:
    return [words] if isinstance(words, str) else list(words)


def _config_from(config: object) -> Dict[str, Any]:
    """Only what JSON has, by name."""
    values = config
    omegaconf = sys.modules.get("omegaconf")
    if config is None:
        return {}
    if omegaconf is not None and omegaconf.OmegaConf.is_config(config):
        values = omegaconf.OmegaConf.to_container(config, resolve=True)
    elif callable(getattr(config, "flag_values_dict", None)):  # absl.flags.FLAGS.
        values = config.flag_values_dict()  # type: ignore[attr-defined]
    else:
        values = _members(config)
    if not isinstance(values, Mapping):
        raise TypeError("a configuration cannot be a %s: give a mapping, a dataclass or a Namespace"
                        % type(config).__name__)
    plain = _plain_config(values, 0)
    assert isinstance(plain, dict)
    return plain


def _members(value: Any) -> Any:
    """The members of a Namespace or a dataclass by name; anything else as it is."""
    argparse = sys.modules.get("argparse")  # Else it is none of its Namespaces.
    if isinstance(value, types.SimpleNamespace) or (argparse is not None and isinstance(value, argparse.Namespace)):
        return vars(value)
    fields = getattr(type(value), "__dataclass_fields__", None)
    return value if fields is None else {name: getattr(value, name, None) for name in fields}


def _plain_config(value: Any, depth: int) -> Any:
    """The value as JSON has it; text of what JSON has not."""
    if depth > _MAX_LEVELS:
        raise Error("the configuration has more than %d levels" % _MAX_LEVELS, "INVALID_ARGUMENT")
    if type(value) is float and not math.isfinite(value):
        return str(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, str):
        return str(value)
    value = _members(value)
    if isinstance(value, Mapping):
        return {str(name): _plain_config(one, depth + 1) for name, one in value.items()}
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if isinstance(value, (list, tuple, range)):
        return [_plain_config(one, depth + 1) for one in value]
    if isinstance(value, type) or isinstance(value, types.FunctionType):
        return value.__qualname__
    for read in (_number_in, operator.methodcaller("tolist")):
        try:
            found = read(value)
        except Exception:
            continue  # It is no number; it is no array.
        if found is not None:
            return _plain_config(found, depth + 1)
    return str(value)


def _sync(directory: str) -> None:
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


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _name_what_cannot_be_sent(row: Mapping[Any, Any], path: str = "") -> None:
    """Raises an error that names the metric, if there is one that cannot be sent."""
    for name, value in row.items():
        where = "%s%s" % (path, name)
        if isinstance(value, dict):
            _name_what_cannot_be_sent(value, where + "/")
            continue
        try:
            _encode(value)
        except _CANNOT_BE_SENT as error:
            raise type(error)("metric %s %s" % (where, error)) from None


def _plain(value: Any) -> Any:
    """The Python number that a scalar of NumPy, PyTorch, TensorFlow and others holds."""
    try:
        number = _number_in(value)
    except Exception as error:
        raise TypeError("cannot be a %s: %s" % (type(value).__name__, error)) from None
    if number is None:
        raise TypeError("cannot be a %s" % type(value).__name__)
    return number


def _number_in(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return None
    if bool(getattr(value, "mask", False)):  # numpy.ma; below the mask there is a 0.
        return math.nan
    if not hasattr(value, "item") and callable(getattr(value, "numpy", None)):
        value = value.numpy()  # TensorFlow.
    item = value.item() if callable(getattr(value, "item", None)) else value
    if isinstance(item, (bool, int, float, str)):
        return item
    if hasattr(item, "__float__"):  # A long double, Decimal.
        return float(item)
    if hasattr(item, "__getitem__") and hasattr(item, "__len__") and len(item) == 1:
        element = item[0]
        return element if isinstance(element, (bool, int, float)) else _number_in(element)
    return None


def _parse(line: bytes) -> Optional[Dict[str, Any]]:
    try:
        answer = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _of_type(value: Any, kind: Type[_T]) -> Optional[_T]:
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _seconds(value: Any) -> float:
    try:
        return max(0.0, float(_of_type(value, float) or _of_type(value, int) or 0))
    except OverflowError:
        return 0.0


def _error_of(answer: Dict[str, Any]) -> Tuple[str, Optional[str]]:
    code = _of_type(answer.get("code"), str)
    text = _of_type(answer.get("error"), str) or ""
    if not code and not text:
        text = "the yard answered with an error and did not say which"
    return text, code or None


def _excerpt(line: bytes) -> str:
    text = ascii(line[:80].decode("utf-8", "replace"))
    return text + "..." if len(line) > 80 else text


_register_faulthandler()
