// The graph of a run as an outline with collapsible scopes, and the lineage of a run.

import { html, useEffect, useState } from './preact-htm.js';
import { ask, runPath } from './api.js';
import { number, plain, plural } from './format.js';
import { Link, Trouble } from './parts.js';

export const isGraph = tag => /^graph/.test(tag.plugin);

export function Graph({ run, query, set }) {
  const [tags, setTags] = useState(null);
  const tag = query.get('graph') || '', search = query.get('find') || '', chosen = query.get('node') || '';
  useEffect(() => { ask(runPath(run, '/tags')).then(answer => setTags(answer.tags.filter(isGraph).map(one => one.tag)), () => setTags([])); }, [run]);
  const shared = { run, tag, chosen, choose: node => set({ node }) };
  return html`<div class="graph"><p class="bar">${tags && tags.length > 1 && html`<label>graph <select aria-label="graph" value=${tag} onChange=${event => set({ graph: event.target.value, node: '' })}><option value="">the newest</option>${tags.map(one => html`<option key=${one} value=${one}>${plain(one)}</option>`)}</select></label>`}
      <input type="search" aria-label="node" placeholder="part of a node's name" value=${search} onChange=${event => set({ find: event.target.value })} /></p>
    <${Level} key=${`${tag}\n${search}`} ...${shared} scope="" search=${search} /></div>`;
}

// Lists the nodes and scopes directly in a scope, or nodes whose names contain the text.
function Level({ run, tag, scope, search = '', chosen, choose }) {
  const [nodes, setNodes] = useState(null);
  const [next, setNext] = useState('');
  const [error, setError] = useState(null);
  const [waits, setWaits] = useState(true);
  const read = after => setWaits(true) || ask(runPath(run, `/graph?${new URLSearchParams({ tag, scope, search, after })}`)).then(answer => {
    setNodes(before => [...(before || []), ...answer.nodes]);
    setNext(answer.next || '');
    setError(null);
  }).catch(setError).finally(() => setWaits(false));
  useEffect(() => { read(''); }, []);
  if (!nodes) return error ? html`<${Trouble} error=${error} />` : html`<p class="faint">…</p>`;
  if (nodes.length === 0) return html`<p class="empty">${search ? 'No node has that in its name.' : 'Nothing is there.'}</p>`;
  const shown = node => search ? node.name : node.name.slice(scope ? scope.length + 1 : 0);
  return html`<ul class="outline">${nodes.map(node => html`<li key=${node.name}>${node.nodes > 0
    ? html`<${Scope} name=${shown(node)} node=${node}><${Level} run=${run} tag=${tag} scope=${node.name} chosen=${chosen} choose=${choose} /><//>`
    : html`<button class="node" aria-expanded=${chosen === node.name} onClick=${() => choose(chosen === node.name ? '' : node.name)}>${plain(shown(node))}</button> <b>${plain(node.op)}</b> <small class="faint">${plain(node.device)}</small>
      ${chosen === node.name && html`<${Node} node=${node} choose=${choose} />`}`}</li>`)}
    ${error && html`<li><${Trouble} error=${error} /></li>`}${next && html`<li><button disabled=${waits} onClick=${() => read(next)}>more</button></li>`}</ul>`;
}

function Scope({ name, node, children }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${event => { if (event.target === event.currentTarget) setOpen(event.currentTarget.open); }}><summary>${plain(name)} <small>${plural(node.nodes, 'node')}${node.op && `, ${plain(node.op)}`}</small></summary>${open && children}</details>`;
}

function Node({ node }) {
  const list = (title, names) => names.length > 0 && html`<tr><th scope="row">${title}</th><td class="wrap">${names.slice(0, 50).map(name => html`<div key=${name}>${plain(name)}</div>`)}${names.length > 50 && `and ${number(names.length - 50)} more`}</td></tr>`;
  return html`<table class="pairs"><tbody>${list('inputs', node.inputs)}${list('outputs', node.outputs)}
    ${Object.entries(node.attributes).map(([name, value]) => html`<tr key=${name}><th scope="row">${plain(name)}</th><td class="wrap">${plain(value).slice(0, 300)}</td></tr>`)}</tbody></table>`;
}

const MOST_ANCESTORS = 20;

// The trials from which this one was started, oldest first, and MindSpore's lineage.
export function Lineage({ run, facts }) {
  const [above, setAbove] = useState(null);
  const [data, setData] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let current = true;
    (async () => {
      const chain = [];
      for (let from = facts.from; from && chain.length < MOST_ANCESTORS;) {
        const one = await ask(runPath(from)).catch(() => null);
        chain.unshift({ name: from, facts: one });
        from = one && one.from;
      }
      if (current) setAbove(chain);
    })();
    if (facts.run) ask(runPath(run, '/lineage')).then(answer => current && setData(answer), problem => current && setError(problem));
    return () => { current = false; };
  }, [run, facts.from]);
  const one = (name, known, more) => html`<li><${Link} to=${`/run/${encodeURIComponent(name)}`}>${plain((known && (known.run || (known.trial && known.trial.name))) || name)}<//>
    ${known ? html` <span class="faint">${known.last_step !== null && known.last_step !== undefined ? `to step ${number(known.last_step)}` : ''}</span>` : html` <span class="faint">is not known any more</span>`}${more}</li>`;
  const tree = (chain, i) => i === chain.length ? html`<ul class="outline"><li><b>${plain(facts.run || run)}</b>${facts.restore && html` <span class="faint">from the checkpoint <code>${plain(facts.restore)}</code></span>`}</li></ul>`
    : html`<ul class="outline">${one(chain[i].name, chain[i].facts, tree(chain, i + 1))}</ul>`;
  const parts = data ? ['train', 'evaluation', 'dataset', 'user_defined'].filter(name => data[name] && Object.keys(data[name]).length > 0) : [];
  return html`<div><h2>Started from</h2>${above ? above.length > 0 || facts.restore ? tree(above, 0) : html`<p class="empty">This run began from nothing.</p>` : html`<p class="faint">…</p>`}
    ${error && html`<${Trouble} error=${error} />`}${data && data.error && html`<p class="error">${plain(data.error)}</p>`}
    ${parts.map(name => html`<section key=${name}><h2>${name.replace('_', ' ')}</h2><${Value} value=${data[name]} /></section>`)}</div>`;
}

// Shows JSON as an outline.
function Value({ value, depth = 0 }) {
  if (value === null || typeof value !== 'object') return html`<span>${plain(typeof value === 'string' ? value : number(value))}</span>`;
  const rows = Object.entries(value).slice(0, 200);
  if (depth > 20) return '…';
  return html`<ul class="outline">${rows.map(([name, one]) => html`<li key=${name}><span class="faint">${plain(name)}</span> <${Value} value=${one} depth=${depth + 1} /></li>`)}</ul>`;
}
