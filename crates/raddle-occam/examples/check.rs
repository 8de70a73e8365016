//! Owns: a bare command line for the front end: `check [-D NAME]... [-u] [-q] FILE...`.
//! May use: raddle-occam, std.
//! Never: does anything that `raddle check` is for; it serves those who work on the front end.
#![allow(clippy::print_stdout, reason = "it is a command line")]

use raddle_occam::pre::Files;
use raddle_occam::{Options, analyse, diag::render, source::Sources};
use std::path::Path;

struct Disk;

impl Files for Disk {
    fn text(&mut self, name: &str, from: &str) -> Option<(String, String)> {
        let directory = Path::new(from).parent()?;
        let names = [name.to_owned(), format!("{name}.occ")];
        let path = names.iter().map(|name| directory.join(name)).find(|path| path.is_file())?;
        let text = String::from_utf8_lossy(&std::fs::read(&path).ok()?).into_owned();
        Some((path.display().to_string(), text))
    }
}

fn main() {
    let mut options = Options::default();
    let mut quiet = false;
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-D" => options.defines.extend(arguments.next()),
            "-u" => options.undefined_warns = true,
            "-q" => quiet = true,
            _ => files.push(argument),
        }
    }
    let mut failures = 0;
    for file in files {
        let mut sources = Sources::new();
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap_or_default()).into_owned();
        let Some(root) = sources.add(&file, &text) else { continue };
        let start = std::time::Instant::now();
        let analysis = analyse(&mut sources, root, &options, &mut Disk);
        let took = start.elapsed();
        let errors = analysis.diagnostics().iter().filter(|it| it.is_error()).count();
        let warnings = analysis.diagnostics().len() - errors;
        failures += usize::from(errors > 0);
        println!("{file}: {errors} errors, {warnings} warnings, {took:.1?}");
        if !quiet {
            analysis.diagnostics().iter().for_each(|it| println!("{}", render(it, &sources)));
        }
    }
    println!("{failures} files with errors");
}
