// One run: its charts, its output, its parameters, its history.

import { html, useEffect, useMemo, useRef, useState } from './preact-htm.js';
import { act, ask, runPath } from './api.js';
import { paced, subscribe } from './live.js';
import { age, bytes, clock, colour, duration, group, number, plural, sign } from './format.js';
import { Card, ChartOptions } from './card.js';
import { CustomCharts, isLayout } from './custom.js';
import { Graph, isGraph, Lineage } from './graph.js';
import { chartAddress, SaveDialog } from './saved.js';
import { Markdown } from './markdown.js';
import { isMedium, Media } from './media.js';
import { AnsiText, Confirm, Link, optionsOf, optionsTo, SIGNALS, Trouble, useAddress, useNow } from './parts.js';

const TABS = ['charts', 'media', 'output', 'parameters', 'code', 'attempts', 'checkpoints', 'graph', 'lineage', 'files'];

export function Run({ name }) {
  const [query, set] = useAddress();
  const [run, setRun] = useState(null);
  const [error, setError] = useState(null);
  const reader = useRef(), shown = useRef();
  shown.current = run;
  useEffect(() => {
    setRun(null);
    const read = reader.current = paced(1000, () => ask(runPath(name)).then(answer => { setRun(answer); setError(null); }, setError));
    read();
    // A report changes only the step and the statistics, so the busy trainer is not asked for all
    // facts each time.
    const seldom = paced(5000, read);
    let newest = null;
    const count = paced(1000, () => newest && setRun(now => now && { ...now, updated: new Date(1000 * newest.time).toISOString(),
      last_step: Math.max(newest.step, now.last_step ?? newest.step) }));
    const end = subscribe(['yard', `run:${name}`], (event, data) => {
      if (event === 'points') {
        if (data.steps.length > 0) newest = { step: data.steps.at(-1), time: data.times.at(-1) };
        count();
        return seldom();
      }
      const trial = shown.current && shown.current.trial;
      if (event !== 'trial' || !trial) return read();
      if (data.id !== trial.id) return;
      const isReport = ['state', 'attempt', 'reason', 'job'].every(field => data[field] === trial[field]);
      return isReport ? seldom() : read();
    });
    return () => { end(); read.stop(); seldom.stop(); count.stop(); };
  }, [name]);
  // Opening the run of a failed trial acknowledges the failure.
  const unseen = run && run.trial && run.trial.unseen && run.trial.id;
  useEffect(() => { if (unseen) act('trials', unseen, 'ack').catch(() => {}); }, [unseen]);
  const chosen = query.get('tab') || 'charts', isThere = Boolean(run);
  useEffect(() => {
    const show = () => {
      const tab = document.getElementById(`tab-${chosen}`);
      if (tab) tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    };
    show();
    addEventListener('resize', show);
    return () => removeEventListener('resize', show);
  }, [chosen, isThere]);
  // The tabs depend on the tags, which are reread when new ones appear.
  const [tags, setTags] = useState([]);
  const seen = run && run.run ? `${run.run}\n${run.tags}` : '';
  useEffect(() => { if (seen) ask(runPath(run.run, '/tags')).then(answer => setTags(answer.tags), () => {}); }, [seen]);
  // A report changes only the facts above the charts, so the charts are not redrawn.
  const own = run && (run.run || name), there = Boolean(run && run.run);
  const charts = useMemo(() => html`<${Charts} run=${own} there=${there} query=${query} set=${set} />`, [own, there, query.toString(), colour(0)]);
  if (!run) return error ? html`<${Trouble} error=${error} />` : html`<p class="empty">…</p>`;
  const tabs = TABS.filter(tab => ['charts', 'parameters', chosen].includes(tab) || has(run, tags, tab));
  const tab = tabs.includes(chosen) ? chosen : 'charts';
  const key = event => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    set({ tab: next === 'charts' ? '' : next }, true);
    requestAnimationFrame(() => document.getElementById(`tab-${next}`).focus());
  };
  return html`<div class="one">
    ${error && html`<${Trouble} error=${error} />`}
    <${Head} run=${run} name=${name} changed=${() => reader.current()} />
    <div role="tablist" class="tabs" onKeyDown=${key}>${tabs.map(one => html`<button key=${one} id="tab-${one}" role="tab" aria-selected=${one === tab}
      tabindex=${one === tab ? 0 : -1} onClick=${() => set({ tab: one === 'charts' ? '' : one }, true)}>${one}</button>`)}</div>
    <div role="tabpanel" tabindex="0" aria-labelledby="tab-${tab}">
      ${tab === 'charts' && charts}
      ${tab === 'media' && html`<${Media} key=${own} runs=${[{ run: own }]} query=${query} set=${set} />`}
      ${tab === 'output' && html`<${Output} name=${name} job=${run.job && run.job.id} query=${query} set=${set} />`}
      ${tab === 'parameters' && html`<${Pairs} pairs=${run.parameters || {}} none="This run has no parameters." />`}
      ${tab === 'code' && html`<${Code} run=${run} />`}
      ${tab === 'attempts' && html`<${Attempts} run=${run} />`}
      ${tab === 'checkpoints' && html`<${Checkpoints} run=${run} />`}
      ${tab === 'graph' && html`<${Graph} run=${own} query=${query} set=${set} />`}
      ${tab === 'lineage' && html`<${Lineage} run=${own} facts=${run} />`}
      ${tab === 'files' && html`<${Files} run=${run} />`}
    </div></div>`;
}

