//! Each policy shows a counter that only it can produce, and leaves the others' at zero: by the builder, and in
//! programs of their own by `RADDLE_*`.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]

#[path = "support/child.rs"]
mod child;
#[path = "support/watch.rs"]
mod watch;

use child::{assert_said, assert_success, in_child_with, stderr};
use raddle::{Balance, Builder, Futures, Queues, Runtime, Stats, Victim, csp, join, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use watch::{Progress, Watchdog};

type Counter = fn(&Stats) -> u64;

/// Every counter that only some policies can produce, but for those of the victim policies.
const MARKS: [(&str, Counter); 10] = [
    ("fresh_stolen", |s| s.fresh_stolen),
    ("published", |s| s.published),
    ("steals", |s| s.steals),
    ("shared_out", |s| s.shared_out),
    ("handed_over", |s| s.handed_over),
    ("fair_moves", |s| s.fair_moves),
    ("queue_shared", |s| s.queue_shared),
    ("group_taken", |s| s.group_taken),
    ("round_robin", |s| s.round_robin),
    ("children_open", |s| s.children_open),
];

fn total(rt: &Runtime) -> Stats {
    rt.stats().into_iter().fold(Stats::default(), |mut sum, one| {
        sum += one;
        sum
    })
}

fn value(stats: &Stats, name: &str) -> u64 {
    stats.entries().find(|(n, _)| *n == name).expect("a counter of this name").1
}

/// The counter of the victim policy with this word.
fn mark_of_victim(word: &str) -> &'static str {
    let stats = Stats::default();
    let mut names = stats.entries().map(|(name, _)| name);
    names.find(|name| name.strip_prefix("victims_by_") == Some(word)).expect("a counter for each")
}

/// Loads worker 0 with work of every kind until the counter `mark` has moved.
///
/// The loop has no end but that: a policy that cannot produce its mark ends in the watchdog.
fn work_until(builder: Builder, mark: &'static str) -> Stats {
    let rt = builder.build().expect("a runtime");
    let progress = Progress::default();
    let _dog = Watchdog::new(format!("policy that makes `{mark}`"), progress.clone(), String::new);
    while value(&total(&rt), mark) == 0 {
        rt.run(mixed_load);
    }
    progress.note();
    total(&rt)
}

/// Does the same a few times, for a policy whose mark is that there is none.
fn work_a_while(builder: Builder) -> Stats {
    let rt = builder.build().expect("a runtime");
    (0..20).for_each(|_| rt.run(mixed_load));
    total(&rt)
}

fn spin(rounds: u32) {
    for n in 0..rounds {
        std::hint::black_box(n);
    }
}

/// Fresh processes that compute, and tasks that yield: all from one worker, so that the others have nothing.
fn mixed_load() {
    let fresh: Vec<_> = (0..64).map(|_| csp::spawn(|| spin(20_000))).collect();
    let task = || async {
        for _ in 0..40 {
            spin(4_000);
            task::yield_now().await;
        }
    };
    let tasks: Vec<_> = (0..32).map(|_| task::spawn(task())).collect();
    csp::yield_now();
    fresh.into_iter().for_each(|h| h.join().unwrap());
    for task in tasks {
        task::block_on(task).unwrap();
    }
}

/// Only the marks named may have moved.
#[track_caller]
fn only(stats: &Stats, allowed: &[&str]) {
    for (name, counter) in MARKS {
        assert!(allowed.contains(&name) || counter(stats) == 0, "{name} has moved:\n{stats}");
    }
    for (word, _) in Victim::ALL {
        let name = mark_of_victim(word);
        assert!(allowed.contains(&name) || value(stats, name) == 0, "{name} has moved:\n{stats}");
    }
}

fn two() -> Builder {
    Runtime::builder().workers(2)
}

const STEALS: [&str; 4] = ["fresh_stolen", "published", "steals", "handed_over"];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    STEALS.iter().chain(more).copied().collect()
}

