// The view of everything that runs on this machine: services, GPUs and their holders, and jobs with their tasks and attempts as a tree.

import { html, useEffect, useRef, useState } from './preact-htm.js';
import { act, ask } from './api.js';
import { paced, subscribe } from './live.js';
import { age, bytes, clock, duration, number, plain, plural, sign } from './format.js';
import { Gpus, Services } from './home.js';
import { Confirm, Link, listOf, SIGNALS, textOf, Trouble, useAddress, useNow } from './parts.js';

const ENDED = 50, MOST = 1000;
const isLive = state => ['pending', 'starting', 'running', 'stopping'].includes(state);
const nameOf = task => `${task.type}-${task.index}`;

export function Processes() {
  const [query, set] = useAddress();
  const ended = query.get('ended') === '0' ? 0 : Number(query.get('ended')) || ENDED, find = query.get('q') || '';
  const [jobs, error, read] = useJobs(ended);
  const usage = useUsage();
  const [services, setServices] = useState(null);
  useNow(1000);
  useEffect(() => {
    const again = paced(2000, () => ask('yard').then(setServices, () => {}));
    again();
    const end = subscribe(['yard'], (event) => { if (event === 'service' || event === 'resync') again(); });
    return () => { end(); again.stop(); };
  }, []);
  if (!jobs) return error ? html`<${Trouble} error=${error} />` : html`<p class="empty">…</p>`;
  const has = job => `${job.id} ${job.name} ${job.argv.join(' ')} ${job.reason} ${job.labels.trial_name || ''}`.toLowerCase().includes(find.toLowerCase());
  const shown = jobs.filter(has);
  const live = jobs.filter(job => isLive(job.state)).length;
  return html`<div class="processes">${error && html`<${Trouble} error=${error} />`}
    ${services && html`<${Services} services=${services.services || []} missing=${services.missing || []} />`}
    ${usage && usage.gpus.length > 0 && html`<${Gpus} gpus=${usage.gpus} held=${holderOf(usage, jobs)} />`}
    <section aria-label="jobs"><h2>Jobs <small>${number(live)} running or waiting, ${number(jobs.length - live)} ended</small></h2>
      <p class="bar"><input type="search" aria-label="jobs" placeholder="name, command, reason" value=${find} onInput=${event => set({ q: event.target.value })} />
        <label>ended <select aria-label="ended jobs" value=${String(ended)} onChange=${event => set({ ended: event.target.value === String(ENDED) ? '' : event.target.value })}>
          ${[0, ENDED, 500, 10000].map(one => html`<option key=${one} value=${String(one)}>${one === 0 ? 'none' : `the newest ${number(one)}`}</option>`)}</select></label></p>
      ${shown.length === 0 ? html`<p class="empty">${jobs.length === 0 ? html`No job has been started: <code>yard launch JOB.yaml</code>, <code>yard run -- PROGRAM</code>` : 'No job matches.'}</p>`
        : html`<${Tree} jobs=${shown} usage=${usage} query=${query} set=${set} changed=${read} />`}</section></div>`;
}

// Returns all live jobs and the newest ended ones, newest first: [jobs, error, read].
function useJobs(ended) {
  const [jobs, setJobs] = useState(null);
  const [error, setError] = useState(null);
  const reader = useRef();
  useEffect(() => {
    const read = reader.current = paced(1000, () => ask(`jobs?ended=${ended}`).then(answer => { setJobs(answer.jobs); setError(null); }, setError));
    read();
    const end = subscribe(['yard'], event => { if (event === 'job' || event === 'resync') read(); });
    return () => { end(); read.stop(); };
  }, [ended]);
  return [jobs, error, () => reader.current()];
}

