// The canvas. `from` and `to` are the range in view.
// The colour scheme of the reader's system; a change reloads the page, which keeps its range in its address.
const DARK = matchMedia('(prefers-color-scheme: dark)');
DARK.addEventListener('change', () => location.reload());
const P = DARK.matches
  ? { paper: '#14191f', panel: '#1f262e', empty: '#232b34', grid: '#29323c', ink: '#e4e9ee', soft: '#98a5b3', mark: '#fff', busy: '#3c6a53' }
  : { paper: '#fff', panel: '#f6f8fa', empty: '#eef1f4', grid: '#e8edf2', ink: '#1c2530', soft: '#5d6b7a', mark: '#111', busy: '#9cc3ae' };
const COLOURS = { 'hand-off': '#c9573f', misplaced: '#d99a2b', starved: DARK.matches ? '#46525f' : '#d3dae1', stealing: '#8a6fb8', blocked: '#a8508c',
  kernel: DARK.matches ? '#7f8fa0' : '#4c5b6b' };
const RIGHT = 14, AXIS = 22, PROFILE = 34, BAR = 28, TRACKS_MAX = 40;
// The names of tracks stand left of them or, where the page is narrow, above them: `NAME` is the height of that line.
let LEFT = 130, NAME = 0, TRACK = 44;
const isNarrow = () => document.documentElement.clientWidth < 600;
function fit() { [LEFT, NAME, TRACK] = isNarrow() ? [10, 16, 60] : [130, 0, 44]; }

let W = [], OUT = null, USER = null, MESSAGES = null, LOOKS = null, from = F.begin, to = F.end, picked = null, found = null, path = null, tracks = [], drawMs = 0;
const canvas = $('tracks'), g = canvas.getContext('2d');
const right = () => canvas.clientWidth - RIGHT, span = () => to - from;
const X = t => LEFT + (t - from) / (to - from) * (right() - LEFT);
const T = x => from + (x - LEFT) / (right() - LEFT) * (to - from);
const trackTop = r => AXIS + PROFILE + r * TRACK + NAME * 2;
// A thread has the hue of its label and a shade of its own, so that neighbours of one label can be told apart.
const labelColour = (label, shade = 2) => `hsl(${label * 137.5 % 360} 42% ${36 + shade * 4}%)`;
const colour = thread => labelColour(F.label_of[thread], thread % 5);
const workerColour = r => `hsl(${(r * 3 + 1) * 137.5 % 360} 42% 44%)`;

function draw() {
  fit();
  const t0 = performance.now(), width = document.documentElement.clientWidth, height = trackTop(W.length + tracks.length) + 6, D = devicePixelRatio;
  if (canvas.width !== Math.round(width * D) || canvas.height !== Math.round(height * D)) {
    canvas.width = Math.round(width * D); canvas.height = Math.round(height * D);
    canvas.style.width = width + 'px'; canvas.style.height = height + 'px';
  }
  g.setTransform(D, 0, 0, D, 0, 0);
  g.fillStyle = P.paper; g.fillRect(0, 0, width, height); g.font = '11px system-ui,sans-serif';
  axis(height); profile();
  W.forEach((w, r) => workerTrack(w, trackTop(r)));
  tracks.forEach((track, r) => (track.counter ? counterTrack : track.outside ? outsideTrack : track.proxy ? proxyTrack : track.message ? messageTrack : threadTrack)(track, trackTop(W.length + r)));
  drawPath(); arrows(); selection();
  $('range').textContent = `${moment(from - F.begin, span() / 100)} to ${moment(to - F.begin, span() / 100)} (${time(span())})`;
  ranInView();
  drawMs = performance.now() - t0;
  document.body.dataset.drawMs = drawMs.toFixed(1);
}
// Draws at most once per frame, however many events ask for it.
function redraw() { redraw.asked ||= requestAnimationFrame(() => { redraw.asked = 0; draw(); }); }

function axis(height) {
  let step = 10 ** Math.ceil(Math.log10(span() / 8));
  if (span() / step < 4) step /= 2;
  let free = 0;
  for (let t = Math.ceil((from - F.begin) / step) * step; t < to - F.begin; t += step) {
    const x = X(t + F.begin);
    g.fillStyle = P.grid; g.fillRect(x, AXIS, 1, height);
    const text = moment(t, step);
    const end = x + 3 + g.measureText(text).width;
    if (x >= free && end < right() + RIGHT) { g.fillStyle = P.soft; g.fillText(text, x + 3, 14); free = end + 6; }
  }
}

