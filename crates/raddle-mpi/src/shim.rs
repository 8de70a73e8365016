//! Owns: the functions of the shim, as they are found in the library that the user's `mpicc` has compiled.
//! May use: `error`, `libc`.
//! Never: deciding who may call when; that is `engine`'s, under its lock.

use crate::error::NetError;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::{Duration, Instant};

/// What this crate was written for; `src/shim.c` has the same number.
const VERSION: c_int = 5;

type Text = unsafe extern "C" fn(*mut c_char, c_int) -> c_int;
type Plain = unsafe extern "C" fn() -> c_int;
type Probe = unsafe extern "C" fn(c_int, c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
type Post = unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, c_int, *mut u64) -> c_int;

/// Declares the table of functions, and how it is filled from a library.
macro_rules! functions {
    ($($name:ident: $type:ty = $symbol:literal;)*) => {
        /// The shim, loaded. It is never unloaded: an MPI leaves threads and handlers behind.
        pub(crate) struct Shim { $($name: $type,)* }

        impl Shim {
            fn fill(library: *mut c_void) -> Result<Shim, NetError> {
                Ok(Shim {
                    $($name: {
                        let found = symbol(library, $symbol)?;
                        // SAFETY: the shim's own function of that name, whose type in `src/shim.c` this is.
                        unsafe { std::mem::transmute::<*mut c_void, $type>(found) }
                    },)*
                })
            }
        }
    };
}

functions! {
    version: Plain = c"raddle_mpi_version";
    library: Text = c"raddle_mpi_library";
    is_taken: Plain = c"raddle_mpi_is_taken";
    init: unsafe extern "C" fn(*mut c_int) -> c_int = c"raddle_mpi_init";
    open: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> c_int = c"raddle_mpi_open";
    finalize: Plain = c"raddle_mpi_finalize";
    abort: unsafe extern "C" fn(c_int) -> c_int = c"raddle_mpi_abort";
    send: Post = c"raddle_mpi_send";
    receive: Post = c"raddle_mpi_receive";
    send_init: Post = c"raddle_mpi_send_init";
    receive_init: Post = c"raddle_mpi_receive_init";
    start: unsafe extern "C" fn(*mut u64) -> c_int = c"raddle_mpi_start";
    free: unsafe extern "C" fn(*mut u64) -> c_int = c"raddle_mpi_free";
    test: unsafe extern "C" fn(*mut u64, *mut c_int, *mut c_int) -> c_int = c"raddle_mpi_test";
    probe: Probe = c"raddle_mpi_probe";
    ahead: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *mut u64) -> c_int = c"raddle_mpi_ahead";
    came: unsafe extern "C" fn(*mut u64, *mut c_int, *mut c_int, *mut c_int) -> c_int = c"raddle_mpi_came";
    cancel: unsafe extern "C" fn(*mut u64) -> c_int = c"raddle_mpi_cancel";
    told: unsafe extern "C" fn(c_int, c_int, *mut c_char, c_int, *mut c_int, *mut c_int) -> c_int = c"raddle_mpi_told";
    error: unsafe extern "C" fn(c_int, *mut c_char, c_int, *mut c_char, c_int) = c"raddle_mpi_error";
}

/// Who a message is from or for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) peer: c_int,
    pub(crate) tag: c_int,
    /// 0 for the program's messages, 1 for what ranks tell each other, 2 for the faces of plans, 3 for
    /// channels.
    pub(crate) space: c_int,
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Out,
    In,
}

/// An error's class by its name, and the library's text.
#[derive(Clone)]
pub(crate) struct MpiRefusal {
    pub(crate) class: String,
    pub(crate) text: String,
}

fn symbol(library: *mut c_void, name: &CStr) -> Result<*mut c_void, NetError> {
    // SAFETY: the library is loaded, and stays.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() {
        let text = format!("the shim has no `{}`; build it anew: raddle mpi build", name.to_string_lossy());
        return Err(NetError::WrongLibrary(text));
    }
    Ok(found)
}

fn text_of(buffer: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(buffer).unwrap_or_default();
    text.to_string_lossy().trim().to_owned()
}

/// Waits, a second at most, until what this rank has said was read from its pipes, and then for a moment in which
/// `mpirun` can pass it on: MPICH's drops at an abort what it has not read, and with it why the job ends.
fn let_be_read() {
    let until = Instant::now() + Duration::from_secs(1);
    while [libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().any(has_unread) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(50));
}

