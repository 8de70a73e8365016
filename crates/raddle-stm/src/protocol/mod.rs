//! Owns: the protocols through which transactions meet, generic in what they carry: the models run them as they are.
//! May use: nothing.
//! Never: a value's type, a policy, a wait.
//!
//! | module | what | page |
//! |---|---|---|
//! | `clock` | the global clock of versions | `versions.md` |
//! | `word` | a variable's word: its version, or who has it locked | `versions.md` |
//! | `commit` | lock, tick, validate, store, unlock | `versions.md` |
//! | `reserve` | a variable that a pessimistic transaction keeps as it is | `versions.md` |
//! | `slots` | who runs a transaction since when; what may be freed | `slots.md` |
//! | `watch` | who waits for a change of which variable | `watch.md` |

pub(crate) mod clock;
pub(crate) mod commit;
pub(crate) mod reserve;
pub(crate) mod slots;
pub(crate) mod watch;
pub(crate) mod word;
