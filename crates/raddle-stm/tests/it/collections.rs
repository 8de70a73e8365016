//! Maps, sets, queues, channels, semaphores and barriers, against models and by many at once.

use crate::child::{assert_success, in_child};
use crate::runtime;
use raddle::csp;
use raddle_stm::{
    TBarrier, TChannel, TMap, TQueue, TSemaphore, TSet, TVar, Tx, abort, atomically, read_only,
};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Knuth's generator for 64 bits.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A bad hash: of all keys the same.
#[derive(Default)]
struct Same;

impl Hasher for Same {
    fn finish(&self) -> u64 {
        7
    }

    fn write(&mut self, _: &[u8]) {}
}

/// Random operations on a map and on its model, some of them rolled back.
fn as_the_model<S: BuildHasher>(map: &TMap<u64, String, S>, rounds: u64, keys: u64) {
    let mut model = HashMap::new();
    let mut random = Random(keys);
    for round in 0..rounds {
        let (what, key, value) = (random.below(100), random.below(keys), round.to_string());
        match what {
            0..40 => {
                let before = atomically(|tx| map.insert(tx, key, value.clone()));
                assert_eq!(before, model.insert(key, value));
            }
            40..60 => assert_eq!(atomically(|tx| map.remove(tx, &key)), model.remove(&key)),
            60..70 => {
                let was_there = atomically(|tx| map.modify(tx, &key, |it| it + "!"));
                assert_eq!(was_there, model.get_mut(&key).map(|it| it.push('!')).is_some());
            }
            70..75 => {
                let there = atomically(|tx| map.get_or_insert_with(tx, key, || value.clone()));
                assert_eq!(there, *model.entry(key).or_insert(value));
            }
            75..80 => {
                // Nothing of it stays.
                let done: Result<(), &str> = atomically(|tx| {
                    tx.nested(|tx| {
                        (0..keys).try_for_each(|key| map.insert(tx, key, value.clone()).map(drop))?;
                        map.clear(tx)?;
                        map.insert(tx, key, value.clone())?;
                        abort("no")
                    })
                });
                assert_eq!(done, Err("no"));
            }
            80 if round % 7 == 0 => {
                atomically(|tx| map.clear(tx));
                model.clear();
            }
            _ => assert_eq!(read_only(|tx| map.get(tx, &key)), model.get(&key).cloned()),
        }
        assert_eq!(read_only(|tx| map.len(tx)), model.len());
    }
    let all: HashMap<_, _> = read_only(|tx| map.to_vec(tx)).into_iter().collect();
    assert_eq!(all, model);
}

#[test]
fn a_map_is_as_its_model() {
    as_the_model(&TMap::new(), 3000, 5);
    as_the_model(&TMap::new(), 3000, 700);
}

#[test]
fn a_map_of_keys_with_one_hash_is_as_its_model() {
    as_the_model(&TMap::with_hasher(BuildHasherDefault::<Same>::default()), 1000, 40);
}

#[test]
fn a_map_grows_and_forgets() {
    let map = TMap::new();
    (0..20_000_u64).for_each(|n| assert_eq!(atomically(|tx| map.insert(tx, n, n * n)), None));
    assert_eq!(read_only(|tx| map.len(tx)), 20_000);
    assert!((0..20_000).all(|n| read_only(|tx| map.get(tx, &n)) == Some(n * n)));
    (0..20_000).for_each(|n| assert_eq!(atomically(|tx| map.remove(tx, &n)), Some(n * n)));
    assert!(read_only(|tx| map.is_empty(tx)));
    assert!(read_only(|tx| map.to_vec(tx)).is_empty());
}

/// Tokens wander between two maps; who looks at both sees each in one of them.
#[test]
fn many_move_what_is_in_two_maps() {
    const TOKENS: u64 = 64;
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let (here, there) = (TMap::new(), TMap::new());
            atomically(|tx| (0..TOKENS).try_for_each(|n| here.insert(tx, n, 0_u64).map(drop)));
            csp::scope(|s| {
                for mover in 0..6 {
                    let (here, there) = (&here, &there);
                    s.spawn(move || {
                        let mut random = Random(mover);
                        for _ in 0..1000 {
                            let token = random.below(TOKENS);
                            atomically(|tx| {
                                let (from, to) = if here.contains_key(tx, &token)? {
                                    (here, there)
                                } else {
                                    (there, here)
                                };
                                let moves = from.remove(tx, &token)?.expect("it is in one of them");
                                assert_eq!(to.insert(tx, token, moves + 1)?, None);
                                Ok(())
                            });
                        }
                    });
                }
                s.spawn(|| {
                    for _ in 0..100 {
                        let (all, lengths) = read_only(|tx| {
                            let mut all = here.to_vec(tx)?;
                            all.extend(there.to_vec(tx)?);
                            Ok((all, here.len(tx)? + there.len(tx)?))
                        });
                        assert_eq!(lengths, TOKENS as usize);
                        let tokens: HashSet<_> = all.into_iter().map(|(token, _)| token).collect();
                        assert_eq!(tokens.len(), TOKENS as usize);
                        csp::yield_now();
                    }
                });
            });
            let moves = read_only(|tx| {
                let mut moves = 0;
                here.for_each(tx, |_, more| moves += more)?;
                there.for_each(tx, |_, more| moves += more)?;
                Ok(moves)
            });
            assert_eq!(moves, 6000);
        });
    }
}

