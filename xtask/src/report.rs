//! Owns: what a person sees of a run, and what it means for the exit code.
//! May use: `run`.
//! Never: running anything.
//!
//! Here alone is anything written to standard output and standard error.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use crate::run::{Count, GroupOutcome, Row};

/// Writes to standard output. A reader that has gone away (`| head`) is no error.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a line to standard error.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// One line a group, what failed and the way out for what was skipped, and last the three totals alone on a line.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = String::from("\n");
    let mut total = Count::default();
    for row in rows {
        let (word, why) = match &row.outcome {
            GroupOutcome::Passed => ("passed", String::new()),
            GroupOutcome::Failed(step) => ("FAILED", format!("  $ {step}")),
            GroupOutcome::Skipped(reason) => ("skipped", format!("  {reason}")),
        };
        let seconds = row.took.as_secs_f64();
        let _ =
            writeln!(text, "{:<10} {word:<8} {:>5} tests {seconds:>7.1} s{why}", row.group, row.count.ran());
        total.add(row.count);
    }
    for row in rows {
        for test in &row.failures {
            let _ = writeln!(text, "failed in {}: {test}", row.group);
        }
    }
    if rows.iter().any(|row| matches!(row.outcome, GroupOutcome::Skipped(_))) {
        text.push_str("For what was skipped: run `cargo xtask setup` (Debian, as root or with sudo).\n");
    }
    let _ = writeln!(text, "\n{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    text
}

/// Success if no group failed and, where `require_all`, none was skipped.
pub(crate) fn exit_code(rows: &[Row], require_all: bool) -> ExitCode {
    let bad = rows.iter().any(|row| match row.outcome {
        GroupOutcome::Passed => false,
        GroupOutcome::Failed(_) => true,
        GroupOutcome::Skipped(_) => require_all,
    });
    ExitCode::from(u8::from(bad))
}

impl Count {
    fn ran(self) -> usize {
        self.passed + self.failed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn row(group: &'static str, outcome: GroupOutcome, count: Count) -> Row {
        Row { group, outcome, count, failures: Vec::new(), took: Duration::from_millis(1500) }
    }

    fn rows() -> Vec<Row> {
        vec![
            row("fmt", GroupOutcome::Passed, Count { passed: 1, ..Count::default() }),
            row(
                "valgrind",
                GroupOutcome::Skipped("no valgrind".into()),
                Count { skipped: 1, ..Count::default() },
            ),
        ]
    }

    #[test]
    fn the_last_line_holds_the_totals() {
        let text = table(&rows());
        assert_eq!(text.lines().last(), Some("1 passed, 0 failed, 1 skipped"));
        assert!(text.contains("valgrind   skipped      0 tests     1.5 s  no valgrind\n"), "{text}");
        assert!(text.contains("cargo xtask setup"));
    }

    #[test]
    fn tests_that_failed_are_named_below_the_groups() {
        let mut rows = rows();
        rows[0].failures.push("a::b".into());
        assert!(table(&rows).contains("\nfailed in fmt: a::b\n"));
    }

    #[test]
    fn a_skip_is_a_failure_only_on_request() {
        assert_eq!(exit_code(&rows(), false), ExitCode::SUCCESS);
        assert_eq!(exit_code(&rows(), true), ExitCode::FAILURE);
        let failed = [row("fmt", GroupOutcome::Failed("x"), Count { failed: 1, ..Count::default() })];
        assert_eq!(exit_code(&failed, false), ExitCode::FAILURE);
    }
}
