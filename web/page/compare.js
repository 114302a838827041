// Compares runs side by side: their differences, overlaid curves, output by step, and code.

import { html, useEffect, useMemo, useState } from './preact-htm.js';
import { ask, askSeries, runPath } from './api.js';
import { subscribe } from './live.js';
import { colour, dash, group, isSystem, number, plain, plural, sign } from './format.js';
import { Card, ChartOptions } from './card.js';
import { groupsOf, lineDiff } from './groups.js';
import { Media } from './media.js';
import { AnsiText, Link, listOf, marks, optionsOf, optionsTo, textOf, Trouble, useAddress } from './parts.js';

const MOST = 20, MOST_CARDS = 40, LINES = 400;

export function Compare() {
  const [query, set] = useAddress();
  const names = listOf(query.get('runs')).slice(0, MOST), by = query.get('group') || '';
  const [runs, error] = useRuns(names);
  const tabs = ['differences', 'curves', 'media', 'output', 'code'], tab = tabs.includes(query.get('tab')) ? query.get('tab') : 'differences';
  if (names.length < 2) return html`<p class="empty">Select two to ${MOST} runs in <${Link} to="/runs">Runs<//>, then press compare.</p>`;
  if (!runs) return error ? html`<${Trouble} error=${error} />` : html`<p class="empty">…</p>`;
  const key = event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    set({ tab: next === tabs[0] ? '' : next }, true);
    requestAnimationFrame(() => document.getElementById(`tab-${next}`).focus());
  };
  const shared = { runs, query, set, by };
  return html`<div class="compare one">${error && html`<${Trouble} error=${error} />`}
    <ul class="legend chosen" aria-label="runs">${runs.map((run, i) => html`<li key=${run.name}><i style=${{ background: colour(i) }}></i><${Link} to=${`/run/${encodeURIComponent(run.name)}`}>${plain(run.facts.display_name || run.name)}<//>
      ${run.facts.trial && html` <span class="state ${run.facts.trial.state}">${sign(run.facts.trial.state)} ${run.facts.trial.state}</span>`}
      <button aria-label=${`leave ${plain(run.name)} out`} onClick=${() => set({ runs: textOf(names.filter(name => name !== run.name)) }, true)}>×</button></li>`)}</ul>
    <p class="bar"><label>group by <select aria-label="group by" value=${by} onChange=${event => set({ group: event.target.value })}><option value="">nothing</option>
      ${[...new Set([...runs.flatMap(run => Object.keys(run.facts.parameters || {}).map(name => `config.${name}`)), ...(by ? [by] : [])])].slice(0, 500).map(name => html`<option key=${name} value=${name}>${plain(name)}</option>`)}</select></label>
      ${by && html`<span class="faint">mean and one standard deviation of the runs of a group</span>`}</p>
    <div role="tablist" class="tabs" onKeyDown=${key}>${tabs.map(one => html`<button key=${one} id="tab-${one}" role="tab" aria-selected=${one === tab} tabindex=${one === tab ? 0 : -1}
      onClick=${() => set({ tab: one === tabs[0] ? '' : one }, true)}>${one}</button>`)}</div>
    <div role="tabpanel" tabindex="0" aria-labelledby="tab-${tab}">${tab === 'differences' ? html`<${Differences} ...${shared} />` : tab === 'curves' ? html`<${Curves} ...${shared} />`
      : tab === 'media' ? html`<${Media} key=${names.join()} runs=${runs.map(run => ({ run: run.facts.run || run.name, name: run.facts.display_name || run.name }))} query=${query} set=${set} />`
      : tab === 'output' ? html`<${Output} ...${shared} />` : html`<${Code} ...${shared} />`}</div></div>`;
}

