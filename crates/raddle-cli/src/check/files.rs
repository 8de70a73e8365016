//! Owns: reading the texts of `raddle check`: programs and included files.
//! May use: `refusal`, `raddle-occam`.
//! Never: guessing the encoding of bytes that are not UTF-8.
//!
//! It uses the file system, standard input.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use raddle_occam::pre::Files;

use crate::refusal::Error;

/// The first bytes of a bytecode file.
const BYTECODE: &[u8] = b"RDLB";

/// A program's text has so many bytes at most.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// The name and the text of a program given on the command line.
pub(crate) fn program(file: &OsStr) -> Result<(String, String), Error> {
    if file == "-" {
        let read = bounded(io::stdin().lock());
        let bytes =
            read.map_err(|error| Error::CannotRun(format!("could not read standard input: {error}")))?;
        return Ok(("<stdin>".to_owned(), text("standard input", bytes)?));
    }
    let path = Path::new(file);
    let shown = path.display().to_string();
    Ok((shown.clone(), read(path, &shown)?))
}

/// The error for a program that is too long for the front end.
pub(crate) fn too_long(name: &str) -> Error {
    Error::CannotRun(format!(
        "`{name}` is too long: a program may have 2 GiB of text, included files and all"
    ))
}

/// The files that #INCLUDE and #USE name: beside the file that names them, then in the folders of `-I`.
pub(crate) struct Disk<'a> {
    folders: &'a [PathBuf],
    /// Files that exist but could not be used.
    pub(crate) refused: Vec<Error>,
}

impl<'a> Disk<'a> {
    pub(crate) fn new(folders: &'a [PathBuf]) -> Self {
        Self { folders, refused: Vec::new() }
    }
}

impl Files for Disk<'_> {
    fn text(&mut self, name: &str, from: &str) -> Option<(String, String)> {
        let beside = Path::new(from).parent().unwrap_or(Path::new(""));
        let folders = std::iter::once(beside).chain(self.folders.iter().map(PathBuf::as_path));
        let path = folders
            .flat_map(|folder| [folder.join(name), folder.join(format!("{name}.occ"))])
            .find(|path| path.is_file())?;
        let shown = path.display().to_string();
        read(&path, &shown).map(|text| (shown, text)).map_err(|error| self.refused.push(error)).ok()
    }
}

fn read(path: &Path, shown: &str) -> Result<String, Error> {
    let bytes = std::fs::File::open(path).and_then(bounded).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound(format!("there is no file `{shown}`")),
        io::ErrorKind::IsADirectory => Error::CannotRun(format!(
            "`{shown}` is a directory; give the files in it, such as `{shown}/*.occ`"
        )),
        _ => Error::CannotRun(format!("could not read `{shown}`: {error}")),
    })?;
    text(&format!("`{shown}`"), bytes)
}

/// Writes a file: under another name until it is whole, so that an earlier file stays, and no part of a new one, if
/// this fails, as on a full disk.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
    save_by(path, |out| out.write_all(bytes))
}

/// The same, piece by piece.
pub(crate) fn save_by(
    path: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    // What a link leads to is replaced, not the link.
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let to = |place: &Path| {
        let mut out = io::BufWriter::new(std::fs::File::create(place)?);
        write(&mut out)?;
        out.into_inner().map(drop).map_err(io::IntoInnerError::into_error)
    };
    if std::fs::metadata(&place).is_ok_and(|there| !there.is_file()) {
        // A device or a pipe stays where it is.
        return to(&place);
    }
    let mut part = place.clone().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = to(&part).and_then(|()| std::fs::rename(&part, place));
    written.inspect_err(|_| {
        let _gone_or_not = std::fs::remove_file(&part);
    })
}

/// What can be read, up to one byte more than a program may have; a device may have no end.
fn bounded(from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(from, TEXT_BYTES_MAX + 1), &mut bytes)?;
    Ok(bytes)
}

fn text(shown: &str, bytes: Vec<u8>) -> Result<String, Error> {
    if let Some(at) = bytes.iter().position(|&byte| byte == 0).filter(|_| !bytes.starts_with(BYTECODE)) {
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        return Err(Error::CannotRun(format!("{shown} is no text: line {line} holds a byte of value 0")));
    }
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        let mib = TEXT_BYTES_MAX >> 20;
        return Err(Error::CannotRun(format!("{shown} is too long: a file may have {mib} MiB of text")));
    }
    if bytes.starts_with(BYTECODE) {
        return Err(Error::CannotRun(format!(
            "{shown} is bytecode; `raddle run` and `raddle disasm` take it as a file whose name ends with `.rbc`"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let byte = error.as_bytes()[before.len()];
        Error::CannotRun(format!(
            "{shown} is not UTF-8 text: byte #{byte:02X} in line {line}; convert it, for example with `iconv -f latin1`"
        ))
    })
}

#[test]
fn what_is_no_utf8_is_refused_with_its_line() {
    let said = text("`a.occ`", b"SEQ\n  -- \xE9t\xE9\n".to_vec()).expect_err("no UTF-8").to_string();
    assert!(said.starts_with("`a.occ` is not UTF-8 text: byte #E9 in line 2;"), "{said}");
    let said = text("`a`", b"RDLB\x01".to_vec()).expect_err("bytecode").to_string();
    assert!(said.starts_with("`a` is bytecode;"), "{said}");
    let said = text("`a`", b"SEQ\n\0".to_vec()).expect_err("no text").to_string();
    assert_eq!(said, "`a` is no text: line 2 holds a byte of value 0");
    assert_eq!(text("`a.occ`", "-- été".into()).expect("UTF-8"), "-- été");
}
