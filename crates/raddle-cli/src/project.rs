//! Owns: building the executable of a Rust file with its Cargo package.
//! May use: `refusal`, `serde_json`.
//! Never: reading manifests itself.
//!
//! The manifest above a file is found by walking up; cargo says which of the workspace's targets has that file as
//! its root. A file may belong to a package that lies elsewhere (this repository's `examples/` belong to the crate
//! `raddle`), so paths are compared, not names.

use std::ffi::OsStr;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::refusal::Error;

/// The kinds of targets that make an executable, each with cargo's option for it.
const RUNNABLE: [(&str, &str); 2] = [("example", "--example"), ("bin", "--bin")];

/// What cargo has to know to build one file.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    workspace: PathBuf,
    package: String,
    option: &'static str,
    name: String,
    features: Vec<String>,
}

/// Builds `source` in release and returns the executable.
pub(crate) fn build(source: &Path) -> Result<PathBuf, Error> {
    let whole = source.canonicalize().map_err(|error| no_target(source, &error.to_string()))?;
    let manifests = whole.ancestors().skip(1).map(|folder| folder.join("Cargo.toml"));
    let mut seen = Vec::new();
    for manifest in manifests.filter(|manifest| manifest.is_file()) {
        let metadata = metadata(&manifest)?;
        if let Some(target) = find(&metadata, &whole) {
            return target.build();
        }
        seen.push(manifest.display().to_string());
    }
    Err(no_target(
        source,
        &if seen.is_empty() {
            "there is no Cargo.toml above it".to_owned()
        } else {
            format!("no example or bin of {} has it as its root", seen.join(" or "))
        },
    ))
}

fn no_target(source: &Path, why: &str) -> Error {
    let advice = "a Rust file is run as an example or a bin of a Cargo package: put it into `examples/`";
    Error::CannotRun(format!("`{}` cannot be built: {why}; {advice}", source.display()))
}

fn metadata(manifest: &Path) -> Result<Value, Error> {
    let mut command = cargo(manifest);
    command.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(manifest);
    let output = finish(&mut command)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| Error::Build(format!("could not understand `cargo metadata`: {error}")))
}

/// The target whose root is `source`, a canonical path.
fn find(metadata: &Value, source: &Path) -> Option<Target> {
    let workspace = PathBuf::from(metadata["workspace_root"].as_str()?);
    for package in metadata["packages"].as_array()? {
        for target in package["targets"].as_array()? {
            let root = target["src_path"].as_str().and_then(|path| Path::new(path).canonicalize().ok());
            let option = option_for(target);
            if let (true, Some(option)) = (root.as_deref() == Some(source), option) {
                let features = strings(&target["required-features"]);
                let (package, name) =
                    (package["id"].as_str()?.to_owned(), target["name"].as_str()?.to_owned());
                return Some(Target { workspace, package, option, name, features });
            }
        }
    }
    None
}

fn option_for(target: &Value) -> Option<&'static str> {
    let kinds = strings(&target["kind"]);
    RUNNABLE.iter().find(|(kind, _)| kinds.iter().any(|has| has == kind)).map(|(_, option)| *option)
}

fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Target {
    fn build(&self) -> Result<PathBuf, Error> {
        let mut command = cargo(&self.workspace.join("Cargo.toml"));
        command.args(["build", "--release", "--message-format", "json-render-diagnostics"]);
        command.args(["--package", &self.package, self.option, &self.name]);
        if !self.features.is_empty() {
            command.args(["--features", &self.features.join(",")]);
        }
        // Keep cargo's progress out of a redirected standard error.
        if !std::io::stderr().is_terminal() {
            command.arg("--quiet");
        }
        let output = finish(&mut command)?;
        executable(&output.stdout, &self.name)
            .ok_or_else(|| Error::Build(format!("cargo built `{}` but named no executable", self.name)))
    }
}

/// Where cargo's messages say that it put the executable of the target `name`.
fn executable(messages: &[u8], name: &str) -> Option<PathBuf> {
    let lines = messages.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let mut ours = messages.filter(|message| message["target"]["name"] == name);
    ours.find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// The cargo that started us, or else the one on `PATH`, in the folder of `manifest`, whose configuration counts.
fn cargo(manifest: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").filter(|path| Path::new(path).exists());
    let mut command = Command::new(cargo.as_deref().unwrap_or(OsStr::new("cargo")));
    command.current_dir(manifest.parent().unwrap_or(Path::new("/")));
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    command
}

fn finish(command: &mut Command) -> Result<Output, Error> {
    let output = command.output().map_err(|error| {
        Error::Build(format!("could not start cargo: {error}; a Rust source needs cargo on PATH to be built"))
    })?;
    if output.status.success() {
        Ok(output)
    } else {
        Err(Error::Build("cargo could not build it; see its messages above".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata_with(kind: &str, source: &Path) -> Value {
        json!({"workspace_root": "/w", "packages": [{"id": "p", "targets": [
            {"name": "other", "kind": ["example"], "src_path": "/nowhere.rs"},
            {"name": "x", "kind": [kind], "src_path": source, "required-features": ["f"]},
        ]}]})
    }

    #[test]
    fn a_target_is_found_by_its_root() {
        let source = Path::new(file!())
            .file_name()
            .map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name));
        let source = source.and_then(|path| path.canonicalize().ok()).expect("this file is there");
        let target = find(&metadata_with("example", &source), &source).expect("it is a target");
        assert_eq!((target.option, target.name.as_str()), ("--example", "x"));
        assert_eq!(target.features, ["f"]);
        assert_eq!(find(&metadata_with("lib", &source), &source), None);
        assert_eq!(find(&metadata_with("bin", Path::new("/elsewhere.rs")), &source), None);
    }

    #[test]
    fn the_executable_is_read_from_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"dep"},"executable":null}"#,
            "\nnot json\n",
            r#"{"reason":"compiler-artifact","target":{"name":"x"},"executable":"/t/x"}"#,
            "\n"
        );
        assert_eq!(executable(messages.as_bytes(), "x"), Some(PathBuf::from("/t/x")));
        assert_eq!(executable(messages.as_bytes(), "dep"), None);
    }
}
