//! Owns: the models of a page's word: no block is lost, or had twice; one holder, who sees what was written.
//! May use: `protocol::page_word`, `loom`.
//! Never: a page.

use super::check;
use crate::protocol::page_word::{PageWord, Returned};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

const BLOCKS: usize = 5;

/// A page of some blocks: the link of each, and what the holder alone may touch.
pub(super) struct PageModel {
    pub(super) word: PageWord,
    links: [UnsafeCell<u32>; BLOCKS],
    held: UnsafeCell<Vec<u32>>,
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for PageModel {}
// SAFETY: as above.
unsafe impl Send for PageModel {}

impl PageModel {
    pub(super) fn new() -> Arc<PageModel> {
        let links = std::array::from_fn(|_| UnsafeCell::new(u32::MAX));
        Arc::new(PageModel { word: PageWord::new(), links, held: UnsafeCell::new(Vec::new()) })
    }

    fn set_link(&self, block: u32, to: u32) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.links[block as usize - 1].with_mut(|link| unsafe { *link = to });
    }

    /// Pushes blocks that the caller has; adopts the page if it is nobody's.
    pub(super) fn push(&self, blocks: &[u32]) -> bool {
        blocks.windows(2).for_each(|pair| self.set_link(pair[0], pair[1]));
        let (first, last) = (blocks[0], blocks[blocks.len() - 1]);
        let claimed = self
            .word
            .push(Returned { head: first, count: blocks.len() as u32 }, |head| self.set_link(last, head));
        if claimed {
            self.collect();
        }
        claimed
    }

    /// The holder takes what there is into its own list.
    pub(super) fn collect(&self) {
        let returned = self.word.take();
        let mut block = returned.head;
        for _ in 0..returned.count {
            assert_ne!(block, 0, "the count is more than the list");
            // SAFETY: as above.
            self.held.with_mut(|held| unsafe { (*held).push(block) });
            // SAFETY: as above.
            block = self.links[block as usize - 1].with(|link| unsafe { *link });
        }
        assert!(returned.count == 0 || block == 0, "the list is more than the count");
    }

    /// Holder or not, in the end one can become it and finds each block once.
    fn holds(&self, expected: &[u32]) {
        let _now_ours = self.word.claim();
        self.collect();
        assert_eq!(self.all_held(), expected);
    }

    /// What the holder has in its own list.
    pub(super) fn all_held(&self) -> Vec<u32> {
        // SAFETY: as above.
        let mut held = self.held.with(|held| unsafe { (*held).clone() });
        held.sort_unstable();
        held
    }
}

#[test]
fn what_two_push_the_holder_finds() {
    check(Some(3), || {
        let shared = PageModel::new();
        let others = [shared.clone(), shared.clone()];
        let threads = [(0, [1, 2]), (1, [3, 4])].map(|(number, blocks)| {
            let shared: Arc<PageModel> = others[number].clone();
            thread::spawn(move || assert!(!shared.push(&blocks), "the page has a holder"))
        });
        shared.collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        shared.holds(&[1, 2, 3, 4]);
    });
}

#[test]
fn a_page_that_is_given_up_is_adopted_by_one() {
    check(Some(3), || {
        let shared = PageModel::new();
        let others = [shared.clone(), shared.clone()];
        let threads = [(0, [1]), (1, [2])].map(|(number, blocks)| {
            let shared: Arc<PageModel> = others[number].clone();
            thread::spawn(move || shared.push(&blocks))
        });
        // Has nothing, unless somebody was faster.
        let refused = !shared.word.disown_empty();
        if refused {
            shared.collect();
        }
        let claimed = threads.map(|thread| thread.join().unwrap());
        let claims = claimed.iter().filter(|claimed| **claimed).count();
        assert_eq!(claims, usize::from(!refused), "one adopts it if it was given up");
        shared.holds(&[1, 2]);
    });
}

#[test]
fn a_page_that_is_left_goes_to_one_who_sees_what_the_last_holder_wrote() {
    check(Some(3), || {
        let shared = PageModel::new();
        // SAFETY: as above.
        shared.held.with_mut(|held| unsafe { (*held).push(1) });
        let others = [shared.clone(), shared.clone()];
        let pushes = {
            let shared: Arc<PageModel> = others[0].clone();
            thread::spawn(move || shared.push(&[2]))
        };
        let claims = {
            let shared: Arc<PageModel> = others[1].clone();
            thread::spawn(move || {
                let claimed = shared.word.claim();
                if claimed {
                    // SAFETY: as above.
                    shared.held.with_mut(|held| unsafe { (*held).push(3) });
                }
                claimed
            })
        };
        // SAFETY: as above.
        shared.held.with_mut(|held| unsafe { (*held).push(4) });
        shared.word.disown();
        let (pushed, claimed) = (pushes.join().unwrap(), claims.join().unwrap());
        assert!(!(pushed && claimed), "two have adopted it");
        shared.holds(if claimed { &[1, 2, 3, 4] } else { &[1, 2, 4] });
    });
}

#[test]
fn two_who_claim_do_not_both_have_it() {
    check(None, || {
        let shared = PageModel::new();
        shared.word.disown();
        let other = shared.clone();
        let thread = thread::spawn(move || other.word.claim());
        let (mine, others) = (shared.word.claim(), thread.join().unwrap());
        assert!(mine != others, "one has it");
    });
}
