//! Owns: `Fiber` of builds without a sanitizer.
//! May use: nothing.
//! Never: a byte.

/// The state of a sanitizer per context: nothing.
#[derive(Debug)]
pub(crate) struct Fiber;

impl Fiber {
    pub(crate) const fn new() -> Self {
        Fiber
    }
}
