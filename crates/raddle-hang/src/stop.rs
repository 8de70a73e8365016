//! Owns: the gate at which workers stand still while somebody looks at what they run, and the signal that leads there.
//! May use: `kernel`, `signals`, `libc`, `raddle-context`, `raddle-core`, `raddle-protocol`,
//! `raddle-syscall`.
//! Never: an allocation, or a lock, in the handler; or by whoever looks, while the workers stand.
//!
//! To read what a suspended process waits for, and of what object, one must know that nobody resumes it meanwhile: its
//! frame would go. So whoever looks stops the workers, as Go stops its threads: each gets a signal, and its handler
//! notes what runs there, and where, and waits at the gate. The fast paths know nothing of it and pay nothing. A worker
//! that runs a long loop, or sits in a system call, stops as well as any other.
//!
//! What is alternatively possible: a flag that workers look at when they switch. It costs a load at each switch, and
//! a worker that hangs in a loop, which is what one wants to see, never comes to the flag.
//!
//! The gate itself is `protocol::gate`.
//!
//! *What may be read then.* A process is *current* on its worker from before its first instruction after a wait to
//! after the last before the next one (`worker::enter`: who is next becomes current by a call that the compiler does
//! not look into). So whoever is not current on any stopped worker has written what it says of its wait, stands off its
//! stack, and cannot be resumed: only a worker resumes. OS threads of the program and spares run on; they may put
//! things into inboxes, and touch no frame of a suspended process but by the protocols of what it waits for.
//!
//! A worker that does not come within a second (its OS thread has the signal blocked, or the machine is that busy), or
//! sooner if one is in a sleep of the kernel's that no signal ends, makes the look a shallow one: nothing is
//! followed. Signals may end a system call early with `EINTR`, where `SA_RESTART` does not help: that is the price of a
//! report, and, once for each stand, of help for those behind (`stand`).
//!
//! It uses signals, futexes, records of OS threads.

use crate::kernel;
use raddle_context::walk::Interrupted;
use raddle_core::door::tick::Interruption;
use raddle_core::os_thread::{Record, Role};
use raddle_protocol::protocol::gate::{Closing, Gate};
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The signal: one that is ignored by default, so that a stray one does no harm, and that hardly any program uses; or
/// what an adaptor has said.
fn signal() -> libc::c_int {
    Interruption::get().map_or(libc::SIGURG, |said| said.stop)
}

/// So long is waited for a worker.
const PATIENCE: Duration = Duration::from_secs(1);
/// So long for one that sleeps and should come at once, or that is in a sleep that no signal ends, while all stand.
const PATIENCE_WITH_SLEEPER: Duration = Duration::from_millis(100);

static GATE: Gate = Gate::new();

/// The workers stand still until this is dropped.
pub(crate) struct Stopped {
    closing: Closing,
    /// Whether all of them do.
    pub(crate) all: bool,
}

