// Non-scalar values of one run, or of several side by side: images, sounds, texts, histograms,
// curves, meshes, tables.

import { html, useEffect, useMemo, useRef, useState } from './preact-htm.js';
import { ask, askBlob, runPath } from './api.js';
import { paced, subscribe } from './live.js';
import { bytes, clock, group, number, plain, plural } from './format.js';
import { Canvas, Trouble, useVisible } from './parts.js';
import { Markdown } from './markdown.js';
import { Plot } from './plot.js';

const NEWEST = 500, PREFETCHED = 2 ** 20, MOST_ROWS = 100, MOST_COLUMNS = 40;
// Plugins with views of their own, or without anything to show.
const OTHER = /^(graphs|graph_|hparams|custom_scalars|scalars)/;
export const isMedium = tag => !tag.scalar && !OTHER.test(tag.plugin);
// A mesh consists of up to three tags.
const MESH = /_(VERTEX|FACE|COLOR)$/;

// `runs`: [{run, name, tags}]. Rereads the tags while programs write.
export function Media({ runs, query, set }) {
  const [lists, setLists] = useState(() => runs.map(one => one.tags || []));
  const [error, setError] = useState(null);
  const names = runs.map(one => one.run), key = names.join('\n');
  useEffect(() => {
    const read = paced(4000, () => Promise.all(names.map(name => ask(runPath(name, '/tags')))).then(all => { setLists(all.map(one => one.tags)); setError(null); }, setError));
    read();
    const end = subscribe(names.map(name => `run:${name}`), event => (event === 'points' || event === 'resync') && read());
    return () => { end(); read.stop(); };
  }, [key]);
  const filter = (query.get('tags') || '').toLowerCase(), found = new Map();
  lists.forEach((tags, i) => {
    for (const tag of tags.filter(isMedium)) {
      const name = tag.plugin === 'mesh' ? tag.tag.replace(MESH, '') : tag.tag;
      if (!name.toLowerCase().includes(filter)) continue;
      if (!found.has(name)) found.set(name, { name, plugin: tag.plugin, points: 0, runs: new Set() });
      const one = found.get(name);
      one.points += tag.points;
      one.runs.add(runs[i]);
    }
  });
  const groups = new Map();
  for (const one of found.values()) groups.set(group(one.name), [...(groups.get(group(one.name)) || []), one]);
  return html`<div class="media">${error && html`<${Trouble} error=${error} />`}
    <p class="bar"><input type="search" aria-label="tags" placeholder="tags" value=${query.get('tags') || ''} onInput=${event => set({ tags: event.target.value })} /> <span class="faint">${plural(found.size, 'tag')}</span></p>
    ${[...groups].sort().map(([title, some]) => html`<details open key=${title}><summary>${plain(title) || 'media'} <small>${some.length}</small></summary>
      <div class="cards">${some.map(one => html`<${Medium} key=${one.name} ...${one} runs=${runs.filter(run => one.runs.has(run))} wide=${runs.length > 1} />`)}</div></details>`)}
    ${found.size === 0 && html`<p class="empty">${filter ? 'No tag matches.' : 'No images, sounds, texts, histograms or tables.'}</p>`}</div>`;
}

async function readValues(run, name, plugin, slice) {
  // An answer starts with the oldest of the requested values and cuts the newest, so fewer are
  // requested.
  const read = async tag => {
    for (let last = NEWEST; ;) {
      const answer = await ask(runPath(run, `/values?${new URLSearchParams({ tag, last, slice })}`));
      if (!answer.more || last === 1) return { ...answer, last };
      last = Math.max(1, Math.min(last >> 1, new Set(answer.values.map(value => value.step)).size));
    }
  };
  if (plugin !== 'mesh') return read(name);
  const perhaps = part => read(`${name}_${part}`).catch(problem => { if (problem.status === 404) return { values: [] }; throw problem; });
  const [points, faces, colours] = await Promise.all([read(`${name}_VERTEX`), perhaps('FACE'), perhaps('COLOR')]);
  const at = (list, step) => list.values.find(one => one.step === step);
  return { ...points, values: points.values.map(one => ({ ...one, kind: 'mesh', faces: at(faces, one.step), colours: at(colours, one.step) })) };
}