// Returns the usage of tasks and GPUs, with each task's processor share since the previous reading.
function useUsage() {
  const [usage, setUsage] = useState(null);
  useEffect(() => {
    let before = new Map();
    const read = () => document.hidden || ask('usage').then(answer => {
      const now = performance.now() / 1000, next = new Map();
      for (const task of answer.tasks) {
        const key = `${task.task}.${task.attempt}`, old = before.get(key);
        next.set(key, old && now - old.at < 1 ? old : { at: now, cpu: task.cpu_s, share: old ? (task.cpu_s - old.cpu) / (now - old.at) : null });
        task.share = next.get(key).share;
      }
      before = next;
      setUsage(answer);
    }, () => {});
    read();
    const timer = setInterval(read, 3000);
    return () => clearInterval(timer);
  }, []);
  return usage;
}

// Returns the members of a resource set, such as "gpu=0,1" of a live task.
function holders(jobs) {
  const of = new Map();
  for (const job of jobs) {
    for (const task of job.tasks) {
      if (!isLive(task.state)) continue;
      for (const text of task.resources) {
        const [set, members] = text.split('=');
        for (const member of (members || '').split(',').filter(Boolean)) of.set(`${set}=${member}`, [...(of.get(`${set}=${member}`) || []), task.id]);
      }
    }
  }
  return of;
}

// Returns links to the tasks that hold a GPU.
function holderOf(usage, jobs) {
  const held = holders(jobs);
  return gpu => {
    const tasks = usage.tasks.filter(task => task.gpus.includes(gpu.gpu)).map(task => task.task);
    const by = [...new Set([...(held.get(`gpu=${gpu.gpu}`) || []), ...tasks])];
    return by.length === 0 ? html`<span class="faint">nobody</span>` : by.map(id => html`<${Link} key=${id} to=${`/processes?q=${encodeURIComponent(id.split('/')[0])}`}>${id}<//> `);
  };
}

const WORDS = { stop: 'Stop', restart: 'Restart', signal: 'Signal', rm: 'Remove' };
const SIGNAL = { label: 'signal', value: 'SIGUSR1', options: Object.keys(SIGNALS) };

// Stops a trial through the trainer, so that it records why the job ended.
function order(action, job, id, value) {
  if (action === 'signal') return act('jobs', id, 'signal', { signal: SIGNALS[value] });
  if (action === 'stop' && job.labels.trial) return act('trials', job.labels.trial, 'stop');
  return act('jobs', id, action);
}

