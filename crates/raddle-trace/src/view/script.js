// The controls: moving, zooming, selecting, tracks, causes. The view is kept in the page's address.
const OUTSIDE = 'OS threads', PROXY = 'the proxy looks';
function show(a, b) {
  const least = 20, whole = F.end - F.begin;
  if (b - a < least) { const m = (a + b) / 2; a = m - least / 2; b = m + least / 2; }
  if (b - a >= whole) { a = F.begin; b = F.end; }
  if (a < F.begin) { b += F.begin - a; a = F.begin; }
  if (b > F.end) { a -= b - F.end; b = F.end; }
  from = Math.max(F.begin, a); to = b;
  redraw(); address();
}

function address() {
  clearTimeout(address.later);
  const parts = [`${Math.round(from - F.begin)}-${Math.round(to - F.begin)}`, ...tracks.map(l => 'track=' + encodeURIComponent(l.name))];
  address.later = setTimeout(() => history.replaceState(null, '', '#' + parts.join(';')), 200);
}

function fromAddress() {
  const [range, ...rest] = location.hash.slice(1).split(';'), m = /^(\d+)-(\d+)$/.exec(range);
  tracks = [];
  // OS threads that only spawned the first threads do not need a track.
  if (!m && OUT.made.some(made => !made)) addTrack(OUTSIDE);
  if (!m) { addTrack(PROXY); mostBytes().slice(0, 12).forEach(n => addTrack(F.strings[n])); }
  rest.filter(p => p.startsWith('track=')).forEach(p => addTrack(decodeURIComponent(p.slice('track='.length))));
  if (m && +m[2] > +m[1]) show(F.begin + +m[1], F.begin + +m[2]); else show(F.begin, F.end);
}

// What messages carry, by their names' strings: most bytes first.
function mostBytes() {
  const sums = new Map();
  MESSAGES.name.forEach((n, i) => sums.set(n, (sums.get(n) || 0) + MESSAGES.bytes[i]));
  return [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a));
}

// A description of a slice or a gap.
function words(r, i, gap) {
  const w = W[r];
  if (!gap) return `${N[w.thread[i]]} ran ${time(w.end[i] - w.begin[i])} on worker ${w.number}, then ${F.reasons[w.why[i]]}${w.site[i] ? ' at ' + F.strings[w.site[i] - 1] : ''}`;
  const parts = F.classes.map((c, k) => [c, w.gap.parts[k][i]]).filter(p => p[1] > 0).map(p => `${time(p[1])} ${p[0].words}`);
  return `worker ${w.number} idle for ${time(w.gap.end[i] - w.gap.begin[i])}: ${parts.join(', ') || 'cause unknown'}`;
}

const messageWords = i => {
  const M = MESSAGES, end = M.at[i] + M.length[i];
  return `${F.strings[M.name[i]]}, of ${F.strings[M.exchange[i]]}: ${M.bytes[i].toLocaleString()} bytes, begun at ${time(M.at[i] - M.before[i] - F.begin)}, posted ${time(M.before[i])} later, ` +
    (M.done[i] ? `done at ${time(end - F.begin)}, ${time(M.length[i])} after; ${time(M.waited[i])} of it somebody waited` : `not done ${time(M.length[i])} after`);
};
const lookWords = i => `${LOOKS.keeper[i] ? "the proxy's own OS thread" : 'a worker'} looked for ${time(LOOKS.length[i])}, and found ${LOOKS.found[i] || 'nothing'} done`;

const outsideWords = i => `${osThread(OUT.who[i])} ${OUT.made[i] ? 'spawned' : 'woke'} ${N[OUT.thread[i]]}`;

function pick(r, i, gap) { picked = { r, i, gap }; $('picked').textContent = words(r, i, gap); }

// Brings something into view without changing the zoom, unless it is longer than the view.
function bring(a, b) {
  if (a >= from && b <= to) return redraw();
  const size = Math.max(span(), (b - a) * 1.2), m = (a + b) / 2; show(m - size / 2, m + size / 2);
}

// The selected slice; for a gap, the slice that ended it.
function pickedRun() {
  if (!picked) return null;
  const i = picked.gap ? indexFrom(W[picked.r].begin, W[picked.r].gap.end[picked.i]) : picked.i;
  return i < W[picked.r].begin.length ? { r: picked.r, i } : null;
}