function Medium({ name, plugin, points, runs, wide }) {
  const figure = useRef();
  const visible = useVisible(figure);
  const [answers, setAnswers] = useState(null);
  const [error, setError] = useState(null);
  const [at, setAt] = useState(null); // A step; null for the newest.
  const [slice, setSlice] = useState('');
  useEffect(() => {
    if (!visible) return;
    let current = true;
    Promise.all(runs.map(one => readValues(one.run, name, plugin, slice))).then(all => { if (current) { setAnswers(all); setError(null); } }, problem => current && setError(problem));
    return () => { current = false; };
  }, [visible, name, points, slice, runs.map(one => one.run).join('\n')]);
  const steps = useMemo(() => [...new Set((answers || []).flatMap(one => one.values.map(value => value.step)))].sort((a, b) => a - b), [answers]);
  const place = at === null ? steps.length - 1 : Math.max(0, steps.findLastIndex(step => step <= at)), step = steps[place];
  // Shows each run's value at that step; a value may have several parts (images).
  const panels = (answers || []).map((answer, i) => {
    const last = answer.values.findLast(value => value.step <= step) || answer.values[0];
    return { answer, run: runs[i], values: last ? answer.values.filter(value => value.step === last.step && value.time === last.time) : [] };
  });
  // Prefetches the neighbours.
  useEffect(() => {
    for (const near of [steps[place + 1], steps[place - 1]]) {
      panels.forEach(({ answer, run }) => answer.values.filter(value => value.step === near && value.kind === 'blob' && value.length <= PREFETCHED).slice(0, 8).forEach(value => askBlob(run.run, value).catch(() => {})));
    }
  }, [place, steps]);
  const first = panels.find(panel => panel.values.length > 0);
  const isTable = first && first.values[0].kind === 'tensor' && !first.values[0].strings && plugin !== 'pr_curves';
  const cut = panels.find(({ answer }) => answer.total > answer.last);
  return html`<figure class=${`card ${wide && runs.length > 1 ? 'span' : ''}`} ref=${figure} aria-label=${`${plain(name)}: ${plural(steps.length, 'step')}${steps.length > 0 ? `, step ${number(step)} is shown` : ''}`}>
    <figcaption><b title=${plain(name)}>${plain(name)}</b>${step !== undefined && html`<span class="faint">step ${number(step)} · ${first && clock(first.values[0].time * 1000)}</span>`}</figcaption>
    ${steps.length > 1 && html`<input type="range" class="steps" aria-label=${`step of ${plain(name)}`} aria-valuetext=${`step ${number(step)}`} min="0" max=${steps.length - 1} value=${place} onInput=${event => setAt(steps[event.target.value])} />`}
    ${error && html`<p class="error">${error.message}</p>`}${!answers && !error && html`<p class="faint">…</p>`}
    ${isTable && html`<p class="bar"><label>part <input aria-label=${`part of ${plain(name)}`} placeholder="[0, :, 1:5]" value=${slice} onChange=${event => setSlice(event.target.value)} /></label></p>`}
    <div class="panels">${panels.map(({ answer, run, values }) => html`<div key=${run.run} class="panel">${wide && html`<p class="faint own">${plain(run.name || run.run)}${values.length > 0 && values[0].step !== step ? `, step ${number(values[0].step)}` : ''}</p>`}
      ${values.length === 0 ? html`<p class="empty">${answer.why_refused ? plain(answer.why_refused) : 'nothing'}</p>` : html`<${Shown} run=${run.run} name=${name} plugin=${plugin} values=${values} all=${answer.values} />`}
      ${answer.refused > 0 && values.length > 0 && html`<p class="error">${plural(answer.refused, 'value')} cannot be shown: ${plain(answer.why_refused)}</p>`}</div>`)}</div>
    ${cut && html`<p class="faint">the newest ${number(cut.answer.last)} of ${number(cut.answer.total)}</p>`}${panels.some(({ answer }) => answer.incomplete) && html`<p class="faint">being read</p>`}</figure>`;
}

function Shown({ run, name, plugin, values, all }) {
  const [value] = values;
  if (value.kind === 'blob') return html`<div class="blobs">${values.slice(0, 100).map((one, i) => html`<${Blob_} key=${i} run=${run} blob=${one} text=${`${plain(name)} of ${plain(run)} at step ${one.step}`} />`)}</div>`;
  if (value.kind === 'histogram') return html`<${Histogram} value=${value} all=${all} />`;
  if (value.kind === 'mesh') return html`<${Mesh} value=${value} />`;
  if (value.kind === 'landscape') return html`<${Landscape} value=${value} />`;
  if (value.strings) return html`<${Texts} value=${value} />`;
  if (plugin === 'pr_curves' && value.shape.length === 2 && value.shape[0] >= 6) return html`<${PrCurve} value=${value} />`;
  return html`<${Numbers} value=${value} />`;
}

