//! Prints what a program of bytecode takes for the loops of the requirements' table, made by hand.
//! `cargo run --release -p raddle-host --example machine_speed -- WORKERS`

#![allow(clippy::print_stdout, reason = "it is a program")]

use raddle_bytecode::build::{Code, ModuleBuilder};
use raddle_bytecode::{Module, verify};
use raddle_host::{NoKeys, RunOptions};
use std::time::Instant;

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

/// One outputs, the other inputs; with an extended input the first waits for the end of what is done then, which is
/// nothing.
fn messages(loops: i32, extended: bool) -> Module {
    let mut code = Code::default();
    code.zero(2, 4);
    code.addr(3, 8);
    code.ldi(4, loops);
    code.ldi(5, 0);
    code.ldi(6, loops);
    code.ldi(7, 0);
    let (again, branch) = (code.label(), code.label());
    code.par(8, 1);
    code.fork(8, branch);
    code.bind(again);
    code.output(3, 5, 4);
    code.repeat(5, 4, again);
    code.join(8);
    code.ret();
    code.bind(branch);
    let again = code.label();
    code.bind(again);
    if extended {
        code.input_x(3, 9, 4);
        code.xend(3);
    } else {
        code.input(3, 9, 4);
    }
    code.repeat(7, 6, again);
    code.end();
    single(code, 10)
}

/// So many members come to a barrier, again and again.
fn barrier(members: i32, rounds: i32) -> Module {
    let mut module = ModuleBuilder::new();
    let (main, member) = (module.declare("main"), module.declare("member"));
    let mut code = Code::default();
    // 2: its address; 3 to 5: its words; 6: rounds.
    code.addr(2, 12);
    code.ldi(3, members);
    code.ldi(4, members);
    code.ldi(5, 0);
    code.ldi(6, rounds);
    code.ldi(11, 0);
    code.ldi(12, members);
    code.ldi(13, 1);
    code.forkn(10, member.0 as i32);
    code.joinn(10);
    code.ret();
    module.define(main, code, 16);
    let mut code = Code::default();
    code.ldr_w(3, 1, 8);
    code.ldr_w(4, 1, 24);
    code.ldi(5, 0);
    let again = code.label();
    code.bind(again);
    code.sync(3);
    code.repeat(5, 4, again);
    code.resign(3);
    code.end();
    module.define(member, code, 6);
    module.entry(main);
    module.finish()
}

/// Forks that end at once, 100 in a block.
fn forks(blocks: i32) -> Module {
    let mut module = ModuleBuilder::new();
    let (main, forked) = (module.declare("main"), module.declare("forked"));
    let mut code = Code::default();
    code.ldi(2, blocks);
    code.ldi(3, 0);
    let (block, fork) = (code.label(), code.label());
    code.bind(block);
    code.forking(4);
    code.addr(7, 16);
    code.ldi(8, 100);
    code.ldi(9, 0);
    code.bind(fork);
    code.frame(6, forked.0 as i32);
    code.str_w(9, 6, 8);
    code.spawn(6, forked.0 as i32);
    code.repeat(9, 8, fork);
    code.joinf(4);
    code.repeat(3, 2, block);
    code.ret();
    module.define(main, code, 10);
    let mut code = Code::default();
    code.endf();
    module.define(forked, code, 4);
    module.entry(main);
    module.finish()
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
fn many_alive(count: i32) -> Module {
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

/// The experiment `granularity`: `count` instances, `rounds` rounds of `grains` updates and a PAR of two.
fn granularity(count: i32, rounds: i32, grains: i32) -> Module {
    let mut module = ModuleBuilder::new();
    let (main, replica) = (module.declare("main"), module.declare("replica"));
    let mut code = Code::default();
    code.alloc_i(2, 4 * count * grains.max(1));
    code.ldi(3, count * grains);
    code.ldi(11, 0);
    code.ldi(12, count);
    code.ldi(13, 1);
    code.forkn(10, replica.0 as i32);
    code.joinn(10);
    code.ret();
    module.define(main, code, 20);
    let mut code = Code::default();
    let (again, branch, grain) = (code.label(), code.label(), code.label());
    code.ldr_w(4, 1, 8);
    code.ldr_w(5, 1, 12);
    code.zero(6, 4);
    code.addr(7, 24);
    code.ldi(8, rounds);
    code.ldi(9, 0);
    code.bind(again);
    code.par(10, 1);
    code.fork(10, branch);
    code.ldi(11, 0);
    code.ldi(12, grains);
    code.bind(grain);
    code.ldi(13, grains);
    code.mul(13, 13, 2);
    code.add(13, 13, 11);
    code.ald_w(14, 4, 13);
    code.add(14, 14, 2);
    code.ast_w(14, 4, 13);
    code.repeat(11, 12, grain);
    code.output(7, 2, 4);
    code.join(10);
    code.repeat(9, 8, again);
    code.end();
    code.bind(branch);
    code.input(7, 15, 4);
    code.end();
    module.define(replica, code, 16);
    module.entry(main);
    module.finish()
}

fn time(module: &Module, workers: usize) -> f64 {
    let program = verify(module.clone()).expect("made by hand, and right");
    let options = RunOptions { workers, memory_bytes: 1 << 28, ..RunOptions::default() };
    let begun = Instant::now();
    let outcome = raddle_host::run(program, options, NoKeys::new()).expect("the settings are right");
    let taken = begun.elapsed().as_secs_f64();
    assert!(outcome.result.is_ok(), "{:?}", outcome.report);
    taken
}

fn measure(name: &str, module: &Module, units: f64, many: usize) {
    let (mut one, mut all) = (f64::MAX, f64::MAX);
    for _ in 0..5 {
        one = one.min(time(module, 1));
        all = all.min(time(module, many));
    }
    println!("{name:32} {:8.1} ns {:8.1} ns {:6.2}", one * 1e9 / units, all * 1e9 / units, all / one);
}

fn main() {
    let many = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2);
    println!("{:32} {:>11} {many:>4} workers  ratio", "", "1 worker");
    measure("commstime, sequential delta", &commstime(1_000_000, false), 1e6, many);
    measure("commstime, parallel delta", &commstime(1_000_000, true), 1e6, many);
    measure("ring of 503, a hop", &ring(503, 2000), 503.0 * 2000.0, many);
    measure("PAR of two, one communication", &pair(1_000_000), 1e6, many);
    measure("a message", &messages(1_000_000, false), 1e6, many);
    measure("a message, extended", &messages(1_000_000, true), 1e6, many);
    measure("barrier of 1000, a member", &barrier(1000, 1000), 1e6, many);
    measure("FORK and its end", &forks(10_000), 1e6, many);
    measure("checked array update", &update(5_000_000), 5e6, many);
    measure("a million processes, each", &many_alive(1_000_000), 1e6, many);
    for grains in [1, 10, 100, 1000, 10_000] {
        let rounds = (1_000_000 / (grains * 64)).clamp(10, 10_000);
        let units = f64::from(rounds) * 64.0;
        measure(&format!("granularity {grains}, a round"), &granularity(64, rounds, grains), units, many);
    }
}
