//! Owns: keyboard and screen of an occam program.
//! May use: standard streams.
//! Never: buffers; the host does, and lets nothing wait that should be seen.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use raddle_host::{Port, World};

/// The standard streams.
pub(super) struct Streams;

impl Streams {
    pub(super) fn shared() -> Arc<dyn World> {
        Arc::new(Streams)
    }
}

impl World for Streams {
    fn output(&self, port: Port, bytes: &[u8]) {
        // Who has closed the other end wants no more.
        let _ = match port {
            Port::Error => io::stderr().write_all(bytes),
            _ => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
        };
    }

    fn key(&self) -> Option<u8> {
        let mut key = [0];
        matches!(io::stdin().read(&mut key), Ok(1)).then_some(key[0])
    }
}
