//! Owns: the commands of the house (`cargo xtask`).
//! May use: the standard library.
//! Never: part of what Raddle ships.

fn main() {}
