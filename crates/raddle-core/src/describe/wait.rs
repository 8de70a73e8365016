//! Owns: `Wait`, what somebody waits for, as a report tells it: in which call, for what, and where in the program.
//! May use: `block::control`, `block::current`, `os_thread`, `stamp`, `raddle-context`, `raddle-protocol`.
//! Never: an allocation, or a lock, while somebody waits; following what is not waited for any more.
//!
//! A [`Wait`] lies in the frame of the one who waits, and its control block points to it from [`show`](Wait::show)
//! until the wait is over. Whoever reads it has stopped the process, or is it: so it stands while it is read, and
//! so does the object, which the one who waits borrows. What the object is, who holds it and where it was taken the
//! object itself says: it is a [`Subject`], and each call that may wait is a [`CallOn`] for its kind of subject, a
//! constant.
//!
//! It is written on the way into a wait only. An operation that need not wait pays nothing for it; a wait pays four
//! stores into a frame, and one each into its control block before and after. A process that joins, or parks, in
//! no other wait, does so by [`show_alone`](Wait::show_alone), which saves the look at what was there; who parks writes
//! only two words into its frame ([`Parked`]). One that waits at a channel shows nothing: it leaves three words in the
//! switch, where [`waits_for`](Block::waits_for) finds them as long as it is suspended there (`raddle_context::note`).
//! `--cfg raddle_unnoted` leaves all of it out, with the holders of locks: only to measure what it costs.

use crate::block::Block;
use crate::block::current_header;
use crate::describe::Held;
use crate::describe::meeting::MEETINGS;
use crate::describe::thing::Thing;
use crate::os_thread;
use crate::stamp::Stamp;
use raddle_context::note;
use raddle_protocol::call::{WaitCall, WaitReason};
use raddle_protocol::header::{AWAY, Kind};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// Something that one can wait for.
pub trait Subject {
    /// In the words of the field: `mutex`.
    const KIND: &'static str;

    /// The address by which two waits for the same thing are known.
    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    /// Who holds it, if that is known.
    fn held(&self) -> Option<Held> {
        None
    }

    /// All who hold it, as far as that is known.
    fn holders(&self, each: &mut dyn FnMut(Held)) {
        self.held().into_iter().for_each(each);
    }

    /// Who alone could end the wait by going on, if that is known: the address of a process's control block, or of what
    /// the process of a job shows as its own (see `job::waits`). Compared, never followed.
    fn awaits(&self) -> *const () {
        std::ptr::null()
    }

    /// The things by which others could end the wait, if it is not known who.
    fn things(&self, _each: &mut dyn FnMut(Thing)) {}