// Selects what the selected slice had to wait for; repeated, it goes back along the critical path.
function toCause() {
  const run = pickedRun();
  if (!run && picked) $('picked').textContent += '; nothing ran here after that';
  if (!run) return;
  const w = W[run.r], c = cause(run.r, run.i), name = N[w.thread[run.i]];
  if (!c || c.r === undefined) {
    $('picked').textContent = c ? `${c.by || 'a timer, or something outside the workers,'} woke ${name} ${time(w.begin[run.i] - c.at)} before it ran` : `nothing in this trace woke ${name} before that`;
    return;
  }
  pick(c.r, c.i, false);
  const before = time(w.begin[run.i] - c.at);
  $('picked').textContent = (c.woke ? `${name} was woken ${before} before it ran, by: ` : c.by ? `${name} waited until ${c.by} woke it, ${time(w.begin[run.i] - c.ready)} before it ran, for ${time(c.ready - c.at)} after: ` : c.asleep ? `${name} slept, or waited for something outside the workers, for ${before}, after: ` : `${name} was ready for ${before}, since: `) + words(c.r, c.i, false);
  bring(W[c.r].begin[c.i], w.begin[run.i]);
}

// The critical path that ends with the selection, or with the last slice.
function togglePath() {
  let run = pickedRun();
  if (path && !run) path = null;
  else {
    W.forEach((w, r) => { const i = w.end.length - 1; if (!picked && i >= 0 && (!run || w.end[i] > W[run.r].end[run.i])) run = { r, i }; });
    path = run && !(path && path.of === run.r + ':' + run.i) ? Object.assign(pathFrom(run.r, run.i, W[run.r].end[run.i]), { of: run.r + ':' + run.i }) : null;
    if (path) $('picked').textContent = `${path.steps.length.toLocaleString()} slices led to ${N[W[run.r].thread[run.i]]}, each waiting for the one before`;
  }
  redraw();
}

function toLongestGap() {
  let best = null;
  W.forEach((w, r) => {
    for (let i = Math.max(0, indexFrom(w.gap.begin, from) - 1); i < w.gap.begin.length && w.gap.begin[i] < to; i++) {
      const ns = Math.min(to, w.gap.end[i]) - Math.max(from, w.gap.begin[i]);
      if (!best || ns > best.ns) best = { r, i, ns };
    }
  });
  if (best) { pick(best.r, best.i, true); const w = W[best.r].gap, pad = (w.end[best.i] - w.begin[best.i]) * .6; show(w.begin[best.i] - pad, w.end[best.i] + pad); }
}

// The row at a height, and whether the point is on its name.
const rowAt = y => Math.floor((y - trackTop(0) + NAME) / TRACK);
const onName = (x, y) => NAME ? y < trackTop(rowAt(y)) : x < LEFT;

// What is at a point of the canvas. A finger is less exact than a mouse: it gets `slack`, in pixels.
function under(x, y, pixels = 2) {
  const row = rowAt(y), t = T(x), slack = span() / canvas.clientWidth * pixels;
  if (row < 0 || row >= W.length + tracks.length || onName(x, y)) return null;
  const within = (a, i) => i >= 0 && i < a.begin.length && t <= a.end[i] + slack;
  if (row < W.length) {
    const w = W[row], i = indexFrom(w.begin, t) - 1, k = indexFrom(w.gap.begin, t) - 1;
    if (i >= 0 && t <= w.end[i]) return { r: row, i, gap: false };
    if (k >= 0 && t <= w.gap.end[k]) return { r: row, i: k, gap: true };
    return within(w, i) ? { r: row, i, gap: false } : within(w.gap, k) ? { r: row, i: k, gap: true } : null;
  }
  const track = tracks[row - W.length];
  if (track.proxy) { const i = indexFrom(LOOKS.at, t + slack) - 1; return i >= 0 && t <= LOOKS.at[i] + LOOKS.length[i] + slack ? { words: lookWords(i) } : null; }
  if (track.message) { const i = track.message.findLast(i => MESSAGES.at[i] - slack <= t && t <= MESSAGES.at[i] + MESSAGES.length[i] + slack); return i === undefined ? null : { words: messageWords(i) }; }
  if (tracks[row - W.length].outside) { const i = indexFrom(OUT.at, t - slack); return i < OUT.at.length && OUT.at[i] <= t + slack ? { outside: true, i } : null; }
  for (const e of tracks[row - W.length].each || []) { const n = indexFrom(e.begin, t) - 1; if (within(e, n)) return { r: e.r, i: e.at[n], gap: false }; }
  return null;
}

