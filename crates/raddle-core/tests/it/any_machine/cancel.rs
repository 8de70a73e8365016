//! Cancellation: every wait ends by it, everything is released in order, and nothing that is shielded is touched.

use crate::lock_waits::{LOCK_WAITS, Waits, ready};
use crate::runtime;
use raddle::cancel::{self, Token, was_cancelled};
use raddle::sync::{self, Arc};
use raddle::{channel, csp, task, thread};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        csp::yield_now();
    }
}

fn again_and_again(flag: &AtomicBool, wait: fn()) {
    ready(flag);
    loop {
        wait();
    }
}

const HOUR: Duration = Duration::from_secs(3600);

/// Each of them waits for ever; so do those of the locks.
const WAITS: &[(&str, Waits)] = &[
    ("park", |f| again_and_again(f, csp::park)),
    ("park_timeout", |f| again_and_again(f, || csp::park_timeout(HOUR))),
    ("sleep", |f| (ready(f), csp::sleep(HOUR)).1),
    ("yield_now", |f| again_and_again(f, csp::yield_now)),
    ("join", |f| {
        let child = csp::spawn(csp::park);
        let process = child.process();
        struct Unpark(csp::Process);
        impl Drop for Unpark {
            fn drop(&mut self) {
                self.0.unpark();
            }
        }
        let _ends_it = Unpark(process);
        ready(f);
        child.join().unwrap();
    }),
    ("csp::Sender::send", |f| {
        let (mut to, _from) = csp::channel();
        ready(f);
        to.send(String::from("kept")).unwrap();
    }),
    ("csp::Receiver::recv", |f| {
        let (_to, mut from) = csp::channel::<u8>();
        ready(f);
        from.recv().unwrap();
    }),
    ("csp::alt!", |f| {
        let (_to, mut from) = csp::channel::<u8>();
        ready(f);
        csp::alt! { recv(from) -> _ => (), after(HOUR) => () }
    }),
    ("csp::Barrier::sync", |f| {
        let mut barrier = csp::Barrier::new();
        let _absent = barrier.enrol();
        ready(f);
        barrier.sync();
    }),
    ("csp::Shared::claim", |f| {
        let shared = csp::Shared::new(0);
        let _claimed = shared.claim();
        ready(f);
        drop(shared.claim());
    }),
    ("channel::Sender::send", |f| {
        let (s, _r) = channel::bounded(0);
        ready(f);
        s.send(Arc::new(1)).unwrap();
    }),
    ("channel::Receiver::recv", |f| {
        let (_s, r) = channel::bounded::<u8>(1);
        ready(f);
        r.recv().unwrap();
    }),
    ("channel::Receiver::recv_timeout", |f| {
        let (_s, r) = channel::bounded::<u8>(1);
        ready(f);
        r.recv_timeout(HOUR).unwrap();
    }),
    ("channel::select!", |f| {
        let (_s, r) = channel::bounded::<u8>(1);
        let other = channel::never::<u8>();
        ready(f);
        channel::select! { recv(r) -> _ => (), recv(other) -> _ => () }
    }),
    ("channel::never", |f| {
        ready(f);
        channel::never::<u8>().recv().unwrap();
    }),
    ("block_on", |f| {
        ready(f);
        task::block_on(std::future::pending::<()>());
    }),
];

fn all_waits() -> impl Iterator<Item = &'static (&'static str, Waits)> {
    WAITS.iter().chain(LOCK_WAITS)
}

fn assert_cancelled(result: std::thread::Result<()>, what: &str) {
    let payload = result.expect_err(what);
    assert!(was_cancelled(&*payload), "{what}: a panic");
}

/// A light process and a thread, cancelled as they wait and before.
#[test]
fn each_wait_ends_by_it() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            for (what, waits) in all_waits() {
                for own_tls in [false, cfg!(all(target_os = "linux", target_env = "gnu"))] {
                    let (flag, kind) = (AtomicBool::new(false), csp::Builder::new().own_tls(own_tls));
                    cancel::scope(|s| {
                        let waiting = s.spawn_by(kind.clone(), || waits(&flag)).unwrap();
                        until(&flag);
                        (0..3).for_each(|_| csp::yield_now());
                        waiting.cancel();
                        assert_cancelled(waiting.join(), what);
                        let gate = AtomicBool::new(false);
                        let late = s.spawn_by(kind, move || {
                            while !cancel::is_cancelled() {
                                cancel::shield(csp::yield_now);
                            }
                            waits(&gate);
                        });
                        csp::yield_now();
                        s.cancel();
                        assert_cancelled(late.unwrap().join(), what);
                        let never = s.spawn(|| unreachable!("it was cancelled before it began"));
                        assert_cancelled(never.join(), what);
                    });
                }
            }
        });
    }
}

