//! Owns: `Config`: what a runtime is asked to be, by the program and by `RADDLE_*`, and the refusal of nonsense.
//! May use: `observe`, `policy`, `raddle-context`, `raddle-trace`.
//! Never: starting anything.
//!
//! One table, [`SETTINGS`], names every variable, what it may be, and how it is read; parsing, the error that lists
//! what is allowed, and the help of the command line derive from it. What the program says in code wins over the
//! environment, since a program that fixes its number of workers has a reason.

use crate::observe::{DeadlockHandler, HangPlan, Interruption, NotLinked, OnDeadlock};

use crate::observe::{EXPLORER, Seed, TracePlan};
use crate::policy::{Balance, Futures, Policy, Processes, Queues, Victim};
use raddle_context::SizeClass;
use raddle_trace::Level;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// One setting of the runtime.
#[derive(Clone, Copy)]
pub struct Setting {
    /// The environment variable.
    pub variable: &'static str,
    /// What it may be.
    pub allowed: &'static str,
    /// What it decides, in a line.
    pub what: &'static str,
    read: fn(&mut Config, &str) -> Option<()>,
}

/// Every setting that the environment can make.
pub const SETTINGS: &[Setting] = &[
    Setting {
        variable: "RADDLE_WORKERS",
        allowed: "a number from 1 to 1024",
        what: "OS threads that run processes and tasks; default: the cores that affinity and cgroup give",
        read: |c, v| in_range(v, 1, WORKERS_MAX).map(|n| c.workers = Some(n)),
    },
    Setting {
        variable: "RADDLE_QUEUES",
        allowed: "worker, group:N (N from 1), shared",
        what: "task queues for what any worker may run: one a worker, one a group of N workers, one for all",
        read: |c, v| queues(v).map(|q| c.queues = Some(q)),
    },
    Setting {
        variable: "RADDLE_BALANCE",
        allowed: "steal, share, fair, none",
        what: "who moves work: the idle (steal), the busy (share), both and a rotation (fair), nobody (none)",
        read: |c, v| {
            let known = [
                ("steal", Balance::Steal),
                ("share", Balance::Share),
                ("fair", Balance::Fair),
                ("none", Balance::None),
            ];
            one_of(v, &known).map(|b| c.balance = Some(b))
        },
    },
    Setting {
        variable: "RADDLE_VICTIM",
        allowed: Victim::WORDS,
        what: Victim::HELP,
        read: |c, v| one_of(v, Victim::ALL).map(|b| c.victim = Some(b)),
    },
    Setting {
        variable: "RADDLE_MIGRATION",
        allowed: "on, off",
        what: "whether something that has started may come to run on another worker",
        read: |c, v| on_off(v).map(|b| c.migration = Some(b)),
    },
    Setting {
        variable: "RADDLE_PROCESSES",
        allowed: "light, full",
        what: "whether processes have thread-local storage of their own (full), or, where the program allows it, their \
               worker's (light)",
        read: |c, v| {
            let known = [("light", Processes::Light), ("full", Processes::Full)];
            one_of(v, &known).map(|p| c.processes = Some(p))
        },
    },
    Setting {
        variable: "RADDLE_FUTURES",
        allowed: "lazy, child",
        what: "which forks lie open to thieves: the oldest few of a computation (lazy), each from the start (child)",
        read: |c, v| {
            let known = [("lazy", Futures::Lazy), ("child", Futures::Child)];
            one_of(v, &known).map(|f| c.futures = Some(f))
        },
    },
    Setting {
        variable: "RADDLE_TICK",
        allowed: "a duration from 100us to 10s, as 500us, 10ms, 1s",
        what: "period of the balance `fair`, and the longest timed sleep of an idle worker while others are busy",
        read: |c, v| duration(v).filter(tick_fits).map(|d| c.tick = Some(d)),
    },
    Setting {
        variable: "RADDLE_SPIN",
        allowed: "a duration up to 10ms, as 0us, 20us",
        what: "how long an idle worker looks again and again before it sleeps",
        read: |c, v| duration(v).filter(spin_fits).map(|d| c.spin = Some(d)),
    },
    Setting {
        variable: "RADDLE_PIN",
        allowed: "on, off",
        what: "whether each worker is bound to one of the allowed processors",
        read: |c, v| on_off(v).map(|b| c.pin = Some(b)),
    },
    Setting {
        variable: "RADDLE_STACK_SIZE",
        allowed: "bytes up to the largest size class, as 65536, 64K, 1M, 1G",
        what: "stack of a process that does not ask for another",
        read: |c, v| SizeClass::for_bytes(bytes(v)?).ok().map(|class| c.stack_class = Some(class)),
    },
    Setting {
        variable: "RADDLE_MEMBARRIER",
        allowed: "on, off",
        what: "whether an idle worker asks the kernel for the memory barrier that busy ones would need else",
        read: |c, v| on_off(v).map(|b| c.membarrier = Some(b)),
    },
    Setting {
        variable: "RADDLE_MEASURE_STACKS",
        allowed: "on, off",
        what: "whether the deepest use of a stack is measured, which touches all of every stack; shown by the stats",
        read: |c, v| on_off(v).map(|b| c.measure_stacks = Some(b)),
    },
    Setting {
        variable: "RADDLE_TRACE",
        allowed: "a file that ends in .rdt; %p in it is the number of the process",
        what: "where a trace of what the scheduler does is written when the program ends",
        read: |c, v| v.ends_with(".rdt").then(|| c.trace = Some(PathBuf::from(v))),
    },
    Setting {
        variable: "RADDLE_TRACE_LEVEL",
        allowed: "off, sched, sync, user",
        what: "how much is recorded: nothing, the scheduler's doings, promoted forks too, the program's own too",
        read: |c, v| v.parse().ok().map(|level| c.trace_level = Some(level)),
    },
    Setting {
        variable: "RADDLE_TRACE_LAST",
        allowed: "bytes from 64K to 4096M, as 64M",
        what: "how much a trace keeps of each worker: 16 bytes are one event",
        read: |c, v| bytes(v).filter(|n| LAST_BYTES.contains(n)).map(|n| c.trace_last = Some(n)),
    },
    Setting {
        variable: "RADDLE_TRACE_STREAM",
        allowed: "on, off",
        what: "whether a trace is written as the program runs, so that one that is killed leaves it behind",
        read: |c, v| on_off(v).map(|b| c.trace_stream = Some(b)),
    },
    Setting {
        variable: "RADDLE_STATS",
        allowed: "on, off",
        what: "whether a runtime prints its counters on standard error when it ends",
        read: |c, v| on_off(v).map(|b| c.stats = Some(b)),
    },
    Setting {
        variable: "RADDLE_DEADLOCK",
        allowed: "exit, report, off",
        what: "when nothing can ever run again: say who waits for whom and exit with code 3, only say it, or nothing",
        read: |c, v| {
            let known =
                [("exit", OnDeadlock::Exit), ("report", OnDeadlock::Report), ("off", OnDeadlock::Off)];
            one_of(v, &known).map(|on| c.deadlock = Some(on))
        },
    },
    Setting {
        variable: "RADDLE_SLOW_SLICE",
        allowed: "a duration from 10ms, as 100ms, 2s; or off",
        what: "whether it is said who keeps its worker for longer than this while others wait behind it, and why",
        read: |c, v| {
            let least = Duration::from_millis(10);
            let slow = if v == "off" { None } else { Some(duration(v).filter(|slow| *slow >= least)?) };
            c.slow_slice = Some(slow);
            Some(())
        },
    },
    Setting {
        variable: "RADDLE_LIVELOCK",
        allowed: "a duration from 1s, as 10s; or off",
        what: "whether it is said who has only woken each other, or yielded, for this long, and nothing came of it",
        read: |c, v| {
            let least = Duration::from_secs(1);
            let long = if v == "off" { None } else { Some(duration(v).filter(|long| *long >= least)?) };
            c.livelock = Some(long);
            Some(())
        },
    },
    Setting {
        variable: "RADDLE_SIGQUIT",
        allowed: "on, off",
        what: "whether SIGQUIT has it said on standard error what all processes are at, unless the program handles it",
        read: |c, v| on_off(v).map(|b| c.sigquit = Some(b)),
    },
    Setting {
        variable: "RADDLE_SEED",
        allowed: "a number from 0, or a schedule as `12:1,30:2`",
        what: "one worker, which takes every choice from this seed: one number, one schedule; time is virtual",
        read: |c, v| seed(v).map(|seed| c.seed = Some(seed)),
    },
];

