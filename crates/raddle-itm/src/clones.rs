//! Owns: which function stands for which in a transaction.
//! May use: `tx`.
//! Never: a call of one.
//!
//! Programs and libraries hand in tables as they are loaded. A look-up takes no lock: all tables together are one
//! sorted list, which each change makes anew. The lists before are kept, since somebody may still look: they are as few
//! as libraries.
//!
//! It holds `unsafe` for the tables, which are the program's.

use crate::tx;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// A function and its clone, as the compiler lays them.
type Pair = [usize; 2];

static TABLES: Mutex<Vec<(usize, Vec<Pair>)>> = Mutex::new(Vec::new());
static ALL: AtomicPtr<Vec<Pair>> = AtomicPtr::new(std::ptr::null_mut());

fn change(change: impl FnOnce(&mut Vec<(usize, Vec<Pair>)>)) {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut tables);
    let mut all: Vec<Pair> = tables.iter().flat_map(|(_, pairs)| pairs).copied().collect();
    all.sort_unstable();
    ALL.store(Box::leak(Box::new(all)), Ordering::Release); // pairs with the acquire in `find`
}

fn find(function: usize) -> Option<usize> {
    let all = ALL.load(Ordering::Acquire); // pairs with the release in `change`
    // SAFETY: it is never freed.
    let all = unsafe { all.as_ref() }?;
    all.binary_search_by_key(&function, |pair| pair[0]).ok().map(|place| all[place][1])
}

/// # Safety
/// There are so many pairs there.
#[unsafe(no_mangle)]
unsafe extern "C" fn _ITM_registerTMCloneTable(table: *const Pair, pairs: usize) {
    // SAFETY: the caller's.
    let copied = (0..pairs).map(|i| unsafe { table.wrapping_add(i).read() }).collect();
    change(|tables| tables.push((table.addr(), copied)));
}

#[unsafe(no_mangle)]
extern "C" fn _ITM_deregisterTMCloneTable(table: *const Pair) {
    change(|tables| tables.retain(|(address, _)| *address != table.addr()));
}

/// The clone, or the function itself, after which nothing can be undone.
#[unsafe(no_mangle)]
extern "C" fn _ITM_getTMCloneOrIrrevocable(function: *const c_void) -> *const c_void {
    match find(function.addr()) {
        Some(clone) => std::ptr::with_exposed_provenance(clone),
        None => {
            tx::go_irrevocable();
            function
        }
    }
}

/// The clone, which there must be.
#[unsafe(no_mangle)]
extern "C" fn _ITM_getTMCloneSafe(function: *const c_void) -> *const c_void {
    match find(function.addr()) {
        Some(clone) => std::ptr::with_exposed_provenance(clone),
        None => tx::fail("a function that is called in an atomic transaction has no version for it"),
    }
}
