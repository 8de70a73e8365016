//! Owns: answers to questions about a place: definition, uses, hover, outline, layout.
//! May use: `check::files`, `raddle-occam`, `serde_json`.
//! Never: changes a document.

use std::collections::BTreeMap;

use raddle_occam::ast::{Ident, SpecKind};
use raddle_occam::format::format;
use raddle_occam::program::{Meaning, NameKind};
use raddle_occam::source::{FileId, Sources};
use serde_json::{Value, json};

use super::seen::{SeenProgram, uri_of};
use super::state::Documents;
use super::{hover, place};

/// The document and the byte of a question about a place.
pub(super) fn asked(documents: &Documents, params: &Value) -> Option<(String, usize)> {
    let uri = params["textDocument"]["uri"].as_str()?;
    let document = documents.get(uri)?;
    Some((uri.to_owned(), place::offset(&document.text, &params["position"])))
}

/// What the word there means.
fn meaning<'d>(documents: &'d mut Documents, params: &Value) -> Option<(&'d SeenProgram, FileId, Meaning)> {
    let (uri, offset) = asked(documents, params)?;
    let (seen, file) = documents.seen(&uri)?;
    Some((seen, file, seen.at(file, offset)?.0))
}

pub(super) fn hover(documents: &mut Documents, params: &Value) -> Option<Value> {
    let (uri, offset) = asked(documents, params)?;
    let (seen, file) = documents.seen(&uri)?;
    let (of, span) = seen.at(file, offset)?;
    let lo = (span.lo - seen.sources.base(file)) as usize;
    let range = place::range(seen.sources.text(file), lo, lo + (span.hi - span.lo) as usize);
    Some(json!({ "contents": { "kind": "markdown", "value": hover::text(seen, of)? }, "range": range }))
}

pub(super) fn definition(documents: &mut Documents, params: &Value) -> Option<Value> {
    let (seen, _, of) = meaning(documents, params)?;
    Some(seen.declared(of).into_iter().filter_map(|span| seen.location(span)).collect())
}

pub(super) fn references(documents: &mut Documents, params: &Value) -> Option<Value> {
    let with_declaration = params["context"]["includeDeclaration"].as_bool().unwrap_or(true);
    let (seen, _, of) = meaning(documents, params)?;
    let places = seen.places(of).filter(|it| with_declaration || !it.declares);
    let mut list: Vec<Value> = Vec::new();
    for place in places.filter_map(|it| seen.location(it.span)) {
        if !list.contains(&place) {
            list.push(place);
        }
    }
    Some(Value::Array(list))
}

pub(super) fn highlights(documents: &mut Documents, params: &Value) -> Option<Value> {
    let uri = params["textDocument"]["uri"].clone();
    let (seen, _, of) = meaning(documents, params)?;
    let here = seen.places(of).filter_map(|it| seen.location(it.span)).filter(|it| it["uri"] == uri);
    Some(here.map(|it| json!({ "range": it["range"] })).collect())
}

/// The numbers of the protocol for kinds of symbols.
fn kind(spec: &SpecKind) -> Option<(Ident, u32)> {
    Some(match *spec {
        SpecKind::Proc { name, .. } | SpecKind::Function { name, .. } | SpecKind::Foreign { name, .. } => {
            (name, 12)
        }
        SpecKind::DataType { name, .. } | SpecKind::Record { name, .. } => (name, 23),
        SpecKind::Protocol { name, .. } | SpecKind::Bundle { name, .. } | SpecKind::ProcType { name, .. } => {
            (name, 11)
        }
        _ => return None,
    })
}

/// The outline: what is declared, one within the other.
pub(super) fn symbols(documents: &mut Documents, params: &Value) -> Option<Value> {
    let uri = params["textDocument"]["uri"].as_str()?.to_owned();
    let (seen, file) = documents.seen(&uri)?;
    let (text, base) = (seen.sources.text(file), seen.sources.base(file));
    let lined = place::Lined::of(text);
    let mut list = Vec::new();
    let outermost = &seen.program.ast.top;
    for (at, spec) in seen.program.ast.specs.iter().enumerate() {
        let found = kind(&spec.kind).or(match spec.kind {
            SpecKind::Abbreviate { name, .. } if outermost.iter().any(|it| it.0 as usize == at) => {
                Some((name, 14))
            }
            _ => None,
        });
        let Some((name, kind)) = found else { continue };
        let inside = (base..=base + text.len() as u32).contains(&name.span.lo) && name.span.lo < name.span.hi;
        if inside {
            let lo = (name.span.lo - base) as usize;
            let start = place::line_start(text, lo);
            let start = start + place::indent(&text[start..]).unwrap_or(0);
            list.push((start, place::extent(text, start), lo, (name.span.hi - base) as usize, kind));
        }
    }
    list.sort_unstable();
    list.dedup();
    let mut open: Vec<(usize, Value)> = Vec::new();
    let mut outline = Vec::new();
    let mut close = |open: &mut Vec<(usize, Value)>| {
        let Some((_, symbol)) = open.pop() else { return };
        match open.last_mut() {
            Some((_, parent)) => _ = parent["children"].as_array_mut().map(|it| it.push(symbol)),
            None => outline.push(symbol),
        }
    };
    for (start, end, lo, hi, kind) in list {
        while open.last().is_some_and(|(end, _)| *end <= start) {
            close(&mut open);
        }
        open.push((
            end,
            json!({
                "name": &text[lo..hi],
                "kind": kind,
                "range": lined.range(start, end.max(hi)),
                "selectionRange": lined.range(lo, hi),
                "children": [],
            }),
        ));
    }
    while !open.is_empty() {
        close(&mut open);
    }
    Some(Value::Array(outline))
}

