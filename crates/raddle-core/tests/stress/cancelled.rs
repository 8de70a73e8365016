//! Children that wait for everything there is, cancelled at whatever moment, on every policy.

use super::{Progress, everywhere};
use raddle::cancel::{self, ScopedHandle};
use raddle::{channel, csp, sync};
use std::sync::PoisonError;
use std::time::Duration;

/// What the children share.
struct Shared {
    mutex: sync::Mutex<u64>,
    lock: sync::RwLock<u64>,
    permits: sync::Semaphore,
    condition: sync::Condvar,
    sends: channel::Sender<u64>,
    receives: channel::Receiver<u64>,
}

impl Shared {
    fn visit(&self, child: u64) {
        let held = || self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        match child % 8 {
            0 => *held() += 1,
            1 => *self.lock.write().unwrap_or_else(PoisonError::into_inner) += 1,
            2 => drop(self.lock.read().unwrap_or_else(PoisonError::into_inner)),
            3 => {
                let _permit = self.permits.acquire().unwrap();
                csp::yield_now();
            }
            4 => drop(self.condition.wait(held())),
            5 => self.sends.send(child).unwrap(),
            6 => drop(self.receives.recv()),
            _ => {
                let (_to, mut from) = csp::channel::<u8>();
                csp::scope(|s| {
                    s.spawn(|| csp::alt! { recv(from) -> _ => (), after(Duration::from_millis(50)) => () });
                    let _held = held();
                    csp::yield_now();
                });
            }
        }
    }
}

#[test]
fn children_are_cancelled_wherever_they_wait() {
    const CHILDREN: u64 = 48;
    everywhere("cancelled", |rt, _: &Progress| {
        rt.run(|| {
            let (sends, receives) = channel::bounded(1);
            let shared = Shared {
                mutex: sync::Mutex::new(0),
                lock: sync::RwLock::new(0),
                permits: sync::Semaphore::new(1),
                condition: sync::Condvar::new(),
                sends,
                receives,
            };
            cancel::scope(|s| {
                let shared = &shared;
                let children: Vec<_> = (0..CHILDREN).map(|n| s.spawn(move || shared.visit(n))).collect();
                for (n, child) in children.iter().enumerate().filter(|(n, _)| n % 3 != 0) {
                    if n % 5 == 0 {
                        csp::yield_now();
                    }
                    child.cancel();
                }
                shared.condition.notify_all();
                s.cancel();
                children.into_iter().map(ScopedHandle::join).for_each(drop);
            });
            assert!(shared.mutex.try_lock().is_ok() || shared.mutex.is_poisoned());
            assert_eq!(shared.permits.available_permits(), 1);
            shared.mutex.clear_poison();
            shared.lock.clear_poison();
            drop((shared.mutex.try_lock().unwrap(), shared.lock.try_write().unwrap()));
        });
    });
}
