//! Owns: the open documents, and what is told of them without being asked.
//! May use: `check::files`, `raddle-occam`, `serde_json`.
//! Never: answers a question.
//!
//! A document is looked at when somebody asks, or when no message waits any more; so many changes in a row cost one
//! look. A document that another open one includes is seen as part of that one: alone, what it uses would be missing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use raddle_occam::Options;
use raddle_occam::diag::{Diagnostic, Severity};
use raddle_occam::pre::Files;
use raddle_occam::source::{FileId, Sources, Span};
use serde_json::{Value, json};

use super::place;
use super::seen::{SeenProgram, uri_of};
use crate::check::files::Disk;

/// A document that the editor has open.
pub(super) struct Document {
    /// Its path, or the editor's name for it if it is in no file.
    pub(super) name: String,
    pub(super) text: String,
    version: Value,
    seen: Option<SeenProgram>,
}

/// All of them.
#[derive(Default)]
pub(super) struct Documents {
    pub(super) folders: Vec<PathBuf>,
    pub(super) options: Options,
    open: BTreeMap<String, Document>,
    /// What was told last of each document.
    told: BTreeMap<String, Value>,
}

/// The texts of open documents, and the files on disk.
struct Overlay<'d> {
    open: &'d BTreeMap<String, String>,
    folders: &'d [PathBuf],
}

impl Files for Overlay<'_> {
    fn text(&mut self, name: &str, from: &str) -> Option<(String, String)> {
        let beside = Path::new(from).parent().unwrap_or(Path::new(""));
        let folders = std::iter::once(beside).chain(self.folders.iter().map(PathBuf::as_path));
        let paths = folders.flat_map(|folder| [folder.join(name), folder.join(format!("{name}.occ"))]);
        for path in paths {
            let shown = path.display().to_string();
            if let Some(text) = self.open.get(&shown) {
                return Some((shown, text.clone()));
            }
            if path.is_file() {
                break;
            }
        }
        Disk::new(self.folders).text(name, from)
    }
}

impl Documents {
    pub(super) fn open(&mut self, uri: &str, text: &str, version: Value) {
        let path = place::path(uri).map(|path| path.display().to_string());
        let name = path.unwrap_or_else(|| uri.to_owned());
        self.forget_about(&name);
        let document = Document { name, text: text.to_owned(), version, seen: None };
        self.open.insert(uri.to_owned(), document);
    }

    /// Applies changes in their order.
    pub(super) fn change(&mut self, uri: &str, changes: &[Value], version: Value) {
        let Some(document) = self.open.get_mut(uri) else { return };
        for change in changes {
            let new = change["text"].as_str().unwrap_or("");
            if change["range"].is_object() {
                let lo = place::offset(&document.text, &change["range"]["start"]);
                let hi = place::offset(&document.text, &change["range"]["end"]);
                document.text.replace_range(lo..hi.max(lo), new);
            } else {
                document.text = new.to_owned();
            }
        }
        document.version = version;
        let name = document.name.clone();
        self.forget_about(&name);
    }

    pub(super) fn close(&mut self, uri: &str) {
        if let Some(document) = self.open.remove(uri) {
            self.forget_about(&document.name);
        }
    }

    /// What was seen of programs with that file is no longer so.
    fn forget_about(&mut self, name: &str) {
        for document in self.open.values_mut() {
            let with = |seen: &SeenProgram| seen.file(name).is_some();
            // One that includes a file which was not there may find it now.
            let lacks = |seen: &SeenProgram| {
                seen.diagnostics.iter().any(|it| it.code == raddle_occam::diag::Code::FileNotFound)
            };
            if document.name == name || document.seen.as_ref().is_some_and(|it| with(it) || lacks(it)) {
                document.seen = None;
            }
        }
    }

    /// Files have changed on disk.
    pub(super) fn forget(&mut self) {
        self.open.values_mut().for_each(|document| document.seen = None);
    }

    pub(super) fn get(&self, uri: &str) -> Option<&Document> {
        self.open.get(uri)
    }

    fn texts(&self) -> BTreeMap<String, String> {
        self.open.values().map(|it| (it.name.clone(), it.text.clone())).collect()
    }

    /// A program that begins with a text, with other files as they are, some of them replaced.
    pub(super) fn trial(&self, name: &str, replaced: &BTreeMap<String, String>) -> Option<SeenProgram> {
        let mut texts = self.texts();
        texts.extend(replaced.iter().map(|(name, text)| (name.clone(), text.clone())));
        let disk = || std::fs::read_to_string(name).ok();
        let text = texts.get(name).cloned().or_else(disk)?;
        let mut files = Overlay { open: &texts, folders: &self.folders };
        SeenProgram::of(name, &text, &self.options, &mut files)
    }

