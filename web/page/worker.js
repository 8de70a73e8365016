// A worker: checks texts, or runs a program in turns, so that messages are heard in between. machine.js stands before.
const TURN = 12, SHOW_EVERY = 200, UNSEEN_MAX = 4, PROCESSES = 60, TEST_MS = 10000;
let module, machine = null, timer = 0, unseen = 0, stepping = false, shown = 0, shownCost = 0, parts = [];
const channel = new MessageChannel();
channel.port1.onmessage = () => turn();
const soon = () => channel.port2.postMessage(0);

function flush() {
  if (!parts.length) return;
  // What goes to one port is one part: to show a part takes a layout of the screen.
  const joined = [];
  for (const { port, bytes } of parts) {
    const last = joined.at(-1);
    if (last?.port === port) last.all.push(bytes); else joined.push({ port, all: [bytes] });
  }
  const whole = all => { const bytes = new Uint8Array(all.reduce((sum, it) => sum + it.length, 0)); all.reduce((at, it) => { bytes.set(it, at); return at + it.length; }, 0); return bytes; };
  postMessage({ is: 'output', parts: joined.map(({ port, all }) => ({ port, bytes: whole(all) })) });
  parts = [];
  unseen++;
}

// How it stands; with the network if that is not too dear, or if nothing runs.
function show(state, more = {}) {
  flush();
  const now = performance.now(), still = state !== 'running';
  let network;
  if (machine && (still || now - shown > Math.max(SHOW_EVERY, 10 * shownCost))) {
    network = machine.network(PROCESSES);
    shown = performance.now();
    shownCost = shown - now;
  }
  if (still || network) postMessage({ is: 'state', state, stats: machine?.stats(), wantsKey: machine?.wantsKey ?? false, network, ...more });
}

function after(said) {
  switch (said.status) {
    case 'done': return end('ended');
    case 'failed': return end('failed', { report: said.told });
    case 'nothing': return end('stopped');
  }
  if (stepping) return show(said.status === 'waits' && !isFinite(machine.wakesAt) ? 'waits' : 'paused');
  if (said.status === 'waits') {
    const wait = machine.wakesAt - performance.now();
    if (wait > 2 || !isFinite(wait)) show('waits');
    if (isFinite(wait)) timer = setTimeout(turn, Math.min(Math.max(wait, 0), 1e9));
    return;
  }
  show('running');
  if (unseen <= UNSEEN_MAX) soon();
}

function turn() {
  clearTimeout(timer);
  if (machine && !stepping) attempt(() => after(machine.go(TURN)));
}

function end(state, more) { show(state, more); machine = null; clearTimeout(timer); }

// A trap of WebAssembly ends the instance, not the page.
function attempt(act) {
  try { act(); } catch (error) {
    machine = null;
    flush();
    postMessage({ is: 'state', state: 'crashed', why: String(error) });
  }
}

function judge(test, { screen, failure }) {
  if (failure && test.fails === null) return failure;
  if (failure && !failure.includes(test.fails)) return `it fails, but without “${test.fails}” in the report:\n${failure}`;
  if (!failure && test.fails !== null) return `it should fail with “${test.fails}”, and has ended well`;
  if (test.output !== null && test.output !== screen) return `expected on the screen:\n${test.output}\nfound:\n${screen}`;
  return null;
}

async function tested(text, number, test, seed) {
  let screen = '', failure = null, said;
  const decoder = new TextDecoder();
  const one = new Instance(module, (port, bytes) => { if (port === 20) screen += decoder.decode(bytes, { stream: true }); });
  // Each test under each seed has an instance of its own, whose memory the browser gives back when it likes.
  said = one.start(text, { test: number, seed, memory: 16 << 20 });
  if (said.status !== 'done') return said.told?.[0]?.message ?? 'it cannot be run';
  new TextEncoder().encode(test.input).forEach(byte => one.key(byte));
  one.key(-1);
  const begun = performance.now();
  for (;;) {
    said = one.go(TURN);
    if (said.status === 'done') break;
    if (said.status === 'failed') { failure = said.told.text; break; }
    if (performance.now() - begun > TEST_MS || screen.length > 1e6) return `it was ended after ${TEST_MS / 1000} s`;
    const wait = said.status === 'waits' ? Math.min(Math.max(one.wakesAt - performance.now(), 0), 100) : 0;
    await new Promise(done => setTimeout(done, wait));
  }
  return judge(test, { screen, failure });
}

async function runTests(text, seeds) {
  const checked = new Instance(module).check(text);
  if (checked.status !== 'done') return postMessage({ is: 'tested', refused: true });
  const results = [];
  for (const [at, test] of checked.told.tests.entries()) {
    let wrong = null, seed = 0;
    for (; seed < seeds && wrong === null; seed++) wrong = await tested(text, at + 1, test, seed);
    results.push({ name: test.name, wrong, seed: seed - 1 });
    postMessage({ is: 'testing', results });
  }
  postMessage({ is: 'tested', results });
}

const asked = {
  load(ask) { module = ask.module; postMessage({ is: 'loaded' }); },
  check(ask) {
    let checked;
    try { checked = new Instance(module).check(ask.text); } catch (error) { checked = { status: 'crashed', why: String(error) }; }
    postMessage({ is: 'checked', number: ask.number, ...checked });
  },
  format(ask) { attempt(() => postMessage({ is: 'formatted', ...new Instance(module).format(ask.text) })); },
  explain(ask) { attempt(() => postMessage({ is: 'explained', code: ask.code, ...new Instance(module).explain(ask.code) })); },
  test(ask) { runTests(ask.text, ask.seeds).catch(error => postMessage({ is: 'tested', results: [], why: String(error) })); },
  run(ask) {
    attempt(() => {
      clearTimeout(timer);
      [parts, unseen, shown, stepping] = [[], 0, 0, ask.steps];
      machine = new Instance(module, (port, bytes) => parts.push({ port, bytes }));
      const said = machine.start(ask.text, { seed: ask.seed });
      if (said.status !== 'done') { machine = null; return postMessage({ is: 'state', state: 'refused', complaints: said.told }); }
      if (ask.steps) for (let left = ask.steps; left > 0; left--) {
        const said = machine.go(TURN, 1);
        if (said.status !== 'paused' || left === 1) return after(said);
      }
      soon();
    });
  },
  step(ask) { if (machine) attempt(() => { stepping = true; clearTimeout(timer); for (let left = ask.count; machine && left-- > 0;) { const said = machine.go(TURN, 1); if (left === 0 || said.status !== 'paused') return after(said); } }); },
  go() { if (machine) { stepping = false; soon(); } },
  key(ask) { if (machine) { ask.bytes.forEach(byte => machine.key(byte)); if (!stepping) turn(); } },
  stop() { if (machine) attempt(() => end('stopped')); },
  seen() { if (unseen-- > UNSEEN_MAX) soon(); },
};
onmessage = event => asked[event.data.do](event.data);
