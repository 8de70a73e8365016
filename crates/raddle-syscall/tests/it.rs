//! What the kernel answers, and that `errno` is left alone.

use raddle_syscall::{Errno, affinity, call, futex_wait, futex_wake, poll, sleep, thread_number, write};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn pipe() -> (File, File) {
    let mut ends = [0_i32; 2];
    let place = ends.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes two descriptors there.
    unsafe { call(libc::SYS_pipe2, [place, 0]) }.expect("a pipe");
    // SAFETY: nobody else has it.
    let end = |descriptor| unsafe { File::from_raw_fd(descriptor) };
    (end(ends[0]), end(ends[1]))
}

#[test]
fn an_error_is_a_value_and_errno_stays() {
    const MARK: i32 = 4321;
    // SAFETY: the address of this thread's variable.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(MARK) };
    assert_eq!(write(-1, b"text"), Err(Errno(libc::EBADF)));
    // SAFETY: as above.
    assert_eq!(unsafe { errno.read() }, MARK);
    assert_eq!(Errno(libc::EBADF).to_string(), std::io::Error::from_raw_os_error(libc::EBADF).to_string());
}

#[test]
fn what_is_written_can_be_polled_for_and_read() {
    let (mut from, to) = pipe();
    let mut wanted = [libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
    assert_eq!(poll(&mut wanted, Some(Duration::ZERO)), Ok(0));
    assert_eq!(write(to.as_raw_fd(), b"text"), Ok(4));
    assert_eq!(poll(&mut wanted, None), Ok(1));
    assert_eq!(wanted[0].revents, libc::POLLIN);
    let mut text = [0; 4];
    from.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"text");
}

#[test]
fn a_sleep_is_as_long_as_asked_for() {
    let start = Instant::now();
    sleep(Duration::from_millis(20));
    assert!(start.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_sleeper_is_woken_and_a_changed_word_does_not_sleep() {
    let word = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while word.load(Ordering::Relaxed) == 0 {
                futex_wait(&word, 0, None);
            }
        });
        word.store(1, Ordering::Relaxed);
        futex_wake(&raw const word, 1);
    });
    futex_wait(&word, 0, None);
    futex_wait(&word, 1, Some(Duration::from_millis(1)));
}

#[test]
fn an_os_thread_has_its_own_number_and_processors() {
    let own = thread_number();
    assert_ne!(own, std::thread::spawn(thread_number).join().unwrap());
    let set = affinity().expect("a set");
    // SAFETY: it is only read.
    let processors = unsafe { libc::CPU_COUNT(&set) };
    assert!(processors > 0);
    assert_eq!(raddle_syscall::set_affinity(&set), Ok(()));
}
