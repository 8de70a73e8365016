//! Owns: keyboard, screen, error stream and clock of an occam program.
//! May use: standard streams, a thread for the keyboard.
//! Never: holds text back while the program waits.

use std::io::{self, Read as _, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use raddle_vm::Port;
use raddle_vm::solo::{self, Event, Until};

const BUFFER_BYTES: usize = 8192;

/// The standard streams.
pub(super) struct World {
    begin: Instant,
    screen: Vec<u8>,
    keys: Option<Receiver<u8>>,
    ended: bool,
}

impl World {
    pub(super) fn new() -> World {
        World { begin: Instant::now(), screen: Vec::with_capacity(BUFFER_BYTES), keys: None, ended: false }
    }

    /// Shows what was held back. Nobody may be left to see it.
    pub(super) fn flush(&mut self) {
        let mut screen = io::stdout().lock();
        let _ = screen.write_all(&self.screen).and_then(|()| screen.flush());
        self.screen.clear();
    }

    fn keys(&mut self) -> &Receiver<u8> {
        self.keys.get_or_insert_with(|| {
            let (sender, receiver) = channel();
            std::thread::spawn(move || {
                for key in io::stdin().lock().bytes() {
                    let Ok(key) = key else { return };
                    if sender.send(key).is_err() {
                        return;
                    }
                }
            });
            receiver
        })
    }

    fn key(&mut self, until: Until) -> Event {
        let begin = self.begin;
        let keys = self.keys();
        let got = match until {
            Until::Now => keys.try_recv().map_err(|error| error == TryRecvError::Disconnected),
            Until::Ever => keys.recv().map_err(|_| true),
            Until::At(time) => {
                let left = Duration::from_micros(time).saturating_sub(begin.elapsed());
                keys.recv_timeout(left).map_err(|error| error == RecvTimeoutError::Disconnected)
            }
        };
        match got {
            Ok(key) => Event::Key(key),
            Err(true) if !self.ended => {
                self.ended = true;
                Event::NoMoreKeys
            }
            Err(_) => Event::Nothing,
        }
    }
}

impl solo::World for &mut World {
    fn now(&mut self) -> u64 {
        self.begin.elapsed().as_micros() as u64
    }

    fn wait(&mut self, until: Until, keys: bool) -> Event {
        if until != Until::Now && !self.screen.is_empty() {
            self.flush();
        }
        if keys && !self.ended {
            return self.key(until);
        }
        if let Until::At(time) = until {
            std::thread::sleep(Duration::from_micros(time).saturating_sub(self.begin.elapsed()));
        }
        Event::Nothing
    }

    fn output(&mut self, port: Port, bytes: &[u8]) {
        match port {
            Port::Error => {
                self.flush();
                let _ = io::stderr().write_all(bytes);
            }
            _ => {
                self.screen.extend_from_slice(bytes);
                if self.screen.len() >= BUFFER_BYTES {
                    self.flush();
                }
            }
        }
    }

    fn call(&mut self, _number: i32, _words: [u32; 4]) -> Option<[u32; 4]> {
        None
    }
}
