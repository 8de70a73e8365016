//! Owns: the index reasoning against an enumerator that tries every small value.
//! May use: the public interface.
//! Never: excuses an accepted race; precision is counted, soundness is not negotiable.
//!
//! Each program is a replicated PAR, perhaps with a loop or another PAR inside, that changes elements of one array
//! under random conditions and with random subscripts. The enumerator runs all instances for every small `n` and
//! looks for two that touch the same element. `RADDLE_FUZZ_ROUNDS=1000000` makes it a long run.

use raddle_occam::diag::Code;
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse};
use std::collections::HashMap;

/// A small generator of numbers (xorshift), the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64) as i64
    }
}

const NAMES: [&str; 3] = ["i", "j", "n"];

enum Expr {
    Constant(i64),
    Name(usize),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// An element of `table`.
    Element(Box<Expr>),
}

const SIGNS: [&str; 12] = ["+", "+", "-", "*", "*", "/", "\\", "/\\", "\\/", "><", "<<", ">>"];
const TABLE: [i64; 8] = [3, 1, 4, 0, 5, 9, 2, 6];

impl Expr {
    fn random(random: &mut Random, depth: u32) -> Self {
        if depth == 0 || random.below(4) == 0 {
            return match random.below(5) {
                0 => Self::Constant(random.between(0, 9)),
                1 | 2 => Self::Name(0),
                3 => Self::Name(1),
                _ => Self::Name(random.below(3) as usize),
            };
        }
        if random.below(12) == 0 {
            return Self::Element(Box::new(Self::random(random, depth - 1)));
        }
        // Most are what the solver knows.
        let kinds = if random.below(3) == 0 { SIGNS.len() as u64 } else { 7 };
        let sign = SIGNS[random.below(kinds) as usize];
        let left = Self::random(random, depth - 1);
        let right = match sign {
            "/" | "\\" => Self::Constant(random.between(2, 6)),
            "<<" | ">>" => Self::Constant(random.between(0, 3)),
            "*" if random.below(3) > 0 => Self::Constant(random.between(2, 12)),
            _ => Self::random(random, depth - 1),
        };
        Self::Binary(sign, Box::new(left), Box::new(right))
    }

    fn text(&self) -> String {
        match self {
            Self::Constant(value) => value.to_string(),
            Self::Name(name) => NAMES[*name].to_owned(),
            Self::Binary(sign, left, right) => format!("({} {sign} {})", left.text(), right.text()),
            Self::Element(at) => format!("table[{}]", at.text()),
        }
    }

    /// `None` where the program stops.
    fn value(&self, of: [i64; 3]) -> Option<i64> {
        let value = match self {
            Self::Constant(value) => *value,
            Self::Name(name) => of[*name],
            Self::Element(at) => *TABLE.get(usize::try_from(at.value(of)?).ok()?)?,
            Self::Binary(sign, left, right) => {
                let (left, right) = (left.value(of)?, right.value(of)?);
                match *sign {
                    "+" => left + right,
                    "-" => left - right,
                    "*" => left * right,
                    "/" => left / right,
                    "/\\" => left & right,
                    "\\/" => left | right,
                    "><" => left ^ right,
                    "<<" => i64::from((left << right) as i32),
                    ">>" => i64::from(left as u32 >> right),
                    _ => left % right,
                }
            }
        };
        i32::try_from(value).ok().map(i64::from)
    }
}

/// `first sign second`.
struct Condition(Expr, &'static str, Expr);

impl Condition {
    fn random(random: &mut Random) -> Self {
        let sign = ["=", "<>", "<", "<=", ">", ">="][random.below(6) as usize];
        Self(Expr::random(random, 1), sign, Expr::random(random, 1))
    }

    fn holds(&self, of: [i64; 3]) -> Option<bool> {
        let (left, right) = (self.0.value(of)?, self.2.value(of)?);
        Some(match self.1 {
            "=" => left == right,
            "<>" => left != right,
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            _ => left >= right,
        })
    }
}

/// The ways in which a program may come to change `a[at]`.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Direct,
    Call,
    Free,
    Element,
    Value,
    Variable,
    Steps,
    Slice,
    Nested,
    Moving,
    Choice,
    /// By a FUNCTION of the program's own.
    Function,
    /// By an index that each round of a loop moves on.
    Running(i64),
    /// The same while it is within the array, by 1, 2, ... or by `n`.
    Stride(Option<i64>),
    /// The same, with a round that moves it on once more under a condition.
    Uneven,
    /// The same, moved on by the loop's own index.
    Growing,
}

const STYLES: [Style; 17] = [
    Style::Direct,
    Style::Call,
    Style::Free,
    Style::Element,
    Style::Value,
    Style::Variable,
    Style::Steps,
    Style::Slice,
    Style::Nested,
    Style::Moving,
    Style::Choice,
    Style::Function,
    Style::Running(1),
    Style::Stride(Some(4)),
    Style::Stride(None),
    Style::Uneven,
    Style::Growing,
];

