//! Owns: the part of `tools` that the twin needs: Valgrind hears of the stacks, which nobody runs on.
//! May use: as `tools`.
//! Never: fibers; to a sanitizer the twin's contexts are plain threads.

#[path = "../tools/valgrind.rs"]
pub(crate) mod valgrind;
