"""Reads what runs have reported, from a yard that is up on this machine.

    import yard

    for run in yard.runs("loss<0.1"):
        loss = run.scalars("loss")
        print(run.name, run.config["lr"], loss.steps[-1], loss.values[-1])
    frame = yard.frame("label:base", tags=["loss"])

It asks the web service through its unix socket, as `yard ui` does: $YARD_HTTP, or the one in the
yard's runtime directory. Standard library only; numpy and the libraries of data frames are imported
by the calls that return theirs. Queries are those of `yard runs` (docs/datamanager_queries.md).

Errors: OSError if no yard is up here; points.Unavailable, an OSError, if it cannot answer now;
ValueError says what is wrong with a query; LookupError names what is missing; EOFError if an answer
was cut off, as when the yard is being restarted: ask again.
"""

from __future__ import annotations

import datetime
import http.client
import json
import os
import time
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple,
                    Type, TypeVar, Union)
from urllib.parse import quote, urlencode

from yard import points
from yard.media import Media, read_media

if TYPE_CHECKING:
    import numpy

__all__ = ["Event", "LogLine", "Media", "Point", "Run", "Scalars", "frame", "run", "runs", "subscribe", "watch"]

_PAGE = 500  # Rows of one answer.
_ENDED = ("done", "stopped", "failed")
_TIMEOUT = 60.0  # Seconds; a stream says something every 15 s.
_PATIENCE = 60.0  # Seconds that a service which is being restarted is waited for.
_PAUSE = 0.1  # Seconds before it is asked again.
_SETTLED = 2.0  # Seconds after the end of a trial in which what it wrote is read.
_PAUSE_AT_END = 0.25  # Seconds between two readings in that time.


class Scalars(NamedTuple):
    """All points of a tag, in the order of steps: three arrays of one length."""

    steps: "numpy.ndarray[Any, Any]"  # int64.
    times: "numpy.ndarray[Any, Any]"  # float64, seconds since 1970.
    values: "numpy.ndarray[Any, Any]"  # float64, as they were reported; NaN and the infinities too.


class LogLine(NamedTuple):
    """A line that a run has printed."""

    task: str  # "j-abcde/worker-0"
    attempt: int
    stream: str  # "stdout" or "stderr"
    text: str


class Point(NamedTuple):
    """A number that a run has reported."""

    run: str
    tag: str
    step: int
    time: float  # Seconds since 1970.
    value: float


class Event(NamedTuple):
    """A change that the web service has told."""

    kind: str  # "trial", "job", "sweep", "service", "points", "lines", or "resync" (see subscribe()).
    data: Any  # JSON (docs/page.md).
    id: str


