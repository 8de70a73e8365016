//! Owns: threadprivate variables by tables, as compilers without thread-local storage have them.
//! May use: `abi`, `engine::member`, `engine::reduction`.
//! Never: variables in storage of the thread's own; these need no call.

use super::SourceSite;
use crate::abi::At;
use crate::engine::member::me;
use crate::engine::reduction;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

type Make = Option<unsafe extern "C-unwind" fn(usize) -> usize>;
type CopyOf = Option<unsafe extern "C-unwind" fn(usize, usize) -> usize>;

static MAKERS: Mutex<Option<HashMap<usize, (Make, CopyOf)>>> = Mutex::new(None);

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_threadprivate_register(
    _: SourceSite,
    data: usize,
    make: Make,
    copy: CopyOf,
    _: usize,
) {
    let mut makers = MAKERS.lock().unwrap_or_else(PoisonError::into_inner);
    makers.get_or_insert_default().insert(data, (make, copy));
}

/// The caller's copy; the first thread of the program has the variable itself.
#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_threadprivate(_: SourceSite, _: i32, data: usize, bytes: usize) -> usize {
    let member = me();
    if member.gtid == 0 {
        return data;
    }
    if let Some(&copy) = member.privates.borrow().get(&data) {
        return copy;
    }
    let copy = reduction::zeroed(bytes, 64);
    let makers = MAKERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .and_then(|all| all.get(&data).copied());
    match makers {
        // SAFETY: the compiler's, for such a variable.
        Some((Some(make), _)) => drop(unsafe { make(copy) }),
        // SAFETY: as above.
        Some((None, Some(copy_of))) => drop(unsafe { copy_of(copy, data) }),
        _ => {
            let from = std::ptr::with_exposed_provenance::<u8>(data);
            // SAFETY: as large as the compiler says, and new.
            unsafe {
                std::ptr::copy_nonoverlapping(from, std::ptr::with_exposed_provenance_mut(copy), bytes)
            };
        }
    }
    member.privates.borrow_mut().insert(data, copy);
    copy
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_threadprivate_cached(
    site: SourceSite,
    gtid: i32,
    data: usize,
    bytes: usize,
    _: At<usize>,
) -> usize {
    __kmpc_threadprivate(site, gtid, data, bytes)
}
