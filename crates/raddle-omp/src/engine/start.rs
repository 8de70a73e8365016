//! Owns: the threads of teams, their making and their main loop; the thread of the program's `main`; forks.
//! May use: `abi`, `icv`, `report`, `ticks`, `told`, `wait`, `libc`, `raddle-context`, `raddle-core`.
//! Never: the end of a thread: teams are kept.

use crate::engine::bound::Binding;
use crate::engine::member::{self, Member, become_here};
use crate::engine::place;
use crate::icv::settings;
use crate::told::{self, Construct};
use crate::wait::Sleepers;
use raddle_core::door::thread::ForeignBuilder;
use raddle_core::trace::TeamStep;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

/// Counts forks: the teams of a parent do not exist in its child.
static FORKS: AtomicU32 = AtomicU32::new(0);

pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Before anything else.
pub(crate) fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        crate::ticks::install();
        told::look_for_trace();
        // SAFETY: the function may be called in any child.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        let _ = settings();
        place::begin();
        match std::env::var("OMP_DISPLAY_ENV").unwrap_or_default().to_ascii_lowercase().as_str() {
            "true" | "1" => crate::icv::display(false),
            "verbose" => crate::icv::display(true),
            _ => {}
        }
    });
}

/// Whether the program wants stacks whose bytes can be executed: nested functions of gcc's whose address is taken.
fn wants_executable_stacks() -> bool {
    const STACK: u32 = 0x6474_e551;
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the C library's, for this call.
        let info = unsafe { info.read() };
        for n in 0..info.dlpi_phnum as usize {
            let header = crate::abi::At::new(info.dlpi_phdr.cast_mut()).at(n).get();
            if header.p_type == STACK && header.p_flags & libc::PF_X != 0 {
                crate::abi::At::new(found.cast::<bool>()).set(true);
            }
        }
        // The program itself comes first, and nothing else is asked for.
        1
    }
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let mut found = false;
        // SAFETY: the function keeps to the interface.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found
    })
}

/// Stacks that are larger have a mapping of their own.
const USUAL_STACK: usize = 64 << 20;

/// Settings for a thread with such a stack, or for a smaller one if there is no room.
fn builder(name: &str, mut bytes: usize) -> ForeignBuilder {
    let builder = ForeignBuilder::new().name(name);
    let can_execute = wants_executable_stacks();
    while can_execute || bytes > USUAL_STACK {
        if let Some(memory) = map_stack(bytes, can_execute) {
            return builder.stack_memory(memory, bytes);
        }
        if bytes <= USUAL_STACK {
            break;
        }
        bytes /= 2;
    }
    builder.stack_size(bytes)
}

/// Memory for a stack, as far below it as the kernel keeps free below that of `main` nobody's.
fn map_stack(bytes: usize, can_execute: bool) -> Option<*mut u8> {
    const GUARD: usize = 1 << 20;
    let rights = libc::PROT_READ | libc::PROT_WRITE | if can_execute { libc::PROT_EXEC } else { 0 };
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: at an address of the kernel's choice.
    let memory = unsafe { libc::mmap(null_mut(), bytes + GUARD, rights, kind, -1, 0) };
    if memory == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: its own, and nobody stands there. If it fails there is no guard.
    unsafe { libc::mprotect(memory, GUARD, libc::PROT_NONE) };
    Some(memory.cast::<u8>().wrapping_add(GUARD))
}

/// That runs where it is bound.
fn bind(builder: ForeignBuilder, bound: Option<Binding>) -> ForeignBuilder {
    match bound {
        Some(bound) => builder.worker(place::worker_of(bound, raddle_core::door::thread::workers())),
        None => builder,
    }
}

/// A thread for teams, that waits for its first region. None if there is no memory for it.
pub(crate) fn spawn(bound: Option<Binding>) -> Option<&'static Member> {
    let member = Member::make();
    member.bound.set(bound);
    let builder = bind(builder(&format!("OpenMP-{}", member.gtid), settings().stack_bytes), bound);
    let argument = std::ptr::from_ref(member).cast_mut().cast();
    // SAFETY: `serve` takes a member, which is this thread's alone.
    let made = unsafe { builder.spawn(serve, argument) };
    match made {
        Ok(thread) => {
            thread.detach();
            Some(member)
        }
        Err(refused) => {
            crate::report::once(&format!("a region has less threads than it wants: {refused}"));
            None
        }
    }
}