impl Style {
    /// The lines of the process, each indented by ten columns.
    fn text(self, at: &str, size: i64) -> String {
        let lines = match self {
            Self::Direct => vec![format!("a[{at}] := 1")],
            Self::Call => vec![format!("store (a, {at})")],
            Self::Free => vec![format!("free ({at})")],
            Self::Element => vec![format!("set (a[{at}])")],
            Self::Value => vec![format!("VAL at IS {at}:"), "a[at] := 1".to_owned()],
            Self::Variable => vec!["INT at:", "SEQ", &format!("  at := {at}"), "  a[at] := 1"]
                .into_iter()
                .map(str::to_owned)
                .collect(),
            Self::Steps => vec![
                "INT at:",
                "SEQ",
                &format!("  at := {at} - 3"),
                "  SEQ step = 0 FOR 3",
                "    at := at + 1",
                "  a[at] := 1",
            ]
            .into_iter()
            .map(str::to_owned)
            .collect(),
            Self::Slice => vec![format!("b IS [a FROM 1 FOR {}]:", size - 1), format!("b[{at} - 1] := 1")],
            Self::Nested => vec![
                format!("b IS [a FROM 1 FOR {}]:", size - 1),
                "c IS [b FROM 2 FOR 4]:".to_owned(),
                format!("c[{at}] := 1"),
            ],
            Self::Moving => vec!["b IS [a FROM j FOR 4]:".to_owned(), format!("b[{at}] := 1")],
            Self::Choice => vec![
                "INT at:",
                "SEQ",
                "  IF",
                "    j > 1",
                &format!("      at := {at}"),
                "    TRUE",
                &format!("      at := {at}"),
                "  a[at] := 1",
            ]
            .into_iter()
            .map(str::to_owned)
            .collect(),
            Self::Function => vec![format!("a[moved ({at}, j)] := 1")],
            Self::Running(by) => loop_text(at, "SEQ step = 0 FOR 3", &format!("k := k + ({by})"), None),
            Self::Stride(by) => {
                let by = by.map_or("n".to_owned(), |by| by.to_string());
                loop_text(at, &format!("WHILE k < {size}"), &format!("k := {by} + k"), None)
            }
            Self::Uneven => {
                let choice = ["j = step", "  k := k + 1", "TRUE", "  SKIP"];
                let more = choice.map(|line| format!("\n{:18}{line}", "")).concat();
                loop_text(at, "SEQ step = 0 FOR 3", "k := k + 2", Some(&format!("IF{more}")))
            }
            Self::Growing => loop_text(at, "SEQ step = 0 FOR 3", "k := k + step", None),
        };
        lines.iter().map(|line| format!("          {line}\n")).collect()
    }
}

/// A loop that changes elements from `at` on, and what it does with its index.
fn loop_text(at: &str, head: &str, next: &str, more: Option<&str>) -> Vec<String> {
    let mut lines: Vec<String> = ["INT k:", "SEQ"].map(str::to_owned).to_vec();
    lines.push(format!("  k := {at}"));
    lines.push(format!("  {head}"));
    lines.push("    SEQ".to_owned());
    lines.push("      a[k] := 1".to_owned());
    lines.push(format!("      {next}"));
    lines.extend(more.map(|more| format!("      {more}")));
    lines
}

impl Style {
    /// The elements that are changed, until the program stops.
    fn places(self, at: i64, [_, j, n]: [i64; 3], size: i64) -> Vec<i64> {
        let inside = |place: &i64| (0..size).contains(place);
        let next = |at: i64, step: i64| match self {
            Self::Running(by) => at + by,
            Self::Uneven => at + 2 + i64::from(j == step),
            Self::Growing => at + step,
            Self::Stride(by) => at + by.unwrap_or(n),
            _ => at,
        };
        let rounds = match self {
            Self::Running(_) | Self::Uneven | Self::Growing => 3,
            Self::Stride(_) => size,
            Self::Function => return self.place(at + (2 * j), j, size).into_iter().collect(),
            _ => return self.place(at, j, size).into_iter().collect(),
        };
        let mut places = vec![at];
        for step in 0..rounds - 1 {
            places.push(next(places[places.len() - 1], step));
        }
        places.into_iter().take_while(inside).collect()
    }

    /// The element that is changed, unless the program stops before.
    fn place(self, at: i64, j: i64, size: i64) -> Option<i64> {
        let (from, count) = match self {
            Self::Slice => return (1..size).contains(&at).then_some(at),
            Self::Nested => (3, 4),
            Self::Moving => (j, 4),
            _ => (0, size),
        };
        let inside = from >= 0 && from + count <= size && (0..count).contains(&at);
        inside.then_some(from + at)
    }
}

struct Program {
    style: Style,
    size: i64,
    base: [i64; 2],
    /// `None` is `n`.
    count: [Option<i64>; 2],
    inner_parallel: bool,
    condition: Condition,
    first: Expr,
    second: Option<Expr>,
}

