//! Owns: the phases of barriers against an enumerator that runs all members from SYNC to SYNC.
//! May use: the public interface.
//! Never: excuses an accepted race; how many are accepted is counted, too.
//!
//! Each program is a replicated PAR that enrolls its instances in a barrier. They read and change elements of one array
//! and one variable, under conditions, in loops, with SYNCs anywhere; the enumerator runs them in step for every small
//! number of instances and rounds, and looks for two that use the same thing between the same two SYNCs.
//! `RADDLE_FUZZ_ROUNDS=1000000` makes it a long run.

use crate::generated::Random;
use raddle_occam::diag::Code;
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse};
use std::collections::HashMap;
use std::fmt::Write as _;

const ROUNDS: u64 = 3000;
/// Steps of one instance between two SYNCs; no program here comes near.
const STEPS_MAX: usize = 10_000;
/// What the variable is among the elements.
const VARIABLE: i64 = 1000;

#[derive(Clone, Copy)]
enum Subscript {
    Constant(i64),
    /// The instance's number, and so much more.
    Own(i64),
    Variable,
}

#[derive(Clone, Copy)]
enum Test {
    Own(i64),
    Rounds(i64),
    Variable(i64),
}

enum Item {
    Read(Subscript),
    Write(Subscript),
    Set(Subscript),
    Sync,
    If(Test, Vec<Item>, Vec<Item>),
    /// So many rounds, or as many as the parameter says.
    Repeat(Option<i64>, Vec<Item>),
    Abbreviate(Subscript, Vec<Item>),
}

fn subscript(random: &mut Random) -> Subscript {
    match random.below(8) {
        0 | 1 => Subscript::Constant(random.between(0, 3)),
        2 => Subscript::Variable,
        _ => Subscript::Own(random.between(0, 1)),
    }
}

fn items(random: &mut Random, depth: u32) -> Vec<Item> {
    let count = random.between(1, 4);
    (0..count).map(|_| item(random, depth)).collect()
}

fn item(random: &mut Random, depth: u32) -> Item {
    match random.below(if depth == 0 { 8 } else { 11 }) {
        0 | 1 => Item::Read(subscript(random)),
        2 | 3 => Item::Write(subscript(random)),
        4 if random.below(3) == 0 => Item::Set(subscript(random)),
        4..=7 => Item::Sync,
        8 => {
            let test = match random.below(3) {
                0 => Test::Own(random.between(0, 2)),
                1 => Test::Rounds(random.between(0, 2)),
                _ => Test::Variable(random.between(0, 2)),
            };
            Item::If(test, items(random, depth - 1), items(random, depth - 1))
        }
        9 => {
            let count = (random.below(2) == 0).then(|| random.between(1, 3));
            Item::Repeat(count, items(random, depth - 1))
        }
        _ => Item::Abbreviate(subscript(random), items(random, depth - 1)),
    }
}

impl Subscript {
    fn text(self) -> String {
        match self {
            Self::Constant(value) => value.to_string(),
            Self::Own(0) => "i".to_owned(),
            Self::Own(more) => format!("i + {more}"),
            Self::Variable => "x".to_owned(),
        }
    }

    fn value(self, own: i64, variable: i64) -> i64 {
        match self {
            Self::Constant(value) => value,
            Self::Own(more) => own + more,
            Self::Variable => variable,
        }
    }
}

fn write(list: &[Item], indent: usize, text: &mut String) {
    let _ = writeln!(text, "{:indent$}SEQ", "");
    let inner = indent + 2;
    for item in list {
        let mut line = |more: usize, what: &str| {
            let _ = writeln!(text, "{:width$}{what}", "", width = inner + more);
        };
        match item {
            Item::Read(at) => {
                line(0, "INT seen:");
                line(0, &format!("seen := a[{}]", at.text()));
            }
            Item::Write(at) => line(0, &format!("a[{}] := 7", at.text())),
            Item::Set(to) => line(0, &format!("x := {}", to.text())),
            Item::Sync => line(0, "SYNC b"),
            Item::If(test, then, otherwise) => {
                line(0, "IF");
                let (name, value) = match test {
                    Test::Own(value) => ("i", value),
                    Test::Rounds(value) => ("m", value),
                    Test::Variable(value) => ("x", value),
                };
                line(2, &format!("{name} = {value}"));
                write(then, inner + 4, text);
                let _ = writeln!(text, "{:width$}TRUE", "", width = inner + 2);
                write(otherwise, inner + 4, text);
            }
            Item::Repeat(count, list) => {
                let count = count.map_or_else(|| "m".to_owned(), |count| count.to_string());
                line(0, &format!("SEQ round = 0 FOR {count}"));
                write(list, inner + 2, text);
            }
            Item::Abbreviate(at, list) => {
                line(0, &format!("VAL INT kept IS a[{}]:", at.text()));
                write(list, inner, text);
            }
        }
    }
}

fn program(list: &[Item]) -> String {
    let mut text = String::from(
        "PROC p (VAL INT n, m, []INT a)\n  INITIAL INT x IS 0:\n  BARRIER b:\n  PAR i = 0 FOR n ENROLL b\n",
    );
    write(list, 4, &mut text);
    text + ":\nPROC main ()\n  SKIP\n:\n"
}

/// What an instance has still to do: a list, the place in it, rounds left; and what is kept meanwhile.
struct Frame<'p> {
    list: &'p [Item],
    at: usize,
    rounds: i64,
    kept: Option<i64>,
}

