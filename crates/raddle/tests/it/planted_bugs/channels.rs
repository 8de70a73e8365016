//! Messages that go to somebody else, are left behind, or are waited for in a circle.

use super::{Mended, Planted, Way, hangs, panics};
use raddle::channel::{bounded, select, unbounded};
use raddle::{csp, thread};

/// Who sees that a queue is not empty receives from it; another one may have been faster.
#[test]
fn a_message_is_received_twice() {
    fn program(way: Way) {
        let (give, jobs) = unbounded();
        give.send(1).unwrap();
        let takers = ["left", "right"].map(|name| {
            let jobs = jobs.clone();
            let taker = thread::Builder::new().name(name.into());
            taker
                .spawn(move || match way {
                    Planted => (!jobs.is_empty()).then(|| jobs.recv().unwrap()),
                    Mended => jobs.try_recv().ok(),
                })
                .unwrap()
        });
        let got: u32 = takers.into_iter().filter_map(|taker| taker.join().unwrap()).sum();
        assert_eq!(got, 1);
        drop(give);
    }
    hangs(program, &["recv"]);
}

/// A collector counts on one answer of each worker; one that is cancelled gives none.
#[test]
fn a_cancelled_worker_never_answers() {
    fn program(way: Way) {
        let (answer, answers) = unbounded();
        let (cancel, cancelled) = bounded::<()>(1);
        let workers = [1, 2].map(|number| {
            let (answer, cancelled) = (answer.clone(), cancelled.clone());
            thread::spawn(move || {
                if cancelled.try_recv().is_err() {
                    answer.send(number).unwrap();
                }
            })
        });
        let cancels = thread::spawn(move || cancel.send(()));
        if way == Planted {
            let _sum: u32 = (0..2).map(|_| answers.recv().unwrap()).sum();
        } else {
            drop(answer);
            let _sum: u32 = answers.iter().sum();
        }
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        drop(cancelled);
        let _ = cancels.join().unwrap();
    }
    hangs(program, &["'main'", "recv"]);
}

/// Two peers that greet: one who has not been greeted yet does it first. Both may.
#[test]
fn two_peers_send_to_each_other() {
    fn greet(to: &mut csp::Sender<u32>, from: &mut csp::Receiver<u32>, first: bool, way: Way) {
        let came = if way == Planted { from.try_recv().ok() } else { (!first).then(|| from.recv().unwrap()) };
        match came {
            Some(number) => to.send(number + 1).unwrap(),
            None => {
                to.send(1).unwrap();
                assert_eq!(from.recv(), Ok(2));
            }
        }
    }
    fn program(way: Way) {
        let ((mut to_right, mut from_left), (mut to_left, mut from_right)) = (csp::channel(), csp::channel());
        let left = csp::Builder::new().name("left");
        let left = left.spawn(move || greet(&mut to_right, &mut from_right, true, way)).unwrap();
        let right = csp::Builder::new().name("right");
        let right = right.spawn(move || greet(&mut to_left, &mut from_left, false, way)).unwrap();
        left.join().unwrap();
        right.join().unwrap();
    }
    hangs(program, &["'left'", "'right'", "send"]);
}

/// Who is told to stop leaves what stands in the queue.
#[test]
fn a_selection_leaves_messages_behind() {
    fn program(way: Way) {
        let (note, notes) = unbounded();
        let (stop, stopped) = bounded(1);
        let writer = csp::spawn(move || {
            let mut written = 0;
            loop {
                select! {
                    recv(notes) -> note => written += note.map_or(0, |_: u32| 1),
                    recv(stopped) -> _ => break,
                }
            }
            if way == Mended {
                written += notes.try_iter().count();
            }
            written
        });
        (0..3).for_each(|number| note.send(number).unwrap());
        stop.send(()).unwrap();
        assert_eq!(writer.join().unwrap(), 3, "all notes are written");
    }
    panics(program, &["all notes are written"]);
}
