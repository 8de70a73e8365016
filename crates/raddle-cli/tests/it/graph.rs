//! `raddle graph`: which processes and channels are drawn, and that what a program calls them harms nobody.

use super::{raddle, text};
use std::path::PathBuf;

fn file(name: &str, program: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("raddle-graph-{name}-{}.occ", std::process::id()));
    std::fs::write(&path, program).expect("there is room");
    path
}

fn graph(name: &str, program: &str) -> String {
    let path = file(name, program);
    let output = raddle().arg("graph").arg(&path).output().expect("it starts");
    std::fs::remove_file(path).expect("it is there");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let svg = text(&output.stdout);
    well_formed(&svg);
    svg
}

/// Every tag is closed, in order, and no text has a `<` in it.
fn well_formed(svg: &str) {
    let (mut open, mut rest) = (Vec::new(), svg);
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, after) = tag.split_once('>').expect("a tag ends");
        assert!(!tag.contains('<'), "{tag}");
        match (tag.strip_prefix('/'), tag.ends_with('/')) {
            (Some(name), _) => assert_eq!(open.pop(), Some(name.to_owned())),
            (None, false) => open.push(tag.split(' ').next().unwrap_or("").to_owned()),
            (None, true) => {}
        }
        rest = after;
    }
    assert!(open.is_empty(), "{open:?}");
}

/// The names in the boxes.
fn boxes(svg: &str) -> Vec<String> {
    let mut names: Vec<String> =
        svg.split("class=\"t\">").skip(1).map(|it| it.split('<').next().unwrap_or("").to_owned()).collect();
    names.sort();
    names
}

#[test]
fn branches_calls_and_instances_are_boxes() {
    let program = "#INCLUDE \"course.module\"\n\
        PROC node (VAL INT me, CHAN INT in?, out!)\n  WHILE TRUE\n    INT x:\n    SEQ\n      in ? x\n      out ! x\n:\n\
        PROC ring (CHAN INT in?, out!)\n  [3]CHAN INT c:\n  PAR\n    node (0, in?, c[0]!)\n\
        \x20   PAR i = 1 FOR 2\n      node (i, c[i - 1]?, c[i]!)\n    id (c[2]?, out!)\n:\n\
        PROC main (CHAN BYTE screen!)\n  CHAN INT a, b:\n  PAR\n    numbers (a!)\n\
         \x20   ring (a?, b!)\n    print (b?, screen!)\n:\n";
    let svg = graph("boxes", program);
    assert_eq!(boxes(&svg), ["id", "main", "node", "node", "node", "numbers", "print", "ring"]);
    for label in ["a <", "b <", "c[0] <", "c[1] <", "c[2] <", "screen <"] {
        assert_eq!(svg.matches(&format!(">{label}tspan class=\"p\">")).count(), 1, "{label}: {svg}");
    }
}

#[test]
fn what_is_counted_at_run_time_is_one_box_and_shared_ends_meet() {
    let program = "PROC work (SHARED CHAN INT out!)\n  CLAIM out!\n    out ! 1\n:\n\
        PROC main (VAL INT unused, CHAN BYTE screen!)\n  SKIP\n:\n";
    let program = program.replace("VAL INT unused, ", "").replace(
        "  SKIP\n:\n",
        "  SHARED! CHAN INT c:\n  INITIAL INT n IS 4:\n  PAR\n    PAR i = 0 FOR n\n      work (c!)\n\
         \x20   work (c!)\n    SEQ i = 0 FOR n + 1\n      INT x:\n      c ? x\n    screen ! 'x'\n:\n",
    );
    let svg = graph("shared", &program);
    assert_eq!(boxes(&svg), ["SEQ i = 0 FOR n + 1", "main", "screen ! 'x'", "work", "work"]);
    assert!(svg.contains("\u{d7} n") && svg.contains("SHARED INT") && svg.contains("<circle"), "{svg}");
}

#[test]
fn forked_and_silent_processes_are_shown() {
    let program = "PROC work (VAL INT n)\n  SKIP\n:\nPROC main ()\n  CHAN INT lost:\n  PAR\n    FORK work (1)\n\
                   \x20   SEQ i = 0 FOR 2\n      lost ! i\n:\n";
    let svg = graph("forked", program);
    assert_eq!(boxes(&svg), ["SEQ i = 0 FOR 2", "main", "work"]);
    assert!(svg.contains("stroke-dasharray") && svg.contains("nobody reads"), "{svg}");
}

#[test]
fn every_program_of_the_corpus_can_be_drawn() {
    for folder in ["run", "accept"] {
        let folder = format!("{}/../../corpus/{folder}", env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).expect("it is there") {
            let path = entry.expect("it can be read").path();
            if path.extension().is_some_and(|it| it == "occ") {
                let output = raddle().arg("graph").arg(&path).output().expect("it starts");
                assert!(output.status.success(), "{path:?}: {}", text(&output.stderr));
                well_formed(&text(&output.stdout));
            }
        }
    }
}

#[test]
fn what_a_program_calls_things_harms_no_picture() {
    let program = "PROC main (CHAN BYTE screen!)\n  CHAN INT c:\n  PAR\n    WHILE 1 <> (2 /\\ 3)\n      c ! 1\n\
                   \x20   ALT\n      INT x:\n      ('<' = '&') & c ? x\n        screen ! '\"'\n:\n";
    let svg = graph("hostile", program);
    assert!(boxes(&svg).contains(&"WHILE 1 &lt;&gt; (2 /\\ 3)".to_owned()), "{svg}");
}

#[test]
fn a_picture_is_written_whole_or_not_at_all() {
    let path = file("wrong", "PROC main ()\n  x := 1\n:\n");
    let picture = path.with_extension("svg");
    let output = raddle().arg("graph").arg("-o").arg(&picture).arg(&path).output().expect("it starts");
    assert_eq!((output.status.code(), picture.exists()), (Some(1), false));
    std::fs::write(&path, "PROC main ()\n  SKIP\n:\n").expect("there is room");
    let output = raddle().arg("graph").arg("-o").arg(&picture).arg(&path).output().expect("it starts");
    assert!(output.status.success() && output.stdout.is_empty());
    well_formed(&std::fs::read_to_string(&picture).expect("it is there"));
    let nowhere = raddle().args(["graph", "nowhere.occ"]).output().expect("it starts");
    assert_eq!(nowhere.status.code(), Some(127));
    for path in [path, picture] {
        std::fs::remove_file(path).expect("it is there");
    }
}
