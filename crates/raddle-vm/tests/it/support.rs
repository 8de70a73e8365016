//! Owns: a world that remembers what was printed, and a clock that jumps.
//! May use: the machine's public face.
//! Never: real time.

use raddle_bytecode::build::{Code, ModuleBuilder};
use raddle_bytecode::{Module, verify};
use raddle_vm::solo::{self, Event, Failure, Until, World};
use raddle_vm::{Machine, Port, WorkerLocal};
use std::collections::VecDeque;

pub(crate) const SCREEN: i32 = 20;
pub(crate) const KEYBOARD: i32 = 16;

#[derive(Default)]
pub(crate) struct Paper {
    pub(crate) text: String,
    keys: VecDeque<u8>,
    now: u64,
}

impl World for &mut Paper {
    fn now(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn wait(&mut self, until: Until, keys: bool) -> Event {
        if keys {
            return self.keys.pop_front().map_or(Event::NoMoreKeys, Event::Key);
        }
        if let Until::At(time) = until {
            self.now = self.now.max(time);
        }
        Event::Nothing
    }

    fn output(&mut self, _: Port, bytes: &[u8]) {
        self.text.push_str(&String::from_utf8_lossy(bytes));
    }

    fn call(&mut self, _: i32, _: [u32; 4]) -> Option<[u32; 4]> {
        None
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

pub(crate) fn run_keys(module: Module, keys: &str, seed: u64) -> Result<String, Failure> {
    let mut paper = Paper { keys: keys.bytes().collect(), ..Paper::default() };
    let mut local = WorkerLocal::default();
    let verified = verify(module).unwrap_or_else(|refusal| panic!("{refusal}"));
    let machine: Machine<()> = Machine::new(verified, 1 << 20, &mut local).unwrap();
    solo::run(&machine, &mut paper, &mut local, seed).map(|_| paper.text)
}

/// What it prints, whatever the schedule.
pub(crate) fn run(module: Module) -> Result<String, Failure> {
    let text = run_keys(module.clone(), "", 0);
    for seed in 1..5 {
        assert_eq!(run_keys(module.clone(), "", seed), text, "with seed {seed}");
    }
    text
}

/// Prints slot `slot` as a decimal digit.
pub(crate) fn print(code: &mut Code, slot: u16, scratch: u16) {
    code.ldi(scratch, SCREEN);
    code.add_i(scratch + 1, slot, i32::from(b'0'));
    code.output(scratch, scratch + 1, 1);
}
