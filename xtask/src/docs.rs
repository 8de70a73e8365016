//! Owns: the parts of the pages that are written by a program.
//! May use: `groups`, `house`, `report`, `anyhow`.
//! Never: the parts that people write.
//!
//! A generated part stands between `<!-- generated: NAME -->` and `<!-- end of NAME -->`. `cargo xtask docs` writes
//! it; a test fails when page and table disagree.

use anyhow::Context as _;

use crate::{groups, house, report};

/// A part of a page: which page, which name, and what makes its text.
struct Part {
    page: &'static str,
    name: &'static str,
    text: fn() -> String,
}

const PARTS: &[Part] = &[Part { page: "docs/HACKING.md", name: "groups", text: groups::markdown }];

/// Writes every generated part into its page.
pub(crate) fn write() -> anyhow::Result<()> {
    for part in PARTS {
        let path = house::root().join(part.page);
        let page = std::fs::read_to_string(&path).with_context(|| format!("could not read {}", part.page))?;
        let renewed = renew(&page, part.name, &(part.text)())
            .with_context(|| format!("{} has no place for the generated part `{}`", part.page, part.name))?;
        if renewed != page {
            std::fs::write(&path, renewed).with_context(|| format!("could not write {}", part.page))?;
            report::say(&format!("wrote `{}` in {}\n", part.name, part.page));
        }
    }
    Ok(())
}

/// `page` with `text` between the two marks of `name`; `None` if a mark is missing.
fn renew(page: &str, name: &str, text: &str) -> Option<String> {
    let (opening, closing) = (format!("<!-- generated: {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&opening)?;
    let (_, after) = rest.split_once(&closing)?;
    Some(format!("{before}{opening}{text}{closing}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_agree_with_the_tables() {
        for part in PARTS {
            let page = std::fs::read_to_string(house::root().join(part.page)).expect(part.page);
            let renewed = renew(&page, part.name, &(part.text)()).expect(part.name);
            assert!(page == renewed, "{}: `{}` is out of date; run `cargo xtask docs`", part.page, part.name);
        }
    }

    #[test]
    fn only_the_text_between_the_marks_changes() {
        let page = "a\n<!-- generated: x -->\nold\n<!-- end of x -->\nb\n";
        let expected = "a\n<!-- generated: x -->\nnew\n<!-- end of x -->\nb\n";
        assert_eq!(renew(page, "x", "new\n").as_deref(), Some(expected));
        assert_eq!(renew("no marks", "x", "new\n"), None);
    }
}
