// One sweep: its results, method, cost and failures. All views share one brush.

import { html, useEffect, useMemo, useRef, useState } from './preact-htm.js';
import { act, ask, runPath } from './api.js';
import { paced, subscribe } from './live.js';
import { age, duration, number, plain, plural, sign } from './format.js';
import { better, brushFrom, columnsOf, fits, marginalsOf, secondsOf, sharedBy } from './columns.js';
import { Bar, ImportanceOf, Importances } from './importance.js';
import { Plot } from './plot.js';
import { Confirm, go, Link, Trouble, useAddress, useNow } from './parts.js';
import { Config, counts, isOver, seconds } from './sweeps.js';
import { axisOf, Lines, Marginals, numbersOf, pointOf, queryOf, Scatter, trialAddress, valuesOf } from './trials.js';

const FEWEST = 10, MOST_ROWS = 50, MOST_AXES = 30;

export function Sweep({ name }) {
  const [query, set] = useAddress();
  const [sweep, trials, error, read] = useSweep(name);
  const id = sweep && sweep.id;
  useNow(!sweep || isOver(sweep) ? 60000 : trials.length > 1000 ? 10000 : 1000);
  const [more, setMore] = useState({});
  const tags = useTags(sweep);
  const columns = useMemo(() => sweep && columnsOf(sweep, trials, more), [trials, more, id]);
  if (!sweep) return error ? html`<${Trouble} error=${error} />` : html`<p class="empty">…</p>`;
  const axes = [...columns.parameters.slice(0, MOST_AXES), columns.value, ...(columns.second ? [columns.second] : [])];
  const brush = brushFrom(query.get('brush'), axes);
  const isBrushed = axes.some(axis => brush[axis.name]);
  const chosen = isBrushed ? trials.filter(trial => fits(trial, axes, brush)) : trials;
  const inside = new Set(chosen);
  const setBrush = (axis, wanted) => {
    const next = Object.assign(Object.create(null), brush);
    if (wanted) next[axis] = wanted; else delete next[axis];
    set({ brush: Object.keys(next).length > 0 ? JSON.stringify(next) : '' });
  };
  const shared = { sweep, trials, columns, chosen, inside, isBrushed, query, set };
  return html`<div class="one sweep">${error && html`<${Trouble} error=${error} />`}
    <${Head} sweep=${sweep} changed=${read} />
    ${trials.length === 0 ? html`<p class="empty">No trial has begun yet.</p>` : html`
    <div class="cards"><${BestSoFar} ...${shared} /><${Scatter} ...${shared} tags=${tags} more=${more} setMore=${setMore} /></div>
    <section aria-label="configurations"><h2>Configurations <small>${isBrushed ? `${number(chosen.length)} of ${plural(trials.length, 'trial')}` : plural(trials.length, 'trial')}</small>
      ${isBrushed && html`<button onClick=${() => set({ brush: '' })}>all</button>`}</h2>
      <${Lines} ...${shared} axes=${axes} brush=${brush} setBrush=${setBrush} />
      <p class="faint">Drag along an axis, or press ↑ and ↓ in its name, to keep a part; a click or Escape keeps all of it.</p></section>
    <div class="pair"><section aria-label="importance"><h2>Importance <small>${isBrushed ? 'of the chosen trials' : ''}</small></h2><${Importance} ...${shared} /></section>
      <section aria-label="values"><h2>Values <small>${isBrushed ? 'of the chosen trials, ' : ''}of ${plain(sweep.metric || 'value')}, whatever the other parameters were</small></h2><${Marginals} sweep=${isBrushed ? { ...sweep, marginals: marginalsOf(sweep, chosen, columns) } : sweep} /></section></div>
    ${sweep.levels.length > 0 && html`<${Levels} sweep=${sweep} trials=${trials} />`}
    <${Failures} trials=${trials} columns=${columns} />
    <${Cost} trials=${trials} />
    <${Table} sweep=${sweep} trials=${chosen} />`}</div>`;
}

