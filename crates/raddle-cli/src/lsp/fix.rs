//! Owns: the changes that messages advise.
//! May use: `raddle-occam`, `serde_json`.
//! Never: offers a change that leaves the mistake, or makes another one.

use std::collections::BTreeMap;

use raddle_occam::diag::Diagnostic;
use serde_json::{Value, json};

use super::place;
use super::seen::uri_of;
use super::state::{Documents, shown};

/// The changes for what is wrong in a range.
pub(super) fn actions(documents: &mut Documents, params: &Value) -> Option<Value> {
    let uri = params["textDocument"]["uri"].as_str()?.to_owned();
    let only = params["context"]["only"].as_array();
    if only
        .is_some_and(|list| !list.iter().any(|it| it.as_str().is_some_and(|it| "quickfix".starts_with(it))))
    {
        return Some(json!([]));
    }
    let (seen, file) = documents.seen(&uri)?;
    let text = seen.sources.text(file);
    let from = place::offset(text, &params["range"]["start"]);
    let to = place::offset(text, &params["range"]["end"]).max(from);
    let (from, to) = (place::line_start(text, from), to);
    let base = seen.sources.base(file);
    let near = |it: &&Diagnostic| {
        let lo = it.primary.span.lo.wrapping_sub(base) as usize;
        !it.fixes.is_empty() && (from..=to.max(from)).contains(&lo)
            || (lo < from && (it.primary.span.hi.wrapping_sub(base) as usize) > from && lo < text.len())
    };
    let root = seen.sources.name(seen.root).to_owned();
    let errors = |list: &[Diagnostic]| list.iter().filter(|it| it.is_error()).count();
    let before = (errors(&seen.diagnostics), seen.diagnostics.len());
    let mut offers = Vec::new();
    for diagnostic in seen.diagnostics.iter().filter(near) {
        for fix in &diagnostic.fixes {
            let Some((file, lo)) = seen.sources.locate(fix.span.lo) else { continue };
            let (name, old) = (seen.sources.name(file), seen.sources.text(file));
            let hi = lo + (fix.span.hi - fix.span.lo) as usize;
            if name.ends_with("(of raddle)") || old.get(lo..hi).is_none() {
                continue;
            }
            let mut new = old.to_owned();
            new.replace_range(lo..hi, &fix.text);
            let edit = json!({ "range": place::range(old, lo, hi), "newText": fix.text });
            let about = shown(diagnostic, seen).map(|it| it.1);
            offers.push((fix.title.clone(), name.to_owned(), new, edit, about));
        }
    }
    let mut list = Vec::new();
    for (title, name, new, edit, about) in offers {
        let after = documents.trial(&root, &BTreeMap::from([(name.clone(), new)]));
        let helps = after.is_some_and(|after| {
            let now = (errors(&after.diagnostics), after.diagnostics.len());
            // One mistake may hide others, which must not keep its change from being offered.
            now < before
                || !after.diagnostics.iter().any(|it| Some(&it.message) == first_line(&about).as_ref())
        });
        if helps {
            list.push(json!({
                "title": title,
                "kind": "quickfix",
                "diagnostics": about.into_iter().collect::<Vec<_>>(),
                "edit": { "changes": { uri_of(&name): [edit] } },
            }));
        }
    }
    Some(Value::Array(list))
}

/// The message of a complaint, without notes.
fn first_line(about: &Option<Value>) -> Option<String> {
    about.as_ref()?["message"].as_str()?.lines().next().map(str::to_owned)
}
