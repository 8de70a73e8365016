//! Owns: `raddle dump`, which asks a running program for the state of its processes.
//! May use: `refusal`, `libc`, `raddle-trace`.
//! Never: a signal to a program that it would kill; belief in what comes back.
//!
//! The program is sent `SIGQUIT` with the number of a file descriptor of ours: the end of a pipe, into which it writes
//! its answer through `/proc`. Linux lets it, since it runs under the same user.
//!
//! Whoever claims to be such a program may write what it likes, as much as it likes, as slowly as it likes.
//!
//! The program is identified by a `pidfd`, opened before it is examined: if it ends meanwhile and its process id is
//! reused, no other program gets the signal.

use std::fs::read_to_string;
use std::io::{PipeReader, PipeWriter, Read as _, pipe};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use raddle_trace::text::commands_a_terminal;

use crate::refusal::Error;

/// How long to wait for the beginning of the answer, and then for each further piece.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to read it: it is whole when the program begins to write.
const READING_TIMEOUT: Duration = Duration::from_secs(120);
/// A program that handles the signal, and has nobody to answer it yet, may be so long about to have.
const BEGINNING: Duration = Duration::from_secs(1);
/// That of a million processes has a third of this.
const ANSWER_BYTES_MAX: usize = 1 << 30;
/// Asks for JSON.
const AS_JSON: usize = 1 << 31;

/// `raddle dump`.
#[derive(clap::Args)]
pub(crate) struct Dump {
    /// JSON, by the schema in docs/HANGS.md
    #[arg(long)]
    json: bool,

    /// The process id of the program
    #[arg(value_name = "PID")]
    pid: u32,
}

impl Dump {
    /// The answer of the program.
    pub(crate) fn carry_out(&self) -> Result<String, Error> {
        let pid = self.pid;
        let program = Target::of(pid);
        if !answers(pid) {
            let why = "it is not a Raddle program, or RADDLE_SIGQUIT is off, or it belongs to another user";
            let is_there = std::path::Path::new(&format!("/proc/{pid}")).exists();
            return Err(Error::NotFound(match is_there {
                true => format!("process {pid} does not answer: {why}"),
                false => format!("there is no process {pid}"),
            }));
        }
        let trouble =
            |error: std::io::Error| Error::CannotRun(format!("could not ask process {pid}: {error}"));
        let (reader, writer) = pipe().map_err(trouble)?;
        program.ask(writer.as_raw_fd(), self.json).map_err(trouble)?;
        let text =
            program.answer(reader, writer).map_err(|why| Error::CannotRun(format!("process {pid} {why}")))?;
        let ends = if self.json { "}\n" } else { "\n" };
        if !text.ends_with(ends) {
            return Err(Error::CannotRun(format!("process {pid} ended in the middle of its answer")));
        }
        Ok(text)
    }
}

/// What was read, for a terminal: nothing in it moves the cursor or changes colours.
fn shown(answer: &[u8]) -> String {
    let is_bad = |c: char| commands_a_terminal(c) && c != '\n' && c != '\t';
    String::from_utf8_lossy(answer).replace(is_bad, "\u{fffd}")
}

/// Whether the process handles `SIGQUIT` as Raddle does.
fn answers(pid: u32) -> bool {
    let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let handles = caught >> (libc::SIGQUIT - 1) & 1 == 1;
    // Who answers gives itself its name, and may have just begun.
    let begun = Instant::now();
    while handles && !has_watcher(pid) && begun.elapsed() < BEGINNING {
        std::thread::sleep(BEGINNING / 20);
    }
    handles && has_watcher(pid)
}

fn has_watcher(pid: u32) -> bool {
    let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let is_watcher = |name: std::io::Result<String>| name.is_ok_and(|name| name.trim() == "raddle-watch");
    tasks.any(|task| is_watcher(read_to_string(task.path().join("comm"))))
}

/// The target program: its process id, and a `pidfd` if the kernel has them (Linux 5.3).
struct Target {
    pid: libc::pid_t,
    handle: Option<OwnedFd>,
}

