//! A limit on the program's address space, set when nothing else changes it.

#![allow(dead_code, reason = "each test program uses a part")]

use std::fs::{read_dir, read_to_string};
use std::time::Duration;

/// Lets the program have so many bytes more than it has by now.
///
/// Waits until all other OS threads sleep. One that is just beginning maps its own stacks, and the standard library
/// ends a program in which that is refused; an arena of malloc is twice as large at first as it will be, and what is
/// given back after the limit was set is room that the test does not want.
pub(crate) fn allow_more(bytes: u64) {
    while !others_sleep() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let statm = read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    limit(pages * 4096 + bytes);
}

/// Lets the program have as much as it likes.
pub(crate) fn allow_all() {
    limit(libc::RLIM_INFINITY);
}

fn limit(bytes: u64) {
    let both = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel reads one structure.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const both) }, 0);
}

fn others_sleep() -> bool {
    // SAFETY: asks for a number.
    let own = unsafe { libc::gettid() }.to_string();
    let others = read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path());
    others.filter(|path| !path.ends_with(&own)).all(|path| {
        // One that has ended since the folder was read has no state.
        let stat = read_to_string(path.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('S'))
    })
}
