//! What the C library does to threads from outside: `setuid` and its relatives, `pthread_exit`, `pthread_cancel`.

use super::threads::thread;
use crate::child::{assert_success, in_child, in_child_with};
use raddle::{Runtime, blocking, csp};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The numbers of the group on all OS threads of this program.
fn groups_of_all() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let status = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok());
    let group = |text: String| text.lines().find(|line| line.starts_with("Gid:")).unwrap().to_owned();
    status.map(group).collect()
}

/// Every call of the kind, with numbers that differ from call to call if the kernel allows that.
fn set_all(number: u32) {
    // SAFETY: no preconditions.
    let may_change = unsafe { libc::geteuid() } == 0;
    // SAFETY: as above.
    let group = if may_change { number } else { unsafe { libc::getgid() } };
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setresgid(group, group, group) }, 0);
    let wanted = format!("Gid:\t{group}\t{group}\t{group}\t{group}");
    // An OS thread that is about to end is not asked any more, and is listed for a moment yet. Whoever else is left out
    // stays so, and the child is ended by its alarm.
    while groups_of_all().iter().any(|found| *found != wanted) {
        std::thread::yield_now();
    }
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setgid(group) }, 0);
    // SAFETY: as above.
    let user = unsafe { libc::getuid() };
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setuid(user) }, 0);
    // SAFETY: reads one number.
    assert_eq!(unsafe { libc::setgroups(1, &raw const group) }, if may_change { 0 } else { -1 });
}

/// Two workers on which four threads run for ever, each on the other worker after each yield, and `f`.
fn beside_threads(f: impl FnOnce() + Send) {
    let runtime = Runtime::builder().workers(2).scatter_threads(true).build().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let spins = |over: Arc<AtomicBool>| {
        move || {
            while !over.load(Ordering::Relaxed) {
                csp::yield_now();
            }
        }
    };
    let threads: Vec<_> = runtime.run(|| (0..4).map(|_| thread(spins(over.clone()))).collect());
    f();
    over.store(true, Ordering::Relaxed);
    runtime.run(|| threads.into_iter().for_each(|thread| thread.join().unwrap()));
}

#[test]
fn rights_change_for_all_os_threads_whoever_asks() {
    if std::env::var_os("TEST_RUNNER").is_some() {
        return; // an emulator has OS threads of its own, which nobody asks
    }
    let outcome = in_child("rights::rights_change_for_all_os_threads_whoever_asks", || {
        // SAFETY: a hang ends.
        unsafe { libc::alarm(900) };
        beside_threads(|| {
            for round in 0..20_u32 {
                let number = move |who: u32| 1000 + round * 8 + who;
                set_all(number(0));
                std::thread::spawn(move || set_all(number(1))).join().unwrap();
                Runtime::builder().workers(2).build().unwrap().run(|| {
                    csp::spawn(move || set_all(number(2))).join().unwrap();
                    thread(move || set_all(number(3))).join().unwrap();
                    thread(move || blocking(move || set_all(number(4)))).join().unwrap();
                });
            }
        });
    });
    assert_success(&outcome);
}

/// The kernel refuses `rseq` to this thread, and to those that it makes.
fn forbid_restartable_sequences() {
    let instruction = |code: u32, jf, k| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut program = [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_rseq as u32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: no preconditions. An emulated kernel may refuse this and the next.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the kernel reads the program.
    unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
}

/// A thread of the C library insists on what its maker has: an abort, if the kernel says no.
#[test]
fn threads_make_threads_where_restartable_sequences_are_off() {
    let off = [("GLIBC_TUNABLES", "glibc.pthread.rseq=0")];
    let name = "rights::threads_make_threads_where_restartable_sequences_are_off";
    let outcome = in_child_with(name, &off, || {
        forbid_restartable_sequences();
        let make = || std::thread::spawn(|| 7).join().unwrap();
        let runtime = Runtime::builder().workers(1).build().unwrap();
        assert_eq!(runtime.run(|| thread(make).join().unwrap()), 7);
    });
    assert_success(&outcome);
}

#[cfg(not(raddle_twin))]
#[test]
fn a_thread_that_forks_may_change_the_childs_rights() {
    let outcome = in_child("rights::a_thread_that_forks_may_change_the_childs_rights", || {
        // SAFETY: a hang ends.
        unsafe { libc::alarm(900) };
        beside_threads(|| {
            let forks = || {
                // SAFETY: the child does what a thread may do there.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    // SAFETY: the kernel does not give alarms to a child.
                    unsafe { libc::alarm(900) };
                    set_all(2000);
                    beside_threads(|| std::thread::spawn(|| set_all(2001)).join().unwrap());
                    set_all(2002);
                    std::process::exit(0);
                }
                let mut status = -1;
                // SAFETY: waits for the child that was just made.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                assert_eq!(status, 0);
            };
            Runtime::builder().workers(1).build().unwrap().run(|| thread(forks).join().unwrap());
        });
    });
    assert_success(&outcome);
}