function clicked(x, y, pixels) {
  const row = rowAt(y) - W.length, name = onName(x, y);
  if (name && row >= 0 && row < tracks.length) { tracks.splice(row, 1); address(); }
  const at = under(x, y, pixels);
  if (at && at.words) { picked = null; $('picked').textContent = at.words; }
  else if (at && at.outside) { picked = null; $('picked').textContent = outsideWords(at.i); }
  else if (at) pick(at.r, at.i, at.gap); else if (!name) { picked = null; $('picked').textContent = ''; }
  redraw();
}

// A track for a thread, all threads of a label, a counter of the program, or all OS threads that are not workers.
function addTrack(name) {
  if (tracks.length >= TRACKS_MAX || tracks.some(l => l.name === name)) return;
  if (name === OUTSIDE && OUT.at.length) { tracks.push({ name, outside: true }); redraw(); address(); return; }
  if (name === PROXY && LOOKS.at.length) { tracks.push({ name, proxy: true }); redraw(); address(); return; }
  const counter = F.strings.indexOf(name);
  if (counter >= 0 && USER.counter.name.includes(counter)) {
    const indices = [...USER.counter.name.keys()].filter(i => USER.counter.name[i] === counter), value = indices.map(i => USER.counter.value[i]);
    tracks.push({ name, counter: true, at: indices.map(i => USER.counter.at[i]), value, most: value.reduce((a, b) => Math.max(a, b), 0) });
  } else if (counter >= 0 && MESSAGES.name.includes(counter)) {
    tracks.push({ name, message: [...MESSAGES.name.keys()].filter(i => MESSAGES.name[i] === counter) });
  } else {
    const label = F.labels.indexOf(name), threads = [];
    N.forEach((n, i) => { if (n === name || (label >= 0 && F.label_of[i] === label)) threads.push(i); });
    if (threads.length) tracks.push(trackOf(name, threads));
  }
  redraw(); address();
}

// Labels, threads and counters whose names contain the word: each can have a track.
function offers(word) {
  const holds = n => n.toLowerCase().includes(word), sizes = F.labels.map(() => 0);
  F.label_of.forEach(l => sizes[l]++);
  const labels = F.labels.map((n, l) => [n, sizes[l]]).filter(p => holds(p[0]) && p[1] > 1);
  labels.sort((a, b) => b[1] - a[1]);
  const counters = [...new Set(USER.counter.name)].map(i => F.strings[i]).filter(holds);
  const outside = OUT.at.length && holds(OUTSIDE) ? [[OUTSIDE, OUTSIDE]] : [];
  const messages = [...(LOOKS.at.length && holds(PROXY) ? [PROXY] : []), ...mostBytes().map(i => F.strings[i]).filter(holds)];
  return [...outside, ...messages.map(n => [n, n]), ...labels.map(p => [p[0], `${p[0]} (${p[1].toLocaleString()} threads)`]), ...counters.map(n => [n, n]), ...N.filter(holds).slice(0, 30).map(n => [n, n])];
}

function search() {
  const word = $('search').value.trim().toLowerCase();
  found = word === '' ? null : trackOf('found', [...N.keys()].filter(i => N[i].toLowerCase().includes(word)));
  const chips = word === '' && document.activeElement !== $('search') ? [] : offers(word).slice(0, 14);
  $('chips').replaceChildren(...chips.map(([name, text]) => { const b = document.createElement('button'); b.textContent = '+ ' + text; b.onclick = () => addTrack(name); return b; }));
  if (found) $('picked').textContent = `${found.set.size.toLocaleString()} of ${N.length.toLocaleString()} threads`;
  redraw();
}

