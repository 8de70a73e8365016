//! Owns: what may stand where one types.
//! May use: `raddle-occam`, `serde_json`.
//! Never: knows a grammar; what is in scope follows from the indentation, which holds in half a line, too.

use std::collections::BTreeSet;

use raddle_occam::program::{Body, NameId, NameKind};
use raddle_occam::source::FileId;
use raddle_occam::symbol::Symbol;
use raddle_occam::types::{Type, TypeId};
use serde_json::{Value, json};

use super::seen::SeenProgram;
use super::{hover, place};

/// The numbers of the protocol for kinds of items.
const FIELD: u32 = 5;
const KEYWORD: u32 = 14;
const FILE: u32 = 17;
const TAG: u32 = 20;

/// The list for a byte of a file.
pub(super) fn list(seen: &SeenProgram, file: FileId, offset: usize) -> Value {
    let text = seen.sources.text(file);
    let start = place::line_start(text, offset);
    let line = &text[start..offset];
    if line.contains("--") {
        return json!([]);
    }
    let directive = ["#INCLUDE", "#USE"].iter().any(|word| line.trim_start().starts_with(word));
    if directive {
        let libraries = raddle_occam::library_names();
        return libraries.map(|name| item(name, FILE, "a library that comes with raddle")).collect();
    }
    if line.matches('"').count() % 2 == 1 {
        return json!([]);
    }
    let word = line.trim_end_matches(|it: char| it.is_ascii_alphanumeric() || it == '.');
    if let Some(fields) = fields(seen, file, offset, word.trim_end()) {
        return fields;
    }
    let mut items = Vec::new();
    items.extend(tags(seen, file, offset, word));
    let mut known = BTreeSet::new();
    for id in in_scope(seen, file, offset) {
        let spelt = seen.program.spelling(id);
        if known.insert(spelt.to_owned()) {
            let kind = match seen.program.name(id).kind {
                NameKind::Routine(_) => 3,
                NameKind::Type => 22,
                NameKind::Abbreviation { .. } => 21,
                _ => 6,
            };
            let declared = hover::declaration(seen, id);
            items.push(item(spelt, kind, declared.lines().next().unwrap_or("")));
        }
    }
    items.extend(raddle_occam::lex::words().map(|word| item(word, KEYWORD, "")));
    Value::Array(items)
}

fn item(label: &str, kind: u32, detail: &str) -> Value {
    json!({ "label": label, "kind": kind, "detail": detail })
}

/// The names that are in scope at a byte, the nearest first.
fn in_scope(seen: &SeenProgram, file: FileId, offset: usize) -> Vec<NameId> {
    let (text, base) = (seen.sources.text(file), seen.sources.base(file));
    let outer: BTreeSet<u32> = (0..seen.program.names.len() as u32)
        .filter(|&at| {
            let name = seen.program.name(NameId(at));
            let elsewhere = name.span.lo < base || name.span.lo > base + text.len() as u32;
            // Other files are included further up; what they declare within a PROC is theirs.
            let theirs = name.level > 0 || matches!(name.kind, NameKind::Formal(_) | NameKind::Index);
            elsewhere && !theirs
        })
        .collect();
    let above = Above::of(text, offset);
    let mut list: Vec<NameId> = Vec::new();
    for at in (0..seen.program.names.len() as u32).rev() {
        let name = seen.program.name(NameId(at));
        let written = name.span.lo < name.span.hi && name.kind != NameKind::Error;
        let routine = seen.program.routine_of(NameId(at));
        let operator = seen.program.spelling(NameId(at)).starts_with('"');
        let predefined =
            routine.is_some_and(|it| seen.program.routines[it.0 as usize].body == Body::Predefined);
        if !written || operator || predefined {
            continue;
        }
        let lo = name.span.lo.wrapping_sub(base) as usize;
        // A PROC is known behind its end; in it, if it is recursive.
        let within = |it: usize| {
            !seen.program.routines[it].recursive && lo < offset && offset < place::extent(text, lo)
        };
        if routine.is_some_and(|it| within(it.0 as usize)) {
            continue;
        }
        let inner = matches!(name.kind, NameKind::Formal(_) | NameKind::Index);
        if outer.contains(&at) || (lo < offset && lo < text.len() && above.reaches(lo, inner)) {
            list.push(NameId(at));
        }
    }
    list
}

