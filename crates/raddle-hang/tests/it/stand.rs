//! Workers that stand in calls which the scheduler does not know: what could run elsewhere does.

use crate::child::{in_program, program, stderr};
use crate::watch::{Progress, Watchdog};
use crate::{light_runtime, runtime, said_until, until_input_ends};
use raddle::{Balance, Runtime, csp, task, thread};
use raddle_core::door::poller::Poller;
use std::ffi::{CStr, CString};
use std::future::poll_fn;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// Runs `f` on `workers` workers; nothing of it stays behind.
fn ends(workers: usize, f: impl FnOnce() + Send) {
    let dog = Watchdog::new("a worker stands".into(), Progress::default(), || raddle::dump().to_string());
    let runtime = runtime(workers);
    runtime.run(f);
    assert_eq!(runtime.shutdown(), 0);
    drop(dog);
}

#[test]
fn a_thread_that_holds_a_lock_of_std_goes_on_elsewhere() {
    ends(1, || {
        let lock = Arc::new(Mutex::new(0));
        let [held, wanted] = [lock.clone(), lock];
        let holds = thread::spawn(move || {
            let mut held = held.lock().unwrap();
            thread::yield_now();
            *held += 1;
        });
        let waits = thread::spawn(move || assert_eq!(*wanted.lock().unwrap(), 1));
        holds.join().unwrap();
        waits.join().unwrap();
    });
}

#[test]
fn what_has_not_begun_begins_elsewhere() {
    ends(1, || {
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        let sends = csp::spawn(move || sender.send(7));
        assert_eq!(waits.join().unwrap(), Ok(7));
        sends.join().unwrap().unwrap();
    });
}

/// Forks so much that the next forks are asked for in vain: at most one in 10 us is promoted.
fn use_up_promotions() {
    (0..300).for_each(|_| {
        raddle::join(|| (), || ());
    });
}

#[test]
fn a_fork_that_a_standing_call_waits_for_runs_elsewhere() {
    for workers in [1, 2] {
        ends(workers, || {
            use_up_promotions();
            let (sender, receiver) = channel();
            raddle::join(move || receiver.recv().unwrap(), move || sender.send(()).unwrap());
        });
    }
}

#[test]
fn each_stand_of_a_flow_that_forks_between_them_is_helped() {
    for workers in [1, 2] {
        ends(workers, || {
            use_up_promotions();
            let (sender, receiver) = channel();
            for number in 0..10 {
                let sender = sender.clone();
                let fork = raddle::fork(move || sender.send(number).unwrap());
                assert_eq!(receiver.recv().unwrap(), number);
                fork.join();
            }
        });
    }
}

#[test]
fn jobs_of_a_scope_that_a_standing_call_waits_for_run_elsewhere() {
    for workers in [1, 2] {
        ends(workers, || {
            use_up_promotions();
            let (sender, receiver) = channel();
            raddle::scope(move |s| {
                for number in 0..200 {
                    let sender = sender.clone();
                    s.spawn(move |s| s.spawn(move |_| sender.send(number).unwrap()));
                }
                assert_eq!((0..200).map(|_| receiver.recv().unwrap()).sum::<i32>(), 199 * 100);
                s.spawn(|_| use_up_promotions());
            });
        });
    }
}

/// Closures of one word, of three, and of more: where each lies in its flow's bag is another matter.
#[test]
fn forks_with_a_handle_that_a_standing_call_waits_for_run_elsewhere() {
    for workers in [1, 2] {
        ends(workers, || {
            use_up_promotions();
            let (sender, receiver) = channel();
            let mut forks = Vec::new();
            for number in 0..50_usize {
                let [small, middle, large] = [(); 3].map(|()| sender.clone());
                forks.push(raddle::fork(move || small.send(1).map(|()| 1).unwrap()));
                let more = number;
                forks.push(raddle::fork(move || middle.send(more).map(|()| more).unwrap()));
                let most = [number; 8];
                forks.push(raddle::fork(move || large.send(most[7]).map(|()| most.iter().sum()).unwrap()));
                drop(raddle::fork({
                    let sender = sender.clone();
                    move || sender.send(0).unwrap()
                }));
            }
            let sum = 49 * 25;
            assert_eq!((0..200).map(|_| receiver.recv().unwrap()).sum::<usize>(), 50 + 2 * sum);
            forks.reverse();
            assert_eq!(forks.into_iter().map(|fork| fork.join()).sum::<usize>(), 50 + 9 * sum);
        });
    }
}

