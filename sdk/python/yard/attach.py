"""Runs that nobody launched: a notebook, a debugger, or a plain `python train.py` reports for itself.

    import yard

    run = yard.init(name="first", config={"lr": 0.1}, labels=["base"])
    for step in range(1, 31):
        if not run.report(loss=train(), step=step):
            break
    run.finish()

Where a yard is up on this machine it is a trial of that yard, which takes no slot: `yard ps`, `yard show`
and the page have it, `yard stop` tells it to stop with the answer to its next report, and nothing signals
the process. A program of the yard's own, a `yard-shim`, speaks for it and watches it: what was reported is
stored once, over any restart of the yard, and a process that vanishes has failed. Its output is not kept.
Without a yard the same files are written below ./runs, and a line on standard error says how to import them.
In a program that `yard run` has started, the run is the trial that is there already.

A process may have any number of runs. A child that is forked has none of its parent's, and may make its own.
"""

from __future__ import annotations

import atexit
import contextlib
import csv
import datetime
import getpass
import json
import os
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import types
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, TextIO, Tuple, Type, Union

import yard
from yard import import_runs

__all__ = ["ActiveRun", "active", "finish", "init"]

_LAST_WORDS = 5.0  # Seconds that the end of the process waits for the yard.
_RESTARTS = 10.0  # Seconds for which a yard that is being restarted is waited for.
_MOST_REMEMBERED = 2000  # Points of a tag.
_DRAW_EVERY = 1.0  # Seconds between two pictures of a run that reports.
_MAX_ARGUMENTS = 64 << 10  # Bytes of a command line that are told.

_open: List["ActiveRun"] = []  # Runs that are not finished, oldest first; a forked child has its parent's too.
_failure = ""  # The exception that ends the process.
_has_hooks = False


class ActiveRun(yard.Reporter):
    """A run that reports: all that a `yard.Reporter` has, `finish()`, and a picture of itself in a notebook.

    In a `with` block it finishes at the end; an exception that leaves the block fails it.

    Attributes:
        name: of the run; that of its directory.
        trial: the id of its trial, or None without a yard.
    """

    def __init__(self, fd: Optional[str] = None, path: Optional[str] = None, out: Optional[TextIO] = None,
                 answer_timeout: Optional[float] = None) -> None:
        self._is_attached = fd is not None
        self._finished = False
        # Points of each tag that a notebook draws: steps and values. Thinned out, so few.
        self._history: Dict[str, Tuple[List[int], List[float]]] = {}
        self._display: Any = None  # Where a notebook shows it.
        self._drawn = 0.0
        super().__init__(fd, path, answer_timeout, out)

    def report(self, _metrics: Optional[Mapping[str, Any]] = None, *, step: Optional[int] = None, done: bool = False,
               checkpoint: Union[None, str, "os.PathLike[str]"] = None, **metrics: Any) -> yard.Reply:
        reply = super().report(_metrics, step=step, done=done, checkpoint=checkpoint, **metrics)
        if _is_notebook():
            self._remember({**(_metrics or {}), **metrics}, step)
        return reply

    def finish(self) -> None:
        """Ends the run, as done; returns once the yard has stored that. Later reports are an Error.

        A run that is finished stays as it is. Run again, or in a forked child, it does nothing.
        """
        self._end_run()

    def _end_run(self) -> None:
        if self._finished or os.getpid() != self._pid:
            return
        self._finished = True
        if self in _open:
            _open.remove(self)
        try:
            if self._is_attached and self._broken is None:
                self._ask_for_ok({"t": "finish"})
        finally:
            self.close()
            self._draw(at_once=True)

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[types.TracebackType]) -> None:
        if os.getpid() != self._pid or self._finished:
            return
        clean_exit = isinstance(error, SystemExit) and error.code in (None, 0)
        if error is not None and not clean_exit:
            self._fail_quietly("".join(traceback.format_exception_only(kind, error)).strip())
        try:
            self._end_run()
        except yard.Error:
            if error is None:
                raise  # Else the exception that is on its way says more.

    def _fail_quietly(self, text: str) -> None:
        try:
            if self._broken is None:
                self.fail(text)
        except yard.Error:
            pass

    def _remember(self, row: Mapping[str, Any], step: Optional[int]) -> None:
        for tag, value in _flat(row).items():
            try:
                number = float(yard._plain(value) if not isinstance(value, (int, float)) else value)
            except (TypeError, ValueError):
                continue
            steps, values = self._history.setdefault(tag, ([], []))
            steps.append(self._seq if step is None else step)
            values.append(number)
            if len(steps) > _MOST_REMEMBERED:
                self._history[tag] = _thinned(steps, values)
        self._draw(at_once=False)

    def _draw(self, at_once: bool) -> None:
        if self._display is None or (not at_once and time.monotonic() < self._drawn + _DRAW_EVERY):
            return
        self._drawn = time.monotonic()
        self._display.update(_Html(self._repr_html_()))

    def _repr_html_(self) -> str:
        from yard import notebook
        return notebook.html_of_active(self)

    def _ipython_display_(self) -> None:
        """A cell that ends with the run shows it, and goes on showing what it reports."""
        from IPython.display import display
        self._display = display(_Html(self._repr_html_()), display_id=True)

    def __repr__(self) -> str:
        return "ActiveRun(%r, trial=%r%s)" % (self.name, self.trial, ", finished" if self._finished else "")


