//! Owns: which functions are compiled, and when.
//! May use: `clock`, `code`, `pages`, `raddle-bytecode`, `raddle-host`, `raddle-vm`.
//! Never: code; a wait for another OS thread that makes some.
//!
//! A program begins in the interpreter. Where that is each time when the fuel is used up is a sample of where its time
//! goes, and the processor time of this OS thread since its last one is taken for that function's. It is compiled when
//! as much was spent in it as compiling takes: then neither can have been wrong by more than a factor of two, however
//! long the program still runs. The interpreter counts nothing for it.
//!
//! How long compiling takes depends on the machine, by a factor of three and more. So it is measured: before anything
//! else the ways between the machine and the code are made, which are compiled as all code is. A function takes, by its
//! instructions, a part of what they took ([`FUNCTION`], [`INSTRUCTION`]). What the processor did for others is not
//! counted, nor is compiling itself: a pause of the OS thread makes nothing hot. (It had been wall clock, and a cost of
//! 60 microseconds an instruction on every machine: on one where compiling takes 200, a program of 1.4 ms took 12.)

use crate::clock::processor_time;
use crate::code::Factory;
use crate::pages::may_come_later;
use raddle_bytecode::{Function, Verified};
use raddle_host::CompileInput;
use raddle_vm::native::{CodeChecks, Keep, NativeCode};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// When functions are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum When {
    /// When much time has been spent in them.
    #[default]
    Hot,
    /// When the program begins.
    AtOnce,
    /// When the program begins, some by lot, which this number decides; the others when they are hot, which they are
    /// soon. For tests.
    Some(u64),
}

/// What it takes to compile a function, in hundredths of what the ways took; and each of its instructions.
const FUNCTION: u64 = 50;
const INSTRUCTION: u64 = 2;
/// What the ways took is taken for no less, and no more, in microseconds: once in a while it is measured wrongly.
const WAYS: std::ops::RangeInclusive<u64> = 500..=20_000;
/// No more microseconds are taken for a function's at once: meanwhile the OS thread may have run compiled code.
const SPENT_MAX: u64 = 1000;

