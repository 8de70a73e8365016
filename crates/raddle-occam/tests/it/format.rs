//! The one layout: it never changes what a program means, and laying out again changes nothing.

use raddle_bytecode::Module;
use raddle_occam::diag::Diagnostic;
use raddle_occam::format::format;
use raddle_occam::pre::{Files, NoFiles};
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse, lower};
use std::path::{Path, PathBuf};

/// The programs of the repository: those of the corpus, the examples, the libraries.
fn all() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![
        root.join("corpus"),
        root.join("examples"),
        root.join("bench"),
        root.join("crates/raddle-occam-syntax/library"),
    ];
    let mut list = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("it is there") {
            let path = entry.expect("it is there").path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "occ") {
                list.push(path);
            }
        }
    }
    list.sort();
    assert!(list.len() > 100, "{list:?}");
    list
}

struct Beside(PathBuf);

impl Files for Beside {
    fn text(&mut self, name: &str, _from: &str) -> Option<(String, String)> {
        Some((name.to_owned(), std::fs::read_to_string(self.0.join(name)).ok()?))
    }
}

fn formatted(text: &str, files: &mut dyn Files) -> Result<String, Vec<Diagnostic>> {
    let mut sources = Sources::new();
    let file = sources.add("a.occ", text).expect("short");
    format(&mut sources, file, files)
}

/// What a program becomes, without the lines; its complaints, if it is refused, by their codes.
fn meaning(text: &str, files: &mut dyn Files) -> Result<Module, Vec<String>> {
    let mut sources = Sources::new();
    let root = sources.add("a.occ", text).expect("short");
    let analysis = analyse(&mut sources, root, &Options::default(), files);
    let codes =
        |list: &[Diagnostic]| list.iter().map(|it| format!("{} {}", it.code, it.message)).collect::<Vec<_>>();
    let checked = analysis.checked().map_err(|list| codes(&list))?;
    let module = lower::lower(&checked, &sources).map_err(|list| codes(&list))?;
    Ok(Module { lines: Vec::new(), ..module })
}

#[test]
fn the_whole_corpus_means_the_same_and_is_laid_out_once() {
    let (mut laid, mut refused) = (0, Vec::new());
    for path in all() {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let mut files = Beside(path.parent().expect("in a folder").to_owned());
        match formatted(&text, &mut files) {
            Err(_) => refused.push(path),
            Ok(new) => {
                laid += 1;
                assert_eq!(formatted(&new, &mut files).ok().as_ref(), Some(&new), "{}", path.display());
                assert_eq!(meaning(&text, &mut files), meaning(&new, &mut files), "{}", path.display());
            }
        }
    }
    assert!(laid > 100, "{laid}");
    // `{` means nothing in occam, also in a branch of #IF that does not count.
    let known = |path: &PathBuf| {
        path.components().any(|it| it.as_os_str() == "reject") || path.ends_with("accept/preprocessor.occ")
    };
    let odd: Vec<_> = refused.iter().filter(|path| !known(path)).collect();
    assert!(odd.is_empty(), "not laid out: {odd:?}");
}

/// A number that looks random.
struct LayoutDice(u64);

impl LayoutDice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The program with other blanks: between tokens, before comments, at the ends of lines, empty lines, tabs.
fn disturbed(text: &str, random: &mut LayoutDice) -> String {
    let mut result = String::new();
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        let body = line.trim_start_matches(' ');
        let indent = line.len() - body.len();
        // An empty line there is a matter of taste, and stays.
        if line.is_empty() || number.checked_sub(1).is_some_and(|before| lines[before].is_empty()) {
            for _ in 0..random.below(3) {
                result += if line.is_empty() { "  \n" } else { "" };
            }
        }
        if indent % 8 == 0 && random.below(2) == 0 {
            result.extend(std::iter::repeat_n('\t', indent / 8));
        } else {
            result += &line[..indent];
        }
        let quiet = body.contains(['"', '\'']) || body.starts_with("--");
        let (code, comment) = match body.find("--").filter(|_| !quiet) {
            Some(at) => body.split_at(at),
            None => (body, ""),
        };
        for (at, c) in code.char_indices() {
            let blanks = if quiet { 1 } else { 1 + random.below(4) as usize };
            if c == ' ' {
                result.extend(std::iter::repeat_n(' ', blanks));
            } else if !quiet && matches!(c, ',' | '(' | ')' | ';') && at > 0 {
                result.extend(std::iter::repeat_n(' ', blanks - 1));
                result.push(c);
                result.extend(std::iter::repeat_n(' ', blanks - 1));
            } else {
                result.push(c);
            }
        }
        result += comment;
        result += ["", " ", "\t", "\r"][random.below(4) as usize];
        result.push('\n');
    }
    result
}

