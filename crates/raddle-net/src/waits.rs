//! Owns: `Waited`, what a report is told of a wait for a descriptor; how a call waits.
//! May use: `source`, `libc`, `raddle-core`, `raddle-syscall`, `rustix`.
//! Never: the call that tries.

use crate::source::{Direction, EdgeSource, here};
use raddle_core::door::futex::{WaitOutcome, wait_in};
use raddle_core::region;
use raddle_core::runtime::Shared;
use raddle_core::wait::park::{Caller, caller, yield_now};
use raddle_core::wait::{CallOn, Subject, WaitReason};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};
use std::panic::Location;
use std::time::{Duration, Instant};

/// A call that waits for a descriptor.
pub(crate) type NetCall = CallOn<Waited>;

/// The call of this name.
pub(crate) const fn call(name: &'static str) -> NetCall {
    CallOn::new(name, WaitReason::Descriptor)
}

/// What is waited for: it lies in the frame of the one who does.
pub(crate) struct Waited {
    descriptor: RawFd,
    direction: Direction,
}

impl Subject for Waited {
    const KIND: &'static str = "descriptor";

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        // SAFETY: a wait is looked at only while it is shown, and who shows it borrows the descriptor meanwhile.
        let descriptor = unsafe { BorrowedFd::borrow_raw(self.descriptor) };
        let (way, number) = (if self.direction == Direction::Read { "from" } else { "to" }, self.descriptor);
        let address = |any: rustix::net::SocketAddrAny| SocketAddr::try_from(any).ok();
        let peer = rustix::net::getpeername(descriptor).ok().flatten().and_then(address);
        let own = || rustix::net::getsockname(descriptor).ok().and_then(address);
        match (peer, own()) {
            (Some(peer), _) => write!(out, "{way} {peer}, descriptor {number}"),
            (None, Some(own)) => write!(out, "at {own}, descriptor {number}"),
            (None, None) => write!(out, "{way} descriptor {number}"),
        }
    }
}

/// Waits until the descriptor may be ready, which it was not after `seen`, or `until` has come. It may return early,
/// for no reason.
///
/// # Panics
/// In a task.
#[track_caller]
pub(crate) fn wait(
    descriptor: BorrowedFd<'_>,
    (source, direction, seen): (&EdgeSource, Direction, u32),
    until: Option<Instant>,
    (call, site): (&'static NetCall, &'static Location<'static>),
) -> io::Result<()> {
    if !source.tell_den(descriptor)? {
        // It is always ready, whatever the try has said: others get their turn, and a cancellation is seen.
        yield_now();
        return Ok(());
    }
    let subject = Waited { descriptor: descriptor.as_raw_fd(), direction };
    let outcome = {
        let _outstanding = here(Shared::wait_in_den)?;
        wait_in(source.of(direction).word(), seen, until, (call, &subject, site))
    };
    if outcome == WaitOutcome::Cancelled {
        region::unwind();
    }
    Ok(())
}

/// Whether the caller has no worker that others could use meanwhile, and nobody could cancel it: then it waits in the
/// kernel. Panics in a task.
#[track_caller]
pub(crate) fn is_os_thread(call: &'static NetCall) -> bool {
    matches!(caller(call.name()), Caller::Thread) && !region::is_in_one()
}

/// Waits in the kernel until the descriptor is ready, or `until` has come.
pub(crate) fn poll(
    descriptor: BorrowedFd<'_>,
    direction: Direction,
    until: Option<Instant>,
) -> io::Result<()> {
    let events = if direction == Direction::Read { libc::POLLIN | libc::POLLRDHUP } else { libc::POLLOUT };
    let mut file = [libc::pollfd { fd: descriptor.as_raw_fd(), events, revents: 0 }];
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        match raddle_syscall::poll(&mut file, left) {
            Ok(0) if left.is_none_or(|left| !left.is_zero()) => {}
            Ok(_) => return Ok(()),
            Err(raddle_syscall::Errno(libc::EINTR)) => {}
            Err(refused) => return Err(refused.into()),
        }
    }
}

/// Whether the descriptor is ready now.
pub(crate) fn is_ready(descriptor: BorrowedFd<'_>, direction: Direction) -> io::Result<bool> {
    let events = if direction == Direction::Read { libc::POLLIN | libc::POLLRDHUP } else { libc::POLLOUT };
    let mut file = [libc::pollfd { fd: descriptor.as_raw_fd(), events, revents: 0 }];
    Ok(raddle_syscall::poll(&mut file, Some(Duration::ZERO))? > 0)
}
