//! Owns: a board that runs the program behind its image, and says over the serial line how that ended.
//! May use: `account`, `board`, `heap`, `line`, `names`, `stack`, `raddle-bytecode`, `raddle-vm`.
//! Never: an interrupt handler, an operating system, the standard library.
//!
//! A board is a page, named by a feature. It brings `prepare`, `microseconds`, `sleep`, `byte`, `put`, `light`,
//! `listen`, `interrupt`, `end` and `MEMORY_BYTES`. Screen and error channel are the serial line. The keyboard is what
//! wakes the processor: bytes of the serial line, and 128 and its number for each line that a program listens to and
//! that interrupts. While all processes wait, the processor sleeps until one of these comes, or the time that the
//! first of them waits for. A program switches the light by `C.light`, and listens by `C.listen`.

#![no_std]
#![no_main]

extern crate alloc;

#[cfg_attr(feature = "report", path = "full.rs")]
#[cfg_attr(not(feature = "report"), path = "brief.rs")]
mod account;
#[cfg_attr(feature = "lm3s6965evb", path = "lm3s6965evb.rs")]
#[cfg_attr(feature = "microbit", path = "microbit.rs")]
#[cfg_attr(feature = "sifive_e", path = "sifive_e.rs")]
mod board;
#[cfg(target_arch = "arm")]
mod cortex_m;
mod heap;
mod line;
mod names;
mod stack;

use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicU32, Ordering};
use line::Line;
use names::{name, word};
use raddle_bytecode::{FOREIGN, FOREIGN_STEPS, ForeignRoutine, Trap, Verified, file, verify};
use raddle_vm::solo::{Event, Failure, Solo, Until, World};
use raddle_vm::{Machine, Port, Process, WorkerLocal};

// A process, beside its frame: what `raddle build --ram` counts with.
const _: () = assert!(size_of::<Process<()>>() == 40);

/// What a program may call.
const ROUTINES: [&str; 2] = ["C.light", "C.listen"];

/// A byte of the keyboard from here on is the number of a line that has interrupted.
const INTERRUPTS: u8 = 128;

/// The world of the program.
struct Outside<'a> {
    wraps: u32,
    /// How often it slept.
    sleeps: &'a Cell<u32>,
    bytes: &'a [u8],
    foreign: &'a [ForeignRoutine],
}

impl Outside<'_> {
    fn sleep(&self, microseconds: Option<u64>, keys: bool) {
        self.sleeps.set(self.sleeps.get() + 1);
        board::sleep(microseconds, keys);
    }
}

impl World for Outside<'_> {
    fn now(&mut self) -> u64 {
        board::microseconds(&mut self.wraps)
    }

    fn wait(&mut self, until: Until, keys: bool) -> Event {
        loop {
            if keys && let Some(line) = board::interrupt() {
                return Event::Key(INTERRUPTS | line);
            }
            if keys && let Some(byte) = board::byte() {
                return Event::Key(byte);
            }
            match until {
                Until::Now => return Event::Nothing,
                Until::Ever => self.sleep(None, keys),
                Until::At(time) => {
                    let left = time.saturating_sub(self.now());
                    if left == 0 {
                        return Event::Nothing;
                    }
                    self.sleep(Some(left), keys);
                }
            }
            // The clock may only count while somebody looks.
            self.now();
        }
    }

    fn output(&mut self, _: Port, bytes: &[u8]) {
        // 255 is no character but a request to flush.
        bytes.iter().filter(|&&byte| byte != u8::MAX).for_each(|&byte| board::put(byte));
    }

    fn call(&mut self, number: i32, [at, bytes, low, _]: [u32; 4]) -> Option<[u32; 4]> {
        if number < FOREIGN {
            // A program has no arguments: none, and each as long as one that is not there.
            return [1, 2].contains(&number).then_some([if number == 1 { 0 } else { u32::MAX }, 0, 0, 0]);
        }
        let (routine, 0) = ((number - FOREIGN) / FOREIGN_STEPS, (number - FOREIGN) % FOREIGN_STEPS) else {
            return None;
        };
        let routine = self.foreign.get(routine as usize)?;
        let argument = |number: u32| {
            let at = at.checked_add(4 * number).filter(|at| at % 4 == 0)?;
            if at.checked_add(4)? > bytes {
                return None;
            }
            let place = core::ptr::with_exposed_provenance::<AtomicU32>(low as usize + at as usize);
            // SAFETY: it lies within the memory of the program, which calls and is made of such words.
            Some(unsafe { &*place }.load(Ordering::Relaxed))
        };
        match routine_of(self.bytes, routine)? {
            0 => board::light(argument(0)? != 0),
            _ => board::listen(argument(0)?, argument(1)?).then_some(())?,
        }
        Some([0; 4])
    }
}

unsafe extern "C" {
    static image_end: u8;
    static mut bss_begin: u8;
    static mut bss_end: u8;
}

