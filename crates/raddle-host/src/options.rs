//! Owns: `RunOptions`, how to run a program.
//! May use: `compile`, `raddle-core`.
//! Never: runs one.

#[cfg(feature = "native")]
use crate::compile::Compile;
use raddle_core::Builder;
#[cfg(feature = "native")]
use std::sync::Arc;

/// How to run a program.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// OS threads; 0 for as many as `runtime` says.
    pub workers: usize,
    /// The settings of the workers' runtime; what is not set there comes from `RADDLE_*`.
    pub runtime: Builder,
    /// One schedule, replayable; runs on one worker.
    pub seed: Option<u64>,
    /// The most memory that frames, arrays and mobiles may take, in bytes. Where the system refuses so much address
    /// space, a program gets as much as there is, down to 64 KiB.
    pub memory_bytes: u32,
    /// Use several workers from the first instruction on, not only when there is work for several. For tests.
    pub at_once: bool,
    /// Compiles the program before it runs, if there is one.
    #[cfg(feature = "native")]
    pub compiler: Option<Arc<dyn Compile>>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            workers: 0,
            runtime: Builder::default(),
            seed: None,
            memory_bytes: 1 << 30,
            at_once: false,
            #[cfg(feature = "native")]
            compiler: None,
        }
    }
}