// How many workers ran, over time.
function profile() {
  const w = right() - LEFT, k = span() / w, h = PROFILE - 10;
  title('busy workers', AXIS - 2 + NAME, P.soft);
  g.fillStyle = P.busy;
  const before = W.map(x => ran(x, from));
  for (let p = 0; p < w; p++) {
    let u = 0;
    W.forEach((x, r) => { const now = ran(x, from + (p + 1) * k); u += (now - before[r]) / k; before[r] = now; });
    g.fillRect(LEFT + p, AXIS + NAME + 4 + h * (1 - u / W.length), 1, h * u / W.length);
  }
}

// A name without directories.
const short = name => name.replace(/[^ (]*\//g, '');

// As much of a text as fits into a width: its end is what is left out.
function fitting(text, width) {
  if (g.measureText(text).width <= width) return text;
  let l = 0, h = text.length;
  while (l < h) { const m = l + h + 1 >> 1; if (g.measureText(text.slice(0, m) + '…').width <= width) l = m; else h = m - 1; }
  return l ? text.slice(0, l) + '…' : '';
}

function title(text, y, colour) {
  g.fillStyle = colour || P.ink;
  g.fillText(fitting(short(text), NAME ? right() - LEFT : LEFT - 16), 10, NAME ? y - 4 : y + 18);
}

function bar(begin, end, y, height, least) {
  const x = Math.max(LEFT, X(begin)), x2 = Math.min(right(), X(end));
  if (x2 >= LEFT && x <= right()) g.fillRect(x, y, Math.max(least, x2 - x), height);
  return [x, x2];
}

function workerTrack(w, y) {
  title('worker ' + w.number, y);
  const width = right() - LEFT;
  const s0 = Math.max(0, indexFrom(w.begin, from) - 1), s1 = indexFrom(w.begin, to);
  const g0 = Math.max(0, indexFrom(w.gap.begin, from) - 1), g1 = indexFrom(w.gap.begin, to);
  asleepBars(w, y);
  if (s1 - s0 + g1 - g0 > width * 3) return crowded(w, y);
  for (let i = g0; i < g1; i++) gapBar(w, i, y);
  for (let i = s0; i < s1; i++) {
    g.fillStyle = colour(w.thread[i]);
    g.globalAlpha = found && !found.set.has(w.thread[i]) ? .2 : 1;
    const [x, x2] = bar(w.begin[i], w.end[i], y, BAR, .8);
    g.globalAlpha = 1;
    label(N[w.thread[i]], x, x2, y, '#fff');
  }
}

function label(text, x, x2, y, colour) {
  if (x2 - x < 30) return;
  g.fillStyle = colour; g.fillText(fitting(short(text), x2 - x - 7), x + 4, y + 18);
}

// Sleep in the kernel within slices, below them. How much there was is known from one note to the next: the more, the
// stronger the colour.
function asleepBars(w, y) {
  const a = w.asleep;
  g.fillStyle = COLOURS.blocked;
  for (let i = Math.max(0, indexFrom(a.begin, from) - 1); i < a.begin.length && a.begin[i] < to; i++) {
    g.globalAlpha = Math.min(1, a.ns[i] / Math.max(1, a.end[i] - a.begin[i]));
    bar(a.begin[i], a.end[i], y + BAR + 3, 6, .8);
  }
  g.globalAlpha = 1;
}

// A gap, coloured by class: starved or misplaced first, hand-off last.
function gapBar(w, i, y) {
  let t = w.gap.begin[i];
  g.globalAlpha = .55;
  for (const c of [2, 1, 3, 0, 4]) {
    const ns = w.gap.parts[c][i];
    if (ns > 0) { g.fillStyle = COLOURS[F.classes[c].name]; bar(t, t + ns, y + 10, 8, .5); t += ns; }
  }
  g.globalAlpha = 1;
}

// A bitmap as wide as the time in view, drawn by `fill(pixels, width, height)`: one rectangle per pixel would take a
// browser without a graphics card longer than a frame.
const strips = {};
function strip(y, height, fill) {
  const D = devicePixelRatio, width = Math.max(1, Math.round((right() - LEFT) * D)), high = Math.round(height * D);
  const image = strips[width + 'x' + high] ??= new ImageData(width, high);
  fill(new Uint32Array(image.data.buffer), width, high);
  g.putImageData(image, Math.round(LEFT * D), Math.round(y * D));
}
// A colour as a pixel: red, green, blue, opaque.
const pixel = colour => { const n = parseInt(colour.slice(1), 16); return (255 << 24 | (n & 255) << 16 | n & 0xff00 | n >> 16) >>> 0; };
const RUN = '#2f7d55', TRACK_RUN = '#3b6ea5', SEARCHED = '#f2c94c', WAITED = '#e8b95c', SPAN = '#20456b', MARK = '#b0252f', ARROW = '#c9573f';
const SPAWNED = '#2f7d55', WOKEN = '#7a4a9c', HIDDEN = '#3b6ea5', EXPOSED = '#c9573f', FOUND_SOME = '#2f7d55', FOUND_NONE = '#9aa7b5';
const CLASSES = F.classes.map(c => pixel(COLOURS[c.name])), RAN = pixel(RUN), TRACK_RAN = pixel(TRACK_RUN), FOUND = pixel(SEARCHED);
const column = (pixels, width, p, top, end, colour) => { for (let row = Math.max(0, Math.round(top)); row < Math.round(end); row++) pixels[row * width + p] = colour; };

// For more than three slices and gaps per pixel: the share of each pixel that the worker ran, from below; its idle time
// by class, from above; and the share of the threads that are searched for.
function crowded(w, y) {
  const f = found && found.each[W.indexOf(w)];
  strip(y, BAR, (pixels, width, high) => {
    const k = span() / width;
    let ranBefore = ran(w, from), before = idled(w, from, F.classes.map(() => 0)), now = before.slice(), last = f ? ran(f, from) : 0;
    pixels.fill(pixel(P.empty));
    for (let p = 0; p < width; p++) {
      const t = from + (p + 1) * k, ranNow = ran(w, t);
      column(pixels, width, p, high * (1 - (ranNow - ranBefore) / k), high, RAN);
      idled(w, t, now);
      for (let c = 0, top = 0; c < now.length; c++) {
        const end = top + high * (now[c] - before[c]) / k;
        column(pixels, width, p, top, end, CLASSES[c]); top = end;
      }
      ranBefore = ranNow; [before, now] = [now, before];
      if (!f) continue;
      const foundNow = ran(f, t), u = (foundNow - last) / k;
      if (u > 0) column(pixels, width, p, high * (1 - Math.max(u, .07)), high, FOUND);
      last = foundNow;
    }
  });
}

// A track for some threads: their slices, by worker.
function trackOf(name, threads) {
  const set = new Set(threads), each = W.map((w, r) => {
    const at = []; for (let i = 0; i < w.thread.length; i++) if (set.has(w.thread[i])) at.push(i);
    const begin = Float64Array.from(at, i => w.begin[i]), end = Float64Array.from(at, i => w.end[i]);
    return { r, at, begin, end, busy: sums(begin, end) };
  });
  return { name, set, only: threads.length === 1 ? threads[0] : -1, each };
}

function threadTrack(track, y) {
  title(track.name, y);
  const width = right() - LEFT;
  g.fillStyle = P.panel; g.fillRect(LEFT, y, width, BAR);
  let things = 0;
  for (const e of track.each) things += indexFrom(e.begin, to) - indexFrom(e.begin, from);
  if (things > width * 2) {
    return strip(y, BAR, (pixels, width, high) => {
      const k = span() / width, before = track.each.map(e => ran(e, from));
      pixels.fill(pixel(P.panel));
      for (let p = 0; p < width; p++) {
        let u = 0;
        track.each.forEach((e, r) => { const now = ran(e, from + (p + 1) * k); u += (now - before[r]) / k; before[r] = now; });
        column(pixels, width, p, high * (1 - u / W.length), high, TRACK_RAN);
      }
    });
  }
  for (const e of track.each) {
    for (let n = Math.max(0, indexFrom(e.begin, from) - 1); n < e.at.length && e.begin[n] < to; n++) {
      const w = W[e.r], i = e.at[n], thread = w.thread[i];
      // Ready, and not yet running.
      const c = cause(e.r, i);
      if (c) { g.fillStyle = WAITED; bar(c.ready ?? c.at, w.begin[i], y + 18, 6, .5); }
      g.fillStyle = track.only < 0 ? colour(thread) : workerColour(e.r);
      const [x, x2] = bar(w.begin[i], w.end[i], y, BAR, .8);
      label(track.only < 0 ? N[thread] : 'worker ' + w.number, x, x2, y, '#fff');
    }
  }
  userEvents(track, y);
}

// A vertical line for each wake by an OS thread that is not a worker, with a name where there is room.
function outsideTrack(track, y) {
  title(track.name, y);
  const a = indexFrom(OUT.at, from), b = indexFrom(OUT.at, to);
  for (let i = a, last = -9; i < b; i++) {
    const x = X(OUT.at[i]), next = i + 1 < b ? X(OUT.at[i + 1]) : right();
    if (x - last < .5) continue;
    last = x;
    g.fillStyle = OUT.made[i] ? SPAWNED : WOKEN; g.fillRect(x - .5, y, 1.5, BAR);
    label(osThread(OUT.who[i]).slice(10), x, next, y, P.soft);
  }
}

// The looks of the proxy: by a worker above, by its own OS thread below. Those that found something stand out.
function proxyTrack(track, y) {
  title(track.name, y);
  g.fillStyle = P.panel; g.fillRect(LEFT, y, right() - LEFT, BAR);
  for (const some of [0, 1])
    for (let i = Math.max(0, indexFrom(LOOKS.at, from) - 1); i < LOOKS.at.length && LOOKS.at[i] < to; i++) {
      if ((LOOKS.found[i] > 0) != some) continue;
      g.fillStyle = some ? FOUND_SOME : FOUND_NONE;
      bar(LOOKS.at[i], LOOKS.at[i] + LOOKS.length[i], y + (LOOKS.keeper[i] ? BAR / 2 : 0), BAR / 2 - 1, some ? 2 : 1);
    }
}

// Messages of one kind: a line from the begin of their exchange, a bar from their posting until they were done, of
// which the part is of another colour in which somebody waited.
function messageTrack(track, y) {
  title(track.name, y);
  g.fillStyle = P.panel; g.fillRect(LEFT, y, right() - LEFT, BAR);
  for (const i of track.message) {
    const at = MESSAGES.at[i], end = at + MESSAGES.length[i];
    if (at - MESSAGES.before[i] > to || end < from) continue;
    g.fillStyle = HIDDEN; bar(at - MESSAGES.before[i], at, y + BAR / 2 - 1, 2, .5);
    bar(at, end, y + 3, BAR - 6, 1);
    g.fillStyle = MESSAGES.done[i] ? EXPOSED : MARK;
    if (MESSAGES.waited[i] || !MESSAGES.done[i]) bar(end - MESSAGES.waited[i], end, y + 3, BAR - 6, .8);
    label(size(MESSAGES.bytes[i]), Math.max(LEFT, X(at)), Math.min(right(), X(end)), y, '#fff');
  }
}

const size = bytes => bytes < 1e3 ? bytes + ' B' : bytes < 1e6 ? (bytes / 1e3).toFixed(1) + ' KB' : (bytes / 1e6).toFixed(2) + ' MB';

// Spans below a thread's slices, marks as vertical lines.
function userEvents(track, y) {
  const s = USER.span, m = USER.mark;
  for (let i = 0; i < s.at.length && s.at[i] < to; i++) {
    if (!track.set.has(s.thread[i]) || s.at[i] + s.value[i] < from) continue;
    g.fillStyle = SPAN; const [x, x2] = bar(s.at[i], s.at[i] + s.value[i], y + BAR + 1, 11, 1);
    g.font = '9px system-ui,sans-serif'; label(F.strings[s.name[i]], x, x2, y + BAR - 9, '#fff'); g.font = '11px system-ui,sans-serif';
  }
  for (let i = indexFrom(m.at, from); i < m.at.length && m.at[i] < to; i++)
    if (track.set.has(m.thread[i])) { g.fillStyle = MARK; g.fillRect(X(m.at[i]) - 1, y - 4, 2, BAR + 8); }
}

// A counter of the program as a step line.
function counterTrack(track, y) {
  title(track.name, y);
  g.strokeStyle = '#3b6ea5'; g.lineWidth = 1.5; g.beginPath();
  let h = y + BAR;
  g.moveTo(LEFT, h);
  for (let i = Math.max(0, indexFrom(track.at, from) - 1); i < track.at.length && track.at[i] < to; i++) {
    const x = Math.max(LEFT, X(track.at[i]));
    g.lineTo(x, h); h = y + BAR * (1 - track.value[i] / Math.max(1, track.most)); g.lineTo(x, h);
  }
  g.lineTo(right(), h); g.stroke();
  g.fillStyle = P.soft; g.fillText(track.most.toLocaleString(), LEFT + 3, y + 9);
}

// The critical path: from a slice back, from each slice to what it had to wait for. Earliest first.
function pathFrom(r, i, until) {
  const steps = [];
  for (let limit = 4e6; limit > 0; limit--) {
    steps.push({ r, i, from: W[r].begin[i], to: until });
    const c = cause(r, i);
    // Clocks of two workers may disagree a little: end the path where it does not go back in time.
    if (!c || c.r === undefined || c.at > until || (c.r === r && c.i === i)) break;
    until = Math.min(c.at, W[c.r].end[c.i]); r = c.r; i = c.i;
  }
  steps.reverse();
  return { steps, at: Float64Array.from(steps, s => s.from) };
}

function drawPath() {
  if (!path) return;
  const a = Math.max(0, indexFrom(path.at, from) - 1), b = indexFrom(path.at, to), width = right() - LEFT;
  g.fillStyle = g.strokeStyle = P.mark; g.lineWidth = 1.5;
  if (b - a > width * 2) {
    const at = p => path.steps[Math.max(0, indexFrom(path.at, T(LEFT + p)) - 1)].r;
    for (let p = 0, since = 0, r = at(0); p < width; p++) {
      const next = p + 1 < width ? at(p + 1) : -1;
      if (next !== r) { g.fillRect(LEFT + since, trackTop(r) + BAR + 2, p + 1 - since, 4); since = p + 1; r = next; }
    }
    return;
  }
  // A line below the slices. The steps between tracks cross other slices: they are drawn in full where the path's own
  // slices are wide enough, and else as small ticks.
  const wide = (b - a) * 12 < width;
  g.beginPath();
  for (let n = a; n < b; n++) {
    const s = path.steps[n], y = trackTop(s.r) + BAR + 4, next = path.steps[n + 1];
    const x = Math.max(LEFT, X(s.from)), x2 = Math.max(LEFT, Math.min(right(), X(s.to)));
    g.moveTo(x, y); g.lineTo(wide ? x2 : Math.max(x2, x + 1), y);
    if (next && X(next.from) <= right() && (wide || next.r === s.r)) g.lineTo(Math.max(LEFT, X(next.from)), trackTop(next.r) + BAR + 4);
    else if (next && next.r !== s.r) { g.moveTo(x2, y); g.lineTo(x2, y + (next.r > s.r ? 5 : -3)); }
  }
  g.stroke();
}

function arrows() {
  let count = 0;
  for (const wake of [...W.map(w => w.wake), OUT]) count += indexFrom(wake.at, to) - indexFrom(wake.at, from);
  if (count > 1500) return;
  g.strokeStyle = ARROW; g.lineWidth = 1;
  W.forEach((w, r) => arrowsFrom(w.wake, r));
  const outside = tracks.findIndex(track => track.outside);
  if (outside >= 0) arrowsFrom(OUT, W.length + outside);
}

// Arrows from the wakes in row `r`.
function arrowsFrom(wake, r) {
  const R = runs();
  for (let i = indexFrom(wake.at, from), e = indexFrom(wake.at, to); i < e; i++) {
    const thread = wake.thread[i], n = R.from(thread, wake.at[i]);
    if (n >= R.start[thread + 1] || R.r[n] === r) continue;
    const to = R.r[n], down = to > r, x = X(wake.at[i]), x2 = X(R.at[n]), y = trackTop(r) + (down ? BAR : 0), y2 = trackTop(to) + (down ? 0 : BAR);
    const a = Math.atan2(y2 - y, x2 - x);
    g.beginPath(); g.moveTo(x, y); g.lineTo(x2, y2);
    g.lineTo(x2 - 6 * Math.cos(a - .4), y2 - 6 * Math.sin(a - .4)); g.moveTo(x2, y2); g.lineTo(x2 - 6 * Math.cos(a + .4), y2 - 6 * Math.sin(a + .4)); g.stroke();
  }
}

function selection() {
  if (!picked) return;
  const w = W[picked.r], a = picked.gap ? w.gap : w, x = Math.max(LEFT, X(a.begin[picked.i])), x2 = Math.min(right(), X(a.end[picked.i]));
  if (x2 < LEFT || x > right()) return;
  g.strokeStyle = P.mark; g.lineWidth = 2; g.strokeRect(x - 1, trackTop(picked.r) - 1, Math.max(3, x2 - x) + 2, BAR + 2);
}
