//! Thread-local storage of a context's own: on several OS threads, through several lives.

use super::support::pool;
use raddle_context::tls::{self, TlsBlock, TlsPool};
use raddle_context::{
    Context, SizeClass, Stack, StackDepot, StackPool, current, note, transfer_here, transfer_with,
};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(7) };
    static TEXT: RefCell<String> = RefCell::new(String::from("first"));
}

/// Wherever the tests run there is a glibc that is new enough.
fn possible() -> bool {
    let supported = tls::supported();
    assert!(supported.is_ok(), "{supported:?}");
    true
}

type ContextBody = Box<dyn FnOnce(&Thread) + Send>;

/// A context with storage of its own, that goes back to whoever resumed it.
#[repr(C)]
struct Thread {
    own: UnsafeCell<Context>,
    resumer: UnsafeCell<Context>,
    /// Of the OS thread that resumed it last.
    home: Cell<usize>,
    storage: TlsBlock,
    stack: Stack,
    body: Cell<Option<ContextBody>>,
    over: Cell<bool>,
}

// SAFETY: a test resumes it from one OS thread at a time.
unsafe impl Send for Thread {}

unsafe extern "C" fn entry(me: *mut Context) -> *mut Context {
    // SAFETY: `own` is the first field of a `Thread` that its owner keeps.
    let thread = unsafe { &*me.cast::<Thread>() };
    // SAFETY: the transfer to here has loaded the storage.
    unsafe { tls::begin(me.cast()) };
    run(thread);
    // SAFETY: nothing uses the storage any more.
    unsafe { tls::return_to(thread.home.get(), thread.stack.memory()) };
    thread.resumer.get()
}

#[inline(never)]
fn run(thread: &Thread) {
    let body = thread.body.take().expect("it starts once");
    body(thread);
    // SAFETY: its variables are not used any more.
    unsafe { tls::end() };
    thread.over.set(true);
}

impl Thread {
    fn new(
        stacks: &mut StackPool,
        storages: &mut TlsPool,
        body: impl FnOnce(&Thread) + Send + 'static,
    ) -> Box<Thread> {
        let stack = stacks.take(SizeClass::for_bytes(128 << 10).unwrap()).expect("a stack");
        let storage = storages.take(&stack).expect("storage");
        let (own, resumer) = (UnsafeCell::new(Context::empty()), UnsafeCell::new(Context::empty()));
        let (home, body, over) =
            (Cell::new(0), Cell::new(Some(Box::new(body) as ContextBody)), Cell::new(false));
        let thread = Box::new(Thread { own, resumer, home, storage, stack, body, over });
        // SAFETY: nobody else knows of it yet.
        let own = unsafe { &mut *thread.own.get() };
        // SAFETY: the stack is the thread's own.
        unsafe { own.prime(&thread.stack, entry) };
        thread
    }

    /// Runs until the next pause or the end; false when it is over.
    #[inline(never)]
    fn resume(&self) -> bool {
        self.home.set(tls::base());
        // SAFETY: `own` is primed or suspended, and has this storage.
        unsafe { transfer_with(self.resumer.get(), self.own.get(), self.storage.base()) };
        !self.over.get()
    }

    #[inline(never)]
    fn pause(&self) {
        // SAFETY: the resumer is suspended in `resume`, on the OS thread whose storage that is.
        unsafe { transfer_with(self.own.get(), self.resumer.get(), self.home.get()) };
    }

    /// As [`pause`](Self::pause), compiled into the caller; without a note, then with one.
    #[inline(always)]
    fn pause_here(&self) {
        assert!(!self.context().has_left(), "it runs");
        // SAFETY: as in `pause`.
        unsafe { transfer_here(self.own.get(), self.resumer.get(), self.home.get()) };
        let words = [self.home.get(), 2, 3];
        // SAFETY: as in `pause`.
        unsafe {
            note::transfer_here_noting::<5>(self.own.get(), self.resumer.get(), self.home.get(), words);
        };
    }

    /// While nobody transfers to or from it.
    fn context(&self) -> &Context {
        // SAFETY: only transfers write to it, and it is pinned in its box.
        unsafe { &*self.own.get() }
    }

    #[expect(
        clippy::boxed_local,
        reason = "it lies in a box from beginning to end: its context points into it"
    )]
    fn give_back(self: Box<Self>, stacks: &mut StackPool, storages: &mut TlsPool) {
        assert!(self.over.get());
        storages.give(self.storage);
        stacks.give(self.stack);
    }
}

fn errno() -> *mut i32 {
    // SAFETY: no preconditions.
    unsafe { libc::__errno_location() }
}

