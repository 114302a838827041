// Live updates: subscribe(topics, listener) subscribes until the returned function is called.
// Listeners get (name, data) of every event of all topics to which the page is subscribed.

import { getToken } from './api.js';
import { Stream } from './stream.js';

const wants = new Map(); // listener: topics
const watchers = new Set();
export let state = 'waiting';

function deliver(kind, name, data) {
  if (kind === 'state') {
    state = name;
    for (const watcher of watchers) watcher(name);
    return;
  }
  for (const listener of [...wants.keys()]) listener(name, data);
}

// Trusted Types also check the scripts of workers: only this script may run.
function workerAddress() {
  if (!globalThis.trustedTypes) return '/page/worker.js';
  return trustedTypes.createPolicy('yard', { createScriptURL: () => '/page/worker.js' }).createScriptURL('');
}

let follow;
try {
  const worker = new SharedWorker(workerAddress(), { type: 'module', name: 'yard' });
  worker.port.onmessage = event => deliver(...event.data);
  follow = (token, topics) => worker.port.postMessage({ token, topics });
  addEventListener('pagehide', () => worker.port.postMessage('bye'));
  addEventListener('pageshow', event => event.persisted && update());
} catch {
  // Without shared workers, this tab opens its own stream.
  const stream = new Stream(deliver);
  follow = (token, topics) => stream.follow(token, topics);
}

function update() {
  // A hidden tab needs only the events that show whether all is well.
  const topics = document.hidden ? ['yard'] : [...wants.values()].flat();
  follow(getToken(), topics);
}
document.addEventListener('visibilitychange', update);

export function subscribe(topics, listener) {
  wants.set(listener, topics);
  update();
  return () => { wants.delete(listener); update(); };
}

export function watchState(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

// Throttles: returns a function that calls `f` at once, then at most every `ms`; the last call
// is never lost.
export function paced(ms, f) {
  let timer = null, again = false;
  const run = async () => {
    again = false;
    timer = setTimeout(() => { timer = null; if (again) run(); }, ms);
    await f();
  };
  const call = () => { if (timer === null) run(); else again = true; };
  call.stop = () => { clearTimeout(timer); timer = 1; again = false; };
  return call;
}
