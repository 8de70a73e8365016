//! Owns: the single thread's part of a program that is traced: it runs on a worker, which records it.
//! May use: `one`, `raddle-core`, `raddle-vm`.
//! Never: another order than without a trace; a process in a queue of the worker.

use super::Host;
use crate::Failure;
use crate::one::Outside;
use raddle_core::engine::{Link, Turn};
use raddle_vm::solo::{self, Event, Rest, Until};
use raddle_vm::{Lane, Port, Process};
use std::sync::PoisonError;
use std::sync::mpsc::Sender;

/// How the single thread's part has ended: nothing is left, or something for several workers.
pub(super) type Begun<'m> = Result<Option<Rest<'m, Link>>, Failure>;

/// What the worker needs that runs the single thread's part, and gives back.
pub(super) struct Tight<'m> {
    pub(super) outside: Outside,
    /// There are other workers to give work to.
    pub(super) may_spread: bool,
    pub(super) done: Sender<(Outside, Begun<'m>)>,
}

impl<'m> Host<'m> {
    /// Runs the single thread's part if that is to be done.
    #[cold]
    pub(super) fn run_tight(&self, turn: Turn<'_>, lane: &mut Lane) -> bool {
        let Some(tight) = self.tight.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return false;
        };
        let Tight { mut outside, may_spread, done } = tight;
        let world = Recorded { outside: &mut outside, host: self, turn, has_begun: false };
        let begun = match may_spread {
            true => solo::run_while_tight(self.machine, world, lane),
            false => solo::run(self.machine, world, lane, 0).map(|_| None),
        };
        // Who began it waits for this.
        let _told = done.send((outside, begun));
        true
    }
}

/// The world as the single thread sees it, with a recorder.
struct Recorded<'w, 'h, 'm> {
    outside: &'w mut Outside,
    host: &'h Host<'m>,
    turn: Turn<'w>,
    /// The first one's run is on record: the worker has taken it out of its queue.
    has_begun: bool,
}

impl Recorded<'_, '_, '_> {
    fn of(&self, process: u32, note: impl FnOnce(&Self, &Process<Link>)) {
        if let Some(process) = self.host.machine.process(process).filter(|_| self.turn.is_recorded()) {
            note(self, process);
        }
    }
}

impl solo::World for Recorded<'_, '_, '_> {
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
