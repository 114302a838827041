// The importance of parameters, for any selection of runs.

import { html, useEffect, useRef, useState } from './preact-htm.js';
import { ask } from './api.js';
import { paced } from './live.js';
import { number, plain, plural } from './format.js';
import { Trouble } from './parts.js';

export function Bar({ share }) {
  return html`<span class="share"><i style=${{ width: `${Math.round(100 * Math.min(1, Math.max(0, share)))}%` }}></i></span>`;
}

function Shares({ rows }) {
  return html`<table class="shares"><tbody>${rows.map(row => html`<tr key=${row.parameter}><th scope="row"><span class="own" title=${plain(row.parameter)}>${plain(row.parameter)}</span></th>
    <td class="wide"><${Bar} share=${row.importance} /></td><td class="n">${number(Math.round(100 * row.importance))} %</td></tr>`)}</tbody></table>`;
}

// `rows`: [{parameter, importance}]; `of`: what they were computed from, in words.
export function Importances({ rows, of, metric, reason }) {
  if (rows.length === 0) return html`<p class="empty">Importance cannot be said: ${reason}.</p>`;
  const most = 12, others = rows.length - most;
  return html`<div><${Shares} rows=${rows.slice(0, most)} />
    ${others > 0 && html`<details><summary>and ${plural(others, 'other')}</summary><${Shares} rows=${rows.slice(most)} /></details>`}
    <p class="faint">How much each parameter has to be right for a run to be among the best tenth of ${of}; not how much it moves ${plain(metric)}:
      a parameter that was right in nearly all of them has little importance.</p></div>`;
}

// `question`: {value, goal, q} or {value, goal, runs, prefix}, which the data manager answers; it
// is sent again when `version` changes.
export function ImportanceOf({ question, version, metric }) {
  const [answer, setAnswer] = useState(null);
  const [error, setError] = useState(null);
  const asked = useRef(), reader = useRef(), text = JSON.stringify(question);
  asked.current = text;
  useEffect(() => {
    reader.current = paced(1000, async () => {
      const mine = asked.current;
      const now = await ask('importance', { method: 'POST', body: JSON.parse(mine) }).catch(problem => problem);
      if (mine !== asked.current) return;
      setError(now instanceof Error ? now : null);
      if (!(now instanceof Error)) setAnswer(now);
    });
    return () => reader.current.stop();
  }, []);
  useEffect(() => reader.current(), [text, version]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (!answer) return html`<p class="empty">…</p>`;
  const left = answer.runs - answer.counted;
  return html`<${Importances} rows=${answer.importance} metric=${metric} reason=${answer.reason}
    of=${`${plural(answer.counted, 'run')}${left > 0 ? ` (${number(left)} have no finite value or no parameters)` : ''}`} />`;
}
