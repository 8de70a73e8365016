'use strict';
// The page: an editor, what the checker says of its text, a program that runs, and who waits for whom in it.
const $ = id => document.getElementById(id);
const text = $('text');
const LIBRARY = JSON.parse($('library').textContent);
const SCREEN_MAX = 50000, HEARD_MS = 60000;

// ---- the text: colours, marks, numbers of lines ----
const KEYWORDS = new Set('AFTER ALT AND ANY ASSERT AT BARRIER BITAND BITNOT BITOR BOOL BUFFERED BYTE BYTESIN CASE CHAN CLAIM CLONE DATA DEFINED ELSE ENROLL EXTENDS FALSE FLUSH FOR FORK FORKING FROM FUNCTION IF IN INITIAL INLINE INT INT16 INT32 INT64 IS MINUS MOBILE MOSTNEG MOSTPOS NOT OF OFFSETOF OR PACKED PAR PLACE PLACED PLUS PORT PRI PROC PROCESSOR PROTOCOL REAL32 REAL64 REC RECORD RECURSIVE REM RESHAPES RESIGN RESULT RETYPES ROUND SEQ SHARED SIZE SKIP STEP STOP SYNC TIMER TIMES TRUE TRUNC TYPE UINT UINT16 UINT32 UINT64 UINT8 UNTIL VAL VALOF WHILE'.split(' '));
const TOKEN = /(--.*)|("(?:\*.|[^"*\n])*"?)|('(?:\*.[^'\n]?[^'\n]?|[^'*\n])'?)|(#[A-Z]+\b.*)|(#[0-9A-F]+|\b\d[\d.]*)|([A-Za-z][A-Za-z0-9.]*)/gm;
const escaped = words => words.replace(/[&<>"]/g, it => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[it]);
function coloured(source) {
  let html = '', at = 0;
  for (const found of source.matchAll(TOKEN)) {
    const kind = found[1] ? 'c' : found[2] || found[3] ? 's' : found[4] ? 'p' : found[5] ? 'n' : KEYWORDS.has(found[6]) ? 'k' : '';
    html += escaped(source.slice(at, found.index));
    html += kind ? `<span class="${kind}">${escaped(found[0])}</span>` : escaped(found[0]);
    at = found.index + found[0].length;
  }
  return html + escaped(source.slice(at)) + '\n';
}
let complaints = [], here = null;
// Columns count characters, not UTF-16 units.
const unit = (line, column) => [...line].slice(0, column - 1).join('').length;
function draw() {
  const lines = text.value.split('\n'), bad = new Map(), marks = new Map();
  const mark = (line, from, to, kind) => { if (lines[line - 1] !== undefined && !marks.has(line)) marks.set(line, { from: unit(lines[line - 1], from), to: Math.max(unit(lines[line - 1], to), unit(lines[line - 1], from) + 1), kind }); };
  for (const it of complaints) {
    if (it.at.file !== 'program.occ') continue;
    bad.set(it.at.line, true);
    mark(it.at.line, it.at.column, it.at.to[0] === it.at.line ? it.at.to[1] : 1e6, it.error ? 'error' : 'warning');
  }
  if (here) mark(here, 1, 1e6, 'here');
  $('colours').innerHTML = coloured(text.value);
  $('marks').innerHTML = lines.map((line, at) => {
    const it = marks.get(at + 1);
    return it ? `${escaped(line.slice(0, it.from))}<u class="${it.kind}">${escaped(line.slice(it.from, it.to)) || ' '}</u>` : '';
  }).join('\n');
  $('numbers').innerHTML = lines.map((_, at) => bad.has(at + 1) ? `<b>${at + 1}</b>` : at + 1).join('\n');
}
function goTo(line, column = 1) {
  const lines = text.value.split('\n');
  const at = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0) + unit(lines[line - 1] ?? '', column);
  text.focus();
  text.setSelectionRange(at, at);
  const height = parseFloat(getComputedStyle($('editor')).lineHeight);
  $('editor').scrollTop = Math.max(0, (line - 5) * height);
}
function say() {
  const box = $('messages');
  box.replaceChildren(...complaints.map(it => {
    const row = document.createElement('div'), title = document.createElement('b');
    row.className = it.error ? 'error' : 'warning';
    title.textContent = `${it.at.file === 'program.occ' ? '' : it.at.file + ' '}${it.at.line ? it.at.line + ': ' : ''}${it.message}`;
    const small = [it.at.label, ...it.also.map(a => `line ${a.line}: ${a.label}`), ...it.notes, it.help && `help: ${it.help}`].filter(Boolean);
    row.append(title, ' ', it.code, ...small.map(words => Object.assign(document.createElement('small'), { textContent: words })));
    row.title = 'click: go there, and the rule behind it';
    row.onclick = () => { if (it.at.line) goTo(it.at.line, it.at.column); checker.send({ do: 'explain', code: it.code }); };
    return row;
  }));
}

// ---- workers: one checks, one runs; one that is not heard of any more is replaced ----
let module;
class Helper {
  constructor(heard) { this.heard = heard; this.begin(); }
  begin() {
    this.worker?.terminate();
    const url = URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }));
    this.worker = new Worker(url);
    this.worker.onmessage = event => { clearTimeout(this.patience); this.patience = 0; this.heard(event.data); };
    this.worker.onerror = event => { event.preventDefault(); setState(`the page's worker failed: ${event.message}`, true); };
    this.send({ do: 'load', module });
  }
  send(message) { this.worker.postMessage(message); }
  // With an answer that must come within a time.
  ask(message, late) {
    this.send(message);
    clearTimeout(this.patience);
    this.patience = setTimeout(() => { this.begin(); late(); }, HEARD_MS);
  }
}
let checker, runner;