function Tree({ jobs, usage, query, set, changed }) {
  const [asked, setAsked] = useState(null); // {action, job, id, thing}
  const [focus, setFocus] = useState('');
  const table = useRef();
  const opened = listOf(query.get('open')), closed = listOf(query.get('shut'));
  // Live jobs are expanded by default, ended ones collapsed.
  const isOpen = (id, state) => isLive(state) ? !closed.includes(id) : opened.includes(id);
  const turn = (id, state) => {
    const [list, name] = isLive(state) ? [closed, 'shut'] : [opened, 'open'];
    set({ [name]: textOf(list.includes(id) ? list.filter(one => one !== id) : [...list, id]) });
  };
  const figures = new Map((usage ? usage.tasks : []).map(task => [`${task.task}.${task.attempt}`, task]));
  const sum = (job, read) => job.tasks.reduce((all, task) => {
    const one = task.attempts.length > 0 && figures.get(`${task.id}.${task.attempts.at(-1).number}`);
    return one && read(one) !== null ? (all || 0) + read(one) : all;
  }, null);
  const rows = [];
  for (const job of jobs.slice(0, MOST)) {
    const open = isOpen(job.id, job.state);
    rows.push({ id: job.id, level: 1, open, parent: null, job, kind: 'job', state: job.state });
    if (!open) continue;
    for (const task of job.tasks) {
      // A single attempt is shown in its task's row.
      const many = task.attempts.length > 1, wide = many && isOpen(task.id, task.state);
      rows.push({ id: task.id, level: 2, open: many ? wide : undefined, parent: job.id, job, task, kind: 'task', state: task.state });
      if (wide) for (const attempt of [...task.attempts].reverse()) rows.push({ id: `${task.id}.${attempt.number}`, level: 3, parent: task.id, job, task, attempt, kind: 'attempt' });
    }
    if (job.failure) rows.push({ id: `${job.id}!`, level: 2, parent: job.id, job, kind: 'failure' });
  }
  const at = rows.some(row => row.id === focus) ? focus : rows[0].id;
  const moveTo = id => { setFocus(id); requestAnimationFrame(() => { const row = table.current.querySelector(`[data-id="${CSS.escape(id)}"]`); if (row) row.focus(); }); };
  const key = event => {
    if (!event.target.dataset.id || event.ctrlKey || event.metaKey || event.altKey) return;
    const place = rows.findIndex(row => row.id === event.target.dataset.id), row = rows[place];
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); moveTo(rows[Math.min(rows.length - 1, Math.max(0, to))].id); }
    if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      event.preventDefault();
      const wants = event.key === 'ArrowRight';
      if (row.open !== undefined && row.open !== wants) turn(row.id, row.state);
      else if (!wants && row.parent) moveTo(row.parent);
    }
    if (event.key === 'Enter') { const link = event.target.querySelector('a'); if (link) link.click(); }
  };
  const actions = row => {
    if (row.kind === 'attempt' || row.kind === 'failure') return null;
    const ofTrial = Boolean(row.job.labels.trial), live = isLive(row.state);
    const can = row.kind === 'job' ? (live ? ['stop', ...(ofTrial ? [] : ['restart']), 'signal'] : ofTrial ? [] : ['restart', 'rm'])
      : ofTrial ? (live ? ['signal'] : []) : live ? ['stop', 'restart', 'signal'] : isLive(row.job.state) ? ['restart'] : [];
    const thing = row.kind === 'task' ? row.id : row.job.labels.trial_name || row.job.name || row.job.id;
    return can.map(action => html`<button key=${action} aria-label=${`${action} ${plain(thing)}`} onClick=${() => setAsked({ action, job: row.job, id: row.id, thing: plain(thing) })}>${WORDS[action].toLowerCase()}</button>`);
  };
  const parts = { figures, sum, turn, actions };
  return html`<div class="scroll"><table class="tree" role="treegrid" aria-label="jobs, their tasks and attempts" ref=${table} onKeyDown=${key}><thead><tr><th>job, task, attempt</th><th>state</th>
      <th class="n">processor</th><th class="n">memory</th><th class="n">processes</th><th>has</th><th class="n">restarts</th><th class="n">pid</th><th class="n">for</th><th><span class="hidden">actions</span></th></tr></thead>
    <tbody>${rows.map(row => html`<tr key=${row.id} data-id=${row.id} class="level${row.level} ${row.kind}" aria-level=${row.level} aria-expanded=${row.open === undefined ? undefined : String(row.open)}
      tabindex=${row.id === at ? 0 : -1} onFocus=${() => setFocus(row.id)}>${cells(row, parts)}</tr>`)}</tbody></table>
    ${jobs.length > MOST && html`<p class="faint">and ${number(jobs.length - MOST)} more: name some above</p>`}
    ${asked && html`<${Confirm} what=${WORDS[asked.action]} thing=${asked.thing} field=${asked.action === 'signal' ? SIGNAL : null}
      run=${async value => { await order(asked.action, asked.job, asked.id, value); changed(); }} close=${() => setAsked(null)} />`}</div>`;
}

const turner = (row, turn) => row.open === undefined ? html`<span class="turn"></span>`
  : html`<button class="turn" tabindex="-1" aria-label=${row.open ? 'close' : 'open'} onClick=${() => turn(row.id, row.state)}>${row.open ? '▾' : '▸'}</button>`;
const took = (started, ended) => started ? duration((Date.parse(ended || new Date().toISOString()) - Date.parse(started)) / 1000) : '–';
// Returns how an attempt ended; a column of its own would be empty for live attempts.
const endOf = attempt => [attempt.reason || (attempt.ended ? 'exit code 0' : ''), attempt.out_of_memory && 'out of memory', attempt.core_dumped && 'core dumped', attempt.shim_lost && 'its shim was lost']
  .filter(Boolean).join(', ');