// Returns [[{name, facts, tags}] in the order of the names, error].
function useRuns(names) {
  const [runs, setRuns] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let current = true;
    setError(null);
    const read = name => Promise.all([ask(runPath(name)), ask(runPath(name, '/tags'))]).then(([facts, { tags }]) => ({ name, facts, tags: tags.filter(tag => tag.scalar) }));
    // Earlier answers are kept, so that a late answer for fewer runs does not change what is shown.
    const add = all => setRuns(known => [...all, ...(known || []).filter(run => !names.includes(run.name))].slice(0, 2 * MOST));
    Promise.all(names.map(read)).then(all => current && add(all), problem => current && setError(problem));
    return () => { current = false; };
  }, [names.join('\n')]);
  return [runs && names.every(name => runs.some(run => run.name === name)) ? names.map(name => runs.find(run => run.name === name)) : null, error];
}

// Returns everything about a run that can differ: a Map from "section\nname" to a value.
function everythingOf({ facts, tags }) {
  const all = new Map(), put = (section, name, value) => value !== undefined && value !== null && all.set(`${section}\n${name}`, value);
  const said = facts.provenance || {}, git = said.git || {};
  // The command and the commit of a trial are added below.
  for (const [name, value] of Object.entries(facts.parameters || {})) if (!said.command || !/^comm(and|it)$/.test(name)) put('parameters', `config.${name}`, value);
  put('command', 'command', said.command || (facts.trial ? facts.trial.argv.join(' ') : undefined));
  for (const name of ['working_directory', 'seed']) put('command', name, said[name]);
  for (const name of ['commit', 'branch', 'dirty', 'root']) put('code', name, git[name]);
  if (git.commit) put('code', 'not committed', facts.diff ? plural(facts.diff.split('\n').length, 'line') : 'nothing');
  for (const name of ['python', 'yard', 'hostname', 'user']) put('versions', name, said[name]);
  for (const name of facts.environment || []) put('environment', name, 'set');
  for (const tag of tags) if (!isSystem(tag.tag)) put('metrics', tag.tag, tag.last);
  return all;
}

const textOfValue = value => value === undefined ? '–' : plain(typeof value === 'string' ? value : number(value));

function Differences({ runs, query, set, by }) {
  const all = query.get('all') === '1';
  const rows = useMemo(() => {
    const facts = runs.map(everythingOf), names = new Set(facts.flatMap(one => [...one.keys()]));
    return [...names].map(key => {
      const values = facts.map(one => one.get(key)), [section, name] = key.split('\n');
      return { section, name, values, differs: values.some(value => JSON.stringify(value) !== JSON.stringify(values[0])) };
    });
  }, [runs]);
  const order = ['parameters', 'metrics', 'command', 'code', 'versions', 'environment'];
  const shown = rows.filter(row => all || row.differs).sort((a, b) => order.indexOf(a.section) - order.indexOf(b.section));
  const same = rows.length - rows.filter(row => row.differs).length;
  return html`<div>${by && html`<${Groups} runs=${runs} by=${by} />`}
    <p class="bar"><label><input type="checkbox" checked=${all} onChange=${event => set({ all: event.target.checked ? '1' : '' })} /> also what is the same</label> <span class="faint">${plural(same, 'thing')} the same in all</span></p>
    ${shown.length === 0 ? html`<p class="empty">Nothing differs.</p>` : html`<div class="scroll"><table class="differences"><thead><tr><th>what</th>${runs.map((run, i) => html`<th key=${run.name} class="n"><i style=${{ background: colour(i) }}></i> <span class="own" title=${plain(run.name)}>${plain(run.facts.display_name || run.name)}</span></th>`)}</tr></thead>
      ${order.filter(section => shown.some(row => row.section === section)).map(section => html`<tbody key=${section}><tr><th colspan=${runs.length + 1} scope="rowgroup">${section}</th></tr>
        ${shown.filter(row => row.section === section).map(row => html`<tr key=${row.name} class=${row.differs ? 'differs' : ''}><th scope="row">${plain(row.name)}</th>${row.values.map((value, i) => html`<td key=${i} class="n"><span class="value" title=${textOfValue(value)}>${textOfValue(value).slice(0, 300)}</span></td>`)}</tr>`)}</tbody>`)}</table></div>`}</div>`;
}

