//! Channels: `agree` is what `crossbeam-channel` documents, run against it and against ours; `ours` is ours alone.

mod on_crossbeam;
mod on_raddle;
mod ours;
