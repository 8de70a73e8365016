//! Owns: how a process waits for its children, one or all, and what others are told of it meanwhile.
//! May use: `block::control`, `block::current`, `describe::wait`, `region`, `worker::here`,
//! `worker::nested::patience`, `raddle-protocol`.
//! Never: the end of a child; the join word has it.
//!
//! Who waits for a child that has not begun goes there directly, if nothing more urgent waits, and children of others
//! who wait for children may be passed by on the way: the page of `protocol::fresh`. So one that waits for its children
//! carries a flag, [`JOINS`], as long as it does.

use crate::block::Block;
use crate::describe::{JOIN, Wait};
use crate::region::{self, Ring};
use crate::wait::park::{self, Caller, plain_caller, wait_registered};
use crate::wait::wait_loosely;
use crate::worker::{Here, Patience, current_header};
use raddle_protocol::call::WaitCall;
use raddle_protocol::header::{BRANCH, Header, JOINS, PASSED};
use raddle_protocol::protocol::join::Registered;
use std::panic::Location;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Instant;

/// Waits, called at `site` in the program, for the end of a process whose handle the caller has.
#[inline]
pub(crate) fn wait_for_child(child: &'static Block, site: &'static Location<'static>) {
    match plain_caller() {
        Some(block) => wait_plainly_for_child(block, child, site),
        None => wait_firmly_for_child(child, site),
    }
}

/// As [`wait_for_child`], until `deadline` or a cancellation. False if the deadline passed first.
#[inline]
#[track_caller]
pub(crate) fn wait_for_child_loosely(child: &'static Block, deadline: Option<Instant>) -> bool {
    match plain_caller() {
        Some(block) if deadline.is_none() => {
            wait_plainly_for_child(block, child, Location::caller());
            true
        }
        _ => wait_for_child_or_not(child, deadline, Location::caller()),
    }
}

/// The caller is a process in no region. PERF: that is found out once; bench `create_join`.
#[inline(always)]
fn wait_plainly_for_child(block: &'static Block, child: &'static Block, site: &'static Location<'static>) {
    let wait = Wait::on(const { &JOIN }, child, site);
    let _shown = wait.show_alone(block);
    let _joining = Joining::begin(block);
    // SAFETY: `block` is what runs here, and leaves its stack by this only.
    let worker = unsafe { Here::of(&block.header) };
    // SAFETY: as above.
    if !unsafe { worker.join_next(block, child) } {
        wait_registered(JOIN.call(), |joiner| child.join.register(joiner) == Registered::Waits);
    }
}

/// A process waits for its children while this lives: others may go before those of them that have not begun.
pub(crate) struct Joining(Option<&'static Block>);

impl Joining {
    #[inline(always)]
    fn begin(block: &'static Block) -> Joining {
        let flags = &block.header.flags;
        if flags.get() & (PASSED | BRANCH) == PASSED {
            branch_begins(block);
        }
        flags.set(flags.get() | JOINS);
        Joining(Some(block))
    }
}

#[cold]
#[inline(never)]
fn branch_begins(block: &Block) {
    let flags = &block.header.flags;
    flags.set(flags.get() | BRANCH);
    // SAFETY: it is what runs here; the proof is gone at once.
    unsafe { Here::of(&block.header) }.shared().branch_begins();
}

/// What the process was called for is over.
#[cold]
#[inline(never)]
pub(crate) fn branch_ends(block: &Block) {
    // SAFETY: as above.
    unsafe { Here::of(&block.header) }.shared().branch_ends();
}

impl Drop for Joining {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(block) = self.0 {
            let flags = &block.header.flags;
            flags.set(flags.get() & !JOINS);
        }
    }
}

/// The caller is about to wait for all of its children. If it is a process that may switch, and some of them go before
/// others, `owner` becomes that process.
pub(crate) fn joining_all(owner: &AtomicPtr<Header>) -> Joining {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { header.as_ref() };
    if !running.is_some_and(park::may_switch) {
        return Joining(None);
    }
    // SAFETY: its kind is a process, so it is a block.
    let block = unsafe { Block::of_header(header) };
    let joining = Joining::begin(block);
    // SAFETY: it is what runs here; the proof is gone at once.
    if unsafe { Here::of(&block.header) }.put_next_child_first(header) {
        // Relaxed: it is only compared, and asked for its flags.
        owner.store(header, Ordering::Relaxed);
    }
    joining
}

/// Whoever the caller is.
#[inline(never)]
#[track_caller]
fn wait_firmly_for_child(child: &'static Block, site: &'static Location<'static>) {
    let wait = Wait::on(const { &JOIN }, child, site);
    let _shown = wait.show();
    let mut joining = Joining(None);
    if let Caller::Process(block) = park::caller(JOIN.name()) {
        joining = Joining::begin(block);
        // SAFETY: `block` is what runs here, and leaves its stack by this only.
        let worker = unsafe { Here::of(&block.header) };
        // SAFETY: as above.
        if unsafe { worker.join_next(block, child) } {
            return;
        }
    }
    let _joining = joining;
    wait_registered(JOIN.call(), |joiner| child.join.register(joiner) == Registered::Waits);
}

#[cold]
#[track_caller]
fn wait_for_child_or_not(
    child: &'static Block,
    deadline: Option<Instant>,
    site: &'static Location<'static>,
) -> bool {
    if deadline.is_none() && !region::is_in_one() {
        wait_firmly_for_child(child, site);
        return true;
    }
    let wait = Wait::on(const { &JOIN }, child, site);
    let _shown = wait.show();
    let register = |joiner| child.join.register_loosely(joiner) == Registered::Waits;
    let withdraw = |joiner| child.join.withdraw(joiner);
    let over = match park::holder() {
        Some(block) => wait_holding(block, JOIN.call(), deadline, register, withdraw),
        None => wait_loosely(JOIN.call(), deadline, register, withdraw),
    };
    if !over {
        region::check();
    }
    over
}

/// As [`wait_loosely`], for a job that holds its OS thread and waits for another: its worker goes on below it.
fn wait_holding(
    block: &'static Block,
    call: &'static WaitCall,
    deadline: Option<Instant>,
    register: impl FnOnce(*mut Header) -> bool,
    withdraw: impl FnOnce(*mut Header) -> bool,
) -> bool {
    // SAFETY: `block` is what runs here, and gives the proof away.
    let worker = unsafe { Here::of(&block.header) };
    let patience = Patience::at(worker.public());
    // SAFETY: the caller stays in its region until this returns.
    let node = unsafe { region::current() };
    // SAFETY: it is called, or taken back, under the lock of the node, before `patience` goes.
    if node.is_some_and(|node| !node.listen(Ring::Call(unsafe { patience.callback() }))) {
        return false;
    }
    // SAFETY: as above, and it holds its OS thread.
    let over = unsafe { worker.wait_nested_loosely(block, call, (&patience, deadline), register, withdraw) };
    node.into_iter().for_each(|node| _ = node.unlisten());
    over
}
