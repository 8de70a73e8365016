//! Owns: foreign routines: where they are found, and how they are called.
//! May use: `cancel`, `library`, `raddle-bytecode`.
//! Never: an address of the program's that was not compared with its memory.
//!
//! A routine gets its parameters in one of two ways, by the first letters of its name. `C.`, `B.` and `BX.`, as in
//! KRoC: one array of words of the machine (`intptr_t`), with a word for each value, an address for each reference, an
//! address and the open sizes for each array; the C function of `C.a.b` is `_a_b`. `F.`, for Fortran and what can be
//! called from it: an address for each parameter; the function of `F.dgemm_` is `dgemm_`.
//!
//! What begins with `B.` or `BX.` runs on an OS thread of its own while other processes run; the program asks from time
//! to time whether it has ended. One of `BX.` whose first parameter is a channel can be cancelled (`cancel`).

use crate::{cancel, library};
use raddle_bytecode::{Module, Verified};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    fn signal(number: c_int, handler: usize) -> usize;
    fn raise(number: c_int) -> c_int;
    fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
}

/// What the processor, or the library itself, stops a routine by: SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
const FAULTS: [c_int; 5] = [4, 6, 7, 8, 11];

thread_local! {
    /// What is said if the foreign routine that runs on this thread is stopped; empty if none runs.
    static SAYS: Cell<&'static str> = const { Cell::new("") };
}

/// Says whose fault it is, and lets the signal end the process.
extern "C" fn stopped(number: c_int) {
    const DEFAULT: usize = 0;
    let says = SAYS.try_with(Cell::get).unwrap_or("");
    // SAFETY: it may be called in a handler, with bytes that stay for ever.
    let _told = unsafe { write(2, says.as_ptr().cast(), says.len()) };
    // SAFETY: it may be called in a handler.
    unsafe { signal(number, DEFAULT) };
    // SAFETY: as above. The signal comes when the handler has returned, and ends the process.
    unsafe { raise(number) };
}

/// Every symbol is looked for when the library is loaded, so that what is missing is told then.
const RTLD_NOW: c_int = 2;

/// The most parameters of a routine that gets addresses.
const ADDRESSES_MAX: usize = 16;

/// The foreign routines of a program.
pub struct ForeignRoutines {
    routines: Vec<Arc<Loaded>>,
    running: Arc<AtomicUsize>,
    tickets: Mutex<Tickets>,
}

#[derive(Default)]
struct Tickets {
    ended: HashMap<u32, Arc<AtomicBool>>,
    ever: u32,
}

/// A routine whose function has been found.
struct Loaded {
    /// Its address, exposed.
    function: usize,
    /// It gets an address for each parameter, instead of an array of words.
    by_address: bool,
    parameters: Vec<Parameter>,
    /// Its first parameter is the channel by which a call is cancelled.
    can_be_cancelled: bool,
    /// What is said if it is stopped.
    says: &'static str,
}

/// How a parameter lies in the frame.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Parameter {
    Word,
    Long,
    /// A channel, by its address.
    Channel,
    /// The address of so many bytes.
    Address(u32),
    /// The address of an array: bytes of an element; the sizes that are known.
    View(u32, Vec<Option<u32>>),
}

impl Parameter {
    /// As `crates/raddle-bytecode/FORMAT.md` says it is written.
    fn parse(text: &str) -> Option<Parameter> {
        let (kind, rest) = text.split_at_checked(1)?;
        match kind {
            "w" if rest.is_empty() => Some(Parameter::Word),
            "l" if rest.is_empty() => Some(Parameter::Long),
            "c" if rest.is_empty() => Some(Parameter::Channel),
            "a" => rest.parse().ok().map(Parameter::Address),
            "v" => {
                let mut parts = rest.split('.');
                let element = parts.next()?.parse().ok()?;
                let size = |part: &str| if part == "?" { Some(None) } else { part.parse().ok().map(Some) };
                let sizes: Option<Vec<_>> = parts.map(size).collect();
                sizes.filter(|sizes| !sizes.is_empty()).map(|sizes| Parameter::View(element, sizes))
            }
            _ => None,
        }
    }
}

/// The program's memory, as a call is told of it.
#[derive(Clone, Copy)]
struct ProgramMemory {
    base: usize,
    bytes: u32,
}

impl ProgramMemory {
    /// The word at an address.
    fn word(self, at: u32) -> Option<u32> {
        if !at.is_multiple_of(4) || at.checked_add(4)? > self.bytes {
            return None;
        }
        let place = std::ptr::with_exposed_provenance::<AtomicU32>(self.base + at as usize);
        // SAFETY: it lies within the memory, which is made of such words, and its address was exposed. The memory is
        // there as long as the program runs, and who calls `call` does so from the program.
        let word = unsafe { &*place };
        Some(word.load(Ordering::Relaxed))
    }