/// Every kind of wait has a deadline.
#[test]
fn each_wait_ends_by_a_deadline() {
    runtime(2).run(|| {
        for (what, waits) in all_waits() {
            for own_tls in [false, cfg!(all(target_os = "linux", target_env = "gnu"))] {
                let flag = AtomicBool::new(false);
                cancel::scope(|s| {
                    let wait = || cancel::within(Duration::from_millis(1), || waits(&flag));
                    let waiting = s.spawn_by(csp::Builder::new().own_tls(own_tls), wait).unwrap();
                    waiting.join().expect(what).expect_err(what);
                });
            }
        }
    });
}

/// The forms with a deadline of locks and joins: of light processes, threads and OS threads.
#[test]
fn locks_and_joins_give_up_at_their_times() {
    fn give_up() {
        let (mutex, lock) = (sync::Mutex::new(0), sync::RwLock::new(0));
        let soon = || Instant::now() + Duration::from_millis(1);
        let (held, writes) = (mutex.lock().unwrap(), lock.write().unwrap());
        csp::scope(|s| {
            let other = s.spawn(|| {
                mutex.try_lock_until(soon()).expect_err("it is held");
                lock.try_read_until(soon()).expect_err("it is written");
                lock.try_write_for(Duration::from_millis(1)).expect_err("it is written");
            });
            other.join().unwrap();
        });
        drop((held, writes));
        *mutex.try_lock_for(HOUR).unwrap() += 1;
        *lock.try_write_until(soon()).unwrap() += 1;
        assert_eq!((*mutex.lock().unwrap(), *lock.try_read_for(HOUR).unwrap()), (1, 1));
        let parks = thread::spawn(thread::park);
        let parks = parks.join_timeout(Duration::from_millis(1)).expect_err("it parks");
        parks.thread().unpark();
        parks.join().unwrap();
    }
    give_up();
    runtime(1).run(give_up);
    runtime(2).run(|| thread::spawn(give_up).join().unwrap());
}

/// OS threads of the program are cancelled in regions that they enter themselves.
#[test]
fn an_os_thread_is_cancelled_too() {
    for (what, waits) in all_waits() {
        let (token, flag) = (Token::new(), Arc::new(AtomicBool::new(false)));
        let (inside, seen) = (token.clone(), flag.clone());
        let os_thread = std::thread::spawn(move || inside.run(|| waits(&seen)));
        while !flag.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        token.cancel();
        os_thread.join().unwrap().expect_err(what);
    }
}

#[test]
fn everything_is_released_in_order() {
    struct Says<'a>(&'a Mutex<Vec<&'static str>>, &'static str);
    impl Drop for Says<'_> {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(self.1);
        }
    }
    runtime(2).run(|| {
        let (said, inside) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        cancel::scope(|s| {
            let outer = s.spawn(|| {
                let _first = Says(&said, "the owner's");
                csp::scope(|inner| {
                    let _second = Says(&said, "the closure's");
                    inner.spawn(|| {
                        let _third = Says(&said, "the child's");
                        ready(&inside);
                        csp::park();
                    });
                    csp::sleep(HOUR);
                });
            });
            until(&inside);
            outer.cancel();
            assert_cancelled(outer.join(), "a scope");
        });
        let said = said.into_inner().unwrap();
        assert_eq!(said.len(), 3);
        assert_eq!(said[2], "the owner's", "children end before what they may borrow: {said:?}");
    });
}

#[test]
fn whatever_is_spawned_in_a_region_is_cancelled_with_it() {
    runtime(2).run(|| {
        let begun = AtomicUsize::new(0);
        let waits = || {
            begun.fetch_add(1, Ordering::Relaxed);
            csp::sleep(HOUR);
        };
        let token = Token::new();
        let inside = token.child();
        let all = || {
            inside.run(|| {
                csp::par! {
                    waits(),
                    csp::scope(|s| { s.spawn(waits); }),
                    csp::par_for(0..3, |_| waits()),
                    thread::scope(|s| { s.spawn(waits); }),
                };
            })
        };
        csp::scope(|s| {
            let all = s.spawn(all);
            while begun.load(Ordering::Relaxed) < 6 {
                csp::yield_now();
            }
            token.cancel();
            all.join().unwrap().expect_err("it was cancelled");
        });
    });
}

