//! Owns: the rule that nothing in the allocator waits: T5 of docs/ALLOC.md.
//! May use: `tree`.
//! Never: whether a reason is true; the models and the trials look for what is not.
//!
//! In the sources of `raddle-alloc` no lock, no once-cell, no spinning, yielding, sleeping or parking is named, and
//! above each loop a comment says why it ends: `bounded:` by what, or `lock-free:`, that a round is repeated only
//! because another thread has got on.

use super::{Finding, hold, tokens};
use crate::tree::rust_files;

const SOURCES: &str = "crates/raddle-alloc/src/";
const LINES_ABOVE: usize = 3;
const WAITS: [&str; 16] = [
    "Mutex",
    "RwLock",
    "Condvar",
    "Once",
    "OnceLock",
    "OnceCell",
    "LazyLock",
    "Barrier",
    "spin_loop",
    "yield_now",
    "yield_processor",
    "sleep",
    "park",
    "futex_wait",
    "poll",
    "compare_exchange_weak",
];

fn says_why(line: &str) -> bool {
    let comment = line.trim_start().strip_prefix("//");
    comment.is_some_and(|comment| comment.contains("bounded:") || comment.contains("lock-free:"))
}

fn check(path: &str, text: &str) -> Vec<Finding> {
    let lines: Vec<_> = text.lines().collect();
    let tests = lines.iter().position(|line| line.contains("cfg(test)") || line.contains("cfg(all(test"));
    let end = tests.unwrap_or(lines.len());
    let mut findings = Vec::new();
    for word in tokens::words(tokens::stream(path, text)).into_iter().filter(|word| word.line <= end) {
        let line = lines[word.line - 1].trim_start();
        if WAITS.contains(&word.text.as_str()) {
            findings.push(Finding::new(path, word.line, format!("`{}` may wait", word.text)));
        }
        let loops = match word.text.as_str() {
            "loop" | "while" => true,
            "for" => line.starts_with("for "),
            _ => false,
        };
        let above = (word.line - 1).saturating_sub(LINES_ABOVE);
        if loops && !lines[above..word.line].iter().any(|line| says_why(line)) {
            findings.push(Finding::new(path, word.line, "a loop that does not say why it ends"));
        }
    }
    findings
}

#[test]
fn nothing_in_the_allocator_waits() {
    let files = rust_files();
    let sources =
        files.iter().filter(|file| file.path.starts_with(SOURCES) && !file.path.contains("/model/"));
    // What the models are started by is no part of a program.
    let sources = sources.filter(|file| !file.path.ends_with("src/mistake.rs"));
    let findings: Vec<_> = sources.flat_map(|file| check(&file.path, &file.text)).collect();
    hold("Nothing in the allocator waits, and each loop says why it ends.", &findings);
}

#[test]
fn waits_and_loops_without_a_reason_are_refused() {
    assert_eq!(check("a.rs", "fn f() { std::thread::yield_now() }").len(), 1);
    assert_eq!(check("a.rs", "static A: Mutex<u32> = Mutex::new(0);").len(), 2);
    assert_eq!(check("a.rs", "fn f() {\n loop {}\n}").len(), 1);
    assert_eq!(check("a.rs", "fn f() {\n // lock-free: another has got on.\n loop {}\n}"), []);
    assert_eq!(check("a.rs", "fn f() {\n // bounded: by three.\n for _ in 0..3 {}\n while g() {}\n}"), []);
    assert_eq!(check("a.rs", "impl A for B {}\n// loop\nconst S: &str = \"Mutex\";"), []);
    assert_eq!(check("a.rs", "fn f() {}\n#[cfg(test)]\nmod tests { fn g() { loop {} } }"), []);
}
