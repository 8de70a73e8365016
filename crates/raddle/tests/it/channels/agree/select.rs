use super::*;

#[test]
fn it_finds_the_one_that_is_possible() {
    everywhere(|| {
        let channels = flavours();
        for (at, (s, r)) in channels.iter().enumerate().skip(1) {
            let mut select = Select::new();
            let indices: Vec<_> = channels.iter().map(|(_, r)| select.recv(r)).collect();
            assert!(select.try_select().is_err());
            assert_eq!(select.try_ready(), Err(TryReadyError));
            s.send(at).unwrap();
            assert_eq!(select.try_ready(), Ok(indices[at]));
            assert_eq!(select.ready(), indices[at]);
            let operation = select.select();
            assert_eq!(operation.index(), indices[at]);
            assert_eq!(operation.recv(r), Ok(at));
        }
    });
}

#[test]
fn it_waits_for_a_receive() {
    everywhere(|| {
        for at in 0..4 {
            let channels = flavours();
            let s = channels[at].0.clone();
            let join = spawn(move || (0..20).for_each(|n| s.send([n; 9]).unwrap()));
            for n in 0..20 {
                let mut select = Select::new();
                channels.iter().for_each(|(_, r)| assert!(select.recv(r) < 4));
                let operation = select.select();
                assert_eq!(operation.index(), at);
                assert_eq!(operation.recv(&channels[at].1), Ok([n; 9]));
            }
            join();
        }
    });
}

#[test]
fn it_waits_for_a_send() {
    everywhere(|| {
        let (full, _kept) = bounded(1);
        full.send(0).unwrap();
        for (s, r) in [bounded(0), bounded(1), bounded(7)] {
            let join = spawn(move || r.iter().take(50).collect::<Vec<_>>());
            for n in 0..50 {
                let mut select = Select::new();
                let never = select.send(&full);
                let sends = select.send(&s);
                let operation = select.select();
                assert!(operation.index() == sends && sends != never);
                operation.send(&s, n).unwrap();
            }
            assert!(join().into_iter().eq(0..50));
        }
    });
}

#[test]
fn two_selections_meet() {
    everywhere(|| {
        let (s, r) = bounded(0);
        let (idle, _kept) = bounded::<u8>(0);
        let join = spawn(move || {
            for n in 0..100 {
                let mut select = Select::new();
                let sends = select.send(&s);
                select.send(&idle);
                let operation = select.select();
                assert_eq!(operation.index(), sends);
                operation.send(&s, n).unwrap();
            }
        });
        let silent = never::<u8>();
        for n in 0..100 {
            let mut select = Select::new();
            select.recv(&silent);
            let receives = select.recv(&r);
            let operation = select.select();
            assert_eq!(operation.index(), receives);
            assert_eq!(operation.recv(&r), Ok(n));
        }
        join();
    });
}

#[test]
fn it_does_not_meet_itself() {
    everywhere(|| {
        let (s, r) = bounded::<u8>(0);
        let mut select = Select::new();
        select.send(&s);
        select.recv(&r);
        assert!(select.try_select().is_err());
        assert!(select.select_timeout(SHORT).is_err());
        assert_eq!(select.ready_timeout(SHORT), Err(ReadyTimeoutError));
    });
}

#[test]
fn a_disconnected_channel_is_possible() {
    everywhere(|| {
        let (s, r) = bounded::<u8>(0);
        let (gone, closed) = bounded::<u8>(0);
        drop(gone);
        let mut select = Select::new();
        let open = select.recv(&r);
        let index = select.recv(&closed);
        assert_eq!((open, select.ready()), (0, index));
        let operation = select.select();
        assert_eq!(operation.index(), index);
        assert_eq!(operation.recv(&closed), Err(RecvError));

        let join = spawn(move || {
            let mut select = Select::new();
            select.recv(&r);
            let operation = select.select_timeout(LONG).unwrap();
            operation.recv(&r)
        });
        pause(SHORT);
        drop(s);
        assert_eq!(join(), Err(RecvError));

        let (s, r) = bounded(0);
        let join = spawn(move || {
            let mut select = Select::new();
            select.send(&s);
            select.select().send(&s, 4)
        });
        pause(SHORT);
        drop(r);
        assert_eq!(join(), Err(SendError(4)));
    });
}