thread_local! {
    /// The processor time of this OS thread, in microseconds, when its last sample was taken, or something was
    /// compiled.
    static LAST: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The functions of a program, some of which are compiled.
struct Heat {
    /// How long each was seen, in microseconds.
    spent: Box<[AtomicU64]>,
    /// How long is long.
    long: Box<[u64]>,
    /// Where each begins.
    firsts: Box<[u32]>,
    factory: Mutex<Factory>,
}

impl Heat {
    fn new(factory: Factory, functions: &[Function], when: When) -> Heat {
        let ways = factory.ways_micros().clamp(*WAYS.start(), *WAYS.end());
        let long = |count: u32| match when {
            When::Some(_) => 1,
            _ => (FUNCTION + u64::from(count) * INSTRUCTION) * ways / 100,
        };
        Heat {
            spent: functions.iter().map(|_| AtomicU64::new(0)).collect(),
            long: functions.iter().map(|function| long(function.count)).collect(),
            firsts: functions.iter().map(|function| function.first).collect(),
            factory: Mutex::new(factory),
        }
    }

    fn function_at(&self, at: u32) -> Option<usize> {
        self.firsts.partition_point(|&first| first <= at).checked_sub(1)
    }

    /// So much time was spent in the function of that instruction. Gives whether that has become hot.
    fn spend(&self, at: u32, micros: u64) -> bool {
        let Some(number) = self.function_at(at) else { return false };
        let spent = self.spent[number].fetch_add(micros, Ordering::Relaxed).saturating_add(micros);
        if spent < self.long[number] {
            return false;
        }
        // Where another one makes code, this one goes on as it is, and comes again.
        let Ok(mut factory) = self.factory.try_lock() else { return false };
        // What cannot be compiled is interpreted.
        let _ = factory.make(std::iter::once(number));
        true
    }
}

impl Keep for Heat {
    fn sample(&self, at: u32) {
        let now = processor_time();
        let before = LAST.replace(Some(now)).unwrap_or(now);
        if self.spend(at, now.saturating_sub(before).clamp(1, SPENT_MAX)) {
            LAST.set(Some(processor_time()));
        }
    }

    fn checks(&self) -> CodeChecks {
        self.factory.lock().map(|factory| factory.checks()).unwrap_or_default()
    }
}

/// The code of a program, as far as it is made when it begins.
pub(crate) fn prepare(
    program: &Verified,
    input: &CompileInput,
    (when, perf_map): (When, bool),
) -> Result<NativeCode, String> {
    let when = if may_come_later() { when } else { When::AtOnce };
    let mut factory = Factory::new(program, input, None)?;
    if perf_map {
        factory.name_for_perf()?;
    }
    let count = program.module().functions.len();
    match when {
        When::AtOnce => factory.make(0..count)?,
        When::Some(lot) => factory.make((0..count).filter(|&number| is_drawn(lot, number)))?,
        When::Hot => {}
    }
    let entrances = factory.entrances();
    Ok(entrances.kept_by(Box::new(Heat::new(factory, &program.module().functions, when))))
}

/// Each function is drawn in one of two.
fn is_drawn(lot: u64, number: usize) -> bool {
    let mixed = (lot ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 63 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_bytecode::{Insn, Module, Op, Site, verify};
    use raddle_vm::{Machine, WorkerLocal};

    struct Nobody;

    impl Keep for Nobody {}

    /// A function that calls another one.
    fn two_functions() -> Verified {
        let code = vec![
            Insn::with_imm(Op::Call, 0, 0),
            Insn::new(Op::End, 0, 0, 0),
            Insn::with_imm(Op::Ldi, 2, 1),
            Insn::new(Op::Ret, 0, 0, 0),
        ];
        let function = |first, slots| Function { name: 0, first, count: 2, slots };
        let functions = vec![function(0, 32), function(2, 8)];
        let sites = vec![Site { at: 0, callee: 1, base: 8 }];
        verify(Module { code, functions, sites, ..Module::default() }).expect("it is verified")
    }

    #[test]
    fn what_is_hot_becomes_machine_code_and_nothing_else() {
        let program = two_functions();
        let machine: Machine<()> =
            Machine::new(program.clone(), 1 << 16, &mut WorkerLocal::default()).expect("there is memory");
        let input = CompileInput {
            memory_bytes: machine.memory_bytes(),
            data: machine.data_address(),
            process: machine.process_layout(),
            sites: machine.native_sites(),
        };
        let factory = Factory::new(&program, &input, None).expect("it is prepared");
        let native = factory.entrances().kept_by(Box::new(Nobody));
        let heat = Heat::new(factory, &program.module().functions, When::Hot);
        let made = || (0..4).map(|at| native.codes.get(at) != Some(native.leave_there)).collect::<Vec<_>>();
        assert_eq!(made(), [false; 4], "all is cold");
        let long = heat.long[1];
        assert!(!heat.spend(3, long - 1));
        assert_eq!(made(), [false; 4], "that is not long");
        assert!(heat.spend(3, 1));
        assert_eq!(
            made(),
            [false, false, true, false],
            "the second begins with code, and the first has none"
        );
        assert!(heat.spend(1, heat.long[0]));
        assert_eq!(
            made(),
            [true, true, true, false],
            "the first has code where it begins and behind its call"
        );
    }

    #[test]
    fn a_lot_takes_some_functions_and_not_all() {
        let drawn = (0..100).filter(|&number| is_drawn(7, number)).count();
        assert!((20..80).contains(&drawn), "{drawn}");
        assert!((0..100).any(|lot| is_drawn(lot, 3)) && (0..100).any(|lot| !is_drawn(lot, 3)));
    }
}
