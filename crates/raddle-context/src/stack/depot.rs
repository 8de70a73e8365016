//! Owns: the free stacks that are in no worker's pool, and the slabs that new ones are cut from.
//! May use: `libc`.
//! Never: the fast path; a worker takes many stacks at a time.
//!
//! It uses slabs; one lock per size class.

use super::error::FailedStep;
use super::slab::{self, Slab};
use super::{PAGE, SizeClass, StackError};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How the page below a stack is made inaccessible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guard {
    /// A guard region where the kernel supports them (Linux 6.13), else as [`Guard::Protect`].
    #[default]
    Best,
    /// A page without access rights: works everywhere, takes two memory maps per stack.
    Protect,
}

/// How a [`StackDepot`] makes its stacks.
///
/// ```
/// use raddle_context::{StackDepot, StackOptions};
/// let depot = StackDepot::with(StackOptions { fill: true, ..StackOptions::default() });
/// # let _ = depot;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct StackOptions {
    /// Fill each stack with a pattern before it is used, so that [`crate::Stack::high_water_bytes`] can
    /// tell how deep it went. Costs touching the whole stack at each take.
    pub fill: bool,
    /// How stacks are guarded.
    pub guard: Guard,
    /// Refuse every stack beyond this many, as if the kernel had: for tests of what happens then.
    pub refuse_after: Option<usize>,
}

/// The shared store of stacks behind the workers' [`StackPool`](crate::StackPool)s.
///
/// It owns the slabs. They are unmapped when the depot is dropped, if every stack has been given back. Otherwise they
/// stay mapped for ever, since a context may still run on one.
#[derive(Debug)]
pub struct StackDepot {
    options: StackOptions,
    shelves: [Mutex<ClassStore>; SizeClass::COUNT],
    /// Stacks cut so far, of all classes.
    made: AtomicUsize,
}

/// The free stacks and slabs of one size class.
#[derive(Debug)]
struct ClassStore {
    class: SizeClass,
    guard: Guard,
    /// Free slots, the one to use next last.
    free: Vec<NonNull<u8>>,
    slabs: Vec<Slab>,
}

// SAFETY: the free slots are exclusive rights to memory, without a tie to an OS thread.
unsafe impl Send for ClassStore {}

impl StackDepot {
    /// A depot with default options. It maps nothing before the first stack is asked for.
    #[allow(clippy::new_ret_no_self, reason = "a depot is shared from the start")]
    pub fn new() -> Arc<Self> {
        Self::with(StackOptions::default())
    }

    /// A depot with the given options.
    pub fn with(options: StackOptions) -> Arc<Self> {
        let mut classes = SizeClass::all();
        let shelves = core::array::from_fn(|_| {
            let class = classes.next().unwrap_or(SizeClass::MAX);
            Mutex::new(ClassStore { class, guard: options.guard, free: Vec::new(), slabs: Vec::new() })
        });
        Arc::new(StackDepot { options, shelves, made: AtomicUsize::new(0) })
    }

    /// The options it was made with.
    pub fn options(&self) -> StackOptions {
        self.options
    }

    /// How stacks of `class` are guarded: the kind that [`Guard::Best`] chose, once the first stack has been made.
    ///
    /// ```
    /// # use raddle_context::{Guard, SizeClass, StackDepot, StackPool};
    /// let depot = StackDepot::new();
    /// StackPool::new(depot.clone()).take(SizeClass::DEFAULT)?;
    /// let alive_max = if depot.guard(SizeClass::DEFAULT) == Guard::Best { 1_000_000 } else { 30_000 };
    /// # let _ = alive_max;
    /// # Ok::<(), raddle_context::StackError>(())
    /// ```
    pub fn guard(&self, class: SizeClass) -> Guard {
        lock(&self.shelves[class.index()]).guard
    }

    /// How many stacks have been made so far, free ones included.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    /// Returns the memory of every stack in the depot to the kernel, and returns their number.
    ///
    /// Nothing is returned to the kernel without this call. Stacks that a worker keeps warm (at most 256
    /// of a size) are not touched. The addresses stay reserved, the guards in place.
    pub fn trim(&self) -> usize {
        let mut trimmed = 0;
        for store in &self.shelves {
            let store = lock(store);
            for &slot in &store.free {
                // SAFETY: the slot is on the free list, which the lock guards.
                unsafe { slab::discard(slot, store.class) };
            }
            trimmed += store.free.len();
        }
        trimmed
    }

    /// Moves up to `count` stacks of `class` into `into`; at least one unless it fails.
    pub(crate) fn withdraw(
        &self,
        class: SizeClass,
        count: usize,
        into: &mut Vec<NonNull<u8>>,
    ) -> Result<(), StackError> {
        let mut store = lock(&self.shelves[class.index()]);
        if store.free.is_empty() {
            let count = count.min(store.cut_at_once());
            return self.make(&mut store, count, into);
        }
        let keep = store.free.len().saturating_sub(count);
        into.extend(store.free.drain(keep..));
        Ok(())
    }

