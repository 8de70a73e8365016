//! Owns: random operations beside a model of what memory must hold.
//! May use: `raddle-alloc`.
//! Never: a seed that is not told.
//!
//! `RADDLE_ALLOC_ROUNDS` is the number of operations of each thread in a case, `RADDLE_ALLOC_CASES` that of cases, each
//! with a seed of its own; each case that is over is told on standard error.

use raddle_alloc::{
    allocate, allocate_aligned, allocate_zeroed, free, leave_heap, purge, reallocate, rest_heap,
};
use std::sync::mpsc;

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn size(&mut self) -> usize {
        match self.below(1000) {
            0 => self.below(24 << 20),
            1..20 => self.below(300_000),
            20..100 => self.below(20_000),
            _ => self.below(1040),
        }
    }
}

/// A block, and what it holds: its size and seed at both ends.
struct Held {
    block: *mut u8,
    size: usize,
    align: usize,
    seed: u8,
}

// SAFETY: whoever has it is its only holder.
unsafe impl Send for Held {}

impl Held {
    fn new(random: &mut Random) -> Held {
        let size = random.size();
        let (block, align) = match random.below(10) {
            0 => {
                let align = 1 << random.below(14);
                (allocate_aligned(size, align), align)
            }
            1 => {
                let block = allocate_zeroed(size);
                // SAFETY: ours, of this size.
                let bytes = unsafe { std::slice::from_raw_parts(block, size) };
                assert!(bytes.iter().take(64).chain(bytes.iter().rev().take(64)).all(|byte| *byte == 0));
                (block, 1)
            }
            _ => (allocate(size), 16),
        };
        assert!(!block.is_null() && block.addr().is_multiple_of(align));
        let held = Held { block, size, align, seed: random.next() as u8 };
        held.write();
        held
    }

    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let size = self.size;
        (0..size.min(32)).chain(size.saturating_sub(32)..size)
    }

    fn write(&self) {
        // SAFETY: ours, of this size.
        self.places().for_each(|at| unsafe { self.block.wrapping_add(at).write(self.seed ^ at as u8) });
    }

    fn check(&self) {
        // SAFETY: as above.
        let is_as_written = |at| unsafe { self.block.wrapping_add(at).read() } == self.seed ^ at as u8;
        assert!(self.places().all(is_as_written), "{}", self.size);
    }

    fn resize(&mut self, random: &mut Random) {
        let size = random.size();
        let kept = (0..self.size.min(size).min(32)).collect::<Vec<_>>();
        // SAFETY: ours.
        self.block = unsafe { reallocate(self.block, size, self.align.max(16)) };
        assert!(!self.block.is_null() && self.block.addr().is_multiple_of(self.align));
        // SAFETY: as above.
        let byte = |at: usize| unsafe { self.block.wrapping_add(at).read() };
        assert!(kept.iter().all(|at| byte(*at) == self.seed ^ *at as u8));
        self.size = size;
        self.write();
    }

    fn free(self) {
        self.check();
        // SAFETY: ours, and given up.
        unsafe { free(self.block) };
    }
}

fn run(seed: u64, rounds: usize, send: &[mpsc::Sender<Held>], receive: &mpsc::Receiver<Held>) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut all: Vec<Held> = Vec::new();
    for round in 0..rounds {
        let room = 1 + (round / 1000 % 8) * 200;
        if all.len() < room {
            all.push(Held::new(&mut random));
        } else {
            let one = random.below(all.len());
            match random.below(8) {
                0 => all[one].resize(&mut random),
                1 | 2 if !send.is_empty() => {
                    let to = random.below(send.len());
                    let _if_it_lives =
                        send[to].send(all.swap_remove(one)).map_err(|refused| refused.0.free());
                }
                _ => all.swap_remove(one).free(),
            }
        }
        receive.try_iter().for_each(Held::free);
        // A purge makes the kernel give all memory anew: at each 50 000th operation it took two thirds of the time.
        match random.below(400_000) {
            0..8 => leave_heap(),
            8..16 => rest_heap(),
            16 => _ = purge(),
            _ => {}
        }
    }
    all.into_iter().for_each(Held::free);
}

/// What the environment asks for.
fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok().and_then(|number| number.parse().ok())
}

#[test]
#[allow(clippy::print_stderr, reason = "a run of hours says how far it is")]
fn memory_holds_what_was_written_whoever_frees_it() {
    const THREADS: usize = 4;
    let rounds = number("RADDLE_ALLOC_ROUNDS").unwrap_or(60_000);
    let cases = number("RADDLE_ALLOC_CASES").unwrap_or(3);
    for case in 1..=cases {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| mpsc::channel()).unzip();
        std::thread::scope(|scope| {
            for (number, receive) in receivers.into_iter().enumerate() {
                let senders = senders.clone();
                let seed = (case * 100 + number) as u64;
                scope.spawn(move || run(seed, rounds, &senders, &receive));
            }
            drop(senders);
        });
        eprintln!("case {case} of {cases} is over, {} operations until now", case * THREADS * rounds);
    }
}