pub const WORKERS_MAX: usize = 1024;
const _: () =
    assert!(WORKERS_MAX <= raddle_trace::file::WORKERS_MAX as usize, "no reader takes their records");
/// What a trace may keep of each worker, in bytes.
const LAST_BYTES: std::ops::RangeInclusive<usize> = 1 << 16..=1 << 32;

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A setting has a value that it cannot have.
    Value {
        /// Which setting.
        variable: &'static str,
        /// What was found.
        found: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// An environment variable begins with `RADDLE_` and is none of ours, or a program has given another name.
    Unknown {
        /// The variable.
        variable: String,
    },
    /// Two settings that cannot both be meant.
    Contradiction {
        /// The one.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// Why, and what to change.
        why: &'static str,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Value { variable, found, allowed } => {
                write!(f, "{variable} is `{found}`; it can be {allowed}")
            }
            ConfigError::Unknown { variable } => {
                write!(f, "{variable} is no setting; there are")?;
                let mut before = " ";
                for setting in SETTINGS {
                    f.write_str(before)?;
                    f.write_str(setting.variable)?;
                    before = ", ";
                }
                Ok(())
            }
            ConfigError::Contradiction { first, second, why } => {
                write!(f, "{first} contradicts {second}: {why}")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

/// Variables whose names begin so are of tests, some of which start runtimes.
const OF_TESTS: &str = "RADDLE_FUZZ_";

/// What a runtime is asked to be. Fields that nobody set are `None` and get their default at the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    pub(crate) workers: Option<usize>,
    pub(crate) queues: Option<Queues>,
    pub(crate) balance: Option<Balance>,
    pub(crate) futures: Option<Futures>,
    pub(crate) victim: Option<Victim>,
    pub(crate) migration: Option<bool>,
    pub(crate) processes: Option<Processes>,
    pub(crate) tick: Option<Duration>,
    pub(crate) spin: Option<Duration>,
    pub(crate) pin: Option<bool>,
    pub(crate) stack_class: Option<SizeClass>,
    pub(crate) membarrier: Option<bool>,
    pub(crate) measure_stacks: Option<bool>,
    pub(crate) stats: Option<bool>,
    pub(crate) deadlock: Option<OnDeadlock>,
    pub(crate) sigquit: Option<bool>,
    pub(crate) slow_slice: Option<Option<Duration>>,
    pub(crate) livelock: Option<Option<Duration>>,
    pub(crate) seed: Option<Seed>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) trace_level: Option<Level>,
    pub(crate) trace_last: Option<usize>,
    pub(crate) trace_stream: Option<bool>,
}