/// The bytecode behind the image: a word that marks it, its length, and itself.
fn bytecode() -> Option<&'static [u8]> {
    let image = &raw const image_end;
    // SAFETY: the linker has put the image into memory that can be read to its end, far behind it.
    let head = unsafe { image.cast::<[u8; 8]>().read() };
    let bytes = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    if head[..4] != *b"RDLF" || bytes > 1 << 20 {
        return None;
    }
    // SAFETY: whoever wrote the mark has put so many bytes behind it, which nobody changes.
    Some(unsafe { core::slice::from_raw_parts(image.wrapping_add(8), bytes) })
}

/// Which of the board's routines that is.
fn routine_of(bytes: &[u8], routine: &ForeignRoutine) -> Option<usize> {
    let called = name(bytes, routine.name)?;
    ROUTINES.iter().position(|name| name.as_bytes() == called)
}

/// Not a part of `made`, which takes as much stack again when nothing of this is needed any more.
#[inline(never)]
fn program(bytes: &[u8]) -> Result<Verified, &'static str> {
    let module = account::read(bytes).ok_or("no bytecode of this version")?;
    if !module.foreign.iter().all(|routine| routine_of(bytes, routine).is_some()) {
        return Err("it calls what this board has not");
    }
    verify(module).map_err(|_| "invalid bytecode")
}

/// How much memory the program wants, and room for how many processes: as `raddle build --ram` has counted.
fn room(bytes: &[u8]) -> Option<(u32, u32)> {
    let part = file::part(bytes, b"ROOM")?;
    Some((word(part, 0)?, word(part, 4)?))
}

/// Not a part of `run`: a machine is large, and what only makes one takes its stack for a moment.
#[inline(never)]
fn made(bytes: &[u8], local: &mut WorkerLocal) -> Result<Machine<()>, &'static str> {
    let program = program(bytes)?;
    let room = room(bytes);
    let memory = room.map_or(board::MEMORY_BYTES, |(memory, _)| memory);
    let mut machine = Machine::new(program, memory, local).map_err(|trap| match trap {
        Trap::Host => "it has reals, and this image has none",
        trap => trap.word(),
    })?;
    if room.is_some_and(|(_, processes)| machine.reserve(processes).is_err()) {
        // What would give all of it back need not be in the image.
        core::mem::forget(machine);
        return Err(Trap::Memory.word());
    }
    Ok(machine)
}

fn run() -> bool {
    let Some(bytes) = bytecode() else {
        Line.text("raddle: no program");
        return false;
    };
    let mut local = WorkerLocal::default();
    // It stays to the end, as what runs it does.
    let made = ManuallyDrop::new(made(bytes, &mut local));
    let machine = match &*made {
        Ok(machine) => machine,
        Err(what) => {
            Line.text("raddle: ");
            Line.text(what);
            return false;
        }
    };
    let sleeps = Cell::new(0);
    let foreign = &machine.program().module().foreign;
    let outside = Outside { wraps: 0, sleeps: &sleeps, bytes, foreign };
    let solo = ManuallyDrop::new(Solo::<_, _, false>::new(machine, outside, 0));
    let before = heap::given();
    // This world never wants a pause.
    let ended = solo.go_on(&mut local, u32::MAX);
    let (blocks, heap_most) = (heap::given() - before, heap::most());
    let stack_most = stack::most();
    match &ended {
        Ok(_) => {}
        Err(Failure::Fault(fault)) => account::tell(bytes, machine, Some(*fault)),
        Err(_) => account::tell(bytes, machine, None),
    }
    let stats = local.stats();
    Line.text("\nraddle: ");
    Line.number(stats.messages);
    Line.text(" messages, ");
    Line.number(machine.memory_max());
    Line.text(" bytes of frames; heap ");
    Line.part(heap_most);
    Line.text(", stack ");
    Line.part(stack_most);
    Line.text("; ");
    Line.number(blocks.into());
    Line.text(" blocks of heap after the start, ");
    Line.number(sleeps.get().into());
    Line.text(" sleeps\n");
    ended.is_ok()
}

/// The first of this program.
#[unsafe(no_mangle)]
extern "C" fn begin() -> ! {
    let (from, to) = (&raw mut bss_begin, &raw mut bss_end);
    let bytes = to.addr() - from.addr();
    // SAFETY: nothing lies there yet that anybody uses.
    unsafe { from.write_bytes(0, bytes) };
    board::prepare();
    heap::prepare();
    board::end(run())
}

/// What the processor comes to when something has gone wrong that no check has found: there was no memory, or a panic.
#[unsafe(no_mangle)]
extern "C" fn failed() -> ! {
    match heap::refused() {
        0 => Line.text("\nraddle: a bug"),
        bytes => {
            Line.text("\nraddle: out of memory, for ");
            Line.part([bytes, heap::most()[1]]);
        }
    }
    board::end(false)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    failed()
}
