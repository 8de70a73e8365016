//! Owns: a spare OS thread: where it waits, and what it is given to do.
//! May use: `message`, `os_thread::record`, `raddle-context`.
//! Never: a worker's private half. It is no worker.

use super::pool;
use crate::message;
use crate::os_thread::{Registration, Role};
use raddle_context::overflow::AltStack;
use raddle_context::tls;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a spare without work lives.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Something to do on a spare OS thread, once.
pub(super) enum BlockingCall {
    Borrowed { data: *mut (), run: unsafe fn(*mut ()) },
    Owned(Box<dyn FnOnce() + Send>),
}

// SAFETY: a borrowed job is made from what its maker vouched for.
unsafe impl Send for BlockingCall {}

impl BlockingCall {
    /// # Safety
    /// `run(data)` may be called once, on any OS thread.
    pub(super) unsafe fn borrowed(data: *mut (), run: unsafe fn(*mut ())) -> BlockingCall {
        BlockingCall::Borrowed { data, run }
    }

    pub(super) fn run(self) {
        match self {
            // SAFETY: the maker vouched for it.
            BlockingCall::Borrowed { data, run } => unsafe { run(data) },
            BlockingCall::Owned(f) => f(),
        }
    }
}

/// Has `f` run on a spare OS thread, or here if there is none at all. `f` catches its panics.
pub(crate) fn run_detached(f: impl FnOnce() + Send + 'static) {
    if let Err(job) = pool::submit(BlockingCall::Owned(Box::new(f))) {
        job.run();
    }
}

/// Where an idle spare waits for a job.
#[derive(Default)]
pub(super) struct Mailbox {
    job: Mutex<Option<BlockingCall>>,
    given: Condvar,
}

impl Mailbox {
    /// Wakes the spare. Called once by whoever took it off the list.
    pub(super) fn give(&self, job: BlockingCall) {
        *self.job.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
        self.given.notify_one();
    }

    /// The job, if it comes within `at_most`.
    fn take(&self, at_most: Duration) -> Option<BlockingCall> {
        let job = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut job, _) = self
            .given
            .wait_timeout_while(job, at_most, |job| job.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        job.take()
    }
}

/// Starts a spare with its first job; gives the job back if the system refuses.
pub(super) fn start(job: BlockingCall) -> Result<(), BlockingCall> {
    // A closure that is refused is dropped: what is in the mailbox is not.
    let mailbox = Arc::new(Mailbox::default());
    let own = mailbox.clone();
    mailbox.give(job);
    match thread::Builder::new().name("raddle-spare".into()).spawn(move || work(&own)) {
        Ok(_detached) => Ok(()),
        Err(_refused) => Err(mailbox.take(Duration::ZERO).expect("nobody took it")),
    }
}

fn work(mailbox: &Arc<Mailbox>) {
    let _registration = Registration::new(Role::Spare);
    pool::arrive();
    // Without an alternate stack an overflow is a plain crash; that is no reason not to run.
    let _alternate = AltStack::for_this_thread();
    let _host = tls::Host::here();
    loop {
        let Some(job) = mailbox.take(IDLE_MAX) else {
            if pool::leave(mailbox) {
                return;
            }
            continue;
        };
        do_one(job);
        while let Some(next) = pool::next_or_idle(mailbox) {
            do_one(next);
        }
    }
}

fn do_one(job: BlockingCall) {
    if catch_unwind(AssertUnwindSafe(|| job.run())).is_err() {
        // Jobs catch what the program's functions throw: this is a waker's panic.
        message::fatal("a spare OS thread panicked outside of any call");
    }
}