class Run:
    """A run on disk, as the yard knew it when it was asked for; refresh() asks again.

    Attributes:
        name: of its directory, below the yard's.
        info: all that `yard runs --json` says of it.
    """

    def __init__(self, info: Dict[str, Any], socket_file: Optional[str] = None) -> None:
        self.info = info
        self.name: str = info["run"]
        self._socket_file = socket_file
        self._config: Optional[Dict[str, Any]] = None

    def __repr__(self) -> str:
        return "Run(%r, state=%r, points=%r)" % (self.name, self.state, self.info.get("points"))

    def _repr_html_(self) -> str:
        from yard import notebook
        return notebook.html_of(self)

    @property
    def state(self) -> Optional[str]:
        """The state of its trial: "pending", "running", "done", "stopped", "failed", ...; None without one."""
        return self.info.get("trial_state")

    @property
    def labels(self) -> List[str]:
        return list(self.info.get("labels") or [])

    @property
    def note(self) -> Optional[str]:
        return self.info.get("note")

    @property
    def display_name(self) -> str:
        """The name that is shown, else its name."""
        return self.info.get("display_name") or self.name

    @property
    def directory(self) -> str:
        return str(self.info["directory"])

    @property
    def config(self) -> Dict[str, Any]:
        """Its configuration, from params.json: read once. A run that has no such file has the
        parameters by which queries know it ("net/depth" for nested ones)."""
        if self._config is None:
            try:
                with open(os.path.join(self.directory, "params.json"), encoding="utf-8") as file:
                    self._config = dict(json.load(file))
            except (OSError, ValueError, TypeError):
                self._config = dict(self.details().get("parameters") or {})
        return self._config

    def refresh(self) -> "Run":
        """Asks again what is known of it."""
        self.info = run(self.name, self._socket_file).info
        self._config = None
        return self

    def details(self) -> Dict[str, Any]:
        """All that the page shows of it: trial, job, checkpoints, statistics, provenance, files."""
        return _details(self.name, self._socket_file)

    def tags(self) -> List[str]:
        """The names of its scalars, sorted."""
        answer = _get("runs/%s/tags" % quote(self.name, safe=""), (), self._socket_file)
        return sorted(tag["tag"] for tag in answer["tags"] if tag["scalar"])

    def scalars(self, tag: str) -> Scalars:
        """Every point of a tag, in numpy arrays. LookupError: it has none."""
        for series in points.read(runs=[self.name], tags=[tag], socket_file=self._socket_file):
            return _arrays(series)
        raise LookupError("run %s has no points of %s" % (self.name, tag))

    def logs(self, grep: str = "", limit: int = 1000, stderr: bool = False) -> List[LogLine]:
        """The last lines that it has printed, at most `limit`; with `grep` those that have it, with
        `stderr` only those on standard error."""
        asked = [("limit", str(limit))] + ([("grep", grep)] if grep else []) + ([("stderr", "1")] if stderr else [])
        answer = _get("runs/%s/logs" % quote(self.name, safe=""), asked, self._socket_file)
        return [LogLine(line["task"], line["attempt"], line["stream"], line["text"]) for line in answer["lines"]]

    def media(self, tag: Optional[str] = None) -> Iterator[Media]:
        """Images, sounds, texts, histograms and tensors, tag by tag in the order of steps. LookupError: it
        has no such run any more."""
        path = "runs/%s/" % quote(self.name, safe="")

        def ask(what: str, asked: Sequence[Tuple[str, str]]) -> Any:
            return _get(path + what, asked, self._socket_file)

        def fetch(what: str, asked: Sequence[Tuple[str, str]]) -> Tuple[str, bytes]:
            return _get_bytes(path + what, asked, self._socket_file)

        return read_media(ask, fetch, tag)

    def checkpoints(self) -> List[Dict[str, Any]]:
        """Its checkpoints, newest first: directory, training_iteration, bytes, created, score."""
        return list(self.details().get("checkpoints") or [])

    def checkpoint(self) -> Optional[str]:
        """The directory of its newest checkpoint, or None."""
        newest = self.checkpoints()[:1]
        return str(newest[0]["directory"]) if newest else None


def runs(query: str = "", sort: str = "", limit: Optional[int] = None, socket_file: Optional[str] = None) -> List[Run]:
    """The runs that the query is true of; without one, all.

    Args:
        query: as of `yard runs`: "loss<0.1 & label:base & config.lr>=0.01".
        sort: a metric ("loss", "min:loss", "max:acc"), "config.NAME" or a field ("created"), with "-"
            before it from the largest down. Default: the order of `yard runs`.
        limit: at most so many.
        socket_file: of the web service.
    """
    found: List[Run] = []
    while limit is None or len(found) < limit:
        count = _PAGE if limit is None else min(_PAGE, limit - len(found))
        asked = [("cursor", str(len(found))), ("limit", str(count))]
        asked += [(name, text) for name, text in (("q", query), ("sort", sort)) if text]
        rows = _get("runs", asked, socket_file)["rows"]
        found += [Run(row, socket_file) for row in rows]
        if len(rows) < count:
            break
    return found


