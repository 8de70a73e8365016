//! Locks that are taken in the wrong order, twice, or never given back.

use super::{Mended, Planted, Way, hangs};
use raddle::sync::{Arc, Mutex, OnceLock, RwLock, Semaphore};
use raddle::{channel, csp, thread};
use std::collections::HashMap;

/// A transfer locks the account that it takes from, then the one that it gives to.
#[test]
fn transfers_lock_two_accounts() {
    fn transfer(accounts: &[Mutex<i64>; 2], from: usize, to: usize, way: Way) {
        let (low, high) = if way == Planted { (from, to) } else { (from.min(to), from.max(to)) };
        let (mut one, mut two) = (accounts[low].lock().unwrap(), accounts[high].lock().unwrap());
        let (out, into) = if low == from { (&mut *one, &mut *two) } else { (&mut *two, &mut *one) };
        *out -= 10;
        *into += 10;
    }
    fn bank(way: Way) {
        let accounts = Arc::new([Mutex::new(100), Mutex::new(100)]);
        let clerks = [(0, 1), (1, 0)].map(|(from, to)| {
            let accounts = accounts.clone();
            let name = format!("clerk {from}");
            thread::Builder::new().name(name).spawn(move || transfer(&accounts, from, to, way)).unwrap()
        });
        clerks.into_iter().for_each(|clerk| clerk.join().unwrap());
        assert_eq!(*accounts[0].lock().unwrap() + *accounts[1].lock().unwrap(), 200);
    }
    hangs(bank, &["'clerk 0'", "'clerk 1'", "Mutex::lock", "held by"]);
}

/// Three modules: the first calls the second, which calls the third, which calls the first, each under its own lock.
#[test]
fn three_modules_call_each_other_in_a_ring() {
    fn modules(way: Way) {
        let locks = Arc::new([Mutex::new(0), Mutex::new(0), Mutex::new(0)]);
        let threads = [("index", 0), ("store", 1), ("cache", 2)].map(|(name, own)| {
            let locks = locks.clone();
            let body = move || {
                let called = (own + 1) % 3;
                let (first, second) =
                    if way == Mended && called < own { (called, own) } else { (own, called) };
                let mut first = locks[first].lock().unwrap();
                let mut second = locks[second].lock().unwrap();
                *first += 1;
                *second += 1;
            };
            thread::Builder::new().name(name.into()).spawn(body).unwrap()
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
    hangs(modules, &["'index'", "'store'", "'cache'", "Mutex::lock"]);
}

/// Five philosophers, as they have always dined.
#[test]
fn philosophers_dine() {
    fn table(way: Way) {
        let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..5).map(|_| Mutex::new(())).collect());
        let philosophers: Vec<_> = (0..5)
            .map(|seat| {
                let forks = forks.clone();
                csp::Builder::new()
                    .name(format!("philosopher {seat}"))
                    .spawn(move || {
                        let (mut first, mut second) = (seat, (seat + 1) % 5);
                        if way == Mended && seat == 4 {
                            (first, second) = (second, first);
                        }
                        let _left = forks[first].lock().unwrap();
                        let _right = forks[second].lock().unwrap();
                    })
                    .unwrap()
            })
            .collect();
        philosophers.into_iter().for_each(|philosopher| philosopher.join().unwrap());
    }
    hangs(
        table,
        &["'philosopher 0'", "'philosopher 1'", "'philosopher 2'", "'philosopher 3'", "Mutex::lock"],
    );
}

/// A look into a cache, and on a miss the entry is made; the guard of the look lives as long as the `match`.
#[test]
fn a_cache_is_read_and_filled() {
    fn look_up(cache: &RwLock<HashMap<u32, u32>>, key: u32, way: Way) -> u32 {
        if way == Mended {
            let known = cache.read().unwrap().get(&key).copied();
            return known.unwrap_or_else(|| *cache.write().unwrap().entry(key).or_insert(key * key));
        }
        match cache.read().unwrap().get(&key) {
            Some(&known) => known,
            None => *cache.write().unwrap().entry(key).or_insert(key * key),
        }
    }
    fn program(way: Way) {
        let cache = Arc::new(RwLock::new(HashMap::new()));
        let warm = cache.clone();
        let warms = thread::spawn(move || warm.write().unwrap().insert(7, 49));
        let asks = thread::Builder::new().name("asks".into()).spawn(move || look_up(&cache, 7, way)).unwrap();
        assert_eq!(asks.join().unwrap(), 49);
        warms.join().unwrap();
    }
    hangs(program, &["'asks'", "RwLock::write"]);
}

/// A job forgets its permit and gives one back at its end; a job that was called off returns before it.
#[test]
fn a_job_that_is_called_off_keeps_its_permit() {
    fn program(way: Way) {
        let permits = Arc::new(Semaphore::new(1));
        let (call_off, called_off) = channel::bounded(1);
        let jobs: Vec<_> = (0..2)
            .map(|_| {
                let (permits, called_off) = (permits.clone(), called_off.clone());
                csp::spawn(move || {
                    let permit = permits.acquire().unwrap();
                    if way == Planted {
                        permit.forget();
                        if called_off.try_recv() == Ok(()) {
                            return;
                        }
                        permits.add_permits(1);
                    } else {
                        let _ = called_off.try_recv();
                    }
                })
            })
            .collect();
        let calls = csp::spawn(move || call_off.send(()));
        jobs.into_iter().for_each(|job| job.join().unwrap());
        let _ = calls.join().unwrap();
    }
    hangs(program, &["Semaphore::acquire"]);
}

/// Two values that are made when they are first used, and each needs the other in one of two cases.
#[test]
fn two_lazy_values_need_each_other() {
    fn program(way: Way) {
        let both = Arc::new((OnceLock::new(), OnceLock::new()));
        let other = both.clone();
        let logger = thread::Builder::new().name("logger".into());
        let logger = logger.spawn(move || match way {
            Planted => *other.0.get_or_init(|| *other.1.get_or_init(|| 1)),
            Mended => {
                let needed = *other.1.get_or_init(|| 1);
                *other.0.get_or_init(|| needed)
            }
        });
        let config = thread::Builder::new().name("config".into());
        let config = config.spawn(move || match way {
            Planted => *both.1.get_or_init(|| *both.0.get_or_init(|| 1)),
            Mended => {
                let needed = *both.0.get_or_init(|| 1);
                *both.1.get_or_init(|| needed)
            }
        });
        assert_eq!(logger.unwrap().join().unwrap() + config.unwrap().join().unwrap(), 2);
    }
    hangs(program, &["'logger'", "'config'", "call_once", "held by"]);
}

/// A fork needs a lock that is held when its value is asked for.
#[test]
fn a_future_is_joined_under_a_lock() {
    fn program(way: Way) {
        let total = Arc::new(Mutex::new(40));
        let part = total.clone();
        let sum = raddle::fork(move || *part.lock().unwrap() + 1);
        if way == Planted {
            let mut total = total.lock().unwrap();
            *total += sum.join();
        } else {
            let part = sum.join();
            *total.lock().unwrap() += part;
        }
    }
    hangs(program, &["Mutex::lock", "held by"]);
}
