//! What is outstanding at a poller: it is told, and as long as it is, that all wait is no deadlock.

use crate::child::{in_program, stderr};
use crate::dumps::ask_for_a_dump;
use crate::runtime;
use raddle::csp::{self, Builder};
use raddle::hang::dump;
use raddle_core::door::poller::Poller;
use std::io::{PipeReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What has been written into a pipe since the last time.
fn written_into(pipe: &mut PipeReader) -> Vec<u8> {
    let mut some = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut bytes = vec![0; 4096];
    // SAFETY: one `pollfd`, which is there.
    let is_some = unsafe { libc::poll(&raw mut some, 1, 0) } == 1;
    let count = if is_some { pipe.read(&mut bytes).unwrap() } else { 0 };
    bytes.truncate(count);
    bytes
}

/// All wait for a second and until a dump has been made; then nothing is outstanding any more, and nobody was woken.
pub(super) fn lost_message() {
    runtime(2).run(|| {
        let begun = Instant::now();
        let (mut answer, answer_to) = std::io::pipe().unwrap();
        let (mut asked, mut dump) = (false, Vec::new());
        let poller = Poller::new("network", Duration::from_millis(1), move |asking| {
            if begun.elapsed() > Duration::from_millis(600) && !asked {
                asked = true;
                ask_for_a_dump(&answer_to);
            }
            dump.extend(written_into(&mut answer));
            let text = String::from_utf8_lossy(&dump);
            if begun.elapsed() > Duration::from_millis(1200) && text.contains("\n  alive: ") {
                eprintln!("{text}");
                asking.end(3);
            }
            Duration::from_millis(10)
        });
        let poller = poller.expect("a runtime");
        poller.begin(3);
        Builder::new().name("receiver").spawn(csp::park).unwrap().join().unwrap();
    });
}

#[test]
fn a_program_that_waits_for_what_is_outstanding_is_not_in_a_deadlock() {
    let output = in_program("lost_message", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = stderr(&output);
    let (dump, report) = text.split_once("raddle: deadlock: ").expect(&text);
    assert!(dump.starts_with("raddle: dump: "), "{text}");
    assert!(dump.contains("\n  outstanding at the poller 'network': 3\n"), "{text}");
    assert!(report.contains("process 'receiver' (#"), "{text}");
    assert!(!report.contains("outstanding at"), "{text}");
}

/// The reader's wait ends, and then all wait for each other.
pub(super) fn after_a_message() {
    let (mut client, peer) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut peer = raddle::net::unix::UnixStream::from(peer);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        client.write_all(b"x").unwrap();
        client
    });
    runtime(2).run(|| {
        let receiver = Builder::new().name("receiver").spawn(move || {
            peer.read_exact(&mut [0]).unwrap();
            eprintln!("{}", dump());
            csp::park();
        });
        receiver.unwrap().join().unwrap();
    });
}

#[test]
fn who_waits_behind_a_wait_for_a_descriptor_is_in_a_deadlock() {
    let output = in_program("after_a_message", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = stderr(&output);
    assert!(text.contains("process 'receiver' (#"), "{text}");
    assert!(!text.contains("outstanding at"), "{text}");
}

/// The reader's wait ends, and its worker then stands at a lock that the scheduler does not know, before any boundary.
pub(super) fn lock_after_a_message() {
    let (mut client, peer) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut peer = raddle::net::unix::UnixStream::from(peer);
    let lock = Arc::new(Mutex::new(()));
    let other = lock.clone();
    runtime(1).run(move || {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            client.write_all(b"x").unwrap();
            client
        });
        let holds = move || {
            let _held = lock.lock().unwrap();
            csp::park();
        };
        let holder = Builder::new().name("holder").spawn(holds).unwrap();
        csp::yield_now();
        let waits = move || {
            peer.read_exact(&mut [0]).unwrap();
            drop(other.lock().unwrap());
        };
        Builder::new().name("blocked").spawn(waits).unwrap().join().unwrap();
        holder.join().unwrap();
    });
}

#[test]
fn who_stands_at_a_foreign_lock_behind_a_wait_for_a_descriptor_is_in_a_deadlock() {
    let output = in_program("lock_after_a_message", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(stderr(&output).contains("process 'holder' (#"), "{output:?}");
}

#[test]
fn a_dump_as_json_says_what_is_outstanding() {
    let rt = runtime(1);
    let poller = rt.run(|| Poller::new("the \"other\" end", Duration::ZERO, |_| Duration::from_secs(1)));
    let poller = poller.expect("a runtime");
    let told = r#"{"poller":"the \"other\" end","count":2}"#;
    assert!(!dump().json().contains(told));
    poller.begin(2);
    let json = dump().json();
    assert!(json.contains(told) && json.ends_with("]}\n"), "{json}");
    poller.end(2);
}
