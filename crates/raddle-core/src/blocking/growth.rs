//! Owns: more spares than are started at once: when all of those stand still, and others wait for one.
//! May use: `block::name`, `message`, `worker`, `raddle-syscall`.
//! Never: a helper OS thread: it is an alarm of the caller's runtime that looks.
//!
//! A limit on spares that nothing lifts is a hang without a word: 600 clients that read are on 512 spares, and the
//! servers that would write have none. So the limit holds as long as a spare's call comes to its end, or computes, and
//! no longer. Alternatives:
//!
//! | | what it costs, and why not |
//! |---|---|
//! | no limit at all | 100 000 calls that compute are 100 000 OS threads |
//! | the call runs on its worker | whoever could end the wait may wait behind it there |
//! | an OS thread that looks | one more, which the system may refuse just when it is needed |
//! | an alarm of the caller's runtime | chosen: nothing while nobody waits; 0.3 us a spare and look |
//!
//! *Stand still* is when between two looks, at least [`STILL`] apart, no call has come to its end and the spares
//! together have had a processor for less than [`COMPUTES`].
//!
//! If the system refuses a spare, the calls wait on and it is asked again; after [`PATIENCE`] in which no call has come
//! to its end, it is said who waits, once.

use super::pool::{self, Pool};
use super::spare::{self, BlockingCall, NoSpare};
use crate::block::describe_process;
use crate::message;
use crate::worker::Shared;
use crate::worker::timer::Alarm;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// Between two looks, and the least that is called standing still.
const STILL: Duration = Duration::from_millis(10);
/// The next look, while the spares compute, or the system refuses more.
const LATER: Duration = Duration::from_millis(50);
/// Spares that have had a processor for less than this together do not compute.
const COMPUTES: Duration = Duration::from_millis(1);
/// So long the system is asked again before it is said who waits.
const PATIENCE: Duration = Duration::from_millis(300);
/// At least so many more are started at a time.
const MORE_MIN: usize = 8;
/// So many of those who wait are named.
const NAMED_MAX: usize = 20;

/// What has been found out, under the pool's lock.
pub(crate) struct Growth {
    /// The runtimes that have a look set, by address.
    lookers: Vec<usize>,
    seen: Option<Moved>,
    refused: Option<Refusals>,
}

/// What the spares were at when they last moved.
#[derive(Clone, Copy)]
struct Moved {
    at: Instant,
    done: u64,
    computed: Duration,
}

/// The system refuses more.
struct Refusals {
    since: Instant,
    done: u64,
    is_told: bool,
}

impl Growth {
    pub(super) const fn new() -> Growth {
        Growth { lookers: Vec::new(), seen: None, refused: None }
    }
}

/// The alarm of a runtime of which calls wait for a spare.
struct Look(Arc<Shared>);

impl Wake for Look {
    fn wake(self: Arc<Self>) {
        if let Some(again) = look(&self.0) {
            set(&self.0, again);
        }
    }
}

fn set(runtime: &Shared, after: Duration) {
    let waker = Waker::from(Arc::new(Look(runtime.hold())));
    let at = runtime.clock.now_ns() + after.as_nanos() as u64;
    let _rings_once = runtime.set_alarm_outside(at, Alarm::Waker(waker));
}

/// A call of this runtime, which lives, waits for a spare.
pub(super) fn look_soon(runtime: &Shared) {
    let address = std::ptr::from_ref(runtime).addr();
    let mut pool = pool::lock();
    if !pool.growth.lookers.contains(&address) {
        pool.growth.lookers.push(address);
        drop(pool);
        set(runtime, STILL);
    }
}