/// Stops all workers but the caller. The caller holds the list of the records, and is the only one to stop anybody.
pub(crate) fn stop(records: &[&'static Record]) -> Stopped {
    let own = raddle_syscall::thread_number();
    let others =
        || records.iter().filter(|record| record.is(Role::Worker) && ![0, own].contains(&record.tid()));
    let is_deaf = others().any(|record| kernel::state(record.tid()) == Some('D'));
    let closing = GATE.close();
    if !can_stop() {
        return Stopped { closing, all: false };
    }
    let until = Instant::now() + if is_deaf { PATIENCE_WITH_SLEEPER } else { PATIENCE };
    let left = || until.saturating_duration_since(Instant::now());
    let asked = others().all(|record| ask(record));
    let all = asked && others().all(|record| GATE.wait_for(&record.arrived, closing, left));
    Stopped { closing, all }
}

/// Stops this worker, which sleeps, alone, and does `f` if it stands in a system call that the program has made: not in
/// the midst of a handler of another signal's, which may have interrupted it anywhere.
///
/// False if it does not. The caller holds the list of the records, and is the only one to stop anybody.
pub(crate) fn while_in_system_call(record: &'static Record, f: impl FnOnce()) -> bool {
    if !can_stop() {
        return false;
    }
    let closing = GATE.close();
    let until = Instant::now() + PATIENCE_WITH_SLEEPER;
    let left = || until.saturating_duration_since(Instant::now());
    let has_come = ask(record) && GATE.wait_for(&record.arrived, closing, left);
    let interrupted = record.interrupted();
    let is_in_handler = interrupted.blocked != record.blocked_at_begin();
    // SAFETY: it was interrupted there, and stands still.
    let stands_there = has_come && !is_in_handler && unsafe { interrupted.is_at_system_call() };
    if stands_there {
        f();
    }
    GATE.open(closing);
    stands_there
}

impl Stopped {
    /// Whether this worker stands at the gate.
    pub(crate) fn has(&self, record: &Record) -> bool {
        record.arrived.is_at(self.closing)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        GATE.open(self.closing);
    }
}

/// What the kernel hands to a handler, as far as we fill it in. The same on all 64-bit machines.
#[repr(C)]
struct Info {
    signal: libc::c_int,
    errno: libc::c_int,
    code: libc::c_int,
    pad: libc::c_int,
    process: libc::pid_t,
    user: libc::uid_t,
    value: *const Record,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<Info>() == 128, "the kernel's `siginfo_t` has 128 bytes");

/// Sends the signal to the worker of this record. False if it cannot be sent.
fn ask(record: &'static Record) -> bool {
    queue(record, signal())
}

/// Sends this signal with the record to its OS thread. False if it cannot be sent.
pub(crate) fn queue(record: &'static Record, signal: libc::c_int) -> bool {
    // SAFETY: touches no memory of ours.
    let process = unsafe { libc::getpid() };
    // SAFETY: touches no memory of ours.
    let user = unsafe { libc::getuid() };
    let code = libc::SI_QUEUE;
    let info = Info { signal, errno: 0, code, pad: 0, process, user, value: record, rest: [0; 12] };
    let at = &raw const info;
    // SAFETY: the 128 bytes of `info`.
    unsafe { raddle_syscall::queue_signal(record.tid(), signal, at.cast()) }.is_ok()
}

/// The record with which [`queue`] has sent a signal; none if somebody else has sent it.
///
/// # Safety
/// `info` is what the kernel hands to a handler, whole.
pub(crate) unsafe fn sent_with(info: *const libc::siginfo_t) -> Option<&'static Record> {
    // SAFETY: the caller's.
    let info = unsafe { &*info.cast::<Info>() };
    // SAFETY: touches no memory of ours.
    let own = unsafe { libc::getpid() };
    let is_ours = info.code == libc::SI_QUEUE && info.process == own;
    // SAFETY: we have sent it, with a record, which is never freed.
    unsafe { info.value.as_ref() }.filter(|_| is_ours)
}

/// Installs the handler, once. False if the program uses the signal itself, or where a context is not where it seems.
fn can_stop() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    // The twin's contexts are other OS threads; ThreadSanitizer hands signals over late.
    !cfg!(any(raddle_twin, raddle_tsan)) && *INSTALLED.get_or_init(|| crate::signals::install(signal(), halt))
}

/// On the worker that was asked: notes what runs, and stays until the gate opens.
extern "C" fn halt(_signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's, for this call.
    let Some(record) = (unsafe { sent_with(info) }) else { return };
    // SAFETY: the location is the calling thread's own, or of the storage that it has loaded.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    // Not by the library, whose idea of the thread is of its storage.
    let thread = raddle_syscall::thread_number();
    // A signal that was held back for long may find the record to be another's: then it tells nothing.
    if record.tid() == thread {
        let _stood = GATE.stand(&record.arrived, || {
            record.running.store(raddle_context::current::get().cast(), Ordering::Relaxed);
            // SAFETY: the kernel has given it to this handler.
            record.note(&unsafe { Interrupted::of(context) });
        });
    }
    // SAFETY: as above.
    unsafe { errno.write(before) };
}
