//! Owns: a board that runs the program behind its image, and says over the serial line how that ended.
//! May use: `heap`; one of the boards, each a page: clock, serial line, light, sleep, end.
//! Never: an interrupt, an operating system, the standard library.
//!
//! A board brings `prepare`, `microseconds`, `sleep`, `byte`, `put`, `light`, `end` and `MEMORY_BYTES`. Screen and
//! error channel are the serial line, and so is the keyboard. While all processes wait, the processor sleeps until a
//! byte or the time that the first of them waits for comes. `C.light` is a foreign routine that a program may call.

#![no_std]
#![no_main]

extern crate alloc;

#[cfg_attr(target_arch = "arm", path = "lm3s6965evb.rs")]
mod board;
mod heap;

use core::fmt::{self, Write as _};
use core::sync::atomic::{AtomicU32, Ordering};
use raddle_bytecode::{FOREIGN, FOREIGN_STEPS, Module, Verified, verify};
use raddle_vm::solo::{Event, Failure, Solo, Until, World};
use raddle_vm::{Machine, Port, WorkerLocal};

/// The serial line.
struct Line;

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(board::put);
        Ok(())
    }
}

/// The world of the program.
struct Outside {
    wraps: u32,
    /// The number of the call that switches the light, if the program has it.
    light: Option<i32>,
}

impl World for &mut Outside {
    fn now(&mut self) -> u64 {
        board::microseconds(&mut self.wraps)
    }

    fn wait(&mut self, until: Until, keys: bool) -> Event {
        loop {
            if keys && let Some(byte) = board::byte() {
                return Event::Key(byte);
            }
            match until {
                Until::Now => return Event::Nothing,
                Until::Ever => board::sleep(None),
                Until::At(time) => {
                    let left = time.saturating_sub(self.now());
                    if left == 0 {
                        return Event::Nothing;
                    }
                    board::sleep(Some(left));
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
        if Some(number) != self.light || at % 4 != 0 || at.checked_add(4)? > bytes {
            return None;
        }
        let place = core::ptr::with_exposed_provenance::<AtomicU32>(low as usize + at as usize);
        // SAFETY: it lies within the memory of the program, which calls and is made of such words.
        let on = unsafe { &*place }.load(Ordering::Relaxed);
        board::light(on != 0);
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

fn program() -> Result<Verified, &'static str> {
    let bytes = bytecode().ok_or("no program lies behind the image")?;
    let module = Module::read(bytes).map_err(|_| "the program is no bytecode of this version")?;
    let known = |name: &str| name == "C.light";
    if !module.foreign.iter().all(|routine| known(module.string(routine.name))) {
        return Err("the program calls foreign routines that this board has not");
    }
    verify(module).map_err(|_| "the program's bytecode is invalid")
}

fn run() -> bool {
    let program = match program() {
        Ok(program) => program,
        Err(what) => {
            let _ = writeln!(Line, "raddle: {what}");
            return false;
        }
    };
    let light =
        program.module().foreign.iter().position(|_| true).map(|at| FOREIGN + FOREIGN_STEPS * at as i32);
    let mut local = WorkerLocal::default();
    let machine: Machine<()> = match Machine::new(program, board::MEMORY_BYTES, &mut local) {
        Ok(machine) => machine,
        Err(trap) => {
            let _ = writeln!(Line, "raddle: {}", trap.what());
            return false;
        }
    };
    let mut outside = Outside { wraps: 0, light };
    let solo = Solo::<_, _, false>::new(&machine, &mut outside, 0);
    let before = heap::given();
    // This world never wants a pause.
    let ended = solo.go_on(&mut local, u32::MAX);
    let blocks = heap::given() - before;
    let stats = local.stats();
    let _ = match &ended {
        Ok(_) => Ok(()),
        Err(Failure::Fault(fault)) => write!(Line, "\n{}", machine.report_fault(*fault)),
        Err(_) => write!(Line, "\n{}", machine.report_deadlock()),
    };
    let _ = writeln!(
        Line,
        "\nraddle: {} messages, {} dispatches, {} bytes of memory; {blocks} blocks of heap after the start",
        stats.messages,
        stats.dispatches,
        machine.memory_max()
    );
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

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Line, "raddle: {info}");
    board::end(false)
}
