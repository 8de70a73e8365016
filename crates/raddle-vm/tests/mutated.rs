//! Bytecode of the corpus, damaged: refused, or verified and then run to an end, within bounded memory.
//!
//! `it/hostile.rs` has arbitrary code and one small program; here whole programs go wrong in one place.
//! `RADDLE_FUZZ_ROUNDS=1000000` makes it a long run, `RADDLE_FUZZ_FROM=5000` begins there; each round's seed is its
//! number.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "the watchdog's last words")]

#[path = "support/patience.rs"]
mod patience;
#[path = "../../raddle-core/tests/support/peak.rs"]
mod peak;
#[path = "support/random.rs"]
#[allow(dead_code, reason = "a part is used")]
mod random;
#[path = "../../raddle-core/tests/support/watch.rs"]
mod watch;

use patience::Patience;
use raddle_bytecode::build::ModuleBuilder;
use raddle_bytecode::{Module, Op, verify};
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse, lower};
use raddle_vm::solo;
use raddle_vm::{Machine, WorkerLocal};
use random::{Dice, acceptable, instruction};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use watch::{Progress, Watchdog};

#[global_allocator]
static HEAP: peak::Heap = peak::Heap::new();

const ROUNDS: u64 = 4000;
/// A program may look around so often.
const LOOKS_MAX: u32 = 6;
const MEMORY_BYTES: u32 = 1 << 18;
/// What one byte of a file may cost beside the machine's memory, and what any may.
const BYTES_PER_BYTE_MAX: usize = 200;
const BYTES_MAX: usize = 32 << 20;

/// The programs of the corpus that stand alone.
fn corpus() -> Vec<Module> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut modules = Vec::new();
    for kind in ["run", "accept", "debug"] {
        let mut paths: Vec<_> =
            std::fs::read_dir(corpus.join(kind)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "occ")) {
            let mut sources = Sources::new();
            let root = sources.add("corpus", &std::fs::read_to_string(path).unwrap()).unwrap();
            let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
            if let Ok(checked) = analysis.checked() {
                modules.extend(lower::lower(&checked, &sources));
            }
        }
    }
    assert!(modules.len() > 25, "{}", modules.len());
    modules
}

