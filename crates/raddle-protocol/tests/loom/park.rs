//! Park, unpark and the queue between them, as the scheduler composes them: the context of the one who waits is saved,
//! its token says so, the unparker delivers it to its worker's inbox, and the worker resumes it.

use crate::{ALL, check, go};
use raddle_protocol::model::{IdleSet, Inbox, Things, Token};
use std::sync::Arc;

/// The process is thing 0: its payload is its saved context, written before it parks, read by who resumes it.
fn parked_and_delivered(preemptions: Option<usize>) {
    check(preemptions, || {
        let (token, things) = (Arc::new(Token::default()), Things::new(1));
        let (inbox, idle) = (Arc::new(Inbox::default()), Arc::new(IdleSet::new(1)));
        let process = Arc::new(std::sync::Mutex::new(None));
        let life = token.generation();
        let unparker = {
            let (token, inbox, idle, process) = (token.clone(), inbox.clone(), idle.clone(), process.clone());
            go(move || {
                if token.notify(life) {
                    // The right to queue it came with the token's transition.
                    let right = process.lock().unwrap().take().expect("it has parked");
                    if inbox.push(right) {
                        idle.wake_owner(0);
                    }
                }
            })
        };
        // The worker: the process has left its stack, and the next context publishes that.
        *process.lock().unwrap() = Some(things.make(0));
        if token.park() {
            while inbox.run_all().is_empty() {
                let watch = idle.announce(0, false);
                if inbox.try_sleep() {
                    idle.sleep(0, watch);
                } else {
                    idle.cancel(0, watch);
                }
            }
        } else {
            let right = process.lock().unwrap().take().expect("nobody else may queue it");
            right.run();
        }
        token.consume();
        unparker.join().unwrap();
        assert_eq!(things.count_run(), 1);
    });
}

#[test]
fn a_parked_process_is_resumed_once_by_its_own_worker() {
    parked_and_delivered(ALL);
}
