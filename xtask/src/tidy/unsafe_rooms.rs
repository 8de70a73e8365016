//! Owns: the rule that `unsafe` lives only in listed rooms.
//! May use: `house`, `tree`, `proc-macro2`.
//! Never: judging the argument for an unsafe operation; clippy demands one, readers judge it.

use super::{Finding, hold, tokens};
use crate::house;
use crate::tree::{is_module, rust_files};

const LIST: &str = "xtask/unsafe-rooms.txt";

/// An entry of the list with the line on which it stands: a file, or a folder of tests with a slash at its end.
struct Room<'a> {
    line: usize,
    path: &'a str,
}

impl Room<'_> {
    fn holds(&self, path: &str) -> bool {
        path == self.path || (self.path.ends_with('/') && !is_module(path) && path.starts_with(self.path))
    }
}

/// Reads one path a line.
fn rooms(list: &str) -> Vec<Room<'_>> {
    let lines = (1..).zip(list.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|(line, path)| Room { line, path: path.trim() }).collect()
}

/// The first line of `text` with the keyword, if any.
fn first_unsafe(path: &str, text: &str) -> Option<usize> {
    let words = tokens::words(tokens::stream(path, text));
    let keyword = words.iter().find(|word| word.text == "unsafe").map(|word| word.line);
    keyword.or_else(|| {
        let attributes = tokens::attributes(tokens::stream(path, text));
        attributes.into_iter().find(|(_, tokens)| starts_unsafe(tokens)).map(|(line, _)| line)
    })
}

/// `#[unsafe(no_mangle)]` and the like.
fn starts_unsafe(attribute: &proc_macro2::TokenStream) -> bool {
    attribute.clone().into_iter().next().is_some_and(|token| token.to_string() == "unsafe")
}

fn check<'a>(files: impl Iterator<Item = (&'a str, &'a str)>, list: &str) -> Vec<Finding> {
    let rooms = rooms(list);
    let mut needed = vec![false; rooms.len()];
    let mut findings = Vec::new();
    for (path, text) in files {
        let Some(line) = first_unsafe(path, text) else { continue };
        match rooms.iter().position(|room| room.holds(path)) {
            Some(index) => needed[index] = true,
            None => findings.push(Finding::new(path, line, format!("`unsafe` outside the rooms of {LIST}"))),
        }
    }
    let idle = rooms.iter().zip(needed).filter(|(_, needed)| !needed);
    findings.extend(idle.map(|(room, _)| {
        Finding::new(LIST, room.line, format!("`{}` holds no `unsafe`: strike it from the list", room.path))
    }));
    findings
}

#[test]
fn unsafe_stays_in_its_rooms() {
    let list = std::fs::read_to_string(house::root().join(LIST)).expect(LIST);
    let files = rust_files();
    let findings = check(files.iter().map(|file| (file.path.as_str(), file.text.as_str())), &list);
    hold("`unsafe` lives in the files that are listed, and nowhere else.", &findings);
}

#[test]
fn unsafe_elsewhere_is_refused_in_every_form() {
    let forms = [
        "fn f() { unsafe { g() } }",
        "unsafe fn f() {}",
        "unsafe impl Send for S {}",
        "unsafe trait T {}",
        "unsafe extern \"C\" { fn f(); }",
        "macro_rules! m { () => { unsafe { g() } } }",
        "#[unsafe(no_mangle)]\nextern \"C\" fn f() {}",
    ];
    for form in forms {
        assert_eq!(check([("a.rs", form)].into_iter(), "").len(), 1, "{form}");
        assert_eq!(check([("a.rs", form)].into_iter(), "a.rs\n"), [], "{form}");
    }
    assert_eq!(
        check([("a.rs", "// unsafe\nconst S: &str = \"unsafe\";\n#![forbid(unsafe_code)]")].into_iter(), ""),
        []
    );
}

#[test]
fn a_folder_is_a_room_for_tests_but_not_for_modules() {
    let text = "fn f() { unsafe { g() } }";
    assert_eq!(check([("crates/a/tests/it/main.rs", text)].into_iter(), "crates/a/tests/\n"), []);
    assert_eq!(check([("crates/a/src/lib.rs", text)].into_iter(), "crates/a/\n").len(), 2);
    assert_eq!(check([("crates/a/tests/x.rs", "fn f() {}")].into_iter(), "crates/a/tests/\n").len(), 1);
}

#[test]
fn a_room_without_unsafe_is_refused() {
    assert_eq!(check([("a.rs", "fn f() {}")].into_iter(), "# note\na.rs\n").len(), 1);
    assert_eq!(check([].into_iter(), "gone.rs\n").len(), 1);
}
