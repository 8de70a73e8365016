//! Owns: the serial phase of a program that is traced: it runs on a worker, which records it.
//! May use: `one`, `raddle-core`, `raddle-vm`.
//! Never: another order than without a trace; a process in a queue of the worker.

use super::MachineHost;
use crate::Failure;
use crate::one::Outside;
use raddle_core::engine::{Link, Turn};
use raddle_vm::solo::{self, Event, Rest, Until};
use raddle_vm::{Port, Process, WorkerLocal};
use std::sync::PoisonError;
use std::sync::mpsc::Sender;

/// How the serial phase ended: nothing is left, or work for several workers.
pub(super) type PhaseOutcome<'m> = Result<Option<Rest<'m, Link>>, Failure>;

/// The serial phase of a traced program, for the worker that runs it.
pub(super) struct SerialPhase<'m> {
    pub(super) outside: Outside,
    /// Whether there are other workers.
    pub(super) may_spread: bool,
    pub(super) done: Sender<(Outside, PhaseOutcome<'m>)>,
}

impl<'m> MachineHost<'m> {
    /// Runs the serial phase if it has not run; returns whether it did.
    #[cold]
    pub(super) fn run_serial_phase(&self, turn: Turn<'_>, local: &mut WorkerLocal) -> bool {
        let Some(phase) = self.serial_phase.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return false;
        };
        let SerialPhase { mut outside, may_spread, done } = phase;
        let world = RecordedWorld { outside: &mut outside, host: self, turn, has_begun: false };
        let begun = match may_spread {
            true => solo::run_serial_phase(self.machine, world, local),
            false => solo::run(self.machine, world, local, 0).map(|_| None),
        };
        outside.screen.flush();
        // The caller of `run` waits for this.
        let _told = done.send((outside, begun));
        true
    }
}

/// The world of the serial phase, with a recorder.
struct RecordedWorld<'w, 'h, 'm> {
    outside: &'w mut Outside,
    host: &'h MachineHost<'m>,
    turn: Turn<'w>,
    /// Whether the first process's run is recorded already, since the worker took it out of its queue.
    has_begun: bool,
}

impl RecordedWorld<'_, '_, '_> {
    fn of(&self, process: u32, note: impl FnOnce(&Self, &Process<Link>)) {
        if let Some(process) = self.host.machine.process(process).filter(|_| self.turn.is_recorded()) {
            note(self, process);
        }
    }
}

impl solo::World for RecordedWorld<'_, '_, '_> {
    const RECORDS: bool = true;

    fn now(&mut self) -> u64 {
        self.outside.now()
    }

    fn wait(&mut self, until: Until, keys: bool) -> Event {
        match until {
            Until::Now => self.outside.wait(until, keys),
            _ => self.turn.rest(|| self.outside.wait(until, keys)),
        }
    }

    fn output(&mut self, port: Port, bytes: &[u8]) {
        self.outside.output(port, bytes);
    }

    fn call(&mut self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        self.outside.call(number, words)
    }

    fn begins(&mut self, process: u32) {
        self.of(process, |it, process| it.turn.note_made(&process.link, it.host.handle()));
    }

    fn wakes(&mut self, process: u32) {
        self.of(process, |it, process| it.turn.note_ready(&process.link));
    }

    fn runs(&mut self, process: u32) {
        if std::mem::replace(&mut self.has_begun, true) {
            self.of(process, |it, process| it.turn.note_runs(&process.link));
        }
    }

    fn stops(&mut self, at: u32, ready: bool) {
        if self.turn.is_recorded() {
            self.host.note_stop(self.turn, at, ready);
        }
    }
}
