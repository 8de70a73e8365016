//! Owns: the parts of a group's output that tell of its failure.
//! May use: nothing.
//! Never: a line that says of a test that it passed, or of a crate that it is being compiled.
//!
//! Cargo says which test program it runs, and a test program ends with its result; so the output is in parts, and a
//! part without a good result is what somebody has to read. Most lines are of tests that passed and of panics that
//! tests provoke: of a long part its end is shown, where the test program repeats what failed.

/// Lines shown of one part.
const LINES_MAX: usize = 120;
/// What cargo prints of its own work.
const CARGO: [&str; 6] = ["Compiling ", "Checking ", "Downloaded ", "Downloading ", "Locking ", "Adding "];

/// The parts of `output` that failed, each without what passed in it.
pub(crate) fn parts(output: &str) -> String {
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for line in output.lines() {
        let word = line.trim_start();
        if word.starts_with("Running ") || word.starts_with("Doc-tests ") || line.starts_with('[') {
            all.push(Vec::new());
        }
        all.last_mut().into_iter().for_each(|part| part.push(line));
    }
    let last = all.len() - 1;
    // A test program may show the results of its children, and documentation is tested in two steps.
    let failed = |(at, part): &(usize, Vec<&str>)| {
        let mut results = part.iter().filter(|line| line.starts_with("test result: ")).peekable();
        let says_nothing = results.peek().is_none() && (*at == last || tells_of_an_error(part));
        says_nothing || results.any(|line| !line.starts_with("test result: ok")) || is_to_be_rerun(part)
    };
    all.into_iter().enumerate().filter(failed).map(|(_, part)| shown(&part)).collect()
}

/// Cargo says so of a test program that failed, whatever that printed.
fn is_to_be_rerun(part: &[&str]) -> bool {
    part.iter().any(|line| line.starts_with("error: ") && line.contains(", to rerun pass "))
}

fn tells_of_an_error(part: &[&str]) -> bool {
    part.iter().any(|line| line.starts_with("error") || line.starts_with("timeout: sending signal"))
}

fn shown(part: &[&str]) -> String {
    let is_dull = |line: &str| {
        let passed = line.starts_with("test ") && (line.ends_with("... ok") || line.ends_with("... ignored"));
        passed || CARGO.iter().any(|word| line.trim_start().starts_with(word))
    };
    let lines: Vec<&str> = part.iter().copied().filter(|line| !is_dull(line)).collect();
    let left_out = lines.len().saturating_sub(LINES_MAX);
    let (head, tail) =
        if left_out > 1 { (&lines[..1], &lines[left_out + 1..]) } else { (&lines[..], &[][..]) };
    let mut text = head.join("\n") + "\n";
    if left_out > 1 {
        text += &format!("... ({left_out} lines)\n");
    }
    tail.iter().for_each(|line| text += &format!("{line}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_program_that_failed_is_shown_without_what_passed() {
        let output = "\n[unit] $ cargo test\n   Compiling a v1\n     Running tests/a.rs\ntest x ... ok\n\
                      test result: ok. 1 passed\n     Running tests/b.rs\ntest y ... ok\ntest z ... FAILED\n\
                      failures:\n    z\ntest result: FAILED. 1 passed; 1 failed\n     Running tests/c.rs\n\
                      test result: ok. 1 passed\nerror: 1 target failed:\n";
        let shown = parts(output);
        assert!(shown.contains("tests/b.rs\ntest z ... FAILED\nfailures:\n    z\n"), "{shown}");
        assert!(!shown.contains("tests/a.rs") && !shown.contains("y ... ok"), "{shown}");
    }

    #[test]
    fn a_good_result_among_others_hides_no_failure() {
        let end = "test result: ok. 1 passed\n";
        let child = format!("     Running tests/a.rs\n{end}error: test failed, to rerun pass `-p a`\n");
        let documentation = format!("   Doc-tests a\n{end}test result: FAILED. 0 passed; 1 failed\n");
        for part in [child, documentation] {
            assert_eq!(parts(&format!("{part}     Running tests/b.rs\n{end}")), part);
        }
    }

    #[test]
    fn what_is_no_test_program_is_shown_by_its_errors_and_its_end() {
        let shown = parts("[clippy] $ cargo clippy\n    Checking a v1\nerror: unused\n  --> a.rs\n");
        assert_eq!(shown, "[clippy] $ cargo clippy\nerror: unused\n  --> a.rs\n");
        assert_eq!(parts("[a] $ x\nfine\n[a] $ y\nSegmentation fault\n"), "[a] $ y\nSegmentation fault\n");
        assert!(parts("     Running tests/a.rs\ntest x ... ok\n").contains("tests/a.rs"), "it ended early");
    }

    #[test]
    fn of_a_long_part_the_end_is_shown() {
        let output: String = (0..1000).map(|line| format!("line {line}\n")).collect();
        let shown = parts(&output);
        assert!(shown.starts_with("line 0\n... (880 lines)\n") && shown.ends_with("line 999\n"), "{shown}");
        assert_eq!(shown.lines().count(), LINES_MAX + 1);
    }
}
