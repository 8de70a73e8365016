// Owns: `File`, and the functions beside it.
// May use: `raddle-core`, `rustix`.
// Never: a worker that waits for a disk; a call that `std` does not have.

//! Files, with the names of [`std::fs`]: each call is made on a spare OS thread, as in `raddle::blocking`.
//!
//! The way there and back takes 20 to 30 us. Reads of a [`File`] for up to 256 KiB that the kernel has in its page
//! cache need none of it: they are first asked for without a wait (`preadv2` with `RWF_NOWAIT`), and give what is
//! there, which may be a part. For several other calls in a row, one `blocking` around calls of `std::fs` takes less.
//!
//! Considered: `io_uring`. A read of 4 KiB from the cache takes 684 ns by a ring of its own, 432 by `preadv2`, 344 by
//! `pread` (an Intel host); one that goes to a disk takes longer than a spare OS thread costs; and writes to ext4,
//! which has no way to write without a wait, go to OS threads of the kernel's instead of ours. Default profiles of
//! containers refuse it.
//!
//! ```
//! use raddle_net::fs;
//!
//! let text = raddle::csp::spawn(|| fs::read_to_string("Cargo.toml")).join().unwrap()?;
//! assert!(text.contains("[package]"));
//! # Ok::<(), std::io::Error>(())
//! ```

pub use std::fs::{DirEntry, FileTimes, FileType, Metadata, Permissions, ReadDir, TryLockError};

use raddle_core::blocking::blocking;
use raddle_core::door::tick::at_once;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{ReadWriteFlags, preadv2};
use std::fs;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

/// Functions of one path.
macro_rules! of_a_path {
    ($($name:ident -> $result:ty;)+) => {
        $(
            #[doc = concat!("As [`std::fs::", stringify!($name), "`].")]
            ///
            /// # Errors
            /// As there.
            #[track_caller]
            pub fn $name<P: AsRef<Path>>(path: P) -> io::Result<$result> {
                let path = path.as_ref();
                blocking(|| fs::$name(path))
            }
        )+
    };
}

/// Functions of two paths.
macro_rules! of_two_paths {
    ($($name:ident -> $result:ty;)+) => {
        $(
            #[doc = concat!("As [`std::fs::", stringify!($name), "`].")]
            ///
            /// # Errors
            /// As there.
            #[track_caller]
            pub fn $name<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q) -> io::Result<$result> {
                let (from, to) = (from.as_ref(), to.as_ref());
                blocking(|| fs::$name(from, to))
            }
        )+
    };
}

of_a_path! {
    canonicalize -> PathBuf;
    create_dir -> ();
    create_dir_all -> ();
    exists -> bool;
    metadata -> Metadata;
    read -> Vec<u8>;
    read_dir -> ReadDir;
    read_link -> PathBuf;
    read_to_string -> String;
    remove_dir -> ();
    remove_dir_all -> ();
    remove_file -> ();
    symlink_metadata -> Metadata;
}

of_two_paths! {
    copy -> u64;
    hard_link -> ();
    rename -> ();
}

/// As [`std::fs::write`].
///
/// # Errors
/// As there.
#[track_caller]
pub fn write<P: AsRef<Path>, C: AsRef<[u8]>>(path: P, contents: C) -> io::Result<()> {
    let (path, contents) = (path.as_ref(), contents.as_ref());
    blocking(|| fs::write(path, contents))
}

/// As [`std::fs::set_permissions`].
///
/// # Errors
/// As there.
#[track_caller]
pub fn set_permissions<P: AsRef<Path>>(path: P, permissions: Permissions) -> io::Result<()> {
    let path = path.as_ref();
    blocking(|| fs::set_permissions(path, permissions))
}

/// How a file is opened: [`std::fs::OpenOptions`].
#[derive(Clone, Debug)]
pub struct OpenOptions(fs::OpenOptions);

/// Settings of one boolean.
macro_rules! switches {
    ($($name:ident)+) => {
        $(
            #[doc = concat!("As there, [`", stringify!($name), "`](std::fs::OpenOptions::", stringify!($name), ").")]
            pub fn $name(&mut self, $name: bool) -> &mut OpenOptions {
                self.0.$name($name);
                self
            }
        )+
    };
}

impl OpenOptions {
    /// Nothing is allowed yet.
    #[expect(clippy::new_without_default, reason = "as there")]
    pub fn new() -> OpenOptions {
        OpenOptions(fs::OpenOptions::new())
    }

