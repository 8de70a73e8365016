//! Owns: the time that a program in occam takes as machine code, by the installed `raddle-native`.
//! May use: the parent.
//! Never: the time that it takes to start, and to compile.
//!
//! Cranelift takes minutes to build, and no other runtime needs it; so the command runs the program, which does its
//! work as often as it is told, and looks at the clock itself.

use std::process::{Command, Stdio};

use raddle_measure::{Job, Sample};

use super::{WRITE, filled};

/// Does the work as often as a sample needs it, for each sample, and writes how many microseconds each took.
const REPEAT: &str = r"
PROC main (CHAN BYTE keyboard?, screen!, error!)
  TIMER clock:
  SEQ sample = 0 FOR $samples
    INT begun, ended:
    SEQ
      clock ? begun
      SEQ call = 0 FOR $calls
        once (keyboard?, screen!, error!)
      clock ? ended
      screen ! '='
      write (INT64 (ended MINUS begun), screen!)
      screen ! '*n'
:
";

pub(crate) fn time(source: &str, job: &Job, names: &[&str], operations: u64) -> Result<Vec<Sample>, String> {
    let write = WRITE.replacen("      screen ! text[i]\n", "      screen ! text[i]\n    screen ! '*s'\n", 1);
    let text = write + &source.replacen("PROC main (", "PROC once (", 1) + REPEAT;
    let text = filled(text, job, names)?;
    // The first warms up.
    let trial = run(&text, job, (2, 1))?;
    let (micros, checksum) = *trial.last().ok_or("it wrote nothing")?;
    let calls = (job.plan.run_ns_min / (1000 * micros.max(1)) + 1).min(1 << 20);
    let samples = run(&text, job, (job.plan.samples as u64 + 1, calls))?;
    let wrong = samples.iter().find(|sample| sample.1 != checksum);
    if let Some((_, other)) = wrong {
        return Err(format!("the checksum was {checksum} in the first run and {other} in a later one"));
    }
    let of = |&(micros, checksum): &(u64, u64)| {
        Sample::new(micros as f64 * 1000.0 / (calls * operations) as f64, checksum)
    };
    Ok(samples.iter().skip(1).map(of).collect())
}

/// The microseconds and the number of each sample.
fn run(text: &str, job: &Job, (samples, calls): (u64, u64)) -> Result<Vec<(u64, u64)>, String> {
    let text = text.replace("$samples", &samples.to_string()).replace("$calls", &calls.to_string());
    let file = std::env::temp_dir().join(format!("bench-occam-{}.occ", std::process::id()));
    std::fs::write(&file, text).map_err(|error| format!("could not write {}: {error}", file.display()))?;
    let mut command = Command::new("raddle-native");
    command.args(["run", "--native=all", "--workers", &job.workers.to_string()]).arg(&file);
    let output = command.stdin(Stdio::null()).output();
    // Nobody needs it any more.
    let _ = std::fs::remove_file(&file);
    let output = output.map_err(|error| format!("could not run raddle-native: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("it failed").to_owned());
    }
    samples_of(&String::from_utf8_lossy(&output.stdout))
}

/// Of lines with the number of each call, `=`, and the microseconds.
fn samples_of(text: &str) -> Result<Vec<(u64, u64)>, String> {
    let sample = |line: &str| {
        let (numbers, micros) = line.split_once('=')?;
        let numbers: Vec<u64> = numbers.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let first = *numbers.first()?;
        (numbers.iter().all(|&number| number == first)).then_some((micros.trim().parse().ok()?, first))
    };
    text.lines().map(|line| sample(line).ok_or_else(|| format!("the program wrote `{line}`"))).collect()
}

#[test]
fn a_sample_has_one_number_and_a_time() {
    assert_eq!(samples_of("7 7 =120 \n7 7 =90 \n"), Ok(vec![(120, 7), (90, 7)]));
    assert!(samples_of("7 8 =120 \n").is_err());
    assert!(samples_of("7 7").is_err());
}
