//! Owns: what is shown of a name: how it is declared, what is written above it, and who is at the channel's other end.
//! May use: `network::ends`, `raddle-occam`.
//! Never: the place where it is shown.

use crate::network::{EndUse, EndUses, Partner};
use raddle_occam::ast::{Direction, Mode, Renaming};
use raddle_occam::program::{Body, Meaning, NameId, NameKind, RoutineId};
use raddle_occam::types::{Type, TypeId};

use super::place;
use super::seen::SeenProgram;

/// More users of a channel are counted only.
const USERS_MAX: usize = 8;

/// Markdown about a meaning.
pub(super) fn text(seen: &SeenProgram, of: Meaning) -> Option<String> {
    let (code, name) = match of {
        Meaning::Name(id) if seen.program.name(id).kind == NameKind::Error => return None,
        Meaning::Name(id) => (declaration(seen, id), Some(id)),
        Meaning::Member(ty, symbol) => (member(seen, ty, seen.program.symbols.text(symbol)), None),
    };
    let mut text = format!("```occam\n{code}\n```");
    if let Some(comment) = comment(seen, of) {
        text += &format!("\n\n{comment}");
    }
    if let Some(users) = name.and_then(|name| users(seen, name)) {
        text += &format!("\n\n{users}");
    }
    Some(text)
}

/// How a name is declared, on one line or, for a type, as it stands in the text.
pub(super) fn declaration(seen: &SeenProgram, id: NameId) -> String {
    let (program, name) = (&seen.program, seen.program.name(id));
    let spelt = program.spelling(id);
    let mode = |mode: Mode| match mode {
        Mode::Reference => "",
        Mode::Val => "VAL ",
        Mode::Initial => "INITIAL ",
        Mode::Result => "RESULT ",
    };
    match name.kind {
        NameKind::Error => spelt.to_owned(),
        NameKind::Variable => typed(seen, name.ty, spelt),
        NameKind::Formal(how) => format!("{}{}", mode(how), typed(seen, name.ty, spelt)),
        NameKind::Index => format!("INT {spelt}  -- a replicator's index"),
        NameKind::Abbreviation { mode: how, renaming, .. } => {
            let word = match renaming {
                Renaming::Is => "IS",
                Renaming::Retypes => "RETYPES",
                Renaming::Reshapes => "RESHAPES",
            };
            let value = program.values.get(&id.0).map_or("...".to_owned(), i64::to_string);
            format!("{}{} {word} {value}", mode(how), typed(seen, name.ty, spelt))
        }
        NameKind::Routine(routine) => heading(seen, routine),
        NameKind::Type => as_written(seen, id).unwrap_or_else(|| spelt.to_owned()),
    }
}

/// `CHAN INT c!`, where the sign belongs to the name.
fn typed(seen: &SeenProgram, ty: TypeId, name: &str) -> String {
    let types = &seen.program.types;
    let shown = types.show(ty, &seen.program.symbols);
    let channel = matches!(types.get(types.innermost(ty)), Type::Chan { direction: Some(_), .. });
    match shown.chars().last().filter(|_| channel) {
        Some(sign) => format!("{} {name}{sign}", &shown[..shown.len() - sign.len_utf8()]),
        None => format!("{shown} {name}"),
    }
}

fn heading(seen: &SeenProgram, routine: RoutineId) -> String {
    let (program, about) = (&seen.program, &seen.program.routines[routine.0 as usize]);
    let predefined = about.body == Body::Predefined;
    let formals = about.formals.iter().map(|&formal| match predefined {
        // They have no names.
        true => program.types.show(program.name(formal).ty, &program.symbols),
        false => declaration(seen, formal),
    });
    let formals = formals.collect::<Vec<_>>().join(", ");
    let results = about.results.iter().map(|&ty| program.types.show(ty, &program.symbols));
    let results = results.collect::<Vec<_>>().join(", ");
    let word = if results.is_empty() { "PROC".to_owned() } else { format!("{results} FUNCTION") };
    format!("{word} {} ({formals})", program.spelling(about.name))
}

/// A type's declaration, as it stands in the text.
fn as_written(seen: &SeenProgram, id: NameId) -> Option<String> {
    let span = seen.program.name(id).span;
    let (file, at) = seen.sources.locate(span.lo).filter(|_| span.lo < span.hi)?;
    let text = seen.sources.text(file);
    let start = place::line_start(text, at);
    let column = place::indent(&text[start..])?;
    let lines = text[start..place::extent(text, start)].lines().take(40);
    let shown = lines.map(|line| line.get(column..).unwrap_or("").trim_end());
    Some(shown.collect::<Vec<_>>().join("\n"))
}

