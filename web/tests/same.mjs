// The programs of boards/programs/same.txt write and communicate in the page's module what is said there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, root, run } from './library.mjs';

const folder = join(root, 'boards/programs');
for (const line of readFileSync(join(folder, 'same.txt'), 'utf8').split('\n').filter(it => it && it[0] !== '#')) {
  const [program, messages, typed, written] = line.split('|');
  const it = run(readFileSync(join(folder, `${program}.occ`), 'utf8'), { keys: typed });
  console.log(`${program}, in a page: ${it.stats.messages} messages, \`${it.screen.trim()}\``);
  expect(`${program}: ${messages} messages, \`${written}\``, it.stats.messages === Number(messages) && it.screen.trim() === written);
}
