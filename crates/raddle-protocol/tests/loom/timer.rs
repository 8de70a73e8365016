//! Timers: an alarm that is rung by another worker against its own process's waking and taking it back.
//!
//! Reproduces the shape of `timer.rs` and `park_timeout`: alarms behind a lock, `expire` on the token, and
//! the cancelled alarm that may have been taken out by the one who rings it.

use crate::{check, go};
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicUsize, Ordering};
use raddle_protocol::model::{Generation, Saved, Token};
use std::sync::Arc;

#[derive(Default)]
struct Sleeper {
    token: Token,
    context: Saved,
    alarm: Mutex<Option<Generation>>,
    queued: AtomicUsize,
}

impl Sleeper {
    fn queue(&self) {
        self.context.resume();
        // The queue orders the waker's use of the context before its owner's next.
        self.queued.fetch_add(1, Ordering::Release);
    }

    /// `park_timed`: parks first, sets the alarm then. True if it waited.
    fn park_timeout(&self) -> bool {
        self.context.save();
        let waits = self.token.park();
        if waits {
            *self.alarm.lock().unwrap() = Some(self.token.generation());
            while self.queued.load(Ordering::Acquire) == 0 {
                loom::thread::yield_now();
            }
        } else {
            self.context.resume();
        }
        self.token.consume();
        self.alarm.lock().unwrap().take();
        waits
    }

    /// An idle worker rings what is due. True if that queued the sleeper.
    fn ring(&self) -> bool {
        let due = self.alarm.lock().unwrap().take();
        let wakes = due.is_some_and(|life| self.token.expire(life));
        if wakes {
            self.queue();
        }
        wakes
    }
}

#[test]
fn an_alarm_against_an_unpark() {
    check(Some(3), || {
        let sleeper = Arc::new(Sleeper::default());
        let life = sleeper.token.generation();
        let ringer = {
            let sleeper = sleeper.clone();
            go(move || sleeper.ring())
        };
        let unparker = {
            let sleeper = sleeper.clone();
            go(move || {
                let wakes = sleeper.token.notify(life);
                if wakes {
                    sleeper.queue();
                }
                wakes
            })
        };
        let waited = sleeper.park_timeout();
        // The next life of the same block: an alarm that was taken out in time to ring late finds another owner.
        sleeper.token.end_life();
        sleeper.context.save();
        let parked_again = sleeper.token.park();
        assert!(parked_again);
        let (rang, unparked) = (ringer.join().unwrap(), unparker.join().unwrap());
        assert_eq!(u8::from(rang) + u8::from(unparked), u8::from(waited), "queued twice, or never");
    });
}
