//! Owns: tests of PAR, channels, ALT and time.
//! May use: `support`.
//! Never: several workers.

use crate::support::{KEYBOARD, print, run, run_keys, single};
use raddle_bytecode::Trap;
use raddle_bytecode::build::{Code, ModuleBuilder};
use raddle_vm::solo::Failure;

/// Slot 5 is a channel, slot 6 its address.
fn with_channel() -> Code {
    let mut code = Code::default();
    code.zero(5, 4);
    code.addr(6, 20);
    code
}

#[test]
fn two_branches_meet() {
    let mut code = with_channel();
    let branch = code.label();
    code.par(7, 1);
    code.fork(7, branch);
    code.input(6, 8, 4);
    code.join(7);
    print(&mut code, 8, 10);
    code.ret();
    code.bind(branch);
    code.ldi(9, 7);
    code.output(6, 9, 4);
    code.end();
    assert_eq!(run(single(code, 16)).unwrap(), "7");
}

#[test]
fn bytes_and_halves_arrive_extended() {
    for (bytes, value, expected) in [(1, 0x1ff, 0xff), (2, 0x1_8000, -0x8000), (4, -5, -5)] {
        for input_first in [false, true] {
            let mut code = with_channel();
            let (branch, bad) = (code.label(), code.label());
            code.par(7, 1);
            code.ldi(8, -1);
            code.ldi(9, value);
            code.fork(7, branch);
            if input_first {
                code.input(6, 8, bytes)
            } else {
                code.output(6, 9, bytes)
            }
            code.join(7);
            code.ldi(10, expected);
            code.jne(8, 10, bad);
            code.ret();
            code.bind(bad);
            code.stop();
            code.bind(branch);
            if input_first {
                code.output(6, 9, bytes)
            } else {
                code.input(6, 8, bytes)
            }
            code.end();
            assert_eq!(run(single(code, 16)).unwrap(), "", "{bytes} bytes");
        }
    }
}

#[test]
fn replicas_have_frames_of_their_own() {
    let mut module = ModuleBuilder::new();
    let (main, replica) = (module.declare("main"), module.declare("replica"));
    let mut code = with_channel();
    // 10.. = state, base, count, step, state, state
    code.ldi(11, 1);
    code.ldi(12, 4);
    code.ldi(13, 2);
    code.forkn(10, replica.0 as i32);
    for _ in 0..4 {
        code.input(6, 8, 4);
        code.add(9, 9, 8);
        // One channel, one sender at a time: each instance is let go by the message before.
    }
    code.joinn(10);
    code.add_i(9, 9, -8);
    print(&mut code, 9, 20);
    code.ret();
    module.define(main, code, 24);
    // Waits for the lock in slot 4 of the parent's frame.
    let mut code = Code::default();
    code.plus_i(3, 1, 16);
    code.claim(3);
    code.ldr_w(4, 1, 24);
    code.output(4, 2, 4);
    code.release(3);
    code.end();
    module.define(replica, code, 5);
    module.entry(main);
    // 1 + 3 + 5 + 7 - 8; slot 4 is main's third parameter, so it is cleared first.
    let mut module = module.finish();
    module.code[0] = raddle_bytecode::Insn::with_imm(raddle_bytecode::Op::Zero, 4, 8);
    assert_eq!(run(module).unwrap(), "8");
}

#[test]
fn an_alt_takes_what_is_ready_and_waits_for_it() {
    let mut code = Code::default();
    let (left, right, again, take_left, take_right, both) =
        (code.label(), code.label(), code.label(), code.label(), code.label(), code.label());
    // 5, 6: channels; 7, 8: their addresses; 10..15: the ALT.
    code.zero(5, 8);
    code.zero(10, 24);
    code.addr(7, 20);
    code.addr(8, 24);
    code.ldi(16, 0);
    code.ldi(17, 4);
    code.par(9, 2);
    code.fork(9, left);
    code.fork(9, right);
    code.bind(again);
    code.alt(10);
    code.enc(7, 10);
    code.enc(8, 10);
    code.altw(10);
    code.disc(7, 10, 0);
    code.disc(8, 10, 1);
    code.alte(10, again);
    code.switch(10, 1);
    code.jump(take_left);
    code.jump(take_right);
    code.bind(take_left);
    code.input(7, 18, 4);
    code.jump(both);
    code.bind(take_right);
    code.input(8, 18, 4);
    code.bind(both);
    code.add(16, 16, 18);
    code.add_i(17, 17, -1);
    code.jnz(17, again);
    code.join(9);
    print(&mut code, 16, 20);
    code.ret();
    for (label, channel, value) in [(left, 7, 1), (right, 8, 2)] {
        code.bind(label);
        code.ldi(22 + channel, value);
        code.output(channel, 22 + channel, 4);
        code.output(channel, 22 + channel, 4);
        code.end();
    }
    assert_eq!(run(single(code, 40)).unwrap(), "6");
}

#[test]
fn an_alt_with_time_goes_on_without_a_sender() {
    let mut code = with_channel();
    let (again, timed) = (code.label(), code.label());
    code.zero(10, 24);
    code.time(16);
    code.plus_i(16, 16, 1000);
    code.bind(again);
    code.alt(10);
    code.enc(6, 10);
    code.ent(16, 10);
    code.altw(10);
    code.disc(6, 10, 0);
    code.dist(16, 10, 1);
    code.alte(10, again);
    code.jnz(10, timed);
    code.stop();
    code.bind(timed);
    code.time(17);
    code.after(18, 17, 16);
    print(&mut code, 18, 20);
    code.ret();
    assert_eq!(run(single(code, 24)).unwrap(), "1");
}

#[test]
fn the_keyboard_is_a_channel() {
    let mut code = Code::default();
    let again = code.label();
    code.ldi(2, KEYBOARD);
    code.ldi(3, 20);
    code.ldi(5, 3);
    code.bind(again);
    code.input(2, 4, 1);
    code.output(3, 4, 1);
    code.add_i(5, 5, -1);
    code.jnz(5, again);
    code.ret();
    let module = single(code, 6);
    assert_eq!(run_keys(module.clone(), "abcdef", 0).unwrap(), "abc");
    assert_eq!(run_keys(module, "ab", 0), Err(Failure::Deadlock));
}

#[test]
fn nobody_at_the_other_end_is_a_deadlock() {
    let mut code = with_channel();
    code.output(6, 6, 4);
    code.ret();
    assert_eq!(run(single(code, 8)), Err(Failure::Deadlock));
}

#[test]
fn different_sizes_are_an_error() {
    let mut code = with_channel();
    let branch = code.label();
    code.par(7, 1);
    code.fork(7, branch);
    code.input(6, 8, 4);
    code.join(7);
    code.ret();
    code.bind(branch);
    code.output(6, 9, 1);
    code.end();
    let failed = run_keys(single(code, 12), "", 0).unwrap_err();
    assert!(matches!(failed, Failure::Fault(fault) if fault.trap == Trap::Message), "{failed:?}");
}