    /// The address of bytes of the program's, for C.
    fn place(self, at: u32, bytes: u64) -> Option<isize> {
        let fits = u64::from(at) + bytes <= u64::from(self.bytes);
        fits.then_some((self.base + at as usize) as isize)
    }
}

impl ForeignRoutines {
    /// Finds the routines of a program in its libraries and in these; or says which ones are nowhere. `None` if it has
    /// none.
    ///
    /// # Errors
    /// The names that were not found, with what the system says of libraries that it could not load.
    pub fn load(program: &Verified, libraries: &[String]) -> Result<Option<ForeignRoutines>, String> {
        let module = program.module();
        if module.foreign.is_empty() {
            return Ok(None);
        }
        let own = module.libraries.iter().map(|&name| module.string(name).to_owned());
        let (mut handles, mut said) = (vec![std::ptr::null_mut()], String::new());
        for name in libraries.iter().cloned().chain(own) {
            match open(&name) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    let _ = write!(said, "\n  {error}");
                }
            }
        }
        let (mut routines, mut missing) = (Vec::new(), Vec::new());
        for number in 0..module.foreign.len() {
            match find(module, number, &handles) {
                Ok(loaded) => routines.push(Arc::new(loaded)),
                Err(error) => missing.push(error),
            }
        }
        if missing.is_empty() {
            for number in FAULTS {
                // SAFETY: the handler does only what a handler may.
                unsafe { signal(number, stopped as *const () as usize) };
            }
            let (running, tickets) = (Arc::default(), Mutex::default());
            return Ok(Some(ForeignRoutines { routines, running, tickets }));
        }
        Err(format!("{}{said}", missing.join("; ")))
    }

    /// Whether a routine runs on another thread.
    pub fn is_running(&self) -> bool {
        // Pairs with the count in `begin`.
        self.running.load(Ordering::Acquire) > 0
    }

    /// A call of the host, as [`World::call`](crate::World::call) gets it. `None` if it is no call of a foreign
    /// routine, or its parameters do not lie in the memory.
    pub fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        let number = usize::try_from(number.checked_sub(raddle_bytecode::FOREIGN)?).ok()?;
        let steps = raddle_bytecode::FOREIGN_STEPS as usize;
        let routine = self.routines.get(number / steps)?;
        let base = (words[2] as usize) | (words[3] as usize) << 32;
        let memory = ProgramMemory { base, bytes: words[1] };
        let result = match number % steps {
            0 => {
                routine.call(&routine.arguments(memory, words[0])?);
                0
            }
            1 => self.begin(routine, routine.arguments(memory, words[0])?),
            2 => self.has_ended(words[0]),
            _ => return None,
        };
        Some([result, 0, 0, 0])
    }

    /// Runs the routine on another thread; here, if the system has none. Gives its ticket.
    fn begin(&self, routine: &Arc<Loaded>, arguments: CallArguments) -> u32 {
        let ended = Arc::new(AtomicBool::new(false));
        self.running.fetch_add(1, Ordering::Relaxed);
        let channel = arguments.list.first().filter(|_| routine.can_be_cancelled).copied();
        let (routine, running, flag) = (routine.clone(), self.running.clone(), ended.clone());
        let mut body = Some(move || {
            routine.call(&arguments);
            // Pairs with the load in `is_running`: nothing of the memory is used after it has been given back.
            running.fetch_sub(1, Ordering::Release);
            // Pairs with the load in `has_ended`: what the routine wrote is seen by who finds that it has ended.
            flag.store(true, Ordering::Release);
        });
        let body = Arc::new(Mutex::new(body.take()));
        let theirs = body.clone();
        let take = |body: &Mutex<Option<_>>| body.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = std::thread::Builder::new().name("foreign".into());
        let begun = thread.spawn(move || {
            if let Some(body) = take(&theirs) {
                body();
            }
        });
        if begun.is_err()
            && let Some(body) = take(&body)
        {
            body();
        }
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.ever = tickets.ever.wrapping_add(1);
        let ticket = tickets.ever;
        tickets.ended.insert(ticket, ended.clone());
        if let (Ok(thread), Some(channel)) = (begun, channel) {
            cancel::begun(channel.unsigned_abs(), ticket, ended, thread);
        }
        ticket
    }

    /// 1 if the routine with that ticket has ended, or there is none.
    fn has_ended(&self, ticket: u32) -> u32 {
        cancel::asked(ticket);
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        // Pairs with the store in `begin`.
        let ended = tickets.ended.get(&ticket).is_none_or(|ended| ended.load(Ordering::Acquire));
        if ended {
            tickets.ended.remove(&ticket);
        }
        u32::from(ended)
    }
}

