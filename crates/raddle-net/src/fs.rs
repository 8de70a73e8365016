// Owns: `File`, and the functions beside it.
// May use: `raddle-core`.
// Never: a worker that waits for a disk; a call that `std` does not have.

//! Files, with the names of [`std::fs`]: each call is made on a spare OS thread, as in `raddle::blocking`.
//!
//! The way there and back takes 20 to 30 us. For a small file that is in the page cache, `std::fs` takes less; for
//! several calls in a row, one `blocking` around calls of `std::fs`.
//!
//! ```
//! use raddle_net::fs;
//!
//! let text = raddle::csp::spawn(|| fs::read_to_string("Cargo.toml")).join().unwrap()?;
//! assert!(text.contains("[package]"));
//! # Ok::<(), std::io::Error>(())
//! ```

pub use std::fs::{DirEntry, FileType, Metadata, Permissions, ReadDir};

use raddle_core::blocking::blocking;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

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

    /// Opens it as the options say.
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

impl Read for &File {
    #[track_caller]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        blocking(|| (&self.0).read(bytes))
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
        blocking(|| (&self.0).read_exact(bytes))
    }
}

impl Write for &File {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        blocking(|| (&self.0).write(bytes))
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
    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        (&*self).read_to_end(bytes)
    }

    #[track_caller]
    fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
        (&*self).read_to_string(text)
    }
}

impl Write for File {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
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
