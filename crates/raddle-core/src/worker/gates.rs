//! Owns: `Gates`, before which the processes of one worker wait for each other, one inside at a time.
//! May use: `raddle-protocol`.
//! Never: a thought of other workers: a gate has no lock and no atomic; who waits at it is bound to its worker.
//!
//! A gate is a number that somebody else gives out and a queue. It is there while one is inside, and is told when that
//! one leaves. `crowd` in `raddle-sync` says what for.

use raddle_protocol::fifo::Fifo;
use raddle_protocol::header::Runnable;
use std::cell::RefCell;

struct Gate {
    number: u64,
    waiting: Fifo,
}

/// The gates of one worker. There are hardly ever two.
pub struct Gates(RefCell<Vec<Gate>>);

impl Gates {
    pub(super) fn new() -> Gates {
        Gates(RefCell::new(Vec::new()))
    }

    /// The caller is inside if nobody was, and then leaves by [`leave`](Self::leave). Else it waits.
    #[must_use]
    pub fn try_enter(&self, number: u64) -> bool {
        let mut gates = self.0.borrow_mut();
        let nobody_is = gates.iter().all(|gate| gate.number != number);
        if nobody_is {
            gates.push(Gate { number, waiting: Fifo::new() });
        }
        nobody_is
    }

    /// Whoever could not enter waits: it is inside when it is woken.
    pub fn wait(&self, number: u64, who: Runnable) {
        let gates = self.0.borrow();
        let gate = gates.iter().find(|gate| gate.number == number);
        gate.expect("somebody is inside, and this worker has run nothing else since").waiting.push(who);
    }

    /// The one inside leaves. Returns who is inside now, to be woken; `None` if nobody is.
    pub fn leave(&self, number: u64) -> Option<Runnable> {
        let mut gates = self.0.borrow_mut();
        let at = gates.iter().position(|gate| gate.number == number).expect("the caller is inside");
        let next = gates[at].waiting.pop();
        if next.is_none() {
            gates.swap_remove(at);
        }
        next
    }
}