// A row for each group and metric: mean and standard deviation of its runs' last values.
function Groups({ runs, by }) {
  const groups = groupsOf(runs, by), tags = [...new Set(runs.flatMap(run => run.tags.map(tag => tag.tag)))].filter(tag => !isSystem(tag)).slice(0, 200);
  const figures = (some, tag) => {
    const values = some.runs.map(run => (run.tags.find(one => one.tag === tag) || {}).last).filter(value => typeof value === 'number' && Number.isFinite(value));
    if (values.length === 0) return '–';
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const spread = values.length < 2 ? null : Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
    return html`${number(Number(mean.toPrecision(5)))}${spread !== null && html` <small class="faint">± ${number(Number(spread.toPrecision(2)))}</small>`}`;
  };
  return html`<section aria-label="groups"><h2>Groups <small>last values: mean ± standard deviation</small></h2><div class="scroll"><table class="differences"><thead><tr><th>${plain(by)}</th>${groups.map(one => html`<th key=${one.text} class="n"><i style=${{ background: one.colour }}></i> ${plain(one.text)} <small class="faint">${plural(one.runs.length, 'run')}</small></th>`)}</tr></thead>
    <tbody>${tags.map(tag => html`<tr key=${tag}><th scope="row">${plain(tag)}</th>${groups.map(one => html`<td key=${one.text} class="n">${figures(one, tag)}</td>`)}</tr>`)}</tbody></table></div></section>`;
}

function Curves({ runs, query, set, by }) {
  const options = optionsOf(query), filter = query.get('tags') || '';
  const names = runs.map(run => run.facts.run || run.name);
  const changed = useMemo(() => {
    const listeners = new Set();
    const end = subscribe(names.map(name => `run:${name}`), (event, data) => {
      for (const [tag, f] of listeners) if (event === 'resync' || (event === 'points' && data.tag === tag && names.includes(data.run))) f();
    });
    const watch = (tag, f) => { const one = [tag, f]; listeners.add(one); return () => listeners.delete(one); };
    watch.end = end;
    return watch;
  }, [names.join('\n')]);
  useEffect(() => () => changed.end(), [changed]);
  const count = new Map();
  for (const run of runs) for (const { tag } of run.tags) if (tag.toLowerCase().includes(filter.toLowerCase())) count.set(tag, (count.get(tag) || 0) + 1);
  // Tags that more runs share come first.
  const tags = [...count].sort((a, b) => isSystem(a[0]) - isSystem(b[0]) || b[1] - a[1] || (group(a[0]) < group(b[0]) ? -1 : 1)).map(([tag]) => tag);
  const drawn = runs.map((run, i) => ({ run: names[i], name: run.facts.display_name || run.name, colour: colour(i), dash: dash(i) }));
  const groups = by ? groupsOf(runs, by).map(one => ({ ...one, runs: one.runs.map(run => run.facts.run || run.name) })) : null;
  return html`<div><p class="bar"><input type="search" aria-label="tags" placeholder="tags" value=${filter} onInput=${event => set({ tags: event.target.value })} /> <span class="faint">${plural(tags.length, 'tag')}</span></p>
    <${ChartOptions} options=${options} set=${next => set(optionsTo(next))} tags=${tags} />
    <div class="cards">${tags.slice(0, MOST_CARDS).map(tag => html`<${Card} key=${tag} tag=${tag} runs=${drawn} groups=${groups} options=${options} changed=${changed} />`)}</div>
    ${tags.length === 0 && html`<p class="empty">No tag matches.</p>`}</div>`;
}

