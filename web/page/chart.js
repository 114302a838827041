// Draws curves on a canvas. Every column of a series is drawn from its minimum to its maximum, so
// that no spike is lost however many points share a pixel; a NaN point has a mark at
// the bottom. Many curves are drawn as a cloud: the number of curves at each pixel.

import { duration, number } from './format.js';

const LEFT = 58, RIGHT = 10, TOP = 8, BOTTOM = 22;

// The cursor shared by all charts of a page: {x, mode}, or null.
const watchers = new Set();
export const cursor = {
  at: null,
  set(at) { cursor.at = at; for (const watcher of watchers) watcher(at); },
  watch(watcher) { watchers.add(watcher); return () => watchers.delete(watcher); },
};

// The mode is the quantity on the x axis: 'step', 'relative', 'time', or 'm:TAG' for another
// metric.
export const isMetric = mode => mode.startsWith('m:');

// Returns the x of a column's last point; xBegin() that of its first.
export function xOf(line, mode, i) {
  if (isMetric(mode)) return line.x ? line.x[i] : NaN;
  if (mode === 'time') return line.time[i] * 1000;
  if (mode === 'relative') return line.time[i] - line.time[0];
  return line.last[i];
}
function xBegin(line, mode, i) {
  return mode === 'step' ? line.first[i] : xOf(line, mode, i);
}

// Returns the index of the column nearest to x; -1 without columns.
export function nearest(line, mode, x) {
  if (isMetric(mode)) return nearestAnywhere(line, mode, x);
  let low = 0, high = line.n - 1;
  if (high < 0) return -1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xOf(line, mode, middle) < x) low = middle + 1; else high = middle;
  }
  if (low > 0 && x - xOf(line, mode, low - 1) < xOf(line, mode, low) - x) return low - 1;
  return low;
}

// A metric on the x axis is not monotonic: returns the newest of the nearest columns.
function nearestAnywhere(line, mode, x) {
  let best = -1, distance = Infinity;
  for (let i = 0; i < line.n; ++i) {
    const away = Math.abs(xOf(line, mode, i) - x);
    if (away <= distance) { best = i; distance = away; }
  }
  return best;
}

function niceStep(span, most) {
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= rough) return factor * power;
  return 10 * power;
}

const TIME_STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 604800, 2592000];
const timeStep = (seconds, most) => seconds / most < 1 ? niceStep(seconds, most) : TIME_STEPS.find(step => seconds / step <= most) || niceStep(seconds, most);

export function ticks(low, high, most, mode, log) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const list = [];
  if (log) {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const every = Math.ceil((last - first) / Math.max(1, most));
    // Two decades or fewer also get ticks in between.
    const between = last - first <= 2 ? [1, 2, 5] : [1];
    for (let power = first; power <= last; power += every) for (const factor of between) list.push(factor * 10 ** power);
    return list.filter(value => value >= low && value <= high);
  }
  let step = niceStep(span, most), offset = 0;
  if (mode === 'relative') step = timeStep(span, most);
  if (mode === 'time') {
    step = timeStep(span / 1000, most) * 1000;
    offset = new Date(low).getTimezoneOffset() * 60000;
  }
  for (let i = Math.ceil((low - offset) / step); i * step + offset <= high; ++i) list.push(i * step + offset);
  return list;
}

export function xText(x, mode) {
  if (mode === 'relative') return duration(x);
  if (mode === 'time') return new Date(x).toLocaleString('sv-SE').slice(5);
  return isMetric(mode) ? `${mode.slice(2)} ${number(x)}` : number(Math.round(x));
}
const xTick = (x, mode, step) => mode === 'time'
  ? new Date(x).toLocaleString('sv-SE').slice(...(step >= 86400000 ? [5, 10] : [11, step >= 60000 ? 16 : 19]))
  : mode === 'relative' ? duration(x) : isMetric(mode) ? number(Number(x.toPrecision(12))) : Math.abs(x) >= 1e6 ? x.toExponential(1).replace('.0', '').replace('e+', 'e') : number(x);

export class Chart {
  constructor(plot, over) {
    this.plot = plot;
    this.over = over;
    this.view = null;
    this.data = { lines: [], cloud: [] };
  }

  // {lines: [{...series, colour, dash}], cloud: [series], mode, log, logX, range: [low, high] | null}
  set(data) {
    this.data = data;
    this.draw();
  }

  size(canvas) {
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const context = canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    return { context, width, height, scale };
  }

