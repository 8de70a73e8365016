'use strict';
// Draws what analysis has computed. All times are nanoseconds.
const $ = id => document.getElementById(id);
const F = JSON.parse($('f').textContent), N = F.names;
const COLOURS = { 'hand-off': '#c9573f', misplaced: '#d99a2b', starved: '#d3dae1', stealing: '#8a6fb8', kernel: '#4c5b6b' };
const LEFT = 84, RIGHT = 14, AXIS = 22, PROFILE = 34, LANE = 44, BAR = 28;

const time = ns => {
  const [v, u] = ns < 1e3 ? [ns, 'ns'] : ns < 1e6 ? [ns / 1e3, 'µs'] : ns < 1e9 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
  return v.toFixed(u === 'ns' || v >= 100 ? 0 : v >= 10 ? 1 : 2) + ' ' + u;
};

// With as many digits as tell moments `step` apart.
const moment = (ns, step) => {
  const [scale, u] = ns < 1e3 ? [1, 'ns'] : ns < 1e6 ? [1e3, 'µs'] : ns < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  return (ns / scale).toFixed(Math.max(0, Math.ceil(Math.log10(scale / step)))) + ' ' + u;
};

async function unpack() {
  const text = atob($('d').textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const u = new Uint8Array(await new Response(stream).arrayBuffer());
  let at = 0;
  const number = () => { let n = 0, scale = 1; for (;;) { const b = u[at++]; n += (b & 127) * scale; if (b < 128) return n; scale *= 128; } };
  const column = () => { const n = number(), a = new Float64Array(n); for (let i = 0; i < n; i++) a[i] = number(); return a; };
  const stretches = () => {
    const begin = column(), length = column(), end = new Float64Array(begin.length);
    let last = F.begin;
    for (let i = 0; i < begin.length; i++) { begin[i] += last; last = end[i] = begin[i] + length[i]; }
    return { begin, end };
  };
  const workers = [];
  for (let count = number(); count > 0; count--) {
    const w = { number: number() };
    Object.assign(w, stretches());
    w.thread = column(); w.why = column();
    w.gap = stretches();
    w.gap.parts = F.classes.map(column);
    // Waking times are points: their column has no lengths.
    const since = column(); let last = F.begin;
    w.wake = { at: since.map(d => last += d), thread: column(), to: column() };
    w.busy = sums(w.begin, w.end);
    w.gap.sums = w.gap.parts.map(part => { const s = new Float64Array(part.length + 1); part.forEach((ns, i) => { s[i + 1] = s[i] + ns; }); return s; });
    workers.push(w);
  }
  return workers;
}

function sums(begin, end) {
  const s = new Float64Array(begin.length + 1);
  for (let i = 0; i < begin.length; i++) s[i + 1] = s[i] + end[i] - begin[i];
  return s;
}

// The first place in a sorted column that is not before x.
function place(a, x) { let l = 0, h = a.length; while (l < h) { const m = l + h >> 1; if (a[m] < x) l = m + 1; else h = m; } return l; }
// How long a worker ran before t: exact at every zoom, without a pyramid.
function ran(w, t) { const i = place(w.begin, t); return i ? w.busy[i - 1] + Math.min(w.end[i - 1], t) - w.begin[i - 1] : 0; }

// How long a worker was idle in a class before t; within a gap its classes are spread evenly.
function idled(w, c, t) {
  const i = place(w.gap.begin, t); if (!i) return 0;
  const b = w.gap.begin[i - 1], part = Math.min(1, (t - b) / Math.max(1, w.gap.end[i - 1] - b));
  return w.gap.sums[c][i - 1] + w.gap.parts[c][i - 1] * part;
}

let W = [], from = F.begin, to = F.end, picked = null, found = null, drawMs = 0;
const canvas = $('lanes'), g = canvas.getContext('2d');
const lanes = () => W.length + (found === null ? 0 : 1);
const X = t => LEFT + (t - from) / (to - from) * (canvas.clientWidth - LEFT - RIGHT);
const T = x => from + (x - LEFT) / (canvas.clientWidth - LEFT - RIGHT) * (to - from);
const laneTop = r => AXIS + PROFILE + r * LANE;
const hue = thread => `hsl(${thread * 137.5 % 360} 42% 44%)`;

function draw() {
  const t0 = performance.now(), width = innerWidth, height = laneTop(lanes()) + 6, D = devicePixelRatio;
  if (canvas.width !== width * D || canvas.height !== height * D) {
    canvas.width = width * D; canvas.height = height * D;
    canvas.style.width = width + 'px'; canvas.style.height = height + 'px';
  }
  g.setTransform(D, 0, 0, D, 0, 0);
  g.fillStyle = '#fff'; g.fillRect(0, 0, width, height); g.font = '11px system-ui,sans-serif';
  axis(height); profile();
  W.forEach((w, r) => lane(w, r));
  if (found !== null) foundLane();
  arrows(); selection();
  $('range').textContent = `${moment(from - F.begin, (to - from) / 100)} to ${moment(to - F.begin, (to - from) / 100)} (${time(to - from)})`;
  drawMs = performance.now() - t0;
  document.body.dataset.drawMs = drawMs.toFixed(1);
}

function axis(height) {
  const span = to - from; let step = 10 ** Math.ceil(Math.log10(span / 8));
  if (span / step < 4) step /= 2;
  for (let t = Math.ceil((from - F.begin) / step) * step; t < to - F.begin; t += step) {
    const x = X(t + F.begin);
    g.fillStyle = '#e8edf2'; g.fillRect(x, AXIS, 1, height);
    g.fillStyle = '#5d6b7a'; g.fillText(moment(t, step), x + 3, 14);
  }
}

// How many workers ran, over time.
function profile() {
  const w = canvas.clientWidth - LEFT - RIGHT, k = (to - from) / w, h = PROFILE - 10;
  g.fillStyle = '#5d6b7a'; g.fillText('busy', 10, AXIS + 16);
  g.fillStyle = '#9cc3ae';
  for (let p = 0; p < w; p++) {
    let u = 0;
    for (const x of W) u += (ran(x, from + (p + 1) * k) - ran(x, from + p * k)) / k;
    g.fillRect(LEFT + p, AXIS + 4 + h * (1 - u / W.length), 1, h * u / W.length);
  }
}

function lane(w, r) {
  const y = laneTop(r), width = canvas.clientWidth - LEFT - RIGHT, k = (to - from) / width;
  g.fillStyle = '#1c2530'; g.fillText('worker ' + w.number, 10, y + 18);
  const s0 = Math.max(0, place(w.begin, from) - 1), s1 = place(w.begin, to);
  const g0 = Math.max(0, place(w.gap.begin, from) - 1), g1 = place(w.gap.begin, to);
  if (s1 - s0 + g1 - g0 > width * 3) return crowded(w, y, width, k);
  for (let i = g0; i < g1; i++) gapBar(w, i, y);
  for (let i = s0; i < s1; i++) {
    const x = Math.max(LEFT, X(w.begin[i])), x2 = Math.min(canvas.clientWidth - RIGHT, X(w.end[i]));
    if (x2 < LEFT) continue;
    g.fillStyle = hue(w.thread[i]); g.fillRect(x, y, Math.max(.8, x2 - x), BAR);
    label(N[w.thread[i]], x, x2, y);
  }
}

function label(text, x, x2, y) {
  if (x2 - x < 30) return;
  g.save(); g.beginPath(); g.rect(x, y, x2 - x - 3, BAR); g.clip();
  g.fillStyle = '#fff'; g.fillText(text, x + 4, y + 18); g.restore();
}

// A gap, coloured by its classes in the order in which they came: starved or misplaced first, hand-off last.
function gapBar(w, i, y) {
  const order = [2, 1, 3, 0, 4]; let t = w.gap.begin[i];
  for (const c of order) {
    const ns = w.gap.parts[c][i];
    if (ns > 0) {
      const x = Math.max(LEFT, X(t)), x2 = Math.min(canvas.clientWidth - RIGHT, X(t + ns));
      if (x2 > LEFT) { g.fillStyle = COLOURS[F.classes[c].name]; g.globalAlpha = .55; g.fillRect(x, y + 10, Math.max(.5, x2 - x), 8); g.globalAlpha = 1; }
      t += ns;
    }
  }
}

// More than three things a pixel: how much of each pixel it ran.
function crowded(w, y, width, k) {
  for (let p = 0; p < width; p++) {
    const a = from + p * k, u = (ran(w, a + k) - ran(w, a)) / k;
    g.fillStyle = '#eef1f4'; g.fillRect(LEFT + p, y, 1, BAR);
    g.fillStyle = '#2f7d55'; g.fillRect(LEFT + p, y + BAR * (1 - u), 1, BAR * u);
    // What it did not run, from above, by class.
    let top = y;
    for (let c = 0; c < F.classes.length; c++) {
      const h = BAR * (idled(w, c, a + k) - idled(w, c, a)) / k;
      if (h < .2) continue;
      g.fillStyle = COLOURS[F.classes[c].name]; g.fillRect(LEFT + p, top, 1, h); top += h;
    }
  }
}

function foundLane() {
  const y = laneTop(W.length);
  g.fillStyle = '#1c2530'; g.fillText('found', 10, y + 18);
  W.forEach((w, r) => {
    for (let i = Math.max(0, place(w.begin, from) - 1), n = 0; i < w.begin.length && w.begin[i] < to && n < 20000; i++) {
      if (!found.has(w.thread[i])) continue;
      const x = Math.max(LEFT, X(w.begin[i])), x2 = Math.min(canvas.clientWidth - RIGHT, X(w.end[i]));
      if (x2 < LEFT) continue;
      g.fillStyle = hue(w.thread[i]); g.fillRect(x, y, Math.max(1, x2 - x), BAR); label(N[w.thread[i]] + ' @' + w.number, x, x2, y); n++;
    }
  });
}

// When and where a thread runs next after t.
function nextRun(thread, t) {
  let best = null;
  W.forEach((w, r) => {
    for (let i = place(w.begin, t), n = 0; i < w.begin.length && n < 400; i++, n++)
      if (w.thread[i] === thread) { if (!best || w.begin[i] < best.t) best = { r, i, t: w.begin[i] }; break; }
  });
  return best;
}

function arrows() {
  let count = 0;
  for (const w of W) { count += place(w.wake.at, to) - place(w.wake.at, from); }
  if (count > 1500) return;
  W.forEach((w, r) => {
    for (let i = place(w.wake.at, from), e = place(w.wake.at, to); i < e; i++) {
      const run = nextRun(w.wake.thread[i], w.wake.at[i]);
      if (!run || run.r === r) continue;
      const down = run.r > r, x = X(w.wake.at[i]), x2 = X(run.t), y = laneTop(r) + (down ? BAR : 0), y2 = laneTop(run.r) + (down ? 0 : BAR);
      g.strokeStyle = '#c9573f'; g.lineWidth = 1;
      g.beginPath(); g.moveTo(x, y); g.lineTo(x2, y2); g.stroke();
      const a = Math.atan2(y2 - y, x2 - x);
      g.beginPath(); g.moveTo(x2, y2); g.lineTo(x2 - 6 * Math.cos(a - .4), y2 - 6 * Math.sin(a - .4)); g.moveTo(x2, y2); g.lineTo(x2 - 6 * Math.cos(a + .4), y2 - 6 * Math.sin(a + .4)); g.stroke();
    }
  });
}

function selection() {
  if (!picked) return;
  const w = W[picked.r], a = picked.gap ? w.gap : w, x = X(a.begin[picked.i]), x2 = X(a.end[picked.i]);
  g.strokeStyle = '#111'; g.lineWidth = 2; g.strokeRect(x - 1, laneTop(picked.r) - 1, Math.max(3, x2 - x) + 2, BAR + 2);
}

function show(a, b) {
  const least = 20, whole = F.end - F.begin;
  if (b - a < least) { const m = (a + b) / 2; a = m - least / 2; b = m + least / 2; }
  if (b - a >= whole) { a = F.begin; b = F.end; }
  if (a < F.begin) { b += F.begin - a; a = F.begin; }
  if (b > F.end) { a -= b - F.end; b = F.end; }
  from = Math.max(F.begin, a); to = b;
  draw(); clearTimeout(show.later);
  show.later = setTimeout(() => history.replaceState(null, '', `#${Math.round(from - F.begin)}-${Math.round(to - F.begin)}`), 200);
}

function pick(r, i, gap) {
  picked = { r, i, gap };
  const w = W[r];
  if (gap) {
    const parts = F.classes.map((c, k) => [c, w.gap.parts[k][i]]).filter(p => p[1] > 0).map(p => `${time(p[1])} ${p[0].words}`);
    $('picked').textContent = `worker ${w.number} idle for ${time(w.gap.end[i] - w.gap.begin[i])}: ${parts.join(', ') || 'no part of it is known'}`;
  } else {
    $('picked').textContent = `${N[w.thread[i]]} ran ${time(w.end[i] - w.begin[i])} on worker ${w.number}, then ${F.reasons[w.why[i]]}`;
  }
}

// Brings something into view without changing the zoom, unless it is longer than the view.
function bring(a, b) { const span = Math.max(to - from, (b - a) * 1.2), m = (a + b) / 2; show(m - span / 2, m + span / 2); }

// The last wake of a thread before it began to run; selects the slice that did it.
function toWaker() {
  if (!picked) return;
  const w = W[picked.r];
  let thread, t;
  if (picked.gap) { const i = place(w.begin, w.gap.end[picked.i]); if (i >= w.begin.length) return; thread = w.thread[i]; t = w.begin[i]; }
  else { thread = w.thread[picked.i]; t = w.begin[picked.i]; }
  let best = null;
  W.forEach((x, r) => {
    for (let i = place(x.wake.at, t) - 1, n = 0; i >= 0 && n < 100000; i--, n++)
      if (x.wake.thread[i] === thread) { if (!best || x.wake.at[i] > best.at) best = { r, at: x.wake.at[i] }; break; }
  });
  if (!best) { $('picked').textContent = `nothing in this trace woke ${N[thread]} before that`; return; }
  const i = place(W[best.r].begin, best.at) - 1;
  if (i < 0) return;
  pick(best.r, i, false); bring(W[best.r].begin[i], t);
}

function toLongestGap() {
  let best = null;
  W.forEach((w, r) => {
    for (let i = Math.max(0, place(w.gap.begin, from) - 1); i < w.gap.begin.length && w.gap.begin[i] < to; i++) {
      const ns = Math.min(to, w.gap.end[i]) - Math.max(from, w.gap.begin[i]);
      if (!best || ns > best.ns) best = { r, i, ns };
    }
  });
  if (best) { pick(best.r, best.i, true); const w = W[best.r].gap; const pad = (w.end[best.i] - w.begin[best.i]) * .6; show(w.begin[best.i] - pad, w.end[best.i] + pad); }
}

function clicked(x, y) {
  const r = Math.floor((y - laneTop(0)) / LANE), t = T(x);
  if (r < 0 || r >= W.length) return;
  const w = W[r], i = place(w.begin, t) - 1, slack = (to - from) / canvas.clientWidth * 2;
  if (i >= 0 && t <= w.end[i] + slack) pick(r, i, false);
  else { const k = place(w.gap.begin, t) - 1; if (k >= 0 && t <= w.gap.end[k]) pick(r, k, true); }
  draw();
}

function search() {
  const word = $('search').value.trim().toLowerCase();
  found = word === '' ? null : new Set(N.map((n, i) => [n, i]).filter(p => p[0].toLowerCase().includes(word)).map(p => p[1]));
  if (found !== null) $('picked').textContent = `${found.size} of ${N.length} threads`;
  draw();
}

function tables() {
  const s = F.stats, row = (...cells) => '<tr>' + cells.map(c => `<td>${c}</td>`).join('') + '</tr>';
  const text = t => t.replace(/[&<>]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
  const share = ns => (100 * ns / (s.wall_ns || 1)).toFixed(1) + ' %';
  let html = '<table><caption>worker time</caption><tr><th><th>running' + F.classes.map(c => `<th>${c.name}`).join('') + '<th>overhead</tr>';
  for (const w of s.workers) html += row('worker ' + w.worker, share(w.running_ns), ...F.classes.map(c => share(w.classes_ns[c.name])), share(w.overhead_ns));
  html += '</table>';
  for (const w of s.workers) {
    const most = Math.max(1, ...w.incidents_ns);
    html += `<table><caption>worker ${w.worker}: idle by length</caption>` + F.decades.map((d, i) => w.incidents[i] ? `<tr><td>${d.replace('us', 'µs').replace('us', 'µs')}<td>${w.incidents[i].toLocaleString()}<td>${time(w.incidents_ns[i])}<td class="bar"><i style="width:${120 * w.incidents_ns[i] / most}px"></i></tr>` : '').join('') + '</table>';
  }
  if (s.edges.length) html += '<table><caption>wakes across workers</caption>' + s.edges.slice(0, 8).map(e => row(`${text(e.from)} → ${text(e.to)}`, e.count.toLocaleString() + ' ×', time(e.latency_ns / e.count))).join('') + '</table>';
  if (s.waits.length) html += '<table><caption>waits</caption>' + s.waits.slice(0, 8).map(e => row(text(e.label) + ' ' + e.reason, e.count.toLocaleString() + ' ×', time(e.waited_ns / e.count))).join('') + '</table>';
  if (s.spreads.length) html += '<table><caption>thread spread</caption>' + s.spreads.slice(0, 8).map(e => row(text(e.label), e.members.toLocaleString() + ' threads', e.percent.toFixed(1) + ' %')).join('') + '</table>';
  $('tables').innerHTML = html;
  $('legend').innerHTML = F.classes.map(c => `<span><i style="background:${COLOURS[c.name]}"></i>${c.words}</span>`).join('') + '<span>wheel: zoom · drag: move · click: select · b: what woke it · g: longest gap · 0: whole run</span>';
}

function listen() {
  let down = null;
  canvas.addEventListener('wheel', e => { e.preventDefault(); const t = T(e.offsetX), f = e.deltaY < 0 ? .65 : 1 / .65; show(t - (t - from) * f, t + (to - t) * f); }, { passive: false });
  canvas.addEventListener('pointerdown', e => { down = { x: e.offsetX, moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointermove', e => {
    if (!down) return;
    const d = e.offsetX - down.x;
    if (!down.moved && Math.abs(d) < 4) return;
    const ns = d * (to - from) / (canvas.clientWidth - LEFT - RIGHT);
    down.moved = true; down.x = e.offsetX; show(from - ns, to - ns);
  });
  canvas.addEventListener('pointerup', e => { if (down && !down.moved) clicked(e.offsetX, e.offsetY); down = null; });
  addEventListener('resize', draw);
  addEventListener('hashchange', fromHash);
  addEventListener('keydown', e => {
    if (e.target === $('search')) return;
    const span = to - from, keys = { 0: () => show(F.begin, F.end), g: toLongestGap, b: toWaker, '+': () => show(from + span * .2, to - span * .2), '-': () => show(from - span * .3, to + span * .3), ArrowLeft: () => show(from - span * .2, to - span * .2), ArrowRight: () => show(from + span * .2, to + span * .2) };
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
  $('search').addEventListener('input', search);
  $('all').onclick = () => show(F.begin, F.end); $('worst').onclick = toLongestGap; $('back').onclick = toWaker;
}

function fromHash() { const m = /^#(\d+)-(\d+)$/.exec(location.hash); if (m && +m[2] > +m[1]) show(F.begin + +m[1], F.begin + +m[2]); else show(F.begin, F.end); }

unpack().then(workers => {
  W = workers;
  $('verdict').textContent = F.stats.verdict;
  const events = W.reduce((n, w) => n + w.begin.length + w.gap.begin.length + w.wake.at.length, 0);
  $('facts').textContent = `${F.title} · wall ${time(F.stats.wall_ns)} · at least two workers at once ${time(F.stats.together_ns)} · ${N.length.toLocaleString()} threads · ${events.toLocaleString()} things drawn` + (F.stats.lost ? ` · ${F.stats.lost.toLocaleString()} older records were overwritten` : '') + (F.stats.ended ? '' : ' · the program did not end its trace');
  $('report').textContent = F.report;
  tables(); listen(); fromHash();
  document.body.dataset.loadMs = performance.now().toFixed(0);
}).catch(e => { $('verdict').textContent = 'this page cannot show its trace: ' + e; });
