//! Owns: trees as occam.
//! May use: `tree`.
//! Never: a bracket too few: occam's operators have no precedence.

use super::{Expr, GenProcess, SIZE, UNSIGNED};
use std::fmt::Write as _;

impl Expr {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Constant(value) => value.to_string(),
            Self::Variable(number) => format!("x{number}"),
            Self::Index(number) => format!("i{number}"),
            Self::Element(array, at) => format!("a{array}[{} /\\ {}]", at.text(), SIZE - 1),
            Self::Binary(sign, left, right) => format!("({} {sign} {})", left.text(), right.text()),
            Self::Triple(value) => format!("triple ({})", value.text()),
            Self::Distance(left, right) => format!("distance ({}, {})", left.text(), right.text()),
            Self::Byte(value) => format!("(INT (BYTE ({} /\\ 255)))", value.text()),
            Self::Unsigned(kind, sign, left, right) => {
                let (ty, most) = UNSIGNED[*kind];
                let (left, right) = (left.text(), right.text());
                format!("(INT (({ty} ({left} /\\ {most})) {sign} ({ty} (({right} /\\ {most}) \\/ 1))))")
            }
            Self::Wide(left, right) => {
                format!("(INT (((INT64 {}) * (INT64 {})) / 65536(INT64)))", left.text(), right.text())
            }
        }
    }
}

fn body(list: &[GenProcess], indent: usize, text: &mut String) {
    let _ = writeln!(text, "{:indent$}SEQ", "");
    list.iter().for_each(|process| process.write(indent + 2, text));
}

impl GenProcess {
    pub(super) fn write(&self, indent: usize, text: &mut String) {
        let mut line = |offset: usize, content: &str| {
            let _ = writeln!(text, "{:width$}{content}", "", width = indent + offset);
        };
        match self {
            Self::Assign(to, value) => line(0, &format!("x{to} := {}", value.text())),
            Self::Swap(one, two, first, second) => {
                line(0, &format!("x{one}, x{two} := {}, {}", first.text(), second.text()));
            }
            Self::Store(array, at, value) => {
                line(0, &format!("a{array}[{} /\\ {}] := {}", at.text(), SIZE - 1, value.text()));
            }
            Self::Mix(by, variable) => {
                // What is passed to be changed may not be read by another parameter.
                line(0, &format!("INITIAL INT by IS {}:", by.text()));
                line(0, &format!("mix (by, x{variable})"));
            }
            Self::Send(channel, value) => line(0, &format!("c{channel} ! {}", value.text())),
            Self::Receive(channel, to, false) => line(0, &format!("c{channel} ? x{to}")),
            Self::Receive(channel, to, true) => {
                line(0, "PRI ALT");
                line(2, &format!("c{channel} ? x{to}"));
                line(4, "SKIP");
                line(2, "FALSE & SKIP");
                line(4, "STOP");
            }
            Self::Extended(channel, to, during) => {
                line(0, &format!("c{channel} ?? x{to}"));
                body(during, indent + 2, text);
            }
            Self::Each(array, index, value) => {
                line(0, &format!("PAR i{index} = 0 FOR {SIZE}"));
                line(2, &format!("a{array}[i{index}] := a{array}[i{index}] >< {}", value.text()));
            }
            _ => self.write_construct(indent, text),
        }
    }

    fn write_construct(&self, indent: usize, text: &mut String) {
        macro_rules! line {
            ($offset:expr, $($content:tt)*) => {{
                let _ = write!(text, "{:width$}", "", width = indent + $offset);
                let _ = writeln!(text, $($content)*);
            }};
        }
        match self {
            Self::If(left, sign, right, then, otherwise) => {
                line!(0, "IF");
                line!(2, "{} {sign} {}", left.text(), right.text());
                body(then, indent + 4, text);
                line!(2, "TRUE");
                body(otherwise, indent + 4, text);
            }
            Self::Case(selector, bodies) => {
                line!(0, "CASE {} /\\ 7", selector.text());
                for (option, list) in ["0, 1", "2", "ELSE"].into_iter().zip(bodies) {
                    line!(2, "{option}");
                    body(list, indent + 4, text);
                }
            }
            Self::Repeat(index, count, list) => {
                line!(0, "SEQ i{index} = 1 FOR {} /\\ 3", count.text());
                body(list, indent + 2, text);
            }
            Self::While(count, list) => {
                line!(0, "INITIAL INT left IS {count}:");
                line!(0, "WHILE left > 0");
                line!(2, "SEQ");
                line!(4, "left := left - 1");
                body(list, indent + 4, text);
            }
            Self::Par(channel, sender, receiver) => {
                line!(0, "CHAN INT c{channel}:");
                line!(0, "PAR");
                body(sender, indent + 2, text);
                body(receiver, indent + 2, text);
            }
            _ => self.write_dynamic(indent, text),
        }
    }

