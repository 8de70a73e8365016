// Opens the page of a trace in Chromium and uses it: node page.mjs FILE.html [SCREENSHOT.png]
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { call, close, expect, thrown, value } from './chromium.mjs';

const [page, picture] = process.argv.slice(2);
// Waits until the expression is true in the browser. The caller of this program sets the time limit.
const until = async expression => { while (!await value(expression)) await value('new Promise(done => requestAnimationFrame(done))'); };

await call('Page.navigate', { url: 'file://' + resolve(page) });
await until('!!document.body?.dataset.loadMs');
console.log(`loaded in ${await value('document.body.dataset.loadMs')} ms: ${await value('$("facts").textContent')}`);
console.log(await value('$("verdict").textContent'));
expect('the verdict is there', / workers busy/.test(await value('$("verdict").textContent')));

const coloured = track => value(`(() => { const d = g.getImageData(LEFT * devicePixelRatio, (trackTop(${track}) + 2) * devicePixelRatio, 1000, 20).data; let n = 0; for (let i = 0; i < d.length; i += 4) if (d[i] < 200 || d[i + 2] < 200) n++; return n; })()`);
const workers = await value('W.length');
for (let track = 0; track < workers; track++) expect(`something is drawn for worker ${track}`, await coloured(track) > 0);

