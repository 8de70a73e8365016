//! The reader-writer lock: readers together, writers alone; who waits is called by whoever leaves, or let in if it came
//! too late once.

use crate::{ALL, Guarded, check, go};
use raddle_protocol::model::Rw;
use std::sync::Arc;

type Lock = Arc<(Rw, Guarded)>;

fn write(lock: &Lock) {
    lock.0.write();
    lock.1.add_one();
    lock.0.end_write();
}

fn read(lock: &Lock) {
    lock.0.read();
    lock.1.read();
    lock.0.end_read();
}

fn two(first: fn(&Lock), second: fn(&Lock)) {
    check(ALL, move || {
        let lock = Lock::default();
        let other = lock.clone();
        let other = go(move || second(&other));
        first(&lock);
        other.join().unwrap();
    });
}

#[test]
fn two_writers() {
    two(write, write);
}

#[test]
fn a_writer_and_a_reader() {
    two(write, read);
}

#[test]
fn a_writer_waits_for_both_readers_and_sees_that_they_are_done() {
    check(Some(2), || {
        let lock = Lock::default();
        lock.0.read();
        lock.0.read();
        let leavers = [lock.clone(), lock.clone()].map(|lock| {
            go(move || {
                lock.1.read();
                lock.0.end_read();
            })
        });
        write(&lock);
        leavers.into_iter().for_each(|leaver| leaver.join().unwrap());
        assert_eq!(lock.1.read(), 1);
    });
}

#[test]
fn a_reader_that_is_let_in_by_a_reader_sees_what_the_writer_did() {
    check(Some(1), || {
        let lock = Lock::default();
        let others = [write as fn(&Lock), read].map(|f| {
            let lock = lock.clone();
            go(move || f(&lock))
        });
        write(&lock);
        others.into_iter().for_each(|other| other.join().unwrap());
        lock.0.read();
        assert_eq!(lock.1.read(), 2);
    });
}

/// It may be all that a writer finds there, and goes to sleep for.
#[test]
fn a_reader_that_steps_back_and_does_not_wait() {
    two(
        |lock| {
            write(lock);
            write(lock);
        },
        |lock| {
            if lock.0.read_or_step_back() {
                lock.1.read();
                lock.0.end_read();
            }
        },
    );
}

/// Whoever waits may find that the other has come before it again: then it closes the lock, and is let in.
fn twice(passes: fn(&Lock), waits: fn(&Lock)) {
    check(Some(4), move || {
        let lock = Lock::default();
        let other = lock.clone();
        let other = go(move || waits(&other));
        passes(&lock);
        passes(&lock);
        other.join().unwrap();
    });
}

#[test]
fn a_writer_that_a_writer_passes() {
    twice(write, write);
}

#[test]
fn a_writer_that_a_reader_passes() {
    twice(read, write);
}

#[test]
fn a_reader_that_a_writer_passes() {
    twice(write, read);
}

#[test]
fn a_writer_that_is_passed_and_gives_up() {
    twice(write, |lock| {
        if lock.0.write_or_give_up() {
            lock.1.add_one();
            lock.0.end_write();
        }
    });
}

/// The last of the readers lets it in, and must have seen that the other is done, too.
#[test]
fn a_writer_that_came_too_late_waits_for_both_readers() {
    check(Some(2), || {
        let lock = Lock::default();
        lock.0.write();
        let writer = lock.clone();
        let writer = go(move || write(&writer));
        lock.0.end_write();
        lock.0.read();
        // To wait for a second time would be to wait for oneself, if the writer has closed the lock.
        let leaver = lock.0.try_read().then(|| {
            let lock = lock.clone();
            go(move || {
                lock.1.read();
                lock.0.end_read();
            })
        });
        lock.1.read();
        lock.0.end_read();
        writer.join().unwrap();
        leaver.into_iter().for_each(|leaver| leaver.join().unwrap());
    });
}

#[test]
fn readers_that_a_writer_passes_are_called_together() {
    check(Some(1), || {
        let lock = Lock::default();
        lock.0.write();
        let readers = [lock.clone(), lock.clone()].map(|lock| go(move || read(&lock)));
        lock.1.add_one();
        lock.0.end_write();
        write(&lock);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        lock.0.read();
        assert_eq!(lock.1.read(), 2);
    });
}

#[test]
fn two_writers_come_too_late() {
    check(Some(1), || {
        let lock = Lock::default();
        lock.0.write();
        let writers = [lock.clone(), lock.clone()].map(|lock| go(move || write(&lock)));
        lock.1.add_one();
        lock.0.end_write();
        write(&lock);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        lock.0.read();
        assert_eq!(lock.1.read(), 4);
    });
}

#[test]
fn a_downgrade_lets_readers_in_and_no_writer_between() {
    check(Some(3), || {
        let lock = Lock::default();
        lock.0.write();
        let other = lock.clone();
        let other = go(move || read(&other));
        lock.1.add_one();
        lock.0.downgrade();
        assert_eq!(lock.1.read(), 1);
        lock.0.end_read();
        other.join().unwrap();
    });
}

/// The reader behind it comes in: by whoever leaves, by the one who gives up, or by itself.
#[test]
fn a_writer_that_gives_up_holds_nobody_up() {
    check(Some(2), || {
        let lock = Lock::default();
        lock.0.read();
        let gives_up = {
            let lock = lock.clone();
            go(move || {
                if lock.0.write_or_give_up() {
                    lock.1.add_one();
                    lock.0.end_write();
                }
            })
        };
        let reads = {
            let lock = lock.clone();
            go(move || read(&lock))
        };
        lock.1.read();
        lock.0.end_read();
        gives_up.join().unwrap();
        reads.join().unwrap();
        write(&lock);
    });
}
