//! Owns: programs as trees: made at random, written as occam, and interpreted.
//! May use: nothing of Raddle.
//! Never: lets two branches of a PAR touch the same variable, or a channel's two ends disagree on the number of
//! messages.
//!
//! Variables `x0`.. and arrays `a0`.. of eight are dealt out to the branches of a PAR. A branch may send to the one
//! beside it; to interpret a PAR, the sender runs first.

use std::collections::VecDeque;
use std::fmt::Write as _;

const VARIABLES: usize = 6;
const ARRAYS: usize = 3;
const SIZE: usize = 8;

/// What every program has: functions, a PROC, and a way to write numbers.
const HEAD: &str = r"
INT FUNCTION triple (VAL INT x) IS (x TIMES 3) MINUS 1:
INT FUNCTION distance (VAL INT x, y)
  INT d:
  VALOF
    IF
      x > y
        d := x MINUS y
      TRUE
        d := y MINUS x
    RESULT d
:
PROC mix (VAL INT by, INT x)
  x := (x >< by) PLUS 1
:
PROC TYPE STEPS IS (CHAN INT in?, out!):
MOBILE PROC stepper (CHAN INT in?, out!) IMPLEMENTS STEPS
  INITIAL INT total IS 1:
  WHILE TRUE
    INT v:
    SEQ
      in ? v
      total := (total >< v) PLUS 1
      out ! total
      SUSPEND
:
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
    [2]PART parts:
    MOBILE []INT m:
:
PROC give (CHAN MOBILE.CHAN to!, INITIAL NUMBERS! end)
  to ! end
:
PART FUNCTION wrapped (VAL INT x)
  PART part:
  VALOF
    SEQ
      part := MOBILE PART
      part[m] := MOBILE [3]INT
      part[m][1] := x
      part[n] := 1
    RESULT part
:
PROC show (VAL INT number, CHAN BYTE screen!)
  [20]BYTE text:
  INT length:
  SEQ
    INTTOSTRING (length, text, number)
    SEQ i = 0 FOR length
      screen ! text[i]
    screen ! ' '
:
";
/// Types without sign, and of which operands the products fit into them.
const UNSIGNED: [(&str, i32); 5] =
    [("UINT8", 15), ("UINT16", 255), ("UINT32", 0x7fff), ("UINT64", 0x7fff), ("UINT", 0x7fff)];
const MAIN: &str = "PROC main (CHAN BYTE keyboard?, screen!, error!)\n";

/// A small generator of numbers (xorshift), the same on every machine.
struct GenRandom(u64);

