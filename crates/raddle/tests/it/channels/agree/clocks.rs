use super::*;

#[test]
fn after_has_one_message_when_the_time_has_come() {
    everywhere(|| {
        let began = Instant::now();
        let r = after(SHORT);
        assert_eq!((r.capacity(), r.len(), r.is_empty(), r.is_full()), (Some(1), 0, true, false));
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(r.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        let time = r.recv().unwrap();
        assert!(time >= began + SHORT && Instant::now() >= time);
        assert_eq!((r.len(), r.is_empty(), r.is_full()), (0, true, false));
        assert_eq!(r.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout), "there is no second one");
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
    });
}

#[test]
fn at_has_the_moment_itself() {
    everywhere(|| {
        let when = Instant::now() + SHORT;
        let r = at(when);
        assert_eq!(r.recv_deadline(when + LONG), Ok(when));
        let past = at(when);
        assert_eq!((past.len(), past.is_full()), (1, true));
        assert_eq!(past.try_recv(), Ok(when));
        assert!(past.try_iter().next().is_none());
    });
}

#[test]
fn one_of_several_receives_it() {
    everywhere(|| {
        let r = after(SHORT);
        let others: Vec<_> = (0..3)
            .map(|_| {
                let r = r.clone();
                spawn(move || r.recv_timeout(5 * SHORT).is_ok())
            })
            .collect();
        assert_eq!(others.into_iter().map(|join| usize::from(join())).sum::<usize>(), 1);
    });
}

#[test]
fn tick_has_one_each_period_and_keeps_one() {
    everywhere(|| {
        let began = Instant::now();
        let r = tick(SHORT);
        assert_eq!((r.capacity(), r.len(), r.is_empty(), r.is_full()), (Some(1), 0, true, false));
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
        let first = r.recv().unwrap();
        assert!(first >= began + SHORT);
        assert!(r.recv().unwrap() >= first + SHORT);
        pause(4 * SHORT);
        assert_eq!((r.len(), r.is_empty(), r.is_full()), (1, false, true));
        assert!(r.try_recv().is_ok());
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty), "what nobody came for is dropped");
        assert!(r.recv().unwrap() >= began + 7 * SHORT);
    });
}

#[test]
fn never_has_none() {
    everywhere(|| {
        let r = never::<u8>();
        assert_eq!((r.capacity(), r.len(), r.is_empty(), r.is_full()), (Some(0), 0, true, true));
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
        let began = Instant::now();
        assert_eq!(r.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
        assert!(began.elapsed() >= SHORT);
    });
}

#[test]
fn the_end_of_time() {
    everywhere(|| {
        assert_eq!(after(Duration::MAX).try_recv(), Err(TryRecvError::Empty));
        assert_eq!(tick(Duration::MAX).try_recv(), Err(TryRecvError::Empty));
    });
}