function has(run, tags, tab) {
  if (tab === 'output') return Boolean(run.trial);
  const formats = (run.files || []).map(file => file.format);
  if (tab === 'media') return tags.some(isMedium);
  if (tab === 'graph') return tags.some(isGraph) || formats.includes('mindspore graph');
  if (tab === 'lineage') return Boolean(run.from || run.restore) || formats.includes('mindspore lineage');
  if (tab === 'code') return Boolean(run.provenance && Object.keys(run.provenance).length > 0);
  if (tab === 'attempts') return Boolean(run.job && run.job.tasks.length > 0);
  if (tab === 'checkpoints') return Boolean(run.checkpoints && run.checkpoints.length > 0);
  return Boolean(run.files && run.files.length > 0);
}

const ACTIONS = {
  running: ['stop', 'pause', 'tell', 'signal'], pending: ['stop', 'pause'], stopping: ['stop'], paused: ['resume', 'stop'], stopped: ['resume', 'rm'],
  failed: ['resume', 'rm'], done: ['rm'],
};
// The yard did not start such a program: it has no task for it, and cannot restart it.
const NOT_OF_ATTACHED = ['pause', 'resume', 'signal'];
const WORDS = { stop: 'Stop', pause: 'Pause', resume: 'Resume', rm: 'Remove', tell: 'Tell', signal: 'Signal' };
// Actions that need a value, not only a confirmation.
const FIELDS = {
  tell: { label: 'JSON, which it reads with its next report', value: '{"lr": 0.001}' },
  signal: { label: 'signal', value: 'SIGUSR1', options: Object.keys(SIGNALS) },
};
// A signal goes to the tasks of the trial's job.
function doAction(trial, action, value) {
  if (action === 'signal') return act('jobs', trial.job, action, { signal: SIGNALS[value] });
  return act('trials', trial.id, action, action === 'tell' ? { event: JSON.parse(value) } : {});
}

// The trainer labels a sweep's trials with the sweep's name.
const sweepName = labels => ((labels || []).find(label => label.startsWith('sweep=')) || '').slice(6);

