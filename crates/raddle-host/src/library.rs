//! Owns: what the libraries that come with occam ask of the system: files, connections, programs, the time.
//! May use: `cancel`.
//! Never: a descriptor of the process's own; a number here is one of this table.
//!
//! They are foreign routines, called as those of C are, and found before any library's: `B.raddle.file.open` is
//! `_raddle_file_open`. So what is said of foreign routines is so of them: a program that has them can do what its
//! user can, and `--no-foreign` does not run it. What fails gives minus the system's number of the error.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString, c_char, c_int};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

unsafe extern "C" {
    fn access(name: *const c_char, what: c_int) -> c_int;
}

/// A routine as C has it.
pub(crate) type SystemRoutine = extern "C" fn(*mut isize);

/// What a number of the program's stands for.
enum Handle {
    File(File),
    Stream(TcpStream),
    Listener(TcpListener),
}

static HANDLES: Mutex<BTreeMap<i32, Arc<Handle>>> = Mutex::new(BTreeMap::new());

/// The system's numbers of errors that are found here: no such descriptor, not possible with it, any other one.
const EBADF: i32 = 9;
const EINVAL: i32 = 22;
const EIO: i32 = 5;

/// The parameters of a call: the array that it gets.
struct Parameters(*mut isize);

impl Parameters {
    fn value(&self, at: usize) -> isize {
        let place = self.0.wrapping_add(at);
        // SAFETY: the libraries' headings give each routine as many words as it asks for here.
        unsafe { place.read() }
    }

    fn number(&self, at: usize) -> i32 {
        self.value(at) as i32
    }

    /// A copy of an array of BYTE, whose address and size are words `at` and the next one.
    fn bytes(&self, at: usize) -> Vec<u8> {
        let size = self.value(at + 1).unsigned_abs();
        let from = std::ptr::with_exposed_provenance::<u8>(self.value(at) as usize);
        let mut bytes = vec![0; size];
        // SAFETY: the program's memory holds so many bytes there, which was compared before the call. The checker lets
        // nobody change them meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), size) };
        bytes
    }

    fn text(&self, at: usize) -> OsString {
        OsString::from_vec(self.bytes(at))
    }

    /// Copies as many bytes as there is room for into an array; how many there are.
    fn fill(&self, at: usize, bytes: &[u8]) -> i32 {
        let count = bytes.len().min(self.value(at + 1).unsigned_abs());
        let to = std::ptr::with_exposed_provenance_mut::<u8>(self.value(at) as usize);
        // SAFETY: as in `bytes`; nobody else uses them meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, count) };
        i32::try_from(bytes.len()).unwrap_or(i32::MAX)
    }

    /// The size of an array.
    fn room(&self, at: usize) -> usize {
        self.value(at + 1).unsigned_abs()
    }

    fn put(&self, at: usize, value: i32) {
        let to = std::ptr::with_exposed_provenance_mut::<i32>(self.value(at) as usize);
        // SAFETY: it is the address of an INT, which was compared with the program's memory before the call.
        unsafe { to.write(value) };
    }

    fn put_long(&self, at: usize, value: i64) {
        let to = std::ptr::with_exposed_provenance_mut::<i64>(self.value(at) as usize);
        // SAFETY: it is the address of an INT64, likewise, which begins at a multiple of four.
        unsafe { to.write_unaligned(value) };
    }
}

/// Minus the system's number of an error.
fn failed(error: &io::Error) -> i32 {
    -error.raw_os_error().unwrap_or(EIO)
}

fn number(result: io::Result<i32>) -> i32 {
    result.unwrap_or_else(|error| failed(&error))
}

