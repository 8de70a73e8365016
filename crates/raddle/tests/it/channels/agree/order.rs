use super::*;

#[test]
fn first_in_first_out_from_each_sender() {
    everywhere(|| {
        for (s, r) in flavours() {
            let senders: Vec<_> = (0..3)
                .map(|who| {
                    let s = s.clone();
                    spawn(move || (0..200).for_each(|n| s.send((who, n)).unwrap()))
                })
                .collect();
            drop(s);
            let mut next = [0; 3];
            for (who, n) in &r {
                let expected: &mut i32 = &mut next[who as usize];
                assert_eq!(n, *expected);
                *expected += 1;
            }
            assert_eq!(next, [200; 3]);
            senders.into_iter().for_each(|join| join());
        }
    });
}

#[test]
fn each_message_goes_to_one_receiver() {
    everywhere(|| {
        for (s, r) in flavours() {
            let receivers: Vec<_> = (0..3)
                .map(|_| {
                    let r = r.clone();
                    spawn(move || r.iter().collect::<Vec<usize>>())
                })
                .collect();
            let senders: Vec<_> = (0..3)
                .map(|part| {
                    let s = s.clone();
                    spawn(move || (0..200).for_each(|n| s.send(part * 200 + n).unwrap()))
                })
                .collect();
            drop((s, r));
            senders.into_iter().for_each(|join| join());
            let mut seen = [0; 600];
            for join in receivers {
                let got = join();
                for part in 0..3 {
                    assert!(got.iter().filter(|n| **n / 200 == part).is_sorted());
                }
                got.into_iter().for_each(|n| seen[n] += 1);
            }
            assert_eq!(seen, [1; 600]);
        }
    });
}

/// Of two who each send into one channel and then look into the other's, one finds something.
#[test]
fn two_who_send_and_look_cannot_both_miss() {
    everywhere(|| {
        for _ in 0..200 {
            let ((s1, r1), (s2, r2)) = (unbounded(), unbounded());
            let other = spawn(move || {
                s1.send(()).unwrap();
                (r2.try_recv().is_ok(), r2)
            });
            s2.send(()).unwrap();
            let found = r1.try_recv().is_ok();
            assert!(other().0 || found);
        }
    });
}
