//! Owns: where the file of a trace lies, and that it is there whole or not at all.
//! May use: nothing.
//! Never: a pipe or a device replaced by a file.
//!
//! It uses the file system; standard error, if there can be no file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// `%p` is the number of the process; a name that a program uses again gets a 2 before its extension, and so on.
pub(crate) fn name_of_file(wanted: &Path) -> PathBuf {
    static USED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let name = PathBuf::from(with_number(wanted.as_os_str(), std::process::id()));
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    let before = used.iter().filter(|path| **path == name).count();
    used.push(name.clone());
    if before == 0 { name } else { name.with_extension(format!("{}.rdt", before + 1)) }
}

/// A name need not be text.
fn with_number(wanted: &OsStr, number: u32) -> OsString {
    let (mut name, mut rest) = (Vec::new(), wanted.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind.strip_prefix(b"p").filter(|_| *first == b'%').unwrap_or(behind);
        match rest.len() == behind.len() {
            true => name.push(*first),
            false => name.extend(number.to_string().bytes()),
        }
    }
    OsString::from_vec(name)
}

/// Has `write` fill the file: under another name until it is whole, so that an earlier file stays if this fails.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return write(File::create(path)?);
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let written = write(File::create(part)?).and_then(|()| fs::rename(part, path));
    if written.is_err() {
        // The disk may be full.
        let _gone_or_not = fs::remove_file(part);
    }
    written
}

/// Removes a file of which nothing could be written, but no device.
pub(crate) fn remove(path: &Path) {
    if fs::metadata(path).is_ok_and(|there| there.is_file()) {
        let _gone_or_not = fs::remove_file(path);
    }
}

/// A trace was asked for and cannot be written.
pub(crate) fn say_refused(path: &Path, cause: &io::Error) {
    let path = path.display();
    let _unwritable = writeln!(io::stderr(), "raddle: the trace cannot be written to {path}: {cause}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("raddle-target-{}-{name}", std::process::id()))
    }

    #[test]
    fn a_name_that_is_no_text_stays_as_it_is() {
        let named = |wanted: &[u8]| with_number(OsStr::from_bytes(wanted), 17).into_vec();
        assert_eq!(named(b"a\xff-%p.%.rdt%"), b"a\xff-17.%.rdt%");
        assert_eq!(named(b"%p%%p"), b"17%17");
    }

    #[test]
    fn what_cannot_be_written_leaves_the_earlier_file_and_nothing_else() {
        let path = path("full");
        write_whole(&path, |mut file| file.write_all(b"earlier")).unwrap();
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let refused = write_whole(&path, |mut file| file.write_all(b"half").and_then(|()| Err(full())));
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"earlier");
        let own = path.file_name().unwrap().to_string_lossy().into_owned();
        let names = fs::read_dir(std::env::temp_dir()).unwrap();
        let of_ours =
            names.filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().starts_with(&own));
        assert_eq!(of_ours.count(), 1);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_pipe_is_written_to_and_stays_a_pipe() {
        let path = path("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut text = String::new();
                File::open(path).unwrap().read_to_string(&mut text).map(|_| text)
            }
        });
        write_whole(&path, |mut file| file.write_all(b"a trace")).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), "a trace");
        assert!(!fs::metadata(&path).unwrap().is_file());
        fs::remove_file(path).unwrap();
    }
}