    switches! { read write append truncate create create_new }

    /// Opens it so.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn open<P: AsRef<Path>>(&self, path: P) -> io::Result<File> {
        let path = path.as_ref();
        blocking(|| self.0.open(path)).map(File)
    }
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.0.mode(mode);
        self
    }

    fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        self.0.custom_flags(flags);
        self
    }
}

/// How a folder is made: [`std::fs::DirBuilder`].
#[derive(Debug)]
pub struct DirBuilder(fs::DirBuilder);

impl DirBuilder {
    /// One folder.
    #[expect(clippy::new_without_default, reason = "as there")]
    pub fn new() -> DirBuilder {
        DirBuilder(fs::DirBuilder::new())
    }

    /// With those around it, and no error if it is there.
    pub fn recursive(&mut self, recursive: bool) -> &mut DirBuilder {
        self.0.recursive(recursive);
        self
    }

    /// Makes it.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn create<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        let path = path.as_ref();
        blocking(|| self.0.create(path))
    }
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, mode: u32) -> &mut DirBuilder {
        self.0.mode(mode);
        self
    }
}

/// A file: [`std::fs::File`], whose calls leave the worker to others.
#[derive(Debug)]
pub struct File(fs::File);

impl File {
    /// Opens it to read.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn open<P: AsRef<Path>>(path: P) -> io::Result<File> {
        let path = path.as_ref();
        blocking(|| fs::File::open(path)).map(File)
    }

    /// Opens it to write, empty.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn create<P: AsRef<Path>>(path: P) -> io::Result<File> {
        let path = path.as_ref();
        blocking(|| fs::File::create(path)).map(File)
    }

    /// Makes it, to read and to write: it must not be there.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn create_new<P: AsRef<Path>>(path: P) -> io::Result<File> {
        let path = path.as_ref();
        blocking(|| fs::File::create_new(path)).map(File)
    }

    /// Options to open a file with.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Locks it against all others; waits for them, which no cancellation ends.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn lock(&self) -> io::Result<()> {
        blocking(|| self.0.lock())
    }

    /// Locks it against those who lock it alone; waits for them, which no cancellation ends.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn lock_shared(&self) -> io::Result<()> {
        blocking(|| self.0.lock_shared())
    }

    /// Locks it, if nobody else has.
    ///
    /// # Errors
    /// If somebody has; and as there.
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        self.0.try_lock()
    }

    /// Locks it, if nobody has it alone.
    ///
    /// # Errors
    /// If somebody has; and as there.
    pub fn try_lock_shared(&self) -> Result<(), TryLockError> {
        self.0.try_lock_shared()
    }

    /// Gives its lock back.
    ///
    /// # Errors
    /// As there.
    pub fn unlock(&self) -> io::Result<()> {
        self.0.unlock()
    }

    /// Who may do what with it.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        blocking(|| self.0.set_permissions(permissions))
    }

    /// When it was changed and looked at.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn set_times(&self, times: FileTimes) -> io::Result<()> {
        blocking(|| self.0.set_times(times))
    }

    /// When it was changed.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        blocking(|| self.0.set_modified(time))
    }

    /// Opens it as the options of the standard library say.
    ///
    /// # Errors
    /// As [`OpenOptions::open`](fs::OpenOptions::open).
    #[track_caller]
    pub fn open_with<P: AsRef<Path>>(options: &fs::OpenOptions, path: P) -> io::Result<File> {
        let path = path.as_ref();
        blocking(|| options.open(path)).map(File)
    }

    /// Has all of it on the disk.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn sync_all(&self) -> io::Result<()> {
        blocking(|| self.0.sync_all())
    }

    /// Has what it holds on the disk.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn sync_data(&self) -> io::Result<()> {
        blocking(|| self.0.sync_data())
    }

    /// Cuts it off, or fills it up.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn set_len(&self, size: u64) -> io::Result<()> {
        blocking(|| self.0.set_len(size))
    }

    /// What the system knows of it.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn metadata(&self) -> io::Result<Metadata> {
        blocking(|| self.0.metadata())
    }

    /// The same file once more, with one position for both.
    ///
    /// # Errors
    /// If there are too many descriptors.
    pub fn try_clone(&self) -> io::Result<File> {
        self.0.try_clone().map(File)
    }
}