#[test]
fn balance_steal_takes_the_fresh() {
    let stats = work_until(two().balance(Balance::Steal), "fresh_stolen");
    only(&stats, &with(&["victims_by_backlog"]));
}

#[test]
fn balance_steal_lays_out_surplus_and_takes_it() {
    let stats = work_until(two().balance(Balance::Steal), "published");
    only(&stats, &with(&["victims_by_backlog"]));
}

#[test]
fn futures_lie_open_a_few_or_all() {
    fn tree(depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let (a, b) = join(|| tree(depth - 1), || tree(depth - 1));
        a + b
    }
    let forks = |builder: Builder| {
        let rt = builder.build().expect("a runtime");
        assert_eq!(rt.run(|| tree(12)), 1 << 12);
        let stats = total(&rt);
        (stats.promoted, stats.children_open)
    };
    assert_eq!(forks(two().futures(Futures::Child)), (0, (1 << 12) - 1));
    let (promoted, open) = forks(two());
    assert!((1..1 << 12).contains(&promoted) && open == 0, "{promoted} {open}");
    let one = Runtime::builder().workers(1).futures(Futures::Child);
    assert_eq!(forks(one), (0, 0), "nobody could take them");
}

#[test]
fn balance_share_hands_out() {
    let stats = work_until(two().balance(Balance::Share), "shared_out");
    only(&stats, &["shared_out"]);
}

#[test]
fn balance_fair_moves_one_when_nobody_is_idle() {
    let rt = two().balance(Balance::Fair).tick(Duration::from_micros(100)).build().unwrap();
    let progress = Progress::default();
    let _dog = Watchdog::new("balance fair".to_owned(), progress.clone(), String::new);
    let over = Arc::new(AtomicBool::new(false));
    let seen = over.clone();
    rt.run(move || {
        // Worker 1 is never idle, nor long of queue; worker 0 has all the tasks.
        let busy = over.clone();
        let one = csp::spawn_on(1, move || {
            while !busy.load(Ordering::Relaxed) {
                spin(100);
                csp::yield_now();
            }
        });
        for _ in 0..64 {
            let over = over.clone();
            drop(task::spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    spin(100);
                    task::yield_now().await;
                }
            }));
        }
        drop(one);
    });
    while total(&rt).fair_moves == 0 {
        std::thread::yield_now();
    }
    progress.note();
    seen.store(true, Ordering::Relaxed);
    only(&total(&rt), &with(&["victims_by_backlog", "fair_moves"]));
    assert_eq!(rt.shutdown(), 0);
}

#[test]
fn balance_none_moves_nothing() {
    let stats = work_a_while(two().balance(Balance::None));
    only(&stats, &[]);
    assert_eq!((stats.migrations, stats.steals_tried), (0, 0));
}

#[test]
fn each_victim_policy_counts_its_own_choices() {
    for (word, victim) in Victim::ALL {
        let mark = mark_of_victim(word);
        let stats = work_until(two().victim(*victim), mark);
        only(&stats, &with(&[mark]));
    }
}

#[test]
fn queues_shared_puts_all_that_is_movable_into_one() {
    let stats = work_until(two().queues(Queues::Shared), "queue_shared");
    only(&stats, &["queue_shared"]);
    assert!(stats.shared_taken > 0, "{stats}");
}

#[test]
fn queues_of_groups_help_each_other() {
    let stats = work_until(Runtime::builder().workers(4).queues(Queues::PerGroup(2)), "group_taken");
    assert!(stats.queue_shared > 0, "{stats}");
    only(&stats, &with(&["victims_by_backlog", "queue_shared", "group_taken"]));
}

#[test]
fn groups_without_balance_do_not_help_each_other() {
    let stats =
        work_a_while(Runtime::builder().workers(4).queues(Queues::PerGroup(2)).balance(Balance::None));
    assert!(stats.queue_shared > 0, "{stats}");
    only(&stats, &["queue_shared"]);
}

