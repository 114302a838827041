// Searches the output of all tasks, including ended ones; newest line first.

import { html, useEffect, useRef, useState } from './preact-htm.js';
import { ask } from './api.js';
import { bytes, clock, number, plain, plural } from './format.js';
import { AnsiText, Link, marks, Trouble, useAddress } from './parts.js';

const PAGE = 200, MOST = 5000;
const SINCE = [['', 'whenever'], ['600', 'the last 10 minutes'], ['3600', 'the last hour'], ['86400', 'the last day'], ['604800', 'the last week']];

export function Logs() {
  const [query, set] = useAddress();
  const find = query.get('grep') || '', job = query.get('job') || '', errors = query.get('stderr') === '1', since = query.get('since') || '';
  const [text, setText] = useState(find);
  const [job_, setJob] = useState(job);
  useEffect(() => setText(find), [find]);
  useEffect(() => setJob(job), [job]);
  const [found, go, stop] = useSearch({ find, job, errors, since });
  const search = event => { event.preventDefault(); set({ grep: text, job: job_.trim() }, true); if (text === find && job_.trim() === job) go(true); };
  const list = useRef();
  const key = event => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || event.target.tagName !== 'A') return;
    event.preventDefault();
    const links = [...list.current.querySelectorAll('a.when')], next = links[links.indexOf(event.target) + by];
    if (next) next.focus();
  };
  const { lines, error, busy, read, next } = found;
  return html`<div class="search"><form class="query" onSubmit=${search} role="search">
      <input id="query" type="search" spellcheck="false" autocomplete="off" aria-label="regular expression" placeholder="nan|error: .*memory" value=${text} onInput=${event => setText(event.target.value)} />
      <button>find</button></form>
    <p class="bar"><label>of <input type="search" class="picker" aria-label="job or task" placeholder="all jobs" value=${job_} onInput=${event => setJob(event.target.value)}
        onChange=${event => set({ job: event.target.value.trim() }, true)} /></label>
      <label>since <select aria-label="since" value=${since} onChange=${event => set({ since: event.target.value })}>${SINCE.map(([value, words]) => html`<option key=${value} value=${value}>${words}</option>`)}</select></label>
      <label><input type="checkbox" checked=${errors} onChange=${event => set({ stderr: event.target.checked ? '1' : '' })} /> errors only</label>
      <span class="faint" role="status">${busy ? html`searching… ${plural(lines.length, 'line')}, ${bytes(read)} read` : `${plural(lines.length, 'line')}${next ? ' so far' : ''}, ${bytes(read)} read`}</span>
      ${busy && html`<button onClick=${stop}>stop</button>`}</p>
    ${error && html`<${Trouble} error=${error} />`}
    ${!busy && !error && lines.length === 0 && !next && html`<p class="empty">No line matches.</p>`}
    ${lines.length > 0 && html`<ol class="found" ref=${list} onKeyDown=${key} aria-label="lines, the newest first">${lines.map(line => html`<${Line} key=${`${line.task}.${line.attempt}.${line.stream}.${line.offset}`} line=${line} find=${find} />`)}</ol>`}
    ${!busy && next && html`<p><button onClick=${() => go(false)} disabled=${lines.length >= MOST}>${lines.length >= MOST ? 'that is all that fits: ask for less' : 'older lines'}</button></p>`}</div>`;
}

// Returns {lines, error, busy, read, next}, `go(anew)`, and `stop`. Continues automatically if an
// answer has too few lines.
function useSearch({ find, job, errors, since }) {
  const none = { lines: [], error: null, busy: true, read: 0, next: '' };
  const [found, setFound] = useState(none);
  const abort = useRef(null), now = useRef(none), begin = useRef('');
  const put = change => { now.current = { ...now.current, ...change }; setFound(now.current); };
  const go = async anew => {
    if (abort.current) abort.current.abort();
    const mine = abort.current = new AbortController();
    if (anew) {
      now.current = none;
      begin.current = since ? new Date(Date.now() - 1000 * Number(since)).toISOString() : '';
    }
    put({ busy: true, error: null });
    const wanted = now.current.lines.length + PAGE;
    try {
      do {
        const asked = new URLSearchParams({ grep: find, limit: wanted - now.current.lines.length });
        if (job) asked.set('job', job);
        if (errors) asked.set('stderr', '1');
        if (begin.current) asked.set('since', begin.current);
        if (now.current.next) asked.set('cursor', now.current.next);
        const answer = await ask(`logs?${asked}`, { signal: mine.signal });
        if (mine.signal.aborted) return;
        const lines = answer.lines.map(line => ({ ...line, job: answer.jobs[line.task.split('/')[0]] || { name: '', labels: {} } }));
        put({ lines: [...now.current.lines, ...lines], read: now.current.read + answer.read_bytes, next: answer.next || '' });
      } while (now.current.next && now.current.lines.length < wanted);
      put({ busy: false });
    } catch (error) {
      if (!mine.signal.aborted) put({ busy: false, error });
    }
  };
  useEffect(() => {
    go(true);
    return () => abort.current && abort.current.abort();
  }, [find, job, errors, since]);
  return [found, go, () => { abort.current.abort(); put({ busy: false }); }];
}

function Line({ line, find }) {
  const trial = line.job.labels.trial, name = line.job.labels.trial_name || line.job.name || '';
  const task = line.task.split('/')[1];
  // A line of a trial links to its charts at that time; any other line links to all output of its
  // job.
  const to = trial ? `/run/${encodeURIComponent(trial)}?at=${encodeURIComponent(line.time)}` : `/logs?job=${encodeURIComponent(line.task)}`;
  return html`<li class=${line.stream}><${Link} class="when" to=${to} title=${trial ? 'the run at that step' : 'all that the task wrote'}>${clock(line.time)}<//>
    <span class="task" title=${line.task}>${plain(name || line.task.split('/')[0])}${task === 'worker-0' ? '' : `/${task}`}${line.attempt > 1 ? ` #${number(line.attempt)}` : ''}</span>
    <span class="text"><${AnsiText} text=${line.text} find=${marks(line.text, find)} /></span></li>`;
}