/// Uses what a thread has of its own, and pauses in between.
fn use_all(n: u64, thread: &Thread) {
    assert_eq!(NUMBER.get(), 7);
    assert_eq!(TEXT.with_borrow(Clone::clone), "first");
    assert_eq!(current::get(), thread.own.get().cast());
    NUMBER.set(n);
    // SAFETY: this thread's.
    assert_eq!(unsafe { errno().replace(n as i32) }, 0);
    let place = errno();
    let mut kept = Vec::new();
    for turn in 0..10 {
        TEXT.with_borrow_mut(|text| write!(text, " {n}.{turn}").unwrap());
        kept.push(vec![n; 100]);
        thread.pause();
        assert_eq!(NUMBER.get(), n);
        // SAFETY: as above.
        assert_eq!((errno(), unsafe { *errno() }), (place, n as i32));
        assert!(TEXT.with_borrow(|text| text.ends_with(&format!(" {n}.{turn}"))));
        assert!(kept.iter().flatten().all(|&x| x == n));
    }
}

#[test]
fn storage_goes_along_from_one_os_thread_to_the_next() {
    // In the twin a context is an OS thread, which has its storage and goes nowhere.
    if !possible() || cfg!(raddle_twin) {
        return;
    }
    let (mut stacks, mut storages) = (pool(), TlsPool::new());
    let threads: Vec<_> =
        (0..8).map(|n| Thread::new(&mut stacks, &mut storages, move |t| use_all(n, t))).collect();
    NUMBER.set(1000);
    let threads = (0..11).fold(threads, |threads, _| {
        // Each turn on a new OS thread.
        let turn = move || {
            threads.iter().for_each(|t| _ = t.resume());
            assert_eq!(NUMBER.get(), 7);
            threads
        };
        std::thread::spawn(turn).join().unwrap()
    });
    assert_eq!(NUMBER.get(), 1000);
    threads.into_iter().for_each(|t| t.give_back(&mut stacks, &mut storages));
}

#[test]
fn storage_goes_along_where_the_switch_is_compiled_into_who_waits() {
    if !possible() || cfg!(raddle_twin) {
        return;
    }
    let (mut stacks, mut storages) = (pool(), TlsPool::new());
    let each = |n: u64| {
        move |thread: &Thread| {
            let mut all: [u64; 12] = std::array::from_fn(|at| std::hint::black_box(n << at));
            for _ in 0..5 {
                NUMBER.set(n);
                thread.pause_here();
                assert_eq!((NUMBER.get(), current::get()), (n, thread.own.get().cast()));
                all.iter_mut().for_each(|one| *one = one.wrapping_mul(3));
            }
            assert!(all.iter().enumerate().all(|(at, one)| *one == (n << at) * 3_u64.pow(5)));
        }
    };
    let threads: Vec<_> = (0..8).map(|n| Thread::new(&mut stacks, &mut storages, each(100 + n))).collect();
    NUMBER.set(1000);
    let threads = (0..11).fold(threads, |threads, turn| {
        let turn = move || {
            for thread in &threads {
                let goes_on = thread.resume();
                assert_eq!((goes_on, thread.context().has_left()), (turn < 10, turn < 10));
                if !goes_on {
                    continue;
                }
                // SAFETY: it is suspended on its stack, and nobody resumes it now.
                let note = unsafe { note::of(thread.context(), &thread.stack) };
                let expected = (turn % 2 == 1 && note::ARE_KEPT).then(|| (5, [thread.home.get(), 2, 3]));
                assert_eq!(note, expected);
            }
            assert_eq!(NUMBER.get(), 7);
            threads
        };
        std::thread::spawn(turn).join().unwrap()
    });
    assert_eq!(NUMBER.get(), 1000);
    threads.into_iter().for_each(|t| t.give_back(&mut stacks, &mut storages));
}

#[test]
fn each_life_finds_the_first_values_and_ends_with_its_destructors() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct DropCounter;
    impl Drop for DropCounter {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    thread_local!(static COUNTED: RefCell<Option<DropCounter>> = const { RefCell::new(None) });
    if !possible() || cfg!(raddle_twin) {
        return;
    }
    let (mut stacks, mut storages) = (pool(), TlsPool::new());
    let mut bases = std::collections::HashSet::new();
    for n in 1..=50_u64 {
        let thread = Thread::new(&mut stacks, &mut storages, move |t| {
            COUNTED.with_borrow_mut(|c| assert!(c.replace(DropCounter).is_none()));
            use_all(n, t);
        });
        bases.insert(thread.storage.base());
        while thread.resume() {}
        assert_eq!(DROPPED.load(Ordering::Relaxed), n as usize);
        thread.give_back(&mut stacks, &mut storages);
    }
    assert_eq!(bases.len(), 1, "what was given back is used again");
}

