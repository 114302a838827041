"""Every point that runs have reported, from a yard that is up on this machine.

    from yard import points

    for series in points.read(runs=["first"], tags=["loss"]):
        print(series.run, series.tag, series.values[-1])

Numbers are those of the event files: steps are 64-bit integers, times and values doubles; none is
rounded or left out. Standard library only; numpy.frombuffer(series.values) makes no copy.
"""

from __future__ import annotations

import array
import http.client
import json
import os
import socket
import struct
import sys
import tempfile
from typing import BinaryIO, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import urlencode

__all__ = ["Series", "Unavailable", "read", "read_blocks", "socket_path"]

_MAGIC = b"YSC1\0\0\0\0"


class Series(NamedTuple):
    """All points of one tag of one run, in the order of steps."""

    run: str
    tag: str
    steps: "array.array[int]"
    times: "array.array[float]"  # Seconds since 1970.
    values: "array.array[float]"


class Unavailable(OSError):
    """The yard cannot answer now, as it is busy or a service of it is being restarted: ask again."""


def socket_path() -> str:
    """Returns the path of the web service: $YARD_HTTP, or the one in the yard's runtime directory."""
    given = os.environ.get("YARD_HTTP")
    if given:
        return given
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    directory = os.path.join(runtime, "yard") if runtime else os.path.join(tempfile.gettempdir(), "yard-%d" % os.getuid())
    return os.path.join(directory, "http")


def read(runs: Sequence[str] = (), tags: Sequence[str] = (), query: str = "", first_step: Optional[int] = None,
         last_step: Optional[int] = None, socket_file: Optional[str] = None, timeout: float = 60.0) -> Iterator[Series]:
    """Yields one Series after the other: of the runs that are named, or that the query is true of;
    without both, of all. OSError: no yard is up here; Unavailable: it cannot answer now; ValueError
    says what was wrong in the question; LookupError what is missing; EOFError: the answer was cut off."""
    asked: List[Tuple[str, object]] = [("format", "columns")]
    asked += [("run", run) for run in runs] + [("tag", tag) for tag in tags]
    asked += [(name, value) for name, value in (("q", query), ("from", first_step), ("to", last_step)) if value not in ("", None)]
    connection = Connection(socket_file or socket_path(), timeout)
    try:
        connection.request("GET", "/api/v1/export?" + urlencode(asked))
        yield from read_blocks(answer_of(connection))
    except http.client.HTTPException as error:
        raise EOFError("the points were cut off: read them again") from error
    finally:
        connection.close()


def read_blocks(file: BinaryIO) -> Iterator[Series]:
    """The same from a file that `GET /api/v1/export?format=columns` was saved in."""
    if _take(file, len(_MAGIC)) != _MAGIC:
        raise ValueError("these are no columns of a yard")
    before: Optional[Series] = None
    while True:
        length, count = struct.unpack("<II", _take(file, 8))
        if length == 0:
            break
        names: Dict[str, str] = json.loads(_take(file, length))
        block = Series(names["run"], names["tag"], array.array("q"), array.array("d"), array.array("d"))
        for numbers in block[2:]:
            numbers.frombytes(_take(file, 8 * count))
            if sys.byteorder == "big":
                numbers.byteswap()
        # A long series comes in several blocks, one after the other.
        if before is not None and before[:2] == block[:2]:
            before.steps.extend(block.steps)
            before.times.extend(block.times)
            before.values.extend(block.values)
            continue
        if before is not None:
            yield before
        before = block
    if before is not None:
        yield before


class Connection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _take(file: BinaryIO, count: int) -> bytes:
    parts = []
    while count > 0:
        part = file.read(count)
        if not part:
            raise EOFError("the points were cut off: read them again")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def answer_of(connection: Connection) -> http.client.HTTPResponse:
    """The answer, if the yard gives what was asked for; else raises the error that says why not."""
    response = connection.getresponse()
    if response.status == 200:
        return response
    why = _reason(response.read()) or "the yard answers with %d" % response.status
    if response.status == 404:
        raise LookupError(why)
    if response.status == 429 or response.status >= 500:
        raise Unavailable(why + ": ask again")
    raise ValueError(why)


def _reason(body: bytes) -> str:
    try:
        return str(json.loads(body)["title"])
    except (ValueError, KeyError, TypeError):
        return ""
