//! Owns: one row for each call in which one waits at a lock, as the call is named in reports.
//! May use: `raddle`.
//! Never: an end of the wait but its cancellation.
//!
//! A test of `raddle-sync` holds the table against the calls that the locks name, and tests of that crate and of
//! `raddle-core` do the same with each row: see it described, cancel it, refuse it to a task.

use raddle::sync::{self, Arc};
use std::sync::atomic::{AtomicBool, Ordering};

/// Waits for ever.
pub(crate) type Waits = fn(&AtomicBool);

/// Says that the next thing it does is to wait.
pub(crate) fn ready(flag: &AtomicBool) {
    flag.store(true, Ordering::Release); // pairs with the acquire of who looks at it
}

/// Each of them waits for ever.
pub(crate) const LOCK_WAITS: &[(&str, Waits)] = &[
    ("Condvar::wait", |f| {
        let (mutex, condition) = (sync::Mutex::new(()), sync::Condvar::new());
        let guard = mutex.lock().unwrap();
        ready(f);
        drop(condition.wait(guard));
    }),
    ("Mutex::lock", |f| {
        let mutex = sync::Mutex::new(());
        let _held = mutex.lock().unwrap();
        ready(f);
        drop(mutex.lock());
    }),
    ("RwLock::read", |f| {
        let lock = sync::RwLock::new(());
        let _held = lock.write().unwrap();
        ready(f);
        drop(lock.read());
    }),
    ("RwLock::write", |f| {
        let lock = sync::RwLock::new(());
        let _held = lock.read().unwrap();
        ready(f);
        drop(lock.write());
    }),
    ("Barrier::wait", |f| {
        let barrier = sync::Barrier::new(2);
        ready(f);
        barrier.wait();
    }),
    ("Semaphore::acquire", |f| {
        let semaphore = sync::Semaphore::new(0);
        ready(f);
        semaphore.acquire().unwrap().forget();
    }),
    ("mpsc::Receiver::recv", |f| {
        let (_s, r) = sync::mpsc::channel::<u8>();
        ready(f);
        r.recv().unwrap();
    }),
    ("SyncSender::send", |f| {
        let (s, _r) = sync::mpsc::sync_channel(0);
        ready(f);
        s.send(Arc::new(1)).unwrap();
    }),
    ("SyncSender::send", |f| {
        let (s, _r) = sync::mpsc::sync_channel(1);
        s.send(Arc::new(1)).unwrap();
        ready(f);
        s.send(Arc::new(1)).unwrap();
    }),
];
