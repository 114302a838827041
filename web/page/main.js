// The frame around the views, the navigation between them, and the global keys.

import { html, render, useEffect, useState } from './preact-htm.js';
import { start } from './api.js';
import * as live from './live.js';
import { Home } from './home.js';
import { Runs } from './runs.js';
import { Run } from './run.js';
import { Compare } from './compare.js';
import { Logs } from './logs.js';
import { Processes } from './processes.js';
import { Sweeps } from './sweeps.js';
import { Sweep } from './sweep.js';
import { Parameters } from './parameters.js';
import { Saved, SaveDialog } from './saved.js';
import { go, Link, Trouble, useAddress } from './parts.js';

const THEME = 'yard.theme';
const themes = ['auto', 'light', 'dark'];

function setTheme(theme) {
  localStorage.setItem(THEME, theme);
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event('theme'));
}
setTheme(localStorage.getItem(THEME) || 'auto');
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => dispatchEvent(new Event('theme')));

// The views by path: {title, key after g, view}. In views of one thing, its name follows the path.
const VIEWS = {
  '': { title: 'Home', key: 'h', view: Home }, runs: { title: 'Runs', key: 'r', view: Runs }, sweeps: { title: 'Sweeps', key: 's', view: Sweeps },
  processes: { title: 'Processes', key: 'p', view: Processes }, logs: { title: 'Logs', key: 'l', view: Logs },
  compare: { title: 'Compare', key: 'c', view: Compare }, parameters: { title: 'Parameters', key: 'a', view: Parameters }, saved: { title: 'Saved', key: 'v', view: Saved },
};
const ONE = { run: Run, sweep: Sweep };

const KEYS = [
  ...Object.values(VIEWS).map(view => [`g ${view.key}`, view.title.toLowerCase()]), ['/', 'the query'], ['t', 'light or dark'], ['?', 'these keys'],
  ['↑ ↓ space enter', 'in the table: move, select, open'], ['← →', 'in a chart: move the cursor'], ['+ − Esc', 'in a chart: nearer, farther, all'],
  ['v', 'in a chart: its numbers'], ['↑ ↓ Esc', 'in an axis of parameters: keep a part, keep all (Shift: back)'], ['← →', 'in a slider: the step; in a mesh: turn it'],
];

function App() {
  const [error, setError] = useState(null);
  const [ready, setReady] = useState(false);
  const [state, setState] = useState(live.state);
  const [help, setHelp] = useState(false);
  const [saving, setSaving] = useState('');
  const [theme, putTheme] = useState(localStorage.getItem(THEME));
  useAddress();
  useEffect(() => { start().then(() => setReady(true), problem => { setError(problem); setReady(true); }); }, []);
  useEffect(() => live.watchState(setState), []);
  const [, draw] = useState(0);
  useEffect(() => {
    const again = () => draw(count => count + 1); // Curves have other colours in the dark theme.
    addEventListener('theme', again);
    return () => removeEventListener('theme', again);
  }, []);
  const turn = () => { const next = themes[(themes.indexOf(localStorage.getItem(THEME)) + 1) % 3]; setTheme(next); putTheme(next); };
  useEffect(() => {
    let before = '';
    const key = event => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      const next = before === 'g' && Object.keys(VIEWS).find(path => VIEWS[path].key === event.key);
      if (typeof next === 'string') go(`/${next}`);
      else if (event.key === '/') {
        event.preventDefault();
        if (!document.getElementById('query')) go('/runs');
        setTimeout(() => document.getElementById('query').focus());
      } else if (event.key === 't' && before !== 'g') turn();
      else if (event.key === '?') setHelp(shown => !shown);
      else if (event.key === 'Escape') setHelp(false);
      before = event.key;
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  const path = location.pathname.split('/').filter(Boolean).map(decodeURIComponent);
  const isOne = Boolean(path[1]) && Object.hasOwn(ONE, path[0]);
  const here = isOne ? path[0] : Object.hasOwn(VIEWS, path[0] || '') ? path[0] || '' : '';
  const View = isOne ? ONE[here] : VIEWS[here].view;
  useEffect(() => { document.title = isOne ? `${path[1].slice(0, 100)} · yard` : here === '' ? 'yard' : `${here} · yard`; });
  return html`<div class="page"><nav aria-label="views"><${Link} to="/" class="name">yard<//>
      <div class="views">${Object.entries(VIEWS).map(([where, view]) => html`<${Link} key=${where} to=${`/${where}`} aria-current=${!isOne && here === where ? 'page' : undefined}>${view.title}<//>`)}</div>
      <span class="space"></span>
      <span class="live ${state}" role="status" title=${state === 'live' ? 'changes come by themselves' : 'waits for the web service'}>${state === 'live' ? '● live' : '◌ waiting'}</span>
      ${here !== 'saved' && html`<button onClick=${() => setSaving(location.pathname + location.search)} title="save this view" aria-label="save this view">☆</button>`}
      <button onClick=${turn} title="light or dark (t)" aria-label="theme: ${theme}">${theme === 'dark' ? '☾' : theme === 'light' ? '☀' : '◐'}</button>
      <button onClick=${() => setHelp(!help)} title="keys (?)" aria-label="keys">?</button></nav>
    <main>${!isOne && html`<h1 class="hidden">${VIEWS[here].title}</h1>`}${error && html`<${Trouble} error=${error} />`}
      ${ready && (isOne ? html`<${View} key=${path.join('/')} name=${path[1]} />` : html`<${View} key=${here} />`)}</main>
    ${saving && html`<${SaveDialog} address=${saving} close=${() => setSaving('')} />`}
    ${help && html`<aside class="help" aria-label="keys"><h2>Keys</h2><dl>${KEYS.map(([keys, what]) => html`<div><dt>${keys}</dt><dd>${what}</dd></div>`)}</dl>
      <button onClick=${() => setHelp(false)}>close</button></aside>`}</div>`;
}

render(html`<${App} />`, document.getElementById('app'));