    /// What else there is to say of it: `2 of 3 have come`.
    fn state(&self, _out: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// A call that may wait for a subject of type `S`.
pub struct CallOn<S> {
    call: Call,
    subject: PhantomData<fn(&S)>,
}

/// The same for whatever type: what is done with the address of a subject is of its type.
struct Call {
    wait: WaitCall,
    kind: &'static str,
    address: unsafe fn(*const ()) -> *const (),
    held: unsafe fn(*const ()) -> Option<Held>,
    holders: unsafe fn(*const (), &mut dyn FnMut(Held)),
    awaits: unsafe fn(*const ()) -> *const (),
    things: unsafe fn(*const (), &mut dyn FnMut(Thing)),
    state: unsafe fn(*const (), &mut dyn fmt::Write) -> fmt::Result,
}

impl<S: Subject> CallOn<S> {
    /// The call of this name, `Mutex::lock`, in which one waits for that reason, as traces tell it.
    ///
    /// ```
    /// use raddle_core::wait::{CallOn, Subject, WaitReason};
    ///
    /// struct Latch;
    /// impl Subject for Latch {
    ///     const KIND: &'static str = "latch";
    /// }
    /// const PASS: CallOn<Latch> = CallOn::new("Latch::pass", WaitReason::Barrier);
    /// assert_eq!((PASS.call().name(), PASS.call().reason()), ("Latch::pass", WaitReason::Barrier));
    /// ```
    ///
    /// A call without a reason is none:
    ///
    /// ```compile_fail,E0061
    /// use raddle_core::wait::{CallOn, Subject, WaitReason};
    ///
    /// struct Latch;
    /// impl Subject for Latch {
    ///     const KIND: &'static str = "latch";
    /// }
    /// const PASS: CallOn<Latch> = CallOn::new("Latch::pass");
    /// ```
    pub const fn new(name: &'static str, reason: WaitReason) -> CallOn<S> {
        let wait = WaitCall::new(name, reason);
        let (address, held, awaits) = (address::<S>, held::<S>, awaits::<S>);
        let (holders, things, state) = (holders::<S>, things::<S>, state::<S>);
        let call = Call { wait, kind: S::KIND, address, held, holders, awaits, things, state };
        CallOn { call, subject: PhantomData }
    }

    /// As [`new`](Self::new), of a call in which time ends each wait.
    pub const fn with_deadline(name: &'static str, reason: WaitReason) -> CallOn<S> {
        let CallOn { call, subject } = CallOn::new(name, reason);
        CallOn { call: Call { wait: call.wait.with_deadline(), ..call }, subject }
    }

    /// Its name.
    #[inline(always)]
    pub fn name(&self) -> &'static str {
        self.call.wait.name()
    }

    /// Its name and its reason.
    #[inline(always)]
    pub const fn call(&'static self) -> &'static WaitCall {
        &self.call.wait
    }
}

/// # Safety
/// `subject` is the address of an `S` that is there.
unsafe fn address<S: Subject>(subject: *const ()) -> *const () {
    // SAFETY: passed on to the caller.
    unsafe { &*subject.cast::<S>() }.address()
}

/// # Safety
/// As for [`address`].
unsafe fn held<S: Subject>(subject: *const ()) -> Option<Held> {
    // SAFETY: passed on to the caller.
    unsafe { &*subject.cast::<S>() }.held()
}

/// # Safety
/// As for [`address`].
unsafe fn holders<S: Subject>(subject: *const (), each: &mut dyn FnMut(Held)) {
    // SAFETY: passed on to the caller.
    unsafe { &*subject.cast::<S>() }.holders(each);
}

/// # Safety
/// As for [`address`].
unsafe fn awaits<S: Subject>(subject: *const ()) -> *const () {
    // SAFETY: passed on to the caller.
    unsafe { &*subject.cast::<S>() }.awaits()
}

/// # Safety
/// As for [`address`].
unsafe fn things<S: Subject>(subject: *const (), each: &mut dyn FnMut(Thing)) {
    // SAFETY: passed on to the caller.
    unsafe { &*subject.cast::<S>() }.things(each);
}

/// # Safety
/// As for [`address`].
unsafe fn state<S: Subject>(subject: *const (), out: &mut dyn fmt::Write) -> fmt::Result {
    // SAFETY: passed on to the caller.
    unsafe { &*subject.cast::<S>() }.state(out)
}

/// What somebody waits for. In its frame, or made of what it has noted.
#[derive(Clone, Copy)]
pub struct Wait<'s> {
    call: &'static Call,
    subject: *const (),
    site: &'static Location<'static>,
    since: Stamp,
    borrowed: PhantomData<&'s ()>,
}

impl<'s> Wait<'s> {
    /// The caller is about to wait in `call` for `subject`, at `site` in the program.
    #[inline(always)]
    pub fn on<S: Subject>(
        call: &'static CallOn<S>,
        subject: &'s S,
        site: &'static Location<'static>,
    ) -> Wait<'s> {
        let subject = std::ptr::from_ref(subject).cast();
        Wait { call: &call.call, subject, site, since: Stamp::now(), borrowed: PhantomData }
    }

