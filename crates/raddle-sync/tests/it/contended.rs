//! Channels that OS threads and the processes of several workers use all the time: what each sends comes once, and in
//! its order, however often they find each other inside.

use super::runtime;
use raddle::sync::mpsc;
use raddle::{channel, csp};
use std::time::Duration;

const SENDERS: usize = 4;
const EACH: usize = 500;

/// Who sends, half of them as processes and half as OS threads; the returned closure waits for all.
fn send_all<S: Send + 'static>(senders: Vec<S>, send: fn(&S, (usize, usize))) -> impl FnOnce() {
    let all = senders.into_iter().enumerate().map(|(who, sender)| {
        let sends = move || (0..EACH).for_each(|n| send(&sender, (who, n)));
        let wait: Box<dyn FnOnce()> = if who % 2 == 0 {
            let process = csp::spawn(sends);
            Box::new(move || process.join().unwrap())
        } else {
            let thread = std::thread::spawn(sends);
            Box::new(move || thread.join().unwrap())
        };
        wait
    });
    let all: Vec<_> = all.collect();
    move || all.into_iter().for_each(|wait| wait())
}

/// What one receiver has had: the messages of each sender in order.
struct Had([usize; SENDERS]);

impl Had {
    /// Several receivers share the messages: then there are gaps.
    fn one(&mut self, (who, n): (usize, usize), may_skip: bool) {
        assert!(
            n == self.0[who] || (may_skip && n > self.0[who]),
            "{n} came of {who}, after {}",
            self.0[who]
        );
        self.0[who] = n + 1;
    }
}

#[test]
fn one_receiver_has_all_in_order() {
    runtime(2).run(|| {
        let (sender, receiver) = mpsc::channel();
        let wait = send_all((0..SENDERS).map(|_| sender.clone()).collect(), |s, m| s.send(m).unwrap());
        drop(sender);
        let mut had = Had([0; SENDERS]);
        loop {
            // Each way to receive in turn; a message that is there beats the end of a time-out that is over.
            receiver.try_iter().take(3).for_each(|message| had.one(message, false));
            if let Ok(message) = receiver.recv_timeout(Duration::ZERO) {
                had.one(message, false);
            }
            match receiver.recv() {
                Ok(message) => had.one(message, false),
                Err(mpsc::RecvError) => break,
            }
        }
        assert_eq!(had.0, [EACH; SENDERS]);
        assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Disconnected));
        wait();
    });
}

fn several_receive(capacity: Option<usize>) {
    let received = runtime(2).run(move || {
        let (s, r) = capacity.map_or_else(channel::unbounded, channel::bounded);
        let wait = send_all((0..SENDERS).map(|_| s.clone()).collect(), |s, m| s.send(m).unwrap());
        drop(s);
        let receive = |r: channel::Receiver<(usize, usize)>| {
            move || {
                let mut had = Had([0; SENDERS]);
                r.iter().map(|message| had.one(message, true)).count()
            }
        };
        let process = csp::spawn(receive(r.clone()));
        let thread = std::thread::spawn(receive(r.clone()));
        let own = receive(r)();
        wait();
        own + process.join().unwrap() + thread.join().unwrap()
    });
    assert_eq!(received, SENDERS * EACH);
}

#[test]
fn several_receivers_have_each_message_once() {
    for capacity in [None, Some(0), Some(1), Some(64)] {
        several_receive(capacity);
    }
}
