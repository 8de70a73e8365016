//! Files, as [`std::fs`]: each call is made on a spare OS thread.
// Owns: nothing yet.
// May use: nothing.
// Never: a worker that waits for a disk.
