//! Owns: tests of the locks with the names of `std::sync`.
//! May use: `raddle-sync`, `sleepers`.
//! Never: an order that the locks do not promise.

use crate::sleepers::{together, woken};
use raddle_sync::sync::{
    Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore, TryAcquireError, TryLockError,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(1);

#[test]
fn a_mutex_lets_one_in_at_a_time() {
    let count = Mutex::new(0_u64);
    together(4, |_| (0..20_000).for_each(|_| *count.lock().unwrap() += 1));
    assert_eq!(count.into_inner().unwrap(), 80_000);
}

#[test]
fn who_sleeps_at_a_mutex_is_woken() {
    let mutex = Mutex::new(1);
    let held = mutex.lock().unwrap();
    assert_eq!(woken(|| *mutex.lock().unwrap(), || drop(held)), 1);
}

#[test]
fn a_mutex_knows_its_holder() {
    let mutex = Mutex::new(());
    assert!(mutex.held().is_none());
    let guard = mutex.lock().unwrap();
    let held = mutex.held().expect("it is held");
    assert!(held.by_caller() && held.to_string().starts_with("held by the caller since "), "{held}");
    assert_eq!(held.site().file(), file!());
    together(1, |_| assert!(!mutex.held().expect("it is held").by_caller()));
    drop(guard);
    assert!(mutex.held().is_none());
}

#[test]
fn a_panic_of_its_holder_poisons_a_mutex() {
    let mutex = Mutex::new(1);
    let holder = std::panic::catch_unwind(|| {
        let _held = mutex.lock().unwrap();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(holder.is_err() && mutex.is_poisoned());
    assert_eq!(*mutex.lock().unwrap_err().into_inner(), 1);
}

#[test]
fn a_lock_with_a_deadline_is_given_up() {
    let (mutex, lock) = (Mutex::new(()), RwLock::new(()));
    let (held, read) = (mutex.lock().unwrap(), lock.read().unwrap());
    together(3, |_| {
        assert!(matches!(mutex.try_lock_for(SHORT), Err(TryLockError::WouldBlock)));
        assert!(matches!(lock.try_write_for(SHORT), Err(TryLockError::WouldBlock)));
    });
    // No writer waits any more, behind whom a reader would.
    together(1, |_| assert!(lock.try_read_for(SHORT).is_ok()));
    drop((held, read));
    assert!(mutex.try_lock_for(SHORT).is_ok() && lock.try_write_for(SHORT).is_ok());
}

#[test]
fn deadlines_among_those_who_wait_lose_nobody() {
    let (count, taken) = (Mutex::new(0_usize), AtomicUsize::new(0));
    together(4, |number| {
        for turn in 0..2_000 {
            let guard = if (number + turn) % 2 == 0 {
                count.lock().ok()
            } else {
                count.try_lock_for(Duration::from_micros(turn as u64 % 7)).ok()
            };
            if let Some(mut guard) = guard {
                *guard += 1;
                taken.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    assert_eq!(count.into_inner().unwrap(), taken.into_inner());
}

#[test]
fn readers_see_whole_writes() {
    let pair = RwLock::new((0_u32, 0_u32));
    together(4, |number| {
        for _ in 0..5_000 {
            if number % 2 == 0 {
                let mut both = pair.write().unwrap();
                both.0 += 1;
                both.1 += 1;
            } else {
                let both = pair.read().unwrap();
                assert_eq!(both.0, both.1);
            }
        }
    });
    assert_eq!(pair.into_inner().unwrap(), (10_000, 10_000));
}

#[test]
fn who_sleeps_at_a_reader_writer_lock_is_woken() {
    let lock = RwLock::new(2);
    let written = lock.write().unwrap();
    assert_eq!(woken(|| *lock.read().unwrap(), || drop(written)), 2);
    let read = lock.read().unwrap();
    assert_eq!(woken(|| *lock.write().unwrap(), || drop(read)), 2);
}

#[test]
fn a_condition_variable_wakes_one_or_all() {
    let (turn, changed) = (Mutex::new(0_usize), Condvar::new());
    together(3, |number| {
        for round in 0..300 {
            let mut now = changed.wait_while(turn.lock().unwrap(), |now| *now % 3 != number).unwrap();
            *now += 1;
            drop(now);
            if round % 2 == 0 { changed.notify_all() } else { (0..3).for_each(|_| changed.notify_one()) }
        }
    });
    assert_eq!(turn.into_inner().unwrap(), 900);
}

#[test]
fn a_wait_for_a_notification_ends_by_it_or_by_its_deadline() {
    let (flag, changed) = (Mutex::new(false), Condvar::new());
    let (guard, ended) = changed.wait_timeout(flag.lock().unwrap(), SHORT).unwrap();
    assert!(ended.timed_out() && !*guard);
    drop(guard);
    let waits = || *changed.wait_while(flag.lock().unwrap(), |flag| !*flag).unwrap();
    let wakes = || {
        *flag.lock().unwrap() = true;
        changed.notify_one();
    };
    assert!(woken(waits, wakes));
}

#[test]
fn what_is_done_once_is_seen_by_all() {
    static ONCE: Once = Once::new();
    static DONE: AtomicUsize = AtomicUsize::new(0);
    static LAZY: LazyLock<usize> = LazyLock::new(|| DONE.fetch_add(10, Ordering::Relaxed));
    let cell = OnceLock::new();
    let begin = Barrier::new(4);
    together(4, |number| {
        begin.wait();
        ONCE.call_once(|| assert_eq!(DONE.fetch_add(1, Ordering::Relaxed), 0));
        assert!(DONE.load(Ordering::Relaxed) % 10 == 1);
        let first = *cell.get_or_init(|| number);
        begin.wait();
        assert_eq!((cell.get(), *LAZY), (Some(&first), 1));
    });
    assert_eq!(DONE.load(Ordering::Relaxed), 11);
}

#[test]
fn who_sleeps_at_a_once_is_woken() {
    let (once, (done, may_end)) = (&Once::new(), std::sync::mpsc::channel());
    woken(
        move || once.call_once(|| may_end.recv().expect("it is told")),
        || {
            woken(
                || {
                    once.call_once(|| unreachable!("it is being done"));
                    assert!(once.is_completed());
                },
                || done.send(()).expect("it waits"),
            );
        },
    );
}

#[test]
fn phases_of_a_barrier_do_not_overlap() {
    let (barrier, come, leaders) = (Barrier::new(4), AtomicUsize::new(0), AtomicUsize::new(0));
    assert!(barrier.wait_timeout(SHORT).is_none(), "nobody else has come");
    together(4, |_| {
        for phase in 1..=200 {
            come.fetch_add(1, Ordering::Relaxed);
            leaders.fetch_add(usize::from(barrier.wait().is_leader()), Ordering::Relaxed);
            assert_eq!(come.load(Ordering::Relaxed), 4 * phase);
            barrier.wait();
        }
    });
    assert_eq!(leaders.into_inner(), 200);
}

#[test]
fn a_semaphore_lets_so_many_in() {
    let (few, inside) = (Semaphore::new(2), AtomicUsize::new(0));
    together(4, |number| {
        for _ in 0..2_000 {
            let permit = few.acquire_many(1 + number % 2).expect("nobody closes it");
            assert!(inside.fetch_add(permit.count(), Ordering::Relaxed) + permit.count() <= 2);
            inside.fetch_sub(permit.count(), Ordering::Relaxed);
        }
    });
    assert_eq!(few.available_permits(), 2);
}

#[test]
fn a_semaphore_wakes_and_refuses_who_sleeps() {
    let few = Semaphore::new(0);
    assert_eq!(few.acquire_timeout(SHORT).unwrap_err(), TryAcquireError::NoPermits);
    woken(|| few.acquire().expect("it is open").forget(), || few.add_permits(1));
    assert!(woken(|| few.acquire().is_err(), || few.close()));
}
