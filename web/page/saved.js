// Saved views, and the board of pinned charts; all belong to this log directory.

import { html, useEffect, useRef, useState } from './preact-htm.js';
import { act, ask } from './api.js';
import { age, colour, dash, plain, plural } from './format.js';
import { Card } from './card.js';
import { Link, listOf, optionsOf, textOf, Trouble } from './parts.js';

const CHART = '/chart?';
// Returns the address of a chart on the board: of these runs, or of the runs that match a query.
export function chartAddress(tag, runs, q, options) {
  const query = new URLSearchParams({ tag, ...(q === null ? { runs: textOf(runs) } : { q }) });
  if (options.mode !== 'step') query.set('x', options.mode);
  if (options.log) query.set('y', 'log');
  if (options.logX) query.set('lx', '1');
  if (options.smooth) query.set('s', options.smooth);
  return CHART + query;
}
const save = (name, address) => act('views', name, 'set', { address });

export function Saved() {
  const [views, setViews] = useState(null);
  const [error, setError] = useState(null);
  const take = answer => { setViews(answer.views); setError(null); };
  useEffect(() => { ask('views').then(take, setError); }, []);
  const remove = name => act('views', name, 'rm').then(take, setError);
  if (!views) return error ? html`<${Trouble} error=${error} />` : html`<p class="empty">…</p>`;
  const charts = views.filter(view => view.address.startsWith(CHART)), others = views.filter(view => !view.address.startsWith(CHART));
  return html`<div class="saved">${error && html`<${Trouble} error=${error} />`}
    <section aria-label="views"><h2>Views <small>${plural(others.length, 'view')}</small></h2>
      ${others.length === 0 ? html`<p class="empty">Press ☆ above in any view to save it here.</p>` : html`<ul class="rows">${others.map(view => html`<li key=${view.name}><${Link} to=${view.address}>${plain(view.name)}<//>
        <span class="reason faint"><code>${plain(view.address).slice(0, 200)}</code></span><span class="faint">${age(view.saved)} ago</span><button aria-label=${`remove ${plain(view.name)}`} onClick=${() => remove(view.name)}>×</button></li>`)}</ul>`}</section>
    <section aria-label="board"><h2>Board <small>${plural(charts.length, 'chart')}</small></h2>
      ${charts.length === 0 ? html`<p class="empty">Press pin in any chart to see it here.</p>` : html`<div class="cards">${charts.map(view => html`<${Pinned} key=${view.name} view=${view} remove=${() => remove(view.name)} />`)}</div>`}</section></div>`;
}

const CHANGES = 3000, DRAWN = 8;

function Pinned({ view, remove }) {
  const query = new URLSearchParams(view.address.slice(CHART.length)), q = query.get('q'), tag = query.get('tag') || '';
  const [found, setFound] = useState([]);
  // A chart of a query shows the current matches: the newest runs as lines, all as a cloud.
  useEffect(() => {
    if (q === null) return;
    ask(`runs?${new URLSearchParams({ q, limit: DRAWN })}`).then(answer => setFound(answer.rows.map(row => row.run)), () => {});
  }, [q]);
  const runs = (q === null ? listOf(query.get('runs')) : found).map((run, place) => ({ run, colour: colour(place), dash: dash(place) }));
  const watch = useRef((_, f) => { const timer = setInterval(() => document.hidden || f(), CHANGES); return () => clearInterval(timer); });
  return html`<${Card} tag=${tag} runs=${runs} cloud=${q} options=${optionsOf(query)} changed=${watch.current} pin=${{ text: '×', title: `take ${plain(view.name)} off the board`, toggle: remove }} />`;
}

// A dialog that asks for the name of a view.
export function SaveDialog({ address, name = '', close }) {
  const dialog = useRef();
  const [text, setText] = useState(name);
  const [error, setError] = useState(null);
  const [names, setNames] = useState([]);
  // Proposes a free name; an existing view is not replaced silently.
  useEffect(() => {
    dialog.current.showModal();
    ask('views').then(({ views }) => {
      const taken = views.map(view => view.name);
      let free = name;
      for (let i = 2; taken.includes(free); ++i) free = `${name} ${i}`;
      setNames(taken);
      setText(now => now === name ? free : now);
    }, () => {});
  }, []);
  const replaces = names.includes(text.trim());
  const keep = async event => {
    event.preventDefault();
    try { await save(text.trim(), address); close(); } catch (problem) { setError(problem); }
  };
  return html`<dialog ref=${dialog} class="edit" aria-label="save" onClose=${close}><form onSubmit=${keep}>
    <label>name <input value=${text} maxlength="100" required onInput=${event => setText(event.target.value)} /></label>
    ${error && html`<${Trouble} error=${error} />`}
    <p class="buttons"><button type="button" onClick=${close}>cancel</button> <button class="sure">${replaces ? 'replace' : 'save'}</button></p>${replaces && html`<p role="status">There is a view of this name; it is replaced.</p>`}</form></dialog>`;
}