#[test]
fn a_set_has_each_value_once() {
    let set = TSet::new();
    let (first, again) =
        atomically(|tx| Ok((set.insert(tx, "a".to_owned())?, set.insert(tx, "a".to_owned())?)));
    assert_eq!((first, again), (true, false));
    assert!(read_only(|tx| set.contains(tx, "a")));
    assert_eq!(read_only(|tx| set.to_vec(tx)), ["a"]);
    assert_eq!(atomically(|tx| Ok((set.remove(tx, "a")?, set.remove(tx, "a")?))), (true, false));
    atomically(|tx| set.insert(tx, "b".to_owned()));
    atomically(|tx| set.clear(tx));
    assert!(read_only(|tx| set.is_empty(tx)));
}

#[test]
fn a_queue_is_as_its_model() {
    for bound in [None, Some(1), Some(5)] {
        let queue = bound.map_or_else(TQueue::new, TQueue::bounded);
        assert_eq!(queue.bound(), bound);
        let mut model = VecDeque::new();
        let mut random = Random(3);
        for n in 0..3000 {
            match random.below(10) {
                0..5 => {
                    let done = atomically(|tx| queue.try_push(tx, n));
                    let is_full = bound.is_some_and(|bound| model.len() == bound);
                    assert_eq!(done, if is_full { Err(n) } else { Ok(()) });
                    model.extend((!is_full).then_some(n));
                }
                5..8 => assert_eq!(atomically(|tx| queue.try_pop(tx)), model.pop_front()),
                8 if n % 5 == 0 => {
                    assert_eq!(atomically(|tx| queue.pop_all(tx)), Vec::from_iter(model.drain(..)))
                }
                _ => {
                    let rolled_back = |tx: &mut Tx<'_>| {
                        queue.try_push(tx, n)?.unwrap_or(());
                        queue.try_pop(tx)?;
                        tx.retry()
                    };
                    atomically(|tx| tx.or_else(rolled_back, |_| Ok(())));
                }
            }
            let seen = read_only(|tx| Ok((queue.len(tx)?, queue.peek(tx)?, queue.is_empty(tx)?)));
            assert_eq!(seen, (model.len(), model.front().copied(), model.is_empty()));
        }
    }
}

#[test]
#[should_panic(expected = "the bound must be at least 1")]
fn a_queue_that_could_hold_nothing_is_refused() {
    TQueue::<()>::bounded(0);
}

/// Each value comes once, those of one sender in their order; a bounded queue is never too full.
#[test]
fn many_push_and_pop() {
    const EACH: u32 = 500;
    for workers in [1, 2] {
        for bound in [None, Some(3)] {
            runtime(workers).run(|| {
                let queue = bound.map_or_else(TQueue::new, TQueue::bounded);
                let seen = csp::scope(|s| {
                    for sender in 0..4_u32 {
                        let queue = queue.clone();
                        s.spawn(move || {
                            for n in 0..EACH {
                                atomically(|tx| queue.push(tx, (sender, n)));
                            }
                        });
                    }
                    let takers: Vec<_> = (0..4)
                        .map(|_| {
                            let queue = queue.clone();
                            s.spawn(move || {
                                let take = |tx: &mut Tx<'_>| {
                                    let length = queue.len(tx)?;
                                    assert!(bound.is_none_or(|bound| length <= bound), "{length} in it");
                                    queue.pop(tx)
                                };
                                (0..EACH).map(|_| atomically(take)).collect::<Vec<_>>()
                            })
                        })
                        .collect();
                    takers.into_iter().map(|taker| taker.join().unwrap()).collect::<Vec<_>>()
                });
                for of_one in &seen {
                    for sender in 0..4 {
                        let numbers = of_one.iter().filter(|(from, _)| *from == sender).map(|(_, n)| n);
                        assert!(numbers.is_sorted());
                    }
                }
                let all: HashSet<_> = seen.into_iter().flatten().collect();
                assert_eq!(all.len(), 4 * EACH as usize);
            });
        }
    }
}

