"""Runs of other trackers, written where the yard reads runs:

    yard import wandb/ mlruns/ points.csv offline/first   (or python3 -m yard.import_runs --logdir runs ...)

A SOURCE is a run that yard.init() has written without a yard, which is copied as it is, a directory of W&B in offline mode (`wandb/`, or one `offline-run-...` in it), a file store of MLflow
(`mlruns/`, an experiment or a run in it), or a CSV file. Each run becomes a directory of the logdir with an event file (each
value with its step and its time), `params.json` (its configuration) and `provenance.json` (its tags as labels, where it comes
from, when it began and ended). Files and values that are no numbers are left out, and a line for each run says how many. A run
that is there already stays as it is. No yard and no other package is needed.

A CSV file has a header, and either a row for each value (columns `tag` and `value`, as of tbparse, or `metric.name` and `value`, as of Aim)
or a column for each metric. It may have columns `step` (else rows are counted), `wall_time`, `timestamp` or `time` (seconds since
1970, or a date of ISO 8601), and `run`, `dir_name`, `run.hash` or `name`. Columns `config.NAME`, `params.NAME`, `hparams.NAME` and
those of Aim, `run.NAME`, are the configuration; so is a file of `tag` and `value` in which no tag comes twice for a run. Files that
are named together and tell of the same run make one run.
"""

from __future__ import annotations

import argparse
import collections
import csv
import datetime
import json
import math
import os
import shutil
import socket
import struct
import sys
import zlib
from typing import Any, BinaryIO, Counter, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

Point = Tuple[str, int, float, float]  # Tag, step, seconds since 1970, value.
_NAMES = {"step": ("step", "_step", "global_step"), "time": ("wall_time", "timestamp", "_timestamp", "time"),
          "run": ("run", "dir_name", "run.name", "run.hash", "tags.mlflow.runname", "run_id", "name"), "tag": ("tag", "metric.name"), "value": ("value",)}
_CONFIG = ("config.", "params.", "hparams.", "run.")
_CONTEXT = "metric.context."  # Aim's: loss of the context subset=train is train/loss.
_NOT_FOUND = 3  # Exit code, as of the command line's verbs.
# Numbers of each line of a result.json that are no metrics (docs/trainer_files.md).
_AUTOMATIC = ("step", "done", "training_iteration", "time_this_iter_s", "time_total_s", "timesteps_total", "episodes_total",
              "time_since_restore", "timesteps_since_restore", "iterations_since_restore", "neg_mean_loss", "timestamp", "pid")
_MAX_LABELS = 64  # The data manager's limit.


class SourceError(Exception):
    """A source, or a part of it, that cannot be read; the message names it and says why."""


