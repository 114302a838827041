"""Images, sounds, texts, histograms and tables that a run has reported, as a yard that is up has read them.

Standard library only.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

__all__ = ["Media", "read_media"]

_AT_ONCE = 200  # Values of one answer.
_NUMBERS = 100_000  # The most numbers of a tensor in one answer.
_BLOB = 64 << 20  # The most bytes of a blob.
# The plugins of tags that are no media: each has calls of its own.
_OTHERS = ("graph", "hparams", "custom_scalars", "scalars")

Asked = Sequence[Tuple[str, str]]


class Media(NamedTuple):
    """A value that is no number."""

    tag: str
    step: int
    time: float  # Seconds since 1970.
    kind: str  # "image", "audio", "text", "histogram", "tensor" or "blob".
    # An image, a sound or a blob has the bytes of its file (PNG, WAV, as they were written), a text a
    # str, a histogram a list of (left, right, count), a tensor a pair: its shape, its numbers in the
    # order of C.
    data: Any


def read_media(ask: Callable[[str, Asked], Any], fetch: Callable[[str, Asked], Tuple[str, bytes]],
               tag: Optional[str] = None) -> Iterator[Media]:
    """Yields the values of each tag in the order of steps; only of that tag, if one is given. A warning
    names what is left out: values that are damaged, or too large for the service.

    Args:
        ask: gives the JSON answer to a path of the run ("tags", "values") and a query.
        fetch: gives the type and the bytes of a blob.
    """
    tags = [one["tag"] for one in ask("tags", ())["tags"] if not one["scalar"] and not one["plugin"].startswith(_OTHERS)]
    for name in sorted(tags if tag is None else [one for one in tags if one == tag]):
        yield from _values(name, ask, fetch)


def _values(tag: str, ask: Callable[[str, Asked], Any], fetch: Callable[[str, Asked], Tuple[str, bytes]]) -> Iterator[Media]:
    first, limit = 0, _AT_ONCE  # A value may have several images.
    while True:
        answer = ask("values", (("tag", tag), ("first", str(first)), ("limit", str(limit)), ("whole", "1")))
        if answer["more"] and limit > 1:  # So many are too large for one answer.
            limit = max(1, limit // 4)
            continue
        if answer["values"] and any(value.get("cut") for value in answer["values"]) and limit > 1:
            limit = 1  # The rest of a value is asked for by its place.
            continue
        for value in answer["values"]:
            if value.get("cut"):
                value = _whole(tag, first, value, ask)
            for kind, data in _contents(tag, value, fetch):
                yield Media(tag, value["step"], value["time"], kind, data)
        if answer.get("refused", 0):
            warnings.warn("%d values of %s cannot be read: %s" % (answer["refused"], tag, answer["why_refused"]), stacklevel=3)
        first += limit
        if first >= answer["total"]:
            return


def _whole(tag: str, place: int, value: Dict[str, Any], ask: Callable[[str, Asked], Any]) -> Dict[str, Any]:
    """A tensor that one answer has no room for, row by row."""
    shape = value["shape"]
    row = max(1, math.prod(shape[1:]))
    if "strings" in value or not shape or row > _NUMBERS:
        warnings.warn("%s at step %d is too large to be given whole: its first part is" % (tag, value["step"]), stacklevel=4)
        return value
    numbers: List[Any] = []
    rows = max(1, _NUMBERS // row)
    for begin in range(0, shape[0], rows):
        part = "[%d:%d]" % (begin, min(shape[0], begin + rows))
        asked = (("tag", tag), ("first", str(place)), ("limit", "1"), ("slice", part), ("whole", "1"))
        numbers += ask("values", asked)["values"][0]["numbers"]
    return {**value, "numbers": numbers}


def _contents(tag: str, value: Dict[str, Any], fetch: Callable[[str, Asked], Tuple[str, bytes]]) -> List[Tuple[str, Any]]:
    if value["kind"] == "blob":
        if value["length"] > _BLOB:
            warnings.warn("%s at step %d has %d bytes, and is left out" % (tag, value["step"], value["length"]), stacklevel=4)
            return []
        content_type, data = fetch("blob", [(name, str(value[name])) for name in ("file", "offset", "length", "crc")])
        kind = content_type.split("/")[0]
        return [(kind if kind in ("image", "audio") else "blob", data)]
    if value["kind"] == "histogram":
        buckets = zip(value["lefts"], value["rights"], value["counts"])
        return [("histogram", [(left, right, count) for left, right, count in buckets if count])]
    if "strings" in value:
        return [("text", text) for text in value["strings"]]
    if value["kind"] == "tensor":
        return [("tensor", (tuple(value["shape"]), [float(one) if isinstance(one, str) else one for one in value["numbers"]]))]
    return []  # A landscape of MindSpore has no form in Python.
