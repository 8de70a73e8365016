//! Owns: the rule that the glossary is short enough to be learnt.
//! May use: `house`.
//! Never: whether an entry is true; a reader judges that.

use super::exceptions::Exceptions;
use super::{Finding, hold};
use crate::house;

const PAGE: &str = "docs/ARCHITECTURE.md";
const HEADING: &str = "## Glossary";
const WORDS_MAX: usize = 40;

/// The words of the glossary's table, with their lines; a page without one is a finding.
fn words(text: &str) -> Vec<(usize, &str)> {
    let lines = (1..).zip(text.lines()).skip_while(|(_, line)| *line != HEADING).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with("## "));
    let rows = section.filter(|(_, line)| line.starts_with('|'));
    rows.skip(2).map(|(number, line)| (number, line.split('|').nth(1).unwrap_or_default().trim())).collect()
}

fn check(text: &str) -> Vec<Finding> {
    let words = words(text);
    let Some(first) = words.first() else {
        return vec![Finding::new(PAGE, 1, format!("has no table below `{HEADING}`"))];
    };
    let mut findings = Vec::new();
    if words.len() > WORDS_MAX {
        findings.push(Finding::new(PAGE, first.0, format!("the glossary has {} words", words.len())));
    }
    for (at, (line, word)) in words.iter().enumerate() {
        if words[..at].iter().any(|(_, other)| other == word) {
            findings.push(Finding::new(PAGE, *line, format!("`{word}` is defined twice")));
        }
    }
    findings
}

#[test]
fn the_glossary_is_short() {
    let exceptions = Exceptions::of("glossary");
    let page = std::fs::read_to_string(house::root().join(PAGE)).expect(PAGE);
    let mut findings = exceptions.sift(check(&page));
    findings.extend(exceptions.unused());
    hold("The glossary has at most 40 words, each once.", &findings);
}

#[test]
fn a_long_a_missing_and_a_double_entry_are_refused() {
    let page = |count: usize| {
        let rows: String = (0..count).map(|at| format!("| word {at} | x |\n")).collect();
        format!(
            "# A\n| no | row |\n{HEADING}\n\n| word | meaning |\n|---|---|\n{rows}\n## Next\n| no | row |\n"
        )
    };
    assert_eq!(check(&page(WORDS_MAX)), []);
    assert_eq!(check(&page(WORDS_MAX + 1)).len(), 1);
    assert_eq!(check("# A\n").len(), 1);
    assert_eq!(check(&page(3).replace("word 2", "word 1")).len(), 1);
}
