'use strict';
// Unpacks the data that Rust computed, and indexes them by thread. All times are in nanoseconds.
const $ = id => document.getElementById(id);
const F = JSON.parse($('f').textContent), N = F.names;

const time = ns => {
  const [v, u] = ns < 1e3 ? [ns, 'ns'] : ns < 1e6 ? [ns / 1e3, 'µs'] : ns < 1e9 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
  return v.toFixed(u === 'ns' || v >= 100 ? 0 : v >= 10 ? 1 : 2) + ' ' + u;
};

// A time with enough digits to distinguish times `step` apart.
const moment = (ns, step) => {
  const [scale, u] = ns < 1e3 ? [1, 'ns'] : ns < 1e6 ? [1e3, 'µs'] : ns < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  return (ns / scale).toFixed(Math.max(0, Math.ceil(Math.log10(scale / step)))) + ' ' + u;
};

async function unpack() {
  const text = atob($('d').textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const u = new Uint8Array(await new Response(stream).arrayBuffer());
  let at = 0;
  const number = () => { let n = 0, scale = 1; for (;;) { const b = u[at++]; n += (b & 127) * scale; if (b < 128) return n; scale *= 128; } };
  const column = () => { const n = number(), a = new Float64Array(n); for (let i = 0; i < n; i++) a[i] = number(); return a; };
  // Points or spans of time, each relative to the end of the one before.
  const times = lengths => {
    const begin = column(), length = lengths ? column() : null, end = lengths ? new Float64Array(begin.length) : begin;
    let last = F.begin;
    for (let i = 0; i < begin.length; i++) { begin[i] += last; if (length) end[i] = begin[i] + length[i]; last = end[i]; }
    return { begin, end };
  };
  const workers = [];
  for (let count = number(); count > 0; count--) {
    const w = { number: number() };
    Object.assign(w, times(true));
    w.thread = column(); w.why = column(); w.site = column();
    w.gap = times(true);
    w.gap.parts = F.classes.map(column);
    w.asleep = times(true); w.asleep.ns = column();
    w.wake = { at: times(false).begin, thread: column(), to: column() };
    w.busy = sums(w.begin, w.end);
    w.gap.sums = w.gap.parts.map(part => { const s = new Float64Array(part.length + 1); part.forEach((ns, i) => { s[i + 1] = s[i] + ns; }); return s; });
    workers.push(w);
  }
  // The events of OS threads that are not workers: the thread that they woke or, where `made` is 1, spawned.
  const outside = { at: times(false).begin, thread: column(), to: column(), who: column(), made: column() };
  // The program's own events, each relative to the begin of the one before.
  const ordered = () => { const a = column(); let last = F.begin; for (let i = 0; i < a.length; i++) { last += a[i]; a[i] = last; } return a; };
  const user = {};
  for (const kind of ['span', 'mark', 'counter']) user[kind] = { at: ordered(), value: column(), thread: column(), name: column() };
  // Messages between ranks, and the looks of the proxy.
  const message = { at: ordered(), before: column(), length: column(), waited: column(), bytes: column(), peer: column(), name: column(), exchange: column(), done: column() };
  const look = { at: ordered(), length: column(), found: column(), keeper: column() };
  return [workers, outside, user, message, look];
}

function sums(begin, end) {
  const s = new Float64Array(begin.length + 1);
  for (let i = 0; i < begin.length; i++) s[i + 1] = s[i] + end[i] - begin[i];
  return s;
}

// The first index in a sorted column whose value is not before x.
function indexFrom(a, x) { let l = 0, h = a.length; while (l < h) { const m = l + h >> 1; if (a[m] < x) l = m + 1; else h = m; } return l; }
// How long a worker ran before t: exact at every zoom.
function ran(w, t) { const i = indexFrom(w.begin, t); return i ? w.busy[i - 1] + Math.min(w.end[i - 1], t) - w.begin[i - 1] : 0; }

// How long a worker was idle in each class before t; within a gap its classes are spread evenly.
function idled(w, t, out) {
  const i = indexFrom(w.gap.begin, t);
  if (!i) return out.fill(0);
  const b = w.gap.begin[i - 1], part = Math.min(1, (t - b) / Math.max(1, w.gap.end[i - 1] - b));
  for (let c = 0; c < out.length; c++) out[c] = w.gap.sums[c][i - 1] + w.gap.parts[c][i - 1] * part;
  return out;
}

// Events of all workers by thread, each thread's by time; computed on first use.
function byThread(columnOf, all = W) {
  const columns = all.map(columnOf), start = new Uint32Array(N.length + 1), next = columns.map(() => 0);
  for (const c of columns) for (let i = 0; i < c.thread.length; i++) start[c.thread[i] + 1]++;
  for (let i = 0; i < N.length; i++) start[i + 1] += start[i];
  const total = start[N.length], r = new Uint16Array(total), i = new Uint32Array(total), at = new Float64Array(total), fill = start.slice();
  for (let n = 0; n < total; n++) {
    let least = -1;
    for (let k = 0; k < columns.length; k++)
      if (next[k] < columns[k].at.length && (least < 0 || columns[k].at[next[k]] < columns[least].at[next[least]])) least = k;
    const j = next[least]++, to = fill[columns[least].thread[j]]++;
    r[to] = least; i[to] = j; at[to] = columns[least].at[j];
  }
  // The index of a thread's first event that is not before t; its events end at start[thread + 1].
  const from = (thread, t) => { let l = start[thread], h = start[thread + 1]; while (l < h) { const m = l + h >> 1; if (at[m] < t) l = m + 1; else h = m; } return l; };
  return { start, r, i, at, from };
}
const once = make => { let made; return () => made ??= make(); };
const runs = once(() => byThread(w => ({ thread: w.thread, at: w.begin })));
// Wakes by OS threads come after the last worker's.
const wakes = once(() => byThread(w => w === OUT ? w : w.wake, [...W, OUT]));
const osThread = who => who ? 'OS thread ' + F.strings[who - 1] : 'an OS thread';

// What a slice had to wait for: the slice that woke its thread, or the thread's own previous slice. The rule is that of
// `analysis/path.rs`. `at` is the time of the cause; `ready` is the time since when the thread was ready, if it
// differs; `by` is the OS thread that woke it, if one did that is not a worker.
function cause(r, i) {
  const thread = W[r].thread[i], t = W[r].begin[i], R = runs(), K = wakes();
  const own = R.from(thread, t) - 1, before = own >= R.start[thread] ? { r: R.r[own], i: R.i[own] } : null;
  const k = K.from(thread, t + 1) - 1;
  if (k >= K.start[thread] && (!before || K.at[k] > W[before.r].begin[before.i])) {
    if (K.r[k] === W.length) {
      const by = osThread(OUT.who[K.i[k]]), at = K.at[k];
      return before ? { ...before, at: Math.min(t, W[before.r].end[before.i]), woke: false, asleep: true, ready: at, by } : { at, woke: true, by };
    }
    const w = W[K.r[k]], at = K.at[k], j = indexFrom(w.begin, at + 1) - 1;
    if (j >= 0 && at <= w.end[j] && !(K.r[k] === r && j === i)) return { r: K.r[k], i: j, at, woke: true };
    if (!before) return { at, woke: true };
  }
  if (!before) return null;
  const end = W[before.r].end[before.i], asleep = !F.still_ready[W[before.r].why[before.i]];
  // Since when it was ready; unknown if the wake was not recorded.
  const ready = !asleep ? end : k >= K.start[thread] && K.at[k] > end ? K.at[k] : t;
  return { ...before, at: end, woke: false, asleep, ready };
}
