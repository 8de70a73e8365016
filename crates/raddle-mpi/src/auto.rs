//! Owns: mode `Auto`: it tries the modes for a few iterations each, chooses, says why, and looks again.
//! May use: `mode`.
//! Never: a clock of its own, or a message: what it is told decides, so that a test can tell it anything.
//!
//! An *iteration* is the time between two starts of one plan, the first that is started; four at a time are measured,
//! since a program may start it several times in what it calls an iteration, and not wait alike each time. Ranks start
//! their plans in one order: so they try the same mode at a time without a word about it, and each chooses for itself.
//!
//! Inline comes first: what is waited for there is what could be hidden. If that is less than a hundredth, nothing else
//! is tried. Then the workers, with a watchdog if their looks were far apart, and an OS thread with a processor of its
//! own if there is one to spare. What is measured decides, not a prediction: what a processor less costs a program that
//! waits for memory is not to be known otherwise. A choice stays for so long that the trials took a fiftieth of the
//! time, unless an iteration takes a quarter more or less than when it was chosen.

use crate::mode::Mode;
use std::time::Duration;

/// So many iterations are measured together; so many after a change are not measured.
const TOGETHER: u32 = 4;
const SKIPPED: u32 = 2;
/// How often that is measured of a mode, and when it is looked at again.
const FIRST_TRIAL: usize = 3;
const LATER_TRIAL: usize = 2;
/// The least time between two looks, in iterations; doubled when a look changes nothing, so often.
const INTERVAL_MIN: u64 = 100;
const INTERVAL_DOUBLINGS: u32 = 6;
/// Trials may take this part of the time.
const SHARE: f64 = 0.02;
/// A change must gain so much.
const HYSTERESIS: f64 = 0.05;
/// Who waits for less than this part of an iteration has nothing to hide.
const NOTHING: f64 = 0.01;
/// From so many processors on, a mode that takes one may pay.
const PROCESSORS_MIN: usize = 4;
/// So many measurements are looked at for a change of the program's ways.
const STRETCH: usize = 8;
const CHANGE: f64 = 0.25;
/// So many starts of others without one of the plan that sets the pace: it is not used any more.
const LOST: u32 = 256;

/// What a mode was found to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The mode.
    pub mode: Mode,
    /// An iteration in it, the median of a few.
    pub iteration: Duration,
    /// How much of it was waiting.
    pub waited: Duration,
    /// The longest time between two looks.
    pub longest_gap: Duration,
}

/// What mode [`Auto`](Mode::Auto) has chosen, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoReport {
    /// The mode at the moment: one that is tried, or the chosen one.
    pub acting: Mode,
    /// In words; empty until something is chosen.
    pub reason: String,
    /// How often something was chosen.
    pub choices: u64,
    /// On what the last choice was founded.
    pub trials: Vec<Trial>,
}

/// What is known of iterations when they have ended: of several ones the sums, and the longest gap.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    count: u32,
    period_ns: u64,
    waited_ns: u64,
    gap_ns: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Trying,
    Settled { left: u64 },
}

pub(crate) struct Auto {
    core: Option<usize>,
    processors: usize,
    /// The farthest that looks are apart by themselves.
    gap_max_ns: u64,
    /// Which plan sets the pace, and how many others have begun since it did.
    pace: Option<(usize, u64)>,
    others: u32,
    waited_ns: u64,
    acting: Mode,
    phase: Phase,
    /// How many more are not measured.
    skip: u32,
    /// Those that are measured together.
    together: Sample,
    samples: Vec<Sample>,
    trials: Vec<Trial>,
    chosen: Option<Trial>,
    confirmed: u32,
    report: AutoReport,
}

