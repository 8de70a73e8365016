//! Owns: `raddle dump`, which asks a running program what its processes are at.
//! May use: `/proc`, a signal, a pipe.
//! Never: a signal to a program that would die of it.
//!
//! The program is sent `SIGQUIT` with the number of a file descriptor of ours: the end of a pipe, into which it writes
//! its answer through `/proc`. Linux lets it, since it runs under the same user.

use std::fs::read_to_string;
use std::io::{Read as _, pipe};
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::mpsc;
use std::time::Duration;

use crate::program::Error;

/// So long is waited for the answer's begin.
const PATIENCE: Duration = Duration::from_secs(10);
/// Asks for JSON.
const AS_JSON: usize = 1 << 31;

/// `raddle dump`.
#[derive(clap::Args)]
pub(crate) struct Dump {
    /// JSON, by the schema in docs/HANGS.md
    #[arg(long)]
    json: bool,

    /// The number of the program's operating-system process
    #[arg(value_name = "PID")]
    pid: u32,
}

impl Dump {
    /// The answer of the program.
    pub(crate) fn carry_out(&self) -> Result<String, Error> {
        let pid = self.pid;
        if !answers(pid) {
            let why = "it is no program of Raddle's, or RADDLE_SIGQUIT is off, or it is not yours";
            let text = format!("process {pid} does not answer: {why}");
            return Err(Error::NotFound(text));
        }
        let trouble =
            |error: std::io::Error| Error::CannotRun(format!("could not ask process {pid}: {error}"));
        let (mut reader, writer) = pipe().map_err(trouble)?;
        ask(pid, writer.as_raw_fd(), self.json).map_err(trouble)?;
        let (begun, begins) = mpsc::channel();
        let read = std::thread::spawn(move || {
            let (mut first, mut text) = ([0], Vec::new());
            reader.read_exact(&mut first)?;
            let _waits = begun.send(());
            text.push(first[0]);
            reader.read_to_end(&mut text)?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&text).into_owned())
        });
        let came = begins.recv_timeout(PATIENCE).is_ok();
        // Its end of the pipe is now the only one: the answer ends when it closes it.
        drop(writer);
        let text = read.join().map_err(|_panic| std::io::Error::other("the reader panicked"));
        match text.and_then(|text| text) {
            Ok(text) if came => Ok(text),
            _ => Err(Error::CannotRun(format!("process {pid} did not answer within {PATIENCE:?}"))),
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

fn ask(pid: u32, descriptor: RawFd, json: bool) -> std::io::Result<()> {
    let value = descriptor as usize | if json { AS_JSON } else { 0 };
    let value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(value) };
    // SAFETY: touches no memory of ours.
    let sent = unsafe { libc::sigqueue(pid.cast_signed(), libc::SIGQUIT, value) };
    if sent == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