#[test]
fn deadlines_pass() {
    everywhere(|| {
        let (_s, r) = bounded::<u8>(1);
        let mut select = Select::new();
        select.recv(&r);
        let began = Instant::now();
        assert!(select.select_timeout(SHORT).is_err());
        assert!(select.select_deadline(began + 2 * SHORT).is_err());
        assert_eq!(select.ready_timeout(SHORT), Err(ReadyTimeoutError));
        assert_eq!(select.ready_deadline(began + 4 * SHORT), Err(ReadyTimeoutError));
        assert!(began.elapsed() >= 4 * SHORT);
    });
}

#[test]
fn without_operations() {
    everywhere(|| {
        let mut select = Select::new();
        assert!(select.try_select().is_err());
        assert!(select.select_timeout(SHORT).is_err());
        assert_eq!(select.try_ready(), Err(TryReadyError));
        assert_eq!(select.ready_timeout(SHORT), Err(ReadyTimeoutError));
    });
}

#[test]
#[should_panic(expected = "no operations have been added to `Select`")]
fn select_needs_operations() {
    let _selected = Select::new().select();
}

#[test]
#[should_panic(expected = "no operations have been added to `Select`")]
fn ready_needs_operations() {
    Select::new().ready();
}

#[test]
fn operations_are_taken_out() {
    everywhere(|| {
        let ((s1, r1), (s2, r2)) = (unbounded(), unbounded());
        s1.send(1).unwrap();
        let mut select = Select::new();
        let first = select.recv(&r1);
        let second = select.recv(&r2);
        select.remove(first);
        assert!(select.try_select().is_err());
        s2.send(2).unwrap();
        assert_eq!(select.clone().ready(), second);
        let third = select.recv(&r1);
        assert_eq!((first, second, third), (0, 1, 2));
        select.remove(second);
        let operation = select.select();
        assert_eq!(operation.index(), third);
        assert_eq!(operation.recv(&r1), Ok(1));
    });
}