/// What is there without a wait, at this place, or else at the file's position. None if that is nothing, or unknown: an
/// error, and the end, are told by the call that may wait.
fn read_at_once(file: &fs::File, parts: &mut [IoSliceMut<'_>], at: Option<u64>) -> Option<usize> {
    /// More is copied elsewhere, since the worker would stand meanwhile.
    const FEW: usize = 256 << 10;
    const POSITION: u64 = u64::MAX;
    /// What `O_DIRECT` asks of memory and of lengths, at least.
    const SECTOR: usize = 512;
    if parts.iter().map(|part| part.len()).sum::<usize>() > FEW || at.is_some_and(|at| at > i64::MAX as u64) {
        return None;
    }
    // Such a read begins without a wait, and then waits for the disk.
    let may_be_direct = parts.iter().all(|part| (part.as_ptr().addr() | part.len()).is_multiple_of(SECTOR));
    if may_be_direct && !fcntl_getfl(file).is_ok_and(|flags| !flags.contains(OFlags::DIRECT)) {
        return None;
    }
    let read = at_once(|| preadv2(file, parts, at.unwrap_or(POSITION), ReadWriteFlags::NOWAIT).ok());
    // Linux 5.9 and 5.10 say so of what is not in the cache, too.
    read.filter(|read| *read > 0)
}

impl Read for &File {
    #[track_caller]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = read_at_once(&self.0, &mut [IoSliceMut::new(bytes)], None);
        read.map_or_else(|| blocking(|| (&self.0).read(bytes)), Ok)
    }

    #[track_caller]
    fn read_vectored(&mut self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let read = read_at_once(&self.0, parts, None);
        read.map_or_else(|| blocking(|| (&self.0).read_vectored(parts)), Ok)
    }

    #[track_caller]
    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        blocking(|| (&self.0).read_to_end(bytes))
    }

    #[track_caller]
    fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
        blocking(|| (&self.0).read_to_string(text))
    }

    #[track_caller]
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let read = read_at_once(&self.0, &mut [IoSliceMut::new(bytes)], None).unwrap_or(0);
        let rest = &mut bytes[read..];
        if rest.is_empty() { Ok(()) } else { blocking(|| (&self.0).read_exact(rest)) }
    }
}

impl Write for &File {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        blocking(|| (&self.0).write(bytes))
    }

    #[track_caller]
    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        blocking(|| (&self.0).write_vectored(parts))
    }

    #[track_caller]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        blocking(|| (&self.0).write_all(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // It moves a number.
        (&self.0).seek(to)
    }
}

impl Read for File {
    #[track_caller]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&*self).read(bytes)
    }

    #[track_caller]
    fn read_vectored(&mut self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(parts)
    }

    #[track_caller]
    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        (&*self).read_to_end(bytes)
    }

    #[track_caller]
    fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
        (&*self).read_to_string(text)
    }

    #[track_caller]
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        (&*self).read_exact(bytes)
    }
}

impl Write for File {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    #[track_caller]
    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(parts)
    }

    #[track_caller]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&*self).write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}

/// Places of it, whatever its position.
impl FileExt for File {
    #[track_caller]
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        let read = read_at_once(&self.0, &mut [IoSliceMut::new(bytes)], Some(at));
        read.map_or_else(|| blocking(|| self.0.read_at(bytes, at)), Ok)
    }

    #[track_caller]
    fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let read = read_at_once(&self.0, &mut [IoSliceMut::new(bytes)], Some(at)).unwrap_or(0);
        let rest = &mut bytes[read..];
        if rest.is_empty() { Ok(()) } else { blocking(|| self.0.read_exact_at(rest, at + read as u64)) }
    }

    #[track_caller]
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        blocking(|| self.0.write_at(bytes, at))
    }

    #[track_caller]
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        blocking(|| self.0.write_all_at(bytes, at))
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl IntoRawFd for File {
    fn into_raw_fd(self) -> RawFd {
        self.0.into_raw_fd()
    }
}

impl From<File> for OwnedFd {
    fn from(file: File) -> OwnedFd {
        file.0.into()
    }
}

impl From<File> for Stdio {
    fn from(file: File) -> Stdio {
        file.0.into()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<fs::File> for File {
    fn from(file: fs::File) -> File {
        File(file)
    }
}

impl From<File> for fs::File {
    fn from(file: File) -> fs::File {
        file.0
    }
}

impl From<OwnedFd> for File {
    fn from(descriptor: OwnedFd) -> File {
        File(descriptor.into())
    }
}
