//! Owns: pages of the manual from a header of C: one for each of its groups, and one line for each function.
//! May use: `man`.
//! Never: a word that is not the header's.
//!
//! The header is written for it:
//!
//! | in the header | in the manual |
//! |---|---|
//! | the comment at its beginning, from `Returns:` on | what each page ends with |
//! | `/* ---- locks */`, with many dashes | the page `raddle_locks(3)` |
//! | a comment, and the declarations below it up to the next comment or empty line | a part of that page |
//! | a function | a page that is the group's |

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::man;

/// The files of the pages, and what stands in them.
pub(crate) fn pages(header: &str, version: &str) -> BTreeMap<String, String> {
    let common = common(header);
    let mut pages = BTreeMap::new();
    for (title, text) in groups(header) {
        let parts = parts(text);
        let name = format!("raddle_{}", title.replace(' ', "_"));
        let page = man::page(&name.to_uppercase(), 3, version, &markdown(title, &parts, &common));
        for function in parts.iter().flat_map(|part| functions(&part.code)) {
            pages.insert(format!("{function}.3"), format!(".so man3/{name}.3\n"));
        }
        pages.insert(format!("{name}.3"), page);
    }
    pages
}

/// The groups: their titles, and their text.
fn groups(header: &str) -> impl Iterator<Item = (&str, &str)> {
    let body = header.rsplit_once("#ifdef __cplusplus").map_or(header, |(body, _)| body);
    body.split("\n/* ----").skip(1).filter_map(|group| {
        let (title, text) = group.split_once("*/\n")?;
        Some((title.trim_matches(['-', ' ']), text))
    })
}

/// Declarations with what is said of them.
#[derive(Default)]
struct HeaderPart {
    comment: String,
    code: String,
}

fn parts(group: &str) -> Vec<HeaderPart> {
    let mut parts = vec![HeaderPart::default()];
    let mut is_comment = false;
    for line in group.lines() {
        let begins = line.starts_with("/*");
        let last = parts.last_mut().expect("there is one at least");
        let part = if !last.code.is_empty() && (begins || line.is_empty()) {
            parts.push(HeaderPart::default());
            parts.last_mut().expect("it has just been made")
        } else {
            last
        };
        if begins || is_comment {
            let words = line.trim_start_matches("/*").trim_start_matches(" *").trim_end_matches("*/");
            let _written = writeln!(part.comment, "{}", words.trim());
            is_comment = !line.ends_with("*/");
        } else if !line.is_empty() {
            let _written = writeln!(part.code, "{}", line.trim_start_matches("RADDLE_DIRECT "));
        }
    }
    parts.retain(|part| !part.code.is_empty());
    parts
}

/// The functions that are declared there.
fn functions(code: &str) -> impl Iterator<Item = &str> {
    let is_typedef = |line: &str| line.starts_with("typedef") || line.starts_with('#');
    code.lines().filter(move |line| !is_typedef(line)).filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        (!line.starts_with(' ') && name.starts_with("raddle_")).then_some(name)
    })
}

/// What the functions have in common.
fn common(header: &str) -> String {
    let first = header.split("*/").next().unwrap_or_default();
    let from = first.find(" * Returns:").map_or("", |at| &first[at..]);
    let mut common = String::new();
    for line in from.lines() {
        let line = line.trim_start_matches(" *").trim();
        let line = match line.split_once(": ") {
            Some((word, rest)) if word.starts_with(char::is_uppercase) && !word.contains('.') => {
                format!("**{word}**: {rest}")
            }
            _ => line.to_owned(),
        };
        let _written = writeln!(common, "{line}");
    }
    common
}

fn markdown(title: &str, parts: &[HeaderPart], common: &str) -> String {
    let mut out = format!("# Raddle: {title}\n\n## Synopsis\n\n```c\n#include <raddle.h>\n\n");
    for part in parts.iter().filter(|part| functions(&part.code).next().is_some()) {
        out.push_str(&part.code);
    }
    out.push_str("```\n\n## Description\n\n");
    for part in parts {
        let _written = write!(out, "```c\n{}```\n\n{}\n", part.code, part.comment);
    }
    let _written = write!(out, "## All functions\n\n{common}\n## See also\n\n`raddle(3)`\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "/* raddle.h - short.\n *\n * WHAT EACH HAS\n *\n * Returns: a code.\n *   More.\n */\n\
        #ifndef RADDLE_H\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n/* ------ locks */\n\n\
        typedef struct raddle_lock raddle_lock_t;\n\n/* Makes one. */\nint raddle_lock_create(raddle_lock_t **lock);\n\
        /* Takes it:\n * waits. */\ntypedef void (*raddle_turn)(int n);\nint raddle_lock(raddle_lock_t *lock,\n    \
        int (*how)(int));\n\n/* ------ looking on */\n\n/* Says. */\nconst char *raddle_say(void);\n\n\
        #ifdef __cplusplus\n}\n#endif\n";

    #[test]
    fn each_group_is_a_page_and_each_function_leads_there() {
        let pages = pages(HEADER, "1.0");
        let names: Vec<_> = pages.keys().map(String::as_str).collect();
        let expected = [
            "raddle_lock.3",
            "raddle_lock_create.3",
            "raddle_locks.3",
            "raddle_looking_on.3",
            "raddle_say.3",
        ];
        assert_eq!(names, expected);
        assert_eq!(pages["raddle_lock.3"], ".so man3/raddle_locks.3\n");
        let locks = &pages["raddle_locks.3"];
        assert!(locks.starts_with(".TH \"RADDLE_LOCKS\" \"3\""), "{locks}");
        assert!(locks.contains(".SH NAME\nraddle_locks \\- Raddle: locks\n"), "{locks}");
        assert!(locks.contains("Takes it:\nwaits.\n"), "{locks}");
        assert!(locks.contains("\\fBReturns\\fR: a code.\nMore.\n"), "{locks}");
        assert!(!locks.contains("raddle_say"), "{locks}");
    }
}
