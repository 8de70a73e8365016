//! Owns: Tock's programs that must be accepted or refused.
//! May use: `anyhow`.
//! Never: believes an expectation that is wrong; those are listed, each with the reason.
//!
//! A file is a program with holes, lines that begin with `%%`, and then the cases: a line `%PASS name` or `%FAIL name`
//! and what is put into the hole; a line `%2` begins what is put into the hole `%%2`. A line with a single `%` ends
//! the file.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Way, files};

/// Cases whose expectation is wrong, by file and number, and why.
const WRONG: &[(&str, usize, &str)] =
    &[("usage-check-2", 10, "b[(j*8)+i] with i below 9 touches b[8] twice: the program is unsafe")];

/// Programs that the suite would accept and the language's rules do not, and by which rule.
const REFUSED: &[(&str, usize, &str)] = &[
    (
        "abbrev-check-1",
        10,
        "A2: the PROC changes x, which is passed as VAL; KRoC refuses it, and the suite is unsure",
    ),
    ("initial-result-1", 11, "A1: `var.r` is read while it is abbreviated, and no pragma permits it"),
];

/// Of the programs to be accepted, this share must be.
const ACCEPTED_MIN: f64 = 0.85;

/// One program with what is expected of it.
#[derive(Debug, PartialEq)]
struct Case {
    accepted: bool,
    name: String,
    text: String,
}

/// The table, and whether enough is as expected.
pub(super) fn table(raddle: &Path, folder: &Path, explain: bool) -> anyhow::Result<(String, bool)> {
    let mut text = String::from("Tock                        refused     accepted\n");
    let mut told = String::new();
    let (mut refused, mut to_refuse, mut accepted, mut to_accept) = (0, 0, 0, 0);
    for file in files(folder, |name| name.ends_with(".occ.test"))? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().replace(".occ.test", "");
        let mut counts = [[0; 2]; 2];
        for (number, case) in cases(&std::fs::read_to_string(&file)?).iter().enumerate() {
            let wrong = WRONG.iter().find(|wrong| (wrong.0, wrong.1) == (name.as_str(), number + 1));
            let expected = case.accepted && wrong.is_none();
            let (got, complaint) = check(raddle, &case.text)?;
            counts[usize::from(expected)][0] += usize::from(got == expected);
            counts[usize::from(expected)][1] += 1;
            if got != expected && (explain || got) {
                let what = if expected { "refused, and should not be" } else { "ACCEPTED, and must not be" };
                let known = REFUSED.iter().find(|known| (known.0, known.1) == (name.as_str(), number + 1));
                let why = known.map_or(complaint.as_str(), |known| known.2);
                let _ = writeln!(told, "{name} {} ({}): {what}: {why}", number + 1, case.name);
            }
        }
        let [[no, of_no], [yes, of_yes]] = counts;
        let _ = writeln!(text, "{name:<28}{no:>3} of {of_no:<4} {yes:>3} of {of_yes}");
        refused += no;
        to_refuse += of_no;
        accepted += yes;
        to_accept += of_yes;
    }
    let share = accepted as f64 / f64::from(to_accept.max(1) as u32);
    let _ = writeln!(
        text,
        "{:<28}{refused:>3} of {to_refuse:<4} {accepted:>3} of {to_accept} ({:.1} %)\n{told}",
        "all",
        share * 100.0
    );
    Ok((text, refused == to_refuse && share >= ACCEPTED_MIN))
}

/// Runs what is accepted, in each of the ways: it must end and write as in the first, or be refused with its words.
/// Gives how many of them do, and those that do not.
pub(super) fn runs(raddle: &Path, folder: &Path, ways: &[Way]) -> anyhow::Result<(String, bool)> {
    let (mut told, mut same, mut count) = (String::new(), 0, 0);
    for file in files(folder, |name| name.ends_with(".occ.test"))? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().replace(".occ.test", "");
        for (number, case) in cases(&std::fs::read_to_string(&file)?).iter().enumerate() {
            if !check(raddle, &case.text)?.0 {
                continue;
            }
            let first = outcome(raddle, &case.text, ways[0].options)?;
            count += 1;
            let mut others = ways.iter().skip(1);
            let other = others.find_map(|way| match outcome(raddle, &case.text, way.options) {
                Ok(other) if other == first => None,
                other => Some((way, other)),
            });
            match other {
                None => same += 1,
                Some((way, other)) => {
                    let _ =
                        writeln!(told, "{name} {}: {first:?}, but {}: {:?}", number + 1, way.name, other?);
                }
            }
        }
    }
    let names: Vec<&str> = ways.iter().map(|way| way.name).collect();
    Ok((
        format!("Tock's programs that are the same {}: {same} of {count}\n{told}", names.join(", ")),
        same == count,
    ))
}