/// Blocks are made several at a time, the more the more there are, and wait with first values for whoever comes.
#[test]
fn hundreds_at_once_have_storage_of_their_own_whichever_pool_made_it() {
    if !possible() || cfg!(raddle_twin) {
        return;
    }
    let (mut stacks, mut storages) = (pool(), [TlsPool::new(), TlsPool::new()]);
    for turn in 1..=2_u64 {
        let threads: Vec<_> = (0..300)
            .map(|n| {
                Thread::new(&mut stacks, &mut storages[n % 2], move |t| use_all(turn * 1000 + n as u64, t))
            })
            .collect();
        let bases: std::collections::HashSet<_> = threads.iter().map(|t| t.storage.base()).collect();
        assert_eq!(bases.len(), 300);
        while threads.iter().filter(|t| t.resume()).count() > 0 {}
        for (n, thread) in threads.into_iter().enumerate() {
            thread.give_back(&mut stacks, &mut storages[(n + 1) % 2]);
        }
        // What a pool that is dropped has made and nobody has used goes on to others.
        storages = [TlsPool::new(), TlsPool::new()];
    }
}

/// What goes through glibc's list of threads: a change of rights, which looks at each, and a new thread, which is put
/// there and taken out again.
fn go_through_all_threads() {
    // SAFETY: no preconditions.
    let group = unsafe { libc::getgid() };
    // SAFETY: sets what it is.
    assert_eq!(unsafe { libc::setgid(group) }, 0);
    std::thread::spawn(|| TEXT.with_borrow(|text| assert_eq!(text, "first"))).join().unwrap();
}

/// No block is met there whose memory is gone: neither when the pages of free stacks went back to the kernel, nor when
/// their slabs have been unmapped.
#[cfg(not(raddle_tsan))]
#[test]
fn a_block_is_in_no_list_when_its_stack_is_gone() {
    if !possible() || cfg!(raddle_twin) {
        return;
    }
    let depot = StackDepot::new();
    for round in 0..3 {
        let (mut stacks, mut storages) = (StackPool::new(depot.clone()), TlsPool::new());
        let start = |n| Thread::new(&mut stacks, &mut storages, move |t| use_all(n, t));
        let all: Vec<_> = (0..300).map(start).collect();
        all.iter().for_each(|thread| assert!(thread.resume()));
        go_through_all_threads();
        for thread in all {
            while thread.resume() {}
            thread.give_back(&mut stacks, &mut storages);
        }
        go_through_all_threads();
        drop((stacks, storages));
        assert!(depot.trim() >= 300, "round {round}");
        go_through_all_threads();
    }
    drop(depot);
    go_through_all_threads();
    // What was in use on these stacks can be used on others.
    let (mut stacks, mut storages) = (pool(), TlsPool::new());
    let other = Thread::new(&mut stacks, &mut storages, |t| use_all(5, t));
    while other.resume() {}
    go_through_all_threads();
    other.give_back(&mut stacks, &mut storages);
}

/// The first fork may come before the threads that the probe makes have run, which no child has: glibc's `setuid` waits
/// for each thread that is still being made.
#[cfg(not(raddle_twin))]
#[test]
fn a_child_forked_right_after_the_probe_may_change_its_rights() {
    const CHILD: &str = "RADDLE_TEST_FORKS_AT_ONCE";
    if std::env::var_os(CHILD).is_some() {
        fork_right_after_the_probe();
        return;
    }
    if std::env::var_os("TEST_RUNNER").is_some() {
        return; // an emulator has OS threads of its own, which nobody asks
    }
    for _ in 0..8 {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again
            .args(["--exact", "tls::a_child_forked_right_after_the_probe_may_change_its_rights"])
            .env(CHILD, "1");
        let outcome = again.output().unwrap();
        assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stdout));
    }
}

#[cfg(not(raddle_twin))]
fn fork_right_after_the_probe() {
    // On one processor the threads that the probe makes run when this one stops.
    // SAFETY: an empty set.
    let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let own = raddle_syscall::affinity().unwrap();
    // SAFETY: within the set.
    let first = (0..1024).find(|cpu| unsafe { libc::CPU_ISSET(*cpu, &own) }).unwrap();
    // SAFETY: as above.
    unsafe { libc::CPU_SET(first, &mut one) };
    raddle_syscall::set_affinity(&one).unwrap();
    assert!(possible());
    let held = tls::Held::take();
    // SAFETY: the child does what may be done there.
    let child = unsafe { libc::fork() };
    if child == 0 {
        held.in_child();
        // SAFETY: a hang ends.
        unsafe { libc::alarm(30) };
        // SAFETY: no preconditions.
        let group = unsafe { libc::getgid() };
        // SAFETY: as above.
        let refused = unsafe { libc::setresgid(group, group, group) };
        // SAFETY: as above.
        unsafe { libc::_exit(refused) };
    }
    drop(held);
    let mut status = -1;
    // SAFETY: waits for the child that was just made.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "14 is its alarm");
}
