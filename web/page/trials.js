// Plots of trials (points, lines or rows of values): trials of a sweep, or runs with parameters.

import { html, useEffect, useMemo } from './preact-htm.js';
import { ask } from './api.js';
import { number, plain, plural, sign } from './format.js';
import { better, frontOf } from './columns.js';
import { Bar } from './importance.js';
import { Parallel } from './parallel.js';
import { Plot } from './plot.js';
import { go } from './parts.js';
import { Config } from './sweeps.js';

export const trialAddress = trial => `/run/${encodeURIComponent(trial.trial || trial.name)}`;
export const numbersOf = trial => typeof trial.value === 'number';

export const queryOf = sweep => `label:"sweep=${sweep.name.replace(/["\\]/g, '\\$&')}"`;

export const valuesOf = (sweep, trial) => sweep.objectives ? sweep.objectives.map((one, i) => [one.metric, (trial.values || [])[i]]) : [[sweep.metric || 'value', trial.value]];
const describe = (sweep, trial) => html`<b>${plain(trial.name)}</b> ${sign(trial.state)} ${trial.state}${valuesOf(sweep, trial).map(([metric, value]) => html`, <bdi class="own">${plain(metric)}</bdi> <b>${number(value)}</b>`)}${trial.breaks ? `, breaks ${plain(trial.breaks)}` : ''}${trial.resource === undefined ? ' ' : ` at ${number(trial.resource)} `}<${Config} config=${trial.config} />`;
const colourOf = trial => trial.state === 'failed' || trial.breaks ? '--bad' : trial.state === 'stopped early' ? '--wait' : trial.state === 'running' ? '--good' : '--link';
export const pointOf = (sweep, trial, x, y, inside) => ({
  x, y, text: () => describe(sweep, trial), colour: colourOf(trial), faint: !inside.has(trial), open: () => go(trialAddress(trial)),
});
export const axisOf = (column, points, key) => {
  const values = points.map(point => point[key]);
  if (column.kind === 'choice' || values.length === 0) return column;
  let low = Infinity, high = -Infinity;
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  if (low === high) { const pad = Math.abs(low) * 0.05 || 0.5; low -= pad; high += pad; }
  return { ...column, low, high, log: column.log && low > 0 };
};

export function Scatter({ sweep, trials, columns, inside, query, set, tags, more, setMore }) {
  const all = [...columns.parameters, columns.value, ...columns.others];
  const find = (key, otherwise) => all.find(column => column.name === query.get(key)) || otherwise;
  const important = Object.entries(sweep.importance || {}).sort((a, b) => b[1] - a[1]).map(([name]) => name)[0];
  // With two metrics, shows their Pareto front by default.
  const two = columns.second;
  const x = find('sx', two ? columns.value : columns.parameters.find(column => column.name === important) || columns.parameters[0] || columns.others[0]), y = find('sy', two || columns.value);
  const front = query.has('front') ? query.get('front') === '1' : Boolean(two);
  const asked = ['sx', 'sy'].map(key => query.get(key)).filter(name => name && tags.includes(name) && !more[name]);
  // Other tags are read from the trials' runs.
  useEffect(() => {
    for (const tag of asked) readColumn(sweep, tag).then(values => setMore(now => ({ ...now, [tag]: values })), () => setMore(now => ({ ...now, [tag]: {} })));
  }, [asked.join('\n')]);
  const drawn = trials.filter(trial => !Number.isNaN(x.at(trial)) && !Number.isNaN(y.at(trial)));
  const points = drawn.map(trial => pointOf(sweep, trial, x.at(trial), y.at(trial), inside));
  // Metrics have goals; for other columns less is better, unless the user has flipped the front.
  const flips = (query.get('flip') || '').split(',');
  const goalOf = column => column === columns.value ? sweep.goal : column.goal;
  const signOf = (column, key) => (goalOf(column) === 'maximize' ? -1 : 1) * (flips.includes(key) ? -1 : 1);
  const signs = [signOf(x, 'x'), signOf(y, 'y')];
  const best = front ? frontOf(drawn.filter(trial => !trial.breaks && trial.state !== 'failed'), x, y, signs) : [];
  const steps = best.map(trial => ({ x: x.at(trial), y: y.at(trial) }));
  const choose = (key, now) => html`<select aria-label=${key} value=${now.name} onChange=${event => set({ [key]: event.target.value })}>
    ${[...all.map(column => column.name), ...tags.filter(tag => !more[tag])].slice(0, 500).map(one => html`<option key=${one} value=${one}>${plain(one).slice(0, 60)}</option>`)}</select>`;
  const turn = (key, sign) => front && html`<button title="less or more is better" aria-label=${`better ${key}`} onClick=${() => set({ flip: (flips.includes(key) ? flips.filter(one => one !== key) : [...flips, key]).filter(Boolean).join(',') })}>
    ${sign > 0 ? 'less' : 'more'}</button>`;
  return html`<${Plot} title="scatter" summary=${`${plain(y.name)} by ${plain(x.name)}: ${plural(points.length, 'trial')}${front ? `, ${plural(best.length, 'trial')} in the front` : ''}`}
    points=${points} steps=${steps} x=${axisOf(x, points, 'x')} y=${axisOf(y, points, 'y')}>
    ${choose('sy', y)}${turn('y', signs[1])} by ${choose('sx', x)}${turn('x', signs[0])}
    <label title="trials that no other is better than in both"><input type="checkbox" checked=${front} onChange=${event => set({ front: event.target.checked ? (two ? '' : '1') : two ? '0' : '' })} /> front</label><//>`;
}

