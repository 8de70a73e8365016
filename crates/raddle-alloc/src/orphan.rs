//! Owns: allocation and free of a thread that has no heap, or that a signal handler has interrupted in its heap.
//! May use: `arena`, `hardened`, `heap`, `page`.
//! Never: something that is the thread's own: it may be called at any instruction.
//!
//! Slower than with a heap, by some exchanges: each call becomes the holder of a page for a moment.
//!
//! It is unsafe because it gives blocks out.

use crate::arena::{self, Arena, page_of};
use crate::hardened;
use crate::heap::{leave_page, slices_of_class};
use crate::page::{Block, Chain, Page, SOMEBODY};

/// A block of the class; null if there is no memory.
pub(crate) fn allocate(class: usize, seed: usize) -> *mut Block {
    // bounded: a page that was left may have lost its last block meanwhile; the third is a new one.
    for _ in 0..2 {
        let Some(page) = arena::adopt(class) else { break };
        page.set_owner(SOMEBODY);
        if let Some(block) = take_one(page, class) {
            return block;
        }
    }
    let count = slices_of_class(class);
    let Some(slices) = arena::take(count, 1, seed) else { return std::ptr::null_mut() };
    Arena::init_page(&slices, class, count, SOMEBODY);
    take_one(slices.first, class).unwrap_or(std::ptr::null_mut())
}

/// Takes a block of a page whose holder the caller is, and leaves the page.
fn take_one(page: &Page, class: usize) -> Option<*mut Block> {
    let chain = if page.has_local() || page.collect() {
        if hardened::is_on() {
            let (first, next) = page.first_link();
            hardened::check_link(page, first, next);
        }
        page.take_local(0, 1)
    } else if !page.is_carved() {
        page.carve(class, 1)
    } else {
        Chain::EMPTY
    };
    if chain.count > 0 && hardened::is_on() {
        hardened::gives(page, chain.first);
    }
    leave_page(page);
    (chain.count > 0).then_some(chain.first)
}

/// Gives a block of a class back.
///
/// # Safety
/// It is one, and nobody uses it any more.
pub(crate) unsafe fn free(block: *mut Block) {
    // SAFETY: passed on.
    let page = unsafe { page_of(block.cast()) };
    let hardened = hardened::is_on();
    if hardened {
        hardened::takes(page, block);
    }
    let note = |next| {
        if hardened {
            hardened::links(page, block, next);
        }
    };
    let chain = Chain { first: block, last: block, count: 1 };
    // SAFETY: passed on.
    if unsafe { page.push_noting(chain, note) } {
        arena::unlist(page);
        page.set_owner(SOMEBODY);
        leave_page(page);
    }
}