function Blob_({ run, blob, text }) {
  const [got, setGot] = useState(null);
  const [error, setError] = useState(null);
  const [large, setLarge] = useState(false);
  useEffect(() => {
    let current = true;
    let address = '';
    askBlob(run, blob).then(content => {
      if (!current) return;
      address = URL.createObjectURL(content);
      setGot({ type: content.type, address });
      setError(null);
    }, problem => current && setError(problem));
    return () => { current = false; if (address) URL.revokeObjectURL(address); };
  }, [run, blob.file, blob.offset, blob.crc]);
  const label = blob.label ? html`<div class="md"><${Markdown} text=${blob.label} /></div>` : '';
  if (error) return html`<p class="error">${error.message}</p>`;
  if (!got) return html`<p class="faint" style=${{ minHeight: `${Math.min(160, blob.height || 40)}px` }}>…</p>`;
  if (got.type.startsWith('image/')) {
    return html`<div><button class=${`image ${large ? 'large' : ''}`} title=${large ? 'as wide as its place' : 'as large as it is'} aria-pressed=${large} onClick=${() => setLarge(!large)}><img src=${got.address} alt=${text} class=${blob.width > 0 && blob.width < 128 ? 'coarse' : ''} /></button>
      <p class="faint">${blob.width > 0 && `${blob.width} × ${blob.height}`}</p>${label}</div>`;
  }
  if (got.type.startsWith('audio/')) return html`<div><audio controls src=${got.address} aria-label=${text}></audio><p class="faint">${blob.rate > 0 && blob.frames > 0 && `${number(blob.frames / blob.rate)} s at ${number(blob.rate)} Hz`}</p>${label}</div>`;
  return html`<p>${bytes(blob.length)} <a href=${got.address} download=${plain(text).replace(/\W+/g, '_')}>save</a></p>`;
}

// Shows a text of several cells as a table.
function Texts({ value }) {
  const [rows, columns] = value.shape.length === 2 ? value.shape : [value.strings.length, 1];
  if (columns < 2) return value.strings.slice(0, MOST_ROWS).map((text, i) => html`<${Markdown} key=${i} text=${text} />`);
  const row = i => value.strings.slice(i * columns, (i + 1) * columns);
  return html`<div class="scroll"><table><tbody>${Array.from({ length: Math.min(rows, MOST_ROWS) }, (_, i) => html`<tr key=${i}>${row(i).map(text => html`<td><${Markdown} text=${text} /></td>`)}</tr>`)}</tbody></table></div>`;
}

function Numbers({ value }) {
  const { shape, numbers } = value, columns = shape.length > 1 ? shape[shape.length - 1] : Math.min(10, numbers.length), rows = columns > 0 ? Math.ceil(numbers.length / columns) : 0;
  const text = one => Array.isArray(one) ? `${number(one[0])} + ${number(one[1])} i` : number(one);
  return html`<div><p class="faint">${shape.length > 0 ? `${shape.join(' × ')}${shape.reduce((all, one) => all * one, 1) === value.total ? '' : ` of ${plural(value.total, 'number')}`}` : 'one number'}${value.min !== null && value.min !== 'NaN' ? `, ${number(value.min)} to ${number(value.max)}, mean ${number(value.mean)}` : ''}${value.not_finite > 0 ? `, ▲ ${number(value.not_finite)} not finite` : ''}</p>
    <div class="numbers" tabindex="0"><table><tbody>${Array.from({ length: Math.min(rows, MOST_ROWS) }, (_, i) => html`<tr key=${i}><th scope="row" class="n">${i * (shape.length > 1 ? 1 : columns)}</th>${numbers.slice(i * columns, (i + 1) * columns).slice(0, MOST_COLUMNS).map((one, k) => html`<td key=${k} class="n">${text(one)}</td>`)}</tr>`)}</tbody></table></div>
    ${(value.cut || rows > MOST_ROWS || columns > MOST_COLUMNS) && html`<p class="faint">and more</p>`}</div>`;
}

