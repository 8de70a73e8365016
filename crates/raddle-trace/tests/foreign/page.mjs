// Opens the page of a trace in Chromium and uses it: node page.mjs FILE.html [SCREENSHOT.png]
// Speaks the browser's debugging protocol over two pipes; nothing needs to be installed but node and chromium.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const [page, picture] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'raddle-page-'));
const browser = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', `--user-data-dir=${folder}`, '--window-size=1400,900', '--remote-debugging-pipe', 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const waiting = new Map(), thrown = [];
let number = 0, rest = '', session;
browser.stdio[4].on('data', bytes => {
  const parts = (rest + bytes).split('\0');
  rest = parts.pop();
  for (const message of parts.map(part => JSON.parse(part))) {
    if (message.method === 'Runtime.exceptionThrown') thrown.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
    // A page that loads itself anew, as it does when the colours of the system change, answers nothing that was asked.
    const reloads = message.error?.message === 'Inspected target navigated or closed';
    if (message.error && !reloads) throw new Error(JSON.stringify(message.error));
    waiting.get(message.id)?.(message.result);
  }
});
const call = (method, params = {}) => new Promise(done => {
  waiting.set(++number, done);
  browser.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId: session }) + '\0');
});
const value = async expression => (await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }))?.result?.value;
// Waits until the expression is true in the browser. The caller of this program sets the time limit.
const until = async expression => { while (!await value(expression)) await value('new Promise(done => requestAnimationFrame(done))'); };
const expect = (what, holds) => { if (!holds) { console.error(`wrong: ${what}`); process.exitCode = 1; } };

const { targetInfos } = await call('Target.getTargets');
session = (await call('Target.attachToTarget', { targetId: targetInfos.find(t => t.type === 'page').targetId, flatten: true })).sessionId;
await call('Runtime.enable');
await call('Page.enable');
await call('Page.navigate', { url: 'file://' + resolve(page) });
await until('!!document.body?.dataset.loadMs');
console.log(`loaded in ${await value('document.body.dataset.loadMs')} ms: ${await value('$("facts").textContent')}`);
console.log(await value('$("verdict").textContent'));
expect('the verdict is there', / workers busy/.test(await value('$("verdict").textContent')));

const coloured = track => value(`(() => { const d = g.getImageData(LEFT * devicePixelRatio, (trackTop(${track}) + 2) * devicePixelRatio, 1000, 20).data; let n = 0; for (let i = 0; i < d.length; i += 4) if (d[i] < 200 || d[i + 2] < 200) n++; return n; })()`);
const workers = await value('W.length');
for (let track = 0; track < workers; track++) expect(`something is drawn for worker ${track}`, await coloured(track) > 0);

const key = async name => { for (const type of ['keyDown', 'keyUp']) await call('Input.dispatchKeyEvent', { type, key: name, text: name }); };
await key('g');
expect('the longest gap is selected', / idle for /.test(await value('$("picked").textContent')));
// The longest gap may be the last, which nothing ended, or one that a timer ended. But where few messages cross workers
// often, as in the trace that this test is run on, some gap was ended by a slice on another worker.
const gap = await value(`(() => { for (let r = 0; r < W.length; r++) for (let i = W[r].gap.end.length; i-- > 0;) {
  pick(r, i, true); const run = pickedRun(), c = run && cause(run.r, run.i);
  if (c && c.woke && c.r !== undefined && c.r !== r) return r + ":" + W[r].gap.end[i]; } return null; })()`);
expect('some gap was ended by a slice on another worker', gap !== null);
await key('b');
expect(`what ended the gap ${gap} has a cause`, / ran .* on worker /.test(await value('$("picked").textContent')));
await key('p');
expect(`the path goes back from there: ${await value('path && path.steps.length')}`, await value('path && path.steps.length > 1 && path.steps.every((s, n) => !n || s.from >= path.steps[n - 1].from)'));
await value('addTrack(N[0]); addTrack(F.labels[F.label_of[0]])');
expect('tracks are there', await value('tracks.length') >= 1);
expect('the OS thread that spawned the first thread has a track', await value('addTrack(OUTSIDE); tracks.some(track => track.outside)'));
await until('location.hash.includes("track=")');
await value('show(F.begin + (F.end - F.begin) / 4, F.begin + (F.end - F.begin) / 2)');
const hash = await value('new Promise(done => setTimeout(() => done(location.hash), 300))');
await value(`tracks = []; show(F.begin, F.end); location.hash = '#0-1'; new Promise(done => setTimeout(done))`);
await value(`location.hash = ${JSON.stringify(hash)}; new Promise(done => setTimeout(done))`);
await until('tracks.length >= 1 && from > F.begin');
await value('$("search").value = N[0]; search()');
expect('a name is found', await value('found.set.size') >= 1);
const pan = await value(`new Promise(done => { let n = 0; const begun = performance.now(), took = []; const step = () => {
  const s = (F.end - F.begin) / 2, a = performance.now(); from = F.begin + s * n / 60; to = from + s; draw(); took.push(performance.now() - a);
  if (++n < 60) requestAnimationFrame(step); else done([1e3 * n / (performance.now() - begun), took.sort((a, b) => a - b)[30]]); }; step(); })`);
console.log(`${pan[0].toFixed(0)} frames a second while panning, ${pan[1].toFixed(1)} ms to draw one`);
const shoot = async name => { if (picture) writeFileSync(name, Buffer.from((await call('Page.captureScreenshot', { format: 'png' })).data, 'base64')); };
await shoot(picture);
const paper = () => value('[...g.getImageData(canvas.width - 2, canvas.height - 2, 1, 1).data].slice(0, 3).join()');
const light = await paper();
await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
await until('document.body?.dataset.loadMs && P.paper !== "#fff"');
expect(`dark is another colour than ${light}: ${await paper()}`, light === '255,255,255' && await paper() === '20,25,31');
await shoot(picture?.replace(/\.png$/, '.dark.png'));
expect('no exception', thrown.length === 0);
thrown.forEach(text => console.error(text));
// The browser's own helpers may write there a moment longer than it lives.
browser.once('exit', () => { rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }); });
browser.kill();