/// It has the fork back that was promoted in its place, and nobody has taken.
#[test]
fn a_fork_that_was_laid_open_for_a_standing_call_comes_back() {
    ends(1, || {
        use_up_promotions();
        let count = AtomicUsize::new(0);
        let forks: Vec<_> = (0..20).map(|number| raddle::fork(move || [number; 9])).collect();
        raddle::join(
            || {
                // SAFETY: touches no memory of ours.
                unsafe { libc::usleep(60_000) };
                count.fetch_add(1, Ordering::Relaxed)
            },
            || count.fetch_add(1, Ordering::Relaxed),
        );
        assert_eq!(count.into_inner(), 2);
        assert_eq!(forks.into_iter().map(|fork| fork.join()[8]).sum::<i32>(), 190);
    });
}

/// The only worker stands, and the extra one is in a slice that only what waits behind it can end.
#[test]
fn what_waits_behind_a_slice_of_an_extra_worker_runs_elsewhere() {
    ends(1, || {
        let (sender, receiver) = channel();
        drop(csp::spawn(move || {
            let flag = Arc::new(AtomicBool::new(false));
            let sets = flag.clone();
            let behind = csp::spawn(move || sets.store(true, Ordering::Release));
            while !flag.load(Ordering::Acquire) {}
            behind.join().unwrap();
            sender.send(()).unwrap();
        }));
        receiver.recv().unwrap();
    });
}

/// The successors of `par_for` come home as mail, if another worker has split them: they have never run.
#[test]
fn bodies_that_were_handed_to_a_worker_that_stands_run_elsewhere() {
    for _ in 0..20 {
        ends(2, || {
            let (sender, receiver) = channel();
            let receiver = Mutex::new(receiver);
            csp::par_for(0..64, |body| match body {
                0 => (1..64).for_each(|_| receiver.lock().unwrap().recv().unwrap()),
                _ => sender.send(()).unwrap(),
            });
        });
    }
}

#[test]
fn a_task_that_has_not_begun_begins_elsewhere() {
    ends(1, || {
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        let sends = task::spawn(async move { sender.send(7) });
        assert_eq!(waits.join().unwrap(), Ok(7));
        task::block_on(sends).unwrap().unwrap();
    });
}

