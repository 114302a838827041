// Parameters of any runs against a metric: parallel coordinates, a scatter plot, curves and a
// table, with a shared brush.

import { html, useEffect, useMemo, useRef, useState } from './preact-htm.js';
import { ask } from './api.js';
import { paced, subscribe } from './live.js';
import { better, brushFrom, columnsOf, fits, marginalsOf } from './columns.js';
import { colour, dash, number, plain, plural, sign } from './format.js';
import { Card, ChartOptions } from './card.js';
import { ImportanceOf } from './importance.js';
import { Lines, Marginals, Scatter } from './trials.js';
import { Picker, QueryBar, useNames } from './runs.js';
import { Link, listOf, optionsOf, optionsTo, textOf, Trouble, useAddress } from './parts.js';

const PAGE = 1000, MOST = 10_000, MOST_AXES = 30, MOST_PARAMETERS = 30, DRAWN = 20, ROWS = 100;

export function Parameters() {
  const [query, set] = useAddress();
  const q = query.get('q') || '', goal = query.get('goal') || 'minimize';
  const [sample, setSample] = useState([]);
  const names = useNames(sample);
  const metric = query.get('metric') || names.tags.find(tag => !tag.startsWith('sys/')) || '';
  const asked = [...new Set([...names.parameters.map(name => `config.${name}`), ...listOf(query.get('cols'))])].slice(0, MOST_PARAMETERS);
  const [rows, match, error] = useRows(q, metric ? [metric, ...asked] : asked);
  // Runs of different programs have different parameters, so the first, a middle and the last run
  // are sampled.
  const some = rows ? [...new Set([rows[0], rows[rows.length >> 1], rows.at(-1)].filter(Boolean).map(row => row.run))] : [];
  useEffect(() => { if (some.length > 0) setSample(some); }, [some.join('\n')]);
  // Converts runs to trials of a sweep, the input of the plots.
  const sweep = useMemo(() => ({ name: '', metric, goal, importance: {} }), [metric, goal]);
  const trials = useMemo(() => (rows || []).map((row, i) => ({
    number: i, name: row.run, trial: row.run, state: row.trial_state || '', value: row.cols[metric],
    config: Object.fromEntries(asked.filter(name => row.cols[name] !== null && row.cols[name] !== undefined).map(name => [name.replace(/^config\./, ''), row.cols[name]])),
  })), [rows, metric]);
  const columns = useMemo(() => {
    const all = columnsOf(sweep, trials), wanted = listOf(query.get('cols'));
    // Skips the command and the commit, which the yard adds to the parameters, and texts that
    // differ in nearly every run.
    const says = column => wanted.includes(`config.${column.name}`) || !(/^comm(and|it)$/.test(column.name) || (column.kind === 'choice' && column.choices.length > 10 && column.choices.length * 2 > trials.length));
    return { ...all, parameters: all.parameters.filter(says), others: [] };
  }, [trials, sweep]);
  const axes = [...columns.parameters.slice(0, MOST_AXES), columns.value];
  const brush = brushFrom(query.get('brush'), axes), isBrushed = axes.some(axis => brush[axis.name]);
  const chosen = isBrushed ? trials.filter(trial => fits(trial, axes, brush)) : trials, inside = new Set(chosen);
  const setBrush = (axis, wanted) => {
    const next = Object.assign(Object.create(null), brush);
    if (wanted) next[axis] = wanted; else delete next[axis];
    set({ brush: Object.keys(next).length > 0 ? JSON.stringify(next) : '' });
  };
  const ranked = [...chosen].sort((a, b) => typeof a.value !== 'number' ? 1 : typeof b.value !== 'number' || better(sweep, a.value, b.value) ? -1 : 1);
  const drawn = ranked.slice(0, DRAWN).map((trial, place) => ({ run: trial.name, colour: colour(place), dash: dash(place) }));
  const options = optionsOf(query), tag = metric.replace(/^(min|max):/, '');
  const changed = useMemo(() => () => () => {}, []);
  const shared = { sweep, trials, columns, chosen, inside, isBrushed, query, set };
  const metrics = [...new Set([...names.tags.flatMap(one => [one, `min:${one}`, `max:${one}`]), ...(metric ? [metric] : [])])];
  return html`<div class="one sweep parameters">
    <${QueryBar} q=${q} set=${text => set({ q: text, brush: '' }, true)} names=${names} />
    <p class="bar"><label>metric <select aria-label="metric" value=${metric} onChange=${event => set({ metric: event.target.value })}>${metrics.slice(0, 500).map(one => html`<option key=${one} value=${one}>${plain(one)}</option>`)}</select></label>
      <label>better is <select aria-label="better is" value=${goal} onChange=${event => set({ goal: event.target.value === 'minimize' ? '' : event.target.value })}><option value="minimize">less</option><option value="maximize">more</option></select></label>
      <${Picker} id="parameter" text="+ parameter" names=${names.parameters.map(name => `config.${name}`).filter(name => !asked.includes(name))} add=${name => set({ cols: textOf([...listOf(query.get('cols')), name]) })} />
      <span class="faint">${rows && `${isBrushed ? `${number(chosen.length)} of ` : ''}${plural(trials.length, 'run')}${match > trials.length ? `, the first of ${number(match)}` : ''}`}</span>
      ${isBrushed && html`<button onClick=${() => set({ brush: '' })}>all</button>`}
      ${chosen.length > 1 && html`<${Link} class="button" to=${`/compare?runs=${encodeURIComponent(textOf(ranked.slice(0, DRAWN).map(trial => trial.name)))}`}>compare ${chosen.length > DRAWN ? `the best ${DRAWN}` : ''}<//>`}</p>
    ${error && html`<${Trouble} error=${error} />`}
    ${!rows ? html`<p class="empty">…</p>` : trials.length === 0 ? html`<p class="empty">No run matches.</p>` : columns.parameters.length === 0 ? html`<p class="empty">No parameter differs between these runs.</p>` : html`
    <section aria-label="configurations"><h2>Configurations</h2><${Lines} ...${shared} axes=${axes} brush=${brush} setBrush=${setBrush} />
      <p class="faint">Drag along an axis, or press ↑ and ↓ in its name, to keep a part; a click or Escape keeps all of it.</p></section>
    <div class="cards"><${Scatter} ...${shared} tags=${[]} more=${{}} setMore=${() => {}} />
      ${tag && html`<${Card} tag=${tag} runs=${drawn} options=${options} changed=${changed} height=${240} />`}</div>
    ${tag && html`<${ChartOptions} options=${options} set=${next => set(optionsTo(next))} tags=${names.tags} />`}
    <div class="pair"><section aria-label="importance"><h2>Importance <small>${isBrushed ? 'of the chosen runs' : ''}</small></h2>
        <${ImportanceOf} question=${{ value: metric, goal, ...(isBrushed ? { runs: chosen.map(trial => trial.name) } : { q }) }} metric=${metric} /></section>
      <section aria-label="values"><h2>Values <small>of ${plain(metric)}, whatever the other parameters were</small></h2><${Marginals} sweep=${{ ...sweep, marginals: marginalsOf(sweep, chosen, columns) }} /></section></div>
    <${Rows} trials=${ranked} columns=${columns} metric=${metric} />`}</div>`;
}

// Returns the runs that match the query, up to the limit of a plot: [rows, number of matches,
// error].
function useRows(q, cols) {
  const [state, setState] = useState([null, 0, null]);
  const key = JSON.stringify([q, cols]), now = useRef(key);
  now.current = key;
  useEffect(() => {
    const read = paced(5000, async () => {
      const rows = [];
      try {
        for (let cursor = 0; cursor < MOST; cursor += PAGE) {
          const asked = new URLSearchParams({ q, cursor, limit: PAGE });
          for (const name of cols) asked.append('col', name);
          const answer = await ask(`runs?${asked}`);
          if (now.current !== key) return;
          rows.push(...answer.rows);
          if (rows.length >= answer.match || answer.rows.length === 0) { setState([rows, answer.match, null]); return; }
        }
        setState([rows, Math.max(MOST, rows.length), null]);
      } catch (error) {
        if (now.current === key) setState(before => [before[0] || [], before[1], error]);
      }
    });
    read();
    const end = subscribe(['yard'], read);
    return () => { end(); read.stop(); };
  }, [key]);
  return state;
}

function Rows({ trials, columns, metric }) {
  const [most, setMost] = useState(ROWS);
  return html`<section aria-label="runs"><h2>Runs <small>the best first</small></h2><div class="scroll"><table><thead><tr><th>run</th><th>state</th><th class="n">${plain(metric)}</th>${columns.parameters.map(column => html`<th key=${column.name} class="n">${plain(column.name)}</th>`)}</tr></thead>
    <tbody>${trials.slice(0, most).map(trial => html`<tr key=${trial.name}><td><${Link} to=${`/run/${encodeURIComponent(trial.name)}`}><span class="own">${plain(trial.name)}</span><//></td>
      <td>${trial.state && html`<span class="state ${trial.state}">${sign(trial.state)} ${trial.state}</span>`}</td><td class="n">${number(trial.value)}</td>
      ${columns.parameters.map(column => { const at = column.at(trial); return html`<td key=${column.name} class="n"><span class="own">${Number.isNaN(at) ? '–' : column.text(at)}</span></td>`; })}</tr>`)}</tbody></table></div>
    ${trials.length > most && html`<button onClick=${() => setMost(most + 10 * ROWS)}>more</button>`}</section>`;
}
