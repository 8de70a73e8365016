use super::channel::{select, select_biased};
use super::*;

#[test]
fn arms_in_every_form() {
    everywhere(|| {
        let ((s, r), (full, _kept)) = (unbounded(), bounded(0));
        s.send(1).unwrap();
        let block = select! {
            recv(r) -> msg => { msg.unwrap() }
            send(full, 0) -> _ => { unreachable!() }
        };
        s.send(2).unwrap();
        let commas = select! {
            recv(&r,) -> msg => msg.unwrap(),
            send(&full, 0,) -> _ => { unreachable!() },
            default() => unreachable!(),
        };
        let timeout = select! {
            recv(r) -> (Ok::<i32, _>(_) | Err(_)) => 0,
            default(SHORT,) => 3
        };
        let plain = select!(default => 4);
        assert_eq!([block, commas, timeout, plain], [1, 2, 3, 4]);
        let method = select! {
            default => { Some(5) }.unwrap(),
        };
        assert_eq!(method, 5);
        select!(send(s, 6) -> res => res.unwrap());
        select!(recv(r) -> six => assert_eq!(six, Ok(6)));
    });
}

#[test]
fn one_receive_alone() {
    everywhere(|| {
        let (s, r) = bounded(1);
        let empty = select! {
            recv(r) -> _ => false,
            default => true,
        };
        assert!(empty);
        s.send(1).unwrap();
        select! {
            recv(r) -> msg => assert_eq!(msg, Ok(1)),
            default(LONG) => unreachable!(),
        }
        drop(s);
        select! {
            recv(r) -> msg => assert_eq!(msg, Err(RecvError)),
            default => unreachable!(),
        }
    });
}

#[test]
fn ends_are_expressions() {
    everywhere(|| {
        let (s, r) = unbounded();
        let holder = (Some(Arc::new(s)), Some(r));
        select! {
            send(holder.0.as_ref().unwrap(), String::from("sent")) -> res => res.unwrap(),
            recv(never::<String>()) -> _ => unreachable!(),
        }
        let none = None;
        select! {
            recv(holder.1.clone().unwrap()) -> msg => assert_eq!(msg.as_deref(), Ok("sent")),
            recv(none.as_ref().unwrap_or(&never::<u8>())) -> _ => unreachable!(),
        }
    });
}

#[test]
fn ends_are_worked_out_once_and_in_their_order_and_messages_late() {
    everywhere(|| {
        let (s, r) = unbounded();
        let (full, _kept) = bounded(0);
        let log = std::cell::RefCell::new(Vec::new());
        let note = |word| log.borrow_mut().push(word);
        for _ in 0..2 {
            select! {
                recv({ note("r"); never::<u8>() }) -> _ => unreachable!(),
                send({ note("full"); &full }, { note("message of full"); 0 }) -> _ => unreachable!(),
                send({ note("s"); &s }, { note("message"); 1 }) -> res => { note("arm"); res.unwrap() }
            }
        }
        let words = ["r", "full", "s", "message", "arm"];
        assert_eq!(*log.borrow(), [words, words].concat());
        assert_eq!(r.try_iter().sum::<i32>(), 2);
    });
}

#[test]
fn arms_may_leave() {
    fn first(r: &Receiver<Option<u8>>) -> Result<u8, RecvError> {
        loop {
            let message = select! {
                recv(r) -> msg => match msg? {
                    Some(number) => return Ok(number),
                    None => continue,
                },
                recv(never::<u8>()) -> msg => msg,
            };
            break message;
        }
    }
    everywhere(|| {
        let (s, r) = unbounded();
        s.send(None).unwrap();
        s.send(Some(3)).unwrap();
        assert_eq!(first(&r), Ok(3));
        drop(s);
        assert_eq!(first(&r), Err(RecvError));
    });
}

#[test]
fn arms_may_move_and_change_the_ends() {
    everywhere(|| {
        let ((s, mut r), (s2, r2)) = (bounded::<u8>(0), bounded::<u8>(0));
        drop(s);
        select! {
            recv(r) -> msg => {
                assert!(msg.is_err());
                r = never();
            }
            recv(r2) -> _ => drop(r2),
        }
        let changed = select! {
            recv(r) -> _ => false,
            send(s2, 1) -> _ => false,
            default => {
                drop(s2);
                r = after_all();
                true
            }
        };
        assert!(changed && r.recv().is_err());
    });
    fn after_all() -> Receiver<u8> {
        bounded(0).1
    }
}

