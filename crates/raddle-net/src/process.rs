//! Child processes, as [`std::process`].
// Owns: nothing yet.
// May use: nothing.
// Never: a worker that waits for a child.
