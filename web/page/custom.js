// Charts of several tags, laid out by the program with TensorBoard's custom scalars.

import { html, useEffect, useState } from './preact-htm.js';
import { ask, askBlob, runPath } from './api.js';
import { Card } from './card.js';
import { colour, dash, plain } from './format.js';

export const isLayout = tag => tag.plugin === 'custom_scalars';

// Returns the fields of a protobuf message by number: integers as numbers, all others as bytes.
function fieldsOf(bytes) {
  const fields = new Map();
  let at = 0;
  const varint = () => {
    let number = 0, scale = 1;
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined || scale > 2 ** 49) throw new Error('no message');
      number += (byte & 127) * scale;
      if (byte < 128) return number;
      scale *= 128;
    }
  };
  while (at < bytes.length) {
    const key = varint(), kind = key & 7;
    const size = kind === 2 ? varint() : { 1: 8, 5: 4 }[kind] || 0;
    const value = kind === 0 ? varint() : bytes.subarray(at, at + size);
    if (kind !== 0 && (size === 0 && kind !== 2 || at + size > bytes.length)) throw new Error('no message');
    at += size;
    fields.set(key >> 3, [...(fields.get(key >> 3) || []), value]);
  }
  return fields;
}

// Returns [{title, charts: [{title, patterns, margins: [{value, lower, upper}]}]}] from a tensor
// that contains a serialized Layout.
export function layoutOf(tensor) {
  const all = (bytes, number) => (fieldsOf(bytes).get(number) || []).filter(value => typeof value !== 'number');
  const text = (bytes, number) => { const [value] = all(bytes, number).slice(-1); return value ? new TextDecoder().decode(value) : ''; };
  const [layout] = all(tensor, 8);
  return !layout ? [] : all(layout, 2).map(category => ({ title: text(category, 1), charts: all(category, 2).map(chart => ({
    title: text(chart, 1), patterns: all(chart, 2).flatMap(content => all(content, 1)).map(value => new TextDecoder().decode(value)),
    margins: all(chart, 3).flatMap(content => all(content, 1)).map(one => ({ value: text(one, 1), lower: text(one, 2), upper: text(one, 3) })),
  })) }));
}

function matching(tags, pattern) {
  try { const found = new RegExp(pattern); return tags.filter(tag => found.test(tag)); } catch { return tags.filter(tag => tag === pattern); }
}

// One line for each tag; a margin is a value between two dashed lines.
function linesOf(run, chart, tags) {
  const plainLines = [...new Set(chart.patterns.flatMap(pattern => matching(tags, pattern)))].map((tag, i) => ({ run, tag, name: tag, colour: colour(i), dash: dash(i) }));
  return [...plainLines, ...chart.margins.flatMap((one, i) => [one.value, one.lower, one.upper].filter(tag => tags.includes(tag))
    .map(tag => ({ run, tag, name: tag, colour: colour(plainLines.length + i), dash: tag === one.value ? [] : [4, 3] })))];
}

export function CustomCharts({ run, layout, tags, options, changed }) {
  const [categories, setCategories] = useState([]);
  useEffect(() => {
    let current = true;
    ask(runPath(run, `/values?${new URLSearchParams({ tag: layout, last: 1, references: 1 })}`)).then(answer => askBlob(run, answer.values[0])).then(async content => {
      const found = layoutOf(new Uint8Array(await content.arrayBuffer()));
      if (current) setCategories(found);
    }).catch(() => {}); // An unreadable layout is ignored; its tags have charts anyway.
    return () => { current = false; };
  }, [run, layout]);
  return categories.map(({ title, charts }, i) => html`<details open key=${i}><summary>${plain(title) || 'custom'} <small>${charts.length}</small></summary>
    <div class="cards">${charts.map((chart, k) => {
      const lines = linesOf(run, chart, tags);
      return lines.length === 0 ? html`<p key=${k} class="empty">${plain(chart.title)}: no such tag has points.</p>` : html`<${Card} key=${k} tag=${lines[0].tag} title=${chart.title} runs=${lines} options=${options} changed=${changed} />`;
    })}</div></details>`);
}
