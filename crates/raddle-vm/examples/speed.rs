//! Prints what the machine takes for the loops of the requirements' table, on one thread without an operating system's help.
//! `cargo run --release -p raddle-vm --example speed`

#![allow(clippy::print_stdout, reason = "it is a program")]

use raddle_bytecode::build::{Code, ModuleBuilder};
use raddle_bytecode::{Module, verify};
use raddle_vm::solo::{self, Event, Until, World};
use raddle_vm::{Lane, Machine, Port};
use std::time::Instant;

struct Nothing;

impl World for Nothing {
    fn now(&mut self) -> u64 {
        0
    }
    fn wait(&mut self, _: Until, _: bool) -> Event {
        Event::Nothing
    }
    fn output(&mut self, _: Port, _: &[u8]) {}
    fn call(&mut self, _: i32, _: [u32; 4]) -> Option<[u32; 4]> {
        None
    }
}

fn single(code: Code, slots: u32) -> Module {
    let mut module = ModuleBuilder::new();
    let main = module.declare("main");
    module.define(main, code, slots);
    module.entry(main);
    module.finish()
}

/// prefix, delta, successor in a ring; delta also feeds a consumer, which counts to `loops`.
fn commstime(loops: i32, parallel: bool) -> Module {
    let mut code = Code::default();
    // 2..5: channels, 6..9: their addresses.
    code.zero(2, 16);
    for channel in 0..4 {
        code.addr(6 + channel, 8 + 4 * i32::from(channel));
    }
    let (prefix, delta, successor) = (code.label(), code.label(), code.label());
    code.par(10, 3);
    code.fork(10, prefix);
    code.fork(10, delta);
    code.fork(10, successor);
    let again = code.label();
    code.ldi(11, loops);
    code.ldi(12, 0);
    code.bind(again);
    code.input(9, 13, 4);
    code.repeat(12, 11, again);
    code.ret();
    code.bind(prefix);
    code.ldi(14, 0);
    code.output(6, 14, 4);
    let again = code.label();
    code.bind(again);
    code.input(8, 14, 4);
    code.output(6, 14, 4);
    code.jump(again);
    code.bind(delta);
    code.input(6, 15, 4);
    if parallel {
        let branch = code.label();
        code.par(17, 1);
        code.fork(17, branch);
        code.output(7, 15, 4);
        code.join(17);
        code.jump(delta);
        code.bind(branch);
        code.output(9, 15, 4);
        code.end();
    } else {
        code.output(7, 15, 4);
        code.output(9, 15, 4);
        code.jump(delta);
    }
    code.bind(successor);
    code.input(7, 16, 4);
    code.add_i(16, 16, 1);
    code.output(8, 16, 4);
    code.jump(successor);
    single(code, 20)
}

/// `size` processes in a ring pass a token round, `rounds` times.
fn ring(size: i32, rounds: i32) -> Module {
    let mut module = ModuleBuilder::new();
    let (main, cell) = (module.declare("main"), module.declare("cell"));
    let mut code = Code::default();
    // 2, 3: the channels' words; 4 address of the last; 10.. the forkn.
    code.alloc_i(2, 4 * size);
    code.ldi(3, size);
    code.ldi(11, 0);
    code.ldi(12, size - 1);
    code.ldi(13, 1);
    code.forkn(10, cell.0 as i32);
    code.ldi(5, rounds);
    code.ldi(6, 0);
    code.ldi(8, 0);
    code.mov(4, 2);
    code.ldi(9, 4 * (size - 1));
    code.plus(7, 2, 9);
    let again = code.label();
    code.bind(again);
    code.output(4, 8, 4);
    code.input(7, 8, 4);
    code.repeat(6, 5, again);
    code.ret();
    module.define(main, code, 20);
    let mut code = Code::default();
    code.ldr_w(3, 1, 8);
    code.ldi(4, 4);
    code.times(4, 4, 2);
    code.plus(3, 3, 4);
    code.plus_i(4, 3, 4);
    let again = code.label();
    code.bind(again);
    code.input(3, 5, 4);
    code.add_i(5, 5, 1);
    code.output(4, 5, 4);
    code.jump(again);
    module.define(cell, code, 6);
    module.entry(main);
    module.finish()
}

fn pair(loops: i32) -> Module {
    let mut code = Code::default();
    code.zero(2, 4);
    code.addr(3, 8);
    code.ldi(4, loops);
    code.ldi(5, 0);
    let (again, branch) = (code.label(), code.label());
    code.bind(again);
    code.par(6, 1);
    code.fork(6, branch);
    code.output(3, 5, 4);
    code.join(6);
    code.repeat(5, 4, again);
    code.ret();
    code.bind(branch);
    code.input(3, 7, 4);
    code.end();
    single(code, 8)
}

fn update(loops: i32) -> Module {
    let mut code = Code::default();
    code.alloc_i(2, 4000);
    code.ldi(3, 1000);
    code.ldi(4, loops);
    code.ldi(5, 0);
    let again = code.label();
    code.bind(again);
    code.ldi(6, 511);
    code.and(6, 5, 6);
    code.ald_w(7, 2, 6);
    code.plus(7, 7, 5);
    code.ast_w(7, 2, 6);
    code.ldi(7, 0);
    code.repeat(5, 4, again);
    code.ret();
    single(code, 10)
}

/// All alive at once, each waiting in a channel.
fn many(count: i32) -> Module {
    let mut module = ModuleBuilder::new();
    let (main, replica) = (module.declare("main"), module.declare("replica"));
    let mut code = Code::default();
    code.ldi(12, count);
    code.ldi(13, 1);
    code.zero(4, 4);
    code.ldi(11, 0);
    code.forkn(10, replica.0 as i32);
    code.joinn(10);
    code.ret();
    module.define(main, code, 16);
    let mut code = Code::default();
    code.resched();
    code.end();
    module.define(replica, code, 3);
    module.entry(main);
    module.finish()
}

fn measure(name: &str, module: Module, units: f64) {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let mut lane = Lane::default();
        let verified = verify(module.clone()).expect("made by hand, and right");
        let machine = Machine::new(verified, 1 << 28, &mut lane).expect("enough memory");
        let begun = Instant::now();
        solo::run(&machine, Nothing, &mut lane, 0).expect("it ends");
        best = best.min(begun.elapsed().as_nanos() as f64 / units);
    }
    println!("{name:32} {best:8.1} ns");
}

fn main() {
    measure("commstime, sequential delta", commstime(2_000_000, false), 2e6);
    measure("commstime, parallel delta", commstime(2_000_000, true), 2e6);
    measure("ring of 503, a hop", ring(503, 4000), 503.0 * 4000.0);
    measure("PAR of two, one communication", pair(3_000_000), 3e6);
    measure("checked array update", update(10_000_000), 1e7);
    measure("a million processes, each", many(1_000_000), 1e6);
}
