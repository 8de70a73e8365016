//! Owns: which processes are mobile ones, or part of one, and what they are doing.
//! May use: `machine`, `process`.
//! Never: an instruction of their own: they are forked processes, suspended at a barrier.
//!
//! A mobile process is counted in words of the module's data, where no other one is; the address of its block, which
//! begins with the barrier, stands in slot 2 of its outermost frame (`crates/raddle-occam/src/lower/suspend.rs`).

use super::look::Needs;
use crate::machine::Machine;
use crate::process::Process;
use alloc::string::{String, ToString as _};

/// Processes in processes are looked at so far.
const DEPTH_MAX: usize = 1000;

impl<L: Default> Machine<L> {
    /// Whether it is the outermost one of a mobile process.
    pub(super) fn is_mobile(&self, process: &Process<L>) -> bool {
        let data = self.data..self.data.saturating_add(self.program.module().data.len() as u32);
        data.contains(&process.join.get()) && process.parent.get() != 0
    }

    /// The block of the mobile process that a process is, or is part of.
    pub(super) fn mobile_around(&self, process: &Process<L>) -> Option<u32> {
        let mut process = process;
        for _ in 0..DEPTH_MAX {
            if self.is_mobile(process) {
                let frames = self.frames(self.stands_at(process), process.fp.get());
                return self.memory.load_w(frames.last()?.1.wrapping_add(8));
            }
            process =
                self.processes.get(process.parent.get()).filter(|parent| parent.id() != process.id())?;
        }
        None
    }

    /// What a process does that waits at the barrier of a mobile process.
    pub(super) fn at_mobile(&self, process: &Process<L>, barrier: u32) -> Option<(String, Needs)> {
        if self.mobile_around(process) == Some(barrier) {
            return Some(("is suspended, and waits to be activated".to_string(), Needs::Unknown));
        }
        let is_it = self.processes.living().any(|other| self.mobile_around(other) == Some(barrier));
        let what = "waits for a mobile process that it has activated to suspend or to end";
        is_it.then(|| (what.to_string(), Needs::Barrier(barrier)))
    }
}
