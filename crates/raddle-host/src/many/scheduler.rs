//! Owns: the machine's scheduler for one worker, and alarms.
//! May use: `watch`, `raddle-bytecode`, `raddle-core`, `raddle-vm`.
//! Never: touches a process that it has made ready.

use super::{MachineHost, link_of};
use crate::watch::WatchEvent;
use raddle_bytecode::Trap;
use raddle_core::engine::{Alarm, Engine, Link, Turn};
use raddle_vm::{ChannelEnd, Port, Process, Ranks, Scheduler};
use std::cell::Cell;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Wake, Waker};
use std::time::Duration;

/// The alarm of each process that has one, with a number by which a late waker knows that it is outdated.
#[derive(Default)]
pub(super) struct Alarms {
    pub(super) set: HashMap<u32, (u64, Alarm)>,
    ever: u64,
}

/// The machine's scheduler for one worker.
pub(super) struct OnWorker<'h, 'm> {
    pub(super) host: &'h MachineHost<'m>,
    pub(super) turn: Turn<'h>,
    /// The last call of the world took long.
    took_long: Cell<bool>,
}

impl<'h, 'm> OnWorker<'h, 'm> {
    pub(super) fn new(host: &'h MachineHost<'m>, turn: Turn<'h>) -> Self {
        OnWorker { host, turn, took_long: Cell::new(false) }
    }
}

impl OnWorker<'_, '_> {
    /// What ranks cannot do is the error of the process that does it, and told in words.
    fn placed<R>(&self, answer: Result<R, String>) -> Result<R, Trap> {
        answer.map_err(|text| {
            self.host.ranks.iter().for_each(|keeper| keeper.note(text.clone()));
            Trap::Placed
        })
    }

    /// Whether a process whose turn it is runs; if not, it is queued again. Asked once somebody has chosen a priority.
    #[cold]
    pub(super) fn may_run(&self, process: &Process<Link>) -> bool {
        let deferred = &self.host.slots[self.turn.index()].deferred;
        let runs = self.host.above.may_run(process, deferred, !self.turn.is_alone());
        if !runs {
            // SAFETY: it came out of a queue, and nobody runs it.
            unsafe { self.turn.ready(link_of(process)) };
        }
        runs
    }

    #[inline(always)]
    fn count(&self, process: &Process<Link>) {
        if self.host.machine.uses_levels() {
            self.host.above.ready(process);
        }
    }

    /// A stand-in of another rank's runs no code: what it has waited for has come, and is told at once.
    #[inline(always)]
    fn is_stand_in(&self, process: &Process<Link>) -> bool {
        self.host.ranks.as_ref().is_some_and(|keeper| keeper.tells_at_once(self.host, process))
    }
}

impl Scheduler for OnWorker<'_, '_> {
    const SHARED: bool = true;
    type Link = Link;

    #[inline(always)]
    fn ready(&self, process: &Process<Link>) {
        if self.is_stand_in(process) {
            return;
        }
        self.count(process);
        // SAFETY: the machine gives up the process, which stays until the runtime has ended.
        unsafe { self.turn.ready(link_of(process)) };
    }

    #[inline(always)]
    fn ready_here(&self, process: &Process<Link>) -> bool {
        if self.is_stand_in(process) {
            return false;
        }
        self.count(process);
        // SAFETY: as above.
        unsafe { self.turn.ready(link_of(process)) }
    }

    #[inline(always)]
    fn begin(&self, process: &Process<Link>, many: bool) {
        self.count(process);
        if many {
            process.link.belongs_to(self.host.handle());
            process.link.forget_worker();
            // SAFETY: the machine gives up the process, which stays until the runtime has ended.
            unsafe { self.turn.fresh(link_of(process)) };
        } else {
            // SAFETY: as above.
            unsafe { self.turn.begin(link_of(process), self.host.handle()) };
        }
    }

    #[inline(always)]
    fn next(&self) -> Option<&Process<Link>> {
        loop {
            let link = self.turn.next(self.host.handle())?;
            // SAFETY: it came out of a queue.
            let process = unsafe { self.host.process_of(link) };
            if !self.host.machine.uses_levels() || self.may_run(process) {
                return Some(process);
            }
        }
    }

    fn out_of_fuel(&self, _: bool) {
        // Nobody else is dispatched after the end.
        if self.host.over.load(Ordering::Relaxed) {
            self.turn.end_batch();
        } else if !self.host.is_watched.load(Ordering::Relaxed) {
            // The watcher is started by an alarm, and alarms ring between two batches.
            self.turn.cut_batch();
        }
    }

    fn look(&self) -> bool {
        self.host.over.load(Ordering::Relaxed)
    }

    fn alarm(&self, process: &Process<Link>, time: u32) {
        let after = time.wrapping_sub(self.host.now()) as i32;
        let after = Duration::from_micros(u64::try_from(after).unwrap_or(0) + 1);
        // SAFETY: the host lives until the runtime has ended, and no alarm is rung after that.
        let host = unsafe { self.host.outliving() };
        let mut alarms = self.host.alarms();
        if self.host.over.load(Ordering::Relaxed) {
            return;
        }
        alarms.ever += 1;
        let number = alarms.ever;
        let waker = Waker::from(Arc::new(AlarmWaker { host, process: process.id(), number }));
        let before = alarms.set.insert(process.id(), (number, self.turn.alarm(after, waker)));
        drop(alarms);
        if let Some((_, before)) = before {
            self.turn.cancel(before);
        }
    }