def run(name: str, socket_file: Optional[str] = None) -> Run:
    """The run of that name, or of the trial with that id. LookupError: no run has it."""
    info = _details(name, socket_file)
    trial = info.get("trial") or {}
    info.setdefault("trial_state", trial.get("state"))
    if info["run"] is None:  # Nothing of it has been read yet: only the trainer knows it.
        info["run"] = trial["name"]
        for member in ("directory", "labels", "note", "display_name"):
            info.setdefault(member, trial.get(member))
    return Run(info, socket_file)


def frame(query: str = "", tags: Sequence[str] = (), runs: Sequence[str] = (), wide: bool = False,
          library: str = "pandas", first_step: Optional[int] = None, last_step: Optional[int] = None,
          socket_file: Optional[str] = None) -> Any:
    """Every point of the runs that the query is true of, as one table.

    Long: the columns run, tag, step, time (seconds since 1970) and value, a row for each point; run and
    tag are categories. Wide: run, step, and a column for each tag, a row for each step of a run; where
    a tag has several values of one step, the last one; none is NaN.

    Args:
        query: as in runs(). tags, runs: only these; none: all.
        wide: see above.
        library: "pandas", "polars" or "arrow" (a pyarrow.Table).
        first_step, last_step: inclusive.
    """
    if library not in ("pandas", "polars", "arrow"):
        raise ValueError("library is %r: it may be pandas, polars or arrow" % library)
    series = list(points.read(runs=runs, tags=tags, query=query, first_step=first_step, last_step=last_step,
                              socket_file=socket_file))
    columns = _wide_columns(series) if wide else _long_columns(series)
    return _MAKERS[library](columns)


def subscribe(*topics: str, last_id: str = "", socket_file: Optional[str] = None) -> Iterator[Event]:
    """Yields changes as they come, for ever: of the topics "yard", "run:RUN", "logs:JOB", "sweep:ID".

    It connects again after a break and goes on where it was; OSError if there is no web service, or
    none that can answer, for a minute. The first event is a "resync": from there on each change of its data["topics"] is told, so
    they are to be read now. It comes again if changes were missed all the same.
    """
    if not topics:
        raise ValueError("subscribe() needs a topic: yard, run:RUN, logs:JOB or sweep:ID")
    was_there = False
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            for event in _events(topics, last_id, socket_file):
                was_there, deadline = True, time.monotonic() + _PATIENCE
                if event is not None:
                    last_id = event.id or last_id
                    yield event
        except (OSError, EOFError, http.client.HTTPException) as error:
            was_there = was_there or isinstance(error, points.Unavailable)
            if not was_there or time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE)


def watch(name: str, tags: Sequence[str] = (), socket_file: Optional[str] = None) -> Iterator[Point]:
    """Yields each point of a run once, those that are there and those that come, until its trial has ended.

    The trial may have only begun, or wait to begin. The iterator ends two seconds after the trial,
    when all that it wrote has been read. A run that has no trial has no end.
    """
    known = _patiently(lambda: _run_with_trial(name, socket_file), points.Unavailable)
    yielded = _Yielded(tags)
    for event in subscribe("run:" + known.name, "yard", socket_file=socket_file):
        if event.kind == "points" and event.data["run"] == known.name:
            yield from yielded.new_of_told(_points_of(event.data))
        if not _is_cause_to_read(event, known.name):
            continue
        while True:
            known = _patiently(lambda: _run_with_trial(known.name, socket_file), OSError, EOFError)
            has_ended = known.state in _ENDED  # Before its points are read: then they are all.
            settled = has_ended and _is_settled(known.info)
            yield from yielded.new_of_all(_all_points(known.name, socket_file))
            if settled:
                return
            if not has_ended:
                break
            time.sleep(_PAUSE_AT_END)


def _is_cause_to_read(event: Event, name: str) -> bool:
    """Whether all the points of the run are to be read: some were missed, or its trial has ended."""
    has_ended = event.kind == "trial" and event.data["name"] == name and event.data["state"] in _ENDED
    return event.kind == "resync" or has_ended