class _Html:
    """A piece of HTML, for IPython."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_html_(self) -> str:
        return self._text


def init(name: Optional[str] = None, config: object = None, labels: Union[str, Iterable[str]] = (),
         note: Optional[str] = None, offline: Optional[bool] = None, directory: str = "runs",
         finish_earlier: Optional[bool] = None) -> ActiveRun:
    """Makes a run of this process, and returns it.

    Args:
        name: of the run's directory. A name that is taken gets a number: "first-2". None: an id.
        config: as of `Reporter.config_update`.
        labels: one, or several.
        note: what a person should know.
        offline: True writes files without a yard, False requires one. None: as it is.
        directory: where runs are that are written without a yard.
        finish_earlier: finishes the earlier runs of this process. None: only in a notebook, where a cell
            may be run again.

    Raises:
        Error: the yard refuses it (ABORTED), or none is up and `offline` is False.
    """
    _add_hooks()
    if finish_earlier is None:
        finish_earlier = _is_notebook()
    if finish_earlier:
        finish()
    values = yard._config_from(config)
    run = _of_launched_trial(name, values, labels, note)
    if run is None:
        relay = None if offline else _relay()
        if relay is not None:
            run = _attach(relay, _request(name, values, labels, note))
        elif offline is False:
            raise yard.Error("no yard is up here; next step: yard up")
        else:
            run = OfflineRun(_free_directory(directory, name), values, labels, note)
    if run not in _open:
        _open.append(run)
    return run


def active() -> Optional[ActiveRun]:
    """The run of this process that init() has returned last, of those that are not finished."""
    mine = [run for run in _open if run._pid == os.getpid()]
    return mine[-1] if mine else None


def finish() -> None:
    """Finishes all runs of this process."""
    for run in [run for run in _open if run._pid == os.getpid()]:
        run.finish()


def _of_launched_trial(name: Optional[str], values: Dict[str, Any], labels: Union[str, Iterable[str]],
                       note: Optional[str]) -> Optional[ActiveRun]:
    """The run of the trial that this program is of, if it is of one."""
    has_channel = yard._inherited_socket(os.environ.get("YARD_FD", "")) is not None or os.environ.get("YARD_SOCKET")
    if not has_channel or not os.environ.get("YARD_TRIAL_ID"):
        return None
    there = [run for run in _open if run._pid == os.getpid() and run.trial == os.environ["YARD_TRIAL_ID"]]
    run = there[0] if there else ActiveRun()
    if values:
        run.config_update(values)
    if labels or note or name:
        run.set(labels=labels, note=note, name=name)
    return run


def _attach(relay: str, request: Dict[str, Any]) -> ActiveRun:
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    line = yard._line_of(request)
    with mine, its:
        words = [_shim(relay), "--attach", str(os.getpid()), str(its.fileno()), relay]
        try:
            # It leaves a copy of itself behind, in a session of its own, and ends.
            shim = subprocess.run(words, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env={}, check=False)
            its.close()
            if shim.returncode == 0:
                mine.sendall(line)
        except OSError as error:
            raise yard.Error("cannot start %s: %s" % (words[0], error))
        if shim.returncode != 0:
            refusal = yard._parse(mine.recv(1 << 16)) or {"error": "%s has ended with %d" % (words[0], shim.returncode)}
            raise yard.Error(*yard._error_of(refusal))
        return ActiveRun("%d:%d" % (mine.fileno(), os.fstat(mine.fileno()).st_ino))


def _request(name: Optional[str], values: Dict[str, Any], labels: Union[str, Iterable[str]],
             note: Optional[str]) -> Dict[str, Any]:
    arguments = _command_line()
    return {"name": name or "", "config": values, "labels": yard._texts(labels), "note": note or "", "argv": arguments,
            "working_directory": os.getcwd(), "umask": _umask(), "provenance": _provenance(arguments)}


def _command_line() -> List[str]:
    words = list(getattr(sys, "orig_argv", [])) or [sys.executable or "python3"] + list(getattr(sys, "argv", []))
    size = 0
    for count, word in enumerate(words):
        size += len(word)
        if size > _MAX_ARGUMENTS:
            return words[:count] + ["..."]
    return words or ["python3"]


def _umask() -> int:
    """os.umask() would change that of other threads for a moment."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return next(int(line.split()[1], 8) for line in status if line.startswith("Umask:"))
    except (OSError, StopIteration, ValueError):
        return 0o022