// Returns the current sweep and its trials: [sweep, trials, error, read].
function useSweep(name) {
  const [state, setState] = useState({ sweep: null, trials: [] });
  const [error, setError] = useState(null);
  const reader = useRef();
  const id = state.sweep && state.sweep.id;
  useEffect(() => {
    setState({ sweep: null, trials: [] });
    const read = reader.current = paced(1000, () => ask(`sweeps/${encodeURIComponent(name)}`).then(answer => {
      setState({ sweep: answer, trials: answer.trial_list });
      setError(null);
    }, setError));
    read();
    return () => read.stop();
  }, [name]);
  useEffect(() => {
    if (!id) return;
    // Levels, importance and marginals are polled now and then; changed trials arrive as events.
    const seldom = paced(5000, () => reader.current());
    let news = new Map(), latest = null;
    const take = paced(500, () => {
      const [changed, now] = [news, latest];
      news = new Map();
      setState(before => {
        if (!before.sweep || !now) return before;
        const trials = before.trials.map(trial => { const next = changed.get(trial.number); changed.delete(trial.number); return next || trial; });
        return { sweep: { ...before.sweep, ...now }, trials: [...trials, ...[...changed.values()].sort((a, b) => a.number - b.number)] };
      });
    });
    const end = subscribe([`sweep:${id}`, 'yard'], (event, data) => {
      if (event === 'resync') return reader.current();
      if (event !== 'sweep' || data.sweep.id !== id || !data.trials) return;
      latest = data.sweep;
      for (const trial of data.trials) news.set(trial.number, trial);
      take();
      return isOver(data.sweep) ? reader.current() : seldom();
    });
    return () => { end(); seldom.stop(); take.stop(); };
  }, [id]);
  return [state.sweep, state.trials, error, () => reader.current()];
}

// Returns the tags that its trials report, taken from the best one.
function useTags(sweep) {
  const [tags, setTags] = useState([]);
  const name = sweep && sweep.best && sweep.best.name;
  useEffect(() => {
    if (!name) return;
    let current = true;
    ask(runPath(name, '/tags')).then(answer => current && setTags(answer.tags.filter(tag => tag.scalar && tag.tag !== sweep.metric && !(sweep.objectives || []).some(one => one.metric === tag.tag)).map(tag => tag.tag)), () => {});
    return () => { current = false; };
  }, [name]);
  return tags;
}

const ACTIONS = {
  running: ['pause', 'drain', 'stop'], paused: ['resume', 'stop'], stopping: [], done: ['resume', 'retry', 'rm'], stopped: ['resume', 'retry', 'rm'], failed: ['resume', 'retry', 'rm'],
};
const WORDS = { pause: 'Pause', drain: 'Pause after its trials', resume: 'Resume', retry: 'Resume with failed trials', stop: 'Stop', rm: 'Remove' };
const ORDERS = { drain: ['pause', { drain: true }], retry: ['resume', { failed: true }] };