/// Whether it is a pipe with something in it.
fn has_unread(descriptor: c_int) -> bool {
    let (mut state, mut unread) = (MaybeUninit::<libc::stat>::uninit(), 0);
    // SAFETY: it writes the state, or says that it has not.
    if unsafe { libc::fstat(descriptor, state.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: it was written.
    let is_pipe = unsafe { state.assume_init() }.st_mode & libc::S_IFMT == libc::S_IFIFO;
    // SAFETY: of a pipe it writes a number.
    is_pipe && unsafe { libc::ioctl(descriptor, libc::FIONREAD, &raw mut unread) } == 0 && unread > 0_i32
}

impl Shim {
    /// Loads the library at `path`.
    pub(crate) fn load(path: &Path) -> Result<Shim, NetError> {
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| NetError::Misuse("the shim's path has a zero byte".to_owned()))?;
        // Components that an MPI loads later look for its symbols among all.
        // SAFETY: the text ends with a zero. Initialisers of an MPI library are as sound as the MPI.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            return Err(NetError::WrongLibrary(format!("the shim cannot be loaded: {}", loader_says())));
        }
        let shim = Shim::fill(library)?;
        // SAFETY: it only returns a number.
        let version = unsafe { (shim.version)() };
        if version != VERSION {
            let text =
                format!("the shim has version {version}, not {VERSION}; build it anew: raddle mpi build");
            return Err(NetError::WrongLibrary(text));
        }
        Ok(shim)
    }

    fn check(&self, code: c_int) -> Result<(), MpiRefusal> {
        if code == 0 {
            return Ok(());
        }
        let (mut class, mut text) = ([0_u8; 64], [0_u8; 512]);
        let (class_room, text_room) = (class.len() as c_int - 1, text.len() as c_int - 1);
        // SAFETY: both buffers are as large as said; MPI's texts of errors may be asked for at any time.
        unsafe {
            (self.error)(code, class.as_mut_ptr().cast(), class_room, text.as_mut_ptr().cast(), text_room);
        }
        Err(MpiRefusal { class: text_of(&class), text: text_of(&text) })
    }

    /// What the library calls itself.
    pub(crate) fn library(&self) -> String {
        let mut text = [0_u8; 512];
        // SAFETY: the buffer is as large as said; it may be asked before MPI is initialised.
        let code = unsafe { (self.library)(text.as_mut_ptr().cast(), text.len() as c_int - 1) };
        if code == 0 { text_of(&text) } else { "an MPI that does not say which".to_owned() }
    }

    /// Whether somebody else in this program uses MPI, or has ended it.
    pub(crate) fn is_taken(&self) -> bool {
        // SAFETY: MPI may be asked at any time whether it has been initialised.
        unsafe { (self.is_taken)() != 0 }
    }

    /// Initialises MPI; whether calls may come from one thread after another.
    pub(crate) fn init(&self) -> Result<bool, MpiRefusal> {
        let mut serialized = 0;
        // SAFETY: called once in a program, by `is_taken`.
        self.check(unsafe { (self.init)(&raw mut serialized) })?;
        Ok(serialized != 0)
    }

    /// Rank, size and the largest tag.
    pub(crate) fn open(&self) -> Result<(c_int, c_int, c_int), MpiRefusal> {
        let (mut rank, mut size, mut tag_max) = (0, 0, 0);
        // SAFETY: MPI is initialised; three numbers are written.
        self.check(unsafe { (self.open)(&raw mut rank, &raw mut size, &raw mut tag_max) })?;
        Ok((rank, size, tag_max))
    }

    pub(crate) fn finalize(&self) -> Result<(), MpiRefusal> {
        // SAFETY: MPI is initialised, and nobody calls it after that: the engine is over.
        self.check(unsafe { (self.finalize)() })
    }

    /// Ends all ranks; most often does not return.
    pub(crate) fn abort(&self, code: c_int) {
        let_be_read();
        // SAFETY: MPI is initialised.
        unsafe { (self.abort)(code) };
    }

    /// Posts a message.
    ///
    /// # Safety
    /// The buffer of `room` bytes stays until a test says that the request is done; nobody writes it until then, nor
    /// reads it if the message comes in.
    pub(crate) unsafe fn post(
        &self,
        direction: Direction,
        (base, room): (*mut u8, c_int),
        Address { peer, tag, space }: Address,
    ) -> Result<u64, MpiRefusal> {
        let (mut word, post) = (0, if direction == Direction::Out { self.send } else { self.receive });
        // SAFETY: the caller's promise.
        self.check(unsafe { post(base.cast(), room, peer, tag, space, &raw mut word) })?;
        Ok(word)
    }

    /// Makes a persistent request, which moves nothing yet.
    ///
    /// # Safety
    /// As for [`post`](Self::post), from each start on; and the buffer stays until the request is freed.
    pub(crate) unsafe fn prepare(
        &self,
        direction: Direction,
        (base, room): (*mut u8, c_int),
        Address { peer, tag, space }: Address,
    ) -> Result<u64, MpiRefusal> {
        let (mut word, post) =
            (0, if direction == Direction::Out { self.send_init } else { self.receive_init });
        // SAFETY: the caller's promise.
        self.check(unsafe { post(base.cast(), room, peer, tag, space, &raw mut word) })?;
        Ok(word)
    }

    /// Starts a persistent request that is not under way.
    pub(crate) fn start(&self, word: &mut u64) -> Result<(), MpiRefusal> {
        // SAFETY: the word is of `prepare`, whose caller vouches for the buffer.
        self.check(unsafe { (self.start)(word) })
    }

    /// Frees a persistent request that is not under way.
    pub(crate) fn free(&self, word: &mut u64) -> Result<(), MpiRefusal> {
        // SAFETY: the word is of `prepare` or `ahead`.
        self.check(unsafe { (self.free)(word) })
    }

    /// The size of the message if the request is done.
    pub(crate) fn test(&self, word: &mut u64) -> Result<Option<usize>, MpiRefusal> {
        let (mut done, mut bytes) = (0, 0);
        // SAFETY: the word is of `post`, `prepare` or `ahead`; two numbers are written.
        self.check(unsafe { (self.test)(word, &raw mut done, &raw mut bytes) })?;
        Ok((done != 0).then(|| usize::try_from(bytes).unwrap_or(0)))
    }

    /// A message of whomever with that tag, if one is here: whose it is, and its text.
    pub(crate) fn told(&self, tag: c_int, space: c_int) -> Option<(c_int, String)> {
        let (mut text, mut bytes, mut whose) = ([0_u8; 512], 0, 0);
        let room = text.len() as c_int;
        // SAFETY: the buffer is as large as said, and two numbers are written.
        let code = unsafe {
            (self.told)(tag, space, text.as_mut_ptr().cast(), room, &raw mut bytes, &raw mut whose)
        };
        // What MPI refuses here nobody has asked for.
        let bytes = usize::try_from(bytes).ok().filter(|_| code == 0)?;
        Some((whose, String::from_utf8_lossy(text.get(..bytes)?).into_owned()))
    }

    /// Makes a persistent receive of whomever, which is posted by [`start`](Self::start), again and again.
    ///
    /// # Safety
    /// As for [`prepare`](Self::prepare).
    pub(crate) unsafe fn ahead(
        &self,
        (base, room): (*mut u8, c_int),
        (tag, space): (c_int, c_int),
    ) -> Result<u64, MpiRefusal> {
        let mut word = 0;
        // SAFETY: the caller's promise.
        self.check(unsafe { (self.ahead)(base.cast(), room, tag, space, &raw mut word) })?;
        Ok(word)
    }

    /// Whose message has come into that, if one has, and of how many bytes.
    pub(crate) fn came(&self, word: &mut u64) -> Result<Option<(usize, usize)>, MpiRefusal> {
        let (mut done, mut whose, mut bytes) = (0, 0, 0);
        // SAFETY: the word is of `ahead`; three numbers are written.
        let code = unsafe { (self.came)(word, &raw mut done, &raw mut whose, &raw mut bytes) };
        self.check(code)?;
        let number = |it| usize::try_from(it).unwrap_or(0);
        Ok((done != 0).then(|| (number(whose), number(bytes))))
    }

    /// Begins to take that back, while it is posted: it is when it is [done](Self::test).
    pub(crate) fn cancel(&self, word: &mut u64) -> Result<(), MpiRefusal> {
        // SAFETY: the word is of `ahead`.
        self.check(unsafe { (self.cancel)(word) })
    }

    /// Tag and size of a message of `peer` that nobody has asked for.
    pub(crate) fn probe(&self, peer: c_int, space: c_int) -> Option<(c_int, c_int)> {
        let (mut found, mut tag, mut bytes) = (0, 0, 0);
        // SAFETY: MPI is initialised; three numbers are written.
        let code = unsafe { (self.probe)(peer, space, &raw mut found, &raw mut tag, &raw mut bytes) };
        (code == 0 && found != 0).then_some((tag, bytes))
    }
}

fn loader_says() -> String {
    // SAFETY: it only reads the loader's last message of this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader does not say why".to_owned();
    }
    // SAFETY: the loader's text ends with a zero, and stays until its next error.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}
