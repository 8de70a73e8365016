//! Owns: the atomic words of the machine's protocols, and the orderings that they rely on.
//! May use: `loom`.
//! Never: an ordering without its partner and the reason.
//!
//! x86 hides ordering bugs, so an ordering here is a claim that must be able to fail: the models weaken each row and
//! demand that one of them notices.

#[cfg(all(feature = "native", not(loom)))]
pub(crate) use core::sync::atomic::AtomicUsize;
#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicU32};
#[cfg(all(loom, any(feature = "native", test)))]
pub(crate) use loom::sync::atomic::AtomicUsize;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32};

pub(crate) use core::sync::atomic::Ordering;

/// A fence; none if the ordering has been weakened.
#[inline(always)]
pub(crate) fn fence(ordering: Ordering) {
    #[cfg(not(loom))]
    core::sync::atomic::fence(ordering);
    #[cfg(loom)]
    if ordering != Ordering::Relaxed {
        loom::sync::atomic::fence(ordering);
    }
}

macro_rules! orderings {
    ($($(#[$doc:meta])* $name:ident $number:literal $strong:ident $weak:ident;)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            #[cfg_attr(not(target_has_atomic = "32"), allow(dead_code, reason = "one thread orders nothing"))]
            pub(crate) fn $name() -> Ordering {
                #[cfg(loom)]
                if weakened::is($number) {
                    return Ordering::$weak;
                }
                Ordering::$strong
            }
        )*
        /// How many there are.
        #[cfg(all(loom, test))]
        pub(crate) const ROWS: usize = [$($number),*].len();
    };
}

orderings! {
    /// A process announces itself, or claims another. Pairs with itself and `looked`: who finds a process in a word,
    /// or takes it from there, sees where it left its message.
    exchanged 0 AcqRel Relaxed;
    /// It did not succeed: somebody else is there. Pairs with the release of `exchanged`.
    refused 1 Acquire Relaxed;
    /// A signal. Pairs with the `exchanged` by which the signalled one began to wait: who runs it sees what it
    /// saved. What the signal is about lies in a channel's word, which the signalled one exchanges itself: nothing
    /// to release.
    signalled 2 Acquire Relaxed;
    /// One less is awaited. Pairs with itself: who brings the count to zero sees what all the others did.
    counted 3 AcqRel Relaxed;
    /// A look at a channel. Pairs with the release of `exchanged`.
    looked 4 Acquire Relaxed;
    /// A fence: a worker has entered the machine. Pairs with `looked_at_all`.
    entered 5 Release Relaxed;
    /// It has left. Pairs with `visited`.
    left 6 Release Relaxed;
    /// A look at a worker's visits. Pairs with the release of `left`: what was done in there is seen.
    visited 7 Acquire Relaxed;
    /// A fence: the watcher has looked at all processes. Pairs with `entered`.
    looked_at_all 8 Acquire Relaxed;
    /// A word leads to code. Pairs with `found`, and with the plain loads of compiled code where each load acquires.
    #[cfg(any(feature = "native", all(loom, test)))]
    published 9 Release Relaxed;
    /// A look at such a word. Pairs with `published`: who finds code finds what it reads.
    #[cfg(any(feature = "native", all(loom, test)))]
    found 10 Acquire Relaxed;
}

/// Which ordering the models weaken.
#[cfg(loom)]
pub(crate) mod weakened {
    use core::sync::atomic::{AtomicUsize, Ordering};

    static ROW: AtomicUsize = AtomicUsize::new(usize::MAX);

    pub(super) fn is(row: usize) -> bool {
        ROW.load(Ordering::Relaxed) == row
    }

    #[cfg(test)]
    pub(crate) fn set(row: usize) {
        ROW.store(row, Ordering::Relaxed);
    }
}
