//! Random programs in occam about arrays and the loops over them: counts of every kind, steps, slices, abbreviations,
//! bounds that the loop changes, waits in the middle of it, routines with open arrays. Most of them run to their end;
//! some go beyond an array or a number.
//!
//! `RADDLE_FUZZ_ROUNDS=100000` makes it a long run, `RADDLE_FUZZ_FROM=5000` begins there.

use crate::corpus::on_workers;
use crate::hostile::rounds;
use crate::random::Dice;
use crate::support::{Paper, module_of, same, verified};
use std::fmt::Write as _;

/// An array that may be used here: its name, how to write a value for it, how many elements it has at least.
#[derive(Clone, Copy)]
struct Known {
    name: &'static str,
    kind: &'static str,
    size: u64,
}

const fn known(name: &'static str, kind: &'static str, size: u64) -> Known {
    Known { name, kind, size }
}

const MAINS: &[Known] = &[
    known("a", "INT", 10),
    known("b", "INT", 7),
    known("bytes", "BYTE", 16),
    known("wide", "INT64", 9),
    known("halves", "INT16", 8),
    known("reals", "REAL64", 8),
    known("big", "INT", 300),
    known("grid[2]", "INT", 6),
];
const ROUTINES: &[Known] = &[known("a", "INT", 5), known("b", "INT", 7)];

struct Writer {
    text: String,
    dice: Dice,
    depth: usize,
    arrays: &'static [Known],
    /// Indices, with what they are less than.
    indices: Vec<(String, u64)>,
    names: u32,
    in_main: bool,
}

impl Writer {
    fn below(&mut self, limit: u64) -> u64 {
        self.dice.below(limit)
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", 2 * self.depth);
    }

    fn inside(&mut self, write: impl FnOnce(&mut Writer)) {
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    fn fresh(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn scalar(&mut self) -> &'static str {
        ["x", "y", "z"][self.below(3) as usize]
    }

    /// A number that is in 0 .. size.
    fn subscript(&mut self, size: u64) -> String {
        if self.one_in(60) {
            let scalar = self.scalar();
            return [scalar.to_string(), format!("(n + {})", self.below(8)), "m".to_owned()]
                [self.below(3) as usize]
                .clone();
        }
        let fitting: Vec<(String, u64)> =
            self.indices.iter().filter(|(_, max)| *max <= size).cloned().collect();
        if !fitting.is_empty() && !self.one_in(4) {
            let (name, max) = fitting[self.below(fitting.len() as u64) as usize].clone();
            return match self.below(4) {
                0 if max < size => format!("({name} + {})", 1 + self.below(size - max)),
                1 => format!("({} - {name})", size - 1),
                _ => name,
            };
        }
        match self.below(4) {
            0 if size >= 8 => "n".to_owned(),
            0 | 1 => format!("{}", self.below(size)),
            _ => format!("({} /\\ {})", self.scalar(), if size >= 8 { 7 } else { 3 }),
        }
    }

    /// An element; of the first so many arrays.
    fn element(&mut self, count: usize) -> (String, &'static str) {
        if self.in_main && self.one_in(5) {
            let (outer, inner) = (self.subscript(5), self.subscript(6));
            return (format!("grid[{outer}][{inner}]"), "INT");
        }
        let Known { name, kind, size } = self.arrays[self.below(count as u64) as usize];
        let subscript = self.subscript(size);
        (format!("{name}[{subscript}]"), kind)
    }

    fn word(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.below(4) {
                0 => format!("{}", self.below(20)),
                1 if !self.indices.is_empty() => {
                    let place = self.below(self.indices.len() as u64) as usize;
                    self.indices[place].0.clone()
                }
                _ => self.scalar().to_owned(),
            };
        }
        let (left, right) = (self.word(depth - 1), self.word(depth - 1));
        match self.below(12) {
            0 if self.one_in(3) => format!("({left} + {right})"),
            1 if self.one_in(3) => format!("({left} * {right})"),
            0..=2 => format!("({left} PLUS {right})"),
            3 => format!("({left} MINUS {right})"),
            4 => format!("({left} >< {right})"),
            5 => format!("({left} /\\ 1023)"),
            6 => format!("({left} TIMES {right})"),
            _ => {
                let (element, kind) = self.element(self.arrays.len());
                match kind {
                    "INT" => element,
                    "INT64" => format!("(INT ({element} >> 40))"),
                    "REAL64" => format!("(INT ROUND ({element} * 0.001 (REAL64)))"),
                    _ => format!("(INT {element})"),
                }
            }
        }
    }

