"""External optimisers of sweeps: the trainer asks a program what to try next (`method: external`, docs/sweeps.md).

A program is `serve(optimiser)`; its optimiser has three methods:

    start(request)  {"seed", "space", "objectives", "options"}: returns its name
    ask(number)     returns the configuration of that trial, a dict; WAIT to be asked again after the next
                    result; None if there is nothing more to try
    tell(result)    {"id", "state", "values", "at", "config"}: a trial is over. The state is "done", "stopped"
                    (early: its value is that at `at`) or "failed" (there are no values); without an "id" the
                    trial was none that was asked for

It has to decide by these calls alone, so that another process that hears the same says the same.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, Mapping

import yard

WAIT = object()


def serve(optimiser: Any) -> None:
    """Answers the trainer until it says stop. Without a yard it speaks on standard input and output."""
    channel = yard._open(os.environ.get("YARD_FD", ""), os.environ.get("YARD_SOCKET", ""))
    lines = sys.stdin if channel is None else channel.makefile("r", encoding="utf-8")
    answers = sys.stdout if channel is None else channel.makefile("w", encoding="utf-8")

    def say(message: Mapping[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    say({"t": "hello", "v": 1, "pid": os.getpid()})
    for line in lines:
        request = json.loads(line)
        if request["t"] == "stop":
            return
        try:
            say(_answer(optimiser, request))
        except Exception as error:
            say({"t": "error", "error": "%s: %s" % (type(error).__name__, error)})
            raise


def _answer(optimiser: Any, request: Dict[str, Any]) -> Dict[str, Any]:
    kind = request["t"]
    if kind == "start":
        return {"t": "ready", "v": 1, "name": optimiser.start(request)}
    if kind == "ask":
        config = optimiser.ask(request["id"])
        if config is WAIT:
            return {"t": "wait"}
        return {"t": "end"} if config is None else {"t": "config", "id": request["id"], "config": config}
    if kind in ("tell", "add"):
        optimiser.tell(request)
    return {"t": "ok"}


def is_active(parameter: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Whether the values in `config` of the parameters before it let this one be there."""
    return all(config.get(other) in values for other, values in parameter.get("when", {}).items())


def index_of(parameter: Mapping[str, Any], value: Any) -> Any:
    """The place of a category among its values (1, 1.0 and true differ); a number as it is."""
    if parameter["type"] != "categorical":
        return value
    return [json.dumps(one) for one in parameter["values"]].index(json.dumps(value))
