//! Owns: a run of `smpirun`: all that it says, and its end, if need be before its time.
//! May use: nothing.
//! Never: a process of it that outlives the run.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// How soon a wish to stop is seen.
const PAUSE: Duration = Duration::from_millis(10);

/// A process that leads a group of its own: what it starts is in it, too. Dropped before it has ended, all is killed.
struct ProcessGroup {
    leader: Child,
    is_over: bool,
}

impl ProcessGroup {
    /// Kills all of it: `smpirun` is a script, so that there is a shell, which can.
    fn kill(&mut self) {
        let group = format!("-{}", self.leader.id());
        // Who is gone already cannot be killed.
        let _gone =
            Command::new("/bin/sh").args(["-c", "kill -KILL \"$0\"", &group]).stderr(Stdio::null()).status();
        let _gone = self.leader.wait();
        self.is_over = true;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill();
        }
    }
}

/// Runs a command; how it has ended and what it has said, or nothing, if it was to stop.
pub(super) fn run(
    command: &mut Command,
    is_to_stop: &dyn Fn() -> bool,
) -> io::Result<Option<(ExitStatus, String)>> {
    let (mut reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
    let started = command.spawn();
    // The command has ends of the pipe, too: the reader would wait for them.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut group = ProcessGroup { leader: started?, is_over: false };
    // It reads until the last process of the group has closed its end.
    let reads = thread::spawn(move || {
        let mut said = Vec::new();
        let _closed = reader.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    });
    let status = loop {
        if let Some(status) = group.leader.try_wait()? {
            break status;
        }
        if is_to_stop() {
            group.kill();
            return Ok(None);
        }
        thread::sleep(PAUSE);
    };
    // Its number is another's from now on.
    group.is_over = true;
    Ok(Some((status, reads.join().unwrap_or_default())))
}
