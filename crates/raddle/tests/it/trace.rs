//! What is recorded of a run, read back: it adds up, agrees with what is always counted, and outlives its program.

use raddle::csp::{self, Builder};
use raddle::stm::{Algorithm, TVar, atomically};
use raddle::trace::{Level, Mark};
use raddle::{Balance, Runtime};
use raddle_trace::StopReason;
use raddle_trace::analysis::{Analysis, Class, Edge, WaitObject};
use raddle_trace::event::Event;
use raddle_trace::log::Log;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const CHILD: &str = "TRACE_TEST_CHILD";

/// A file of its own for each test.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("raddle-trace-{name}-{}.rdt", std::process::id()))
}

/// The trace of `body` on so many workers, to the runtime's end.
fn traced(name: &str, balance: Balance, body: impl FnOnce() + Send) -> (Log, Analysis) {
    let path = file(name);
    let runtime = Runtime::builder().workers(2).balance(balance).trace(&path).trace_level(Level::User);
    // Frames are large where nothing is optimised.
    let runtime = runtime.stack_size(8 << 20).build().expect("a runtime");
    runtime.run(body);
    drop(runtime);
    let log = Log::read(&std::fs::read(&path).expect("it has been written")).expect("it is a trace");
    std::fs::remove_file(&path).expect("it is ours");
    let analysis = Analysis::of(&log);
    (log, analysis)
}