/// Tasks that have been woken wait in the batch, which is private.
#[test]
fn a_task_that_is_ready_goes_on_elsewhere() {
    ends(1, || {
        let (sender, receiver) = channel();
        let waker = Arc::new(Mutex::new(None::<Waker>));
        let (kept, has_woken) = (waker.clone(), Arc::new(AtomicBool::new(false)));
        let is_woken = has_woken.clone();
        let sends = task::spawn(async move {
            poll_fn(|context| {
                *kept.lock().unwrap() = Some(context.waker().clone());
                if is_woken.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            sender.send(7)
        });
        while waker.lock().unwrap().is_none() {
            csp::yield_now();
        }
        let waits = csp::spawn(move || {
            has_woken.store(true, Ordering::Relaxed);
            waker.lock().unwrap().take().unwrap().wake();
            receiver.recv()
        });
        assert_eq!(waits.join().unwrap(), Ok(7));
        task::block_on(sends).unwrap().unwrap();
    });
}

#[test]
fn who_helps_and_stands_itself_is_helped() {
    ends(1, || {
        let relay = |from: Receiver<u32>, to: Sender<u32>| move || to.send(from.recv().unwrap() + 1).unwrap();
        let (first, mut from) = channel();
        let mut all = Vec::new();
        for _ in 0..5 {
            let (to, next) = channel();
            all.push(csp::spawn(relay(from, to)));
            from = next;
        }
        let last = csp::spawn(move || from.recv());
        all.push(csp::spawn(move || first.send(1).unwrap()));
        assert_eq!(last.join().unwrap(), Ok(6));
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn two_workers_that_both_stand_are_helped() {
    ends(2, || {
        let waits: Vec<_> = (0..6)
            .map(|n| {
                let (sender, receiver) = channel();
                (sender, csp::spawn(move || assert_eq!(receiver.recv(), Ok(n))))
            })
            .collect();
        let (senders, waits): (Vec<_>, Vec<_>) = waits.into_iter().unzip();
        let sends = csp::spawn(move || (0..).zip(senders).for_each(|(n, sender)| sender.send(n).unwrap()));
        waits.into_iter().for_each(|one| one.join().unwrap());
        sends.join().unwrap();
    });
}

#[test]
fn what_comes_from_outside_begins() {
    let dog = Watchdog::new("from outside".into(), Progress::default(), || raddle::dump().to_string());
    let one = runtime(1);
    let (sender, receiver) = channel();
    let (is_about_to, waits) = channel();
    let stands = one.spawn(move || {
        is_about_to.send(()).unwrap();
        receiver.recv()
    });
    waits.recv().unwrap();
    let sends = one.spawn(move || sender.send(7));
    assert_eq!(stands.join().unwrap(), Ok(7));
    sends.join().unwrap().unwrap();
    assert_eq!(one.shutdown(), 0);
    drop(dog);
}

#[test]
fn an_alarm_of_a_worker_that_stands_rings() {
    ends(1, || {
        let (sender, receiver) = channel();
        let sends = thread::spawn(move || {
            thread::sleep(Duration::from_millis(1));
            sender.send(7).unwrap();
        });
        thread::yield_now();
        let waits = csp::spawn(move || receiver.recv());
        // Behind which it could run elsewhere.
        let third = csp::spawn(|| ());
        assert_eq!(waits.join().unwrap(), Ok(7));
        sends.join().unwrap();
        third.join().unwrap();
    });
}

/// What has begun elsewhere is bound to there if it is light; and it speaks with those of the worker that goes on.
#[test]
fn what_has_begun_elsewhere_goes_on_there() {
    ends(1, || {
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        let (mut to, mut from) = csp::channel();
        let (mut back, mut again) = csp::channel();
        let sends = csp::spawn(move || {
            sender.send(7).unwrap();
            for n in 0..100 {
                assert_eq!(from.recv(), Ok(n));
                csp::sleep(Duration::from_micros(10));
                back.send(n).unwrap();
            }
            csp::spawn(|| csp::spawn(csp::yield_now).join().unwrap()).join().unwrap();
        });
        assert_eq!(waits.join().unwrap(), Ok(7));
        for n in 0..100 {
            to.send(n).unwrap();
            assert_eq!(again.recv(), Ok(n));
        }
        sends.join().unwrap();
    });
}

/// What has come to an extra worker has its forks taken by idle workers: each of two blocks its worker until the other
/// runs, too.
#[test]
fn forks_of_what_has_come_to_an_extra_worker_are_everybodys() {
    ends(2, || {
        let begun = Arc::new(AtomicUsize::new(0));
        let stands = |worker| {
            let ((sender, receiver), begun) = (channel::<()>(), begun.clone());
            let receives = move || {
                begun.fetch_add(1, Ordering::Relaxed);
                receiver.recv()
            };
            (sender, csp::spawn_on(worker, receives))
        };
        let both = [0, 1].map(stands);
        while begun.load(Ordering::Relaxed) < 2 {
            csp::yield_now();
        }
        // Each of the two workers has one that stands, so this is an extra one.
        let both = both.map(|(sender, receives)| {
            sender.send(()).unwrap();
            receives
        });
        let barrier = Barrier::new(2);
        raddle::scope(|s| (0..2).for_each(|_| s.spawn(|_| _ = barrier.wait())));
        both.into_iter().for_each(|receives| receives.join().unwrap().unwrap());
    });
}

/// What an extra worker wakes waits there as at any worker, also if all others have slept for long: whoever is idle
/// takes it, though the one that has woken it computes on.
#[test]
fn what_is_woken_on_an_extra_worker_does_not_wait_for_its_slice() {
    ends(1, || {
        let stands = csp::spawn_on(0, || {
            let (sender, receiver) = channel();
            // Behind one that stands on the only worker: it begins on an extra one.
            let wakes = csp::spawn(move || {
                let [is_there, has_run] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
                let [there, run] = [is_there.clone(), has_run.clone()];
                let woken = csp::spawn(move || {
                    there.store(true, Ordering::Relaxed);
                    csp::park();
                    run.store(true, Ordering::Relaxed);
                });
                while !is_there.load(Ordering::Relaxed) {
                    csp::yield_now();
                }
                sender.send(()).unwrap();
                // Until the others look around no more. If they still do, the test says less.
                csp::sleep(Duration::from_millis(200));
                woken.process().unpark();
                while !has_run.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                woken.join().unwrap();
            });
            assert_eq!(receiver.recv(), Ok(()));
            wakes
        });
        stands.join().unwrap().join().unwrap();
    });
}

/// Nobody else would: it is asked as long as something is outstanding, and all the program's processes wait.
#[test]
fn a_poller_is_asked_while_the_only_worker_stands() {
    ends(1, || {
        let (sender, receiver) = channel();
        let [is_there, stands] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (there, asked) = (is_there.clone(), stands.clone());
        let waits = csp::spawn(move || {
            there.store(true, Ordering::Relaxed);
            csp::park();
            sender.send(7).unwrap();
        });
        while !is_there.load(Ordering::Relaxed) {
            csp::yield_now();
        }
        let woken = waits.process().clone();
        let poller = Poller::new("network", Duration::from_millis(1), move |asking| {
            if asked.load(Ordering::Relaxed) {
                asking.end(1);
                woken.unpark();
            }
            Duration::from_millis(1)
        });
        let poller = poller.expect("a runtime");
        poller.begin(1);
        // From here to the call there is no boundary at which this worker would ask.
        stands.store(true, Ordering::Relaxed);
        assert_eq!(receiver.recv(), Ok(7));
        waits.join().unwrap();
    });
}

/// What an extra worker does is counted as what any other does.
#[test]
fn what_an_extra_worker_runs_is_counted() {
    let dog = Watchdog::new("is counted".into(), Progress::default(), || raddle::dump().to_string());
    let one = runtime(1);
    one.run(|| {
        // Bound to the worker, so that what stands behind it runs on an extra one.
        let stands = csp::spawn_on(0, || {
            let (sender, receiver) = channel();
            let sends = csp::spawn(move || {
                (0..1000).for_each(|_| csp::spawn(csp::yield_now).join().unwrap());
                sender.send(7).unwrap();
            });
            assert_eq!(receiver.recv(), Ok(7));
            sends.join().unwrap();
        });
        stands.join().unwrap();
    });
    let stats = one.stats();
    let sum = |count: fn(&raddle::Stats) -> u64| stats.iter().map(count).sum::<u64>();
    assert!(stats.len() > one.workers(), "an extra worker has helped");
    // One most likely; if that one stood, too, then several.
    let extra = stats[1..].iter().fold((0, 0), |sum, one| (sum.0 + one.dispatches, sum.1 + one.spawns));
    assert!(extra.0 >= 1000 && extra.1 >= 1000, "{stats:?}");
    // Beside one from outside, whose end may not have been counted yet.
    assert_eq!(sum(|one| one.spawns), 1002);
    assert!(sum(|one| one.exits) >= 1002, "{stats:?}");
    assert_eq!((one.idle_times().len(), one.loads().len()), (stats.len(), stats.len()));
    let migrations = one.migrations();
    assert!(migrations.iter().all(|from| from.len() == migrations.len()), "{migrations:?}");
    assert_eq!(one.shutdown(), 0);
    drop(dog);
}

/// Again and again, while others work.
#[test]
fn stands_come_and_go() {
    ends(2, || {
        for round in 0..5 {
            let pairs: Vec<_> = (0..4)
                .map(|n| {
                    let (sender, receiver) = channel();
                    let waits = thread::spawn(move || assert_eq!(receiver.recv(), Ok(n + round)));
                    let sends = thread::spawn(move || {
                        thread::yield_now();
                        sender.send(n + round).unwrap();
                    });
                    [waits, sends]
                })
                .collect();
            raddle::scope(|s| (0..10).for_each(|_| s.spawn(|_| csp::yield_now())));
            pairs.into_iter().flatten().for_each(|one| one.join().unwrap());
        }
    });
}

/// A runtime that is dropped by one of its own ends, with its extra worker.
#[test]
fn a_runtime_with_an_extra_worker_ends_by_itself() {
    let dog = Watchdog::new("ends by itself".into(), Progress::default(), || raddle::dump().to_string());
    let one = Arc::new(runtime(1));
    let (done, ended) = channel();
    let own = one.clone();
    drop(one.spawn(move || {
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        drop(csp::spawn(move || sender.send(7)));
        let got = waits.join().unwrap();
        drop::<Arc<Runtime>>(own);
        done.send(got).unwrap();
    }));
    drop(one);
    assert_eq!(ended.recv(), Ok(Ok(7)));
    drop(dog);
}

/// The watcher, which makes their OS threads, blocks all signals; a worker that did so would not stop for a dump.
#[test]
fn an_extra_worker_stops_for_a_dump() {
    ends(1, || {
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        // A busy machine may not bring all workers to a stop in time, which a dump says: it is asked again.
        let sends = csp::spawn(move || {
            while !raddle::dump().is_whole() {}
            sender.send(()).unwrap();
        });
        assert_eq!(waits.join().unwrap(), Ok(()));
        sends.join().unwrap();
        while !raddle::dump().is_whole() {}
    });
}

/// Sleeps for half a second by the kernel's own call; how often that was interrupted.
fn interruptions() -> u32 {
    let mut left = libc::timespec { tv_sec: 0, tv_nsec: 500_000_000 };
    let mut count = 0;
    loop {
        let at = &raw mut left;
        // SAFETY: reads and writes what is here.
        if unsafe { libc::nanosleep(at, at) } == 0 {
            return count;
        }
        count += 1;
    }
}

/// How often a call is interrupted, before something in the batch that nobody, that others, that nobody else may run.
pub(super) fn calls_before_a_full_batch() {
    let alone = Runtime::builder().workers(1).balance(Balance::None).build().expect("a runtime");
    for (name, runtime) in [("alone", alone), ("helped", runtime(1)), ("light", light_runtime())] {
        runtime.run(|| {
            let done = Arc::new(AtomicBool::new(false));
            let [by_process, by_task] = [done.clone(), done.clone()];
            let process = csp::spawn(move || {
                while !by_process.load(Ordering::Relaxed) {
                    csp::yield_now();
                }
            });
            let task = task::spawn(poll_fn(move |context| {
                context.waker().wake_by_ref();
                if by_task.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
            }));
            // They have begun, and are in the batch.
            (0..10).for_each(|_| csp::yield_now());
            let begun = Instant::now();
            let count = interruptions();
            let ms = begun.elapsed().as_millis();
            done.store(true, Ordering::Relaxed);
            process.join().unwrap();
            task::block_on(task).unwrap();
            eprintln!("{name}: {count} in {ms}");
        });
        assert_eq!(runtime.shutdown(), 0);
    }
}

/// A call that stands before others is not interrupted again and again: it may fail with `EINTR`.
#[test]
fn a_call_is_interrupted_once_at_most() {
    let variables = [("RADDLE_SLOW_SLICE", "off"), ("RADDLE_DEADLOCK", "off"), ("RADDLE_LIVELOCK", "off")];
    let output = in_program("calls_before_a_full_batch", &variables);
    assert!(output.status.success(), "{output:?}");
    let text = stderr(&output);
    let count = |name: &str| -> (u32, u32) {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let numbers =
            line.and_then(|line| line.split_once(" in ")).unwrap_or_else(|| panic!("no {name} in {text}"));
        (numbers.0.parse().unwrap(), numbers.1.parse().unwrap())
    };
    assert_eq!(count("alone").0, 0, "nobody could take what is there: {text}");
    // On a machine that is too busy to answer, it is asked once more after 20 ms, and each time after twice that time.
    for name in ["helped", "light"] {
        let (asked, ms) = count(name);
        assert!(asked <= 1 + (ms / 20 + 1).ilog2(), "{text}");
    }
}

/// Has a program begun whose standard input is a pipe that nobody has opened for writing: until somebody does, the
/// calling OS thread is in a sleep of the kernel's that no signal ends.
fn begin_with_input(pipe: &CStr) {
    let mut actions = MaybeUninit::uninit();
    // SAFETY: room for it.
    assert_eq!(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) }, 0);
    let (name, input) = (pipe.as_ptr(), libc::STDIN_FILENO);
    // SAFETY: as above, and the name lives through the call.
    let added = unsafe {
        libc::posix_spawn_file_actions_addopen(actions.as_mut_ptr(), input, name, libc::O_RDONLY, 0)
    };
    assert_eq!(added, 0);
    let (mut child, nothing) = (0, [null_mut::<libc::c_char>()]);
    let (program, list) = (c"/bin/true", nothing.as_ptr());
    // SAFETY: a path, what was made above, and two empty lists.
    let begun =
        unsafe { libc::posix_spawn(&raw mut child, program.as_ptr(), actions.as_ptr(), null(), list, list) };
    assert_eq!(begun, 0);
    // SAFETY: asks for no status.
    assert_eq!(unsafe { libc::waitpid(child, null_mut(), 0) }, child);
}

/// The value of a line of what the kernel says of an OS thread.
fn said_of(os_thread: i32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/self/task/{os_thread}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim().to_owned()
}

/// Who sleeps in the kernel so that no signal wakes it is not asked, and keeps nobody from being helped.
pub(super) fn a_sleep_that_no_signal_ends() {
    let folder = std::env::temp_dir().join(format!("raddle-stand-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("pipe");
    let pipe = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a path.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    let two = runtime(2);
    let (tell, told) = channel();
    let waker = Arc::new(Mutex::new(None::<Waker>));
    let (kept, is_woken) = (waker.clone(), Arc::new(AtomicBool::new(false)));
    let has_woken = is_woken.clone();
    let polls = poll_fn(move |context| {
        *kept.lock().unwrap() = Some(context.waker().clone());
        if is_woken.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    });
    let in_batch = two.run(|| task::spawn(polls));
    while waker.lock().unwrap().is_none() {
        std::thread::yield_now();
    }
    let sleeps = two.spawn(move || {
        has_woken.store(true, Ordering::Relaxed);
        waker.lock().unwrap().take().unwrap().wake();
        // SAFETY: no preconditions.
        tell.send(unsafe { libc::gettid() }).unwrap();
        begin_with_input(&pipe);
    });
    let os_thread = told.recv().unwrap();
    while !said_of(os_thread, "State").starts_with('D') {
        std::thread::yield_now();
    }
    let mut asked = false;
    for n in 0..10 {
        let (sender, receiver) = channel();
        let (is_about_to, waits) = channel();
        let stands = two.spawn(move || {
            is_about_to.send(()).unwrap();
            receiver.recv()
        });
        waits.recv().unwrap();
        let sends = two.spawn(move || sender.send(n));
        assert_eq!(stands.join().unwrap(), Ok(n));
        sends.join().unwrap().unwrap();
        let pending = u64::from_str_radix(&said_of(os_thread, "SigPnd"), 16).unwrap();
        asked |= pending & 1 << (libc::SIGURG - 1) != 0;
    }
    drop(std::fs::OpenOptions::new().write(true).open(path).unwrap());
    sleeps.join().unwrap();
    task::block_on(in_batch).unwrap();
    assert_eq!(two.shutdown(), 0);
    std::fs::remove_dir_all(folder).unwrap();
    eprintln!("asked: {asked}");
}

#[test]
fn who_cannot_answer_is_not_asked() {
    let variables = [("RADDLE_SLOW_SLICE", "off"), ("RADDLE_DEADLOCK", "off"), ("RADDLE_LIVELOCK", "off")];
    let output = in_program("a_sleep_that_no_signal_ends", &variables);
    assert!(output.status.success(), "{output:?}");
    assert!(stderr(&output).contains("asked: false\n"), "{output:?}");
}

/// As a library that compresses in parallel: whoever writes gives parts to those who compress by a channel of its own,
/// and gives a writer the order, in which it asks each part's own channel for the result. All are threads of ours.
fn compress(workers: usize, parts: u32) {
    type Part = (u32, Sender<u32>);
    let (to_compressors, from_writer) = sync_channel::<Part>(workers * 2);
    let (to_output, order) = sync_channel::<Receiver<u32>>(workers * 2);
    let from_writer = Arc::new(Mutex::new(from_writer));
    let mut all: Vec<_> = (0..workers)
        .map(|_| {
            let parts = from_writer.clone();
            thread::spawn(move || {
                while let Some((part, to)) = next_part(&parts) {
                    to.send(part.wrapping_mul(31)).unwrap();
                }
            })
        })
        .collect();
    all.push(thread::spawn(move || {
        for (number, part) in (0..).zip(order) {
            assert_eq!(part.recv(), Ok(u32::wrapping_mul(number, 31)));
        }
    }));
    for number in 0..parts {
        let (to, result) = channel();
        to_compressors.send((number, to)).unwrap();
        to_output.send(result).unwrap();
    }
    drop((to_compressors, to_output));
    all.into_iter().for_each(|one| one.join().unwrap());
}

#[inline(never)]
fn next_part(parts: &Mutex<Receiver<(u32, Sender<u32>)>>) -> Option<(u32, Sender<u32>)> {
    let parts = parts.lock().unwrap();
    std::hint::black_box(parts.recv().ok())
}

#[test]
fn threads_with_channels_of_their_own_end_on_one_worker() {
    for workers in [1, 2] {
        for compressors in [1, 4] {
            ends(workers, || compress(compressors, 200));
        }
    }
}

/// More of them wait at the same time than a runtime has extra workers.
pub(super) fn many_compressors() {
    let one = runtime(1);
    drop(one.spawn(|| {
        compress(100, 1000);
        eprintln!("all have ended");
    }));
    until_input_ends();
}

#[test]
fn more_threads_with_channels_of_their_own_end_or_are_told_with_function_and_line() {
    let dog = Watchdog::new("many compressors".into(), Progress::default(), String::new);
    let mut child = program("many_compressors", &[]);
    let mut child = child.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (to, from) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
    let is_told =
        |line: &str| line.starts_with("    in it::stand::") && line.contains(" at tests/it/stand.rs:");
    let mut lines = BufReader::new(from).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "all have ended" || is_told(&line)));
    drop(to);
    lines.for_each(drop);
    assert!(child.wait().unwrap().success());
    drop(dog);
}

/// What waits behind has begun, and is light: nobody can help.
pub(super) fn nobody_can_help() {
    stands_alone(false);
}

/// As above, and who stands has the standard library's lock of standard error.
pub(super) fn nobody_can_help_nor_print() {
    stands_alone(true);
}

fn stands_alone(holds_standard_error: bool) {
    let rt = light_runtime();
    drop(rt.spawn(move || {
        let (sender, receiver) = channel::<()>();
        let is_about_to = Arc::new(AtomicBool::new(false));
        let asked = is_about_to.clone();
        drop(csp::Builder::new().name("sends").spawn(move || {
            while !asked.load(Ordering::Relaxed) {
                csp::yield_now();
            }
            sender.send(())
        }));
        csp::yield_now();
        let receives = csp::Builder::new().name("receives");
        drop(receives.spawn(move || {
            let _held = holds_standard_error.then(|| std::io::stderr().lock());
            is_about_to.store(true, Ordering::Relaxed);
            asks_a_channel_of_std(&receiver);
        }));
    }));
    until_input_ends();
}

/// Standard error is a pipe that is full. The watcher has something to say, and then somebody to help.
pub(super) fn nobody_reads_standard_error() {
    let mut files = [libc::pollfd { fd: 2, events: libc::POLLOUT, revents: 0 }];
    // SAFETY: the one entry of `files`.
    while unsafe { libc::poll(files.as_mut_ptr(), 1, 0) } == 1 {
        std::io::stderr().write_all(&[b'x'; 4096]).unwrap();
    }
    runtime(1).run(|| {
        let behind = csp::spawn(|| ());
        // Until that has been said, or was to be: of this nothing can be seen.
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {}
        behind.join().unwrap();
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv().unwrap());
        let sends = csp::spawn(move || sender.send(()).unwrap());
        waits.join().unwrap();
        sends.join().unwrap();
    });
    std::io::stdout().write_all(b"all have ended\n").unwrap();
}

#[test]
fn a_watcher_whose_words_nobody_reads_goes_on() {
    let dog = Watchdog::new("a full pipe".into(), Progress::default(), String::new);
    let mut child = program("nobody_reads_standard_error", &[("RADDLE_SLOW_SLICE", "100ms")]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("all have ended"), "{said}");
    let mut rest = Vec::new();
    child.stderr.take().unwrap().read_to_end(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    drop(dog);
}

const BEFORE: u32 = line!();

#[inline(never)]
fn asks_a_channel_of_std(receiver: &Receiver<()>) {
    let _got = std::hint::black_box(receiver.recv());
}

#[test]
fn where_nobody_can_help_the_programs_function_is_told() {
    let place = format!(" at tests/it/stand.rs:{}:", BEFORE + 4);
    for name in ["nobody_can_help", "nobody_can_help_nor_print"] {
        let dog = Watchdog::new(name.into(), Progress::default(), String::new);
        let text = said_until(name, &place);
        assert!(text.contains("raddle: slow: process 'receives' (#"), "{text}");
        assert!(text.contains("    in it::stand::asks_a_channel_of_std"), "{text}");
        assert!(!text.contains("std::"), "what the function has called: {text}");
        drop(dog);
    }
}

/// Stands again and again, before one that nobody else may run, until the standard input ends.
pub(super) fn stands_again() {
    light_runtime().run(|| {
        drop(csp::spawn(|| {
            loop {
                csp::yield_now();
            }
        }));
        loop {
            csp::yield_now();
            if std::io::stdin().read(&mut [0]).unwrap() == 0 {
                std::process::exit(0);
            }
        }
    });
}

#[test]
fn each_stand_is_told() {
    let dog = Watchdog::new("stands again".into(), Progress::default(), String::new);
    let mut child = program("stands_again", &[]);
    let mut child = child.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut to, from) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
    let mut lines = BufReader::new(from).lines().map(Result::unwrap);
    for _ in 0..3 {
        let line = lines.find(|line| line.starts_with("raddle: slow: ")).expect("a report");
        assert!(line.ends_with("in the system call `read`; `raddle::blocking` is for that"), "{line}");
        to.write_all(&[0]).unwrap();
    }
    drop(to);
    assert!(lines.all(|line| line.starts_with("    in ") || line.starts_with("raddle: slow: ")));
    assert!(child.wait().unwrap().success());
    drop(dog);
}
