//! Owns: what futures wait for, as far as they say so: a report of hangs knows of a task only that it has not ended.
//! May use: nothing.
//! Never: a task: a future may be polled by anybody, and one task may wait in several.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a future waits for, told when a report is made.
pub trait ToldWait: Send + Sync + 'static {
    /// In words that follow `waits in`. It is called under a lock: it takes none, and waits for nobody.
    ///
    /// # Errors
    /// Those of `out`.
    fn tell(&self, out: &mut dyn fmt::Write) -> fmt::Result;
}

/// That a future waits, from [`new`](Self::new) until this goes.
pub struct WaitingFuture<T: ToldWait>(Arc<FutureEntry<T>>);

struct FutureEntry<T: ?Sized> {
    /// Where it stands in its list, which is locked by who reads or writes it.
    at: AtomicUsize,
    wait: T,
}

type FutureList = Vec<Arc<FutureEntry<dyn ToldWait>>>;

/// So many lists that workers seldom meet at one.
const LISTS: usize = 16;

static ALL: [Mutex<FutureList>; LISTS] = [const { Mutex::new(Vec::new()) }; LISTS];

/// Of so many a report is made.
const TOLD_MAX: usize = 1000;

fn lock(list: &Mutex<FutureList>) -> MutexGuard<'_, FutureList> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: ToldWait> WaitingFuture<T> {
    /// A future waits for that.
    pub fn new(wait: T) -> WaitingFuture<T> {
        let entry = Arc::new(FutureEntry { at: AtomicUsize::new(0), wait });
        let mut list = lock(list_of(&entry));
        entry.at.store(list.len(), Ordering::Relaxed);
        list.push(entry.clone());
        drop(list);
        WaitingFuture(entry)
    }
}

/// The list of an entry, by its address.
fn list_of<T>(entry: &Arc<FutureEntry<T>>) -> &'static Mutex<FutureList> {
    let address = Arc::as_ptr(entry).addr();
    &ALL[(address >> 5 ^ address >> 10) % LISTS]
}

impl<T: ToldWait> Deref for WaitingFuture<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.wait
    }
}

impl<T: ToldWait> Drop for WaitingFuture<T> {
    fn drop(&mut self) {
        let mut list = lock(list_of(&self.0));
        let at = self.0.at.load(Ordering::Relaxed);
        let entry = list.swap_remove(at);
        if let Some(moved) = list.get(at) {
            moved.at.store(at, Ordering::Relaxed);
        }
        drop(list);
        // Not the last: what it waits for goes with `self`.
        drop(entry);
    }
}

impl<T: ToldWait + fmt::Debug> fmt::Debug for WaitingFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WaitingFuture").field(&self.0.wait).finish()
    }
}

/// What futures wait for, in words, each once with how many do; of a thousand of them at most.
pub fn waiting_futures() -> BTreeMap<String, usize> {
    let mut told = BTreeMap::new();
    let mut left = TOLD_MAX;
    for list in &ALL {
        let list = lock(list);
        for entry in list.iter().take(left) {
            let mut words = String::new();
            let _infallible = entry.wait.tell(&mut words);
            *told.entry(words).or_default() += 1;
        }
        left -= list.len().min(left);
    }
    told
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Waits(usize);

    impl ToldWait for Waits {
        fn tell(&self, out: &mut dyn fmt::Write) -> fmt::Result {
            write!(out, "the test's call {}", self.0 % 2)
        }
    }

    #[test]
    fn who_waits_is_told_until_he_waits_no_more() {
        let of_test = || -> Vec<usize> {
            let told = waiting_futures();
            told.into_iter().filter(|(words, _)| words.starts_with("the test's")).map(|(_, n)| n).collect()
        };
        let mut all: Vec<_> = (0..100).map(|n| WaitingFuture::new(Waits(n))).collect();
        assert_eq!(of_test(), [50, 50]);
        all.retain(|one| one.0.wait.0.is_multiple_of(2));
        assert_eq!(of_test(), [50]);
        drop(all);
        assert!(of_test().is_empty());
    }
}
