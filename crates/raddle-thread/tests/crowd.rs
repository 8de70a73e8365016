//! What goes through all threads of a program, beside very many processes with storage of their own, each parked at a
//! channel of its own: gdb, `fork`, `setuid`, `dlopen`. To the C library each of them is a thread.
//!
//! So many as `CROWD` says, or ten thousand: 10 KB of memory and some 20 us of processor time each. Where gdb may not
//! attach, or no compiler is, what these are for is not tested: that is said, and with `CROWD` set it is a failure.

// A stack costs a sanitizer a hundred times what it costs us; and each context is an OS thread in the twin.
#![cfg(not(any(loom, raddle_twin, raddle_asan, raddle_tsan)))]
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]

#[path = "../../raddle-core/tests/support/child.rs"]
mod child;
#[path = "../../raddle-core/tests/support/fork.rs"]
mod forked;
#[path = "../../raddle-core/tests/support/left_out.rs"]
mod left_out;
#[path = "support/library.rs"]
mod library;

use child::{assert_success, in_child};
use forked::fork;
use library::{Library, compile};
use raddle::csp::{self, JoinHandle, Sender};
use raddle::{Runtime, blocking, thread};
use raddle_context::{Guard, SizeClass, StackDepot, StackPool};
use std::cell::Cell;
use std::ffi::c_int;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let depot = StackDepot::new();
        StackPool::new(depot.clone()).take(SizeClass::DEFAULT).unwrap();
        // An older kernel has not room among a program's mappings for more.
        let most = if depot.guard(SizeClass::DEFAULT) == Guard::Best { usize::MAX } else { 20_000 };
        std::env::var("CROWD").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000).min(most)
    })
}

thread_local! {
    static MARK: Cell<usize> = const { Cell::new(usize::MAX) };
}

type Place = unsafe extern "C" fn() -> *mut c_int;

/// Looks at a library's variable, which is to be the number of the one who looks if nothing else is said, and sets it
/// to that.
#[derive(Clone, Copy)]
struct Visit {
    place: Place,
    expected: Option<c_int>,
}

impl Visit {
    fn by(self, number: usize) {
        let number = number as c_int;
        // SAFETY: the library is loaded, and this is its function without arguments.
        let variable = unsafe { (self.place)() };
        // SAFETY: the variable is the caller's alone.
        let found = unsafe { variable.replace(number) };
        assert_eq!(found, self.expected.unwrap_or(number));
    }
}

/// One who waits at a channel, and does what it is sent.
struct Member {
    number: usize,
    asks: Sender<Visit>,
    ends: JoinHandle<()>,
}

impl Member {
    fn new(number: usize, visits: &Arc<AtomicUsize>) -> Member {
        let ((asks, mut asked), visits) = (csp::channel::<Visit>(), visits.clone());
        let ends = csp::spawn(move || {
            MARK.set(number);
            visits.fetch_add(1, Ordering::Relaxed);
            while let Ok(visit) = asked.recv() {
                visit.by(number);
                visits.fetch_add(1, Ordering::Relaxed);
            }
            assert_eq!(MARK.get(), number);
        });
        Member { number, asks, ends }
    }
}

/// All of them.
struct Crowd {
    members: Vec<Member>,
    visits: Arc<AtomicUsize>,
}

impl Crowd {
    fn new() -> Crowd {
        let visits = Arc::new(AtomicUsize::new(0));
        let crowd = Crowd { members: (0..count()).map(|n| Member::new(n, &visits)).collect(), visits };
        crowd.wait_for(1);
        crowd
    }

    /// Until each has done so many things.
    fn wait_for(&self, times: usize) {
        while self.visits.load(Ordering::Relaxed) < times * self.members.len() {
            csp::yield_now();
        }
    }

    fn visit(&mut self, place: Place, expected: Option<c_int>) {
        let times = self.visits.load(Ordering::Relaxed) / self.members.len();
        self.members.iter_mut().for_each(|member| member.asks.send(Visit { place, expected }).unwrap());
        self.wait_for(times + 1);
    }

    fn end(self) {
        let all: Vec<_> = self.members.into_iter().map(|member| member.ends).collect();
        all.into_iter().for_each(|ends| ends.join().unwrap());
    }
}

/// Runs `f` in a process beside a crowd that lives, in a program of its own.
#[track_caller]
fn beside_crowd(test: &str, f: impl FnOnce(&mut Crowd) + Send) {
    let output = in_child(test, || {
        // SAFETY: a hang ends.
        unsafe { libc::alarm(900) };
        let runtime = Runtime::builder().workers(2).build().unwrap();
        runtime.run(|| {
            let mut crowd = Crowd::new();
            f(&mut crowd);
            crowd.end();
        });
    });
    assert_success(&output);
    left_out::left_out_by(&output);
}

