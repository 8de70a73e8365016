// What the tests of the module share: the module itself, machine.js as the page has it, a run to its end.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
export const module = new WebAssembly.Module(readFileSync(join(root, 'target/web/wasm32-unknown-unknown/release/raddle_web.wasm')));
export const Instance = new Function(`${readFileSync(join(root, 'web/page/machine.js'), 'utf8')}; return Instance;`)();
let wrong = 0;
export const expect = (what, holds) => { if (!holds) { console.error(`wrong: ${what}`); process.exitCode = 1; wrong++; } };

// Runs a text to its end; what it has written, how it ended, what was counted. After `turns` it is given up.
export function run(text, { keys = '', turns = 20000, ...options } = {}) {
  const screen = [];
  const one = new Instance(module, (port, bytes) => screen.push(Buffer.from(bytes)));
  const started = one.start(text, options);
  if (started.status !== 'done') return { status: 'refused', told: started.told, screen: '' };
  new TextEncoder().encode(keys).forEach(byte => one.key(byte));
  one.key(-1);
  let said = { status: 'paused' };
  for (let turn = 0; turn < turns && (said.status === 'paused' || said.status === 'waits'); turn++) {
    // Who waits for a time is waited for; there is nothing else to do here.
    while (said.status === 'waits' && performance.now() < one.wakesAt);
    said = one.go(50, options.dispatches ?? 0);
  }
  return { ...said, screen: Buffer.concat(screen).toString(), stats: one.stats(), one };
}
