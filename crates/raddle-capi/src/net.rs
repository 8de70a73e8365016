//! Owns: `raddle_fd_t`: waits for descriptors, and the calls on sockets that need one.
//! May use: `chan`, `fault`, `handle`, `time`, `libc`, `raddle`, `raddle-core`.
//! Never: a call that blocks a worker: each is tried without waiting, and waited for by the runtime's poll.

use crate::chan::{ReadyEnd, Rx};
use crate::fault::{CResult, Fault, entry};
use crate::handle::{Handle, Object, Users, WaitsAt, bytes, end, expect, get, make, put, put_if, room};
use crate::time::{deadline, span};
use raddle::io::{Descriptor, Ready};
use raddle_core::choice::now;
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::ptr::null_mut;
use std::time::Instant;

const READ: c_int = 1;
const WRITE: c_int = 2;
/// `RADDLE_FD_OWNED`: it is closed with the handle.
const OWNED: c_int = 1;

/// A number that the program vouches for.
pub(crate) struct Number {
    number: RawFd,
    is_owned: bool,
}

impl AsFd for Number {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the interface asks for a descriptor that stays open as long as its handle.
        unsafe { BorrowedFd::borrow_raw(self.number) }
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        if self.is_owned {
            // SAFETY: the interface has given it away. It is closed whatever this answers.
            let _closed = unsafe { libc::close(self.number) };
        }
    }
}

/// `raddle_fd_t`.
pub(crate) struct Waitable {
    descriptor: Descriptor<Number>,
    users: Users,
}

impl Object for Waitable {
    const TAG: u64 = u64::from_le_bytes(*b"raddl_fd");
}

/// Until when a call tries.
fn until(timeout_ns: i64) -> Option<Instant> {
    let now_only = span(timeout_ns).is_some_and(|span| span.is_zero());
    if now_only { Some(now()) } else { deadline(timeout_ns) }
}

impl Waitable {
    fn number(&self) -> RawFd {
        self.descriptor.get_ref().number
    }

    /// Waits for one direction.
    fn wait(&self, events: c_int, timeout_ns: i64) -> CResult {
        let waited = match (events, until(timeout_ns)) {
            (READ, None) => self.descriptor.wait_readable().map(|()| true),
            (READ, Some(until)) => self.descriptor.wait_readable_until(until),
            (WRITE, None) => self.descriptor.wait_writable().map(|()| true),
            (WRITE, Some(until)) => self.descriptor.wait_writable_until(until),
            _ => return Err(Fault::Invalid),
        };
        if waited.map_err(|error| Fault::of_os(&error))? { Ok(()) } else { Err(Fault::TimedOut) }
    }

    /// Calls until the answer is no longer that it would wait.
    fn attempt(&self, reads: bool, timeout_ns: i64, mut call: impl FnMut(RawFd) -> isize) -> CResult<usize> {
        let _using = self.users.enter();
        let done = self.descriptor.attempt_until(reads, until(timeout_ns), |inner| {
            loop {
                if let Ok(done) = usize::try_from(call(inner.number)) {
                    return Ok(done);
                }
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        });
        done.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => Fault::TimedOut,
            _ => Fault::of_os(&error),
        })
    }
}

