//! What a text costs the compiler in memory, and a terminal in words, however wrong it is: so many bytes for each of
//! its own, and no more.
#![allow(clippy::print_stderr, reason = "it says what it has measured")]

#[path = "../../raddle-core/tests/support/peak.rs"]
mod peak;

use raddle_occam::diag::Diagnostic;
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse, lower};

#[global_allocator]
static HEAP: peak::Heap = peak::Heap::new();

/// Bytes of memory for one byte of text, and for any text at all: tokens, a tree, what is known of each name, and the
/// bytecode of a sound one.
const BYTES_PER_BYTE_MAX: usize = 120;
const BYTES_MAX: usize = 4 << 20;
/// Bytes of messages for any text.
const SAID_MAX: usize = 256 << 10;

/// Compiles it as far as it goes; how many errors there are, and how many bytes their messages have.
fn compiled(text: &str) -> (usize, usize) {
    let mut sources = Sources::new();
    let root = sources.add("text", text).expect("there is room");
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    let errors = analysis.diagnostics().iter().filter(|it| it.is_error()).count();
    let words = |it: &Diagnostic| {
        let labels = it.secondary.iter().chain([&it.primary]).map(|label| label.text.len());
        it.message.len() + labels.chain(it.notes.iter().chain(&it.help).map(String::len)).sum::<usize>()
    };
    let said = analysis.diagnostics().iter().map(words).sum();
    if let Ok(checked) = analysis.checked() {
        let _module = lower::lower(&checked, &sources);
    }
    (errors, said)
}

/// As in a program: the line, so many times.
fn program(line: &str, count: usize) -> String {
    format!("PROC p ()\n  INT x:\n  SEQ\n    x := 1\n{}:\n", format!("    {line}\n").repeat(count))
}

#[test]
fn what_is_wrong_all_over_costs_bounded_memory_and_words() {
    let million = 1_000_000;
    let names = |line: fn(usize) -> String| (0..40_000).map(line).collect::<String>();
    let texts = [
        ("NULs", "\0".repeat(10 * million)),
        ("lines of NULs", "\0\n".repeat(million)),
        ("lines of x", "x\n".repeat(200_000)),
        ("lines of x in a program", program("x", 50_000)),
        ("words without an operator", program("x y", 50_000)),
        ("braces", "{".repeat(million)),
        ("NULs and braces", "\0 {".repeat(100_000)),
        ("what is not closed", program("x := (", 40_000)),
        ("brackets", "[".repeat(million)),
        ("no end of a string", format!("\"{}", "a".repeat(10 * million))),
        ("a line of quotes", "'\"".repeat(million)),
        ("one long name", "a".repeat(10 * million)),
        ("letters that are none", "é".repeat(million)),
        ("an empty text", "\n".repeat(10 * million)),
        ("blanks", " ".repeat(10 * million)),
        ("a comment", format!("--{}\n", "x".repeat(10 * million))),
        ("deeper and deeper", (0..2000).map(|at| format!("{}SEQ\n", "  ".repeat(at))).collect()),
        ("names of nothing", format!("PROC p ()\n  SEQ\n{}:\n", names(|at| format!("    x{at} := y{at}\n")))),
        ("no precedence", program("x := 1 + 2 * 3", 40_000)),
        ("conditions that do not hold", "#IF FALSE\n".repeat(100_000)),
        ("conditions that hold", "#IF TRUE\n".repeat(100_000)),
        ("ends of no condition", "#ENDIF\n".repeat(100_000)),
        ("directives that are none", "#NONE\n".repeat(100_000)),
        ("names of no value", "##NONE\n".repeat(100_000)),
        ("options", "#OPTION \"A\"\n".repeat(100_000)),
        ("files that are not there", "#INCLUDE \"none\"\n".repeat(50_000)),
        ("headings", "PROC p (".repeat(100_000)),
        ("a sound program", program("x := x + 1", 40_000)),
    ];
    let mut bad = Vec::new();
    for (what, text) in texts {
        let ((errors, said), peak) = HEAP.most_during(|| compiled(&text));
        eprintln!(
            "{what}: {} bytes of text, {peak} of memory, {} a byte; {errors} errors, {said} bytes of words",
            text.len(),
            peak / text.len()
        );
        if peak > BYTES_MAX + text.len() * BYTES_PER_BYTE_MAX || said > SAID_MAX {
            bad.push(what);
        }
    }
    assert!(bad.is_empty(), "{bad:?}");
}