#[test]
#[should_panic(expected = "no operation with this index")]
fn an_operation_is_taken_out_once() {
    let r = never::<u8>();
    let mut select = Select::new();
    select.recv(&r);
    select.remove(0);
    select.remove(0);
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn only_what_is_there_is_taken_out() {
    Select::new().remove(0);
}

#[test]
#[should_panic(expected = "dropped `SelectedOperation` without completing the operation")]
fn what_was_agreed_on_must_be_completed() {
    let (s, r) = bounded(1);
    s.send(1).unwrap();
    let mut select = Select::new();
    select.recv(&r);
    drop(select.select());
}

#[test]
fn clocks_take_part() {
    everywhere(|| {
        let (_s, r) = bounded::<u8>(0);
        let far = after(LONG);
        let mut select = Select::new();
        select.recv(&r);
        select.recv(&far);
        assert!(select.select_timeout(Duration::from_micros(1)).is_err());
        let began = Instant::now();
        let (alarm, ticker) = (after(2 * SHORT), tick(3 * SHORT));
        for _ in 0..2 {
            let mut select = Select::new();
            select.recv(&r);
            let [at_alarm, at_tick] = [select.recv(&alarm), select.recv(&ticker)];
            assert!(select.ready() >= at_alarm);
            let operation = select.select();
            let time =
                if operation.index() == at_tick { operation.recv(&ticker) } else { operation.recv(&alarm) };
            assert!(time.unwrap() >= began + 2 * SHORT);
        }
        assert!(began.elapsed() >= 3 * SHORT);
        assert_eq!(alarm.try_recv(), Err(TryRecvError::Empty));
    });
}

#[test]
fn ready_tells_and_takes_nothing() {
    everywhere(|| {
        for (s, r) in flavours() {
            let other = r.clone();
            let join = spawn(move || {
                let mut select = Select::new();
                let index = select.recv(&other);
                while other.try_recv().is_err() {
                    assert_eq!(select.ready(), index);
                }
            });
            pause(Duration::from_millis(1));
            s.send(1).unwrap();
            join();
            assert!(r.try_recv().is_err());
        }
        let (s, r) = bounded(1);
        s.send(1).unwrap();
        let join = spawn(move || {
            let mut select = Select::new();
            assert_eq!(select.send(&s), 0);
            while s.try_send(2).is_err() {
                assert_eq!(select.ready_timeout(LONG), Ok(0));
            }
        });
        pause(Duration::from_millis(1));
        assert_eq!(r.recv(), Ok(1));
        assert_eq!(r.recv(), Ok(2));
        join();
    });
}

#[test]
fn of_several_any_is_chosen_or_the_first() {
    everywhere(|| {
        let channels: Vec<_> = (0..3).map(|_| unbounded()).collect();
        channels.iter().for_each(|(s, _)| (0..2000).for_each(|_| s.send(()).unwrap()));
        let mut chosen = [0; 3];
        for _ in 0..1500 {
            let mut select = Select::new();
            channels.iter().for_each(|(_, r)| assert!(select.recv(r) < 3));
            let operation = select.select();
            let index = operation.index();
            operation.recv(&channels[index].1).unwrap();
            chosen[index] += 1;
        }
        assert!(chosen.iter().all(|count| (300..700).contains(count)), "{chosen:?}");

        let mut select = Select::new_biased();
        channels.iter().rev().for_each(|(_, r)| assert!(select.recv(r) < 3));
        for _ in 0..100 {
            let operation = select.select();
            assert_eq!(operation.index(), 0);
            operation.recv(&channels[2].1).unwrap();
        }
    });
}

#[test]
fn one_message_goes_to_one_of_two_selections() {
    everywhere(|| {
        for (s, r) in flavours() {
            let takers: Vec<_> = (0..3)
                .map(|_| {
                    let r = r.clone();
                    spawn(move || {
                        let silent = never::<usize>();
                        let mut got = Vec::new();
                        loop {
                            let mut select = Select::new();
                            select.recv(&silent);
                            select.recv(&r);
                            match select.select().recv(&r) {
                                Ok(n) => got.push(n),
                                Err(RecvError) => return got,
                            }
                        }
                    })
                })
                .collect();
            (0..300).for_each(|n| s.send(n).unwrap());
            drop((s, r));
            let mut all: Vec<_> = takers.into_iter().flat_map(|join| join()).collect();
            all.sort();
            assert!(all.into_iter().eq(0..300));
        }
    });
}

/// Two cases of one selection stand at one rendezvous: a peer that comes while it waits serves either.
#[test]
fn a_waiting_selection_is_fair_between_cases_of_one_channel() {
    const TIMES: usize = 400;
    everywhere(|| {
        let (s, r) = bounded(0);
        // It does not send before the selection waits.
        let waits = Arc::new(AtomicUsize::new(0));
        let seen = waits.clone();
        let join = spawn(move || {
            for n in 0..TIMES {
                while seen.load(Ordering::Acquire) <= n {
                    pause(Duration::from_micros(20));
                }
                pause(Duration::from_micros(100));
                s.send(n).unwrap();
            }
        });
        let mut served = [0; 3];
        for n in 0..TIMES {
            waits.store(n + 1, Ordering::Release);
            let mut select = Select::new();
            let cases = [select.recv(&r), select.recv(&r), select.recv(&r)];
            let operation = select.select();
            served[cases.iter().position(|case| *case == operation.index()).unwrap()] += 1;
            assert_eq!(operation.recv(&r), Ok(n));
        }
        join();
        // Each is expected to have a third of them; fewer than an eighth is 18 standard deviations away.
        assert!(served.iter().all(|times| *times > TIMES / 8), "{served:?}");
    });
}

/// A peer that another channel has served still stands at this one until it wakes, and is not there for anybody.
#[test]
fn who_was_served_elsewhere_makes_nothing_possible() {
    for _ in 0..300 {
        let ((s1, r1), (s2, r2)) = (bounded::<u8>(0), bounded(0));
        let thread = std::thread::spawn(move || {
            let mut select = Select::new_biased();
            select.send(&s1);
            select.send(&s2);
            let operation = select.select();
            assert_eq!(operation.index(), 1);
            operation.send(&s2, 5).unwrap();
            s1
        });
        let mut both = Select::new();
        both.recv(&r1);
        both.recv(&r2);
        assert!(both.ready() < 2);
        let mut second = Select::new();
        second.recv(&r2);
        let operation = second.select();
        // Agreed on, and perhaps not awake yet.
        let mut first = Select::new();
        first.recv(&r1);
        assert_eq!(first.try_ready(), Err(TryReadyError));
        assert_eq!(operation.recv(&r2), Ok(5));
        drop(thread.join().unwrap());
    }
}
