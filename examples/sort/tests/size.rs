//! What of Raddle is in a program, and how much that is.

use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sort");

/// Of which 340 000 are the standard library's, as in any program; with room for the next compiler where there is some.
const BYTES_MAX: u64 = if cfg!(feature = "whole") { 1_725_000 } else { 806_000 };

fn has(program: &[u8], word: &str) -> bool {
    program.windows(word.len()).any(|here| here == word.as_bytes())
}

#[test]
fn what_is_left_out_is_not_linked() {
    let program = std::fs::read(PROGRAM).expect("cargo has built it");
    assert!(has(&program, "raddle_core"), "no symbol of raddle_core: this test sees no symbols");
    for part in ["raddle_explore", "raddle_hang", "raddle_recorder", "raddle_stm"] {
        assert_eq!(has(&program, part), cfg!(feature = "whole"), "{part}");
    }
}

#[test]
fn it_sorts() {
    let output = Command::new(PROGRAM).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "sorted 1000000 numbers\n");
}

/// The program without symbols: what of its file is loaded. It is what `strip` leaves, but for some hundred bytes.
fn loaded_bytes(program: &[u8]) -> u64 {
    const LOAD: u64 = 1;
    let number = |at: usize, len: usize| {
        program[at..at + len].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let (table, each, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
    let segments = (0..count).map(|index| (table + index * each) as usize);
    segments.filter(|at| number(*at, 4) == LOAD).map(|at| number(at + 32, 8)).sum()
}

/// Built with the profile `release` as everybody has it.
#[test]
#[cfg(not(debug_assertions))]
fn the_program_is_small() {
    let bytes = loaded_bytes(&std::fs::read(PROGRAM).expect("cargo has built it"));
    assert!(bytes <= BYTES_MAX, "{bytes} bytes without symbols, and there should be at most {BYTES_MAX}");
    println!("{bytes} bytes without symbols");
}
