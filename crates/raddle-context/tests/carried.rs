//! Owns: words that are carried with an OS thread, and the signal by which `setuid` reaches all OS threads.
//! May use: `raddle-context`, `libc`.
//! Never: a memory manager.
//!
//! In a program of its own: it has the function by which words are found.
//!
//! It is unsafe because it switches contexts.

#![cfg(all(target_arch = "x86_64", not(any(raddle_tsan, raddle_twin))))]

use raddle_context::tls::{self, Host, TlsPool};
use raddle_context::{Context, SizeClass, Stack, StackDepot, StackPool, transfer_with};
use std::cell::{Cell, UnsafeCell};

thread_local! {
    /// A heap, or none; what there is to know then; whether the storage moves.
    static WORDS: [Cell<usize>; 3] = const { [const { Cell::new(0) }; 3] };
}

fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the first word there is its own address.
    unsafe { std::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly)) };
    pointer
}

/// From the thread pointer to the words.
#[inline(never)]
fn distance() -> isize {
    WORDS.with(|words| words.as_ptr().addr().wrapping_sub(thread_pointer()).cast_signed())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_words_of_worker(begin: extern "C" fn()) -> isize {
    begin();
    distance()
}

/// The first two words in some storage.
#[inline(never)]
fn words_at(base: usize) -> [usize; 2] {
    let place = std::ptr::with_exposed_provenance::<[usize; 2]>(base.wrapping_add_signed(distance()));
    // SAFETY: the storage is in use, and this OS thread's.
    unsafe { place.read_volatile() }
}

#[repr(C)]
struct Carrier {
    own: UnsafeCell<Context>,
    resumer: UnsafeCell<Context>,
    home: usize,
    stack: Stack,
    /// What its own storage had in the end, and the OS thread's before and after the call.
    seen: Cell<[[usize; 2]; 3]>,
}

#[inline(never)]
fn body(carrier: &Carrier) {
    let place =
        std::ptr::with_exposed_provenance_mut::<[usize; 2]>(carrier.home.wrapping_add_signed(distance()));
    // SAFETY: the OS thread's storage, of which nobody makes use now.
    unsafe { place.write_volatile([0, 77]) };
    let before = words_at(carrier.home);
    // SAFETY: no preconditions.
    let group = unsafe { libc::getgid() };
    // SAFETY: it changes nothing.
    assert_eq!(unsafe { libc::setgid(group) }, 0);
    let after = words_at(carrier.home);
    carrier.seen.set([words_at(thread_pointer()), before, after]);
    // SAFETY: no variables of its own are used any more.
    unsafe { tls::end() };
}

unsafe extern "C" fn entry(me: *mut Context) -> *mut Context {
    // SAFETY: `own` is the first field of a `Carrier` that its owner keeps.
    let carrier = unsafe { &*me.cast::<Carrier>() };
    // SAFETY: the transfer to here has loaded the storage.
    unsafe { tls::begin(me.cast()) };
    body(carrier);
    // SAFETY: nothing uses the storage any more.
    unsafe { tls::return_to(carrier.home, carrier.stack.memory()) };
    carrier.resumer.get()
}

#[test]
fn the_signal_of_setuid_carries_no_words() {
    assert!(tls::supported().is_ok());
    let _host = Host::here();
    let (mut stacks, mut storages) = (StackPool::new(StackDepot::new()), TlsPool::new());
    let stack = stacks.take(SizeClass::for_bytes(128 << 10).unwrap()).expect("a stack");
    let storage = storages.take(&stack).expect("storage");
    let empty = || UnsafeCell::new(Context::empty());
    let seen = Cell::new([[9; 2]; 3]);
    let carrier = Box::new(Carrier { own: empty(), resumer: empty(), home: tls::base(), stack, seen });
    // SAFETY: nobody else knows of it yet.
    let own = unsafe { &mut *carrier.own.get() };
    // SAFETY: the stack is its own.
    unsafe { own.prime(&carrier.stack, entry) };
    WORDS.with(|words| words[1].set(5));
    // SAFETY: it is primed, and has this storage.
    unsafe { transfer_with(carrier.resumer.get(), carrier.own.get(), storage.base()) };
    // The OS thread may be in the midst of a switch to its own storage, where the words are already.
    assert_eq!(carrier.seen.get(), [[0, 5], [0, 77], [0, 77]]);
    assert_eq!(words_at(tls::base()), [0, 5], "they come back with who leaves");
    storages.give(storage);
    stacks.give(carrier.stack);
}