/// Loads a library: a path, or a name such as `m` or `libm.so.6`.
fn open(name: &str) -> Result<*mut c_void, String> {
    let plain = !name.contains('/') && !name.contains(".so");
    let file = if plain { format!("lib{name}.so") } else { name.to_owned() };
    let text = CString::new(file).map_err(|_| format!("`{name}` is no name of a library"))?;
    // SAFETY: it is a string of C's. What a library does when it is loaded is the matter of who asks for it.
    let handle = unsafe { dlopen(text.as_ptr(), RTLD_NOW) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: nothing is asked of it.
    let said = unsafe { dlerror() };
    if said.is_null() {
        return Err(format!("`{name}` cannot be loaded"));
    }
    // SAFETY: it is a string of C's, which lies there until this thread calls `dlopen` or `dlsym` again.
    let said = unsafe { CStr::from_ptr(said) };
    Err(said.to_string_lossy().into_owned())
}

/// The name of the C function of a routine; and whether it gets addresses.
pub(crate) fn symbol(name: &str) -> (String, bool) {
    match name.split_once('.') {
        Some(("F", rest)) => (rest.replace('.', "_"), true),
        Some(("C" | "B" | "BX", rest)) => (format!("_{}", rest.replace('.', "_")), false),
        _ => (name.replace('.', "_"), false),
    }
}

fn find(module: &Module, number: usize, handles: &[*mut c_void]) -> Result<Loaded, String> {
    let routine = module.foreign[number];
    let (name, parameters) = (module.string(routine.name), module.string(routine.parameters));
    let (function, by_address) = symbol(name);
    let parameters: Option<Vec<_>> = parameters.split_whitespace().map(Parameter::parse).collect();
    let Some(parameters) = parameters.filter(|list| !by_address || list.len() <= ADDRESSES_MAX) else {
        return Err(format!("the parameters of `{name}` cannot be passed"));
    };
    let missing = || format!("there is no C function `{function}`, which is to be `{name}`");
    let text = CString::new(function.as_str()).map_err(|_| missing())?;
    let looked = |&handle: &*mut c_void| {
        // SAFETY: the handle is null, which stands for this program and what it is linked to, or of a library that
        // stays loaded; the name is a string of C's.
        let found = unsafe { dlsym(handle, text.as_ptr()) };
        Some(found).filter(|found| !found.is_null())
    };
    // The libraries that come with occam have theirs here; then come those that were asked for, in this order.
    let ours = library::find(&function).filter(|_| !by_address).map(|it| it as *mut c_void);
    let libraries = || handles[1..].iter().chain(&handles[..1]).find_map(looked);
    let found = ours.or_else(libraries).ok_or_else(missing)?;
    let says = format!(
        "\nraddle: the foreign routine `{name}` was stopped by a signal: the fault is the library's, \
                        or that of its declaration\n"
    );
    let can_be_cancelled = name.starts_with("BX.") && parameters.first() == Some(&Parameter::Channel);
    let function = found.expose_provenance();
    Ok(Loaded { function, by_address, parameters, can_be_cancelled, says: says.leak() })
}

/// What a function gets.
struct CallArguments {
    list: Vec<isize>,
    /// Which of them are addresses of values of eight bytes each, and of how many bytes together.
    wide: Vec<(usize, u64)>,
}

/// Values of eight bytes that lie in the program's memory at a multiple of four bytes, as Fortran wants them: at one of
/// eight.
struct AlignedCopy {
    at: usize,
    before: Vec<u32>,
    copy: Vec<u64>,
}

impl AlignedCopy {
    /// Of so many bytes, which lie in the memory.
    fn of(at: isize, bytes: u64) -> AlignedCopy {
        let (at, count) = (at.cast_unsigned(), bytes as usize / 4);
        let before: Vec<u32> = (0..count).map(|n| memory_word(at + 4 * n).load(Ordering::Relaxed)).collect();
        let whole = |two: &[u32]| u64::from(two[0]) | u64::from(two[1]) << 32;
        let copy = before.chunks_exact(2).map(whole).collect();
        AlignedCopy { at, before, copy }
    }

    /// Where the function finds it.
    fn place(&mut self) -> isize {
        self.copy.as_mut_ptr().expose_provenance().cast_signed()
    }

    /// What the function has changed goes into the memory.
    fn put_back(&self) {
        let now = self.copy.iter().flat_map(|&two| [two as u32, (two >> 32) as u32]);
        for (n, (&before, now)) in self.before.iter().zip(now).enumerate() {
            if before != now {
                memory_word(self.at + 4 * n).store(now, Ordering::Relaxed);
            }
        }
    }
}

/// A word of the program's memory, in a call.
fn memory_word<'w>(at: usize) -> &'w AtomicU32 {
    // SAFETY: it lies within the memory, as was compared when the arguments were made; see `ProgramMemory::word`.
    unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(at) }
}

