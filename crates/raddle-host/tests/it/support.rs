//! Owns: a world that remembers, and runs with 1, 2 and 8 workers.
//! May use: the host's public face.
//! Never: real keys.

use raddle_bytecode::build::{Code, ModuleBuilder};
use raddle_bytecode::{Module, verify};
use raddle_host::{Options, Outcome, Port, World};
use std::sync::{Arc, Mutex};

pub(crate) const WORKERS: [usize; 3] = [1, 2, 8];

#[derive(Default)]
pub(crate) struct Paper {
    pub(crate) text: Mutex<String>,
    pub(crate) keys: Mutex<Vec<u8>>,
}

impl World for Paper {
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

/// One after the other: on one worker, then on more as it comes, then on more at once.
pub(crate) fn run(module: &Module, workers: usize, keys: &str) -> (Outcome, String) {
    let first = run_as(module, workers, keys, false);
    let second = run_as(module, workers, keys, true);
    assert_eq!(
        (&first.0.result.is_ok(), &first.1),
        (&second.0.result.is_ok(), &second.1),
        "{workers} workers"
    );
    second
}

fn run_as(module: &Module, workers: usize, keys: &str, at_once: bool) -> (Outcome, String) {
    let program = verify(module.clone()).unwrap_or_else(|refusal| panic!("{refusal}"));
    let paper = Arc::new(Paper { keys: Mutex::new(keys.bytes().rev().collect()), ..Paper::default() });
    let options = Options { workers, memory_bytes: 1 << 26, at_once, ..Options::default() };
    let outcome = raddle_host::run(program, options, paper.clone()).expect("the settings are right");
    let text = paper.text.lock().unwrap().clone();
    (outcome, text)
}

/// Prints slot `slot` as a decimal digit.
pub(crate) fn print(code: &mut Code, slot: u16, scratch: u16) {
    code.ldi(scratch, 20);
    code.add_i(scratch + 1, slot, i32::from(b'0'));
    code.output(scratch, scratch + 1, 1);
}
