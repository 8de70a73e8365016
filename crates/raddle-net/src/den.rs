//! Owns: `NetDen`: the kernel's poll of one runtime, in which its workers sleep.
//! May use: `libc`, `raddle-core`, `raddle-syscall`, `rustix`.
//! Never: what a descriptor is; who waits for it: it tells a number.
//!
//! The bell is a descriptor of `eventfd(2)`, in the poll as others are, but level-triggered, and only the sleeper takes
//! it back: a worker that looks meanwhile sees it, and leaves it for the sleeper.

use libc::{EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP, epoll_event};
use raddle_core::door::poller::Den;
use raddle_core::orphan::generation;
use raddle_core::runtime::Shared;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use std::any::Any;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A busy worker looks no more often. A look takes 0.3 us.
const GAP: Duration = Duration::from_micros(50);
/// So many events are taken at once.
const EVENTS: usize = 256;
/// The bell's number: there is no such source.
const BELL: u64 = u64::MAX;
/// What says that a read would not wait, or a write.
const READABLE: u32 = (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR) as u32;
const WRITABLE: u32 = (EPOLLOUT | EPOLLHUP | EPOLLERR) as u32;
/// What a read finds behind the last byte, or has to stop at.
const ODD: u32 = (EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR) as u32;

/// What the kernel has said when it was told of a descriptor.
pub(crate) enum Added {
    Now,
    /// It polls it already, for another source.
    IsAnothers,
    /// It does not poll such.
    IsAlwaysReady,
}

/// What the kernel tells of a source.
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// There is more than bytes: the end, an error, urgent data.
    pub(crate) is_odd: bool,
}

/// Is told an edge of the source of this number.
pub(crate) type Tell = fn(u32, Edge);

pub(crate) struct NetDen {
    /// Never used again; from 1.
    number: u32,
    generation: u64,
    poll: OwnedFd,
    bell: OwnedFd,
    tell: Tell,
    /// What the one who slept has found, and what those who look find.
    slept: Mutex<Events>,
    looked: Mutex<Events>,
}

struct Events {
    events: Box<[epoll_event]>,
    found: usize,
}

static NEXT: AtomicU32 = AtomicU32::new(1);
static ALL: Mutex<Vec<(u32, Weak<NetDen>)>> = Mutex::new(Vec::new());

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The den of this number, if its runtime has not ended.
pub(crate) fn find(number: u32) -> Option<Arc<NetDen>> {
    let found = lock(&ALL).iter().find(|(other, _)| *other == number)?.1.upgrade();
    found.filter(|den| den.generation == generation())
}

/// The lock of the list of dens, which a forked child needs too.
pub(crate) fn hold_over_fork() -> MutexGuard<'static, impl Sized> {
    lock(&ALL)
}

impl Events {
    fn new() -> Events {
        Events { events: vec![epoll_event { events: 0, u64: 0 }; EVENTS].into(), found: 0 }
    }

    /// Wakes whoever waits for what was found.
    fn tell(&mut self, tell: Tell) {
        for event in &self.events[..std::mem::take(&mut self.found)] {
            let (number, events) = (event.u64, event.events);
            if let Ok(number) = u32::try_from(number) {
                let is = |any: u32| events & any != 0;
                tell(number, Edge { readable: is(READABLE), writable: is(WRITABLE), is_odd: is(ODD) });
            }
        }
    }
}

impl NetDen {
    fn make(tell: Tell) -> io::Result<Arc<dyn Den>> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&poll, &bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (slept, looked) = (Mutex::new(Events::new()), Mutex::new(Events::new()));
        let den = Arc::new(NetDen { number, generation: generation(), poll, bell, tell, slept, looked });
        lock(&ALL).push((number, Arc::downgrade(&den)));
        Ok(den)
    }

    /// The runtime's, which is made if it has none yet.
    pub(crate) fn of(shared: &Shared, tell: Tell) -> io::Result<&NetDen> {
        let den = shared.den("descriptors", GAP, || NetDen::make(tell))?;
        den.as_any().downcast_ref().ok_or_else(|| io::Error::other("the runtime has another den"))
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Has the kernel tell of the descriptor, as of the source of this number.
    pub(crate) fn add(&self, descriptor: BorrowedFd<'_>, number: u32) -> io::Result<Added> {
        use epoll::EventFlags as Flag;
        let flags = Flag::IN | Flag::OUT | Flag::RDHUP | Flag::PRI | Flag::ET;
        match epoll::add(&self.poll, descriptor, epoll::EventData::new_u64(number.into()), flags) {
            Ok(()) => Ok(Added::Now),
            Err(Errno::EXIST) => Ok(Added::IsAnothers),
            Err(Errno::PERM) => Ok(Added::IsAlwaysReady),
            Err(refused) => Err(refused.into()),
        }
    }

    pub(crate) fn remove(&self, descriptor: BorrowedFd<'_>) {
        // Refused only if it is not there.
        let _refused = epoll::delete(&self.poll, descriptor);
    }

    fn wait(&self, events: &mut Events, at_most: Option<Duration>) {
        // A signal ends it early, as a wake does.
        let found = raddle_syscall::epoll_wait(self.poll.as_raw_fd(), &mut events.events, at_most);
        events.found = found.unwrap_or(0);
    }
}

impl Den for NetDen {
    fn sleep(&self, at_most: Option<Duration>) {
        let mut events = lock(&self.slept);
        if events.found > 0 {
            return;
        }
        self.wait(&mut events, at_most);
        let found = events.found;
        if events.events[..found].iter().any(|event| { event.u64 } == BELL) {
            // Whoever rings after this ends the next sleep.
            let _rung = rustix::io::read(&self.bell, &mut [0; 8]);
        }
    }

    fn ring(&self) {
        // Refused only when it rings already.
        let _full = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    fn see_to(&self, looks: bool) {
        // If another one sleeps there, that one sees to it.
        if let Ok(mut slept) = self.slept.try_lock() {
            slept.tell(self.tell);
        }
        if looks && let Ok(mut looked) = self.looked.try_lock() {
            self.wait(&mut looked, Some(Duration::ZERO));
            looked.tell(self.tell);
        }
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

impl Drop for NetDen {
    fn drop(&mut self) {
        if self.generation == generation() {
            lock(&ALL).retain(|(number, _)| *number != self.number);
        }
    }
}
