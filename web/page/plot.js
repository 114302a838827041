// A plot of points and a step line, for the scatter plot and the best value so far.

import { html, useEffect, useRef, useState } from './preact-htm.js';
import { ticks } from './chart.js';
import { number } from './format.js';
import { fitted } from './parts.js';

const LEFT = 66, RIGHT = 14, TOP = 10, BOTTOM = 26;

const linear = value => value;

function axisTicks(axis, room, size) {
  if (axis.kind === 'choice') {
    const every = Math.ceil(axis.choices.length / Math.max(1, Math.floor(room / size)));
    return axis.choices.map((_, place) => place).filter(place => place % every === 0);
  }
  return ticks(axis.low, axis.high, room / size, axis.mode || 'step', axis.log);
}

function scale(axis, from, to) {
  const f = axis.log ? Math.log10 : linear;
  const a = f(axis.low), b = f(axis.high);
  return value => from + (f(value) - a) / (b - a) * (to - from);
}

function draw(canvas, { points, steps, line, x, y, at }) {
  const factor = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (width < LEFT + RIGHT + 20) return [];
  canvas.width = Math.round(width * factor);
  canvas.height = Math.round(height * factor);
  const context = canvas.getContext('2d');
  context.setTransform(factor, 0, 0, factor, 0, 0);
  const style = getComputedStyle(canvas);
  const of = name => style.getPropertyValue(name);
  const pad = 5, px = scale(x, LEFT + pad, width - RIGHT - pad), py = scale(y, height - BOTTOM - pad, TOP + pad);
  context.font = `11px ${style.fontFamily}`;
  context.strokeStyle = of('--rule');
  context.fillStyle = of('--faint');
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (const value of axisTicks(y, height - TOP - BOTTOM, 32)) {
    const line = Math.round(py(value)) + 0.5;
    context.beginPath();
    context.moveTo(LEFT, line);
    context.lineTo(width - RIGHT, line);
    context.stroke();
    context.fillText(fitted(context, y.text(Number(value.toPrecision(12))), LEFT - 8), LEFT - 6, line);
  }
  context.textAlign = 'center';
  context.textBaseline = 'alphabetic';
  const room = x.kind === 'choice' ? (width - LEFT - RIGHT) / Math.max(1, x.choices.length) : 78;
  for (const value of axisTicks(x, width - LEFT - RIGHT, x.kind === 'choice' ? 50 : 78)) {
    context.fillText(fitted(context, x.text(Number(value.toPrecision(12))), Math.max(44, room - 4)), px(value), height - BOTTOM + 17);
  }
  const places = points.map(point => ({ x: px(point.x), y: py(point.y) }));
  if (steps && steps.length > 0) {
    context.strokeStyle = of('--link');
    context.lineWidth = 2;
    context.beginPath();
    steps.forEach((point, i) => {
      if (i > 0) context.lineTo(px(point.x), py(steps[i - 1].y));
      context[i === 0 ? 'moveTo' : 'lineTo'](px(point.x), py(point.y));
    });
    context.stroke();
  }
  if (line) {
    context.strokeStyle = of('--link');
    context.beginPath();
    for (const place of places) context.lineTo(place.x, place.y);
    context.stroke();
  }
  points.forEach((point, i) => {
    context.globalAlpha = point.faint ? 0.25 : 0.85;
    context.fillStyle = of(point.colour || '--link');
    context.beginPath();
    context.arc(places[i].x, places[i].y, point.size || 3.5, 0, 7);
    context.fill();
  });
  context.globalAlpha = 1;
  if (places[at]) {
    context.strokeStyle = of('--ink');
    context.lineWidth = 2;
    context.beginPath();
    context.arc(places[at].x, places[at].y, 7, 0, 7);
    context.stroke();
  }
  return places;
}

// `points`: [{x, y, text(), colour, faint, size, open()}], joined by a line with `line`; `steps`: [{x, y}]; `x`, `y`: axes {low, high, log, text(value), kind, choices}.
export function Plot({ title, summary, points, steps, line, x, y, height = 240, hint = '← → and enter, or a click, open a trial', empty = 'no trial has a value yet', children }) {
  const canvas = useRef(), figure = useRef(), places = useRef([]);
  const [at, setAt] = useState(-1);
  const [table, setTable] = useState(false);
  const redraw = () => { if (canvas.current) places.current = draw(canvas.current, { points, steps, line, x, y, at }); };
  const again = useRef();
  again.current = redraw;
  useEffect(redraw);
  useEffect(() => {
    const call = () => again.current();
    const watcher = new ResizeObserver(call);
    watcher.observe(figure.current);
    addEventListener('theme', call);
    return () => { watcher.disconnect(); removeEventListener('theme', call); };
  }, []);
  const near = event => {
    const box = canvas.current.getBoundingClientRect(), ex = event.clientX - box.left, ey = event.clientY - box.top;
    let found = -1, least = 14 * 14;
    places.current.forEach((place, i) => {
      const away = (place.x - ex) ** 2 + (place.y - ey) ** 2;
      if (away < least) { least = away; found = i; }
    });
    return found;
  };
  const key = event => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.target !== figure.current || event.ctrlKey || event.metaKey || event.altKey) return;
    if (by && points.length > 0) {
      event.preventDefault();
      const order = points.map((_, i) => i).sort((a, b) => points[a].x - points[b].x || points[a].y - points[b].y);
      const place = order.indexOf(at);
      setAt(order[Math.min(order.length - 1, Math.max(0, place < 0 ? (by > 0 ? 0 : order.length - 1) : place + by))]);
    }
    if (event.key === 'v') { event.stopPropagation(); setTable(!table); }
    if (event.key === 'Escape') setAt(-1);
    if (event.key === 'Enter' && points[at] && points[at].open) points[at].open();
  };
  const shown = points[at];
  return html`<figure class="card" ref=${figure} tabindex="0" onKeyDown=${key} aria-label=${summary}>
    <figcaption><b title=${title}>${title}</b>${children}<button aria-pressed=${table} title="numbers (v)" onClick=${() => setTable(!table)}>${table ? 'chart' : 'table'}</button></figcaption>
    ${table ? html`<${Numbers} points=${points} x=${x} y=${y} />` : html`<div class="plot" style=${{ height: `${height}px` }}><canvas ref=${canvas} onPointerMove=${event => setAt(near(event))} onPointerLeave=${() => setAt(-1)}
      onClick=${event => { const one = points[near(event)]; if (one && one.open) one.open(); }}></canvas>
      ${points.length === 0 && html`<p class="over">${empty}</p>`}</div>`}
    <p class="legend" role="status">${shown ? shown.text() : html`<span class="faint">${number(points.length)} points · ${hint}</span>`}</p></figure>`;
}

const MOST_ROWS = 500;

function Numbers({ points, x, y }) {
  const rows = [...points].sort((a, b) => a.x - b.x || a.y - b.y).slice(0, MOST_ROWS);
  return html`<div class="numbers" tabindex="0"><table><thead><tr><th class="n">${x.name || 'x'}</th><th class="n">${y.name || 'y'}</th><th>point</th></tr></thead>
    <tbody>${rows.map((point, i) => html`<tr key=${i}><td class="n">${x.text(point.x)}</td><td class="n">${y.text(point.y)}</td><td>${point.text()}</td></tr>`)}</tbody></table></div>`;
}
