//! Owns: the pages' Markdown as HTML: headings, paragraphs, lists, tables, code, links, pictures, emphasis.
//! May use: nothing.
//! Never: what the pages do not use; a test sees that nothing is left as it was written.

use std::fmt::Write as _;

/// What became of a page.
#[derive(Default)]
pub(crate) struct Rendered {
    pub(crate) html: String,
    pub(crate) title: String,
    /// Headings with their anchors, and the text below each.
    pub(crate) sections: Vec<Section>,
}

/// A heading and what stands below it.
#[derive(Default)]
pub(crate) struct Section {
    pub(crate) level: usize,
    pub(crate) title: String,
    pub(crate) anchor: String,
    pub(crate) text: String,
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The anchor of a heading, as code hosts make it.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// Makes HTML of a page. `link` says where the target of a link is, `below_code` what follows a block of code of a
/// language.
pub(crate) struct Renderer<'a> {
    pub(crate) link: &'a dyn Fn(&str) -> String,
    pub(crate) below_code: &'a dyn Fn(&str, &str) -> String,
}

/// A line that begins an item of a list: how far it is indented, whether it is numbered, its text.
fn item(line: &str) -> Option<(usize, bool, &str)> {
    let rest = line.trim_start();
    let indent = line.len() - rest.len();
    if let Some(text) = rest.strip_prefix("- ") {
        return Some((indent, false, text));
    }
    let (number, text) = rest.split_once(". ")?;
    let is_number = !number.is_empty() && number.len() < 3 && number.bytes().all(|it| it.is_ascii_digit());
    is_number.then_some((indent, true, text))
}

/// The cells of a row of a table: bars in code do not part them.
fn cells(line: &str) -> Vec<String> {
    let (mut all, mut cell, mut code, mut before) = (Vec::new(), String::new(), false, ' ');
    for character in line.trim().trim_start_matches('|').chars() {
        match character {
            '|' if before == '\\' => drop(cell.pop()),
            '|' if !code => {
                all.push(std::mem::take(&mut cell).trim().to_owned());
                before = character;
                continue;
            }
            '`' => code = !code,
            _ => {}
        }
        cell.push(character);
        before = character;
    }
    if !cell.trim().is_empty() {
        all.push(cell.trim().to_owned());
    }
    all
}