impl Waitable {
    /// A wait by a future; the object stays as long.
    pub(crate) fn ready(&'static self, events: c_int) -> CResult<WaitsAt<Ready<'static, Number>>> {
        let ready = match events {
            READ => self.descriptor.readable(),
            WRITE => self.descriptor.writable(),
            _ => return Err(Fault::Invalid),
        };
        Ok(WaitsAt::new(ready, self.users.enter()))
    }

    /// A case of a selection.
    fn when(&'static self, events: c_int) -> CResult<ReadyEnd> {
        let when = match events {
            READ => self.descriptor.when_readable(),
            WRITE => self.descriptor.when_writable(),
            _ => return Err(Fault::Invalid),
        };
        Ok(ReadyEnd::new(when.map_err(|error| Fault::of_os(&error))?, self.users.enter()))
    }
}

/// A call on a socket answers at once, whether it is non-blocking or not.
const AT_ONCE: c_int = libc::MSG_DONTWAIT;

#[unsafe(no_mangle)]
extern "C" fn raddle_fd_open(number: c_int, flags: c_int, out: *mut *mut Handle<Waitable>) -> c_int {
    entry(|| {
        expect(out)?;
        if number < 0 || flags & !OWNED != 0 {
            return Err(Fault::Invalid);
        }
        // The descriptor becomes non-blocking: else some calls on it would keep the worker.
        let mut inner = Number { number, is_owned: false };
        Descriptor::nonblocking(&inner).map_err(|error| Fault::of_os(&error))?;
        inner.is_owned = flags & OWNED != 0;
        let descriptor = Descriptor::new(inner);
        make(out, Waitable { descriptor, users: Users::default() })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fd_close(fd: *mut Handle<Waitable>) -> c_int {
    entry(|| {
        get(fd)?.users.none()?;
        end(fd).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fd_number(fd: *const Handle<Waitable>, out: *mut c_int) -> c_int {
    entry(|| put(out, get(fd)?.number()))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fd_wait(fd: *const Handle<Waitable>, events: c_int, timeout_ns: i64) -> c_int {
    entry(|| {
        let fd = get(fd)?;
        let _using = fd.users.enter();
        fd.wait(events, timeout_ns)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fd_when(fd: *const Handle<Waitable>, events: c_int, out: *mut *mut Handle<Rx>) -> c_int {
    entry(|| make(out, Rx::Ready(get(fd)?.when(events)?)))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fd_read(
    fd: *const Handle<Waitable>,
    data: *mut u8,
    size: usize,
    timeout_ns: i64,
    done: *mut usize,
) -> c_int {
    entry(|| {
        let room = room(data, size)?;
        let read = get(fd)?.attempt(true, timeout_ns, |number| {
            // SAFETY: there is so much room.
            unsafe { libc::read(number, room.as_mut_ptr().cast(), room.len()) }
        })?;
        put_if(done, read);
        Ok(())
    })
}

/// `write`, but a socket whose peer is gone answers, instead of a signal.
fn write(number: RawFd, bytes: &[u8]) -> isize {
    let (data, size) = (bytes.as_ptr().cast::<c_void>(), bytes.len());
    // SAFETY: so many bytes are there.
    let sent = unsafe { libc::send(number, data, size, libc::MSG_NOSIGNAL | AT_ONCE) };
    if sent < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOTSOCK) {
        // SAFETY: as above.
        return unsafe { libc::write(number, data, size) };
    }
    sent
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fd_write(
    fd: *const Handle<Waitable>,
    data: *const u8,
    size: usize,
    timeout_ns: i64,
    done: *mut usize,
) -> c_int {
    entry(|| {
        let bytes = bytes(data, size)?;
        let written = get(fd)?.attempt(false, timeout_ns, |number| write(number, bytes))?;
        put_if(done, written);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fd_accept(fd: *const Handle<Waitable>, timeout_ns: i64, accepted: *mut c_int) -> c_int {
    entry(|| {
        expect(accepted)?;
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let number = get(fd)?.attempt(true, timeout_ns, |number| {
            // SAFETY: nobody wants the address.
            unsafe { libc::accept4(number, null_mut(), null_mut(), flags) as isize }
        })?;
        put(accepted, number as c_int)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_fd_connect(
    fd: *const Handle<Waitable>,
    address: *const u8,
    size: libc::socklen_t,
    timeout_ns: i64,
) -> c_int {
    entry(|| {
        let address = bytes(address, size as usize)?;
        let fd = get(fd)?;
        let _using = fd.users.enter();
        // SAFETY: so many bytes are there.
        let begun = unsafe { libc::connect(fd.number(), address.as_ptr().cast(), size) };
        if begun == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINPROGRESS) {
            return Err(Fault::of_os(&error));
        }
        fd.wait(WRITE, timeout_ns)?;
        outcome_of_connect(fd.number())
    })
}

fn outcome_of_connect(number: RawFd) -> CResult {
    let (mut error, mut size) = (0 as c_int, size_of::<c_int>() as libc::socklen_t);
    let place = (&raw mut error).cast();
    // SAFETY: there is room for an error's number.
    let asked = unsafe { libc::getsockopt(number, libc::SOL_SOCKET, libc::SO_ERROR, place, &raw mut size) };
    match (asked, error) {
        (0, 0) => Ok(()),
        (0, error) => Err(Fault::of_os(&io::Error::from_raw_os_error(error))),
        _ => Err(Fault::of_os(&io::Error::last_os_error())),
    }
}