impl Loaded {
    /// What the function gets, for parameters that lie in the frame from that address on.
    fn arguments(&self, memory: ProgramMemory, frame: u32) -> Option<CallArguments> {
        let (mut list, mut wide, mut at) = (Vec::new(), Vec::new(), frame);
        let next = |at: &mut u32| {
            let word = memory.word(*at);
            *at = at.checked_add(4)?;
            word
        };
        for parameter in &self.parameters {
            match parameter {
                Parameter::Word | Parameter::Long if self.by_address => {
                    let bytes = if *parameter == Parameter::Long { 8 } else { 4 };
                    wide.extend((bytes == 8).then_some((list.len(), 8)));
                    list.push(memory.place(at, u64::from(bytes))?);
                    at = at.checked_add(bytes)?;
                }
                Parameter::Channel => list.push(memory.place(next(&mut at)?, 4)?),
                Parameter::Word => list.push(next(&mut at)? as i32 as isize),
                Parameter::Long => {
                    let (low, high) = (next(&mut at)?, next(&mut at)?);
                    list.push((u64::from(low) | u64::from(high) << 32) as isize);
                }
                Parameter::Address(bytes) => {
                    wide.extend(bytes.is_multiple_of(8).then_some((list.len(), u64::from(*bytes))));
                    list.push(memory.place(next(&mut at)?, u64::from(*bytes))?);
                }
                Parameter::View(element, sizes) => {
                    let (place, mut open, mut all) = (next(&mut at)?, Vec::new(), u64::from(*element));
                    for (number, size) in sizes.iter().enumerate() {
                        let count = match size {
                            Some(size) if number > 0 => *size,
                            _ => next(&mut at)?,
                        };
                        all = all.saturating_mul(count.into());
                        open.extend(size.is_none().then_some(count as isize));
                    }
                    wide.extend(element.is_multiple_of(8).then_some((list.len(), all)));
                    list.push(memory.place(place, all)?);
                    if !self.by_address {
                        list.extend(open);
                    }
                }
            }
        }
        Some(CallArguments { list, wide })
    }

    fn call(&self, arguments: &CallArguments) {
        let mut list = arguments.list.clone();
        // What is written for a program of occam has the header's types for it.
        let wide = if self.by_address { &arguments.wide[..] } else { &[] };
        let unaligned = wide.iter().filter(|(at, _)| arguments.list[*at] & 7 == 4);
        let copies: Vec<_> = unaligned
            .map(|&(at, bytes)| {
                let mut copy = AlignedCopy::of(list[at], bytes);
                list[at] = copy.place();
                copy
            })
            .collect();
        SAYS.set(self.says);
        self.enter(&list);
        SAYS.set("");
        copies.iter().for_each(AlignedCopy::put_back);
    }

    fn enter(&self, arguments: &[isize]) {
        let function = std::ptr::with_exposed_provenance::<c_void>(self.function);
        if !self.by_address {
            let mut words = arguments.to_vec();
            // SAFETY: whoever declared the routine says that the function of that name takes such an array.
            let function =
                unsafe { std::mem::transmute::<*const c_void, extern "C" fn(*mut isize)>(function) };
            return function(words.as_mut_ptr());
        }
        call_with_addresses(function, arguments);
    }
}

