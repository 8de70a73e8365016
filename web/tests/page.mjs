// Opens the playground in Chromium and uses it: node page.mjs FILE.html [FOLDER FOR SCREENSHOTS]
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { call, close, expect, thrown, value } from '../../crates/raddle-trace/tests/foreign/chromium.mjs';

const [page, pictures] = process.argv.slice(2);
// Waits until the expression is true in the browser. The caller of this program sets the time limit.
const until = async expression => { while (!await value(expression)) await value('new Promise(done => setTimeout(done, 20))'); };
const shoot = async name => { if (pictures) writeFileSync(join(pictures, name), Buffer.from((await call('Page.captureScreenshot', { format: 'png' })).data, 'base64')); };

await call('Log.enable');
const open = async (hash = '') => {
  await call('Page.navigate', { url: 'about:blank' });
  await call('Page.navigate', { url: 'file://' + resolve(page) + hash });
  await until(`document.body?.dataset.ready === 'yes' && document.body.dataset.checked > 0`);
};
const type = async words => { await value(`text.value = ${JSON.stringify(words)}; text.dispatchEvent(new Event('input')); 0`); await until('document.body.dataset.checked == version'); };
const click = id => value(`$('${id}').click()`);
const state = () => value('document.body.dataset.state');
const choose = async name => { await value(`$('programs').value = ${JSON.stringify(name)}; $('programs').onchange(); 0`); await until('document.body.dataset.checked == version'); };
const ended = `['ended', 'failed', 'crashed', 'refused', 'stopped'].includes(document.body.dataset.state)`;

