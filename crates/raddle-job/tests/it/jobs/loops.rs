//! `par_for` and its kin.

use super::*;

#[test]
fn loops_take_every_turn_once() {
    everywhere(|| {
        for length in [0, 1, 2, 3, 1000] {
            let turns: Vec<AtomicUsize> = (0..length).map(|_| AtomicUsize::new(0)).collect();
            par_for(0..length, |n| tick(&turns[n]));
            assert!(turns.iter().all(|turn| turn.load(Ordering::Relaxed) == 1));
            let mut numbers: Vec<usize> = (0..length).collect();
            par_for_each(&mut numbers, |n| *n += 1);
            assert_eq!(par_map(&numbers, |n| n * 2), (1..=length).map(|n| n * 2).collect::<Vec<_>>());
        }
        assert_eq!(
            panic_of(|| par_for(0..10, |n| if n == 3 {
                throw("turn")
            })),
            "turn"
        );
    });
}

#[test]
fn an_idle_worker_takes_half_of_what_is_left_of_a_loop() {
    runtime(2).run(|| {
        let barrier = Barrier::new(2);
        par_for(0..2, |_| meet(&barrier));
    });
}

/// Turns 4 to 7 are taken, by whom turn 4 shows; turn 5 then stops that worker until another one has a turn behind it.
#[test]
fn a_half_that_was_taken_is_cut_again() {
    let _dog = Watchdog::new("a half".into(), Progress::default(), || String::from("it is not cut"));
    runtime(2).run(|| {
        let (first, second) = (Barrier::new(2), Barrier::new(2));
        par_for(0..8, |n| match n {
            0 | 4 => meet(&first),
            5 | 6 => meet(&second),
            _ => {}
        });
    });
}

/// Long enough for blocks of all sizes, on one worker and with helpers.
#[test]
fn long_loops_take_every_turn_once() {
    everywhere(|| {
        for length in [10_000, 100_003] {
            let turns: Vec<AtomicUsize> = (0..length).map(|_| AtomicUsize::new(0)).collect();
            par_for(7..7 + length, |n| tick(&turns[n - 7]));
            assert!(turns.iter().all(|turn| turn.load(Ordering::Relaxed) == 1));
            let mut numbers: Vec<usize> = (0..length).collect();
            par_for_each(&mut numbers, |n| *n += 1);
            let texts = par_map(&numbers, |n| n.to_string());
            assert!(texts.iter().zip(1..).all(|(text, n)| *text == n.to_string()));
            assert_eq!(par_map(&numbers, |_| ()).len(), length);
        }
    });
}

/// Counts those that live, and those that were made.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(alive: &'a AtomicUsize, made: &AtomicUsize) -> Self {
        tick(alive);
        tick(made);
        Counted(alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn values_are_dropped_once_wherever_a_turn_panics() {
    everywhere(|| {
        for length in [2, 10, 5000] {
            for at in [0, 1, length / 2, length - 1] {
                let (alive, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let numbers: Vec<usize> = (0..length).collect();
                let turn = |n: &usize| {
                    if *n == at {
                        throw("turn");
                    }
                    Counted::new(&alive, &made)
                };
                assert_eq!(panic_of(|| drop(par_map(&numbers, turn))), "turn");
                assert_eq!(alive.load(Ordering::Relaxed), 0, "of {length}, at {at}");
                // The other half runs to its end.
                assert!(made.load(Ordering::Relaxed) >= length / 2);
            }
            let (alive, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let values = par_map(&vec![0_u8; length], |_| Counted::new(&alive, &made));
            assert_eq!((alive.load(Ordering::Relaxed), values.len()), (length, length));
            drop(values);
            assert_eq!(alive.load(Ordering::Relaxed), 0);
        }
    });
}

/// A panic names lines of the program, and none of this crate's own.
#[test]
fn a_panic_in_a_job_names_the_program_or_a_job() {
    let output = in_child("jobs::loops::a_panic_in_a_job_names_the_program_or_a_job", || {
        // The caller is an OS thread: a process of the default runtime runs it.
        assert_eq!(
            panic_of(|| par_for(0..2, |n| if n == 0 {
                panic!("in a loop")
            })),
            "in a loop"
        );
        runtime(2).run(|| {
            let met = Barrier::new(2);
            let taken = || {
                meet(&met);
                panic!("in a job");
            };
            assert_eq!(panic_of(|| join(|| meet(&met), taken)), "in a job");
        });
    });
    assert_success(&output);
    assert_said(
        &output,
        &["raddle: in process (#", "loops.rs:", "in a loop", "raddle: in job #", "in a job"],
    );
    let told = crate::child::stderr(&output);
    let ours: Vec<&str> =
        told.lines().filter(|line| line.starts_with("raddle:") && line.contains("/src/")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

/// Parts of such a loop are given back by those who have taken them.
#[test]
fn turns_that_send_to_one_collector_run_once_each_and_in_their_place() {
    const TURNS: usize = 6_000;
    let collected = |capacity, turns: &(dyn Fn(&channel::Sender<usize>) + Sync)| {
        let (to, from) = channel::bounded(capacity);
        let collector = csp::spawn(move || from.iter().fold((0, 0), |(n, sum), i| (n + 1, sum + i)));
        turns(&to);
        drop(to);
        assert_eq!(collector.join().unwrap(), (TURNS, TURNS * (TURNS - 1) / 2));
    };
    everywhere(|| {
        for capacity in [0, 16] {
            collected(capacity, &|to| par_for(0..TURNS, |n| to.send(n).unwrap()));
            let numbers: Vec<_> = (0..TURNS).collect();
            collected(capacity, &|to| {
                let values = par_map(&numbers, |n| {
                    to.send(*n).unwrap();
                    n.to_string()
                });
                assert!(values.iter().zip(0..).all(|(value, n)| value.parse() == Ok(n)));
                assert_eq!(values.len(), TURNS);
            });
            let mut numbers = numbers.clone();
            collected(capacity, &|to| {
                par_for_each(&mut numbers.clone(), |n| to.send(*n).unwrap());
            });
            par_for_each(&mut numbers, |n| *n += 1);
            assert!(numbers.iter().zip(1..).all(|(value, n)| *value == n));
        }
    });
}
