//! Owns: the programs on the page about occam: each does what the page says.
//! May use: the page, the command.
//! Never: a program that the page only claims to be one.

use super::{raddle, text};

#[test]
fn the_programs_on_the_page_about_occam_do_what_it_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/OCCAM.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let mut programs = 0;
    for part in page.split("```occam\n").skip(1) {
        let (program, rest) = part.split_once("```\n").expect("the block ends");
        let shown = rest.strip_prefix("```text\n").and_then(|rest| rest.split_once("```"));
        let (shown, _) = shown.expect("what it writes stands below");
        let path = std::env::temp_dir().join(format!("raddle-page-{}-{programs}.occ", std::process::id()));
        std::fs::write(&path, program).expect("it can be written");
        let output = raddle().arg("run").arg(&path).output().expect("it starts");
        std::fs::remove_file(&path).expect("it was there");
        assert_eq!(text(&output.stdout).trim_end(), shown.trim_end(), "{}\n{program}", text(&output.stderr));
        assert!(output.status.success(), "{}", text(&output.stderr));
        programs += 1;
    }
    assert!(programs >= 4);
}
