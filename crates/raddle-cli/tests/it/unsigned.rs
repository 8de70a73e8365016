//! Owns: the arithmetic of the UINT types, and conversions from and to them, beside Rust's.
//! May use: `programs`, which compiles and runs.
//! Never: an expectation that was written down by hand.

use super::programs::{compile, run};
use raddle_host::RunOptions;
use std::fmt::Write as _;

/// A whole-number type: its name, its smallest and largest value.
struct Whole(&'static str, i128, i128);

const UNSIGNED: [Whole; 5] = [
    Whole("UINT8", 0, u8::MAX as i128),
    Whole("UINT16", 0, u16::MAX as i128),
    Whole("UINT32", 0, u32::MAX as i128),
    Whole("UINT", 0, u32::MAX as i128),
    Whole("UINT64", 0, u64::MAX as i128),
];
const OTHERS: [Whole; 5] = [
    Whole("BYTE", 0, u8::MAX as i128),
    Whole("INT16", i16::MIN as i128, i16::MAX as i128),
    Whole("INT32", i32::MIN as i128, i32::MAX as i128),
    Whole("INT", i32::MIN as i128, i32::MAX as i128),
    Whole("INT64", i64::MIN as i128, i64::MAX as i128),
];

impl Whole {
    fn bits(&self) -> u32 {
        (self.2 - self.1 + 1).trailing_zeros()
    }

    fn has(&self, value: i128) -> bool {
        (self.1..=self.2).contains(&value)
    }

    fn literal(&self, value: i128) -> String {
        match value {
            _ if value == self.1 && value < 0 => format!("(MOSTNEG {})", self.0),
            0.. => format!("{value}({})", self.0),
            _ => format!("(-{}({}))", -value, self.0),
        }
    }

    /// The ends, what lies beside them, and some in between.
    fn values(&self) -> Vec<i128> {
        let half = 1 << (self.bits() - 1);
        let mut list = vec![self.1, self.1 + 1, 3, 10, half - 1, half, half + 1, self.2 - 1, self.2];
        // xorshift64, Marsaglia 2003.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..2 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            list.push(self.1 + i128::from(state) % (self.2 - self.1 + 1));
        }
        list.retain(|&value| self.has(value));
        list.sort_unstable();
        list.dedup();
        list
    }
}

