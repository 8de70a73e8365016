use super::sync::mpsc::{self, RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use super::sync::{Arc, Barrier};
use super::{go, run, yield_now};
use std::time::Duration;

#[test]
fn messages_come_in_the_order_of_their_sender() {
    run(|| {
        let (sender, receiver) = mpsc::channel();
        let senders: Vec<_> = (0..4)
            .map(|who| {
                let sender = sender.clone();
                go(move || (0..200).for_each(|n| sender.send((who, n)).unwrap()))
            })
            .collect();
        drop(sender);
        let mut next = [0; 4];
        for (who, n) in &receiver {
            assert_eq!(n, next[who]);
            next[who] += 1;
        }
        assert_eq!(next, [200; 4]);
        assert_eq!(receiver.recv(), Err(RecvError));
        senders.into_iter().for_each(|s| s.join().unwrap());
    });
}

fn bounded(bound: usize) {
    run(move || {
        let (sender, receiver) = mpsc::sync_channel(bound);
        let senders: Vec<_> = (0..3)
            .map(|_| {
                let sender = sender.clone();
                go(move || (0..100).for_each(|n| sender.send(n).unwrap()))
            })
            .collect();
        drop(sender);
        assert_eq!(receiver.into_iter().sum::<u32>(), 3 * 4950);
        senders.into_iter().for_each(|s| s.join().unwrap());
    });
}

#[test]
fn a_bound_of_none_one_and_many() {
    bounded(0);
    bounded(1);
    bounded(16);
}

#[test]
fn a_full_channel_refuses() {
    run(|| {
        let (sender, receiver) = mpsc::sync_channel(2);
        assert_eq!(sender.try_send(1), Ok(()));
        assert_eq!(sender.try_send(2), Ok(()));
        assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(sender.try_send(3), Ok(()));
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [2, 3]);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        drop(receiver);
        assert_eq!(sender.try_send(4), Err(TrySendError::Disconnected(4)));
        assert_eq!(sender.send(5), Err(SendError(5)));
    });
}

#[test]
fn a_rendezvous_needs_both() {
    run(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
        let receives = go(move || (receiver.recv(), receiver.recv()));
        while sender.try_send(2).is_err() {
            yield_now();
        }
        sender.send(3).unwrap();
        assert_eq!(receives.join().unwrap(), (Ok(2), Ok(3)));
        assert_eq!(sender.send(4), Err(SendError(4)));
    });
}

#[test]
fn who_waits_to_send_gets_its_message_back() {
    for bound in [0, 1] {
        run(move || {
            let (sender, receiver) = mpsc::sync_channel(bound);
            (0..bound).for_each(|_| sender.send(7).unwrap());
            let both = Arc::new(Barrier::new(3));
            let senders: Vec<_> = (0..2)
                .map(|n| {
                    let (sender, both) = (sender.clone(), both.clone());
                    go(move || {
                        both.wait();
                        sender.send(n)
                    })
                })
                .collect();
            both.wait();
            yield_now();
            drop(receiver);
            let back: Vec<_> = senders.into_iter().map(|s| s.join().unwrap()).collect();
            assert_eq!(back, [Err(SendError(0)), Err(SendError(1))]);
        });
    }
}

#[test]
fn the_last_sender_ends_a_wait() {
    run(|| {
        let (sender, receiver) = mpsc::channel::<u8>();
        let other = sender.clone();
        let receives = go(move || receiver.recv());
        drop(sender);
        drop(other);
        assert_eq!(receives.join().unwrap(), Err(RecvError));
    });
}

#[test]
fn what_is_left_comes_before_the_end() {
    let (sender, receiver) = mpsc::channel();
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    drop(sender);
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(receiver.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn a_deadline_passes_and_a_message_beats_it() {
    run(|| {
        let (sender, receiver) = mpsc::channel();
        assert_eq!(receiver.recv_timeout(Duration::from_millis(2)), Err(RecvTimeoutError::Timeout));
        assert_eq!(receiver.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        let sends = go(move || sender.send(1).map(|()| sender));
        assert_eq!(receiver.recv_timeout(Duration::from_secs(3600)), Ok(1));
        let sender = sends.join().unwrap().unwrap();
        sender.send(2).unwrap();
        assert_eq!(receiver.recv_timeout(Duration::ZERO), Ok(2));
    });
}

#[test]
fn messages_are_dropped_with_the_receiver() {
    let counted = Arc::new(());
    let (sender, receiver) = mpsc::channel();
    sender.send(counted.clone()).unwrap();
    drop(receiver);
    assert_eq!(Arc::strong_count(&counted), 1);
    assert!(sender.send(counted.clone()).is_err());
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn words_of_the_formats() {
    let (sender, receiver) = mpsc::channel::<u8>();
    let (sync_sender, _receiver) = mpsc::sync_channel::<u8>(1);
    assert_eq!(format!("{sender:?} {receiver:?} {sync_sender:?}"), "Sender { .. } Receiver { .. } SyncSender { .. }");
    assert_eq!(format!("{:?}", receiver.iter()), "Iter { rx: Receiver { .. } }");
    assert_eq!(format!("{:?}", receiver.try_iter()), "TryIter { rx: Receiver { .. } }");
    assert_eq!(format!("{:?}", receiver.into_iter()), "IntoIter { rx: Receiver { .. } }");
    let error = sender.send(1).unwrap_err();
    assert_eq!(format!("{error:?} {error}"), "SendError { .. } sending on a closed channel");
    let error: TrySendError<u8> = error.into();
    assert_eq!(format!("{error:?}"), "TrySendError::Disconnected(..)");
    let error: TryRecvError = RecvError.into();
    assert_eq!(error, TryRecvError::Disconnected);
    let error: RecvTimeoutError = RecvError.into();
    assert_eq!(error, RecvTimeoutError::Disconnected);
}
