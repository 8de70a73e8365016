// commstime of the page beside the native interpreter's, one after the other, again and again.
// node speed.mjs RADDLE [PAGE.html], with a `raddle` of a release build; with a page, in Chromium, too.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Instance, module, root } from './library.mjs';

const [, , raddle, page] = process.argv, ROUNDS = 7, LINES = 4;
const file = join(root, 'web/examples/4-commstime.occ'), text = readFileSync(file, 'utf8');
// The first line is of a program that has just begun.
const figures = words => words.split('\n').slice(1, LINES).map(line => parseInt(line, 10));
const natively = () => new Promise(done => {
  const it = spawn(raddle, ['run', '--workers', '1', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  let words = '';
  it.stdout.setEncoding('utf8').on('data', part => { words += part; if (words.split('\n').length > LINES) it.kill(); });
  it.on('close', () => done(figures(words)));
});
const underNode = () => {
  let words = '';
  const one = new Instance(module, (port, bytes) => words += Buffer.from(bytes));
  one.start(text);
  while (words.split('\n').length <= LINES) one.go(12);
  return figures(words);
};
let browser;
const inChromium = async () => {
  browser ??= await import('../../crates/raddle-trace/tests/foreign/chromium.mjs');
  const until = async what => { while (!await browser.value(what)) await browser.value('new Promise(done => setTimeout(done, 20))'); };
  await browser.call('Page.navigate', { url: 'about:blank' });
  await browser.call('Page.navigate', { url: `file://${resolve(page)}#program=4-commstime` });
  await until(`document.body?.dataset.ready === 'yes' && document.body.dataset.checked > 0`);
  await browser.value(`$('run').click()`);
  await until(`$('screen').textContent.split('\\n').length > ${LINES}`);
  const words = await browser.value(`$('screen').textContent`);
  await browser.value(`$('stop').click()`);
  return figures(words);
};
const places = { natively, 'under Node': underNode, ...page && { 'in Chromium': inChromium } };
const all = Object.fromEntries(Object.keys(places).map(place => [place, []]));
for (let round = 0; round < ROUNDS; round++) for (const place in places) all[place].push(...await places[place]());
const median = them => [...them].sort((one, other) => one - other)[them.length >> 1];
const base = median(all.natively);
for (const [place, them] of Object.entries(all)) console.log(`${place.padEnd(12)} ${median(them)} ns a loop, ${Math.min(...them)} to ${Math.max(...them)}; ${(median(them) / base).toFixed(2)} of native`);
browser?.close();
