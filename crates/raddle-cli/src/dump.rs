//! Owns: `raddle dump`, which asks a running program for the state of its processes.
//! May use: `refusal`, `libc`, `raddle-trace`.
//! Never: a signal to a program that it would kill.
//!
//! The program is sent `SIGQUIT` with the number of a file descriptor of ours: the end of a pipe, into which it writes
//! its answer through `/proc`. Linux lets it, since it runs under the same user.
//!
//! The program is identified by a `pidfd`, opened before it is examined: if it ends meanwhile and its process id is
//! reused, no other program gets the signal.

use std::fs::read_to_string;
use std::io::{Read as _, pipe};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::sync::mpsc;
use std::time::Duration;

use raddle_trace::text::commands_a_terminal;

use crate::refusal::Error;

/// How long to wait for the beginning of the answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
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
            let text = format!("process {pid} does not answer: {why}");
            return Err(Error::NotFound(text));
        }
        let trouble =
            |error: std::io::Error| Error::CannotRun(format!("could not ask process {pid}: {error}"));
        let (mut reader, writer) = pipe().map_err(trouble)?;
        program.ask(writer.as_raw_fd(), self.json).map_err(trouble)?;
        let (begun, begins) = mpsc::channel();
        let read = std::thread::spawn(move || {
            let (mut first, mut text) = ([0], Vec::new());
            reader.read_exact(&mut first)?;
            let _waits = begun.send(());
            text.push(first[0]);
            reader.read_to_end(&mut text)?;
            // The names in it are the program's.
            let commands = |it: char| it != '\n' && commands_a_terminal(it);
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&text).replace(commands, "\u{fffd}"))
        });
        let came = begins.recv_timeout(ANSWER_TIMEOUT).is_ok();
        // Its end of the pipe is now the only one: the answer ends when it closes it.
        drop(writer);
        let text = read.join().map_err(|_panic| std::io::Error::other("the reader panicked"));
        match text.and_then(|text| text) {
            Ok(text) if came => Ok(text),
            _ => Err(Error::CannotRun(format!("process {pid} did not answer within {ANSWER_TIMEOUT:?}"))),
        }
    }
}

/// Whether the process handles `SIGQUIT` as Raddle does.
fn answers(pid: u32) -> bool {
    let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let handles = caught >> (libc::SIGQUIT - 1) & 1 == 1;
    let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let is_watcher = |name: std::io::Result<String>| name.is_ok_and(|name| name.trim() == "raddle-watch");
    handles && tasks.any(|task| is_watcher(read_to_string(task.path().join("comm"))))
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
