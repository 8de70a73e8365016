//! Owns: the corpus: programs that must be accepted, and rejected ones with their diagnostics.
//! May use: the public interface of raddle-occam.
//! Never: passes because a directory is empty.
//!
//! Each program has its diagnostics beside it, in `NAME.expected`. `UPDATE_EXPECT=1` writes those files anew; read the
//! difference before you keep it.

mod claims;
mod corpus;
mod format;
mod fuzz;
mod generated;
mod phases;
mod recipes;
mod stages;
mod wide;