function legendEntry(colour, words) {
  const entry = document.createElement('span'), square = document.createElement('i');
  square.style.background = colour;
  entry.append(square, words);
  return entry;
}

// The legend of runs: the labels that run in view, longest first, with their shares of the workers' time there. A click
// adds a track. It follows the view once that rests, since it adds up every slice in view.
const LEGEND_MAX = 12;
function ranInView() { clearTimeout(ranInView.later); ranInView.later = setTimeout(showRuns, ranInView.done ? 120 : 0); }
function showRuns() {
  ranInView.done = true;
  const ran = new Float64Array(F.labels.length), whole = span() * W.length || 1;
  for (const w of W)
    for (let i = Math.max(0, indexFrom(w.begin, from) - 1), e = indexFrom(w.begin, to); i < e; i++)
      ran[F.label_of[w.thread[i]]] += Math.max(0, Math.min(to, w.end[i]) - Math.max(from, w.begin[i]));
  const share = ns => ns > whole / 1000 ? (100 * ns / whole).toFixed(1) + ' %' : 'under 0.1 %';
  const order = [...ran.keys()].filter(l => ran[l] > 0).sort((a, b) => ran[b] - ran[a]), rest = order.splice(LEGEND_MAX);
  const entries = order.map(l => {
    const button = document.createElement('button');
    button.append(legendEntry(labelColour(l), `${short(F.labels[l])} ${share(ran[l])}`));
    button.title = `${F.labels[l]}: add its track`;
    button.onclick = () => addTrack(F.labels[l]);
    return button;
  });
  if (rest.length) entries.push(legendEntry('transparent', `${rest.length.toLocaleString()} more: ${share(rest.reduce((sum, l) => sum + ran[l], 0))}`));
  const lead = document.createElement('b');
  lead.textContent = order.length ? 'runs in view' : 'nothing runs in view';
  $('runs').replaceChildren(lead, ...entries);
}

