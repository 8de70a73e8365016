// Opens Chromium for a test of a page; what is thrown or logged as an error in it is kept in `thrown`.
// Speaks the browser's debugging protocol over two pipes; nothing needs to be installed but node and chromium.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'raddle-page-'));
const browser = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', `--user-data-dir=${folder}`, '--window-size=1400,900', '--remote-debugging-pipe', 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const waiting = new Map();
export const thrown = [];
let number = 0, rest = '', session;
browser.stdio[4].on('data', bytes => {
  const parts = (rest + bytes).split('\0');
  rest = parts.pop();
  for (const message of parts.map(part => JSON.parse(part))) {
    if (message.method === 'Runtime.exceptionThrown') thrown.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
    if (message.method === 'Log.entryAdded' && message.params.entry.level === 'error') thrown.push(message.params.entry.text);
    // A page that loads itself anew, as it does when the colours of the system change, answers nothing that was asked.
    const reloads = message.error?.message === 'Inspected target navigated or closed';
    if (message.error && !reloads) throw new Error(JSON.stringify(message.error));
    waiting.get(message.id)?.(message.result);
  }
});
export const call = (method, params = {}) => new Promise(done => {
  waiting.set(++number, done);
  browser.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId: session }) + '\0');
});
export const value = async expression => (await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }))?.result?.value;
export const expect = (what, holds) => { if (!holds) { console.error(`wrong: ${what}`); process.exitCode = 1; } };

const { targetInfos } = await call('Target.getTargets');
session = (await call('Target.attachToTarget', { targetId: targetInfos.find(t => t.type === 'page').targetId, flatten: true })).sessionId;
await call('Runtime.enable');
await call('Page.enable');

export const close = () => {
  // The browser's own helpers may write there for a while after it has ended; what they leave is no fault of the page.
  browser.once('exit', () => {
    try { rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }); }
    catch (error) { console.log(`${folder} stays: ${error.message}`); }
  });
  browser.kill();
};
