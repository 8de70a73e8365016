//! Owns: `Header`, the first bytes of everything that a queue can hold, and the pointer type to it.
//! May use: `glance`, `prim::model`, `prim::real`.
//! Never: what a particular kind of runnable does; that is the dispatcher's.
//!
//! One idea carries Raddle: the scheduler queues one type. A process, a thread, a task (a Rust future) and a fork that
//! was taken each begin with a [`Header`]; queues link headers, and only the dispatcher looks at the kind. A table of
//! functions in the header was considered: the kinds are a closed set, and a switch between two started processes would
//! pay a load and an indirect call where it now tests one flag.
//!
//! | field | who may touch it, and when |
//! |---|---|
//! | `link` | whoever holds the runnable: the queue that it is in (a fresh list: who made it), else who took it out |
//! | `flags` | written while exactly one thread holds the runnable (made, first dispatched); read by that thread |
//! | `worker` | as `flags`: the worker that it last ran on, or is bound to |
//! | `kind` | never written after construction |
//! | `number` | as `flags`; 0 until a trace first asks for it |
//! | `forks` | the runnable itself, while it runs; of an engine's, as `flags`; of others, never written |

use crate::glance::{GlancePtr, GlanceU16};
use crate::prim::Link;
use crate::protocol::jobs::Forks;
use std::cell::Cell;
use std::ptr::NonNull;

/// What a runnable is; decides how the dispatcher runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A process: has, or will get, a stack of its own; light, or with storage of its own ([`OWN_TLS`]).
    Process,
    /// A Rust future, polled on the worker's own stack.
    Task,
    /// One of many of an engine's, which runs it on the worker's own stack.
    Engine,
    /// An OS thread that waits in a call of ours. Never queued; waking it is a futex call.
    OsThread,
    /// Stands where one waits who may go before it is woken, or who polls. Never queued; to wake it is a function's.
    Bell,
    /// The worker's own stack: the loop that everything returns to. Never queued.
    Worker,
}

/// Set once a process stands on a stack: the dispatcher may transfer to it without a further look. Of nothing else.
pub const STARTED: u16 = 1;
/// May be run by any worker now.
pub const MOVABLE: u16 = 2;
/// Was placed by the user on its worker and stays there.
pub const PLACED: u16 = 4;
/// A process with thread-local storage of its own. It may move after it has started, too. Without [`AS_IS`] and
/// [`ANEW`] a *thread*.
pub const OWN_TLS: u16 = 8;
/// Runs, and not on its worker: on a spare OS thread, inside of a `blocking`).
pub const AWAY: u16 = 16;
/// A process that is in a region which may be cancelled. Written by itself, as it runs.
pub const CANCELLABLE: u16 = 32;
/// A thread of C: its storage outlives it until it is joined, and its control words are its own.
pub const FOREIGN: u16 = 64;

/// With [`OWN_TLS`]: its storage is taken as the last process has left it, and goes back as this one leaves it.
pub const AS_IS: u16 = 128;
/// A job that uses its worker's storage, and holds the OS thread through its waits, so that nobody else does meanwhile.
pub const HOLDS: u16 = 256;
/// With [`OWN_TLS`]: a process that finds first values in its storage and runs destructors at its end, as a thread
/// does, since nothing of its run is to reach another. To reports it is a process.
pub const ANEW: u16 = 512;
/// A process that waits for its children. Written by itself, as it runs.
pub const JOINS: u16 = 1024;
/// Has never run, lies in the mail of the worker that it is for, and need not start there as long as anything else can.
pub const LATER: u16 = 2048;
/// A process that was passed by and has begun all the same.
pub const PASSED: u16 = 4096;
/// With [`PASSED`]: it has waited for a child since, and counts among the branches under way until it ends.
pub const BRANCH: u16 = 8192;
/// Nobody else is to run what it forks now. Written by itself, as it runs.
pub const IN_TURN: u16 = 16384;

/// Whether what has these flags is a thread: it has storage of its own, and is no process.
#[inline]
pub const fn is_thread(flags: u16) -> bool {
    flags & (OWN_TLS | AS_IS | ANEW) == OWN_TLS
}

/// What a dispatcher does to run it, or a waker to wake it. Called by whoever holds the right to.
pub type Act = unsafe fn(*mut Header);

