//! Owns: `Choices`: what was asked for last acts, whatever was decided for an earlier ask, and by whom.
//! May use: `gate`.
//! Never: knowing what is chosen.
//!
//! Programs ask for something at any time, and some asks bring a decider, which decides anew from time to time, also
//! while others ask. What comes of either takes effect under a lock of its own, after some preparation without any
//! lock: so it may come late. Each ask has a number, the decider's decisions that of the ask which brought it.
//!
//! | who | steps |
//! |---|---|
//! | asks | under the decider's lock: a new number, and the new decider instead of the former one |
//! | decides | under the same lock: the decision, and the number of the ask whose decider it is |
//! | either, later | under the lock of what acts: if the number is still the last one, it takes effect |
//!
//! Of two asks the one with the greater number stays, in whatever order they come to the second lock: who comes later
//! with the smaller one is refused, who comes earlier is overwritten. So is a decision. `tests/loom.rs` searches all
//! interleavings, and fails without the last row's question.

use crate::prim::{AtomicBool, AtomicU32, Mutex, Ordering, lock};

/// Who decides, if anybody does, and how often something was asked for.
pub(crate) struct Choices<D> {
    decider: Mutex<Option<D>>,
    number: AtomicU32,
    /// Whether there is a decider: most programs have none, and take no lock to know that.
    is_there: AtomicBool,
}

impl<D> Choices<D> {
    pub(crate) fn new() -> Choices<D> {
        Choices { decider: Mutex::new(None), number: AtomicU32::new(0), is_there: AtomicBool::new(false) }
    }

    /// Something is asked for, with whom decides from now on, if anybody does: the number of the ask.
    pub(crate) fn ask(&self, decider: Option<D>) -> u32 {
        let mut known = lock(&self.decider);
        // Relaxed will do for all words here: the locks order them.
        let number = self.number.load(Ordering::Relaxed).wrapping_add(1);
        self.number.store(number, Ordering::Relaxed);
        self.is_there.store(decider.is_some(), Ordering::Relaxed);
        *known = decider;
        number
    }

    /// What the decider decides, if it does, and the number of its ask.
    pub(crate) fn decide<R>(&self, decide: impl FnOnce(&mut D) -> Option<R>) -> Option<(R, u32)> {
        if !self.is_there.load(Ordering::Relaxed) {
            return None;
        }
        let mut known = lock(&self.decider);
        let decided = decide(known.as_mut()?)?;
        Some((decided, self.number.load(Ordering::Relaxed)))
    }

    /// Tells the decider something, if there is one.
    pub(crate) fn tell(&self, tell: impl FnOnce(&mut D)) {
        let _none = self.decide(|decider| {
            tell(decider);
            None::<()>
        });
    }

    /// Asks it something.
    pub(crate) fn ask_it<R>(&self, ask: impl FnOnce(&D) -> R) -> Option<R> {
        self.decide(|decider| Some(ask(decider))).map(|(answer, _)| answer)
    }

    /// Has something take effect under the lock of what acts, unless something was asked for since.
    pub(crate) fn act<S, R>(
        &self,
        acting: &Mutex<S>,
        number: u32,
        take_effect: impl FnOnce(&mut S) -> R,
    ) -> Option<R> {
        let mut acting = lock(acting);
        // Who asked later comes to this lock later, or has changed the number before this one came.
        (self.number.load(Ordering::Relaxed) == number).then(|| take_effect(&mut acting))
    }
}
