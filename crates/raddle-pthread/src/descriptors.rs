//! Owns: calls that wait for one descriptor: reads, writes, sockets.
//! May use: `errno`, `thread`, `watched`, `libc`, `raddle-context`, `raddle-core`, `raddle-syscall`.
//! Never: a change of the descriptor's flags; a wait for what is non-blocking.
//!
//! | what | how it waits |
//! |---|---|
//! | a socket's transfer, by `read` and `write`, too | tries with `MSG_DONTWAIT`; waits for the kernel's word between |
//! | another descriptor's read, an `accept` | asks `poll(2)` first; one at a time of those who do |
//! | a write of at most 4096 bytes | asks first |
//! | a larger one to a pipe, a connection, a lock on a file | on a spare OS thread |
//! | a regular file | in the kernel, on the worker |

use crate::errno::{self, answer, fail};
use crate::next::next;
use crate::thread::cancel;
use crate::thread::record;
use crate::thread::signals::{self, call_away, with_own_mask};
use crate::thread::wait::Handlers;
use crate::watched::{self, DescriptorEnd, Way};
use raddle_context::interpose;
use raddle_core::blocking;
use raddle_syscall::Errno;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

interpose! {
    read => read_some;
    __read => read_some;
    write => write_some;
    __write => write_some;
    readv => read_parts;
    writev => write_parts;
    recv => receive;
    recvfrom => receive_from;
    recvmsg => receive_message;
    send => send_some;
    sendto => send_to;
    sendmsg => send_message;
    accept => accept_one;
    accept4 => accept_as;
    connect => connect_to;
    flock => lock_file;
    fcntl => control;
    fcntl64 => control;
    fsync => sync;
    fdatasync => sync_data;
    getaddrinfo => look_up;
    system => run_shell;
    pclose => close_pipe;
    close => close_one;
    dup2 => duplicate;
    dup3 => duplicate_as;
}

const DONT_WAIT: usize = libc::MSG_DONTWAIT as usize;

fn call<const N: usize>(number: std::ffi::c_long, arguments: [usize; N]) -> Result<usize, Errno> {
    // SAFETY: the program's arguments for this call.
    unsafe { raddle_syscall::call(number, arguments) }
}

fn told(result: Result<usize, Errno>) -> isize {
    answer(result) as isize
}

/// What a write has answered. The kernel sends the signal of a broken pipe to a worker, which blocks it.
fn written(answer: isize) -> isize {
    if answer == -1 && errno::last() == libc::EPIPE {
        signals::let_through(libc::SIGPIPE);
        fail(libc::EPIPE);
    }
    answer
}

/// What kind of descriptor it is: the bits of its mode.
fn kind(descriptor: c_int) -> libc::mode_t {
    // SAFETY: zeroes are a value of this.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a place for the answer.
    let refused = unsafe { libc::fstat(descriptor, &raw mut status) };
    if refused == 0 { status.st_mode & libc::S_IFMT } else { 0 }
}

/// When a socket's call is to give up, if the program has said so.
fn limit(descriptor: c_int, way: Way) -> Option<Instant> {
    let option = if way == Way::In { libc::SO_RCVTIMEO } else { libc::SO_SNDTIMEO };
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut bytes = size_of::<libc::timeval>() as libc::socklen_t;
    let place = (&raw mut time).cast();
    // SAFETY: a place for the answer, and its size.
    let refused = unsafe { libc::getsockopt(descriptor, libc::SOL_SOCKET, option, place, &raw mut bytes) };
    let span = Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    if refused != 0 || span.is_zero() { None } else { raddle_core::door::futex::deadline(span) }
}