fn refused(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

/// A new number for something: the least one that is free.
fn keep(handle: Handle) -> i32 {
    let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    let free = (3..).find(|number| !handles.contains_key(number)).unwrap_or(i32::MAX);
    handles.insert(free, Arc::new(handle));
    free
}

fn handle(number: i32) -> io::Result<Arc<Handle>> {
    let handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    handles.get(&number).cloned().ok_or_else(|| refused(EBADF))
}

fn read(number: i32, buffer: &mut [u8]) -> io::Result<i32> {
    let count = match number {
        0 => io::stdin().read(buffer),
        _ => match &*handle(number)? {
            Handle::File(file) => { file }.read(buffer),
            Handle::Stream(stream) => { stream }.read(buffer),
            Handle::Listener(_) => Err(refused(EINVAL)),
        },
    };
    count.map(|count| count as i32)
}

fn write(number: i32, bytes: &[u8]) -> io::Result<i32> {
    let written = match number {
        1 => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
        2 => io::stderr().write_all(bytes),
        _ => match &*handle(number)? {
            Handle::File(file) => { file }.write_all(bytes),
            Handle::Stream(stream) => { stream }.write_all(bytes),
            Handle::Listener(_) => Err(refused(EINVAL)),
        },
    };
    written.map(|()| bytes.len() as i32)
}

/// O_RDONLY, O_WRONLY and O_RDWR are 0, 1 and 2 on every Linux.
fn open(name: &OsStr, mode: i32, rights: i32) -> io::Result<File> {
    let access = mode & 3;
    let mut options = OpenOptions::new();
    options.read(access != 1).write(access != 0).custom_flags(mode & !3).mode(rights.unsigned_abs());
    options.open(name)
}

fn port(number: i32) -> io::Result<u16> {
    u16::try_from(number).map_err(|_| refused(EINVAL))
}

fn host(bytes: &OsStr) -> io::Result<&str> {
    std::str::from_utf8(bytes.as_bytes()).map_err(|_| refused(EINVAL))
}

fn seek(file: i32, offset: i64, whence: i32) -> io::Result<i64> {
    let to = match whence {
        0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| refused(EINVAL))?),
        1 => SeekFrom::Current(offset),
        2 => SeekFrom::End(offset),
        _ => return Err(refused(EINVAL)),
    };
    match &*handle(file)? {
        Handle::File(file) => { file }.seek(to).map(|place| place as i64),
        _ => Err(refused(EINVAL)),
    }
}

macro_rules! routines {
    ($($symbol:literal $name:ident |$words:ident| $body:block)*) => {
        $(extern "C" fn $name(words: *mut isize) {
            let $words = Parameters(words);
            $body
        })*

        /// The routine of that name of C's, if it is one of these.
        pub(crate) fn find(symbol: &str) -> Option<SystemRoutine> {
            match symbol {
                $($symbol => Some($name),)*
                _ => None,
            }
        }
    };
}