class Run:
    """A run as its tracker kept it."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.config: Dict[str, Any] = {}
        self.labels: List[str] = []
        self.provenance: Dict[str, Any] = {"imported_from": os.path.abspath(source)}
        self.points: List[Point] = []
        self.left_out: Counter[str] = collections.Counter()
        self.damage = ""  # Why the rest of the source could not be read.
        self.copy_of = ""  # The directory of a run in the yard's own files.


def is_table(source: str) -> bool:
    """A CSV file, by what it is not."""
    return os.path.isfile(source) and not source.endswith(".wandb")


def runs_of_tables(sources: Sequence[str]) -> Iterator[Run]:
    """The runs of CSV files, which may tell of the same ones. SourceError: one is no such file."""
    runs: Dict[str, Run] = {}
    for source in sources:
        _csv_runs(source, runs)
    yield from runs.values()


def runs_in(source: str) -> Iterator[Run]:
    """The runs of a directory or file: of W&B, MLflow, or the yard itself. FileNotFoundError; SourceError: it is none that is known."""
    if not os.path.exists(source):
        raise FileNotFoundError("it is not there")
    if all(os.path.isfile(os.path.join(source, name)) for name in ("result.json", "params.json", "provenance.json")):
        yield _own_run(source)
        return
    found = False
    for folder, folders, files in os.walk(source) if os.path.isdir(source) else [(os.path.dirname(source), [], [source])]:
        folders.sort()
        # (latest-run is a link to another one.)
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
        for name in sorted(files):
            if name.endswith(".wandb"):
                found = True
                yield _wandb_run(os.path.join(folder, name))
        if "meta.yaml" in files and "metrics" in folders and "params" in folders:
            found = True
            del folders[:]
            yield _mlflow_run(folder)
    if not found:
        raise SourceError("%s holds no run: neither *.wandb, nor a meta.yaml with metrics/ and params/, nor is it a CSV file"
                          % source)


def write(run: Run, logdir: str) -> str:
    """Writes the run below the logdir, in one step, and returns its directory. FileExistsError: it is there already."""
    name = "".join("_" if letter in "/\\\0\n" else letter for letter in run.name).lstrip(".-")[:200] or "run"
    directory = os.path.join(logdir, name)
    if os.path.lexists(directory):
        raise FileExistsError(directory)
    hidden = os.path.join(logdir, ".importing-%d" % os.getpid())
    os.makedirs(logdir, exist_ok=True)
    if run.copy_of:
        try:
            shutil.copytree(run.copy_of, hidden)
            os.rename(hidden, directory)
        finally:
            shutil.rmtree(hidden, ignore_errors=True)
        return directory
    os.makedirs(hidden)
    try:
        if run.points:
            first = min(point[2] for point in run.points)
            path = os.path.join(hidden, "events.out.tfevents.%010d.%s.imported" % (int(first), socket.gethostname()))
            with open(path, "wb") as file:
                write_events(run.points, file)
        for member, content in (("params.json", run.config), ("provenance.json", {
                **run.provenance, "labels": run.labels[:_MAX_LABELS], "left_out": dict(+run.left_out)})):
            with open(os.path.join(hidden, member), "w", encoding="utf-8") as text:
                json.dump(content, text, indent=1, sort_keys=True)
        os.rename(hidden, directory)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
    return directory


# Event files: docs/event_files.md has the fields.


def write_events(points: List[Point], file: BinaryIO) -> None:
    """Values of the same step and time are one event."""
    file.write(first_event(min(point[2] for point in points)))
    events: Dict[Tuple[float, int], List[Tuple[str, float]]] = {}
    for tag, step, seconds, value in points:
        events.setdefault((seconds, step), []).append((tag, value))
    for (seconds, step), values in sorted(events.items()):
        file.write(event(step, seconds, values))


def first_event(seconds: float) -> bytes:
    """The first record of a file that is begun at that time, in seconds since 1970."""
    return _record(struct.pack("<Bd", 0x09, seconds) + _field(3, b"brain.Event:2"))


def event(step: int, seconds: float, values: Sequence[Tuple[str, float]]) -> bytes:
    """The record of an event: values by their tags."""
    contents = []
    for tag, value in values:
        single = _nearest_float(value)
        content = _field(1, tag.encode()) + struct.pack("<Bf", 0x15, single)
        if single != value and value == value:  # The 64 bits, in a field that the yard reads.
            content += _varint(1000 << 3 | 1) + struct.pack("<d", value)
        contents.append(_field(1, content))
    number = _varint(0x10) + _varint(step & (1 << 64) - 1)
    return _record(struct.pack("<Bd", 0x09, seconds) + number + _field(5, b"".join(contents)))


def _nearest_float(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(data) + bytes([number])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _make_table() -> List[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC_TABLE = _make_table()


def _masked_crc(data: bytes) -> int:
    crc, table = 0xFFFFFFFF, _CRC_TABLE
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _record(payload: bytes) -> bytes:
    header = struct.pack("<Q", len(payload))
    return header + struct.pack("<I", _masked_crc(header)) + payload + struct.pack("<I", _masked_crc(payload))


# The yard's own.


def _own_run(source: str) -> Run:
    run = Run(os.path.basename(os.path.abspath(source)), source)
    run.copy_of = source
    params, rows = os.path.join(source, "params.json"), os.path.join(source, "result.json")
    try:
        run.config = dict(_object(_read(params)))
    except ValueError:
        run.damage = "%s is no JSON object" % params
    with open(rows, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = _object(line.decode())
                run.points += [(name, row["step"], row["timestamp"], value) for name, value in _metrics(row)]
            except (ValueError, KeyError):
                run.damage = "%s: line %d is no report" % (rows, number)
                break
    return run


def _object(text: str) -> Dict[str, Any]:
    """ValueError: it is no JSON object."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    return value


