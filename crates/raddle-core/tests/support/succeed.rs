//! Owns: commands that a test needs to succeed, and the house's own among them.
//! May use: nothing.
//! Never: going on after a failure, or hiding what was said.

use std::process::Command;

/// What it says; fails with that if it does not succeed.
#[track_caller]
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    said
}

/// `cargo xtask` with these arguments.
pub(crate) fn xtask(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").expect("a test runs under cargo"));
    command.args(["run", "--quiet", "--package", "xtask", "--"]).args(arguments);
    command
}
