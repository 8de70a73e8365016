//! Owns: a change of files as a text, and how it is made.
//! May use: `anyhow`.
//! Never: a place by its line number, which other changes would make wrong.
//!
//! The text is a unified diff without numbers. Before it stand what the change is, and its proof: lines for `sh`, after
//! `$ `; a line that ends with a backslash goes on. `--- PATH` begins a file and `@@` a hunk of it. In a hunk, lines
//! after a space or a minus stand in the file, one after the other and once only; lines after a plus come in. A hunk of
//! these alone makes the file, or goes to its end.

use anyhow::{Context as _, bail, ensure};

/// Some files, and what changes in each.
pub(super) struct Change {
    proof: Vec<String>,
    files: Vec<(String, Vec<Hunk>)>,
}

#[derive(Default)]
struct Hunk {
    old: String,
    new: String,
}

impl Change {
    pub(super) fn parse(text: &str) -> anyhow::Result<Change> {
        let mut change = Change { proof: Vec::new(), files: Vec::new() };
        let mut goes_on = false;
        for line in text.lines() {
            if let Some(path) = line.strip_prefix("--- ") {
                change.files.push((path.to_owned(), Vec::new()));
            } else if let Some((path, hunks)) = change.files.last_mut() {
                add(hunks, line).with_context(|| format!("{path}: {line}"))?;
            } else if goes_on {
                change.proof.last_mut().into_iter().for_each(|step| *step += &format!("\n{line}"));
                goes_on = line.ends_with('\\');
            } else if let Some(step) = line.strip_prefix("$ ") {
                change.proof.push(step.to_owned());
                goes_on = line.ends_with('\\');
            }
        }
        Ok(change)
    }

    /// The files that it changes or makes.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(path, _)| path.as_str())
    }

    /// What must succeed when it is made.
    pub(super) fn proof(&self) -> &[String] {
        &self.proof
    }

    /// The new text of each file, `old` being what a file holds before.
    pub(super) fn made(
        &self,
        old: impl Fn(&str) -> anyhow::Result<Option<String>>,
    ) -> anyhow::Result<Vec<(&str, String)>> {
        let new_text = |(path, hunks): &'_ (String, Vec<Hunk>)| {
            let before = old(path)?;
            let is_new = before.is_none();
            let mut text = before.unwrap_or_default();
            for hunk in hunks {
                ensure!(!is_new || hunk.old.is_empty(), "there is no {path}");
                text = hunk.replace(&text).with_context(|| format!("in {path}:\n{}", hunk.old))?;
            }
            anyhow::Ok(text)
        };
        self.files.iter().map(|file| Ok((file.0.as_str(), new_text(file)?))).collect()
    }
}

fn add(hunks: &mut Vec<Hunk>, line: &str) -> anyhow::Result<()> {
    if line.starts_with("@@") {
        hunks.push(Hunk::default());
        return Ok(());
    }
    let hunk = hunks.last_mut().context("a line before the first hunk")?;
    let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
    let (in_old, in_new) = match mark {
        " " => (true, true),
        "-" => (true, false),
        "+" => (false, true),
        _ => bail!("a line begins with a space, a plus or a minus"),
    };
    for (is_in, text) in [(in_old, &mut hunk.old), (in_new, &mut hunk.new)] {
        if is_in {
            *text += rest;
            text.push('\n');
        }
    }
    Ok(())
}

impl Hunk {
    fn replace(&self, text: &str) -> anyhow::Result<String> {
        if self.old.is_empty() {
            return Ok(format!("{text}{}", self.new));
        }
        let at_line = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b'\n';
        let found: Vec<_> = text.match_indices(&self.old).map(|(at, _)| at).filter(at_line).collect();
        let [at] = found[..] else { bail!("these lines stand there {} times, not once", found.len()) };
        Ok(format!("{}{}{}", &text[..at], self.new, &text[at + self.old.len()..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "Adds d.\n$ first \\\n  line\n$ second\n--- a.txt\n@@\n a\n-b\n+d\n@@\n+e\n--- new.txt\n@@\n+x\n+\n";

    fn made(a: &str) -> anyhow::Result<Vec<(String, String)>> {
        let change = Change::parse(TEXT)?;
        let made = change.made(|path| Ok((path == "a.txt").then(|| a.to_owned())))?;
        Ok(made.into_iter().map(|(path, text)| (path.to_owned(), text)).collect())
    }

    #[test]
    fn hunks_replace_append_and_make() {
        let expected = [("a.txt", "c\na\nd\nb\ne\n"), ("new.txt", "x\n\n")];
        let made = made("c\na\nb\nb\n").unwrap();
        assert!(made.iter().map(|(path, text)| (path.as_str(), text.as_str())).eq(expected), "{made:?}");
        assert_eq!(Change::parse(TEXT).unwrap().proof(), ["first \\\n  line", "second"]);
    }

    #[test]
    fn a_place_that_is_gone_or_not_the_only_one_is_refused() {
        for text in ["a\nc\n", "a\nb\na\nb\n", "xa\nb\n"] {
            assert!(made(text).is_err(), "{text}");
        }
        assert!(Change::parse("--- a\n@@\nx\n").is_err());
        assert!(Change::parse("--- a\n+x\n").is_err());
        let gone = Change::parse("--- a\n@@\n x\n").unwrap();
        assert!(gone.made(|_| Ok(None)).is_err());
    }
}