impl Renderer<'_> {
    pub(crate) fn page(&self, text: &str) -> Rendered {
        let mut page = Rendered::default();
        let lines: Vec<&str> = text.lines().collect();
        let mut at = 0;
        while let Some(&line) = lines.get(at) {
            at += match line.trim_start() {
                "" => 1,
                it if it.starts_with("<!--") => self.comment(&lines[at..]),
                it if it.starts_with("```") => self.code(&mut page, &lines[at..]),
                it if it.starts_with('#') => self.heading(&mut page, it),
                it if it.starts_with('|') => self.table(&mut page, &lines[at..]),
                _ if item(line).is_some() => self.list(&mut page, &lines[at..]),
                _ => self.paragraph(&mut page, &lines[at..]),
            };
        }
        page
    }

    fn comment(&self, lines: &[&str]) -> usize {
        lines.iter().position(|line| line.contains("-->")).map_or(lines.len(), |at| at + 1)
    }

    /// Adds to what is found by a search.
    fn note(page: &mut Rendered, text: &str) {
        if let Some(section) = page.sections.last_mut() {
            section.text.push_str(text);
            section.text.push(' ');
        }
    }

    fn heading(&self, page: &mut Rendered, line: &str) -> usize {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        let plain: String = title.trim().chars().filter(|&it| it != '`' && it != '*').collect();
        let anchor = slug(title);
        let _ = writeln!(page.html, "<h{level} id=\"{anchor}\">{}</h{level}>", self.inline(title.trim()));
        if level == 1 && page.title.is_empty() {
            page.title.clone_from(&plain);
        }
        page.sections.push(Section { level, title: plain, anchor, text: String::new() });
        1
    }

    fn code(&self, page: &mut Rendered, lines: &[&str]) -> usize {
        let indent = lines[0].len() - lines[0].trim_start().len();
        let language = lines[0].trim().trim_start_matches('`');
        let inside = lines[1..].iter().take_while(|line| !line.trim_start().starts_with("```"));
        let text: String =
            inside.clone().map(|line| format!("{}\n", line.get(indent..).unwrap_or(""))).collect();
        let word = language.split([',', ' ']).next().unwrap_or_default();
        // What a test needs and a reader does not, as rustdoc has it.
        let hidden = |line: &&str| word != "rust" || !(line.starts_with("# ") || *line == "#");
        let shown: String = text.lines().filter(hidden).map(|line| format!("{line}\n")).collect();
        let _ = write!(page.html, "<pre><code class=\"{word}\">{}</code></pre>", escaped(&shown));
        page.html += &(self.below_code)(word, &text);
        page.html.push('\n');
        Self::note(page, &text);
        inside.count() + 2
    }

    fn table(&self, page: &mut Rendered, lines: &[&str]) -> usize {
        let rows: Vec<&&str> = lines.iter().take_while(|line| line.trim_start().starts_with('|')).collect();
        page.html += "<div class=\"wide\"><table>\n";
        for (number, row) in rows.iter().enumerate().filter(|&(number, _)| number != 1) {
            let tag = if number == 0 { "th" } else { "td" };
            let cells = cells(row);
            let html: String = cells.iter().map(|it| format!("<{tag}>{}</{tag}>", self.inline(it))).collect();
            let _ = writeln!(page.html, "<tr>{html}</tr>");
            Self::note(page, &cells.join(" "));
        }
        page.html += "</table></div>\n";
        rows.len()
    }

    /// A list, with what belongs to each item: further lines, blocks of code, lists inside.
    fn list(&self, page: &mut Rendered, lines: &[&str]) -> usize {
        let (outer, numbered, _) = item(lines[0]).unwrap_or_default();
        let tag = if numbered { "ol" } else { "ul" };
        let _ = writeln!(page.html, "<{tag}>");
        let mut at = 0;
        while let Some((indent, kind, first)) = lines.get(at).and_then(|line| item(line)) {
            if indent != outer || kind != numbered {
                break;
            }
            let belongs =
                |line: &&&str| line.trim().is_empty() || line.len() - line.trim_start().len() > outer;
            let mut more: Vec<&str> = lines[at + 1..].iter().take_while(belongs).copied().collect();
            while more.last().is_some_and(|line| line.trim().is_empty()) {
                more.pop();
            }
            at += 1 + more.len();
            while lines.get(at).is_some_and(|line| line.trim().is_empty())
                && lines
                    .get(at + 1)
                    .is_some_and(|line| item(line).is_some_and(|it| (it.0, it.1) == (outer, numbered)))
            {
                at += 1;
            }
            page.html += "<li>";
            self.item(page, first, &more);
            page.html += "</li>\n";
        }
        let _ = writeln!(page.html, "</{tag}>");
        at.max(1)
    }

    fn item(&self, page: &mut Rendered, first: &str, more: &[&str]) {
        let begins = |line: &str| {
            line.trim().is_empty() || item(line).is_some() || line.trim_start().starts_with("```")
        };
        let plain = more.iter().take_while(|line| !begins(line)).count();
        let words: Vec<&str> =
            std::iter::once(first).chain(more[..plain].iter().map(|line| line.trim())).collect();
        let text = words.join(" ");
        page.html += &self.inline(&text);
        Self::note(page, &text);
        let mut at = plain;
        while let Some(&line) = more.get(at) {
            at += match line.trim_start() {
                "" => 1,
                it if it.starts_with("```") => self.code(page, &more[at..]),
                _ if item(line).is_some() => self.list(page, &more[at..]),
                _ => self.paragraph(page, &more[at..]),
            };
        }
    }

    fn paragraph(&self, page: &mut Rendered, lines: &[&str]) -> usize {
        let ends = |line: &&&str| {
            let it = line.trim_start();
            !it.is_empty() && !["#", "```", "|", "<!--"].iter().any(|other| it.starts_with(other))
        };
        let words: Vec<&str> = lines.iter().take_while(ends).map(|line| line.trim()).collect();
        // A list may follow a paragraph without an empty line.
        let count = 1 + words.iter().skip(1).take_while(|line| !line.starts_with("- ")).count();
        let text = words[..count.min(words.len())].join(" ");
        let _ = writeln!(page.html, "<p>{}</p>", self.inline(&text));
        Self::note(page, &text);
        count
    }

    /// Code, pictures, links, bold and slanted.
    fn inline(&self, text: &str) -> String {
        let (mut html, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(['`', '[', '!', '*', '<', '\\']) {
            html += &escaped(&rest[..at]);
            rest = &rest[at..];
            let (made, left) = self.mark(rest).unwrap_or_else(|| {
                let end = rest.chars().next().map_or(0, char::len_utf8);
                (escaped(&rest[..end]), &rest[end..])
            });
            html += &made;
            rest = left;
        }
        html + &escaped(rest)
    }

    fn mark<'t>(&self, rest: &'t str) -> Option<(String, &'t str)> {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        if ticks > 0 {
            let (code, left) = rest[ticks..].split_once(&rest[..ticks])?;
            return Some((format!("<code>{}</code>", escaped(code.trim())), left));
        }
        if let Some(body) = rest.strip_prefix("![") {
            let (words, after) = body.split_once("](")?;
            let (target, left) = after.split_once(')')?;
            let (target, words) = ((self.link)(target), escaped(words));
            return Some((format!("<img src=\"{}\" alt=\"{words}\">", escaped(&target)), left));
        }
        if let Some(body) = rest.strip_prefix('[') {
            let end = matching(body, '[', ']')?;
            let after = body[end + 1..].strip_prefix('(')?;
            let close = matching(after, '(', ')')?;
            let target = escaped(&(self.link)(&after[..close]));
            return Some((
                format!("<a href=\"{target}\">{}</a>", self.inline(&body[..end])),
                &after[close + 1..],
            ));
        }
        for (mark, tag) in [("**", "strong"), ("*", "em")] {
            if let Some(body) = rest.strip_prefix(mark)
                && body.starts_with(|c: char| !c.is_whitespace())
                && let Some((inside, left)) = body.split_once(mark)
            {
                return Some((format!("<{tag}>{}</{tag}>", self.inline(inside)), left));
            }
        }
        if let Some((address, left)) = rest.strip_prefix('<').and_then(|it| it.split_once('>'))
            && address.starts_with("http")
        {
            return Some((format!("<a href=\"{0}\">{0}</a>", escaped(address)), left));
        }
        let body = rest.strip_prefix('\\')?;
        let end = body.chars().next().filter(char::is_ascii_punctuation)?.len_utf8();
        Some((escaped(&body[..end]), &body[end..]))
    }
}

