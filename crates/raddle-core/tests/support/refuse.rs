//! Runs a program again and again, and refuses it one thing at a time: the first allocation, then the second, and so
//! on; or the first of some system calls, the second. Each time the program must work, or end and say why: never hang,
//! never end by a fault, never without a word.
//!
//! Allocations are refused by a library that is loaded before the C library (`refuse.c`), system calls by a filter that
//! asks this process about each (`seccomp_unotify(2)`, Linux 5.5), which knows their number. A run tries some numbers,
//! evenly spread; `REFUSE=every` all of them, and for each both this one call alone and all from there on.

#![allow(dead_code, reason = "each test program uses a part")]

use std::io::Read as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How many numbers a short run tries.
const TRIES: u64 = 16;
/// So many times a tenth of a second is a hang: it is no measure of speed, only longer than any wait on a busy machine.
const BEATS_MAX: u32 = 1200;
/// Where the program under test has its end of the filter.
const LISTENER: RawFd = 97;

/// What is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    /// Calls of `malloc` and the like.
    Allocations,
    /// System calls, with the error that the kernel would give.
    Calls(&'static [libc::c_long], libc::c_int),
}

/// Memory: more, less, other rights. Not `brk`, which says that it is refused by the end that was there, and never by
/// an error.
pub(crate) const MEMORY: Refused = Refused::Calls(
    &[
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_madvise,
        libc::SYS_process_madvise,
    ],
    libc::ENOMEM,
);

/// OS threads, and processes.
pub(crate) const THREADS: Refused = Refused::Calls(&[libc::SYS_clone, libc::SYS_clone3], libc::EAGAIN);

/// Open files of any kind.
pub(crate) const DESCRIPTORS: Refused = Refused::Calls(
    &[
        libc::SYS_openat,
        libc::SYS_epoll_create1,
        libc::SYS_epoll_ctl,
        libc::SYS_eventfd2,
        libc::SYS_memfd_create,
        libc::SYS_pipe2,
        libc::SYS_timerfd_create,
        libc::SYS_socketpair,
    ],
    libc::EMFILE,
);

/// What came of a run.
struct Outcome {
    status: Option<ExitStatus>,
    said: String,
    calls: u64,
}

/// Refuses `program` one thing at a time, which is called `name`. What is compiled for that lies in `folder`.
#[track_caller]
pub(crate) fn each_in_turn(what: Refused, name: &str, folder: &str, program: impl Fn() -> Command) {
    let library = &match what {
        Refused::Allocations => library(folder),
        Refused::Calls(..) => PathBuf::new(),
    };
    let whole = run(what, library, program(), 0, false);
    assert!(whole.status.is_some_and(|status| status.success()), "{name}, {what:?}: {}", whole.said);
    assert!(whole.calls > 0, "{name}, {what:?}: nothing was counted: {}", whole.said);
    let every = std::env::var_os("REFUSE").is_some_and(|it| it == "every");
    let step = if every { 1 } else { whole.calls.div_ceil(TRIES) };
    let (mut worked, mut ended, mut bad) = (0, 0, Vec::new());
    let mut at = if every { 1 } else { 1 + u64::from(std::process::id()) % step };
    while at <= whole.calls {
        // One alone, or all from there on: in turns if it is to be short.
        for all in [false, true] {
            if !every && all != (at / step).is_multiple_of(2) {
                continue;
            }
            let outcome = run(what, library, program(), at, all);
            match outcome.verdict() {
                Ok(true) => worked += 1,
                Ok(false) => ended += 1,
                Err(why) => {
                    let rest = if all { ", and all after it" } else { "" };
                    bad.push(format!("call {at} refused{rest}: {why}:\n{}", outcome.said));
                }
            }
        }
        at += step;
    }
    eprintln!(
        "{name}, {what:?}: {} calls; with one refused, {worked} worked, {ended} ended with a word",
        whole.calls
    );
    assert!(bad.is_empty(), "{name}, {what:?}: {} of {} calls\n{}", bad.len(), whole.calls, bad.join("\n"));
}