/// Jobs wait with their scope's region, whoever runs them, and one that was not begun in time does not run.
#[test]
fn jobs_of_a_scope_are_cancelled_with_it() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let (begun, token) = (AtomicUsize::new(0), Token::new());
            let ended = token.run(|| {
                raddle::scope(|s| {
                    for _ in 0..3 {
                        s.spawn(|_| {
                            begun.fetch_add(1, Ordering::Relaxed);
                            csp::sleep(HOUR);
                        });
                    }
                    while begun.load(Ordering::Relaxed) == 0 {
                        csp::yield_now();
                    }
                    token.cancel();
                    s.spawn(|_| unreachable!("it was cancelled before it began"));
                });
            });
            ended.expect_err("its jobs were cancelled");
        });
    }
}

#[test]
fn a_deadline_ends_all_waits_of_a_region() {
    runtime(2).run(|| {
        let begun = Instant::now();
        let (_to, mut from) = csp::channel::<u8>();
        cancel::within(Duration::from_millis(2), || from.recv()).expect_err("nobody sends");
        assert!(begun.elapsed() >= Duration::from_millis(2));
        assert_eq!(cancel::within(HOUR, || 7), Ok(7));
        let inner = cancel::within(Duration::from_millis(1), || cancel::within(HOUR, csp::park));
        inner.expect_err("it is the outer one's deadline");
        let outer = cancel::within(HOUR, || cancel::within(Duration::from_millis(1), || csp::sleep(HOUR)));
        assert!(outer.expect("that of the inner one is its own").is_err());
        cancel::scope(|s| {
            s.cancel_at(Instant::now() + Duration::from_millis(1));
            (0..10).for_each(|_| drop(s.spawn(csp::park)));
        });
    });
}

#[test]
fn a_shield_keeps_it_off_and_so_does_an_unwinding() {
    runtime(1).run(|| {
        let token = Token::new();
        let (mut to, mut from) = csp::channel();
        struct Waits<'a>(&'a AtomicBool);
        impl Drop for Waits<'_> {
            fn drop(&mut self) {
                csp::sleep(Duration::from_micros(10));
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let slept = AtomicBool::new(false);
        token.cancel();
        let sends = csp::spawn(move || to.send(7));
        let ended: Result<(), _> = token.run(|| unreachable!("it was cancelled before"));
        ended.expect_err("as it says");
        let token = Token::new();
        let ended = token.run(|| {
            let _in_drop = Waits(&slept);
            token.cancel();
            assert_eq!(cancel::shield(|| from.recv()), Ok(7), "nothing ends it");
            let caught = catch_unwind(AssertUnwindSafe(csp::park));
            assert!(was_cancelled(&*caught.unwrap_err()));
            csp::park();
        });
        ended.expect_err("the cancellation comes again");
        assert!(slept.load(Ordering::Relaxed));
        sends.join().unwrap().unwrap();
    });
}

#[test]
fn a_panic_is_not_a_cancellation() {
    runtime(1).run(|| {
        let token = Token::new();
        let panics = || token.run(|| resume_unwind(Box::new("a panic") as Box<dyn Any + Send>));
        let panicked = catch_unwind(AssertUnwindSafe(panics));
        assert!(!was_cancelled(&*panicked.map(|ended: Result<(), _>| ended).unwrap_err()));
        assert!(!token.is_cancelled());
    });
}

#[test]
fn a_wait_at_a_condition_poisons_nothing_and_a_held_lock_is_poisoned() {
    runtime(1).run(|| {
        let (waited, held) = (sync::Mutex::new(()), sync::Mutex::new(()));
        let condition = sync::Condvar::new();
        cancel::scope(|s| {
            s.spawn(|| drop(condition.wait(waited.lock().unwrap())));
            s.spawn(|| {
                let _held = held.lock().unwrap();
                csp::park();
            });
            (0..3).for_each(|_| csp::yield_now());
            s.cancel();
        });
        assert!(!waited.is_poisoned(), "it was not held while it waited");
        assert!(held.is_poisoned(), "as by a panic");
    });
}

#[test]
fn nothing_is_lost_that_was_to_be_handed_over() {
    runtime(2).run(|| {
        let message = Arc::new(());
        for round in 0..50 {
            let (mut to, mut from) = csp::channel();
            let (s, r) = channel::bounded(0);
            let given = message.clone();
            cancel::scope(|scope| {
                let sends = scope.spawn(move || to.send(given).is_ok());
                let other = message.clone();
                let sends_too = scope.spawn(move || s.send(other).is_ok());
                (0..round % 4).for_each(|_| csp::yield_now());
                let receives = scope.spawn(move || from.recv().is_ok());
                let receives_too = scope.spawn(move || r.recv().is_ok());
                (0..round % 3).for_each(|_| csp::yield_now());
                scope.cancel();
                for (sent, received) in [(sends, receives), (sends_too, receives_too)] {
                    let (sent, received) = (sent.join(), received.join());
                    if received.is_ok_and(|had_it| had_it) {
                        assert!(sent.is_ok_and(|sent| sent), "received, and not sent");
                    }
                }
            });
            assert_eq!(Arc::strong_count(&message), 1);
        }
    });
}

