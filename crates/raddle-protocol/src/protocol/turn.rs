//! Owns: `Turn`, what the queue locks ask of the one who waits for its turn.
//! May use: nothing.
//! Never: a queue.
//!
//! Those near the head of a queue look, so that the lock goes on in the time that a cache line needs; those who are far
//! sleep, so that a worker with hundreds of them has not to go round them all for the one whose turn it is. Whoever
//! comes near calls the next one up, while it waits itself: when the lock is handed over, the one it is handed to is
//! awake. The queues of `mcs` and `clh` are generic in this, so that the models search the very code that runs.

/// One who waits for its turn.
pub trait Turn {
    /// Whom to wake. At least four bytes aligned: words of the queues hold its address beside small numbers.
    type Who;

    /// Whether the turn of one with so many before it is so near that the next one is to be awake.
    fn is_near(&self, before: u32) -> bool;

    /// Whether one with so many before it goes to sleep, if it may, rather than look again.
    fn should_sleep(&self, before: u32) -> bool;

    /// Between two looks, with so many before it.
    fn look_again(&mut self, before: u32);

    /// Leaves the stack, then shows itself by `enter`, and sleeps if that says so, until it is woken. From the moment
    /// in which `enter` has shown it, it may run elsewhere: `enter` touches nothing of its frame after that.
    fn sleep(&mut self, enter: impl FnOnce(*mut Self::Who) -> bool);

    /// Wakes one who sleeps.
    ///
    /// # Safety
    /// It has shown itself by `enter`, and the caller is the one to have taken that back.
    unsafe fn wake(who: *mut Self::Who);
}
