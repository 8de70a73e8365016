//! Owns: `Outstanding`: how much is outstanding that workers are to ask for, and which idle worker asks.
//! May use: `loom`.
//! Never: what is asked; the call itself.
//!
//! An adaptor begins something that ends elsewhere, in a network card for instance, and nobody is woken then: somebody
//! has to ask. Busy workers ask at their boundaries. Of the idle ones, one *keeps* asking: it sleeps no longer than the
//! last answer allows. The others sleep as if nothing were outstanding.
//!
//! | word | values | who changes it |
//! |---|---|---|
//! | `count` | how much is outstanding | who begins something, who ends it |
//! | `keeper` | 0, or the number, from 1, of the idle worker that keeps asking | itself; one that falls idle later |
//!
//! **Somebody asks** as long as something is outstanding and a worker is idle. One that lies down announces itself,
//! fences (both in [`IdleSet::announce`]), and then looks: something outstanding that nobody keeps asking for has it
//! get up again. Who begins something adds to the count, fences, and then looks whom to call; so does a keeper that
//! gets up: it lets go, fences, and looks. Of two that fence one sees the other:
//!
//! - *The sleeper's fence is first.* Then its sleep word is seen, and it, or another sleeper, is woken, unless a keeper
//!   is seen, which is woken instead. If that one sleeps it asks; if it does not, it is about to find that `begun` has
//!   changed, once it has announced itself, or to let go, after which it looks.
//! - *The other's fence is first.* Then the sleeper sees the count, that nobody keeps asking, or that `begun` is
//!   another than before it asked.
//!
//! Where sleepers look around now and then (`looks`), one that does need not be woken, since it comes within a tick.
//! And a keeper that gets up calls nobody: by the idle protocol, one is left that looks, or is woken to.
//!
//! **The poll.** What the kernel can tell of (descriptors) one idle worker sleeps for *in the poll* instead of at its
//! word ([`IdleSet::sleep_in`]), and what begins there while it does needs no call: the kernel tells it. Who begins
//! adds to the count, fences, and looks whether somebody is in the poll; who leaves it says so before the fence of its
//! next announcement, after which it looks at the count. So if the first sees somebody there, that one sees the
//! count before it lies down anywhere else. While somebody is in the poll nobody takes over.
//!
//! *The last to fall idle takes over*, since most likely those wait there who are to be woken. Who finds that another
//! keeps asking lies down for good.
//!
//! **Who is woken to look around leaves the poll** to the one that has just come out of it, which goes back in a moment
//! if it runs for no longer than one request takes ([`leaves_poll`](Outstanding::leaves_poll)). It sleeps at its word
//! for that moment, with a time-out, so that somebody asks all the same; and if nobody is there then, it goes there.
//! (Without this the one that was woken took the other's place, became the watcher in it, and had to wake the other at
//! the next request: one connection on two workers cost a call of `futex` for each request.)

use crate::prim::{AtomicUsize, Ordering};
use crate::protocol::idle::{IdleSet, Whom};

const NOBODY: usize = 0;

/// How much is outstanding, and who asks for it.
#[derive(Debug)]
#[cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]
pub struct Outstanding {
    count: AtomicUsize,
    keeper: AtomicUsize,
    begun: AtomicUsize,
}

impl Outstanding {
    /// Nothing is.
    #[inline]
    pub fn new() -> Outstanding {
        Outstanding {
            count: AtomicUsize::new(0),
            keeper: AtomicUsize::new(NOBODY),
            begun: AtomicUsize::new(0),
        }
    }

    /// How often something has begun where nothing was. One that keeps asking reads it before it asks, and once more
    /// when it has announced its sleep: if it has changed it asks again, since its question may have come too early.
    #[inline]
    pub fn begun(&self) -> usize {
        // Pairs with the release in `note_begun`: a question after this finds what has begun.
        self.begun.load(Ordering::Acquire)
    }

    /// Something has begun where nothing was, and whoever asks finds it. Before [`call`](Self::call), which fences.
    #[inline]
    pub fn note_begun(&self) {
        // Release pairs with the acquire in `begun`.
        self.begun.fetch_add(1, Ordering::Release);
    }

