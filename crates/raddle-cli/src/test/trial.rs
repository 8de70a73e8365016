//! Owns: one run of a test under one schedule, and whether it did what the test says.
//! May use: `occam::world`, `raddle-bytecode`, `raddle-host`, `raddle-occam`.
//! Never: the terminal; what a test writes is kept.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use raddle_bytecode::Verified;
use raddle_host::{Failure, ForeignRoutines, Port, RunOptions, World};
use raddle_occam::ast::TestMark;

use super::shown::lines;

/// Which schedule; written as the options that choose it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Schedule {
    /// On one worker, the same each time.
    Seed(u64),
    /// As it happens.
    Workers(usize),
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Seed(seed) => write!(f, "--seed {seed}"),
            Schedule::Workers(workers) => write!(f, "--workers {workers}"),
        }
    }
}

/// How much a run may take.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) seconds: u32,
    pub(super) memory_mib: u32,
}

/// What a run did.
pub(super) struct Trial {
    screen: Vec<u8>,
    error: Vec<u8>,
    failure: Option<String>,
    /// It was ended after that many seconds.
    late: Option<u32>,
}

/// The keyboard, screen and error channel of a test.
struct Bench {
    keys: Mutex<std::vec::IntoIter<u8>>,
    written: [Mutex<Vec<u8>>; 2],
    end: Instant,
    late: AtomicBool,
    foreign: Option<Arc<ForeignRoutines>>,
}

impl World for Bench {
    fn output(&self, port: Port, bytes: &[u8]) {
        let written = &self.written[usize::from(port == Port::Error)];
        written.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }

    fn key(&self) -> Option<u8> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).next()
    }

    fn wants_end(&self) -> bool {
        let late = Instant::now() >= self.end;
        self.late.fetch_or(late, Ordering::Relaxed);
        late
    }

    /// A test has no arguments.
    fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        match number {
            raddle_bytecode::FOREIGN.. => self.foreign.as_ref()?.call(number, words),
            _ => crate::occam::without_arguments(number, words),
        }
    }

    fn holds_memory(&self) -> bool {
        self.foreign.as_ref().is_some_and(|foreign| foreign.is_running())
    }
}

impl Trial {
    /// Runs a test.
    pub(super) fn run(
        (program, foreign): (&Verified, Option<Arc<ForeignRoutines>>),
        mark: &TestMark,
        schedule: Schedule,
        limits: Limits,
    ) -> Trial {
        let end = Instant::now() + Duration::from_secs(limits.seconds.into());
        let bench = Arc::new(Bench {
            keys: Mutex::new(mark.input.clone().into_iter()),
            written: Default::default(),
            end,
            late: AtomicBool::new(false),
            foreign,
        });
        let (workers, seed) = match schedule {
            Schedule::Seed(seed) => (1, Some(seed)),
            Schedule::Workers(workers) => (workers, None),
        };
        let memory_bytes = u32::try_from(u64::from(limits.memory_mib) << 20).unwrap_or(u32::MAX);
        let options =
            RunOptions { workers, seed, memory_bytes, at_once: workers > 1, ..RunOptions::default() };
        let failure = match raddle_host::run(program.clone(), options, bench.clone()) {
            Err(error) => Some(error.to_string()),
            Ok(outcome) => outcome.result.err().map(|failure| match (outcome.report, failure) {
                (Some(report), _) => report.to_string(),
                (None, Failure::Fault(fault)) => {
                    format!("error: {}: {}", fault.trap.word(), fault.trap.what())
                }
                (None, _) => "it was ended".to_owned(),
            }),
        };
        let [screen, error] = [0, 1].map(|port: usize| {
            std::mem::take(&mut *bench.written[port].lock().unwrap_or_else(PoisonError::into_inner))
        });
        let late = failure.is_some() && bench.late.load(Ordering::Relaxed);
        Trial { screen, error, failure, late: late.then_some(limits.seconds) }
    }

    /// What is not as the test says.
    pub(super) fn complaint(&self, mark: &TestMark) -> Option<String> {
        let mut text = String::new();
        match (&self.failure, &mark.fails) {
            (Some(_), _) if self.late.is_some() => {
                let _ = writeln!(text, "it was ended after {} s", self.late.unwrap_or_default());
            }
            (Some(report), None) => text += &format!("{report}\n"),
            (Some(report), Some(wanted)) => {
                let wanted = String::from_utf8_lossy(wanted);
                if !report.contains(&*wanted) {
                    let _ = writeln!(text, "it fails, but without `{wanted}` in the report:\n{report}");
                }
            }
            (None, Some(wanted)) => {
                let wanted = String::from_utf8_lossy(wanted);
                let with = if wanted.is_empty() { String::new() } else { format!(" with `{wanted}`") };
                let _ = writeln!(text, "it should fail{with}, and has ended well");
            }
            (None, None) => {}
        }
        match &mark.output {
            Some(wanted) if *wanted != self.screen => {
                text += &format!("expected on the screen:\n{}found:\n{}", lines(wanted), lines(&self.screen));
            }
            _ if text.is_empty() => return None,
            _ if !self.screen.is_empty() => text += &format!("on the screen:\n{}", lines(&self.screen)),
            _ => {}
        }
        if !self.error.is_empty() {
            text += &format!("on the error channel:\n{}", lines(&self.error));
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(output: Option<&str>, fails: Option<&str>) -> TestMark {
        TestMark {
            span: raddle_occam::source::Span::default(),
            proc: None,
            input: Vec::new(),
            output: output.map(Into::into),
            fails: fails.map(Into::into),
            seconds: None,
        }
    }

    fn trial(screen: &str, failure: Option<&str>) -> Trial {
        Trial { screen: screen.into(), error: Vec::new(), failure: failure.map(str::to_owned), late: None }
    }

    #[test]
    fn a_test_passes_if_it_does_what_it_says() {
        let said = |trial: Trial, output, fails| trial.complaint(&mark(output, fails));
        assert_eq!(said(trial("a", None), None, None), None);
        assert_eq!(said(trial("a", None), Some("a"), None), None);
        assert_eq!(said(trial("", Some("overflow")), None, Some("")), None);
        assert_eq!(said(trial("", Some("an overflow")), None, Some("overflow")), None);
        assert!(
            said(trial("a", None), Some("b"), None).is_some_and(|it| it.contains("expected on the screen"))
        );
        assert!(
            said(trial("a", Some("overflow")), Some("a"), None).is_some_and(|it| it.contains("overflow"))
        );
        assert!(said(trial("", None), None, Some("x")).is_some_and(|it| it.contains("should fail with `x`")));
        assert!(said(trial("", Some("y")), None, Some("x")).is_some_and(|it| it.contains("without `x`")));
    }

    #[test]
    fn who_is_late_has_failed_even_if_it_should_fail() {
        let late = Trial { late: Some(3), ..trial("a", Some("it was ended")) };
        assert!(
            late.complaint(&mark(None, Some("")))
                .is_some_and(|it| it.starts_with("it was ended after 3 s\n"))
        );
    }
}
