use super::sync::{Arc, Condvar, Mutex};
use super::{go, run};
use std::time::{Duration, Instant};

type Pair<T> = Arc<(Mutex<T>, Condvar)>;

fn pair<T>(value: T) -> Pair<T> {
    Arc::new((Mutex::new(value), Condvar::new()))
}

#[test]
fn one_is_told() {
    run(|| {
        let pair = pair(false);
        let other = pair.clone();
        let told = go(move || {
            let mut ready = other.0.lock().unwrap();
            while !*ready {
                ready = other.1.wait(ready).unwrap();
            }
        });
        *pair.0.lock().unwrap() = true;
        pair.1.notify_one();
        told.join().unwrap();
    });
}

#[test]
fn all_are_told() {
    run(|| {
        let pair = pair((0, false));
        let waiters: Vec<_> = (0..5)
            .map(|_| {
                let pair = pair.clone();
                go(move || {
                    let mut state = pair.0.lock().unwrap();
                    state.0 += 1;
                    pair.1.notify_all();
                    drop(pair.1.wait_while(state, |state| !state.1).unwrap());
                })
            })
            .collect();
        let mut state = pair.1.wait_while(pair.0.lock().unwrap(), |state| state.0 < 5).unwrap();
        state.1 = true;
        drop(state);
        pair.1.notify_all();
        waiters.into_iter().for_each(|w| w.join().unwrap());
    });
}

#[test]
fn a_ball_goes_to_and_fro() {
    run(|| {
        let pair = pair(0);
        let other = pair.clone();
        let bat = |pair: &Pair<u32>, mine: u32| {
            for _ in 0..500 {
                let mut ball = pair.1.wait_while(pair.0.lock().unwrap(), |ball| *ball % 2 != mine).unwrap();
                *ball += 1;
                drop(ball);
                pair.1.notify_one();
            }
        };
        let odd = go(move || bat(&other, 1));
        bat(&pair, 0);
        odd.join().unwrap();
        assert_eq!(*pair.0.lock().unwrap(), 1000);
    });
}

#[test]
fn a_deadline_passes() {
    run(|| {
        let (mutex, condvar) = (Mutex::new(0), Condvar::new());
        let began = Instant::now();
        let mut left = Duration::from_millis(5);
        // A wait may end for no reason, so wait on.
        loop {
            let (guard, ended) = condvar.wait_timeout(mutex.lock().unwrap(), left).unwrap();
            drop(guard);
            if ended.timed_out() {
                break;
            }
            left = Duration::from_millis(5).saturating_sub(began.elapsed());
        }
        assert!(began.elapsed() >= Duration::from_millis(5));
        let (guard, ended) =
            condvar.wait_timeout_while(mutex.lock().unwrap(), Duration::from_millis(1), |_| true).unwrap();
        assert!(ended.timed_out() && *guard == 0);
        drop(guard);
        let (guard, ended) =
            condvar.wait_timeout_while(mutex.lock().unwrap(), Duration::ZERO, |_| false).unwrap();
        assert!(!ended.timed_out());
        assert!(mutex.try_lock().is_err(), "the lock has been taken again");
        drop(guard);
        assert_eq!(format!("{ended:?}"), "WaitTimeoutResult(false)");
        assert_eq!(ended, ended.clone());
    });
}

#[test]
#[allow(deprecated, reason = "it is there all the same")]
fn a_deadline_in_milliseconds() {
    run(|| {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        while condvar.wait_timeout_ms(mutex.lock().unwrap(), 1).unwrap().1 {}
    });
}

#[test]
fn a_notification_before_a_far_deadline() {
    run(|| {
        let pair = pair(false);
        let other = pair.clone();
        let waits = go(move || {
            let hour = Duration::from_secs(3600);
            other.1.wait_timeout_while(other.0.lock().unwrap(), hour, |ready| !*ready).unwrap().1.timed_out()
        });
        *pair.0.lock().unwrap() = true;
        pair.1.notify_all();
        assert!(!waits.join().unwrap());
    });
}

#[test]
fn a_wait_on_a_poisoned_mutex_ends_with_the_guard_in_an_error() {
    run(|| {
        let pair = pair(false);
        let other = pair.clone();
        let waits = go(move || {
            let mut guard = other.0.lock().unwrap();
            loop {
                guard = match other.1.wait(guard) {
                    Ok(guard) => guard,
                    Err(poisoned) => return *poisoned.into_inner(),
                };
            }
        });
        let poisons = pair.clone();
        let poisoned = go(move || {
            let mut guard = poisons.0.lock().unwrap();
            *guard = true;
            panic!("on purpose, with somebody waiting");
        });
        assert!(poisoned.join().is_err());
        // Until it has been told: it may not wait yet.
        let (mutex, condvar) = &*pair;
        let told = go({
            let pair = pair.clone();
            move || {
                drop(pair.0.lock());
                pair.1.notify_all();
            }
        });
        told.join().unwrap();
        condvar.notify_all();
        assert!(mutex.is_poisoned());
        drop(waits);
    });
}

#[test]
fn formats_constants_and_defaults() {
    static STATIC: Condvar = Condvar::new();
    STATIC.notify_one();
    STATIC.notify_all();
    assert_eq!(format!("{STATIC:?} {:?}", Condvar::default()), "Condvar { .. } Condvar { .. }");
}
