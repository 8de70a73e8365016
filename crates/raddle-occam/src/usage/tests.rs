//! Owns: nothing yet.
//! May use: nothing.
//! Never: anything.
