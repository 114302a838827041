// Renders the Markdown of notes and texts as elements; a program's text is never interpreted as
// HTML.

import { html } from './preact-htm.js';

const MOST = 100_000, MOST_IN_A_PARAGRAPH = 20_000;

// Unambiguous, so that matching takes linear time.
// `code`, **bold**, *italic*, [text](address).
const INLINE = /`([^`]+)`|\*\*(.+?)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|\b_([^_]+)_\b|!?\[([^[\]\n]{0,500})\]\(([^()\s]{1,2000})(?:\s[^()\n]{0,500})?\)/g;

function inline(text, depth = 0) {
  if (depth > 5 || text.length > MOST_IN_A_PARAGRAPH) return text;
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [all, code, bold, italic, under, title, address] = match;
    parts.push(text.slice(from, match.index));
    from = match.index + all.length;
    if (code) parts.push(html`<code>${code}</code>`);
    else if (bold) parts.push(html`<b>${inline(bold, depth + 1)}</b>`);
    else if (italic || under) parts.push(html`<em>${inline(italic || under, depth + 1)}</em>`);
    // A picture becomes a link, because the page loads nothing from elsewhere.
    else if (/^(https?|mailto):/i.test(address)) parts.push(html`<a href=${address} target="_blank" rel="noopener noreferrer">${inline(title || address, depth + 1)}</a>`);
    else parts.push(all);
  }
  return [...parts, text.slice(from)];
}

const cells = line => line.trim().replace(/^\||\|$/g, '').split('|').map(cell => cell.trim());
const isRule = line => line !== undefined && line.includes('-') && line.includes('|') && /^[\s|:-]+$/.test(line);
const ITEM = /^(\s*)(?:[-*+]|(\d+)[.)])\s+(.*)$/;

export function Markdown({ text }) {
  if (text.length > MOST) return html`<pre class="md">${text}</pre>`;
  const lines = text.replace(/\r/g, '').split('\n'), blocks = [];
  const take = test => { const some = []; while (i < lines.length && test(lines[i])) some.push(lines[i++]); return some; };
  // The view itself has the first-level heading; levels that a text skips are closed up.
  let i = 0, level = 0;
  while (i < lines.length) {
    const line = lines[i], heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (!line.trim()) i += 1;
    else if (/^\s*```/.test(line)) {
      i += 1;
      blocks.push(html`<pre>${take(one => !/^\s*```/.test(one)).join('\n')}</pre>`);
      i += 1;
    } else if (heading) {
      level = Math.min(heading[1].length, level + 1);
      blocks.push(html`<p class=${`h${heading[1].length}`} role="heading" aria-level=${level + 1}>${inline(heading[2])}</p>`);
      i += 1;
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      blocks.push(html`<hr />`);
      i += 1;
    } else if (line.includes('|') && isRule(lines[i + 1])) {
      const head = cells(line);
      i += 2;
      const rows = take(one => one.includes('|')).map(cells);
      blocks.push(html`<div class="scroll"><table><thead><tr>${head.map(cell => html`<th>${inline(cell)}</th>`)}</tr></thead>
        <tbody>${rows.map(row => html`<tr>${row.map(cell => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody></table></div>`);
    } else if (/^\s*>/.test(line)) {
      blocks.push(html`<blockquote>${inline(take(one => /^\s*>/.test(one)).map(one => one.replace(/^\s*>\s?/, '')).join('\n'))}</blockquote>`);
    } else if (ITEM.test(line)) {
      blocks.push(html`<ul>${take(one => ITEM.test(one)).map(one => {
        const [, space, place, words] = ITEM.exec(one);
        return html`<li class=${`in${Math.min(3, space.length >> 1)}`}>${place && `${place}. `}${inline(words)}</li>`;
      })}</ul>`);
    } else {
      const some = [lines[i++], ...take(one => one.trim() && !ITEM.test(one) && !/^(#{1,6}\s|\s*```|\s*>)/.test(one) && !one.includes('|'))];
      blocks.push(html`<p>${inline(some.join('\n'))}</p>`);
    }
  }
  return html`<div class="md">${blocks}</div>`;
}
