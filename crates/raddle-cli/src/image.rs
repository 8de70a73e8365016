//! Owns: what can be seen of a program in its file: whether the library of POSIX threads can serve it.
//! May use: nothing.
//! Never: running it.
//!
//! A script is looked at by its interpreter. What is not seen here (a program that brings another C library's loader by
//! itself) runs with the library in its environment, which does nothing for it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// Why the program is to run as it is; none if the library can serve it, or it is not there at all.
pub(crate) fn why_not(program: &OsStr) -> Option<&'static str> {
    why(program, why_not_image)
}

/// Why nothing can be preloaded into the program, if that is so.
pub(crate) fn takes_no_library(program: &OsStr) -> Option<&'static str> {
    why(program, |bytes, _| (is_elf(bytes) && loader(bytes).is_none()).then_some(STATIC))
}

/// What the image of a program says, or its rights.
fn why(
    program: &OsStr,
    of_image: fn(&[u8], &std::path::Path) -> Option<&'static str>,
) -> Option<&'static str> {
    let mut path = found(program)?;
    // A script's interpreter may be a script.
    for _ in 0..4 {
        let status = fs::metadata(&path).ok()?;
        if status.mode() & 0o6000 != 0 && status.uid() != own_user() {
            return Some("it takes on another user's rights, and so no library");
        }
        let bytes = fs::read(&path).ok()?;
        match interpreter(&bytes) {
            Some(next) => path = found(&next)?,
            None => return of_image(&bytes, &path),
        }
    }
    None
}

fn own_user() -> u32 {
    fs::metadata("/proc/self").map_or(0, |status| status.uid())
}

/// Where the program is, as a shell finds it.
fn found(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// What a script is run by; of `env`, what that runs.
fn interpreter(bytes: &[u8]) -> Option<OsString> {
    let line = bytes.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next()?;
    let second = words.find(|word| !word.starts_with(b"-"));
    let word = if first.ends_with(b"/env") { second.unwrap_or(first) } else { first };
    Some(OsStr::from_bytes(word).to_owned())
}

/// A number of so many bytes there, little-endian.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(N)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

const STATIC: &str = "it is linked statically";

/// Of 64 bits, the low ones first.
fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF\x02\x01")
}

/// The name of what loads the program's libraries; none if it is linked statically.
fn loader(bytes: &[u8]) -> Option<&[u8]> {
    const INTERPRETER: usize = 3;
    let (first, size, count) = (number::<8>(bytes, 32)?, number::<2>(bytes, 54)?, number::<2>(bytes, 56)?);
    let header = |n: usize| first.checked_add(n * size);
    let is_interpreter = |at: &usize| number::<4>(bytes, *at) == Some(INTERPRETER);
    let at = (0..count).filter_map(header).find(is_interpreter)?;
    let (from, length) = (number::<8>(bytes, at + 8)?, number::<8>(bytes, at + 32)?);
    bytes.get(from..from.checked_add(length)?)
}

fn why_not_image(bytes: &[u8], path: &std::path::Path) -> Option<&'static str> {
    const X86_64: usize = 62;
    if !is_elf(bytes) || number::<2>(bytes, 18) != Some(X86_64) {
        return Some("it is no program for x86-64 and Linux");
    }
    let Some(loader) = loader(bytes) else { return Some(STATIC) };
    if !contains(loader, b"ld-linux-x86-64") {
        return Some("its C library is not glibc");
    }
    let name = path.file_name().map_or(&b""[..], OsStr::as_bytes);
    if name == b"java" || contains(bytes, b"libjli.so") || contains(bytes, b"libjvm.so") {
        return Some("Java's virtual machine schedules its threads by means of its own");
    }
    let sanitizers: [&[u8]; 4] = [b"__asan_init", b"__tsan_init", b"__msan_init", b"__hwasan_init"];
    if sanitizers.iter().any(|name| contains(bytes, name)) {
        return Some("it was built with a sanitizer, which knows the C library's threads only");
    }
    if contains(bytes, b".note.go.buildid") || contains(bytes, b"\xff Go buildinf:") {
        return Some("Go asks the kernel itself, and has threads of its own");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_run_by_what_its_first_line_says() {
        let of = |text: &str| interpreter(text.as_bytes());
        assert_eq!(of("#!/bin/sh\n"), Some("/bin/sh".into()));
        assert_eq!(of("#! /usr/bin/env -S python3 -u\nx"), Some("python3".into()));
        assert_eq!(of("no script"), None);
    }

    #[test]
    fn what_is_no_program_of_this_machine_is_declined() {
        let why = |bytes: &[u8]| why_not_image(bytes, std::path::Path::new("x"));
        assert_eq!(why(b"text"), Some("it is no program for x86-64 and Linux"));
        let mut image = vec![0; 64];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        image[18] = 62;
        assert_eq!(why(&image), Some("it is linked statically"));
        image[56] = 1;
        image[32] = 64;
        // A header beyond the end of the file.
        assert_eq!(why(&image), Some("it is linked statically"));
    }
}