/// Looks after the calls that wait. When to look again, if any is of this runtime.
fn look(runtime: &Arc<Shared>) -> Option<Duration> {
    let own = Arc::as_ptr(runtime);
    let mut pool = pool::lock();
    if !pool.waiting.iter().any(|call| std::ptr::eq(call.runtime, own)) {
        pool.growth.lookers.retain(|other| *other != own.addr());
        return None;
    }
    let spares = pool.living.clone();
    drop(pool);
    let computed = spares.iter().filter_map(|number| raddle_syscall::processor_time(*number)).sum();
    let mut pool = pool::lock();
    if !pool.stands_still(Instant::now(), computed) {
        return Some(if pool.growth.refused.is_some() { LATER } else { STILL });
    }
    let more = pool.take_some();
    drop(pool);
    let Some(cause) = start_all(more) else {
        pool::lock().growth.refused = None;
        return Some(STILL);
    };
    let report = pool::lock().note_refusal(Instant::now(), &cause);
    report.iter().for_each(|text| message::say(text));
    Some(LATER)
}

/// The system refuses even the first, and those who wait for their calls make them themselves: it is said once.
pub(super) fn tell_of_none(call: &BlockingCall, cause: &io::Error) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if !IS_TOLD.swap(true, Ordering::Relaxed) {
        let mut text = format!(
            "raddle: blocking: there is no spare OS thread, and the system refuses the first one: {cause}; calls are \
             made on their workers, where others wait behind them; raise `ulimit -u` or `ulimit -v`\n    "
        );
        let _infallible = who_calls(call, &mut text);
        message::say(&(text + "\n"));
    }
}

/// Starts a spare for each. If the system refuses one, that and the rest wait on.
fn start_all(calls: Vec<BlockingCall>) -> Option<io::Error> {
    let count = calls.len();
    let mut calls = calls.into_iter();
    let refused = calls.by_ref().find_map(|call| spare::start(call).err());
    pool::note_made(count - calls.len() - usize::from(refused.is_some()));
    let NoSpare { job, cause } = refused?;
    let rest: Vec<BlockingCall> = std::iter::once(job).chain(calls).collect();
    let mut pool = pool::lock();
    let given: Vec<_> = rest.into_iter().rev().filter_map(|call| pool.put_back(call)).collect();
    drop(pool);
    given.into_iter().for_each(|(mailbox, call)| mailbox.give(call));
    Some(cause)
}

impl Pool {
    /// Whether the spares, which have computed for so long together, have stood still for a while.
    fn stands_still(&mut self, now: Instant, computed: Duration) -> bool {
        let seen = Moved { at: now, done: self.done, computed };
        let before = *self.growth.seen.get_or_insert(seen);
        let is_same = before.done == self.done && computed.saturating_sub(before.computed) < COMPUTES;
        if !is_same {
            self.growth.seen = Some(seen);
        }
        is_same && now.saturating_duration_since(before.at) >= STILL
    }

    /// Those of the longest wait, for as many spares as are to be started at a time.
    fn take_some(&mut self) -> Vec<BlockingCall> {
        let most = (self.living.len() / 8).max(MORE_MIN);
        let taken: Vec<_> = self.waiting.drain(..most.min(self.waiting.len())).collect();
        self.starting += taken.len();
        taken
    }

    /// The system refuses another spare: what is to be said of that, if it is time.
    fn note_refusal(&mut self, now: Instant, cause: &io::Error) -> Option<String> {
        let done = self.done;
        let refusals = self.growth.refused.take().filter(|refusals| refusals.done == done);
        let mut refusals = refusals.unwrap_or(Refusals { since: now, done, is_told: false });
        let is_due = !refusals.is_told && now.saturating_duration_since(refusals.since) >= PATIENCE;
        refusals.is_told |= is_due;
        self.growth.refused = Some(refusals);
        is_due.then(|| self.who_waits(cause))
    }

    fn who_waits(&self, cause: &io::Error) -> String {
        let (waiting, living) = (self.waiting.len(), self.living.len());
        let calls = if waiting == 1 { "call waits" } else { "calls wait" };
        let (stand, another) = match living {
            0 => ("there is none".to_owned(), "one"),
            1 => ("the only one stands in its call".to_owned(), "another one"),
            _ => (format!("the {living} that there are stand in their calls"), "another one"),
        };
        let mut text = format!(
            "raddle: blocking: {waiting} {calls} for a spare OS thread; {stand}, and the system refuses {another}: \
             {cause}; raise `ulimit -u` or `ulimit -v`, or end some of the calls\n"
        );
        for call in self.waiting.iter().take(NAMED_MAX) {
            text += "    ";
            let _infallible = who_calls(call, &mut text);
            text += "\n";
        }
        if waiting > NAMED_MAX {
            let _infallible = writeln!(text, "    and {} more", waiting - NAMED_MAX);
        }
        text
    }
}

