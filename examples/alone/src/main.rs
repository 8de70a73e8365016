//! Locks and channels between OS threads, in a program without a runtime: it starts no OS thread but its own.
//!
//! A few threads count the words of the lines that come through a channel. Then, while all of them stand at a barrier,
//! the program counts its OS threads.

use raddle_sync::channel::{Receiver, after, bounded, select};
use raddle_sync::sync::{Barrier, Condvar, Mutex, Once, RwLock, Semaphore};
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

const COUNTERS: usize = 4;
const TEXT: &str = "the comb that spreads\nthe warp threads evenly\nacross the beam\nof a loom";

/// What the threads share.
struct Count {
    words: Mutex<BTreeMap<String, usize>>,
    lines: RwLock<usize>,
    changed: Condvar,
    /// So many may be at the words at a time.
    few: Semaphore,
    begun: Once,
    all_here: Barrier,
}

impl Count {
    fn new() -> Count {
        Count {
            words: Mutex::default(),
            lines: RwLock::new(0),
            changed: Condvar::new(),
            few: Semaphore::new(2),
            begun: Once::new(),
            all_here: Barrier::new(COUNTERS + 1),
        }
    }

    /// Counts the words of all lines that come.
    fn words_of(&self, lines: &Receiver<&str>) {
        self.begun.call_once(|| *self.lines.write().unwrap() = 0);
        for line in lines {
            let _permit = self.few.acquire().expect("nobody closes it");
            let mut words = self.words.lock().unwrap();
            line.split(' ').for_each(|word| *words.entry(word.to_owned()).or_default() += 1);
            *self.lines.write().unwrap() += 1;
            self.changed.notify_all();
        }
        // All stand here until the OS threads have been counted.
        self.all_here.wait();
        self.all_here.wait();
    }

    /// Waits until all lines have been counted, with a deadline each time.
    fn wait_for(&self, lines: usize) {
        let mut words = self.words.lock().unwrap();
        while *self.lines.read().unwrap() < lines {
            words = self.changed.wait_timeout(words, Duration::from_millis(1)).unwrap().0;
        }
    }
}

/// How many OS threads this program has.
fn os_threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("Linux lists them").count()
}

fn main() {
    assert_eq!(os_threads(), 1, "somebody started an OS thread before the program began");
    let (sender, lines) = bounded(1);
    let count = Count::new();
    thread::scope(|scope| {
        (0..COUNTERS).for_each(|_| drop(scope.spawn(|| count.words_of(&lines))));
        TEXT.lines().for_each(|line| sender.send(line).expect("there are receivers"));
        count.wait_for(TEXT.lines().count());
        select! {
            recv(lines) -> _ => unreachable!("all lines have been taken"),
            recv(after(Duration::from_millis(1))) -> _ => drop(sender),
        }
        count.all_here.wait();
        assert_eq!(os_threads(), 1 + COUNTERS, "somebody else has started an OS thread");
        count.all_here.wait();
    });
    let words = count.words.into_inner().unwrap();
    assert_eq!(words["the"], 3);
    println!("{} words, by {COUNTERS} OS threads and nobody else's", words.values().sum::<usize>());
}