    /// Takes stacks back.
    pub(crate) fn deposit(&self, class: SizeClass, slots: impl Iterator<Item = NonNull<u8>>) {
        lock(&self.shelves[class.index()]).free.extend(slots);
    }

    /// Cuts up to `count` new stacks. Fails only if not even one could be made.
    fn make(
        &self,
        store: &mut ClassStore,
        count: usize,
        into: &mut Vec<NonNull<u8>>,
    ) -> Result<(), StackError> {
        let before = into.len();
        while into.len() - before < count {
            let (made, wanted) = (self.made(), before + count - into.len());
            let allowed =
                self.options.refuse_after.map_or(wanted, |limit| limit.saturating_sub(made).min(wanted));
            let cut = match allowed {
                0 => Err((FailedStep::Map, libc::ENOMEM)),
                _ => store.cut(allowed, into),
            };
            match cut {
                Ok(cut) => self.made.fetch_add(cut, Ordering::Relaxed),
                Err(_) if into.len() > before => break,
                Err((FailedStep::PageSize, size)) => {
                    return Err(StackError::refused(FailedStep::PageSize, store.class, 0, size as usize));
                }
                Err((what, errno)) => return Err(StackError::refused(what, store.class, errno, made)),
            };
        }
        Ok(())
    }
}

impl ClassStore {
    /// Slots of the first slab; each further one is twice as large as the one before ...
    const FIRST_SLOTS: usize = 64;
    /// ... up to this many bytes.
    const SLAB_BYTES_MAX: usize = 1 << 30;
    /// How many stacks are cut at a time at first.
    const FIRST_CUT: usize = 4;

    /// The most new stacks to cut at a time: as many as there are already.
    ///
    /// PERF: a guard is a call of the kernel, half a microsecond to two. A runtime that was made for a handful of
    /// processes paid for 64 guards before it ran the first.
    fn cut_at_once(&self) -> usize {
        let cut: usize = self.slabs.iter().map(Slab::cut_count).sum();
        cut.max(Self::FIRST_CUT)
    }

    /// Cuts up to `count` new stacks, and one at least.
    fn cut(&mut self, count: usize, into: &mut Vec<NonNull<u8>>) -> Result<usize, slab::Refusal> {
        if let Some(slab) = self.slabs.last_mut() {
            let cut = slab.cut(&mut self.guard, count, into)?;
            if cut > 0 {
                return Ok(cut);
            }
        }
        let mut slab = self.reserve()?;
        let cut = slab.cut(&mut self.guard, count, into);
        self.slabs.push(slab);
        cut
    }

    /// Reserves the next slab, of half the size as long as the address space is too small for it.
    fn reserve(&self) -> Result<Slab, slab::Refusal> {
        check_page_size()?;
        let first = self.class.at_a_time(Self::FIRST_SLOTS);
        let most = (Self::SLAB_BYTES_MAX / Slab::stride(self.class)).max(first);
        let mut slots = (first << self.slabs.len().min(16)).min(most);
        loop {
            match Slab::reserve(self.class, slots) {
                Err(_) if slots > 1 => slots /= 2,
                outcome => return outcome,
            }
        }
    }
}

impl Drop for StackDepot {
    fn drop(&mut self) {
        for store in &mut self.shelves {
            let store = store.get_mut().unwrap_or_else(PoisonError::into_inner);
            let cut: usize = store.slabs.iter().map(Slab::cut_count).sum();
            if cut != store.free.len() {
                continue;
            }
            for slab in &mut store.slabs {
                // SAFETY: as many slots are free as were ever cut, so that nobody holds one.
                unsafe { slab.unmap() };
            }
        }
    }
}

fn check_page_size() -> Result<(), slab::Refusal> {
    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if size as usize == PAGE { Ok(()) } else { Err((FailedStep::PageSize, size as i32)) }
}

/// Locks a store. A panic while it was held (out of memory in a `Vec`) leaves it consistent, so poisoning is ignored.
fn lock(store: &Mutex<ClassStore>) -> MutexGuard<'_, ClassStore> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use crate::stack::{StackPool, ranges};
    use crate::{SizeClass, StackDepot};

    #[test]
    fn a_depot_unmaps_its_slabs_when_every_stack_came_back() {
        let mut pool = StackPool::new(StackDepot::new());
        let stack = pool.take(SizeClass::DEFAULT).unwrap();
        let at = stack.limit().addr();
        assert!(ranges::find(at).is_some());
        pool.give(stack);
        drop(pool);
        assert_eq!(ranges::find(at), None);
    }

    #[test]
    fn a_depot_leaves_its_slabs_mapped_while_a_stack_is_out() {
        let mut pool = StackPool::new(StackDepot::new());
        let stack = pool.take(SizeClass::DEFAULT).unwrap();
        drop(pool);
        assert!(ranges::find(stack.limit().addr()).is_some());
        // SAFETY: a word of a stack that this test holds.
        unsafe { stack.top().wrapping_sub(8).write(1) };
    }
}
