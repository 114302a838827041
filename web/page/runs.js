// The leaderboard: a query, the table of matching runs, and charts of pinned tags beside it.

import { html, useEffect, useMemo, useRef, useState } from './preact-htm.js';
import { ask, runPath } from './api.js';
import { paced, subscribe } from './live.js';
import { age, bytes, colour, dash, isSystem, number, plural, sign } from './format.js';
import { Card, ChartOptions } from './card.js';
import { ImportanceOf } from './importance.js';
import { chartAddress, SaveDialog } from './saved.js';
import { Link, listOf, optionsOf, optionsTo, textOf, Trouble, useAddress, useNow } from './parts.js';

const ROW = 34, PAGE = 100;
const FIELDS = { updated: 'changed', created: 'created', last_step: 'step', points: 'points', bytes: 'size', labels: 'labels', note: 'note', trial_state: 'state' };
const STANDARD = 'trial_state,updated,last_step';
const MOST_DRAWN = 50;

export function Runs() {
  const [query, set] = useAddress();
  const q = query.get('q') || '', sort = query.get('sort') || '';
  const cols = listOf(query.get('cols') ?? STANDARD), pins = listOf(query.get('pin'));
  const selected = listOf(query.get('sel'));
  const cloud = query.get('cloud') === '1';
  const options = optionsOf(query);
  const table = useTable(q, sort, cols);
  const names = useNames(table.rows[0] ? [table.rows[0].run] : []);
  // Without a selection, the first few are drawn.
  const drawn = selected.length > 0 ? selected.slice(0, MOST_DRAWN)
    : table.rows.slice(0, 8).filter(Boolean).map(row => row.run);
  const runs = drawn.map((run, place) => ({ run, colour: colour(place), dash: dash(place) }));
  const runKey = drawn.join('\n');
  const tags = pins.length > 0 ? pins : names.tags.filter(tag => !isSystem(tag)).slice(0, 4);
  const changed = useMemo(() => {
    const listeners = new Set();
    const end = drawn.length === 0 ? null : subscribe(drawn.slice(0, 60).map(run => `run:${run}`), (name, data) => {
      for (const [tag, f] of listeners) if (name === 'resync' || (name === 'points' && data.tag === tag && drawn.includes(data.run))) f();
    });
    const watch = (tag, f) => { const one = [tag, f]; listeners.add(one); return () => listeners.delete(one); };
    watch.end = () => end && end();
    return watch;
  }, [runKey]);
  useEffect(() => () => changed.end(), [changed]);
  const [pinned, setPinned] = useState(null);
  const toggle = run => set({ sel: textOf(selected.includes(run) ? selected.filter(one => one !== run) : [...selected, run]) });
  const sortBy = name => set({ sort: sort === `-${name}` ? name : `-${name}` }, true);
  return html`<div class="runs">
    <${QueryBar} q=${q} set=${text => set({ q: text, sel: '' }, true)} names=${names} />
    <div class="two">
      <section class="left" aria-label="runs">
        <${Columns} cols=${cols} names=${names} set=${list => set({ cols: textOf(list) === STANDARD ? '' : textOf(list) || 'run' })} />
        ${table.error ? html`<${Trouble} error=${table.error} />` : html`<${Table} table=${table} cols=${cols.filter(name => name !== 'run')}
          sort=${sort} sortBy=${sortBy} selected=${selected} toggle=${toggle} runs=${runs} />`}
        <p class="faint count">${table.known ? `${number(table.match)} of ${plural(table.total, 'run')}` : '…'}
          ${table.undecided > 0 && ` · ${plural(table.undecided, 'run')} not read yet`}
          ${selected.length > 0 && html` · ${number(selected.length)} selected${selected.length > 1 && html` <${Link} class="button" to=${`/compare?runs=${encodeURIComponent(textOf(selected.slice(0, 20)))}`}>compare<//>`} <button onClick=${() => set({ sel: '' })}>none</button>`}
          ${table.match > 1 && html` <${Link} class="button" to=${`/parameters${q ? `?q=${encodeURIComponent(q)}` : ''}`}>parameters<//>`}</p>
      </section>
      <section class="right" aria-label="charts">
        <${ChartOptions} options=${options} set=${next => set(optionsTo(next))} tags=${names.tags} />
        <p class="pins"><${TagPicker} tags=${names.tags.filter(tag => !tags.includes(tag))} add=${tag => set({ pin: textOf([...tags, tag]) })} />
          <label><input type="checkbox" checked=${cloud} onChange=${event => set({ cloud: event.target.checked ? '1' : '' })} /> all runs behind</label></p>
        ${tags.map(tag => html`<${Card} key=${tag} tag=${tag} runs=${runs} cloud=${cloud ? q : null} options=${options} changed=${changed}
          keep=${() => setPinned(tag)} pin=${{ text: '×', title: 'take this chart away', toggle: () => set({ pin: textOf(tags.filter(one => one !== tag)) }) }} />`)}
        ${pinned && html`<${SaveDialog} name=${pinned} address=${chartAddress(pinned, drawn, selected.length > 0 && !cloud ? null : q, options)} close=${() => setPinned(null)} />`}
        ${tags.length === 0 && html`<p class="empty">No tags yet.</p>`}
        <${Importance} q=${q} selected=${selected} tags=${names.tags} metric=${query.get('imp') || ''} goal=${query.get('goal') || ''} set=${set} />
      </section>
    </div></div>`;
}

// Compares the selected runs, or all runs that match the query, once the user names a tag.
function Importance({ q, selected, tags, metric, goal, set }) {
  const runs = selected.length > 0 ? { runs: selected } : { q };
  return html`<details class="importance" open=${Boolean(metric)}><summary>importance of parameters</summary>
    <p class="bar"><label>for <select aria-label="importance for" value=${metric} onChange=${event => set({ imp: event.target.value })}><option value="">–</option>
      ${[...new Set([...tags, ...(metric ? [metric] : [])])].slice(0, 500).map(tag => html`<option key=${tag} value=${tag}>${tag}</option>`)}</select></label>
      <label>better is <select aria-label="better is" value=${goal} onChange=${event => set({ goal: event.target.value })}><option value="">less</option><option value="maximize">more</option></select></label></p>
    ${metric && html`<${ImportanceOf} question=${{ value: metric, goal, ...runs }} metric=${metric} />`}</details>`;
}

// Rows by index; loads rows as the user scrolls to them, and reloads them after a change.
function useTable(q, sort, cols) {
  const key = JSON.stringify([q, sort, cols]);
  const state = useRef({ key: '', rows: [], asked: new Set(), match: 0, total: 0, undecided: 0, known: false, error: null });
  const [, tick] = useState(0);
  const now = state.current;
  if (now.key !== key) state.current = { ...now, key, asked: new Set(), rows: now.rows.slice(0, PAGE) };
  const want = useRef([0]);
  const read = async page => {
    const mine = state.current;
    const query = new URLSearchParams({ q, sort, cursor: page * PAGE, limit: PAGE });
    for (const name of cols) if (!(name in FIELDS) && name !== 'run') query.append('col', name);
    try {
      const answer = await ask(`runs?${query}`);
      if (state.current !== mine) return;
      if (page === 0) mine.rows.length = Math.min(mine.rows.length, answer.match);
      answer.rows.forEach((row, i) => { mine.rows[page * PAGE + i] = row; });
      Object.assign(mine, { match: answer.match, total: answer.total, undecided: answer.undecided, known: true, error: null });
    } catch (error) {
      if (state.current === mine) mine.error = error;
    }
    tick(count => count + 1);
  };
  const show = pages => {
    want.current = pages;
    for (const page of pages) {
      if (state.current.asked.has(page)) continue;
      state.current.asked.add(page);
      read(page);
    }
  };
  useEffect(() => {
    show(want.current);
    const again = paced(1000, async () => {
      state.current.asked = new Set(want.current);
      await Promise.all(want.current.map(read));
    });
    const end = subscribe(['yard'], again);
    // Polls too, because runs without a trial publish nothing on the yard's topic.
    const timer = setInterval(() => document.hidden || again(), 5000);
    return () => { end(); again.stop(); clearInterval(timer); };
  }, [key]);
  return { ...state.current, show };
}

function Table({ table, cols, sort, sortBy, selected, toggle, runs }) {
  const box = useRef();
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useNow(5000);
  useEffect(() => {
    const watcher = new ResizeObserver(() => box.current && setHeight(box.current.clientHeight));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW) - 5), last = Math.min(table.match, Math.ceil((top + height) / ROW) + 5);
  const pages = [];
  for (let page = Math.floor(first / PAGE); page * PAGE < Math.max(1, last); ++page) pages.push(page);
  useEffect(() => table.show(pages), [pages.join()]);
  const [focus, setFocus] = useState(0);
  const moveTo = place => {
    place = Math.min(table.match - 1, Math.max(0, place));
    setFocus(place);
    const box_ = box.current;
    if (place * ROW < box_.scrollTop) box_.scrollTop = place * ROW;
    if ((place + 2) * ROW > box_.scrollTop + height) box_.scrollTop = (place + 2) * ROW - height;
    requestAnimationFrame(() => { const row = box_.querySelector(`[data-place="${place}"]`); if (row) row.focus(); });
  };
  const key = event => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
    const row = table.rows[focus];
    if (by) { event.preventDefault(); moveTo(focus + by); }
    if (event.key === ' ' && row && event.target.dataset.place) { event.preventDefault(); toggle(row.run); }
    if (event.key === 'Enter' && row && event.target.dataset.place) event.target.querySelector('a').click();
  };
  const head = (name, text) => html`<th class=${isNumber(name) ? 'n' : ''} aria-sort=${sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none'}>
    <button onClick=${() => sortBy(name)} title="sort by ${name}">${text}${sort === name ? ' ↑' : sort === `-${name}` ? ' ↓' : ''}</button></th>`;
  const rows = [];
  for (let i = first; i < last; ++i) {
    const row = table.rows[i];
    if (!row) { rows.push(html`<tr key=${i}><td></td><td class="faint">…</td></tr>`); continue; }
    const drawn = runs.find(run => run.run === row.run);
    rows.push(html`<tr key=${i} data-place=${i} tabindex=${i === focus ? 0 : -1} onFocus=${() => setFocus(i)}
      class=${selected.includes(row.run) ? 'selected' : ''}>
      <td class="pick"><input type="checkbox" tabindex="-1" aria-label="select ${row.run}" checked=${selected.includes(row.run)} onChange=${() => toggle(row.run)} />
        <i style=${{ background: drawn ? drawn.colour : 'transparent' }}></i></td>
      <td class="run"><${Link} to=${`/run/${encodeURIComponent(row.run)}`} title=${row.run} tabindex="-1">${row.display_name || row.run}<//></td>
      ${cols.map(name => html`<td key=${name} class=${isNumber(name) ? 'n' : ''}>${cell(row, name)}</td>`)}</tr>`);
  }
  return html`<div class="table" ref=${box} onScroll=${event => setTop(event.currentTarget.scrollTop)} onKeyDown=${key}>
    <table aria-rowcount=${table.match}><thead><tr><th><span class="hidden">selected</span></th>${head('run', 'run')}${cols.map(name => head(name, FIELDS[name] || name))}</tr></thead>
    <tbody>${first > 0 && html`<tr style=${{ height: `${first * ROW}px` }}></tr>`}${rows}
      ${last < table.match && html`<tr style=${{ height: `${(table.match - last) * ROW}px` }}></tr>`}</tbody></table>
    ${table.known && table.match === 0 && html`<p class="empty">${table.total === 0 ? html`No runs yet: <code>yard run -- PROGRAM</code>` : 'No run matches.'}</p>`}</div>`;
}

const isNumber = name => name !== 'labels' && name !== 'note' && name !== 'trial_state' && name !== 'run';

function cell(row, name) {
  if (name === 'trial_state') return row.trial_state ? html`<span class="state ${row.trial_state}" title=${row.reason || ''}>${sign(row.trial_state)} ${row.trial_state}</span>` : '';
  if (name === 'labels') return (row.labels || []).map(label => html`<span class="label">${label}</span>`);
  if (name === 'note') return row.note ? html`<span title=${row.note}>${row.note.split('\n', 1)[0].slice(0, 60)}</span>` : '';
  if (name === 'updated' || name === 'created') return age(row[name]);
  if (name === 'bytes') return bytes(row.bytes);
  return number(name in FIELDS ? row[name] : (row.cols || {})[name]);
}

// Returns names for columns and queries, sampled from some runs.
export function useNames(runs) {
  const [names, setNames] = useState({ tags: [], parameters: [] });
  useEffect(() => {
    let current = true;
    Promise.all(runs.map(run => Promise.all([ask(runPath(run, '/tags')), ask(runPath(run))]))).then(all => current && all.length > 0 && setNames({
      tags: [...new Set(all.flatMap(([tags]) => tags.tags.filter(tag => tag.scalar).map(tag => tag.tag)))].sort((a, b) => interest(a) - interest(b)),
      parameters: [...new Set(all.flatMap(([, facts]) => Object.keys(facts.parameters || {})))],
    }), () => {});
    return () => { current = false; };
  }, [runs.join('\n')]);
  return names;
}

// Rank of a tag: the tags that most users look at come first.
const interest = tag => isSystem(tag) ? 3 : /loss/i.test(tag) ? 0 : /acc|score|reward|f1|auc/i.test(tag) ? 1 : 2;

export function QueryBar({ q, set, names }) {
  const [text, setText] = useState(q);
  const [place, setPlace] = useState(-1);
  const [open, setOpen] = useState(false);
  const input = useRef();
  useEffect(() => setText(q), [q]);
  const before = open && input.current ? text.slice(0, input.current.selectionStart) : '';
  const word = /[^\s()&|!<>=]*$/.exec(before)[0];
  const all = [...names.tags, ...names.parameters.map(name => `config.${name}`), 'steps', 'points', 'age', 'bytes', 'label:', 'name:', 'note:', 'tag:', 'min:', 'max:'];
  const found = open && word ? all.filter(name => name.startsWith(word) && name !== word).slice(0, 8) : [];
  const accept = name => {
    const from = before.length - word.length;
    setText(text.slice(0, from) + name + text.slice(before.length));
    setPlace(-1);
    input.current.focus();
  };
  const key = event => {
    if (event.key === 'ArrowDown' && found.length > 0) { event.preventDefault(); setPlace((place + 1) % found.length); }
    else if (event.key === 'ArrowUp' && found.length > 0) { event.preventDefault(); setPlace((place + found.length - 1) % found.length); }
    else if ((event.key === 'Tab' || event.key === 'Enter') && place >= 0 && found[place]) { event.preventDefault(); accept(found[place]); }
    else if (event.key === 'Enter') { setOpen(false); set(text.trim()); }
    else if (event.key === 'Escape') { setOpen(false); input.current.blur(); }
  };
  return html`<div class="query"><input ref=${input} id="query" type="search" spellcheck="false" autocomplete="off" value=${text}
      placeholder="loss<0.1 & label:base" aria-label="query" role="combobox" aria-expanded=${found.length > 0} aria-controls="names"
      onInput=${event => { setText(event.target.value); setOpen(true); setPlace(-1); if (event.target.value === '') set(''); }}
      onKeyDown=${key} onBlur=${() => setTimeout(() => setOpen(false), 150)} />
    <button onClick=${() => set(text.trim())}>find</button>
    ${found.length > 0 && html`<ul id="names" role="listbox">${found.map((name, i) => html`<li key=${name} role="option" aria-selected=${i === place}
      onPointerDown=${event => { event.preventDefault(); accept(name); }}>${name}</li>`)}</ul>`}</div>`;
}

function Columns({ cols, names, set }) {
  const all = [...Object.keys(FIELDS), ...names.tags.flatMap(tag => [tag, `min:${tag}`, `max:${tag}`]),
    ...names.parameters.map(name => `config.${name}`)].filter(name => !cols.includes(name));
  return html`<p class="columns">${cols.filter(name => name !== 'run').map(name => html`<span key=${name} class="label">${FIELDS[name] || name}
      <button aria-label="take the column ${name} away" onClick=${() => set(cols.filter(one => one !== name))}>×</button></span>`)}
    <${Picker} id="column" text="+ column" names=${all} add=${name => set([...cols, name])} /></p>`;
}

const TagPicker = ({ tags, add }) => html`<${Picker} id="chart" text="+ chart" names=${tags} add=${add} />`;

export function Picker({ id, text, names, add }) {
  const take = event => {
    const name = event.target.value.trim();
    event.target.value = '';
    if (name) add(name);
  };
  return html`<input class="picker" list=${`${id}-names`} placeholder=${text} aria-label=${text} onChange=${take} /><datalist id=${`${id}-names`}>
    ${names.slice(0, 500).map(name => html`<option key=${name} value=${name} />`)}</datalist>`;
}