const HEX: &str = "PROC hex (VAL UINT64 n, CHAN BYTE out!)
  SEQ
    SEQ i = 0 FOR 16
      VAL digit IS INT ((n >> (60 - (4 * i))) /\\ #F(UINT64)):
      IF
        digit < 10
          out ! BYTE (digit + (INT '0'))
        TRUE
          out ! BYTE ((digit - 10) + (INT 'a'))
    out ! '*n'
:
PROC whole (VAL INT64 n, CHAN BYTE out!)
  VAL UINT64 bits RETYPES n:
  hex (bits, out!)
:
PROC truth (VAL BOOL b, CHAN BYTE out!)
  IF
    b
      hex (1, out!)
    TRUE
      hex (0, out!)
:
";

/// A program, and what it is to write; `None` if it is to fail.
#[derive(Default)]
struct Cases {
    body: String,
    wanted: Vec<Option<u64>>,
}

impl Cases {
    /// `value` of variables with these values.
    fn add(
        &mut self,
        shown: &str,
        ty: &str,
        variables: &[(char, &Whole, i128)],
        value: &str,
        wanted: Option<i128>,
    ) {
        let mut body = String::new();
        for (name, of, value) in variables {
            let _ = writeln!(body, "    INITIAL {} {name} IS {}:", of.0, of.literal(*value));
        }
        let value = if ty.is_empty() { value.to_owned() } else { format!("{ty} ({value})") };
        let _ = writeln!(body, "    {shown} ({value}, screen!)");
        match wanted {
            Some(wanted) => {
                self.body += &body;
                self.wanted.push(Some(wanted as u64));
            }
            None => assert_eq!(outcome(&body), None, "this is to fail:\n{body}"),
        }
    }

    fn check(self) {
        let wanted: String = self.wanted.iter().flatten().map(|it| format!("{it:016x}\n")).collect();
        let got = outcome(&self.body).expect("it ends");
        for (at, (got, wanted)) in got.lines().zip(wanted.lines()).enumerate() {
            let case = self.body.split_inclusive("screen!)\n").nth(at).unwrap_or_default();
            assert_eq!(got, wanted, "case {at}:\n{case}");
        }
        assert_eq!(got, wanted);
    }
}

fn outcome(body: &str) -> Option<String> {
    let text = format!("{HEX}PROC main (CHAN BYTE screen!)\n  SEQ\n{body}:\n");
    run(&compile(&text), RunOptions { workers: 1, memory_bytes: 1 << 22, ..RunOptions::default() })
}

#[test]
fn operators_on_unsigned_types_do_as_numbers_do() {
    for ty in &UNSIGNED {
        let mut cases = Cases::default();
        let modulus = ty.2 + 1;
        let fits = |value: i128| Some(value).filter(|&value| ty.has(value));
        // Of what fails, each takes a program of its own: one for each kind.
        let mut failed = [0; 5];
        for (one, a) in ty.values().into_iter().enumerate() {
            for (other, b) in ty.values().into_iter().enumerate() {
                let checked = [
                    ("+", fits(a + b)),
                    ("-", fits(a - b)),
                    ("*", a.checked_mul(b).and_then(fits)),
                    ("/", a.checked_div(b)),
                    ("\\", a.checked_rem(b)),
                ];
                let both = [('a', ty, a), ('b', ty, b)];
                // Each pair with some of the operators, each operator with many pairs.
                let some = |number: usize| (one + 2 * other + number).is_multiple_of(3);
                for (number, (operator, wanted)) in checked.into_iter().enumerate() {
                    failed[number] += usize::from(wanted.is_none());
                    if wanted.is_some() && some(number) || wanted.is_none() && failed[number] % 16 == 1 {
                        cases.add("hex", "UINT64", &both, &format!("a {operator} b"), wanted);
                    }
                }
                let product = (a as u128).wrapping_mul(b as u128) as i128 & (modulus - 1);
                let wrapping = [
                    ("PLUS", (a + b) % modulus),
                    ("MINUS", (a - b).rem_euclid(modulus)),
                    ("TIMES", product),
                    ("/\\", a & b),
                    ("\\/", a | b),
                    ("><", a ^ b),
                ];
                for (number, (operator, wanted)) in wrapping.into_iter().enumerate() {
                    if some(number) {
                        cases.add("hex", "UINT64", &both, &format!("a {operator} b"), Some(wanted));
                    }
                }
                let after = (a - b).rem_euclid(modulus);
                let relations = [
                    ("<", a < b),
                    (">", a > b),
                    ("<=", a <= b),
                    (">=", a >= b),
                    ("=", a == b),
                    ("<>", a != b),
                    ("AFTER", after != 0 && after < modulus / 2),
                ];
                for (number, (operator, wanted)) in relations.into_iter().enumerate() {
                    if some(number) {
                        cases.add("truth", "", &both, &format!("a {operator} b"), Some(i128::from(wanted)));
                    }
                }
            }
            for places in [0, 1, 7, ty.bits() as i128 - 1, ty.bits() as i128] {
                let both = [('a', ty, a), ('n', &OTHERS[3], places)];
                cases.add("hex", "UINT64", &both, "a << n", Some((a << places) % modulus));
                cases.add("hex", "UINT64", &both, "a >> n", Some(a >> places));
            }
            let alone = [('a', ty, a)];
            cases.add("hex", "UINT64", &alone, "~a", Some(modulus - 1 - a));
            cases.add("hex", "UINT64", &alone, "MINUS a", Some((-a).rem_euclid(modulus)));
        }
        cases.check();
    }
}

/// The same by the compiler, which knows the values.
#[test]
fn constants_of_unsigned_types_are_folded_as_they_are_computed() {
    let mut cases = Cases::default();
    for ty in &UNSIGNED {
        let (top, modulus) = (ty.2, ty.2 + 1);
        let name = ty.0;
        for (value, wanted) in [
            (format!("MOSTPOS {name}"), top),
            (format!("MOSTNEG {name}"), 0),
            (format!("(MOSTPOS {name}) PLUS 1({name})"), 0),
            (format!("0({name}) MINUS 1({name})"), top),
            (format!("(MOSTPOS {name}) / 3({name})"), top / 3),
            (format!("(MOSTPOS {name}) >> 3"), top >> 3),
            (format!("~5({name})"), top - 5),
            (format!("{name} (MOSTPOS {name})"), top),
            (format!("{top}({name}) - 1({name})"), top - 1),
            (format!("#{:X}({name})", modulus / 2), modulus / 2),
        ] {
            let _ = writeln!(cases.body, "    VAL {name} v IS {value}:\n    hex (UINT64 v, screen!)");
            cases.wanted.push(Some(wanted as u64));
        }
        let _ = writeln!(cases.body, "    VAL b IS (MOSTPOS {name}) > 1({name}):\n    truth (b, screen!)");
        cases.wanted.push(Some(1));
    }
    cases.check();
}

#[test]
fn conversions_keep_the_value_or_stop() {
    let mut cases = Cases::default();
    let mut failed = 0;
    for (from, to) in
        UNSIGNED.iter().chain(&OTHERS).flat_map(|from| UNSIGNED.iter().map(move |to| (from, to)))
    {
        for (from, to) in [(from, to), (to, from)] {
            for value in from.values() {
                let fits = to.has(value);
                failed += usize::from(!fits);
                if !fits && failed % 16 != 1 {
                    continue;
                }
                let (shown, wide) = if to.1 < 0 { ("whole", "INT64") } else { ("hex", "UINT64") };
                let wanted = Some(value).filter(|_| fits);
                cases.add(shown, wide, &[('a', from, value)], &format!("{} a", to.0), wanted);
            }
        }
    }
    cases.check();
}

#[test]
fn reals_are_rounded_and_cut_off() {
    let mut cases = Cases::default();
    let ulong = &UNSIGNED[4];
    let mut values = ulong.values();
    // Halfway between two neighbours, and beside it.
    values.extend([1 << 53, (1 << 53) + 1, (1 << 63) + 1024, (1 << 63) + 1025, (1 << 63) + 3072]);
    for value in values {
        let nearest = value as u64 as f64;
        let below = if nearest > value as f64 || nearest as u128 as i128 > value {
            nearest.next_down()
        } else {
            nearest
        };
        for (how, real) in [("ROUND", nearest), ("TRUNC", below)] {
            let _ = writeln!(
                cases.body,
                "    INITIAL UINT64 a IS {}:\n    REAL64 r:\n    SEQ\n      r := REAL64 {how} a\n      \
                 VAL UINT64 bits RETYPES r:\n      hex (bits, screen!)",
                ulong.literal(value)
            );
            cases.wanted.push(Some(real.to_bits()));
        }
    }
    for (real, how, to, wanted) in [
        ("2.5", "ROUND", 4, Some(2)),
        ("2.5", "TRUNC", 4, Some(2)),
        ("9223372036854775808.0", "ROUND", 4, Some(1 << 63)),
        ("18446744073709549568.0", "TRUNC", 4, Some(18_446_744_073_709_549_568)),
        ("18446744073709551616.0", "TRUNC", 4, None),
        ("-1.0", "TRUNC", 4, None),
        ("-0.25", "TRUNC", 4, Some(0)),
        ("4294967295.4", "ROUND", 2, Some(4_294_967_295)),
        ("4294967295.5", "ROUND", 2, None),
        ("65535.9", "TRUNC", 1, Some(65_535)),
        ("65536.0", "TRUNC", 1, None),
        ("255.0", "ROUND", 0, Some(255)),
        ("256.0", "ROUND", 0, None),
    ] {
        let to = UNSIGNED[to].0;
        let body =
            format!("    INITIAL REAL64 r IS {real}(REAL64):\n    hex (UINT64 ({to} {how} r), screen!)\n");
        match wanted {
            Some(wanted) => {
                cases.body += &body;
                cases.wanted.push(Some(wanted));
            }
            None => assert_eq!(outcome(&body), None, "this is to fail:\n{body}"),
        }
    }
    let got = outcome(&cases.body).expect("it ends");
    let wanted: String = cases.wanted.iter().flatten().map(|it| format!("{it:016x}\n")).collect();
    assert_eq!(got, wanted);
}

const PLACES: &str = "DATA TYPE PAIR
  RECORD
    UINT16 left:
    UINT64 right:
:
UINT16 FUNCTION twice (VAL UINT16 n) IS n + n:
PROC change (UINT16 a, UINT32 b, RESULT UINT64 c)
  SEQ
    a := a + 1
    b := b >> 1
    c := UINT64 b
:
PROC main (CHAN BYTE screen!)
  CHAN UINT16 c:
  CHAN UINT16::[]UINT32 d:
  PAIR p:
  [3]UINT16 a:
  [4]UINT32 w:
  UINT16 n:
  UINT64 big:
  SEQ
    PAR
      c ! 65535
      c ? a[1]
    PAR
      d ! 3(UINT16)::[1(UINT32), 4000000000(UINT32), 3(UINT32)]
      d ? n::w
    p[left] := a[1] - 5535
    p[right] := MOSTPOS UINT64
    hex (UINT64 a[1], screen!)
    hex (UINT64 p[left], screen!)
    hex (p[right], screen!)
    hex (UINT64 n, screen!)
    hex (UINT64 w[1], screen!)
    p[left] := 32767
    hex (UINT64 (twice (p[left])), screen!)
    a[1] := 65534
    change (a[1], w[1], big)
    hex (UINT64 a[1], screen!)
    hex (big, screen!)
    CASE a[1]
      65535
        truth (TRUE, screen!)
      ELSE
        truth (FALSE, screen!)
    CASE w[1]
      2000000000
        truth (TRUE, screen!)
      ELSE
        truth (FALSE, screen!)
    CASE p[right]
      18446744073709551615
        truth (TRUE, screen!)
      ELSE
        truth (FALSE, screen!)
    [3]UINT16 moved:
    SEQ
      moved := a
      hex (UINT64 moved[1], screen!)
:
";

/// In arrays, records, messages, parameters and counts.
#[test]
fn unsigned_values_lie_where_others_do() {
    let wanted: [u64; 12] =
        [65_535, 60_000, u64::MAX, 3, 4_000_000_000, 65_534, 65_535, 2_000_000_000, 1, 1, 1, 65_535];
    let wanted: String = wanted.iter().map(|it| format!("{it:016x}\n")).collect();
    let compiled = compile(&format!("{HEX}{PLACES}"));
    for workers in [1, 2] {
        let options =
            RunOptions { workers, at_once: workers > 1, memory_bytes: 1 << 22, ..RunOptions::default() };
        assert_eq!(run(&compiled, options), Some(wanted.clone()), "{workers}");
    }
}
