//! Owns: how an occam program meets signals, pipes and a terminal.
//! May use: a pseudo-terminal, for which this room holds `unsafe`.
//! Never: waits by the clock for anything but an end that must come; a test waits for what the program shows.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use super::{interruptible, text};

/// Shows each key between brackets, and ends after `q`.
const KEYS: &str = "\
PROC main (CHAN BYTE keyboard?, screen!, error!)
  INITIAL BYTE key IS ' ':
  SEQ
    screen ! '>'
    WHILE key <> 'q'
      SEQ
        keyboard ? key
        screen ! '['
        screen ! key
        screen ! ']'
    screen ! '*n'
:
";

const ENDLESS: &str = "\
PROC main (CHAN BYTE keyboard?, screen!, error!)
  WHILE TRUE
    SEQ
      screen ! 'y'
      screen ! '*n'
:
";

/// A program in a file of its own, which is gone when this is dropped.
struct Source(std::path::PathBuf);

impl Source {
    fn new(name: &str, program: &str) -> Source {
        let path = std::env::temp_dir().join(format!("raddle-{name}-{}.occ", std::process::id()));
        std::fs::write(&path, program).expect("it can be written");
        Source(path)
    }

    fn run(&self, workers: &str) -> Command {
        let mut command = interruptible();
        command.args(["run", "--workers", workers]).arg(&self.0);
        command
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill starts");
    assert!(sent.success());
}

#[test]
fn a_signal_ends_a_program_after_what_it_wrote_was_shown() {
    let source = Source::new("keys", KEYS);
    for (workers, signal, code) in
        [("1", "-INT", 130), ("2", "-INT", 130), ("1", "-TERM", 143), ("2", "-HUP", 129)]
    {
        let mut command = source.run(workers);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        // Held, since the keyboard would end with it.
        let _keys = child.stdin.take();
        let mut output = child.stdout.take().expect("it is piped");
        let mut first = [0];
        output.read_exact(&mut first).expect("it waits for a key");
        send(signal, &child);
        assert_eq!(child.wait().expect("it ends").code(), Some(code), "{signal} on {workers} workers");
    }
}

#[test]
fn an_endless_program_is_interrupted() {
    let source = Source::new("endless", ENDLESS);
    for workers in ["1", "2"] {
        let mut child = source.run(workers).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        output.read_line(&mut String::new()).expect("it writes");
        send("-INT", &child);
        let mut rest = String::new();
        output.read_to_string(&mut rest).expect("it ends its output");
        assert!(rest.trim_matches(['y', '\n']).is_empty());
        assert_eq!(child.wait().expect("it ends").code(), Some(130));
    }
}

/// Copies arrays of 12 MB, one after the other: each copy is one instruction.
const COPIES: &str = "\
PROC main (CHAN BYTE keyboard?, screen!, error!)
  [3000000]INT a, b:
  SEQ
    a[0] := 1
    screen ! 'x'
    screen ! BYTE 255
    WHILE TRUE
      b := a
:
";

/// What waits for a program that does not end kills it after a while.
fn ends(child: &mut Child) -> Option<i32> {
    for _ in 0..600 {
        if let Some(status) = child.try_wait().expect("it is ours") {
            return status.code();
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    child.kill().expect("it is ours");
    panic!("it did not end within a minute");
}

#[test]
fn a_program_within_a_long_instruction_is_interrupted() {
    let source = Source::new("copies", COPIES);
    for (workers, signal, code) in [("1", "-INT", 130), ("2", "-INT", 130), ("2", "-TERM", 143)] {
        let mut child = source.run(workers).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut output = child.stdout.take().expect("it is piped");
        output.read_exact(&mut [0]).expect("it writes");
        send(signal, &child);
        assert_eq!(ends(&mut child), Some(code), "{signal} on {workers} workers");
    }
}

/// The pipe is full, and its other end is held.
#[test]
fn a_program_whose_screen_takes_nothing_more_is_interrupted() {
    let source = Source::new("blocked", ENDLESS);
    for workers in ["1", "2"] {
        let mut child = source.run(workers).stdout(Stdio::piped()).spawn().expect("it starts");
        let output = child.stdout.take().expect("it is piped");
        // It sleeps in a write once the pipe has been full for a while.
        let state = || std::fs::read_to_string(format!("/proc/{}/task/{}/wchan", child.id(), child.id()));
        let mut waited = 0;
        while waited < 100 && !state().is_ok_and(|place| place.contains("pipe")) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            waited += 1;
        }
        send("-INT", &child);
        assert_eq!(ends(&mut child), Some(130), "{workers} workers");
        drop(output);
    }
}

#[test]
fn a_program_ends_when_nobody_reads_its_screen() {
    let source = Source::new("unread", ENDLESS);
    for workers in ["1", "2"] {
        let mut child = source.run(workers).stdout(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        assert_eq!(child.wait().expect("it ends").code(), Some(141));
    }
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let output = source.run("1").stdout(full).output().expect("it starts");
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("could not write the screen"), "{}", text(&output.stderr));
}

#[test]
fn a_keyboard_that_ends_is_told() {
    let source = Source::new("ended", KEYS);
    for workers in ["1", "2"] {
        let output = source.run(workers).stdin(Stdio::null()).output().expect("it starts");
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(3), ">"));
        assert!(text(&output.stderr).contains("keyboard, standard input, is at its end"));
    }
}

