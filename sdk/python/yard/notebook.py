"""Runs in a notebook: each shows itself, and the magic %yard.

    %load_ext yard
    %yard runs loss<0.1
    %yard plot first second -m loss
    %yard tensorboard

Pictures are inline SVG, without a script; whatever a run says is text. IPython is imported by the magic alone.
"""

from __future__ import annotations

import html
import json
import math
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from yard import points, reading

if TYPE_CHECKING:
    from yard.attach import ActiveRun

__all__ = ["curve", "html_of", "html_of_active", "load_ipython_extension", "table"]

_WIDTH, _HEIGHT = 440, 150  # Size of a curve, in pixels.
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 10, 22, 18
_MOST_CURVES = 4
_MOST_PARAMETERS = 30
_MOST_ROWS = 50
# As on the page: told apart also by those who do not see all colours.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_USAGE = "usage: %yard runs [QUERY] | plot RUN... [-m TAG] | tensorboard [OPTION...]"


class _Line(NamedTuple):
    name: str
    steps: Sequence[int]
    values: Sequence[float]


def html_of(run: reading.Run) -> str:
    """A run of the yard: its state, its configuration, and its curves as they are now."""
    lines = _lines_of(run.name, run._socket_file)
    return _card(run.display_name, run.state or "", run.labels, run.note or "", run.config, lines)


def html_of_active(run: "ActiveRun") -> str:
    """The same of a run of this process, whose own points are at hand in a notebook."""
    lines = [_Line(tag, steps, values) for tag, (steps, values) in run._history.items()]
    state = "finished" if run._finished else "running"
    if not lines and run.trial is not None:
        try:
            known = reading.run(run.trial)
            state = known.state or state
            lines = _lines_of(known.name, None)
        except (OSError, LookupError, ValueError, EOFError):
            pass  # The card shows what this process knows.
    return _card(run.name or "by hand", state, (), "", run.config, lines)


def _lines_of(name: str, socket_file: Optional[str], tags: Sequence[str] = ()) -> List[_Line]:
    """Curves of the tags; without tags all but the system's."""
    try:
        series = points.read(runs=[name], tags=tags, socket_file=socket_file)
        return [_Line(one.tag, one.steps, one.values) for one in series if tags or not one.tag.startswith("sys/")]
    except (OSError, LookupError, ValueError, EOFError):
        return []  # It has none yet, or nobody can say.


def _card(name: str, state: str, labels: Iterable[str], note: str, config: Mapping[str, Any], lines: List[_Line]) -> str:
    words = ["<b>%s</b> <i>%s</i>" % (_text(name), _text(state))]
    words += ["<code>%s</code>" % _text(label) for label in labels]
    parts = ["<div>%s</div>" % " ".join(words)]
    if note:
        parts.append("<div style='white-space:pre-wrap'>%s</div>" % _text(note))
    # The loss first, as everybody looks for it.
    lines.sort(key=lambda line: ("loss" not in line.name, line.name))
    parts += [curve(line.name, [line]) for line in lines[:_MOST_CURVES]]
    if len(lines) > _MOST_CURVES:
        parts.append("<div>and %d more: %s</div>" % (len(lines) - _MOST_CURVES,
                                                     _text(", ".join(line.name for line in lines[_MOST_CURVES:])[:400])))
    if config:
        rows = [(key, json.dumps(value)) for key, value in list(config.items())[:_MOST_PARAMETERS]]
        more = "" if len(config) <= _MOST_PARAMETERS else "<div>and %d more</div>" % (len(config) - _MOST_PARAMETERS)
        parts.append("<details><summary>configuration</summary>%s%s</details>" % (table((), rows), more))
    return "<div>%s</div>" % "".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    cells = ["<tr>%s</tr>" % "".join("<th>%s</th>" % _text(cell) for cell in head)] if head else []
    cells += ["<tr>%s</tr>" % "".join("<td>%s</td>" % _text(cell) for cell in row) for row in rows]
    return "<table>%s</table>" % "".join(cells)


def curve(title: str, lines: Sequence[_Line]) -> str:
    """A picture of one tag; each line that has a point is drawn."""
    finite = [(line, [(step, value) for step, value in zip(line.steps, line.values) if math.isfinite(value)])
              for line in lines]
    everything = [point for _, found in finite for point in found]
    if not everything:
        return "<div>%s: no number yet</div>" % _text(title)
    low, high = min(value for _, value in everything), max(value for _, value in everything)
    first, last = min(step for step, _ in everything), max(step for step, _ in everything)
    parts = ["<svg xmlns='http://www.w3.org/2000/svg' role='img' width='%d' height='%d' viewBox='0 0 %d %d' "
             "style='font:11px sans-serif'>" % (_WIDTH, _HEIGHT, _WIDTH, _HEIGHT),
             "<title>%s</title>" % _text(_summary(title, finite)),
             "<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='currentColor' stroke-opacity='0.25'/>"
             % (_LEFT, _TOP, _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM)]
    words = [(_LEFT, _TOP - 8, "start", title), (_LEFT - 4, _TOP + 9, "end", "%.4g" % high),
             (_LEFT - 4, _HEIGHT - _BOTTOM, "end", "%.4g" % low), (_LEFT, _HEIGHT - 4, "start", str(first)),
             (_WIDTH - _RIGHT, _HEIGHT - 4, "end", str(last))]
    parts += ["<text x='%d' y='%d' text-anchor='%s' fill='currentColor'>%s</text>" % (x, y, anchor, _text(word))
              for x, y, anchor, word in words]
    for number, (line, found) in enumerate(finite):
        places = _places(found, first, last, low, high)
        colour = _COLOURS[number % len(_COLOURS)]
        if len(places) == 1:
            parts.append("<circle cx='%.1f' cy='%.1f' r='2.5' fill='%s'/>" % (*places[0], colour))
        elif places:
            parts.append("<polyline fill='none' stroke='%s' stroke-width='1.5' points='%s'/>"
                         % (colour, " ".join("%.1f,%.1f" % place for place in places)))
    parts.append("</svg>")
    if len(lines) > 1:
        parts.append("<div>%s</div>" % " ".join(
            "<span style='color:%s'>&#9644;</span> %s" % (_COLOURS[number % len(_COLOURS)], _text(line.name))
            for number, line in enumerate(lines)))
    return "<div>%s</div>" % "".join(parts)


