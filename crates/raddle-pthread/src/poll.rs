//! Owns: calls that wait for several descriptors: `poll`, `select`, `epoll_wait`.
//! May use: `errno`, `thread`, `watched`, `libc`, `raddle-context`, `raddle-core`, `raddle-syscall`.
//! Never: a wait on a worker.
//!
//! All ask first whether anything is ready. A poll of one descriptor waits for that one, an `epoll_wait` for its own,
//! which is readable when it has something to tell. The others wait on a spare OS thread.

use crate::errno::{answer, fail};
use crate::next::next;
use crate::thread::cancel;
use crate::thread::record;
use crate::thread::signals::call_away;
use crate::thread::time::sleep_for;
use crate::thread::wait::{Handlers, span};
use crate::watched::{self, DescriptorEnd, Way};
use raddle_context::interpose;
use std::ffi::{c_int, c_short};
use std::time::{Duration, Instant};

interpose! {
    poll => poll_some;
    __poll => poll_some;
    ppoll => poll_by;
    select => select_some;
    pselect => select_by;
    epoll_wait => wait_for_events;
    epoll_pwait => wait_for_events_masked;
}

type Polled = libc::pollfd;

/// Which way a poll of one descriptor waits, if it is one way.
fn way_of(events: c_short) -> Option<Way> {
    let (reads, writes) = (libc::POLLIN | libc::POLLRDNORM, libc::POLLOUT | libc::POLLWRNORM);
    if events & !reads == 0 && events != 0 {
        Some(Way::In)
    } else if events & !writes == 0 && events != 0 {
        Some(Way::Out)
    } else {
        None
    }
}

fn until(span: Option<Duration>) -> Option<Instant> {
    span.and_then(raddle_core::door::futex::deadline)
}

/// # Safety
/// So many entries are the program's.
unsafe fn poll_for(files: *mut Polled, number: libc::nfds_t, time: Option<Duration>) -> c_int {
    let files: &mut [Polled] = if number == 0 {
        &mut []
    } else {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts_mut(files, number as usize) }
    };
    if record::here().is_none() {
        return answer(raddle_syscall::poll(files, time)) as c_int;
    }
    cancel::point();
    let first = raddle_syscall::poll(files, Some(Duration::ZERO));
    if first != Ok(0) || time == Some(Duration::ZERO) {
        if first == Ok(0) {
            raddle_core::door::tick::yield_if_due();
        }
        return answer(first) as c_int;
    }
    let end = until(time);
    match (files.len(), files.first().map(|file| (file.fd, way_of(file.events)))) {
        (0, _) if time.is_some() => sleep_for(time.unwrap_or_default()).map_or(0, |_| fail(libc::EINTR)),
        (1, Some((descriptor, Some(way)))) if descriptor >= 0 => loop {
            let ended = watched::wait(descriptor, way, end, Handlers::All);
            let found = raddle_syscall::poll(files, Some(Duration::ZERO));
            if found == Ok(0) && ended == DescriptorEnd::Interrupted {
                return fail(libc::EINTR);
            }
            if found != Ok(0) || ended == DescriptorEnd::TimedOut {
                return answer(found) as c_int;
            }
            cancel::point();
        },
        _ => {
            let (first, number) = (files.as_mut_ptr().expose_provenance(), files.len());
            answer(call_away(false, || {
                let first = std::ptr::with_exposed_provenance_mut(first);
                // SAFETY: the same entries, which nobody else uses meanwhile.
                let files = unsafe { std::slice::from_raw_parts_mut(first, number) };
                raddle_syscall::poll(files, time)
            })) as c_int
        }
    }
}

unsafe extern "C-unwind" fn poll_some(
    files: *mut Polled,
    number: libc::nfds_t,
    milliseconds: c_int,
) -> c_int {
    let time = u64::try_from(milliseconds).ok().map(Duration::from_millis);
    // SAFETY: the caller's.
    unsafe { poll_for(files, number, time) }
}

unsafe extern "C-unwind" fn poll_by(
    files: *mut Polled,
    number: libc::nfds_t,
    time: Option<&libc::timespec>,
    mask: *const libc::sigset_t,
) -> c_int {
    type Poll = unsafe extern "C" fn(
        *mut Polled,
        libc::nfds_t,
        Option<&libc::timespec>,
        *const libc::sigset_t,
    ) -> c_int;
    let known = time.map(span).transpose();
    match known {
        // SAFETY: the caller's.
        Ok(time) if mask.is_null() => unsafe { poll_for(files, number, time) },
        // SAFETY: the caller's.
        _ => unsafe { next!(c"ppoll": Poll)(files, number, time, mask) },
    }
}

type SetAddress = usize;

