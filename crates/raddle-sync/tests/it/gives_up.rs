//! Who gives up waiting for a mutex that is held leaves little behind, however often that happens.

use crate::child::{assert_success, in_child};
use crate::runtime;
use raddle::csp;
use raddle::sync::Mutex;
use raddle_protocol::protocol::mutex::left_behind;
use std::time::Duration;

/// So many may have left something in a queue, and so many may be about to.
const MOST: usize = 1024 + 50;

/// Fifty at a time give up a hundred times each; then the lock is given back, and nothing is left.
#[test]
fn time_outs_at_a_lock_that_is_held_leave_no_more_than_a_bounded_number_of_nodes() {
    let test = "gives_up::time_outs_at_a_lock_that_is_held_leave_no_more_than_a_bounded_number_of_nodes";
    let output = in_child(test, || {
        let lock = Mutex::new(0);
        runtime(2).run(|| {
            let held = lock.lock().unwrap();
            csp::scope(|s| {
                for _ in 0..50 {
                    s.spawn(|| {
                        for _ in 0..100 {
                            lock.try_lock_for(Duration::from_micros(10)).expect_err("it is held");
                        }
                    });
                }
            });
            let left = left_behind();
            assert!((1024..=MOST).contains(&left), "{left} nodes are left");
            // Who waits for longer than it is held gets it, though there is no room in the queue.
            let waits = csp::scope(|s| {
                let waits = s.spawn(|| *lock.try_lock_for(Duration::from_secs(3600)).unwrap() += 1);
                csp::yield_now();
                drop(held);
                waits.join()
            });
            waits.unwrap();
            *lock.lock().unwrap() += 1;
            assert_eq!((*lock.lock().unwrap(), left_behind()), (2, 0));
        });
        // So does an OS thread.
        let held = lock.lock().unwrap();
        std::thread::scope(|s| {
            s.spawn(|| assert!(lock.try_lock_for(Duration::from_micros(10)).is_err()));
        });
        assert!(left_behind() <= 1);
        drop(held);
        assert_eq!(left_behind(), 0);
    });
    assert_success(&output);
}
