// One instance of the module: texts in and out of its memory, one program or check each.
// Used by the page's workers and, as it is, by the tests under Node.
class Instance {
  static STATUS = ['done', 'paused', 'waits', 'failed', 'nothing'];

  constructor(module, output = () => {}) {
    const page = { now: () => performance.now(), output: (port, at, count) => output(port, this.bytes(at, count)) };
    this.exports = new WebAssembly.Instance(module, { page }).exports;
  }

  bytes(at, count) { return new Uint8Array(this.exports.memory.buffer, at >>> 0, count >>> 0).slice(); }

  give(text) {
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    const at = this.exports.raddle_input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, at >>> 0, bytes.length).set(bytes);
  }

  told() { return new TextDecoder().decode(this.bytes(this.exports.raddle_told(), this.exports.raddle_told_bytes())); }

  // The status in a word, with what was told, if it is JSON.
  said(status) {
    const text = this.told();
    return { status: Instance.STATUS[status], ...(text && { told: JSON.parse(text) }) };
  }

  check(text) { this.give(text); return this.said(this.exports.raddle_check()); }
  explain(code) { this.give(code); return this.said(this.exports.raddle_explain()); }

  format(text) {
    this.give(text);
    const status = Instance.STATUS[this.exports.raddle_format()];
    return { status, text: status === 'done' ? this.told() : null };
  }

  start(text, { test = 0, seed = 0n, memory = 64 << 20 } = {}) {
    this.give(text);
    return this.said(this.exports.raddle_start(test, BigInt.asUintN(64, BigInt(seed)), memory));
  }

  // A turn of so many milliseconds, or of so many dispatches.
  go(milliseconds, dispatches = 0) { return this.said(this.exports.raddle_go(performance.now() + milliseconds, dispatches)); }
  key(byte) { this.exports.raddle_key(byte); }
  get wakesAt() { return this.exports.raddle_wakes_at(); }
  get wantsKey() { return this.exports.raddle_wants_key() !== 0; }
  network(most) { return this.said(this.exports.raddle_network(most)).told; }
  stats() { return this.said(this.exports.raddle_stats()).told; }
}
