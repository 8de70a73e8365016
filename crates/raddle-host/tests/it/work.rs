//! Owns: programs in which much happens on several workers at once.
//! May use: `support`.
//! Never: an order that the program does not fix.

use crate::support::{WORKERS, print, run, single};
use raddle_bytecode::Module;
use raddle_bytecode::build::{Code, ModuleBuilder};

/// `count` instances, each with a channel in which it passes `rounds` messages between two branches; then it adds
/// what it received to the word in slot 9 of main's frame.
fn pairs(count: i32, rounds: i32) -> Module {
    let mut module = ModuleBuilder::new();
    let (main, replica) = (module.declare("main"), module.declare("replica"));
    let mut code = Code::default();
    let wrong = code.label();
    code.zero(8, 8);
    code.ldi(11, 0);
    code.ldi(12, count);
    code.ldi(13, 1);
    code.forkn(10, replica.0 as i32);
    code.joinn(10);
    code.ldi(14, count * rounds * (rounds - 1) / 2);
    code.jne(9, 14, wrong);
    code.ldi(15, 1);
    print(&mut code, 15, 16);
    code.ret();
    code.bind(wrong);
    code.stop();
    module.define(main, code, 20);
    let mut code = Code::default();
    let (again, branch) = (code.label(), code.label());
    code.zero(3, 16);
    code.addr(4, 12);
    code.ldi(5, rounds);
    code.bind(again);
    code.par(7, 1);
    code.fork(7, branch);
    code.output(4, 6, 4);
    code.join(7);
    code.add(9, 9, 8);
    code.repeat(6, 5, again);
    // The parent's sum, under its lock in slot 8.
    code.plus_i(10, 1, 32);
    code.claim(10);
    code.ldr_w(11, 1, 36);
    code.add(11, 11, 9);
    code.str_w(11, 1, 36);
    code.release(10);
    code.end();
    code.bind(branch);
    code.input(4, 8, 4);
    code.end();
    module.define(replica, code, 12);
    module.entry(main);
    module.finish()
}

#[test]
fn many_pairs_add_up() {
    for workers in WORKERS {
        let (outcome, text) = run(&pairs(64, 300), workers, "");
        assert_eq!((outcome.result, text.as_str()), (Ok(()), "1"), "{workers} workers");
        assert!(outcome.stats.messages >= 64 * 300 && outcome.stats.processes >= 64 * 301);
    }
}

/// A line of `count` processes through which a number goes from the last, which was made last, to the first: those
/// that come first wait for those that come last.
fn line(count: i32) -> Module {
    let mut module = ModuleBuilder::new();
    let (main, replica) = (module.declare("main"), module.declare("replica"));
    let mut code = Code::default();
    let sender = code.label();
    code.alloc_i(2, 4 * (count + 1));
    code.ldi(11, 0);
    code.ldi(12, count);
    code.ldi(13, 1);
    code.forkn(10, replica.0 as i32);
    code.par(17, 1);
    code.fork(17, sender);
    code.mov(3, 2);
    code.input(3, 4, 4);
    code.join(17);
    code.joinn(10);
    print(&mut code, 4, 5);
    code.ret();
    code.bind(sender);
    code.ldi(18, 4 * count);
    code.plus(18, 18, 2);
    code.ldi(19, 7);
    code.output(18, 19, 4);
    code.end();
    module.define(main, code, 20);
    let mut code = Code::default();
    code.ldr_w(3, 1, 8);
    code.ldi(4, 4);
    code.times(4, 4, 2);
    code.plus(3, 3, 4);
    code.plus_i(4, 3, 4);
    code.input(4, 5, 4);
    code.output(3, 5, 4);
    code.end();
    module.define(replica, code, 6);
    module.entry(main);
    module.finish()
}

/// More than are queued at once when a program comes over to several workers.
#[test]
fn who_is_queued_first_may_wait_for_the_last() {
    for workers in WORKERS {
        let (outcome, text) = run(&line(30_000), workers, "");
        assert_eq!((outcome.result, text.as_str()), (Ok(()), "7"), "{workers} workers");
    }
}

/// A producer per channel, one ALT that takes from all with a time-out as the last guard.
fn alternation(producers: u16, each: i32) -> Module {
    let mut code = Code::default();
    let base = 40;
    // Slots 40..: channel words, then their addresses, then what is sent, then counts.
    let (address, value, left) = (base + producers, base + 2 * producers, base + 3 * producers);
    code.zero(base, 16 * i32::from(producers));
    code.zero(10, 24);
    code.ldi(16, 0);
    code.ldi(17, i32::from(producers) * each);
    code.par(9, i32::from(producers));
    let mut branches = Vec::new();
    for number in 0..producers {
        code.addr(address + number, i32::from(base + number) * 4);
        let branch = code.label();
        code.fork(9, branch);
        branches.push(branch);
    }
    let (again, behind) = (code.label(), code.label());
    code.bind(again);
    code.time(19);
    code.plus_i(19, 19, 500);
    code.alt(10);
    (0..producers).for_each(|number| code.enc(address + number, 10));
    code.ent(19, 10);
    code.altw(10);
    (0..producers).for_each(|number| code.disc(address + number, 10, i32::from(number)));
    code.dist(19, 10, i32::from(producers));
    code.alte(10, again);
    code.jge_i(10, i32::from(producers), again);
    let takes: Vec<_> = (0..producers).map(|_| code.label()).collect();
    code.switch(10, i32::from(producers) - 1);
    takes.iter().for_each(|&take| code.jump(take));
    for (number, &take) in (0..).zip(&takes) {
        code.bind(take);
        code.input(address + number, 18, 4);
        code.jump(behind);
    }
    code.bind(behind);
    code.add(16, 16, 18);
    code.add_i(17, 17, -1);
    code.jnz(17, again);
    code.join(9);
    let wrong = code.label();
    code.ldi(18, i32::from(producers) * each);
    code.jne(16, 18, wrong);
    code.ldi(15, 2);
    print(&mut code, 15, 20);
    code.ret();
    code.bind(wrong);
    code.stop();
    for (number, branch) in (0..).zip(branches) {
        code.bind(branch);
        code.ldi(value + number, 1);
        code.ldi(left + number, each);
        let more = code.label();
        code.bind(more);
        code.output(address + number, value + number, 4);
        code.add_i(left + number, left + number, -1);
        code.jnz(left + number, more);
        code.end();
    }
    single(code, u32::from(base + 4 * producers))
}

#[test]
fn an_alt_takes_from_all() {
    for workers in WORKERS {
        let (outcome, text) = run(&alternation(6, 2000), workers, "");
        assert_eq!((outcome.result, text.as_str()), (Ok(()), "2"), "{workers} workers: {:?}", outcome.report);
    }
}