impl Auto {
    /// Begins in mode `Inline`.
    pub(crate) fn new(core: Option<usize>, processors: usize, gap_max_ns: u64) -> Auto {
        let report =
            AutoReport { acting: Mode::Inline, reason: String::new(), choices: 0, trials: Vec::new() };
        Auto {
            core,
            processors,
            gap_max_ns,
            pace: None,
            others: 0,
            waited_ns: 0,
            acting: Mode::Inline,
            phase: Phase::Trying,
            skip: SKIPPED,
            together: Sample::default(),
            samples: Vec::new(),
            trials: Vec::new(),
            chosen: None,
            confirmed: 0,
            report,
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        Mode::Auto { core: self.core }
    }

    pub(crate) fn report(&self) -> AutoReport {
        AutoReport { acting: self.acting, ..self.report.clone() }
    }

    /// Somebody has waited for a plan.
    pub(crate) fn waited(&mut self, ns: u64) {
        self.waited_ns += ns;
    }

    /// A plan is about to be started; which mode is to act from now on, if it is another one.
    pub(crate) fn begins(&mut self, plan: usize, now: u64, gap_ns: impl FnOnce() -> u64) -> Option<Mode> {
        match self.pace {
            Some((pace, begun)) if pace == plan => {
                self.others = 0;
                self.pace = Some((plan, now));
                let (waited, gap) = (std::mem::take(&mut self.waited_ns), gap_ns());
                if self.skip > 0 {
                    self.skip -= 1;
                    return None;
                }
                self.together.count += 1;
                self.together.period_ns += now.saturating_sub(begun);
                self.together.waited_ns += waited;
                self.together.gap_ns = self.together.gap_ns.max(gap);
                if self.together.count < TOGETHER {
                    return None;
                }
                let sample = std::mem::take(&mut self.together);
                let next = self.ended(sample)?;
                self.acting = next;
                Some(next)
            }
            Some(_) if self.others < LOST => {
                self.others += 1;
                None
            }
            _ => {
                // The iteration that was begun by another plan has no end.
                (self.pace, self.others, self.waited_ns, self.skip) = (Some((plan, now)), 0, 0, SKIPPED);
                self.together = Sample::default();
                self.samples.clear();
                None
            }
        }
    }

    /// Iterations have ended that were measured together.
    fn ended(&mut self, sample: Sample) -> Option<Mode> {
        self.samples.push(sample);
        match self.phase {
            Phase::Trying => {
                let enough = if self.chosen.is_none() { FIRST_TRIAL } else { LATER_TRIAL };
                if self.samples.len() < enough {
                    return None;
                }
                let trial = trial(self.acting, &mut self.samples);
                self.trials.push(trial);
                self.try_next()
            }
            Phase::Settled { left } => {
                let left = left.saturating_sub(u64::from(TOGETHER));
                self.phase = Phase::Settled { left };
                let is_full = self.samples.len() == STRETCH;
                if left != 0 && !is_full {
                    return None;
                }
                let now = trial(self.acting, &mut self.samples);
                let then = self.chosen.map_or(0.0, |chosen| chosen.iteration.as_secs_f64());
                let has_changed = is_full && (now.iteration.as_secs_f64() - then).abs() > CHANGE * then;
                if left != 0 && !has_changed {
                    return None;
                }
                if has_changed {
                    self.confirmed = 0;
                }
                self.trials = vec![now];
                self.try_next()
            }
        }
    }

    fn tried(&self, mode: Mode) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.mode == mode)
    }

    /// The next mode that is worth a trial; if there is none, the best.
    fn try_next(&mut self) -> Option<Mode> {
        let next = self.candidates().into_iter().find(|mode| self.tried(*mode).is_none());
        let next = next.filter(|_| !self.has_nothing_to_hide());
        self.samples.clear();
        self.skip = SKIPPED;
        if let Some(mode) = next {
            self.phase = Phase::Trying;
            return Some(mode);
        }
        let mode = self.choose();
        (mode != self.acting).then_some(mode)
    }

    fn has_nothing_to_hide(&self) -> bool {
        self.tried(Mode::Inline)
            .is_some_and(|inline| inline.waited.as_secs_f64() < NOTHING * inline.iteration.as_secs_f64())
    }

    fn candidates(&self) -> Vec<Mode> {
        let mut modes = vec![Mode::Inline, Mode::Shared];
        let looks_were_far_apart = self.tried(Mode::Shared).is_some_and(|shared| {
            shared.longest_gap > Duration::from_nanos(2 * self.gap_max_ns)
                && shared.waited.as_secs_f64() > HYSTERESIS * shared.iteration.as_secs_f64()
        });
        if looks_were_far_apart {
            modes.push(Mode::Watched);
        }
        if self.has_a_processor_to_spare() {
            modes.push(Mode::Dedicated { core: self.core });
        }
        modes
    }

    fn has_a_processor_to_spare(&self) -> bool {
        self.core.is_some() || self.processors >= PROCESSORS_MIN
    }

    fn choose(&mut self) -> Mode {
        let of = |trial: &Trial| trial.iteration.as_secs_f64();
        let best = self.trials.iter().min_by(|a, b| of(a).total_cmp(&of(b))).expect("something was tried");
        let present = self.chosen.and_then(|chosen| self.tried(chosen.mode));
        let stays = present.filter(|present| of(best) > (1.0 - HYSTERESIS) * of(present));
        // Who has nothing to hide any more need not be looked after.
        let quiet = self.tried(Mode::Inline).filter(|_| self.has_nothing_to_hide());
        let quiet = quiet.filter(|inline| of(best) > (1.0 - HYSTERESIS) * of(inline));
        let choice = *quiet.or(stays).unwrap_or(best);
        let is_another = self.chosen.is_none_or(|chosen| chosen.mode != choice.mode);
        self.confirmed = if is_another { 0 } else { (self.confirmed + 1).min(INTERVAL_DOUBLINGS) };
        let least = of(best).max(1e-9);
        let lost: f64 = self.trials.iter().map(|trial| of(trial) / least - 1.0).sum();
        let trial = f64::from(SKIPPED) + f64::from(TOGETHER) * LATER_TRIAL as f64;
        let earned = (lost * trial / SHARE) as u64;
        self.phase = Phase::Settled { left: earned.max(INTERVAL_MIN << self.confirmed) };
        self.chosen = Some(choice);
        self.report.choices += 1;
        self.report.reason = self.reason(&choice);
        self.report.trials.clone_from(&self.trials);
        choice.mode
    }

    fn reason(&self, choice: &Trial) -> String {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let mut text = format!("{}: {:.2} ms an iteration", choice.mode, ms(choice.iteration));
        if self.trials.len() == 1 && choice.mode == Mode::Inline {
            text += &format!(", of which {:.3} ms are waits: there is nothing to hide", ms(choice.waited));
            return text;
        }
        for other in self.trials.iter().filter(|trial| trial.mode != choice.mode) {
            text += &format!(
                "; {} {:.2}, of which {:.2} waiting",
                other.mode,
                ms(other.iteration),
                ms(other.waited)
            );
        }
        if let Some(rho) = kernel_ratio(&self.trials) {
            text += &format!("; with a processor less the program computes {rho:.3} times as long");
        } else if !self.has_a_processor_to_spare() {
            text += &format!("; dedicated was not tried: {} processors, none to spare", self.processors);
        }
        text
    }
}