const share = value => value === null || value === undefined ? '–' : `${number(Math.round(100 * value))} %`;

function cells(row, { figures, sum, turn, actions }) {
  const { job, task, attempt } = row;
  if (row.kind === 'failure') {
    const { failure } = job;
    return html`<td colspan="10" class="wrap"><b>${failure.task ? `${plain(failure.task)} failed first` : 'The job failed'}</b>: ${plain(failure.reason)}
      ${failure.consequences.length > 0 && html`<p class="faint">Ended because of it: ${failure.consequences.map(plain).join(', ')}</p>`}
      ${failure.last_lines.length > 0 && html`<pre class="last-words">${failure.last_lines.map(line => `${plain(line)}\n`)}</pre>`}</td>`;
  }
  const state = (name, reason) => html`<td class="wrap state-cell"><span class="state ${name}">${sign(name)} ${name}</span>${reason && html` <span class="reason">${plain(reason)}</span>`}</td>`;
  if (row.kind === 'job') {
    const memory = sum(job, one => one.rss_bytes), shown = job.labels.trial_name || job.name;
    return html`<td class="name">${turner(row, turn)}${job.labels.trial ? html`<${Link} tabindex="-1" to=${`/run/${encodeURIComponent(job.labels.trial)}`}>${plain(shown)}<//>` : html`<b>${plain(shown || job.id)}</b>`}
        ${' '}<small class="faint">${shown ? job.id : ''}</small><small class="command faint" title=${plain(job.argv.join(' '))}>${plain(job.argv.join(' ')).slice(0, 200)}</small></td>
      ${state(job.state, job.reason)}<td class="n" data-label="processor">${share(sum(job, one => one.share))}</td><td class="n" data-label="memory">${bytes(memory)}</td>
      <td class="n" data-label="processes">${number(sum(job, one => one.processes))}</td><td>${plural(job.tasks.length, 'task')}</td><td class="n" data-label="restarts">${number(job.restarts)}</td><td></td>
      <td class="n" data-label="for" title=${clock(job.created)}>${took(job.created, job.ended)}${job.ended ? html`<small class="faint">${age(job.ended)} ago</small>` : ''}</td><td class="do">${actions(row)}</td>`;
  }
  const last = attempt || task.attempts.at(-1) || {}, now = figures.get(`${task.id}.${last.number}`) || { share: null, rss_bytes: null, processes: null };
  if (row.kind === 'attempt') {
    return html`<td class="name">${turner(row, turn)}attempt ${attempt.number}${attempt.node && html` <small class="faint">${plain(attempt.node)}</small>`}</td><td class="wrap state-cell">${attempt.ended ? endOf(attempt) : html`<span class="state ${task.state}">${sign(task.state)} ${task.state}</span>`}</td>
      <td></td><td></td><td></td><td></td><td></td><td class="n" data-label="pid">${attempt.pid || '–'}</td>
      <td class="n" data-label="for" title=${clock(attempt.started)}>${took(attempt.started, attempt.ended)}</td><td></td>`;
  }
  return html`<td class="name">${turner(row, turn)}${nameOf(task)}${task.node && html` <small class="label" title="the host where it runs">${plain(task.node)}</small>`}${task.address && html` <small class="faint">${task.address}</small>`}</td>
    ${state(task.state, task.reason || (last.ended ? endOf(last) : ''))}<td class="n" data-label="processor">${share(now.share)}</td><td class="n" data-label="memory">${bytes(now.rss_bytes)}</td>
    <td class="n" data-label="processes">${number(now.processes)}</td><td>${task.resources.map(one => html`<span key=${one} class="label">${plain(one)}</span>`)}</td>
    <td class="n" data-label="restarts">${number(task.restarts)}</td><td class="n" data-label="pid">${last.ended ? '–' : last.pid || '–'}</td>
    <td class="n" data-label="for" title=${clock(last.started)}>${took(last.started, last.ended)}</td><td class="do">${actions(row)}</td>`;
}
