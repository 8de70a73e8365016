//! The programs of `corpus/run`, each under several numbers of workers and many schedules: always the same output.

use raddle_host::{Port, RunOptions, World};
use raddle_occam::lower::Watch;
use raddle_occam::{pre::NoFiles, source::Sources};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Keeps what a program writes; its keyboard has the bytes given.
struct CapturedScreen {
    screen: Mutex<Vec<u8>>,
    keys: Mutex<std::vec::IntoIter<u8>>,
}

impl World for CapturedScreen {
    fn output(&self, _: Port, bytes: &[u8]) {
        self.screen.lock().unwrap().extend_from_slice(bytes);
    }

    fn key(&self) -> Option<u8> {
        self.keys.lock().unwrap().next()
    }
}

fn programs(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(kind);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut list: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "occ")).collect();
    list.sort();
    assert!(list.len() > 5);
    list
}

fn compile(path: &Path, watch: Watch) -> raddle_bytecode::Verified {
    let mut sources = Sources::new();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let root = sources.add(&name, &std::fs::read_to_string(path).unwrap()).unwrap();
    let analysis = raddle_occam::analyse(&mut sources, root, &raddle_occam::Options::default(), &mut NoFiles);
    let shown: String =
        analysis.diagnostics().iter().map(|it| raddle_occam::diag::render(it, &sources)).collect();
    let checked = analysis.checked().unwrap_or_else(|_| panic!("{shown}"));
    let module = raddle_occam::lower::lower_as(&checked, &sources, watch).unwrap_or_else(|complaints| {
        let shown: String = complaints.iter().map(|it| raddle_occam::diag::render(it, &sources)).collect();
        panic!("{shown}")
    });
    // What a file holds is what was compiled.
    let read = raddle_bytecode::Module::read(&module.write()).unwrap();
    assert_eq!(read, module, "{name}");
    raddle_bytecode::verify(read).unwrap_or_else(|refusal| panic!("{name}: {refusal}"))
}

/// What a program writes, and what ended it if it failed.
fn run(program: &raddle_bytecode::Verified, workers: usize, seed: Option<u64>) -> String {
    let keys = Mutex::new(b"12 keys\n".to_vec().into_iter());
    let world = Arc::new(CapturedScreen { screen: Mutex::default(), keys });
    let options = RunOptions { workers, seed, memory_bytes: 64 << 20, ..RunOptions::default() };
    let outcome = raddle_host::run(program.clone(), options, Arc::clone(&world) as Arc<dyn World>).unwrap();
    let mut text = String::from_utf8_lossy(&world.screen.lock().unwrap()).into_owned();
    match (outcome.result, outcome.report) {
        (Err(_), Some(report)) => text += &format!("{report}\n"),
        (Err(failure), None) => text += &format!("{failure:?}\n"),
        (Ok(()), _) => {
            assert_eq!(outcome.memory_left, 0, "bytes that nobody has given back; written: {text}")
        }
    }
    text
}

#[test]
fn programs_write_the_same_under_every_schedule() {
    let mut wrong = Vec::new();
    for path in programs("run") {
        let program = compile(&path, Watch::Nothing);
        let first = run(&program, 1, None);
        let expected = path.with_extension("expected");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&expected, &first).unwrap();
            continue;
        }
        let want = std::fs::read_to_string(&expected).unwrap_or_default();
        let mut compare = |how: String, got: &str| {
            if got != want {
                wrong.push(format!("{} {how}:\n--- expected\n{want}\n--- got\n{got}", path.display()));
            }
        };
        compare("on 1 worker".to_owned(), &first);
        for workers in [2, 8] {
            compare(format!("on {workers} workers"), &run(&program, workers, None));
        }
        for seed in 1..=20 {
            compare(format!("with seed {seed}"), &run(&program, 1, Some(seed)));
        }
        // What the checks have let through has no race: a search that finds one is wrong, or they are.
        let watched = compile(&path, Watch::Everything);
        for seed in [0, 5] {
            compare(format!("all watched, seed {seed}"), &run(&watched, 1, Some(seed)));
        }
    }
    assert!(wrong.is_empty(), "{}\nUPDATE_EXPECT=1 writes the files anew", wrong.join("\n"));
}

/// The programs of `corpus/debug` are debug builds: a race ends them under every schedule, though not every one comes
/// upon the same of the two first; what is ordered is no race under any.
#[test]
fn debug_builds_end_at_a_race_and_only_there() {
    let mut wrong = Vec::new();
    for path in programs("debug") {
        let program = compile(&path, Watch::Exempt);
        assert!(program.module().is_debug_build());
        let first = run(&program, 2, None);
        let expected = path.with_extension("expected");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&expected, &first).unwrap();
            continue;
        }
        let want = std::fs::read_to_string(&expected).unwrap_or_default();
        let race = |text: &str| text.lines().find(|line| line.contains("race: ")).map(str::to_owned);
        let others = (1..=20).map(|seed| run(&program, 1, Some(seed)));
        let differs = others.filter(|got| match race(&want) {
            Some(headline) => race(got) != Some(headline),
            None => *got != want,
        });
        for got in Some(first).filter(|got| *got != want).into_iter().chain(differs) {
            wrong.push(format!("{}:\n--- expected\n{want}\n--- got\n{got}", path.display()));
        }
        // Another build of the same program looks for nothing.
        assert!(race(&run(&compile(&path, Watch::Nothing), 1, None)).is_none());
    }
    assert!(wrong.is_empty(), "{}\nUPDATE_EXPECT=1 writes the files anew", wrong.join("\n"));
}
