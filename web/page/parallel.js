// Parallel coordinates: an axis for each parameter, a line for each trial, and a brush on each
// axis.

import { html, useEffect, useRef, useState } from './preact-htm.js';
import { plain } from './format.js';
import { fitted } from './parts.js';

const TOP = 8, SIDE = 44, LEAST = 84, NARROW = 0.05;

// Colours range from `--faint` (worst) to `--link` (best).
function mix(a, b, share) {
  const parts = colour => [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16));
  const from = parts(a), to = parts(b);
  return `rgb(${from.map((value, i) => Math.round(value + (to[i] - value) * share)).join(',')})`;
}

// A canvas in its displayed size, its context, and the positions of axes and values on it.
function prepare(canvas, axes, lines) {
  const factor = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * factor);
  canvas.height = Math.round(height * factor);
  const context = canvas.getContext('2d');
  context.setTransform(factor, 0, 0, factor, 0, 0);
  const style = getComputedStyle(canvas);
  context.font = `11px ${style.fontFamily}`;
  context.textBaseline = 'middle';
  // A missing parameter is drawn below the axis.
  const lacks = axes.some((axis, i) => axis.parameter && lines.some(line => Number.isNaN(line.units[i])));
  const bottom = lacks ? 34 : 10, room = height - TOP - bottom - 12;
  return {
    context, width, none: height - bottom + 4, of: name => style.getPropertyValue(name).trim(),
    px: i => axes.length < 2 ? width / 2 : SIDE + i * (width - 2 * SIDE) / (axes.length - 1),
    py: unit => TOP + 6 + (1 - unit) * room, unit: y => Math.min(1, Math.max(0, 1 - (y - TOP - 6) / room)),
  };
}

function drawLines(canvas, axes, lines) {
  const { context, px, py, none, of } = prepare(canvas, axes, lines);
  const faint = of('--faint'), link = of('--link'), bad = of('--bad');
  context.lineJoin = 'round';
  for (const line of lines) {
    context.globalAlpha = line.out ? 0.08 : lines.length > 300 ? 0.4 : 0.75;
    context.strokeStyle = line.failed ? bad : line.rank === null ? faint : mix(faint, link, 1 - line.rank);
    context.lineWidth = line.best ? 2.5 : 1.2;
    context.setLineDash(line.failed ? [3, 3] : []);
    context.beginPath();
    let open = false;
    axes.forEach((axis, i) => {
      const value = line.units[i];
      // The line of a trial without a value ends before the value's axis.
      if (Number.isNaN(value) && !axis.parameter) { open = false; return; }
      const y = Number.isNaN(value) ? none : py(value);
      context[open ? 'lineTo' : 'moveTo'](px(i), y);
      open = true;
    });
    context.stroke();
  }
}

// Drawn on a separate canvas, so that the lines need not be redrawn.
function drawAxes(canvas, axes, lines, brush, drag) {
  const view = prepare(canvas, axes, lines), { context, px, py, of, width } = view;
  axes.forEach((axis, i) => {
    const x = Math.round(px(i)) + 0.5;
    context.strokeStyle = of('--line');
    context.beginPath();
    context.moveTo(x, py(1));
    context.lineTo(x, py(0));
    context.stroke();
    for (const [from, to] of [...rangesOf(axis, brush[axis.name]), ...(drag && drag.axis === i ? [[drag.from, drag.to]] : [])]) {
      context.fillStyle = of('--select');
      context.strokeStyle = of('--link');
      context.beginPath();
      context.rect(x - 8, py(Math.max(from, to)) - 1, 16, Math.max(3, py(Math.min(from, to)) - py(Math.max(from, to)) + 2));
      context.fill();
      context.stroke();
    }
    const last = i === axes.length - 1 && axes.length > 1;
    context.textAlign = last ? 'right' : 'left';
    const room = axes.length < 2 ? 200 : (width - 2 * SIDE) / (axes.length - 1) - 12;
    const label = (unit, value) => {
      const text = fitted(context, axis.text(value), room), at = last ? x - 6 : x + 6, wide = context.measureText(text).width;
      context.globalAlpha = 0.75;
      context.fillStyle = of('--card');
      context.fillRect(last ? at - wide - 1 : at - 1, py(unit) - 7, wide + 2, 14);
      context.globalAlpha = 1;
      context.fillStyle = of('--ink');
      context.fillText(text, at, py(unit));
    };
    if (axis.kind === 'choice') {
      const every = Math.ceil(axis.choices.length / 12);
      axis.choices.forEach((_, place) => place % every === 0 && label(axis.unit(place), place));
    } else {
      label(1, axis.high);
      label(0, axis.low);
    }
  });
  return view;
}

