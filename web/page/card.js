// A chart with its name, legend and buttons.

import { html, useEffect, useRef, useState } from './preact-htm.js';
import { Chart, cursor, isMetric, nearest, toCsv, toSvg, xOf, xText } from './chart.js';
import { askSeries } from './api.js';
import { paced } from './live.js';
import { number, plural, textOfTag } from './format.js';
import { useVisible } from './parts.js';
import { meanOf } from './groups.js';

function save(name, content, type) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name.replace(/[^\w.-]+/g, '_');
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Describes the curves in words, for users who cannot see them.
function inWords(tag, lines) {
  const words = lines.slice(0, 8).map(line => {
    if (line.n === 0) return `${line.run}: no points`;
    let low = Infinity, high = -Infinity;
    for (let i = 0; i < line.n; ++i) {
      if (line.min[i] < low) low = line.min[i];
      if (line.max[i] > high) high = line.max[i];
    }
    return `${line.run}: ${number(line.value[0])} to ${number(line.value[line.n - 1])} over `
      + `${plural(line.points, 'point')}, lowest ${number(low)}, highest ${number(high)}`;
  });
  return `${tag}. ${words.join('. ')}`;
}

// `runs`: [{run, name, colour, dash}], each with its own `tag` if the chart has several tags, which
// `title` then names; `groups`: [{text, colour, runs: [names]}], drawn instead of the runs;
// `cloud`: a query whose runs are drawn behind them, or null; `options`: {mode, log, logX, smooth};
// `keep()` puts the chart on the board; `changed(tag, f)` calls f after each change of the tag's
// points, and returns a function that unsubscribes.
export function Card({ tag, title = tag, runs, groups = null, cloud = null, options, changed, height = 200, keep, pin }) {
  const figure = useRef(), plot = useRef(), over = useRef(), chart = useRef(), request = useRef();
  const visible = useVisible(figure);
  const [series, setSeries] = useState({ lines: [], cloud: [] });
  const [range, setRange] = useState(null);
  const [select, setSelect] = useState(null);
  const [at, setAt] = useState(cursor.at);
  const [error, setError] = useState('');
  const [table, setTable] = useState(false);
  const [waits, setWaits] = useState(true);
  const { mode, log, logX, smooth } = options;
  const tagOf = run => run.tag || tag, names = runs.map(run => `${run.run}\t${tagOf(run)}`).join('\n');
  const looks = JSON.stringify([runs, groups]);

  const read = useRef();
  read.current = async () => {
    if (request.current) request.current.abort();
    const abort = request.current = new AbortController();
    const width = plot.current ? plot.current.clientWidth : 600;
    const question = { n: Math.max(50, Math.min(2000, Math.round(width * (window.devicePixelRatio || 1)))) };
    // Only a range of steps can be requested; with other axes all points are read, and the chart
    // shows a part.
    if (isMetric(mode)) question.x = mode.slice(2);
    if (range && mode === 'step') { question.from = Math.floor(range[0]); question.to = Math.ceil(range[1]); }
    try {
      const [lines, behind] = await Promise.all([
        runs.length === 0 ? [] : askSeries({ ...question, smooth, sel: runs.map(run => [run.run, tagOf(run)]) }, abort.signal),
        cloud === null ? [] : askSeries({ ...question, n: Math.min(300, question.n), q: cloud, tag }, abort.signal),
      ]);
      if (abort.signal.aborted) return;
      setSeries({ lines, cloud: behind });
      setError('');
    } catch (problem) {
      if (problem.name === 'AbortError') return;
      setError(problem.message);
    }
    setWaits(false);
  };
  useEffect(() => { if (visible) read.current(); }, [visible, names, tag, cloud, smooth, mode, range]);
  useEffect(() => {
    if (!visible || !changed) return;
    const later = paced(500, () => read.current());
    const ends = [...new Set([tag, ...runs.map(tagOf)])].map(one => changed(one, later));
    return () => { ends.forEach(end => end()); later.stop(); };
  }, [visible, tag, names, changed]);

  // The cursor starts at the time in the address.
  useEffect(() => {
    const [line] = series.lines;
    if (!options.at || !line || line.n === 0 || isMetric(mode)) return;
    cursor.set({ x: xOf(line, mode, nearest(line, 'time', options.at)), mode });
  }, [options.at, mode, series.lines.length > 0]);

  const lines = [];
  for (const run of runs) {
    const line = series.lines.find(one => one.run === run.run && one.tag === tagOf(run));
    if (line) lines.push({ ...line, colour: run.colour, dash: run.dash, name: run.name || run.run });
  }
  if (groups) lines.splice(0, lines.length, ...groupLines(groups, lines));
  useEffect(() => {
    if (table) return;
    if (!chart.current || chart.current.plot !== plot.current) chart.current = new Chart(plot.current, over.current);
    chart.current.set({ lines, cloud: series.cloud, mode, log, logX, range, text: textOfTag(tag) });
  }, [series, looks, tag, mode, log, logX, range, table]);
  useEffect(() => {
    const redraw = () => chart.current && chart.current.draw();
    const watcher = new ResizeObserver(redraw);
    watcher.observe(figure.current);
    addEventListener('theme', redraw);
    const end = cursor.watch(place => {
      setAt(place);
      if (chart.current && plot.current) chart.current.drawCursor();
    });
    return () => {
      watcher.disconnect();
      removeEventListener('theme', redraw);
      end();
      if (cursor.at) cursor.set(null); // A removed chart gets no pointerleave event.
    };
  }, []);

  const pixel = event => event.clientX - over.current.getBoundingClientRect().left;
  const place = event => {
    const view = chart.current && chart.current.view;
    return view ? Math.min(view.x1, Math.max(view.x0, view.back(pixel(event)))) : null;
  };
  const move = event => {
    const x = place(event);
    if (x !== null) cursor.set({ x, mode });
    if (select) { const now = [select[0], pixel(event)]; setSelect(now); chart.current.drawCursor(now); }
  };
  const down = event => {
    if (event.button !== 0) return;
    over.current.setPointerCapture(event.pointerId);
    setSelect([pixel(event), pixel(event)]);
  };
  const up = () => {
    if (select && Math.abs(select[1] - select[0]) > 6) {
      const view = chart.current.view;
      setRange(select.map(view.back).sort((a, b) => a - b));
    }
    setSelect(null);
  };
  const step = by => {
    const line = lines[0];
    if (!line || line.n === 0) return;
    const now = at && at.mode === mode ? nearest(line, mode, at.x) : by > 0 ? -1 : line.n;
    const next = Math.min(line.n - 1, Math.max(0, now + by));
    cursor.set({ x: xOf(line, mode, next), mode });
  };
  const zoom = factor => {
    const view = chart.current && chart.current.view;
    if (!view) return;
    const middle = at && at.mode === mode ? at.x : (view.x0 + view.x1) / 2;
    setRange([middle - (middle - view.x0) * factor, middle + (view.x1 - middle) * factor]);
  };
  const png = () => plot.current && plot.current.toBlob(blob => save(`${title}.png`, blob));
  const svg = () => chart.current && save(`${title}.svg`, toSvg(chart.current, title), 'image/svg+xml');
  const csv = () => save(`${title}.csv`, toCsv(lines), 'text/csv');
  const keys = {
    ArrowLeft: () => step(-1), ArrowRight: () => step(1), '+': () => zoom(0.5), '-': () => zoom(2),
    Escape: () => setRange(null), v: () => setTable(!table),
  };
  const key = event => {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.target !== figure.current) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };

  const shown = at && at.mode === mode;
  return html`<figure class="card" ref=${figure} tabindex="0" onKeyDown=${key} aria-label=${inWords(title, lines)}>
    <figcaption><b title=${title}>${title}</b>
      <span class="tools">
        ${range && html`<button onClick=${() => setRange(null)} title="show all (Escape)">all</button>`}
        <button onClick=${() => setTable(!table)} aria-pressed=${table} title="numbers (v)">${table ? 'chart' : 'table'}</button>
        <button onClick=${png} title="save the picture">PNG</button>
        <button onClick=${svg} title="save the picture for a paper">SVG</button>
        <button onClick=${csv} title="save what is drawn">CSV</button>
        ${keep && html`<button onClick=${keep} title="keep it on the board">pin</button>`}
        ${pin && html`<button onClick=${pin.toggle} title=${pin.title}>${pin.text}</button>`}
      </span>
    </figcaption>
    ${table ? html`<${Numbers} lines=${lines} mode=${mode} />` : html`<div class="plot" style=${{ height: `${height}px` }}>
      <canvas ref=${plot}></canvas>
      <canvas ref=${over} onPointerMove=${move} onPointerDown=${down} onPointerUp=${up} onDblClick=${() => setRange(null)}
        onPointerLeave=${() => cursor.set(null)}></canvas>
      ${waits && visible && html`<p class="over">…</p>`}
      ${error && html`<p class="over error">${error}</p>`}
    </div>`}
    <ul class="legend">${shown && html`<li class="where">${xText(at.x, mode)}</li>`}
      ${lines.slice(0, 12).map(line => {
        const i = shown ? nearest(line, mode, at.x) : line.n - 1;
        const count = line.nan ? line.nan.reduce((sum, one) => sum + one, 0) : 0;
        return html`<li key=${line.run + line.name}><i style=${{ background: line.colour }}></i>
          ${runs.length > 1 && html`<span class="name" title=${line.name}>${line.name}</span>`}
          <span class="value">${i < 0 ? '–' : textOfTag(tag)((line.smooth || line.value)[i])}</span>
          ${!shown && line.incomplete && html`<em>being read</em>`}
          ${!shown && count > 0 && html`<em>▲ ${number(count)} not finite</em>`}</li>`;
      })}
      ${lines.length > 12 && html`<li>and ${lines.length - 12} more</li>`}
      ${series.cloud.length > 0 && html`<li class="faint">${plural(series.cloud.length, 'run')} behind</li>`}</ul>
  </figure>`;
}

