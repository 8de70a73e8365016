//! Owns: a program run by the interpreter and as compiled code, in worlds that are the same, and what came of it.
//! May use: the public faces of the machine and of the compiler.
//! Never: real time.

use raddle_bytecode::{Module, Verified, verify};
use raddle_host::{Compile as _, CompileInput};
use raddle_jit::{Compiler, When};
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse, lower};
use raddle_vm::solo::{self, Event, Failure, Until, World};
use raddle_vm::{Machine, Port, Stats, WorkerLocal};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// A world that is the same each time, and ends the program after some looks around.
#[derive(Default)]
pub(crate) struct Paper {
    pub(crate) text: Vec<u8>,
    keys: VecDeque<u8>,
    now: u64,
    looks: u32,
    looks_max: u32,
}

impl Paper {
    pub(crate) fn new(keys: &str, looks_max: u32) -> Paper {
        Paper { keys: keys.bytes().collect(), looks_max, ..Paper::default() }
    }
}

impl World for &mut Paper {
    fn now(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn wait(&mut self, until: Until, keys: bool) -> Event {
        self.looks += 1;
        if self.looks >= self.looks_max {
            return Event::Quit;
        }
        if keys {
            return self.keys.pop_front().map_or(Event::NoMoreKeys, Event::Key);
        }
        if let Until::At(time) = until {
            self.now = self.now.max(time);
        }
        Event::Nothing
    }

    fn output(&mut self, _: Port, bytes: &[u8]) {
        if self.text.len() < 1 << 20 {
            self.text.extend_from_slice(bytes);
        }
    }

    fn call(&mut self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        (number < 4).then_some(words.map(|word| word.wrapping_add(1)))
    }
}

/// All that can be seen of a run.
#[derive(PartialEq, Debug)]
pub(crate) struct Run {
    pub(crate) result: Result<(), Failure>,
    text: String,
    stats: Stats,
    memory_max: u64,
    clock: (u64, u32),
    report: String,
}

/// What a compiler must know of a machine.
pub(crate) fn input_of(machine: &Machine<()>) -> CompileInput {
    CompileInput {
        memory_bytes: machine.memory_bytes(),
        data: machine.data_address(),
        process: machine.process_layout(),
        sites: machine.native_sites(),
    }
}

/// The machine with its program compiled, then.
pub(crate) fn compiled(machine: &mut Machine<()>, when: When) {
    let input = input_of(machine);
    let code =
        Compiler { when, perf_map: false }.compile(machine.program(), &input).expect("it can be compiled");
    // SAFETY: it was made for this machine by the compiler.
    unsafe { machine.set_native(code) };
}

/// Runs a program with that seed; `None` if there is not enough memory for it.
pub(crate) fn run(
    program: &Verified,
    paper: Paper,
    (bytes, seed): (u32, u64),
    native: Option<When>,
) -> Option<Run> {
    run_prepared(program, paper, (bytes, seed), |machine| {
        if let Some(when) = native {
            compiled(machine, when);
        }
    })
}

/// Runs a program on a machine that is prepared so.
pub(crate) fn run_prepared(
    program: &Verified,
    mut paper: Paper,
    (bytes, seed): (u32, u64),
    prepare: impl FnOnce(&mut Machine<()>),
) -> Option<Run> {
    let mut local = WorkerLocal::default();
    let mut machine: Machine<()> = Machine::new(program.clone(), bytes, &mut local).ok()?;
    prepare(&mut machine);
    let result = solo::run(&machine, &mut paper, &mut local, seed).map(drop);
    let report = match result {
        Err(Failure::Fault(fault)) => machine.report_fault(fault).to_string(),
        Err(Failure::Deadlock) => machine.report_deadlock().to_string(),
        _ => String::new(),
    };
    let text = String::from_utf8_lossy(&paper.text).into_owned();
    let (stats, clock) = (local.stats(), (paper.now, paper.looks));
    Some(Run { result, text, stats, memory_max: machine.memory_max(), clock, report })
}

/// Runs it interpreted, compiled, and half of it compiled and half not, which must not differ; gives how it ended.
pub(crate) fn same(
    program: &Verified,
    paper: impl Fn() -> Paper,
    (bytes, seed): (u32, u64),
    name: &str,
) -> Option<Result<(), Failure>> {
    let interpreted = run(program, paper(), (bytes, seed), None)?;
    let lot = seed.wrapping_add(name.bytes().map(u64::from).sum());
    for when in [When::AtOnce, When::Some(lot)] {
        let native = run(program, paper(), (bytes, seed), Some(when))?;
        let what = format!("{name}, seed {seed}, {when:?}");
        assert!(interpreted == native, "{what}:\ninterpreted {interpreted:#?}\nnative {native:#?}");
    }
    Some(interpreted.result)
}

/// The programs of a part of the corpus.
pub(crate) fn programs(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(kind);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut list: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "occ")).collect();
    list.sort();
    list
}

/// A module of the corpus, if it stands alone.
pub(crate) fn module(path: &Path) -> Option<Module> {
    module_of(&std::fs::read_to_string(path).unwrap())
}

/// The module of a program.
pub(crate) fn module_of(text: &str) -> Option<Module> {
    let mut sources = Sources::new();
    let root = sources.add("program", text).unwrap();
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    lower::lower(&analysis.checked().ok()?, &sources).ok()
}

pub(crate) fn verified(module: Module) -> Verified {
    verify(module).unwrap_or_else(|refusal| panic!("{refusal}"))
}
