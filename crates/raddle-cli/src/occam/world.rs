//! Owns: keyboard, screen and arguments of an occam program.
//! May use: `libc`, `raddle-bytecode`, `raddle-host`.
//! Never: a buffer; the host has one and flushes it in time.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use raddle_host::{ForeignRoutines, Port, World};

use super::terminal;

/// The call numbers that `arguments.module` uses.
const COUNT: i32 = 1;
const LENGTH: i32 = 2;
const BYTE: i32 = 3;

/// The standard streams.
pub(super) struct Streams {
    arguments: Vec<OsString>,
    foreign: Option<ForeignRoutines>,
    /// Why the screen could not be written.
    refused: OnceLock<io::Error>,
    /// The program has asked for a key after the last one.
    ended: AtomicBool,
    /// The last line of what was written to the screen, and to the error stream, has not ended.
    in_line: [AtomicBool; 2],
    /// Both are the same terminal, pipe or file.
    are_one: bool,
}

/// A reader who takes nothing is asked again after that time, where the pipe does not make its writer wait.
const AGAIN: Duration = Duration::from_millis(1);

impl Streams {
    pub(super) fn new(arguments: Vec<OsString>, foreign: Option<ForeignRoutines>) -> Arc<Streams> {
        Arc::new(Streams {
            arguments,
            foreign,
            refused: OnceLock::new(),
            ended: AtomicBool::new(false),
            in_line: Default::default(),
            are_one: are_one(),
        })
    }

    /// What is reported next begins a line of its own.
    pub(super) fn end_line(&self) {
        let [screen, error] = [0, 1].map(|stream| self.in_line[stream].load(Ordering::Relaxed));
        if error || (screen && self.are_one) {
            self.write(Port::Error, b"\n");
        }
    }

    /// Why the screen could not be written; a closed pipe is not an error.
    pub(super) fn refused(&self) -> Option<&io::Error> {
        self.refused.get()
    }

    /// Whether the program has asked for a key when there were no more.
    pub(super) fn keys_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    fn next_key() -> Option<u8> {
        let mut key = [0];
        loop {
            match io::stdin().read(&mut key) {
                Ok(count) => return (count == 1).then_some(key[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }
}

/// A call of the host by a program without arguments.
pub(crate) fn without_arguments(number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
    answer(&[], number, words)
}

impl World for Streams {
    fn output(&self, port: Port, bytes: &[u8]) {
        terminal::called(|| self.write(port, bytes));
    }

    fn key(&self) -> Option<u8> {
        let key = Streams::next_key();
        self.ended.fetch_or(key.is_none(), Ordering::Relaxed);
        key
    }

    fn opens_keyboard(&self) {
        terminal::one_key_at_a_time();
    }

    fn wants_end(&self) -> bool {
        terminal::signal().is_some() || self.refused.get().is_some()
    }

    fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        terminal::called(|| match number {
            raddle_bytecode::FOREIGN.. => self.foreign.as_ref()?.call(number, words),
            _ => answer(&self.arguments, number, words),
        })
    }

    fn holds_memory(&self) -> bool {
        self.foreign.as_ref().is_some_and(ForeignRoutines::is_running)
    }
}

impl Streams {
    fn write(&self, port: Port, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            let in_line = *last != b'\n';
            self.in_line[usize::from(port == Port::Error)].store(in_line, Ordering::Relaxed);
            if self.are_one {
                self.in_line[usize::from(port != Port::Error)].store(in_line, Ordering::Relaxed);
            }
        }
        if port == Port::Error {
            // An error cannot be reported.
            let _ = write_patiently(&mut io::stderr(), bytes);
            return;
        }
        if let Err(error) = write_patiently(&mut io::stdout(), bytes) {
            if error.kind() == io::ErrorKind::BrokenPipe {
                terminal::ask(libc::SIGPIPE);
            } else {
                let _first = self.refused.set(error);
            }
        }
    }
}

fn answer(arguments: &[OsString], number: i32, [which, at, _, _]: [u32; 4]) -> Option<[u32; 4]> {
    let argument = || arguments.get(which as usize).map(|argument| argument.as_bytes());
    let result = match number {
        COUNT => arguments.len() as u32,
        LENGTH => argument().map_or(u32::MAX, |bytes| bytes.len() as u32),
        BYTE => argument()?.get(at as usize).copied().map_or(0, u32::from),
        _ => return None,
    };
    Some([result, 0, 0, 0])
}

/// Writes all, also to a pipe that does not make its writer wait: that its reader is slow is no error. Gives up when a
/// signal has come.
fn write_patiently(stream: &mut impl io::Write, mut bytes: &[u8]) -> io::Result<()> {
    let full =
        |result: &io::Error| result.kind() == io::ErrorKind::WouldBlock && terminal::signal().is_none();
    loop {
        let result = if bytes.is_empty() {
            match stream.flush() {
                Ok(()) => return Ok(()),
                Err(error) => Err(error),
            }
        } else {
            stream.write(bytes)
        };
        match result {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if full(&error) => std::thread::sleep(AGAIN),
            Err(error) => return Err(error),
        }
    }
}

/// Whether screen and error stream are one terminal, pipe or file.
fn are_one() -> bool {
    let place = |stream: io::Result<OwnedFd>| {
        let about = File::from(stream.ok()?).metadata().ok()?;
        Some((about.dev(), about.ino()))
    };
    let screen = place(io::stdout().as_fd().try_clone_to_owned());
    screen.is_some() && screen == place(io::stderr().as_fd().try_clone_to_owned())
}

#[test]
fn all_is_written_where_the_reader_is_slow() {
    struct Slow(Vec<u8>, usize);
    impl io::Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 += 1;
            match self.1 % 3 {
                0 => Err(io::ErrorKind::WouldBlock.into()),
                1 => Err(io::ErrorKind::Interrupted.into()),
                _ => {
                    let count = bytes.len().min(5);
                    self.0.extend(&bytes[..count]);
                    Ok(count)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            self.1 += 1;
            if self.1.is_multiple_of(2) { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
        }
    }
    let mut slow = Slow(Vec::new(), 0);
    let text: Vec<u8> = (0..=255).collect();
    write_patiently(&mut slow, &text).unwrap();
    assert_eq!(slow.0, text);
}

#[test]
fn arguments_are_counted_measured_and_read() {
    let streams = Streams::new(vec!["ab".into(), "".into()], None);
    let call = |number, which, at| streams.call(number, [which, at, 0, 0]).map(|words| words[0]);
    assert_eq!((call(COUNT, 0, 0), call(LENGTH, 0, 0), call(LENGTH, 1, 0)), (Some(2), Some(2), Some(0)));
    assert_eq!((call(LENGTH, 2, 0), call(BYTE, 0, 1), call(BYTE, 0, 2)), (Some(u32::MAX), Some(98), Some(0)));
    assert_eq!((call(BYTE, 2, 0), call(4, 0, 0)), (None, None));
}
