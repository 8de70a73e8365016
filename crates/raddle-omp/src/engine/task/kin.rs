//! Owns: how a task counts its children: in advance, and late.
//! May use: `engine::member`.
//! Never: a child that is not over and not counted.
//!
//! A task's word counts the children that are not over, and the references to it. Both are changed by who makes a child,
//! its own member, and by who ends one, whoever that is. One addition for each would be the dearest of what a small task
//! costs. So a member counts for one task at a time, ahead: what it makes for that one uses up what has ended. The word
//! may be too high on account of a member, which *settles* before anybody could wait for it in vain:
//!
//! | when | why |
//! |---|---|
//! | before it runs a task of another parent | that may take long |
//! | when it finds nothing to run | it may sleep |
//! | when it has waited for something else, and goes on | what follows may take long |
//! | for a task of its own: before it waits for its children, and at its end | it is asked how many it has |
//!
//! Meanwhile it runs children of that task, for whose end that has to wait anyway, or is that task itself.
//!
//! A task that somebody waits to run himself is counted at once, since its maker waits for it alone.

use super::{CHILD, REFERENCE, Task, at, free_last};
use crate::engine::member::Member;
use std::ptr::null;
use std::sync::atomic::{Ordering, fence};

const WHOLE: u64 = REFERENCE + CHILD;
/// So many are counted ahead.
const AHEAD: u32 = 16;

/// By the member that runs `parent`: it has one more child.
#[inline]
pub(super) fn one_more(member: &Member, parent: &Task) {
    let (of, count) = member.kin.get();
    if std::ptr::eq(of, parent) && count > 0 {
        member.kin.set((of, count - 1));
        return;
    }
    settle(member);
    parent.family.fetch_add(WHOLE * u64::from(AHEAD), Ordering::Relaxed);
    member.kin.set((parent, AHEAD - 1));
}

/// One of its children is over, and freed.
#[inline]
pub(super) fn one_less(member: &Member, parent: &Task) {
    let (of, count) = member.kin.get();
    if std::ptr::eq(of, parent) {
        member.kin.set((of, count + 1));
        return;
    }
    settle(member);
    member.kin.set((parent, 1));
}

/// What the member has counted is as it should be.
#[inline]
pub(crate) fn settle(member: &Member) {
    let (of, count) = member.kin.replace((null(), 0));
    if count > 0 {
        subtract(at(of), u64::from(count) * WHOLE, false);
    }
}

/// The same, if it is of others than this parent.
#[inline]
pub(super) fn settle_others(member: &Member, parent: *const Task) {
    if !std::ptr::eq(member.kin.get().0, parent) {
        settle(member);
    }
}

/// The same of a task that the member runs itself, and has run to here.
#[inline]
pub(super) fn settle_own(member: &Member, task: &Task) {
    let (of, count) = member.kin.get();
    if !std::ptr::eq(of, task) {
        return;
    }
    member.kin.set((null(), 0));
    let less = u64::from(count) * WHOLE;
    // If it has no other child nobody else knows the word.
    // pairs with the release in `subtract`
    if task.family.load(Ordering::Acquire) == REFERENCE + less {
        task.family.store(REFERENCE, Ordering::Relaxed);
    } else if count > 0 {
        subtract(task, less, false);
    }
}

/// A child is over; it is freed, if it is `alone`, and somebody waits for it, if it is awaited.
pub(super) fn leave(parent: &Task, is_alone: bool, is_awaited: bool) {
    subtract(parent, if is_alone { WHOLE } else { CHILD }, is_awaited);
}

fn subtract(parent: &Task, less: u64, is_awaited: bool) {
    // The parent may be gone when it is told.
    let runner = parent.member.load(Ordering::Relaxed);
    // pairs with the acquire of who waits, and with itself: who frees it sees what all did
    let before = parent.family.fetch_sub(less, Ordering::AcqRel);
    // Whoever made it may wait for it alone, while others of its siblings are not over.
    if before as u32 == less as u32 || is_awaited {
        fence(Ordering::SeqCst); // pairs with the fence in `WakeWord::wait`
        // SAFETY: null, or a member; those are never freed.
        if let Some(runner) = unsafe { runner.as_ref() } {
            runner.event.poke_sleeper();
        }
    }
    if before - less < REFERENCE {
        free_last(parent);
    }
}