/// Whose call it is that waits: under the pool's lock, or held.
fn who_calls(call: &BlockingCall, text: &mut String) -> std::fmt::Result {
    let Some(caller) = call.caller else { return text.write_str("a call of `task::spawn_blocking`") };
    describe_process(caller, text)?;
    // SAFETY: it waits for the call, which cannot begin while this holds the lock.
    match unsafe { caller.shows() } {
        Some(wait) => write!(text, " in {} at {}", wait.name(), wait.site()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool_of(living: usize, waiting: usize) -> Pool {
        let mut pool = Pool::new();
        pool.living = vec![1; living];
        pool.waiting = (0..waiting).map(|_| BlockingCall::owned(std::ptr::null(), || ())).collect();
        pool
    }

    #[test]
    fn spares_stand_still_that_neither_end_a_call_nor_compute() {
        let (mut pool, begin) = (pool_of(4, 4), Instant::now());
        let look = |pool: &mut Pool, ms, computed_ms| {
            pool.stands_still(begin + Duration::from_millis(ms), Duration::from_millis(computed_ms))
        };
        assert!(!look(&mut pool, 0, 5), "the first look");
        assert!(!look(&mut pool, 9, 5), "too early");
        assert!(look(&mut pool, 10, 5));
        assert!(!look(&mut pool, 20, 9), "they have computed");
        assert!(look(&mut pool, 30, 9));
        pool.done += 1;
        assert!(!look(&mut pool, 40, 9), "a call has ended");
        assert!(look(&mut pool, 50, 9));
    }

    #[test]
    fn more_are_started_by_an_eighth() {
        assert_eq!(pool_of(512, 1000).take_some().len(), 64);
        assert_eq!(pool_of(1, 1000).take_some().len(), MORE_MIN);
        assert_eq!(pool_of(512, 3).take_some().len(), 3);
    }

    #[test]
    fn a_refusal_that_lasts_is_told_once_for_each_stand() {
        let (mut pool, begin) = (pool_of(4, NAMED_MAX + 1), Instant::now());
        let cause = io::Error::from_raw_os_error(libc::EAGAIN);
        let refuse = |pool: &mut Pool, ms| pool.note_refusal(begin + Duration::from_millis(ms), &cause);
        assert_eq!(refuse(&mut pool, 0), None);
        assert_eq!(refuse(&mut pool, 299), None);
        let told = refuse(&mut pool, 300).expect("it is time");
        assert!(
            told.starts_with("raddle: blocking: 21 calls wait for a spare OS thread; the 4 that "),
            "{told}"
        );
        assert!(told.ends_with("    a call of `task::spawn_blocking`\n    and 1 more\n"), "{told}");
        assert_eq!(refuse(&mut pool, 1000), None, "told already");
        pool.done += 1;
        assert_eq!(refuse(&mut pool, 2000), None, "it has moved meanwhile");
        assert!(refuse(&mut pool, 2300).is_some());
    }

    #[test]
    fn who_is_refused_waits_on_before_the_others() {
        let mut pool = pool_of(4, 2);
        pool.waiting[0].runtime = std::ptr::dangling();
        let mut taken = pool.take_some();
        assert!(pool.waiting.is_empty() && pool.starting == 2);
        assert!(pool.put_back(taken.pop().unwrap()).is_none());
        assert!(pool.put_back(taken.pop().unwrap()).is_none());
        assert!(
            pool.starting == 0 && !pool.waiting[0].runtime.is_null() && pool.waiting[1].runtime.is_null()
        );
    }
}
