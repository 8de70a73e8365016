//! Owns: `TracePlan`, what the settings say of a trace.
//! May use: `raddle-trace`.
//! Never: what is done about it.

use raddle_trace::Level;
use std::path::PathBuf;

/// What the settings say of a trace.
#[derive(Clone, Debug)]
pub struct TracePlan {
    /// The file at the end, if one is wanted.
    pub file: Option<PathBuf>,
    pub level: Level,
    /// What each worker keeps.
    pub last_bytes: usize,
    /// The file is written as the program runs.
    pub stream: bool,
}

impl TracePlan {
    /// Whether there is anything to record.
    pub(crate) fn asks_for_anything(&self) -> bool {
        self.file.is_some() || self.level != Level::Off
    }
}
