//! Owns: what the programs in occam share: compiling a source, running it, the number that it writes.
//! May use: the front end and the host, as `raddle run` does.
//! Never: a benchmark.

mod native;

use std::sync::{Arc, Mutex, OnceLock};

use raddle_bytecode::{Verified, verify};
use raddle_host::{Port, RunOptions, World};
use raddle_measure::machine::Memory;
use raddle_measure::{Job, Sample};
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{analyse, lower};

/// Writes a number.
const WRITE: &str = r"
PROC write (VAL INT64 number, CHAN BYTE screen!)
  [30]BYTE text:
  INT length:
  SEQ
    INT64TOSTRING (length, text, number)
    SEQ i = 0 FOR length
      screen ! text[i]
:
";

/// A compiled program.
pub struct OccamProgram(Verified);

/// Keeps what a program writes, and how much memory there was at its first byte.
#[derive(Default)]
struct CapturedOutput {
    text: Mutex<Vec<u8>>,
    resident: OnceLock<u64>,
}

impl World for CapturedOutput {
    fn output(&self, _: Port, bytes: &[u8]) {
        if bytes.starts_with(b"@") {
            self.resident.get_or_init(|| Memory::now().map_or(0, |memory| memory.resident));
        }
        self.text.lock().expect("nobody panics with it").extend_from_slice(bytes);
    }

    fn key(&self) -> Option<u8> {
        None
    }
}

/// Times a source as [`OccamProgram::compile`] takes it, which does so many operations: on the VM, or, if this is the
/// variant `occam-native`, as machine code.
pub fn time(source: &str, job: &Job, names: &[&str], operations: u64) -> Result<Vec<Sample>, String> {
    if std::env::var_os("BENCH_VARIANT").is_some_and(|variant| variant == "occam-native") {
        return native::time(source, job, names, operations);
    }
    let compiled = OccamProgram::compile(source, job, names)?;
    job.plan.time(operations, || compiled.number(job.workers))
}

/// A text in which each `$name` is the job's parameter of that name.
fn filled(text: String, job: &Job, names: &[&str]) -> Result<String, String> {
    names.iter().try_fold(text, |text, name| Ok(text.replace(&format!("${name}"), job.text(name)?)))
}

impl OccamProgram {
    /// Compiles a source that may use [`WRITE`], in which `$name` stands for the job's parameter of that name.
    pub fn compile(source: &str, job: &Job, names: &[&str]) -> Result<OccamProgram, String> {
        let text = filled(WRITE.to_owned() + source, job, names)?;
        let mut sources = Sources::new();
        let root = sources.add("bench.occ", &text).ok_or("the source is too long")?;
        let analysis = analyse(&mut sources, root, &raddle_occam::Options::default(), &mut NoFiles);
        let told = |list: &[raddle_occam::diag::Diagnostic]| {
            list.iter().map(|it| raddle_occam::diag::render(it, &sources)).collect::<String>()
        };
        let checked = analysis.checked().map_err(|list| told(&list))?;
        let module = lower::lower(&checked, &sources).map_err(|list| told(&list))?;
        verify(module).map(OccamProgram).map_err(|refusal| refusal.to_string())
    }

    /// Runs it to its end: the number that it wrote.
    ///
    /// # Panics
    /// If it fails, or writes something else.
    pub fn number(&self, workers: usize) -> u64 {
        self.run(workers).expect("the program ends well").0
    }

    /// The same; and the resident bytes when it wrote an `@`, if it did.
    pub fn run(&self, workers: usize) -> Result<(u64, Option<u64>), String> {
        let captured = Arc::new(CapturedOutput::default());
        let options = RunOptions { workers, ..RunOptions::default() };
        let outcome =
            raddle_host::run(self.0.clone(), options, captured.clone()).map_err(|error| error.to_string())?;
        if let Some(report) = &outcome.report {
            return Err(report.to_string());
        }
        let bytes = captured.text.lock().expect("nobody panics with it").clone();
        let text = String::from_utf8_lossy(&bytes);
        let number = text.trim_start_matches('@').trim().parse();
        let number = number.map_err(|_| format!("the program wrote `{text}`, and that is no number"))?;
        Ok((number, captured.resident.get().copied()))
    }
}
