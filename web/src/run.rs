//! Owns: one program that runs.
//! May use: `outside`, `said`, `raddle-bytecode`, `raddle-occam`, `raddle-vm`.
//! Never: more than its turn.

use crate::outside::Outside;
use crate::{Status, said};
use raddle_bytecode::{Module, verify};
use raddle_occam::diag::{Code, Diagnostic};
use raddle_occam::lower::{Watch, lower, lower_test};
use raddle_occam::pre::NoFiles;
use raddle_occam::source::{FileId, Sources, Span};
use raddle_occam::{Options, analyse};
use raddle_vm::solo::{Failure, Solo, TurnEnd};
use raddle_vm::{Machine, WorkerLocal};

/// A program, its machine and its world. Both live as long as the instance, which runs one program.
pub(crate) struct Running {
    machine: &'static Machine<()>,
    outside: &'static Outside,
    solo: Solo<'static, (), &'static Outside>,
    local: WorkerLocal,
    over: bool,
}

fn refused(message: &str) -> Vec<Diagnostic> {
    vec![Diagnostic::new(Code::NotSupported, Span::new(0, 0), message)]
}

/// The bytecode of the program, or of its test of that number, from 1 on.
fn module(sources: &mut Sources, root: FileId, test: u32) -> Result<Module, Vec<Diagnostic>> {
    let checked = analyse(sources, root, &Options::default(), &mut NoFiles).checked()?;
    let Some(number) = test.checked_sub(1) else { return lower(&checked, sources) };
    let test = checked.program().tests().nth(number as usize).map(|(_, routine)| routine);
    let test = test.ok_or_else(|| refused("there is no such test"))?;
    lower_test(&checked, sources, Watch::Nothing, test)
}

impl Running {
    pub(crate) fn of(
        sources: &mut Sources,
        root: FileId,
        test: u32,
        seed: u64,
        memory_bytes: u32,
    ) -> Result<Running, Vec<Diagnostic>> {
        let module = module(sources, root, test)?;
        if !module.foreign.is_empty() {
            return Err(refused("a page has no foreign routines, which the program calls"));
        }
        let verified = verify(module).map_err(|refusal| refused(&format!("a bug: {refusal}")))?;
        let mut local = WorkerLocal::default();
        let machine = Machine::new(verified, memory_bytes, &mut local)
            .map_err(|trap| refused(&format!("{}: {}", trap.word(), trap.what())))?;
        let machine: &'static Machine<()> = Box::leak(Box::new(machine));
        let outside: &'static Outside = Box::leak(Box::new(Outside::new()));
        Ok(Running { machine, outside, solo: Solo::new(machine, outside, seed), local, over: false })
    }

    pub(crate) fn go(&mut self, until: f64, dispatches: u32, told: &mut String) -> Status {
        if self.over {
            return Status::Nothing;
        }
        self.outside.begin(until, dispatches != 0);
        let most = if dispatches == 0 { u32::MAX - 1 } else { dispatches };
        let ended = self.solo.go_on(&mut self.local, most);
        self.outside.flush();
        self.over = ended != Ok(TurnEnd::Paused);
        match ended {
            Ok(TurnEnd::Ended) => Status::Done,
            Ok(TurnEnd::Paused) if self.outside.waits() => Status::Waits,
            Ok(TurnEnd::Paused) => Status::Paused,
            Err(failure) => {
                let report = match failure {
                    Failure::Fault(fault) => self.machine.report_fault(fault),
                    _ => self.machine.report_deadlock(),
                };
                *told = said::report(&report, failure == Failure::Deadlock);
                Status::Failed
            }
        }
    }

    pub(crate) fn key(&self, key: Option<u8>) {
        self.outside.key(key);
    }

    pub(crate) fn wakes_at(&self) -> f64 {
        self.outside.wakes_at()
    }

    pub(crate) fn wants_key(&self) -> bool {
        self.outside.wants_key()
    }

    pub(crate) fn network(&self, most: usize) -> String {
        said::network(&self.machine.network(most))
    }

    pub(crate) fn stats(&self) -> String {
        let stats = self.local.stats();
        let memory = self.machine.memory_max();
        format!(
            "{{\"processes\":{},\"messages\":{},\"dispatches\":{},\"memory\":{memory}}}",
            stats.processes, stats.messages, stats.dispatches
        )
    }
}
