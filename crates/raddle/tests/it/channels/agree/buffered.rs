use super::*;

#[test]
fn a_bounded_channel_takes_so_many_and_no_more() {
    everywhere(|| {
        let (s, r) = bounded(2);
        assert_eq!((s.capacity(), r.capacity()), (Some(2), Some(2)));
        assert!(s.is_empty() && r.is_empty() && !s.is_full() && !r.is_full());
        s.send('a').unwrap();
        assert_eq!((s.len(), r.len()), (1, 1));
        assert!(!s.is_empty() && !s.is_full());
        s.try_send('b').unwrap();
        assert!(s.is_full() && r.is_full());
        assert_eq!(s.try_send('c'), Err(TrySendError::Full('c')));
        assert_eq!(s.send_timeout('c', Duration::ZERO), Err(SendTimeoutError::Timeout('c')));
        assert_eq!(r.recv(), Ok('a'));
        assert_eq!((r.len(), r.is_full()), (1, false));
        assert_eq!(r.try_recv(), Ok('b'));
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
    });
}

#[test]
fn an_unbounded_channel_is_never_full() {
    everywhere(|| {
        let (s, r) = unbounded();
        assert_eq!((s.capacity(), r.capacity()), (None, None));
        for n in 0..10_000 {
            s.send(n).unwrap();
        }
        assert_eq!((s.len(), s.is_full(), r.is_full()), (10_000, false, false));
        assert!(r.try_iter().eq(0..10_000));
        assert!(r.is_empty());
    });
}

#[test]
fn a_send_into_a_full_channel_waits_for_a_place() {
    everywhere(|| {
        let (s, r) = bounded(1);
        let join = spawn(move || (0..100).for_each(|n| s.send(n).unwrap()));
        for n in 0..100 {
            assert_eq!(r.recv(), Ok(n));
        }
        join();
        assert_eq!(r.recv(), Err(RecvError));
    });
}

#[test]
fn a_receive_waits_for_a_message() {
    everywhere(|| {
        for (s, r) in flavours() {
            let join = spawn(move || [r.recv(), r.recv_timeout(LONG).map_err(|_| RecvError)]);
            s.send(1).unwrap();
            s.send_timeout(2, LONG).unwrap();
            assert_eq!(join(), [Ok(1), Ok(2)]);
        }
    });
}

#[test]
fn deadlines_pass() {
    everywhere(|| {
        for (s, r) in flavours::<u8>() {
            let began = Instant::now();
            assert_eq!(r.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
            assert_eq!(r.recv_deadline(began + 2 * SHORT), Err(RecvTimeoutError::Timeout));
            assert!(began.elapsed() >= 2 * SHORT);
            while s.try_send(1).is_ok() && !s.is_full() && s.capacity().is_some() {}
            if s.capacity().is_some() {
                let began = Instant::now();
                assert_eq!(s.send_timeout(2, SHORT), Err(SendTimeoutError::Timeout(2)));
                assert_eq!(s.send_deadline(2, began + 2 * SHORT), Err(SendTimeoutError::Timeout(2)));
                assert!(began.elapsed() >= 2 * SHORT);
            }
        }
    });
}

#[test]
fn a_deadline_that_has_passed_still_takes_what_is_there() {
    everywhere(|| {
        let (s, r) = bounded(1);
        let now = Instant::now();
        s.send_deadline(1, now).unwrap();
        assert_eq!(r.recv_deadline(now), Ok(1));
        assert_eq!(r.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
    });
}

#[test]
fn timeouts_without_end_wait() {
    everywhere(|| {
        let (s, r) = bounded(0);
        let join = spawn(move || r.recv_timeout(Duration::MAX));
        s.send_timeout(5, Duration::MAX).unwrap();
        assert_eq!(join(), Ok(5));
    });
}

#[test]
fn messages_without_size() {
    everywhere(|| {
        for (s, r) in flavours::<()>() {
            let join = spawn(move || r.iter().count());
            (0..1000).for_each(|_| s.send(()).unwrap());
            drop(s);
            assert_eq!(join(), 1000);
        }
    });
}

#[test]
fn large_messages() {
    everywhere(|| {
        for (s, r) in flavours::<[u64; 100]>() {
            let join = spawn(move || r.into_iter().map(|block| block.iter().sum::<u64>()).sum::<u64>());
            (0..50).for_each(|n| s.send([n; 100]).unwrap());
            drop(s);
            assert_eq!(join(), 100 * (0..50).sum::<u64>());
        }
    });
}

#[test]
fn iterators() {
    everywhere(|| {
        let (s, r) = unbounded();
        (0..4).for_each(|n| s.send(n).unwrap());
        assert_eq!(r.iter().next(), Some(0));
        assert_eq!((&r).into_iter().next(), Some(1));
        assert_eq!(r.try_iter().collect::<Vec<_>>(), [2, 3]);
        assert_eq!(r.try_iter().next(), None);
        s.send(4).unwrap();
        drop(s);
        let mut all = r.into_iter();
        assert_eq!((all.next(), all.next(), all.next()), (Some(4), None, None));
    });
}
