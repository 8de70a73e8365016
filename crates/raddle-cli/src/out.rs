//! Owns: writing to standard output.
//! May use: `refusal`.
//! Never: standard error.

use std::io::{ErrorKind, Write as _};

use crate::refusal::Error;

/// Writes the output. A closed pipe (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::unwritten_output(&error)),
        _ => Ok(()),
    }
}
