//! Owns: a file's text with another list after `May use:`.
//! May use: nothing.
//! Never: a line outside the module's opening comment.
//!
//! What stood there and says more than a list goes below the story, as a paragraph of its own.

use super::{MayUse, OPENING};

/// Opens what the prose becomes.
const PROSE_OPENING: &str = "It uses ";
const COLUMNS_MAX: usize = 110;

/// Words that a list in prose has and that say nothing of their own.
const GLUE: [&str; 24] = [
    "a", "alone", "an", "and", "as", "but", "core", "crate", "for", "from", "in", "its", "library", "module",
    "nothing", "of", "only", "or", "s", "standard", "std", "the", "to", "with",
];

/// Fewer words than these beside names and glue say no more than the list does.
const WORDS_MIN: usize = 3;

/// `text` with `list` as its list; as it is if it has no such line.
pub(super) fn with_list(text: &str, list: &[String]) -> String {
    let Some(line) = MayUse::find(text) else { return text.to_owned() };
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let slashes = super::slashes(text).unwrap_or("//! ");
    let comment = lines.iter().take_while(|line| line.starts_with(slashes.trim_end())).count();
    let mut renewed = lines[..line.first].concat();
    push(&mut renewed, wrapped(slashes, &format!("{OPENING}{}", in_words(list))), ending);
    renewed.push_str(&lines[line.end..comment].concat());
    if says_more(&line.text, list) {
        push(&mut renewed, vec![slashes.trim_end().to_owned()], ending);
        push(&mut renewed, wrapped(slashes, &format!("{PROSE_OPENING}{}", line.text)), ending);
    }
    renewed.push_str(&lines[comment..].concat());
    renewed
}

fn push(text: &mut String, lines: Vec<String>, ending: &str) {
    for line in lines {
        text.push_str(&line);
        text.push_str(ending);
    }
}

/// The list in the grammar of the plate.
fn in_words(list: &[String]) -> String {
    if list.is_empty() {
        return "nothing.".to_owned();
    }
    let quoted: Vec<_> = list.iter().map(|entry| format!("`{entry}`")).collect();
    format!("{}.", quoted.join(", "))
}

/// `text` behind `slashes`, broken at spaces.
fn wrapped(slashes: &str, text: &str) -> Vec<String> {
    let mut lines = vec![slashes.trim_end().to_owned()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMNS_MAX => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{slashes}{word}")),
        }
    }
    lines
}

/// Whether `prose` has words enough other than names of modules, of crates and what joins them.
fn says_more(prose: &str, list: &[String]) -> bool {
    let outside = prose.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let words = outside.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | ':'));
    let words = words.filter(|word| word.chars().any(char::is_alphanumeric));
    words.filter(|word| !GLUE.contains(word) && !list.iter().any(|entry| entry == word)).count() >= WORDS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(may_use: &str, rest: &str, list: &[&str]) -> String {
        let list: Vec<_> = list.iter().map(|entry| (*entry).to_owned()).collect();
        let text = format!("//! Owns: a.\n//! May use: {may_use}\n//! Never: c.\n{rest}");
        let once = with_list(&text, &list);
        assert_eq!(with_list(&once, &list), once, "a second time changes nothing");
        once
    }

    #[test]
    fn the_list_is_renewed_and_the_rest_is_kept() {
        let rest = "//!\n//! Story.\n\nuse b;\n//! May use: not this.\n\tx  \n";
        let expected = format!("//! Owns: a.\n//! May use: `b`, `c::d`.\n//! Never: c.\n{rest}");
        assert_eq!(written("`b`, the standard library.", rest, &["b", "c::d"]), expected);
        assert_eq!(
            written("`b`.", "no end of line", &[]),
            "//! Owns: a.\n//! May use: nothing.\n//! Never: c.\nno end of line"
        );
    }

    #[test]
    fn a_plate_that_is_no_documentation_stays_so() {
        let text = "// Owns: a.\n// May use: `b`.\n// Never: c.\n\n//! May use: not this.\n";
        assert_eq!(with_list(text, &["d".to_owned()]), text.replace("`b`", "`d`"));
    }

    #[test]
    fn prose_goes_below_the_story() {
        let expected = "//! Owns: a.\n//! May use: `b`.\n//! Never: c.\n\
            //!\n//! Story.\n//!\n//! It uses `b` for what waits there.\nuse b;\n";
        assert_eq!(written("`b` for what waits there.", "//!\n//! Story.\nuse b;\n", &["b"]), expected);
        assert!(
            written("nothing, and never waits for anybody.", "", &[])
                .ends_with("nothing, and never waits for anybody.\n")
        );
        for list in ["`b` and libc, std only.", "nothing but memory.", "`b` for the word."] {
            assert!(!written(list, "", &["libc"]).contains("It uses"), "{list}");
        }
    }

    #[test]
    fn long_lists_are_broken_and_found_again() {
        let names: Vec<_> = (0..30).map(|number| format!("module_{number}")).collect();
        let list: Vec<_> = names.iter().map(String::as_str).collect();
        let text = written("x.", "", &list);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS_MAX), "{text}");
        assert_eq!(MayUse::find(&text).and_then(|line| line.entries().ok()), Some(names));
    }

    #[test]
    fn a_file_without_the_line_and_other_line_ends_are_kept() {
        assert_eq!(with_list("//! Owns: a.\n", &[]), "//! Owns: a.\n");
        let text = "//! Owns: a.\r\n//! May use: `b`.\r\n//! Never: c.\r\nx\r\n";
        assert_eq!(with_list(text, &["d".to_owned()]), text.replace("`b`", "`d`"));
    }
}
