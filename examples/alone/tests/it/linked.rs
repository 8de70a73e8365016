//! Owns: the test that a program without a runtime has no scheduler in it, and starts no OS thread.
//! May use: the program of this package, as cargo has built it.
//! Never: a tool that may not be there.

use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_alone");

fn has(program: &[u8], word: &str) -> bool {
    program.windows(word.len()).any(|here| here == word.as_bytes())
}

#[test]
fn the_program_has_locks_and_no_scheduler() {
    let program = std::fs::read(PROGRAM).expect("cargo has built it");
    for there in ["raddle_sync", "raddle_protocol"] {
        assert!(has(&program, there), "no symbol of {there}: this test sees no symbols");
    }
    for absent in ["raddle_core", "raddle_context", "raddle_trace"] {
        assert!(!has(&program, absent), "a symbol of {absent}");
    }
}

#[test]
fn the_program_starts_no_os_thread_but_its_own() {
    let output = Command::new(PROGRAM).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "14 words, by 4 OS threads and nobody else's\n");
}
