//! Owns: the copy of the tree in which changes are made, and what is compiled there.
//! May use: `house`, `tree`, `anyhow`.
//! Never: writing to a file of the tree itself, or to what was compiled of it.
//!
//! The copy stays where it is, so that cargo compiles anew only what has changed since the last time: a file that is
//! as it should be is not touched. What is compiled of other people's crates is the same here and there; it is linked
//! from the target folder of the tree before the first time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::change::Change;
use crate::{house, tree};

/// The files of the tree, some of them changed.
pub(super) struct Tree {
    /// What a file holds, if it is not what the tree has.
    files: BTreeMap<String, Option<String>>,
}

/// Where a copy lies, and its target folder.
pub(super) struct Place {
    pub(super) root: PathBuf,
    pub(super) target: PathBuf,
}

impl Tree {
    pub(super) fn of_house() -> anyhow::Result<Tree> {
        let paths = tree::paths().into_iter().filter(|path| house::root().join(path).is_file());
        Ok(Tree { files: paths.map(|path| (path, None)).collect() })
    }

    /// Makes a change.
    pub(super) fn make(&mut self, change: &Change) -> anyhow::Result<()> {
        let made = change.made(|path| self.text(path))?;
        let made: Vec<_> = made.into_iter().map(|(path, text)| (path.to_owned(), Some(text))).collect();
        self.files.extend(made);
        Ok(())
    }

    fn text(&self, path: &str) -> anyhow::Result<Option<String>> {
        match self.files.get(path) {
            None => Ok(None),
            Some(Some(text)) => Ok(Some(text.clone())),
            Some(None) => {
                let text = fs::read_to_string(house::root().join(path));
                Ok(Some(text.with_context(|| format!("could not read {path}"))?))
            }
        }
    }

    /// Has the copy hold these files and no others.
    pub(super) fn write(&self) -> anyhow::Result<Place> {
        let given = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let house_target = house::root().join(given.unwrap_or_else(|| "target".into()));
        let place =
            Place { root: house_target.join("recipes/tree"), target: house_target.join("recipes/build") };
        fs::create_dir_all(&place.root)?;
        self.remove_others(&place.root, "")?;
        for (path, text) in &self.files {
            put(&house::root().join(path), &place.root.join(path), text.as_deref())
                .with_context(|| format!("could not copy {path}"))?;
        }
        // Cargo looks for settings in the folders above, too.
        let settings_file = house_target.join("recipes/.cargo/config.toml");
        fs::create_dir_all(house_target.join("recipes/.cargo"))?;
        put(Path::new(""), &settings_file, Some(&settings())).context("could not write cargo's settings")?;
        link_outsiders(&house_target, &place.target)
            .context("could not link what is compiled of other people's crates")?;
        Ok(place)
    }

    fn remove_others(&self, folder: &Path, within: &str) -> anyhow::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{within}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                self.remove_others(&entry.path(), &format!("{path}/"))?;
            } else if !self.files.contains_key(&path) && !path.ends_with("Cargo.lock") {
                fs::remove_file(entry.path()).with_context(|| format!("could not remove {path}"))?;
            }
        }
        Ok(())
    }
}

fn put(from: &Path, to: &Path, text: Option<&str>) -> anyhow::Result<()> {
    let wanted = match text {
        Some(text) => text.as_bytes().to_vec(),
        None => fs::read(from)?,
    };
    if fs::read(to).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    match text {
        Some(text) => fs::write(to, text)?,
        // With its permissions.
        None => drop(fs::copy(from, to)?),
    }
    // A copy that the file system makes may bring the time of the original with it.
    let now = std::time::SystemTime::now();
    Ok(fs::File::options().append(true).open(to)?.set_modified(now)?)
}

/// The crates of the house, by the names of their folders.
fn our_crates() -> impl Iterator<Item = String> {
    let folders = ["crates", "apps"].into_iter();
    let entries = folders.filter_map(|folder| fs::read_dir(house::root().join(folder)).ok()).flatten();
    entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
}

/// Has cargo compile our crates fast there: what they do is tried once, and nobody debugs it. Half of the time went
/// into optimising them.
fn settings() -> String {
    let one = |name| format!("[profile.dev.package.{name}]\nopt-level = 0\ndebug = false\n");
    our_crates().map(one).collect()
}

/// Cargo writes to none of these again: their names hold the version and the settings.
fn link_outsiders(house_target: &Path, target: &Path) -> anyhow::Result<()> {
    if target.exists() {
        return Ok(());
    }
    let mut ours: Vec<_> = our_crates().map(|name| name.replace('-', "_")).collect();
    ours.push("xtask".to_owned());
    for folder in ["deps", ".fingerprint", "build"] {
        let from = house_target.join("debug").join(folder);
        if from.is_dir() {
            let to = target.join("debug").join(folder);
            fs::create_dir_all(&to)?;
            link(&from, &to, &|name| {
                let name = name.replace('-', "_");
                ours.iter().any(|ours| name.trim_start_matches("lib").starts_with(ours.as_str()))
            })?;
        }
    }
    Ok(())
}

fn link(from: &Path, to: &Path, leave_out: &dyn Fn(&str) -> bool) -> anyhow::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if leave_out(&entry.file_name().to_string_lossy()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&to)?;
            link(&entry.path(), &to, &|_| false)?;
        } else if fs::hard_link(entry.path(), &to).is_err() && entry.path().exists() {
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}
