//! Owns: which files a section of a page of recipes names.
//! May use: nothing.
//! Never: a file that is named outside of the numbered steps; only what each addition touches stands in them.

const FOLDERS: [&str; 6] = ["crates/", "docs/", "corpus/", "bench/", "examples/", "xtask/"];

/// The files that the numbered steps of the section name, in backticks; a folder ends with a slash. `None` if there is
/// no such section.
pub(super) fn files(page: &str, section: &str) -> Option<Vec<String>> {
    let (_, rest) = page.split_once(&format!("\n## {section}\n"))?;
    let text = rest.split("\n## ").next().unwrap_or(rest);
    let mut in_step = false;
    let mut steps = String::new();
    for line in text.lines() {
        let begins = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        in_step = begins || in_step && line.starts_with("   ");
        if in_step {
            steps.push_str(line);
            steps.push('\n');
        }
    }
    let quoted = steps.split('`').skip(1).step_by(2);
    Some(quoted.filter(|it| FOLDERS.iter().any(|top| it.starts_with(top))).map(str::to_owned).collect())
}

/// Whether `path` is the file that is named so, or lies in the folder. `<word>` stands for a part of a name.
pub(super) fn covers(named: &str, path: &str) -> bool {
    let named: Vec<_> = named.split_inclusive('/').collect();
    let path: Vec<_> = path.split_inclusive('/').collect();
    let is_folder = named.last().is_some_and(|last| last.ends_with('/'));
    let lengths_fit = if is_folder { path.len() > named.len() } else { path.len() == named.len() };
    lengths_fit && named.iter().zip(&path).all(|(pattern, part)| fits(pattern, part))
}

fn fits(pattern: &str, part: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('<') else { return pattern == part };
    let after = rest.split_once('>').map_or("", |(_, after)| after);
    part.strip_prefix(before).and_then(|part| part.strip_suffix(after)).is_some_and(|word| !word.is_empty())
}

#[test]
fn only_numbered_steps_count() {
    let page = "# R\n\n## A\n\nSee `docs/A.md`.\n\n1. `crates/a/x.rs`: `f`, and\n   `docs/`.\n2. `bench/<w>/`.\n\n\
                - If so: `crates/b.rs`.\n\n## B\n\n1. `docs/C.md`\n";
    assert_eq!(files(page, "A").unwrap(), ["crates/a/x.rs", "docs/", "bench/<w>/"]);
    assert_eq!(files(page, "B").unwrap(), ["docs/C.md"]);
    assert_eq!(files(page, "C"), None);
}

#[test]
fn a_name_covers_a_file_a_folder_or_a_pattern() {
    for (named, path) in [
        ("a/b.rs", "a/b.rs"),
        ("a/", "a/b/c.rs"),
        ("a/<w>/<r>.rs", "a/fib/raddle.rs"),
        ("a/<r>/Cargo.toml", "a/x/Cargo.toml"),
    ] {
        assert!(covers(named, path), "{named} {path}");
    }
    for (named, path) in [("a/b.rs", "a/c.rs"), ("a/", "a"), ("a/<w>.rs", "a/b/c.rs"), ("a/<w>.rs", "a/.rs")]
    {
        assert!(!covers(named, path), "{named} {path}");
    }
}
