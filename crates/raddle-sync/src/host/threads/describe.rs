//! Owns: the names by which locks and channels say what is waited for. Without a scheduler nobody reports it.
//! May use: `raddle-protocol`.
//! Never: a store that nobody reads.

use super::holder::Held;
use raddle_protocol::call::{WaitCall, WaitReason};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// Something that one can wait for.
#[allow(dead_code, reason = "each says what a report would tell; the twin's reports ask")]
pub(crate) trait Subject {
    /// In the words of the field: `mutex`.
    const KIND: &'static str;

    /// Who holds it, if that is known.
    fn held(&self) -> Option<Held> {
        None
    }

    /// All who hold it, as far as that is known.
    fn holders(&self, each: &mut dyn FnMut(Held)) {
        self.held().into_iter().for_each(each);
    }

    /// The things by which others could end the wait.
    fn things(&self, _each: &mut dyn FnMut(Thing)) {}

    /// What else there is to say of it.
    fn state(&self, _out: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// A call that may wait for a subject of type `S`.
pub(crate) struct CallOn<S> {
    call: WaitCall,
    subject: PhantomData<fn(&S)>,
}

impl<S: Subject> CallOn<S> {
    /// The call of this name, `Mutex::lock`, in which one waits for that reason.
    pub(crate) const fn new(name: &'static str, reason: WaitReason) -> CallOn<S> {
        CallOn { call: WaitCall::new(name, reason), subject: PhantomData }
    }

    /// As [`new`](Self::new), of a call in which time ends each wait.
    pub(crate) const fn with_deadline(name: &'static str, reason: WaitReason) -> CallOn<S> {
        CallOn { call: WaitCall::new(name, reason).with_deadline(), subject: PhantomData }
    }

    /// Its name.
    #[inline(always)]
    pub(crate) const fn name(&self) -> &'static str {
        self.call.name()
    }

    /// Its name and its reason.
    #[inline(always)]
    pub(crate) const fn call(&'static self) -> &'static WaitCall {
        &self.call
    }
}

/// What somebody waits for: the call.
pub(crate) struct Wait<'s> {
    call: &'static WaitCall,
    borrowed: PhantomData<&'s ()>,
}

/// That a wait is shown, to nobody.
pub(crate) struct Shown;

impl<'s> Wait<'s> {
    /// The caller is about to wait in `call` for `subject`.
    #[inline(always)]
    pub(crate) fn on<S: Subject>(
        call: &'static CallOn<S>,
        _subject: &'s S,
        _site: &'static Location<'static>,
    ) -> Wait<'s> {
        Wait { call: call.call(), borrowed: PhantomData }
    }

    #[inline(always)]
    pub(crate) const fn show(&self) -> Shown {
        Shown
    }

    /// The call that it waits in.
    #[inline(always)]
    pub(crate) const fn call(&self) -> &'static WaitCall {
        self.call
    }
}

/// Something that others may have.
#[derive(Clone, Copy)]
pub(crate) struct Thing;

impl Thing {
    /// A time. Nobody has it.
    pub(crate) const TIME: Thing = Thing;

    pub(crate) fn shared<T>(_kind: &'static str, _thing: &T) -> Thing {
        Thing
    }

    pub(crate) const fn within(_kind: &'static str, _subject: usize, _whole: (usize, usize, usize)) -> Thing {
        Thing
    }

    pub(crate) const fn between_two(self, _only: bool) -> Thing {
        self
    }
}

/// One of several that somebody waits for.
#[allow(dead_code, reason = "as for `Subject`")]
pub(crate) trait Alternative {
    /// What it waits for by this one.
    fn thing(&self) -> Option<Thing>;
}

/// The first of several.
pub(crate) struct FirstOf;

impl FirstOf {
    /// # Safety
    /// None here. The twin keeps the guards, which are to be there as long as this is.
    pub(crate) const unsafe fn new<G: Alternative>(_guards: &[G]) -> FirstOf {
        FirstOf
    }
}

impl Subject for FirstOf {
    const KIND: &'static str = "choice";
}