    fn cancel(&self, process: &Process<Link>, _: u32) {
        let alarm = self.host.alarms().set.remove(&process.id());
        if let Some((_, alarm)) = alarm {
            self.turn.cancel(alarm);
        }
    }

    #[inline(always)]
    fn stops(&self, at: u32, ready: bool) {
        if self.turn.is_recorded() {
            self.host.note_stop(self.turn, at, ready);
        }
    }

    fn now(&self) -> u32 {
        self.host.now()
    }

    fn output(&self, port: Port, bytes: &[u8]) {
        self.host.screen.write(port, bytes);
    }

    fn want_key(&self) {
        if let Some(keeper) = self.host.ranks.as_ref().filter(|keeper| !keeper.is_first()) {
            let text = "a branch of a PLACED PAR reads the keyboard, which is rank 0's: place it there";
            return keeper.fail(self.host, text.to_owned());
        }
        if !self.host.wants_key.swap(true, Ordering::Relaxed) {
            let _told = self.host.events.send(WatchEvent::WantsKey);
            self.host.watch();
        }
    }

    fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        // The call may take long, and this worker may be the one that should start the watcher.
        self.host.watch();
        let host = self.host;
        let call = || host.world.call(number, words);
        let long_calls = &host.slots[self.turn.index()].long_calls;
        let (results, took_long) = long_calls.call(number, || self.turn.lay_out(), call);
        self.took_long.set(took_long);
        results
    }

    fn took_long(&self) -> bool {
        self.took_long.get()
    }

    fn begin_placed(&self, process: &Process<Link>, may: bool) -> Result<Ranks, Trap> {
        match &self.host.ranks {
            None => Ok(Ranks::ALONE),
            Some(keeper) => self.placed(keeper.begin(self.host, process, may)),
        }
    }

    fn place_channel(&self, channel: u32) {
        self.host.ranks.iter().for_each(|keeper| keeper.place_channel(channel));
    }

    fn touched(&self, channel: u32, end: ChannelEnd) -> Result<(), Trap> {
        match &self.host.ranks {
            None => Ok(()),
            Some(keeper) => self.placed(keeper.touched(self.host, channel, end)),
        }
    }

    fn is_placed(&self) -> bool {
        self.host.ranks.as_ref().is_some_and(|keeper| keeper.is_placed())
    }

    fn end_placed(&self, _: &Process<Link>) -> Result<(), Trap> {
        match &self.host.ranks {
            None => Ok(()),
            Some(keeper) => self.placed(keeper.end_placed(self.host)),
        }
    }

    fn finished(&self) {
        self.host.end_here(self.turn, None);
    }
}

/// Runs as the keyboard's process: tells the watcher that the program has taken a key.
pub(super) struct KeyTaken<'h, 'm>(pub(super) &'h MachineHost<'m>);

// SAFETY: nothing is done with the link.
unsafe impl Engine for KeyTaken<'_, '_> {
    fn run(&self, turn: Turn<'_>, _: NonNull<Link>) {
        // It may be the first process that this worker gets.
        self.0.visit(turn, |_, _| ());
        let _told = self.0.events.send(WatchEvent::KeyTaken);
    }

    fn name(&self, _: NonNull<Link>) -> Option<Arc<str>> {
        Some("keyboard".into())
    }
}

/// Runs as the stand-ins that were queued all the same, by who is no worker: what they waited for has come.
pub(super) struct StandIns<'h, 'm>(pub(super) &'h MachineHost<'m>);

// SAFETY: the process runs no code, and is the keeper's.
unsafe impl Engine for StandIns<'_, '_> {
    fn run(&self, turn: Turn<'_>, link: NonNull<Link>) {
        let host = self.0;
        // SAFETY: the worker took it out of a queue, into which the machine has put one of its processes.
        let process = unsafe { host.process_of(link) };
        host.visit(turn, |_, _| {
            if let Some(keeper) = &host.ranks {
                keeper.fired(host, process);
            }
        });
    }

    fn name(&self, _: NonNull<Link>) -> Option<Arc<str>> {
        Some("another rank".into())
    }
}

/// Wakes a process whose alarm has expired.
struct AlarmWaker {
    host: &'static MachineHost<'static>,
    process: u32,
    number: u64,
}

impl Wake for AlarmWaker {
    fn wake(self: Arc<Self>) {
        let current = || {
            let alarms = self.host.alarms();
            alarms.set.get(&self.process).is_some_and(|(number, _)| *number == self.number).then_some(alarms)
        };
        if self.host.over.load(Ordering::Relaxed) || current().is_none() {
            return;
        }
        let ring = |turn: Turn<'_>| self.host.machine.ring(&OnWorker::new(self.host, turn), self.process);
        // SAFETY: the machine makes a process of its own ready, and waits for nothing.
        let _on_a_worker = unsafe { Turn::with_current(ring) };
        // Last: as long as the alarm is set, the watcher does not report a deadlock.
        if let Some(mut alarms) = current() {
            alarms.set.remove(&self.process);
        }
    }
}
