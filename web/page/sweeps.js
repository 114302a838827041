// All sweeps: state, best result and duration of each.

import { html, useEffect, useState } from './preact-htm.js';
import { ask } from './api.js';
import { paced, subscribe } from './live.js';
import { clock, duration, number, plain, plural, sign } from './format.js';
import { valueText } from './columns.js';
import { Link, Trouble, useNow } from './parts.js';

export const sweepAddress = sweep => `/sweep/${encodeURIComponent(sweep.id)}`;
export const isOver = sweep => ['done', 'stopped', 'failed'].includes(sweep.state);

// "8 done, 2 running, 1 failed"
const STAGES = ['running', 'waiting', 'paused', 'done', 'stopped_early', 'stopped', 'failed'];
export function counts(sweep) {
  return STAGES.filter(stage => sweep[stage] > 0).map(stage => `${number(sweep[stage])} ${stage.replace('_', ' ')}`).join(', ');
}
export const seconds = sweep => ((sweep.ended ? Date.parse(sweep.ended) : Date.now()) - Date.parse(sweep.created)) / 1000;

export function Config({ config }) {
  const pairs = Object.entries(config || {});
  return html`<span class="config" title=${pairs.map(([name, value]) => `${plain(name)} = ${valueText(value)}`).join('\n').slice(0, 2000)}>${pairs.slice(0, 20).map(([name, value]) => html`<span
    class="metric"><bdi class="own">${plain(name)}</bdi> <b><bdi class="own">${valueText(value)}</bdi></b></span>`)}</span>`;
}

export function Sweeps() {
  const [sweeps, setSweeps] = useState(null);
  const [error, setError] = useState(null);
  useNow(1000);
  useEffect(() => {
    const read = paced(1000, () => ask('sweeps').then(answer => { setSweeps(answer.sweeps); setError(null); }, setError));
    read();
    const end = subscribe(['yard'], (event, data) => {
      if (event === 'resync' || event === 'service') return read();
      if (event !== 'sweep') return;
      setSweeps(now => {
        if (!now || !now.some(sweep => sweep.id === data.sweep.id)) { read(); return now; }
        return now.map(sweep => sweep.id === data.sweep.id ? data.sweep : sweep);
      });
    });
    // Polls too, because the removal of a sweep causes no event.
    const timer = setInterval(() => document.hidden || read(), 10000);
    return () => { end(); read.stop(); clearInterval(timer); };
  }, []);
  if (!sweeps) return error ? html`<${Trouble} error=${error} />` : html`<p class="empty">…</p>`;
  return html`<section aria-label="sweeps">${error && html`<${Trouble} error=${error} />`}
    <h2>Sweeps <small>${number(sweeps.length)}</small></h2>
    ${sweeps.length === 0 ? html`<p class="empty">No sweeps yet. Search for the best configuration of a program: <code>yard sweep FILE</code></p>`
    : html`<table class="trials sweeps"><thead><tr><th>sweep</th><th>state</th><th>method</th><th>trials</th><th class="n">best</th><th>with</th><th class="n">took</th></tr></thead>
      <tbody>${sweeps.map(sweep => html`<tr key=${sweep.id}><td><${Link} to=${sweepAddress(sweep)} title=${sweep.id}>${plain(sweep.name)}<//></td>
        <td><span class="state ${sweep.state}" title=${sweep.reason}>${sign(sweep.state)} ${sweep.state}</span></td><td data-label="by">${sweep.method}</td>
        <td class="wrap">${number(sweep.trials)}${sweep.run_cap ? ` of ${number(sweep.run_cap)}` : ''} <small class="faint">${counts(sweep)}</small></td>
        <td class="n" data-label=${plain(sweep.metric || 'value').slice(0, 40)}>${sweep.front ? `front of ${number(sweep.front.length)}` : sweep.best ? number(sweep.best.value) : '–'}</td>
        <td class="metrics">${sweep.best && !sweep.front && html`<${Config} config=${sweep.best.config} />`}</td>
        <td class="n" data-label="took" title=${clock(sweep.created)}>${duration(seconds(sweep))}</td></tr>`)}</tbody></table>`}</section>`;
}
