// The home page: is everything alive? Shows what runs, what waits and why, and unacknowledged
// alerts.

import { html, useEffect, useRef, useState } from './preact-htm.js';
import { act, ask } from './api.js';
import { paced, subscribe } from './live.js';
import { age, bytes, duration, number, plural, sign } from './format.js';
import { Link, Trouble, useNow } from './parts.js';

export function Home() {
  const [yard, setYard] = useState(null);
  const [error, setError] = useState(null), reader = useRef();
  useNow(1000);
  const gpus = useGpus();
  useEffect(() => {
    const read = reader.current = paced(1000, () => ask('yard').then(answer => { setYard(answer); setError(null); }, setError));
    read();
    const end = subscribe(['yard'], read);
    return () => { end(); read.stop(); };
  }, []);
  const see = id => act('alerts', id, 'ack').then(() => reader.current(), setError);
  if (!yard) return error ? html`<${Trouble} error=${error} />` : html`<p class="empty">…</p>`;
  const live = yard.live || [], missing = yard.missing || [];
  const running = live.filter(trial => trial.state !== 'pending' && trial.state !== 'paused');
  const waiting = live.filter(trial => trial.state === 'pending' || trial.state === 'paused');
  const alerts = yard.alerts || [];
  return html`<div class="home">
    ${error && html`<${Trouble} error=${error} />`}
    <${Services} services=${yard.services || []} missing=${missing} />
    ${alerts.length > 0 && html`<section aria-label="alerts"><h2>Alerts <small>${number(yard.unacknowledged)} that nobody has looked at</small>
      <button onClick=${() => see('all')}>mark all as seen</button></h2>
      <ul class="rows">${alerts.slice(0, 20).map(alert => html`<li key=${alert.id} class="failed"><span class="sign" aria-hidden="true">✗</span>
        ${alert.trial ? html`<${Link} to=${`/run/${encodeURIComponent(alert.trial)}`}>${alert.name}<//>` : html`<b>${alert.name}</b>`} <span class="reason">${alert.reason}</span>
        <span class="faint">${age(alert.time)} ago</span>
        <button onClick=${() => see(alert.id)}>seen</button></li>`)}</ul></section>`}
    <section aria-label="running"><h2>Running <small>${number(running.length)}</small></h2>
      ${missing.includes('trainer') ? html`<p class="empty">The trainer does not answer.</p>`
        : running.length === 0 ? html`<p class="empty">Nothing runs. Start a program: <code>yard run -- PROGRAM</code></p>`
        : html`<table class="trials"><thead><tr><th>trial</th><th>state</th><th class="n">iteration</th><th>newest report</th>
          <th class="n">last step</th><th class="n">running for</th></tr></thead>
        <tbody>${running.slice(0, 200).map(trial => html`<tr key=${trial.id}>
          <td><${Link} to=${runAddress(trial)}>${trial.name}<//></td>
          <td><span class="state ${trial.state}">${sign(trial.state)} ${trial.state}</span></td>
          <td class="n" data-label="iteration">${number(trial.training_iteration)}</td><td class="metrics">${metrics(trial.metrics)}</td>
          <td class="n ${lateness(trial)}" data-label="report">${trial.updated && trial.reports > 0 ? `${age(trial.updated)} ago` : '–'}</td>
          <td class="n" data-label="for">${age(trial.started)}</td></tr>`)}</tbody></table>`}</section>
    ${waiting.length > 0 && html`<section aria-label="waiting"><h2>Waiting <small>${number(waiting.length)}</small></h2>
      <ul class="rows">${waiting.slice(0, 100).map(trial => html`<li key=${trial.id}><span class="sign" aria-hidden="true">${sign(trial.state)}</span>
        <${Link} to=${runAddress(trial)}>${trial.name}<//> <span class="reason">${trial.reason || (trial.state === 'paused' ? 'paused' : 'waits for a slot')}</span>
        <span class="faint">for ${age(trial.created)}</span></li>`)}</ul></section>`}
    ${gpus.length > 0 && html`<${Gpus} gpus=${gpus} />`}
    <section aria-label="disk"><h2>Runs</h2><p class="facts">${yard.data ? html`
        <span><b>${number(yard.data.runs)}</b> runs in <code>${yard.data.logdir}</code></span>
        ${yard.data.total_bytes > yard.data.read_bytes && html`<span>${bytes(yard.data.read_bytes)} of ${bytes(yard.data.total_bytes)} read</span>`}
        ${yard.data.scan_error && html`<span class="error">${yard.data.scan_error}</span>`}` : html`<span>The data manager does not answer.</span>`}
      ${yard.disk && html`<span><meter min="0" max=${yard.disk.total} low=${yard.disk.total * 0.9} high=${yard.disk.total * 0.95} optimum="0"
        value=${yard.disk.total - yard.disk.free}></meter> ${bytes(yard.disk.free)} free of ${bytes(yard.disk.total)}</span>`}</p></section>
  </div>`;
}

export const runAddress = trial => `/run/${encodeURIComponent(trial.run || trial.id)}`;

function metrics(values) {
  return Object.entries(values || {}).filter(([name]) => name !== 'step').slice(0, 4)
    .map(([name, value]) => html`<span class="metric">${name} <b>${number(value)}</b></span>`);
}

// Returns true if a trial has not reported for ten times its usual interval.
function lateness(trial) {
  if (!trial.started || !trial.updated || trial.reports < 3 || trial.state !== 'running') return '';
  const usual = (Date.parse(trial.updated) - Date.parse(trial.started)) / trial.reports;
  return Date.now() - Date.parse(trial.updated) > Math.max(30000, 10 * usual) ? 'late' : '';
}

// Usage is polled every few seconds while the page is visible, because no topic carries it.
function useGpus() {
  const [gpus, setGpus] = useState([]);
  useEffect(() => {
    const read = () => document.hidden || ask('usage').then(usage => setGpus(usage.gpus), () => setGpus([]));
    read();
    const timer = setInterval(read, 5000);
    return () => clearInterval(timer);
  }, []);
  return gpus;
}

// `held`: the holder of each GPU, if it is to be shown.
export function Gpus({ gpus, held = null }) {
  const figure = (value, unit) => value === null ? '–' : `${number(Math.round(value))} ${unit}`;
  return html`<section aria-label="GPUs"><h2>GPUs <small>${number(gpus.length)}</small></h2>
    <table class="trials"><thead><tr><th>GPU</th>${held && html`<th>held by</th>`}<th class="n">busy</th><th class="n">memory</th><th class="n">temperature</th><th class="n">power</th></tr></thead>
    <tbody>${gpus.map(gpu => html`<tr key=${gpu.gpu}><td title=${gpu.uuid}>${gpu.gpu} ${gpu.model || html`<span class="error">does not answer</span>`}</td>
      ${held && html`<td data-label="held by">${held(gpu)}</td>`}<td class="n" data-label="busy">${figure(gpu.utilization_percent, '%')}</td>
      <td class="n" data-label="memory">${gpu.memory_total_bytes === null ? '–' : `${bytes(gpu.memory_bytes)} of ${bytes(gpu.memory_total_bytes)}`}</td>
      <td class="n" data-label="temperature">${figure(gpu.temperature_celsius, '°C')}</td>
      <td class="n" data-label="power">${figure(gpu.power_watts, 'W')}</td></tr>`)}</tbody></table></section>`;
}

export function Services({ services, missing }) {
  const names = ['registry', 'launcher', 'datamanager', 'trainer', 'web'];
  const rows = [...services].sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
  const shown = rows.filter(row => names.includes(row.name));
  const others = rows.length - shown.length;
  return html`<section aria-label="services"><h2>Services</h2><ul class="services">${shown.map(row => html`<li key=${row.name + row.instance}>
      <span class="state ${row.state}">${sign(row.state)} <b>${row.name}</b> ${row.state === 'up' ? '' : row.state}</span>
      <small>${row.reason || `pid ${row.pid || '–'}, up for ${row.since ? duration((Date.now() - Date.parse(row.since)) / 1000) : '–'}`}
        ${row.restarts > 0 ? `, ${plural(row.restarts, 'restart')}` : ''}</small></li>`)}
    ${missing.filter(name => !shown.some(row => row.name === name)).map(name => html`<li key=${name}>
      <span class="state down">✗ <b>${name}</b> does not answer</span></li>`)}</ul>
    ${others > 0 && html`<p class="faint">and ${plural(others, 'other')} that registered</p>`}</section>`;
}
