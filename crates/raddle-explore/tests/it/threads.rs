//! The same for threads, which have storage of their own.

use crate::bugs::find;
use crate::correct::check;
use raddle::explore::{Kind, Options, try_explore};
use raddle::sync::{Arc, Mutex};
use raddle::thread;

#[test]
fn dining_philosophers() {
    find(
        || {
            const SEATS: usize = 4;
            let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..SEATS).map(|_| Mutex::new(())).collect());
            let dine = |seat: usize| {
                let forks = forks.clone();
                thread::Builder::new().name(format!("philosopher {seat}")).spawn(move || {
                    let _left = forks[seat].lock().unwrap();
                    let _right = forks[(seat + 1) % SEATS].lock().unwrap();
                })
            };
            let all: Vec<_> = (0..SEATS).map(|seat| dine(seat).unwrap()).collect();
            all.into_iter().for_each(|philosopher| philosopher.join().unwrap());
        },
        Kind::Deadlock,
        "'philosopher 0' waits in Mutex::lock",
    );
}

#[test]
fn polite_philosophers() {
    check(|| {
        let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..3).map(|_| Mutex::new(())).collect());
        let dine = |seat: usize| {
            let forks = forks.clone();
            thread::spawn(move || {
                let (left, right) = (seat.min((seat + 1) % 3), seat.max((seat + 1) % 3));
                let _left = forks[left].lock().unwrap();
                let _right = forks[right].lock().unwrap();
            })
        };
        let all: Vec<_> = (0..3).map(dine).collect();
        all.into_iter().for_each(|philosopher| philosopher.join().unwrap());
    });
}

#[test]
fn they_go_the_same_way_too() {
    let way = |seed| {
        let options = Options { iterations: 1, seed, ..Options::default() };
        try_explore(options, || {
            let count = Arc::new(Mutex::new(0));
            let all: Vec<_> = (0..4)
                .map(|_| {
                    let count = count.clone();
                    thread::spawn(move || {
                        for _ in 0..4 {
                            *count.lock().unwrap() += 1;
                            thread::yield_now();
                        }
                    })
                })
                .collect();
            all.into_iter().for_each(|one| one.join().unwrap());
            assert_eq!(*count.lock().unwrap(), 16);
        })
        .unwrap_or_else(|failure| panic!("{failure}"))
    };
    assert_eq!(way(5), way(5));
    assert_ne!(way(5), way(6));
}

/// A runtime that follows a seed, and whose work comes from an OS thread, piece by piece: each time nothing is left to
/// do for a while, and that is not the end.
#[test]
fn an_os_thread_gives_a_seeded_runtime_work_again_and_again() {
    let runtime = raddle::Runtime::builder().seed(4).build().expect("a runtime");
    let (done, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for n in 0..20 {
            assert_eq!(runtime.spawn(move || n).join().unwrap(), n);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        done.send(()).expect("the test waits");
    });
    told.recv_timeout(std::time::Duration::from_secs(60)).expect("the worker goes on");
}