/// How a program ends within ten seconds (124 if it does not), what it writes, and what is said of it.
fn outcome(raddle: &Path, text: &str, options: &[&str]) -> anyhow::Result<(Option<i32>, String, String)> {
    let output = with_file(text, |file| {
        let mut command = Command::new("timeout");
        command.arg("10").arg(raddle).args(["run", "--undefined-warns"]).args(options).arg(file);
        command.stdin(Stdio::null()).output()
    })?;
    let [screen, said] = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    Ok((output.status.code(), screen, said))
}

/// Does something with a file that holds a program.
fn with_file<T>(text: &str, what: impl FnOnce(&Path) -> std::io::Result<T>) -> anyhow::Result<T> {
    let file = std::env::temp_dir().join(format!("raddle-conformance-{}.occ", std::process::id()));
    std::fs::write(&file, text)?;
    let done = what(&file);
    std::fs::remove_file(&file)?;
    Ok(done?)
}

/// Whether `raddle check` accepts a program, and its first complaint.
fn check(raddle: &Path, text: &str) -> anyhow::Result<(bool, String)> {
    let output =
        with_file(text, |file| Command::new(raddle).args(["check", "--undefined-warns"]).arg(file).output())?;
    let said = String::from_utf8_lossy(&output.stderr);
    let complaint = said.lines().find(|line| line.starts_with("error")).unwrap_or_default();
    Ok((output.status.success(), complaint.to_owned()))
}

/// What is put into the holes of each name.
type Parts = Vec<(String, String)>;

/// The programs of a file.
fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<(bool, String, Parts)> = Vec::new();
    let mut frame = Vec::new();
    for line in text.lines() {
        if let Some(word) = line.strip_prefix('%').filter(|word| !word.starts_with('%')) {
            match (word.strip_prefix("PASS"), word.strip_prefix("FAIL")) {
                (Some(name), _) => cases.push((true, name.trim().to_owned(), vec![<_>::default()])),
                (_, Some(name)) => cases.push((false, name.trim().to_owned(), vec![<_>::default()])),
                _ if word.trim().is_empty() => break,
                _ => {
                    if let Some((_, _, parts)) = cases.last_mut() {
                        parts.push((word.trim().to_owned(), String::new()));
                    }
                }
            }
            continue;
        }
        match cases.last_mut().and_then(|(_, _, parts)| parts.last_mut()) {
            Some((_, part)) => *part += &format!("{line}\n"),
            None => frame.push(line),
        }
    }
    let fill = |parts: &[(String, String)]| {
        let mut text = String::new();
        for line in &frame {
            match line.strip_prefix("%%") {
                Some(hole) => {
                    let part = parts.iter().find(|(name, _)| name == hole.trim());
                    text += part.map_or("", |(_, part)| part);
                }
                None => text += &format!("{line}\n"),
            }
        }
        text
    };
    cases
        .iter()
        .map(|(accepted, name, parts)| Case { accepted: *accepted, name: name.clone(), text: fill(parts) })
        .collect()
}

#[test]
fn holes_are_filled_by_name() {
    let found = cases("A\n%%\n%%2\nB\n\n%PASS one\n  x\n%2\n  y\n%FAIL two\n  z\n%\nrest\n");
    let case =
        |accepted, name: &str, text: &str| Case { accepted, name: name.to_owned(), text: text.to_owned() };
    assert_eq!(found, [case(true, "one", "A\n  x\n  y\nB\n\n"), case(false, "two", "A\n  z\nB\n\n")]);
}
