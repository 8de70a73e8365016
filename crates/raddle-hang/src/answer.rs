//! Owns: to whom a dump goes that was asked for by a signal, and how.
//! May use: `report`, `signals`, `libc`, `raddle-core`, `raddle-syscall`.
//! Never: the watcher, kept by somebody who does not read.
//!
//! `raddle dump` holds a pipe open, which the owner of the program may write into through `/proc`. Who reads slowly, or
//! not at all, gets the answer from an OS thread of its own, which gives up when nothing has been read for a while; who
//! asks when several such wait gets none. Standard error may be a pipe that nobody reads, too.
//!
//! It uses an OS thread for each answer, a few at a time.

use crate::report::Report;
use crate::signals::block_signals;
use raddle_core::message;
use raddle_core::observe::Content as _;
use raddle_core::os_thread::{self, Registration, Role};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// A dump that is to be written elsewhere than on standard error: the number of the process that asks, and of its
/// file descriptor, with [`AS_JSON`]. If several ask at once, one of them gets no answer.
static ANSWER_TO: AtomicU64 = AtomicU64::new(0);
/// It is to be JSON.
const AS_JSON: u32 = 1 << 31;
/// So many answers are written at a time.
const ANSWERS_MAX: usize = 4;
/// So long nothing is read, and the rest is not written.
const PATIENCE: Duration = Duration::from_secs(10);

static ANSWERS: AtomicUsize = AtomicUsize::new(0);

/// A watcher begins, perhaps in a forked child: those who wrote for the parent are not there.
pub(crate) fn begin() {
    ANSWERS.store(0, Ordering::Relaxed);
}

/// In a signal's handler: this process wants the answer at this file descriptor of its own.
pub(crate) fn note_asker(process: u32, value: u32) {
    ANSWER_TO.store(u64::from(process) << 32 | u64::from(value), Ordering::Relaxed);
}

/// Gives a dump to who has asked for it, by an OS thread of its own.
pub(crate) fn give(dump: Report) {
    let to = ANSWER_TO.swap(0, Ordering::Relaxed);
    if ANSWERS.fetch_add(1, Ordering::Relaxed) >= ANSWERS_MAX {
        ANSWERS.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    let write = move || {
        block_signals();
        let _registration = Registration::new(Role::Helper);
        write(&dump, to);
        ANSWERS.fetch_sub(1, Ordering::Relaxed);
    };
    if os_thread::begin("raddle-answer".to_owned(), Box::new(write)).is_err() {
        ANSWERS.fetch_sub(1, Ordering::Relaxed);
    }
}

fn write(dump: &Report, to: u64) {
    if to == 0 {
        return message::say(&dump.screen());
    }
    let (process, value) = (to >> 32, to as u32);
    let path = format!("/proc/{process}/fd/{}", value & !AS_JSON);
    // Who has asked may have gone.
    let Ok(pipe) = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path) else { return };
    // Who signals says itself who it is. Nobody is to have other files written by a program that may do more than it;
    // and what has the number may be another a moment later, so that the open one is asked.
    if !pipe.metadata().is_ok_and(|file| file.file_type().is_fifo()) {
        return;
    }
    let text = if value & AS_JSON == 0 { dump.to_string() + &dump.list() } else { dump.json() };
    let _gone = write_as_read(pipe, text.as_bytes());
}

/// Writes into a pipe as fast as somebody reads.
fn write_as_read(mut pipe: File, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match pipe.write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let room = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
                if raddle_syscall::poll(&mut [room], Some(PATIENCE)) == Ok(0) {
                    return Err(error);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