    fn assignment(&mut self) {
        let value = self.word(1);
        if self.one_in(3) {
            let scalar = self.scalar();
            return self.line(&format!("{scalar} := {value}"));
        }
        // A routine may change its first array alone.
        let count = if self.in_main { self.arrays.len() } else { 1 };
        let (element, kind) = self.element(count);
        let value = match kind {
            "INT" if self.one_in(3) => format!("{element} PLUS 1"),
            "INT" if self.one_in(8) => format!("{element} + {}", self.below(3)),
            "INT" => value,
            "BYTE" => format!("BYTE ({value} /\\ 255)"),
            "INT16" => format!("INT16 ({value} /\\ 4095)"),
            "INT64" => format!("(INT64 {value}) TIMES 77777777777 (INT64)"),
            _ => format!("REAL64 ROUND ({value} /\\ 65535)"),
        };
        self.line(&format!("{element} := {value}"));
    }

    /// A replicated loop.
    fn replicated(&mut self, depth: u32) {
        let base = self.below(4);
        let (base, count, step, max) = match self.below(16) {
            0 => (base.to_string(), "n".to_owned(), "", base + 7),
            1 => ("0".to_owned(), "SIZE a".to_owned(), "", self.arrays[0].size),
            2 => ("1".to_owned(), "((SIZE a) - 2)".to_owned(), "", self.arrays[0].size - 1),
            3 => ("n".to_owned(), "3".to_owned(), "", 10),
            4 => (base.to_string(), "3".to_owned(), " STEP 2", base + 5),
            5 => ("6".to_owned(), "(n /\\ 3)".to_owned(), " STEP -2", 7),
            6 => ("5".to_owned(), "5".to_owned(), " STEP -1", 6),
            7 => ("0".to_owned(), "0".to_owned(), "", 5),
            8 => ("0".to_owned(), "m".to_owned(), " STEP n", 50),
            9 if self.one_in(6) => ("0".to_owned(), "(n - 4)".to_owned(), "", 4),
            10 => ("((MOSTPOS INT) - 2)".to_owned(), "5".to_owned(), "", u64::MAX),
            11 if self.one_in(6) => (base.to_string(), "b[n]".to_owned(), "", 7),
            12 => ("0".to_owned(), "(b[1] /\\ 7)".to_owned(), "", 7),
            kind => {
                let count = if kind == 15 { 1 } else { self.below(5) };
                (base.to_string(), count.to_string(), "", base + count.max(1))
            }
        };
        let name = self.fresh("i");
        self.line(&format!("SEQ {name} = {base} FOR {count}{step}"));
        self.indices.push((name, max));
        self.inside(|writer| writer.sequence(depth - 1, 3));
        self.indices.pop();
    }

    /// A loop that counts a variable; its bound may be changed in it.
    fn counted(&mut self, depth: u32) {
        let name = self.fresh("w");
        let (from, by) = (self.below(3), if self.one_in(4) { 2 } else { 1 });
        let (bound, max) = match self.below(5) {
            0 => ("n".to_owned(), 7),
            1 => ("(SIZE b)".to_owned(), 7),
            2 => ("m".to_owned(), 7),
            _ => ("5".to_owned(), 5),
        };
        self.line(&format!("INT {name}:"));
        self.line("SEQ");
        self.inside(|writer| {
            writer.line(&format!("{name} := {from}"));
            writer.line(&format!("WHILE {name} < {bound}"));
            writer.indices.push((name.clone(), max));
            writer.inside(|writer| {
                writer.line("SEQ");
                writer.inside(|writer| {
                    writer.statement(depth - 1);
                    if writer.one_in(4) {
                        let change = writer.word(0);
                        writer.line(&format!("n := {change} /\\ 7"));
                    }
                    let step = if writer.in_main && writer.one_in(4) {
                        format!("count ({name}, {by})")
                    } else {
                        format!("{name} := {name} + {by}")
                    };
                    writer.line(&step);
                    if writer.one_in(3) {
                        // It is less than the bound only if it goes on.
                        writer.indices.pop();
                        writer.assignment();
                        writer.indices.push((name.clone(), u64::MAX));
                    }
                });
            });
            writer.indices.pop();
        });
    }