/// Makes a socket's call of this thread again and again, with and without `MSG_DONTWAIT`, and waits in between.
fn transfer(
    descriptor: c_int,
    way: Way,
    flags: usize,
    make: impl Fn(usize) -> Result<usize, Errno>,
) -> isize {
    if record::here().is_none() || flags & DONT_WAIT != 0 {
        return told(make(flags));
    }
    cancel::point();
    let mut until = None;
    let mut first = true;
    loop {
        match make(flags | DONT_WAIT) {
            Err(Errno(libc::EAGAIN)) => {}
            done => return told(done),
        }
        if std::mem::take(&mut first) {
            if watched::is_nonblocking(descriptor) {
                return fail(libc::EAGAIN) as isize;
            }
            until = limit(descriptor, way);
        }
        match watched::wait(descriptor, way, until, Handlers::Breaking) {
            DescriptorEnd::Ready => {}
            DescriptorEnd::TimedOut => return fail(libc::EAGAIN) as isize,
            DescriptorEnd::Interrupted | DescriptorEnd::Arrived | DescriptorEnd::Cancelled => {
                return fail(libc::EINTR) as isize;
            }
        }
        cancel::point();
    }
}

/// As [`transfer`] of a stream: goes on until all is sent.
fn transfer_all(
    descriptor: c_int,
    flags: usize,
    bytes: usize,
    make: impl Fn(usize, usize) -> Result<usize, Errno>,
) -> isize {
    let mut sent = 0;
    loop {
        let more = transfer(descriptor, Way::Out, flags, |flags| make(sent, flags));
        if more < 0 {
            return if sent > 0 { sent as isize } else { more };
        }
        sent += more as usize;
        if sent >= bytes || more == 0 || flags & DONT_WAIT != 0 || watched::is_nonblocking(descriptor) {
            return sent as isize;
        }
    }
}

/// Makes a call of this thread when the descriptor is ready for it; one at a time of those who would wait.
fn when_ready(descriptor: c_int, way: Way, shared: bool, make: impl Fn() -> Result<usize, Errno>) -> isize {
    if record::here().is_none() {
        return told(make());
    }
    cancel::point();
    told(watched::when_ready(descriptor, way, shared, make))
}

/// By the lower bits of a descriptor: whether it was none of a socket's when it was last tried as one. A hint: the C
/// library closes some by itself.
static IS_NO_SOCKET: [AtomicBool; 1024] = [const { AtomicBool::new(false) }; 1024];

fn hint(descriptor: c_int) -> &'static AtomicBool {
    &IS_NO_SOCKET[descriptor as usize % IS_NO_SOCKET.len()]
}

/// Makes a call that only sockets know; None if this is none.
fn as_socket(descriptor: c_int, make: impl FnOnce() -> isize) -> Option<isize> {
    if descriptor < 0 || hint(descriptor).load(Ordering::Relaxed) {
        return None;
    }
    let before = errno::last();
    let answer = make();
    if answer != -1 || errno::last() != libc::ENOTSOCK {
        return Some(answer);
    }
    fail(before);
    hint(descriptor).store(true, Ordering::Relaxed);
    None
}

/// The descriptor is about to be closed, or to be another's.
fn forget(descriptor: c_int) {
    if descriptor >= 0 {
        hint(descriptor).store(false, Ordering::Relaxed);
        watched::forget(descriptor);
    }
}

unsafe extern "C-unwind" fn read_some(descriptor: c_int, place: usize, bytes: usize) -> isize {
    let make = || call(libc::SYS_read, [descriptor as usize, place, bytes]);
    // For nothing nobody waits.
    if bytes == 0 || record::here().is_none() {
        return told(make());
    }
    let receive = |flags: usize| call(libc::SYS_recvfrom, [descriptor as usize, place, bytes, flags, 0, 0]);
    as_socket(descriptor, || transfer(descriptor, Way::In, 0, receive))
        .unwrap_or_else(|| when_ready(descriptor, Way::In, false, make))
}

unsafe extern "C-unwind" fn read_parts(descriptor: c_int, parts: usize, count: c_int) -> isize {
    let make = || call(libc::SYS_readv, [descriptor as usize, parts, count as usize]);
    // What is wrong is refused before a wait.
    if (1..=libc::UIO_MAXIOV).contains(&count) {
        when_ready(descriptor, Way::In, false, make)
    } else {
        told(make())
    }
}

/// A pipe takes so much at once without waiting if it says that it takes anything.
const AT_ONCE: usize = 4096;