def _provenance(arguments: List[str]) -> Dict[str, Any]:
    told: Dict[str, Any] = {"argv": arguments, "working_directory": os.getcwd(), "hostname": socket.gethostname(),
                            "pid": os.getpid(), "python": "Python " + sys.version.split()[0]}
    try:
        told["user"] = getpass.getuser()
    except (KeyError, ImportError, OSError):
        pass  # A user without a name.
    notebook = os.environ.get("JPY_SESSION_NAME")
    if notebook:
        told["notebook"] = notebook
    try:
        git = subprocess.run(["git", "rev-parse", "--show-toplevel", "HEAD", "--abbrev-ref", "HEAD"], timeout=2, check=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        root, commit, branch = git.stdout.splitlines()[:3]
        told["git"] = {"root": root, "commit": commit, "branch": branch, "dirty": None}
    except (OSError, ValueError, subprocess.SubprocessError):
        pass  # The program is in no repository.
    return told


# Where the yard is.


def _runtime() -> str:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(runtime, "yard") if runtime else os.path.join(tempfile.gettempdir(), "yard-%d" % os.getuid())


def _relay() -> Optional[str]:
    """The path of the trainer's socket, or None if no yard is up. A trainer that is being restarted is waited for."""
    relay = os.path.join(_runtime(), "trainer-relay")
    deadline = time.monotonic() + _RESTARTS
    while not _answers(relay):
        if not _answers(os.path.join(_runtime(), "registry")) or time.monotonic() >= deadline:
            return None
        time.sleep(0.05)
    return relay


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(path)
        except OSError:
            return False
        return True


def _shim(relay: str) -> str:
    """The program yard-shim: that of the yard that is up, else the one that was installed with this module."""
    given = os.environ.get("YARD_SHIM")
    if given:
        return given
    folders = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(relay)
            pid = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
            folders.append(os.path.dirname(os.readlink("/proc/%d/exe" % pid)))
        except OSError:
            pass  # It is being restarted, or in a container.
    here = os.path.dirname(os.path.abspath(__file__))
    folders.append(os.path.join(here, "..", "..", "..", "..", "libexec"))
    tool = shutil.which("yard")
    if tool is not None:
        folders.append(os.path.join(os.path.dirname(os.path.realpath(tool)), "..", "libexec"))
    for folder in folders:
        for place in (folder, os.path.join(folder, "..", "launcher")):
            shim = os.path.normpath(os.path.join(place, "yard-shim"))
            if os.access(shim, os.X_OK):
                return shim
    raise yard.Error("yard-shim, which speaks for this program, is not in %s; next step: set YARD_SHIM to its path"
                     % " or ".join(map(os.path.normpath, folders)))


# The end of the process.


def _add_hooks() -> None:
    global _has_hooks
    if _has_hooks:
        return
    _has_hooks = True
    atexit.register(_at_exit)
    before: Callable[..., Any] = sys.excepthook

    def remember(kind: Type[BaseException], error: BaseException, trace: Optional[types.TracebackType]) -> None:
        global _failure
        _failure = "".join(traceback.format_exception_only(kind, error)).strip()
        before(kind, error, trace)
    sys.excepthook = remember


def _at_exit() -> None:
    """Another thread may be in a call that has no end, and holds a lock."""
    deadline = time.monotonic() + _LAST_WORDS
    for run in [run for run in _open if run._pid == os.getpid()]:
        run._deadline = deadline
        if _failure:
            run._fail_quietly(_failure)
        try:
            run._end_run()
        except yard.Error:
            pass  # The shim tells it, once the yard is there.


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


# Without a yard.


def _free_directory(logdir: str, name: Optional[str]) -> str:
    """Made, and of no other run."""
    name = name or time.strftime("%Y-%m-%d-%H%M%S")
    if "/" in name or name[0] in ".-" or len(name.encode()) > 200 or any(ord(letter) < 0x20 for letter in name):
        raise yard.Error("cannot call a run %s: it must have 1 to 200 bytes, no slash or control character, and neither a "
                         "dot nor a - in front" % json.dumps(name), "INVALID_ARGUMENT")
    number = 1
    while True:
        directory = os.path.join(os.path.abspath(logdir), name if number == 1 else "%s-%d" % (name, number))
        try:
            os.makedirs(directory)
            return directory
        except FileExistsError:
            number += 1


class OfflineRun(ActiveRun):
    """A run without a yard: the files that a trainer would write (docs/trainer_files.md), by this process alone.

    Attributes:
        directory: of the run.
    """

    directory: str

    def __init__(self, directory: str, values: Dict[str, Any], labels: Union[str, Iterable[str]],
                 note: Optional[str]) -> None:
        super().__init__("", "")
        self._is_attached = False
        self.config, self.checkpoint, self.iteration = dict(values), None, 0
        self.directory = directory
        self.name = os.path.basename(directory)
        self._began = self._last = time.monotonic()
        self._columns: List[str] = []
        self._failed = ""
        self._annotations: Dict[str, Any] = {"labels": yard._texts(labels), "note": note or "", "display_name": ""}
        self._events = "events.out.tfevents.%010d.%s.%d.0" % (time.time(), socket.gethostname(), os.getpid())
        self._write("params.json", self.config)
        self._write("provenance.json", {**_provenance(_command_line()), "labels": yard._texts(labels)})
        if labels or note:
            self._write("annotations.json", self._annotations)
        self._append([("result.json", b""), (self._events, import_runs.first_event(time.time()))])
        print("yard: no yard is up here, so %s is written without one; where one is: yard import %s"
              % (self.name, shlex.quote(directory)), file=sys.stderr, flush=True)

    def report(self, _metrics: Optional[Mapping[str, Any]] = None, *, step: Optional[int] = None, done: bool = False,
               checkpoint: Union[None, str, "os.PathLike[str]"] = None, **metrics: Any) -> yard.Reply:
        self._check()
        row = dict(_metrics or {})
        row.update(metrics)
        try:
            told = json.loads(yard._encode(row))
        except yard._CANNOT_BE_SENT:
            yard._name_what_cannot_be_sent(row)
            raise
        with self._ask_lock:
            iteration = self._seq + 1
            now, clock = time.time(), time.monotonic()
            fields = _flat(told)
            at = fields.get("step") if step is None else step
            at = at if isinstance(at, int) else iteration
            values = [(tag, float(value)) for tag, value in fields.items()
                      if isinstance(value, (int, float)) and tag not in ("step", "training_iteration")]
            automatic = {"step": at, "done": done, "training_iteration": iteration, "time_this_iter_s": clock - self._last,
                         "time_total_s": clock - self._began, "timestamp": int(now),
                         "date": time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(now)),
                         "hostname": socket.gethostname(), "pid": os.getpid(), "experiment_tag": self.name}
            for name, value in automatic.items():
                told.setdefault(name, value)
            cells = _flat(told)
            self._widen_table(cells)
            pieces = [("result.json", (yard._encode(told) + "\n").encode()),
                      ("progress.csv", _csv_row([_cell(cells.get(name)) for name in self._columns]).encode())]
            if values:
                pieces.append((self._events, import_runs.event(at, now, values)))
            self._append(pieces)
            self._seq, self._last = iteration, clock
        if checkpoint is not None:
            self.saved = os.path.abspath(os.fspath(checkpoint))
        if _is_notebook():
            self._remember(row, step)
        return yard.Reply()

    @contextlib.contextmanager
    def save(self, step: Optional[int] = None) -> Iterator[str]:
        self._check()
        directory = os.path.join(self.directory, "checkpoint_%06d" % (self._seq if step is None else step))
        hidden = tempfile.mkdtemp(prefix=".saving-", dir=self.directory)
        try:
            fresh = os.path.join(hidden, os.path.basename(directory))
            os.mkdir(fresh)
            yield fresh
            yard._sync(fresh)
            _put_in_place(fresh, directory, os.path.join(hidden, "earlier"))
        finally:
            shutil.rmtree(hidden, ignore_errors=True)
        self.saved = directory

    def config_update(self, config: object = None, **values: Any) -> None:
        self._check()
        self.config.update(yard._config_from(config))
        self.config.update(yard._config_from(values))
        self._write("params.json", self.config)

    def set(self, labels: Union[str, Iterable[str]] = (), note: Optional[str] = None, name: Optional[str] = None,
            remove_labels: Union[str, Iterable[str]] = ()) -> None:
        self._check()
        gone = yard._texts(remove_labels)
        kept = [label for label in self._annotations["labels"] if label not in gone]
        self._annotations["labels"] = kept + [label for label in yard._texts(labels) if label not in kept]
        if note is not None:
            self._annotations["note"] = note
        if name is not None:
            self._annotations["display_name"] = name
        self._write("annotations.json", self._annotations)

    def fail(self, error: object) -> None:
        self._check()
        self._failed = str(error)

    def _end_run(self) -> None:
        if self._finished or os.getpid() != self._pid:
            return
        ended = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        try:
            self._write("outcome.json", {"state": "failed" if self._failed else "done", "ended": ended, "reason": self._failed})
        finally:
            super()._end_run()

    def _check(self) -> None:
        self._check_caller()
        if self._broken is not None:
            raise yard.Error(*self._broken)

    def _write(self, name: str, value: object) -> None:
        self._replace(name, json.dumps(value, indent=2, sort_keys=True))

    def _replace(self, name: str, text: str) -> None:
        """In one step. Error: the file is what it was."""
        path = os.path.join(self.directory, name)
        try:
            with open(path + ".new", "w", newline="", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".new", path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(path + ".new")
            raise _cannot_write(path, error) from None

    def _append(self, pieces: List[Tuple[str, bytes]]) -> None:
        """Each in one piece, so that a reader never sees a part of it for long. Error: all files are what they were."""
        lengths: List[Tuple[str, int]] = []
        try:
            for name, data in pieces:
                path = os.path.join(self.directory, name)
                with open(path, "ab", buffering=0) as file:
                    lengths.append((path, file.tell()))
                    rest = memoryview(data)
                    while rest:
                        rest = rest[file.write(rest):]
        except BaseException as error:
            for path, length in lengths:
                with contextlib.suppress(OSError):
                    os.truncate(path, length)
            if isinstance(error, OSError) and error.errno is not None:  # Else it is a signal handler's.
                raise _cannot_write(path, error) from None
            raise

    def _widen_table(self, fields: Dict[str, Any]) -> None:
        """Makes a column of progress.csv for each field that has none."""
        new = [name for name in fields if name not in self._columns]
        if not new:
            return
        rows: List[List[str]] = []
        if self._columns:
            with open(os.path.join(self.directory, "progress.csv"), newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))[1:]
        columns = self._columns + new
        self._replace("progress.csv", _csv_row(columns) + "".join(_csv_row(row + [""] * len(new)) for row in rows))
        self._columns = columns


