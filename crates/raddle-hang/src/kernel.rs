//! Owns: what the kernel says of an OS thread of this program: in which call it sleeps, and whether time ends that.
//! May use: `libc`, `raddle-context`, `raddle-core`.
//! Never: a guess: what `/proc` does not tell is not known.

use raddle_context::tls;
use raddle_core::door::tick::Interruption;
use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

/// What an OS thread of this program is at: `R` if it runs or could, `S` in a sleep that a signal ends, `D` in another.
pub(crate) fn state(os_thread: i32) -> Option<char> {
    let stat = read_to_string(format!("/proc/self/task/{os_thread}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// One stay of an OS thread in a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    /// The number of the call, and what it was given.
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
    /// Where its stack pointer is.
    pub(crate) stands_at: usize,
    /// How often it has given its processor away: another stay has another number.
    pub(crate) given_away: u64,
}

impl Stay {
    /// That of this OS thread, if it sleeps in one now.
    pub(crate) fn of(os_thread: i32) -> Option<Stay> {
        let of = |file: &str| read_to_string(format!("/proc/self/task/{os_thread}/{file}"));
        let line = of("syscall").ok()?;
        let mut words = line.split_whitespace();
        // It is `running`, or -1: stopped elsewhere.
        let number = words.next()?.parse().ok().filter(|number| *number >= 0)?;
        let mut next = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = next()?;
        }
        let stands_at = usize::try_from(next()?).ok()?;
        let status = of("status").ok()?;
        let given_away = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        Some(Stay { number, arguments, stands_at, given_away: given_away.trim().parse().ok()? })
    }

    /// Whether it waits at a futex.
    pub(crate) fn is_at_futex(&self) -> bool {
        self.number == libc::SYS_futex
    }

    /// Whether only another OS thread of this program can end it: it waits, without a deadline, at a futex that no
    /// other program has, or for the end of one of `os_threads`.
    pub(crate) fn is_ended_from_inside_only(&self, os_threads: &[i32]) -> bool {
        let [word, operation, value, timeout, ..] = self.arguments;
        let operation = operation as libc::c_int;
        let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
        let waits = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET].contains(&command) && timeout == 0;
        // The C library joins at the word in which the kernel leaves the number of the OS thread until it has ended.
        // Any word may have such a value, and another program may know it.
        let joins = || {
            let is_its = os_threads.iter().any(|one| u64::try_from(*one) == Ok(value));
            is_its && usize::try_from(word).is_ok_and(|word| tls::is_number_of_thread(word, peek))
        };
        self.is_at_futex() && waits && (operation & libc::FUTEX_PRIVATE_FLAG != 0 || joins())
    }
}

/// A word of this program's memory, if there is one.
fn peek(address: usize) -> Option<usize> {
    let mut word = [0; size_of::<usize>()];
    let memory = File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut word, address as u64).ok().map(|()| usize::from_ne_bytes(word))
}

/// The place in `stat`, behind the name, of how often an OS thread was found outside of the kernel; in it comes next.
const SAMPLES: usize = 11;

/// What some OS threads have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// So long they were on a processor.
    pub(crate) on_processor: Duration,
    /// How often they have been sampled outside of the kernel, and in it, since they began.
    samples: [u32; 2],
    /// So many calls of theirs have read or written something.
    pub(crate) calls: u64,
}

impl Work {
    /// What these have used, if the kernel counts it.
    pub(crate) fn of(os_threads: &[i32]) -> Option<Work> {
        let mut all = Work { on_processor: Duration::ZERO, samples: [0; 2], calls: 0 };
        for os_thread in os_threads {
            let of = |file: &str| read_to_string(format!("/proc/self/task/{os_thread}/{file}"));
            let ns = of("schedstat").ok()?.split_whitespace().next()?.parse().ok()?;
            all.on_processor += Duration::from_nanos(ns);
            let stat = of("stat").ok()?;
            let words = stat.rsplit_once(')')?.1.split_whitespace().skip(SAMPLES);
            for (sum, word) in all.samples.iter_mut().zip(words) {
                *sum = sum.saturating_add(word.parse().ok()?);
            }
            // Where the kernel does not count them, the length of turns must do.
            let counted = of("io").unwrap_or_default();
            let counts = counted.lines().filter_map(|line| line.strip_prefix("sysc")?.split_once(": "));
            all.calls += counts.filter_map(|(_, count)| count.parse::<u64>().ok()).sum::<u64>();
        }
        Some(all)
    }

    /// How long they have been on a processor since `then`, and about how much of that was not the kernel's.
    pub(crate) fn since(&self, then: &Work) -> [Duration; 2] {
        let took = self.on_processor.saturating_sub(then.on_processor);
        let [outside, within] = self.samples.map(f64::from);
        // One more, so that none is not taken for nothing.
        [took, took.mul_f64((outside + 1.0) / (outside + within + 1.0))]
    }
}

/// The name of a system call, of those in which one sleeps; else its number.
pub(crate) fn name_of_call(number: i64) -> String {
    let known = CALLS.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("number {number}"), |(_, name)| format!("`{name}`"))
}

macro_rules! calls {
    ($($number:ident $name:literal),* $(,)?) => { [$((libc::$number, $name)),*] };
}

