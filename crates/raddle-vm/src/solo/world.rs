//! Owns: what a machine on one thread needs of the world around it.
//! May use: `scheduler`.
//! Never: decides anything.

use crate::scheduler::Port;

/// How long the world may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// Return at once.
    Now,
    /// At this time (see [`World::now`]).
    At(u64),
    /// When there is a key.
    Ever,
}

/// What the world says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A byte from the keyboard.
    Key(u8),
    /// There will be none any more.
    NoMoreKeys,
    /// The time has come, or nothing has happened.
    Nothing,
    /// The program is to end.
    Quit,
    /// The program is to stop where it is, for [`Solo::go_on`](super::Solo::go_on); all others take it for its end.
    Pause,
}

/// What a single-threaded machine needs of the world.
pub trait World {
    /// Whether it is to be told of each process that begins, runs, stops and can run again, for a trace.
    const RECORDS: bool = false;
    /// Whether it is to be told how much the machine has done, for tests.
    const COUNTED: bool = false;

    /// Microseconds since any moment.
    fn now(&mut self) -> u64;
    /// Waits, for a key only if `keys`.
    fn wait(&mut self, until: Until, keys: bool) -> Event;
    /// The program writes.
    fn output(&mut self, port: Port, bytes: &[u8]);
    /// A call to the host; `None` if there is none of that number.
    fn call(&mut self, number: i32, words: [u32; 4]) -> Option<[u32; 4]>;

    /// So much has been done; see [`Scheduler::worked`](crate::Scheduler::worked).
    fn worked(&mut self, steps: u64) {
        let _ = steps;
    }

    /// A process has been made, and can run.
    fn begins(&mut self, process: u32) {
        let _ = process;
    }

    /// A process that waited can run again.
    fn wakes(&mut self, process: u32) {
        let _ = process;
    }

    /// A process runs from now on.
    fn runs(&mut self, process: u32) {
        let _ = process;
    }

    /// What runs stops at that instruction; it can still run if `ready`.
    fn stops(&mut self, at: u32, ready: bool) {
        let _ = (at, ready);
    }
}

impl<W: World> World for &mut W {
    const RECORDS: bool = W::RECORDS;
    const COUNTED: bool = W::COUNTED;

    fn now(&mut self) -> u64 {
        W::now(self)
    }

    fn wait(&mut self, until: Until, keys: bool) -> Event {
        W::wait(self, until, keys)
    }

    fn output(&mut self, port: Port, bytes: &[u8]) {
        W::output(self, port, bytes);
    }

    fn call(&mut self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        W::call(self, number, words)
    }

    fn worked(&mut self, steps: u64) {
        W::worked(self, steps);
    }

    fn begins(&mut self, process: u32) {
        W::begins(self, process);
    }

    fn wakes(&mut self, process: u32) {
        W::wakes(self, process);
    }

    fn runs(&mut self, process: u32) {
        W::runs(self, process);
    }

    fn stops(&mut self, at: u32, ready: bool) {
        W::stops(self, at, ready);
    }
}