/// Where the bracket closes that was opened just before.
fn matching(text: &str, open: char, close: char) -> Option<usize> {
    let (mut depth, mut code) = (0, false);
    for (at, character) in text.char_indices() {
        match character {
            '`' => code = !code,
            _ if code => {}
            it if it == open => depth += 1,
            it if it == close && depth == 0 => return Some(at),
            it if it == close => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let renderer = Renderer { link: &|it| it.to_owned(), below_code: &|_, _| String::new() };
        renderer.page(text).html
    }

    #[test]
    fn each_form_becomes_its_element() {
        assert_eq!(html("# A `b` c\n"), "<h1 id=\"a-b-c\">A <code>b</code> c</h1>\n");
        assert_eq!(html("one\ntwo **b** *i*\n"), "<p>one two <strong>b</strong> <em>i</em></p>\n");
        assert_eq!(html("[`a`](x_(y)) <b>"), "<p><a href=\"x_(y)\"><code>a</code></a> &lt;b&gt;</p>\n");
        assert_eq!(html("```rust\na < b\n```\n"), "<pre><code class=\"rust\">a &lt; b\n</code></pre>\n");
        assert_eq!(html("<!-- a\nb -->\n![w](p.svg)"), "<p><img src=\"p.svg\" alt=\"w\"></p>\n");
    }

    #[test]
    fn lines_for_the_test_alone_are_not_shown() {
        let wanted = "<pre><code class=\"rust\">b\n#[c]\n</code></pre>\n";
        assert_eq!(html("```rust\n# a\nb\n#\n#[c]\n```\n"), wanted);
        assert_eq!(html("```console\n# a\n```\n"), "<pre><code class=\"console\"># a\n</code></pre>\n");
    }

    #[test]
    fn lists_hold_what_is_below_their_items() {
        let wanted = "<ul>\n<li>a b<ul>\n<li>c</li>\n</ul>\n</li>\n<li>d</li>\n</ul>\n<p>e</p>\n";
        assert_eq!(html("- a\n  b\n  - c\n- d\n\ne\n"), wanted);
        assert_eq!(html("1. a\n\n2. b\n"), "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n");
    }

    #[test]
    fn bars_in_code_part_no_cells() {
        let wanted = "<div class=\"wide\"><table>\n<tr><th>a</th><th></th></tr>\n\
                      <tr><td><code>x | y</code></td><td>2</td></tr>\n</table></div>\n";
        assert_eq!(html("| a | |\n|---|---|\n| `x | y` | 2 |\n"), wanted);
    }
}
