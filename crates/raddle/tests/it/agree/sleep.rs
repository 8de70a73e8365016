use super::*;
use std::time::{Duration, Instant};

/// A deadline may be passed by any time, and never missed by being early.
fn takes_at_least(least: Duration, f: impl FnOnce()) {
    let began = Instant::now();
    f();
    assert!(began.elapsed() >= least, "{:?} of {least:?}", began.elapsed());
}

#[test]
fn a_sleep_lasts_at_least_its_time() {
    everywhere(|| {
        for ms in [0, 1, 7] {
            let time = Duration::from_millis(ms);
            takes_at_least(time, || thread::sleep(time));
            takes_at_least(time, || thread::spawn(move || thread::sleep(time)).join().unwrap());
        }
        let short = Duration::from_nanos(1);
        takes_at_least(short, || thread::sleep(short));
    });
}

#[test]
#[allow(deprecated, reason = "a path swap must compile for these, too")]
fn the_old_names_count_milliseconds() {
    everywhere(|| {
        takes_at_least(Duration::from_millis(3), || thread::sleep_ms(3));
        thread::park_timeout_ms(1);
    });
}

#[test]
fn sleepers_do_not_wait_for_each_other() {
    everywhere(|| {
        let order = Arc::new(AtomicUsize::new(0));
        let late = Gate::default();
        let sleepers: Vec<_> = (0..50)
            .map(|n| {
                let (order, late) = (order.clone(), late.clone());
                thread::spawn(move || {
                    thread::sleep(Duration::from_micros(1 + 10 * n));
                    if order.fetch_add(1, Ordering::Relaxed) == 49 {
                        late.open();
                    }
                    late.wait();
                })
            })
            .collect();
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
    });
}

#[test]
fn an_unpark_does_not_shorten_a_sleep() {
    everywhere(|| {
        let time = Duration::from_millis(5);
        let sleeper = thread::spawn(move || {
            takes_at_least(time, || thread::sleep(time));
        });
        for _ in 0..5 {
            sleeper.thread().unpark();
            thread::yield_now();
        }
        sleeper.join().unwrap();
    });
}
