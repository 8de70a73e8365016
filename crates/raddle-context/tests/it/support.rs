//! A hand-driven context with a closure in it: the smallest thing that tests can start, resume and end.

#[cfg(not(any(raddle_tsan, raddle_twin)))]
use raddle_context::walk::{Tables, walk};
use raddle_context::{Context, SizeClass, Stack, StackDepot, StackPool, note, transfer};
use std::cell::{Cell, UnsafeCell};
use std::rc::Rc;

/// A coroutine: the test resumes it, and it yields back to the test.
pub(crate) struct Coroutine {
    inner: Rc<Inner>,
    stack: Option<Stack>,
}

#[repr(C)]
struct Inner {
    // First, so that the address that the entry gets is also the address of the whole.
    own: UnsafeCell<Context>,
    resumer: UnsafeCell<Context>,
    body: Cell<Option<CoroutineBody>>,
    over: Cell<bool>,
}

type CoroutineBody = Box<dyn FnOnce(&Yielder)>;

/// What a flow's body holds to go back to the resumer.
pub(crate) struct Yielder(*const Inner);

impl Yielder {
    pub(crate) fn pause(&self) {
        // SAFETY: the flow keeps `Inner` alive while it runs.
        let inner = unsafe { &*self.0 };
        // SAFETY: the resumer is suspended in `resume`, and this is the context that runs.
        unsafe { transfer(inner.own.get(), inner.resumer.get()) };
    }
}

impl Yielder {
    /// As [`pause`](Self::pause), and leaves a note.
    pub(crate) fn pause_noting<const NUMBER: u32>(&self, words: [usize; 3]) {
        // SAFETY: as in `pause`.
        let inner = unsafe { &*self.0 };
        // SAFETY: as in `pause`.
        unsafe { note::transfer_here_noting::<NUMBER>(inner.own.get(), inner.resumer.get(), 0, words) };
    }
}

unsafe extern "C" fn entry(me: *mut Context) -> *mut Context {
    let inner = me.cast::<Inner>();
    // SAFETY: `own` is the first field of an `Inner` that the flow keeps alive.
    let inner = unsafe { &*inner };
    let body = inner.body.take().expect("a flow starts once");
    body(&Yielder(inner));
    inner.over.set(true);
    inner.resumer.get()
}

impl Coroutine {
    /// The return addresses on its stack, while it is suspended.
    #[cfg(not(any(raddle_tsan, raddle_twin)))]
    pub(crate) fn walk(&self) -> Vec<usize> {
        let (mut addresses, tables) = (Vec::new(), Tables::of_program());
        // SAFETY: this thread resumes it, and does not now.
        let context = unsafe { &*self.inner.own.get() };
        let stack = self.stack.as_ref().expect("it has one until it is finished");
        // SAFETY: as above; nothing is unloaded.
        unsafe {
            walk(context, stack, &tables, |address| {
                addresses.push(address);
                true
            });
        }
        addresses
    }

    /// The note that it has left.
    pub(crate) fn note(&self) -> Option<(u32, [usize; 3])> {
        // SAFETY: this thread resumes it, and does not now.
        let context = unsafe { &*self.inner.own.get() };
        let stack = self.stack.as_ref().expect("it has one until it is finished");
        // SAFETY: as above.
        unsafe { note::of(context, stack) }
    }

    /// Its stack.
    #[cfg(not(any(raddle_tsan, raddle_twin)))]
    pub(crate) fn stack(&self) -> &Stack {
        self.stack.as_ref().expect("it has one until it is finished")
    }

    pub(crate) fn new(stack: Stack, body: impl FnOnce(&Yielder) + 'static) -> Coroutine {
        let inner = Rc::new(Inner {
            own: UnsafeCell::new(Context::empty()),
            resumer: UnsafeCell::new(Context::empty()),
            body: Cell::new(Some(Box::new(body))),
            over: Cell::new(false),
        });
        // SAFETY: nobody else knows of `inner` yet.
        let own = unsafe { &mut *inner.own.get() };
        // SAFETY: `stack` is ours until `finish`.
        unsafe { own.prime(&stack, entry) };
        Coroutine { inner, stack: Some(stack) }
    }

    /// Runs until the next pause or the end; false when it is over.
    pub(crate) fn resume(&self) -> bool {
        assert!(!self.inner.over.get(), "resumed after its end");
        // SAFETY: `own` is primed or suspended, and everything stays on this thread.
        unsafe { transfer(self.inner.resumer.get(), self.inner.own.get()) };
        !self.inner.over.get()
    }

    /// Forgets a suspended flow, frames and all, and returns the stack.
    pub(crate) fn abandon(mut self) -> Stack {
        self.stack.take().expect("a flow is abandoned once")
    }

    /// Runs to the end and returns the stack.
    pub(crate) fn finish(mut self) -> Stack {
        while !self.inner.over.get() && self.resume() {}
        self.stack.take().expect("a flow finishes once")
    }
}

/// A pool of its own for one test.
pub(crate) fn pool() -> StackPool {
    StackPool::new(StackDepot::new())
}

/// Runs `body` on a fresh stack of `class` until it ends.
pub(crate) fn run_on(pool: &mut StackPool, class: SizeClass, body: impl FnOnce(&Yielder) + 'static) {
    let stack = Coroutine::new(pool.take(class).expect("a stack"), body).finish();
    pool.give(stack);
}