    /// Looks at what has changed.
    pub(super) fn look(&mut self) {
        if self.open.values().all(|it| it.seen.is_some()) {
            return;
        }
        let texts = self.texts();
        for document in self.open.values_mut().filter(|it| it.seen.is_none()) {
            let mut files = Overlay { open: &texts, folders: &self.folders };
            document.seen = SeenProgram::of(&document.name, &document.text, &self.options, &mut files);
        }
    }

    /// The program of which a document is part, and which of its files it is.
    pub(super) fn seen(&mut self, uri: &str) -> Option<(&SeenProgram, FileId)> {
        self.look();
        let name = &self.open.get(uri)?.name;
        let includes = self.open.values().filter(|it| it.name != *name);
        let part = includes.filter_map(|it| it.seen.as_ref()).find_map(|seen| Some((seen, seen.file(name)?)));
        part.or_else(|| {
            let seen = self.open.get(uri)?.seen.as_ref()?;
            Some((seen, seen.root))
        })
    }

    /// What is wrong, for each document of which that has changed.
    pub(super) fn news(&mut self) -> Vec<Value> {
        self.look();
        let mut all: BTreeMap<String, Vec<Value>> =
            self.open.keys().map(|uri| (uri.clone(), Vec::new())).collect();
        for document in self.open.values() {
            let others = self.open.values().filter(|it| it.name != document.name);
            let mut others = others.filter_map(|it| it.seen.as_ref());
            let part = others.any(|seen| seen.file(&document.name).is_some());
            let Some(seen) = document.seen.as_ref().filter(|_| !part) else { continue };
            for diagnostic in &seen.diagnostics {
                if let Some((uri, shown)) = shown(diagnostic, seen) {
                    let list = all.entry(uri).or_default();
                    if !list.contains(&shown) {
                        list.push(shown);
                    }
                }
            }
        }
        // What was told of a file and holds no longer is taken back.
        for uri in self.told.keys() {
            all.entry(uri.clone()).or_default();
        }
        let mut news = Vec::new();
        for (uri, list) in all {
            let list = Value::Array(list);
            if self.told.get(&uri) == Some(&list) {
                continue;
            }
            let mut params = json!({ "uri": uri, "diagnostics": list });
            match self.open.get(&uri) {
                Some(document) => params["version"] = document.version.clone(),
                None if list == json!([]) => _ = self.told.remove(&uri),
                None => {}
            }
            if self.open.contains_key(&uri) || list != json!([]) {
                self.told.insert(uri, list);
            }
            news.push(params);
        }
        news
    }
}

/// A complaint as the protocol has it, and the document that it is about.
pub(super) fn shown(diagnostic: &Diagnostic, seen: &SeenProgram) -> Option<(String, Value)> {
    let span = diagnostic.primary.span;
    let (file, lo) = seen.sources.locate(span.lo).unwrap_or((seen.root, 0));
    let name = seen.sources.name(file);
    if name.ends_with("(of raddle)") {
        return None;
    }
    let mut message = diagnostic.message.clone();
    let parts =
        diagnostic.notes.iter().map(|it| ("note", it)).chain(diagnostic.help.iter().map(|it| ("help", it)));
    parts.for_each(|(word, text)| message += &format!("\n{word}: {text}"));
    let related = diagnostic.secondary.iter().filter_map(|label| {
        let text = if label.text.is_empty() { "here" } else { &label.text };
        Some(json!({ "location": seen.location(label.span)?, "message": text }))
    });
    let severity = if diagnostic.severity == Severity::Error { 1 } else { 2 };
    let shown = json!({
        "range": range(&seen.sources, file, lo, span),
        "severity": severity,
        "code": diagnostic.code.to_string(),
        "source": "raddle",
        "message": message,
        "relatedInformation": related.collect::<Vec<_>>(),
    });
    Some((uri_of(name), shown))
}

/// The first line of a place: what is wrong with a whole PROC would underline all of it.
fn range(sources: &Sources, file: FileId, lo: usize, span: Span) -> Value {
    let text = sources.text(file);
    let length = (span.hi - span.lo) as usize;
    let part = text.get(lo..(lo + length).min(text.len())).unwrap_or("");
    let first = part.split('\n').next().map_or(0, |line| line.trim_end().len());
    place::range(text, lo, lo + first)
}
