//! Owns: `ControlWords`, what a thread has set of how its processor computes with reals.
//! May use: nothing.
//! Never: a register that a call keeps anyway.
//!
//! The rounding mode, which exceptions trap, which have been seen. A switch leaves them alone, since nearly nothing
//! changes them and to save them takes 3 ns of 20; what does change them leaves them to whoever runs next. Threads of C
//! expect them to be a thread's own, so whoever runs those carries them over a switch by hand.
//!
//! It uses one file per architecture.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

pub use machine::ControlWords;

impl ControlWords {
    /// Makes these the words of the OS thread that calls, and gives those that it had.
    ///
    /// Rust's own arithmetic expects what a program starts with; the caller computes with no reals before it has put
    /// that back, or knows that these words are that.
    ///
    /// ```
    /// use raddle_context::ControlWords;
    /// let here = ControlWords::here();
    /// assert_eq!(here.exchange(), here);
    /// ```
    #[inline]
    pub fn exchange(self) -> ControlWords {
        let before = ControlWords::here();
        // To compare is cheap; to load stops the processor for a moment.
        if before != self {
            self.load();
        }
        before
    }

    /// As [`exchange`](Self::exchange), for code that asks for no exception flags: if nothing but those differs, they
    /// stay. PERF: whoever has once computed 1/3 has the flag that it was inexact; between two threads that both have
    /// it, each switch would load that there is none and that there is: 60 to 100 ns, a third of a hand-off.
    #[inline]
    pub fn exchange_modes(self) -> ControlWords {
        let before = ControlWords::here();
        if !before.has_modes_of(self) {
            self.load();
        }
        before
    }
}