    /// Whether something is. One relaxed load.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    /// Whether more is than that.
    #[inline]
    pub fn exceeds(&self, count: usize) -> bool {
        self.count.load(Ordering::Relaxed) > count
    }

    /// So much more is.
    #[inline]
    pub fn begin(&self, count: usize) {
        self.count.fetch_add(count, Ordering::Relaxed);
    }

    /// So much less is: no more than has begun. True if that was all.
    #[inline]
    pub fn end(&self, count: usize) -> bool {
        self.count.fetch_sub(count, Ordering::Relaxed) == count
    }

    fn keeper(&self) -> Option<usize> {
        self.keeper.load(Ordering::Relaxed).checked_sub(1)
    }

    /// After a beginning: has an idle worker ask, if there is one.
    #[inline]
    pub fn call(&self, idle: &IdleSet, looks: bool) {
        idle.wake_to_ask(|| match self.keeper() {
            Some(keeper) => Whom::This(keeper),
            None if looks => Whom::AnyIfNobodyLooks,
            None => Whom::Any,
        });
    }

    /// As [`call`](Self::call), for what the kernel tells whoever sleeps in the poll.
    #[inline]
    pub fn call_to_poll(&self, idle: &IdleSet, looks: bool) {
        idle.wake_to_ask(|| match self.keeper() {
            _ if idle.is_polled() => Whom::Nobody,
            Some(keeper) => Whom::This(keeper),
            None if looks => Whom::AnyIfNobodyLooks,
            None => Whom::Any,
        });
    }

    /// Whether another one than this worker keeps asking, and sleeps in the poll.
    #[inline]
    pub fn is_elsewhere(&self, worker: usize, idle: &IdleSet) -> bool {
        idle.is_polled() && self.keeper().is_some_and(|keeper| keeper != worker)
    }

    /// By an idle worker that is about to ask: whether it leaves the poll, in which nobody is, to others for a moment,
    /// with a time-out. Not if it is the one that was busy until now (`is_fresh`), nor twice in turn: `has_left` is its
    /// own note of that.
    #[inline]
    pub fn leaves_poll(&self, is_fresh: bool, idle: &IdleSet, has_left: &mut bool) -> bool {
        let is_free = self.keeper().is_none() && !idle.is_polled();
        *has_left = is_free && !is_fresh && !*has_left;
        *has_left
    }

    /// An idle worker is about to ask, for all; `is_fresh` if it was busy before. False if another one does.
    #[inline]
    pub fn keep(&self, worker: usize, is_fresh: bool) -> bool {
        let keeper = self.keeper.load(Ordering::Relaxed);
        if keeper == worker + 1 {
            return true;
        }
        if is_fresh {
            self.keeper.store(worker + 1, Ordering::Relaxed);
            return true;
        }
        let free = keeper == NOBODY;
        free && self.keeper.compare_exchange(NOBODY, worker + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The worker is busy from now on, or there was nothing to ask for. True if it was the keeper.
    #[inline]
    pub fn let_go(&self, worker: usize) -> bool {
        let relaxed = Ordering::Relaxed;
        self.keeper.load(relaxed) == worker + 1
            && self.keeper.compare_exchange(worker + 1, NOBODY, relaxed, relaxed).is_ok()
    }

    /// As [`let_go`](Self::let_go), when the worker becomes busy: if sleepers do not look around by themselves, another
    /// one is called. Who `has_polled` calls the keeper, too, which may have found the poll taken.
    #[inline]
    pub fn pass_on(&self, worker: usize, idle: &IdleSet, looks: bool, has_polled: bool) {
        if (self.let_go(worker) || has_polled) && !looks {
            idle.wake_to_ask(|| match self.keeper() {
                _ if !self.any() => Whom::Nobody,
                Some(keeper) if has_polled => Whom::This(keeper),
                Some(_) => Whom::Nobody,
                None => Whom::Any,
            });
        }
    }

    /// By one who has announced itself asleep: whether something is outstanding that nobody keeps asking for.
    #[inline]
    pub fn is_unkept(&self) -> bool {
        self.any() && self.keeper.load(Ordering::Relaxed) == NOBODY
    }
}