fn busy(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn count(log: &Log, event: Event) -> u64 {
    log.workers.iter().flat_map(|worker| &worker.events).filter(|at| at.event == event).count() as u64
}

fn counted(log: &Log, counter: &str) -> u64 {
    log.workers.iter().filter_map(|worker| worker.counter(counter)).sum()
}

/// One reads the first of two variables; then the other writes both, and so it must read again.
#[test]
fn who_overtook_a_transaction_is_told_with_the_variable() {
    let (_, analysis) = traced("overtaken", Balance::Steal, || {
        let (x, y) = (TVar::new(0), TVar::new(0));
        let ((mut ask, mut asked), (mut tell, mut told)) = (csp::channel(), csp::channel());
        let (of_mover, of_audit) = ((x.clone(), y.clone()), (x, y));
        let mover = Builder::new().name("mover".to_owned()).spawn(move || {
            asked.recv().expect("the audit asks");
            atomically(|tx| {
                tx.write(&of_mover.0, 1)?;
                tx.write(&of_mover.1, 1)
            });
            tell.send(()).expect("the audit listens");
        });
        let audit = Builder::new().name("audit".to_owned()).spawn(move || {
            let mut is_first = true;
            let sum = atomically(|tx| {
                let x = tx.read(&of_audit.0)?;
                if std::mem::take(&mut is_first) {
                    ask.send(()).expect("the mover listens");
                    told.recv().expect("the mover tells");
                }
                Ok(x + tx.read(&of_audit.1)?)
            });
            assert_eq!(sum, 2);
        });
        [mover, audit].into_iter().for_each(|one| one.expect("there is memory").join().expect("none panics"));
    });
    let found = &analysis.transactions;
    assert_eq!((found.committed, found.overtaken), (1, 1), "{found:?}");
    assert_eq!(found.pairs, [(Some("mover".to_owned()), "audit".to_owned(), 1)]);
    assert!(found.hottest[0].0.contains(file!().rsplit('/').next().unwrap()), "{found:?}");
}

/// By a transaction in its own body. And a commit of an OS thread is in no trace.
#[test]
fn who_had_what_it_reserved_written_is_told_with_the_variable() {
    let (_, analysis) = traced("broken", Balance::Steal, || {
        let (x, y) = (TVar::new(0), TVar::new(0));
        let audit = Builder::new().name("audit".to_owned()).spawn(move || {
            let mut runs = 0;
            Algorithm::Pessimistic.atomically(|tx| {
                runs += 1;
                let there = tx.read(&x)?;
                if runs == 1 {
                    x.store(1);
                }
                tx.write(&y, there)
            });
            let mut is_first = true;
            Algorithm::Norec.atomically(|tx| {
                let there = tx.read(&x)?;
                if std::mem::take(&mut is_first) {
                    std::thread::scope(|scope| drop(scope.spawn(|| x.store(2))));
                }
                tx.write(&y, there)
            });
            assert_eq!((runs, y.load()), (2, 2));
        });
        audit.expect("there is memory").join().expect("it does not panic");
    });
    let found = &analysis.transactions;
    assert_eq!((found.committed, found.overtaken), (3, 2), "{found:?}");
    let audit = || "audit".to_owned();
    assert_eq!(found.pairs, [(None, audit(), 1), (Some(audit()), audit(), 1)]);
}

/// Threads in pairs that talk, sleep and end.
fn a_bit_of_all() {
    let pairs = (0..50).map(|pair| {
        let (mut to, mut from) = csp::channel();
        let sender = Builder::new().name(format!("sender {pair}")).spawn(move || {
            for number in 0..20_u32 {
                to.send(number).expect("somebody receives");
            }
            csp::sleep(Duration::from_micros(300));
        });
        let receiver = csp::spawn(move || while from.recv().is_ok() {});
        [sender.expect("there is memory"), receiver]
    });
    let all: Vec<_> = pairs.flatten().collect();
    all.into_iter().for_each(|process| process.join().expect("none panics"));
}

#[test]
fn times_add_up_and_agree_with_what_is_always_counted() {
    let (log, analysis) = traced("sum", Balance::Steal, a_bit_of_all);
    assert!(log.ended && log.damage.is_empty());
    assert_eq!(analysis.workers.len(), 2);
    for worker in &analysis.workers {
        let idle: u64 = Class::ALL.into_iter().map(|class| worker.idle_ns(class)).sum();
        let sum = worker.running_ns + idle + worker.overhead_ns;
        assert!(sum.abs_diff(analysis.wall_ns) * 100 <= analysis.wall_ns, "{sum} of {}", analysis.wall_ns);
    }
    for (event, counter) in [
        (Event::IdleEnd, "idle_incidents"),
        (Event::Steal, "steals"),
        (Event::Migrate, "migrations"),
        (Event::Spawn, "spawns"),
    ] {
        assert_eq!(count(&log, event), counted(&log, counter), "{counter}");
    }
    let by_decade: u64 =
        raddle::DECADE_NAMES.iter().map(|decade| counted(&log, &format!("idle {decade}"))).sum();
    assert_eq!(by_decade, counted(&log, "idle_incidents"));
    assert!(analysis.waits.iter().any(|wait| wait.label == "sender"), "{:?}", analysis.waits);
    assert!(analysis.spreads.iter().any(|spread| spread.label.contains("trace.rs:")), "sites are names");
}

#[test]
fn one_long_thread_starves_the_other_worker() {
    let (_, analysis) = traced("long", Balance::Steal, || {
        let long = Builder::new().name("sorter").spawn(|| busy(Duration::from_millis(30)));
        long.expect("there is memory").join().expect("it does not panic");
    });
    // How much, depends on who else uses the machine; constructed logs have exact sums.
    assert!(analysis.idle_ns(Class::Starved) > 0, "{:?}", analysis.verdict);
}

#[test]
fn threads_that_must_wait_where_they_were_put_are_misplaced() {
    let (_, analysis) = traced("placed", Balance::None, || {
        let all: Vec<_> = (0..4).map(|_| csp::spawn_on(0, || busy(Duration::from_millis(8)))).collect();
        all.into_iter().for_each(|process| process.join().expect("none panics"));
    });
    assert!(analysis.idle_ns(Class::Misplaced) > 0, "{:?}", analysis.verdict);
}

/// For how long the calling OS thread has had a core, as Linux counts it.
fn had_a_core_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts it");
    text.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("a number")
}

