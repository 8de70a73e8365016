//! Owns: the watcher while workers run the program: keys, ticks, deadlock detection; and when it starts.
//! May use: `one`, `watch`, `raddle-core`, `raddle-vm`.
//! Never: runs a process.
//!
//! A program is deadlocked if no worker was in the machine at or between two successive ticks, and at the second one no
//! alarm is set, no key is awaited, and every living process waits. The watcher handles all messages sent before the
//! first tick before the second one, so a request for a key cannot be missed. An alarm is removed only after its waker
//! has run. A key that was offered is either not taken yet, or the worker that took it is about to report it.

use super::{MachineHost, link_of};
use crate::Failure;
use crate::one::Outside;
use crate::watch::WatchEvent;
use raddle_core::Runtime;
use raddle_core::engine::{Link, Turn};
use raddle_vm::{Port, Process, Scheduler, Step};
use std::any::Any;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(10);

/// The scheduler as the watcher uses it.
pub(super) struct FromOutside<'h, 'm> {
    pub(super) host: &'h MachineHost<'m>,
}

impl FromOutside<'_, '_> {
    /// Makes a process ready at a worker, where it begins.
    pub(super) fn ready_at(&self, worker: usize, process: &Process<Link>) {
        // SAFETY: the machine gives up the process, which stays until the runtime has ended. Who is outside, the
        // watcher and who hears other ranks, has been joined before the workers end (`StopOnDrop`).
        unsafe { self.host.gate.ready_at(worker, link_of(process)) };
    }
}

/// The watcher's OS thread. It starts when a key is requested, or when the program has run for a tick.
///
/// PERF: many programs end sooner, and to start a thread and to see it end takes 70 us.
#[derive(Default)]
pub(super) struct Watcher(Mutex<WatcherState>);

#[derive(Default)]
struct WatcherState {
    /// What the watcher needs, until it starts.
    outside: Option<Outside>,
    begun: Option<JoinHandle<()>>,
    /// Whether the alarm that starts it is set.
    has_alarm: bool,
}

impl Watcher {
    fn state(&self) -> MutexGuard<'_, WatcherState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on the watcher may start.
    pub(super) fn wait_with(&self, outside: Outside) {
        self.state().outside = Some(outside);
    }
}

impl MachineHost<'_> {
    /// Starts the watcher unless it runs. Returns false if the system cannot start a thread.
    pub(super) fn watch(&self) -> bool {
        let mut state = self.watcher.state();
        if state.outside.is_none() || state.begun.is_some() {
            return true;
        }
        // SAFETY: the host lives until the watcher has been joined, by `end_watch`.
        let host = unsafe { self.outliving() };
        let body = move || {
            let _whatever_happens = EndWithWatcher(host);
            let outside = host.watcher.state().outside.take();
            if let Some(mut outside) = outside {
                watch(&FromOutside { host }, &mut outside);
            }
        };
        state.begun = thread::Builder::new().name("watcher".into()).spawn(body).ok();
        self.is_watched.store(state.begun.is_some(), Ordering::Relaxed);
        state.begun.is_some()
    }

    /// Starts the watcher after a tick.
    pub(super) fn watch_later(&self, turn: Turn<'_>) {
        let mut state = self.watcher.state();
        if state.has_alarm {
            return;
        }
        state.has_alarm = true;
        // SAFETY: the host lives until the runtime has ended, and no alarm is rung after that.
        let host = unsafe { self.outliving() };
        turn.alarm(TICK, Waker::from(Arc::new(StartWatcher(host))));
    }

    /// Ends the watcher. An error is its panic.
    pub(super) fn end_watch(&self) -> Result<(), Box<dyn Any + Send>> {
        let begun = {
            let mut state = self.watcher.state();
            state.outside = None;
            state.begun.take()
        };
        let _told = self.events.send(WatchEvent::Over);
        begun.map_or(Ok(()), JoinHandle::join)
    }

    /// From here on other ranks are heard, if there are any. If the system has no thread for it, the program ends.
    pub(super) fn listen(&self, runtime: &Runtime) -> Option<JoinHandle<()>> {
        let keeper = self.ranks.as_ref()?;
        // SAFETY: nobody hears, and the thread has been joined, when `StopOnDrop` has been dropped, before the host.
        let host = unsafe { self.outliving() };
        let listener = keeper.begin_hearing(host, runtime);
        if let Err(refused) = &listener {
            keeper.fail(self, format!("no OS thread to hear the other ranks: {refused}"));
        }
        listener.ok()
    }

    /// Ends the program and stops the workers.
    pub(super) fn end_from_outside(&self, failure: Failure) {
        self.end(Some(failure));
        self.gate.stop();
    }
}