const key = async name => { for (const type of ['keyDown', 'keyUp']) await call('Input.dispatchKeyEvent', { type, key: name, ...(name.length === 1 ? { text: name } : {}) }); };
// The range in view as parts of the run, after some keys.
const view = () => value('[(from - F.begin) / (F.end - F.begin), (to - F.begin) / (F.end - F.begin)]');
const after = async (...names) => { await value('canvas.blur(); zoom.at = undefined; show(F.begin + (F.end - F.begin) * .4, F.begin + (F.end - F.begin) * .6)'); for (const name of names) await key(name); return view(); };
const near = (a, b) => Math.abs(a - b) < 1e-6;
for (const [names, begin, end] of [
  [['d'], .44, .64], [['a'], .36, .56], [['ArrowRight'], .44, .64], [['ArrowLeft'], .36, .56], [['D'], .44, .64],
  [['w'], .44, .56], [['+'], .44, .56], [['='], .44, .56], [['s'], .34, .66], [['-'], .34, .66], [['w', 's', '0'], 0, 1],
  [['ArrowUp'], .4, .6],
]) { const seen = await after(...names); expect(`${names} shows ${begin} to ${end}: ${seen}`, near(seen[0], begin) && near(seen[1], end)); }
// The arrows that scroll a page zoom where the timeline has the focus.
for (const [name, begin, end] of [['ArrowUp', .44, .56], ['ArrowDown', .34, .66], ['Home', 0, .2], ['End', .8, 1]]) {
  await after(); await value('canvas.focus()'); await key(name);
  const seen = await view();
  expect(`${name} in the timeline shows ${begin} to ${end}: ${seen}`, near(seen[0], begin) && near(seen[1], end));
}
await key('0');
await value('canvas.blur(); show(F.begin, F.end); new Promise(done => setTimeout(done, 300))');
// The legend of runs adds up to what ran: its shares are those of the table of workers, the kernel's part included.
const legend = await value(`[...$('runs').querySelectorAll('span')].map(e => ({ words: e.textContent, colour: getComputedStyle(e.firstChild).backgroundColor }))`);
const shares = legend.reduce((sum, e) => sum + (+/([\d.]+) %$/.exec(e.words)?.[1] || 0), 0);
const ran = await value('100 * F.stats.workers.reduce((sum, w) => sum + w.ran_ns, 0) / F.stats.wall_ns / W.length');
expect(`the legend of runs adds up to ${ran} %: ${JSON.stringify(legend)}`, legend.length > 0 && Math.abs(shares - ran) < .1 * legend.length + .1);
expect('its labels differ in colour', new Set(legend.map(e => e.colour)).size === legend.length);
await value(`tracks = []; $('runs').querySelector('button').click()`);
expect('a click in the legend adds a track', await value('tracks.length === 1 && tracks[0].name === [...F.labels].find(l => $("runs").querySelector("button").title.startsWith(l + ":"))'));
await value('tracks = []; draw()');
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
// A telephone: 420 pixels, fingers.
const settled = () => value('new Promise(done => setTimeout(done, 300))');
await call('Emulation.setDeviceMetricsOverride', { width: 420, height: 900, deviceScaleFactor: 1, mobile: true });
await call('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 2 });
await until('isNarrow() && canvas.clientWidth === 420');
await value('addTrack(N[0]); draw()');
await settled();
// All but the report, which is text for a terminal and has a scroll bar of its own.
const cut = await value(`[...document.querySelectorAll('body *')].filter(e => e.id !== 'report' && (e.getBoundingClientRect().right > innerWidth || (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline'))).map(e => e.outerHTML.slice(0, 80))`);
expect(`nothing is cut at 420 pixels: ${JSON.stringify(cut)}`, cut.length === 0 && await value('document.documentElement.scrollWidth <= 420'));
expect('something is drawn there', await value('g.getImageData(LEFT, trackTop(0), 380, BAR).data.some((x, i) => i % 4 < 3 && x < 200)'));
const box = await value('(() => { canvas.scrollIntoView({ block: "center" }); const b = canvas.getBoundingClientRect(); return [b.left, b.top + trackTop(0) + 10]; })()');
const touch = (type, ...xs) => call('Input.dispatchTouchEvent', { type, touchPoints: xs.map((x, id) => ({ x: box[0] + x, y: box[1], id })) });
await value('show(F.begin + (F.end - F.begin) * .4, F.begin + (F.end - F.begin) * .6)');
const before = [await value('T(100)'), await value('[T(150), T(250)]')];
await touch('touchStart', 100);
for (const x of [120, 160, 200]) await touch('touchMove', x);
await touch('touchEnd');
expect('a finger takes along what is below it', await value(`Math.abs(T(200) - ${before[0]}) < span() / 100`));
await value('show(F.begin + (F.end - F.begin) * .4, F.begin + (F.end - F.begin) * .6)');
await touch('touchStart', 150, 250);
for (const by of [20, 50, 80]) await touch('touchMove', 150 - by, 250 + by);
await touch('touchEnd');
expect('two fingers zoom, and keep what is below them', await value(`Math.abs(T(70) - ${before[1][0]}) + Math.abs(T(330) - ${before[1][1]}) < span() / 100`));
await value('picked = null; $("picked").textContent = ""; show(F.begin, F.end)');
// At a place where something is: the middle of the longest slice or gap of the first worker.
const longest = await value(`(() => { let best = [0, 0]; for (const a of [W[0], W[0].gap]) for (let i = 0; i < a.end.length; i++)
  if (a.end[i] - a.begin[i] > best[1] - best[0]) best = [a.begin[i], a.end[i]]; return X((best[0] + best[1]) / 2); })()`);
await touch('touchStart', longest);
await touch('touchEnd');
expect('a tap selects', await value('picked !== null && $("picked").textContent !== ""'));
await value('picked = null; draw(); scrollTo(0, 0)');
await settled();
await shoot(picture?.replace(/\.png$/, '.420.png'));
await call('Emulation.setTouchEmulationEnabled', { enabled: false });
await call('Emulation.clearDeviceMetricsOverride');
await until('!isNarrow()');
const paper = () => value('[...g.getImageData(canvas.width - 2, canvas.height - 2, 1, 1).data].slice(0, 3).join()');
const light = await paper();
await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
await until('document.body?.dataset.loadMs && P.paper !== "#fff"');
expect(`dark is another colour than ${light}: ${await paper()}`, light === '255,255,255' && await paper() === '20,25,31');
await shoot(picture?.replace(/\.png$/, '.dark.png'));
expect('no exception', thrown.length === 0);
thrown.forEach(text => console.error(text));
close();
