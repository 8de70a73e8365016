//! Owns: who lies in a queue, of a runtime whose workers stand still: their turn will come.
//! May use: `raddle-protocol`.
//! Never: an allocation, a lock that is waited for, a change.
//!
//! One that has been woken shows the wait that it was in until it runs again. So who wants to know who waits asks here
//! who does not any more. What a worker has in hand at the moment in which it is stopped, between two queues, is not
//! seen: it is another one at the next look.

use super::{Shared, Worker};
use raddle_protocol::header::Header;

impl Shared {
    /// Shows all that lie in queues. False if some could not be looked at: a worker was stopped in the midst of one.
    ///
    /// # Safety
    /// All workers stand still, or call this, and what they did before is seen.
    pub unsafe fn for_each_queued(&self, mut each: impl FnMut(&Header)) -> bool {
        // SAFETY: passed on to the caller.
        let of_worker = |worker: &Worker, each: &mut _| unsafe { worker.for_each_queued(each) };
        // Not `all`: whoever is found is worth it.
        let seen = self.everybody().filter(|worker| !of_worker(worker, &mut each)).count() == 0;
        // SAFETY: as above.
        self.groups().iter().filter(|group| !unsafe { group.for_each(&mut each) }).count() == 0 && seen
    }
}

impl Worker {
    /// # Safety
    /// As [`Shared::for_each_queued`].
    unsafe fn for_each_queued(&self, each: &mut impl FnMut(&Header)) -> bool {
        // SAFETY: as above.
        let batch = unsafe { self.batch_of_standing() };
        // SAFETY: as above.
        let in_hand = unsafe { self.in_hand() };
        in_hand.map(|one| one.header()).into_iter().for_each(&mut *each);
        // SAFETY: as above.
        unsafe { self.inbox.for_each(&mut *each) };
        // SAFETY: as above.
        unsafe { self.window.for_each(&mut *each) };
        // SAFETY: as above.
        let lists = [&self.ready, &self.fresh, &self.later].map(|list| unsafe { list.for_each(&mut *each) });
        // SAFETY: as above.
        unsafe { batch.for_each(each) && lists == [true; 3] }
    }
}