/// A list of a million variables goes in the stack of a process. In a program of its own: what waits to be dropped goes
/// with the next transactions that have the same slot, which another test's may take.
#[test]
fn a_long_queue_is_dropped_in_a_small_stack() {
    static LIVE: AtomicUsize = AtomicUsize::new(0);

    #[derive(Clone)]
    struct Counted(#[allow(dead_code, reason = "it is dropped")] Arc<Live>);
    struct Live;
    impl Drop for Live {
        fn drop(&mut self) {
            LIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }

    const MANY: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    let output = in_child("collections::a_long_queue_is_dropped_in_a_small_stack", || {
        runtime(1).run(|| {
            let queue = TQueue::new();
            for _ in 0..MANY {
                LIVE.fetch_add(1, Ordering::Relaxed);
                let value = Counted(Arc::new(Live));
                atomically(|tx| queue.push(tx, value.clone()));
            }
            drop(queue);
            let other = TVar::new(String::new());
            while LIVE.load(Ordering::Relaxed) > 0 {
                other.store(String::new());
            }
        });
    });
    assert_success(&output);
}

#[test]
fn each_receiver_gets_what_is_sent_after_it_has_come() {
    runtime(2).run(|| {
        let channel = TChannel::new();
        let early = atomically(|tx| channel.subscribe(tx));
        atomically(|tx| channel.send(tx, 0));
        let late = atomically(|tx| channel.subscribe(tx));
        let first = early.clone();
        let sender = channel.clone();
        csp::scope(|s| {
            s.spawn(move || (1..=1000).for_each(|n| atomically(|tx| sender.send(tx, n))));
            s.spawn(move || {
                for n in 0..=1000 {
                    assert_eq!(atomically(|tx| first.recv(tx)), n);
                }
            });
            for n in 1..=1000 {
                assert_eq!(atomically(|tx| late.recv(tx)), n);
            }
        });
        assert_eq!(atomically(|tx| early.try_recv(tx)), None);
        atomically(|tx| channel.send(tx, 1001));
        let again = atomically(|tx| early.fork(tx));
        assert_eq!(read_only(|tx| early.peek(tx)), Some(1001));
        assert_eq!(atomically(|tx| Ok((early.recv(tx)?, again.recv(tx)?))), (1001, 1001));
    });
}

#[test]
fn permits_are_taken_together_or_not_at_all() {
    const HELD: usize = 3;
    runtime(2).run(|| {
        let (left, right) = (TSemaphore::new(HELD), TSemaphore::new(HELD));
        let within = AtomicUsize::new(0);
        csp::scope(|s| {
            for n in 0..8 {
                let (first, second) = if n % 2 == 0 { (&left, &right) } else { (&right, &left) };
                let within = &within;
                s.spawn(move || {
                    for _ in 0..200 {
                        atomically(|tx| {
                            first.acquire(tx)?;
                            second.acquire_many(tx, 2)
                        });
                        assert!(within.fetch_add(1, Ordering::Relaxed) < HELD);
                        csp::yield_now();
                        within.fetch_sub(1, Ordering::Relaxed);
                        atomically(|tx| {
                            first.release(tx)?;
                            second.release_many(tx, 2)
                        });
                    }
                });
            }
        });
        let left_over = atomically(|tx| {
            let one_too_many = left.try_acquire_many(tx, HELD + 1)?;
            Ok((one_too_many, left.try_acquire(tx)?, left.available(tx)?, right.available(tx)?))
        });
        assert_eq!(left_over, (false, true, HELD - 1, HELD));
    });
}

#[test]
#[should_panic(expected = "more than usize::MAX permits")]
fn too_many_permits_are_refused() {
    let semaphore = TSemaphore::new(usize::MAX);
    atomically(|tx| semaphore.release(tx));
}

#[test]
fn members_of_a_barrier_go_on_when_all_have_come() {
    const MEMBERS: usize = 5;
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let (barrier, come, last) = (TBarrier::new(MEMBERS), AtomicUsize::new(0), AtomicUsize::new(0));
            csp::scope(|s| {
                for _ in 0..MEMBERS {
                    s.spawn(|| {
                        for round in 1..=200 {
                            come.fetch_add(1, Ordering::Relaxed);
                            last.fetch_add(usize::from(barrier.wait()), Ordering::Relaxed);
                            assert!(come.load(Ordering::Relaxed) >= round * MEMBERS);
                        }
                    });
                }
            });
            assert_eq!(last.load(Ordering::Relaxed), 200);
            assert_eq!(read_only(|tx| barrier.arrived(tx)), 0);
        });
    }
    assert!(TBarrier::new(0).wait());
}

/// It comes with what else the transaction does, or not at all.
#[test]
fn who_rolls_back_has_not_come() {
    let barrier = TBarrier::new(2);
    let arrive = |tx: &mut Tx<'_>| {
        let arrival = barrier.arrive(tx)?;
        assert!(!arrival.is_last());
        abort::<(), _>("no")
    };
    assert_eq!(atomically(|tx| tx.nested(arrive)), Err("no"));
    assert_eq!(read_only(|tx| barrier.arrived(tx)), 0);
}
