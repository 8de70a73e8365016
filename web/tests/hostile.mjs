// The module with texts that nobody would write: it answers each, or traps, and the next instance works; no text takes
// long to check or keeps a turn. node hostile.mjs
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Instance, expect, module, root, run } from './library.mjs';

let state = 1;
const random = below => { state ^= state << 13; state ^= state >>> 17; state ^= state << 5; return (state >>> 0) % below; };
const folder = join(root, 'corpus/run');
const texts = readdirSync(folder).filter(it => it.endsWith('.occ')).map(it => readFileSync(join(folder, it), 'utf8'));
const counts = {};
const answer = (what, act) => {
  let status;
  try { status = act().status; } catch (error) {
    // A trap ends the instance; it must be one of WebAssembly's or the engine's own, not of this program.
    expect(`${what}: ${error}`, error instanceof WebAssembly.RuntimeError || error instanceof RangeError);
    status = 'trapped';
  }
  counts[status] = (counts[status] ?? 0) + 1;
  return status;
};
for (let round = 0; round < 1500; round++) {
  const bytes = [...Buffer.from(texts[random(texts.length)])];
  for (let change = 0; change < 1 + random(4) && bytes.length; change++) {
    const at = random(bytes.length);
    switch (random(4)) {
      case 0: bytes[at] = random(256); break;
      case 1: bytes.splice(at, random(40)); break;
      case 2: bytes.splice(at, 0, ...bytes.slice(random(bytes.length)).slice(0, random(60))); break;
      default: bytes.length = at;
    }
  }
  const text = Uint8Array.from(bytes);
  const status = answer(`damaged text ${round}`, () => new Instance(module).check(text));
  expect(`damaged text ${round} does not trap`, status !== 'trapped');
  if (round % 10 === 0) answer(`layout of ${round}`, () => new Instance(module).format(text));
  if (status === 'done') answer(`run of ${round}`, () => run(text, { turns: 3, memory: 1 << 20 }));
}
const main = body => `PROC main (CHAN BYTE keyboard?, screen!, error!)\n${body}:\n`;
const nested = (count, open, close) => main(`  INT x:\n  x := ${open.repeat(count)}1${close.repeat(count)}\n`);
const blocks = count => main(Array.from({ length: count }, (_, at) => `${'  '.repeat(at + 1)}SEQ\n`).join('') + `${'  '.repeat(count + 1)}SKIP\n`);
for (const [what, text] of [
  ['nothing', ''], ['zeros', '\0'.repeat(1000)], ['one line', 'x'.repeat(1e6)], ['lines', '\n'.repeat(1e6)],
  ['parentheses', nested(20000, '(', ')')], ['brackets', nested(20000, '[', ']')], ['minus', nested(50000, '- ', '')], ['blocks', blocks(1000)],
]) {
  const begun = performance.now();
  answer(what, () => new Instance(module).check(text));
  console.log(`${what}: ${(performance.now() - begun).toFixed(0)} ms`);
}
// A program that never ends, one that has no memory left, one that writes without end: a turn ends all the same.
const endless = main('  WHILE TRUE\n    SKIP\n');
const writes = main("  WHILE TRUE\n    screen ! 'x'\n");
const forks = main('  PROC more ()\n    PAR\n      STOP\n      STOP\n  :\n  PAR i = 0 FOR 10000000\n    more ()\n');
for (const [what, text, wanted] of [['endless', endless, 'paused'], ['writes', writes, 'paused'], ['forks', forks, 'failed']]) {
  const it = run(text, { turns: what === 'forks' ? 10000 : 5, memory: 1 << 20 });
  expect(`${what} is ${it.status}`, it.status === wanted);
  if (what === 'writes') expect(`a turn ends where the page has enough to show: ${it.screen.length}`, it.screen.length <= 5 * (1 << 17));
  if (what !== 'forks') expect('the network of it can be shown', it.one.network(60).processes.length === 1);
}
// What is said of a deadlock holds in the page: philosophers of whom each has one fork.
const philosophers = readFileSync(join(root, 'web/examples/3-philosophers.occ'), 'utf8');
const held = run(philosophers);
expect('philosophers come to a deadlock', held.status === 'failed' && /deadlock/.test(held.told.headline) && held.told.svg.startsWith('<svg'));
const net = held.one.network(60);
expect(`ten channels, each with two ends: ${JSON.stringify(net.channels.map(it => it.name))}`, net.channels.length === 10 && net.channels.every(it => it.writers.length === 1 && it.readers.length === 1 && /^(left|right)\[\d\]$/.test(it.name)));
expect('an answer for a code', new Instance(module).explain('O0703').told.title.length > 5 && new Instance(module).explain('x').status === 'nothing');
expect('a second run in one instance is refused by nobody', (() => { const one = new Instance(module); return one.start(endless).status === 'done' && one.start(endless).status === 'done' && one.go(1).status === 'paused'; })());
expect('without a program there is nothing to do', new Instance(module).go(1).status === 'nothing');
console.log(JSON.stringify(counts));
