// Requests to the service with the token of this session, which comes from the address that
// `yard ui` opens, or from another tab of this browser.

import { decode } from './series.js';

const TOKEN = 'yard.token';
let token = sessionStorage.getItem(TOKEN) || '';
const tabs = new BroadcastChannel('yard');
tabs.onmessage = event => {
  if (event.data === 'who has a token?' && token) tabs.postMessage({ token });
};

export class Problem extends Error {
  constructor(status, body) {
    super(body.title || `the service answers with ${status}`);
    this.status = status;
    this.hint = body.hint || '';
  }
}

export const getToken = () => token;

function keep(value) {
  token = value;
  sessionStorage.setItem(TOKEN, value);
}

function askTabs() {
  return new Promise(resolve => {
    const answer = event => {
      if (event.data && event.data.token) { keep(event.data.token); finish(); }
    };
    const finish = () => { tabs.removeEventListener('message', answer); resolve(); };
    tabs.addEventListener('message', answer);
    tabs.postMessage('who has a token?');
    setTimeout(finish, 150);
  });
}

// Call before anything else: removes the key from the address, so that nobody copies it.
export async function start() {
  const key = /[#&]k=([0-9a-f]+)/.exec(location.hash);
  if (key) {
    history.replaceState(null, '', location.pathname + location.search);
    const session = await ask('session', { method: 'POST', body: { k: key[1] } });
    keep(session.token);
  } else if (!token) {
    await askTabs();
  }
}

async function request(path, { method = 'GET', body, signal } = {}) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(`/api/v1/${path}`, { method, headers, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem(0, { title: 'the web service does not answer', hint: 'yard status' });
  }
  if (response.ok) return response;
  throw new Problem(response.status, await response.json().catch(() => ({})));
}

export async function ask(path, options) {
  return (await request(path, options)).json();
}

export async function askSeries(question, signal) {
  return decode(await (await request('series', { method: 'POST', body: question, signal })).arrayBuffer());
}

// Cached blobs, the most recently used one last.
const MOST_BYTES = 64 * 2 ** 20;
const blobs = new Map();
let held = 0;
// Fetches an image or a sound as a Blob, through the cache: an <img> or <audio> element could not
// send the token.
export function askBlob(run, blob) {
  const query = new URLSearchParams(['file', 'offset', 'length', 'crc'].map(name => [name, blob[name]])), key = `${run}?${query}`;
  let one = blobs.get(key);
  if (one) blobs.delete(key);
  else {
    one = { length: blob.length, content: request(runPath(run, `/blob?${query}`)).then(response => response.blob()) };
    held += one.length;
    one.content.catch(() => forget(key, one));
  }
  blobs.set(key, one);
  for (const [name, oldest] of blobs) {
    if (held <= MOST_BYTES || oldest === one) break;
    forget(name, oldest);
  }
  return one.content;
}
function forget(key, one) {
  if (blobs.get(key) !== one) return;
  blobs.delete(key);
  held -= one.length;
}

export const act = (kind, id, action, more = {}) => ask(`${kind}/${encodeURIComponent(id)}/${action}`,
  { method: 'POST', body: { ...more, request_id: crypto.randomUUID() } });

export const runPath = (run, rest = '') => `runs/${encodeURIComponent(run)}${rest}`;