impl Config {
    /// Reads all `RADDLE_*` variables but those by which the tests of Raddle are told how long to run.
    pub(crate) fn from_env() -> Result<Config, ConfigError> {
        Config::from_vars(std::env::vars_os())
    }

    pub(crate) fn from_vars(vars: impl Iterator<Item = (OsString, OsString)>) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        for (name, value) in vars {
            let is_setting = |name: &&str| name.starts_with("RADDLE_") && !name.starts_with(OF_TESTS);
            let Some(name) = name.to_str().filter(is_setting) else { continue };
            config.set_by_name(name, &value.to_string_lossy())?;
        }
        Ok(config)
    }

    /// Sets what the variable of this name sets, and no other name is one.
    pub(crate) fn set_by_name(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let setting = SETTINGS.iter().find(|s| s.variable == name);
        self.set(setting.ok_or_else(|| ConfigError::Unknown { variable: name.to_owned() })?, value)
    }

    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), ConfigError> {
        (setting.read)(self, value.trim()).ok_or_else(|| ConfigError::Value {
            variable: setting.variable,
            found: value.to_owned(),
            allowed: setting.allowed,
        })
    }

    /// The settings of `self`, and where it has none those of `other`.
    pub(crate) fn or(self, other: Config) -> Config {
        Config {
            workers: self.workers.or(other.workers),
            queues: self.queues.or(other.queues),
            balance: self.balance.or(other.balance),
            futures: self.futures.or(other.futures),
            victim: self.victim.or(other.victim),
            migration: self.migration.or(other.migration),
            processes: self.processes.or(other.processes),
            tick: self.tick.or(other.tick),
            spin: self.spin.or(other.spin),
            pin: self.pin.or(other.pin),
            stack_class: self.stack_class.or(other.stack_class),
            membarrier: self.membarrier.or(other.membarrier),
            measure_stacks: self.measure_stacks.or(other.measure_stacks),
            stats: self.stats.or(other.stats),
            deadlock: self.deadlock.or(other.deadlock),
            sigquit: self.sigquit.or(other.sigquit),
            slow_slice: self.slow_slice.or(other.slow_slice),
            livelock: self.livelock.or(other.livelock),
            seed: self.seed.or(other.seed),
            trace: self.trace.or(other.trace),
            trace_level: self.trace_level.or(other.trace_level),
            trace_last: self.trace_last.or(other.trace_last),
            trace_stream: self.trace_stream.or(other.trace_stream),
        }
    }

    /// Holds what the program has set in code to the bounds of the environment.
    pub(crate) fn in_bounds(&self) -> Result<(), ConfigError> {
        let (variable, found) = if let Some(workers) = self.workers.filter(|n| !(1..=WORKERS_MAX).contains(n))
        {
            ("RADDLE_WORKERS", workers.to_string())
        } else if self.queues == Some(Queues::PerGroup(0)) {
            ("RADDLE_QUEUES", "group:0".to_owned())
        } else if let Some(tick) = self.tick.filter(|d| !tick_fits(d)) {
            ("RADDLE_TICK", format!("{tick:?}"))
        } else if let Some(spin) = self.spin.filter(|d| !spin_fits(d)) {
            ("RADDLE_SPIN", format!("{spin:?}"))
        } else {
            return Ok(());
        };
        let setting = SETTINGS.iter().find(|setting| setting.variable == variable);
        setting
            .map_or(Ok(()), |setting| Err(ConfigError::Value { variable, found, allowed: setting.allowed }))
    }

    /// The policy, if the settings do not contradict each other.
    pub(crate) fn policy(&self) -> Result<Policy, ConfigError> {
        let contradiction = |first, second, why| Err(ConfigError::Contradiction { first, second, why });
        let default = Policy::default();
        let shared = self.queues == Some(Queues::Shared);
        if shared && matches!(self.balance, Some(Balance::Steal | Balance::Share)) {
            let why = "with one shared queue nobody has anything to give or to lose; leave the balance out";
            return contradiction("the balance steal or share", "queues=shared", why);
        }
        if self.victim.is_some() && (shared || matches!(self.balance, Some(Balance::Share | Balance::None))) {
            let why =
                "a victim is chosen by thieves only; use the balance steal or fair, and no shared queue";
            return contradiction("a victim", "a policy without stealing", why);
        }
        if self.migration == Some(false) && self.balance == Some(Balance::Fair) {
            let why = "the balance fair works by moving what has started; turn migration on";
            return contradiction("migration=off", "balance=fair", why);
        }
        if self.migration == Some(false) && self.queues.is_some_and(|q| q != Queues::PerWorker) {
            let why = "what waits in a queue of several workers starts and goes on where it is taken";
            return contradiction("migration=off", "a queue of several workers", why);
        }
        Ok(Policy {
            queues: self.queues.unwrap_or(default.queues),
            balance: self.balance.unwrap_or(default.balance),
            futures: self.futures.unwrap_or(default.futures),
            victim: self.victim.unwrap_or(default.victim),
            migration: self.migration.unwrap_or(default.migration),
            tick: self.tick.unwrap_or(default.tick),
            spin: self.spin.unwrap_or(default.spin),
        })
    }

    /// Whether processes are light, if the program `allows` it.
    pub(crate) fn lightness(&self, allows: bool) -> Result<bool, ConfigError> {
        if self.processes == Some(Processes::Light) && !allows {
            return Err(ConfigError::Contradiction {
                first: "RADDLE_PROCESSES=light",
                second: "the program",
                why: "light processes share thread-local storage, which only the program itself can declare sound, by \
                      `#[raddle::main(unsafe(light))]` or `Builder::light_processes`; leave the variable out",
            });
        }
        Ok(allows && self.processes != Some(Processes::Full))
    }

    /// What is done about hangs; without a watcher nothing, and who asks for something is refused.
    pub(crate) fn hang_plan(
        &self,
        handler: Option<DeadlockHandler>,
        is_watched: bool,
    ) -> Result<HangPlan, NotLinked> {
        if is_watched {
            let deadlock = self.deadlock.unwrap_or_default();
            // A program of others' says what it says; and a slice that is too long is ended there.
            let is_ours = Interruption::get().is_none();
            let unsaid = |long| is_ours.then_some(long);
            let slow_slice = self.slow_slice.unwrap_or_else(|| unsaid(Duration::from_millis(100)));
            let livelock = self.livelock.unwrap_or_else(|| unsaid(Duration::from_secs(10)));
            let on_quit = self.sigquit.unwrap_or(true);
            return Ok(HangPlan { deadlock, handler, on_quit, slow_slice, livelock });
        }
        let asked = [
            (
                self.deadlock.is_some_and(|on| on != OnDeadlock::Off),
                "reports of deadlocks are asked for (RADDLE_DEADLOCK)",
            ),
            (self.slow_slice.flatten().is_some(), "reports of slow slices are asked for (RADDLE_SLOW_SLICE)"),
            (self.livelock.flatten().is_some(), "reports of livelocks are asked for (RADDLE_LIVELOCK)"),
            (self.sigquit == Some(true), "dumps are asked for (RADDLE_SIGQUIT)"),
            (handler.is_some(), "a handler of deadlocks is set (Builder::on_deadlock)"),
        ];
        let asked = asked.iter().find(|(is_asked, _)| *is_asked).map(|(_, asked)| *asked);
        let none = HangPlan { deadlock: OnDeadlock::Off, ..HangPlan::default() };
        asked.map_or(Ok(none), |asked| Err(NotLinked::watcher(asked)))
    }

    /// What is to be recorded, and where it goes.
    pub(crate) fn trace_plan(&self) -> TracePlan {
        let unsaid = if self.trace.is_some() { Level::Sched } else { Level::Off };
        TracePlan {
            file: self.trace.clone(),
            level: self.trace_level.unwrap_or(unsaid),
            last_bytes: self.trace_last.unwrap_or(64 << 20),
            stream: self.trace_stream.unwrap_or(false),
        }
    }

    /// How many workers: one with a seed, else as set, else the cores that affinity and cgroup really give.
    pub(crate) fn worker_count(&self) -> usize {
        if self.seed.is_some() {
            return 1;
        }
        self.workers.unwrap_or_else(cores).clamp(1, WORKERS_MAX)
    }

    /// The cores for so many workers, which is what `worker_count` has just answered: at least one, and not asked for
    /// again where that asked.
    pub(crate) fn room(&self, workers: usize) -> usize {
        let is_known = workers == 1 || self.workers.is_none();
        if is_known { workers } else { cores() }
    }
}

