//! Owns: what a program is told that has an end of `csp` in `select!`.
//! May use: `channel`.
//! Never: a call at run time.
//!
//! `select!` asks each of its ends for itself, by a method that is found behind pointers, too. The ends here have that
//! method, on a condition that they do not meet and that says what to write; without it the compiler would name two
//! types of the same name, of which it wants the other one.
//!
//! ```compile_fail
//! use raddle::{channel::select, csp};
//! let (_to, from) = csp::channel::<u32>();
//! select! { recv(from) -> message => drop(message) }
//! ```
//!
//! ```compile_fail
//! use raddle::{channel::select, csp};
//! let (to, _from) = csp::channel::<u32>();
//! select! { send(&to, 1) -> sent => drop(sent) }
//! ```

use super::chan::{Receiver, Sender};
use crate::channel::__private::StandsInSelect;

impl<T> Sender<T> {
    #[doc(hidden)]
    pub fn sender_of_raddle_channel(&self) -> &crate::channel::Sender<T>
    where
        Self: StandsInSelect,
    {
        unreachable!("no end of `csp` stands in `select!`")
    }
}

impl<T> Receiver<T> {
    #[doc(hidden)]
    pub fn receiver_of_raddle_channel(&self) -> &crate::channel::Receiver<T>
    where
        Self: StandsInSelect,
    {
        unreachable!("no end of `csp` stands in `select!`")
    }
}