// ---- checking as one types ----
let version = 0, checkTimer = 0;
function changed() {
  version++;
  here = null;
  draw();
  clearTimeout(checkTimer);
  checkTimer = setTimeout(() => {
    saveLink();
    checker.ask({ do: 'check', number: version, text: text.value }, () => { complaints = [crashed('the checker takes too long for this text')]; say(); draw(); });
  }, 200);
}
const crashed = message => ({ code: '', error: true, message, at: {}, also: [], notes: [] });
function checked(it) {
  if (it.is === 'explained' && it.told) {
    $('results').innerHTML = '<h2></h2><pre></pre>';
    $('results').firstChild.textContent = `${it.code}: ${it.told.title}`;
    $('results').lastChild.textContent = it.told.text;
  }
  if (it.is === 'formatted') {
    if (it.text !== null && it.text !== text.value) { replace(it.text); } else if (it.text === null) setState('the text is wrong and stays as it is', true);
  }
  if (it.is !== 'checked' || it.number !== version) return;
  complaints = it.told?.complaints ?? [crashed(`the checker gave up: ${it.why}`)];
  tests = it.told?.tests ?? [];
  $('test').disabled = !tests.length;
  document.body.dataset.checked = version;
  say();
  draw();
}
let tests = [];
function replace(words) {
  const at = text.selectionStart;
  text.value = words;
  text.setSelectionRange(at, at);
  changed();
}