/// The nodes that those who were cancelled have left in the queue are passed, and freed.
#[test]
fn locks_pass_those_who_were_cancelled() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let (mutex, lock) = (sync::Mutex::new(0), sync::RwLock::new(0));
            for round in 0..30 {
                cancel::scope(|scope| {
                    let held = (mutex.lock().unwrap(), lock.read().unwrap());
                    let visits: Vec<_> = (0..6)
                        .map(|n| {
                            let (mutex, lock) = (&mutex, &lock);
                            scope.spawn(move || match n % 3 {
                                0 => *mutex.lock().unwrap() += 1,
                                1 => *lock.write().unwrap() += 1,
                                _ => drop(lock.read().unwrap()),
                            })
                        })
                        .collect();
                    (0..round % 5).for_each(|_| csp::yield_now());
                    visits[..round % 7 % 6].iter().for_each(cancel::ScopedHandle::cancel);
                    (0..round % 3).for_each(|_| csp::yield_now());
                    drop(held);
                    let ended = visits.into_iter().map(cancel::ScopedHandle::join);
                    ended.for_each(|ended| assert!(ended.is_ok_and(|()| true) || round > 0));
                });
            }
            drop((mutex.try_lock().unwrap(), lock.try_write().unwrap()));
        });
    }
}

#[test]
fn a_cell_is_dropped_at_its_next_poll() {
    runtime(2).run(|| {
        let (held, token) = (Arc::new(()), Token::new());
        let inside = held.clone();
        let task = task::spawn(token.future(async move {
            std::future::pending::<()>().await;
            drop(inside);
        }));
        csp::yield_now();
        token.cancel();
        task::block_on(task).unwrap().expect_err("it was cancelled");
        assert_eq!(Arc::strong_count(&held), 1);
        let late = task::spawn(token.future(async { unreachable!("its token was cancelled") }));
        let ended: Result<(), _> = task::block_on(late).unwrap();
        ended.expect_err("as it says");
        let other = task::spawn(Token::new().future(async { 7 }));
        assert_eq!(task::block_on(other).unwrap(), Ok(7));
    });
}

#[test]
fn a_token_that_nobody_holds_cancels_nobody_and_a_deep_one_all() {
    runtime(1).run(|| {
        let top = Token::new();
        let mut chain = vec![top.clone()];
        for _ in 0..10_000 {
            chain.push(chain[chain.len() - 1].child());
        }
        drop(top.child());
        top.cancel();
        assert!(chain.iter().all(Token::is_cancelled));
        assert!(!Token::new().child().is_cancelled());
        assert!(top.child().is_cancelled());
    });
}

#[test]
fn a_join_gives_up_at_its_time() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let mut child = csp::spawn(|| csp::sleep(Duration::from_millis(3)));
            loop {
                match child.join_timeout(Duration::from_micros(200)) {
                    Ok(ended) => break ended.unwrap(),
                    Err(again) => child = again,
                }
            }
        });
    }
}

/// A cancellation ends the body of a scope; a job that it shields panics after that. That panic is what goes on.
#[test]
fn a_panic_is_not_lost_behind_a_cancellation() {
    runtime(1).run(|| {
        let (token, begun) = (Token::new(), AtomicBool::new(false));
        let (held, waits) = channel::bounded::<()>(0);
        let job_panics = || {
            raddle::scope(|s| {
                s.spawn(|_| {
                    ready(&begun);
                    cancel::shield(|| waits.recv()).expect_err("the body is over");
                    resume_unwind(Box::new("job"));
                });
                until(&begun);
                let _held = held;
                token.cancel();
                csp::park();
            });
        };
        let panic = catch_unwind(AssertUnwindSafe(|| token.run(job_panics))).expect_err("a panic");
        assert_eq!(panic.downcast_ref(), Some(&"job"));
        let (token, begun, cancelled) = (Token::new(), AtomicBool::new(false), AtomicBool::new(false));
        let waits = || {
            until(&begun);
            token.cancel();
            cancelled.store(true, Ordering::Release);
            csp::park();
        };
        // Had it not begun before, it would not begin.
        let panics = || {
            ready(&begun);
            cancel::shield(|| until(&cancelled));
            resume_unwind(Box::new("half"));
        };
        let half_panics = || raddle::join(waits, panics);
        let panic = catch_unwind(AssertUnwindSafe(|| token.run(half_panics))).expect_err("a panic");
        assert_eq!(panic.downcast_ref(), Some(&"half"));
    });
}
