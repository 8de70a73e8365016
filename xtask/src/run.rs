//! Owns: running groups and counting their tests.
//! May use: `groups`, `anyhow`.
//! Never: installing, or deciding the exit code.
//!
//! Where nobody watches, a step has a time limit: a test that hangs is a failure with a name, not a lost machine. At a
//! terminal it has none, since the limit's own process group would keep Ctrl-C from it.
//!
//! The output of a step goes through to the terminal as it comes; on its way the `test result:` lines that cargo's
//! test programs print are added up. A step that runs no test program counts as one test. Where nobody watches, what
//! a step says of errors goes the same way, so that it stands where it belongs.
//!
//! Steps run in `sh`, and through it whatever they name.

use std::io::{BufRead, BufReader, IsTerminal as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::groups::{Group, Need, remedy};

/// Longest time of one step where nobody watches: three times what the longest takes beside another on the slowest
/// machine so far.
const STEP_SECONDS_MAX: u32 = 2700;

/// How one group went.
pub(crate) struct Row {
    pub(crate) group: &'static str,
    pub(crate) outcome: GroupOutcome,
    pub(crate) count: Count,
    /// The names of the tests that failed, as cargo's test programs print them.
    pub(crate) failures: Vec<String>,
    pub(crate) took: Duration,
}

/// What became of a group.
pub(crate) enum GroupOutcome {
    Passed,
    /// The step that failed.
    Failed(&'static str),
    /// What is missing and how to get it.
    Skipped(String),
}

/// Numbers of tests.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Count {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

/// Takes what is to be shown.
type Sink<'a> = &'a mut dyn FnMut(&str);

/// Runs each of `groups`, one after the other, whatever became of those before it.
pub(crate) fn run_groups(groups: &[&'static Group], say: Sink<'_>) -> anyhow::Result<Vec<Row>> {
    groups.iter().map(|group| run_group(group, say)).collect()
}

/// Runs one group, if this machine has what it needs.
pub(crate) fn run_group(group: &'static Group, say: Sink<'_>) -> anyhow::Result<Row> {
    let started = Instant::now();
    let missing = missing_needs(group.needs)?;
    let (outcome, tally) = if missing.is_empty() {
        run_steps(group, say)?
    } else {
        let count = Count { skipped: 1, ..Count::default() };
        (GroupOutcome::Skipped(missing.join("; ")), Tally { count, failures: Vec::new() })
    };
    let Tally { count, failures } = tally;
    Ok(Row { group: group.name, outcome, count, failures, took: started.elapsed() })
}

fn missing_needs(needs: &[Need]) -> anyhow::Result<Vec<String>> {
    let mut missing = Vec::new();
    for need in needs {
        let found = shell(need.probe).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !found.context("could not start `sh`")?.success() {
            missing.push(format!("no {} ({})", need.tool, remedy(need)));
        }
    }
    Ok(missing)
}

/// What the output of steps says of tests.
#[derive(Default)]
struct Tally {
    count: Count,
    failures: Vec<String>,
}

fn run_steps(group: &'static Group, say: Sink<'_>) -> anyhow::Result<(GroupOutcome, Tally)> {
    let mut total = Tally::default();
    for step in group.steps {
        say(&format!("\n[{}] $ {step}\n", group.name));
        let (mut tally, success) = run_step(step, say)?;
        settle(&mut tally.count, success);
        total.count.add(tally.count);
        total.failures.append(&mut tally.failures);
        if !success {
            return Ok((GroupOutcome::Failed(step), total));
        }
    }
    Ok((GroupOutcome::Passed, total))
}

/// Makes a step that ran no test count as one, and one that failed count as failed.
fn settle(count: &mut Count, success: bool) {
    if !success && count.failed == 0 {
        count.failed = 1;
    } else if success && *count == Count::default() {
        count.passed = 1;
    }
}

fn run_step(step: &str, say: Sink<'_>) -> anyhow::Result<(Tally, bool)> {
    let mut child = limited(step).stdout(Stdio::piped()).spawn().context("could not start `sh`")?;
    let mut tally = Tally::default();
    if let Some(output) = child.stdout.take() {
        let mut lines = BufReader::new(output);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).context("could not read what a step prints")? > 0 {
            let text = String::from_utf8_lossy(&line);
            say(&text);
            tally.count.add(count_of(&text).unwrap_or_default());
            tally.failures.extend(failure_in(&text).map(str::to_owned));
            line.clear();
        }
    }
    Ok((tally, child.wait().context("could not wait for a step")?.success()))
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-euc").arg(line).stdin(Stdio::null());
    command
}

/// The line with both of its streams in one.
fn joined(step: &str) -> String {
    format!("exec 2>&1\n{step}")
}

/// The shell for a step, with a time limit where nobody watches.
fn limited(step: &str) -> Command {
    if std::io::stderr().is_terminal() {
        return shell(step);
    }
    let mut command = Command::new("timeout");
    let seconds = STEP_SECONDS_MAX.to_string();
    command.args(["--verbose", "--kill-after=10", &seconds, "sh", "-euc", &joined(step)]);
    command.stdin(Stdio::null());
    command
}

/// The numbers in a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
fn count_of(line: &str) -> Option<Count> {
    let (_, numbers) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let number = |word: &str| {
        numbers.split("; ").find_map(|part| part.trim().strip_suffix(word)?.trim().parse::<usize>().ok())
    };
    Some(Count { passed: number("passed")?, failed: number("failed")?, skipped: number("ignored")? })
}

/// The name in a line such as `test stacks::grow ... FAILED`.
fn failure_in(line: &str) -> Option<&str> {
    line.trim_end().strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

impl Count {
    /// Adds the numbers of `other`.
    pub(crate) fn add(&mut self, other: Count) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Need = Need { tool: "a unicorn", probe: "false", packages: &["unicorn"], otherwise: "" };
    const ALWAYS: Need = Need { tool: "a shell", probe: "true", packages: &[], otherwise: "buy one" };

    fn ran(group: &'static Group) -> Row {
        run_group(group, &mut |_| ()).expect("sh starts")
    }

    #[test]
    fn numbers_are_read_from_cargos_lines() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(count_of(line), Some(Count { passed: 12, failed: 3, skipped: 1 }));
        assert_eq!(count_of("test a::b ... ok\n"), None);
    }

    #[test]
    fn failing_tests_are_known_by_name() {
        assert_eq!(failure_in("test a::b ... FAILED\n"), Some("a::b"));
        assert_eq!(failure_in("test a::b - should panic ... FAILED\n"), Some("a::b - should panic"));
        assert_eq!(failure_in("test a::b ... ok\n"), None);
        assert_eq!(failure_in("test result: FAILED. 1 passed; 1 failed\n"), None);
        let row = ran(&Group {
            name: "red",
            what: "",
            needs: &[],
            steps: &[
                "echo 'test a::b ... FAILED'; echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; false",
            ],
        });
        assert_eq!(row.failures, ["a::b"]);
        assert_eq!(row.count, Count { passed: 1, failed: 1, skipped: 0 });
    }

    #[test]
    fn what_a_step_prints_is_shown_after_its_command() {
        const GROUP: Group = Group { name: "one", what: "", needs: &[], steps: &["echo a; echo b"] };
        let mut shown = String::new();
        run_group(&GROUP, &mut |text| shown.push_str(text)).expect("sh starts");
        assert_eq!(shown, "\n[one] $ echo a; echo b\na\nb\n");
    }

    #[test]
    fn a_group_adds_up_its_steps() {
        let row = ran(&Group {
            name: "two",
            what: "",
            needs: &[ALWAYS],
            steps: &["echo 'test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured'", "true"],
        });
        assert!(matches!(row.outcome, GroupOutcome::Passed));
        assert_eq!(row.count, Count { passed: 4, failed: 0, skipped: 0 });
    }

    #[test]
    fn a_failing_step_fails_the_group_and_ends_it() {
        let row = ran(&Group { name: "bad", what: "", needs: &[], steps: &["true", "exit 3", "true"] });
        assert!(matches!(row.outcome, GroupOutcome::Failed("exit 3")));
        assert_eq!(row.count, Count { passed: 1, failed: 1, skipped: 0 });
    }

    #[test]
    fn a_missing_need_skips_the_group_and_names_the_package() {
        let row = ran(&Group { name: "far", what: "", needs: &[ALWAYS, NEVER], steps: &["false"] });
        let GroupOutcome::Skipped(reason) = row.outcome else { panic!("it ran") };
        assert_eq!(reason, "no a unicorn (Debian: unicorn)");
        assert_eq!(row.count, Count { passed: 0, failed: 0, skipped: 1 });
    }
}