def _metrics(row: Dict[str, Any], prefix: str = "") -> Iterator[Tuple[str, float]]:
    """The numbers of a report by their tags, without the fields that each report has."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _metrics(value, prefix + name + "/")
        elif isinstance(value, (int, float)) and prefix + name not in _AUTOMATIC:
            yield prefix + name, value


# W&B: a log of LevelDB (blocks of 32 KiB, CRC-32 of type and data) whose records are `Record` of wandb_internal.proto.

_BLOCK = 32768
_FULL, _FIRST, _LAST = 1, 2, 4


def _wandb_records(data: bytes) -> Iterator[bytes]:
    """SourceError where a record is damaged or cut off."""
    if data[:7] != b":W&B" + struct.pack("<HB", 0xBEE1, 0):
        raise SourceError("it holds nothing" if not data else "it does not begin as a log of W&B")
    place, pieces = 7, b""
    while place < len(data):
        left = _BLOCK - place % _BLOCK
        if left < 7:
            place += left
            continue
        if place + 7 > len(data):
            raise SourceError("it is cut off at byte %d" % place)
        checksum, length, kind = struct.unpack_from("<IHB", data, place)
        piece = data[place + 7:place + 7 + length]
        if len(piece) < length:
            raise SourceError("it is cut off at byte %d" % place)
        if zlib.crc32(bytes([kind]) + piece) != checksum:
            raise SourceError("the record at byte %d is damaged" % place)
        place += 7 + length
        pieces = piece if kind in (_FULL, _FIRST) else pieces + piece
        if kind in (_FULL, _LAST):
            yield pieces


def _fields(message: bytes) -> Iterator[Tuple[int, Any]]:
    """Numbers and contents of a protobuf message: bytes, or a number."""
    place = 0

    def varint() -> int:
        nonlocal place
        number = shift = 0
        while True:
            byte = message[place]
            place += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    try:
        while place < len(message):
            key = varint()
            if key & 7 == 0:
                yield key >> 3, varint()
                continue
            size = {1: 8, 5: 4}.get(key & 7) or (varint() if key & 7 == 2 else -1)
            if size < 0 or place + size > len(message):
                raise SourceError("a message in it is damaged")
            place += size
            yield key >> 3, message[place - size:place]
    except IndexError:
        raise SourceError("a message in it is damaged") from None


class _Item(NamedTuple):
    path: Tuple[str, ...]
    value: Any


def _items(message: bytes, number: int) -> Iterator[_Item]:
    """The items of a HistoryRecord or ConfigRecord: key or nested keys, and JSON."""
    for field, content in _fields(message):
        if field != number:
            continue
        key, nested, value = "", [], "null"
        for part, text in _fields(content):
            if part == 1:
                key = text.decode()
            elif part == 2:
                nested.append(text.decode())
            elif part == 16:
                value = text.decode()
        yield _Item(tuple(nested) if nested else (key,), json.loads(value))


def _put(config: Dict[str, Any], item: _Item) -> None:
    if item.path[0] == "_wandb":
        return
    for name in item.path[:-1]:
        config = config.setdefault(name, {})
    config[item.path[-1]] = item.value


def _wandb_run(path: str) -> Run:
    run = Run(os.path.basename(path)[len("run-"):-len(".wandb")], path)
    with open(path, "rb") as file:
        data = file.read()
    try:
        for record in _wandb_records(data):
            for field, message in _fields(record):
                if field == 17:
                    _take_wandb_facts(run, message)
                elif field == 5:
                    for item in _items(message, 1):
                        _put(run.config, item)
                elif field == 2:
                    _take_history(run, message)
                elif field in (4, 13):
                    run.left_out["lines of output"] += 1
                elif field == 7:
                    run.left_out["measurements of the system"] += 1
                elif field in (8, 25):
                    run.left_out["artifacts"] += 1
    except (SourceError, ValueError) as error:
        run.damage = "%s: %s" % (path, error)
    if run.points:
        run.provenance["ended"] = max(point[2] for point in run.points)
    return run


def _take_wandb_facts(run: Run, message: bytes) -> None:
    names = {1: "id", 2: "entity", 3: "project", 6: "group", 7: "job_type", 8: "name", 9: "notes", 13: "host"}
    for field, content in _fields(message):
        if field in names:
            run.provenance[names[field]] = content.decode()
        elif field == 10:
            run.labels.append(content.decode())
        elif field == 4:
            for item in _items(content, 1):
                _put(run.config, item)
        elif field == 17:
            times = dict(_fields(content))
            run.provenance["started"] = times.get(1, 0) + times.get(2, 0) / 1e9
    run.name = str(run.provenance.get("name") or run.name)


def _take_history(run: Run, message: bytes) -> None:
    step, seconds, numbers = 0, 0.0, []
    items = list(_items(message, 1))
    media = {item.path[:-1] for item in items if item.path[-1] == "_type"}  # In pieces: its type is one of them.
    run.left_out["images, histograms and the like"] += len(media)
    for field, content in _fields(message):
        if field == 2:
            step = int(dict(_fields(content)).get(1, 0))
    for path, value in (leaf for item in items for leaf in _leaves(*item)):
        name = "/".join(path)
        if name == "_step":
            step = int(value)
        elif name == "_timestamp":
            seconds = float(value)
        elif name == "_runtime" or any(path[:count] in media for count in range(1, len(path))):
            continue
        elif isinstance(value, dict):
            run.left_out["images, histograms and the like"] += 1
        elif _as_number(value) is None:
            run.left_out["values that are no numbers"] += 1
        else:
            numbers.append((name, _as_number(value) or 0.0))
    run.points.extend((name, step, seconds, number) for name, number in numbers)


def _leaves(path: Tuple[str, ...], value: Any) -> Iterator[_Item]:
    if isinstance(value, dict) and "_type" not in value:
        for name, member in value.items():
            yield from _leaves((*path, name), member)
    else:
        yield _Item(path, value)


def _as_number(value: Any) -> Optional[float]:
    if value in ("NaN", "Infinity", "-Infinity"):  # As W&B writes them.
        return float(value)
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, value)
    return None


# MLflow: a directory a run.


def _mlflow_run(folder: str) -> Run:
    meta = _flat_yaml(os.path.join(folder, "meta.yaml"))
    run = Run(meta.get("run_name") or os.path.basename(folder), folder)
    run.provenance.update({"id": meta.get("run_id", ""), "name": meta.get("run_name", ""), "user": meta.get("user_id", "")})
    if meta.get("lifecycle_stage") == "deleted":
        run.labels.append("deleted")
    experiment = os.path.join(os.path.dirname(folder), "meta.yaml")
    if os.path.exists(experiment):
        run.provenance["group"] = _flat_yaml(experiment).get("name", "")
    for ours, theirs in (("started", "start_time"), ("ended", "end_time")):
        if meta.get(theirs, "").isdecimal():
            run.provenance[ours] = int(meta[theirs]) / 1000
    for name, path in _named_files(os.path.join(folder, "params")):
        run.config[name] = _typed(_read(path))
    for name, path in _named_files(os.path.join(folder, "tags")):
        text = _read(path)
        if name == "mlflow.note.content":
            run.provenance["notes"] = text
        elif not name.startswith("mlflow."):
            run.labels.append(name if text in ("", "true", "True") else "%s=%s" % (name, text))
    for name, path in _named_files(os.path.join(folder, "metrics")):
        for number, line in enumerate(_read(path).splitlines(), 1):
            try:
                milliseconds, value, step = (line.split() + ["0"])[:3]
                run.points.append((name, int(step), int(milliseconds) / 1000, float(value)))
            except ValueError:
                run.damage = "%s: line %d is no value of a metric" % (path, number)
    for part, what in (("artifacts", "artifacts"), ("inputs", "data sets"), ("outputs", "models")):
        count = sum(1 for _ in _named_files(os.path.join(folder, part)))
        if count:
            run.left_out[what] += count
    return run


def _flat_yaml(path: str) -> Dict[str, str]:
    """MLflow's own: a line a member, nothing nested that counts here."""
    members = {}
    for line in _read(path).splitlines():
        name, colon, text = line.partition(":")
        text = text.strip()
        if colon and not name.startswith((" ", "-", "#")):
            if text[:1] == text[-1:] == "'" and len(text) > 1:
                text = text[1:-1].replace("''", "'")
            elif text[:1] == text[-1:] == '"' and len(text) > 1:
                text = str(json.loads(text))
            members[name] = "" if text == "null" else text
    return members


