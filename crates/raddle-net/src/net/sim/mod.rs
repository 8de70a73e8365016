// Owns: the list of what there is of the simulated network; what a seed may do there.
// May use: `raddle-core`.
// Never: a descriptor, or the kernel.

//! A network within the program, for [exploration by seeds](https://docs.rs/raddle/latest/raddle/explore): streams of
//! TCP by the names of [`net`](super), of memory alone.
//!
//! A test changes a `use` line: `raddle::net::sim::{TcpListener, TcpStream}`. Then an exploration chooses what goes on
//! before what at each of their calls, time-outs are of the schedule's own time, a wait for a peer that will never
//! write is a deadlock with the two lines in its report, and the same seed has the same course, which the kernel's
//! sockets do not promise. Addresses are the program's own: who connects finds who is bound here.
//!
//! By a seed, the network does what a network may do ([`Faults`]): what was written comes later, and in other pieces;
//! and, if it is asked to, connections are reset. Without a seed it does nothing of that.
//!
//! ```
//! use raddle_net::net::sim::{TcpListener, TcpStream};
//! use std::io::{Read as _, Write as _};
//!
//! let listener = TcpListener::bind("127.0.0.1:80")?;
//! let server = raddle::csp::spawn(move || listener.accept()?.0.write_all(b"hello"));
//! let mut answer = String::new();
//! TcpStream::connect("127.0.0.1:80")?.read_to_string(&mut answer)?;
//! assert_eq!(answer, "hello");
//! server.join().unwrap()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! What is not there: datagrams, sockets of the file system, `AsFd`, and the `poll_` methods of tasks.

mod listener;
mod pipe;
mod stream;

pub use listener::{Incoming, TcpListener};
pub use stream::TcpStream;

use raddle_core::choice::choose;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// What a seed may do to a simulated connection. One that shrinks a failure leaves out what that does not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// What is written can be read only some time later: up to 50 ms of the schedule's time. Bytes stay in order.
    pub delays: bool,
    /// A read, or a write, may do less than it could.
    pub pieces: bool,
    /// A connection is reset now and then: one call in 32.
    pub resets: bool,
}

/// Delays and pieces, which every program must bear; no resets.
impl Default for Faults {
    fn default() -> Faults {
        Faults { delays: true, pieces: true, resets: false }
    }
}

/// One call in so many resets its connection, if resets are asked for.
const RESETS: usize = 32;
/// How late what was written may come, ms. The first is for who shrinks a failure.
const DELAYS: [u64; 5] = [0, 0, 1, 10, 50];

const DELAY: u8 = 1;
const PIECES: u8 = 2;
const RESET: u8 = 4;

static FAULTS: AtomicU8 = AtomicU8::new(DELAY | PIECES);

impl Faults {
    /// These hold from now on, in the whole program: for the begin of a test, or of what it explores.
    pub fn set(self) {
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let word = bit(self.delays, DELAY) | bit(self.pieces, PIECES) | bit(self.resets, RESET);
        // Relaxed: who sets them starts, or is, what they hold for.
        FAULTS.store(word, Ordering::Relaxed);
    }
}

/// A choice of the seed's, if this kind of fault is asked for: 0, without a seed too, is none.
fn fault(kind: u8, of: usize) -> usize {
    if FAULTS.load(Ordering::Relaxed) & kind == 0 { 0 } else { choose(of).unwrap_or(0) }
}

fn delay() -> Duration {
    Duration::from_millis(DELAYS[fault(DELAY, DELAYS.len())])
}

/// How much of `most`, which is not 0, is done at once.
fn piece(most: usize) -> usize {
    if fault(PIECES, 2) == 0 { most } else { fault(PIECES, most) + 1 }
}

fn is_reset_now() -> bool {
    fault(RESET, RESETS) == RESETS - 1
}
