//! Owns: the tests of the bytecode's public face.
//! May use: the crate's public interface, `FORMAT.md`.
//! Never: a machine; `raddle-vm` tests what instructions do.

mod file;
mod numbering;
