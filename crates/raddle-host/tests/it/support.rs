//! Owns: a world that remembers, and runs with 1, 2 and 8 workers.
//! May use: the host's public face.
//! Never: real keys.

use raddle_bytecode::build::{Code, ModuleBuilder};
use raddle_bytecode::{Module, verify};
use raddle_host::{Port, RunOptions, RunOutcome, World};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub(crate) const WORKERS: [usize; 3] = [1, 2, 8];

#[derive(Default)]
pub(crate) struct CapturedOutput {
    pub(crate) text: Mutex<String>,
    pub(crate) keys: Mutex<Vec<u8>>,
}

impl World for CapturedOutput {
    fn output(&self, _: Port, bytes: &[u8]) {
        self.text.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
    }

    fn key(&self) -> Option<u8> {
        self.keys.lock().unwrap().pop()
    }
}

/// A module whose only function is `code`.
pub(crate) fn single(code: Code, slots: u32) -> Module {
    let mut module = ModuleBuilder::new();
    let main = module.declare("main");
    module.define(main, code, slots);
    module.entry(main);
    module.finish()
}

/// One after the other: as it comes, the same with a recorder, and in the workers' queues from the first instruction.
pub(crate) fn run(module: &Module, workers: usize, keys: &str) -> (RunOutcome, String) {
    let plain = RunOptions::default();
    let trace = trace_file();
    // A trace takes 32 MiB a worker.
    let runtime = plain.runtime.clone();
    let recorded =
        RunOptions { runtime: if workers > 2 { runtime } else { runtime.trace(&trace) }, ..plain.clone() };
    let at_once = RunOptions { at_once: true, ..plain.clone() };
    let [first, second, third] = [plain, recorded, at_once].map(|how| run_as(module, workers, keys, how));
    assert_eq!(std::fs::remove_file(trace).is_ok(), workers <= 2, "a recorded run leaves its trace");
    for other in [&second, &third] {
        let ends = |(outcome, text): &(RunOutcome, String)| (outcome.result.is_ok(), text.clone());
        assert_eq!(ends(&first), ends(other), "{workers} workers");
    }
    third
}

/// A file that nobody else writes.
fn trace_file() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("raddle-host-{}-{number}.rdt", std::process::id()))
}

pub(crate) fn run_as(module: &Module, workers: usize, keys: &str, how: RunOptions) -> (RunOutcome, String) {
    let program = verify(module.clone()).unwrap_or_else(|refusal| panic!("{refusal}"));
    let captured = Arc::new(CapturedOutput {
        keys: Mutex::new(keys.bytes().rev().collect()),
        ..CapturedOutput::default()
    });
    let options = RunOptions { workers, memory_bytes: 1 << 26, ..how };
    let outcome = raddle_host::run(program, options, captured.clone()).expect("the settings are right");
    let text = captured.text.lock().unwrap().clone();
    (outcome, text)
}

/// Prints slot `slot` as a decimal digit.
pub(crate) fn print(code: &mut Code, slot: u16, scratch: u16) {
    code.ldi(scratch, 20);
    code.add_i(scratch + 1, slot, i32::from(b'0'));
    code.output(scratch, scratch + 1, 1);
}
