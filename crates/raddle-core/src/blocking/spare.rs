//! Owns: a spare OS thread: where it waits, and what it is given to do.
//! May use: `block::control`, `message`, `os_thread`, `worker::shared`, `raddle-context`.
//! Never: a worker's private half. It is no worker.

use super::pool;
use crate::block::Block;
use crate::message;
use crate::os_thread::{self, Registration, Role};
use crate::worker::Shared;
use raddle_context::overflow::AltStack;
use raddle_context::tls;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long a spare without work lives.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Something to do on a spare OS thread, once.
pub(super) struct BlockingCall {
    what: What,
    /// Who waits for it; none if it is a task's.
    pub(super) caller: Option<&'static Block>,
    /// Whose it is. Compared, not followed.
    pub(super) runtime: *const Shared,
}

enum What {
    Borrowed { data: *mut (), run: unsafe fn(*mut ()) },
    Owned(Box<dyn FnOnce() + Send>),
}

// SAFETY: a borrowed job is made from what its maker vouched for; its caller waits for it, and its runtime for that.
unsafe impl Send for BlockingCall {}

/// The system has refused an OS thread for this one.
pub(super) struct NoSpare {
    pub(super) job: BlockingCall,
    pub(super) cause: io::Error,
}

impl BlockingCall {
    /// For this process, which waits for it.
    ///
    /// # Safety
    /// `run(data)` may be called once, on any OS thread.
    pub(super) unsafe fn borrowed(
        caller: &'static Block,
        runtime: &Shared,
        data: *mut (),
        run: unsafe fn(*mut ()),
    ) -> BlockingCall {
        BlockingCall { what: What::Borrowed { data, run }, caller: Some(caller), runtime }
    }

    /// For nobody who waits in a process.
    pub(super) fn owned(runtime: *const Shared, f: impl FnOnce() + Send + 'static) -> BlockingCall {
        BlockingCall { what: What::Owned(Box::new(f)), caller: None, runtime }
    }

    pub(super) fn run(self) {
        match self.what {
            // SAFETY: the maker vouched for it.
            What::Borrowed { data, run } => unsafe { run(data) },
            What::Owned(f) => f(),
        }
    }
}

/// Has `f` run for this runtime on a spare OS thread, when there is one: never here, since only what the caller does
/// next may end it. `f` catches its panics.
pub(crate) fn run_detached(runtime: &Shared, f: impl FnOnce() + Send + 'static) {
    let submitted = pool::submit(BlockingCall::owned(runtime, f), runtime);
    assert!(submitted.is_ok(), "a call for which no process waits is kept until there is a spare");
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
pub(super) fn start(job: BlockingCall) -> Result<(), NoSpare> {
    // A closure that is refused is dropped: what is in the mailbox is not.
    let mailbox = Arc::new(Mailbox::default());
    let own = mailbox.clone();
    mailbox.give(job);
    match os_thread::begin("raddle-spare".to_owned(), Box::new(move || work(&own))) {
        Ok(_detached) => Ok(()),
        Err(cause) => Err(NoSpare { job: mailbox.take(Duration::ZERO).expect("nobody took it"), cause }),
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