#[test]
fn whatever_the_blanks_are_the_layout_is_one() {
    let rounds: u64 = std::env::var("FUZZ_ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(3);
    let mut random = LayoutDice(7);
    for path in all() {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let mut files = Beside(path.parent().expect("in a folder").to_owned());
        let Ok(wanted) = formatted(&text, &mut files) else { continue };
        if wanted.contains("*\n") {
            // A string over several lines: its blanks are nobody's business.
            continue;
        }
        for _ in 0..rounds {
            let other = disturbed(&wanted, &mut random);
            let got = formatted(&other, &mut files)
                .unwrap_or_else(|list| panic!("{}: {}\n{other}", path.display(), list[0].message));
            assert_eq!(got, wanted, "{}\n{other}", path.display());
        }
    }
}

#[track_caller]
fn check(text: &str, wanted: &str) {
    let got = formatted(text, &mut NoFiles).unwrap_or_else(|list| panic!("{}", list[0].message));
    assert_eq!(got, wanted);
    assert_eq!(formatted(&got, &mut NoFiles).ok().as_deref(), Some(wanted), "again");
}

#[test]
fn blanks_stand_where_they_belong() {
    check(
        concat!(
            "PROC p(VAL [ ]INT a,CHAN INT c ?,SHARED ! CHAN BYTE d)\n  INT x,y :\n  SEQ\n    c?x\n",
            "    x:=-  1+( - a [ 0 ])\n    y:=~x\n    d![ a FROM 0 FOR 2 ]\n    p([ 1,2 ],c ?,d !)\n:\n",
        ),
        concat!(
            "PROC p (VAL []INT a, CHAN INT c?, SHARED! CHAN BYTE d)\n  INT x, y:\n  SEQ\n    c ? x\n",
            "    x := -1 + (-a[0])\n    y := ~x\n    d ! [a FROM 0 FOR 2]\n    p ([1, 2], c?, d!)\n:\n",
        ),
    );
    check(
        "PROC t (TIMER tim, REAL32 r)\n  SEQ\n    tim?AFTER 5\n    r:=1.5 (REAL32)\n:\n",
        "PROC t (TIMER tim, REAL32 r)\n  SEQ\n    tim ? AFTER 5\n    r := 1.5(REAL32)\n:\n",
    );
    check(
        "PROTOCOL P IS INT :: [ ] BYTE ; INT :\nPROC q (CHAN P c !)\n  c!3::\"abc\";- - 4\n:\n",
        "PROTOCOL P IS INT::[]BYTE; INT:\nPROC q (CHAN P c!)\n  c ! 3::\"abc\"; - -4\n:\n",
    );
}

#[test]
fn lines_that_go_on_and_comments_have_their_columns() {
    check(
        concat!(
            "\n\n-- one\nPROC p (VAL INT a,\n  b)\n    -- two\n  SEQ   --three\n",
            "    SKIP      -- four\n\n\n\n    SKIP\n         -- five\n:\n\n",
        ),
        concat!(
            "-- one\nPROC p (VAL INT a,\n    b)\n  -- two\n  SEQ     --three\n",
            "    SKIP  -- four\n\n    SKIP\n    -- five\n:\n",
        ),
    );
    check(
        "PROC p ()\n  INT x:\n  x := (VALOF\n           SKIP\n           RESULT 1\n        ) +\n   2\n:\n",
        "PROC p ()\n  INT x:\n  x := (VALOF\n      SKIP\n      RESULT 1\n    ) +\n      2\n:\n",
    );
}

#[test]
fn branches_of_the_preprocessor_stand_with_the_code() {
    check(
        "PROC p ()\n  SEQ\n#IF DEFINED(A)\n    SKIP\n#ELSE\n    STOP\n#ENDIF\n:\n",
        "PROC p ()\n  SEQ\n#IF DEFINED (A)\n    SKIP\n#ELSE\n    STOP\n#ENDIF\n:\n",
    );
    // Part of a program, for an #INCLUDE.
    check("x:=1\ny:=2\n", "x := 1\ny := 2\n");
    check("VAL n IS 1 :\n", "VAL n IS 1:\n");
    check("", "");
}

#[test]
fn what_is_no_program_is_refused() {
    for wrong in
        ["PROC p (\n:\n", "PROC p ()\n   SKIP\n:\n", "x := \"abc\n", "PROC p ()\n  x + 1\n:\n", "{\n"]
    {
        assert!(formatted(wrong, &mut NoFiles).is_err_and(|list| !list.is_empty()), "{wrong}");
    }
}

/// A text with a mistake or two: characters doubled, lost, exchanged, moved in.
fn mutated(text: &str, random: &mut LayoutDice) -> String {
    let mut all: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(3) {
        if all.is_empty() {
            break;
        }
        let at = random.below(all.len() as u64) as usize;
        match random.below(5) {
            0 => drop(all.remove(at)),
            1 => all.insert(at, all[at]),
            2 => all.insert(
                at,
                [' ', '\n', '\t', '-', '"', '*', '(', ')', '[', '#', ':', 'é', '!']
                    [random.below(13) as usize],
            ),
            3 => {
                let other = random.below(all.len() as u64) as usize;
                all.swap(at, other);
            }
            _ => {
                let other = at + (random.below(30) as usize).min(all.len() - at);
                all.drain(at..other);
            }
        }
    }
    all.into_iter().collect()
}

#[test]
fn what_has_mistakes_keeps_its_meaning_or_is_refused() {
    let rounds: u64 = std::env::var("FUZZ_ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(2);
    let (mut random, mut laid) = (LayoutDice(rounds), 0);
    for path in all() {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if text.len() > 8000 {
            continue;
        }
        let mut files = Beside(path.parent().expect("in a folder").to_owned());
        for _ in 0..rounds {
            let text = mutated(&text, &mut random);
            let Ok(new) = formatted(&text, &mut files) else { continue };
            laid += 1;
            assert_eq!(formatted(&new, &mut files).ok().as_ref(), Some(&new), "{text}");
            assert_eq!(meaning(&text, &mut files), meaning(&new, &mut files), "{text}\n---\n{new}");
        }
    }
    assert!(laid > 10, "{laid}");
}
