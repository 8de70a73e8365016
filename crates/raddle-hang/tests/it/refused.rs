//! OS threads that the system refuses: whoever needs one goes on without it, or it is said who waits.
//!
//! Each child has one from a certain number on refused, or that one alone: see [`pthread_create`].

use crate::child::program;
use crate::until_input_ends;
use crate::watch::{Progress, Watchdog};
use raddle::{Runtime, blocking, csp, task};
use std::io::Read as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// The variables that say which OS threads are refused: the number of the first, and how many.
const FIRST: &str = "TEST_REFUSED_FROM";
const COUNT: &str = "TEST_REFUSED_COUNT";

type Create = unsafe extern "C" fn(*mut (), *const (), *const (), *mut ()) -> libc::c_int;

/// The library's own, but for those that are to be refused.
///
/// # Safety
/// As the library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut (),
    attributes: *const (),
    begin: *const (),
    argument: *mut (),
) -> libc::c_int {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<usize>().ok());
    if let Some((first, count)) = number(FIRST).zip(number(COUNT)) {
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        if made >= first && made - first < count {
            return libc::EAGAIN;
        }
    }
    // SAFETY: a name.
    let own = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
    // SAFETY: that is its type.
    let own: Create = unsafe { std::mem::transmute(own) };
    // SAFETY: passed on to the caller.
    unsafe { own(thread, attributes, begin, argument) }
}

/// So many ask, and so many answer.
const PAIRS: u32 = 20;

fn asks(number: u32, to: Sender<u32>, from: Receiver<u32>) {
    blocking(move || to.send(number)).unwrap();
    assert_eq!(blocking(move || from.recv()), Ok(number + 1));
}

fn answers(from: Receiver<u32>, to: Sender<u32>) {
    let number = blocking(move || from.recv().unwrap());
    blocking(move || to.send(number + 1)).unwrap();
}

/// All who ask come first, and one task; then those who answer.
fn ask_and_answer() {
    let mut all = Vec::new();
    let mut servers = Vec::new();
    for number in 0..PAIRS {
        let ((to_server, asked), (answer, from_server)) = (channel(), channel());
        servers.push((asked, answer));
        all.push(csp::spawn(move || asks(number, to_server, from_server)));
    }
    let (to_task, for_task) = channel();
    let waits = task::spawn(task::spawn_blocking(move || for_task.recv()));
    all.extend(servers.into_iter().map(|(asked, answer)| csp::spawn(move || answers(asked, answer))));
    all.push(csp::spawn(move || blocking(move || to_task.send(())).unwrap()));
    all.into_iter().for_each(|one| one.join().unwrap());
    task::block_on(waits).unwrap().unwrap().unwrap();
}

/// Calls of `blocking` that wait for each other; and one who waits by a call that nobody knows of.
fn all_kinds(runtime: Result<Runtime, raddle::BuildError>) {
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(cause) => {
            eprintln!("no runtime: {cause}");
            return;
        }
    };
    drop(runtime.spawn(|| {
        ask_and_answer();
        let (sender, receiver) = channel();
        let waits = csp::spawn(move || receiver.recv());
        let sends = csp::spawn(move || sender.send(7));
        assert_eq!(waits.join().unwrap(), Ok(7));
        sends.join().unwrap().unwrap();
        eprintln!("all have ended");
    }));
    until_input_ends();
}

pub(super) fn refused_threads() {
    all_kinds(Runtime::builder().workers(2).build());
}

pub(super) fn refused_threads_of_light_ones() {
    // SAFETY: no process of this program keeps a reference to a thread-local variable while it waits.
    all_kinds(unsafe { Runtime::builder().workers(1).light_processes() }.build());
}

/// What is said at the end, or where somebody waits, or cannot begin.
const WORDS: [&str; 6] = [
    "all have ended\n",
    "no runtime: ",
    " for a spare OS thread; ",
    " or more wait behind it: ",
    "and the system refuses the first one: ",
    "the system refuses the OS thread that looks for hangs: ",
];

/// It ends, or says who waits. How, and what it said before.
fn outcome(name: &str, first: usize, count: usize) -> (usize, String) {
    let variables = [(FIRST, first.to_string()), (COUNT, count.to_string())];
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, &value[..])).collect();
    let mut child = program(name, &variables);
    let mut child = child.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut from = child.stderr.take().unwrap();
    let (mut said, mut byte) = (Vec::new(), [0]);
    let how = loop {
        let text = String::from_utf8_lossy(&said);
        if let Some(how) = WORDS.iter().position(|word| text.contains(word)) {
            break how;
        }
        assert_eq!(from.read(&mut byte).unwrap(), 1, "{name}, {first}, {count}: {text}");
        said.push(byte[0]);
    };
    drop(child.stdin.take());
    let _code = child.wait().unwrap();
    (how, String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn with_any_os_threads_refused_a_program_ends_or_says_who_waits() {
    for name in ["refused_threads", "refused_threads_of_light_ones"] {
        let progress = Progress::default();
        let dog = Watchdog::new(format!("refused, {name}"), progress.clone(), String::new);
        let mut seen = [0; WORDS.len()];
        for first in 0..12 {
            for count in [1, usize::MAX] {
                seen[outcome(name, first, count).0] += 1;
                progress.note();
            }
        }
        // With none refused, as with one that comes late, all end.
        assert_eq!(outcome(name, 0, 0).0, 0);
        assert!(seen[0] > 0 && seen[1] > 0 && seen[2] > 0, "{name}: {seen:?}");
        drop(dog);
    }
}
