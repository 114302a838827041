// The single stream for all tabs of a browser, because a browser opens at most six connections to a
// host.

import { Stream } from './stream.js';

const tabs = new Map(); // port: {token, topics}
let state = 'waiting';

const stream = new Stream((kind, name, data) => {
  if (kind === 'state') state = name;
  for (const port of tabs.keys()) port.postMessage([kind, name, data]);
});

function follow() {
  const wants = [...tabs.values()];
  const last = wants[wants.length - 1];
  stream.follow(last ? last.token : '', wants.flatMap(want => want.topics));
}

onconnect = event => {
  const port = event.ports[0];
  port.onmessage = ({ data }) => {
    if (data === 'bye') tabs.delete(port);
    else { tabs.delete(port); tabs.set(port, data); port.postMessage(['state', state]); }
    follow();
  };
};
