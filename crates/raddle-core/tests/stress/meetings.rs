//! Pairs on neighbouring workers that talk over csp channels in every way, look out for each other, give up, and go.

use super::{Progress, everywhere};
use raddle::csp::{self, Receiver, Sender};
use std::sync::mpsc::TrySendError;
use std::time::Duration;

const PAIRS: u64 = 4;
const ROUNDS: u64 = 40;

/// Sends in the way whose turn it is: waiting, with a short deadline until it comes off, trying until it does.
fn send(to: &mut Sender<u64>, number: u64) {
    let short = Duration::from_micros(number % 7);
    loop {
        let refused = match number % 3 {
            0 => return to.send(number).unwrap(),
            1 => to.send_timeout(number, short),
            _ => to.try_send(number),
        };
        match refused {
            Ok(()) => return,
            Err(TrySendError::Full(back)) => assert_eq!(back, number),
            Err(TrySendError::Disconnected(_)) => panic!("the echo lives"),
        }
        csp::yield_now();
    }
}

fn receive(from: &mut Receiver<u64>, number: u64) -> u64 {
    if number.is_multiple_of(2) {
        return from.recv().unwrap();
    }
    csp::alt! {
        recv(*from) -> answer => answer.unwrap(),
        after(Duration::from_secs(600)) => unreachable!("the echo answers"),
    }
}

fn echo(mut from: Receiver<u64>, mut to: Sender<u64>) -> u64 {
    let mut sum = 0;
    while let Ok(number) = from.recv() {
        sum += number;
        if to.send(number + 1).is_err() {
            break;
        }
    }
    sum
}

/// Talks with an echo, and then poisons the channel, or goes, while the echo waits or looks out for it.
fn talk(pair: u64, mut to: Sender<u64>, mut from: Receiver<u64>, progress: &Progress) {
    for number in pair..pair + ROUNDS {
        send(&mut to, number);
        assert_eq!(receive(&mut from, number), number + 1);
        progress.note();
    }
    if pair.is_multiple_of(2) {
        to.poison();
    }
}

#[test]
fn pairs_that_meet_across_workers() {
    everywhere("meetings", |rt, progress| {
        let (workers, progress) = (rt.workers(), progress.clone());
        let start = move |pair: u64| {
            let (to, from_talker) = csp::channel();
            let (to_talker, from) = csp::channel();
            let (here, there) = (pair as usize % workers, (pair as usize + 1) % workers);
            let echo = csp::spawn_on(there, move || echo(from_talker, to_talker));
            let progress = progress.clone();
            (csp::spawn_on(here, move || talk(pair, to, from, &progress)), echo)
        };
        rt.run(move || {
            let pairs: Vec<_> = (0..PAIRS).map(start).collect();
            for (pair, (talker, echo)) in (0..).zip(pairs) {
                talker.join().unwrap();
                assert_eq!(echo.join().unwrap(), (pair..pair + ROUNDS).sum::<u64>());
            }
        });
    });
}