/// From region to region.
unsafe extern "C-unwind" fn serve(member: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` gives a member, which is never freed.
    let member: &'static Member = unsafe { &*member.cast::<Member>() };
    become_here(member);
    let mut jobs = 0;
    loop {
        // pairs with the release in `Team::begin`
        if member.job.load(Ordering::Acquire) != jobs {
            jobs = jobs.wrapping_add(1);
            // SAFETY: teams are never freed.
            let team = unsafe { member.next_team.load(Ordering::Relaxed).as_ref() };
            // None if its master has no more use for it.
            let Some(team): Option<&'static crate::engine::team::Team> = team else {
                // Its own teams end with it.
                crate::engine::fork::forget_teams(member);
                return null_mut();
            };
            let tid = member.next_tid.load(Ordering::Relaxed);
            team.enter(member, tid);
            team.begin_work(member);
            crate::engine::fork::tell_affinity(member);
            told::note(
                TeamStep::RegionBegin,
                Construct::Region,
                team.site.get(),
                (member.tid.get(), team.number.get()),
            );
            crate::engine::fork::run(team, member);
            told::note(
                TeamStep::RegionEnd,
                Construct::Region,
                team.site.get(),
                (member.tid.get(), team.number.get()),
            );
            // All that is the region's is read before its end.
            let (region, spin) = (team.region.load(Ordering::Relaxed), team.spin());
            team.arrive_at_end(member);
            wait_for_next(member, team, (region, spin), jobs);
        } else {
            static NOWHERE: Sleepers = Sleepers::new();
            let has_job = || member.job.load(Ordering::Relaxed) != jobs;
            member.is_between.set(true);
            member.wait(&member::NEXT, Duration::ZERO, (&NOWHERE, true), has_job);
            member.is_between.set(false);
        }
    }
}

/// Until the next region begins; runs the tasks of this one meanwhile.
fn wait_for_next(
    member: &'static Member,
    team: &'static crate::engine::team::Team,
    (region, spin): (u32, Duration),
    jobs: u32,
) {
    let has_job = || member.job.load(Ordering::Relaxed) != jobs;
    let has_tasks = || team.queues.has_some() && team.region.load(Ordering::Relaxed) == region;
    while !has_job() {
        let has_run = has_tasks() && crate::engine::task::run_any(team, member, region);
        if !has_run && !team.settle(member) {
            let done = || has_job() || has_tasks();
            member.is_between.set(true);
            member.wait(&member::NEXT, spin, (&team.queues.sleepers, false), done);
            member.is_between.set(false);
        }
    }
}

type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut u8, *mut *mut u8) -> c_int;
type StartMain = unsafe extern "C" fn(
    Main,
    c_int,
    *mut *mut u8,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

struct Arguments {
    main: Main,
    number: c_int,
    words: *mut *mut u8,
    variables: *mut *mut u8,
}

static MAIN: std::sync::atomic::AtomicPtr<c_void> = std::sync::atomic::AtomicPtr::new(null_mut());
static HAS_MAIN: AtomicBool = AtomicBool::new(false);

unsafe extern "C-unwind" fn run_main(arguments: *mut c_void) -> *mut c_void {
    // SAFETY: `in_thread` waits for this, with its arguments.
    let Arguments { main, number, words, variables } = unsafe { arguments.cast::<Arguments>().read() };
    if place::is_bound() {
        member::me().bound.set(Some(place::initial()));
    }
    // SAFETY: what `__libc_start_main` was given.
    let code = unsafe { main(number, words, variables) };
    // As it would be after a return: what the program has registered runs in the thread of its `main`. Not std's exit,
    // which refuses to be called in the thread that a Rust program's `main` has just ended.
    // SAFETY: nothing of this thread's is used any more.
    unsafe { libc::exit(code) }
}

/// The size of the stack of `main`: what the system would give it.
fn main_stack_bytes() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the limit.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    // Without a limit; it is address space, of which what is used becomes memory.
    const ENDLESS: usize = 4 << 30;
    const MOST: usize = 64 << 30;
    if limit.rlim_cur == libc::RLIM_INFINITY {
        return ENDLESS;
    }
    let bytes = usize::try_from(limit.rlim_cur).unwrap_or(MOST).clamp(1 << 20, MOST);
    bytes.next_multiple_of(4096)
}

unsafe extern "C-unwind" fn in_thread(number: c_int, words: *mut *mut u8, variables: *mut *mut u8) -> c_int {
    // SAFETY: its type.
    let main = unsafe { std::mem::transmute::<*mut c_void, Main>(MAIN.load(Ordering::Relaxed)) };
    let mut arguments = Arguments { main, number, words, variables };
    crate::ticks::install();
    place::begin();
    let builder = bind(builder("main", main_stack_bytes()), place::is_bound().then(place::initial));
    // SAFETY: the arguments stay until it is joined, below.
    match unsafe { builder.spawn(run_main, (&raw mut arguments).cast()) } {
        Ok(thread) => thread.join().map_or(1, |code| code.addr() as c_int),
        Err(refused) => {
            crate::report::once(&format!("`main` stays where it is: {refused}"));
            // SAFETY: what `__libc_start_main` was given.
            unsafe { main(number, words, variables) }
        }
    }
}

/// The C library's, which then calls `main` in a thread of Raddle's: so its regions begin and end without a wake of an
/// OS thread.
///
/// # Safety
/// As that one's.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    number: c_int,
    words: *mut *mut u8,
    begin: *mut c_void,
    end: *mut c_void,
    loader: *mut c_void,
    stack: *mut c_void,
) -> c_int {
    static NEXT: raddle_context::interpose::Next = raddle_context::interpose::Next::of(c"__libc_start_main");
    MAIN.store(main as *mut c_void, Ordering::Relaxed);
    HAS_MAIN.store(true, Ordering::Relaxed);
    // SAFETY: its type.
    let next = unsafe { std::mem::transmute::<*mut c_void, StartMain>(NEXT.address()) };
    let main =
        if std::env::var_os("OPENMP_MAIN").is_some_and(|text| text == "os") { main } else { in_thread };
    // SAFETY: the caller's arguments, with another function of the same type.
    unsafe { next(main, number, words, begin, end, loader, stack) }
}
