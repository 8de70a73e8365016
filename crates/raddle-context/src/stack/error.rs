//! Owns: the error when no stack can be made.
//! May use: `libc`.
//! Never: allocation, which may be what failed.

use super::SizeClass;
use core::fmt;

/// Why a stack could not be made: what was requested, the kernel's error, what to change.
///
/// Eight bytes, so that `Result<Stack, StackError>` travels in two registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StackError {
    what: FailedStep,
    class: u8,
    errno: u16,
    /// KiB asked for (`TooLarge`), stacks alive (otherwise).
    figure: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailedStep {
    TooLarge,
    Map,
    Guard,
    PageSize,
    Storage,
}

impl StackError {
    pub(crate) fn too_large(bytes: usize) -> Self {
        let figure = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        StackError { what: FailedStep::TooLarge, class: SizeClass::MAX.index() as u8, errno: 0, figure }
    }

    pub(crate) fn refused(what: FailedStep, class: SizeClass, errno: i32, alive: usize) -> Self {
        let figure = u32::try_from(alive).unwrap_or(u32::MAX);
        StackError { what, class: class.index() as u8, errno: errno as u16, figure }
    }

    /// No thread-local storage for the context that was to run on a stack of this class.
    #[cfg_attr(raddle_twin, allow(dead_code, reason = "there storage is never refused"))]
    pub(crate) fn no_storage(class: SizeClass) -> Self {
        StackError::refused(FailedStep::Storage, class, libc::ENOMEM, 0)
    }

    /// The kernel's error number, or `None` if the kernel was not asked.
    pub fn raw_os_error(&self) -> Option<i32> {
        (self.errno != 0).then_some(i32::from(self.errno))
    }

    fn class_bytes(&self) -> usize {
        SizeClass::all().nth(usize::from(self.class)).map_or(0, SizeClass::bytes)
    }
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, figure) = (self.class_bytes(), self.figure);
        let answer = std::io::Error::from_raw_os_error(i32::from(self.errno));
        match self.what {
            FailedStep::TooLarge => write!(
                f,
                "a stack of {figure} KiB was asked for; the largest is {} KiB: ask for less, or move large \
                 locals to the heap",
                bytes / 1024
            ),
            FailedStep::Map => write!(
                f,
                "no address space for another {bytes}-byte stack, with {figure} made so far: mmap said \
                 \"{answer}\"; try a smaller stack size, `ulimit -v unlimited` or a larger vm.max_map_count"
            ),
            FailedStep::Guard => write!(
                f,
                "no guard page for another {bytes}-byte stack, with {figure} made so far: the kernel said \
                 \"{answer}\"; before Linux 6.13 each guarded stack takes two of the vm.max_map_count memory \
                 maps (65530 unless raised): raise it with `sysctl vm.max_map_count=...`, or keep fewer alive"
            ),
            FailedStep::Storage => write!(
                f,
                "no memory for the thread-local storage of another thread; raise `ulimit -v`, or keep fewer alive"
            ),
            FailedStep::PageSize => write!(f, "stacks need pages of 4096 bytes; this kernel's have {figure}"),
        }
    }
}

impl fmt::Debug for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StackError({self})")
    }
}

impl std::error::Error for StackError {}
