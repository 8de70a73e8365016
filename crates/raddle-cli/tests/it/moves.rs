//! Random programs of all that moves: MOBILEs, ends of CHAN TYPEs, MOBILE.CHAN, MOBILE BARRIERs and mobile processes,
//! in variables, arrays and records, given to PROCs in every way, sent, forked, abbreviated, replaced. What is accepted
//! never ends with a message of the machine, and when it comes to its end, all memory has been given back once.
//!
//! `FUZZ_ROUNDS=100000` makes it a long run, `FUZZ_FROM=5000` begins there; each round's seed is its number.

use crate::programs::rounds;
use crate::sound::{Random, accepted, ends_in_its_own_words};
use std::fmt::Write as _;

const ROUNDS: u64 = 400;

/// What every program has; KIND stands for each of the kinds.
const HEAD: &str = "\
CHAN TYPE NUMBERS
  MOBILE RECORD
    CHAN INT in?:
:
DATA TYPE PART
  MOBILE RECORD
    MOBILE []INT m:
    INT n:
:
DATA TYPE HOLDER
  RECORD
    MOBILE []INT m:
    [2]PART parts:
    SHARED NUMBERS! end:
    INT n:
:
PROC TYPE STEPS IS (CHAN INT in?):
MOBILE PROC stepper (CHAN INT in?) IMPLEMENTS STEPS
  INITIAL MOBILE []INT kept IS MOBILE [3]INT:
  WHILE TRUE
    SEQ
      in ? kept[0]
      SUSPEND
:
MOBILE []INT FUNCTION row (VAL INT n)
  MOBILE []INT r:
  VALOF
    SEQ
      r := MOBILE [n]INT
      r[0] := n
    RESULT r
:
PART FUNCTION made (VAL INT n)
  PART part:
  VALOF
    SEQ
      part := MOBILE PART
      part[m] := row (n)
      part[n] := n
    RESULT part
:
MOBILE []MOBILE []INT FUNCTION rows (VAL INT n)
  MOBILE []MOBILE []INT r:
  VALOF
    SEQ
      r := MOBILE [2]MOBILE []INT
      SEQ i = 0 FOR 2
        r[i] := row (n)
    RESULT r
:
";
const ROUTINES: &str = "\
PROC take.KIND (INITIAL TYPE x)
  SKIP
:
PROC pass.KIND (INITIAL TYPE x)
  take.KIND (x)
:
PROC lend.KIND (TYPE x, y)
  TYPE z:
  SEQ
    z := x
    x := y
    y := z
:
PROC lose.KIND (TYPE x)
  take.KIND (x)
:
";
const LOOKS: &str = "\
PROC look.KIND (VAL TYPE x)
  SKIP
:
";

/// A kind of what moves.
struct MovingKind {
    name: &'static str,
    ty: &'static str,
    /// Variables, elements and fields of it.
    places: &'static [&'static str],
    /// What makes one.
    makes: &'static [&'static str],
    /// Whether it may be VAL.
    seen: bool,
}

const KINDS: [MovingKind; 9] = [
    MovingKind {
        name: "row",
        ty: "MOBILE []INT",
        places: &[
            "m0",
            "m1",
            "a0[0]",
            "a0[1]",
            "a1[k]",
            "p0[m]",
            "h0[m]",
            "h1[parts][1][m]",
            "n0[1]",
            "n0[k]",
        ],
        makes: &["row (3)", "MOBILE [2]INT", "CLONE m0", "CLONE p0[m]", "CLONE a0[1]", "(row (4))"],
        seen: true,
    },
    MovingKind {
        name: "part",
        ty: "PART",
        places: &["p0", "p1", "h0[parts][0]", "h0[parts][k]", "h1[parts][1]"],
        makes: &["made (3)", "MOBILE PART", "CLONE p0", "CLONE h0[parts][1]"],
        seen: true,
    },
    MovingKind {
        name: "rows",
        ty: "MOBILE []MOBILE []INT",
        places: &["n0", "n1"],
        makes: &["rows (3)", "MOBILE [2]MOBILE []INT", "CLONE n0"],
        seen: true,
    },
    MovingKind { name: "end", ty: "NUMBERS!", places: &["e0", "e1"], makes: &["e0", "e1"], seen: false },
    MovingKind {
        name: "shared",
        ty: "SHARED NUMBERS!",
        places: &["s0", "s1", "h0[end]", "h1[end]"],
        makes: &["s0", "CLONE s0", "h0[end]"],
        seen: true,
    },
    MovingKind {
        name: "any",
        ty: "MOBILE.CHAN",
        places: &["x0", "x1"],
        makes: &["e0", "e1", "s0"],
        seen: false,
    },
    MovingKind {
        name: "barrier",
        ty: "MOBILE BARRIER",
        places: &["b0", "b1"],
        makes: &["MOBILE BARRIER", "b0"],
        seen: false,
    },
    MovingKind {
        name: "process",
        ty: "MOBILE STEPS",
        places: &["t0", "t1"],
        makes: &["MOBILE stepper", "t1"],
        seen: false,
    },
    // What is refused: these hold what moves, and are not MOBILE.
    MovingKind {
        name: "pair",
        ty: "[2]MOBILE []INT",
        places: &["a0", "a1", "[a0 FROM 0 FOR 2]"],
        makes: &["[m0, m1]", "[i = 0 FOR 2 | row (i)]", "CLONE a0"],
        seen: true,
    },
];

