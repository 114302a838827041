// Small components and hooks that all views use.

import { html, useEffect, useRef, useState } from './preact-htm.js';

// Navigation within the page, without a request to the service.
export function go(address, replace = false) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  dispatchEvent(new Event('navigate'));
}

export function Link({ to, children, ...rest }) {
  const click = event => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
  };
  return html`<a href=${to} onClick=${click} ...${rest}>${children}</a>`;
}

// Shortens a text to this many pixels of a canvas.
export function fitted(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let end = Math.min(text.length, 200);
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > room) end = Math.floor(end * 0.85);
  return `${text.slice(0, end)}…`;
}

export function Trouble({ error }) {
  return html`<div class="trouble" role="alert"><pre>${error.message}</pre>${error.hint && html`<p>Next step: <code>${error.hint}</code></p>`}</div>`;
}

// Returns whether an element is near the screen, so that its contents are read only then.
export function useVisible(ref) {
  const [visible, setVisible] = useState(false);
  useEffect(() => {
    const watcher = new IntersectionObserver(entries => setVisible(entries.some(entry => entry.isIntersecting)),
      { rootMargin: '300px' });
    watcher.observe(ref.current);
    return () => watcher.disconnect();
  }, []);
  return visible;
}

// A canvas that is redrawn when its contents, its size or the theme changes: draw({context, width,
// height, of(name of a colour)}).
export function Canvas({ draw, height, label }) {
  const canvas = useRef(), again = useRef();
  again.current = () => {
    const at = canvas.current, factor = window.devicePixelRatio || 1;
    if (!at || at.clientWidth < 80) return;
    at.width = Math.round(at.clientWidth * factor);
    at.height = Math.round(at.clientHeight * factor);
    const context = at.getContext('2d'), style = getComputedStyle(at);
    context.setTransform(factor, 0, 0, factor, 0, 0);
    context.font = `11px ${style.fontFamily}`;
    draw({ context, width: at.clientWidth, height: at.clientHeight, of: name => style.getPropertyValue(name).trim() });
  };
  useEffect(() => again.current());
  useEffect(() => {
    const call = () => again.current();
    const watcher = new ResizeObserver(call);
    watcher.observe(canvas.current);
    addEventListener('theme', call);
    return () => { watcher.disconnect(); removeEventListener('theme', call); };
  }, []);
  return html`<canvas ref=${canvas} class="drawn" role="img" aria-label=${label} style=${{ height: `${height}px` }}></canvas>`;
}

// Re-renders periodically, to update ages.
export function useNow(ms) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || tick(count => count + 1), ms);
    return () => clearInterval(timer);
  }, [ms]);
}

// Returns the query of the address as a map, and a function that changes it.
export function useAddress() {
  const [, tick] = useState(0);
  useEffect(() => {
    const listen = () => tick(count => count + 1);
    addEventListener('navigate', listen);
    addEventListener('popstate', listen);
    return () => { removeEventListener('navigate', listen); removeEventListener('popstate', listen); };
  }, []);
  const query = new URLSearchParams(location.search);
  const set = (changes, push = false) => {
    const next = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(changes)) {
      if (value === '' || value === null || value === false) next.delete(name); else next.set(name, value);
    }
    const text = next.toString();
    go(location.pathname + (text ? `?${text}` : ''), !push);
  };
  return [query, set];
}

// Encodes and decodes lists in the address; names may contain commas.
const decoded = text => { try { return decodeURIComponent(text); } catch { return text; } };
export const listOf = text => text ? text.split(',').filter(Boolean).map(decoded) : [];
export const textOf = list => list.map(name => name.replace(/[%,]/g, encodeURIComponent)).join(',');

export const optionsOf = query => ({
  mode: query.get('x') || 'step', log: query.get('y') === 'log', logX: query.get('lx') === '1', smooth: Number(query.get('s')) || 0, at: Date.parse(query.get('at')) || 0,
});
export const optionsTo = options => ({
  x: options.mode === 'step' ? '' : options.mode, y: options.log ? 'log' : '', lx: options.logX ? '1' : '', s: options.smooth || '',
});

// Commonly sent signals with their Linux numbers.
export const SIGNALS = { SIGUSR1: 10, SIGUSR2: 12, SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGTERM: 15, SIGCONT: 18, SIGSTOP: 19 };

// A confirmation dialog that names the object of the action. `field`: {label, value, options}
// whose value `run` gets; or null.
export function Confirm({ what, thing, field = null, run, close }) {
  const dialog = useRef();
  const [value, setValue] = useState(field ? field.value : '');
  const [error, setError] = useState(null);
  useEffect(() => dialog.current.showModal(), []);
  const sure = async () => {
    try { await run(value); close(); } catch (problem) { setError(problem); }
  };
  return html`<dialog ref=${dialog} onClose=${close}><p>${what} <b>${thing}</b>?</p>
    ${field && html`<p><label>${field.label} ${field.options
    ? html`<select value=${value} onChange=${event => setValue(event.target.value)}>${field.options.map(one => html`<option key=${one} value=${one}>${one}</option>`)}</select>`
    : html`<input value=${value} spellcheck="false" onInput=${event => setValue(event.target.value)} />`}</label></p>`}
    ${error && html`<${Trouble} error=${error} />`}
    <p class="buttons"><button onClick=${close}>no</button> <button class="sure" onClick=${sure}>${what.toLowerCase()}</button></p></dialog>`;
}

// Returns the part of a line that matches the pattern, as far as the browser's regular expressions
// agree.
export function marks(text, find) {
  try {
    const match = find && new RegExp(find.replace(/^\(\?i\)/, ''), find.startsWith('(?i)') ? 'i' : '').exec(text);
    return match ? match[0] : '';
  } catch { return ''; }
}

// Renders a terminal line: colours become classes, all other control sequences are removed.
const COLOUR_CODE = /\x1b\[([0-9;]*)m/g;
const OTHER_CODES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
export function AnsiText({ text, find }) {
  const parts = [];
  let colour = '', from = 0;
  const add = piece => {
    const clean = piece.replace(OTHER_CODES, '');
    if (clean) parts.push(html`<span class=${colour}>${find ? marked(clean, find) : clean}</span>`);
  };
  for (const match of text.matchAll(COLOUR_CODE)) {
    add(text.slice(from, match.index));
    for (const code of match[1].split(';').map(Number)) {
      if (code === 0 || code === 39) colour = '';
      else if (code === 1) colour = `${colour} bold`.trim();
      else if (code >= 30 && code <= 37) colour = `ansi${code - 30}`;
      else if (code >= 90 && code <= 97) colour = `ansi${code - 90} bold`;
    }
    from = match.index + match[0].length;
  }
  add(text.slice(from));
  return parts;
}

function marked(text, find) {
  const anyCase = find === find.toLowerCase();
  const where = anyCase ? text.toLowerCase() : text;
  const parts = [];
  let from = 0;
  for (let at; (at = where.indexOf(find, from)) >= 0 && parts.length < 100; from = at + find.length) {
    parts.push(text.slice(from, at), html`<mark>${text.slice(at, at + find.length)}</mark>`);
  }
  return [...parts, text.slice(from)];
}