/// Damages the file anywhere.
fn damage(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let mut place = |length: usize| dice.below(length as u64 + 1) as usize;
    let (one, two) = (place(bytes.len()), place(bytes.len()));
    let (low, high) = (one.min(two), one.max(two).min(one.min(two) + 64));
    let from = place(other.len());
    match dice.below(12) {
        0 => bytes.truncate(one),
        1 => drop(bytes.drain(low..high)),
        2 => {
            let part = bytes[low..high].to_vec();
            bytes.splice(one..one, part);
        }
        3 => {
            let part = other[from..other.len().min(from + 64)].to_vec();
            bytes.splice(low..high, part);
        }
        4..7 if bytes.len() >= 4 => {
            // A number of four bytes: a count, a length, an operand.
            let at = one.min(bytes.len() - 4) / 4 * 4;
            let number = match dice.below(4) {
                0 => u32::MAX - dice.below(3) as u32,
                1 => dice.below(16) as u32,
                _ => (dice.roll() >> dice.below(64)) as u32,
            };
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        _ if bytes.is_empty() => bytes.push(dice.roll() as u8),
        7..10 => {
            let at = one.min(bytes.len() - 1);
            bytes[at] ^= 1 << dice.below(8);
        }
        _ => {
            let at = one.min(bytes.len() - 1);
            bytes[at] = dice.roll() as u8;
        }
    }
}

/// Damages what a file means: an instruction, a field of one, a table.
fn falsify(module: &mut Module, dice: &mut Dice) {
    let mut one_of = |length: usize| dice.below(length.max(1) as u64) as usize;
    let (code, function, site) =
        (one_of(module.code.len()), one_of(module.functions.len()), one_of(module.sites.len()));
    let (pool, data) = (one_of(module.pool.len()), one_of(module.data.len()));
    match dice.below(12) {
        0..3 if !module.code[code].op.effect().calls() => module.code[code] = instruction(dice),
        3 => module.code[code].a = module.code[code].a.wrapping_add(dice.below(5) as u16).wrapping_sub(2),
        4 => module.code[code].b = module.code[code].b.wrapping_add(dice.below(5) as u16).wrapping_sub(2),
        5 => module.code[code].c = module.code[code].c.wrapping_add(dice.below(5) as u16).wrapping_sub(2),
        6 => {
            let other = dice.below(module.code.len() as u64) as usize;
            module.code.swap(code, other);
        }
        7 => module.code[code].op = Op::ALL[dice.below(Op::ALL.len() as u64) as usize],
        8 => module.functions[function].slots = dice.below(200) as u32,
        9 if !module.sites.is_empty() => {
            module.sites[site].base = dice.below(100) as u32;
            module.sites[site].callee = dice.below(module.functions.len() as u64 + 1) as u32;
        }
        10 if !module.pool.is_empty() => module.pool[pool] = dice.roll() >> dice.below(64),
        11 if !module.data.is_empty() => module.data[data] = dice.roll() as u8,
        _ => module.code[code].a = dice.below(24) as u16,
    }
}

/// A damaged program, if it can be read at all, and the length of its file.
fn mutated(corpus: &[Module], dice: &mut Dice) -> (Option<Module>, usize) {
    let mut one_of = || &corpus[dice.below(corpus.len() as u64) as usize];
    let (module, other) = (one_of(), one_of());
    if dice.below(3) == 0 {
        let mut bytes = module.write();
        for _ in 0..=dice.below(4) {
            damage(&mut bytes, &other.write(), dice);
        }
        return (Module::read(&bytes).ok(), bytes.len());
    }
    let mut module = module.clone();
    for _ in 0..=dice.below(4) {
        falsify(&mut module, dice);
    }
    let length = module.write().len();
    // What is refused is made acceptable, so that more than the verifier is tested; not always.
    let is_mended =
        dice.below(8) != 0 && module.sites.iter().all(|site| site.callee < module.functions.len() as u32);
    (Some(if is_mended { acceptable(module) } else { module }), length)
}

/// Runs it if it is accepted, and says so.
fn runs(module: Module, seed: u64) -> bool {
    let Ok(verified) = verify(module) else { return false };
    let mut local = WorkerLocal::default();
    let machine: Result<Machine<()>, _> = Machine::new(verified, MEMORY_BYTES, &mut local);
    if let Ok(machine) = machine {
        match solo::run(&machine, Patience::of(LOOKS_MAX), &mut local, seed) {
            Err(solo::Failure::Deadlock) => assert!(!machine.report_deadlock().to_string().is_empty()),
            Err(solo::Failure::Fault(fault)) => assert!(!machine.report_fault(fault).to_string().is_empty()),
            Ok(_) | Err(solo::Failure::Quit) => {}
        }
    }
    true
}

/// Whoever measures is alone.
static ALONE: Mutex<()> = Mutex::new(());

/// What a process will do is interpreted for the report. Here it may call itself as deep as it likes, and each state on
/// the way knows the words of all frames.
#[test]
fn a_report_of_a_deadlock_takes_bounded_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut module = ModuleBuilder::new();
    let (main, deep) = (module.declare("main"), module.declare("deep"));
    let mut code = module.function();
    code.zero(5, 4);
    code.addr(6, 20);
    code.input(6, 22, 4);
    code.call(deep, 20);
    code.ret();
    module.define(main, code, 100);
    let mut code = module.function();
    let leaf = code.label();
    (8..60).for_each(|slot| code.ldi(slot, 1));
    code.jeq_i(2, 0, leaf);
    code.frame(4, deep.0 as i32);
    code.mov(5, 2);
    code.str_w(5, 4, 8);
    code.calld(4, deep);
    code.bind(leaf);
    code.ret();
    module.define(deep, code, 64);
    module.entry(main);
    let verified = verify(module.finish()).unwrap_or_else(|refusal| panic!("{refusal}"));
    let mut local = WorkerLocal::default();
    let machine: Machine<()> = Machine::new(verified, MEMORY_BYTES, &mut local).expect("there is memory");
    assert!(matches!(
        solo::run(&machine, Patience::of(LOOKS_MAX), &mut local, 0),
        Err(solo::Failure::Deadlock)
    ));
    let (report, peak) = HEAP.most_during(|| machine.report_deadlock().to_string());
    assert!(report.contains("main") && peak < BYTES_MAX, "{peak} bytes: {report}");
}

#[test]
fn whatever_becomes_of_bytecode_it_is_refused_or_ends() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let from = number("RADDLE_FUZZ_FROM").unwrap_or(1);
    let rounds = number("RADDLE_FUZZ_ROUNDS").unwrap_or(ROUNDS);
    static ROUND: AtomicU64 = AtomicU64::new(0);
    let progress = Progress::default();
    let last = || format!("in round {}", ROUND.load(Ordering::Relaxed));
    let _dog = Watchdog::new("damaged bytecode".to_owned(), progress.clone(), last);
    let corpus = corpus();
    let (mut accepted, mut most) = (0, 0);
    for round in from..from + rounds {
        ROUND.store(round, Ordering::Relaxed);
        let case = || {
            std::panic::catch_unwind(|| {
                let mut dice = Dice(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
                let (module, length) = mutated(&corpus, &mut dice);
                (module.is_some_and(|module| runs(module, round % 3)), length)
            })
        };
        let (case, peak) = HEAP.most_during(case);
        let (was_accepted, length) = case.unwrap_or_else(|_| panic!("round {round}"));
        assert!(peak <= BYTES_MAX + length * BYTES_PER_BYTE_MAX, "round {round}: {peak} bytes for {length}");
        accepted += u64::from(was_accepted);
        most = most.max(peak);
        progress.note();
    }
    eprintln!("{rounds} rounds, {accepted} accepted, at most {most} bytes at once");
    assert!(accepted * 2 > rounds, "{accepted} of {rounds} were accepted: the test tests little");
}
