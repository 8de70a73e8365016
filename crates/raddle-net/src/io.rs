// Owns: the face of descriptors; standard input.
// May use: `descriptor`, `guard`.
// Never: a change of a descriptor that other programs have, too.

//! Any descriptor, and standard input, without a worker that waits for it.
//!
//! ```no_run
//! use std::io::BufRead as _;
//!
//! for line in raddle_net::io::stdin().lines() {
//!     println!("{}", line?);
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

pub use crate::descriptor::{Descriptor, Ready};
pub use crate::guard::WhenReady;

use std::io::{BufReader, Stdin};

/// Standard input: lines of a terminal, bytes of a pipe. It has a buffer of its own beside that of [`std::io::stdin`],
/// so use one of them.
pub fn stdin() -> BufReader<Descriptor<Stdin>> {
    BufReader::new(Descriptor::new(std::io::stdin()))
}
