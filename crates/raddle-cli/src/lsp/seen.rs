//! Owns: one program as the front end sees it: its texts, what it declares, what each word means.
//! May use: `raddle-occam`, `serde_json`.
//! Never: which documents are open.

use std::path::Path;

use raddle_occam::diag::Diagnostic;
use raddle_occam::pre::Files;
use raddle_occam::program::{Meaning, Mention, Name, NameId, NameKind, Program};
use raddle_occam::source::{FileId, Sources, Span};
use raddle_occam::{Options, analyse};
use serde_json::{Value, json};

use super::place;

/// A program and all that was found out about it.
pub(super) struct SeenProgram {
    pub(super) sources: Sources,
    pub(super) root: FileId,
    pub(super) program: Program,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Every word that means something, by its place; each once.
    pub(super) mentions: Vec<Mention>,
}

impl SeenProgram {
    /// Looks at a text; `None` if it is too long.
    pub(super) fn of(
        name: &str,
        text: &str,
        options: &Options,
        files: &mut dyn Files,
    ) -> Option<SeenProgram> {
        let mut sources = Sources::new();
        let root = sources.add(name, text)?;
        let analysis = analyse(&mut sources, root, options, files);
        let diagnostics = analysis.diagnostics().to_vec();
        let program = analysis.into_program();
        let mut mentions = program.mentions.clone();
        let written = |name: &Name| name.span.lo < name.span.hi && name.kind != NameKind::Error;
        let declared = program.names.iter().enumerate().filter(|(_, name)| written(name));
        mentions.extend(declared.map(|(at, name)| {
            let of = Meaning::Name(NameId(at as u32));
            Mention { span: name.span, of, declares: true }
        }));
        mentions.sort_unstable();
        mentions.dedup_by_key(|it| (it.span, it.of));
        Some(SeenProgram { sources, root, program, diagnostics, mentions })
    }

    /// The file of that name.
    pub(super) fn file(&self, name: &str) -> Option<FileId> {
        self.sources.find(name)
    }

    /// What the word at a byte of a file means, and the word.
    pub(super) fn at(&self, file: FileId, offset: usize) -> Option<(Meaning, Span)> {
        let position = self.sources.base(file) + offset as u32;
        let after = self.mentions.partition_point(|it| it.span.lo <= position);
        let near = self.mentions[..after].iter().rev().take(64);
        near.filter(|it| position <= it.span.hi).map(|it| (it.of, it.span)).next()
    }

    /// The places of a meaning, each once.
    pub(super) fn places(&self, of: Meaning) -> impl Iterator<Item = &Mention> {
        self.mentions.iter().filter(move |it| it.of == of)
    }

    /// Where something is declared.
    pub(super) fn declared(&self, of: Meaning) -> Vec<Span> {
        match of {
            Meaning::Name(id) => {
                let span = self.program.name(id).span;
                if span.lo < span.hi { vec![span] } else { Vec::new() }
            }
            member => self.places(member).filter(|it| it.declares).map(|it| it.span).collect(),
        }
    }

    /// A place of the program as the protocol has it; none in a library that comes with the command.
    pub(super) fn location(&self, span: Span) -> Option<Value> {
        let (file, lo) = self.sources.locate(span.lo)?;
        let name = self.sources.name(file);
        if name.ends_with("(of raddle)") {
            return None;
        }
        let hi = lo + (span.hi - span.lo) as usize;
        let range = place::range(self.sources.text(file), lo, hi);
        Some(json!({ "uri": uri_of(name), "range": range }))
    }

    /// `name:line` for people.
    pub(super) fn line(&self, span: Span) -> String {
        self.sources.place(span.lo).map_or_else(String::new, |place| {
            let here = self.sources.name(self.root) == place.file;
            let file = Path::new(place.file).file_name().map(|it| it.to_string_lossy().into_owned());
            match file {
                Some(file) if !here => format!("{file}:{}", place.line),
                _ => format!("line {}", place.line),
            }
        })
    }
}

/// The name under which an editor knows a file; what it does not keep in one has that name here, too.
pub(super) fn uri_of(name: &str) -> String {
    if name.contains(':') && !name.starts_with('/') { name.to_owned() } else { place::uri(Path::new(name)) }
}