/// The cores that affinity and cgroup really give. It takes some 60 us to ask.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn one_of<T: Copy>(value: &str, known: &[(&str, T)]) -> Option<T> {
    known.iter().find(|(name, _)| *name == value).map(|(_, meaning)| *meaning)
}

fn on_off(value: &str) -> Option<bool> {
    one_of(value, &[("on", true), ("off", false), ("1", true), ("0", false)])
}

fn in_range(value: &str, least: usize, most: usize) -> Option<usize> {
    value.parse().ok().filter(|n| (least..=most).contains(n))
}

/// A number, or a schedule. Without an explorer nobody can judge a text, and no runtime is built.
fn seed(value: &str) -> Option<Seed> {
    let is_schedule = || EXPLORER.get().is_none_or(|explorer| explorer.is_schedule(value));
    let schedule = || is_schedule().then(|| Seed::Schedule(value.to_owned()));
    value.parse().ok().map(Seed::Number).or_else(schedule)
}

/// `RADDLE_SEED`, for whoever explores.
///
/// # Errors
/// If the environment has a setting that is wrong.
pub fn seed_of_environment() -> Result<Option<Seed>, ConfigError> {
    Config::from_env().map(|config| config.seed)
}

fn tick_fits(tick: &Duration) -> bool {
    (Duration::from_micros(100)..=Duration::from_secs(10)).contains(tick)
}