await open();
expect('there are programs and exercises', await value('LIBRARY.length') >= 18);
// What is typed key by key stands there, and is complained of at its place.
await value(`text.focus(); text.select(); 0`);
await call('Input.insertText', { text: 'PROC main (CHAN BYTE keyboard?, screen!, error!)' });
for (const step of [['Enter'], ['INT x:'], ['Enter'], ['PAR'], ['Enter'], ['x := 1'], ['Enter'], ['x := 2']]) {
  if (step[0] === 'Enter') for (const type of ['keyDown', 'keyUp']) await call('Input.dispatchKeyEvent', { type, key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, ...(type === 'keyDown' && { text: '\r' }) });
  else await call('Input.insertText', { text: step[0] });
}
await value(`text.value += '\\n:\\n'; text.dispatchEvent(new Event('input')); 0`);
await until('document.body.dataset.checked == version');
expect(`Enter keeps and opens blocks: ${await value('text.value')}`, (await value('text.value')).includes('\n  PAR\n    x := 1\n    x := 2\n'));
expect(`a race is complained of: ${await value(`$('messages').textContent`)}`, /O0701/.test(await value(`$('messages').textContent`)));
expect('its line is marked', await value(`$('marks').querySelector('u.error') !== null && /<b>[45]<.b>/.test($('numbers').innerHTML)`));
await value(`$('messages').firstChild.click(); 0`);
await until(`/O0701/.test($('results').textContent)`);
await shoot('message.png');
// A program runs, and its count is that of `raddle run`: six numbers, each of them twice over a channel.
await choose('1-hello');
await click('run');
await until(ended);
expect(`it has ended: ${await state()}`, await state() === 'ended');
expect('its output is on the screen', await value(`$('screen').textContent`) === 'Hello from a process\n');
expect(`its communications: ${await value(`$('state').textContent`)}`, await value(`$('state').dataset.messages`) === '42');
// One that never ends freezes nothing, and can be stopped.
await choose('2-primes');
await click('run');
await until(`/97/.test($('screen').textContent) && $('network').querySelectorAll('circle').length > 20`);
await shoot('primes.png');
expect(`it runs: ${await state()}`, ['running', 'waits'].includes(await state()));
await click('stop');
await until(ended);
expect('it was stopped', await state() === 'stopped');
// Who may write to the screen is drawn beside it.
await choose('4-commstime');
await click('run');
await until(`$('network').querySelectorAll('rect').length === 1 && /screen/.test($('network').textContent)`);
await click('stop');
await until(ended);
await type(`PROC main (CHAN BYTE keyboard?, screen!, error!)\n  WHILE TRUE\n    screen ! 'x'\n:\n`);
await click('run');
await until(`$('screen').textContent.length > 40000`);
await click('stop');
await until(ended);
expect('a flood is cut', await value(`$('screen').textContent.length`) <= 50000);
// A deadlock is told, drawn and shown in the text.
await choose('3-philosophers');
await click('run');
await until(ended);
expect('it has failed', await state() === 'failed');
expect('there is a report', /deadlock: 1\d processes wait/.test(await value(`$('account').textContent`)));
await until(`$('picture').complete && $('picture').naturalWidth > 100`);
expect('the network is drawn', await value(`$('network').querySelectorAll('circle').length`) === 10);
expect('and its channels', await value(`$('network').querySelectorAll('path[marker-end]').length`) === 10);
await value(`$('report').scrollIntoView(); 0`);
await shoot('deadlock.png');
await value(`$('net').scrollIntoView(); 0`);
await shoot('network.png');
// Steps under a seed: on and back come to the same places.
await value(`$('seed').value = 7; 0`);
const look = () => value(`$('state').textContent + '|' + [...$('network').querySelectorAll('title')].map(it => it.textContent).sort().join()`);
// The page has been told of a new state since, and stands.
const stepped = async id => { const before = await value('told'); await click(id); await until(`told > ${before} && document.body.dataset.state === 'paused'`); return look(); };
const seen = [];
for (let count = 0; count < 8; count++) seen.push(await stepped('step'));
expect('something changes in eight steps', new Set(seen).size > 3);
let back;
for (let count = 0; count < 4; count++) back = await stepped('back');
expect(`back at the fourth: ${back}\n${seen[3]}`, back === seen[3]);
expect('the timeline has a column for each look, a row for each process', await value("looks.length") >= 1 && await value("rows.size") >= 2 && await value("document.getElementById(\"timeline\").height") > 30);
await click('run');
await until(ended);
// The keyboard: a key ends the clock.
await choose('5-keyboard');
await click('run');
await until(`document.body.dataset.state === 'waits'`);
await value(`$('keys').focus(); 0`);
await call('Input.insertText', { text: 'q' });
await until(ended);
expect(`the key has arrived: ${await value(`$('screen').textContent`)}`, /you typed q/.test(await value(`$('screen').textContent`)) && await state() === 'ended');
// An exercise fails, and passes when solved.
await choose('01-screen');
await click('test');
await until(`document.body.dataset.tested === 'false'`);
await value(`text.value = text.value.replace('    -- what is missing?\\n', "    screen ! 'i'\\n"); text.dispatchEvent(new Event('input')); 0`);
await until('document.body.dataset.checked == version');
await click('test');
await until(`document.body.dataset.tested === 'true'`);
await shoot('course.png');
// The link carries text and seed; what is damaged in one, or no program at all, harms nothing.
await type('-- été <script>alert(1)</script>\nPROC main (CHAN BYTE keyboard?, screen!, error!)\n  SKIP\n:\n');
const words = await value('text.value');
await value(`$('seed').value = 11; saveLink()`);
await until('document.body.dataset.saved == version');
const hash = await value('location.hash');
await open(hash);
expect('the link brings the text', await value('text.value') === words);
expect('and the seed', await value(`$('seed').value`) === '11');
for (const bad of ['#z=AAAA', '#z=%00', '#z=' + 'A'.repeat(50000), '#program=constructor', '#seed=-1&z=']) {
  await open(bad);
  expect(`a text stands there after ${bad.slice(0, 20)}`, (await value('text.value')).length >= 0 && await value('document.body.dataset.ready') === 'yes');
}
await open('#t=' + Buffer.from('\n'.repeat(6000)).toString('base64url'));
expect(`a program that is too long is not opened: ${await value(`$('state').textContent`)}`, /too long/.test(await value(`$('state').textContent`)) && (await value('text.value')).length < 5000);
await open('#program=2-primes');
expect('a link may name a program', /sieve/.test(await value('text.value')));
// A telephone.
await call('Emulation.setDeviceMetricsOverride', { width: 400, height: 850, deviceScaleFactor: 1, mobile: true });
await call('Emulation.setTouchEmulationEnabled', { enabled: true });
await open('#program=3-philosophers');
await click('run');
await until(`${ended} && $('network').clientWidth > 0`);
expect(`nothing is wider than the screen: ${await value('document.documentElement.scrollWidth')}`, await value('document.documentElement.scrollWidth') <= 400);
await value('scrollTo(0, 0)');
await shoot('phone.png');
await value(`$('net').scrollIntoView(); 0`);
await shoot('phone-network.png');
await call('Emulation.clearDeviceMetricsOverride');
await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
await open('#program=3-philosophers');
await click('run');
await until(ended);
await shoot('dark.png');
expect(`nothing was thrown: ${thrown.join('\n')}`, thrown.length === 0);
if (!process.exitCode) console.log('the playground works in Chromium');
close();
