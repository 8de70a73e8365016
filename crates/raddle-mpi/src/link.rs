//! Owns: `EmulatedLink`: a link between ranks that there is not: messages are held back as it would.
//! May use: `shim`.
//! Never: moving a message; MPI has done that when it is held back.

use crate::shim::Direction;
use std::time::Duration;

/// A link that is emulated in the process, for ranks on one host: messages take as long as over a network of that
/// speed, and move as MPI moves them over TCP: only when somebody looks, but for what the kernel's buffers hold.
///
/// What is measured with it is a model's answer, and is to be called so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmulatedLink {
    /// Bytes a second, each way.
    pub bytes_per_second: f64,
    /// From one end to the other.
    pub latency: Duration,
    /// So many bytes move without a look, at most.
    pub window_bytes: u64,
}

impl EmulatedLink {
    /// A link of so many megabits a second, with 50 us from end to end, and as much in the buffers of both ends as was
    /// found with Open MPI over TCP: looks 2.5 ms apart lose nothing at 1 Gbit/s, and those 10 ms apart two thirds.
    pub fn megabits(rate: f64) -> EmulatedLink {
        EmulatedLink {
            bytes_per_second: rate * 1e6 / 8.0,
            latency: Duration::from_micros(50),
            window_bytes: 384 << 10,
        }
    }
}

/// Both ways of a link.
pub(crate) struct Pipes {
    link: EmulatedLink,
    last_ns: u64,
    budgets: [f64; 2],
}

impl Pipes {
    pub(crate) fn new(link: EmulatedLink) -> Pipes {
        Pipes { link, last_ns: 0, budgets: [0.0; 2] }
    }

    /// Nothing was under way before: what was not used is lost.
    pub(crate) fn begin(&mut self, now: u64) {
        self.last_ns = now;
        self.budgets = [0.0; 2];
    }

    /// Somebody looks.
    pub(crate) fn look(&mut self, now: u64) {
        let span = now.saturating_sub(self.last_ns) as f64 * 1e-9;
        self.last_ns = now;
        let moved = (span * self.link.bytes_per_second).min(self.link.window_bytes as f64);
        self.budgets = [moved; 2];
    }

    /// Moves what it can of what is left of a message; whether that is all of it, and it has got there.
    pub(crate) fn moves(&mut self, direction: Direction, left: &mut f64, age_ns: u64) -> bool {
        let budget = &mut self.budgets[usize::from(direction == Direction::In)];
        let taken = left.min(*budget);
        *budget -= taken;
        *left -= taken;
        *left <= 0.0 && u128::from(age_ns) >= self.link.latency.as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_takes_its_time_if_somebody_looks_and_longer_if_not() {
        let link = EmulatedLink { bytes_per_second: 1e9, latency: Duration::ZERO, window_bytes: 1000 };
        let takes = |step: u64| {
            let (mut pipes, mut left, mut now) = (Pipes::new(link), 100_000.0, 5);
            pipes.begin(5);
            loop {
                now += step;
                pipes.look(now);
                if pipes.moves(Direction::In, &mut left, now) {
                    return now - 5;
                }
            }
        };
        assert_eq!(takes(500), 100_000);
        // Each look finds the buffers full, and no more.
        assert_eq!(takes(10_000), 1_000_000);
    }

    #[test]
    fn messages_of_one_way_share_it() {
        let mut pipes =
            Pipes::new(EmulatedLink { latency: Duration::ZERO, ..EmulatedLink::megabits(8000.0) });
        pipes.begin(0);
        pipes.look(1000);
        let (mut first, mut second, mut other) = (600.0, 600.0, 1000.0);
        assert!(pipes.moves(Direction::Out, &mut first, 0));
        assert!(!pipes.moves(Direction::Out, &mut second, 0));
        assert!(pipes.moves(Direction::In, &mut other, 0));
        assert!((second - 200.0).abs() < 1e-6);
    }
}
