// The site in Chromium: search, dark, a telephone, the playground inside, and every program that a page offers to run:
// node site.mjs FOLDER OF THE SITE [FOLDER FOR SCREENSHOTS]
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { call, close, expect, thrown, value } from '../../crates/raddle-trace/tests/foreign/chromium.mjs';
import { run } from './library.mjs';

const [site, pictures] = process.argv.slice(2);
const pages = readdirSync(site).filter(it => it.endsWith('.html') && it !== 'playground.html');
const until = async expression => { while (!await value(expression)) await value('new Promise(done => setTimeout(done, 20))'); };
const shoot = async name => { if (pictures) writeFileSync(join(pictures, name), Buffer.from((await call('Page.captureScreenshot', { format: 'png' })).data, 'base64')); };
const open = async page => {
  await call('Page.navigate', { url: 'about:blank' });
  await call('Page.navigate', { url: `file://${resolve(site)}/${page}` });
  await until(`location.protocol === 'file:' && document.readyState === 'complete'`);
};

// What is offered to run comes to an end in the page's module, and writes what stands below it.
let programs = 0;
const entities = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' };
for (const page of pages) {
  const text = readFileSync(join(site, page), 'utf8');
  for (const [, packed, below] of text.matchAll(/playground\.html#t=([\w-]+)"[^\n]*\n(?:<pre><code class="text">([^<]*)<)?/g)) {
    const program = Buffer.from(packed, 'base64url').toString();
    const it = run(program);
    const shown = below?.replace(/&\w+;/g, it => entities[it]).trimEnd();
    expect(`${page}: it is ${it.status} (${JSON.stringify(it.told)?.slice(0, 200)})\n${program}`, it.status === 'done');
    expect(`${page} shows\n${shown}\nand it writes\n${it.screen}`, shown === undefined || it.screen.trimEnd() === shown);
    programs++;
  }
}
expect(`there are programs to run: ${programs}`, programs >= 10);

await call('Log.enable');
await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'light' }] });
await open('index.html');
const paper = () => value('getComputedStyle(document.body).backgroundColor');
expect(`light: ${await paper()}`, await paper() === 'rgb(255, 255, 255)');
expect('who comes from elsewhere is led to what he needs', await value(`['Go', 'Rayon', 'threads', 'OpenMP', 'MPI', 'occam'].every(from => [...document.querySelectorAll('main a')].some(it => it.textContent === 'from ' + from))`));
await shoot('site.png');
// Search: a slash, words, Enter.
for (const type of ['keyDown', 'keyUp']) await call('Input.dispatchKeyEvent', { type, key: '/', code: 'Slash', ...(type === 'keyDown' && { text: '/' }) });
await call('Input.insertText', { text: 'memory board' });
await until(`document.querySelectorAll('#found a').length > 0`);
expect(`the page about boards is found: ${await value(`document.querySelector('#found a').href`)}`, /boards\.html/.test(await value(`[...document.querySelectorAll('#found a')].map(it => it.href).join(' ')`)));
await shoot('site-search.png');
for (const type of ['keyDown', 'keyUp']) await call('Input.dispatchKeyEvent', { type, key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, ...(type === 'keyDown' && { text: '\r' }) });
await until(`!/index\\.html/.test(location.href) && document.readyState === 'complete'`);
await value(`document.querySelector('#search input').value = '<img src=x onerror=alert(1)> zzzz'; look(); 0`);
expect('nothing is found of what is nowhere', await value(`document.querySelectorAll('#found a, #found img').length`) === 0);
// A program of a page opens in the playground, and runs there.
await open('occam.html');
expect('programs can be tried', await value(`document.querySelectorAll('.try').length`) > 8);
await value(`document.querySelector('.try').click(); 0`);
await until(`document.body?.dataset.ready === 'yes' && document.body.dataset.checked > 0`);
await value(`$('run').click(); 0`);
await until(`['ended', 'failed', 'refused'].includes(document.body.dataset.state)`);
expect(`it has ended: ${await value('document.body.dataset.state')}`, await value('document.body.dataset.state') === 'ended' && await value(`$('screen').textContent.length`) > 0);
// Dark, and a telephone: no page is wider than the screen.
await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
await open('tutorial.html');
expect(`dark: ${await paper()}`, await paper() === 'rgb(20, 25, 31)');
await shoot('site-dark.png');
await call('Emulation.setDeviceMetricsOverride', { width: 400, height: 850, deviceScaleFactor: 1, mobile: true });
for (const page of pages) {
  await open(page);
  expect(`${page} is as wide as the screen: ${await value('document.documentElement.scrollWidth')}`, await value('document.documentElement.scrollWidth') <= 400);
}
await open('minute.html');
await shoot('site-phone.png');
expect(`nothing was thrown: ${thrown.join('\n')}`, thrown.length === 0);
if (!process.exitCode) console.log(`the site works in Chromium: ${pages.length} pages, ${programs} programs to run`);
close();
