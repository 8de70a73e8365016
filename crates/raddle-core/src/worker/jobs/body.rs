//! Owns: `JobBody`, what a job is to do: a closure that is called once, and lies in place if it is small.
//! May use: `worker::rooms`.
//! Never: a second call.
//!
//! A job that is spawned goes from a worker's line to whoever begins it. A box of its own would be allocated by one
//! worker and freed by another, which costs most allocators more than all the rest of a spawn. (PERF: `flat` with
//! `kind=spawn`: with a box 75 ns a job on one worker, of which 22 in `malloc` and `free`, and 105 on two; 67 and 85
//! so.)

use crate::worker::rooms::{give_room, put_into_room, take_out_of_room};
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

/// Room for a closure that has a few pointers: with its place in the program, such a job fills a cache line.
type Room = [usize; 6];

const fn has_room<F>() -> bool {
    size_of::<F>() <= size_of::<Room>() && align_of::<F>() <= align_of::<Room>()
}

/// What to do with what lies in the room.
struct BodyTable {
    /// Moves it out, and calls it.
    call: unsafe fn(*mut Room),
    drop: unsafe fn(*mut Room),
}

/// A closure that is called once.
pub struct JobBody {
    room: MaybeUninit<Room>,
    table: &'static BodyTable,
}

// SAFETY: what lies in the room is `Send`: `new` asks for it.
unsafe impl Send for JobBody {}

impl JobBody {
    /// This closure: in place, if it has room there, and else in a room of its own.
    #[inline]
    pub fn new<F: FnOnce() + Send + 'static>(f: F) -> JobBody {
        if has_room::<F>() {
            return JobBody::in_place(f);
        }
        unsafe fn call<F: FnOnce()>(room: *mut Room) {
            // SAFETY: where an `F` is lies there, says the caller, who never looks at it again.
            let far = unsafe { room.cast::<NonNull<F>>().read() };
            // SAFETY: it was put there.
            let f = unsafe { take_out_of_room(far) };
            f();
        }
        unsafe fn drop_there<F>(room: *mut Room) {
            // SAFETY: as above.
            let far = unsafe { room.cast::<NonNull<F>>().read() };
            // SAFETY: as above. Where it lies: it may be larger than what is left of the stack.
            unsafe { far.drop_in_place() };
            // SAFETY: as above.
            unsafe { give_room(far) };
        }
        let mut room = MaybeUninit::<Room>::uninit();
        // SAFETY: a pointer fits.
        unsafe { room.as_mut_ptr().cast::<NonNull<F>>().write(put_into_room(f)) };
        JobBody { room, table: const { &BodyTable { call: call::<F>, drop: drop_there::<F> } } }
    }

    #[inline]
    fn in_place<F: FnOnce() + Send + 'static>(f: F) -> JobBody {
        assert!(has_room::<F>());
        unsafe fn call<F: FnOnce()>(room: *mut Room) {
            // SAFETY: an `F` lies there, says the caller, who never looks at it again.
            let f = unsafe { room.cast::<F>().read() };
            f();
        }
        unsafe fn drop_there<F>(room: *mut Room) {
            // SAFETY: as above.
            unsafe { room.cast::<F>().drop_in_place() };
        }
        let mut room = MaybeUninit::<Room>::uninit();
        // SAFETY: there is room, as was asserted.
        unsafe { room.as_mut_ptr().cast::<F>().write(f) };
        JobBody { room, table: const { &BodyTable { call: call::<F>, drop: drop_there::<F> } } }
    }

    /// Calls it.
    #[inline]
    pub fn call(self) {
        let mut body = ManuallyDrop::new(self);
        let call = body.table.call;
        // SAFETY: what lies in the room is of the table's type, and is not dropped again.
        unsafe { call(body.room.as_mut_ptr()) };
    }
}

impl Drop for JobBody {
    fn drop(&mut self) {
        // SAFETY: as in `call`; nobody has called it.
        unsafe { (self.table.drop)(self.room.as_mut_ptr()) };
    }
}

impl fmt::Debug for JobBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobBody").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Adds what it captures; `N` words of it, and the count of its owners.
    fn adds<const N: usize>(sum: &Arc<AtomicU64>) -> impl FnOnce() + Send + use<N> {
        let (sum, words) = (sum.clone(), [1_u64; N]);
        move || {
            sum.fetch_add(words.iter().sum(), Ordering::Relaxed);
        }
    }

    /// In place and elsewhere: called, it does its work once; dropped, none; and what it has captured goes either way.
    #[test]
    fn small_and_large_ones_are_called_or_dropped_once() {
        let sum = Arc::new(AtomicU64::new(0));
        let bodies =
            || [JobBody::new(adds::<0>(&sum)), JobBody::new(adds::<5>(&sum)), JobBody::new(adds::<6>(&sum))];
        bodies().into_iter().for_each(JobBody::call);
        assert_eq!(sum.load(Ordering::Relaxed), 11);
        assert_eq!(Arc::strong_count(&sum), 1);
        drop(bodies());
        assert_eq!((sum.load(Ordering::Relaxed), Arc::strong_count(&sum)), (11, 1));
        JobBody::new(|| ()).call();
    }

    #[test]
    fn one_with_a_greater_alignment_lies_aligned() {
        #[repr(align(64))]
        struct Aligned(u64);
        let (sum, aligned) = (Arc::new(AtomicU64::new(0)), Aligned(7));
        let there = sum.clone();
        JobBody::new(move || {
            let aligned = &aligned;
            assert!(std::ptr::from_ref(aligned).addr().is_multiple_of(64));
            there.store(aligned.0, Ordering::Relaxed);
        })
        .call();
        assert_eq!(sum.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn what_it_has_captured_is_dropped_when_it_panics() {
        let sum = Arc::new(AtomicU64::new(0));
        let there = sum.clone();
        let body = JobBody::new(move || {
            let _kept = there;
            panic!("on purpose");
        });
        assert!(catch_unwind(AssertUnwindSafe(|| body.call())).is_err());
        assert_eq!(Arc::strong_count(&sum), 1);
    }
}
