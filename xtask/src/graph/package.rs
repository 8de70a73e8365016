//! Owns: which crates the repository has, and the names of the crates that each may use.
//! May use: `tree`.
//! Never: resolving versions; cargo does.

use crate::tree::File;

/// A member of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    /// As in its manifest: `raddle-core`.
    pub(crate) name: String,
    /// From the root, without a slash at its end: `crates/raddle-core`.
    pub(crate) folder: String,
    /// The names of the crates that it depends on, tests included.
    pub(crate) dependencies: Vec<String>,
}

impl Package {
    /// Those of `files`: `crates/*`, `apps/*`, `xtask`.
    pub(crate) fn all(files: &[File]) -> Vec<Package> {
        let manifests = files.iter().filter_map(|file| Some((member(&file.path)?, &file.text)));
        manifests.filter_map(|(folder, text)| Package::read(folder, text)).collect()
    }

    fn read(folder: &str, manifest: &str) -> Option<Package> {
        let (mut section, mut name, mut dependencies) = (String::new(), None, Vec::new());
        for line in manifest.lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
                section = header.to_owned();
                let single = section.rsplit_once("dependencies.").map(|(_, name)| name.to_owned());
                dependencies.extend(single);
            } else if section == "package" && line.starts_with("name") {
                name = line.split('"').nth(1).map(str::to_owned);
            } else if section.ends_with("dependencies") {
                let key = line.split(['=', '.', ' ']).next().unwrap_or_default();
                dependencies.extend((!key.is_empty() && !key.starts_with('#')).then(|| key.to_owned()));
            }
        }
        dependencies.sort();
        dependencies.dedup();
        Some(Package { name: name?, folder: folder.to_owned(), dependencies })
    }

    /// The dependency that `word` names in Rust, under the name that the manifest gives it.
    pub(crate) fn dependency(&self, word: &str) -> Option<&str> {
        self.dependencies.iter().map(String::as_str).find(|name| in_rust(name) == word)
    }

    /// Whether `word` names this crate itself, as its own programs see it.
    pub(crate) fn is_itself(&self, word: &str) -> bool {
        in_rust(&self.name) == word
    }

    /// The path of a file of the crate, from `src/`.
    pub(crate) fn source<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(&self.folder)?.strip_prefix("/src/")
    }
}

fn in_rust(name: &str) -> String {
    name.replace('-', "_")
}

fn member(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/Cargo.toml")?;
    let inner = folder.strip_prefix("crates/").or_else(|| folder.strip_prefix("apps/"));
    (folder == "xtask" || inner.is_some_and(|name| !name.contains('/'))).then_some(folder)
}

#[test]
fn a_manifest_gives_a_name_and_dependencies() {
    let manifest = "[package]\nname = \"a-b\"\n[dependencies]\nlibc = \"1\"\n# note\nraddle-vm.workspace = true\n\
        [target.'cfg(loom)'.dependencies]\nloom = \"1\"\n[dev-dependencies.syn]\nversion = \"2\"\n[lints]\nx = 1\n";
    let package = Package::read("crates/a-b", manifest).expect("a package");
    assert_eq!((package.name.as_str(), package.folder.as_str()), ("a-b", "crates/a-b"));
    assert_eq!(package.dependencies, ["libc", "loom", "raddle-vm", "syn"]);
    assert_eq!(package.dependency("raddle_vm"), Some("raddle-vm"));
    assert_eq!(package.dependency("clap"), None);
    assert!(package.is_itself("a_b"));
    assert_eq!(package.source("crates/a-b/src/c/d.rs"), Some("c/d.rs"));
}

#[test]
fn members_are_crates_apps_and_xtask() {
    assert_eq!(member("crates/a/Cargo.toml"), Some("crates/a"));
    assert_eq!(member("apps/b/Cargo.toml"), Some("apps/b"));
    assert_eq!(member("xtask/Cargo.toml"), Some("xtask"));
    assert_eq!(member("Cargo.toml"), None);
    assert_eq!(member("bench/check/Cargo.toml"), None);
    assert_eq!(member("crates/a/fuzz/Cargo.toml"), None);
}
