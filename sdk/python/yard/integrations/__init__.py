"""The yard inside training libraries: a module for each, which imports the library when it is imported itself.

    from yard.integrations.xgboost import YardCallback

All of them report by one Reporter of the process, which is made when it is first needed, as a process
has one report channel; after yard.init() it is the run that this returned last. A program that has a Reporter of its own gives
it: `YardCallback(reporter=mine)`.
"""

from __future__ import annotations

import numbers
import os
import sys
from typing import Any, Dict, Mapping, Optional, Tuple

import yard

__all__ = ["numbers_in", "shared_reporter"]

_shared: Optional[Tuple[int, yard.Reporter]] = None  # With the process that made it.


def shared_reporter(reporter: Optional[yard.Reporter] = None) -> yard.Reporter:
    """`reporter`, if there is one, which the others of this process then use, too; else that of the process."""
    global _shared
    attached = sys.modules.get("yard.attach")
    if reporter is None and attached is not None:
        reporter = attached.active()
    if reporter is not None:
        _shared = (os.getpid(), reporter)
    elif _shared is None or _shared[0] != os.getpid() or getattr(_shared[1], "_finished", False):
        _shared = (os.getpid(), yard.Reporter())
    return _shared[1]


def numbers_in(values: Mapping[Any, Any], prefix: str = "") -> Dict[str, Any]:
    """The values that are one number each (also of an array library), in mappings too; the others are left out."""
    found: Dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found.update(numbers_in(value, "%s%s/" % (prefix, name)))
        elif isinstance(value, numbers.Number) and not isinstance(value, complex):
            found["%s%s" % (prefix, name)] = value
        elif callable(getattr(value, "item", None)) and getattr(value, "size", 1) in (1, ()):
            found["%s%s" % (prefix, name)] = value.item()
        elif callable(getattr(value, "numel", None)) and value.numel() == 1:
            found["%s%s" % (prefix, name)] = value.item()
    return found