struct Instance<'p> {
    number: i64,
    frames: Vec<Frame<'p>>,
}

/// Who used what between two SYNCs, and whether to change it.
type Used = HashMap<i64, Vec<(i64, bool)>>;

impl<'p> Instance<'p> {
    /// Runs to the next SYNC; false at its end.
    fn run(&mut self, m: i64, x: &mut i64, used: &mut Used) -> bool {
        let number = self.number;
        let mut note = |what: i64, change: bool| used.entry(what).or_default().push((number, change));
        // What an abbreviation names may be looked at for as long as it is in scope.
        self.frames.iter().filter_map(|frame| frame.kept).for_each(|kept| note(kept, false));
        for _ in 0..STEPS_MAX {
            let Some(frame) = self.frames.last_mut() else { return false };
            let Some(item) = frame.list.get(frame.at) else {
                frame.rounds -= 1;
                frame.at = 0;
                if frame.rounds <= 0 {
                    self.frames.pop();
                }
                continue;
            };
            frame.at += 1;
            let mut value = |at: Subscript| {
                if matches!(at, Subscript::Variable) {
                    note(VARIABLE, false);
                }
                at.value(number, *x)
            };
            match item {
                Item::Sync => return true,
                Item::Read(at) => {
                    let at = value(*at);
                    note(at, false);
                }
                Item::Write(at) => {
                    let at = value(*at);
                    note(at, true);
                }
                Item::Set(to) => {
                    *x = value(*to);
                    note(VARIABLE, true);
                }
                Item::If(test, then, otherwise) => {
                    let holds = match *test {
                        Test::Own(it) => number == it,
                        Test::Rounds(it) => m == it,
                        Test::Variable(it) => {
                            note(VARIABLE, false);
                            *x == it
                        }
                    };
                    let list = if holds { then } else { otherwise };
                    self.frames.push(Frame { list, at: 0, rounds: 1, kept: None });
                }
                Item::Repeat(count, list) => {
                    let rounds = count.unwrap_or(m);
                    if rounds > 0 {
                        self.frames.push(Frame { list, at: 0, rounds, kept: None });
                    }
                }
                Item::Abbreviate(at, list) => {
                    let at = value(*at);
                    note(at, false);
                    self.frames.push(Frame { list, at: 0, rounds: 1, kept: Some(at) });
                }
            }
        }
        panic!("no program here is that long");
    }
}

/// Whether two instances use the same thing between two SYNCs, and one changes it.
fn races(list: &[Item], n: i64, m: i64) -> bool {
    let mut instances: Vec<Instance<'_>> = (0..n)
        .map(|number| Instance { number, frames: vec![Frame { list, at: 0, rounds: 1, kept: None }] })
        .collect();
    let mut x = 0;
    while !instances.is_empty() {
        let mut used = Used::new();
        // Who has changed what it sees has a race in any other order, too.
        instances.retain_mut(|instance| instance.run(m, &mut x, &mut used));
        let clash = |users: &Vec<(i64, bool)>| {
            users.iter().any(|one| one.1 && users.iter().any(|other| other.0 != one.0))
        };
        if used.values().any(clash) {
            return true;
        }
    }
    false
}

/// Whether the checker accepts it.
fn accepts(text: &str) -> bool {
    let mut sources = Sources::new();
    let root = sources.add("phases.occ", text).unwrap();
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    // What changes under an abbreviation is refused without any PAR.
    let expected = [Code::RaceVariable, Code::RaceElement, Code::RaceUnproved, Code::AliasFrozen];
    let mut errors = analysis.diagnostics().iter().filter(|it| it.is_error()).peekable();
    let accepts = errors.peek().is_none();
    for complaint in errors {
        let known = expected.contains(&complaint.code);
        assert!(known, "{text}\n{}", raddle_occam::diag::render(complaint, &sources));
    }
    accepts
}

#[test]
fn what_is_accepted_has_no_race_between_two_syncs() {
    let rounds = std::env::var("RADDLE_FUZZ_ROUNDS").map_or(ROUNDS, |it| it.parse().unwrap());
    let (mut accepted, mut harmless) = (0, 0);
    for round in 1..=rounds {
        let mut random = Random(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let list = items(&mut random, 2);
        let text = program(&list);
        let found = (1..=3).flat_map(|n| (0..=2).map(move |m| (n, m))).find(|&(n, m)| races(&list, n, m));
        let accepts = accepts(&text);
        if let Some((n, m)) = found {
            assert!(!accepts, "round {round}: accepted, with a race for n = {n}, m = {m}:\n{text}");
        } else {
            harmless += 1;
            accepted += u64::from(accepts);
        }
    }
    assert!(accepted * 3 > harmless, "{accepted} of {harmless} that have no race are accepted");
}

/// A pair of programs that differ in one SYNC: the phases are what decides.
#[test]
fn a_sync_tells_apart_what_would_be_a_race() {
    let body = |sync: &str| {
        format!(
            "PROC p ([8]INT a, b)\n  BARRIER c:\n  PAR i = 0 FOR 8 ENROLL c\n    SEQ round = 0 FOR 10\n      \
             SEQ\n        b[i] := a[(i + 1) \\ 8]\n        SYNC c\n        a[i] := b[(i + 7) \\ 8]\n        {sync}\n:\n\
             PROC main ()\n  SKIP\n:\n"
        )
    };
    assert!(accepts(&body("SYNC c")));
    assert!(!accepts(&body("SKIP")));
}
