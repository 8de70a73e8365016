//! Owns: tests of when a program is given back because it has work for several.
//! May use: a clock that goes on a little with each look.
//! Never: real time.

use raddle_bytecode::build::{Code, ModuleBuilder};
use raddle_bytecode::{Module, verify};
use raddle_vm::solo::{self, Event, Until, World};
use raddle_vm::{Machine, Port, WorkerLocal};

/// Twenty microseconds pass from one look at the clock to the next.
#[derive(Default)]
struct Paced {
    now: u64,
}

impl World for &mut Paced {
    fn now(&mut self) -> u64 {
        self.now += 20;
        self.now
    }

    fn wait(&mut self, _: Until, _: bool) -> Event {
        Event::Nothing
    }

    fn output(&mut self, _: Port, _: &[u8]) {}

    fn call(&mut self, _: i32, _: [u32; 4]) -> Option<[u32; 4]> {
        None
    }
}

/// `count` instances of `body`, which may use slots up to 7; 8 is its index, and 9 the address of `count` + 1 channels.
fn instances(count: i32, body: impl FnOnce(&mut Code), meanwhile: impl FnOnce(&mut Code)) -> Module {
    let mut module = ModuleBuilder::new();
    let (main, replica) = (module.declare("main"), module.declare("replica"));
    let mut code = Code::default();
    code.alloc_i(2, 4 * (count + 1));
    code.ldi(11, 0);
    code.ldi(12, count);
    code.ldi(13, 1);
    code.forkn(10, replica.0 as i32);
    meanwhile(&mut code);
    code.joinn(10);
    code.ret();
    module.define(main, code, 20);
    let mut code = Code::default();
    code.mov(8, 2);
    code.ldr_w(9, 1, 8);
    body(&mut code);
    code.end();
    module.define(replica, code, 10);
    module.entry(main);
    module.finish()
}

/// How many can run when the program is given back, if it is.
fn given_back(module: Module) -> Option<usize> {
    let mut local = WorkerLocal::default();
    let verified = verify(module).unwrap_or_else(|refusal| panic!("{refusal}"));
    let machine: Machine<()> = Machine::new(verified, 1 << 20, &mut local).unwrap();
    let rest = solo::run_serial_phase(&machine, &mut Paced::default(), &mut local).unwrap();
    assert!(rest.is_some() || machine.is_finished());
    rest.map(|rest| rest.ready.len())
}

/// A token goes round `rounds` times. The instances are started in its direction: each has its first turn just after it
/// has come, and from then on all but one are in the queue at any time, without having anything to do.
fn ring(count: i32, rounds: i32) -> Module {
    let body = |code: &mut Code| {
        let again = code.label();
        code.ldi(4, 4);
        code.times(4, 4, 8);
        code.plus(3, 9, 4);
        code.plus_i(4, 3, 4);
        code.ldi(6, rounds);
        code.bind(again);
        code.input(3, 5, 4);
        code.output(4, 5, 4);
        code.repeat(7, 6, again);
    };
    let meanwhile = |code: &mut Code| {
        let again = code.label();
        code.mov(3, 2);
        code.plus_i(4, 2, 4 * count);
        code.ldi(6, rounds);
        code.bind(again);
        code.output(3, 5, 4);
        code.input(4, 5, 4);
        code.repeat(7, 6, again);
    };
    instances(count, body, meanwhile)
}

#[test]
fn a_ring_has_work_for_one_although_all_are_in_the_queue() {
    for count in [5, 64, 503, 4000] {
        assert_eq!(given_back(ring(count, 40_000 / count)), None, "{count} processes");
    }
}

#[test]
fn processes_that_can_always_go_on_are_work_for_several() {
    for count in [5, 64, 503, 6000] {
        let body = |code: &mut Code| {
            let again = code.label();
            code.ldi(6, 4_000 / count + 50);
            code.bind(again);
            code.resched();
            code.repeat(7, 6, again);
        };
        let ready = given_back(instances(count, body, |_| ()));
        assert_eq!(ready, Some(count as usize), "{count} processes");
    }
}

/// PARs of short processes, one after the other: each is over before all of its processes have had a second turn.
#[test]
fn rounds_of_short_processes_are_work_for_several() {
    for count in [1000, 4096] {
        let mut module = ModuleBuilder::new();
        let (main, replica) = (module.declare("main"), module.declare("replica"));
        let mut code = Code::default();
        let again = code.label();
        code.ldi(6, 40_000 / count);
        code.bind(again);
        code.ldi(11, 0);
        code.ldi(12, count);
        code.ldi(13, 1);
        code.forkn(10, replica.0 as i32);
        code.joinn(10);
        code.repeat(7, 6, again);
        code.ret();
        module.define(main, code, 20);
        let mut code = Code::default();
        code.end();
        module.define(replica, code, 10);
        module.entry(main);
        assert!(given_back(module.finish()).is_some(), "{count} processes");
    }
}
