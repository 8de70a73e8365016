//! Owns: a page of Markdown as a page of the manual.
//! May use: nothing.
//! Never: a link: what it leads to is not where the page is installed.
//!
//! As much of Markdown as the pages in `docs/` use: headings, paragraphs, lists, tables, fenced examples, code and
//! emphasis within a line.

use std::fmt::Write as _;

/// The page, of this section of the manual.
pub(crate) fn page(title: &str, section: u8, version: &str, markdown: &str) -> String {
    let mut out = format!(".TH \"{title}\" \"{section}\" \"\" \"Raddle {version}\" \"Raddle's manual\"\n");
    let mut is_code = false;
    let mut is_table = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            out.push_str(if is_code { ".EE\n.RE\n" } else { ".PP\n.RS 4\n.EX\n" });
            is_code = !is_code;
        } else if is_code {
            let _written = writeln!(out, "{}", verbatim(line));
        } else {
            table_ends_or_begins(&mut out, &mut is_table, line.starts_with('|'));
            text(&mut out, &title.to_lowercase(), line);
        }
    }
    table_ends_or_begins(&mut out, &mut is_table, false);
    out
}

/// Rows stand as they are.
fn table_ends_or_begins(out: &mut String, is_table: &mut bool, is_row: bool) {
    if is_row != *is_table {
        out.push_str(if is_row { ".PP\n.nf\n" } else { ".fi\n" });
        *is_table = is_row;
    }
}

fn text(out: &mut String, name: &str, line: &str) {
    let _written = if line.starts_with("# ") {
        // The title of a page has the form that programs which list pages read.
        writeln!(out, ".SH NAME\n{name} \\- {}", inline(line.trim_start_matches("# ")))
    } else if let Some(heading) = line.strip_prefix("## ") {
        writeln!(out, ".SH {}", inline(heading))
    } else if let Some(heading) = line.strip_prefix("### ") {
        writeln!(out, ".SS {}", inline(heading))
    } else if let Some(item) = line.strip_prefix("- ") {
        writeln!(out, ".IP \\(bu 2\n{}", inline(item))
    } else if line.starts_with("|-") || line.starts_with("|:") {
        Ok(())
    } else if line.is_empty() {
        writeln!(out, ".PP")
    } else {
        writeln!(out, "{}", inline(line.trim_start()))
    };
}

/// Of a line of code.
fn verbatim(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

/// Code and what is emphasized are bold; a link is its text.
fn inline(line: &str) -> String {
    let mut out = String::new();
    let mut is_bold = false;
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        if rest.starts_with('`') || rest.starts_with("**") {
            is_bold = !is_bold;
            out.push_str(if is_bold { "\\fB" } else { "\\fR" });
            rest = &rest[if next == '`' { 1 } else { 2 }..];
        } else if let Some((words, after)) = link(rest) {
            out.push_str(&inline(words));
            rest = after;
        } else {
            out.push_str(&verbatim_within(next));
            rest = &rest[next.len_utf8()..];
        }
    }
    if out.starts_with(['.', '\'']) { format!("\\&{out}") } else { out }
}

fn verbatim_within(letter: char) -> String {
    match letter {
        '\\' => "\\e".to_owned(),
        '-' => "\\-".to_owned(),
        other => other.to_string(),
    }
}

/// `[words](address)` at the beginning: the words, and what follows.
fn link(text: &str) -> Option<(&str, &str)> {
    let (words, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (_, after) = rest.split_once(')')?;
    (!words.contains('[')).then_some((words, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(markdown: &str, expected: &str) {
        let page = page("T", 3, "1.0", markdown);
        assert_eq!(page.split_once('\n').unwrap().1, expected);
    }

    #[test]
    fn headings_lists_and_words() {
        check("# A page", ".SH NAME\nt \\- A page\n");
        check(
            "## Locks\n\nA `raddle_x` [is](y.md) **so**.",
            ".SH Locks\n.PP\nA \\fBraddle_x\\fR is \\fBso\\fR.\n",
        );
        check("- one\n- two", ".IP \\(bu 2\none\n.IP \\(bu 2\ntwo\n");
    }

    #[test]
    fn examples_and_tables_stand_as_they_are() {
        check("```c\n.x - \\n\n```", ".PP\n.RS 4\n.EX\n\\&.x \\- \\en\n.EE\n.RE\n");
        check("| a |\n|---|\n| b |", ".PP\n.nf\n| a |\n| b |\n.fi\n");
    }
}
