//! Owns: a run on one worker: the machine's own scheduler on the caller's thread.
//! May use: `compile`, `options`, `outcome`, `screen`, `watch`, `world`, `raddle-bytecode`, `raddle-vm`.
//! Never: another OS thread, except the one that reads keys.

use crate::options::RunOptions;
use crate::outcome::RunOutcome;
use crate::screen::Buffer;
use crate::watch::{Keys, WatchEvent};
use crate::world::World;
use raddle_bytecode::Verified;
use raddle_vm::solo::{self, Event, Failure, Until};
use raddle_vm::{Machine, Port, WorkerLocal};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// How often the screen is flushed, and the world asked whether the program should end.
const TICK: Duration = Duration::from_millis(20);

/// The world of the machine's own scheduler.
pub(crate) struct Outside {
    world: Arc<dyn World>,
    pub(crate) screen: Buffer,
    pub(crate) keys: Keys,
    pub(crate) events: Receiver<WatchEvent>,
    /// A key has been asked for.
    pub(crate) asked: bool,
    /// A key has been offered that the program has not been seen to take.
    pub(crate) offered: bool,
    pub(crate) begun: Instant,
    ticked: Instant,
}

impl Outside {
    pub(crate) fn new(world: Arc<dyn World>) -> Outside {
        let (keys, events) = Keys::new(world.clone());
        let screen = Buffer::new(world.clone());
        let begun = Instant::now();
        Outside { world, screen, keys, events, asked: false, offered: false, begun, ticked: begun }
    }

    fn tick(&mut self) -> bool {
        if self.ticked.elapsed() < TICK {
            return false;
        }
        self.ticked = Instant::now();
        self.screen.flush();
        self.world.wants_end()
    }

    fn take(&mut self, events: WatchEvent) -> Event {
        match events {
            WatchEvent::Key(key) => {
                self.asked = false;
                key.map_or(Event::NoMoreKeys, Event::Key)
            }
            _ => Event::Nothing,
        }
    }
}

impl solo::World for Outside {
    fn now(&mut self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn wait(&mut self, until: Until, keys: bool) -> Event {
        if keys && !self.asked {
            self.asked = true;
            self.screen.flush();
            self.keys.ask();
        }
        if until == Until::Now {
            if self.tick() {
                return Event::Quit;
            }
            return self.events.try_recv().map_or(Event::Nothing, |events| self.take(events));
        }
        self.screen.flush();
        loop {
            let left = match until {
                Until::At(time) => Duration::from_micros(time.saturating_sub(self.now())),
                _ => TICK,
            };
            if left.is_zero() {
                return Event::Nothing;
            }
            if let Ok(events) = self.events.recv_timeout(left.min(TICK)) {
                return self.take(events);
            }
            if self.world.wants_end() {
                return Event::Quit;
            }
        }
    }

    fn output(&mut self, port: Port, bytes: &[u8]) {
        self.screen.write(port, bytes);
    }

    fn call(&mut self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        self.world.call(number, words)
    }
}

/// Runs a program on the caller's thread.
pub(crate) fn run(program: Verified, options: &RunOptions, world: Arc<dyn World>) -> RunOutcome {
    let mut local = WorkerLocal::default();
    #[cfg_attr(not(feature = "native"), allow(unused_mut, reason = "only a compiler changes it"))]
    let mut machine: Machine<()> = match Machine::new(program, options.memory_bytes, &mut local) {
        Ok(machine) => machine,
        Err(trap) => return RunOutcome::not_begun(trap),
    };
    #[cfg(feature = "native")]
    crate::compile::prepare(&mut machine, options.compiler.as_deref());
    let seed = options.seed.unwrap_or(0);
    let mut outside = Outside::new(world);
    let result = match machine.program().module().is_debug_build() {
        true => solo::run_checked(&machine, &mut outside, &mut local, seed),
        false => solo::run(&machine, &mut outside, &mut local, seed),
    };
    outside.screen.flush();
    let report = result.err().and_then(|failure| report(&machine, failure));
    let (stats, memory_max) = (local.stats(), machine.memory_max());
    let (memory_left, memory_bytes) = (machine.memory_in_use(), machine.memory_bytes());
    let checks = crate::outcome::checks(&machine);
    if outside.world.holds_memory() {
        std::mem::forget(machine);
    }
    let result = result.map(drop);
    RunOutcome { result, report, stats, memory_max, memory_left, memory_bytes, checks, workers: 1 }
}

/// The report of a failure.
pub(crate) fn report<L: Default>(machine: &Machine<L>, failure: Failure) -> Option<raddle_vm::Report> {
    match failure {
        Failure::Fault(fault) => Some(machine.report_fault(fault)),
        Failure::Deadlock => Some(machine.report_deadlock()),
        Failure::Quit => None,
    }
}