  extent() {
    const { lines, cloud, mode, log, logX, range } = this.data;
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    for (const line of [...lines, ...cloud]) {
      for (let i = 0; i < line.n; ++i) {
        const begin = xBegin(line, mode, i), end = xOf(line, mode, i);
        if (range && (end < range[0] || begin > range[1])) continue;
        if (!Number.isFinite(end) || (logX && !(end > 0))) continue;
        x0 = Math.min(x0, logX && !(begin > 0) ? end : begin);
        x1 = Math.max(x1, end);
        for (const y of [line.min[i], line.max[i]]) {
          if (!Number.isFinite(y) || (log && !(y > 0))) continue;
          y0 = Math.min(y0, y);
          y1 = Math.max(y1, y);
        }
      }
    }
    if (range) [x0, x1] = range;
    if (!(x0 <= x1)) return null;
    if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
    if (!(y0 <= y1)) { y0 = log ? 1 : 0; y1 = log ? 10 : 1; }
    if (y0 === y1) { const pad = Math.abs(y0) * 0.05 || 0.5; if (log) { y0 /= 2; y1 *= 2; } else { y0 -= pad; y1 += pad; } }
    return { x0, x1, y0, y1 };
  }

  scales(width, height) {
    const extent = this.extent();
    if (!extent) return null;
    const { log, logX } = this.data;
    const to = logarithmic => logarithmic ? Math.log10 : value => value;
    const back = logarithmic => logarithmic ? value => 10 ** value : value => value;
    const fx = to(logX), fy = to(log);
    const x0 = fx(extent.x0), x1 = fx(extent.x1), y0 = fy(extent.y0), y1 = fy(extent.y1);
    const w = width - LEFT - RIGHT, h = height - TOP - BOTTOM, margin = h * 0.03;
    return {
      ...extent, w, h,
      x: value => LEFT + (fx(value) - x0) / (x1 - x0) * w,
      y: value => TOP + h - margin - (fy(value) - y0) / (y1 - y0) * (h - 2 * margin),
      back: pixel => back(logX)(x0 + (pixel - LEFT) / w * (x1 - x0)),
    };
  }

