//! Owns: the watcher while workers run the program: keys, ticks, deadlock; and when there is one.
//! May use: `raddle_vm::quiet`.
//! Never: runs a process.
//!
//! A program is in a deadlock if at two ticks, one after the other, nobody was in the machine nor had been between
//! them, and at the second no alarm is set, no key is awaited, and every living process waits. What was told to the
//! watcher before the first of them has been heard before the second: a wish for a key cannot be overlooked. A bell
//! takes its alarm away only after it has rung. A key that was offered waits to be taken, or whoever has taken it is
//! about to say so.

use super::{Host, link_of};
use crate::Failure;
use crate::one::Outside;
use crate::watch::News;
use raddle_core::engine::{Link, Turn};
use raddle_vm::{Port, Process, Scheduler, Step};
use std::any::Any;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(10);

/// The scheduler as the watcher sees it.
pub(super) struct FromOutside<'h, 'm> {
    pub(super) host: &'h Host<'m>,
}

impl FromOutside<'_, '_> {
    /// Makes a process ready at a worker, where it begins.
    pub(super) fn ready_at(&self, worker: usize, process: &Process<Link>) {
        // SAFETY: the machine gives up the process, which stays until the runtime has ended.
        unsafe { self.host.gate.ready_at(worker, link_of(process)) };
    }
}

/// An OS thread that watches, once there is something to see: a key is wanted, or the program has run for a tick.
///
/// PERF: many programs end sooner, and to start a thread and to see it end takes 70 us.
#[derive(Default)]
pub(super) struct Watcher(Mutex<WatcherState>);

#[derive(Default)]
struct WatcherState {
    /// What it needs, until it begins.
    outside: Option<Outside>,
    begun: Option<JoinHandle<()>>,
    /// It has been told when to begin at the latest.
    has_alarm: bool,
}

impl Watcher {
    fn state(&self) -> MutexGuard<'_, WatcherState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on it may begin.
    pub(super) fn wait_with(&self, outside: Outside) {
        self.state().outside = Some(outside);
    }
}

impl Host<'_> {
    /// Somebody is to watch from now on, if nobody does. False if the system has no thread for it.
    pub(super) fn watch(&self) -> bool {
        let mut state = self.watcher.state();
        if state.outside.is_none() || state.begun.is_some() {
            return true;
        }
        // SAFETY: the host lives until the watcher has been joined, by `end_watch`.
        let host = unsafe { self.outliving() };
        let body = move || {
            let _whatever_happens = Seen(host);
            let outside = host.watcher.state().outside.take();
            if let Some(mut outside) = outside {
                watch(&FromOutside { host }, &mut outside);
            }
        };
        state.begun = thread::Builder::new().name("watcher".into()).spawn(body).ok();
        state.begun.is_some()
    }

    /// Somebody is to watch after a tick.
    pub(super) fn watch_later(&self, turn: Turn<'_>) {
        let mut state = self.watcher.state();
        if state.has_alarm {
            return;
        }
        state.has_alarm = true;
        // SAFETY: the host lives until the runtime has ended, and no alarm is rung after that.
        let host = unsafe { self.outliving() };
        turn.alarm(TICK, Waker::from(Arc::new(Due(host))));
    }

    /// Nobody watches any more, nor begins to. An error is the watcher's panic.
    pub(super) fn end_watch(&self) -> Result<(), Box<dyn Any + Send>> {
        let begun = {
            let mut state = self.watcher.state();
            state.outside = None;
            state.begun.take()
        };
        let _told = self.news.send(News::Over);
        begun.map_or(Ok(()), JoinHandle::join)
    }

    /// Ends the program, and has the workers stop.
    fn end_from_outside(&self, failure: Failure) {
        self.end(Some(failure));
        self.gate.stop();
    }
}

/// The time has come to watch; or will, until there is a thread.
struct Due(&'static Host<'static>);

impl Wake for Due {
    fn wake(self: Arc<Self>) {
        if !self.0.watch()
            && let Some(turn) = Turn::current()
        {
            turn.alarm(TICK, Waker::from(self));
        }
    }
}

/// Without its watcher a program does not go on.
struct Seen(&'static Host<'static>);

impl Drop for Seen {
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
        // SAFETY: the machine gives up the process, which stays until the runtime has ended.
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
    let Outside { keys, news, asked, offered, .. } = outside;
    let mut awaited = *asked;
    let mut quiet = None;
    loop {
        match news.recv_timeout(TICK) {
            Ok(News::Over) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(News::WantsKey | News::KeyTaken) => {
                *offered = false;
                awaited = true;
                host.screen.flush();
                keys.ask();
            }
            Ok(News::Key(None)) => awaited = false,
            Ok(News::Key(Some(key))) => {
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
                host.screen.flush();
                if host.world.wants_end() {
                    return host.end_from_outside(Failure::Quit);
                }
                if let Some(before) = quiet
                    && !awaited
                    && (!*offered || host.machine.key_waits())
                    && host.visits() == quiet
                    && host.alarms().set.is_empty()
                    && host.machine.stands_still(before, || host.visits())
                {
                    return host.end_from_outside(Failure::Deadlock);
                }
                quiet = host.visits();
            }
        }
    }
}