unsafe extern "C-unwind" fn write_some(descriptor: c_int, from: usize, bytes: usize) -> isize {
    let make = || call(libc::SYS_write, [descriptor as usize, from, bytes]);
    if record::here().is_none() || bytes == 0 {
        return told(make());
    }
    cancel::point();
    let send = |sent: usize, flags: usize| {
        call(libc::SYS_sendto, [descriptor as usize, from + sent, bytes - sent, flags, 0, 0])
    };
    let by_socket = as_socket(descriptor, || transfer_all(descriptor, 0, bytes, send));
    written(by_socket.unwrap_or_else(|| {
        if bytes <= AT_ONCE {
            told(watched::when_ready(descriptor, Way::Out, false, make))
        } else {
            write_much(descriptor, make)
        }
    }))
}

fn write_much(descriptor: c_int, make: impl Fn() -> Result<usize, Errno> + Send) -> isize {
    let waits = kind(descriptor) == libc::S_IFIFO && !watched::is_nonblocking(descriptor);
    told(if waits { call_away(true, make) } else { make() })
}

unsafe extern "C-unwind" fn write_parts(descriptor: c_int, parts: usize, count: c_int) -> isize {
    let make = move || call(libc::SYS_writev, [descriptor as usize, parts, count as usize]);
    if record::here().is_none() {
        return told(make());
    }
    cancel::point();
    let is_slow = matches!(kind(descriptor), libc::S_IFSOCK | libc::S_IFIFO);
    let is_away = is_slow && !watched::is_nonblocking(descriptor);
    written(told(if is_away { call_away(true, make) } else { make() }))
}

unsafe extern "C-unwind" fn receive(descriptor: c_int, place: usize, bytes: usize, flags: usize) -> isize {
    // SAFETY: the caller's arguments, and no address.
    unsafe { receive_from(descriptor, place, bytes, flags, 0, 0) }
}

unsafe extern "C-unwind" fn receive_from(
    descriptor: c_int,
    place: usize,
    bytes: usize,
    flags: usize,
    from: usize,
    from_bytes: usize,
) -> isize {
    const ALL: usize = libc::MSG_WAITALL as usize;
    const PEEK: usize = libc::MSG_PEEK as usize;
    let make = move |flags: usize| {
        call(libc::SYS_recvfrom, [descriptor as usize, place, bytes, flags, from, from_bytes])
    };
    if flags & ALL == 0 || record::here().is_none() {
        return transfer(descriptor, Way::In, flags, make);
    }
    if flags & PEEK != 0 {
        // To wait for more behind what is there is the kernel's affair.
        return told(call_away(true, move || make(flags)));
    }
    let mut has = 0;
    loop {
        let more = transfer(descriptor, Way::In, flags & !ALL, |flags| {
            call(libc::SYS_recvfrom, [descriptor as usize, place + has, bytes - has, flags, from, from_bytes])
        });
        if more <= 0 {
            return if has > 0 { has as isize } else { more };
        }
        has += more as usize;
        if has >= bytes || !is_stream(descriptor) || watched::is_nonblocking(descriptor) {
            return has as isize;
        }
    }
}

/// An option of a socket's that is a number; 0 if it is none.
fn option(descriptor: c_int, name: c_int) -> c_int {
    let mut value: c_int = 0;
    let mut bytes = size_of::<c_int>() as libc::socklen_t;
    let place = (&raw mut value).cast();
    // SAFETY: a place for the answer, and its size.
    unsafe { libc::getsockopt(descriptor, libc::SOL_SOCKET, name, place, &raw mut bytes) };
    value
}

fn is_stream(descriptor: c_int) -> bool {
    option(descriptor, libc::SO_TYPE) == libc::SOCK_STREAM
}

unsafe extern "C-unwind" fn receive_message(descriptor: c_int, message: usize, flags: usize) -> isize {
    let make = move |flags: usize| call(libc::SYS_recvmsg, [descriptor as usize, message, flags]);
    if flags & libc::MSG_WAITALL as usize != 0 && record::here().is_some() {
        return told(call_away(true, move || make(flags)));
    }
    transfer(descriptor, Way::In, flags, make)
}

unsafe extern "C-unwind" fn send_some(descriptor: c_int, from: usize, bytes: usize, flags: usize) -> isize {
    // SAFETY: the caller's arguments, and no address.
    unsafe { send_to(descriptor, from, bytes, flags, 0, 0) }
}