    fn write_dynamic(&self, indent: usize, text: &mut String) {
        macro_rules! line {
            ($offset:expr, $($content:tt)*) => {{
                let _ = write!(text, "{:width$}", "", width = indent + $offset);
                let _ = writeln!(text, $($content)*);
            }};
        }
        match self {
            Self::Meet(barrier, parts) => {
                let element = if barrier % 2 == 0 { "" } else { "[1]" };
                line!(0, "{}BARRIER b{barrier}:", if barrier % 2 == 0 { "" } else { "[2]" });
                line!(0, "PAR ENROLL b{barrier}{element}");
                for branch in 0..2 {
                    line!(2, "SEQ");
                    for part in parts {
                        body(&part[branch], indent + 4, text);
                        line!(4, "SYNC b{barrier}{element}");
                    }
                }
            }
            Self::Fork(by, variable, beside) => {
                line!(0, "INITIAL INT by IS {}:", by.text());
                line!(0, "FORKING");
                line!(2, "SEQ");
                line!(4, "FORK mix (by, x{variable})");
                body(beside, indent + 4, text);
            }
            Self::Activate(to, values) => {
                line!(0, "MOBILE STEPS process:");
                line!(0, "SEQ");
                line!(2, "process := MOBILE stepper");
                for value in values {
                    line!(2, "INITIAL INT sent IS {}:", value.text());
                    line!(2, "CHAN INT to, from:");
                    line!(2, "PAR");
                    line!(4, "to ! sent");
                    line!(4, "process (to?, from!)");
                    line!(4, "from ? x{to}");
                }
            }
            _ => self.write_mobile(indent, text),
        }
    }

    fn write_mobile(&self, indent: usize, text: &mut String) {
        macro_rules! line {
            ($offset:expr, $($content:tt)*) => {{
                let _ = write!(text, "{:width$}", "", width = indent + $offset);
                let _ = writeln!(text, $($content)*);
            }};
        }
        match self {
            Self::Carry(to, value) => {
                line!(0, "INITIAL INT sent IS {}:", value.text());
                line!(0, "NUMBERS! client:");
                line!(0, "NUMBERS? server:");
                line!(0, "CHAN MOBILE.CHAN carry:");
                line!(0, "SEQ");
                line!(2, "client, server := MOBILE NUMBERS");
                line!(2, "PAR");
                line!(4, "give (carry!, client)");
                line!(4, "MOBILE.CHAN any:");
                line!(4, "NUMBERS! got:");
                line!(4, "SEQ");
                line!(6, "carry ? any");
                line!(6, "got := any");
                line!(6, "got[in] ! sent");
                line!(4, "server[in] ? x{to}");
            }
            Self::Wrap(to, how, value) => {
                line!(0, "INITIAL PART made IS wrapped ({}):", value.text());
                line!(0, "HOLDER holder:");
                line!(0, "[2]PART parts:");
                line!(0, "MOBILE []MOBILE []INT rows:");
                line!(0, "SEQ");
                line!(2, "holder[parts][{}] := made", how % 2);
                line!(2, "parts[1] := holder[parts][{}]", how % 2);
                line!(2, "rows := MOBILE [2]MOBILE []INT");
                match how {
                    0 => line!(2, "rows[1] := parts[1][m]"),
                    1 => line!(2, "rows[1] := CLONE parts[1][m]"),
                    2 => line!(2, "rows[0], rows[1] := MOBILE [1]INT, parts[1][m]"),
                    _ => line!(2, "holder[m], rows[1] := CLONE parts[1][m], parts[1][m]"),
                }
                line!(2, "x{to} := rows[1][1]");
            }
            _ => {}
        }
    }
}