impl Program {
    fn random(random: &mut Random) -> Self {
        let count = |random: &mut Random| (random.below(3) > 0).then(|| random.between(1, 7));
        Self {
            style: match STYLES[random.below(STYLES.len() as u64) as usize] {
                Style::Running(_) => Style::Running(random.between(-2, 4)),
                Style::Stride(Some(_)) => Style::Stride(Some(random.between(1, 7))),
                style => style,
            },
            size: random.between(5, 60),
            base: [random.between(-1, 3), random.between(0, 2)],
            count: [count(random), count(random)],
            inner_parallel: random.below(2) == 0,
            condition: Condition::random(random),
            first: Expr::random(random, 2),
            second: (random.below(2) == 0).then(|| Expr::random(random, 2)),
        }
    }

    fn text(&self) -> String {
        let count = |at: usize| self.count[at].map_or("n".to_owned(), |count| count.to_string());
        let store = |expr: &Expr| self.style.text(&expr.text(), self.size);
        let other = self.second.as_ref().map_or("          SKIP\n".to_owned(), store);
        let head = concat!(
            "PROC store ([]INT a, VAL INT at)\n  a[at] := 1\n:\nPROC set (INT x)\n  x := 1\n:\n",
            "INT FUNCTION moved (VAL INT at, j)\n  INT twice:\n",
            "  VALOF\n    twice := j * 2\n    RESULT at + twice\n:\n",
        );
        format!(
            concat!(
                "{}VAL table IS {:?}:\nPROC p (VAL INT n, [{}]INT a)\n  PROC free (VAL INT at)\n    a[at] := 1\n  :\n",
                "  PAR i = {} FOR {}\n    {} j = {} FOR {}\n      IF\n",
                "        {} {} {}\n{}        TRUE\n{}:\n"
            ),
            head,
            TABLE,
            self.size,
            self.base[0],
            count(0),
            if self.inner_parallel { "PAR" } else { "SEQ" },
            self.base[1],
            count(1),
            self.condition.0.text(),
            self.condition.1,
            self.condition.2.text(),
            store(&self.first),
            other,
        )
    }

    /// Two instances that touch the same element, if there are such for a small `n`.
    fn race(&self) -> Option<String> {
        for n in 0..6 {
            let mut touched: HashMap<i64, (i64, i64)> = HashMap::new();
            for i in self.base[0]..self.base[0] + self.count[0].unwrap_or(n) {
                for j in self.base[1]..self.base[1] + self.count[1].unwrap_or(n) {
                    let of = [i, j, n];
                    let chosen = match self.condition.holds(of) {
                        Some(true) => Some(&self.first),
                        Some(false) => self.second.as_ref(),
                        None => None,
                    };
                    let at = chosen.and_then(|expr| expr.value(of));
                    for at in at.map_or_else(Vec::new, |at| self.style.places(at, of, self.size)) {
                        let other = *touched.entry(at).or_insert((i, j));
                        if other.0 != i || self.inner_parallel && other.1 != j {
                            return Some(format!("n = {n}: {other:?} and {:?} touch a[{at}]", (i, j)));
                        }
                    }
                }
            }
        }
        None
    }
}

/// Whether the program is accepted; `None` if a constant subscript is out of range, which no race can follow.
fn accepted(text: &str) -> Option<bool> {
    let mut sources = Sources::new();
    let root = sources.add("generated", text).unwrap();
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    if analysis.diagnostics().iter().any(|it| it.code == Code::ConstantFault) {
        return None;
    }
    let strange = analysis.diagnostics().iter().find(|it| !it.code.to_string().starts_with("O07"));
    assert!(strange.is_none(), "{strange:?}\n{text}");
    Some(analysis.diagnostics().is_empty())
}

#[test]
fn no_accepted_program_has_a_race() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut safe, mut proved, mut races) = (0, 0, 0);
    let rounds =
        std::env::var("RADDLE_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(4000);
    for _ in 0..rounds {
        let program = Program::random(&mut random);
        let text = program.text();
        let Some(accepted) = accepted(&text) else { continue };
        match (program.race(), accepted) {
            (Some(race), true) => panic!("accepted, but {race}:\n{text}"),
            (Some(_), false) => races += 1,
            (None, proof) => {
                safe += 1;
                proved += u32::from(proof);
            }
        }
    }
    // What cannot be proved is rejected; most that is safe for n below 6 and beyond must be proved.
    assert!(safe > 300 && races > 300, "{safe} safe, {races} races: the generator is lopsided");
    assert!(proved * 100 >= safe * PROVED_PERCENT_MIN, "{proved} of {safe} proved");
}

/// Some programs are safe for the enumerator's small `n` only; what a loop computes is not followed, nor bits of an
/// index that goes up to `n`.
const PROVED_PERCENT_MIN: u32 = 75;
