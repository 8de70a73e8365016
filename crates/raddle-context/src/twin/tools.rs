//! Owns: the part of `tools` that the twin needs: the stacks are registered with Valgrind, though none is used.
//! May use: nothing.
//! Never: fibers; to a sanitizer the twin's contexts are plain threads.

#[path = "../tools/valgrind.rs"]
pub(crate) mod valgrind;
