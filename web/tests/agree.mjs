// The same program does the same in the page's module as under `raddle run`: node agree.mjs RADDLE
// Every program of corpus/run writes what its `.expected` says, in turns and step by step; and passes as many messages
// as on one worker and on four. The course's exercises fail as they are, and pass with the changes of solutions.json.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Instance, expect, module, root, run } from './library.mjs';

const raddle = process.argv[2];
const keys = '12 keys\n';
// The report says in which file: here all are one.
const shown = (it, name) => it.screen + (it.status === 'failed' ? `${it.told.text}\n`.replaceAll('program.occ', name) : '');
// Runs `raddle`, beside others and beside what is done here in the meantime.
const queue = [];
let free = Math.max(2, availableParallelism() - 1);
const next = () => { if (free > 0 && queue.length) { free--; queue.shift()(); } };
const native = (args, input = '') => new Promise(done => {
  queue.push(() => {
    const it = spawn(raddle, args, { timeout: 300000 }), said = { stdout: '', stderr: '' };
    for (const name in said) it[name].setEncoding('utf8').on('data', words => said[name] += words);
    it.stdin.on('error', () => {}).end(input);
    it.on('error', error => { throw error; });
    it.on('close', status => { free++; next(); done({ ...said, status }); });
  });
  next();
});
const counted = async (file, ...options) => {
  const it = await native(['run', '--stats', ...options, file], keys);
  const found = /(\d+) processes, (\d+) messages/.exec(it.stderr);
  return found && [Number(found[1]), Number(found[2])];
};
const corpus = join(root, 'corpus/run');
const folder = mkdtempSync(join(tmpdir(), 'raddle-course-'));
let programs = 0, same = 0, bounded = 0;
const rows = [];
const asked = readdirSync(corpus).filter(it => it.endsWith('.occ')).sort().map(name => {
  const file = join(corpus, name);
  const counts = [counted(file, '--workers', '1'), counted(file, '--workers', '4')];
  return [name, file, Promise.all(counts), native(['build', '--ram', '16M', '-o', join(folder, `${name}.rbc`), file])];
});
for (const [name, file, counts, builds] of asked) {
  const text = readFileSync(file, 'utf8');
  const wanted = readFileSync(file.replace(/occ$/, 'expected'), 'utf8');
  programs++;
  const one = run(text, { keys });
  expect(`${name} writes something else:\n${shown(one, name)}\n--- wanted\n${wanted}`, shown(one, name) === wanted);
  const stepped = run(text, { keys, dispatches: 7, seed: 5n, turns: 3e6 });
  expect(`${name} writes something else in steps, seed 5`, shown(stepped, name) === wanted);
  // What `raddle build --ram` says of a program's frames is at least what it takes.
  const [said, natively] = [await builds, await counts];
  const frames = Number(/^  frames +(\d+)/m.exec(said.stdout)?.[1]);
  if (frames) {
    bounded++;
    expect(`${name} takes ${one.stats.memory} bytes of frames, and was said to take ${frames}`, one.stats.memory <= frames);
  }
  // Of one that fails others are still at work at that moment, and under which schedule decides what was counted.
  if (one.status !== 'done') continue;
  const page = [one.stats.processes, one.stats.messages];
  rows.push([name, ...page, ...natively.map(it => it?.[1])]);
  const agrees = natively.every(it => it && it[0] === page[0] && it[1] === page[1]);
  same += agrees;
  expect(`${name}: ${page} processes and messages, natively ${natively.join(' and ')}`, agrees);
}
console.log('program, processes, messages: in the page, on 1 worker, on 4 workers');
for (const [name, processes, ...messages] of rows) console.log(`${name.padEnd(24)}${String(processes).padStart(8)}${messages.map(it => String(it).padStart(10)).join('')}`);
console.log(`${programs} programs write the same; ${same} that end well pass as many messages as natively`);
console.log(`${bounded} of them take no more memory than they were said to`);
expect('there are programs', programs > 20 && same > 15 && bounded > 5);

const solutions = JSON.parse(readFileSync(join(root, 'web/tests/solutions.json'), 'utf8'));
const exercises = readdirSync(join(root, 'web/course')).filter(it => it.endsWith('.occ'));
expect('there are twelve exercises', exercises.length === 12);
const judged = exercises.flatMap(file => {
  const name = file.replace(/\.occ$/, ''), given = readFileSync(join(root, 'web/course', file), 'utf8');
  const solved = (solutions[name] ?? []).reduce((text, [from, to]) => text.replace(from, () => to), given);
  return [[given, false], [solved, true]].map(([text, passes]) => {
    const path = join(folder, `${passes}-${file}`);
    writeFileSync(path, text);
    return [name, text, passes, native(['test', path])];
  });
});
for (const [name, text, passes, test] of judged) {
  const checked = new Instance(module).check(text);
  const tests = checked.told.tests;
  // Under 16 seeds, as the page has at least 8.
  const well = checked.status === 'done' && tests.length > 0 && tests.every((test, at) => Array.from({ length: 16 }, (_, seed) => run(text, { test: at + 1, keys: test.input, seed, memory: 4 << 20 }))
    .every(it => it.status === 'done' && it.screen === test.output));
  expect(`${name}, solved: ${passes}, in the page`, well === passes);
  expect(`${name}, solved: ${passes}, by raddle test`, ((await test).status === 0) === passes);
}
rmSync(folder, { recursive: true });
console.log(`${exercises.length} exercises are judged alike`);