class _Yielded:
    """The points that watch() has yielded. Several may have one time, and even one step at it."""

    def __init__(self, tags: Sequence[str]) -> None:
        self._tags = tags
        self._counts: Dict[Tuple[str, int, float], int] = {}  # By tag, step and time.

    def new_of_all(self, found: Iterable[Point]) -> Iterator[Point]:
        """The new ones among all the points of the run."""
        counts: Dict[Tuple[str, int, float], int] = {}
        for place, point in self._in_order(found):
            counts[place] = counts.get(place, 0) + 1
            if counts[place] > self._counts.get(place, 0):
                self._counts[place] = counts[place]
                yield point

    def new_of_told(self, found: Iterable[Point]) -> Iterator[Point]:
        """The new ones among points that came by themselves. A point at a known place may be one
        that was yielded, so it is left to the next reading of all."""
        for place, point in self._in_order(found):
            if place not in self._counts:
                self._counts[place] = 1
                yield point

    def _in_order(self, found: Iterable[Point]) -> Iterator[Tuple[Tuple[str, int, float], Point]]:
        for point in sorted(found, key=lambda one: (one.time, one.step)):
            if not self._tags or point.tag in self._tags:
                yield (point.tag, point.step, point.time), point


def _is_settled(info: Dict[str, Any]) -> bool:
    """Whether all that an ended trial wrote has been read, or is not waited for any more."""
    ended = datetime.datetime.fromisoformat(info["trial"]["ended"].replace("Z", "+00:00"))
    has_more = info["read_bytes"] < info["bytes"] if "bytes" in info else info["trial"]["reports"] > 0
    return time.time() - ended.timestamp() >= (_PATIENCE if has_more else _SETTLED)


def _run_with_trial(name: str, socket_file: Optional[str]) -> Run:
    found = run(name, socket_file)
    if "trainer" in found.info.get("missing", ()):
        raise points.Unavailable("the trainer does not answer: ask again")
    return found


_T = TypeVar("_T")