impl Outcome {
    /// Whether it worked; or what is wrong with how it ended.
    fn verdict(&self) -> Result<bool, String> {
        let Some(status) = self.status else { return Err("a hang".to_owned()) };
        match (status.code(), status.signal()) {
            (Some(0), _) => Ok(true),
            (_, Some(signal)) if signal != libc::SIGABRT => Err(format!("ended by signal {signal}")),
            _ if self.said.trim().is_empty() => Err(format!("{status}, without a word")),
            _ => Ok(false),
        }
    }
}

/// Runs it, and shows `see` each of these calls with its arguments.
#[track_caller]
pub(crate) fn see_each(
    calls: &'static [libc::c_long],
    mut command: Command,
    mut see: impl FnMut(libc::c_long, &[u64; 6]),
) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    // SAFETY: it makes four system calls and allocates nothing.
    unsafe { command.pre_exec(move || filter(calls)) };
    let mut child = command.spawn().expect("it starts");
    let listener = listener_of(&child);
    let look = || {
        answer(&listener, |question| {
            see(question.call.into(), &question.arguments);
            None
        });
    };
    let status = watched(&mut child, look);
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}

/// Compiles the library that refuses allocations, each test its own: they run side by side.
fn library(folder: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../raddle-core/tests/support/refuse.c");
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let file = Path::new(folder).join(format!("refuse-{}-{number}.so", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-o"]).args([&file, &source]);
    assert!(compiler.status().expect("there is a C compiler").success());
    file
}

fn run(what: Refused, library: &Path, mut command: Command, at: u64, all: bool) -> Outcome {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    match what {
        Refused::Allocations => {
            command.env("LD_PRELOAD", library).env("REFUSE_COUNT", "1").env("REFUSE_AT", at.to_string());
            if all {
                command.env("REFUSE_ALL", "1");
            }
        }
        Refused::Calls(calls, _) => {
            // SAFETY: it makes four system calls and allocates nothing.
            unsafe { command.pre_exec(move || filter(calls)) };
        }
    }
    let mut child = command.spawn().expect("it starts");
    let mut pipe = child.stderr.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _cut_off = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut calls = 0;
    let status = match what {
        Refused::Allocations => watched(&mut child, || std::thread::park_timeout(Duration::from_millis(2))),
        Refused::Calls(_, error) => {
            let listener = listener_of(&child);
            watched(&mut child, || {
                answer(&listener, |question| {
                    let is_linkers = is_in_dynamic_linker(question);
                    calls += u64::from(!is_linkers);
                    let is_refused = !is_linkers && at > 0 && (calls == at || all && calls > at);
                    is_refused.then_some(error)
                });
            })
        }
    };
    let said = reader.join().expect("it reads");
    if let Some(count) = said.lines().find_map(|line| line.strip_prefix("calls: ")) {
        calls = count.parse().expect("a number");
    }
    let said = said.lines().filter(|line| !line.starts_with("calls: ")).map(|line| format!("{line}\n"));
    Outcome { status, said: said.collect(), calls }
}

/// How it ended, unless it hangs.
fn watched(child: &mut Child, mut look: impl FnMut()) -> Option<ExitStatus> {
    let begun = std::time::Instant::now();
    loop {
        look();
        if let Some(status) = child.try_wait().expect("it is ours") {
            return Some(status);
        }
        if begun.elapsed() > Duration::from_millis(100) * BEATS_MAX {
            child.kill().expect("it is ours");
            child.wait().expect("it is ours");
            return None;
        }
    }
}

/// In the child: from now on its calls are asked about.
fn filter(calls: &[libc::c_long]) -> std::io::Result<()> {
    let checked = |result: libc::c_long| {
        if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(result) }
    };
    let statement = |code, jt, k| libc::sock_filter { code, jt, jf: 0, k };
    let (load, equal, end) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET,
    );
    // The number of the call is the first word. Each that is meant jumps to the last statement.
    let mut program = [statement(end as u16, 0, libc::SECCOMP_RET_ALLOW); 16];
    program[0] = statement(load as u16, 0, 0);
    for (number, call) in calls.iter().enumerate() {
        program[number + 1] = statement(equal as u16, (calls.len() - number) as u8, *call as u32);
    }
    program[calls.len() + 2] = statement(end as u16, 0, libc::SECCOMP_RET_USER_NOTIF);
    let whole = libc::sock_fprog { len: calls.len() as u16 + 3, filter: program.as_mut_ptr() };
    // SAFETY: touches no memory.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
    let (mode, flag) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
    // SAFETY: the kernel reads the program, which is there.
    let listener = checked(unsafe { libc::syscall(libc::SYS_seccomp, mode, flag, &raw const whole) })?;
    // SAFETY: touches no memory; it stays open when the program begins.
    checked(unsafe { libc::dup2(listener as RawFd, LISTENER) }.into()).map(drop)
}