/// Declarations, and what makes everything defined.
const VARIABLES: &str = "\
PROC main (CHAN BYTE screen!)
  MOBILE []INT m0, m1:
  [2]MOBILE []INT a0, a1:
  PART p0, p1:
  HOLDER h0, h1:
  MOBILE []MOBILE []INT n0, n1:
  NUMBERS! e0, e1:
  NUMBERS? v0, v1, v2, v3:
  SHARED NUMBERS! s0, s1:
  MOBILE.CHAN x0, x1:
  MOBILE BARRIER b0, b1:
  MOBILE STEPS t0, t1:
  INT k, n:
  SEQ
    k, n := 1, 0
    m0, m1 := row (3), row (4)
    SEQ i = 0 FOR 2
      a0[i], a1[i] := row (2), row (3)
    p0, p1 := made (2), made (3)
    e0, v0 := MOBILE NUMBERS
    e1, v1 := MOBILE NUMBERS
    s0, v2 := MOBILE NUMBERS
    s1, v3 := MOBILE NUMBERS
    h0[m], h1[m] := row (5), row (6)
    SEQ i = 0 FOR 2
      h0[parts][i], h1[parts][i] := made (2), made (3)
    h0[end], h1[end] := s0, s1
    n0, n1 := rows (2), rows (3)
    b0, b1 := MOBILE BARRIER, MOBILE BARRIER
    t0, t1 := MOBILE stepper, MOBILE stepper
";

struct MovesWriter {
    random: Random,
    text: String,
    /// Names of abbreviations that are in scope, by kind.
    named: Vec<(usize, String)>,
    names: usize,
}