async function readColumn(sweep, tag) {
  const values = {};
  for (let cursor = 0; cursor < 20000; cursor += 1000) {
    const asked = new URLSearchParams({ q: queryOf(sweep), cursor, limit: 1000, col: tag });
    const answer = await ask(`runs?${asked}`);
    for (const row of answer.rows) values[row.run] = row.cols[tag];
    if (answer.rows.length < 1000) break;
  }
  return values;
}

export function Lines({ sweep, trials, inside, isBrushed, axes, brush, setBrush, columns }) {
  const lines = useMemo(() => {
    const ranked = trials.filter(trial => numbersOf(trial) && !trial.breaks).sort((a, b) => better(sweep, a.value, b.value) ? -1 : 1);
    const rank = new Map(ranked.map((trial, i) => [trial.number, ranked.length > 1 ? i / (ranked.length - 1) : 0]));
    return trials.map(trial => ({
      number: trial.number, units: axes.map(axis => axis.unit(axis.at(trial))), rank: rank.get(trial.number) ?? null, failed: trial.state === 'failed',
      best: ranked.length > 0 && ranked[0] === trial,
    })).sort((a, b) => (b.rank ?? 2) - (a.rank ?? 2));
  }, [columns]);
  const shown = useMemo(() => {
    const out = new Set(isBrushed ? trials.filter(trial => !inside.has(trial)).map(trial => trial.number) : []);
    return lines.map(line => ({ ...line, out: out.has(line.number) })).sort((a, b) => b.out - a.out);
  }, [lines, JSON.stringify(brush)]);
  return html`<${Parallel} axes=${axes} lines=${shown} brush=${brush} set=${setBrush} />`;
}

// One row for each bin: its number of trials, with the best and the median value.
export function Marginals({ sweep }) {
  if (!sweep.marginals || sweep.marginals.length === 0) return html`<p class="empty">No two trials have ended with other values of a parameter.</p>`;
  let low = Infinity, high = -Infinity;
  for (const one of sweep.marginals) for (const bin of one.bins) for (const value of [bin.best, bin.median]) { low = Math.min(low, value); high = Math.max(high, value); }
  const short = value => number(Number(value.toPrecision(3)));
  const share = value => high > low ? (sweep.goal === 'maximize' ? (value - low) : (high - value)) / (high - low) : 1;
  const text = bin => plain('value' in bin ? (typeof bin.value === 'string' ? bin.value : JSON.stringify(bin.value)) : bin.low === bin.high ? number(bin.low) : `${short(bin.low)} to ${short(bin.high)}`);
  return html`<div class="scroll"><table class="shares values"><thead><tr><th>parameter</th><th>values</th><th class="n">trials</th><th class="n">best</th><td class="wide"></td><th class="n">median</th></tr></thead>
    <tbody>${sweep.marginals.map(one => one.bins.slice(0, 20).map((bin, i) => html`<tr key=${one.parameter + i} class=${i === 0 ? 'first' : ''}>
      ${i === 0 ? html`<th scope="row"><span class="own" title=${plain(one.parameter)}>${plain(one.parameter)}</span></th>` : html`<td></td>`}<td><span class="own" title=${text(bin)}>${text(bin)}</span></td>
      <td class="n">${number(bin.trials)}</td><td class="n">${number(bin.best)}</td><td class="wide"><${Bar} share=${share(bin.best)} /></td><td class="n">${number(bin.median)}</td></tr>`))}</tbody></table></div>`;
}