/// Something is not to be had here; who asks for a number of processes wants it all.
fn do_without(what: &str) {
    assert!(std::env::var_os("CROWD").is_none(), "CROWD is set, and {what}");
    left_out::left_out(what);
}

fn os_threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// What gdb says about this program, to which it attaches; `None` if there is no gdb, or the kernel lets nobody attach.
fn ask_gdb(commands: &[&str]) -> Option<String> {
    // SAFETY: lets a process that is not above this one attach to it; no preconditions.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    // Not through a pipe: nobody reads it while this program stands still.
    let said = std::env::temp_dir().join(format!("raddle-{}-gdb", std::process::id()));
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load safe-path /"]);
    commands.iter().for_each(|command| _ = gdb.args(["-ex", command]));
    gdb.args(["-p", &std::process::id().to_string()]).stdin(Stdio::null());
    let file = std::fs::File::create(&said).unwrap();
    let ended = gdb.stdout(file.try_clone().unwrap()).stderr(file).status();
    let text = std::fs::read_to_string(&said).unwrap();
    std::fs::remove_file(&said).unwrap();
    if ended.is_err() || text.contains("Operation not permitted") {
        return None;
    }
    assert!(ended.unwrap().success(), "{text}");
    Some(text)
}

/// True when it is dropped, by a panic, too.
#[derive(Default)]
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn gdb_attaches_and_leaves() {
    beside_crowd("gdb_attaches_and_leaves", |_| {
        // One more runs all the time, and is stopped there.
        let over = Over::default();
        let runs = over.0.clone();
        let runs = csp::spawn(move || {
            MARK.set(1);
            while !runs.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            assert_eq!(MARK.get(), 1);
        });
        for _ in 0..2 {
            let least = os_threads();
            let listed = blocking(|| ask_gdb(&["info threads", "detach"]));
            let Some(listed) = listed else {
                do_without("gdb is not there, or may not attach");
                break;
            };
            let rows = listed.lines().filter(|line| line.contains("(LWP ") && line.contains('"')).count();
            assert!((least..=os_threads()).contains(&rows), "{rows} of {least}:\n{listed}");
            assert!(listed.contains("detached"), "{listed}");
        }
        drop(over);
        runs.join().unwrap();
    });
}

/// Compiles `variable.c`.
fn variable(name: &str, first: c_int, options: &[&str]) -> Option<PathBuf> {
    let first = format!("-DFIRST={first}");
    let library = compile("variable.c", &format!("crowd-{name}"), &[&[&*first], options].concat());
    if library.is_none() {
        do_without("there is no g++ for libraries");
    }
    library
}

fn place(library: &Library) -> Place {
    // SAFETY: this is its type.
    unsafe { library.function("place_of_variable") }
}

/// Loads a library, whose variable has this first value in all that live, and in those that come.
fn load(crowd: &mut Crowd, path: &std::path::Path, first: c_int) -> Library {
    let library = Library::load(path);
    let place = place(&library);
    crowd.visit(place, Some(first));
    // They have values of their own.
    crowd.visit(place, None);
    let visit = Visit { place, expected: Some(first) };
    visit.by(1);
    // A thread begins with first values; a process that comes later than all that have seen the library, too.
    let visits = move |n| thread::spawn(move || visit.by(n));
    (0..100).map(visits).collect::<Vec<_>>().into_iter().for_each(|it| it.join().unwrap());
    // All at once: a process finds what the last one has left, and each block is to be met once.
    let met = Arc::new(AtomicUsize::new(0));
    let visits = |n| {
        let met = met.clone();
        csp::spawn(move || {
            visit.by(n);
            met.fetch_add(1, Ordering::Relaxed);
            while met.load(Ordering::Relaxed) < 100 {
                csp::yield_now();
            }
        })
    };
    (0..100).map(visits).collect::<Vec<_>>().into_iter().for_each(|it| it.join().unwrap());
    std::thread::spawn(move || visit.by(7)).join().unwrap();
    library
}

#[test]
fn a_library_is_loaded_and_unloaded() {
    beside_crowd("a_library_is_loaded_and_unloaded", |crowd| {
        for first in 20..23 {
            let Some(path) = variable("dynamic", first, &[]) else { return };
            // The next one gets the place of the last one.
            load(crowd, &path, first).unload();
        }
    });
}