fn spin_fits(spin: &Duration) -> bool {
    *spin <= Duration::from_millis(10)
}

fn queues(value: &str) -> Option<Queues> {
    match value.split_once(':') {
        Some(("group", size)) => in_range(size, 1, WORKERS_MAX).map(Queues::PerGroup),
        _ => one_of(value, &[("worker", Queues::PerWorker), ("shared", Queues::Shared)]),
    }
}

fn duration(value: &str) -> Option<Duration> {
    let split = value.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = value.split_at(split);
    let number: u64 = number.parse().ok()?;
    let ns_per_unit = one_of(unit, &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000_u64)])?;
    number.checked_mul(ns_per_unit).map(Duration::from_nanos)
}

fn bytes(value: &str) -> Option<usize> {
    let (number, shift) = match value.char_indices().last()? {
        (at, 'k' | 'K') => (&value[..at], 10),
        (at, 'm' | 'M') => (&value[..at], 20),
        (at, 'g' | 'G') => (&value[..at], 30),
        _ => (value, 0),
    };
    number.parse::<usize>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(vars: &[(&str, &str)]) -> Result<Policy, String> {
        let vars = vars.iter().map(|(n, v)| (OsString::from(n), OsString::from(v)));
        let config = Config::from_vars(vars).map_err(|e| e.to_string())?;
        config.policy().map_err(|e| e.to_string())
    }

    #[test]
    fn every_policy_is_reachable_from_the_environment() {
        assert_eq!(check(&[]).unwrap(), Policy::default());
        assert_eq!(check(&[("RADDLE_QUEUES", "group:3")]).unwrap().queues, Queues::PerGroup(3));
        assert_eq!(check(&[("RADDLE_BALANCE", "share")]).unwrap().balance, Balance::Share);
        assert_eq!(check(&[("RADDLE_FUTURES", "child")]).unwrap().futures, Futures::Child);
        assert_eq!(check(&[("RADDLE_VICTIM", "ring")]).unwrap().victim, Victim::Ring);
        assert!(!check(&[("RADDLE_MIGRATION", "off")]).unwrap().migration);
        assert_eq!(check(&[("RADDLE_TICK", "2ms")]).unwrap().tick, Duration::from_millis(2));
        assert_eq!(check(&[("RADDLE_SPIN", "20us")]).unwrap().spin, Duration::from_micros(20));
    }

    #[test]
    fn a_wrong_value_lists_what_is_allowed() {
        let wrong = |name: &str, value: &str| check(&[(name, value)]).unwrap_err();
        assert_eq!(
            wrong("RADDLE_BALANCE", "stael"),
            "RADDLE_BALANCE is `stael`; it can be steal, share, fair, none"
        );
        // Whoever makes schedules judges the text of one.
        for setting in SETTINGS.iter().filter(|setting| setting.variable != "RADDLE_SEED") {
            let said = wrong(setting.variable, "nonsense");
            assert!(said.contains(setting.allowed), "{said}");
        }
        for (name, value) in [("RADDLE_WORKERS", "0"), ("RADDLE_TICK", "1ns"), ("RADDLE_STACK_SIZE", "1000G")]
        {
            assert!(wrong(name, value).contains("it can be"));
        }
    }

    #[test]
    fn every_size_class_can_be_named() {
        for (value, class) in [("8K", 8 << 10), ("64M", 64 << 20), ("1024M", 1 << 30), ("1G", 1 << 30)] {
            let vars = [(OsString::from("RADDLE_STACK_SIZE"), OsString::from(value))];
            let config = Config::from_vars(vars.into_iter()).unwrap();
            assert_eq!(config.stack_class, SizeClass::for_bytes(class).ok(), "{value}");
        }
    }

    #[test]
    fn an_unknown_setting_lists_the_known_ones() {
        let said = check(&[("RADDLE_WORKER", "2")]).unwrap_err();
        assert!(said.starts_with("RADDLE_WORKER is no setting; there are RADDLE_WORKERS, "), "{said}");
        assert_eq!(check(&[("OTHER", "2")]).unwrap(), Policy::default());
        assert_eq!(check(&[("RADDLE_FUZZ_ROUNDS", "2")]).unwrap(), Policy::default());
    }

    #[test]
    fn without_a_watcher_reports_of_hangs_are_refused_only_to_who_asks_for_them() {
        let plan = |name: &str, value: &str| {
            let vars = [(OsString::from(name), OsString::from(value))];
            let config = Config::from_vars(vars.into_iter()).unwrap();
            assert!(config.hang_plan(None, true).is_ok(), "with a watcher all is granted");
            config.hang_plan(None, false)
        };
        for (name, value) in [
            ("RADDLE_DEADLOCK", "exit"),
            ("RADDLE_SLOW_SLICE", "2s"),
            ("RADDLE_LIVELOCK", "5s"),
            ("RADDLE_SIGQUIT", "on"),
        ] {
            let said = plan(name, value).unwrap_err().to_string();
            assert!(said.contains(name) && said.contains("feature `hang`"), "{said}");
        }
        for name in ["RADDLE_DEADLOCK", "RADDLE_SLOW_SLICE", "RADDLE_LIVELOCK", "RADDLE_SIGQUIT"] {
            let granted = plan(name, "off").unwrap();
            assert!(granted.deadlock == OnDeadlock::Off && granted.slow_slice.is_none() && !granted.on_quit);
            assert!(granted.livelock.is_none());
        }
        assert!(plan("RADDLE_WORKERS", "2").is_ok(), "what nobody asks for is left out");
    }

    #[test]
    fn contradictions_are_refused() {
        let both = |a: (&str, &str), b: (&str, &str)| check(&[a, b]).unwrap_err();
        assert!(both(("RADDLE_QUEUES", "shared"), ("RADDLE_BALANCE", "steal")).contains("contradicts"));
        assert!(both(("RADDLE_QUEUES", "shared"), ("RADDLE_VICTIM", "ring")).contains("contradicts"));
        assert!(both(("RADDLE_BALANCE", "none"), ("RADDLE_VICTIM", "ring")).contains("contradicts"));
        assert!(both(("RADDLE_BALANCE", "fair"), ("RADDLE_MIGRATION", "off")).contains("contradicts"));
        assert!(both(("RADDLE_QUEUES", "group:2"), ("RADDLE_MIGRATION", "off")).contains("contradicts"));
    }
}
