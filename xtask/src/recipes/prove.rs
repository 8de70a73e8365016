//! Owns: running the proof of a change.
//! May use: `house`, `anyhow`.
//! Never: judging what a step prints; it succeeds or it does not.

use std::process::Command;

use anyhow::Context as _;

use super::change::Change;
use super::copy::Place;
use crate::house;

/// A step that did not succeed, and what it said.
pub(super) struct Failed {
    pub(super) step: String,
    pub(super) said: String,
}

/// Runs the steps in the copy until one fails.
///
/// They find the programs that they build by their names. `HOUSE` is the root of the house: builds with other settings
/// go to its target folders, where they find what they need of other people's crates, and put nothing where it looks
/// for its own.
pub(super) fn all(change: &Change, place: &Place) -> anyhow::Result<Option<Failed>> {
    let path = std::env::var("PATH").unwrap_or_default();
    for step in change.proof() {
        let mut command = Command::new("sh");
        command.args(["-euc", &format!("exec 2>&1\n{step}")]).current_dir(&place.root);
        command.env("PATH", format!("{}:{path}", place.target.join("debug").display()));
        command.env("CARGO_TARGET_DIR", &place.target).env("HOUSE", house::root());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RADDLE_"))
        {
            command.env_remove(name);
        }
        let done = command.output().context("could not start `sh`")?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stdout).into_owned();
            return Ok(Some(Failed { step: step.clone(), said }));
        }
    }
    Ok(None)
}