#[test]
fn a_library_with_static_variables_is_loaded() {
    beside_crowd("a_library_with_static_variables_is_loaded", |crowd| {
        for first in 30..32 {
            let Some(path) = variable("static", first, &["-DSTATIC"]) else { return };
            load(crowd, &path, first).unload();
        }
    });
}

/// The numbers of the group on all OS threads of this program.
fn groups_of_all() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let status = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok());
    let group = |text: String| text.lines().find(|line| line.starts_with("Gid:")).unwrap().to_owned();
    status.map(group).collect()
}

/// Sets the group, and the user, for all OS threads; the group to this number if the kernel allows that.
fn set_ids(number: libc::gid_t) {
    // SAFETY: no preconditions.
    let may_change = unsafe { libc::geteuid() } == 0;
    // SAFETY: as above.
    let group = if may_change { number } else { unsafe { libc::getgid() } };
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setgid(group) }, 0);
    let wanted = format!("Gid:\t{group}\t{group}\t{group}\t{group}");
    // One that is about to end is listed for a moment yet, and is not asked any more.
    while groups_of_all().iter().any(|found| *found != wanted) {
        std::thread::yield_now();
    }
    // SAFETY: as above.
    let user = unsafe { libc::getuid() };
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setuid(user) }, 0);
}

#[test]
fn rights_change_for_all_os_threads() {
    beside_crowd("rights_change_for_all_os_threads", |_| {
        set_ids(1000);
        thread::spawn(|| set_ids(1001)).join().unwrap();
        std::thread::spawn(|| set_ids(1002)).join().unwrap();
        blocking(|| set_ids(1003));
    });
}

/// What a program may do, in which the storage of a crowd was, or is.
fn do_all() {
    set_ids(2000);
    let marks = |n| {
        csp::spawn(move || {
            csp::yield_now();
            MARK.replace(n)
        })
    };
    (0..100).map(marks).collect::<Vec<_>>().into_iter().for_each(|it| _ = it.join().unwrap());
    std::thread::spawn(|| assert_eq!(MARK.get(), usize::MAX)).join().unwrap();
    // A library that is there already would be found by its name.
    static LOADED: AtomicUsize = AtomicUsize::new(0);
    let name = format!("all-{}-{}", std::process::id(), LOADED.fetch_add(1, Ordering::Relaxed));
    if let Some(path) = variable(&name, 40, &["-DSTATIC"]) {
        let place = place(&Library::load(&path));
        let visit = Visit { place, expected: Some(40) };
        visit.by(3);
        std::thread::spawn(move || visit.by(4)).join().unwrap();
        thread::spawn(move || visit.by(5)).join().unwrap();
        csp::spawn(move || visit.by(6)).join().unwrap();
    }
}

#[test]
fn a_forked_child_does_all() {
    beside_crowd("a_forked_child_does_all", |crowd| {
        let number = crowd.members.last().unwrap().number;
        let forks = move || {
            MARK.set(number);
            let code = fork();
            if code.is_none() {
                // SAFETY: a hang ends; the kernel does not give alarms to a child.
                unsafe { libc::alarm(900) };
                assert_eq!(MARK.get(), number);
                do_all();
                assert_eq!(MARK.get(), number);
                std::process::exit(0);
            }
            assert_eq!((code, MARK.get()), (Some(0), number));
        };
        csp::spawn(forks).join().unwrap();
        thread::spawn(forks).join().unwrap();
        std::thread::spawn(forks).join().unwrap();
    });
}

/// Blocks and stacks of a crowd that has ended, or has been abandoned, are met by nobody who goes through all threads.
#[test]
fn what_a_runtime_leaves_harms_nobody() {
    let output = in_child("what_a_runtime_leaves_harms_nobody", || {
        // SAFETY: a hang ends.
        unsafe { libc::alarm(900) };
        for abandoned in [false, true] {
            let runtime = Runtime::builder().workers(2).build().unwrap();
            let crowd = runtime.run(|| {
                let crowd = Crowd::new();
                if abandoned {
                    return Some(crowd);
                }
                crowd.end();
                None
            });
            // Nobody drops the senders, so nobody is woken.
            std::mem::forget(crowd);
            assert_eq!(runtime.shutdown(), if abandoned { count() as u64 } else { 0 });
            do_all();
            let forks = || {
                let code = fork();
                if code.is_none() {
                    do_all();
                    std::process::exit(0);
                }
                code
            };
            assert_eq!(std::thread::spawn(forks).join().unwrap(), Some(0));
        }
    });
    assert_success(&output);
    left_out::left_out_by(&output);
}