unsafe extern "C-unwind" fn send_to(
    descriptor: c_int,
    from: usize,
    bytes: usize,
    flags: usize,
    to: usize,
    to_bytes: usize,
) -> isize {
    let sent = transfer_all(descriptor, flags, bytes, |sent, flags| {
        call(libc::SYS_sendto, [descriptor as usize, from + sent, bytes - sent, flags, to, to_bytes])
    });
    sent_by(flags, sent)
}

/// As [`written`], if these flags let there be a signal.
fn sent_by(flags: usize, answer: isize) -> isize {
    if flags & libc::MSG_NOSIGNAL as usize == 0 { written(answer) } else { answer }
}

unsafe extern "C-unwind" fn send_message(descriptor: c_int, message: usize, flags: usize) -> isize {
    sent_by(flags, send_parts(descriptor, message, flags))
}

fn send_parts(descriptor: c_int, message: usize, flags: usize) -> isize {
    let make = move |flags: usize| call(libc::SYS_sendmsg, [descriptor as usize, message, flags]);
    let sent = transfer(descriptor, Way::Out, flags, make);
    if sent <= 0 || record::here().is_none() || flags & DONT_WAIT != 0 {
        return sent;
    }
    // SAFETY: the program's message, of which the kernel has just sent something.
    let message = unsafe { std::ptr::with_exposed_provenance::<libc::msghdr>(message).read() };
    // SAFETY: as above, so many parts.
    let parts = unsafe { std::slice::from_raw_parts(message.msg_iov, message.msg_iovlen) };
    send_rest(descriptor, parts, sent as usize, flags)
}

/// Part of a message was sent, and what stands behind waits: only a stream does that. How much was sent in the end.
fn send_rest(descriptor: c_int, parts: &[libc::iovec], sent: usize, flags: usize) -> isize {
    let (mut all, mut before) = (sent, 0);
    for part in parts {
        let end = before + part.iov_len;
        while all < end {
            if all == sent && watched::is_nonblocking(descriptor) {
                return sent as isize;
            }
            let (from, bytes) = (part.iov_base.expose_provenance() + (all - before), end - all);
            let more = transfer(descriptor, Way::Out, flags, |flags| {
                call(libc::SYS_sendto, [descriptor as usize, from, bytes, flags, 0, 0])
            });
            if more <= 0 {
                return all as isize;
            }
            all += more as usize;
        }
        before = end;
    }
    all as isize
}

unsafe extern "C-unwind" fn accept_one(descriptor: c_int, address: usize, bytes: usize) -> c_int {
    accepted(descriptor, 0, || call(libc::SYS_accept, [descriptor as usize, address, bytes]))
}

unsafe extern "C-unwind" fn accept_as(
    descriptor: c_int,
    address: usize,
    bytes: usize,
    flags: usize,
) -> c_int {
    accepted(descriptor, flags, || call(libc::SYS_accept4, [descriptor as usize, address, bytes, flags]))
}

/// A connection, when there is one; what is wrong is refused before a wait.
fn accepted(descriptor: c_int, flags: usize, make: impl Fn() -> Result<usize, Errno>) -> c_int {
    const FLAGS: usize = (libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) as usize;
    if flags & !FLAGS != 0 || !is_listener(descriptor) {
        return told(make()) as c_int;
    }
    let peer = when_ready(descriptor, Way::In, true, make) as c_int;
    if peer >= 0 {
        hint(peer).store(false, Ordering::Relaxed);
    }
    peer
}

fn is_listener(descriptor: c_int) -> bool {
    option(descriptor, libc::SO_ACCEPTCONN) != 0
}

/// In a `blocking` call, unless `at_once`.
fn away<T: Send>(at_once: bool, make: impl FnOnce() -> T + Send) -> T {
    cancel::point();
    if at_once || record::here().is_none() { make() } else { blocking(make) }
}

/// As [`away`], a call of the kernel's.
fn kernel_away(at_once: bool, make: impl Fn() -> Result<usize, Errno> + Send) -> c_int {
    cancel::point();
    told(if at_once { make() } else { call_away(true, make) }) as c_int
}

