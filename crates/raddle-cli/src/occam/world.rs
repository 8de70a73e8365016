//! Owns: keyboard, screen and arguments of an occam program.
//! May use: `libc`, `raddle-host`.
//! Never: a buffer; the host has one and flushes it in time.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use raddle_host::{Port, World};

use super::terminal;

/// The call numbers that `arguments.module` uses.
const COUNT: i32 = 1;
const LENGTH: i32 = 2;
const BYTE: i32 = 3;

/// The standard streams.
pub(super) struct Streams {
    arguments: Vec<OsString>,
    /// Why the screen could not be written.
    refused: OnceLock<io::Error>,
    /// The program has asked for a key after the last one.
    ended: AtomicBool,
}

impl Streams {
    pub(super) fn new(arguments: Vec<OsString>) -> Arc<Streams> {
        Arc::new(Streams { arguments, refused: OnceLock::new(), ended: AtomicBool::new(false) })
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

    fn argument(&self, number: u32) -> Option<&[u8]> {
        self.arguments.get(number as usize).map(|argument| argument.as_bytes())
    }
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
        terminal::called(|| self.answer(number, words))
    }
}

impl Streams {
    fn write(&self, port: Port, bytes: &[u8]) {
        if port == Port::Error {
            // An error cannot be reported.
            let _ = io::stderr().write_all(bytes);
            return;
        }
        let mut screen = io::stdout();
        if let Err(error) = screen.write_all(bytes).and_then(|()| screen.flush()) {
            if error.kind() == io::ErrorKind::BrokenPipe {
                terminal::ask(libc::SIGPIPE);
            } else {
                let _first = self.refused.set(error);
            }
        }
    }

    fn answer(&self, number: i32, [which, at, _, _]: [u32; 4]) -> Option<[u32; 4]> {
        let result = match number {
            COUNT => self.arguments.len() as u32,
            LENGTH => self.argument(which).map_or(u32::MAX, |bytes| bytes.len() as u32),
            BYTE => self.argument(which)?.get(at as usize).copied().map_or(0, u32::from),
            _ => return None,
        };
        Some([result, 0, 0, 0])
    }
}

#[test]
fn arguments_are_counted_measured_and_read() {
    let streams = Streams::new(vec!["ab".into(), "".into()]);
    let call = |number, which, at| streams.call(number, [which, at, 0, 0]).map(|words| words[0]);
    assert_eq!((call(COUNT, 0, 0), call(LENGTH, 0, 0), call(LENGTH, 1, 0)), (Some(2), Some(2), Some(0)));
    assert_eq!((call(LENGTH, 2, 0), call(BYTE, 0, 1), call(BYTE, 0, 2)), (Some(u32::MAX), Some(98), Some(0)));
    assert_eq!((call(BYTE, 2, 0), call(4, 0, 0)), (None, None));
}
