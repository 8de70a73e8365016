//! Loops over calls that need not wait: on one worker others get their turns all the same.

use crate::watched;
use raddle::{Runtime, csp, task};
use raddle_net::io::Descriptor;
use raddle_net::net::unix::UnixStream;
use std::future::poll_fn;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls again and again, until a process has run for which there is no other worker.
fn until_another_has_run(mut call: impl FnMut() + Send) {
    watched();
    let runtime = Runtime::builder().workers(1).build().expect("a runtime");
    runtime.run(move || {
        let over = Arc::new(AtomicBool::new(false));
        let another = csp::spawn({
            let over = over.clone();
            move || over.store(true, Ordering::Relaxed)
        });
        while !over.load(Ordering::Relaxed) {
            call();
        }
        another.join().expect("it does not panic");
    });
}

/// A stream whose end has come: each read is done at once.
fn ended() -> UnixStream {
    UnixStream::pair().expect("a pair").0
}

#[test]
fn reads_that_need_not_wait() {
    let mut stream = ended();
    until_another_has_run(move || assert_eq!(stream.read(&mut [0]).expect("the end"), 0));
}

#[test]
fn writes_that_need_not_wait() {
    let file = std::fs::OpenOptions::new().write(true).open("/dev/null").expect("it is there");
    let mut file = Descriptor::new(file);
    until_another_has_run(move || assert_eq!(file.write(&[0]).expect("it takes all"), 1));
}

#[test]
fn reads_of_a_task() {
    let stream = ended();
    until_another_has_run(move || {
        let read = poll_fn(|context| stream.poll_read(context, &mut [0]));
        assert_eq!(task::block_on(read).expect("the end"), 0);
    });
}

/// The task does nothing but read: it is not ready once in a while, although something is there.
#[test]
fn a_task_that_only_reads() {
    watched();
    let runtime = Runtime::builder().workers(1).build().expect("a runtime");
    runtime.run(|| {
        let over = Arc::new(AtomicBool::new(false));
        let (stream, seen) = (ended(), over.clone());
        let reads = task::spawn(async move {
            while !seen.load(Ordering::Relaxed) {
                let read = poll_fn(|context| stream.poll_read(context, &mut [0])).await;
                assert_eq!(read.expect("the end"), 0);
            }
        });
        // The task runs when this waits, and this goes on when the task is not ready.
        csp::spawn(move || over.store(true, Ordering::Relaxed)).join().expect("it does not panic");
        task::block_on(reads).expect("it does not panic");
    });
}
