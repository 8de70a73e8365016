//! Calls that block an OS thread leave the workers to others.

use super::{only, runtime};
use crate::left_out::left_out;
use crate::{child, watch};
use raddle::{Runtime, blocking, csp, task, thread};
use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

thread_local! {
    static LOCAL: Cell<u32> = const { Cell::new(0) };
}

/// Runs the test on one worker: in a light process, and in a thread where there are threads.
fn in_both(test: fn()) {
    let one = runtime(1);
    one.run(test);
    one.run(|| {
        if has_threads() {
            thread::spawn(test).join().unwrap()
        }
    });
    assert_eq!(one.shutdown(), 0);
}

fn has_threads() -> bool {
    thread::Builder::new().spawn(|| ()).is_ok()
}

#[test]
fn the_worker_goes_on_while_a_call_blocks() {
    in_both(|| {
        let (sender, receiver) = channel();
        let sends = csp::spawn(move || sender.send(7).unwrap());
        assert_eq!(blocking(move || receiver.recv()), Ok(7));
        sends.join().unwrap();
    });
}

#[test]
fn a_call_may_borrow_and_gives_its_value() {
    in_both(|| {
        let mut numbers = vec![1, 2, 3];
        let sum: i32 = blocking(|| {
            numbers.push(4);
            numbers.iter().sum()
        });
        assert_eq!((sum, numbers.len()), (10, 4));
        assert_eq!(blocking(|| [1_u64; 1000]).iter().sum::<u64>(), 1000);
    });
}

#[test]
fn a_panic_of_the_call_is_the_callers() {
    in_both(|| {
        for round in 0..10 {
            let call = || blocking(|| panic!("round {}", std::hint::black_box(round)));
            let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
            assert_eq!(*payload.downcast::<String>().unwrap(), format!("round {round}"));
            csp::yield_now();
        }
    });
}

#[test]
fn in_the_call_the_caller_is_itself() {
    in_both(|| {
        let (process, thread) = (csp::current().unwrap().id(), thread::current().id());
        let inside = blocking(|| (csp::current().unwrap().id(), thread::current().id()));
        assert_eq!(inside, (process, thread));
        assert_eq!(csp::current().unwrap().id(), process);
    });
}

#[test]
fn a_thread_takes_its_thread_locals_along() {
    if !has_threads() {
        return;
    }
    let one = runtime(1);
    one.run(|| {
        let thread = thread::spawn(|| {
            for round in 1..100 {
                LOCAL.set(round);
                blocking(|| LOCAL.set(1000 + LOCAL.get()));
                assert_eq!(LOCAL.get(), 1000 + round);
                thread::yield_now();
            }
        });
        thread.join().unwrap();
    });
}

#[test]
fn an_os_thread_makes_its_calls_itself() {
    let here = std::thread::current().id();
    blocking(|| assert_eq!(std::thread::current().id(), here));
    in_both(|| {
        blocking(|| {
            let spare = std::thread::current().id();
            blocking(|| assert_eq!(std::thread::current().id(), spare));
        });
    });
}

#[test]
fn what_a_call_spawns_belongs_to_the_callers_runtime() {
    let named = only(Runtime::builder().workers(1).thread_name("weavers"));
    named.run(|| {
        let worker = || {
            // SAFETY: no preconditions.
            let number = unsafe { libc::gettid() };
            std::fs::read_to_string(format!("/proc/self/task/{number}/comm"))
        };
        let name = blocking(|| csp::spawn(worker).join().unwrap().unwrap().trim_end().to_owned());
        assert!(cfg!(raddle_twin) || name == "weavers-0", "{name}");
    });
}

