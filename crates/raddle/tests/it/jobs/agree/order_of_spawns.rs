//! The order in which one worker begins what it has spawned.

use super::pool::pool;
use super::*;
use std::sync::mpsc;

/// What comes in which order, if `spawn` is called on the only worker with what notes a number.
fn order_of(spawn: impl FnOnce(&dyn Fn(u32) -> Box<dyn FnOnce() + Send>) + Send) -> Vec<u32> {
    let (tell, told) = mpsc::channel();
    pool(1).install(move || {
        spawn(&move |number| {
            let tell = tell.clone();
            Box::new(move || tell.send(number).unwrap())
        });
    });
    told.iter().collect()
}

#[test]
fn the_youngest_first() {
    let order = order_of(|job| (0..5).for_each(|number| jobs::spawn(job(number))));
    assert_eq!(order, [4, 3, 2, 1, 0]);
}

#[test]
fn in_fifo_the_oldest_first() {
    let order = order_of(|job| (0..5).for_each(|number| jobs::spawn_fifo(job(number))));
    assert_eq!(order, [0, 1, 2, 3, 4]);
}

#[test]
fn mixed_each_by_its_own_rule() {
    let order = order_of(|job| {
        jobs::spawn(job(1));
        jobs::spawn_fifo(job(2));
        jobs::spawn(job(3));
        jobs::spawn_fifo(job(4));
        jobs::spawn_fifo(job(5));
    });
    assert_eq!(order, [2, 4, 3, 5, 1]);
}

#[test]
fn scopes_of_both_orders_in_one_line() {
    on_workers(1, || {
        let notes = Notes::default();
        jobs::scope(|lifo| {
            jobs::scope_fifo(|fifo| {
                lifo.spawn(|_| notes.note("lifo 1"));
                fifo.spawn_fifo(|_| notes.note("fifo 1"));
                lifo.spawn(|_| notes.note("lifo 2"));
                fifo.spawn_fifo(|_| notes.note("fifo 2"));
            });
        });
        let of = |kind: &str, all: &[&'static str]| -> Vec<&'static str> {
            all.iter().copied().filter(|note| note.starts_with(kind)).collect()
        };
        let all = notes.all();
        assert_eq!(of("lifo", &all), ["lifo 2", "lifo 1"]);
        assert_eq!(of("fifo", &all), ["fifo 1", "fifo 2"]);
    });
}
