// Owns: `Command`, which starts a child; `Child`, its pipes and its end.
// May use: `descriptor`, `raddle-core`, `rustix`.
// Never: a worker that waits for a child.

//! Child processes, with the names of [`std::process`]: change the `use` line.
//!
//! A child is waited for by a descriptor of the kernel's that is ready when the child has ended (`pidfd_open(2)`), its
//! pipes by theirs.
//!
//! ```
//! use raddle_net::process::{Command, Stdio};
//! use std::io::Read as _;
//!
//! let mut child = Command::new("echo").arg("from a child").stdout(Stdio::piped()).spawn()?;
//! let mut said = String::new();
//! child.stdout.take().expect("it is piped").read_to_string(&mut said)?;
//! assert!(child.wait()?.success());
//! assert_eq!(said, "from a child\n");
//! # Ok::<(), std::io::Error>(())
//! ```

pub use std::process::{
    ChildStderr, ChildStdin, ChildStdout, CommandArgs, CommandEnvs, ExitCode, ExitStatus, Output, Stdio,
    Termination, abort, exit, id,
};

use crate::descriptor::Descriptor;
use raddle_core::blocking::blocking;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process;

/// A program to be started: [`std::process::Command`], whose children are waited for without a worker.
#[derive(Debug)]
pub struct Command(process::Command);

/// Settings of one argument.
macro_rules! settings {
    ($($name:ident($value:ident: $of:ty);)+) => {
        $(
            #[doc = concat!("As there, [`", stringify!($name), "`](std::process::Command::", stringify!($name), ").")]
            pub fn $name(&mut self, $value: $of) -> &mut Command {
                self.0.$name($value);
                self
            }
        )+
    };
}

impl Command {
    /// Of this program.
    pub fn new<S: AsRef<OsStr>>(program: S) -> Command {
        Command(process::Command::new(program))
    }

    settings! {
        arg(arg: impl AsRef<OsStr>);
        args(args: impl IntoIterator<Item = impl AsRef<OsStr>>);
        envs(vars: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>);
        env_remove(key: impl AsRef<OsStr>);
        current_dir(folder: impl AsRef<Path>);
        stdin(from: impl Into<Stdio>);
        stdout(to: impl Into<Stdio>);
        stderr(to: impl Into<Stdio>);
    }

    /// Sets a variable of its environment.
    pub fn env(&mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Command {
        self.0.env(key, value);
        self
    }

    /// It inherits no variable.
    pub fn env_clear(&mut self) -> &mut Command {
        self.0.env_clear();
        self
    }

    /// Starts it. That takes as long as the kernel takes for a new program: it is done on a spare OS thread.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        spawn(&mut self.0)
    }

    /// Starts it and waits for its end.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        status(&mut self.0)
    }

    /// Starts it and collects what it says, on a spare OS thread.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn output(&mut self) -> io::Result<Output> {
        output(&mut self.0)
    }

    /// Which program.
    pub fn get_program(&self) -> &OsStr {
        self.0.get_program()
    }

    /// Its arguments.
    pub fn get_args(&self) -> CommandArgs<'_> {
        self.0.get_args()
    }

    /// What was said of its environment.
    pub fn get_envs(&self) -> CommandEnvs<'_> {
        self.0.get_envs()
    }

    /// Where it starts, if that was said.
    pub fn get_current_dir(&self) -> Option<&Path> {
        self.0.get_current_dir()
    }

    /// Becomes this program, which returns only if that is refused.
    pub fn exec(&mut self) -> io::Error {
        self.0.exec()
    }

    /// The standard library's, for what its extensions set.
    pub fn as_std_mut(&mut self) -> &mut process::Command {
        &mut self.0
    }
}

impl From<process::Command> for Command {
    fn from(command: process::Command) -> Command {
        Command(command)
    }
}

impl From<Command> for process::Command {
    fn from(command: Command) -> process::Command {
        command.0
    }
}

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

/// Starts a command of the standard library's: [`Command::spawn`].
///
/// # Errors
/// As there.
#[track_caller]
pub fn spawn(command: &mut process::Command) -> io::Result<Child> {
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
pub fn status(command: &mut process::Command) -> io::Result<ExitStatus> {
    spawn(command)?.wait()
}

/// Starts it and collects what it says: [`Command::output`].
///
/// # Errors
/// As there.
#[track_caller]
pub fn output(command: &mut process::Command) -> io::Result<Output> {
    blocking(|| command.output())
}

/// Of a pipe, for the standard library's: it blocks again.
fn blocks_again<T: AsFd>(pipe: Option<Descriptor<T>>) -> io::Result<Option<T>> {
    let Some(pipe) = pipe else { return Ok(None) };
    let pipe = pipe.into_inner();
    rustix::io::ioctl_fionbio(&pipe, false)?;
    Ok(Some(pipe))
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

    /// Waits for its end and collects what it says, on a spare OS thread; closes what it reads before. No cancellation
    /// ends that wait.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn wait_with_output(mut self) -> io::Result<Output> {
        self.stdin = None;
        self.child.stdout = blocks_again(self.stdout.take())?;
        self.child.stderr = blocks_again(self.stderr.take())?;
        let child = self.child;
        blocking(|| child.wait_with_output())
    }
}
