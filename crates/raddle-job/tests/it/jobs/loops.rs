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
