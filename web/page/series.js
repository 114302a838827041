// Decodes the format of web/api/series_format.h. Pure.

const TYPES = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, i64: BigInt64Array };

function read(buffer, place, count) {
  if (!place) return null;
  return new TYPES[place.type](buffer, place.at, count);
}

// Converts to doubles, with which charts compute.
function steps(buffer, place, count) {
  const raw = read(buffer, place, count);
  if (!raw) return null;
  const out = new Float64Array(count);
  const base = place.base === undefined ? 0 : Number(place.base);
  for (let i = 0; i < count; ++i) out[i] = Number(raw[i]) + base;
  return out;
}

// Returns [{run, tag, points, incomplete, n, first, last (steps), time, min, max, value, nan,
// smooth, x}].
export function decode(buffer) {
  const head = new Uint8Array(buffer, 0, 8);
  if (String.fromCharCode(...head.subarray(0, 4)) !== 'YSR1') throw new Error('the answer is no series');
  const length = new DataView(buffer).getUint32(4, true);
  const text = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  return text.series.map(series => {
    const n = series.columns;
    const first = steps(buffer, series.first_step, n) || new Float64Array(0);
    const value = read(buffer, series.last, n) || new Float64Array(0);
    return {
      run: series.run, tag: series.tag, points: series.points, incomplete: series.incomplete, n,
      first, last: steps(buffer, series.last_step, n) || first,
      time: read(buffer, series.time, n) || new Float64Array(0),
      value, min: read(buffer, series.min, n) || value, max: read(buffer, series.max, n) || value,
      nan: read(buffer, series.nan, n),
      smooth: read(buffer, series.smooth, n), x: read(buffer, series.x, n),
    };
  });
}
