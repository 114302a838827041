"""Images, sounds, texts and histograms in event files, byte by byte: what a writer has written, whatever reads it in the product."""

from __future__ import annotations

import os
import struct
from typing import Any, BinaryIO, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

_MAX_RECORD = 1 << 30  # Bytes.

_Field = Union[int, bytes]


class Media(NamedTuple):
    """A value that is no number."""

    tag: str
    step: int
    time: float  # Seconds since 1970.
    kind: str  # "image", "audio", "text" or "histogram".
    # An image or a sound has the bytes of its file (PNG, WAV, as they were written), a text a str, a
    # histogram a list of (left, right, count).
    data: Any


def read_media(directory: str, tag: Optional[str] = None) -> Iterator[Media]:
    """Yields those of the files in a directory, file by file; only of that tag, if one is given."""
    kinds: Dict[str, str] = {}  # The plugin that a tag's first value names.
    names = sorted(name for name in os.listdir(directory) if "tfevents" in name)
    for name in names:
        with open(os.path.join(directory, name), "rb") as file:
            for record in _records(file):
                for media in _media_in(record, kinds):
                    if tag is None or media.tag == tag:
                        yield media


def _records(file: BinaryIO) -> Iterator[bytes]:
    while True:
        head = file.read(12)  # Length, its checksum.
        if len(head) < 12:
            return
        length, = struct.unpack("<Q", head[:8])
        if length > _MAX_RECORD:
            return  # The rest is no record.
        record = file.read(length + 4)
        if len(record) < length + 4:
            return
        yield record[:length]


def _media_in(record: bytes, kinds: Dict[str, str]) -> Iterator[Media]:
    try:
        event = _message(record)
        step = _signed(_last(event, 2, 0))
        moment, = struct.unpack("<d", _bytes(_last(event, 1, b"\0" * 8)))
        for summary in event.get(5, []):
            for part in _message(_bytes(summary)).get(1, []):
                media = _media(_message(_bytes(part)), step, moment, kinds)
                if media is not None:
                    yield media
    except (ValueError, struct.error, IndexError):
        return  # It is no event.


def _media(value: Dict[int, List[_Field]], step: int, moment: float, kinds: Dict[str, str]) -> Optional[Media]:
    tag = _bytes(_last(value, 1, b"")).decode("utf-8", "replace")
    if 9 in value and tag not in kinds:
        plugin = _last(_message(_bytes(value[9][-1])), 1, b"")
        kinds[tag] = _bytes(_last(_message(_bytes(plugin)), 1, b"")).decode("utf-8", "replace")
    if 4 in value:
        return Media(tag, step, moment, "image", _bytes(_last(_message(_bytes(value[4][-1])), 4, b"")))
    if 6 in value:
        return Media(tag, step, moment, "audio", _bytes(_last(_message(_bytes(value[6][-1])), 4, b"")))
    if 5 in value:
        return Media(tag, step, moment, "histogram", _histogram(_message(_bytes(value[5][-1]))))
    if 8 not in value:
        return None
    tensor = _message(_bytes(value[8][-1]))
    texts = [_bytes(text) for text in tensor.get(8, [])]
    plugin_name = kinds.get(tag, "")
    if plugin_name == "images" and len(texts) > 2:  # Width and height come first.
        return Media(tag, step, moment, "image", texts[2])
    if plugin_name == "audio" and texts:
        return Media(tag, step, moment, "audio", texts[0])
    if plugin_name == "text" and texts:
        return Media(tag, step, moment, "text", texts[0].decode("utf-8", "replace"))
    if plugin_name == "histograms":
        rows = _doubles(_bytes(_last(tensor, 4, b"")) or b"".join(_bytes(part) for part in tensor.get(6, [])))
        return Media(tag, step, moment, "histogram",
                     [(rows[i], rows[i + 1], rows[i + 2]) for i in range(0, len(rows) - 2, 3)])
    return None


def _histogram(message: Dict[int, List[_Field]]) -> List[Tuple[float, float, float]]:
    limits = _doubles(b"".join(_bytes(part) for part in message.get(6, [])))
    counts = _doubles(b"".join(_bytes(part) for part in message.get(7, [])))
    left = _doubles(_bytes(_last(message, 1, b"\0" * 8)))[0]
    buckets = []
    for right, count in zip(limits, counts):
        if count:
            buckets.append((min(left, right), right, count))
        left = right
    return buckets


def _doubles(data: bytes) -> Tuple[float, ...]:
    return struct.unpack("<%dd" % (len(data) // 8), data[:len(data) // 8 * 8])


def _last(message: Dict[int, List[_Field]], number: int, default: _Field) -> _Field:
    return message.get(number, [default])[-1]


def _bytes(field: _Field) -> bytes:
    if not isinstance(field, bytes):
        raise ValueError("a number where bytes should be")
    return field


def _signed(field: _Field) -> int:
    if not isinstance(field, int):
        raise ValueError("bytes where a number should be")
    return field - (1 << 64) if field >= 1 << 63 else field


def _message(data: bytes) -> Dict[int, List[_Field]]:
    """The fields of a protobuf message, by number: integers, and the bytes of all others."""
    fields: Dict[int, List[_Field]] = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        value: _Field
        if kind == 0:
            value, at = _varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind, 0)
            if kind == 2:
                size, at = _varint(data, at)
            if size == 0 and kind != 2 or at + size > len(data):
                raise ValueError("not a message")
            value, at = data[at:at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    number = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
    raise ValueError("not a message")