/// Our end of it.
fn listener_of(child: &Child) -> OwnedFd {
    // SAFETY: touches no memory.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) } as RawFd;
    assert!(process >= 0, "pidfd_open: {}", std::io::Error::last_os_error());
    // SAFETY: just opened, and ours.
    let process = unsafe { OwnedFd::from_raw_fd(process) };
    // SAFETY: touches no memory.
    let listener = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), LISTENER, 0) } as RawFd;
    assert!(listener >= 0, "pidfd_getfd: {}", std::io::Error::last_os_error());
    // SAFETY: as above.
    unsafe { OwnedFd::from_raw_fd(listener) }
}

/// A question of the kernel's (`struct seccomp_notif`).
#[repr(C)]
#[derive(Default)]
struct Question {
    id: u64,
    thread: u32,
    flags: u32,
    call: i32,
    machine: u32,
    place: u64,
    arguments: [u64; 6],
}

/// The answer (`struct seccomp_notif_resp`).
#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const RECEIVE: libc::c_ulong = 0xC050_2100;
const SEND: libc::c_ulong = 0xC018_2101;
const GO_ON: u32 = 1;
const _: () = assert!(size_of::<Question>() == 80 && size_of::<Answer>() == 24);

/// Whether the dynamic linker asks, which begins every program: some of what it is refused it dies of without a word.
fn is_in_dynamic_linker(question: &Question) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", question.thread)).unwrap_or_default();
    let holds = |line: &str| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let ends = range.map(|(from, to)| (u64::from_str_radix(from, 16), u64::from_str_radix(to, 16)));
        matches!(ends, Some((Ok(from), Ok(to))) if (from..to).contains(&question.place))
    };
    maps.lines().any(|line| line.contains("/ld-") && holds(line))
}

/// Answers one question, if one comes within a moment.
fn answer(listener: &OwnedFd, refuse: impl FnOnce(&Question) -> Option<libc::c_int>) {
    let mut entry = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry.
    let ready = unsafe { libc::poll(&raw mut entry, 1, 20) };
    if ready != 1 || entry.revents & libc::POLLIN == 0 {
        // Its end is told by a hang-up, at once and for ever.
        std::thread::park_timeout(Duration::from_millis(if ready == 1 { 2 } else { 0 }));
        return;
    }
    let mut question = Question::default();
    // SAFETY: the kernel writes 80 bytes.
    if unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut question) } != 0 {
        return; // the thread has gone meanwhile
    }
    let (error, flags) = match refuse(&question) {
        Some(error) => (-error, 0),
        None => (0, GO_ON),
    };
    let answer = Answer { id: question.id, value: 0, error, flags };
    // SAFETY: the kernel reads 24 bytes.
    let _gone = unsafe { libc::ioctl(listener.as_raw_fd(), SEND, &raw const answer) };
}