/// The first bytes of everything that a queue can hold.
#[derive(Debug)]
#[repr(C)]
pub struct Header {
    /// The next in the queue that it is in.
    pub link: Link<Header>,
    /// Points to a `Worker`; null until the runnable is first given to one.
    pub worker: GlancePtr,
    /// What it is.
    pub kind: Kind,
    /// The bits below, from [`STARTED`] on.
    pub flags: GlanceU16,
    /// What traces call it, if it has no number of its own kind.
    pub number: Cell<u32>,
    /// Its forks that nobody has asked for; null outside of any `join` or `scope`. What is nobody's current header is
    /// never asked for forks: an engine's has there whose it is; a task, an OS thread, a bell its [`Act`].
    pub forks: Cell<*const Forks>,
}

impl Header {
    /// The header of something that no worker has yet.
    #[inline]
    pub fn new(kind: Kind, flags: u16) -> Self {
        Header {
            link: Link::new(),
            worker: GlancePtr::new(std::ptr::null_mut()),
            kind,
            flags: GlanceU16::new(flags),
            number: Cell::new(0),
            forks: Cell::new(std::ptr::null()),
        }
    }

    /// The header of what forks nothing, and is run or woken by a function of its own: a task, an OS thread, a bell.
    #[inline]
    pub fn acting(kind: Kind, flags: u16, act: Act) -> Self {
        let header = Header::new(kind, flags);
        header.forks.set((act as *const ()).cast());
        header
    }

    /// The function of a header that was made by [`acting`](Self::acting).
    ///
    /// # Safety
    /// It was.
    #[inline(always)]
    pub unsafe fn act(&self) -> Act {
        debug_assert!(
            matches!(self.kind, Kind::Task | Kind::OsThread | Kind::Bell),
            "others have forks there"
        );
        // SAFETY: `acting` has made it of such a function.
        unsafe { std::mem::transmute::<*const Forks, Act>(self.forks.get()) }
    }

    /// A word of whoever an engine's belongs to, in the place of its forks, which it has none of.
    #[inline(always)]
    pub fn owner<T>(&self) -> &Cell<*const T> {
        debug_assert!(self.kind == Kind::Engine, "others have forks there");
        // SAFETY: a cell of a pointer lies in memory as the pointer does, and all thin pointers are alike.
        unsafe { &*(&raw const self.forks).cast() }
    }

    /// The flags, for whoever looks at it without holding it.
    #[inline]
    pub fn flags_now(&self) -> u16 {
        self.flags.get()
    }

    /// Whether one of these flags is set.
    #[inline(always)]
    pub fn is(&self, flag: u16) -> bool {
        self.flags.get() & flag != 0
    }

    /// Whether it is a light process that has started, and so stays with its worker, on which it runs or waits to run.
    ///
    /// PERF: only processes start, so that the flags alone answer, by one comparison; benches `pingpong`, `yield2`.
    #[inline(always)]
    pub fn is_bound_process(&self) -> bool {
        self.flags.get() & (STARTED | MOVABLE | OWN_TLS | AWAY) == STARTED
    }

    /// Of what runs on this OS thread: whether it is a process on its worker that may leave its stack by any switch,
    /// and nothing but what it waits for ends its waits. (A thread of C has control words to be switched, too.)
    #[inline(always)]
    pub fn waits_plainly(&self) -> bool {
        self.flags.get() & (STARTED | AWAY | CANCELLABLE | FOREIGN | HOLDS) == STARTED
    }

    /// Of what runs on this OS thread: whether it is a process that holds it. See [`HOLDS`].
    #[inline(always)]
    pub fn holds_thread(&self) -> bool {
        self.flags.get() & (STARTED | AWAY | HOLDS) == STARTED | HOLDS
    }

    /// Of what runs on this OS thread: whether it is a process, and that on its worker.
    #[inline(always)]
    pub fn is_process_on_worker(&self) -> bool {
        self.flags.get() & (STARTED | AWAY) == STARTED
    }
}

/// A runnable that the holder owns the right to run or to queue. Copying the pointer does not copy the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Runnable(NonNull<Header>);

impl Runnable {
    /// # Safety
    /// `header` begins a live runnable, and the caller holds the right to run it.
    #[inline(always)]
    pub unsafe fn from_raw(header: *mut Header) -> Option<Runnable> {
        NonNull::new(header).map(Runnable)
    }

    /// The address, which does not carry the right.
    #[inline(always)]
    pub fn as_ptr(self) -> *mut Header {
        self.0.as_ptr()
    }

    /// What is known of it.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        // SAFETY: whoever made this `Runnable` vouched that it points to a live one, and it stays live while it is
        // held: a runnable is freed only by running to its end, or by whoever took it out of its last queue.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: a `Runnable` is the right to run something whose captured state was required to be `Send` when it was
// made; passing the right on passes nothing else.
unsafe impl Send for Runnable {}