/// The text in the one layout: one change, of the lines that differ; none of what is no program.
pub(super) fn formatted(documents: &Documents, params: &Value) -> Option<Value> {
    let document = documents.get(params["textDocument"]["uri"].as_str()?)?;
    let mut sources = Sources::new();
    let root = sources.add(&document.name, &document.text)?;
    let mut disk = crate::check::files::Disk::new(&documents.folders);
    let new = format(&mut sources, root, &mut disk).ok()?;
    let old = &document.text;
    let same = |pairs: &mut dyn Iterator<Item = (&str, &str)>| -> usize {
        pairs.take_while(|(old, new)| old == new).map(|(line, _)| line.len()).sum()
    };
    let head = same(&mut old.split_inclusive('\n').zip(new.split_inclusive('\n')));
    let (rest_old, rest_new) = (&old[head..], &new[head..]);
    let tail = same(&mut rest_old.split_inclusive('\n').rev().zip(rest_new.split_inclusive('\n').rev()));
    if rest_old == rest_new {
        return Some(json!([]));
    }
    let range = place::range(old, head, old.len() - tail);
    Some(json!([{ "range": range, "newText": &rest_new[..rest_new.len() - tail] }]))
}

/// The word under which something may be renamed.
pub(super) fn renamable(documents: &mut Documents, params: &Value) -> Option<Value> {
    let (uri, offset) = asked(documents, params)?;
    let (seen, file) = documents.seen(&uri)?;
    let (of, span) = seen.at(file, offset)?;
    may_be_renamed(seen, of).ok()?;
    let lo = (span.lo - seen.sources.base(file)) as usize;
    let text = seen.sources.text(file);
    let hi = lo + (span.hi - span.lo) as usize;
    Some(json!({ "range": place::range(text, lo, hi), "placeholder": &text[lo..hi] }))
}

fn may_be_renamed(seen: &SeenProgram, of: Meaning) -> Result<(), String> {
    let declared = seen.declared(of);
    if declared.is_empty() || declared.iter().any(|&span| seen.location(span).is_none()) {
        return Err("it is declared in a library".to_owned());
    }
    if let Meaning::Name(id) = of {
        let name = seen.program.name(id);
        let foreign = seen.program.routine_of(id).map(|it| &seen.program.routines[it.0 as usize].body);
        if name.kind == NameKind::Error || foreign == Some(&raddle_occam::program::Body::Foreign) {
            return Err("a foreign routine is called as its library has it".to_owned());
        }
        if seen.program.spelling(id).starts_with('"') {
            return Err("an operator is no name".to_owned());
        }
    }
    Ok(())
}

/// The changes by which something gets another name everywhere. Whether the program would still be the same one is
/// tried: each word must then mean what it means now.
pub(super) fn renamed(documents: &mut Documents, params: &Value) -> Result<Value, String> {
    let new = params["newName"].as_str().unwrap_or("").to_owned();
    let letters = new.chars().all(|it| it.is_ascii_alphanumeric() || it == '.');
    if !letters || !new.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Err("a name is a letter and then letters, digits and dots".to_owned());
    }
    if raddle_occam::lex::words().any(|word| word == new) {
        return Err(format!("`{new}` is one of occam's words"));
    }
    let none = || "there is no name here".to_owned();
    let (seen, _, of) = meaning(documents, params).ok_or_else(none)?;
    may_be_renamed(seen, of)?;
    let mut places: Vec<(FileId, usize, usize)> = Vec::new();
    for place in seen.places(of) {
        let (file, lo) = seen.sources.locate(place.span.lo).ok_or_else(none)?;
        let found = (file, lo, lo + (place.span.hi - place.span.lo) as usize);
        if !places.contains(&found) {
            places.push(found);
        }
    }
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut changes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for &(file, lo, hi) in places.iter().rev() {
        let (name, old) = (seen.sources.name(file), seen.sources.text(file));
        texts.entry(name.to_owned()).or_insert_with(|| old.to_owned()).replace_range(lo..hi, &new);
        let change = json!({ "range": place::range(old, lo, hi), "newText": new });
        changes.entry(uri_of(name)).or_default().push(change);
    }
    let root = seen.sources.name(seen.root).to_owned();
    let before = order(seen);
    let after = documents.trial(&root, &texts).map(|seen| order(&seen));
    if after != Some(before) {
        return Err(format!("with the name `{new}`, some word of the program would mean another thing"));
    }
    Ok(json!({ "changes": changes }))
}

/// What each word means, in the order of the text, and how much is wrong.
fn order(seen: &SeenProgram) -> (Vec<u32>, usize) {
    let number = |of: Meaning| match of {
        Meaning::Name(id) => id.0,
        Meaning::Member(ty, _) => u32::MAX - ty.0,
    };
    (seen.mentions.iter().map(|it| number(it.of)).collect(), seen.diagnostics.len())
}