// The newest lines of each run, aligned by the steps at which they were written, as exactly as the
// time of output is known.
function Output({ runs, query, set }) {
  const find = query.get('grep') || '';
  const [lines, setLines] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    const abort = new AbortController();
    const read = async run => {
      const job = run.facts.job && run.facts.job.id, name = run.facts.run || run.name;
      if (!job) return [];
      const tag = run.tags.find(one => !isSystem(one.tag)), found = [];
      let asked = { job, grep: find, limit: LINES };
      while (asked) {
        const answer = await ask(`logs?${new URLSearchParams(asked)}`, { signal: abort.signal });
        found.push(...answer.lines);
        asked = answer.next && found.length < LINES && { ...asked, limit: LINES - found.length, cursor: answer.next };
      }
      const [series] = tag ? await askSeries({ n: 2000, sel: [[name, tag.tag]] }, abort.signal) : [null];
      return found.reverse().map(line => ({ text: line.text, stream: line.stream, step: stepAt(series, Date.parse(line.time) / 1000) }));
    };
    // Sequential, because the launcher serves only a few searches at a time.
    (async () => {
      const all = [];
      for (const run of runs) all.push(await read(run));
      setLines(all);
      setError(null);
    })().catch(problem => abort.signal.aborted || setError(problem));
    return () => abort.abort();
  }, [runs.map(run => run.name).join('\n'), find]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (!lines) return html`<p class="empty">…</p>`;
  const steps = [...new Set(lines.flatMap(some => some.map(line => line.step)))].sort((a, b) => a - b);
  return html`<div><p class="bar"><input type="search" aria-label="search" placeholder="regular expression" value=${find} onChange=${event => set({ grep: event.target.value })} />
      <span class="faint">the newest ${number(LINES)} lines of each, at the step that was newest when they were written</span></p>
    <div class="scroll sides" tabindex="0" aria-label="output by step"><table><thead><tr><th class="n">step</th>${runs.map(run => html`<th key=${run.name}>${plain(run.facts.display_name || run.name)}</th>`)}</tr></thead>
      <tbody>${steps.map(step => html`<tr key=${step}><th scope="row" class="n">${step < 0 ? '–' : number(step)}</th>${lines.map((some, i) => html`<td key=${i}>${some.filter(line => line.step === step).map((line, k) => html`<div key=${k} class=${line.stream}><${AnsiText} text=${line.text} find=${marks(line.text, find)} /></div>`)}</td>`)}</tr>`)}</tbody></table></div>
    ${steps.length === 0 && html`<p class="empty">No line matches, or its job is not known any more.</p>`}</div>`;
}

// Returns the newest step reported by that time; -1 before the first one.
function stepAt(series, time) {
  if (!series || series.n === 0) return -1;
  let low = -1, high = series.n - 1;
  while (low < high) { const middle = (low + high + 1) >> 1; if (series.time[middle] <= time) low = middle; else high = middle - 1; }
  return low < 0 ? -1 : series.last[low];
}

// Shows uncommitted changes, compared to those of the first run.
function Code({ runs }) {
  const [first, ...others] = runs, gitOf = run => (run.facts.provenance || {}).git || {};
  return html`<div>${others.map(run => {
    const a = gitOf(first), b = gitOf(run), same = (first.facts.diff || '') === (run.facts.diff || '');
    const diff = same ? [] : lineDiff((first.facts.diff || '').split('\n'), (run.facts.diff || '').split('\n'));
    return html`<section key=${run.name}><h2>${plain(first.name)} → ${plain(run.name)}</h2>
      <p>${!a.commit && !b.commit ? 'No commit is known of either.' : a.commit === b.commit ? html`Both were at <code>${String(a.commit).slice(0, 12)}</code>.` : html`<code>git diff ${String(a.commit || '?').slice(0, 12)} ${String(b.commit || '?').slice(0, 12)}</code>`}
        ${same ? first.facts.diff ? ' What was not committed is the same.' : ' Nothing was uncommitted.' : ' What was not committed differs:'}</p>
      ${diff.length > 0 && html`<pre class="diff">${diff.slice(0, 3000).map(([mark, line]) => html`<span class=${mark === '+' ? 'plus' : mark === '-' ? 'minus' : ''}>${`${mark} ${line}\n`}</span>`)}</pre>`}</section>`;
  })}</div>`;
}