// The C library's functions; to say that they unwind.
unsafe extern "C-unwind" {
    fn pthread_exit(value: *mut c_void) -> !;
    fn pthread_cancel(thread: libc::pthread_t) -> c_int;
    fn pause() -> c_int;
}

#[cfg(not(raddle_twin))]
#[test]
fn pthread_exit_in_a_thread_says_what_to_do_instead() {
    let outcome = in_child("rights::pthread_exit_in_a_thread_says_what_to_do_instead", || {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        // SAFETY: aborts.
        let exits = || unsafe { pthread_exit(null_mut()) };
        runtime.run(|| csp::Builder::new().own_tls(true).name("quits").spawn(exits).unwrap().join().unwrap());
    });
    crate::child::assert_aborted(
        &outcome,
        &["`pthread_exit` was called in thread 'quits' (#", "return from the thread's"],
    );
}

#[cfg(not(raddle_twin))]
#[test]
fn to_cancel_a_thread_says_what_to_do_instead() {
    let outcome = in_child("rights::to_cancel_a_thread_says_what_to_do_instead", || {
        beside_threads(|| {
            Runtime::builder().workers(1).build().unwrap().run(|| {
                // SAFETY: no preconditions.
                let own = thread(|| unsafe { libc::pthread_self() });
                // SAFETY: aborts; the storage of a thread stays when it has ended.
                unsafe { pthread_cancel(own.join().unwrap()) };
            });
        });
    });
    crate::child::assert_aborted(
        &outcome,
        &["`pthread_cancel` was called for a thread of Raddle's", "look at a flag"],
    );
}

#[test]
fn threads_of_the_c_library_exit_and_are_cancelled_as_ever() {
    extern "C-unwind" fn exits(value: *mut c_void) -> *mut c_void {
        // SAFETY: this frame has nothing to drop.
        unsafe { pthread_exit(value) }
    }
    extern "C-unwind" fn waits(_: *mut c_void) -> *mut c_void {
        loop {
            // SAFETY: as above.
            unsafe { pause() };
        }
    }
    type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
    let start = |run: Start, data: *mut c_void| {
        let mut id = 0;
        // SAFETY: to start a function the two kinds of C functions are the same.
        let run = unsafe { std::mem::transmute::<Start, extern "C" fn(*mut c_void) -> *mut c_void>(run) };
        // SAFETY: writes the number; the function needs nothing that ends.
        assert_eq!(unsafe { libc::pthread_create(&raw mut id, std::ptr::null(), run, data) }, 0);
        id
    };
    let join = |id| {
        let mut value = null_mut();
        // SAFETY: joined once.
        assert_eq!(unsafe { libc::pthread_join(id, &raw mut value) }, 0);
        value.addr()
    };
    assert_eq!(join(start(exits, std::ptr::without_provenance_mut(7))), 7);
    let waiting = start(waits, null_mut());
    // SAFETY: not joined yet.
    assert_eq!(unsafe { pthread_cancel(waiting) }, 0);
    const CANCELED: usize = usize::MAX;
    assert_eq!(join(waiting), CANCELED);
}
