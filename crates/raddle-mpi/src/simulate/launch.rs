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
    // A leader that has ended is not asked before all of its group has: until then its number is nobody else's, and the
    // group can be killed by it.
    let status = loop {
        if reads.is_finished()
            && let Some(status) = group.leader.try_wait()?
        {
            break status;
        }
        if is_to_stop() {
            group.kill();
            return Ok(None);
        }
        thread::sleep(PAUSE);
    };
    group.is_over = true;
    Ok(Some((status, reads.join().unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_run_ends_with_all_that_it_has_said() {
        let ended = run(&mut shell("echo one; (sleep 0.1; echo two) & exit 3"), &|| false).expect("it runs");
        let (status, said) = ended.expect("nobody stops it");
        assert_eq!((status.code(), said.as_str()), (Some(3), "one\ntwo\n"));
    }

    /// A leader that was killed leaves what it has started.
    #[test]
    fn what_outlives_its_leader_can_be_stopped() {
        let mark = std::env::temp_dir().join(format!("raddle-launch-{}", std::process::id()));
        let script = format!("sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; kill -KILL $$", mark.display());
        // A while after the mark is there, by which the leader is gone.
        let asked = Cell::new(0);
        let is_to_stop = || mark.exists() && asked.replace(asked.get() + 1) > 10;
        assert!(run(&mut shell(&script), &is_to_stop).expect("it runs").is_none());
        let child = fs::read_to_string(&mark).expect("its number");
        let state = || fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        while state().rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z")) {
            thread::yield_now();
        }
        fs::remove_file(mark).expect("it can be removed");
    }
}
