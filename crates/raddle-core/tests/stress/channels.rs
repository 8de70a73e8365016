//! Channels of every capacity, by every operation, with time-outs that hit and miss, selections, and ends that go.

use super::{everywhere, watch::Progress};
use raddle::channel::{self, Receiver, Select, SendTimeoutError, Sender, bounded, select, unbounded};
use raddle::csp;
use std::time::Duration;

const EACH: u64 = 25;

/// Sends by one operation after the other.
fn send_all(s: &Sender<[u64; 5]>, first: u64) {
    let (idle, _kept) = bounded::<u8>(0);
    for n in first..first + EACH {
        let mut message = [n; 5];
        match n % 5 {
            0 => s.send(message).unwrap(),
            1 => {
                while let Err(SendTimeoutError::Timeout(back)) =
                    s.send_timeout(message, Duration::from_micros(n % 90))
                {
                    message = back;
                }
            }
            2 => select! {
                send(s, { csp::yield_now(); message }) -> sent => sent.unwrap(),
                send(idle, 0) -> _ => unreachable!(),
            },
            3 => {
                let mut select = Select::new();
                select.send(&idle);
                let index = select.send(s);
                let selected = loop {
                    if let Ok(selected) = select.select_timeout(Duration::from_micros(n % 70)) {
                        break selected;
                    }
                };
                assert_eq!(selected.index(), index);
                selected.send(s, message).unwrap();
            }
            // At a rendezvous it would never meet a receiver that waits by `ready`.
            _ if s.capacity() == Some(0) => s.send(message).unwrap(),
            _ => {
                while let Err(error) = s.try_send(message) {
                    assert!(error.is_full());
                    message = error.into_inner();
                    csp::yield_now();
                }
            }
        }
    }
}

/// Receives by one operation after the other until all senders are gone; returns the sum.
fn receive_all(r: &Receiver<[u64; 5]>) -> u64 {
    let (mut sum, mut turn) = (0, 0);
    let silent = channel::never::<u8>();
    loop {
        turn += 1;
        let received = match turn % 4 {
            0 => r.recv().ok(),
            1 => loop {
                match r.recv_timeout(Duration::from_micros(turn % 80)) {
                    Err(error) if error.is_timeout() => {}
                    other => break other.ok(),
                }
            },
            2 => select! {
                recv(r) -> message => message.ok(),
                recv(silent) -> _ => unreachable!(),
            },
            _ => {
                let mut select = Select::new();
                select.recv(&silent);
                select.recv(r);
                assert_eq!(select.ready(), 1);
                match r.try_recv() {
                    Err(error) if error.is_empty() => continue,
                    other => other.ok(),
                }
            }
        };
        let Some(message) = received else { return sum };
        assert_eq!(message, [message[0]; 5]);
        sum += message[0];
    }
}

fn exchange(capacity: Option<usize>, progress: &Progress) {
    let (s, r) = capacity.map_or_else(unbounded, bounded);
    let receivers: Vec<_> = (0..3)
        .map(|_| {
            let r = r.clone();
            csp::spawn(move || receive_all(&r))
        })
        .collect();
    let senders: Vec<_> = (0..3)
        .map(|part| {
            let (s, progress) = (s.clone(), progress.clone());
            csp::spawn(move || {
                send_all(&s, part * EACH);
                progress.note();
            })
        })
        .collect();
    let outside = std::thread::spawn(move || send_all(&s, 3 * EACH));
    drop(r);
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    let sum: u64 = receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum();
    outside.join().unwrap();
    assert_eq!(sum, (0..4 * EACH).sum::<u64>());
}

#[test]
fn exchange_a_lot() {
    everywhere("exchange", |rt, progress| {
        for capacity in [Some(0), Some(1), Some(5), None] {
            rt.run(|| exchange(capacity, progress));
        }
    });
}