def _patiently(ask: Callable[[], _T], *errors: Type[Exception]) -> _T:
    """The answer; after one of these errors it asks again, for a minute."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return ask()
        except errors:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE)


def _points_of(data: Dict[str, Any]) -> Iterator[Point]:
    for step, moment, value in zip(data["steps"], data["times"], data["values"]):
        yield Point(data["run"], data["tag"], step, moment, float(value))


def _all_points(name: str, socket_file: Optional[str]) -> List[Point]:
    try:
        read = _patiently(lambda: list(points.read(runs=[name], socket_file=socket_file)), OSError, EOFError)
    except LookupError:
        return []  # It has none yet.
    return [Point(series.run, series.tag, step, moment, value) for series in read
            for step, moment, value in zip(series.steps, series.times, series.values)]


def _arrays(series: points.Series) -> Scalars:
    import numpy
    return Scalars(numpy.frombuffer(series.steps, dtype="int64"), numpy.frombuffer(series.times, dtype="float64"),
                   numpy.frombuffer(series.values, dtype="float64"))


class _Names(NamedTuple):
    """A column of few texts: the texts, and which of them each row has."""

    names: List[str]
    codes: Any


_Columns = List[Tuple[str, Any]]


def _codes(names: Iterable[str], counts: Sequence[int]) -> _Names:
    import numpy
    numbers: Dict[str, int] = {}
    codes = [numbers.setdefault(name, len(numbers)) for name in names]
    return _Names(list(numbers), numpy.repeat(numpy.array(codes, dtype="int32"), counts))


def _joined(parts: List[Any], kind: str) -> Any:
    import numpy
    return numpy.concatenate([numpy.frombuffer(part, dtype=kind) for part in parts] or [numpy.empty(0, dtype=kind)])


def _long_columns(series: List[points.Series]) -> _Columns:
    counts = [len(one.steps) for one in series]
    return [("run", _codes((one.run for one in series), counts)), ("tag", _codes((one.tag for one in series), counts)),
            ("step", _joined([one.steps for one in series], "int64")),
            ("time", _joined([one.times for one in series], "float64")),
            ("value", _joined([one.values for one in series], "float64"))]


def _wide_columns(series: List[points.Series]) -> _Columns:
    import numpy
    tags = sorted({one.tag for one in series})
    by_run: Dict[str, List[points.Series]] = {}
    for one in series:
        by_run.setdefault(one.run, []).append(one)
    steps: List[Any] = []
    cells: Dict[str, List[Any]] = {tag: [] for tag in tags}
    for of_run in by_run.values():
        all_steps = numpy.unique(_joined([one.steps for one in of_run], "int64"))
        steps.append(all_steps)
        mine = {tag: numpy.full(len(all_steps), numpy.nan) for tag in tags}
        for one in of_run:
            places = numpy.searchsorted(all_steps, numpy.frombuffer(one.steps, dtype="int64"))
            mine[one.tag][places] = numpy.frombuffer(one.values, dtype="float64")
        for tag in tags:
            cells[tag].append(mine[tag])
    columns: _Columns = [("run", _codes(by_run, [len(part) for part in steps])), ("step", _joined(steps, "int64"))]
    return columns + [(tag, _joined(parts, "float64")) for tag, parts in cells.items()]


def _pandas(columns: _Columns) -> Any:
    import pandas
    return pandas.DataFrame({
        name: pandas.Categorical.from_codes(column.codes, categories=column.names) if isinstance(column, _Names) else column
        for name, column in columns}, copy=False)


def _arrow(columns: _Columns) -> Any:
    import pyarrow
    return pyarrow.table({
        name: pyarrow.DictionaryArray.from_arrays(column.codes, pyarrow.array(column.names, pyarrow.string()))
        if isinstance(column, _Names) else column for name, column in columns})


def _polars(columns: _Columns) -> Any:
    import polars
    return polars.DataFrame([
        polars.Series(name, column.names, dtype=polars.Categorical).gather(column.codes)
        if isinstance(column, _Names) else polars.Series(name, column) for name, column in columns])


_MAKERS = {"pandas": _pandas, "polars": _polars, "arrow": _arrow}


def _details(name: str, socket_file: Optional[str]) -> Dict[str, Any]:
    answer: Dict[str, Any] = _get("runs/" + quote(name, safe=""), (), socket_file)
    return answer


def _get(path: str, asked: Sequence[Tuple[str, str]], socket_file: Optional[str]) -> Any:
    return json.loads(_get_bytes(path, asked, socket_file)[1])


def _get_bytes(path: str, asked: Sequence[Tuple[str, str]], socket_file: Optional[str]) -> Tuple[str, bytes]:
    """The type and the bytes of the answer."""
    connection = points.Connection(socket_file or points.socket_path(), _TIMEOUT)
    try:
        connection.request("GET", "/api/v1/%s%s" % (path, "?" + urlencode(asked) if asked else ""))
        response = points.answer_of(connection)
        return response.getheader("Content-Type", ""), response.read()
    except http.client.HTTPException as error:
        raise EOFError("the answer was cut off: ask again") from error
    finally:
        connection.close()


def _events(topics: Sequence[str], last_id: str, socket_file: Optional[str]) -> Iterator[Optional[Event]]:
    """Server-sent events of one connection; None where it says only that it is there."""
    connection = points.Connection(socket_file or points.socket_path(), _TIMEOUT)
    try:
        asked = urlencode([("topic", topic) for topic in topics])
        connection.request("GET", "/api/v1/events?" + asked, headers={"Last-Event-ID": last_id} if last_id else {})
        response = points.answer_of(connection)
        yield None if last_id else Event("resync", {"topics": list(topics)}, "")
        fields: Dict[str, str] = {}
        for line in response:
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            name, _, value = text.partition(":")
            if text:
                fields[name] = value.lstrip(" ")
                continue
            has_data = "data" in fields
            yield Event(fields.get("event", ""), json.loads(fields["data"]), fields.get("id", "")) if has_data else None
            fields = {}
    finally:
        connection.close()