  draw() {
    const { context, width, height, scale } = this.size(this.plot);
    if (width < LEFT + RIGHT + 20) return;
    const style = getComputedStyle(this.plot);
    const ink = style.getPropertyValue('--faint'), rule = style.getPropertyValue('--rule');
    const view = this.view = this.scales(width, height);
    context.font = `11px ${style.fontFamily}`;
    if (!view) {
      context.fillStyle = ink;
      context.textAlign = 'center';
      context.fillText('no points', width / 2, height / 2);
      return this.drawCursor();
    }
    this.axes(context, view, ink, rule);
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP, view.w, view.h);
    context.clip();
    this.drawCloud(context, view, width, height, scale, style.getPropertyValue('--cloud'));
    for (const line of this.data.lines) this.drawLine(context, view, line);
    context.restore();
    this.drawCursor();
  }

  axes(context, view, ink, rule) {
    const { mode, log, logX } = this.data;
    context.strokeStyle = rule;
    context.fillStyle = ink;
    context.lineWidth = 1;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    for (const y of ticks(view.y0, view.y1, view.h / 34, 'step', log)) {
      const at = Math.round(view.y(y)) + 0.5;
      context.beginPath();
      context.moveTo(LEFT, at);
      context.lineTo(LEFT + view.w, at);
      context.stroke();
      context.fillText((this.data.text || number)(Number(y.toPrecision(12))), LEFT - 6, at);
    }
    context.textBaseline = 'alphabetic';
    context.textAlign = 'center';
    const list = ticks(view.x0, view.x1, view.w / 78, mode, logX);
    for (const x of list) {
      context.fillText(xTick(x, mode, list.length > 1 ? list[1] - list[0] : 1), view.x(x), TOP + view.h + 15);
    }
    context.beginPath();
    context.moveTo(LEFT, TOP + view.h + 0.5);
    context.lineTo(LEFT + view.w, TOP + view.h + 0.5);
    context.stroke();
  }

  path(context, view, line, values) {
    const { mode, log, logX } = this.data;
    context.beginPath();
    let open = false;
    for (let i = 0; i < line.n; ++i) {
      const x = xOf(line, mode, i), y = values[i];
      if (!Number.isFinite(x) || !Number.isFinite(y) || (log && !(y > 0)) || (logX && !(x > 0))) { open = false; continue; }
      if (open) context.lineTo(view.x(x), view.y(y)); else context.moveTo(view.x(x), view.y(y));
      open = true;
    }
    context.stroke();
  }

  // Fills the area between the minima and the maxima of the columns.
  fillBand(context, view, line) {
    const { mode, log, logX } = this.data, points = [];
    for (let i = 0; i < line.n; ++i) {
      const x = xOf(line, mode, i), high = line.max[i], low = log && !(line.min[i] > 0) ? view.y0 : line.min[i];
      if (Number.isFinite(x) && Number.isFinite(high) && (!log || high > 0) && (!logX || x > 0)) points.push([view.x(x), view.y(high), view.y(low)]);
    }
    context.globalAlpha = 0.2;
    context.beginPath();
    for (const [x, high] of points) context.lineTo(x, high);
    for (const [x, , low] of points.reverse()) context.lineTo(x, low);
    context.fill();
  }

  drawLine(context, view, line) {
    const { mode, log, logX } = this.data;
    context.strokeStyle = context.fillStyle = line.colour;
    context.lineJoin = 'round';
    context.globalAlpha = line.smooth ? 0.18 : 0.3;
    context.lineWidth = 1.2;
    if (line.band) this.fillBand(context, view, line);
    for (let i = 0; i < line.n && !line.band; ++i) {
      let low = line.min[i];
      const high = line.max[i];
      if (!(low < high) || (log && !(high > 0))) continue;
      if (log && !(low > 0)) low = view.y0;
      const end = xOf(line, mode, i), begin = xBegin(line, mode, i);
      if (!Number.isFinite(end) || (logX && !(end > 0))) continue;
      const left = view.x(logX && !(begin > 0) ? end : begin), right = view.x(end);
      context.fillRect(left - 0.5, view.y(high), Math.max(1.2, right - left), Math.max(1, view.y(low) - view.y(high)));
    }
    context.setLineDash(line.dash || []);
    context.globalAlpha = line.smooth ? 0.35 : 1;
    context.lineWidth = line.smooth ? 1 : 1.6;
    this.path(context, view, line, line.value);
    context.globalAlpha = 1;
    if (line.smooth) {
      context.lineWidth = 2;
      this.path(context, view, line, line.smooth);
    }
    context.setLineDash([]);
    if (line.n === 1 && Number.isFinite(line.value[0])) {
      context.beginPath();
      context.arc(view.x(xOf(line, mode, 0)), view.y(line.value[0]), 3, 0, 7);
      context.fill();
    }
    for (let i = 0; line.nan && i < line.n; ++i) {
      if (line.nan[i] === 0) continue;
      const x = view.x(xOf(line, mode, i)), y = TOP + view.h - 1;
      if (!Number.isFinite(x)) continue;
      context.beginPath();
      context.moveTo(x - 4, y);
      context.lineTo(x + 4, y);
      context.lineTo(x, y - 7);
      context.fill();
    }
  }

  // Draws the number of curves through each pixel as one image.
  drawCloud(context, view, width, height, scale, ink) {
    const { cloud, mode, log, logX } = this.data;
    if (cloud.length === 0) return;
    const W = Math.round(width * scale), H = Math.round(height * scale);
    const counts = new Uint16Array(W * H);
    const span = (px, from, to) => {
      if (px < 0 || px >= W) return;
      const top = Math.max(0, Math.min(from, to)), bottom = Math.min(H - 1, Math.max(from, to));
      for (let py = top; py <= bottom; ++py) ++counts[py * W + px];
    };
    const row = y => Math.round(view.y(y) * scale);
    for (const line of cloud) {
      let before = null;
      for (let i = 0; i < line.n; ++i) {
        const x = xOf(line, mode, i);
        if (!Number.isFinite(x) || !Number.isFinite(line.min[i]) || (log && !(line.min[i] > 0)) || (logX && !(x > 0))) { before = null; continue; }
        const px = Math.round(view.x(x) * scale), y = row(Number.isFinite(line.value[i]) ? line.value[i] : line.max[i]);
        span(px, row(line.max[i]), row(line.min[i]));
        if (before && px > before.px) {
          let last = before.y;
          for (let at = Math.max(0, before.px + 1); at < Math.min(px, W); ++at) {
            const middle = Math.round(before.y + (y - before.y) * (at - before.px) / (px - before.px));
            span(at, last, middle);
            last = middle;
          }
        }
        before = { px, y };
      }
    }
    const picture = new ImageData(W, H);
    const [red, green, blue] = ink.split(',').map(Number);
    for (let i = 0; i < counts.length; ++i) {
      if (counts[i] === 0) continue;
      picture.data.set([red, green, blue, Math.min(200, 60 + 40 * Math.log2(counts[i]))], 4 * i);
    }
    const canvas = new OffscreenCanvas(W, H);
    canvas.getContext('2d').putImageData(picture, 0, 0);
    context.drawImage(canvas, 0, 0, width, height);
  }

  // Draws on a separate canvas, so that the curves need not be redrawn.
  drawCursor(select) {
    const { context, height } = this.size(this.over);
    const view = this.view;
    if (!view) return;
    const style = getComputedStyle(this.over);
    if (select) {
      context.fillStyle = style.getPropertyValue('--select');
      context.fillRect(Math.min(...select), TOP, Math.abs(select[1] - select[0]), view.h);
    }
    const at = cursor.at;
    if (!at || at.mode !== this.data.mode || at.x < view.x0 || at.x > view.x1) return;
    const x = Math.round(view.x(at.x)) + 0.5;
    context.strokeStyle = style.getPropertyValue('--faint');
    context.beginPath();
    context.moveTo(x, TOP);
    context.lineTo(x, height - BOTTOM);
    context.stroke();
    for (const line of this.data.lines) {
      const i = nearest(line, this.data.mode, at.x);
      const y = i < 0 ? NaN : (line.smooth || line.value)[i];
      if (!Number.isFinite(y)) continue;
      context.fillStyle = line.colour;
      context.beginPath();
      context.arc(view.x(xOf(line, this.data.mode, i)), view.y(y), 3, 0, 7);
      context.fill();
    }
  }
}

