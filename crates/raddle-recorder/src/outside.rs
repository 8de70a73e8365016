//! Owns: `Outside`, what OS threads do to a runtime that are no workers of it: whom they wake, what they make.
//! May use: `libc`, `raddle-core`, `raddle-syscall`, `raddle-trace`.
//! Never: a worker's ring.
//!
//! All of them share one ring, and take turns at it by a lock: to wake somebody from outside takes a lock and most
//! often a system call anyway, so that a ring for each would save little, and there may be many of them. A record names
//! its OS thread by a number, of which the thread remembers the last. What runs on a worker of another runtime, or is
//! away from its own for a call that blocks, may have thread-local storage that moves: it is asked for anew each time.
//!
//! It uses a lock that no worker takes; the system's names of OS threads.

use raddle_core::worker::current_header;
use raddle_trace::clock::Source;
use raddle_trace::event::pack;
use raddle_trace::{Event, Record, Ring};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// So many names of OS threads are kept; others have none.
const NAMES_MAX: usize = 1 << 20;

/// What is recorded of OS threads that are no workers.
pub(crate) struct Outside {
    /// Tells this runtime's from others'.
    number: u32,
    ring: OnceLock<Ring>,
    writer: Mutex<Threads>,
}

/// The OS threads that have written. Who holds this may write.
#[derive(Default)]
struct Threads {
    /// The name of number `n` at place `n - 1`.
    names: Vec<String>,
    /// By the kernel's numbers, which it uses again.
    numbers: HashMap<i32, u32>,
}

thread_local! {
    /// The runtime that this OS thread last wrote for, and its own number there.
    static OWN: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

impl Outside {
    pub(crate) fn new() -> Outside {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Outside {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            ring: OnceLock::new(),
            writer: Mutex::default(),
        }
    }

    fn writer(&self) -> MutexGuard<'_, Threads> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the ring, for so many records, if it is not there.
    pub(crate) fn make_ring(&self, records: usize) {
        self.ring.get_or_init(|| Ring::new(records));
    }

    pub(crate) fn ring(&self) -> Option<&Ring> {
        self.ring.get()
    }

    /// The names of all that have written; that of number `n` at place `n - 1`.
    pub(crate) fn names(&self) -> Vec<String> {
        self.writer().names.clone()
    }

    /// The calling OS thread does this to a thread, for that worker.
    pub(crate) fn record(&self, event: Event, thread: u32, worker: u8) {
        let Some(ring) = self.ring.get() else { return };
        let mut writer = self.writer();
        let who = self.own_number(&mut writer);
        // Read by who holds the lock: so times ascend.
        let ticks = Source::of_this_machine().ticks();
        ring.push(Record::new(ticks, event, thread, pack(worker, who)));
    }

    fn own_number(&self, threads: &mut Threads) -> u32 {
        if !current_header().is_null() {
            return threads.number_of_this();
        }
        let (runtime, number) = OWN.get();
        if runtime == self.number {
            return number;
        }
        let number = threads.number_of_this();
        OWN.set((self.number, number));
        number
    }
}

impl Threads {
    /// The number of the calling OS thread; 0 if it has none.
    fn number_of_this(&mut self) -> u32 {
        let own = raddle_syscall::thread_number();
        let name = name_of_this(own);
        if let Some(known) = self.numbers.get(&own)
            && self.names.get(*known as usize - 1) == Some(&name)
        {
            return *known;
        }
        if self.names.len() >= NAMES_MAX {
            return 0;
        }
        self.names.push(name);
        let number = self.names.len() as u32;
        self.numbers.insert(own, number);
        number
    }
}

/// What the system calls the calling OS thread, with the kernel's number of it: names are not unique.
fn name_of_this(own: i32) -> String {
    // SAFETY: the call has no arguments and cannot fail.
    if own == unsafe { libc::getpid() } {
        return "main".to_owned();
    }
    let mut name = [0_u8; 17];
    // SAFETY: the kernel writes at most 16 bytes there, the last of them a zero.
    let _refused = unsafe { raddle_syscall::prctl(libc::PR_GET_NAME, name.as_mut_ptr().expose_provenance()) };
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy();
    format!("{name} {own}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_trace::event::unpack;

    #[test]
    fn each_os_thread_writes_under_its_name() {
        let outside = Outside::new();
        outside.make_ring(16);
        let write = |name: &str, threads: &[u32]| {
            let thread = std::thread::Builder::new().name(name.to_owned());
            std::thread::scope(|scope| {
                let write = || threads.iter().for_each(|n| outside.record(Event::WakeOutside, *n, 255));
                thread.spawn_scoped(scope, write).expect("it starts");
            });
        };
        write("feeder", &[7, 8]);
        write("other", &[9]);
        let records = outside.ring().expect("it was made").copy(0, 16).records;
        let wrote: Vec<_> = records.iter().map(|record| (record.a, unpack(record.b))).collect();
        assert_eq!(wrote, [(7, (255, 1)), (8, (255, 1)), (9, (255, 2))]);
        assert!(records.is_sorted_by_key(|record| record.ticks()));
        let names = outside.names();
        assert!(
            names.len() == 2 && names[0].starts_with("feeder ") && names[1].starts_with("other "),
            "{names:?}"
        );
    }
}