// Returns the brush of an axis, in units (0 to 1).
function rangesOf(axis, wanted) {
  if (!wanted) return [];
  if (axis.kind === 'choice') {
    const half = 0.4 / axis.choices.length;
    return axis.choices.map((text, place) => [text, axis.unit(place)]).filter(([text]) => wanted.of.includes(text)).map(([, at]) => [at - half, at + half]);
  }
  return [[Math.max(0, axis.unit(wanted.from)), Math.min(1, axis.unit(wanted.to))]];
}

// Makes a brush from units; null if it covers the whole axis.
function brushOf(axis, from, to) {
  [from, to] = [Math.min(from, to), Math.max(from, to)];
  if (axis.kind === 'choice') {
    const of = axis.choices.filter((_, place) => axis.unit(place) >= from && axis.unit(place) <= to);
    return of.length === 0 || of.length === axis.choices.length ? null : { of };
  }
  return from <= 0 && to >= 1 ? null : { from: axis.back(from), to: axis.back(to) };
}

const inWords = (axis, wanted) => !wanted ? 'all' : axis.kind === 'choice' ? wanted.of.map(text => axis.text(axis.choices.indexOf(text))).join(', ')
  : `${axis.text(wanted.from)} to ${axis.text(wanted.to)}`;

// `lines`: [{units, rank: 0 best to 1 worst or null, out, failed, best}], drawn in order, the last
// on top; `set(name, brush or null)`.
export function Parallel({ axes, lines, brush, set }) {
  const base = useRef(), canvas = useRef(), frame = useRef(), view = useRef(), again = useRef();
  const [drag, setDrag] = useState(null);
  const over = () => { view.current = drawAxes(canvas.current, axes, lines, brush, drag); };
  again.current = () => { if (canvas.current) { drawLines(base.current, axes, lines); over(); } };
  useEffect(() => drawLines(base.current, axes, lines), [lines]);
  useEffect(over);
  useEffect(() => {
    const call = () => again.current();
    const watcher = new ResizeObserver(call);
    watcher.observe(frame.current);
    addEventListener('theme', call);
    return () => { watcher.disconnect(); removeEventListener('theme', call); };
  }, []);
  const place = event => {
    const box = canvas.current.getBoundingClientRect(), x = event.clientX - box.left;
    let axis = 0;
    axes.forEach((_, i) => { if (Math.abs(view.current.px(i) - x) < Math.abs(view.current.px(axis) - x)) axis = i; });
    return { axis, unit: view.current.unit(event.clientY - box.top) };
  };
  const down = event => {
    if (event.button !== 0 || axes.length === 0) return;
    const { axis, unit } = place(event);
    canvas.current.setPointerCapture(event.pointerId);
    setDrag({ axis, from: unit, to: unit });
  };
  const move = event => { if (drag) setDrag({ ...drag, to: place(event).unit }); };
  const up = () => {
    if (!drag) return;
    const axis = axes[drag.axis];
    set(axis.name, Math.abs(drag.to - drag.from) < 0.02 ? null : brushOf(axis, drag.from, drag.to));
    setDrag(null);
  };
  const key = (event, axis, i) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key], side = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (side) { const next = frame.current.querySelectorAll('.axis')[i + side]; if (next) next.focus(); }
    if (event.key === 'Escape') set(axis.name, null);
    if (!by) { if (side || event.key === 'Escape') event.preventDefault(); return; }
    event.preventDefault();
    const wanted = brush[axis.name];
    if (axis.kind === 'choice') {
      const at = wanted ? axis.choices.indexOf(wanted.of[0]) + by : by > 0 ? 0 : axis.choices.length - 1;
      return set(axis.name, axis.choices[at] === undefined ? null : { of: [axis.choices[at]] });
    }
    // Up raises the lower end, Down lowers the upper end; with Shift they move back.
    let [from, to] = rangesOf(axis, wanted)[0] || [0, 1];
    if (event.shiftKey) { if (by > 0) to = Math.min(1, to + NARROW); else from = Math.max(0, from - NARROW); }
    else if (by > 0) from = Math.min(to, from + NARROW);
    else to = Math.max(from, to - NARROW);
    set(axis.name, brushOf(axis, from < 1e-9 ? 0 : from, to > 1 - 1e-9 ? 1 : to));
  };
  return html`<div class="parallel"><div ref=${frame} style=${{ minWidth: `${2 * SIDE + LEAST * (axes.length - 1)}px` }}>
    <div class="axes">${axes.map((axis, i) => html`<button key=${axis.name} class="axis" aria-pressed=${Boolean(brush[axis.name])}
      title=${`${plain(axis.name)}: ${inWords(axis, brush[axis.name])}`} aria-label=${`${plain(axis.name)}: ${inWords(axis, brush[axis.name])}`}
      onKeyDown=${event => key(event, axis, i)} onClick=${() => set(axis.name, null)}>${plain(axis.name)}</button>`)}</div>
    <div class="lines"><canvas ref=${base}></canvas><canvas ref=${canvas} onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${() => setDrag(null)}></canvas></div></div></div>`;
}
