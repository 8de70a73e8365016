//! Prints what programs take interpreted, as machine code, and if what is hot is compiled while they run, and what it
//! takes to compile all of them: the shortest of three runs each, on one worker. With `--list`, before the names, which
//! may be those of files: their bytecode and their code (`--clif`: as Cranelift is given it); with `--c`, the same work
//! in C (`rivals.c`, compiled by `cc -O2`), with and without the checks that occam makes. With `--spread`, of 40 runs
//! each, in turn, the shortest, the middle one and the three longest: interpreted, and with what is hot compiled. With
//! `--native`, of 15 runs each, all of them compiled before, the shortest, the middle one and the longest, what C takes
//! beside each, with the checks, and what it takes to compile. With `--compile`, of 40 times, what it takes to compile.
//! `cargo run --release --manifest-path crates/raddle-jit/Cargo.toml --example speed -- NAME...`

#![allow(clippy::print_stdout, reason = "it is a program")]

use raddle_bytecode::{Verified, verify};
use raddle_host::{Compile as _, CompileInput};
use raddle_jit::{Compiler, Listing, When};
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse, lower};
use raddle_vm::solo::{self, Event, Until, World};
use raddle_vm::{Machine, Port, WorkerLocal};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The programs, by name.
const PROGRAMS: [(&str, &str); 13] = [
    ("update", include_str!("update.occ")),
    ("calls", include_str!("calls.occ")),
    ("sieve", include_str!("sieve.occ")),
    ("matrix", include_str!("matrix.occ")),
    ("mandelbrot", include_str!("mandelbrot.occ")),
    ("nbody", include_str!("nbody.occ")),
    ("spectral", include_str!("spectral.occ")),
    ("fannkuch", include_str!("fannkuch.occ")),
    ("life", include_str!("life.occ")),
    ("commstime", include_str!("commstime.occ")),
    ("commstime-par", include_str!("commstime-par.occ")),
    ("ring", include_str!("ring.occ")),
    ("granularity", include_str!("granularity.occ")),
];

struct Silent(Instant);

impl World for Silent {
    fn now(&mut self) -> u64 {
        self.0.elapsed().as_micros() as u64
    }

    fn wait(&mut self, _: Until, _: bool) -> Event {
        Event::Nothing
    }

    fn output(&mut self, _: Port, _: &[u8]) {}

    fn call(&mut self, _: i32, _: [u32; 4]) -> Option<[u32; 4]> {
        None
    }
}

fn program(text: &str) -> Verified {
    let mut sources = Sources::new();
    let root = sources.add("program", text).expect("it is short");
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    let checked = analysis.checked().unwrap_or_else(|complaints| {
        panic!("{}", complaints.iter().map(|it| raddle_occam::diag::render(it, &sources)).collect::<String>())
    });
    verify(lower::lower(&checked, &sources).expect("it is lowered")).expect("it is verified")
}

fn input(machine: &Machine<()>) -> CompileInput {
    CompileInput {
        memory_bytes: machine.memory_bytes(),
        data: machine.data_address(),
        process: machine.process_layout(),
        sites: machine.native_sites(),
    }
}

/// Prints the bytecode and the code of it.
fn show(program: &Verified, kind: Listing) {
    let machine: Machine<()> =
        Machine::new(program.clone(), 64 << 20, &mut WorkerLocal::default()).expect("there is memory");
    for (number, insn) in program.module().code.iter().enumerate() {
        println!("{number:5} {:10} {} {} {} {}", insn.op.name(), insn.x, insn.a, insn.b, insn.c);
    }
    println!("{}", Compiler::default().listing(program, &input(&machine), kind).expect("it is compiled"));
}

/// How long it runs, and how long it took to compile.
fn run(program: &Verified, native: Option<When>) -> Times {
    let mut local = WorkerLocal::default();
    let mut machine: Machine<()> =
        Machine::new(program.clone(), 64 << 20, &mut local).expect("there is memory");
    let begun = Instant::now();
    if let Some(when) = native {
        let input = input(&machine);
        let code =
            Compiler { when, perf_map: false }.compile(machine.program(), &input).expect("it is compiled");
        // SAFETY: it was made for this machine.
        unsafe { machine.set_native(code) };
    }
    let compiled = begun.elapsed();
    let begun = Instant::now();
    // Some end by a STOP.
    let _end = solo::run(&machine, Silent(begun), &mut local, 0);
    (begun.elapsed(), compiled)
}

/// The same work in C, compiled with that option.
fn rival(option: &str) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/speed/rivals.c");
    let program = std::env::temp_dir().join(format!("raddle-speed-{}{option}", std::process::id()));
    let compiled = Command::new("cc").args(["-O2", option, source, "-lm", "-o"]).arg(&program).status();
    assert!(compiled.is_ok_and(|status| status.success()), "`cc` compiles {source}");
    program
}

/// What a program in C takes; `None` if there is none of that name.
fn seconds(rival: &Path, name: &str) -> Option<f64> {
    let output = Command::new(rival).arg(name).output().ok()?;
    String::from_utf8(output.stdout).ok()?.split_whitespace().nth(1)?.parse().ok()
}

