//! Channels: `agree` is what `crossbeam-channel` documents, item by item, run against both; `ours` is what is ours alone.

mod on_crossbeam;
mod on_raddle;
mod ours;
