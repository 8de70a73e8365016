//! Owns: arbitrary and mutated text through every stage, bytecode included where the text is still a program.
//! May use: the corpus, the public interface.
//! Never: looks at what is complained of; that nothing panics, hangs or grows without bound is the claim.
//!
//! `RADDLE_FUZZ_ROUNDS=1000000` makes it a long run, `RADDLE_FUZZ_FROM=5000` begins there; each round's seed is its
//! number.

use crate::generated::Random;
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse};
use std::path::Path;

const ROUNDS: u64 = 1500;
const TEXT_BYTES_MAX: usize = 6000;
/// Complaints that one byte of text can cause, generously.
const COMPLAINTS_PER_BYTE_MAX: usize = 4;

const PIECES: &[&str] = &[
    "SEQ",
    "PAR",
    "IF",
    "ALT",
    "CASE",
    "WHILE TRUE",
    "PROC p ()",
    ":",
    "\n",
    "\n  ",
    "\n    ",
    "INT x:",
    "x := x + 1",
    "c ! x",
    "c ? x",
    "VAL n IS 3:",
    "[",
    "]",
    "(",
    ")",
    "(VALOF",
    "RESULT x",
    "[10]INT a:",
    "a[i]",
    " FOR ",
    " FROM ",
    "PAR i = 0 FOR n",
    "SEQ i = 0 FOR 10",
    "\"text",
    "'",
    "*",
    "#",
    "#IF TRUE",
    "#ENDIF",
    "MOBILE ",
    "CHAN INT c:",
    "PROTOCOL P",
    "RECORD",
    "DATA TYPE T IS INT:",
    "FUNCTION f ()",
    "\\",
    "9999999999999999999",
    "#FFFFFFFFFFFFFFFF",
    "REC PROC r (INT x)",
    "r (x)",
    "-2147483648",
    "* 2147483647",
    "/ 0",
    "CLAIM c",
    "RETYPES",
    "TRUE",
    "é",
    "\0",
    "\t",
];

fn seeds() -> Vec<String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut list = Vec::new();
    for kind in ["accept", "reject", "run"] {
        let mut paths: Vec<_> =
            std::fs::read_dir(corpus.join(kind)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let programs = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "occ"));
        list.extend(programs.map(|path| std::fs::read_to_string(path).unwrap()));
    }
    assert!(list.len() > 20);
    list
}

