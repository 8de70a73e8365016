//! Twenty-one planted bugs, by one who had read the guides and no line of the implementation: mistakes as they are
//! made, each with the program that is right beside it. `explore` finds each within a thousand seeds, what it names
//! fails again in the same way, and its first line names the things that are to blame; of a right one it says nothing.

use raddle::explore::{Failure, Kind, Options, replay, try_explore};
use std::io::Write as _;
use std::panic::catch_unwind;

mod channels;
mod locks;
mod steps;
mod time;
mod wakes;

/// Which of two relatives runs.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Planted,
    Mended,
}
use Way::{Mended, Planted};

/// A program, and how its planted form is to fail.
struct Plant {
    program: fn(Way),
    kind: Kind,
    /// What the first sentence of the report has to name.
    says: &'static [&'static str],
}

impl Plant {
    /// The planted form fails, again with its seed, and again by its shrunk schedule; the mended one does not.
    fn check(&self, options: &Options) {
        let program = self.program;
        let mended = Options { iterations: mended_seeds(), ..options.clone() };
        if let Err(report) = try_explore(mended, move || program(Mended)) {
            panic!("the mended program is reported:\n{report}");
        }
        let failure = *try_explore(options.clone(), move || program(Planted)).expect_err("the bug is found");
        if std::env::var_os("STRANGER_TELLS").is_some() {
            writeln!(std::io::stdout(), "{failure}\n").expect("somebody reads");
        }
        let first = sentence(&failure.to_string());
        assert_eq!(failure.kind(), self.kind, "{failure}");
        for thing in self.says {
            assert!(first.contains(thing), "`{thing}` is missing in the first sentence of\n{failure}");
        }

        let seed = failure.seed().expect("a seed has found it");
        let once = Options { seed, iterations: 1, ..options.clone() };
        let again = *try_explore(once, move || program(Planted)).expect_err("the seed fails again");
        assert_eq!(again.to_string().lines().next(), failure.to_string().lines().next());
        assert_eq!(
            sentence(&by_schedule(program, &failure)),
            first,
            "the schedule leads to the same failure"
        );
    }
}

/// What `replay` says when it follows the schedule of `failure`.
fn by_schedule(program: fn(Way), failure: &Failure) -> String {
    let schedule = failure.schedule().to_string();
    let payload =
        catch_unwind(|| replay(move || program(Planted), &schedule)).expect_err("the schedule fails again");
    *payload.downcast().expect("a failure is told in text")
}

/// The first sentence of a report, which may go over lines, without the seed.
fn sentence(report: &str) -> String {
    let how = |line: &str| line.starts_with("found in run") || line.starts_with("shrunk:");
    let lines: Vec<&str> = report.lines().take_while(|line| !how(line)).collect();
    let whole = lines.join(" ");
    whole.split_once("] ").map_or(whole.clone(), |(_, rest)| rest.to_owned())
}

/// Seeds for each mended program; `STRANGER_SEEDS` asks for more.
fn mended_seeds() -> u32 {
    std::env::var("STRANGER_SEEDS").map_or(500, |seeds| seeds.parse().expect("STRANGER_SEEDS is a number"))
}

/// A planted deadlock, with the things that its report has to name.
fn hangs(program: fn(Way), says: &'static [&'static str]) {
    Plant { program, kind: Kind::Deadlock, says }.check(&Options::default());
}

/// A planted error that makes the program panic.
fn panics(program: fn(Way), says: &'static [&'static str]) {
    Plant { program, kind: Kind::Panic, says }.check(&Options::default());
}