function Head({ sweep, changed }) {
  const [asked, setAsked] = useState(null);
  const [order, body] = ORDERS[asked] || [asked, {}];
  const actions = (ACTIONS[sweep.state] || []).filter(action => action !== 'retry' || sweep.failed > 0);
  const done = () => { if (order === 'rm') go('/sweeps'); else changed(); };
  return html`<header class="head"><h1 title=${plain(sweep.name)}>${plain(sweep.name)} <small class="faint">${sweep.name === sweep.id ? '' : sweep.id}</small></h1>
    <p class="facts"><span class="state ${sweep.state}">${sign(sweep.state)} ${sweep.state}</span>
      <span>${sweep.method}, <bdi class="own">${(sweep.objectives || [{ goal: sweep.goal, metric: sweep.metric || 'value' }]).map(one => `${one.goal} ${plain(one.metric)}`).join(', ')}</bdi></span>
      <span><b>${number(sweep.trials)}</b>${sweep.run_cap ? ` of ${number(sweep.run_cap)}` : ''} trials: ${counts(sweep)}</span>
      <span>${isOver(sweep) ? 'took' : 'runs for'} ${duration(seconds(sweep))}</span></p>
    ${sweep.reason && html`<p class="why ${sweep.state}">${plain(sweep.reason)}</p>`}
    ${sweep.front && sweep.front.length > 0 && html`<p class="facts best"><span>best: a front of <b>${plural(sweep.front.length, 'trial')}</b>, which no other is better than in both</span></p>`}
    ${sweep.best && !sweep.front && html`<p class="facts best"><span>best <bdi class="own">${plain(sweep.metric || 'value')}</bdi> <b>${number(sweep.best.value)}</b> of ${' '}<${Link} to=${trialAddress(sweep.best)}>${plain(sweep.best.name)}<//></span> <${Config} config=${sweep.best.config} /></p>`}
    <p class="buttons">${actions.map(action => html`<button key=${action} onClick=${() => setAsked(action)}>${WORDS[action].toLowerCase()}</button>`)}
      <${Link} class="button" to=${`/runs?q=${encodeURIComponent(queryOf(sweep))}`}>its runs<//></p>
    ${asked && html`<${Confirm} what=${WORDS[asked]} thing=${asked === 'rm' ? `${plain(sweep.name)} and its ${plural(sweep.trials, 'trial')}` : plain(sweep.name)}
      run=${() => act('sweeps', sweep.id, order, body).then(done)} close=${() => setAsked(null)} />`}</header>`;
}

// Trials in the order of their ends, over their number, their total cost, or the time.
function BestSoFar({ sweep, trials, columns, inside, query, set }) {
  const over = query.get('over') || 'trials', log = query.get('by') === 'log';
  const ended = trials.filter(trial => trial.ended && numbersOf(trial) && !trial.breaks && (!log || trial.value > 0)).sort((a, b) => Date.parse(a.ended) - Date.parse(b.ended) || a.number - b.number);
  const begin = Date.parse(sweep.created);
  let cost = 0;
  const points = ended.map((trial, i) => {
    cost += trial.resource || 0;
    const x = over === 'time' ? (Date.parse(trial.ended) - begin) / 1000 : over === 'iterations' ? cost : i + 1;
    return pointOf(sweep, trial, x, trial.value, inside);
  });
  const steps = [];
  for (const point of points) if (steps.length === 0 || better(sweep, point.y, steps.at(-1).y)) steps.push({ x: point.x, y: point.y });
  if (steps.length > 0) steps.push({ x: points.at(-1).x, y: steps.at(-1).y });
  const x = axisOf({ name: over, text: over === 'time' ? duration : number, mode: over === 'time' ? 'relative' : 'step' }, points, 'x');
  const y = { ...axisOf({ ...columns.value, log }, points, 'y') };
  const summary = `best so far: ${steps.length > 0 ? `${number(steps[0].y)} to ${number(steps.at(-1).y)} over ${plural(points.length, 'trial')}` : 'no trial has a value yet'}`;
  return html`<${Plot} title="best so far" summary=${summary} points=${points} steps=${steps} x=${x} y=${y}>
    <label>over <select aria-label="over" value=${over} onChange=${event => set({ over: event.target.value === 'trials' ? '' : event.target.value })}>
      ${['trials', 'iterations', 'time'].map(one => html`<option key=${one} value=${one}>${one}</option>`)}</select></label>
    <label><input type="checkbox" checked=${log} onChange=${event => set({ by: event.target.checked ? 'log' : '' })} /> log</label><//>`;
}