/// A position in the text that no character straddles.
fn position(text: &str, random: &mut Random) -> usize {
    let mut at = random.below(text.len() as u64 + 1) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn mutate(text: &mut String, seeds: &[String], random: &mut Random) {
    let (one, two) = (position(text, random), position(text, random));
    let (low, high) = (one.min(two), one.max(two).min(one.min(two) + 80));
    let high = (high..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    match random.below(6) {
        0 => text.replace_range(low..high, ""),
        1 => {
            let copy = text[low..high].to_owned();
            text.insert_str(one, &copy);
        }
        2 | 3 => text.insert_str(one, PIECES[random.below(PIECES.len() as u64) as usize]),
        4 => {
            let other = &seeds[random.below(seeds.len() as u64) as usize];
            let (from, to) = (position(other, random), position(other, random));
            let piece: String = other[from.min(to)..from.max(to)].chars().take(200).collect();
            text.insert_str(one, &piece);
        }
        _ => text.insert(one, char::from_u32(random.below(256) as u32).unwrap_or('?')),
    }
    while text.len() > TEXT_BYTES_MAX {
        text.pop();
    }
}

fn survives(text: &str) {
    let mut sources = Sources::new();
    let root = sources.add("fuzz", text).unwrap();
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    let complaints = analysis.diagnostics().len();
    assert!(complaints <= (text.len() + 1) * COMPLAINTS_PER_BYTE_MAX, "{complaints} complaints");
    for it in analysis.diagnostics() {
        assert!(raddle_occam::diag::render(it, &sources).len() > 10);
    }
    if let Ok(checked) = analysis.checked()
        && let Ok(module) = raddle_occam::lower::lower(&checked, &sources)
    {
        let refusal = raddle_bytecode::verify(module).err();
        assert!(refusal.is_none(), "what is accepted becomes bytecode that holds together: {refusal:?}");
    }
}

#[test]
fn nothing_panics() {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let (from, rounds) =
        (number("RADDLE_FUZZ_FROM").unwrap_or(1), number("RADDLE_FUZZ_ROUNDS").unwrap_or(ROUNDS));
    let seeds = seeds();
    for round in from..from + rounds {
        let mut random = Random(round.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut text = match random.below(8) {
            0 => String::new(),
            _ => seeds[random.below(seeds.len() as u64) as usize].clone(),
        };
        for _ in 0..random.below(12) + 1 {
            mutate(&mut text, &seeds, &mut random);
        }
        let result = std::panic::catch_unwind(|| survives(&text));
        assert!(result.is_ok(), "round {round}:\n{text}");
    }
}

#[test]
fn what_is_deep_or_long_is_bounded() {
    let deep = |open: &str, close: &str| {
        format!("PROC p ()\n  x := {}1{}\n:\n", open.repeat(30_000), close.repeat(30_000))
    };
    for (open, close) in
        [("(", ")"), ("[", "]"), ("-", ""), ("a[", "]"), ("f (", ")"), ("NOT ", ""), ("SIZE ", "")]
    {
        survives(&deep(open, close));
    }
    survives(&format!("PROC p ()\n  x := a{}\n:\n", "[0]".repeat(30_000)));
    survives(&format!("PROC p ()\n  x := a{}\n:\n", " AND a".repeat(30_000)));
    survives(&(0..2000).map(|at| format!("{}SEQ\n", "  ".repeat(at))).collect::<String>());
    survives(&(0..2000).map(|at| format!("VAL v{} IS v{at} + 1:\n", at + 1)).collect::<String>());
    survives(&"IF\n".repeat(3000));
    survives(&"\"*\n*".repeat(3000));
}

#[test]
fn what_is_wrong_all_over_is_told_a_bounded_number_of_times() {
    let names = |text: fn(usize) -> String| (0..40_000).map(text).collect::<String>();
    let program = |line: &str| format!("PROC p ()\n  SEQ\n{}:\n", format!("    {line}\n").repeat(40_000));
    let texts = [
        "\0".repeat(1_000_000),
        "\0\n".repeat(100_000),
        "\0 {".repeat(100_000),
        "x\n".repeat(100_000),
        program("x"),
        program("x y"),
        program("x := {"),
        program("x := 1 + 2 * 3"),
        format!("PROC p ()\n  SEQ\n{}:\n", names(|at| format!("    x{at} := y{at}\n"))),
    ];
    for text in texts {
        let mut sources = Sources::new();
        let root = sources.add("wrong", &text).unwrap();
        let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
        let errors = analysis.diagnostics().iter().filter(|it| it.is_error()).count();
        let told = analysis.diagnostics().len();
        assert!(errors > 0 && told < 2500, "{told} for {:?}", &text[..40]);
    }
}

/// Each of the rules of parallel use, values and aliases, broken in each of 5000 lines.
#[test]
fn what_is_used_wrongly_all_over_is_told_a_bounded_number_of_times() {
    const LINES: usize = 5000;
    let sequence = |before: &str, line: &str| {
        let lines: String =
            (0..LINES).map(|at| format!("    {}\n", line.replace('#', &at.to_string()))).collect();
        let names: String = (0..LINES).map(|at| before.replace('#', &at.to_string())).collect();
        format!("PROC p ()\n{names}  INT a:\n  SEQ\n    a := 1\n{lines}:\n")
    };
    let races = format!(
        "PROC p ()\n{}  PAR\n    SEQ\n{1}    SEQ\n{1}:\n",
        (0..LINES).map(|at| format!("  INT x{at}:\n")).collect::<String>(),
        (0..LINES).map(|at| format!("      x{at} := 1\n")).collect::<String>()
    );
    let errors = [
        races,
        sequence("  INT x#:\n", "a := x#"),
        sequence("", "a, a := 1, 2"),
        sequence("", "INT b IS a:\n    a := b"),
        sequence("  SHARED CHAN INT c#:\n", "c# ! 1"),
    ];
    for text in errors {
        let (told, analysis) = told(&text);
        assert!(told <= 1001 && analysis.checked().is_err(), "{told} for {:?}", &text[text.len() - 80..]);
    }
    // Both ends in one process are a warning.
    let both = sequence("  CHAN INT c#:\n", "SEQ\n      c# ! 1\n      c# ? a");
    assert!(told(&both).0 <= 1001);
    let maybe = sequence(
        "  INT x#:\n",
        "SEQ\n      IF\n        a = 0\n          x# := 1\n        TRUE\n          SKIP\n      a := x#",
    );
    let (told, analysis) = told(&maybe);
    let last = analysis.diagnostics().last().map(|it| it.message.clone()).unwrap_or_default();
    assert!(told == 1001 && analysis.checked().is_ok(), "{told}, {last}");
    assert_eq!(last, "and 4000 more warnings, of which this is the first");
}

fn told(text: &str) -> (usize, raddle_occam::Analysis) {
    let mut sources = Sources::new();
    let root = sources.add("wrong", text).unwrap();
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    (analysis.diagnostics().len(), analysis)
}

/// What only #IF leaves out is not complained of, but what is wrong behind it is.
#[test]
fn what_is_left_out_hides_no_mistake() {
    let text = format!("#IF FALSE\n{}#ENDIF\nPROC p (INT x)\n  x := {{\n:\n", "\u{1}\n".repeat(5000));
    let mut sources = Sources::new();
    let root = sources.add("wrong", &text).unwrap();
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    assert!(analysis.checked().is_err());
}