impl Target {
    fn of(pid: u32) -> Target {
        let pid = pid.cast_signed();
        // SAFETY: touches no memory of ours.
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let handle = i32::try_from(handle).ok().filter(|handle| *handle >= 0);
        // SAFETY: just opened, and ours.
        let handle = handle.map(|handle| unsafe { OwnedFd::from_raw_fd(handle) });
        Target { pid, handle }
    }

    /// Reads the answer until the program closes its end of the pipe. `writer` is ours, which keeps the pipe open until
    /// the program has opened it.
    fn answer(&self, mut reader: PipeReader, writer: PipeWriter) -> Result<String, String> {
        let mut answer = Vec::new();
        let mut ours = Some(writer);
        let mut part = vec![0; 1 << 16];
        let begun = Instant::now();
        loop {
            let (has_part, has_ended) = self.wait_for(&reader);
            if !has_part {
                let late = format!("did not answer within {ANSWER_TIMEOUT:?}");
                return Err(if has_ended { "ended before it answered".to_owned() } else { late });
            }
            let count = reader.read(&mut part).map_err(|error| format!("could not be heard: {error}"))?;
            if count == 0 {
                return Ok(shown(&answer));
            }
            answer.extend_from_slice(&part[..count]);
            if answer.len() > ANSWER_BYTES_MAX || begun.elapsed() > READING_TIMEOUT {
                return Err(format!("answers without end: {} bytes so far", answer.len()));
            }
            // Its end of the pipe is now the only one: the answer ends when it closes it.
            drop(ours.take());
        }
    }

    /// Waits until there is something to read, or the other end is closed; and says whether the program has ended.
    fn wait_for(&self, reader: &PipeReader) -> (bool, bool) {
        let entry = |descriptor| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        // A negative number is passed over.
        let handle = self.handle.as_ref().map_or(-1, |handle| handle.as_raw_fd());
        let mut both = [entry(reader.as_raw_fd()), entry(handle)];
        let timeout = i32::try_from(ANSWER_TIMEOUT.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: two entries, which the kernel reads and writes.
        let _ready = unsafe { libc::poll(both.as_mut_ptr(), 2, timeout) };
        (both[0].revents != 0, both[1].revents != 0)
    }

    /// Sends the signal with the request.
    fn ask(&self, descriptor: RawFd, json: bool) -> std::io::Result<()> {
        let value = descriptor as usize | if json { AS_JSON } else { 0 };
        let value = std::ptr::without_provenance_mut(value);
        let sent = match &self.handle {
            Some(handle) => self.send(handle, value),
            None => {
                // SAFETY: touches no memory of ours.
                i64::from(unsafe {
                    libc::sigqueue(self.pid, libc::SIGQUIT, libc::sigval { sival_ptr: value })
                })
            }
        };
        if sent == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    fn send(&self, handle: &OwnedFd, value: *mut libc::c_void) -> i64 {
        // SAFETY: touches no memory of ours.
        let user = unsafe { libc::getuid() };
        let process = std::process::id().cast_signed();
        let info = Info {
            signal: libc::SIGQUIT,
            errno: 0,
            code: libc::SI_QUEUE,
            pad: 0,
            process,
            user,
            value,
            rest: [0; 12],
        };
        let call = libc::SYS_pidfd_send_signal;
        // SAFETY: the kernel reads the 128 bytes of `info`.
        unsafe { libc::syscall(call, handle.as_raw_fd(), libc::SIGQUIT, &raw const info, 0) }
    }
}

/// The data of a signal, as the kernel lays them out on all 64-bit machines (`siginfo_t`).
#[repr(C)]
struct Info {
    signal: libc::c_int,
    errno: libc::c_int,
    code: libc::c_int,
    pad: libc::c_int,
    process: libc::pid_t,
    user: libc::uid_t,
    value: *mut libc::c_void,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<Info>() == 128, "the kernel's `siginfo_t` has 128 bytes");