const escape = text => String(text).replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);

// Returns the same chart as SVG, for publications.
export function toSvg(chart, title) {
  const width = chart.plot.clientWidth, height = chart.plot.clientHeight;
  const view = chart.scales(width, height);
  if (!view) return '';
  const { lines, mode, log, logX } = chart.data;
  const parts = [];
  for (const y of ticks(view.y0, view.y1, view.h / 34, 'step', log)) {
    parts.push(`<path d="M${LEFT} ${view.y(y).toFixed(1)}h${view.w}" stroke="#ddd"/>`,
      `<text x="${LEFT - 6}" y="${(view.y(y) + 4).toFixed(1)}" text-anchor="end">${escape((chart.data.text || number)(Number(y.toPrecision(12))))}</text>`);
  }
  const list = ticks(view.x0, view.x1, view.w / 78, mode, logX);
  for (const x of list) {
    parts.push(`<text x="${view.x(x).toFixed(1)}" y="${TOP + view.h + 15}" text-anchor="middle">${escape(xTick(x, mode, list.length > 1 ? list[1] - list[0] : 1))}</text>`);
  }
  for (const line of lines) {
    const curve = values => {
      let d = '', open = false;
      for (let i = 0; i < line.n; ++i) {
        const x = xOf(line, mode, i), y = values[i];
        if (!Number.isFinite(x) || !Number.isFinite(y) || (log && !(y > 0)) || (logX && !(x > 0))) { open = false; continue; }
        d += `${open ? 'L' : 'M'}${view.x(x).toFixed(2)} ${view.y(y).toFixed(2)}`;
        open = true;
      }
      return d;
    };
    let band = '';
    for (let i = 0; i < line.n; ++i) {
      if (!(line.min[i] < line.max[i]) || (log && !(line.min[i] > 0)) || !Number.isFinite(xOf(line, mode, i))) continue;
      band += `M${view.x(xOf(line, mode, i)).toFixed(2)} ${view.y(line.max[i]).toFixed(2)}V${view.y(line.min[i]).toFixed(2)}`;
    }
    if (band) parts.push(`<path d="${band}" stroke="${line.colour}" opacity=".3"/>`);
    parts.push(`<path d="${curve(line.value)}" stroke="${line.colour}" opacity="${line.smooth ? 0.35 : 1}" stroke-width="1.5" stroke-dasharray="${(line.dash || []).join(' ')}"/>`);
    if (line.smooth) parts.push(`<path d="${curve(line.smooth)}" stroke="${line.colour}" stroke-width="2"/>`);
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + 20}" viewBox="0 -20 ${width} ${height + 20}" `
    + `font-family="sans-serif" font-size="11" fill="none"><rect y="-20" width="100%" height="100%" fill="#fff"/>`
    + `<g fill="#333"><text x="${LEFT}" y="-6" font-size="13">${escape(title)}</text></g>`
    + `<clipPath id="c"><rect x="${LEFT}" y="${TOP}" width="${view.w}" height="${view.h}"/></clipPath>`
    + parts.map(part => part.startsWith('<text') ? part.replace('<text', '<text fill="#333"') : part.replace('<path', '<path clip-path="url(#c)"')).join('')
    + '</svg>\n';
}

const quote = text => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

// Returns the drawn curves as CSV: a row for each column of each curve.
export function toCsv(lines) {
  const rows = ['run,tag,first_step,last_step,wall_time,min,max,last,smoothed,not_finite,x'];
  for (const line of lines) {
    for (let i = 0; i < line.n; ++i) {
      rows.push([quote(line.run), quote(line.tag), line.first[i], line.last[i], line.time[i], line.min[i], line.max[i],
        line.value[i], line.smooth ? line.smooth[i] : '', line.nan ? line.nan[i] : line.nanCounted ? 0 : '',
        line.x ? line.x[i] : ''].join(','));
    }
  }
  return rows.join('\n') + '\n';
}
