//! Owns: occam 2.1 and occam-pi source to a checked program.
//! May use: std only.
//! Never: reads or writes files, prints, or runs a program.
//!
//! The stages, each a pure function that returns what it understood together with its complaints:
//!
//! ```text
//! texts -> lex -> pre (#INCLUDE, #IF) -> layout -> parse -> check (names, types) -> usage (races, aliases) -> Checked
//! ```

mod condition;
pub mod diag;
pub mod layout;
pub mod lex;
pub mod pre;
pub mod source;
pub mod symbol;
