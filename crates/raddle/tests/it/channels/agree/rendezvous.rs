use super::*;

#[test]
fn it_holds_nothing() {
    everywhere(|| {
        let (s, r) = bounded(0);
        assert_eq!((s.capacity(), r.capacity()), (Some(0), Some(0)));
        assert_eq!((s.len(), r.len()), (0, 0));
        assert!(s.is_empty() && r.is_empty() && s.is_full() && r.is_full());
        assert_eq!(s.try_send(1), Err(TrySendError::Full(1)));
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
    });
}

#[test]
fn a_send_waits_for_its_receive() {
    everywhere(|| {
        let (s, r) = bounded(0);
        let received = Arc::new(AtomicUsize::new(0));
        let seen = received.clone();
        let join = spawn(move || {
            for n in 0..200 {
                s.send(n).unwrap();
                // Whoever received it has begun to; that all before were received is certain.
                assert!(seen.load(Ordering::SeqCst) >= n);
            }
        });
        for n in 0..200 {
            assert_eq!(r.recv(), Ok(n));
            received.fetch_add(1, Ordering::SeqCst);
        }
        join();
    });
}

#[test]
fn try_send_finds_one_who_waits() {
    everywhere(|| {
        let (s, r) = bounded(0);
        let join = spawn(move || r.recv());
        let mut message = 7;
        while let Err(TrySendError::Full(back)) = s.try_send(message) {
            message = back;
            pause(Duration::from_micros(100));
        }
        assert_eq!(join(), Ok(7));
    });
}

#[test]
fn try_recv_finds_one_who_waits() {
    everywhere(|| {
        let (s, r) = bounded(0);
        let join = spawn(move || s.send(String::from("seven")));
        let received = loop {
            match r.try_recv() {
                Err(TryRecvError::Empty) => pause(Duration::from_micros(100)),
                other => break other,
            }
        };
        assert_eq!(received.as_deref(), Ok("seven"));
        assert_eq!(join(), Ok(()));
    });
}

#[test]
fn there_and_back() {
    everywhere(|| {
        let ((there, near), (back, far)) = (bounded(0), bounded(0));
        let join = spawn(move || near.iter().for_each(|n: u64| back.send(n + 1).unwrap()));
        let mut n = 0;
        for _ in 0..500 {
            there.send(n).unwrap();
            n = far.recv().unwrap();
        }
        drop(there);
        join();
        assert_eq!(n, 500);
    });
}

#[test]
fn a_timeout_takes_the_offer_back() {
    everywhere(|| {
        let (s, r) = bounded(0);
        assert_eq!(s.send_timeout(1, SHORT), Err(SendTimeoutError::Timeout(1)));
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(r.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
        assert_eq!(s.try_send(2), Err(TrySendError::Full(2)));
    });
}

#[test]
fn many_meet_in_pairs() {
    everywhere(|| {
        let (s, r) = bounded(0);
        let senders: Vec<_> = (0..4)
            .map(|part| {
                let s = s.clone();
                spawn(move || (0..50).for_each(|n| s.send(part * 50 + n).unwrap()))
            })
            .collect();
        let receivers: Vec<_> = (0..4)
            .map(|_| {
                let r = r.clone();
                spawn(move || r.iter().collect::<Vec<i32>>())
            })
            .collect();
        drop((s, r));
        senders.into_iter().for_each(|join| join());
        let mut all: Vec<_> = receivers.into_iter().flat_map(|join| join()).collect();
        all.sort();
        assert!(all.into_iter().eq(0..200));
    });
}