/// Two workers that both always have something to run, on one core.
#[test]
fn an_oversubscribed_machine_is_named() {
    static READY: AtomicU32 = AtomicU32::new(0);
    static DONE: AtomicU32 = AtomicU32::new(0);
    fn runs_until_both_had_a_core() {
        let all = |of: &AtomicU32| {
            of.fetch_add(1, Ordering::Relaxed);
            while of.load(Ordering::Relaxed) < 2 {
                std::hint::spin_loop();
            }
        };
        all(&READY);
        let begun = had_a_core_ns();
        // So much that a host that stands still somewhere else is not what is named.
        while had_a_core_ns() < begun + 150_000_000 {}
        all(&DONE);
    }
    let path = file("kernel");
    if std::env::var_os(CHILD).is_some() {
        let both = [0, 1].map(|worker| csp::spawn_on(worker, runs_until_both_had_a_core));
        return both.into_iter().for_each(|process| process.join().expect("none panics"));
    }
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says it");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a line");
    let core: String = allowed.trim().chars().take_while(char::is_ascii_digit).collect();
    let child = child("an_oversubscribed_machine_is_named", &path);
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", &core]).arg(child.get_program()).args(child.get_args());
    pinned.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(pinned.output().expect("there is such a command").status.success());
    let log = Log::read(&std::fs::read(&path).expect("it has been written")).expect("it is a trace");
    std::fs::remove_file(&path).expect("it is ours");
    let analysis = Analysis::of(&log);
    let said = analysis.verdict.to_string();
    assert!(analysis.verdict.worst.is_some_and(|(class, _)| class == Class::Kernel), "{said}");
    assert!(said.contains("use no more workers than there are free cores: RADDLE_WORKERS=1"), "{said}");
}

/// Reads a pipe that stays empty until the trace has shown it.
#[test]
#[cfg(all(target_arch = "x86_64", not(any(raddle_tsan, raddle_twin))))]
fn a_call_that_blocks_its_worker_is_named_with_its_place() {
    use std::io::Read as _;
    #[inline(never)]
    fn ask_for_a_byte(pipe: &mut impl std::io::Read) -> u8 {
        let mut byte = [0];
        pipe.read_exact(&mut byte).expect("somebody writes");
        byte[0]
    }
    let path = file("blocked");
    let (pipe, mut writer) = std::io::pipe().expect("there are descriptors");
    let runtime = Runtime::builder().workers(2).trace_level(Level::Sched).stack_size(8 << 20);
    let runtime = runtime.build().expect("a runtime");
    let asks = runtime.spawn(move || ask_for_a_byte(&mut pipe.take(1)));
    // The watcher may have looked before the read had begun: it is asked until it has been wrong for long.
    let mut notes = 0;
    let mut shown = || {
        runtime.dump_trace(&path).expect("something is recorded");
        let log = Log::read(&std::fs::read(&path).expect("it has been written")).expect("it is a trace");
        let analysis = Analysis::of(&log);
        let is_it = |place: &Option<String>| {
            place
                .as_ref()
                .is_some_and(|place| place.contains("`read` in ") && place.contains("ask_for_a_byte"))
        };
        notes = log.workers.iter().flat_map(|worker| &worker.whereabouts).filter(|note| note.sleeps).count();
        let found = analysis.stays.iter().any(|(_, place, ns)| is_it(place) && *ns > 0);
        assert!(found || notes < 500, "it has slept at {notes} looks: {:?}", analysis.stays);
        found.then(|| analysis.idle_ns(Class::Blocked))
    };
    let blocked = loop {
        match shown() {
            Some(blocked) => break blocked,
            None => std::thread::yield_now(),
        }
    };
    assert!(blocked > 0);
    writer.write_all(b"x").expect("somebody reads");
    assert_eq!(asks.join().expect("it does not panic"), b'x');
    std::fs::remove_file(&path).expect("it is ours");
}

#[test]
fn the_programs_own_events_have_names() {
    static HALF: Mark = Mark::new("half way");
    let (log, _) = traced("own", Balance::Steal, || {
        let _span = raddle::trace::enter(&HALF);
        raddle::trace::mark(&HALF, 50);
    });
    let mark = log.workers.iter().flat_map(|worker| &worker.events).find(|at| at.event == Event::Mark);
    let mark = mark.expect("it was recorded");
    assert_eq!(mark.b, 50);
    assert!(log.string(mark.a).starts_with("half way ("), "{}", log.string(mark.a));
    assert_eq!((count(&log, Event::SpanBegin), count(&log, Event::SpanEnd)), (1, 1));
}

