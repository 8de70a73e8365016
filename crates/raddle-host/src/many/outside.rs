//! Owns: the caller's thread while workers run the program: keys, ticks, deadlock.
//! May use: `raddle_vm::quiet`.
//! Never: runs a process.
//!
//! A program is in a deadlock if at two ticks, one after the other, nobody was in the machine nor had been between
//! them, and at the second no alarm is set, no key is awaited, and every living process waits. What was told to the
//! watcher before the first of them has been heard before the second: a wish for a key cannot be overlooked. A bell
//! takes its alarm away only after it has rung.

use super::{Host, link_of};
use crate::Failure;
use crate::watch::{Keys, News};
use raddle_core::Runtime;
use raddle_core::engine::Link;
use raddle_vm::{Port, Process, Scheduler, Step};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(10);

/// The scheduler as the watcher sees it.
pub(super) struct FromOutside<'h, 'm> {
    pub(super) host: &'h Host<'m>,
    pub(super) runtime: &'h Runtime,
}

impl FromOutside<'_, '_> {
    /// Makes a process ready at a worker, where it begins.
    pub(super) fn ready_at(&self, worker: usize, process: &Process<Link>) {
        process.link.belongs_to(self.host.handle());
        // SAFETY: the machine gives up the process, which stays until the runtime has ended.
        unsafe { self.runtime.ready_at(worker, link_of(process)) };
    }
}

impl Scheduler for FromOutside<'_, '_> {
    const SHARED: bool = true;
    type Link = Link;

    fn ready(&self, process: &Process<Link>) {
        process.link.belongs_to(self.host.handle());
        // SAFETY: the machine gives up the process, which stays until the runtime has ended.
        unsafe { self.runtime.ready(link_of(process)) };
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

/// The caller's thread while the program runs.
pub(super) fn watch(outside: &FromOutside<'_, '_>, keys: &mut Keys, news: &Receiver<News>, asked: bool) {
    let host = outside.host;
    let mut awaited = asked;
    let mut quiet = None;
    loop {
        match news.recv_timeout(TICK) {
            Ok(News::Over) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(News::WantsKey | News::KeyTaken) => {
                awaited = true;
                host.screen.flush();
                keys.ask();
            }
            Ok(News::Key(None)) => awaited = false,
            Ok(News::Key(Some(key))) => {
                awaited = false;
                match host.machine.offer_key(outside, key) {
                    Ok(Step::Waits) => {}
                    Ok(Step::Done) => {
                        awaited = true;
                        keys.ask();
                    }
                    Err(_) => return host.end(Some(Failure::Quit)),
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                host.screen.flush();
                if host.world.wants_end() {
                    return host.end(Some(Failure::Quit));
                }
                if let Some(before) = quiet
                    && !awaited
                    && host.visits() == quiet
                    && host.alarms().set.is_empty()
                    && host.machine.stands_still(before, || host.visits())
                {
                    return host.end(Some(Failure::Deadlock));
                }
                quiet = host.visits();
            }
        }
    }
}