def _named_files(folder: str) -> Iterator[Tuple[str, str]]:
    """Files with their names below the folder: a metric `eval/loss` is a file in a folder `eval`."""
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(place, name)
            yield os.path.relpath(path, folder), path


def _typed(text: str) -> Any:
    """MLflow keeps each parameter as a text; what reads as a number is one."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else text


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


# CSV.


class _Table:
    """The columns of a CSV file, by what they are."""

    def __init__(self, path: str, columns: List[str]) -> None:
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.written = os.path.getmtime(path)
        self.named = {kind: next((column for name in names for column in columns if column.lower() == name), "")
                      for kind, names in _NAMES.items()}
        self.is_long = bool(self.named["tag"] and self.named["value"])
        others = [column for column in columns if column and column not in self.named.values()
                  and column.lower() not in _NAMES["run"]]
        self.config = {column: column[len(prefix):] for column in others for prefix in _CONFIG
                       if column.startswith(prefix) and not column.startswith("run.__")}
        self.context = [column for column in others if column.startswith(_CONTEXT)]
        self.metrics = [column for column in others if column not in self.config]
        # A chart of W&B: a column for each run and metric, and the bounds of each.
        self.is_chart = any(column.endswith("__MIN") for column in others)

    def values(self, row: Dict[str, str]) -> Iterator[Tuple[str, str, str]]:
        """Run, tag and text of each value in a row."""
        run = row.get(self.named["run"]) or self.name
        if self.is_long:
            context = [row[column] for column in self.context if row[column]]
            yield run, "/".join([*context, row[self.named["tag"]]]), row[self.named["value"]]
            return
        for column in self.metrics:
            if not self.is_chart:
                yield run, column[len("metrics."):] if column.startswith("metrics.") else column, row[column]
            elif not column.endswith(("__MIN", "__MAX")):
                of, dash, tag = column.rpartition(" - ")
                yield of if dash else run, tag, row[column]


def _csv_runs(path: str, runs: Dict[str, Run]) -> None:
    """Adds what the file tells to the runs, by name."""
    counts: Counter[Tuple[str, str]] = collections.Counter()
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file, restval="")
        columns = list(reader.fieldnames or ())
        if len(columns) < 2:
            raise SourceError("%s holds no run: it is no CSV file with a header" % path)
        table = _Table(path, columns)
        rows: Iterable[Dict[str, str]] = reader
        if table.is_long and not table.named["step"] and not table.named["time"]:
            rows = kept = list(reader)
            if _take_config(table, kept, runs):
                return
        for row in rows:
            seconds = _seconds(row.get(table.named["time"]) or "", table.written)
            for name, tag, text in table.values(row):
                run = runs.setdefault(name, Run(name, path))
                run.config.update({key: _typed(row[column]) for column, key in table.config.items() if row[column]})
                counts[name, tag] += 1
                try:
                    step = int(float(row[table.named["step"]])) if table.named["step"] else counts[name, tag]
                except (TypeError, ValueError, OverflowError):
                    run.left_out["rows without a step"] += 1
                    break
                try:
                    run.points.append((tag, step, seconds, float(text)))
                except (TypeError, ValueError):
                    run.left_out["values that are no numbers"] += 1 if text else 0
    for name in {name for name, _ in counts} if table.named["time"] else ():
        times = [point[2] for point in runs[name].points]
        if times:
            runs[name].provenance.update({"started": min(times), "ended": max(times)})


def _take_config(table: _Table, rows: Sequence[Dict[str, str]], runs: Dict[str, Run]) -> bool:
    """Takes the values as configurations, unless a tag comes twice for a run: then they are points."""
    values = [value for row in rows for value in table.values(row)]
    if len({value[:2] for value in values}) < len(values):
        return False
    for name, tag, text in values:
        runs.setdefault(name, Run(name, table.path)).config[tag] = _typed(text)
    return True


def _seconds(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return otherwise


def _plain(text: str) -> str:
    """The text without what would drive a terminal."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="yard import", description=(__doc__ or "").split("\n\n", 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logdir", default="runs", help="where runs are (default: ./runs)")
    parser.add_argument("--prefix", default="", help="begins each name")
    parser.add_argument("--json", action="store_true", help="one JSON object for each run")
    parser.add_argument("source", nargs="+", help="what to read")
    options = parser.parse_args(arguments)
    tables = [source for source in options.source if is_table(source)]
    others = [(source, runs_in(source)) for source in options.source if not is_table(source)]
    code = 0
    for source, runs in others + ([(", ".join(tables), runs_of_tables(tables))] if tables else []):
        try:
            for run in runs:
                run.name = options.prefix + run.name
                code = max(code, 1 if run.damage else 0)
                _import(run, options.logdir, options.json)
        except (SourceError, OSError, ValueError, KeyError, csv.Error) as error:
            print(_plain("cannot import %s: %s" % (source, error)), file=sys.stderr)
            code = max(code, _NOT_FOUND if isinstance(error, FileNotFoundError) else 1)
    return code


def _import(run: Run, logdir: str, as_json: bool) -> None:
    try:
        directory, is_new = write(run, logdir), True
    except FileExistsError as error:
        directory, is_new = str(error), False
    tags = len({point[0] for point in run.points})
    if as_json:
        print(json.dumps({"run": os.path.basename(directory), "directory": os.path.abspath(directory), "imported": is_new,
                          "values": len(run.points), "tags": tags, "parameters": len(run.config),
                          "left_out": dict(+run.left_out), "damage": run.damage}))
        return
    if not is_new:
        print(_plain("%s is there already and stays as it is; --prefix gives another name" % directory))
        return
    print(_plain("%s: %d values of %d tags, %d parameters" % (directory, len(run.points), tags, len(run.config))))
    if +run.left_out:
        print("  left out: " + ", ".join("%d %s" % (count, what) for what, count in sorted((+run.left_out).items())))
    if run.damage:
        print(_plain("  the rest could not be read: " + run.damage), file=sys.stderr)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