#[test]
fn the_calls_waits_are_the_spare_threads() {
    in_both(|| {
        let me = thread::current();
        let other = csp::spawn(move || {
            csp::yield_now();
            me.unpark();
            7
        });
        blocking(|| {
            thread::park();
            thread::park_timeout(Duration::from_micros(100));
            thread::sleep(Duration::from_micros(100));
            thread::yield_now();
            assert_eq!(other.join().unwrap(), 7);
            assert_eq!(task::block_on(async { task::spawn(async { 8 }).await.unwrap() }), 8);
            csp::scope(|s| drop(s.spawn(csp::yield_now)));
        });
    });
}

#[test]
fn three_hundred_calls_block_at_once() {
    in_both(|| {
        let all = Barrier::new(300);
        csp::scope(|s| {
            for _ in 0..300 {
                s.spawn(|| blocking(|| all.wait()));
            }
        });
    });
}

#[test]
fn more_calls_than_spare_threads_have_their_turn() {
    in_both(|| {
        let made = AtomicUsize::new(0);
        csp::scope(|s| {
            for _ in 0..700 {
                s.spawn(|| {
                    blocking(|| {
                        std::thread::sleep(Duration::from_millis(1));
                        made.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 700);
    });
}

/// Each call waits for the last one: no limit may hold it back.
#[test]
fn as_many_calls_block_at_once_as_wait_for_each_other() {
    in_both(|| {
        let all = Barrier::new(700);
        csp::scope(|s| {
            for _ in 0..700 {
                s.spawn(|| blocking(|| all.wait()));
            }
        });
    });
}

/// The calls of the clients take all spares that are started at once, and wait for those of the servers.
#[test]
fn six_hundred_clients_wait_for_servers_that_have_no_spare_yet() {
    let two = runtime(2);
    let dog = watch::Watchdog::new("clients and servers".into(), watch::Progress::default(), String::new);
    two.run(|| {
        csp::scope(|s| {
            let pairs = || (channel::<u32>(), channel::<u32>());
            let mut servers = Vec::new();
            for number in 0..600 {
                let ((to_server, asked), (answer, from_server)) = pairs();
                servers.push((asked, answer));
                s.spawn(move || {
                    blocking(move || to_server.send(number).unwrap());
                    assert_eq!(blocking(move || from_server.recv()), Ok(number + 1));
                });
            }
            for (asked, answer) in servers {
                s.spawn(move || {
                    let number = blocking(move || asked.recv().unwrap());
                    blocking(move || answer.send(number + 1).unwrap());
                });
            }
        });
    });
    drop(dog);
    assert_eq!(two.shutdown(), 0);
}

/// As many file descriptors as the system lets this program have; a pair takes three.
fn pairs_of_sockets(wanted: usize) -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes the limits here.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) }, 0);
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: reads the limits.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
    let room = (limit.rlim_max.saturating_sub(100) / 3) as usize;
    if room < wanted {
        left_out(&format!("{wanted} clients: `ulimit -Hn` is {}, enough for {room}", limit.rlim_max));
    }
    wanted.min(room)
}

/// The same over sockets: each call of `std::net` is a call of `blocking`. The clients come first.
#[test]
fn six_hundred_clients_and_servers_talk_over_sockets() {
    // Under a sanitizer an OS thread takes many times the memory.
    let sanitized = cfg!(any(raddle_asan, raddle_tsan, raddle_twin, target_arch = "aarch64"));
    let pairs = pairs_of_sockets(if sanitized { 60 } else { 600 });
    let progress = watch::Progress::default();
    let dog = watch::Watchdog::new("sockets".into(), progress.clone(), || raddle::dump().to_string());
    let two = runtime(2);
    two.run(|| {
        csp::scope(|s| {
            let listeners: Vec<_> =
                (0..pairs).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
            for (number, listener) in listeners.iter().enumerate() {
                let (address, progress) = (listener.local_addr().unwrap(), progress.clone());
                s.spawn(move || {
                    let mut server = blocking(|| TcpStream::connect(address)).unwrap();
                    let mut answer = [0; 8];
                    for round in 0..3 {
                        blocking(|| server.write_all(&(number + round).to_le_bytes())).unwrap();
                        blocking(|| server.read_exact(&mut answer)).unwrap();
                        assert_eq!(usize::from_le_bytes(answer), number + round + 1);
                        progress.note();
                    }
                });
            }
            for listener in listeners {
                s.spawn(move || {
                    let (mut client, _address) = blocking(|| listener.accept()).unwrap();
                    let mut asked = [0; 8];
                    while blocking(|| client.read_exact(&mut asked)).is_ok() {
                        let answer = usize::from_le_bytes(asked) + 1;
                        blocking(|| client.write_all(&answer.to_le_bytes())).unwrap();
                    }
                });
            }
        });
    });
    drop(dog);
    assert_eq!(two.shutdown(), 0);
}

/// Where the system refuses OS threads while the calls that there are wait for one without: it is said who waits, and
/// the system is asked again.
#[cfg(not(any(raddle_asan, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
#[test]
fn who_waits_for_a_spare_that_the_system_refuses_is_told_and_has_it_later() {
    const TEST: &str = "blocking::who_waits_for_a_spare_that_the_system_refuses_is_told_and_has_it_later";
    let body = || {
        let one = runtime(1);
        let limit = std::thread::spawn(|| {
            let _end = std::io::stdin().read(&mut [0]);
            crate::address_space::allow_all();
        });
        one.run(|| {
            let (release, waiting) = channel::<()>();
            let has_begun = Arc::new(AtomicBool::new(false));
            let begun = has_begun.clone();
            let waits = csp::spawn(move || {
                blocking(move || {
                    begun.store(true, Ordering::Relaxed);
                    waiting.recv().unwrap();
                });
            });
            while !has_begun.load(Ordering::Relaxed) {
                csp::yield_now();
            }
            crate::address_space::allow_more(1 << 20);
            let releases =
                csp::Builder::new().name("starved").spawn(move || blocking(move || release.send(())));
            releases.unwrap().join().unwrap().unwrap();
            waits.join().unwrap();
        });
        limit.join().unwrap();
    };
    let mut child = child::begin_child(TEST, body);
    let mut said = Vec::new();
    let mut from = child.stderr.take().unwrap();
    let mut byte = [0];
    while !String::from_utf8_lossy(&said).contains("in blocking at") && from.read(&mut byte).unwrap() > 0 {
        said.push(byte[0]);
    }
    drop(child.stdin.take());
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(ended.status.success(), "{:?}\n{said}{}", ended.status, String::from_utf8_lossy(&ended.stderr));
    assert!(
        said.contains(
            "raddle: blocking: 1 call waits for a spare OS thread; the only one stands in its call"
        ),
        "{said}"
    );
    assert!(said.contains("    process 'starved' (#"), "{said}");
}

#[test]
fn a_call_while_unwinding_is_made() {
    struct OnDrop<'a>(&'a AtomicUsize);
    impl Drop for OnDrop<'_> {
        fn drop(&mut self) {
            assert!(blocking(std::thread::panicking));
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    in_both(|| {
        let drops = AtomicUsize::new(0);
        let unwinds = || {
            let _on_drop = OnDrop(&drops);
            panic!("unwinds");
        };
        assert!(catch_unwind(AssertUnwindSafe(unwinds)).is_err());
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert!(!std::thread::panicking());
    });
}

#[test]
fn a_placed_one_comes_back_to_its_worker() {
    let two = runtime(2);
    two.run(|| {
        for worker in [0, 1] {
            let light = csp::spawn_on(worker, || {
                let before = std::thread::current().id();
                blocking(csp::yield_now);
                assert_eq!(std::thread::current().id(), before);
            });
            light.join().unwrap();
            if let Ok(pinned) = thread::Builder::new().pin(worker).spawn(|| blocking(thread::yield_now)) {
                pinned.join().unwrap();
            }
        }
    });
}

#[test]
fn a_cell_is_told_to_await() {
    let one = runtime(1);
    let panic = one.block_on(async { task::spawn(async { blocking(|| ()) }).await }).unwrap_err();
    let text = panic.into_panic().downcast::<String>().unwrap();
    assert!(text.contains("`blocking` waits, and a task must not"), "{text}");
}

#[test]
fn a_cell_awaits_what_blocks() {
    let one = runtime(1);
    one.block_on(async {
        let (sender, receiver) = channel();
        let waits = task::spawn_blocking(move || receiver.recv());
        task::spawn(async move { sender.send(7) }).await.unwrap().unwrap();
        assert_eq!(waits.await.unwrap(), Ok(7));
        let panic = task::spawn_blocking(|| panic!("in the call")).await.unwrap_err();
        assert_eq!(*panic.into_panic().downcast::<&str>().unwrap(), "in the call");
    });
}

#[test]
fn a_runtime_does_not_end_before_the_calls_have() {
    for way in 0..3 {
        let (sender, receiver) = channel::<()>();
        let (done, ended) = channel();
        let call = move || {
            let closed = receiver.recv().is_err();
            done.send(closed).unwrap();
        };
        let one = runtime(1);
        match way {
            0 => drop(one.spawn(move || blocking(call))),
            1 if has_threads() => drop(one.spawn(move || drop(thread::spawn(move || blocking(call))))),
            _ => one.run(move || drop(task::spawn_blocking(call))),
        }
        let ends = std::thread::spawn(move || one.shutdown());
        // Whether the runtime closes before or after the call has ended: both are right.
        drop(sender);
        assert_eq!(ends.join().unwrap(), 0);
        assert_eq!(ended.try_recv(), Ok(true), "way {way}");
    }
}

#[test]
fn calls_come_back_while_workers_steal() {
    let two = Arc::new(runtime(2));
    let sum = two.run(|| {
        let calls = |n: u32| (0..20).map(|round| blocking(move || n + round)).sum::<u32>();
        let light: Vec<_> = (0..40).map(|n| csp::spawn(move || calls(n))).collect();
        let threads: Vec<_> =
            (0..40).filter_map(|n| thread::Builder::new().spawn(move || calls(n)).ok()).collect();
        let of_threads = if threads.is_empty() { 0 } else { 1 };
        let sum: u32 = threads.into_iter().map(|t| t.join().unwrap()).sum();
        let one: u32 = light.into_iter().map(|p| p.join().unwrap()).sum();
        assert_eq!(sum, of_threads * one);
        one
    });
    assert_eq!(sum, (0..40).map(|n| 20 * n + 190).sum::<u32>());
}

/// What waits may wait for one of its own forks, by whatever means.
#[test]
fn who_leaves_for_a_call_lets_go_of_its_forks() {
    in_both(|| {
        let (sender, receiver) = channel();
        let joined = raddle::join(|| blocking(move || receiver.recv()), || sender.send(7));
        assert_eq!(joined, (Ok(7), Ok(())));
    });
}

/// Inside of a call there is no worker whose list or slots could be used.
#[test]
fn forks_of_a_call_are_everybodys_at_once() {
    in_both(|| {
        let (sender, receiver) = channel();
        let earlier = raddle::fork(|| 3);
        let (scoped, inner) = (sender.clone(), sender.clone());
        let (all, joined) = raddle::scope(|s| {
            blocking(move || {
                let later = raddle::fork(move || sender.send(1).unwrap());
                s.spawn(move |_| scoped.send(2).unwrap());
                raddle::scope(|s| s.spawn(|_| inner.send(4).unwrap()));
                let mut all: Vec<i32> = receiver.iter().take(3).collect();
                later.join();
                all.push(earlier.join());
                all.sort_unstable();
                (all, raddle::join(|| 5, csp::yield_now).0)
            })
        });
        assert_eq!((all, joined), (vec![1, 2, 3, 4], 5));
        assert_eq!(raddle::join(|| 1, || 2), (1, 2));
    });
}
