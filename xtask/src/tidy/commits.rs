//! Owns: the rule on the messages of commits.
//! May use: `house`.
//! Never: a commit from before the rule; a copy of the repository without its history.

use std::process::Command;

use super::exceptions::Exceptions;
use super::{Finding, hold};
use crate::house;

/// The last commit that the rule does not ask anything of.
const BEFORE: &str = "93914e8033d2";
const TITLE_COLUMNS_MAX: usize = 72;

/// What is wrong with one message.
fn check(hash: &str, message: &str) -> Option<Finding> {
    let (title, body) = message.split_once('\n').unwrap_or((message, ""));
    let columns = title.chars().count();
    let what = if columns > TITLE_COLUMNS_MAX {
        format!("the title has {columns} columns: `{title}`")
    } else if body.trim().is_empty() {
        format!("there is no body that says why: `{title}`")
    } else if !body.starts_with('\n') {
        format!("no empty line between title and body: `{title}`")
    } else {
        return None;
    };
    Some(Finding::new(hash, 1, what))
}

/// Short hashes and messages of the commits since [`BEFORE`]; none where the history does not have it.
fn messages() -> Vec<(String, String)> {
    let range = format!("{BEFORE}..HEAD");
    let listing =
        ["-c", "safe.directory=*", "log", "--no-merges", "--abbrev=10", "--format=%h%n%B%x00", &range];
    let output = Command::new("git").args(listing).current_dir(house::root()).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let entries = text.split('\0').filter_map(|entry| entry.trim_start().split_once('\n'));
    entries.map(|(hash, message)| (hash.to_owned(), message.to_owned())).collect()
}

#[test]
fn commits_say_what_and_why() {
    let exceptions = Exceptions::of("commit-title");
    let messages = messages();
    let found = messages.iter().filter_map(|(hash, message)| check(hash, message)).collect();
    // An exception that nothing needs is no fault here: a copy of the history may end before the commit that it names.
    let found = exceptions.sift(found);
    hold("A commit has a title of at most 72 columns and a body that says why.", &found);
}

#[test]
fn a_long_title_and_a_missing_body_are_refused() {
    let title = "x".repeat(TITLE_COLUMNS_MAX);
    assert_eq!(check("a", &format!("{title}\n\nWhy.\n")), None);
    assert!(check("a", &format!("{title}x\n\nWhy.\n")).is_some());
    assert!(check("a", "Title\n").is_some());
    assert!(check("a", "Title\n\n \n").is_some());
    assert!(check("a", "Title\nWhy.\n").is_some());
}
