//! What makes no system call: proved by a process that dies of its first one.

use crate::support::{pool, run_on};
use raddle_context::{SizeClass, StackPool};

/// What became of a process that ran some work under `SECCOMP_MODE_STRICT`, where every system call but read, write and
/// exit kills.
#[derive(Debug, PartialEq, Eq)]
enum SyscallUse {
    MadeNone,
    MadeOne,
    /// qemu-user does not let its guest have seccomp.
    Unknown,
}

fn strictly(pool: &mut StackPool, work: fn(&mut StackPool)) -> SyscallUse {
    const NO_SECCOMP: i32 = 3;
    // SAFETY: the child runs `work`, which neither allocates nor locks, and then leaves without a destructor.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork refused");
    if child == 0 {
        // SAFETY: a plain request.
        let refused = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) } != 0;
        if !refused {
            work(pool);
        }
        // SAFETY: ends this process's only thread, and so the process. `_exit` would be exit_group, which kills.
        unsafe { libc::syscall(libc::SYS_exit, if refused { NO_SECCOMP } else { 0 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child);
    match (libc::WIFSIGNALED(status), libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
        (true, ..) => SyscallUse::MadeOne,
        (_, true, 0) => SyscallUse::MadeNone,
        (_, true, NO_SECCOMP) => SyscallUse::Unknown,
        _ => panic!("the child ended with status {status:#x}"),
    }
}

fn take_and_give(pool: &mut StackPool) {
    for _ in 0..1000 {
        let stack = pool.take(SizeClass::DEFAULT).expect("a warm stack");
        pool.give(stack);
    }
}

/// More than the first slab holds.
fn take_many(pool: &mut StackPool) {
    for _ in 0..200 {
        let _leaked = pool.take(SizeClass::DEFAULT);
    }
}

#[test]
fn a_warm_stack_costs_no_system_call() {
    let mut pool = pool();
    run_on(&mut pool, SizeClass::DEFAULT, |_| ());
    assert!(matches!(strictly(&mut pool, take_and_give), SyscallUse::MadeNone | SyscallUse::Unknown));
    assert!(matches!(strictly(&mut pool, take_many), SyscallUse::MadeOne | SyscallUse::Unknown));
}
