//! Owns: the world of a program that runs in a page: its clock, keyboard and screen.
//! May use: `raddle-vm`.
//! Never: waits; it has the machine stop instead, and says for what.

use raddle_vm::Port;
use raddle_vm::solo::{Event, Until, World};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Milliseconds since any moment.
    safe fn now() -> f64;
    /// The program has written these bytes: to the screen (20) or to the error channel (24).
    fn output(port: u32, bytes: *const u8, count: usize);
}

/// The buffer is given to the page at this size.
const BUFFER_BYTES: usize = 4096;
/// After so many bytes it is the page's turn, which has to show them.
const TURN_BYTES: usize = 1 << 16;
/// Not a character: a request to flush the screen.
const FLUSH: u8 = 255;
/// So many bytes that nobody has read are kept.
const KEYS_MAX: usize = 1 << 16;

/// The world of one program.
pub(crate) struct Outside {
    began: f64,
    keys: RefCell<VecDeque<u8>>,
    ended: Cell<bool>,
    screen: RefCell<Vec<u8>>,
    written: Cell<usize>,
    /// When the turn ends, in the page's milliseconds.
    until: Cell<f64>,
    /// It ends at the next look.
    steps: Cell<bool>,
    /// What the program waits for, if nobody can run.
    waits: Cell<Option<Until>>,
    wants_key: Cell<bool>,
}

impl Outside {
    pub(crate) fn new() -> Outside {
        Outside {
            began: now(),
            keys: RefCell::default(),
            ended: Cell::new(false),
            screen: RefCell::default(),
            written: Cell::new(0),
            until: Cell::new(0.0),
            steps: Cell::new(false),
            waits: Cell::new(None),
            wants_key: Cell::new(false),
        }
    }

    /// A turn begins.
    pub(crate) fn begin(&self, until: f64, steps: bool) {
        self.until.set(until);
        self.steps.set(steps);
        self.written.set(0);
        self.waits.set(None);
        self.wants_key.set(false);
    }

    pub(crate) fn key(&self, key: Option<u8>) {
        match key {
            Some(key) if self.keys.borrow().len() < KEYS_MAX => self.keys.borrow_mut().push_back(key),
            Some(_) => {}
            None => self.ended.set(true),
        }
    }

    pub(crate) fn waits(&self) -> bool {
        self.waits.get().is_some()
    }

    pub(crate) fn wants_key(&self) -> bool {
        self.wants_key.get()
    }

    /// In the page's milliseconds.
    pub(crate) fn wakes_at(&self) -> f64 {
        match self.waits.get() {
            Some(Until::At(at)) => self.began + at as f64 / 1000.0,
            _ => f64::INFINITY,
        }
    }

    fn passed(&self) -> u64 {
        ((now() - self.began) * 1000.0) as u64
    }

    fn give(port: Port, bytes: &[u8]) {
        // SAFETY: the page reads the bytes, which live until it has.
        unsafe { output(port as u32, bytes.as_ptr(), bytes.len()) };
    }

    pub(crate) fn flush(&self) {
        let mut screen = self.screen.borrow_mut();
        if !screen.is_empty() {
            Outside::give(Port::Screen, &screen);
            screen.clear();
        }
    }

    fn next_key(&self) -> Option<Event> {
        let key = self.keys.borrow_mut().pop_front();
        key.map(Event::Key).or_else(|| self.ended.get().then_some(Event::NoMoreKeys))
    }
}

impl World for &Outside {
    fn now(&mut self) -> u64 {
        self.passed()
    }

    fn wait(&mut self, until: Until, keys: bool) -> Event {
        if keys && let Some(event) = self.next_key() {
            return event;
        }
        match until {
            Until::Now => {
                let over = self.steps.get() || self.written.get() >= TURN_BYTES || now() >= self.until.get();
                if over { Event::Pause } else { Event::Nothing }
            }
            Until::At(time) if self.passed() >= time => Event::Nothing,
            _ => {
                self.waits.set(Some(until));
                self.wants_key.set(keys);
                Event::Pause
            }
        }
    }

    fn output(&mut self, port: Port, bytes: &[u8]) {
        self.written.set(self.written.get() + bytes.len());
        if port != Port::Screen {
            self.flush();
            return Outside::give(port, bytes);
        }
        let mut screen = self.screen.borrow_mut();
        screen.extend(bytes.iter().filter(|&&byte| byte != FLUSH));
        let full = screen.len() >= BUFFER_BYTES || bytes.contains(&FLUSH);
        drop(screen);
        if full {
            self.flush();
        }
    }

    /// A program has no arguments here, which these calls ask for: how many, how long, a byte of one.
    fn call(&mut self, number: i32, _: [u32; 4]) -> Option<[u32; 4]> {
        match number {
            1 => Some([0; 4]),
            2 => Some([u32::MAX, 0, 0, 0]),
            _ => None,
        }
    }
}