function PrCurve({ value }) {
  const n = value.shape[1], of = row => value.numbers.slice(row * n, (row + 1) * n), precision = of(4), recall = of(5), [tp, fp, tn, fn] = [0, 1, 2, 3].map(of);
  const points = precision.map((y, i) => ({ x: recall[i], y, i, size: 2.5 })).filter(one => Number.isFinite(one.x) && Number.isFinite(one.y) && tp[one.i] + fp[one.i] > 0)
    .map(one => ({ ...one, text: () => `threshold ${number(one.i / Math.max(1, n - 1))}: precision ${number(one.y)}, recall ${number(one.x)}; ${number(tp[one.i])} true and ${number(fp[one.i])} false positives, ${number(tn[one.i])} true and ${number(fn[one.i])} false negatives` }));
  const axis = name => ({ name, low: 0, high: 1, text: number });
  return html`<${Plot} title="precision by recall" summary=${`precision by recall at ${plural(points.length, 'threshold')}`} points=${points} line=${true} x=${axis('recall')} y=${axis('precision')} height=${180} hint="← → names a point" />`;
}

// Returns the quantile: the value below which this share of the counts lies.
function quantile({ lefts, rights, counts }, share) {
  const all = counts.reduce((sum, one) => sum + one, 0);
  let want = share * all;
  for (let i = 0; i < counts.length; ++i) {
    if (want <= counts[i] && counts[i] > 0) return lefts[i] + (rights[i] - lefts[i]) * want / counts[i];
    want -= counts[i];
  }
  return rights.at(-1);
}

const BINS = 40, SHARES = [0, 0.07, 0.16, 0.31, 0.5, 0.69, 0.84, 0.93, 1], LEFT = 58, BOTTOM = 18;

// The histogram at the chosen step, and its development over all steps.
function Histogram({ value, all }) {
  const bars = useMemo(() => {
    const finite = value.counts.map((count, i) => ({ count, left: Math.max(value.lefts[i], value.min ?? -Infinity), right: Math.min(value.rights[i], value.max ?? Infinity) })).filter(one => one.count > 0 && Number.isFinite(one.left) && Number.isFinite(one.right));
    let low = finite.reduce((least, one) => Math.min(least, one.left), Infinity), high = finite.reduce((most, one) => Math.max(most, one.right), -Infinity);
    if (!(high > low)) { low -= 0.5; high += 0.5; }
    const heights = new Float64Array(BINS), wide = (high - low) / BINS;
    for (const { count, left, right } of finite) {
      const from = Math.min(BINS - 1, Math.max(0, Math.floor((left - low) / wide))), to = Math.min(BINS - 1, Math.max(from, Math.ceil((right - low) / wide) - 1));
      for (let i = from; i <= to; ++i) {
        const share = right > left ? Math.max(0, Math.min(right, low + (i + 1) * wide) - Math.max(left, low + i * wide)) / (right - left) : 1 / (to - from + 1);
        heights[i] += count * share;
      }
    }
    return { low, high, heights };
  }, [value]);
  const bands = useMemo(() => all.filter(one => one.kind === 'histogram' && one.count > 0).map(one => ({ step: one.step, at: SHARES.map(share => quantile(one, share)) })).filter(one => one.at.every(Number.isFinite)), [all]);
  const drawBars = ({ context, width, height, of }) => {
    const most = Math.max(...bars.heights, 1e-300), wide = (width - LEFT - 10) / BINS;
    context.fillStyle = of('--link');
    bars.heights.forEach((one, i) => context.fillRect(LEFT + i * wide, height - BOTTOM - (height - BOTTOM - 8) * one / most, Math.max(1, wide - 1), (height - BOTTOM - 8) * one / most));
    context.fillStyle = of('--faint');
    context.textAlign = 'right';
    context.fillText(number(Number(most.toPrecision(3))), LEFT - 6, 14);
    context.textAlign = 'left';
    context.fillText(number(bars.low), LEFT, height - 4);
    context.textAlign = 'right';
    context.fillText(number(bars.high), width - 10, height - 4);
  };
  const drawBands = ({ context, width, height, of }) => {
    const low = Math.min(...bands.map(one => one.at[0])), high = Math.max(...bands.map(one => one.at.at(-1))), first = bands[0].step, last = bands.at(-1).step;
    const px = step => LEFT + (last > first ? (step - first) / (last - first) : 0.5) * (width - LEFT - 10), py = one => 8 + (high > low ? (high - one) / (high - low) : 0.5) * (height - BOTTOM - 8);
    context.fillStyle = of('--link');
    context.globalAlpha = 0.2;
    for (let k = 0; k < SHARES.length >> 1; ++k) {
      context.beginPath();
      bands.forEach((one, i) => context[i === 0 ? 'moveTo' : 'lineTo'](px(one.step), py(one.at[k])));
      bands.findLast((one, i) => { for (let j = i; j >= 0; --j) context.lineTo(px(bands[j].step), py(bands[j].at[SHARES.length - 1 - k])); return true; });
      context.fill();
    }
    context.globalAlpha = 1;
    context.strokeStyle = of('--link');
    context.beginPath();
    bands.forEach((one, i) => context[i === 0 ? 'moveTo' : 'lineTo'](px(one.step), py(one.at[4])));
    context.stroke();
    context.strokeStyle = of('--ink');
    context.beginPath();
    context.moveTo(px(value.step), 8);
    context.lineTo(px(value.step), height - BOTTOM);
    context.stroke();
    context.fillStyle = of('--faint');
    context.textAlign = 'right';
    context.fillText(number(Number(high.toPrecision(3))), LEFT - 6, 14);
    context.fillText(number(Number(low.toPrecision(3))), LEFT - 6, height - BOTTOM);
    context.fillText(number(last), width - 10, height - 4);
    context.textAlign = 'left';
    context.fillText(number(first), LEFT, height - 4);
  };
  const middle = quantile(value, 0.5);
  return html`<div><${Canvas} label=${`${number(value.count)} values from ${number(value.min)} to ${number(value.max)}, the middle one about ${number(middle)}`} height=${130} draw=${drawBars} />
    ${bands.length > 1 && html`<${Canvas} label=${`the middle value over ${bands.length} steps: from ${number(bands[0].at[4])} to ${number(bands.at(-1).at[4])}`} height=${110} draw=${drawBands} />`}
    <p class="faint">${number(value.count)} values, ${number(value.min)} to ${number(value.max)}${value.count > 0 && Number.isFinite(value.sum) ? `, mean ${number(value.sum / value.count)}` : ''}${value.not_finite > 0 ? `, ▲ ${number(value.not_finite)} not finite` : ''}</p>
    <details><summary>table</summary><div class="numbers" tabindex="0"><table><thead><tr><th class="n">from</th><th class="n">to</th><th class="n">values</th></tr></thead>
      <tbody>${value.counts.map((count, i) => count > 0 && html`<tr key=${i}><td class="n">${number(value.lefts[i])}</td><td class="n">${number(value.rights[i])}</td><td class="n">${number(count)}</td></tr>`)}</tbody></table></div></details></div>`;
}

