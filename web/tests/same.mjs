// The same program, the same output, the same count of messages: on boards, in a page, on 1 and 8 workers, as machine
// code. node everywhere.mjs RADDLE [RADDLE_NATIVE]; images for the boards lie beside RADDLE.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, root, run } from './library.mjs';

const [, , raddle, native] = process.argv;
const programs = { alternation: '', echo: 'the same.', granularity: '' };
const folder = mkdtempSync(join(tmpdir(), 'raddle-everywhere-'));
const start = (program, args, input) => {
  const it = spawnSync(program, args, { input, encoding: 'utf8', timeout: 300000 });
  if (it.error || it.status !== 0) console.error(`${program} ${args.join(' ')}: ${it.error ?? it.status}\n${it.stdout}${it.stderr}`);
  return it;
};
const counted = text => Number(/(\d+) messages/.exec(text)?.[1]);
const natively = (program, ...options) => (file, keys) => {
  const it = start(program, ['run', '--stats', ...options, file], keys);
  return [it.stdout.trim(), counted(it.stderr)];
};
const onBoard = board => (file, keys) => {
  const it = start(raddle, ['flash', '--board', board, '--run', '-o', join(folder, 'firmware.bin'), file], keys);
  return [it.stdout.split('\nraddle: ')[0].trim(), counted(it.stdout.split('\nraddle: ')[1])];
};
const inPage = (file, keys) => {
  const it = run(readFileSync(file, 'utf8'), { keys });
  return [it.screen.trim(), it.stats.messages];
};
const places = {
  lm3s6965evb: onBoard('lm3s6965evb'), sifive_e: onBoard('sifive_e'), microbit: onBoard('microbit'), page: inPage,
  '1 worker': natively(raddle, '--workers', '1'), '8 workers': natively(raddle, '--workers', '8'),
  ...native && { 'machine code': natively(native, '--native', '--workers', '2') },
};
console.log(`${'messages'.padEnd(14)}${Object.keys(places).map(it => it.padStart(13)).join('')}`);
for (const [name, keys] of Object.entries(programs)) {
  const file = join(root, 'boards/programs', `${name}.occ`);
  const all = Object.entries(places).map(([place, runs]) => [place, ...runs(file, keys)]);
  const [, output, messages] = all[0];
  for (const [place, wrote, passed] of all) {
    expect(`${name}, ${place}: writes ${JSON.stringify(wrote)}, not ${JSON.stringify(output)}`, wrote === output && output !== '');
    expect(`${name}, ${place}: ${passed} messages, not ${messages}`, passed === messages && messages > 0);
  }
  console.log(`${name.padEnd(14)}${all.map(it => String(it[2]).padStart(13)).join('')}  ${output}`);
}
rmSync(folder, { recursive: true });