/// What is known of the lines above the one where one types.
struct Above<'t> {
    lined: place::Lined<'t>,
    least: Vec<usize>,
    here: usize,
    typed: usize,
}

impl Above<'_> {
    fn of(text: &str, offset: usize) -> Above<'_> {
        let lined = place::Lined::of(text);
        let here = lined.line(offset);
        let written = &text[place::line_start(text, offset)..offset];
        let typed = written.len() - written.trim_start().len();
        Above { least: lined.least_between(offset), lined, here, typed }
    }

    /// Whether what is declared at a byte is in scope: no line between stands further left, nor, of a parameter or an
    /// index, as far left as its heading.
    fn reaches(&self, lo: usize, inner: bool) -> bool {
        let line = self.lined.line(lo);
        let Some(column) = place::indent(self.lined.whole(line)) else { return false };
        if line >= self.here {
            return line == self.here && inner;
        }
        let least = column + usize::from(inner);
        self.least[line] >= least && self.typed >= least
    }
}

/// The name that ends a piece of text, as it is known there.
fn name_before(seen: &SeenProgram, file: FileId, offset: usize, before: &str) -> Option<NameId> {
    let begin = before.rfind(|it: char| !it.is_ascii_alphanumeric() && it != '.').map_or(0, |at| at + 1);
    let word = &before[begin..];
    let symbol = seen.program.symbols.find(word)?;
    in_scope(seen, file, offset).into_iter().find(|&id| seen.program.name(id).symbol == symbol)
}

/// Behind `record[`: its fields.
fn fields(seen: &SeenProgram, file: FileId, offset: usize, before: &str) -> Option<Value> {
    let name = name_before(seen, file, offset, before.strip_suffix('[')?)?;
    let types = &seen.program.types;
    let fields = match types.get(types.plain(seen.program.name(name).ty)) {
        Type::Record(at) => &types.records[at as usize].fields,
        Type::End { bundle, .. } => &types.bundles[bundle as usize].fields,
        _ => return None,
    };
    let symbols = &seen.program.symbols;
    Some(fields.iter().map(|it| item(symbols.text(it.name), FIELD, &types.show(it.ty, symbols))).collect())
}

/// Behind `channel ! `, and where a variant of `? CASE` begins: tags.
fn tags(seen: &SeenProgram, file: FileId, offset: usize, before: &str) -> Vec<Value> {
    let types = &seen.program.types;
    let of = |protocol: TypeId| -> Vec<Value> {
        let Type::Protocol(at) = types.get(protocol) else { return Vec::new() };
        let forms = types.protocols[at as usize].forms.iter();
        forms.filter_map(|(tag, items)| Some(tag_item(seen, (*tag)?, items))).collect()
    };
    let Some(rest) = before.trim_end().strip_suffix('!') else { return Vec::new() };
    let Some(name) = name_before(seen, file, offset, rest.trim_end()) else { return Vec::new() };
    match types.get(types.innermost(seen.program.name(name).ty)) {
        Type::Chan { protocol, .. } => of(protocol),
        _ => Vec::new(),
    }
}

fn tag_item(seen: &SeenProgram, tag: Symbol, items: &[TypeId]) -> Value {
    let (types, symbols) = (&seen.program.types, &seen.program.symbols);
    let shown: Vec<String> = items.iter().map(|&ty| types.show(ty, symbols)).collect();
    item(symbols.text(tag), TAG, &shown.join("; "))
}
