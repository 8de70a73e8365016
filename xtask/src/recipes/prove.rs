//! Owns: running the proof of a change.
//! May use: `anyhow`.
//! Never: judging what a step prints; it succeeds or it does not.

use std::process::Command;

use anyhow::Context as _;

use super::change::Change;
use super::copy::Place;

/// A step that did not succeed, and what it said.
pub(super) struct Failed {
    pub(super) step: String,
    pub(super) said: String,
}

/// Runs the steps in the copy until one fails.
///
/// They find the programs that they build by their names. Builds with other settings go to folders of their own beside
/// the copy's target folder, not to the house's: Cargo gives a test of the copy the name of the house's, and would
/// replace it while another group runs it.
pub(super) fn all(change: &Change, place: &Place) -> anyhow::Result<Option<Failed>> {
    let path = std::env::var("PATH").unwrap_or_default();
    for step in change.proof() {
        let mut command = Command::new("sh");
        command.args(["-euc", &format!("exec 2>&1\n{step}")]).current_dir(&place.root);
        command.env("PATH", format!("{}:{path}", place.target.join("debug").display()));
        command.env("CARGO_TARGET_DIR", &place.target);
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