#[test]
fn one_queue_a_worker_shares_none() {
    let stats = work_a_while(two().queues(Queues::PerWorker));
    only(&stats, &with(&["victims_by_backlog"]));
}

#[test]
fn without_migration_the_fresh_are_dealt_in_turn_and_nothing_started_moves() {
    let stats = work_until(two().migration(false), "round_robin");
    only(&stats, &with(&["victims_by_backlog", "round_robin"]));
    assert_eq!((stats.migrations, stats.published), (0, 0), "{stats}");
    let dealt: Vec<_> = {
        let rt = two().migration(false).build().unwrap();
        rt.run(mixed_load);
        rt.stats().iter().take(rt.workers()).map(|s| s.dispatches).collect()
    };
    assert!(dealt.iter().all(|&d| d > 0), "{dealt:?}");
}

#[test]
fn with_migration_cells_move() {
    let stats = work_until(two().migration(true), "migrations");
    assert_eq!(stats.round_robin, 0);
}

#[test]
fn spawn_on_counts_as_placed() {
    let rt = two().build().unwrap();
    rt.run(|| (0..10).for_each(|n| csp::spawn_on(n % 2, || ()).join().unwrap()));
    assert_eq!(total(&rt).placed, 10);
}

/// The processors that the calling OS thread may use.
fn affinity() -> Vec<usize> {
    // SAFETY: a set of bits, for which all zeroes is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most the size that it is told.
    let asked = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    assert_eq!(asked, 0);
    // SAFETY: the index is within the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

#[test]
fn pinned_workers_are_bound_to_one_processor_each() {
    let allowed = affinity();
    let rt = Runtime::builder().workers(3).pin_workers(true).build().unwrap();
    let bound: Vec<_> = rt.run(|| (0..3).map(|n| csp::spawn_on(n, affinity).join().unwrap()).collect());
    let wanted: Vec<_> = (0..3).map(|n| vec![allowed[n % allowed.len()]]).collect();
    assert_eq!(bound, wanted);
    let free = Runtime::builder().workers(1).pin_workers(false).build().unwrap();
    assert_eq!(free.run(affinity), allowed);
}

#[test]
fn a_spin_budget_is_taken_and_work_is_still_found() {
    let rt = two().spin(Duration::from_micros(200)).build().unwrap();
    assert_eq!(rt.policy().spin, Duration::from_micros(200));
    for _ in 0..20 {
        rt.run(mixed_load);
    }
    rt.run(|| (0..200).for_each(|n| csp::spawn_on(n % 2, || ()).join().unwrap()));
    assert_eq!(rt.shutdown(), 0);
}

/// In a program of its own, whose default runtime has `variables`: works until `mark` moves, then says it.
fn by_environment(test: &str, variables: &[(&str, &str)], mark: &'static str) {
    let output = in_child_with(test, &[&[("RADDLE_WORKERS", "2")], variables].concat(), || {
        let stats = work_until(Runtime::builder(), mark);
        eprintln!("{mark} = {}", value(&stats, mark));
    });
    assert_success(&output);
    assert_said(&output, &[&format!("{mark} = ")]);
    assert!(!stderr(&output).contains(&format!("{mark} = 0")));
}

#[test]
fn the_environment_sets_the_balance() {
    // In the child each call would run its own body: the variable tells which.
    let test = "the_environment_sets_the_balance";
    match std::env::var("RADDLE_BALANCE").as_deref() {
        Ok("share") => by_environment(test, &[], "shared_out"),
        Ok("steal") => by_environment(test, &[], "fresh_stolen"),
        _ => {
            by_environment(test, &[("RADDLE_BALANCE", "share")], "shared_out");
            by_environment(test, &[("RADDLE_BALANCE", "steal")], "fresh_stolen");
        }
    }
}

#[test]
fn the_environment_sets_the_victim() {
    let test = "the_environment_sets_the_victim";
    if let Ok(word) = std::env::var("RADDLE_VICTIM") {
        return by_environment(test, &[], mark_of_victim(&word));
    }
    for (word, _) in Victim::ALL {
        by_environment(test, &[("RADDLE_VICTIM", word)], mark_of_victim(word));
    }
}

#[test]
fn the_environment_sets_the_queues() {
    by_environment("the_environment_sets_the_queues", &[("RADDLE_QUEUES", "shared")], "queue_shared");
}

#[test]
fn the_environment_sets_groups() {
    let variables = [("RADDLE_QUEUES", "group:1")];
    by_environment("the_environment_sets_groups", &variables, "group_taken");
}

#[test]
fn the_environment_turns_migration_off() {
    by_environment("the_environment_turns_migration_off", &[("RADDLE_MIGRATION", "off")], "round_robin");
}

#[test]
fn the_environment_pins_workers_and_sets_tick_spin_and_stack() {
    let test = "the_environment_pins_workers_and_sets_tick_spin_and_stack";
    let variables =
        [("RADDLE_PIN", "on"), ("RADDLE_TICK", "2ms"), ("RADDLE_SPIN", "20us"), ("RADDLE_STACK_SIZE", "1M")];
    let output = in_child_with(test, &variables, || {
        let rt = Runtime::builder().workers(1).build().unwrap();
        let policy = rt.policy();
        assert_eq!((policy.tick, policy.spin), (Duration::from_millis(2), Duration::from_micros(20)));
        assert_eq!(rt.run(affinity).len(), 1);
        let deep =
            rt.run(|| std::hint::black_box([1_u8; 600 << 10]).iter().map(|&b| usize::from(b)).sum::<usize>());
        assert_eq!(deep, 600 << 10);
    });
    assert_success(&output);
}

/// Tasks of worker 0 that each wake a process of worker 0 at every turn: whoever steals some of them is coupled to it.
fn coupled_load() {
    let stop = Arc::new(AtomicBool::new(false));
    let sleeper = |stop: Arc<AtomicBool>| {
        move || {
            while !stop.load(Ordering::Relaxed) {
                csp::park();
            }
        }
    };
    let sleepers: Vec<_> = (0..32).map(|_| csp::spawn_on(0, sleeper(stop.clone()))).collect();
    let task = |process: csp::Process| async move {
        for _ in 0..400 {
            process.unpark();
            spin(200);
            task::yield_now().await;
        }
    };
    let tasks: Vec<_> = sleepers.iter().map(|sleeper| task::spawn(task(sleeper.process()))).collect();
    for task in tasks {
        task::block_on(task).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    sleepers.iter().for_each(|sleeper| sleeper.process().unpark());
    sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
}

#[test]
fn a_catch_that_keeps_waking_its_victim_goes_home() {
    let rt = two().build().expect("a runtime");
    let progress = Progress::default();
    let _dog = Watchdog::new("a coupled catch".to_owned(), progress.clone(), String::new);
    while total(&rt).sent_home == 0 {
        rt.run(|| csp::spawn_on(0, coupled_load).join().unwrap());
    }
    progress.note();
}

#[test]
fn a_steal_that_gives_less_than_it_costs_is_noticed() {
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() < 2) {
        eprintln!("not run: who steals has the only processor for its turn, and gets tasks that it can run");
        return;
    }
    let rt = two().build().expect("a runtime");
    let progress = Progress::default();
    let _dog = Watchdog::new("an unprofitable steal".to_owned(), progress.clone(), String::new);
    // Tasks that end at once after the worker has laid them out: what a thief gets is gone before it has paid.
    while total(&rt).unprofitable == 0 {
        rt.run(|| {
            let task = || async {
                for _ in 0..100 {
                    task::yield_now().await;
                }
            };
            let tasks: Vec<_> = (0..64).map(|_| task::spawn(task())).collect();
            for task in tasks {
                task::block_on(task).unwrap();
            }
        });
        progress.note();
    }
}
