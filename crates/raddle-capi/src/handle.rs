//! Owns: `Handle`, an object of the library by its address; what the program gives as addresses.
//! May use: `fault`, `libc`.
//! Never: an address that is followed before its tag was looked at.
//!
//! A tag at the beginning says of what kind an object is, and goes before the object does. So a null handle, one of
//! another kind and most that were destroyed are told. Memory that was given back may be anybody's, though: the look
//! at the tag of a handle that was destroyed is the program's mistake.

use crate::fault::{CResult, Fault};
use std::ffi::{CStr, c_char};
use std::pin::Pin;
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};

/// What can be the object of a handle, which the program may hand to any thread.
pub(crate) trait Object: Sized + Send + Sync {
    /// Eight letters.
    const TAG: u64;
}

/// Of an object that is gone.
const GONE: u64 = u64::from_le_bytes(*b"raddle-!");

#[repr(C)]
pub(crate) struct Handle<T> {
    tag: AtomicU64,
    object: T,
}

impl<T> Handle<T> {
    /// Where the object lies.
    pub(crate) const OBJECT: usize = std::mem::offset_of!(Self, object);
}

/// An object in the caller's frame, gone with it.
pub(crate) struct InFrame<T>(Handle<T>);

impl<T: Object> InFrame<T> {
    pub(crate) fn new(object: T) -> InFrame<T> {
        InFrame(Handle { tag: AtomicU64::new(T::TAG), object })
    }

    pub(crate) fn object(&self) -> &T {
        &self.0.object
    }

    /// What the program gets.
    pub(crate) fn handle(&self) -> *const Handle<T> {
        &raw const self.0
    }
}

impl<T> Drop for InFrame<T> {
    /// A frame keeps what has lain in it, and so the tag of what is gone.
    fn drop(&mut self) {
        self.0.tag.store(GONE, Ordering::Relaxed);
    }
}

/// Makes an object, and gives its address to the program.
pub(crate) fn make<T: Object>(out: *mut *mut Handle<T>, object: T) -> CResult {
    expect(out)?;
    let made = Box::new(Handle { tag: AtomicU64::new(T::TAG), object });
    put(out, Box::into_raw(made))
}

/// The handle, if its tag is right.
#[inline(always)]
fn tagged<'h, T: Object>(handle: *const Handle<T>) -> CResult<&'h Handle<T>> {
    if handle.is_null() {
        return Err(Fault::Invalid);
    }
    if !handle.is_aligned() {
        return Err(Fault::Handle);
    }
    // SAFETY: the interface asks for the address of an object of the library.
    let tag = unsafe { &*handle.cast::<AtomicU64>() };
    if tag.load(Ordering::Relaxed) != T::TAG {
        return Err(Fault::Handle);
    }
    // SAFETY: an object of this kind lies there, and the program destroys it when nobody uses it.
    Ok(unsafe { &*handle })
}

/// The object, which lives until the program destroys it.
#[inline(always)]
pub(crate) fn get<'h, T: Object>(handle: *const Handle<T>) -> CResult<&'h T> {
    Ok(&tagged(handle)?.object)
}

/// The object, which is no longer the program's. Of two who destroy it at a time, one is refused.
pub(crate) fn end<T: Object>(handle: *mut Handle<T>) -> CResult<T> {
    let tag = &tagged(handle)?.tag;
    // Relaxed: only who wins goes on, and the program orders its uses before this.
    tag.compare_exchange(T::TAG, GONE, Ordering::Relaxed, Ordering::Relaxed).map_err(|_| Fault::Handle)?;
    // SAFETY: it was made by `make`, and this is its one end.
    Ok(unsafe { Box::from_raw(handle) }.object)
}

/// Calls in an object that wait there, or wake who waits: it is not destroyed meanwhile. Who was woken may destroy it
/// before the one who woke it has returned.
#[derive(Default)]
pub(crate) struct Users(AtomicU32);

pub(crate) struct Using<'u>(&'u Users);

impl Users {
    pub(crate) fn enter(&self) -> Using<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Using(self)
    }

    /// Refused if somebody is inside.
    pub(crate) fn none(&self) -> CResult {
        // Acquire: pairs with the ends of the calls; what they did in the object was before it goes.
        if self.0.load(Ordering::Acquire) == 0 { Ok(()) } else { Err(Fault::Busy) }
    }
}

/// A future that waits at an object, which is not destroyed before it.
pub(crate) struct WaitsAt<F> {
    wait: Pin<Box<F>>,
    /// After the wait.
    _using: Using<'static>,
}

impl<F> WaitsAt<F> {
    pub(crate) fn new(wait: F, using: Using<'static>) -> WaitsAt<F> {
        WaitsAt { wait: Box::pin(wait), _using: using }
    }
}

impl<F: Future> Future for WaitsAt<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.wait.as_mut().poll(context)
    }
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        // Release: pairs with `none`, after which the memory may be another's.
        self.0.0.fetch_sub(1, Ordering::Release);
    }
}

/// Refused if it is null.
#[inline(always)]
pub(crate) fn expect<T>(out: *mut T) -> CResult {
    if out.is_null() || !out.is_aligned() { Err(Fault::Invalid) } else { Ok(()) }
}

/// Writes an answer; refused if there is no place for it.
#[inline(always)]
pub(crate) fn put<T>(out: *mut T, value: T) -> CResult {
    expect(out)?;
    // SAFETY: the interface asks for the address of a variable, whose former value needs no drop.
    unsafe { out.write(value) };
    Ok(())
}

/// As [`put`], where null says that nobody wants to know.
#[inline(always)]
pub(crate) fn put_if<T>(out: *mut T, value: T) {
    let _unwanted = put(out, value);
}

/// A text of the program's.
pub(crate) fn text<'t>(text: *const c_char) -> CResult<&'t str> {
    if text.is_null() {
        return Err(Fault::Invalid);
    }
    // SAFETY: the interface asks for a text that ends with a null byte.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Fault::Invalid)
}

/// Bytes of the program's.
pub(crate) fn bytes<'b>(data: *const u8, size: usize) -> CResult<&'b [u8]> {
    if size == 0 {
        return Ok(&[]);
    }
    if data.is_null() || size > isize::MAX as usize {
        return Err(Fault::Invalid);
    }
    // SAFETY: the interface asks for so many bytes there.
    Ok(unsafe { slice::from_raw_parts(data, size) })
}

/// Room of the program's. What lies there is not looked at.
pub(crate) fn room<'b>(data: *mut u8, size: usize) -> CResult<&'b mut [u8]> {
    if size == 0 {
        return Ok(&mut []);
    }
    if data.is_null() || size > isize::MAX as usize {
        return Err(Fault::Invalid);
    }
    // SAFETY: the interface asks for so much room there, which nobody else uses during the call.
    Ok(unsafe { slice::from_raw_parts_mut(data, size) })
}

/// A copy that the program frees by `free`. One byte longer, which is null: so it can be a text.
pub(crate) fn copy_for_program(bytes: &[u8]) -> CResult<*mut u8> {
    // SAFETY: any size may be asked for.
    let memory = unsafe { libc::malloc(bytes.len() + 1) }.cast::<u8>();
    if memory.is_null() {
        return Err(Fault::Memory);
    }
    // SAFETY: it has just been allocated, that long.
    unsafe { memory.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    let last = memory.wrapping_add(bytes.len());
    // SAFETY: as above, and a byte longer.
    unsafe { last.write(0) };
    Ok(memory)
}