#[test]
fn operations_are_recorded_whether_or_not_they_wait() {
    let (log, analysis) = traced("operations", Balance::Steal, || {
        let lock = raddle::sync::Mutex::new(0);
        let (to, from) = raddle::channel::bounded(8);
        for number in 0..5 {
            *lock.lock().expect("nobody panics") += number;
            to.send(number).expect("there is a receiver");
            assert_eq!(from.recv(), Ok(number));
        }
    });
    for name in ["Mutex::lock", "channel::Sender::send", "channel::Receiver::recv"] {
        let counted = analysis.user.operations.iter().find(|(string, _)| log.string(**string) == name);
        assert_eq!(counted.map(|(_, count)| *count), Some(5), "{name}");
    }
}

#[test]
fn forks_are_recorded_from_their_promotion_on() {
    fn both(depth: u32) -> u64 {
        let (a, b) = raddle::join(|| if depth == 0 { 1 } else { both(depth - 1) }, || 1);
        a + b
    }
    let (log, analysis) = traced("jobs", Balance::Steal, || {
        let forks: Vec<_> = (0..10).map(|n| raddle::fork(move || n)).collect();
        // Who lets others run lets go of what it has.
        csp::yield_now();
        assert_eq!(forks.into_iter().map(raddle::Fork::join).sum::<u64>(), 45);
        assert_eq!(both(20), 22);
    });
    let jobs = analysis.jobs;
    assert!(jobs.promoted >= 10 && jobs.promoted == counted(&log, "promoted"), "{jobs:?}");
    let taken = jobs.stolen + jobs.taken_here;
    assert_eq!(jobs.promoted, taken + jobs.had_back, "{jobs:?}");
    assert!(jobs.done <= taken && jobs.stolen <= counted(&log, "jobs_stolen"), "{jobs:?}");
    let events = || log.workers.iter().flat_map(|worker| &worker.events);
    let own = "job of it::trace::forks_are_recorded_from_their_promotion_on";
    let named = events().filter(|at| at.event == Event::JobDone).count();
    let runs = analysis.workers.iter().flat_map(|worker| &worker.slices);
    assert!(named == 0 || runs.into_iter().any(|slice| log.name(slice.thread).starts_with(own)));
}

#[test]
fn waits_have_their_place_in_the_program() {
    let (_, analysis) = traced("places", Balance::Steal, a_bit_of_all);
    let here = |wait: &&WaitObject| wait.site.as_ref().is_some_and(|site| site.contains("trace.rs:"));
    let of = |reason: StopReason| analysis.waits.iter().filter(here).any(|wait| wait.reason == reason);
    assert!(
        of(StopReason::MeetToReceive) && of(StopReason::Sleep) && of(StopReason::Join),
        "{:?}",
        analysis.waits
    );
}

/// A call that blocks is made by an OS thread that is no worker, and ends by its wake.
#[test]
fn wakes_by_os_threads_say_by_which() {
    let (log, analysis) = traced("outside", Balance::Steal, || {
        let caller = Builder::new().name("caller").spawn(|| raddle::blocking(|| 7));
        assert_eq!(caller.expect("there is memory").join().expect("it does not panic"), 7);
    });
    let wakes = log.outside.events.iter().filter(|at| at.event == Event::WakeOutside);
    assert!(wakes.map(|at| log.os_thread(at)).any(|who| who.starts_with("OS thread raddle-spare ")));
    // The test's own OS thread made the first process.
    assert!(log.outside.events.iter().any(|at| at.event == Event::SpawnOutside));
    let by_spare =
        |edge: &&Edge| edge.outside && edge.from == "OS thread raddle-spare" && edge.to == "caller";
    assert_eq!(analysis.edges.iter().filter(by_spare).map(|edge| edge.count).sum::<u64>(), 1);
}

