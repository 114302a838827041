// Axes of the trials of a sweep: their parameters, their value, their cost. Pure.

import { duration, number, plain } from './format.js';

const MOST_CHOICES = 500;
const finite = value => typeof value === 'number' && Number.isFinite(value);
export const secondsOf = trial => trial.started && trial.ended ? (Date.parse(trial.ended) - Date.parse(trial.started)) / 1000 : NaN;

// Formats a value of a configuration for people.
export const valueText = value => plain(typeof value === 'string' ? value : number(value));

// Returns true for numbers spread over decades: their median is closer to the middle on a
// logarithmic scale.
function isLog(sorted) {
  const low = sorted[0], high = sorted.at(-1), middle = sorted[sorted.length >> 1];
  if (!(low > 0) || high / low < 10) return false;
  return Math.abs(Math.log(middle / low) / Math.log(high / low) - 0.5) < Math.abs((middle - low) / (high - low) - 0.5);
}

// A column is {name, kind, at(trial): a number, NaN if missing; low, high, log, unit(value): 0 to
// 1, back(unit), text(value)}. Values of a choice are indexes into `choices`, which are JSON texts.
function numberColumn(name, values, read, text = number) {
  const sorted = Float64Array.from(values.filter(finite)).sort();
  let low = sorted.length > 0 ? sorted[0] : 0, high = sorted.length > 0 ? sorted.at(-1) : 1;
  const log = isLog(sorted);
  if (low === high) { const pad = Math.abs(low) * 0.05 || 0.5; low -= pad; high += pad; }
  const to = log ? Math.log10 : value => value, from = log ? value => 10 ** value : value => value;
  const a = to(low), b = to(high);
  return {
    name, kind: 'number', low, high, log, text, at: trial => { const value = read(trial); return finite(value) ? value : NaN; },
    unit: value => (to(value) - a) / (b - a), back: unit => from(a + unit * (b - a)),
  };
}

function choiceColumn(name, values, read) {
  const choices = [...new Set(values.map(value => JSON.stringify(value)))].slice(0, MOST_CHOICES).sort();
  const places = new Map(choices.map((text, place) => [text, place]));
  const count = choices.length;
  return {
    name, kind: 'choice', choices, low: -0.5, high: count - 0.5, log: false, text: place => choices[place] === undefined ? '' : valueText(JSON.parse(choices[place])),
    at: trial => { const value = read(trial); return value === undefined ? NaN : places.get(JSON.stringify(value)) ?? NaN; },
    unit: place => (place + 0.5) / count, back: unit => unit * count - 0.5,
  };
}

// Returns columns for the parameters that differ between trials, the value, and the cost of trials;
// `more`: {tag: {trial name: number}}.
export function columnsOf(sweep, trials, more = {}) {
  const byName = new Map();
  for (const trial of trials) {
    for (const [name, value] of Object.entries(trial.config || {})) {
      if (!byName.has(name)) byName.set(name, []);
      byName.get(name).push(value);
    }
  }
  const parameters = [];
  for (const [name, values] of byName) {
    if (trials.length > 1 && values.length === trials.length && values.every(value => JSON.stringify(value) === JSON.stringify(values[0]))) continue;
    const read = trial => Object.hasOwn(trial.config || {}, name) ? trial.config[name] : undefined;
    parameters.push({ ...(values.every(finite) ? numberColumn : choiceColumn)(name, values, read), parameter: true });
  }
  const column = (name, read, text) => numberColumn(name, trials.map(read), read, text);
  // The second metric, if the sweep has two.
  const second = (sweep.objectives || []).slice(1).map(objective => ({ ...column(objective.metric, trial => (trial.values || [])[1]), goal: objective.goal }));
  return {
    parameters, value: column(sweep.metric || 'value', trial => trial.value), second: second[0],
    others: [...second, column('number', trial => trial.number), column('iterations', trial => trial.resource), column('time', secondsOf, duration),
      ...Object.entries(more).map(([tag, values]) => column(tag, trial => values[trial.name]))],
  };
}

