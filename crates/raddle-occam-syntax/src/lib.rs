//! Owns: occam 2.1 and occam-pi source to a syntax tree; how it is laid out; the libraries that come with it.
//! May use: nothing.
//! Never: knows what a name means, reads or writes files, prints.
//!
//! ```text
//! texts -> lex -> pre (#INCLUDE, #IF) -> layout -> parse -> the tree (ast)
//! ```

pub mod ast;
mod condition;
pub mod diag;
pub mod format;
pub mod layout;
pub mod lex;
pub mod library;
pub mod operator;
pub mod parse;
pub mod pre;
pub mod source;
pub mod symbol;
