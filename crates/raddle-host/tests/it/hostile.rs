//! Owns: random programs on two workers at once.
//! May use: `random`.
//! Never: expects anything but an end.

use crate::random::{Dice, acceptable, instruction, program};
use raddle_bytecode::verify;
use raddle_host::{Port, RunOptions, World};
use std::sync::Arc;

/// Wants an end as soon as it is asked.
struct Impatient;

impl World for Impatient {
    fn output(&self, _: Port, _: &[u8]) {}

    fn key(&self) -> Option<u8> {
        None
    }

    fn wants_end(&self) -> bool {
        true
    }
}

#[test]
fn arbitrary_code_ends_on_two_workers() {
    for seed in 1..250 {
        let mut dice = Dice(seed);
        let mut module = program(&mut dice);
        for _ in 0..dice.below(4) {
            let at = dice.below(module.code.len() as u64) as usize;
            if module.sites.iter().all(|site| site.at as usize != at) {
                module.code[at] = instruction(&mut dice);
            }
        }
        let Ok(verified) = verify(acceptable(module)) else { continue };
        let options =
            RunOptions { workers: 2, memory_bytes: 1 << 16, at_once: true, ..RunOptions::default() };
        let _whatever =
            raddle_host::run(verified, options, Arc::new(Impatient)).expect("the settings are right");
    }
}