// Parses a brush from the address; ignores parts that do not fit these columns.
export function brushFrom(text, columns) {
  let given = null;
  try { given = JSON.parse(text || '{}'); } catch { /* somebody has typed it */ }
  const isBrush = (column, wanted) => wanted && (column.kind === 'choice' ? Array.isArray(wanted.of) : finite(wanted.from) && finite(wanted.to));
  const found = columns.filter(column => given && Object.hasOwn(given, column.name) && isBrush(column, given[column.name]));
  return Object.assign(Object.create(null), Object.fromEntries(found.map(column => [column.name, given[column.name]])));
}

// Returns true if the trial passes the brush: {name: {from, to}} for numbers, {name: {of: [JSON
// text]}} for choices.
export function fits(trial, columns, brush) {
  return columns.every(column => {
    const wanted = brush[column.name];
    if (!wanted) return true;
    const value = column.at(trial);
    if (column.kind === 'choice') return wanted.of.includes(column.choices[value]);
    return value >= wanted.from && value <= wanted.to;
  });
}

export const better = (sweep, a, b) => sweep.goal === 'maximize' ? a > b : a < b;

// Returns the Pareto front: the trials that no other trial dominates. `x` and `y` are columns;
// `signs` is 1 where less is better, else -1.
export function frontOf(trials, x, y, signs) {
  const points = trials.map(trial => ({ trial, x: signs[0] * x.at(trial), y: signs[1] * y.at(trial) })).filter(point => finite(point.x) && finite(point.y));
  points.sort((a, b) => a.x - b.x || a.y - b.y);
  let best = Infinity;
  return points.filter(point => { const is = point.y < best; if (is) best = point.y; return is; }).map(point => point.trial);
}

// Returns parts of configurations that these trials share and few others have: [{text, also: number
// of the others}].
export function sharedBy(some, others, parameters) {
  if (some.length < 2) return [];
  const found = [];
  for (const column of parameters) {
    const values = some.map(column.at);
    if (values.some(Number.isNaN)) continue;
    const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    if (column.kind === 'choice' && low !== high) continue;
    const also = others.filter(trial => { const value = column.at(trial); return value >= low && value <= high; }).length;
    if (also * 2 > others.length) continue;
    found.push({ text: `${plain(column.name)} ${low === high ? column.text(low) : `from ${column.text(low)} to ${column.text(high)}`}`, also });
  }
  return found.sort((a, b) => a.also - b.also).slice(0, 5);
}

const BINS = 5;

// Returns [{parameter, bins: [{value, or low and high; trials, best, median}]}] for trials with a
// value, like the trainer for a whole sweep.
export function marginalsOf(sweep, trials, columns) {
  const some = trials.filter(trial => finite(trial.value) && !trial.breaks);
  const order = (a, b) => better(sweep, a, b) ? -1 : 1;
  const bin = list => { const values = list.map(trial => trial.value).sort(order); return { trials: list.length, best: values[0], median: values[values.length >> 1] }; };
  return columns.parameters.map(column => {
    const known = some.filter(trial => !Number.isNaN(column.at(trial)));
    if (column.kind === 'choice') {
      const bins = column.choices.map((text, place) => [JSON.parse(text), known.filter(trial => column.at(trial) === place)]).filter(([, list]) => list.length > 0).map(([value, list]) => ({ value, ...bin(list) }));
      return { parameter: column.name, bins: bins.sort((a, b) => order(a.best, b.best)) };
    }
    known.sort((a, b) => column.at(a) - column.at(b));
    const bins = [];
    for (let from = 0; from < known.length;) {
      let to = Math.max(from + 1, Math.round((bins.length + 1) * known.length / BINS));
      while (to < known.length && column.at(known[to]) === column.at(known[to - 1])) to += 1;
      const list = known.slice(from, to);
      bins.push({ low: column.at(list[0]), high: column.at(list.at(-1)), ...bin(list) });
      from = to;
    }
    return { parameter: column.name, bins };
  }).filter(one => one.bins.length > 1);
}