def _cannot_write(path: str, error: OSError) -> yard.Error:
    return yard.Error("cannot write %s: %s" % (path, error.strerror or error))


def _put_in_place(fresh: str, directory: str, aside: str) -> None:
    """Makes `fresh` the directory; an earlier one goes aside. Error: the directory is what it was."""
    try:
        if os.path.isdir(directory):
            os.rename(directory, aside)
        try:
            os.rename(fresh, directory)
        except OSError:
            if os.path.isdir(aside):
                os.rename(aside, directory)
            raise
    except OSError as error:
        raise _cannot_write(directory, error) from None


def _thinned(steps: List[int], values: List[float]) -> Tuple[List[int], List[float]]:
    """Keeps the lowest and the highest of each four points, so that a spike stays."""
    kept: List[int] = []
    for begin in range(0, len(steps), 4):
        four = range(begin, min(begin + 4, len(steps)))
        kept += sorted({min(four, key=values.__getitem__), max(four, key=values.__getitem__)})
    return [steps[place] for place in kept], [values[place] for place in kept]


def _flat(values: Mapping[str, Any], prefix: str = "") -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found.update(_flat(value, "%s%s/" % (prefix, name)))
        else:
            found[prefix + name] = value
    return found


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value) if isinstance(value, (bool, int, float)) else yard._encode(value)


def _csv_row(cells: List[str]) -> str:
    quoted = ['"%s"' % cell.replace('"', '""') if any(letter in cell for letter in ',"\r\n') else cell for cell in cells]
    return ",".join(quoted) + "\n"
