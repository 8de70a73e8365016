//! Owns: `Record`, what is known of one OS thread: its number, its role, in what call it sleeps; and their list.
//! May use: `block::current`, `orphan`, `raddle-context`, `raddle-protocol`, `raddle-syscall`.
//! Never: freeing a record: a signal that comes late may still look at it.
//!
//! Workers, spare OS threads and our helpers register when they begin. An OS thread of the program registers when it
//! first waits in a call of ours. Records are used again, and never freed.
//!
//! | field | who may touch it |
//! |---|---|
//! | `tid`, `role`, `worker`, `address`, `stack`, and so on | written under the list's lock, by who registers or ends |
//! | `sleep_count`, `wait` | the OS thread itself; anybody reads |
//! | `arrived`, `running`, where it was interrupted | an observer's signal handler on it; who has stopped it reads |
//!
//! It uses a lock of the standard library, when an OS thread comes or goes.

use super::stack::own_stack;
use crate::block::current_header;
use crate::orphan;
use raddle_context::walk::{Interrupted, REGISTERS};
use raddle_protocol::header::Header;
use raddle_protocol::protocol::gate::Arrived;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What an OS thread is to the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Runs runnables.
    Worker,
    /// Makes calls that block; its pool says whether it does now.
    Spare,
    /// Watches, or writes a trace. Wakes nobody.
    Helper,
    /// One of the program's own.
    Program,
}

/// One OS thread. See the module for who may touch what.
#[derive(Debug)]
pub struct Record {
    tid: AtomicI32,
    role: AtomicU8,
    worker: AtomicPtr<()>,
    /// By which a lock knows it as its holder.
    address: AtomicPtr<()>,
    /// Odd while it sleeps, without a deadline, until somebody wakes it.
    pub(super) sleep_count: AtomicU64,
    wait: AtomicPtr<()>,
    /// At which stop of the workers it stands.
    pub arrived: Arrived,
    /// What ran there when it was stopped.
    pub running: AtomicPtr<Header>,
    /// Where it was interrupted.
    interrupted_at: AtomicUsize,
    registers: [AtomicUsize; REGISTERS],
    /// The signals that it blocked there.
    blocked: AtomicU64,
    /// Of a worker: the signals that it blocked when it began.
    blocked_at_begin: AtomicU64,
    /// Its number, while a tick is on its way to it.
    ticked: AtomicI32,
    /// Of a worker, and of one of the program's own: its stack.
    stack: [AtomicUsize; 2],
}

static RECORDS: Mutex<Vec<&'static Record>> = Mutex::new(Vec::new());

/// Holds the list: no OS thread registers or ends.
pub type Records = MutexGuard<'static, Vec<&'static Record>>;