// The first mesh of the batch; the mouse and the arrow keys rotate it.
function Mesh({ value }) {
  const [turn, setTurn] = useState([0.5, -0.4]), drag = useRef(null);
  const mesh = useMemo(() => {
    const n = Math.min(value.shape.at(-2) || 0, Math.floor(value.numbers.length / 3)), at = value.numbers.slice(0, 3 * n), middle = [0, 1, 2].map(axis => { let low = Infinity, high = -Infinity; for (let i = axis; i < at.length; i += 3) { low = Math.min(low, at[i]); high = Math.max(high, at[i]); } return { low, high }; });
    const size = Math.max(...middle.map(one => one.high - one.low)) || 1;
    return { n, points: Float64Array.from(at, (one, i) => (one - (middle[i % 3].low + middle[i % 3].high) / 2) / size),
      faces: value.faces ? value.faces.numbers.slice(0, 3 * value.faces.shape.at(-2)) : [], colours: value.colours ? value.colours.numbers : [] };
  }, [value]);
  const draw = ({ context, width, height, of }) => {
    const [a, b] = turn, size = Math.min(width, height) * 0.75, { points, faces, colours, n } = mesh, seen = new Float64Array(3 * n);
    for (let i = 0; i < 3 * n; i += 3) {
      const x = points[i] * Math.cos(a) + points[i + 2] * Math.sin(a), z = points[i + 2] * Math.cos(a) - points[i] * Math.sin(a);
      seen[i] = width / 2 + size * x;
      seen[i + 1] = height / 2 - size * (points[i + 1] * Math.cos(b) - z * Math.sin(b));
      seen[i + 2] = z * Math.cos(b) + points[i + 1] * Math.sin(b);
    }
    const rgb = i => colours.length >= 3 * n ? colours.slice(3 * i, 3 * i + 3) : null;
    if (faces.length === 0) {
      for (let i = 0; i < n; ++i) {
        const own = rgb(i);
        context.fillStyle = own ? `rgb(${own.join(',')})` : of('--link');
        context.fillRect(seen[3 * i] - 1, seen[3 * i + 1] - 1, 2.5, 2.5);
      }
      return;
    }
    // Painted back to front.
    const order = Array.from({ length: Math.floor(faces.length / 3) }, (_, f) => f).filter(f => [0, 1, 2].every(k => faces[3 * f + k] >= 0 && faces[3 * f + k] < n));
    const depth = f => seen[3 * faces[3 * f] + 2] + seen[3 * faces[3 * f + 1] + 2] + seen[3 * faces[3 * f + 2] + 2];
    for (const f of order.sort((p, q) => depth(p) - depth(q))) {
      const [p, q, r] = [0, 1, 2].map(k => 3 * faces[3 * f + k]), [ux, uy, uz, vx, vy, vz] = [seen[q] - seen[p], seen[q + 1] - seen[p + 1], (seen[q + 2] - seen[p + 2]) * size, seen[r] - seen[p], seen[r + 1] - seen[p + 1], (seen[r + 2] - seen[p + 2]) * size];
      const normal = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx], light = 0.35 + 0.65 * Math.abs(normal[2]) / (Math.hypot(...normal) || 1), own = rgb(p / 3) || [110, 150, 200];
      context.fillStyle = `rgb(${own.map(one => Math.round(one * light)).join(',')})`;
      context.beginPath();
      context.moveTo(seen[p], seen[p + 1]);
      context.lineTo(seen[q], seen[q + 1]);
      context.lineTo(seen[r], seen[r + 1]);
      context.fill();
    }
  };
  const key = event => {
    const by = { ArrowLeft: [-0.2, 0], ArrowRight: [0.2, 0], ArrowUp: [0, -0.2], ArrowDown: [0, 0.2] }[event.key];
    if (by) { event.preventDefault(); setTurn([turn[0] + by[0], turn[1] + by[1]]); }
  };
  const move = event => { if (drag.current) { setTurn([turn[0] + (event.clientX - drag.current[0]) / 100, turn[1] + (event.clientY - drag.current[1]) / 100]); drag.current = [event.clientX, event.clientY]; } };
  const batch = value.shape.length > 2 ? value.shape[0] : 1;
  return html`<div tabindex="0" class="mesh" role="group" aria-label="mesh, which the arrow keys turn" onKeyDown=${key} onPointerDown=${event => { event.currentTarget.setPointerCapture(event.pointerId); drag.current = [event.clientX, event.clientY]; }} onPointerMove=${move} onPointerUp=${() => { drag.current = null; }}>
    <${Canvas} label=${`a mesh of ${plural(mesh.n, 'point')} and ${plural(mesh.faces.length / 3, 'face')}`} height=${240} draw=${draw} />
    <p class="faint">${plural(mesh.n, 'point')}, ${plural(Math.floor(mesh.faces.length / 3), 'face')}${mesh.n < (value.shape.at(-2) || 0) ? `, the first of ${number(value.shape.at(-2))}` : ''}${batch > 1 ? `; the first of ${batch} meshes` : ''}; arrows turn it</p></div>`;
}