def _summary(title: str, finite: Sequence[Tuple[_Line, List[Tuple[int, float]]]]) -> str:
    said = ["%s from %.4g to %.4g over %d points" % (line.name, found[0][1], found[-1][1], len(found))
            for line, found in finite if found]
    return "%s: %s" % (title, "; ".join(said))


def _places(found: Sequence[Tuple[int, float]], first: int, last: int, low: float,
            high: float) -> List[Tuple[float, float]]:
    """Where the points are drawn: of each column of pixels the first, the lowest, the highest and the last."""
    columns: Dict[int, List[Tuple[int, float]]] = {}
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    for step, value in found:
        column = int((step - first) / max(last - first, 1) * width)
        kept = columns.get(column)
        if kept is None:
            columns[column] = [(step, value)] * 4
            continue
        if value < kept[1][1]:
            kept[1] = (step, value)
        if value > kept[2][1]:
            kept[2] = (step, value)
        kept[3] = (step, value)
    if math.isinf(high - low):
        return _places([(step, value / 4) for step, value in found], first, last, low / 4, high / 4)
    places: List[Tuple[float, float]] = []
    for column in sorted(columns):
        for step, value in sorted(set(columns[column])):
            down = (high - value) / (high - low) if high > low else 0.5
            places.append((_LEFT + (step - first) / max(last - first, 1) * width, _TOP + down * height))
    return places


def _text(text: object) -> str:
    return html.escape(str(text), quote=True)


# The magic.


def load_ipython_extension(shell: Any) -> None:
    """%load_ext yard"""
    shell.register_magic_function(_magic, "line", "yard")


def _magic(line: str) -> Any:
    """Shows runs of the yard: %yard runs [QUERY], %yard plot RUN... [-m TAG], %yard tensorboard [OPTION...]"""
    from IPython.core.error import UsageError
    from IPython.display import HTML
    verb, _, rest = line.strip().partition(" ")
    try:
        if verb == "runs":
            return HTML(_runs(rest.strip()))
        if verb == "plot" and rest.strip():
            return HTML(_plot(shlex.split(rest)))
        if verb == "tensorboard":
            return HTML(_tensorboard(shlex.split(rest)))
    except (OSError, LookupError, ValueError, EOFError, subprocess.SubprocessError) as error:
        raise UsageError("%%yard %s: %s" % (verb, error)) from None
    raise UsageError(_USAGE)


def _runs(query: str) -> str:
    found = reading.runs(query, limit=_MOST_ROWS + 1)
    rows = [(run.name, run.state or "", str(run.info.get("points") or 0), ", ".join(run.labels), run.note or "")
            for run in found[:_MOST_ROWS]]
    more = "<div>and more: say which by a query</div>" if len(found) > _MOST_ROWS else ""
    return table(("run", "state", "points", "labels", "note"), rows) + more


def _plot(words: List[str]) -> str:
    tags: List[str] = []
    names: List[str] = []
    while words:
        word = words.pop(0)
        if word in ("-m", "--metric"):
            if not words:
                raise ValueError("-m needs a tag")
            tags.append(words.pop(0))
        else:
            names.append(word)
    if not names:
        raise ValueError(_USAGE)
    lines: Dict[str, List[_Line]] = {}
    for name in names:
        known = reading.run(name)
        for line in _lines_of(known.name, None, tags):
            lines.setdefault(line.name, []).append(_Line(known.display_name, line.steps, line.values))
    order = tags or sorted(lines, key=lambda tag: ("loss" not in tag, tag))[:_MOST_CURVES]
    return "".join(curve(tag, lines.get(tag, [])) for tag in order)


def _tensorboard(words: List[str]) -> str:
    tool = shutil.which("yard")
    if tool is None:
        raise OSError("yard is not on PATH; next step: add the folder of yard to it")
    asked = subprocess.run([tool, "tensorboard", "--json", *(["--", *words] if words else [])], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    if asked.returncode != 0:
        raise OSError(asked.stderr.strip() or "yard tensorboard has failed")
    url = str(json.loads(asked.stdout.splitlines()[-1])["url"])
    return ("<div><a href='%s' target='_blank' rel='noopener'>%s</a></div><iframe src='%s' width='100%%' height='800' "
            "frameborder='0'></iframe>" % (_text(url), _text(url), _text(url)))
