//! Owns: the HTML page of a trace, and pictures: Rust computes the figures, the scripts only draw.
//! May use: `analysis`, `event`, `log`, `flate2`, `serde_json`.
//! Never: network access, a font file, a second file.
//!
//! The data are columns of variable-length numbers, compressed and written as text into the page: 6 to 8 bytes an
//! event. The page unpacks them with the browser's own `DecompressionStream`, which works from `file://` too.

mod base64;
mod columns;
mod graph;
pub mod heap;

pub use graph::graph;

use crate::analysis::{Analysis, Class, json, label, report};
use crate::log::Log;
use columns::Columns;
use serde_json::json;
use std::collections::HashMap;
use std::io::Write as _;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// One script: the data, the drawing, the controls.
const SCRIPT: &str = concat!(include_str!("data.js"), include_str!("draw.js"), include_str!("script.js"));

/// The page. `title` is shown on top, usually the file's name.
pub fn page(log: &Log, analysis: &Analysis, title: &str) -> String {
    let names: Vec<String> = columns::threads(analysis).into_iter().map(|thread| log.name(thread)).collect();
    let mut labels: Vec<String> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let label_of = names.iter().map(|name| {
        *places.entry(label(name).into_owned()).or_insert_with_key(|label| {
            labels.push(label.clone());
            labels.len() - 1
        })
    });
    let label_of: Vec<usize> = label_of.collect();
    let strings: Vec<String> =
        columns::strings(log, analysis).into_iter().map(|string| log.string(string)).collect();
    let facts = json!({
        "title": title,
        "stats": json(log, analysis),
        "report": report(log, analysis),
        "begin": log.begin_ns,
        "end": log.end_ns,
        "classes": Class::ALL.map(|class| json!({ "name": class.name(), "words": class.words() })),
        "decades": crate::analysis::Decades::NAMES,
        "reasons": crate::StopReason::ALL.map(crate::StopReason::words),
        "still_ready": crate::StopReason::ALL.map(crate::StopReason::is_ready),
        "names": names,
        "labels": labels,
        "label_of": label_of,
        "strings": strings,
    });
    // The only character that could end the enclosing element.
    let facts = facts.to_string().replace('<', "\\u003c");
    let data = base64::encode(&compressed(&Columns::of(log, analysis).bytes()));
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let parts = [
        ("@TITLE@", title.as_str()),
        ("@STYLE@", STYLE),
        ("@FACTS@", &facts),
        ("@DATA@", &data),
        ("@SCRIPT@", SCRIPT),
    ];
    fill(PAGE, &parts)
}

/// Replaces each mark in the template once; the parts themselves are not searched for marks.
fn fill(page: &str, parts: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(page.len() + parts.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = page;
    while let Some((at, mark, text)) = parts
        .iter()
        .filter_map(|(mark, text)| Some((rest.find(mark)?, *mark, *text)))
        .min_by_key(|found| found.0)
    {
        out.push_str(&rest[..at]);
        out.push_str(text);
        rest = &rest[at + mark.len()..];
    }
    out.push_str(rest);
    out
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(5));
    // Writing to a vector cannot fail.
    let written = out.write_all(bytes).and_then(|()| out.finish());
    written.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{IdleCause, StopReason};
    use crate::log::tests::Script;

    #[test]
    fn a_page_is_one_file_and_no_name_can_break_out_of_it() {
        let mut script = Script::new(2, 1000);
        script.name(1, "</script><script>alert(1)</script>@DATA@").switch(0, 0, StopReason::None, 1);
        script.switch(0, 900, StopReason::Exit, 0).idle(1, 0, 1000, IdleCause::Stop);
        let log = script.log();
        let page = page(&log, &Analysis::of(&log), "a<b>.rdt");
        assert!(page.contains("a&lt;b&gt;.rdt") || page.contains("a&lt;b>.rdt"));
        assert!(!page.contains("<script>alert"), "a name was not escaped");
        for mark in ["@TITLE@", "@STYLE@", "@FACTS@", "@SCRIPT@", "http://", "https://"] {
            assert!(!page.contains(mark), "{mark} is in the page");
        }
        assert_eq!(page.matches("</script>").count(), 3);
    }

    #[test]
    fn a_million_events_take_few_bytes_each() {
        let mut script = Script::new(2, 0);
        let mut ns = 0;
        for step in 0..50_000_u64 {
            let worker = (step % 2) as u32;
            ns += 900 + step * 7919 % 500;
            script.switch(worker, ns, StopReason::Receive, (step % 2000) as u32 + 1);
            script.wake(worker, ns + 300 + step * 31 % 97, ((step + 1) % 2000) as u32 + 1, 1 - worker as u8);
        }
        let log = script.log();
        let analysis = Analysis::of(&log);
        let bytes = compressed(&Columns::of(&log, &analysis).bytes()).len() * 4 / 3;
        let each = bytes as f64 / 100_000.0;
        assert!(each <= 8.0, "{each:.2} bytes an event");
    }
}