// The loss around the path of a training; darker where it is lower.
function Landscape({ value }) {
  const { x, y, z, path } = value, [rows, columns] = value.shape.length === 2 ? value.shape : [Math.round(Math.sqrt(z.length)), Math.round(Math.sqrt(z.length))];
  const range = list => [list.reduce((a, b) => Math.min(a, b), Infinity), list.reduce((a, b) => Math.max(a, b), -Infinity)], [low, high] = range(z);
  const draw = ({ context, width, height, of }) => {
    const wide = (width - 20) / columns, tall = (height - 20) / rows, [left, right] = range(x), [down, up] = range(y);
    context.fillStyle = of('--link');
    for (let i = 0; i < rows * columns; ++i) {
      context.globalAlpha = high > low ? 0.08 + 0.9 * (high - z[i]) / (high - low) : 0.5;
      context.fillRect(10 + (i % columns) * wide, 10 + (rows - 1 - Math.floor(i / columns)) * tall, wide + 0.5, tall + 0.5);
    }
    context.globalAlpha = 1;
    context.strokeStyle = of('--bad');
    context.lineWidth = 2;
    context.beginPath();
    (path[0] || []).forEach((at, i) => context[i === 0 ? 'moveTo' : 'lineTo'](10 + (at - left) / (right - left || 1) * (width - 20), height - 10 - (path[1][i] - down) / (up - down || 1) * (height - 20)));
    context.stroke();
  };
  return html`<div><${Canvas} label=${`a loss landscape of ${rows} by ${columns} places, ${number(low)} to ${number(high)}`} height=${260} draw=${draw} />
    <p class="faint">${rows} × ${columns}, ${number(low)} to ${number(high)}; the line is the path of the training</p></div>`;
}
