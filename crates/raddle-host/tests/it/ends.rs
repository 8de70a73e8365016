//! Owns: tests of how programs end: errors, deadlocks, the keyboard.
//! May use: `support`.
//! Never: a time limit of its own.

use crate::support::{WORKERS, run, run_as, single};
use raddle_bytecode::build::{Code, ModuleBuilder};
use raddle_bytecode::{End, Module, Trap, verify};
use raddle_core::{Balance, Builder, Queues};
use raddle_host::{Failure, Port, RunOptions, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two processes that both output first.
fn crossed() -> Module {
    let mut module = ModuleBuilder::new();
    let main = module.declare("main");
    let [file, a, b] = ["crossed.occ", "a", "b"].map(|text| module.string(text));
    let mut code = module.function();
    code.zero(5, 8);
    code.addr(7, 20);
    code.addr(8, 24);
    let branch = code.label();
    code.place(file, 3, 3);
    code.par(9, 1);
    code.fork(9, branch);
    let end = |from, to, slot, output, name| End { from, to, slot, output, name, ..End::default() };
    code.place(file, 5, 7);
    let from = code.here();
    code.output(7, 10, 4);
    code.input(8, 10, 4);
    code.uses_end(end(from, code.here(), 7, true, a));
    code.uses_end(end(from, code.here(), 8, false, b));
    code.join(9);
    code.ret();
    code.bind(branch);
    code.place(file, 9, 7);
    let from = code.here();
    code.output(8, 11, 4);
    code.input(7, 11, 4);
    code.uses_end(end(from, code.here(), 8, true, b));
    code.uses_end(end(from, code.here(), 7, false, a));
    code.end();
    module.define(main, code, 12);
    module.entry(main);
    module.finish()
}

#[test]
fn a_deadlock_names_processes_channels_and_lines() {
    for workers in WORKERS {
        let (outcome, _) = run(&crossed(), workers, "");
        assert_eq!(outcome.result, Err(Failure::Deadlock));
        let report = outcome.report.expect("a deadlock is reported");
        assert_eq!((report.cycle, report.processes.len()), (2, 2), "{report}");
        let text = report.to_string();
        for part in ["crossed.occ:5:7", "crossed.occ:9:7", "output on channel `a`", "output on channel `b`"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert_eq!(report.svg().matches("marker-end").count(), 2);
    }
}

#[test]
fn a_process_that_waits_for_the_keyboard_is_no_deadlock_before_its_end() {
    let mut code = Code::default();
    let again = code.label();
    code.ldi(5, 3);
    code.bind(again);
    code.input(2, 4, 1);
    code.output(3, 4, 1);
    code.add_i(5, 5, -1);
    code.jnz(5, again);
    code.ret();
    let module = single(code, 6);
    for workers in WORKERS {
        let (outcome, text) = run(&module, workers, "abcd");
        assert_eq!((outcome.result, text.as_str()), (Ok(()), "abc"));
        let (outcome, text) = run(&module, workers, "ab");
        assert_eq!((outcome.result, text.as_str()), (Err(Failure::Deadlock), "ab"));
    }
}

#[test]
fn an_error_ends_a_program_that_never_would() {
    let mut code = Code::default();
    let (spin, wait) = (code.label(), code.label());
    code.par(7, 2);
    code.fork(7, spin);
    code.fork(7, wait);
    code.time(6);
    code.plus_i(6, 6, 2000);
    code.wait(6);
    code.stop();
    code.bind(spin);
    code.jump(spin);
    code.bind(wait);
    code.time(5);
    code.ldi(4, 1_000_000_000);
    code.plus(5, 5, 4);
    code.wait(5);
    code.end();
    let module = single(code, 12);
    for workers in WORKERS {
        let (outcome, _) = run(&module, workers, "");
        assert!(
            matches!(outcome.result, Err(Failure::Fault(fault)) if fault.trap == Trap::Stop),
            "{:?}",
            outcome.result
        );
    }
}

/// A keyboard on which somebody types without a pause, and who wants an end after a while.
#[derive(Default)]
struct Typist(AtomicUsize);

/// The keyboard ends there. In a tick of 10 ms some tens of thousands are taken.
const KEYS_MAX: usize = 200_000;

impl World for Typist {
    fn output(&self, _: Port, _: &[u8]) {}

    fn key(&self) -> Option<u8> {
        (self.0.fetch_add(1, Ordering::Relaxed) < KEYS_MAX).then_some(b'y')
    }

    fn wants_end(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1000
    }
}

#[test]
fn who_wants_an_end_is_heard_while_keys_come_without_a_pause() {
    let mut code = Code::default();
    let again = code.label();
    code.bind(again);
    code.input(2, 4, 1);
    code.output(3, 4, 1);
    code.jump(again);
    let module = single(code, 6);
    for (workers, at_once) in [(1, false), (2, false), (2, true)] {
        let program = verify(module.clone()).unwrap_or_else(|refusal| panic!("{refusal}"));
        let options = RunOptions { workers, at_once, ..RunOptions::default() };
        let typist = Arc::new(Typist::default());
        let outcome = raddle_host::run(program, options, typist.clone()).expect("the settings are right");
        assert_eq!(outcome.result, Err(Failure::Quit), "{workers} workers, at once: {at_once}");
        let keys = typist.0.load(Ordering::Relaxed);
        assert!(keys < KEYS_MAX, "{workers} workers, at once: {at_once}: heard after {keys} keys");
    }
}

/// It begins processes that never end, waits until they have begun, and ends without joining them: one goes round and
/// round, one waits at a channel, one for a time that is far away, and 40 pass their turn to each other.
fn leaves_its_children() -> Module {
    let mut module = ModuleBuilder::new();
    let (main, replica) = (module.declare("main"), module.declare("replica"));
    let mut code = module.function();
    let [spin, wait, sleep] = [(); 3].map(|()| code.label());
    code.zero(5, 8);
    code.addr(7, 20);
    code.par(8, 3);
    code.fork(8, spin);
    code.fork(8, wait);
    code.fork(8, sleep);
    code.ldi(10, 0);
    code.ldi(11, 40);
    code.ldi(12, 1);
    code.forkn(9, replica.0 as i32);
    // Long enough for other workers to take part.
    let (again, enough) = (code.label(), code.label());
    code.time(15);
    code.plus_i(15, 15, 3000);
    code.bind(again);
    code.time(16);
    code.after(17, 16, 15);
    code.jnz(17, enough);
    code.resched();
    code.jump(again);
    code.bind(enough);
    code.ldi(18, i32::from(b'.'));
    code.output(3, 18, 1);
    code.ret();
    code.bind(spin);
    code.jump(spin);
    code.bind(wait);
    code.input(7, 19, 4);
    code.end();
    code.bind(sleep);
    code.time(20);
    code.ldi(21, 1_000_000_000);
    code.plus(20, 20, 21);
    code.wait(20);
    code.end();
    module.define(main, code, 24);
    let mut code = module.function();
    let again = code.label();
    code.bind(again);
    code.resched();
    code.jump(again);
    module.define(replica, code, 4);
    module.entry(main);
    module.finish()
}

#[test]
fn a_program_that_does_not_join_its_processes_ends() {
    let module = leaves_its_children();
    for _ in 0..5 {
        for workers in WORKERS {
            let (outcome, text) = run(&module, workers, "");
            assert_eq!((outcome.result, text.as_str()), (Ok(()), "."), "{workers} workers");
        }
    }
}

/// Keys go on being read while others compute, and while the program comes over to several workers, when the keyboard's
/// process is among those that are ready.
fn computes_and_reads() -> Module {
    let mut module = ModuleBuilder::new();
    let (main, replica) = (module.declare("main"), module.declare("replica"));
    let mut code = Code::default();
    let (again, wait) = (code.label(), code.label());
    code.input(2, 7, 1);
    code.output(3, 7, 1);
    // Time for the next key: it will be there when it is asked for, and its process is ready behind all others.
    code.ldi(6, 400_000);
    code.bind(wait);
    code.repeat(8, 6, wait);
    code.ldi(11, 0);
    code.ldi(12, 20);
    code.ldi(13, 1);
    code.forkn(10, replica.0 as i32);
    code.ldi(6, 59);
    code.bind(again);
    code.input(2, 7, 1);
    code.output(3, 7, 1);
    code.repeat(8, 6, again);
    code.joinn(10);
    code.ret();
    module.define(main, code, 20);
    let mut code = Code::default();
    let again = code.label();
    code.ldi(6, 40_000);
    code.bind(again);
    code.repeat(7, 6, again);
    code.end();
    module.define(replica, code, 10);
    module.entry(main);
    module.finish()
}

#[test]
fn keys_are_taken_while_others_compute() {
    let module = computes_and_reads();
    let keys: String = ('a'..='z').cycle().take(60).collect();
    for workers in WORKERS {
        for _ in 0..5 {
            let (outcome, text) = run(&module, workers, &keys);
            assert_eq!((outcome.result, text.as_str()), (Ok(()), keys.as_str()), "{workers} workers");
        }
    }
}

/// With one share for all, whoever brings the first worker brings the only one.
#[test]
fn what_comes_over_is_queued_under_every_policy() {
    let module = computes_and_reads();
    let keys: String = ('a'..='z').cycle().take(60).collect();
    let balances = [Balance::Steal, Balance::Share, Balance::Fair, Balance::None];
    let balanced = balances.map(|balance| Builder::default().balance(balance));
    for runtime in balanced.into_iter().chain([Builder::default().queues(Queues::Shared)]) {
        let how = RunOptions { runtime: runtime.clone(), ..RunOptions::default() };
        let (outcome, text) = run_as(&module, 2, &keys, how);
        assert_eq!((outcome.result, text.as_str()), (Ok(()), keys.as_str()), "{runtime:?}");
    }
}

/// The caller's thread is not free to become a worker then; nor is one that is.
#[test]
fn a_process_may_run_a_program() {
    let runtime = Builder::default().workers(2).build().unwrap();
    let keys: String = ('a'..='z').cycle().take(60).collect();
    let go = || run_as(&computes_and_reads(), 2, &keys, RunOptions::default()).1;
    assert_eq!(runtime.run(|| raddle_core::blocking(go)), keys);
    assert_eq!(runtime.run(go), keys);
    assert_eq!(runtime.run(|| 7), 7, "the runtime is as it was");
}