#[test]
fn values_and_patterns() {
    everywhere(|| {
        let (s, r) = unbounded();
        s.send((1, String::from("one"))).unwrap();
        let text = select! {
            recv(r) -> mut pair => {
                if let Ok((number, text)) = &mut pair {
                    text.push_str(&number.to_string());
                }
                pair.unwrap().1
            }
            recv(after(LONG)) -> _ => String::new(),
        };
        assert_eq!(text, "one1");
    });
}

#[test]
fn it_waits_for_whichever_comes() {
    everywhere(|| {
        let channels = flavours();
        let senders: Vec<_> = channels
            .iter()
            .map(|(s, _)| {
                let s = s.clone();
                spawn(move || (0..100_u64).for_each(|n| s.send(n).unwrap()))
            })
            .collect();
        let [(_, a), (_, b), (_, c), (_, d)] = &channels;
        let mut sums = [0; 4];
        for _ in 0..400 {
            select! {
                recv(a) -> n => sums[0] += n.unwrap(),
                recv(b) -> n => sums[1] += n.unwrap(),
                recv(c) -> n => sums[2] += n.unwrap(),
                recv(d) -> n => sums[3] += n.unwrap(),
            }
        }
        assert_eq!(sums, [4950; 4]);
        senders.into_iter().for_each(|join| join());
    });
}

#[test]
fn sends_and_receives_cross() {
    everywhere(|| {
        let ((s1, r1), (s2, r2)) = (bounded(0), bounded(0));
        let talk = |s: Sender<u32>, r: Receiver<u32>| {
            spawn(move || {
                let (mut sent, mut received) = (0, 0);
                while sent < 100 || received < 100 {
                    let to = if sent < 100 { s.clone() } else { bounded(0).0 };
                    let (idle, _kept) = bounded(0);
                    let to = if sent < 100 { &to } else { &idle };
                    let from = if received < 100 { r.clone() } else { never() };
                    select! {
                        send(to, sent) -> res => { res.unwrap(); sent += 1 }
                        recv(from) -> msg => { assert_eq!(msg, Ok(received)); received += 1 }
                    }
                }
            })
        };
        let both = [talk(s1, r2), talk(s2, r1)];
        both.into_iter().for_each(|join| join());
    });
}

#[test]
fn the_first_of_several() {
    everywhere(|| {
        let ((s1, r1), (s2, r2)) = (unbounded(), unbounded());
        (0..50).for_each(|n| {
            s1.send(n).unwrap();
            s2.send(n).unwrap();
        });
        for n in 0..50 {
            select_biased! {
                recv(r1) -> msg => assert_eq!(msg, Ok(n)),
                recv(r2) -> _ => unreachable!("the first is possible"),
            }
        }
        select_biased! {
            recv(r1) -> _ => unreachable!("it is empty"),
            recv(r2) -> msg => assert_eq!(msg, Ok(0)),
            default => unreachable!(),
        }
    });
}

#[test]
fn a_panic_in_an_arm_leaves_the_channels_whole() {
    everywhere(|| {
        let (s, r) = bounded(1);
        s.send(1).unwrap();
        let there = r.clone();
        let caught = spawn(move || {
            let arm = std::panic::AssertUnwindSafe(|| {
                select! {
                    recv(there) -> _ => panic!("in the arm"),
                    recv(never::<u8>()) -> _ => {}
                }
            });
            std::panic::catch_unwind(arm).is_err()
        });
        assert!(caught());
        s.send(2).unwrap();
        assert_eq!(r.recv(), Ok(2));
    });
}

#[test]
fn many_arms() {
    everywhere(|| {
        let c: Vec<_> = (0..12).map(|_| unbounded::<usize>()).collect();
        for at in 0..12 {
            c[at].0.send(at).unwrap();
            let got = select! {
                recv(c[0].1) -> n => n, recv(c[1].1) -> n => n, recv(c[2].1) -> n => n, recv(c[3].1) -> n => n,
                recv(c[4].1) -> n => n, recv(c[5].1) -> n => n, recv(c[6].1) -> n => n, recv(c[7].1) -> n => n,
                recv(c[8].1) -> n => n, recv(c[9].1) -> n => n, recv(c[10].1) -> n => n, recv(c[11].1) -> n => n,
            };
            assert_eq!(got, Ok(at));
        }
    });
}
