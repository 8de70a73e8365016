//! Owns: `raddle explain`: the long texts of the codes.
//! May use: `raddle-occam`.
//! Never: text of its own about a code; that is in the table.

use std::fmt::Write as _;

use raddle_occam::diag::{CODES, Code, CodeEntry, Severity};

const WIDTH_MAX: usize = 80;
const NEAR_MAX: usize = 3;

/// `raddle explain`.
#[derive(clap::Args)]
pub(crate) struct Explain {
    /// A code as `raddle check` shows it, such as O0701
    #[arg(value_name = "CODE", value_parser = code, required_unless_present = "list")]
    code: Option<Code>,

    /// List all codes
    #[arg(long, conflicts_with = "code")]
    list: bool,
}

impl Explain {
    /// The requested text.
    pub(crate) fn text(&self) -> String {
        match self.code {
            Some(code) => long(code.entry()),
            None => CODES.iter().map(|entry| format!("{}\n", short(entry))).collect(),
        }
    }
}

fn short(entry: &CodeEntry) -> String {
    let severity = match entry.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    format!("{}  {severity:<7}  {}", entry.code, entry.title)
}

fn long(entry: &CodeEntry) -> String {
    let mut text = format!("{}\n", short(entry));
    let mut width = WIDTH_MAX;
    for word in entry.explanation.split_whitespace() {
        let length = word.chars().count();
        let fits = width + 1 + length <= WIDTH_MAX;
        let _ = write!(text, "{}{word}", if fits { " " } else { "\n" });
        width = if fits { width + 1 + length } else { length };
    }
    text + "\n"
}

/// Parses a code; the error says how codes look and which are near.
fn code(text: &str) -> Result<Code, String> {
    if let Some(code) = Code::parse(&text.to_uppercase()) {
        return Ok(code);
    }
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let near = digits.parse().map_or(Vec::new(), near);
    let mut message = "a code is the letter O and four digits, such as O0701".to_owned();
    if !near.is_empty() {
        let _ = write!(message, "; near ones are {}", near.join(", "));
    }
    Err(message + "; `raddle explain --list` shows all")
}

/// The codes whose numbers are the nearest.
fn near(number: u32) -> Vec<String> {
    let mut entries: Vec<_> = CODES.iter().collect();
    entries.sort_by_key(|entry| u32::from(entry.number).abs_diff(number));
    entries.truncate(NEAR_MAX);
    entries.iter().map(|entry| entry.code.to_string()).collect()
}

#[test]
fn a_code_may_be_written_small_and_without_its_zeros() {
    for text in ["O0701", "o0701", "O701"] {
        assert_eq!(code(text), Ok(Code::RaceVariable), "{text}");
    }
}

#[test]
fn an_unknown_code_is_answered_with_near_ones() {
    assert!(code("E0701").is_err_and(|said| said.contains("near ones are O0701, O0702")));
    assert!(code("race").is_err_and(|said| said.contains("--list") && !said.contains("near")));
    assert!(code("O99999999999999999999").is_err_and(|said| said.contains("four digits")));
}

#[test]
fn lines_are_not_too_long_and_no_word_is_lost() {
    for entry in CODES {
        let text = long(entry);
        assert!(text.lines().skip(1).all(|line| line.chars().count() <= WIDTH_MAX), "{text}");
        let words: Vec<_> = text.lines().skip(1).flat_map(str::split_whitespace).collect();
        assert_eq!(words, entry.explanation.split_whitespace().collect::<Vec<_>>());
    }
}