routines! {
    "_killcall" killcall |words| {
        let found = crate::cancel::cancel(words.value(0).unsigned_abs());
        words.put(1, if found { 0 } else { -1 });
    }
    "_raddle_file_open" file_open |words| {
        let opened = open(&words.text(0), words.number(2), words.number(3));
        words.put(4, number(opened.map(|file| keep(Handle::File(file)))));
    }
    "_raddle_file_access" file_access |words| {
        let name = CString::new(words.bytes(0));
        let found = name.is_ok_and(|name| {
            // SAFETY: it is a string of C's.
            unsafe { access(name.as_ptr(), words.number(2)) == 0 }
        });
        words.put(3, if found { 0 } else { -1 });
    }
    "_raddle_file_close" file_close |words| {
        let gone = HANDLES.lock().unwrap_or_else(PoisonError::into_inner).remove(&words.number(0));
        words.put(1, if gone.is_some() { 0 } else { -EBADF });
    }
    "_raddle_file_read" file_read |words| {
        let mut buffer = vec![0; words.room(1)];
        let count = number(read(words.number(0), &mut buffer));
        words.fill(1, &buffer[..usize::try_from(count).unwrap_or(0)]);
        words.put(3, count);
    }
    "_raddle_file_write" file_write |words| {
        words.put(3, number(write(words.number(0), &words.bytes(1))));
    }
    "_raddle_file_seek" file_seek |words| {
        let place = seek(words.number(0), words.value(1) as i64, words.number(2));
        words.put_long(3, place.unwrap_or_else(|error| failed(&error).into()));
    }
    "_raddle_file_remove" file_remove |words| {
        words.put(2, number(std::fs::remove_file(words.text(0)).map(|()| 0)));
    }
    "_raddle_file_rename" file_rename |words| {
        words.put(4, number(std::fs::rename(words.text(0), words.text(2)).map(|()| 0)));
    }
    "_raddle_file_size" file_size |words| {
        let size = std::fs::metadata(words.text(0)).map(|about| about.len() as i64);
        words.put_long(2, size.unwrap_or_else(|error| failed(&error).into()));
    }
    "_raddle_socket_connect" socket_connect |words| {
        let name = words.text(0);
        let connected = port(words.number(2)).and_then(|port| TcpStream::connect((host(&name)?, port)));
        words.put(3, number(connected.map(|stream| keep(Handle::Stream(stream)))));
    }
    "_raddle_socket_listen" socket_listen |words| {
        let name = words.text(0);
        let listener = port(words.number(2)).and_then(|port| TcpListener::bind((host(&name)?, port)));
        let at = listener.as_ref().ok().and_then(|it| it.local_addr().ok()).map_or(0, |it| it.port());
        words.put(3, number(listener.map(|listener| keep(Handle::Listener(listener)))));
        words.put(4, at.into());
    }
    "_raddle_socket_accept" socket_accept |words| {
        let accepted = handle(words.number(0)).and_then(|it| match &*it {
            Handle::Listener(listener) => listener.accept().map(|it| it.0),
            _ => Err(refused(EINVAL)),
        });
        words.put(1, number(accepted.map(|stream| keep(Handle::Stream(stream)))));
    }
    "_raddle_socket_shutdown" socket_shutdown |words| {
        let done = handle(words.number(0)).and_then(|it| match &*it {
            Handle::Stream(stream) => stream.shutdown(Shutdown::Write),
            _ => Err(refused(EINVAL)),
        });
        words.put(1, number(done.map(|()| 0)));
    }
    "_raddle_env_get" env_get |words| {
        let name = words.text(0);
        // The system's function would take a name with these for a mistake of who calls it.
        let odd = name.is_empty() || name.as_bytes().iter().any(|byte| matches!(byte, 0 | b'='));
        let value = if odd { None } else { std::env::var_os(name) };
        words.put(4, value.map_or(-1, |value| words.fill(2, value.as_bytes())));
    }
    "_raddle_proc_run" proc_run |words| {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(words.text(0)).stdin(Stdio::null()).stderr(Stdio::inherit());
        let (length, status) = match command.output() {
            Ok(output) => {
                let status = output.status;
                let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
                (words.fill(2, &output.stdout), code.unwrap_or(-EIO))
            }
            Err(error) => (0, failed(&error)),
        };
        words.put(4, length);
        words.put(5, status);
    }
    "_raddle_time_now" time_now |words| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        words.put_long(0, now.as_secs() as i64);
        words.put(1, now.subsec_nanos() as i32);
    }
    "_raddle_random_seed" random_seed |words| {
        // The standard library asks the system for the keys of its tables.
        let number = RandomState::new().hash_one(0_u8);
        words.put(0, (number % 2_147_483_646) as i32 + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls a routine with arrays and places for results.
    fn call(symbol: &str, words: &mut [isize]) {
        find(symbol).expect("it is there")(words.as_mut_ptr());
    }

    fn place<T>(value: &mut T) -> isize {
        (&raw mut *value).expose_provenance() as isize
    }

    fn array(bytes: &mut [u8]) -> [isize; 2] {
        [bytes.as_mut_ptr().expose_provenance() as isize, bytes.len() as isize]
    }

    #[test]
    fn numbers_that_stand_for_nothing_are_refused() {
        let (mut result, mut byte) = (0_i32, [0_u8]);
        let [at, size] = array(&mut byte);
        call("_raddle_file_read", &mut [-7, at, size, place(&mut result)]);
        assert_eq!(result, -EBADF);
        call("_raddle_file_close", &mut [i32::MAX as isize, place(&mut result)]);
        assert_eq!(result, -EBADF);
        let mut name = *b"no such host of mine\xff";
        let [at, size] = array(&mut name);
        call("_raddle_socket_connect", &mut [at, size, 70_000, place(&mut result)]);
        assert_eq!(result, -EINVAL);
        call("_raddle_socket_connect", &mut [at, size, 7, place(&mut result)]);
        assert_eq!(result, -EINVAL);
        assert!(find("_raddle_file_opened").is_none());
    }

    #[test]
    fn what_has_no_room_is_cut_and_counted() {
        let (mut name, mut value, mut length) = (*b"PATH", [0_u8; 2], 0_i32);
        let ([at, size], [to, room]) = (array(&mut name), array(&mut value));
        call("_raddle_env_get", &mut [at, size, to, room, place(&mut length)]);
        let path = std::env::var_os("PATH").expect("a test has it");
        assert_eq!((length, &value[..]), (path.len() as i32, &path.as_bytes()[..2]));
        let mut odd = *b"A=B";
        let [at, size] = array(&mut odd);
        call("_raddle_env_get", &mut [at, size, to, room, place(&mut length)]);
        assert_eq!(length, -1);
    }
}
