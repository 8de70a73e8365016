//! Random programs in occam that the checker accepts: arithmetic of every type, arrays in frames and in the heap,
//! loops, routines with references, recursion, channels and ALTs.
//!
//! `RADDLE_FUZZ_ROUNDS=100000` makes it a long run, `RADDLE_FUZZ_FROM=5000` begins there.

use crate::hostile::rounds;
use crate::random::Dice;
use crate::support::{Paper, module_of, same, verified};
use std::fmt::Write as _;

struct Writer {
    text: String,
    dice: Dice,
    depth: usize,
    /// Names of INTs that may be used here.
    words: Vec<String>,
    loops: usize,
}

impl Writer {
    fn below(&mut self, limit: u64) -> u64 {
        self.dice.below(limit)
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", 2 * self.depth);
    }

    fn inside(&mut self, write: impl FnOnce(&mut Writer)) {
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    fn name(&mut self) -> String {
        let place = self.below(self.words.len() as u64) as usize;
        self.words[place].clone()
    }

    /// A number in range for an array of eight.
    fn subscript(&mut self) -> String {
        match self.below(12) {
            0 => self.word(1),
            1..=4 => format!("{}", self.below(8)),
            _ => format!("({} /\\ 7)", self.word(1)),
        }
    }

    fn word(&mut self, depth: u32) -> String {
        if depth == 0 {
            return if self.below(3) == 0 { format!("{}", self.below(100)) } else { self.name() };
        }
        let (left, right) = (self.word(depth - 1), self.word(depth - 1));
        match self.below(22) {
            0 => format!("({left} + {right})"),
            1 => format!("({left} - {right})"),
            2 => format!("({left} * {right})"),
            3 => format!("({left} / ({right} \\/ 1))"),
            4 => format!("({left} \\ ({right} \\/ 1))"),
            5..=7 => format!("({left} PLUS {right})"),
            8 => format!("({left} MINUS {right})"),
            9 => format!("({left} TIMES {right})"),
            10 => format!("({left} >< {right})"),
            11 => format!("({left} >> ({right} /\\ 31))"),
            12 => format!("({left} << ({right} /\\ 31))"),
            13 => format!("(~{left})"),
            14 => format!("small[{}]", self.subscript()),
            15 => format!("(INT large[{} PLUS 300])", self.subscript()),
            16 => format!("(INT (long >> {}))", 34 + self.below(20)),
            17 => format!("(INT bytes[{}])", self.subscript()),
            18 => format!("(INT ({}))", self.truth(depth - 1)),
            19 => format!("((INT (INT16 ({left} /\\ 4095))) >< (INT half))"),
            _ => self.name(),
        }
    }

    fn truth(&mut self, depth: u32) -> String {
        let (left, right) = (self.word(depth), self.word(depth));
        let relation = ["=", "<>", "<", ">", "<=", ">=", "AFTER"][self.below(7) as usize];
        match self.below(6) {
            0 => format!("(({left} < {right}) AND (long > 0 (INT64)))"),
            1 => format!("((double < 1.5 (REAL64)) OR ({left} {relation} {right}))"),
            _ => format!("({left} {relation} {right})"),
        }
    }

    fn assignment(&mut self) {
        let value = self.word(2);
        let text = match self.below(14) {
            0 => format!("small[{}] := {value}", self.subscript()),
            1 => format!("large[{} PLUS 200] := INT64 {value}", self.subscript()),
            2 => format!("long := (long TIMES 3 (INT64)) PLUS (INT64 {value})"),
            3 => format!("long := (long / 7 (INT64)) + (large[{}] >> 3)", self.subscript()),
            4 => format!("double := (double * 0.5 (REAL64)) + (REAL64 ROUND ({value} /\\ 1023))"),
            5 => format!("double := DSQRT (DABS (double - reals[{}]))", self.subscript()),
            6 => format!("reals[{}] := double", self.subscript()),
            7 => format!("single := (single * 0.25 (REAL32)) + (REAL32 ROUND ({value} /\\ 255))"),
            8 => format!("bytes[{}] := BYTE ({value} /\\ 255)", self.subscript()),
            9 => format!("half := half PLUS (INT16 ({value} /\\ 4095))"),
            10 => "[small FROM 1 FOR 3] := [small FROM 4 FOR 3]".to_owned(),
            _ => {
                let name = ["x", "y", "z"][self.below(3) as usize];
                format!("{name} := {value}")
            }
        };
        self.line(&text);
    }

    fn statement(&mut self, depth: u32) {
        match self.below(if depth == 0 { 4 } else { 11 }) {
            0..=3 => self.assignment(),
            4 => {
                let (first, second) = (self.truth(1), self.truth(1));
                self.line("IF");
                self.inside(|writer| {
                    for condition in [first, second, "TRUE".to_owned()] {
                        writer.line(&condition);
                        writer.inside(|writer| writer.sequence(depth - 1));
                    }
                });
            }
            5 | 6 => {
                let name = format!("i{}", self.loops);
                self.loops += 1;
                let (base, count) = (self.below(5), self.below(9));
                let step = ["", "", " STEP 2", " STEP -1"][self.below(4) as usize];
                self.line(&format!("SEQ {name} = {base} FOR {count}{step}"));
                self.words.push(name);
                self.inside(|writer| writer.sequence(depth - 1));
                self.words.pop();
            }
            7 => {
                let name = format!("n{}", self.loops);
                self.loops += 1;
                let count = self.below(6);
                self.line(&format!("INT {name}:"));
                self.line("SEQ");
                self.inside(|writer| {
                    writer.line(&format!("{name} := {count}"));
                    writer.line(&format!("WHILE {name} > 0"));
                    writer.words.push(name.clone());
                    writer.inside(|writer| {
                        writer.line("SEQ");
                        writer.inside(|writer| {
                            writer.statement(depth - 1);
                            writer.line(&format!("{name} := {name} - 1"));
                        });
                    });
                    writer.words.pop();
                });
            }
            8 => {
                let (one, two) =
                    (["y", "z", "17"][self.below(3) as usize], ["z", "y", "3"][self.below(3) as usize]);
                self.line(&format!("routine (x, {one}, small, {two})"));
            }
            9 => {
                let (count, value) = (1 + self.below(5), ["x", "z", "(x PLUS z)"][self.below(3) as usize]);
                self.line(&format!("talk ({count}, {value}, y)"));
            }
            _ => {
                let selector = self.word(1);
                self.line(&format!("CASE {selector} /\\ 3"));
                self.inside(|writer| {
                    for option in ["0", "1", "3", "ELSE"] {
                        writer.line(option);
                        writer.inside(|writer| writer.sequence(0));
                    }
                });
            }
        }
    }

    fn sequence(&mut self, depth: u32) {
        self.line("SEQ");
        self.inside(|writer| (0..=writer.below(3)).for_each(|_| writer.statement(depth)));
    }
}

const BEGIN: &str = "\
#INCLUDE \"course.module\"
PROC routine (INT r, VAL INT v, []INT a, VAL INT w)
  INT t:
  SEQ
    t := v
    SEQ i = 0 FOR SIZE a
      SEQ
        t := t PLUS a[i]
        a[i] := (t >> 1) >< w
    r := r PLUS t
:
RECURSIVE PROC down (VAL INT n, INT r)
  IF
    n > 0
      SEQ
        r := r PLUS n
        down (n - 1, r)
    TRUE
      SKIP
:
PROC talk (VAL INT n, VAL INT v, INT r)
  CHAN INT c, d:
  CHAN INT64 e:
  PAR
    SEQ
      SEQ i = 0 FOR n
        SEQ
          c ! v PLUS i
          e ! INT64 i
      d ! 5
    INT t:
    INT64 u:
    SEQ
      r := 0
      SEQ i = 0 FOR n
        SEQ
          c ? t
          e ? u
          r := (r PLUS t) >< (INT u)
      ALT
        d ? t
          down (t, r)
        FALSE & c ? t
          SKIP
:
PROC main (CHAN BYTE keyboard?, screen!, error!)
  INT x, y, z:
  INT64 long:
  INT16 half:
  REAL64 double:
  REAL32 single:
  [8]INT small:
  [400]INT64 large:
  [8]BYTE bytes:
  [8]REAL64 reals:
  SEQ
    x, y, z := 1, 2, 3
    long, half := 5 (INT64), 6 (INT16)
    double, single := 0.5 (REAL64), 1.5 (REAL32)
    SEQ i = 0 FOR 8
      small[i], bytes[i], reals[i] := i, BYTE i, REAL64 ROUND i
    SEQ i = 0 FOR 400
      large[i] := INT64 i
";

const END: &str = "
    SEQ i = 0 FOR 8
      SEQ
        out.int (small[i], 0, screen!)
        screen ! '*s'
        out.int (INT bytes[i], 0, screen!)
        screen ! '*s'
        INT64 bits RETYPES reals[i]:
        out.int64 (bits, 0, screen!)
        screen ! '*n'
    SEQ i = 0 FOR 400
      long := (long TIMES 31 (INT64)) PLUS large[i]
    out.int64 (long, 0, screen!)
    INT64 bits RETYPES double:
    out.int64 (bits, 0, screen!)
    INT bits RETYPES single:
    out.int (bits, 0, screen!)
    out.int (((x PLUS y) TIMES 7) PLUS (z PLUS (INT half)), 0, screen!)
:
";

fn text(round: u64) -> String {
    let words = ["x", "y", "z"].map(str::to_owned).to_vec();
    let dice = Dice(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut writer = Writer { text: BEGIN.to_owned(), dice, depth: 2, words, loops: 0 };
    (0..6).for_each(|_| writer.statement(3));
    writer.text + END.trim_start_matches('\n')
}

#[test]
fn generated_programs_do_the_same() {
    let (mut accepted, mut well, mut all) = (0, 0, 0);
    for round in rounds(300) {
        let text = text(round);
        all += 1;
        let Some(program) = module_of(&text) else { continue };
        accepted += 1;
        let name = format!("round {round}:\n{text}");
        let ended = same(&verified(program), || Paper::new("", 5000), (4 << 20, round % 3), &name);
        well += u64::from(ended == Some(Ok(())));
    }
    eprintln!("{accepted} of {all} programs were accepted, and {well} of them ended well");
    assert!(2 * accepted > all && 4 * well > accepted, "{accepted} of {all}, {well}: the test tests little");
}
