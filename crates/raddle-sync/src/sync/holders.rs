//! Owns: `Holders`, the places in which those note themselves who hold something that several may hold.
//! May use: `host`, `raddle-core`.
//! Never: a wait; an allocation for the first few.
//!
//! A place is taken by one compare-and-exchange and given back by two stores, wherever that is: what is held may go to
//! another meanwhile, and then the report names who took it. Those for whom there is no place are counted.

use crate::host::{Held, Holder};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// So many have their places in the object itself, ...
const FIRST: usize = 3;
/// ... and so many more on the heap, once there are more holders at a time.
const MORE: usize = 61;

/// See the module.
pub(super) struct Holders {
    first: [Holder; FIRST],
    more: AtomicPtr<[Holder; MORE]>,
    /// How many hold it and have no place.
    nameless: AtomicUsize,
}

/// The place of one who holds it; none if it is only counted.
pub(super) type HolderPlace<'h> = Option<&'h Holder>;

impl Holders {
    pub(super) const fn new() -> Holders {
        Holders {
            first: [const { Holder::nobody() }; FIRST],
            more: AtomicPtr::new(std::ptr::null_mut()),
            nameless: AtomicUsize::new(0),
        }
    }

    /// The caller has it, since `site`.
    #[inline]
    pub(super) fn note(&self, site: &'static Location<'static>) -> HolderPlace<'_> {
        match self.first.iter().find(|place| place.claim(site)) {
            Some(place) => Some(place),
            None => self.note_further(site),
        }
    }

    #[cold]
    fn note_further(&self, site: &'static Location<'static>) -> HolderPlace<'_> {
        // If some have none, they are many: then it is not looked for one each time.
        let has_room = self.nameless.load(Ordering::Relaxed) == 0;
        let place = self.further().iter().find(|place| has_room && place.claim(site));
        if place.is_none() {
            self.nameless.fetch_add(1, Ordering::Relaxed);
        }
        place
    }

    /// Who noted itself there has it no more.
    #[inline]
    pub(super) fn leave(&self, place: HolderPlace<'_>) {
        match place {
            Some(place) => place.give_up(),
            None => drop(self.nameless.fetch_sub(1, Ordering::Relaxed)),
        }
    }

    /// The places on the heap, which are made if they are not there.
    fn further(&self) -> &[Holder; MORE] {
        // Acquire pairs with the release below: whoever made them has done so before.
        let known = NonNull::new(self.more.load(Ordering::Acquire));
        let places = known.unwrap_or_else(|| {
            let made = NonNull::from(Box::leak(Box::new([const { Holder::nobody() }; MORE])));
            let nobody = std::ptr::null_mut();
            // Release pairs with the acquires here; the loser takes what the winner made.
            let put = self.more.compare_exchange(nobody, made.as_ptr(), Ordering::Release, Ordering::Acquire);
            match put.err().and_then(NonNull::new) {
                None => made,
                Some(first) => {
                    // SAFETY: it came from a box, and nobody else knows it.
                    drop(unsafe { Box::from_raw(made.as_ptr()) });
                    first
                }
            }
        });
        // SAFETY: they go with this.
        unsafe { places.as_ref() }
    }

    /// Tells of each who has it.
    pub(super) fn each(&self, tell: &mut dyn FnMut(Held)) {
        // Acquire pairs with the release in `further`.
        // SAFETY: null, or places that go with this.
        let further = unsafe { self.more.load(Ordering::Acquire).as_ref() };
        let all = self.first.iter().chain(further.into_iter().flatten());
        all.filter_map(Holder::held).for_each(tell);
    }

    /// How many have it and are not told of.
    pub(super) fn nameless(&self) -> usize {
        self.nameless.load(Ordering::Relaxed)
    }
}

impl Drop for Holders {
    fn drop(&mut self) {
        if let Some(more) = NonNull::new(*self.more.get_mut()) {
            // SAFETY: it came from a box, and whoever held something here has borrowed this.
            drop(unsafe { Box::from_raw(more.as_ptr()) });
        }
    }
}