impl MovesWriter {
    fn line(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.text, "{:indent$}{text}", "");
    }

    fn kind(&mut self) -> usize {
        // What is refused comes less often: a program with one such line is not run.
        if self.random.below(40) == 0 { KINDS.len() - 1 } else { self.random.below(KINDS.len() - 1) }
    }

    fn place(&mut self, kind: usize) -> String {
        let named: Vec<String> =
            self.named.iter().filter(|(of, _)| *of == kind).map(|(_, name)| name.clone()).collect();
        if !named.is_empty() && self.random.below(2) == 0 {
            return self.random.one_of(&named).clone();
        }
        let place: &&str = self.random.one_of(KINDS[kind].places);
        (*place).to_owned()
    }

    /// Another one than that.
    fn other(&mut self, kind: usize, than: &str) -> String {
        let other = self.place(kind);
        let root = |text: &str| text.split('[').next().map(str::to_owned);
        if root(&other) == root(than) { self.place(kind) } else { other }
    }

    fn value(&mut self, kind: usize) -> String {
        if self.random.below(2) == 0 {
            return self.place(kind);
        }
        let made: &&str = self.random.one_of(KINDS[kind].makes);
        (*made).to_owned()
    }

    fn statements(&mut self, indent: usize, depth: usize) {
        self.line(indent, "SEQ");
        for _ in 0..1 + self.random.below(3) {
            self.statement(indent + 2, depth);
        }
    }

    fn statement(&mut self, indent: usize, depth: usize) {
        let kind = self.kind();
        let (name, ty) = (KINDS[kind].name, KINDS[kind].ty);
        let (place, value) = (self.place(kind), self.value(kind));
        let other = self.other(kind, &place);
        match self.random.below(if depth == 0 { 8 } else { 17 }) {
            0..=2 => self.line(indent, &format!("{place} := {value}")),
            3 => {
                let second = self.other(kind, &value);
                self.line(indent, &format!("{place}, {other} := {value}, {second}"));
            }
            4 => {
                let how = *self.random.one_of(&["take", "pass"]);
                self.line(indent, &format!("{how}.{name} ({value})"));
            }
            5 if KINDS[kind].seen => self.line(indent, &format!("look.{name} ({value})")),
            5 => self.line(indent, &format!("lose.{name} ({place})")),
            6 => self.line(indent, &format!("lend.{name} ({place}, {other})")),
            7 => {
                let row = self.place(0);
                let part = self.place(1);
                let uses = [
                    format!("{row}[0] := 1"),
                    format!("n := SIZE {row}"),
                    format!("n := {part}[m][0]"),
                    format!("{part}[n] := 2"),
                    "n := SIZE (made (2)[m])".to_owned(),
                    format!("take.row (CLONE {row})"),
                ];
                let line = self.random.one_of(&uses).clone();
                self.line(indent, &line);
            }
            8 => {
                self.line(indent, "SEQ r = 0 FOR 2");
                self.statements(indent + 2, depth - 1);
            }
            9 => {
                self.line(indent, "IF");
                self.line(indent + 2, &format!("DEFINED {place}"));
                self.statements(indent + 4, depth - 1);
                self.line(indent + 2, "TRUE");
                self.statements(indent + 4, depth - 1);
            }
            10 | 11 => self.message(indent, depth, ty, [&place, &value]),
            12 => {
                self.line(indent, "PAR");
                self.statements(indent + 2, depth - 1);
                self.statements(indent + 2, depth - 1);
            }
            13 => {
                let how =
                    if KINDS[kind].seen { *self.random.one_of(&["take", "look", "lose"]) } else { "take" };
                self.line(indent, "FORKING");
                self.line(indent + 2, "SEQ");
                self.line(indent + 4, &format!("FORK {how}.{name} ({value})"));
                self.statements(indent + 4, depth - 1);
            }
            14 | 15 => self.abbreviation(indent, depth, kind, [&place, &value]),
            _ => self.more(indent, depth),
        }
    }

    fn message(&mut self, indent: usize, depth: usize, ty: &str, [to, value]: [&str; 2]) {
        let channel = format!("c{}", self.names);
        self.names += 1;
        self.line(indent, &format!("CHAN {ty} {channel}:"));
        self.line(indent, "PAR");
        self.line(indent + 2, &format!("{channel} ! {value}"));
        match self.random.below(3) {
            0 => self.line(indent + 2, &format!("{channel} ? {to}")),
            1 => {
                self.line(indent + 2, &format!("{channel} ?? {to}"));
                self.statements(indent + 4, depth - 1);
            }
            _ => {
                self.line(indent + 2, "ALT");
                self.line(indent + 4, &format!("{channel} ? {to}"));
                self.statements(indent + 6, depth - 1);
            }
        }
    }

    fn abbreviation(&mut self, indent: usize, depth: usize, kind: usize, [place, value]: [&str; 2]) {
        let name = format!("y{}", self.names);
        self.names += 1;
        let ty = KINDS[kind].ty;
        match self.random.below(3) {
            0 if KINDS[kind].seen => self.line(indent, &format!("VAL {ty} {name} IS {value}:")),
            1 => self.line(indent, &format!("{ty} {name} IS {place}:")),
            _ => self.line(indent, &format!("INITIAL {ty} {name} IS {value}:")),
        }
        self.named.push((kind, name));
        self.statements(indent, depth - 1);
        self.named.pop();
    }

    fn more(&mut self, indent: usize, depth: usize) {
        match self.random.below(4) {
            0 => {
                self.line(indent, "PAR ENROLL b0");
                self.line(indent + 2, "SYNC b0");
                self.line(indent + 2, "SYNC b0");
            }
            1 => {
                let process = self.place(7);
                self.line(indent, "CHAN INT in:");
                self.line(indent, "PAR");
                self.line(indent + 2, "in ! 3");
                self.line(indent + 2, &format!("{process} (in?)"));
            }
            2 => {
                self.line(indent, "INITIAL INT left IS 2:");
                self.line(indent, "WHILE left > 0");
                self.line(indent + 2, "SEQ");
                self.line(indent + 4, "left := left - 1");
                self.statements(indent + 4, depth - 1);
            }
            _ => {
                let row = self.place(0);
                self.line(indent, &format!("VAL []INT bytes IS {row}:"));
                self.statements(indent, depth - 1);
            }
        }
    }
}

fn program(round: u64) -> String {
    let mut text = HEAD.to_owned();
    for kind in &KINDS[..KINDS.len() - 1] {
        for routines in [ROUTINES, LOOKS].iter().take(1 + usize::from(kind.seen)) {
            text += &routines.replace("KIND", kind.name).replace("TYPE", kind.ty);
        }
    }
    text += &LOOKS.replace("KIND", "pair").replace("TYPE", KINDS[KINDS.len() - 1].ty);
    text += VARIABLES;
    let mut writer = MovesWriter { random: Random::of(round), text, named: Vec::new(), names: 0 };
    for _ in 0..2 + writer.random.below(4) {
        writer.statement(4, 2);
    }
    writer.text + ":\n"
}

#[test]
fn what_moves_is_there_once_and_given_back_once() {
    let (mut run, mut refused) = (0, 0);
    for round in rounds(ROUNDS) {
        if ends_in_its_own_words(&program(round), round) { run += 1 } else { refused += 1 }
    }
    assert!(run * 4 > refused && refused > 0, "{run} run, {refused} refused: the generator is lopsided");
}

#[test]
fn what_every_such_program_has_is_accepted() {
    let mut text = program(1);
    text.truncate(text.find("    t0, t1 := MOBILE").unwrap());
    assert!(accepted(&format!("{text}    SKIP\n:\n")).is_some(), "{text}");
}