// ---- running ----
let state = 'idle', told = 0, steps = 0, screenText = null, typed = [];
const AT_WORK = new Set(['running', 'waits', 'paused']);
function setState(words, bad = false) { $('state').textContent = words; $('state').className = bad ? 'bad' : ''; }
function buttons() {
  const works = AT_WORK.has(state);
  $('stop').disabled = !works;
  $('back').disabled = steps < 1;
  $('run').textContent = state === 'paused' ? 'Go on' : 'Run';
}
function clear() {
  $('screen').replaceChildren();
  screenText = null;
  $('report').hidden = $('net').hidden = true;
  $('results').replaceChildren();
  decoders = { 20: new TextDecoder(), 24: new TextDecoder() };
  nodes.clear();
  looks = [];
  rows = new Map();
  here = null;
}
let decoders;
function write(port, bytes) {
  // Of what a terminal would take for commands only a cleared screen is followed.
  let words = decoders[port].decode(bytes, { stream: true });
  const cleared = words.lastIndexOf('\x1b[2J');
  if (cleared >= 0) { $('screen').replaceChildren(); screenText = null; words = words.slice(cleared + 4); }
  words = words.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '').replace(/[\0-\x08\x0b-\x1f]/g, '');
  const kind = port === 24 ? 'error' : '';
  if (!screenText || screenText.className !== kind) {
    screenText = Object.assign(document.createElement('span'), { className: kind });
    screenText.append(document.createTextNode(''));
    $('screen').append(screenText);
  }
  screenText.firstChild.appendData(words);
  const over = $('screen').textContent.length - SCREEN_MAX;
  if (over > 0) screenText.firstChild.deleteData(0, Math.min(over, screenText.firstChild.length));
  $('screen').scrollTop = $('screen').scrollHeight;
}
const SAID = { running: 'runs', waits: 'waits', paused: 'stands', ended: 'has ended', failed: 'has failed', stopped: 'was stopped', refused: 'is refused', crashed: 'ended the machine' };
function ran(it) {
  if (it.is === 'output') {
    for (const { port, bytes } of it.parts) write(port, bytes);
    requestAnimationFrame(() => runner.send({ do: 'seen' }));
  }
  if (it.is === 'testing' || it.is === 'tested') return showTests(it);
  if (it.is !== 'state') return;
  state = it.state;
  $('keyboard').className = it.wantsKey ? 'wanted' : '';
  const count = it.stats ? `: ${it.stats.messages} communications, ${it.stats.processes} processes` : '';
  setState(SAID[state] + (it.wantsKey ? ' for a key' : '') + count, state === 'failed' || state === 'crashed' || state === 'refused');
  $('state').dataset.messages = it.stats?.messages ?? '';
  if (it.report) showReport(it.report);
  if (it.why) write(24, new TextEncoder().encode(`${it.why}\n`));
  if (it.network) { $('net').hidden = false; network(it.network, it.report); }
  if (it.complaints) { complaints = it.complaints; say(); draw(); }
  document.body.dataset.state = state;
  told++;
  buttons();
}
function showReport(report) {
  $('report').hidden = false;
  $('account').textContent = report.text;
  $('picture').hidden = !report.svg;
  if (report.svg) $('picture').src = URL.createObjectURL(new Blob([report.svg], { type: 'image/svg+xml' }));
  const first = report.processes[0];
  if (first?.file === 'program.occ') { here = first.line; draw(); }
}
function start(count) {
  clear();
  steps = count;
  [state, typed] = ['running', count ? typed : []];
  document.body.dataset.state = state;
  setState('runs');
  runner.send({ do: 'run', text: text.value, seed: $('seed').value || '0', steps: count });
  if (count && typed.length) runner.send({ do: 'key', bytes: typed });
  buttons();
}
function step() {
  if (state === 'paused' || state === 'waits') { steps++; runner.send({ do: 'step', count: 1 }); }
  else { typed = []; start(1); }
}
function stop() {
  runner.ask({ do: 'stop' }, () => { state = 'stopped'; setState(SAID[state]); document.body.dataset.state = state; buttons(); });
}
function key(bytes) {
  if (!AT_WORK.has(state)) return;
  typed.push(...bytes);
  runner.send({ do: 'key', bytes });
}
function showTests({ results = [], refused, why, is }) {
  const rows = results.flatMap(it => {
    const row = Object.assign(document.createElement('div'), { className: it.wrong === null ? 'good' : 'bad', textContent: `${it.wrong === null ? '✓' : '✗'} ${it.name}${it.wrong === null ? '' : ` (seed ${it.seed})`}` });
    return it.wrong === null ? [row] : [row, Object.assign(document.createElement('pre'), { textContent: it.wrong })];
  });
  if (refused) rows.push('the program is refused: see the messages below the text');
  if (why) rows.push(why);
  if (is === 'tested' && !refused) { const well = results.every(it => it.wrong === null); setState(well ? `all ${results.length} tests passed` : 'a test failed', !well); document.body.dataset.tested = well; }
  $('results').replaceChildren(...rows);
}