/// By how much longer a program computes while the proxy has a processor for itself.
fn kernel_ratio(trials: &[Trial]) -> Option<f64> {
    let computing = |trial: &Trial| trial.iteration.saturating_sub(trial.waited).as_secs_f64();
    let dedicated = trials.iter().find(|trial| matches!(trial.mode, Mode::Dedicated { .. }))?;
    let inline = trials.iter().find(|trial| trial.mode == Mode::Inline)?;
    (computing(inline) > 0.0).then(|| computing(dedicated) / computing(inline))
}

impl AutoReport {
    /// How much longer the program has computed while the proxy had a processor for itself; if that was tried.
    pub fn kernel_ratio(&self) -> Option<f64> {
        kernel_ratio(&self.trials)
    }
}

/// Takes the medians.
fn trial(mode: Mode, samples: &mut Vec<Sample>) -> Trial {
    let middle = |of: fn(&Sample) -> u64| {
        let mut all: Vec<u64> = samples.iter().map(of).collect();
        all.sort_unstable();
        // Of two the lesser: what disturbs adds.
        Duration::from_nanos(all[(all.len() - 1) / 2])
    };
    let trial = Trial {
        mode,
        iteration: middle(|sample| sample.period_ns / u64::from(sample.count)),
        waited: middle(|sample| sample.waited_ns / u64::from(sample.count)),
        longest_gap: middle(|sample| sample.gap_ns),
    };
    samples.clear();
    trial
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Iterations of a program that computes so long, sends for so long, and has looks so far apart.
    struct Told {
        auto: Auto,
        now: u64,
        compute: u64,
        wire: u64,
        gap: u64,
        /// How much longer it computes with a processor less, in hundredths.
        rho: u64,
        seen: Vec<Mode>,
        half: bool,
    }

    const MS: u64 = 1_000_000;

    impl Told {
        fn new(compute: u64, wire: u64) -> Told {
            let auto = Auto::new(None, 2, 2 * MS);
            Told {
                auto,
                now: 0,
                compute: compute * MS,
                wire: wire * MS,
                gap: MS,
                rho: 100,
                seen: Vec::new(),
                half: false,
            }
        }

        fn run(&mut self, iterations: usize) -> Mode {
            for _ in 0..iterations {
                if let Some(mode) = self.auto.begins(1, self.now, || self.gap) {
                    self.seen.push(mode);
                }
                let hides = match self.auto.acting {
                    Mode::Inline => 0,
                    Mode::Shared if self.gap > 4 * MS => self.compute / 5,
                    _ => self.compute,
                };
                let is_dedicated = matches!(self.auto.acting, Mode::Dedicated { .. });
                let compute = if is_dedicated { self.compute * self.rho / 100 } else { self.compute };
                // A program whose halves do not wait alike: in one it waits for both.
                self.half = !self.half;
                let waits = if self.half { 2 * self.wire.saturating_sub(hides) } else { 0 };
                self.auto.waited(waits);
                self.now += compute + waits;
            }
            self.auto.acting
        }
    }

    #[test]
    fn who_has_nothing_to_hide_stays_inline_and_tries_nothing() {
        let mut told = Told::new(20, 0);
        assert_eq!(told.run(1000), Mode::Inline);
        assert!(told.seen.is_empty(), "{:?}", told.seen);
        let reason = told.auto.report().reason;
        assert!(reason.contains("there is nothing to hide"), "{reason}");
    }

    #[test]
    fn large_messages_go_to_the_workers() {
        let mut told = Told::new(20, 17);
        assert_eq!(told.run(40), Mode::Shared);
        let reason = told.auto.report().reason;
        assert!(
            reason.starts_with("shared: 20.00 ms an iteration; inline 37.00, of which 17.00"),
            "{reason}"
        );
        assert!(reason.ends_with("dedicated was not tried: 2 processors, none to spare"), "{reason}");
        // It looks again, stays, and what that costs is bounded.
        let before = told.now;
        told.run(2000);
        assert!(told.auto.report().choices > 1);
        assert_eq!(told.auto.acting, Mode::Shared);
        assert!((told.now - before) as f64 <= 1.021 * 2000.0 * (20 * MS) as f64);
    }

    #[test]
    fn tasks_without_boundaries_get_a_watchdog() {
        let mut told = Told::new(20, 17);
        told.gap = 10 * MS;
        assert_eq!(told.run(60), Mode::Watched);
    }

    #[test]
    fn a_processor_to_spare_is_tried_and_its_cost_is_measured() {
        let mut told = Told::new(20, 25);
        told.auto.processors = 8;
        told.rho = 140;
        assert_eq!(told.run(60), Mode::Shared);
        let ratio = told.auto.report().kernel_ratio().expect("it was tried");
        assert!((ratio - 1.4).abs() < 1e-9, "{ratio}");
        assert!(told.auto.report().reason.contains("computes 1.400 times as long"));
    }

    #[test]
    fn a_program_that_changes_its_ways_is_looked_at_again() {
        let mut told = Told::new(20, 0);
        assert_eq!(told.run(500), Mode::Inline);
        (told.compute, told.wire) = (30 * MS, 20 * MS);
        assert_eq!(told.run(100), Mode::Shared);
        (told.compute, told.wire) = (3 * MS, 0);
        told.run(100);
        let report = told.auto.report();
        assert!(report.choices >= 3, "{report:?}");
        assert_eq!(report.acting, Mode::Inline, "{report:?}");
    }

    #[test]
    fn a_plan_that_is_gone_sets_no_pace() {
        let mut auto = Auto::new(None, 2, 2 * MS);
        auto.begins(1, 0, || 0);
        let mut tried = None;
        for at in 1..600 {
            auto.waited(MS);
            tried = tried.or(auto.begins(2, at * 2 * MS, || 0));
        }
        assert_eq!(tried, Some(Mode::Shared));
    }
}