impl GenRandom {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

enum Expr {
    Constant(i32),
    Variable(usize),
    Index(usize),
    Element(usize, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Triple(Box<Expr>),
    Distance(Box<Expr>, Box<Expr>),
    /// Through BYTE and back.
    Byte(Box<Expr>),
    /// In one of the types without sign: which, the operator, and what is left of both operands.
    Unsigned(usize, &'static str, Box<Expr>, Box<Expr>),
    /// A product in 64 bits, of which the upper part comes back.
    Wide(Box<Expr>, Box<Expr>),
}

enum GenProcess {
    Assign(usize, Expr),
    Swap(usize, usize, Expr, Expr),
    Store(usize, Expr, Expr),
    If(Expr, &'static str, Expr, Vec<GenProcess>, Vec<GenProcess>),
    Case(Expr, [Vec<GenProcess>; 3]),
    Repeat(usize, Expr, Vec<GenProcess>),
    While(u32, Vec<GenProcess>),
    Mix(Expr, usize),
    /// The number of the channel from the first to the second.
    Par(usize, Vec<GenProcess>, Vec<GenProcess>),
    Send(usize, Expr),
    Receive(usize, usize, bool),
    /// By `??`, with what is done while the sender waits.
    Extended(usize, usize, Vec<GenProcess>),
    /// The number of a barrier, or of an array of two, at which two meet behind each of their parts.
    Meet(usize, Vec<[Vec<GenProcess>; 2]>),
    /// Over a channel whose end has come by a MOBILE.CHAN.
    Carry(usize, Expr),
    /// In a mobile in a mobile record, through arrays and records, functions and forks.
    Wrap(usize, usize, Expr),
    /// `mix` in a forked process, beside something that leaves its variable alone.
    Fork(Expr, usize, Vec<GenProcess>),
    /// A mobile process that is activated with each of these; the variable gets what it says.
    Activate(usize, Vec<Expr>),
    /// Each element by itself, in parallel.
    Each(usize, usize, Expr),
}

/// What a process may use.
#[derive(Clone)]
struct GenScope {
    variables: Vec<usize>,
    arrays: Vec<usize>,
    indices: Vec<usize>,
}

/// A whole program.
pub(super) struct GenProgram(Vec<GenProcess>);

/// What makes one.
struct Maker {
    random: GenRandom,
    indices: usize,
    channels: usize,
}

/// The state of an interpretation.
struct GeneratorState {
    variables: [i32; VARIABLES],
    arrays: [[i32; SIZE]; ARRAYS],
    indices: Vec<i32>,
    channels: Vec<VecDeque<i32>>,
}

impl Maker {
    fn leaf(&mut self, scope: &GenScope) -> Expr {
        match self.random.below(4) {
            0 if !scope.indices.is_empty() => Expr::Index(self.random.of(&scope.indices)),
            _ => Expr::Variable(self.random.of(&scope.variables)),
        }
    }

    /// The left operand is never constant: what the compiler computes itself, it also complains of itself.
    fn expr(&mut self, scope: &GenScope, depth: u32) -> Expr {
        if depth == 0 {
            return self.leaf(scope);
        }
        let left = Box::new(self.expr(scope, depth - 1));
        let right = |maker: &mut Self| match maker.random.below(2) {
            0 => Box::new(Expr::Constant(maker.random.below(40) as i32 + 1)),
            _ => Box::new(maker.expr(scope, depth - 1)),
        };
        match self.random.below(13) {
            0 => Expr::Triple(left),
            12 => {
                let kind = self.random.below(UNSIGNED.len() as u64) as usize;
                Expr::Unsigned(kind, self.random.of(&["+", "*", "/", "\\", "PLUS", "><"]), left, right(self))
            }
            1 => Expr::Distance(left, right(self)),
            2 => Expr::Byte(left),
            3 => Expr::Wide(left, right(self)),
            4 | 5 if !scope.arrays.is_empty() => Expr::Element(self.random.of(&scope.arrays), left),
            6 => Expr::Binary("<<", left, Box::new(Expr::Constant(self.random.below(33) as i32))),
            7 => Expr::Binary(">>", left, Box::new(Expr::Constant(self.random.below(33) as i32))),
            8 => Expr::Binary(self.random.of(&["/", "\\"]), left, right(self)),
            9 => Expr::Binary(self.random.of(&["+", "-"]), left, right(self)),
            _ => Expr::Binary(
                self.random.of(&["PLUS", "MINUS", "TIMES", "/\\", "\\/", "><"]),
                left,
                right(self),
            ),
        }
    }

    fn some(&mut self, scope: &GenScope, depth: u32) -> Vec<GenProcess> {
        (0..self.random.below(3) + 1).map(|_| self.process(scope, depth)).collect()
    }

    fn process(&mut self, scope: &GenScope, depth: u32) -> GenProcess {
        let to = self.random.of(&scope.variables);
        let deep = if depth == 0 { 4 } else { 17 };
        match self.random.below(deep) {
            0 => GenProcess::Mix(self.expr(scope, 1), to),
            1 if !scope.arrays.is_empty() => {
                GenProcess::Store(self.random.of(&scope.arrays), self.expr(scope, 1), self.expr(scope, 2))
            }
            2 if scope.variables.len() > 1 => {
                let other = scope.variables.iter().copied().find(|&other| other != to).unwrap();
                GenProcess::Swap(to, other, self.expr(scope, 1), self.expr(scope, 1))
            }
            4 => {
                let sign = self.random.of(&["=", "<>", "<", "<=", ">", ">="]);
                let (left, right) = (self.expr(scope, 1), self.expr(scope, 1));
                GenProcess::If(left, sign, right, self.some(scope, depth - 1), self.some(scope, depth - 1))
            }
            5 => {
                let bodies = [(); 3].map(|()| self.some(scope, depth - 1));
                GenProcess::Case(self.expr(scope, 1), bodies)
            }
            6 | 7 => {
                let index = self.indices;
                self.indices += 1;
                let mut inner = scope.clone();
                inner.indices.push(index);
                GenProcess::Repeat(index, self.leaf(scope), self.some(&inner, depth - 1))
            }
            8 => GenProcess::While(self.random.below(4) as u32, self.some(scope, depth - 1)),
            9 if !scope.arrays.is_empty() => {
                let (array, index) = (self.random.of(&scope.arrays), self.indices);
                self.indices += 1;
                let inner = GenScope { arrays: Vec::new(), indices: vec![index], ..scope.clone() };
                GenProcess::Each(array, index, self.expr(&inner, 2))
            }
            9 | 10 if scope.variables.len() > 1 => self.par(scope, depth - 1),
            11 if scope.variables.len() > 1 => self.meet(scope, depth - 1),
            12 if scope.variables.len() > 1 => {
                let mut inner = scope.clone();
                inner.variables.retain(|&variable| variable != to);
                GenProcess::Fork(self.expr(scope, 1), to, self.some(&inner, depth - 1))
            }
            14 => GenProcess::Carry(to, self.expr(scope, 1)),
            15 => GenProcess::Wrap(to, self.random.below(4) as usize, self.expr(scope, 1)),
            13 => {
                let count = self.random.below(4);
                GenProcess::Activate(to, (0..count).map(|_| self.expr(scope, 1)).collect())
            }
            _ => GenProcess::Assign(to, self.expr(scope, 2)),
        }
    }

    /// What the two branches of a PAR may use.
    fn halves(scope: &GenScope) -> (GenScope, GenScope) {
        let (one, two) = scope.variables.split_at(scope.variables.len() / 2);
        let (first, second) = scope.arrays.split_at(scope.arrays.len() / 2);
        let part = |variables: &[usize], arrays: &[usize]| GenScope {
            variables: variables.to_vec(),
            arrays: arrays.to_vec(),
            indices: scope.indices.clone(),
        };
        (part(one, first), part(two, second))
    }

    fn meet(&mut self, scope: &GenScope, depth: u32) -> GenProcess {
        let barrier = self.channels;
        self.channels += 1;
        let (one, two) = Self::halves(scope);
        let count = self.random.below(3) + 1;
        let parts = (0..count).map(|_| [self.some(&one, depth.min(1)), self.some(&two, depth.min(1))]);
        GenProcess::Meet(barrier, parts.collect())
    }

    fn par(&mut self, scope: &GenScope, depth: u32) -> GenProcess {
        let channel = self.channels;
        self.channels += 1;
        let (one, two) = Self::halves(scope);
        let (mut sender, mut receiver) = (self.some(&one, depth), self.some(&two, depth));
        for _ in 0..self.random.below(4) {
            sender.push(GenProcess::Send(channel, self.expr(&one, 1)));
            sender.push(self.process(&one, 0));
            let to = self.random.of(&two.variables);
            receiver.push(match self.random.below(3) {
                0 => GenProcess::Extended(channel, to, vec![self.process(&two, 0)]),
                kind => GenProcess::Receive(channel, to, kind == 1),
            });
            receiver.push(self.process(&two, 0));
        }
        GenProcess::Par(channel, sender, receiver)
    }
}

impl GenProgram {
    pub(super) fn random(seed: u64) -> GenProgram {
        let random = GenRandom(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut maker = Maker { random, indices: 0, channels: 0 };
        let scope = GenScope {
            variables: (0..VARIABLES).collect(),
            arrays: (0..ARRAYS).collect(),
            indices: Vec::new(),
        };
        GenProgram((0..5).map(|_| maker.process(&scope, 3)).collect())
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{HEAD}{MAIN}");
        self.write_work(&mut text);
        for variable in 0..VARIABLES {
            let _ = writeln!(text, "    show (x{variable}, screen!)");
        }
        for array in 0..ARRAYS {
            let _ = write!(text, "    SEQ i = 0 FOR {SIZE}\n      show (a{array}[i], screen!)\n");
        }
        text + ":\n"
    }

    /// The same program `copies` times side by side, each of them `rounds` times. It writes what `copies` of it write.
    pub(super) fn text_of_many(&self, copies: usize, rounds: usize) -> String {
        let count = VARIABLES + ARRAYS * SIZE;
        let mut text = format!("{HEAD}PROC work ([{count}]INT results)\n");
        self.write_work(&mut text);
        for variable in 0..VARIABLES {
            let _ = writeln!(text, "    results[{variable}] := x{variable}");
        }
        for array in 0..ARRAYS {
            let first = VARIABLES + array * SIZE;
            let _ = writeln!(text, "    [results FROM {first} FOR {SIZE}] := a{array}");
        }
        let _ = write!(
            text,
            ":\n{MAIN}  [{copies}][{count}]INT results:\n  SEQ\n    PAR i = 0 FOR {copies}\n      \
             SEQ round = 0 FOR {rounds}\n        work (results[i])\n    SEQ i = 0 FOR {copies}\n      \
             SEQ j = 0 FOR {count}\n        show (results[i][j], screen!)\n:\n"
        );
        text
    }

    /// Declarations, and the opening of a `SEQ` that does what the tree says.
    fn write_work(&self, text: &mut String) {
        for variable in 0..VARIABLES {
            let _ = writeln!(text, "  INITIAL INT x{variable} IS {}:", start(variable));
        }
        for array in 0..ARRAYS {
            let _ = writeln!(text, "  [{SIZE}]INT a{array}:");
        }
        text.push_str("  SEQ\n");
        for array in 0..ARRAYS {
            let _ = write!(text, "    SEQ i = 0 FOR {SIZE}\n      a{array}[i] := i\n");
        }
        self.0.iter().for_each(|process| process.write(4, text));
    }

    /// What it writes; `None` if a run-time error ends it.
    pub(super) fn result(&self) -> Option<String> {
        let mut state = GeneratorState {
            variables: std::array::from_fn(start),
            arrays: [std::array::from_fn(|at| at as i32); ARRAYS],
            indices: vec![0; 1000],
            channels: vec![VecDeque::new(); 1000],
        };
        state.all(&self.0)?;
        let numbers = state.variables.iter().chain(state.arrays.iter().flatten());
        Some(numbers.map(|number| format!("{number} ")).collect())
    }
}

/// What a variable holds first.
fn start(variable: usize) -> i32 {
    variable as i32 * 37 - 50
}

mod interpret;
mod write;
