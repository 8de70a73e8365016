//! `raddle dump` and `raddle top` of programs that mean no good: names with escapes, forged pages, answers that do not
//! end, and programs that end in the middle.
//!
//! Each program is this test itself, in a process of its own: it looks like a Raddle program, an OS thread named
//! `raddle-watch` and a handler of `SIGQUIT` included, and does something else.

#![allow(clippy::print_stdout, reason = "a child says when it is ready")]

use super::{raddle, text};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::FromRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAM: &str = "HOSTILE_PROGRAM";

static ASKER: AtomicU64 = AtomicU64::new(0);

extern "C" fn note_asker(_signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands over a whole one.
    let info = unsafe { &*info };
    // SAFETY: it was sent by a process, with a value.
    let process = unsafe { info.si_pid() };
    // SAFETY: as above.
    let value = unsafe { info.si_value() };
    let value = value.sival_ptr.addr() as u64 & 0x7fff_ffff;
    ASKER.store((process as u64) << 32 | value, Ordering::Relaxed);
}

/// Looks like a Raddle program; returns the end of the asker's pipe when it is asked.
fn until_asked() -> File {
    // SAFETY: all zeroes is a value of this struct.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = note_asker;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler stores into a word.
    unsafe { libc::sigaction(libc::SIGQUIT, &raw const action, std::ptr::null_mut()) };
    let watch = std::thread::Builder::new().name("raddle-watch".to_owned());
    watch
        .spawn(|| {
            println!("ready");
            loop {
                std::thread::park();
            }
        })
        .unwrap();
    let asker = loop {
        match ASKER.load(Ordering::Relaxed) {
            0 => std::thread::sleep(std::time::Duration::from_millis(1)),
            asker => break asker,
        }
    };
    let path = format!("/proc/{}/fd/{}", asker >> 32, asker as u32);
    std::fs::OpenOptions::new().write(true).custom_flags(libc::O_CLOEXEC).open(path).unwrap()
}

/// The program itself, if this is one.
#[test]
fn is_the_program_that_is_asked_for() {
    match std::env::var(PROGRAM).as_deref() {
        Ok("escapes") => {
            let mut pipe = until_asked();
            pipe.write_all(b"raddle: dump\x1b[2J\x1b]0;title\x07\r\xc2\x9b31m\x08 of one\n").unwrap();
        }
        Ok("ends") => drop(until_asked()),
        Ok("ends_in_the_middle") => until_asked().write_all(b"raddle: dump: 7 pro").unwrap(),
        Ok("ends_at_once") => {
            let _open = until_asked();
            std::process::exit(0);
        }
        Ok("floods") => {
            let mut pipe = until_asked();
            while pipe.write_all(&[b'x'; 1 << 16]).is_ok() {}
        }
        Ok("forges") => forge(),
        _ => {}
    }
}

/// Open files with the name of a page: far too large, a pipe's worth of lies, a page of another process.
fn forge() {
    let page = |len: u64, text: &str| {
        // SAFETY: the name ends in a zero.
        let file = unsafe { libc::memfd_create(c"raddle-top".as_ptr(), 0) };
        // SAFETY: just made, for nobody else.
        let mut file = unsafe { File::from_raw_fd(file) };
        file.set_len(len).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        std::mem::forget(file);
    };
    let pid = std::process::id();
    page(1 << 40, "raddle-top 1\n");
    page(0, &format!("raddle-top 1\npid {pid}\npage 1\nns 5\nworkers {}\nend 1\n", u64::MAX));
    page(0, "raddle-top 1\npid 1\npage 1\nns 5\nworkers 1\nend 1\n");
    page(
        0,
        &format!(
            "raddle-top 1\npid {pid}\npage 1\nns {0}\nworkers 1\nidle_ns {0}\ndispatches {0}\nend 1\n",
            u64::MAX
        ),
    );
    println!("ready");
    loop {
        std::thread::park();
    }
}

/// Starts one, and waits until it is ready.
fn start(program: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "hostile::is_the_program_that_is_asked_for", "--nocapture", "--test-threads=1"]);
    let mut child =
        command.env(PROGRAM, program).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    assert!(lines.lines().map_while(Result::ok).any(|line| line.ends_with("ready")), "{program} has ended");
    child
}

fn end(mut child: Child) {
    let _ended = child.kill();
    child.wait().unwrap();
}

#[test]
fn what_is_answered_does_not_reach_the_terminal_as_it_is() {
    let child = start("escapes");
    let output = raddle().args(["dump", &child.id().to_string()]).output().unwrap();
    end(child);
    let said = text(&output.stdout);
    assert!(output.status.success() && said.starts_with("raddle: dump\u{fffd}[2J"), "{output:?}");
    assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{output:?}");
}

#[test]
fn who_ends_before_or_in_its_answer_is_told() {
    for (program, why) in
        [("ends", ""), ("ends_in_the_middle", "ended in the middle"), ("ends_at_once", "ended")]
    {
        let child = start(program);
        let output = raddle().args(["dump", &child.id().to_string()]).output().unwrap();
        end(child);
        assert!(!output.status.success(), "{program}: {output:?}");
        assert!(text(&output.stderr).contains(why), "{program}: {output:?}");
    }
}

#[test]
fn an_answer_without_end_ends() {
    let child = start("floods");
    let output = raddle().args(["dump", &child.id().to_string()]).stdout(Stdio::null()).output().unwrap();
    end(child);
    assert!(text(&output.stderr).contains("answers without end"), "{output:?}");
}

#[test]
fn forged_pages_do_no_harm() {
    let child = start("forges");
    let pid = child.id().to_string();
    let output = raddle().args(["top", "--count", "1", &pid]).output().unwrap();
    let listed = raddle().arg("top").output().unwrap();
    end(child);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).contains(" of 1 workers busy"), "{output:?}");
    let rows = text(&listed.stdout).lines().filter(|line| line.trim_start().starts_with(&pid)).count();
    assert_eq!(rows, 1, "{listed:?}");
}
