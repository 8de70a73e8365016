//! The selection: two who could end a wait, one of them an alarm, against the one who waits.

use crate::{ALL, check, go};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use raddle_protocol::model::{Saved, Selected, Selection, WaitNumber};
use std::sync::Arc;

/// One who waits, with a letter box for each outcome, and a count of how often it was queued.
struct Sleeper {
    word: Selection,
    context: Saved,
    queued: AtomicUsize,
    letters: [UnsafeCell<u32>; 2],
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Sleeper {}
// SAFETY: as above.
unsafe impl Send for Sleeper {}

impl Sleeper {
    fn new() -> Arc<Sleeper> {
        Arc::new(Sleeper {
            word: Selection::default(),
            context: Saved::default(),
            queued: AtomicUsize::new(0),
            letters: [UnsafeCell::new(0), UnsafeCell::new(0)],
        })
    }

    /// One who could end the wait with `outcome`: writes its letter, selects, and queues if it must.
    fn selector(self: &Arc<Sleeper>, wait: WaitNumber, outcome: u32) -> loom::thread::JoinHandle<Selected> {
        let sleeper = self.clone();
        go(move || {
            // SAFETY: loom hands out the pointer after it has checked the access.
            sleeper.letters[outcome as usize].with_mut(|p| unsafe { *p = 1 });
            let selected = sleeper.word.select(wait, outcome);
            if selected == Selected::Parked {
                sleeper.context.resume();
                // As every way from a waker to the one it queues: an inbox, a sleep word, or the same OS thread.
                // Without that the owner could be resumed and not see its outcome; a swap would cost what the queue
                // gives anyway.
                sleeper.queued.fetch_add(1, Ordering::Release); // pairs with the acquire in `wait`
            }
            selected
        })
    }

    /// `Waiter::wait`, as `crates/raddle-core/src/wait/waiter.rs` does it. Returns the outcome, and whether it really
    /// waited.
    fn wait(&self) -> (u32, bool) {
        if let Some(outcome) = self.word.outcome() {
            return (outcome, false);
        }
        self.context.save();
        let waited = self.word.park();
        if waited {
            // Acquire pairs with the release in `selector`.
            while self.queued.load(Ordering::Acquire) == 0 {
                loom::thread::yield_now();
            }
        } else {
            self.context.resume();
        }
        (self.word.outcome().expect("a wait ends with an outcome"), waited)
    }

    fn read(&self, letter: u32) -> u32 {
        // SAFETY: as in `selector`.
        self.letters[letter as usize].with(|p| unsafe { *p })
    }
}

/// One selector: its letter is seen, and it queues exactly if the owner waited.
#[test]
fn who_is_selected_sees_the_letter() {
    check(ALL, || {
        let sleeper = Sleeper::new();
        let wait = sleeper.word.begin();
        let selector = sleeper.selector(wait, 0);
        let (outcome, waited) = sleeper.wait();
        assert_eq!(sleeper.read(outcome), 1);
        let selected = selector.join().unwrap();
        assert_eq!(selected == Selected::Parked, waited);
        assert_ne!(selected, Selected::Lost);
    });
}

/// Two selectors: one wins, the winner's letter is seen, the sleeper is queued at most once.
#[test]
fn the_first_of_two_wins() {
    check(Some(3), || {
        let sleeper = Sleeper::new();
        let wait = sleeper.word.begin();
        let both = [sleeper.selector(wait, 0), sleeper.selector(wait, 1)];
        let (outcome, waited) = sleeper.wait();
        assert_eq!(sleeper.read(outcome), 1);
        let told = both.map(|selector| selector.join().unwrap());
        assert_eq!(told.iter().filter(|t| **t == Selected::Lost).count(), 1);
        assert_ne!(told[outcome as usize], Selected::Lost, "the outcome is the winner's");
        assert_eq!(sleeper.queued.load(Ordering::Relaxed), usize::from(waited));
    });
}

/// An alarm that outlives its wait does nothing to the next one.
#[test]
fn a_late_alarm_does_not_end_the_next_wait() {
    check(Some(3), || {
        let sleeper = Sleeper::new();
        let first = sleeper.word.begin();
        let alarm = sleeper.selector(first, 1);
        let by_alarm = sleeper.word.outcome().is_some();
        sleeper.word.end();
        let second = sleeper.word.begin();
        let selector = sleeper.selector(second, 0);
        let (outcome, _) = sleeper.wait();
        assert_eq!((outcome, sleeper.read(0)), (0, 1));
        assert_ne!(selector.join().unwrap(), Selected::Lost);
        let told = alarm.join().unwrap();
        assert_ne!(told, Selected::Parked, "the first wait never parked, the second is not its");
        assert!(!by_alarm || told == Selected::Running);
    });
}