// ---- the network ----
const COLOURS = { 'can run': '#2da44e', 'to output': '#d9730d', 'to input': '#2f6fdb', 'in an ALT': '#8250df', 'for its children': '#8c959f', 'for others': '#b58900', 'is held up': '#c00' };
const kindOf = process => /^can run/.test(process.doing) ? 'can run' : /^waits to output/.test(process.doing) ? 'to output' : /^waits to input/.test(process.doing) ? 'to input' : /ALT/.test(process.doing) ? 'in an ALT' : /its PAR|FORKING/.test(process.doing) ? 'for its children' : 'for others';
const nodes = new Map();
const svg = (name, attributes, ...inside) => {
  const it = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) it.setAttribute(key, attributes[key]);
  it.append(...inside);
  return it;
};
// Lines of processes, as a long pipeline is: row by row, to the right and back. Nothing if some process has three neighbours.
function inRows(all, edges, width, height) {
  const beside = new Map(all.map(it => [it, new Set()]));
  for (const { from, to } of edges) { beside.get(from).add(to); beside.get(to).add(from); }
  if (all.length < 13 || all.some(it => beside.get(it).size > 2)) return false;
  const order = new Set();
  for (const first of [...all.filter(it => beside.get(it).size < 2), ...all]) for (let it = first; it && !order.has(it);) {
    order.add(it);
    it = [...beside.get(it)].find(next => !order.has(next));
  }
  const rows = Math.max(1, Math.floor((height - 20) / 64)), columns = Math.max(2, Math.floor((width - 20) / 80), Math.ceil(all.length / rows));
  const used = Math.ceil(all.length / columns);
  [...order].forEach((it, at) => {
    const row = Math.floor(at / columns), column = row % 2 ? columns - 1 - at % columns : at % columns;
    it.x = (column + .5) * width / columns;
    it.y = (row + .5) * height / used - 6;
  });
  return true;
}
// Springs along channels, everybody else apart; who was there stays about where it was.
function arrange(all, edges, width, height) {
  if (inRows(all, edges, width, height)) return;
  const ideal = Math.min(120, Math.sqrt(width * height / (all.length + 1)) * .5);
  all.forEach((it, at) => { if (it.x === undefined) { const a = 2 * Math.PI * at / all.length; it.x = width / 2 + width * .35 * Math.cos(a); it.y = height / 2 + height * .35 * Math.sin(a); it.fresh = true; } });
  const rounds = all.some(it => it.fresh) ? 200 : 8;
  for (let round = 0; round < rounds; round++) {
    const heat = ideal * .25 * (1 - round / rounds) + .5;
    for (const it of all) it.dx = it.dy = 0;
    for (let a = 0; a < all.length; a++) for (let b = 0; b < a; b++) {
      const [one, other] = [all[a], all[b]];
      let dx = one.x - other.x || .01 * (a - b), dy = one.y - other.y || .01;
      const f = ideal * ideal / (dx * dx + dy * dy);
      one.dx += dx * f; one.dy += dy * f; other.dx -= dx * f; other.dy -= dy * f;
    }
    for (const { from, to } of edges) {
      const dx = from.x - to.x, dy = from.y - to.y, f = Math.hypot(dx, dy) / ideal;
      from.dx -= dx * f; from.dy -= dy * f; to.dx += dx * f; to.dy += dy * f;
    }
    for (const it of all) {
      const length = Math.hypot(it.dx, it.dy) || 1, by = Math.min(length, heat) / length;
      it.x = Math.min(width - 52, Math.max(52, it.x + it.dx * by));
      it.y = Math.min(height - 40, Math.max(36, it.y + it.dy * by));
    }
  }
  for (const it of all) it.fresh = false;
}
function network({ processes, channels, more }, report) {
  const held = new Set((report?.processes ?? []).slice(0, report?.front ?? 0).map(it => it.id));
  const node = (key, make) => { if (!nodes.has(key)) nodes.set(key, {}); return Object.assign(nodes.get(key), make); };
  const used = new Set(channels.flatMap(it => [...it.writers, ...it.readers]));
  const drawn = new Map(processes.map((process, at) => [at, process]).filter(([at, process]) => used.has(at) || kindOf(process) !== 'for its children')
    .map(([at, process]) => [at, node(`p${process.id}`, { process, kind: held.has(process.id) ? 'is held up' : kindOf(process), label: process.name + (process.indices.length ? ` ${process.indices.join(',')}` : '') })]));
  const edges = [];
  const waitsFor = (one, other) => processes[one].for.includes(other);
  for (const it of channels) {
    const outside = !it.writers.length || !it.readers.length;
    if (outside && !['keyboard', 'screen', 'error'].includes(it.name)) continue;
    const port = outside && node(it.name, { port: true, label: it.name, kind: 'outside' });
    if (port) drawn.set(it.name, port);
    for (const writer of it.writers.length ? it.writers : [it.name]) for (const reader of it.readers.length ? it.readers : [it.name]) {
      if (!drawn.has(writer) || !drawn.has(reader) || writer === reader) continue;
      const [from, to] = [drawn.get(writer), drawn.get(reader)];
      const same = edges.find(edge => edge.from === from && edge.to === to);
      const waits = typeof writer === 'number' && typeof reader === 'number' && (kindOf(from.process) === 'to output' && waitsFor(writer, reader) ? COLOURS['to output'] : /to input|ALT/.test(to.process.doing) && waitsFor(reader, writer) ? COLOURS['to input'] : null);
      if (same) { same.names.push(it.name); same.waits ||= waits; } else edges.push({ from, to, names: [it.name], waits });
    }
  }
  for (const key of [...nodes.keys()]) if (![...drawn.values()].includes(nodes.get(key))) nodes.delete(key);
  const box = $('network'), width = box.clientWidth || 400, height = box.clientHeight || 360;
  const all = [...drawn.values()];
  arrange(all, edges, width, height);
  const tip = (id, colour) => svg('marker', { id, viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto' }, svg('path', { d: 'M0 0L8 4L0 8z', fill: colour }));
  const tips = { '#8c959f': 't0', [COLOURS['to output']]: 't1', [COLOURS['to input']]: 't2' };
  box.replaceChildren(svg('defs', {}, ...Object.entries(tips).map(([colour, id]) => tip(id, colour))));
  for (const { from, to, names, waits } of edges) {
    const dx = to.x - from.x, dy = to.y - from.y, length = Math.hypot(dx, dy) || 1, ux = dx / length, uy = dy / length;
    // Bent a little, upward; or to the left, so that there and back are two lines.
    const side = dx < 0 && !edges.some(it => it.from === to && it.to === from) ? -1 : 1;
    const bend = side * Math.min(18, length / 6), mx = (from.x + to.x) / 2 + uy * bend, my = (from.y + to.y) / 2 - ux * bend;
    const colour = waits || '#8c959f';
    const [aside, up] = [side * uy * 4, side * ux * 4];
    const end = { x: to.x - ux * 11 + aside, y: to.y - uy * 11 - up }, begin = { x: from.x + ux * 10 + aside, y: from.y + uy * 10 - up };
    box.append(svg('path', { d: `M${begin.x} ${begin.y}Q${mx} ${my} ${end.x} ${end.y}`, fill: 'none', stroke: colour, 'stroke-width': waits ? 2.5 : 1.2, 'marker-end': `url(#${tips[colour]})` }));
    const named = names.filter(Boolean), words = named.length > 2 ? `${named[0]} … (${named.length})` : named.join(', ');
    if (edges.length <= 40) box.append(svg('text', { class: 'channel', x: Math.min(width - 24, Math.max(24, mx + side * uy * 6)), y: Math.min(height - 5, Math.max(12, my - side * ux * 6 + 3)), 'text-anchor': 'middle' }, words));
  }
  for (const it of all) {
    const shape = it.port ? svg('rect', { x: it.x - 8, y: it.y - 8, width: 16, height: 16, rx: 3, fill: '#57606a' }) : svg('circle', { cx: it.x, cy: it.y, r: 9, fill: COLOURS[it.kind] });
    const group = svg('g', { class: 'node' }, shape, svg('text', { x: it.x, y: it.y + 22, 'text-anchor': 'middle' }, it.label));
    if (it.process) {
      group.append(svg('title', {}, `${it.label}, line ${it.process.line}: ${it.process.doing}`));
      group.onclick = () => { if (it.process.file === 'program.occ') { here = it.process.line; draw(); goTo(it.process.line); } };
    }
    box.append(group);
  }
  look(all, steps > 0);
  $('counts').textContent = more ? `(${processes.length} of ${processes.length + more} processes)` : '';
  const kinds = [...new Set(all.map(it => it.kind))].filter(kind => COLOURS[kind]);
  $('legend').replaceChildren(...kinds.flatMap(kind => { const dot = document.createElement('i'); dot.style.background = COLOURS[kind]; return [dot, kind === 'can run' || kind === 'is held up' ? kind : `waits ${kind}`]; }));
}

// ---- the timeline: a column for each step, or each look while it runs; a row for each process ----
const ROW = 15, COLUMN = 9, LABEL = 104, ROWS_MAX = 40;
let looks = [], rows = new Map();
function look(all, still) {
  const column = new Map();
  for (const it of all) if (it.process) {
    // What runs a call is named after it from then on.
    if (rows.has(it.process.id) || rows.size < ROWS_MAX) rows.set(it.process.id, it.label);
    column.set(it.process.id, it.kind);
  }
  looks.push({ column, still });
  const canvas = $('timeline'), width = canvas.clientWidth || 400, height = ROW * rows.size + 4, scale = devicePixelRatio || 1;
  const most = Math.max(1, Math.floor((width - LABEL) / COLUMN));
  if (looks.length > 500) looks = looks.slice(-500);
  [canvas.width, canvas.height] = [width * scale, height * scale];
  canvas.style.height = `${height}px`;
  const g = canvas.getContext('2d');
  g.scale(scale, scale);
  g.font = '11px system-ui, sans-serif';
  g.fillStyle = getComputedStyle(document.body).color;
  [...rows.values()].forEach((label, row) => g.fillText(label, 4, ROW * row + 12, LABEL - 8));
  const shown = looks.slice(-most);
  shown.forEach(({ column }, at) => [...rows.keys()].forEach((id, row) => {
    if (!column.has(id)) return;
    g.fillStyle = COLOURS[column.get(id)];
    g.fillRect(LABEL + COLUMN * at, ROW * row + 3, COLUMN - 1, ROW - 3);
  }));
  $('span').textContent = `(${shown.every(it => it.still) ? 'a column a step' : 'a column a look, five times a second at most'}${looks.length > shown.length ? `; the last ${shown.length}` : ''})`;
}

// ---- links ----
const base64 = bytes => { let words = ''; for (const byte of bytes) words += String.fromCharCode(byte); return btoa(words).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, ''); };
const unbase64 = words => Uint8Array.from(atob(words.replace(/-/g, '+').replace(/_/g, '/')), it => it.charCodeAt(0));
const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
async function saveLink() {
  const now = version, bytes = await through(new TextEncoder().encode(text.value), new CompressionStream('deflate-raw'));
  if (now !== version) return;
  const seed = $('seed').value > 0 ? `&seed=${$('seed').value}` : '';
  history.replaceState(null, '', `#z=${base64(bytes)}${seed}`);
  document.body.dataset.saved = now;
}
// A link is anybody's: of more than this the editor would be busy for a minute.
const LINK_MAX = 1e5, LINK_LINES_MAX = 5000;
const fitting = words => { if (words.length > LINK_MAX || words.split('\n').length > LINK_LINES_MAX) throw new Error('too long'); return words; };
async function fromLink() {
  const asked = new URLSearchParams(location.hash.slice(1));
  try {
    const seed = asked.get('seed');
    if (/^\d{1,18}$/.test(seed ?? '')) $('seed').value = seed;
    if (asked.has('z')) {
      // What it unpacks to is read up to a size, and is a text in the editor, no more.
      const reader = new Blob([unbase64(asked.get('z'))]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
      const parts = [];
      for (let size = 0, part; !(part = await reader.read()).done && size <= 4 * LINK_MAX; size += part.value.length) parts.push(part.value);
      return fitting(new TextDecoder().decode(await new Blob(parts).arrayBuffer()));
    }
    if (asked.has('t')) return fitting(new TextDecoder().decode(unbase64(asked.get('t')).slice(0, 4 * LINK_MAX)));
    return LIBRARY.find(it => it.name === asked.get('program'))?.text ?? null;
  } catch { setState('the link is damaged, or its program too long', true); return null; }
}

// ---- all together ----
text.addEventListener('input', changed);
text.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); return start(0); }
  if (event.key === 'Tab' && !event.ctrlKey && !event.altKey) {
    event.preventDefault();
    const from = text.value.lastIndexOf('\n', text.selectionStart - 1) + 1;
    if (event.shiftKey || text.selectionStart !== text.selectionEnd) {
      const chosen = text.value.slice(from, text.selectionEnd);
      text.setRangeText(event.shiftKey ? chosen.replace(/^ {1,2}/gm, '') : chosen.replace(/^/gm, '  '), from, text.selectionEnd, 'select');
    } else text.setRangeText('  ', text.selectionStart, text.selectionEnd, 'end');
    changed();
  }
  if (event.key === 'Enter' && !event.isComposing) {
    event.preventDefault();
    const line = text.value.slice(text.value.lastIndexOf('\n', text.selectionStart - 1) + 1, text.selectionStart);
    const opens = /^\s*(PRI\s+|PLACED\s+)?(SEQ|PAR|IF|ALT|CASE|WHILE|PROC|CLAIM|FORKING|VALOF)\b/.test(line) && !/:\s*$/.test(line);
    text.setRangeText('\n' + /^ */.exec(line)[0] + (opens ? '  ' : ''), text.selectionStart, text.selectionEnd, 'end');
    changed();
  }
});
$('run').onclick = () => { if (state === 'paused') { state = 'running'; steps = 0; runner.send({ do: 'go' }); buttons(); } else start(0); };
$('step').onclick = step;
$('back').onclick = () => start(Math.max(1, steps - 1));
$('stop').onclick = stop;
$('test').onclick = () => { clear(); setState('tests run'); runner.begin(); runner.send({ do: 'test', text: text.value, seeds: 8 }); };
$('format').onclick = () => checker.send({ do: 'format', text: text.value });
$('link').onclick = async () => { await saveLink(); try { await navigator.clipboard.writeText(location.href); setState('the link is copied'); } catch { setState('copy the address of this page: it carries the program'); } };
$('seed').onchange = () => saveLink();
$('keys').addEventListener('input', event => { if (!event.isComposing) { key([...new TextEncoder().encode($('keys').value)]); $('keys').value = ''; } });
$('keys').addEventListener('keydown', event => {
  const code = event.ctrlKey && event.key === 'd' ? -1 : { Enter: 10, Backspace: 8, Escape: 27 }[event.key];
  if (code !== undefined && !event.isComposing) { event.preventDefault(); key([code]); }
});
$('end').onclick = () => key([-1]);
$('programs').append(...[...new Set(LIBRARY.map(it => it.group))].map(group => {
  const box = Object.assign(document.createElement('optgroup'), { label: group });
  box.append(...LIBRARY.filter(it => it.group === group).map(it => new Option(it.title, it.name)));
  return box;
}));
$('programs').onchange = () => { const it = LIBRARY.find(it => it.name === $('programs').value); if (it) { if (AT_WORK.has(state)) runner.begin(); state = 'idle'; steps = 0; clear(); text.value = it.text; setState(''); buttons(); changed(); } };
addEventListener('hashchange', async () => { const words = await fromLink(); if (words !== null && words !== text.value) { text.value = words; changed(); } });
(async () => {
  try {
    const packed = unbase64($('wasm').textContent.trim());
    module = await WebAssembly.compile(await through(packed, new DecompressionStream('gzip')));
    checker = new Helper(checked);
    runner = new Helper(ran);
    clear();
    setState('');
    const words = await fromLink();
    text.value = words ?? LIBRARY[0]?.text ?? '';
    if (words === null) $('programs').selectedIndex = 0; else $('programs').selectedIndex = LIBRARY.findIndex(it => it.text === words);
    buttons();
    changed();
    document.body.dataset.ready = 'yes';
  } catch (error) { setState(`this browser cannot run the playground: ${error}`, true); }
})();
