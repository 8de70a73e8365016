use super::*;

#[test]
fn messages_that_are_left_are_received() {
    everywhere(|| {
        for (s, r) in [bounded(7), unbounded()] {
            s.send(1).unwrap();
            s.send(2).unwrap();
            drop(s);
            assert_eq!(r.recv(), Ok(1));
            assert_eq!(r.try_recv(), Ok(2));
            assert_eq!(r.recv(), Err(RecvError));
            assert_eq!(r.try_recv(), Err(TryRecvError::Disconnected));
            assert_eq!(r.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
        }
    });
}

#[test]
fn a_send_without_receivers_gives_the_message_back() {
    everywhere(|| {
        for (s, r) in flavours() {
            drop(r.clone());
            drop(r);
            assert_eq!(s.send(1), Err(SendError(1)));
            assert_eq!(s.try_send(2), Err(TrySendError::Disconnected(2)));
            assert_eq!(s.send_timeout(3, LONG), Err(SendTimeoutError::Disconnected(3)));
        }
    });
}

#[test]
fn clones_keep_a_channel_connected() {
    everywhere(|| {
        let (s, r) = unbounded();
        let other = s.clone();
        drop(s);
        other.send(1).unwrap();
        let another = r.clone();
        drop(r);
        assert_eq!(another.recv(), Ok(1));
        assert_eq!(another.try_recv(), Err(TryRecvError::Empty));
        drop(other);
        assert_eq!(another.try_recv(), Err(TryRecvError::Disconnected));
    });
}

#[test]
fn whoever_waits_learns_of_it() {
    everywhere(|| {
        for (s, r) in flavours::<u8>() {
            let other = r.clone();
            let waiting =
                [spawn(move || r.recv()), spawn(move || other.recv_timeout(LONG).map_err(|_| RecvError))];
            pause(SHORT);
            drop(s);
            waiting.into_iter().for_each(|join| assert_eq!(join(), Err(RecvError)));
        }
        for (s, r) in [bounded(0), bounded(1)] {
            while s.try_send(0).is_ok() {}
            let other = s.clone();
            let waiting = [
                spawn(move || s.send(1)),
                spawn(move || other.send_timeout(1, LONG).map_err(|error| SendError(error.into_inner()))),
            ];
            pause(SHORT);
            drop(r);
            waiting.into_iter().for_each(|join| assert_eq!(join(), Err(SendError(1))));
        }
    });
}

#[test]
fn what_nobody_can_receive_is_dropped() {
    everywhere(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (s, r) = unbounded();
        (0..5).for_each(|_| s.send(Dropped(drops.clone())).unwrap());
        drop(r.recv().unwrap());
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        drop(r);
        assert_eq!(drops.load(Ordering::Relaxed), 5, "all receivers are gone");
        drop(s.send(Dropped(drops.clone())));
        assert_eq!(drops.load(Ordering::Relaxed), 6);
    });
}

#[test]
fn what_is_left_is_dropped_with_the_channel() {
    everywhere(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        for (s, r) in [bounded(7), unbounded()] {
            let before = drops.load(Ordering::Relaxed);
            (0..5).for_each(|_| s.send(Dropped(drops.clone())).unwrap());
            drop(s);
            assert_eq!(drops.load(Ordering::Relaxed), before);
            drop(r);
            assert_eq!(drops.load(Ordering::Relaxed), before + 5);
        }
    });
}

#[test]
fn a_message_may_use_its_own_channel_when_it_is_dropped() {
    struct Last(Sender<Option<Last>>, Arc<AtomicUsize>);
    impl Drop for Last {
        fn drop(&mut self) {
            assert!(self.0.send(None).is_err());
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    everywhere(|| {
        let (s, r) = unbounded();
        let drops = Arc::new(AtomicUsize::new(0));
        (0..3).for_each(|_| s.send(Some(Last(s.clone(), drops.clone()))).unwrap());
        drop(r);
        assert_eq!(drops.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn same_channel() {
    everywhere(|| {
        let [(s1, r1), (s2, r2), ..] = flavours::<u8>();
        assert!(s1.same_channel(&s1.clone()) && r1.same_channel(&r1.clone()));
        assert!(!s1.same_channel(&s2) && !r1.same_channel(&r2));
        let (alarm, ticker) = (after(LONG), tick(LONG));
        assert!(alarm.same_channel(&alarm.clone()) && ticker.same_channel(&ticker.clone()));
        assert!(!alarm.same_channel(&after(LONG)) && !ticker.same_channel(&tick(LONG)));
        assert!(!alarm.same_channel(&ticker) && !alarm.same_channel(&never()));
        assert!(never::<u8>().same_channel(&never()) && !never().same_channel(&r1));
    });
}