    /// Shows it at the control block of the process that runs, until what is returned goes.
    #[inline(always)]
    pub fn show(&self) -> Shown<'_> {
        let header = current_header();
        // SAFETY: the word is null or the header of what runs here, which is alive.
        let Some(running) = (unsafe { header.as_ref() }) else { return self.show_outside() };
        if running.kind != Kind::Process || running.is(AWAY) {
            return Shown { before: Before::Nothing, wait: PhantomData };
        }
        // SAFETY: the kind says that it is a block.
        self.show_at(unsafe { Block::of_header(header) })
    }

    /// Shows it at the record of the OS thread.
    #[cold]
    fn show_outside(&self) -> Shown<'_> {
        let before = Before::OsThread(os_thread::show_wait(std::ptr::from_ref(self).cast()));
        Shown { before, wait: PhantomData }
    }

    /// As [`show`](Self::show), at the control block of the caller.
    #[inline(always)]
    pub fn show_at(&self, block: &'static Block) -> Shown<'_> {
        if cfg!(raddle_unnoted) {
            return Shown { before: Before::Nothing, wait: PhantomData };
        }
        let before = block.waits.replace(std::ptr::from_ref(self).cast_mut().cast());
        Shown { before: Before::Process(block, before), wait: PhantomData }
    }

    /// As [`show_at`](Self::show_at), for a wait that is in no other: nothing is shown after it.
    #[inline(always)]
    pub fn show_alone(&self, block: &'static Block) -> Shown<'_> {
        if cfg!(raddle_unnoted) {
            return Shown { before: Before::Nothing, wait: PhantomData };
        }
        block.is_in_no_wait();
        block.waits.set(std::ptr::from_ref(self).cast_mut().cast());
        Shown { before: Before::Process(block, std::ptr::null_mut()), wait: PhantomData }
    }

    /// All but the call, for a note in a switch: see [`noted`](Self::noted).
    #[inline(always)]
    pub(crate) fn words(&self) -> [usize; 3] {
        let site = std::ptr::from_ref(self.site).expose_provenance();
        [self.subject.expose_provenance(), site, self.since.to_bits() as usize]
    }

    /// What has been noted by [`words`](Self::words).
    ///
    /// # Safety
    /// The words are of a wait in that call, which is not over.
    unsafe fn noted<S>(call: &'static CallOn<S>, [subject, site, since]: [usize; 3]) -> Wait<'s> {
        // SAFETY: the address of a `'static` location, the caller says.
        let site = unsafe { &*std::ptr::with_exposed_provenance::<Location<'static>>(site) };
        let subject = std::ptr::with_exposed_provenance(subject);
        Wait { call: &call.call, subject, site, since: Stamp::from_bits(since as u64), borrowed: PhantomData }
    }

    /// The call that it waits in.
    #[inline(always)]
    pub fn name(&self) -> &'static str {
        self.call.wait.name()
    }

    /// Its name, and why one waits there.
    #[inline(always)]
    pub fn call(&self) -> &'static WaitCall {
        &self.call.wait
    }

    /// Where in the program it waits.
    pub fn site(&self) -> &'static Location<'static> {
        self.site
    }

    /// When it began to.
    pub fn since(&self) -> Stamp {
        self.since
    }

    /// What kind of thing it waits for.
    pub fn kind(&self) -> &'static str {
        self.call.kind
    }

    /// What the subject says of itself.
    pub fn write_state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        // SAFETY: as in `held`.
        unsafe { (self.call.state)(self.subject, out) }
    }

    /// The address by which two waits for the same object are known.
    pub fn subject(&self) -> *const () {
        // SAFETY: as in `held`.
        unsafe { (self.call.address)(self.subject) }
    }

    /// Who alone could end the wait, if that is known: compared, never followed.
    pub fn awaits(&self) -> *const () {
        // SAFETY: as in `held`.
        unsafe { (self.call.awaits)(self.subject) }
    }

    /// The things by which others could end it.
    pub fn things(&self, each: &mut dyn FnMut(Thing)) {
        // SAFETY: as in `held`.
        unsafe { (self.call.things)(self.subject, each) };
    }

    /// All who hold it, as far as that is known.
    pub fn holders(&self, each: &mut dyn FnMut(Held)) {
        // SAFETY: as in `held`.
        unsafe { (self.call.holders)(self.subject, each) };
    }

    /// Who holds it, if that is known.
    pub fn held(&self) -> Option<Held> {
        // SAFETY: the subject is borrowed, and of the call's type.
        unsafe { (self.call.held)(self.subject) }
    }
}

/// `waits in Mutex::lock at src/main.rs:7:13 for a mutex (0x7f..), held by ...`.
impl fmt::Display for Wait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { kind, state, .. } = self.call;
        let article = if kind.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
        write!(f, "waits in {} at {} for {article} {kind} ({:p})", self.name(), self.site(), self.subject())?;
        let mut more = String::new();
        // SAFETY: as in `held`.
        unsafe { state(self.subject, &mut more) }?;
        if !more.is_empty() {
            write!(f, ", {more}")?;
        }
        let mut told = Ok(());
        self.holders(&mut |held| told = told.and_then(|()| write!(f, ", {held}")));
        told
    }
}

/// Who parks waits for itself.
pub(crate) const PARK: CallOn<Block> = CallOn::new("park", WaitReason::Park);