unsafe extern "C-unwind" fn connect_to(descriptor: c_int, address: usize, bytes: usize) -> c_int {
    let make = move || call(libc::SYS_connect, [descriptor as usize, address, bytes]);
    kernel_away(watched::is_nonblocking(descriptor), make)
}

unsafe extern "C-unwind" fn lock_file(descriptor: c_int, operation: c_int) -> c_int {
    let at_once = operation & (libc::LOCK_NB | libc::LOCK_UN) != 0;
    kernel_away(at_once, move || call(libc::SYS_flock, [descriptor as usize, operation as usize]))
}

unsafe extern "C-unwind" fn control(descriptor: c_int, command: c_int, argument: usize) -> c_int {
    type Control = unsafe extern "C" fn(c_int, c_int, usize) -> c_int;
    let next = next!(c"fcntl": Control);
    let waits = matches!(command, libc::F_SETLKW | libc::F_OFD_SETLKW);
    if !waits {
        // SAFETY: the caller's arguments.
        return unsafe { next(descriptor, command, argument) };
    }
    // SAFETY: the caller's arguments.
    away(false, move || unsafe { next(descriptor, command, argument) })
}

unsafe extern "C-unwind" fn sync(descriptor: c_int) -> c_int {
    kernel_away(false, move || call(libc::SYS_fsync, [descriptor as usize]))
}

unsafe extern "C-unwind" fn sync_data(descriptor: c_int) -> c_int {
    kernel_away(false, move || call(libc::SYS_fdatasync, [descriptor as usize]))
}

unsafe extern "C-unwind" fn look_up(host: usize, service: usize, hints: usize, result: usize) -> c_int {
    type LookUp = unsafe extern "C" fn(usize, usize, usize, usize) -> c_int;
    let next = next!(c"getaddrinfo": LookUp);
    // SAFETY: the caller's arguments.
    away(false, move || unsafe { next(host, service, hints, result) })
}

unsafe extern "C-unwind" fn run_shell(command: usize) -> c_int {
    type System = unsafe extern "C" fn(usize) -> c_int;
    let next = next!(c"system": System);
    // SAFETY: the caller's argument.
    away(false, move || with_own_mask(|| unsafe { next(command) }))
}

unsafe extern "C-unwind" fn close_pipe(stream: usize) -> c_int {
    type Close = unsafe extern "C" fn(usize) -> c_int;
    let next = next!(c"pclose": Close);
    // SAFETY: the caller's argument.
    away(false, move || unsafe { next(stream) })
}

unsafe extern "C" fn close_one(descriptor: c_int) -> c_int {
    forget(descriptor);
    told(call(libc::SYS_close, [descriptor as usize])) as c_int
}

unsafe extern "C" fn duplicate(descriptor: c_int, to: c_int) -> c_int {
    if descriptor != to {
        forget(to);
    }
    told(call(libc::SYS_dup2, [descriptor as usize, to as usize])) as c_int
}

unsafe extern "C" fn duplicate_as(descriptor: c_int, to: c_int, flags: c_int) -> c_int {
    forget(to);
    told(call(libc::SYS_dup3, [descriptor as usize, to as usize, flags as usize])) as c_int
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __read_chk(descriptor: c_int, place: usize, bytes: usize, room: usize) -> isize {
    type Read = unsafe extern "C" fn(c_int, usize, usize, usize) -> isize;
    if bytes > room {
        // SAFETY: the caller's arguments, which end the program.
        return unsafe { next!(c"__read_chk": Read)(descriptor, place, bytes, room) };
    }
    // SAFETY: the caller's arguments.
    unsafe { read_some(descriptor, place, bytes) }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __recv_chk(
    descriptor: c_int,
    place: usize,
    bytes: usize,
    room: usize,
    flags: usize,
) -> isize {
    type Receive = unsafe extern "C" fn(c_int, usize, usize, usize, usize) -> isize;
    if bytes > room {
        // SAFETY: the caller's arguments, which end the program.
        return unsafe { next!(c"__recv_chk": Receive)(descriptor, place, bytes, room, flags) };
    }
    // SAFETY: the caller's arguments.
    unsafe { receive(descriptor, place, bytes, flags) }
}
