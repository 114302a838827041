// Numbers, times and names as people read them.

export function number(value) {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'string') return value; // "NaN", "Infinity", digits beyond a double
  if (typeof value !== 'number') return JSON.stringify(value);
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString('en-US');
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(3).replace(/\.?0+e/, 'e');
  return String(Number(value.toPrecision(5)));
}

// Removes characters that could reverse or break the line from a name that a program chose.
export const plain = text => String(text).replace(/[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '·').slice(0, 1000);

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
function scaled(count) {
  let unit = 0;
  while (Math.abs(count) >= 1000 && unit < UNITS.length - 1) { count /= 1000; ++unit; }
  return [count, unit];
}
export function bytes(count) {
  if (count === null || count === undefined) return '–';
  const [value, unit] = scaled(count);
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${UNITS[unit]}`;
}
// Formats bytes with the same number of digits as number().
function bytesInFull(count) {
  if (!Number.isFinite(count)) return number(count);
  const [value, unit] = scaled(count);
  return `${Number(value.toPrecision(5))} ${UNITS[unit]}`;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  seconds = Math.max(0, seconds);
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

// Formats the time elapsed since an ISO 8601 time.
export function age(time, now = Date.now()) {
  return time ? duration((now - Date.parse(time)) / 1000) : '–';
}

export function clock(time) {
  return time ? new Date(time).toLocaleString('sv-SE') : '–';
}

export function plural(count, one, many = one + 's') {
  return `${number(count)} ${count === 1 ? one : many}`;
}

// A state is shown as a sign and a word, so that it can be recognised without colour.
const SIGNS = {
  running: '●', up: '●', pending: '◌', paused: '‖', waiting: '◌', stopping: '◐', starting: '◌', done: '✓', stopped: '■', 'stopped early': '◧',
  failed: '✗', lost: '✗', down: '✗', gone: '✗', suspect: '◐',
};
export const sign = state => SIGNS[state] || '·';

// Returns true for a tag measured by the yard rather than reported by the program.
export const isSystem = tag => tag.startsWith('sys/');

// Formats a value of this tag, for axes and legends.
export const textOfTag = tag => isSystem(tag) && /_bytes(_per_s)?$/.test(tag) ? bytesInFull : number;

// "train/loss" belongs to "train"; a tag without a slash belongs to the first group.
export function group(tag) {
  if (isSystem(tag)) return 'sys';
  const slash = tag.lastIndexOf('/');
  return slash < 0 ? '' : tag.slice(0, slash);
}

// A few colours and dashes that are distinguishable with colour blindness too.
const LIGHT = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c6d31', '#7f5fc5'];
const DARK = ['#4ea8ff', '#ff8c42', '#2dc08d', '#e59cc6', '#f0c04a', '#9fd8ff', '#c9a36a', '#b09cff'];
const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
export const colour = place => (isDark() ? DARK : LIGHT)[place % LIGHT.length];
export const dash = place => DASHES[Math.floor(place / LIGHT.length) % DASHES.length];