/// Who joins a process waits for that.
pub(crate) const JOIN: CallOn<Block> = CallOn::new("join", WaitReason::Join);

/// One joins a process; and who parks or sleeps waits for itself.
impl Subject for Block {
    const KIND: &'static str = "process";

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "spawned at {}", self.site.get())
    }
}

/// The wait of one who parks: in the same call always, for itself, so that only two words need be written.
///
/// PERF: two stores of six less; bench `handoff`.
pub struct Parked {
    site: &'static Location<'static>,
    since: Stamp,
}

/// In the address that a control block shows: it is a [`Parked`]'s.
const PARKED: usize = 1;

impl Parked {
    /// The caller is about to park at `site` in the program.
    #[inline(always)]
    pub(crate) fn at(site: &'static Location<'static>) -> Parked {
        Parked { site, since: Stamp::now() }
    }

    /// As [`Wait::show_alone`].
    #[inline(always)]
    pub(crate) fn show_alone(&self, block: &'static Block) -> Shown<'_> {
        if cfg!(raddle_unnoted) {
            return Shown { before: Before::Nothing, wait: PhantomData };
        }
        block.is_in_no_wait();
        let frame: *mut () = std::ptr::from_ref(self).cast_mut().cast();
        block.waits.set(frame.map_addr(|address| address | PARKED));
        Shown { before: Before::Process(block, std::ptr::null_mut()), wait: PhantomData }
    }

    fn of(&self, block: &Block) -> Wait<'static> {
        let subject = std::ptr::from_ref(block).cast();
        let call = &const { &PARK }.call;
        Wait { call, subject, site: self.site, since: self.since, borrowed: PhantomData }
    }
}

/// The right of a [`Wait`] to be shown.
#[must_use = "it is shown until this goes"]
pub struct Shown<'w> {
    before: Before,
    wait: PhantomData<&'w ()>,
}

/// What was shown before, and where.
enum Before {
    /// Nobody looks at what a task, or one that is away, waits for.
    Nothing,
    Process(&'static Block, *mut ()),
    OsThread(*const ()),
}

impl Drop for Shown<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        match self.before {
            Before::Process(block, before) => block.waits.set(before),
            Before::OsThread(before) => drop(os_thread::show_wait(before)),
            Before::Nothing => {}
        }
    }
}

impl Block {
    /// What this process shows that it waits for, or is about to wait for.
    ///
    /// # Safety
    /// It is the caller, or it has left its stack and does not run meanwhile; and what is returned is dropped before.
    pub unsafe fn shows<'a>(&self) -> Option<Wait<'a>> {
        let shown = self.waits.get();
        if shown.addr() & PARKED != 0 {
            let parked = shown.map_addr(|address| address & !PARKED).cast::<Parked>();
            // SAFETY: shown until the wait is over, and the caller vouches that it is not.
            return Some(unsafe { &*parked }.of(self));
        }
        // SAFETY: as above.
        unsafe { shown.cast::<Wait<'_>>().as_ref() }.copied()
    }

    /// What this process waits for, if a call of ours has said so: in the switch by which it left, or else where it is
    /// shown.
    ///
    /// # Safety
    /// It has not begun, or it has left its stack, by a switch that is done, and does not run meanwhile, here or away;
    /// and what is returned is dropped before.
    pub unsafe fn waits_for<'a>(&self) -> Option<Wait<'a>> {
        if self.header.holds_thread() {
            // Its worker's loop may run on its stack: its context is where that was last left.
            // SAFETY: passed on to the caller.
            return unsafe { self.shows() };
        }
        // SAFETY: it neither starts nor ends meanwhile.
        let stack = unsafe { self.stack_there() };
        // SAFETY: nobody resumes it, so nobody writes its context.
        let context = unsafe { &*self.context.get() };
        // SAFETY: suspended there, or primed.
        let note = stack.and_then(|stack| unsafe { note::of(context, stack) });
        let Some((number, words)) = note else {
            // SAFETY: passed on to the caller.
            return unsafe { self.shows() };
        };
        // SAFETY: only waits in these calls are noted, and it is suspended in one.
        Some(unsafe { Wait::noted(&MEETINGS[number as usize], words) })
    }

    /// Who is about to note a wait shows none.
    #[inline(always)]
    pub(crate) fn is_in_no_wait(&self) {
        debug_assert!(self.waits.get().is_null(), "it waits within another wait");
    }
}