/// Calls a function that takes as many addresses.
fn call_with_addresses(function: *const c_void, arguments: &[isize]) {
    macro_rules! by_count {
        ($($count:literal: $($number:literal)*;)*) => {
            match arguments.len() {
                $($count => {
                    type Function = extern "C" fn($(by_count!(@isize $number)),*);
                    // SAFETY: whoever declared the routine says that the function of that name takes so many addresses.
                    let function = unsafe { std::mem::transmute::<*const c_void, Function>(function) };
                    function($(arguments[$number]),*);
                })*
                _ => unreachable!("there are at most {ADDRESSES_MAX}"),
            }
        };
        (@isize $number:literal) => { isize };
    }
    by_count! {
        0: ;
        1: 0;
        2: 0 1;
        3: 0 1 2;
        4: 0 1 2 3;
        5: 0 1 2 3 4;
        6: 0 1 2 3 4 5;
        7: 0 1 2 3 4 5 6;
        8: 0 1 2 3 4 5 6 7;
        9: 0 1 2 3 4 5 6 7 8;
        10: 0 1 2 3 4 5 6 7 8 9;
        11: 0 1 2 3 4 5 6 7 8 9 10;
        12: 0 1 2 3 4 5 6 7 8 9 10 11;
        13: 0 1 2 3 4 5 6 7 8 9 10 11 12;
        14: 0 1 2 3 4 5 6 7 8 9 10 11 12 13;
        15: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14;
        16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_those_of_c() {
        assert_eq!(symbol("C.write.screen"), ("_write_screen".to_owned(), false));
        assert_eq!(symbol("BX.read"), ("_read".to_owned(), false));
        assert_eq!(symbol("F.dgemm_"), ("dgemm_".to_owned(), true));
    }

    #[test]
    fn parameters_are_read_as_they_are_written() {
        let parse = |text| Parameter::parse(text);
        assert_eq!(parse("w"), Some(Parameter::Word));
        assert_eq!(parse("a12"), Some(Parameter::Address(12)));
        assert_eq!(parse("c"), Some(Parameter::Channel));
        assert_eq!(parse("v8.?.3"), Some(Parameter::View(8, vec![None, Some(3)])));
        for wrong in ["", "w1", "a", "v", "v4", "v4.x", "é"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    /// A memory of so many words, as a program has it.
    fn with_memory<R>(words: &[u32], use_it: impl FnOnce(ProgramMemory) -> R) -> R {
        let memory: Vec<AtomicU32> = words.iter().map(|&word| AtomicU32::new(word)).collect();
        use_it(ProgramMemory { base: memory.as_ptr().expose_provenance(), bytes: 4 * words.len() as u32 })
    }

    fn loaded(parameters: &str, by_address: bool) -> Loaded {
        let parameters =
            parameters.split_whitespace().map(|it| Parameter::parse(it).expect("right")).collect();
        Loaded { function: 0, by_address, parameters, can_be_cancelled: false, says: "" }
    }

    #[test]
    fn arguments_are_values_addresses_and_open_sizes() {
        with_memory(&[u32::MAX, 1, 1, 8, 4, 2, 3, 0], |memory| {
            let place = |at: usize| (memory.base + at) as isize;
            let list = |loaded: Loaded| loaded.arguments(memory, 0).map(|arguments| arguments.list);
            let got = list(loaded("w l a8 v4.?.3", false));
            assert_eq!(got, Some(vec![-1, 1 << 32 | 1, place(8), place(4), 2]), "a word is signed");
            let got = list(loaded("w l a8 v4.?.1", true));
            assert_eq!(got, Some(vec![place(0), place(4), place(8), place(4)]));
        });
    }

    /// Swaps two numbers, which lie where C has such.
    extern "C" fn swap(place: *mut [u64; 2]) {
        assert!(place.is_aligned());
        // SAFETY: the test gives the address of two numbers.
        unsafe { (*place).swap(0, 1) };
    }

    #[test]
    fn what_has_eight_bytes_is_aligned_for_c() {
        for shift in [0, 4] {
            with_memory(&[8 + shift, 2, 1, 1, 2, 2, 3], |memory| {
                let mut loaded = loaded("v8.?", true);
                loaded.function = (swap as *const c_void).expose_provenance();
                loaded.call(&loaded.arguments(memory, 0).expect("it lies there"));
                let words: Vec<_> = (2..7).map(|n| memory.word(4 * n).expect("it is there")).collect();
                assert_eq!(words, if shift == 0 { [2, 2, 1, 1, 3] } else { [1, 2, 3, 1, 2] });
            });
        }
    }

    #[test]
    fn what_does_not_lie_in_the_memory_is_not_passed() {
        with_memory(&[8, 3, 0, 0], |memory| {
            assert!(loaded("a8", false).arguments(memory, 0).is_some());
            assert!(loaded("a9", false).arguments(memory, 0).is_none());
            assert!(loaded("v4.?", false).arguments(memory, 0).is_none(), "three words from the third on");
            assert!(loaded("w", false).arguments(memory, 16).is_none());
            assert!(loaded("w", false).arguments(memory, 2).is_none());
            assert!(loaded("w w", true).arguments(memory, 12).is_none());
        });
    }
}
