//! Owns: `cargo xtask plates`: what is wrong with the lists of plates, and putting it right.
//! May use: `graph`, `house`, `report`, `tree`, `anyhow`.
//! Never: a plate whose list is true.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Context as _;

use super::{MayUse, faults, list, needs, write};
use crate::graph::Graph;
use crate::tree::File;
use crate::{house, report, tree};

/// Arguments of `cargo xtask plates`.
#[derive(clap::Args)]
pub(crate) struct PlatesArgs {
    /// Write the lists anew where they are not true; prose that stood there goes below the module's story
    #[arg(long)]
    write: bool,
    /// Only files whose paths, from the root of the repository, begin so
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
}

/// What is wrong with one file's list.
pub(crate) struct Fault {
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// What is wrong with the lists of a crate's modules.
pub(crate) fn check(graph: &Graph, files: &BTreeMap<&str, &str>) -> Vec<Fault> {
    let mut found = Vec::new();
    for (index, source) in graph.modules.files.iter().enumerate() {
        let Some(line) = files.get(source.path.as_str()).and_then(|text| MayUse::find(text)) else {
            continue;
        };
        let whats = match line.entries() {
            Ok(entries) => faults(&entries, &needs(graph, index)),
            Err(what) => vec![what],
        };
        let fault = |what| Fault { path: source.path.clone(), line: line.first + 1, what };
        found.extend(whats.into_iter().map(fault));
    }
    found
}

/// The texts of files by their paths.
pub(crate) fn by_path(files: &[File]) -> BTreeMap<&str, &str> {
    files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect()
}

/// Shows what is wrong, or writes it anew.
pub(crate) fn run(args: &PlatesArgs) -> anyhow::Result<ExitCode> {
    let files = tree::files();
    let texts = by_path(&files);
    if let Some(nothing) = args.paths.iter().find(|start| !texts.keys().any(|path| path.starts_with(*start)))
    {
        anyhow::bail!("no file's path begins with `{nothing}`; paths are from the root of the repository");
    }
    let mut wrong = 0;
    for graph in Graph::all(&files)? {
        let asked =
            |path: &str| args.paths.is_empty() || args.paths.iter().any(|start| path.starts_with(start));
        let mut faults = check(&graph, &texts);
        faults.retain(|fault| asked(&fault.path));
        wrong += faults.len();
        if args.write {
            faults.dedup_by(|one, other| one.path == other.path);
            for fault in &faults {
                renew(&graph, &fault.path, texts[fault.path.as_str()])?;
            }
        } else {
            for Fault { path, line, what } in faults {
                report::say(&format!("{path}:{line}: {what}\n"));
            }
        }
    }
    let command = "`cargo xtask plates --write` writes the lists anew";
    if wrong > 0 && !args.write {
        report::say(&format!("{wrong} findings; {command}\n"));
    }
    Ok(ExitCode::from(u8::from(wrong > 0 && !args.write)))
}

fn renew(graph: &Graph, path: &str, text: &str) -> anyhow::Result<()> {
    let file = graph.modules.files.iter().position(|file| file.path == path);
    let Some(file) = file else { return Ok(()) };
    let renewed = write::with_list(text, &list(graph, file));
    std::fs::write(house::root().join(path), renewed).with_context(|| format!("could not write {path}"))?;
    report::say(&format!("wrote the list of {path}\n"));
    Ok(())
}