function Importance({ sweep, trials, chosen, isBrushed }) {
  const metric = sweep.metric || 'value';
  if (!isBrushed) {
    const rows = Object.entries(sweep.importance || {}).map(([parameter, importance]) => ({ parameter, importance })).sort((a, b) => b.importance - a.importance);
    const ended = trials.filter(trial => numbersOf(trial) && ['done', 'stopped early', 'stopped'].includes(trial.state)).length;
    return html`<${Importances} rows=${rows} metric=${metric} of=${plural(ended, 'trial')}
      reason=${`it takes ${FEWEST} trials that have ended with a finite value, and there are ${number(ended)}`} />`;
  }
  if (chosen.length < FEWEST) return html`<${Importances} rows=${[]} metric=${metric} reason=${`it takes ${FEWEST} trials, and ${number(chosen.length)} are chosen`} />`;
  const plan = sweep.plan || {}, at = sweep.objectives ? ((plan.metrics || [])[0] || {}).at || 'last' : (plan.metric || {}).at, last = at === 'last';
  const prefix = `${sweep.name}-`, under = trial => trial.name.startsWith(prefix);
  const value = last ? metric : `${sweep.goal === 'maximize' ? 'max' : 'min'}:${metric}`;
  const question = { value, goal: sweep.goal, prefix, runs: chosen.filter(trial => trial.trial && under(trial)).map(trial => trial.name.slice(prefix.length)) };
  return html`<${ImportanceOf} question=${question} metric=${metric} version=${sweep.events} />`;
}