    /// Another name for an element, a slice or a row.
    fn abbreviation(&mut self, depth: u32) {
        let name = self.fresh("e");
        match self.below(4) {
            0 => {
                let subscript = self.subscript(5);
                self.line(&format!("INT {name} IS a[{subscript}]:"));
                self.line(&format!("{name} := {name} PLUS 3"));
            }
            1 | 2 => {
                let (from, count) = match self.below(3) {
                    0 => ("1".to_owned(), "(n /\\ 3)".to_owned()),
                    1 => (self.subscript(3), "2".to_owned()),
                    _ => ("0".to_owned(), "4".to_owned()),
                };
                let index = self.fresh("i");
                self.line(&format!("{name} IS [a FROM {from} FOR {count}]:"));
                self.line(&format!("SEQ {index} = 0 FOR SIZE {name}"));
                self.inside(|writer| {
                    let other = if writer.one_in(3) { "n".to_owned() } else { index.clone() };
                    writer.line("SEQ");
                    writer.inside(|writer| {
                        writer.line(&format!("{name}[{index}] := {name}[{index}] PLUS b[{other} /\\ 3]"));
                        if writer.in_main && writer.one_in(3) {
                            writer.wait();
                        }
                    });
                });
            }
            _ => {
                let (a, b) = (self.below(3), self.below(4));
                self.line(&format!("[a FROM {a} FOR 2] := [b FROM {b} FOR 2]"));
            }
        }
        let _ = depth;
    }

    /// Waits for an answer, which may go where loops count.
    fn wait(&mut self) {
        let (ask, into) = (self.scalar(), self.scalar());
        self.line("SEQ");
        self.inside(|writer| {
            writer.line(&format!("req ! {ask}"));
            writer.line(&format!("ans ? {into}"));
            if writer.one_in(3) {
                writer.line(&format!("n := {into} /\\ 7"));
            }
        });
    }

    fn call(&mut self) {
        let (number, result) = (self.word(0), self.scalar());
        let from = self.below(4);
        let number = if number == result { "7".to_owned() } else { number };
        match self.below(5) {
            0 => self.line(&format!("work (a, b, {result}, {number})")),
            1 => self.line(&format!("work ([a FROM {from} FOR 6], b, {result}, {number})")),
            2 => self.line(&format!("work (grid[{from}], b, {result}, n)")),
            3 => {
                let place = self.subscript(250);
                self.line(&format!("work ([big FROM {place} FOR 40], [a FROM 0 FOR 7], {result}, {number})"));
            }
            _ => self.line(&format!("count (a[{}], 1)", from + 3)),
        }
    }

    fn choice(&mut self, depth: u32) {
        let (left, right) = (self.word(0), self.word(0));
        self.line("IF");
        self.inside(|writer| {
            writer.line(&format!("{left} < {right}"));
            writer.inside(|writer| writer.sequence(depth - 1, 2));
            writer.line("TRUE");
            writer.inside(|writer| writer.sequence(depth - 1, 2));
        });
    }

    fn statement(&mut self, depth: u32) {
        match self.below(if depth == 0 { 9 } else { 17 }) {
            0..=5 => self.assignment(),
            6 => self.abbreviation(depth),
            7 if self.in_main => self.wait(),
            8 if self.in_main => self.call(),
            7 | 8 => self.assignment(),
            9..=12 => self.replicated(depth),
            13 | 14 => self.counted(depth),
            _ => self.choice(depth),
        }
    }

    fn sequence(&mut self, depth: u32, most: u64) {
        self.line("SEQ");
        self.inside(|writer| (0..=writer.below(most)).for_each(|_| writer.statement(depth)));
    }
}