fn member(seen: &SeenProgram, of: TypeId, name: &str) -> String {
    let (types, symbols) = (&seen.program.types, &seen.program.symbols);
    let owner = types.show(of, symbols);
    match types.get(of) {
        Type::Record(at) => {
            let field = types.records[at as usize].fields.iter().find(|it| symbols.text(it.name) == name);
            field.map_or(owner.clone(), |it| format!("{}  -- of {owner}", typed(seen, it.ty, name)))
        }
        Type::End { bundle, .. } => {
            let bundle = &types.bundles[bundle as usize];
            let field = bundle.fields.iter().find(|it| symbols.text(it.name) == name);
            let owner = symbols.text(bundle.name);
            field.map_or(owner.to_owned(), |it| {
                format!("{}  -- of {owner}, at the server", typed(seen, it.ty, name))
            })
        }
        Type::Protocol(at) => {
            let forms = &types.protocols[at as usize].forms;
            let form = forms.iter().find(|it| it.0.is_some_and(|tag| symbols.text(tag) == name));
            let items = form.map_or(&[][..], |it| &it.1);
            let items: String = items.iter().map(|&ty| format!("; {}", types.show(ty, symbols))).collect();
            format!("{name}{items}  -- of PROTOCOL {owner}")
        }
        _ => owner,
    }
}

fn comment(seen: &SeenProgram, of: Meaning) -> Option<String> {
    let &span = seen.declared(of).first()?;
    let (file, at) = seen.sources.locate(span.lo)?;
    let routine = matches!(of, Meaning::Name(id) if seen.program.routine_of(id).is_some());
    let kind = matches!(of, Meaning::Name(id) if seen.program.name(id).kind == NameKind::Type);
    let lines = place::comment_above(seen.sources.text(file), at);
    let words = lines.join("\n").trim().to_owned();
    (!words.is_empty() && (routine || kind)).then_some(words)
}

/// Who uses a channel: of one that is declared, both ends; of a parameter, who is at the other end.
fn users(seen: &SeenProgram, name: NameId) -> Option<String> {
    let program = &seen.program;
    let types = &program.types;
    let ty = types.immobile(types.innermost(types.immobile(program.name(name).ty)));
    if !matches!(types.get(ty), Type::Chan { .. } | Type::End { .. })
        || program.name(name).kind == NameKind::Type
    {
        return None;
    }
    let ends = EndUses::of(program);
    if let NameKind::Formal(_) = program.name(name).kind {
        let [input, output] = ends.directions(name);
        let mut parts = Vec::new();
        for (does, direction, word) in
            [(input, Direction::Input, "Written by"), (output, Direction::Output, "Read by")]
        {
            let partners = ends.partners(name, direction);
            if does && !partners.is_empty() {
                parts.push(format!("{word} {}", listed(partners.iter().map(|it| partner(seen, it)))));
            }
        }
        return (!parts.is_empty()).then(|| parts.join("\n\n"));
    }
    let of = |direction: Direction| {
        let uses = ends.uses(name).filter(|it| it.direction == direction).map(|it| used(seen, it));
        listed(uses)
    };
    let (written, read) = (of(Direction::Output), of(Direction::Input));
    let nobody = |text: String| if text.is_empty() { "nobody".to_owned() } else { text };
    Some(format!("Written by {}\n\nRead by {}", nobody(written), nobody(read)))
}

fn listed(parts: impl Iterator<Item = String>) -> String {
    let mut list: Vec<String> = Vec::new();
    parts.for_each(|part| {
        if !list.contains(&part) {
            list.push(part);
        }
    });
    let more = list.len().saturating_sub(USERS_MAX);
    list.truncate(USERS_MAX);
    if more > 0 {
        list.push(format!("{more} more"));
    }
    list.join(", ")
}

fn used(seen: &SeenProgram, used: &EndUse) -> String {
    let who = used.through.unwrap_or(used.by);
    let name = seen.program.spelling(seen.program.routines[who.0 as usize].name);
    format!("`{name}` ({})", seen.line(used.span))
}

fn partner(seen: &SeenProgram, partner: &Partner) -> String {
    match partner {
        Partner::Use(it) => used(seen, it),
        Partner::Outside(name) => format!("whoever runs the program (`{}`)", seen.program.spelling(*name)),
    }
}
