// Owns: `Child`, its pipes and its end.
// May use: `descriptor`, `raddle-core`, `rustix`.
// Never: a worker that waits for a child.

//! Child processes: what of [`std::process`] waits.
//!
//! A [`Command`] is the standard library's; [`spawn`] starts it, and the [`Child`] is waited for by a descriptor of the
//! kernel's that is ready when the child has ended (`pidfd_open(2)`), its pipes by theirs.
//!
//! ```
//! use raddle_net::process::{Command, Stdio, spawn};
//! use std::io::Read as _;
//!
//! let mut child = spawn(Command::new("echo").arg("from a child").stdout(Stdio::piped()))?;
//! let mut said = String::new();
//! child.stdout.take().expect("it is piped").read_to_string(&mut said)?;
//! assert!(child.wait()?.success());
//! assert_eq!(said, "from a child\n");
//! # Ok::<(), std::io::Error>(())
//! ```

pub use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};

use crate::descriptor::Descriptor;
use raddle_core::blocking::blocking;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::process;

/// A child process. As with the standard library's, dropping it does not end it.
#[derive(Debug)]
pub struct Child {
    child: process::Child,
    /// Ready when it has ended; none if the kernel has no such.
    end: Option<Descriptor<OwnedFd>>,
    /// What it reads, if that was [piped](Stdio::piped).
    pub stdin: Option<Descriptor<ChildStdin>>,
    /// What it writes.
    pub stdout: Option<Descriptor<ChildStdout>>,
    /// What it says of errors.
    pub stderr: Option<Descriptor<ChildStderr>>,
}

/// Starts it, as [`Command::spawn`]. That takes as long as the kernel takes for a new program: it is done on a spare OS
/// thread.
///
/// # Errors
/// As there.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut child = blocking(|| command.spawn())?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let end = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()).map(Descriptor::new);
    // The ends of pipes are ours alone.
    let stdin = child.stdin.take().map(Descriptor::nonblocking).transpose()?;
    let stdout = child.stdout.take().map(Descriptor::nonblocking).transpose()?;
    let stderr = child.stderr.take().map(Descriptor::nonblocking).transpose()?;
    Ok(Child { child, end, stdin, stdout, stderr })
}

/// Starts it and waits for its end: [`Command::status`].
///
/// # Errors
/// As there.
#[track_caller]
pub fn status(command: &mut Command) -> io::Result<ExitStatus> {
    spawn(command)?.wait()
}

/// Starts it and collects what it says: [`Command::output`], on a spare OS thread.
///
/// # Errors
/// As there.
#[track_caller]
pub fn output(command: &mut Command) -> io::Result<Output> {
    blocking(|| command.output())
}

impl Child {
    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it.
    ///
    /// # Errors
    /// As there.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()
    }

    /// Whether it has ended, and how.
    ///
    /// # Errors
    /// As there.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits for its end, and closes what it reads before.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.stdin = None;
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        match &self.end {
            Some(end) => end.wait_readable()?,
            None => return blocking(|| self.child.wait()),
        }
        self.child.wait()
    }
}