#[test]
fn settings_are_judged_however_many_workers_there_are() {
    let source = Source::new("settings", KEYS);
    let output = source.run("1").args(["--balance", "stael"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("can be steal, share"), "{}", text(&output.stderr));
    let output = source.run("1").env("RADDLE_WROKERS", "1").output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("RADDLE_WROKERS is no setting"), "{}", text(&output.stderr));
}

/// The two sides of a new pseudo-terminal: the user's and the program's.
fn terminal() -> (File, OwnedFd) {
    let (mut user, mut program) = (0, 0);
    let (name, mode, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: the two numbers are written, and nothing else is asked for.
    let opened = unsafe { libc::openpty(&raw mut user, &raw mut program, name, mode, size) };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: just opened, and nobody else's.
    let user = unsafe { File::from_raw_fd(user) };
    // SAFETY: as above.
    (user, unsafe { OwnedFd::from_raw_fd(program) })
}

/// The bits of the mode that are switched on.
fn local_mode(terminal: &OwnedFd) -> libc::tcflag_t {
    // SAFETY: a structure of numbers, for which all zeroes is a value.
    let mut mode: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one such structure.
    assert_eq!(unsafe { libc::tcgetattr(terminal.as_raw_fd(), &raw mut mode) }, 0);
    mode.c_lflag
}

/// The terminal becomes that of a session of its own.
fn own_session() -> std::io::Result<()> {
    // SAFETY: a call without arguments.
    let session = unsafe { libc::setsid() };
    // SAFETY: a call with numbers.
    if session < 0 || unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

fn on_terminal(source: &Source, terminal: &OwnedFd) -> Child {
    let mut command = source.run("2");
    for set in [Command::stdin, Command::stdout] {
        set(&mut command, Stdio::from(terminal.try_clone().expect("a copy")));
    }
    // SAFETY: it makes only calls of the kernel.
    unsafe { command.pre_exec(own_session) };
    command.spawn().expect("it starts")
}

fn read_up_to(user: &mut File, child: &mut Child, end: u8) -> String {
    let mut seen = Vec::new();
    let mut byte = [0];
    while seen.last() != Some(&end) {
        let mut waited = libc::pollfd { fd: user.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one such structure, which lives long enough.
        while unsafe { libc::poll(&raw mut waited, 1, 100) } == 0 {
            assert!(child.try_wait().expect("it can be asked").is_none(), "it ended after {}", text(&seen));
        }
        user.read_exact(&mut byte).expect("the program goes on");
        seen.push(byte[0]);
    }
    text(&seen)
}

#[test]
fn a_terminal_gives_single_keys_without_showing_them_and_is_as_before_at_the_end() {
    let source = Source::new("raw", KEYS);
    for ends_by in [b'q', 3] {
        let (mut user, program) = terminal();
        let before = local_mode(&program);
        let mut child = on_terminal(&source, &program);
        assert_eq!(read_up_to(&mut user, &mut child, b'>'), ">");
        // Neither a line's end nor an echo.
        for key in [b'a', b'b'] {
            while local_mode(&program) & libc::ICANON != 0 {
                std::thread::yield_now();
            }
            user.write_all(&[key]).expect("a key is struck");
            assert_eq!(read_up_to(&mut user, &mut child, b']'), format!("[{}]", char::from(key)));
        }
        user.write_all(&[ends_by]).expect("a key is struck");
        let code = child.wait().expect("it ends").code();
        assert_eq!(code, Some(if ends_by == 3 { 130 } else { 0 }));
        assert_eq!(local_mode(&program), before, "the mode is as it was");
    }
}
