// Groups runs that differ only in their seeds; computes line differences of two texts. Pure.

import { colour, number } from './format.js';

// Groups `runs`, [{facts: {parameters}}], by the value of "config.NAME": [{text, runs, colour}].
export function groupsOf(runs, by) {
  const name = by.replace(/^config\./, ''), groups = new Map();
  for (const run of runs) {
    const value = (run.facts.parameters || {})[name], key = value === undefined ? '' : JSON.stringify(value);
    if (!groups.has(key)) groups.set(key, { text: value === undefined ? 'without' : typeof value === 'string' ? value : number(value), value, runs: [] });
    groups.get(key).runs.push(run);
  }
  return [...groups.values()].sort((a, b) => a.value > b.value ? 1 : -1).map((one, i) => ({ ...one, colour: colour(i) }));
}

// Returns the mean of several series with one standard deviation to either side, as one series, at
// the steps of the one with most columns. Each series contributes its newest value, from its first
// step to its last.
export function meanOf(lines) {
  const some = lines.filter(line => line.n > 0);
  if (some.length === 0) return null;
  const grid = some.reduce((a, b) => b.n > a.n ? b : a), n = grid.n;
  const sum = { run: '', tag: grid.tag, points: grid.points, n, first: grid.first, last: grid.last, time: grid.time, x: grid.x, nan: null, smooth: null,
    value: new Float64Array(n), min: new Float64Array(n), max: new Float64Array(n) };
  const at = some.map(() => -1);
  for (let i = 0; i < n; ++i) {
    const step = grid.last[i], values = [];
    some.forEach((line, k) => {
      while (at[k] + 1 < line.n && line.last[at[k] + 1] <= step) ++at[k];
      if (at[k] < 0 || (at[k] === line.n - 1 && line.last[at[k]] < step && line !== grid)) return;
      const value = (line.smooth || line.value)[at[k]];
      if (Number.isFinite(value)) values.push(value);
    });
    const mean = values.reduce((all, value) => all + value, 0) / values.length;
    const spread = values.length < 2 ? 0 : Math.sqrt(values.reduce((all, value) => all + (value - mean) ** 2, 0) / (values.length - 1));
    sum.value[i] = values.length > 0 ? mean : NaN;
    sum.min[i] = sum.value[i] - spread;
    sum.max[i] = sum.value[i] + spread;
  }
  return sum;
}

// Returns the lines of both texts with '-', '+' or ' ': a minimal diff, unless the differing parts
// are too long.
export function lineDiff(a, b) {
  let begin = 0, end = 0;
  while (begin < a.length && begin < b.length && a[begin] === b[begin]) ++begin;
  while (end < a.length - begin && end < b.length - begin && a[a.length - 1 - end] === b[b.length - 1 - end]) ++end;
  const left = a.slice(begin, a.length - end), right = b.slice(begin, b.length - end), out = a.slice(Math.max(0, begin - 3), begin).map(line => [' ', line]);
  if (left.length * right.length > 4e6) {
    out.push(...left.map(line => ['-', line]), ...right.map(line => ['+', line]));
  } else {
    const width = right.length + 1, best = new Uint32Array((left.length + 1) * width);
    for (let i = left.length - 1; i >= 0; --i) {
      for (let j = right.length - 1; j >= 0; --j) {
        best[i * width + j] = left[i] === right[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
      }
    }
    let i = 0, j = 0;
    while (i < left.length || j < right.length) {
      if (i < left.length && j < right.length && left[i] === right[j]) { out.push([' ', left[i]]); ++i; ++j; }
      else if (j >= right.length || (i < left.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) out.push(['-', left[i++]]);
      else out.push(['+', right[j++]]);
    }
  }
  return [...out, ...a.slice(a.length - end).slice(0, 3).map(line => [' ', line])];
}