// One line for each group: the mean of its runs, with one standard deviation to either side.
function groupLines(groups, lines) {
  return groups.map(one => ({ one, mean: meanOf(lines.filter(line => one.runs.includes(line.run))) })).filter(({ mean }) => mean)
    .map(({ one, mean }) => ({ ...mean, run: one.text, name: one.text, colour: one.colour, dash: [], band: true }));
}

function Numbers({ lines, mode }) {
  const most = 200;
  return html`<div class="numbers"><table><thead><tr><th>run</th><th>${mode}</th><th>min</th><th>max</th><th>last</th></tr></thead>
    <tbody>${lines.map(line => Array.from({ length: Math.min(most, line.n) }, (_, k) => {
      const i = Math.max(0, line.n - most) + k;
      return html`<tr key=${line.run + i}><td>${line.name}</td><td>${xText(xOf(line, mode, i), mode)}</td><td>${number(line.min[i])}</td>
        <td>${number(line.max[i])}</td><td>${number(line.value[i])}</td></tr>`;
    }))}</tbody></table></div>`;
}

// Options of all charts of a view, stored in the address.
export function ChartOptions({ options, set, tags = [] }) {
  const put = (name, value) => set({ ...options, [name]: value });
  return html`<div class="options" role="group" aria-label="charts">
    <label>x <select value=${options.mode} onChange=${event => put('mode', event.target.value)}>
      <option value="step">step</option><option value="relative">time since the start</option><option value="time">time of day</option>
      ${[...new Set([...tags, ...(isMetric(options.mode) ? [options.mode.slice(2)] : [])])].slice(0, 500).map(tag => html`<option key=${tag} value=${`m:${tag}`}>${tag}</option>`)}
    </select></label>
    <label><input type="checkbox" checked=${options.logX} onChange=${event => put('logX', event.target.checked)} /> log x</label>
    <label><input type="checkbox" checked=${options.log} onChange=${event => put('log', event.target.checked)} /> log y</label>
    <label>smooth <input type="range" min="0" max="0.99" step="0.01" value=${options.smooth}
      onChange=${event => put('smooth', Number(event.target.value))} /> ${options.smooth || 'off'}</label>
  </div>`;
}
