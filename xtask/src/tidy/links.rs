//! Owns: the rule that a link from a page to a file leads somewhere.
//! May use: `house`, `tree`.
//! Never: the network; links to other sites are not tried.

use std::path::{Component, Path, PathBuf};

use super::{Finding, hold};
use crate::house;
use crate::tree::files;

/// The targets of the links in `line`, both of `[text](target)` and of `src="target"`.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (opening, closing) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
        let parts = line.split(opening).skip(1);
        found.extend(parts.filter_map(|part| part.split_once(closing)).map(|(target, _)| target));
    }
    found
}

fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// `page` gives the text of the file at a path from the root, if there is one.
fn check(path: &str, text: &str, page: &dyn Fn(&Path) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        for target in targets(line).into_iter().filter(|target| !is_elsewhere(target)) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let destination = if file.is_empty() { PathBuf::from(path) } else { join(path, file) };
            let what = match page(&destination) {
                None => format!("`{target}` leads to no file"),
                Some(text) if !anchor.is_empty() && !has_heading(&text, anchor) => {
                    format!("`{target}` leads to no heading of {}", destination.display())
                }
                Some(_) => continue,
            };
            findings.push(Finding::new(path, number, what));
        }
    }
    findings
}

/// Where `target`, as written on the page `path`, leads to from the root.
fn join(path: &str, target: &str) -> PathBuf {
    let mut result = Path::new(path).parent().unwrap_or(Path::new("")).to_path_buf();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => drop(result.pop()),
            Component::Normal(name) => result.push(name),
            _ => {}
        }
    }
    result
}

/// Whether a heading of `page` becomes `anchor` in the way that code hosts make anchors.
fn has_heading(page: &str, anchor: &str) -> bool {
    page.lines().filter(|line| line.starts_with('#')).any(|line| slug(line.trim_start_matches('#')) == anchor)
}

fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// The text of a file of the repository; empty for a folder or a picture.
fn page_of_the_house(path: &Path) -> Option<String> {
    let path = house::root().join(path);
    path.exists().then(|| std::fs::read_to_string(&path).unwrap_or_default())
}

#[test]
fn every_link_leads_somewhere() {
    let pages = files().into_iter().filter(|file| file.path.ends_with(".md"));
    let findings: Vec<_> = pages.flat_map(|file| check(&file.path, &file.text, &page_of_the_house)).collect();
    hold("A link leads to a file of the repository, and its anchor to a heading there.", &findings);
}

#[test]
fn a_link_that_leads_nowhere_is_refused() {
    let page = |path: &Path| (path == Path::new("docs/a.md")).then(|| "# The `one` word\n".to_owned());
    assert_eq!(check("docs/b.md", "[a](a.md), [a](../docs/a.md#the-one-word)", &page), []);
    assert_eq!(check("docs/b.md", "[x](https://example.org/x.md)\n```\n[x](x.md)\n```", &page), []);
    assert_eq!(check("docs/b.md", "[x](x.md) [a](a.md#two)", &page).len(), 2);
    assert_eq!(check("README.md", "<img src=\"a.svg\">", &page).len(), 1);
}