/// The alarm that starts the watcher, and tries again if there is no thread.
struct StartWatcher(&'static MachineHost<'static>);

impl Wake for StartWatcher {
    fn wake(self: Arc<Self>) {
        if !self.0.watch() {
            // SAFETY: it sets an alarm, and waits for nothing.
            let _on_a_worker = unsafe { Turn::with_current(|turn| turn.alarm(TICK, Waker::from(self))) };
        }
    }
}

/// Ends the program if the watcher ends first.
struct EndWithWatcher(&'static MachineHost<'static>);

impl Drop for EndWithWatcher {
    fn drop(&mut self) {
        if !self.0.over.load(Ordering::Relaxed) {
            self.0.end_from_outside(Failure::Quit);
        }
    }
}

impl Scheduler for FromOutside<'_, '_> {
    const SHARED: bool = true;
    type Link = Link;

    fn ready(&self, process: &Process<Link>) {
        // SAFETY: as above.
        unsafe { self.host.gate.ready(link_of(process)) };
    }

    fn next(&self) -> Option<&Process<Link>> {
        None
    }

    fn alarm(&self, _: &Process<Link>, _: u32) {}
    fn cancel(&self, _: &Process<Link>, _: u32) {}

    fn now(&self) -> u32 {
        self.host.now()
    }

    fn output(&self, _: Port, _: &[u8]) {}
    fn want_key(&self) {}

    fn call(&self, _: i32, _: [u32; 4]) -> Option<[u32; 4]> {
        None
    }

    fn finished(&self) {}
}

/// Watches until the program is over.
pub(super) fn watch(from: &FromOutside<'_, '_>, outside: &mut Outside) {
    let host = from.host;
    let Outside { keys, events, asked, offered, .. } = outside;
    let mut awaited = *asked;
    let mut quiet = None;
    let mut looked = Instant::now();
    loop {
        let event = events.recv_timeout(TICK);
        // By the clock: a program that takes key after key leaves no tick without an event.
        if looked.elapsed() >= TICK {
            looked = Instant::now();
            host.screen.flush();
            if host.world.wants_end() {
                return host.end_from_outside(Failure::Quit);
            }
        }
        match event {
            Ok(WatchEvent::Over) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(WatchEvent::WantsKey | WatchEvent::KeyTaken) => {
                *offered = false;
                awaited = true;
                host.screen.flush();
                keys.ask();
            }
            Ok(WatchEvent::Key(None)) => awaited = false,
            Ok(WatchEvent::Key(Some(key))) => {
                awaited = false;
                match host.machine.offer_key(from, key) {
                    Ok(Step::Waits) => *offered = true,
                    Ok(Step::Done) => {
                        awaited = true;
                        keys.ask();
                    }
                    Err(_) => return host.end_from_outside(Failure::Quit),
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(before) = quiet
                    && !awaited
                    && (!*offered || host.machine.key_waits())
                    && host.visits() == quiet
                    && host.alarms().set.is_empty()
                    && host.machine.stands_still(before, || host.visits())
                {
                    match &host.ranks {
                        Some(keeper) if !keeper.is_alone() => keeper.stands_still(host, before),
                        _ => return host.end_from_outside(Failure::Deadlock),
                    }
                }
                quiet = host.visits();
            }
        }
    }
}