#[test]
fn a_panic_leaves_a_file_at_once() {
    let path = file("panic");
    let runtime = Runtime::builder().workers(1).trace(&path).build().expect("a runtime");
    assert!(runtime.spawn(|| panic!("as planned")).join().is_err());
    let log = Log::read(&std::fs::read(&path).expect("it has been written")).expect("it is a trace");
    assert!(log.ended && count(&log, Event::Switch) > 0);
    drop(runtime);
    std::fs::remove_file(&path).expect("it is ours");
}

#[test]
fn a_level_is_switched_while_the_program_runs() {
    let path = file("switched");
    let runtime = Runtime::builder().workers(2).build().expect("a runtime");
    assert!(runtime.dump_trace(&path).is_err(), "nothing has been recorded");
    runtime.set_trace_level(Level::Sched);
    runtime.run(a_bit_of_all);
    runtime.set_trace_level(Level::Off);
    runtime.run(a_bit_of_all);
    runtime.dump_trace(&path).expect("it can be written");
    let log = Log::read(&std::fs::read(&path).expect("it has been written")).expect("it is a trace");
    // The first process came from outside; a hundred were spawned by it, and none later was recorded.
    assert_eq!(count(&log, Event::Spawn), 100);
    std::fs::remove_file(&path).expect("it is ours");
}

/// Runs for ever; a killer waits until a thousand switches can be read. (A file may be long already while its first
/// chunk is still being written, and of that nothing counts.)
#[test]
fn a_program_that_is_killed_leaves_its_stream() {
    let path = file("killed");
    if std::env::var_os(CHILD).is_some() {
        loop {
            csp::spawn(a_bit_of_all).join().expect("none panics");
        }
    }
    let mut child = child("a_program_that_is_killed_leaves_its_stream", &path);
    let mut child = child.env("RADDLE_TRACE_STREAM", "on").stdout(Stdio::null()).spawn().expect("it starts");
    let switches = || Log::read(&std::fs::read(&path).ok()?).ok().map(|log| count(&log, Event::Switch));
    while switches().is_none_or(|switches| switches <= 1000) {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it runs for ever");
        std::thread::yield_now();
    }
    child.kill().expect("it runs");
    child.wait().expect("it has been killed");
    let log = Log::read(&std::fs::read(&path).expect("it is there")).expect("it is a trace");
    assert!(!log.ended && count(&log, Event::Switch) > 1000);
    std::fs::remove_file(&path).expect("it is ours");
}

/// The test of that name in this program, as a program of its own that is traced into `path`.
fn child(test: &str, path: &PathBuf) -> Command {
    let program = std::env::current_exe().expect("the test's own path");
    let mut child = Command::new(program);
    child.args(["--exact", "--nocapture", &format!("trace::{test}")]).env(CHILD, "1");
    child.env("RADDLE_TRACE", path).env("RADDLE_WORKERS", "2");
    child
}

#[test]
fn a_signal_asks_for_a_file_and_the_program_goes_on() {
    let path = file("asked");
    if std::env::var_os(CHILD).is_some() {
        csp::spawn(a_bit_of_all).join().expect("none panics");
        std::io::stdout().write_all(b"it is recorded\n").expect("the parent reads");
        loop {
            csp::spawn(a_bit_of_all).join().expect("none panics");
        }
    }
    let mut child = child("a_signal_asks_for_a_file_and_the_program_goes_on", &path);
    let mut child = child.stdout(Stdio::piped()).spawn().expect("it starts");
    let said = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut said = said.lines().map(|line| line.expect("it is text"));
    assert!(said.any(|line| line.contains("it is recorded")));
    for _ in 0..2 {
        let kill = Command::new("kill").args(["-USR2", &child.id().to_string()]).status();
        assert!(kill.expect("there is such a command").success());
        while !path.exists() {
            assert!(child.try_wait().expect("it can be asked").is_none(), "it goes on");
            std::thread::yield_now();
        }
        let log = Log::read(&std::fs::read(&path).expect("it is there")).expect("it is a trace");
        assert!(log.ended && count(&log, Event::Switch) > 100);
        std::fs::remove_file(&path).expect("it is ours");
    }
    child.kill().expect("it runs");
    child.wait().expect("it has been killed");
}