const BEGIN: &str = "\
PROC show (VAL INT v, CHAN BYTE out!)
  SEQ i = 0 FOR 8
    VAL d IS (v >> (28 - (4 * i))) /\\ 15:
    IF
      d < 10
        out ! BYTE (d + 48)
      TRUE
        out ! BYTE (d + 87)
:
PROC count (INT i, VAL INT by)
  i := i PLUS by
:
PROC work ([]INT a, VAL []INT b, INT r, VAL INT k)
  INT x, y, z, n, m:
  SEQ
    x, y, z, n, m := k, r, 3, 2, 4
";

const MIDDLE: &str = "    r := (x PLUS y) PLUS z
:
PROC main (CHAN BYTE keyboard?, screen!, error!)
  [10]INT a:
  [7]INT b:
  [16]BYTE bytes:
  [9]INT64 wide:
  [8]INT16 halves:
  [8]REAL64 reals:
  [300]INT big:
  [5][6]INT grid:
  INT x, y, z, n, m:
  #PRAGMA SHARED n
  CHAN INT req, ans:
  CHAN BOOL stop:
  SEQ
    x, y, z, n, m := 1, 2, 3, 4, 5
    SEQ i = 0 FOR 10
      a[i] := i
    SEQ i = 0 FOR 7
      b[i] := 9 - i
    SEQ i = 0 FOR 16
      bytes[i] := BYTE i
    SEQ i = 0 FOR 9
      wide[i] := INT64 i
    SEQ i = 0 FOR 8
      halves[i], reals[i] := INT16 i, REAL64 ROUND i
    SEQ i = 0 FOR 300
      big[i] := i
    SEQ i = 0 FOR 5
      SEQ j = 0 FOR 6
        grid[i][j] := i * j
    PAR
      BOOL going:
      INT v:
      SEQ
        going := TRUE
        WHILE going
          ALT
            req ? v
              SEQ
                IF
                  (v /\\ 3) = 1
                    n := v /\\ 7
                  TRUE
                    SKIP
                ans ! v PLUS 5
            stop ? going
              SKIP
      SEQ
";

const END: &str = "        stop ! FALSE
    SEQ i = 0 FOR 10
      show (a[i], screen!)
    SEQ i = 0 FOR 7
      show (b[i], screen!)
    SEQ i = 0 FOR 8
      VAL INT64 bits RETYPES reals[i]:
      SEQ
        show (INT bytes[i], screen!)
        show (INT bytes[i + 8], screen!)
        show (INT halves[i], screen!)
        show (INT (wide[i] >> 34), screen!)
        show (INT (bits >> 34), screen!)
    z := z PLUS x
    SEQ i = 0 FOR 300
      z := (z TIMES 31) PLUS big[i]
    SEQ i = 0 FOR 5
      SEQ j = 0 FOR 6
        z := (z TIMES 31) PLUS grid[i][j]
    show (z, screen!)
    show (y, screen!)
:
";

fn text(round: u64) -> String {
    let dice = Dice(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (text, arrays) = (BEGIN.to_owned(), ROUTINES);
    let mut writer = Writer { text, dice, depth: 2, arrays, indices: Vec::new(), names: 0, in_main: false };
    (0..3).for_each(|_| writer.statement(2));
    writer.text += MIDDLE;
    (writer.depth, writer.arrays, writer.in_main) = (4, MAINS, true);
    (0..5).for_each(|_| writer.statement(3));
    writer.text + END
}

#[test]
fn programs_about_arrays_do_the_same() {
    let (mut accepted, mut well, mut all) = (0, 0, 0);
    for round in rounds(200) {
        let text = text(round);
        all += 1;
        let Some(program) = module_of(&text) else { continue };
        accepted += 1;
        let (program, name) = (verified(program), format!("round {round}:\n{text}"));
        let ended = same(&program, || Paper::new("", 5000), (4 << 20, round % 3), &name);
        well += u64::from(ended == Some(Ok(())));
        if round % 8 == 0 {
            on_workers(&program, &name);
        }
    }
    eprintln!("{accepted} of {all} programs were accepted, and {well} of them ended well");
    assert!(
        10 * accepted > 9 * all && 2 * well > accepted,
        "{accepted} of {all}, {well}: the test tests little"
    );
}