/// Locks the list.
pub fn records() -> Records {
    RECORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In a forked child: none of these OS threads is there.
pub(crate) fn forget(records: &mut Records) {
    records.clear();
}

/// The right of an OS thread to its record, until it ends.
#[must_use = "the OS thread is registered until this goes"]
pub struct Registration {
    record: &'static Record,
    generation: u64,
}

impl Record {
    fn empty() -> Record {
        Record {
            tid: AtomicI32::new(0),
            role: AtomicU8::new(Role::Program as u8),
            worker: AtomicPtr::new(std::ptr::null_mut()),
            address: AtomicPtr::new(std::ptr::null_mut()),
            sleep_count: AtomicU64::new(0),
            wait: AtomicPtr::new(std::ptr::null_mut()),
            arrived: Arrived::nowhere(),
            running: AtomicPtr::new(std::ptr::null_mut()),
            interrupted_at: AtomicUsize::new(0),
            registers: [const { AtomicUsize::new(0) }; REGISTERS],
            blocked: AtomicU64::new(0),
            blocked_at_begin: AtomicU64::new(0),
            ticked: AtomicI32::new(0),
            stack: [const { AtomicUsize::new(0) }; 2],
        }
    }

    /// The kernel's number of the OS thread; 0 if it is nobody's.
    pub fn tid(&self) -> i32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// Whether that is its role.
    pub fn is(&self, role: Role) -> bool {
        self.role.load(Ordering::Relaxed) == role as u8
    }

    /// By which a lock knows it as its holder.
    pub fn address(&self) -> usize {
        self.address.load(Ordering::Relaxed).addr()
    }

    /// The worker that it is, by its address.
    pub fn worker(&self) -> *const () {
        self.worker.load(Ordering::Relaxed)
    }

    /// If it sleeps until somebody wakes it: the number of this sleep.
    pub fn sleeps(&self) -> Option<u64> {
        // Acquire pairs with the release in `Asleep::new`: what the sleeper did before is seen.
        Some(self.sleep_count.load(Ordering::Acquire)).filter(|sleeps| sleeps % 2 == 1)
    }

    /// By the handler: where the OS thread was, and with which registers.
    pub fn note(&self, interrupted: &Interrupted) {
        self.interrupted_at.store(interrupted.address, Ordering::Relaxed);
        for (place, register) in self.registers.iter().zip(interrupted.registers) {
            place.store(register, Ordering::Relaxed);
        }
        self.blocked.store(interrupted.blocked, Ordering::Relaxed);
    }

    /// What the handler has noted.
    pub fn interrupted(&self) -> Interrupted {
        let registers = std::array::from_fn(|at| self.registers[at].load(Ordering::Relaxed));
        let blocked = self.blocked.load(Ordering::Relaxed);
        Interrupted { address: self.interrupted_at.load(Ordering::Relaxed), registers, blocked }
    }

    /// Of a worker: the signals that it blocked when it began, as bits.
    pub fn blocked_at_begin(&self) -> u64 {
        self.blocked_at_begin.load(Ordering::Relaxed)
    }

    /// Before a tick is sent: false if one is on its way to this OS thread. Signals of this kind queue, and where it
    /// has no processor for a while, each would interrupt the handler of the one before.
    pub fn begin_tick(&self) -> bool {
        let tid = self.tid();
        self.ticked.swap(tid, Ordering::Relaxed) != tid
    }

    /// It has come, or could not be sent.
    pub fn end_tick(&self) {
        self.ticked.store(0, Ordering::Relaxed);
    }

    /// Of a worker, and of one of the program's own: its stack.
    pub fn stack(&self) -> Range<usize> {
        self.stack[0].load(Ordering::Relaxed)..self.stack[1].load(Ordering::Relaxed)
    }

    /// What it has said that it waits for. To be followed only if it certainly sleeps.
    pub fn wait(&self) -> *const () {
        self.wait.load(Ordering::Relaxed)
    }
}

impl Registration {
    /// Registers the calling OS thread, which is no worker.
    pub fn new(role: Role) -> Registration {
        Registration::at(role, std::ptr::null())
    }

    /// Registers the calling OS thread, which is about to be this worker.
    pub(crate) fn of_worker(worker: *const ()) -> Registration {
        Registration::at(Role::Worker, worker)
    }

    fn at(role: Role, worker: *const ()) -> Registration {
        let tid = raddle_syscall::thread_number();
        // The C library allocates for that: not under the lock.
        let has_frames = matches!(role, Role::Worker | Role::Program);
        let stack = if has_frames { own_stack() } else { 0..0 };
        let mut records = records();
        let free = records.iter().copied().find(|record| record.tid() == 0);
        let record = free.unwrap_or_else(|| {
            let new: &'static Record = Box::leak(Box::new(Record::empty()));
            records.push(new);
            new
        });
        record.role.store(role as u8, Ordering::Relaxed);
        record.worker.store(worker.cast_mut(), Ordering::Relaxed);
        record.address.store(who_runs(), Ordering::Relaxed);
        record.wait.store(std::ptr::null_mut(), Ordering::Relaxed);
        record.arrived.forget();
        record.stack[0].store(stack.start, Ordering::Relaxed);
        record.stack[1].store(stack.end, Ordering::Relaxed);
        record.blocked_at_begin.store(raddle_syscall::blocked_signals(), Ordering::Relaxed);
        record.tid.store(tid, Ordering::Relaxed);
        Registration { record, generation: orphan::generation() }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.generation == orphan::generation() {
            let _nobody_looks = records();
            self.record.tid.store(0, Ordering::Relaxed);
        }
    }
}

thread_local! {
    static OWN: RefCell<Option<Registration>> = const { RefCell::new(None) };
}

/// The record of the calling OS thread of the program; it registers if it has none. None if it is about to end.
pub(super) fn own_record() -> Option<&'static Record> {
    let find = |own: &RefCell<Option<Registration>>| {
        let mut own = own.try_borrow_mut().ok()?;
        let valid = own.as_ref().is_some_and(|registration| registration.generation == orphan::generation());
        if !valid {
            *own = Some(Registration::new(Role::Program));
        }
        own.as_ref().map(|registration| registration.record)
    };
    OWN.try_with(find).ok().flatten()
}

/// By which a lock knows the calling OS thread as its holder: the header of what runs there, or an address of its own.
fn who_runs() -> *mut () {
    let header = current_header();
    if header.is_null() { own_address() } else { header.cast() }
}

/// An even address that no other OS thread has: its name where nothing of ours runs.
#[inline(always)]
pub(crate) fn own_address() -> *mut () {
    thread_local! {
        static OS_THREAD: u64 = const { 0 };
    }
    OS_THREAD.with(|name| std::ptr::from_ref(name).cast_mut().cast())
}

/// The calling OS thread of the program shows what it waits for. Returns what it showed before.
pub(crate) fn show_wait(wait: *const ()) -> *const () {
    own_record().map_or(std::ptr::null(), |record| record.wait.swap(wait.cast_mut(), Ordering::Relaxed))
}
