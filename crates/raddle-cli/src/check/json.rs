//! Owns: a diagnostic as one line of JSON, for editors and scripts.
//! May use: `raddle-occam`, `serde_json`.
//! Never: renaming or dropping a field, which scripts rely on; new ones may come.

use raddle_occam::diag::{Diagnostic, Label, Severity};
use raddle_occam::source::{Sources, Span};
use serde_json::{Value, json};

/// The diagnostic and a newline. Lines and columns count from 1, columns in characters; an end is exclusive.
pub(super) fn line(diagnostic: &Diagnostic, sources: &Sources) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut object = place(&diagnostic.primary, sources);
    object["code"] = diagnostic.code.to_string().into();
    object["severity"] = severity.into();
    object["message"] = diagnostic.message.as_str().into();
    object["secondary"] = diagnostic.secondary.iter().map(|label| place(label, sources)).collect();
    object["notes"] = diagnostic.notes.clone().into();
    object["help"] = diagnostic.help.clone().into();
    format!("{object}\n")
}

fn place(label: &Label, sources: &Sources) -> Value {
    let Span { lo, hi } = label.span;
    let from = sources.place(lo);
    // An end outside any text, or before the beginning, becomes the beginning.
    let to = sources.place(hi.max(lo)).or_else(|| from.clone());
    json!({
        "file": from.as_ref().map(|place| place.file),
        "line": from.as_ref().map(|place| place.line),
        "column": from.as_ref().map(|place| place.column),
        "end": to.map(|place| json!({ "line": place.line, "column": place.column })),
        "label": label.text,
    })
}

#[test]
fn a_complaint_is_one_line_whatever_it_says() {
    use raddle_occam::diag::Code;
    let mut sources = Sources::new();
    sources.add("a.occ", "SEQ\n  x := y\n").expect("short");
    let diagnostic = Diagnostic::new(Code::Undeclared, Span::new(6, 12), "two\nlines").help("\"quoted\"");
    let said = line(&diagnostic, &sources);
    assert_eq!(said.matches('\n').count(), 1);
    let value: Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!((&value["line"], &value["column"]), (&json!(2), &json!(3)));
    assert_eq!(value["end"], json!({ "line": 2, "column": 9 }));
    assert_eq!(value["help"], "\"quoted\"");
}