function tables() {
  const s = F.stats, row = (...cells) => '<tr>' + cells.map(c => `<td>${c}</td>`).join('') + '</tr>';
  const text = t => t.replace(/[&<>]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
  const share = ns => (100 * ns / (s.wall_ns || 1)).toFixed(1) + ' %';
  const kinds = [['running', w => w.running_ns], ...F.classes.map(c => [c.name, w => w.classes_ns[c.name]]), ['overhead', w => w.overhead_ns]];
  const head = words => '<tr><th>' + words.map(word => `<th>${word}`).join('') + '</tr>';
  let html = '';
  // On a narrow page, four workers a table, side by side.
  for (let first = 0; isNarrow() && first < s.workers.length; first += 4) {
    const some = s.workers.slice(first, first + 4);
    html += '<table><caption>worker time</caption>' + head(some.map(w => 'worker ' + w.worker)) + kinds.map(([name, of]) => row(name, ...some.map(w => share(of(w))))).join('') + '</table>';
  }
  if (!isNarrow()) html += '<table><caption>worker time</caption>' + head(kinds.map(kind => kind[0])) + s.workers.map(w => row('worker ' + w.worker, ...kinds.map(kind => share(kind[1](w))))).join('') + '</table>';
  for (const w of s.workers) {
    const most = Math.max(1, ...w.incidents_ns);
    html += `<table><caption>worker ${w.worker}: idle by length</caption>` + F.decades.map((d, i) => w.incidents[i] ? `<tr><td>${d.replaceAll('us', 'µs')}<td>${w.incidents[i].toLocaleString()}<td>${time(w.incidents_ns[i])}<td class="bar"><i style="width:${120 * w.incidents_ns[i] / most}px"></i></tr>` : '').join('') + '</table>';
  }
  if (s.path.steps) html += `<table><caption>critical path, ${s.path.steps.toLocaleString()} slices</caption>` + s.path.parts.slice(0, 8).map(p => row(text(p.what), share(p.ns))).join('') + '</table>';
  for (const outside of [false, true]) {
    const edges = s.edges.filter(e => e.outside === outside).slice(0, 8), caption = outside ? 'wakes by OS threads that are not workers' : 'wakes across workers';
    if (edges.length) html += `<table><caption>${caption}</caption>` + edges.map(e => row(`${text(e.from)} → ${text(e.to)}`, e.count.toLocaleString() + ' ×', time(e.latency_ns / e.count))).join('') + '</table>';
  }
  if (s.waits.length) html += '<table><caption>waits</caption>' + s.waits.slice(0, 8).map(e => row(text(e.label) + ' ' + e.reason + (e.site ? ' at ' + text(e.site) : ''), e.count.toLocaleString() + ' ×', time(e.waited_ns / e.count))).join('') + '</table>';
  if (s.messages.advice) html += `<table><caption>messages between ranks: ${s.messages.exchanges.toLocaleString()} exchanges</caption>` + head(['exchanges', 'under way', 'waited for', 'bytes', 'last', 'late']) + s.messages.waits.slice(0, 12).map(e => row(`${text(e.exchange)}, rank ${e.peer}`, e.count.toLocaleString(), time(e.under_way_ns / e.count), time(e.waited_ns / e.count), Math.round(e.bytes / e.count).toLocaleString(), e.last, e.late)).join('') + '</table>';
  if (s.spreads.length) html += '<table><caption>thread spread</caption>' + s.spreads.slice(0, 8).map(e => row(text(e.label), e.members.toLocaleString() + ' threads', e.percent.toFixed(1) + ' %')).join('') + '</table>';
  $('tables').innerHTML = html;
  const signs = [[P.busy, 'share of the workers that run'], [RUN, 'runs, too many to be told apart'], ...F.classes.map(c => [COLOURS[c.name], c.words]),
    [P.mark, 'critical path'], [ARROW, 'a wake on another worker'], [SEARCHED, 'what is searched for'], [WAITED, 'on a track: ready, waiting for a worker'],
    [TRACK_RUN, 'on a track: runs, too many to be told apart'], ...(USER.span.at.length ? [[SPAN, 'a span of the program']] : []),
    ...(USER.mark.at.length ? [[MARK, 'a mark of the program']] : []), ...(OUT.at.length ? [[WOKEN, 'a wake by an OS thread'], [SPAWNED, 'a spawn by an OS thread']] : [])];
  if (MESSAGES.at.length) signs.push([HIDDEN, 'a message under way'], [EXPOSED, 'the same, waited for'], [FOUND_SOME, 'a look that found something done'], [FOUND_NONE, 'a look for nothing']);
  $('legend').replaceChildren(...signs.map(([colour, words]) => legendEntry(colour, words)));
}

// Zooms around a time, by default the one below the pointer, else the middle. A factor below 1 shows less.
function zoom(factor, around = zoom.at ?? (from + to) / 2) {
  const t = Math.min(to, Math.max(from, around));
  show(t - (t - from) * factor, t + (to - t) * factor);
}
function move(part) { const ns = span() * part; if (part < 0 ? from > F.begin : to < F.end) show(from + ns, to + ns); }

// Mouse, pen and fingers: one moves or selects, two zoom so that what is below each stays there.
function pointers() {
  const down = new Map();
  let moved = false, grip = null;
  // The times below two fingers, while both are down.
  const hold = () => { const [a, b] = [...down.values()]; grip = down.size === 2 ? [T(a.x), T(b.x)] : null; };
  canvas.addEventListener('wheel', e => { e.preventDefault(); zoom(e.deltaY < 0 ? .65 : 1 / .65, T(e.offsetX)); }, { passive: false });
  canvas.addEventListener('pointerdown', e => {
    if (e.button) return;
    if (!down.size) moved = false;
    down.set(e.pointerId, { x: e.offsetX }); hold();
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointermove', e => {
    const at = down.get(e.pointerId);
    zoom.at = e.pointerType === 'mouse' && e.offsetX >= LEFT ? T(e.offsetX) : undefined;
    if (!at) { const over = under(e.offsetX, e.offsetY); canvas.title = !over ? '' : over.words ? over.words : over.outside ? outsideWords(over.i) : words(over.r, over.i, over.gap); return; }
    const by = e.offsetX - at.x;
    if (!moved && !grip && Math.abs(by) < (e.pointerType === 'touch' ? 8 : 4)) return;
    moved = true; at.x = e.offsetX;
    if (!grip) { const ns = by * span() / (right() - LEFT); return show(from - ns, to - ns); }
    const [a, b] = [...down.values()].map(p => p.x), each = Math.abs(a - b) < 8 ? 0 : (grip[1] - grip[0]) / (b - a);
    if (each > 0) { const begin = grip[0] - (a - LEFT) * each; show(begin, begin + (right() - LEFT) * each); }
  });
  const up = e => {
    if (!down.delete(e.pointerId)) return;
    if (e.type === 'pointerup' && !moved && !down.size) clicked(e.offsetX, e.offsetY, e.pointerType === 'touch' ? 8 : 2);
    if (grip) moved = true;
    hold();
  };
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('pointerleave', () => { zoom.at = undefined; });
  canvas.addEventListener('dblclick', e => zoom(.4, T(e.offsetX)));
}

function listen() {
  pointers();
  let narrow = isNarrow();
  // Also when a scroll bar comes or goes, which is no change of the window.
  new ResizeObserver(() => { if (narrow !== isNarrow()) { narrow = !narrow; tables(); } redraw(); }).observe(canvas.parentElement);
  addEventListener('hashchange', fromAddress);
  const track = () => { const run = pickedRun(); if (run) addTrack(N[W[run.r].thread[run.i]]); };
  const keys = { 0: () => show(F.begin, F.end), g: toLongestGap, b: toCause, p: togglePath, l: track, '/': () => $('search').focus(),
    '+': () => zoom(.6), '=': () => zoom(.6), '-': () => zoom(1.6), _: () => zoom(1.6), w: () => zoom(.6), s: () => zoom(1.6), a: () => move(-.2), d: () => move(.2),
    ArrowLeft: () => move(-.2), ArrowRight: () => move(.2), ArrowUp: () => zoom(.6), ArrowDown: () => zoom(1.6), Home: () => show(F.begin, F.begin + span()), End: () => show(F.end - span(), F.end) };
  // Where the timeline has not the focus, these scroll the page, as in any other one.
  const scroll = ['ArrowUp', 'ArrowDown', 'Home', 'End'];
  addEventListener('keydown', e => {
    if (e.target === $('search') || e.ctrlKey || e.metaKey || e.altKey) return;
    const name = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    if (!Object.hasOwn(keys, name) || (scroll.includes(name) && document.activeElement !== canvas)) return;
    e.preventDefault(); keys[name]();
  });
  $('search').addEventListener('input', search);
  $('search').addEventListener('focus', search);
  $('search').addEventListener('keydown', e => { if (e.key === 'Escape') { $('search').value = ''; $('search').blur(); canvas.focus(); search(); } if (e.key === 'Enter') offers($('search').value.trim().toLowerCase()).slice(0, 1).forEach(p => addTrack(p[0])); });
  $('all').onclick = () => show(F.begin, F.end); $('worst').onclick = toLongestGap; $('back').onclick = toCause; $('path').onclick = togglePath; $('track').onclick = track;
  $('in').onclick = () => zoom(.6, (from + to) / 2); $('out').onclick = () => zoom(1.6, (from + to) / 2);
}

unpack().then(([workers, outside, user, messages, looks]) => {
  W = workers; OUT = outside; USER = user; MESSAGES = messages; LOOKS = looks;
  $('verdict').textContent = F.stats.finding;
  $('advice').textContent = F.stats.advice + (F.stats.predicted === null ? '' : `; predicted with that: ${F.stats.predicted}`) + (F.stats.messages.advice ? `; messages between ranks: ${F.stats.messages.advice}` : '');
  const events = W.reduce((n, w) => n + w.begin.length + w.gap.begin.length + w.wake.at.length, OUT.at.length);
  $('facts').textContent = `${F.title} · wall ${time(F.stats.wall_ns)} · at least two workers at once ${time(F.stats.together_ns)} · ${N.length.toLocaleString()} threads · ${events.toLocaleString()} events drawn` + (F.stats.lost ? ` · ${F.stats.lost.toLocaleString()} older records were overwritten` : '') + (F.stats.ended ? '' : ' · the program did not end its trace');
  $('report').textContent = F.report;
  tables(); listen(); fromAddress(); draw();
  document.body.dataset.loadMs = performance.now().toFixed(0);
}).catch(e => { $('verdict').textContent = 'this page cannot show its trace: ' + e; });