// Each level lists the trials stopped at it: a trial that was stopped early had reached the last
// level not above its resource.
function Levels({ sweep, trials }) {
  const stopped = sweep.levels.map(() => []);
  for (const trial of trials) {
    if (trial.state !== 'stopped early') continue;
    const at = sweep.levels.findLastIndex(level => level.resource <= trial.resource);
    if (at >= 0) stopped[at].push(trial);
  }
  const than = sweep.goal === 'maximize' ? 'at least' : 'at most';
  return html`<section aria-label="levels"><h2>Levels <small>where trials are compared, and stopped early</small></h2><div class="scroll">
    <table class="levels"><thead><tr><th class="n">level</th><th class="n">arrived</th><th class="n">went on</th><th>goes on now with</th><th class="n">best</th><th>stopped there</th></tr></thead>
    <tbody>${sweep.levels.map((level, i) => html`<tr key=${level.resource}><td class="n">${number(level.resource)}</td><td class="n">${number(level.arrived)}</td><td class="n">${number(level.went_on)}</td>
      <td>${level.cutoff === null ? '–' : `${than} ${number(level.cutoff)}`}</td><td class="n">${number(level.best)}</td>
      <td class="wrap">${stopped[i].length === 0 ? '–' : html`<details><summary>${plural(stopped[i].length, 'trial')}</summary><ul class="rows">${stopped[i].slice(0, MOST_ROWS).map(trial => html`<li key=${trial.number}>
        <${Link} to=${trialAddress(trial)}>${plain(trial.name)}<//> <span class="reason">${plain(trial.reason)}</span></li>`)}</ul></details>`}</td></tr>`)}</tbody></table></div></section>`;
}

function Failures({ trials, columns }) {
  const others = useMemo(() => trials.filter(trial => trial.state !== 'failed'), [columns]);
  const known = useMemo(() => new Map(), [columns]);
  const sharedOf = some => {
    if (!known.has(some[0])) known.set(some[0], sharedBy(some, others, columns.parameters));
    return known.get(some[0]);
  };
  const failed = trials.filter(trial => trial.state === 'failed');
  if (failed.length === 0) return null;
  const byReason = new Map();
  for (const trial of failed) {
    if (!byReason.has(trial.reason)) byReason.set(trial.reason, []);
    byReason.get(trial.reason).push(trial);
  }
  return html`<section aria-label="failures"><h2>Failures <small>${plural(failed.length, 'trial')}</small></h2><ul class="rows failures">
    ${[...byReason].sort((a, b) => b[1].length - a[1].length).slice(0, 20).map(([reason, some]) => {
      const shared = sharedOf(some);
      return html`<li key=${reason} class="failed"><span class="sign" aria-hidden="true">✗</span> <b>${number(some.length)}</b> <span class="reason">${plain(reason) || 'no reason'}</span>
        ${shared.length > 0 && html`<span class="faint">all have ${shared.map((one, i) => html`${i > 0 && '; '}<bdi class="own">${one.text}</bdi> (${number(one.also)} of ${plural(others.length, 'other')})`)}</span>`}
        <span>${some.slice(0, 5).map(trial => html`<${Link} key=${trial.number} to=${trialAddress(trial)}>${plain(trial.name)}<//> `)}${some.length > 5 && '…'}</span></li>`;
    })}</ul></section>`;
}

function Cost({ trials }) {
  const rows = new Map();
  for (const trial of trials) {
    const row = rows.get(trial.state) || { trials: 0, iterations: 0, seconds: 0 };
    row.trials += 1;
    row.iterations += Number(trial.resource) || 0;
    const took = trial.ended ? secondsOf(trial) : trial.started ? (Date.now() - Date.parse(trial.started)) / 1000 : 0;
    row.seconds += Number.isFinite(took) ? Math.max(0, took) : 0;
    rows.set(trial.state, row);
  }
  const all = [...rows.values()].reduce((sum, row) => ({ trials: sum.trials + row.trials, iterations: sum.iterations + row.iterations, seconds: sum.seconds + row.seconds }), { trials: 0, iterations: 0, seconds: 0 });
  const line = (state, row) => html`<tr key=${state}><td>${state === 'all' ? html`<b>all</b>` : html`<span class="state ${state}">${sign(state)} ${state}</span>`}</td><td class="n">${number(row.trials)}</td>
    <td class="n">${number(row.iterations)}</td><td class="n">${duration(row.seconds)}</td><td class="wide"><${Bar} share=${all.seconds > 0 ? row.seconds / all.seconds : 0} /></td></tr>`;
  return html`<section aria-label="cost"><h2>Cost</h2><div class="scroll"><table class="shares"><thead><tr><th>state</th><th class="n">trials</th><th class="n">iterations</th><th class="n">time of trials</th><td class="wide"></td></tr></thead>
    <tbody>${[...rows].map(([state, row]) => line(state, row))}${line('all', all)}</tbody></table></div></section>`;
}

function Table({ sweep, trials }) {
  const [most, setMost] = useState(MOST_ROWS);
  const sorted = [...trials].sort((a, b) => !a.breaks !== !b.breaks ? (a.breaks ? 1 : -1) : !numbersOf(a) ? (numbersOf(b) ? 1 : b.number - a.number) : !numbersOf(b) || better(sweep, a.value, b.value) ? -1 : a.value === b.value ? a.number - b.number : 1);
  return html`<section aria-label="trials"><h2>Trials <small>${plural(trials.length, 'trial')}, the best first</small></h2>
    <table class="trials"><thead><tr><th>trial</th><th>state</th>${valuesOf(sweep, {}).map(([metric]) => html`<th class="n">${plain(metric).slice(0, 40)}</th>`)}<th class="n">iterations</th><th>configuration</th><th>why</th><th class="n">took</th></tr></thead>
    <tbody>${sorted.slice(0, most).map(trial => html`<tr key=${trial.number}><td><${Link} to=${trialAddress(trial)}>${plain(trial.name)}<//></td>
      <td><span class="state ${trial.state}">${sign(trial.state)} ${trial.state}</span></td>${valuesOf(sweep, trial).map(([metric, value]) => html`<td class="n" data-label=${plain(metric).slice(0, 40)}>${number(value)}</td>`)}
      <td class="n" data-label="at">${number(trial.resource)}</td><td class="metrics"><${Config} config=${trial.config} /></td><td class="wrap why-cell">${plain(trial.reason)}${trial.breaks && html` <span class="reason">breaks ${plain(trial.breaks)}</span>`}</td>
      <td class="n" data-label="took" title=${trial.started ? `${age(trial.started)} ago` : ''}>${duration(secondsOf(trial))}</td></tr>`)}</tbody></table>
    ${sorted.length > most && html`<button onClick=${() => setMost(most + 10 * MOST_ROWS)}>more</button>`}</section>`;
}
