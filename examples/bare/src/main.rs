//! Owns: a program of bytecode in a binary that has no operating system and no standard library.
//! May use: a static array as heap; two calls to whatever runs it, to write and to end.
//! Never: `std`.
//!
//! The same file of bytecode runs here and on a server: the program is made, written as a file, read back, verified and
//! run. On a microcontroller the file would lie in flash, the calls would be a serial line's registers. Here they are
//! those of Linux, so that qemu's user mode runs the binary for either processor.

#![no_std]
#![no_main]

extern crate alloc;

mod heap;
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "arm", path = "arm.rs")]
mod outside;

use alloc::vec::Vec;
use raddle_bytecode::build::ModuleBuilder;
use raddle_bytecode::{Module, verify};
use raddle_vm::Port;
use raddle_vm::solo::{self, Event, Until, World};

struct Serial;

impl World for Serial {
    fn now(&mut self) -> u64 {
        0
    }

    fn wait(&mut self, _: Until, _: bool) -> Event {
        Event::NoMoreKeys
    }

    fn output(&mut self, _: Port, bytes: &[u8]) {
        outside::write(bytes);
    }

    fn call(&mut self, _: i32, _: [u32; 4]) -> Option<[u32; 4]> {
        None
    }
}

/// Numbers go through a pipeline of three that each add 7, and come out as digits.
fn program() -> Vec<u8> {
    let mut module = ModuleBuilder::new();
    let main = module.declare("main");
    let mut code = module.function();
    // 5 to 8: channels; 9 to 12: their addresses; 13 the PAR; 14 and on: what each process needs.
    code.zero(5, 16);
    (0..4).for_each(|channel| code.addr(9 + channel, 20 + 4 * i32::from(channel)));
    let stages = [code.label(), code.label(), code.label()];
    let source = code.label();
    code.par(13, 4);
    code.fork(13, source);
    stages.iter().for_each(|&stage| code.fork(13, stage));
    code.ldi(14, 10);
    let again = code.label();
    code.bind(again);
    code.input(12, 16, 4);
    code.ldi(17, 10);
    code.rem(16, 16, 17);
    code.add_i(16, 16, i32::from(b'0'));
    code.output(3, 16, 1);
    code.add_i(14, 14, -1);
    code.jnz(14, again);
    code.join(13);
    code.ldi(16, i32::from(b'\n'));
    code.output(3, 16, 1);
    code.ret();
    code.bind(source);
    code.ldi(18, 0);
    code.ldi(19, 10);
    let again = code.label();
    code.bind(again);
    code.output(9, 18, 4);
    code.repeat(18, 19, again);
    code.end();
    for (number, stage) in (0..).zip(stages) {
        let (value, left) = (20 + 2 * number, 21 + 2 * number);
        code.bind(stage);
        code.ldi(left, 10);
        let again = code.label();
        code.bind(again);
        code.input(9 + number, value, 4);
        code.add_i(value, value, 7);
        code.output(10 + number, value, 4);
        code.add_i(left, left, -1);
        code.jnz(left, again);
        code.end();
    }
    module.define(main, code, 28);
    module.entry(main);
    module.finish().write()
}

/// What the processor comes to first. 0 if all is well.
fn run() -> i32 {
    let Ok(module) = Module::read(&program()) else { return 2 };
    let Ok(verified) = verify(module) else { return 3 };
    match solo::run_program(verified, 4096, Serial) {
        Ok(stats) if stats.messages == 51 => 0,
        Ok(_) => 4,
        Err(_) => 5,
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    outside::exit(101)
}