/// Prints how long runs of a program take that begins in the interpreter, beside runs that stay there.
fn spread(name: &str, program: &Verified) {
    let mut rounds: Vec<[f64; 2]> = (0..40)
        .map(|_| [None, Some(When::Hot)].map(|when| run(program, when).0.as_secs_f64() * 1e3))
        .collect();
    for (column, what) in ["interpreted", "from cold"].into_iter().enumerate() {
        rounds.sort_by(|one, other| one[column].total_cmp(&other[column]));
        let times: Vec<String> =
            [0, 20, 37, 38, 39].iter().map(|&at: &usize| format!("{:.3}", rounds[at][column])).collect();
        println!("{name:14} {what:11} {} ms", times.join(" "));
    }
}

/// The shortest, the middle one and the longest.
fn three(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_by(f64::total_cmp);
    [times[0], times[times.len() / 2], times[times.len() - 1]]
}

/// Prints how long runs of a program take that is compiled before, in turn with what C takes.
fn natively(name: &str, program: &Verified, rival: &Path) {
    let rounds: Vec<(Times, f64)> = (0..15)
        .map(|_| (run(program, Some(When::AtOnce)), seconds(rival, name).unwrap_or(f64::NAN)))
        .collect();
    let of = |which: fn(&(Times, f64)) -> f64| three(rounds.iter().map(which).collect()).map(|it| it * 1e3);
    let (native, compile, c) = (of(|it| it.0.0.as_secs_f64()), of(|it| it.0.1.as_secs_f64()), of(|it| it.1));
    let count = program.module().code.len();
    println!(
        "{name:14} {:.1} {:.1} {:.1} ms; C {:.1} {:.1} {:.1}; ratios {:.2} {:.2}; compiled in {:.2} {:.2}, \
         {:.1} us each of {count}",
        native[0],
        native[1],
        native[2],
        c[0],
        c[1],
        c[2],
        native[0] / c[0],
        native[1] / c[1],
        compile[0],
        compile[1],
        compile[0] * 1e3 / count as f64
    );
}

/// Prints what it takes to compile a program.
fn compiling(name: &str, program: &Verified) {
    let machine: Machine<()> =
        Machine::new(program.clone(), 64 << 20, &mut WorkerLocal::default()).expect("there is memory");
    let compiler = Compiler { when: When::AtOnce, perf_map: false };
    let input = input(&machine);
    let once = |_| {
        let begun = Instant::now();
        compiler.compile(program, &input).expect("it is compiled");
        begun.elapsed().as_secs_f64() * 1e3
    };
    let [least, middle, most] = three((0..40).map(once).collect());
    let count = program.module().code.len();
    println!("{name:14} {least:.2} {middle:.2} {most:.2} ms; {count} instructions");
}

/// How long a run takes, and what of it is compiling.
type Times = (Duration, Duration);

fn main() {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let mut takes =
        |option: &str| names.first().is_some_and(|it| it == option).then(|| names.remove(0)).is_some();
    let listing = takes("--list").then_some(Listing::Assembly).or(takes("--clif").then_some(Listing::Clif));
    let (spreads, compiles) = (takes("--spread"), takes("--compile"));
    let natives = takes("--native").then(|| rival("-DCHECKED"));
    let rivals = takes("--c").then(|| [rival("-DCHECKED"), rival("-DPLAIN")]);
    let files: Vec<_> = names.iter().filter(|name| name.ends_with(".occ")).collect();
    let files =
        files.into_iter().map(|name| (&name[..], std::fs::read_to_string(name).expect("it is a file")));
    let all = PROGRAMS.iter().map(|&(name, text)| (name, text.to_owned())).chain(files);
    for (name, text) in all {
        if !names.is_empty() && !names.iter().any(|it| it == name) {
            continue;
        }
        let program = program(&text);
        if let Some(kind) = listing {
            show(&program, kind);
            continue;
        }
        if compiles {
            compiling(name, &program);
            continue;
        }
        if let Some(rival) = &natives {
            natively(name, &program, rival);
            continue;
        }
        if spreads {
            spread(name, &program);
            continue;
        }
        let round = |_| [None, Some(When::AtOnce), Some(When::Hot)].map(|when| run(&program, when));
        let rounds: Vec<[Times; 3]> = (0..3).map(round).collect();
        let least =
            |of: fn(&[Times; 3]) -> Duration| rounds.iter().map(of).min().unwrap_or_default().as_secs_f64();
        let count = program.module().code.len();
        let (interpreted, native, compile) = (least(|it| it[0].0), least(|it| it[1].0), least(|it| it[1].1));
        let hot = least(|it| it[2].0 + it[2].1);
        println!(
            "{name:14} interpreted {interpreted:.3} s, native {native:.3} s, {:.2} of it; from cold {hot:.3} s; \
             {count} instructions compiled in {:.2} ms, {:.1} us each",
            native / interpreted,
            compile * 1e3,
            compile * 1e6 / count as f64
        );
        let times = rivals.iter().flatten().map(|rival| seconds(rival, name));
        if let [Some(checked), Some(plain)] = times.collect::<Vec<_>>()[..] {
            println!(
                "{:14} C with the same checks {checked:.3} s: {:.2} of it; without {plain:.3} s: {:.2}",
                "",
                native / checked,
                native / plain
            );
        }
    }
}
