//! Owns: the operators `new` and `delete` of C++, by their names.
//! May use: `libc`, `raddle-alloc`.
//! Never: an exception of its own.
//!
//! Where there is no memory, the operator of the C++ library is asked: it calls `malloc` again, then the program's
//! handler for this case, and throws what it throws.
//!
//! It is unsafe because it exports names.

use raddle_alloc as alloc;
use std::ffi::{CStr, c_void};

/// C++ libraries. A program that is no C++'s opens a library that is: the C++ library which that one has brought along
/// is not among those that are searched for the next function.
const LIBRARIES: [&CStr; 3] = [c"libstdc++.so.6", c"libc++abi.so.1", c"libc++.so.1"];

/// The next function of this name, behind ours; null if there is none.
fn next(name: &CStr) -> *mut c_void {
    // SAFETY: it reads the name.
    let mut next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    // bounded: by the array.
    for library in LIBRARIES {
        if next.is_null() {
            // SAFETY: it reads the name, and loads nothing. What it finds is not closed: it is about to be called.
            let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
            if !handle.is_null() {
                // SAFETY: it reads the name.
                next = unsafe { libc::dlsym(handle, name.as_ptr()) };
            }
        }
    }
    next
}

/// There is no C++ library that could throw.
fn give_up() -> *mut c_void {
    let text = "raddle-alloc: no memory for operator new, and no C++ library whose operator would throw\n";
    // SAFETY: it reads the text.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    // SAFETY: no preconditions.
    unsafe { libc::abort() }
}

macro_rules! operators_new {
    ($($name:ident($size:ident $(, $align:ident)?; $($nothrow:ident)?);)*) => {$(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name($size: usize $(, $align: usize)? $(, $nothrow: *const c_void)?) -> *mut c_void {
            let block = operators_new!(@block $size $(, $align)?);
            if !block.is_null() {
                return block.cast();
            }
            type Next = extern "C-unwind" fn(
                usize $(, operators_new!(@usize $align))? $(, operators_new!(@pointer $nothrow))?
            ) -> *mut c_void;
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            let next = next(NAME);
            if next.is_null() {
                return operators_new!(@none $($nothrow)?);
            }
            // SAFETY: a function of this name has this type.
            let next: Next = unsafe { std::mem::transmute(next) };
            next($size $(, $align)? $(, $nothrow)?)
        }
    )*};
    (@block $size:ident) => { alloc::allocate($size) };
    (@block $size:ident, $align:ident) => { alloc::allocate_aligned($size, $align) };
    (@none) => { give_up() };
    (@none $nothrow:ident) => { std::ptr::null_mut() };
    (@usize $any:ident) => { usize };
    (@pointer $any:ident) => { *const c_void };
}

operators_new! {
    _Znwm(size;);
    _Znam(size;);
    _ZnwmRKSt9nothrow_t(size; nothrow);
    _ZnamRKSt9nothrow_t(size; nothrow);
    _ZnwmSt11align_val_t(size, align;);
    _ZnamSt11align_val_t(size, align;);
    _ZnwmSt11align_val_tRKSt9nothrow_t(size, align; nothrow);
    _ZnamSt11align_val_tRKSt9nothrow_t(size, align; nothrow);
}

macro_rules! operators_delete {
    ($($name:ident($($more:ident),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(block: *mut c_void $(, $more: usize)*) {
            $(let _ = $more;)*
            // SAFETY: passed on to the program.
            unsafe { alloc::free(block.cast()) };
        }
    )*};
}

operators_delete! {
    _ZdlPv();
    _ZdaPv();
    _ZdlPvm(size);
    _ZdaPvm(size);
    _ZdlPvRKSt9nothrow_t(nothrow);
    _ZdaPvRKSt9nothrow_t(nothrow);
    _ZdlPvSt11align_val_t(align);
    _ZdaPvSt11align_val_t(align);
    _ZdlPvmSt11align_val_t(size, align);
    _ZdaPvmSt11align_val_t(size, align);
    _ZdlPvSt11align_val_tRKSt9nothrow_t(align, nothrow);
    _ZdaPvSt11align_val_tRKSt9nothrow_t(align, nothrow);
}
