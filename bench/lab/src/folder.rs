//! Owns: the folder of results: its files, and the page made of them.
//! May use: runs, figures, the page.
//! Never: measuring.

use std::path::Path;

use crate::experiment::EXPERIMENTS;
use crate::page;
use crate::run::Run;
use crate::simulate;

/// Makes the folder, and checks that it is writable before anything is measured.
pub fn make(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let probe = folder.join(format!(".writable-{}", std::process::id()));
    let written = std::fs::write(&probe, "").and_then(|()| std::fs::remove_file(&probe));
    written.map_err(|e| format!("cannot write in {}: {e}", folder.display()))
}

pub fn save(run: &Run, folder: &Path) -> Result<(), String> {
    run.save(&folder.join(format!("{}.json", run.experiment)))
}

/// Draws the figures of the runs in `folder` and writes their page, and its sentences as text.
pub fn write_page(folder: &Path) -> Result<(), String> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
    };
    let mut runs = Vec::new();
    for experiment in EXPERIMENTS.iter().chain([&simulate::EXPERIMENT]) {
        let path = folder.join(format!("{}.json", experiment.name));
        if path.exists() {
            runs.push((experiment, Run::load(&path)?));
        }
    }
    if runs.is_empty() {
        return Err(format!("{} holds no run of an experiment", folder.display()));
    }
    for (experiment, run) in &runs {
        for (name, svg) in (experiment.figures)(run) {
            write(&format!("{}-{name}.svg", experiment.name), &svg)?;
        }
    }
    write("sentences.md", &page::sentences(&runs))?;
    write("index.html", &page::page(&runs))
}