/// By the kernel: first whether anything is ready, with the sets kept for a second time.
fn select_for(
    number: c_int,
    sets: [SetAddress; 3],
    time: Option<Duration>,
    make: impl Fn() -> c_int + Send,
) -> c_int {
    const WORDS: usize = libc::FD_SETSIZE / 64;
    let (words, none) = ((number.max(0) as usize).div_ceil(64), time == Some(Duration::ZERO));
    if record::here().is_none() || none || words > WORDS {
        return make();
    }
    cancel::point();
    if number == 0
        && let Some(time) = time
    {
        return sleep_for(time).map_or(0, |_| fail(libc::EINTR));
    }
    let mut kept = [[0_u64; WORDS]; 3];
    for (kept, set) in kept.iter_mut().zip(sets).filter(|(_, set)| *set != 0) {
        let from = std::ptr::with_exposed_provenance::<u64>(set);
        // SAFETY: the program's set, of so many words.
        kept[..words].copy_from_slice(unsafe { std::slice::from_raw_parts(from, words) });
    }
    let mut zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let place = (&raw mut zero).expose_provenance();
    let found = loop {
        // SAFETY: the program's sets, and a span of none.
        let found = unsafe {
            raddle_syscall::call(libc::SYS_pselect6, [number as usize, sets[0], sets[1], sets[2], place, 0])
        };
        // A tick on its way interrupts even what does not wait.
        if found != Err(raddle_syscall::Errno(libc::EINTR)) {
            break found;
        }
    };
    if found != Ok(0) {
        return answer(found) as c_int;
    }
    for (kept, set) in kept.iter().zip(sets).filter(|(_, set)| *set != 0) {
        let to = std::ptr::with_exposed_provenance_mut::<u64>(set);
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(to, words) }.copy_from_slice(&kept[..words]);
    }
    let [a, b, c] = sets;
    let span = time
        .map(|time| libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
    answer(call_away(false, move || {
        // The kernel writes there what is left, if it is interrupted.
        let mut span = span;
        let place = span.as_mut().map_or(0, |span| std::ptr::from_mut(span).expose_provenance());
        // SAFETY: the program's sets.
        unsafe { raddle_syscall::call(libc::SYS_pselect6, [number as usize, a, b, c, place, 0]) }
    })) as c_int
}

unsafe extern "C-unwind" fn select_some(
    number: c_int,
    a: SetAddress,
    b: SetAddress,
    c: SetAddress,
    time: usize,
) -> c_int {
    type Select = unsafe extern "C" fn(c_int, SetAddress, SetAddress, SetAddress, usize) -> c_int;
    let next = next!(c"select": Select);
    // SAFETY: null, or the program's.
    let span = unsafe { std::ptr::with_exposed_provenance::<libc::timeval>(time).as_ref() };
    let span = span.map(|span| {
        Duration::new(span.tv_sec.max(0) as u64, 0) + Duration::from_micros(span.tv_usec.max(0) as u64)
    });
    // SAFETY: the caller's.
    select_for(number, [a, b, c], span, move || unsafe { next(number, a, b, c, time) })
}

unsafe extern "C-unwind" fn select_by(
    number: c_int,
    a: SetAddress,
    b: SetAddress,
    c: SetAddress,
    time: usize,
    mask: usize,
) -> c_int {
    type Select = unsafe extern "C" fn(c_int, SetAddress, SetAddress, SetAddress, usize, usize) -> c_int;
    let next = next!(c"pselect": Select);
    // SAFETY: null, or the program's.
    let known = unsafe { std::ptr::with_exposed_provenance::<libc::timespec>(time).as_ref() };
    // SAFETY: the caller's.
    let make = move || unsafe { next(number, a, b, c, time, mask) };
    match known.map(span).transpose() {
        Ok(span) if mask == 0 => select_for(number, [a, b, c], span, make),
        _ => make(),
    }
}

fn events(poll: c_int, place: usize, most: c_int, milliseconds: c_int) -> c_int {
    let ask = |milliseconds: c_int| {
        let time = milliseconds as usize;
        // SAFETY: the program's memory for so many events.
        unsafe {
            raddle_syscall::call(libc::SYS_epoll_pwait, [poll as usize, place, most as usize, time, 0, 0])
        }
    };
    if record::here().is_none() {
        return answer(ask(milliseconds)) as c_int;
    }
    cancel::point();
    let end = watched::until(milliseconds);
    loop {
        let found: Result<usize, _> = ask(0);
        if found != Ok(0) || milliseconds == 0 {
            return answer(found) as c_int;
        }
        match watched::wait(poll, Way::In, end, Handlers::All) {
            DescriptorEnd::Ready => {}
            DescriptorEnd::TimedOut => return answer(ask(0)) as c_int,
            DescriptorEnd::Interrupted | DescriptorEnd::Arrived | DescriptorEnd::Cancelled => {
                return fail(libc::EINTR);
            }
        }
        cancel::point();
    }
}

unsafe extern "C-unwind" fn wait_for_events(
    poll: c_int,
    place: usize,
    most: c_int,
    milliseconds: c_int,
) -> c_int {
    events(poll, place, most, milliseconds)
}

unsafe extern "C-unwind" fn wait_for_events_masked(
    poll: c_int,
    place: usize,
    most: c_int,
    milliseconds: c_int,
    mask: usize,
) -> c_int {
    type EventsWait = unsafe extern "C" fn(c_int, usize, c_int, c_int, usize) -> c_int;
    if mask == 0 {
        return events(poll, place, most, milliseconds);
    }
    // SAFETY: the caller's.
    unsafe { next!(c"epoll_pwait": EventsWait)(poll, place, most, milliseconds, mask) }
}