const CALLS: [(i64, &str); 40] = calls! {
    SYS_accept "accept", SYS_accept4 "accept4", SYS_clock_nanosleep "clock_nanosleep", SYS_connect "connect",
    SYS_copy_file_range "copy_file_range", SYS_epoll_pwait "epoll_pwait", SYS_fallocate "fallocate", SYS_fcntl "fcntl",
    SYS_fdatasync "fdatasync", SYS_flock "flock", SYS_fsync "fsync", SYS_futex "futex", SYS_ioctl "ioctl",
    SYS_io_getevents "io_getevents", SYS_madvise "madvise", SYS_mmap "mmap", SYS_mprotect "mprotect",
    SYS_munmap "munmap", SYS_nanosleep "nanosleep", SYS_openat "openat", SYS_ppoll "ppoll", SYS_pread64 "pread64",
    SYS_preadv "preadv", SYS_pselect6 "pselect6", SYS_pwrite64 "pwrite64", SYS_pwritev "pwritev", SYS_read "read",
    SYS_readv "readv", SYS_recvfrom "recvfrom", SYS_recvmsg "recvmsg", SYS_rt_sigtimedwait "rt_sigtimedwait",
    SYS_semop "semop", SYS_sendfile "sendfile", SYS_sendmsg "sendmsg", SYS_sendto "sendto", SYS_splice "splice",
    SYS_wait4 "wait4", SYS_waitid "waitid", SYS_write "write", SYS_writev "writev",
};

/// Whether the program handles a signal by itself: its handler may do what nobody here knows of. Those of the C library
/// and of this one are known; and a fault is one of somebody who runs.
pub(crate) fn handles_signals() -> bool {
    use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGSYS, SIGTRAP, SIGURG};
    let known = [SIGQUIT, SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, 32, 33];
    let said = Interruption::get();
    let said = said.into_iter().flat_map(|said| [Some(said.stop), said.tick]).flatten();
    let known = known.into_iter().chain(said).fold(0_u64, |set, signal: i32| set | 1 << (signal - 1));
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_none_or(|set| set & !known != 0)
}

/// The numbers of all OS threads of this program.
pub(crate) fn os_threads() -> Option<Vec<i32>> {
    let list = std::fs::read_dir("/proc/self/task").ok()?;
    let listed: Vec<i32> =
        list.map(|task| task.ok()?.file_name().to_str()?.parse().ok()).collect::<Option<_>>()?;
    // The list is read in pieces, between which OS threads come and go: one may stand in none of them.
    let status = read_to_string("/proc/self/status").ok()?;
    let count = status.lines().find_map(|line| line.strip_prefix("Threads:"))?.trim().parse().ok();
    (count == Some(listed.len())).then_some(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_at_a_futex_stays_there_until_it_is_woken() {
        let word = std::sync::Arc::new(std::sync::Mutex::new(()));
        let held = word.lock().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let other = word.clone();
        let waits = std::thread::spawn(move || {
            tell.send(raddle_syscall::thread_number()).unwrap();
            drop(other.lock().unwrap());
        });
        let os_thread = told.recv().unwrap();
        let stays = || Stay::of(os_thread).filter(|stay| stay.is_at_futex() && stay.arguments[3] == 0);
        let stay = (0..).find_map(|_| stays()).unwrap();
        if stay.is_ended_from_inside_only(&[]) {
            assert_eq!(Stay::of(os_thread).map(|stay| stay.number), Some(libc::SYS_futex));
        }
        drop(held);
        waits.join().unwrap();
        assert!(os_threads().is_none_or(|all| all.contains(&raddle_syscall::thread_number())));
    }

    #[test]
    fn a_join_is_known_by_its_word_and_no_other_is_taken_for_it() {
        if tls::supported().is_err() {
            return;
        }
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let joined = std::thread::spawn(move || ends.recv().is_err());
        let joins = std::thread::spawn(move || {
            tell.send(raddle_syscall::thread_number()).unwrap();
            assert!(joined.join().unwrap());
        });
        let os_thread = told.recv().unwrap();
        let is_shared = |stay: &Stay| stay.arguments[1] as i32 & libc::FUTEX_PRIVATE_FLAG == 0;
        let stays = || Stay::of(os_thread).filter(|stay| stay.is_at_futex() && is_shared(stay));
        let stay = (0..).find_map(|_| stays()).unwrap();
        let all = (0..).find_map(|_| os_threads()).unwrap();
        assert!(stay.is_ended_from_inside_only(&all), "{stay:?}");
        assert!(!stay.is_ended_from_inside_only(&[]), "nobody has that number");
        // The same value, elsewhere.
        let word = Box::new([stay.arguments[2]; 512]);
        let mut other = stay;
        other.arguments[0] = (&raw const word[256]).addr() as u64;
        assert!(!other.is_ended_from_inside_only(&all), "{other:?}");
        other.arguments[0] = 16;
        assert!(!other.is_ended_from_inside_only(&all), "no memory at all");
        drop(end);
        joins.join().unwrap();
    }

    #[test]
    fn calls_have_names() {
        assert_eq!(name_of_call(libc::SYS_read), "`read`");
        assert_eq!(name_of_call(100_000), "number 100000");
    }
}