function Head({ run, name, changed }) {
  const [asked, setAsked] = useState(null);
  useNow(1000);
  const trial = run.trial;
  const state = trial ? trial.state : '';
  const own = run.run || (trial && trial.name) || name;
  // A trial without a run keeps its annotations itself.
  const said = run.run ? run : trial || run;
  return html`<header class="head"><h1 title=${own}>${said.display_name || own}${said.display_name && html` <small class="faint">${own}</small>`}</h1>
    <p class="facts">${state && html`<span class="state ${state}">${sign(state)} ${state}</span>`}
      ${run.last_step !== null && run.last_step !== undefined && html`<span>step <b>${number(run.last_step)}</b></span>`}
      ${trial && trial.started && html`<span>${trial.ended ? 'ran' : 'running'} for ${duration((Date.parse(trial.ended || new Date().toISOString()) - Date.parse(trial.started)) / 1000)}</span>`}
      ${run.updated && html`<span>changed ${age(run.updated)} ago</span>`}
      ${run.sweep && html`<span>of the sweep <${Link} to=${`/sweep/${encodeURIComponent(run.sweep)}`}>${sweepName(said.labels) || run.sweep}<//></span>`}
      ${(said.labels || []).map(label => html`<span class="label">${label}</span>`)}
      ${run.missing && html`<span class="error">${run.missing.join(', ')} does not answer</span>`}</p>
    ${said.note && html`<div class="note"><${Markdown} text=${said.note} /></div>`}
    ${trial && trial.reason && html`<p class="why ${state}">${trial.reason}</p>`}
    ${trial && trial.error_lines && trial.error_lines.length > 0 && html`<pre class="last-words">${trial.error_lines.map(line => html`<${AnsiText} text=${line + '\n'} />`)}</pre>`}
    <p class="buttons">${(ACTIONS[state] || []).filter(action => !trial.attached_pid || !NOT_OF_ATTACHED.includes(action)).map(action => html`<button key=${action} onClick=${() => setAsked(action)}>${WORDS[action].toLowerCase()}</button>`)}
      <button onClick=${() => setAsked('set')}>edit</button>
      <${Link} class="button" to=${`/runs?sel=${encodeURIComponent(run.run || name)}`}>compare<//></p>
    ${asked === 'set' && html`<${Edit} thing=${own} said=${said} run=${change => act(run.run ? 'runs' : 'trials', run.run || trial.id, 'set', change).then(changed)}
      close=${() => setAsked(null)} />`}
    ${asked && asked !== 'set' && html`<${Confirm} what=${WORDS[asked]} thing=${trial.name} field=${FIELDS[asked]}
      run=${async value => { await doAction(trial, asked, value); changed(); }} close=${() => setAsked(null)} />`}
  </header>`;
}

// Edits name, labels and note. Sends only changed fields, because other users may change the rest.
function Edit({ thing, said, run, close }) {
  const dialog = useRef();
  const before = useRef({ name: said.display_name || '', labels: said.labels || [], note: said.note || '' }).current;
  const [name, setName] = useState(before.name), [labels, setLabels] = useState(before.labels.join(', ')), [note, setNote] = useState(before.note);
  const [error, setError] = useState(null);
  useEffect(() => dialog.current.showModal(), []);
  const save = async event => {
    event.preventDefault();
    // A label that contains a comma survives as long as the line is not edited.
    const after = labels === before.labels.join(', ') ? before.labels : labels.split(',').map(label => label.trim()).filter(Boolean);
    const change = { add_labels: after.filter(label => !before.labels.includes(label)), remove_labels: before.labels.filter(label => !after.includes(label)) };
    if (name !== before.name) change.display_name = name;
    if (note !== before.note) change.note = note;
    try { await run(change); close(); } catch (problem) { setError(problem); }
  };
  return html`<dialog ref=${dialog} class="edit" aria-label="edit ${thing}" onClose=${close}><form onSubmit=${save}>
    <label>name <input value=${name} placeholder=${thing} maxlength="256" onInput=${event => setName(event.target.value)} /></label>
    <label>labels <input value=${labels} placeholder="base, best" onInput=${event => setLabels(event.target.value)} /></label>
    <label>note <textarea rows="6" maxlength="4096" value=${note} onInput=${event => setNote(event.target.value)}></textarea></label>
    ${error && html`<${Trouble} error=${error} />`}
    <p class="buttons"><button type="button" onClick=${close}>cancel</button> <button class="sure">save</button></p></form></dialog>`;
}

function Charts({ run, there, query, set }) {
  const [tags, setTags] = useState(null);
  const [error, setError] = useState(null);
  const options = optionsOf(query);
  const filter = query.get('tags') || '';
  const [pinned, setPinned] = useState(null);
  const watch = useMemo(() => {
    const listeners = new Set();
    return { listeners, changed: (tag, f) => { const one = [tag, f]; listeners.add(one); return () => listeners.delete(one); } };
  }, [run]);
  useEffect(() => {
    if (!there) return;
    let known = new Set();
    const read = paced(1000, () => ask(runPath(run, '/tags')).then(answer => {
      known = new Set(answer.tags.map(tag => tag.tag));
      setTags(answer.tags);
      setError(null);
    }, setError));
    read();
    const end = subscribe([`run:${run}`], (event, data) => {
      if (event === 'resync') read();
      if (event === 'points' && data.run === run && !known.has(data.tag)) read();
      for (const [tag, f] of watch.listeners) if (event === 'resync' || (event === 'points' && data.run === run && data.tag === tag)) f();
    });
    return () => { end(); read.stop(); };
  }, [run, there]);
  if (!there) return html`<p class="empty">Nothing has been reported yet.</p>`;
  if (!tags) return error ? html`<${Trouble} error=${error} />` : html`<p class="empty">…</p>`;
  const scalars = tags.filter(tag => tag.scalar && tag.tag.toLowerCase().includes(filter.toLowerCase()));
  const groups = new Map();
  for (const tag of scalars) groups.set(group(tag.tag), [...(groups.get(group(tag.tag)) || []), tag.tag]);
  const others = tags.filter(isMedium).length;
  const one = [{ run, colour: colour(0), dash: [] }];
  return html`<div><p class="bar"><input type="search" aria-label="tags" placeholder="tags" value=${filter} onInput=${event => set({ tags: event.target.value })} />
      <span class="faint">${plural(scalars.length, 'tag')}${others > 0 && html`, and <${Link} to="?tab=media">${others} that are no scalars<//>`}</span></p>
    <${ChartOptions} options=${options} set=${next => set(optionsTo(next))} tags=${tags.filter(tag => tag.scalar).map(tag => tag.tag)} />
    ${!filter && tags.filter(isLayout).map(layout => html`<${CustomCharts} key=${layout.tag} run=${run} layout=${layout.tag} tags=${scalars.map(tag => tag.tag)} options=${options} changed=${watch.changed} />`)}
    ${[...groups].sort(([a], [b]) => (a === 'sys') - (b === 'sys') || (a < b ? -1 : 1)).map(([title, names]) => html`<details open key=${title}>
      <summary>${title || 'metrics'} <small>${names.length}</small></summary>
      <div class="cards">${names.map(tag => html`<${Card} key=${tag} tag=${tag} runs=${one} options=${options} changed=${watch.changed} keep=${() => setPinned(tag)} />`)}</div></details>`)}
    ${pinned && html`<${SaveDialog} name=${`${pinned} of ${run}`.slice(0, 100)} address=${chartAddress(pinned, [run], null, options)} close=${() => setPinned(null)} />`}
    ${scalars.length === 0 && html`<p class="empty">${filter ? 'No tag matches.' : 'No scalars.'}</p>`}</div>`;
}

const MOST_LINES = 2000;

function Output({ name, job, query, set }) {
  const [lines, setLines] = useState([]);
  const [facts, setFacts] = useState(null);
  const [error, setError] = useState(null);
  const [follow, setFollow] = useState(true);
  const find = query.get('grep') || '', errors = query.get('stderr') === '1';
  const box = useRef(), follows = useRef(true);
  follows.current = follow;
  useEffect(() => {
    const read = paced(1000, async () => {
      const asked = new URLSearchParams({ limit: MOST_LINES });
      if (find) asked.set('grep', find);
      if (errors) asked.set('stderr', '1');
      try {
        const answer = await ask(runPath(name, `/logs?${asked}`));
        setLines(answer.lines);
        setFacts(answer);
        setError(null);
      } catch (problem) { setError(problem); }
    });
    read();
    // With a search, lines are requested again; without one, new lines are appended as they arrive.
    const end = !job ? null : subscribe([`logs:${job}`], (event, data) => {
      if (event === 'resync' || (event === 'lines' && find)) return read();
      if (event !== 'lines' || !data.task.startsWith(`${job}/`) || (errors && data.stream !== 'stderr')) return;
      setLines(before => {
        const known = before.findLast(line => line.task === data.task && line.attempt === data.attempt && line.stream === data.stream);
        if (known && known.end >= data.end) return before;
        const news = data.lines.map((text, i) => ({ ...data, text, end: i === data.lines.length - 1 ? data.end : 0 }));
        return [...before, ...news].slice(-MOST_LINES);
      });
    });
    return () => { if (end) end(); read.stop(); };
  }, [name, job, find, errors]);
  useEffect(() => { if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight; }, [lines]);
  const scrolled = () => {
    const at = box.current;
    if (!at) return; // Scrolled while it was being removed.
    setFollow(at.scrollTop + at.clientHeight > at.scrollHeight - 30);
  };
  const several = new Set(lines.map(line => line.task)).size > 1;
  const text = () => lines.map(line => line.text).join('\n') + '\n';
  return html`<div class="output"><p class="bar"><input type="search" aria-label="search" placeholder="search" value=${find} onChange=${event => set({ grep: event.target.value })} />
      <label><input type="checkbox" checked=${errors} onChange=${event => set({ stderr: event.target.checked ? '1' : '' })} /> errors only</label>
      <button onClick=${() => { setFollow(true); box.current.scrollTop = box.current.scrollHeight; }} disabled=${follow}>newest</button>
      <button onClick=${() => navigator.clipboard.writeText(text())}>copy</button>
      <span class="faint">${facts && (find ? `${plural(facts.found, 'line')} found` : `the last ${plural(lines.length, 'line')}`)}</span></p>
    ${error && html`<${Trouble} error=${error} />`}
    <div class="log" ref=${box} tabindex="0" role="log" aria-label="output" onScroll=${scrolled}>${lines.map((line, i) => html`<div key=${i} class=${line.stream}>
      ${several && html`<span class="task">${line.task.slice(line.task.indexOf('/') + 1)} </span>`}<${AnsiText} text=${line.text} find=${find} /></div>`)}</div></div>`;
}

function Pairs({ pairs, none }) {
  const [filter, setFilter] = useState('');
  const all = Object.entries(pairs), shown = all.filter(([name, value]) => `${name} ${JSON.stringify(value)}`.toLowerCase().includes(filter.toLowerCase()));
  if (all.length === 0) return html`<p class="empty">${none}</p>`;
  return html`<div>${all.length > 12 && html`<p class="bar"><input type="search" aria-label="parameters" placeholder="parameters" value=${filter} onInput=${event => setFilter(event.target.value)} /></p>`}
    <table class="pairs"><tbody>${shown.map(([name, value]) => html`<tr key=${name}><th scope="row">${name}</th><td>${typeof value === 'string' ? value : number(value)}</td></tr>`)}</tbody></table></div>`;
}

function Code({ run }) {
  return html`<div><${Pairs} pairs=${run.provenance} none="Nothing is known." />
    ${run.diff && html`<h2>Not committed</h2><pre class="diff">${run.diff.split('\n').slice(0, 5000).map(line => html`<span
      class=${line.startsWith('+') ? 'plus' : line.startsWith('-') ? 'minus' : line.startsWith('@@') ? 'hunk' : ''}>${line + '\n'}</span>`)}</pre>`}</div>`;
}

function Attempts({ run }) {
  useNow(1000);
  return html`<table><thead><tr><th>task</th><th class="n">attempt</th><th>state</th><th>reason</th><th class="n">pid</th><th class="n">began</th><th class="n">took</th></tr></thead>
    <tbody>${(run.job ? run.job.tasks : []).flatMap(task => task.attempts.map(attempt => html`<tr key=${task.id + attempt.number}><td>${task.type}-${task.index}</td>
      <td class="n">${attempt.number}</td><td>${attempt.ended ? 'ended' : html`<span class="state ${task.state}">${sign(task.state)} ${task.state}</span>`}</td>
      <td class="wrap">${attempt.reason || '–'}${attempt.out_of_memory ? ', out of memory' : ''}${attempt.core_dumped ? ', core dumped' : ''}</td>
      <td class="n">${attempt.pid || '–'}</td><td class="n">${clock(attempt.started)}</td>
      <td class="n">${attempt.started ? duration((Date.parse(attempt.ended || new Date().toISOString()) - Date.parse(attempt.started)) / 1000) : '–'}</td></tr>`))}</tbody></table>`;
}

function Checkpoints({ run }) {
  return html`<table><thead><tr><th class="n">iteration</th><th class="n">score</th><th class="n">size</th><th>made</th><th>directory</th></tr></thead>
    <tbody>${run.checkpoints.map(one => html`<tr key=${one.directory}><td class="n">${number(one.training_iteration)}</td><td class="n">${number(one.score)}</td>
      <td class="n">${bytes(one.bytes)}</td><td>${clock(one.created)}</td><td class="wrap"><code>${one.directory}</code></td></tr>`)}</tbody></table>`;
}

function Files({ run }) {
  return html`<table><thead><tr><th>file</th><th>format</th><th class="n">size</th><th class="n">read</th><th class="n">points</th><th>faults</th></tr></thead>
    <tbody>${run.files.map(file => html`<tr key=${file.file}><td class="wrap">${file.file}</td><td>${file.format}</td><td class="n">${bytes(file.bytes)}</td>
      <td class="n">${file.bytes > 0 ? `${Math.floor(100 * file.read_bytes / file.bytes)} %` : '–'}</td><td class="n">${number(file.points)}</td>
      <td class="wrap">${file.faults.map(fault => html`<p class="error">${number(fault.count)} ${fault.kind.replaceAll('_', ' ')}${fault.text ? `: ${fault.text}` : ''}</p>`)}</td></tr>`)}</tbody></table>`;
}
