//! Owns: the HTML page of a heap profile: which calls have allocated what is in use.
//! May use: `serde_json`.
//! Never: network access, a second file; reading the profile, which is for who knows the program's files.

use serde_json::{Value, json};
use std::collections::BTreeMap;

const PAGE: &str = include_str!("heap.html");

/// Calls that led to allocations, the outermost first, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapSite {
    /// The functions.
    pub calls: Vec<String>,
    /// Bytes and blocks in use.
    pub bytes: u64,
    /// See there.
    pub blocks: u64,
    /// Bytes and blocks that were ever allocated.
    pub all_bytes: u64,
    /// See there.
    pub all_blocks: u64,
}

/// What some calls have led to, and which calls they made.
#[derive(Default)]
struct CallNode {
    figures: [u64; 4],
    calls: BTreeMap<String, CallNode>,
}

impl CallNode {
    fn add(&mut self, calls: &[String], figures: [u64; 4]) {
        self.figures.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
        if let Some((first, others)) = calls.split_first() {
            self.calls.entry(first.clone()).or_default().add(others, figures);
        }
    }

    fn json(&self, name: &str) -> Value {
        let mut calls: Vec<_> = self.calls.iter().collect();
        calls.sort_by_key(|(_, node)| std::cmp::Reverse(node.figures[0]));
        let calls: Vec<_> = calls.into_iter().map(|(name, node)| node.json(name)).collect();
        json!({ "n": name, "f": self.figures, "c": calls })
    }
}

/// The page. `title` is shown on top, usually the file's name.
pub fn page(sites: &[HeapSite], title: &str) -> String {
    let mut root = CallNode::default();
    sites.iter().for_each(|site| {
        root.add(&site.calls, [site.bytes, site.blocks, site.all_bytes, site.all_blocks]);
    });
    // The only character that could end the enclosing element.
    let facts = json!({ "title": title, "root": root.json("all") }).to_string().replace('<', "\\u003c");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    // The facts come last: what stands in them is no mark.
    PAGE.replace("@TITLE@", &title).replace("@FACTS@", &facts)
}

#[test]
fn sums_stand_at_each_call_and_nothing_ends_the_page() {
    let site = |calls: &[&str], bytes| HeapSite {
        calls: calls.iter().map(|call| (*call).to_owned()).collect(),
        bytes,
        blocks: 1,
        all_bytes: bytes * 2,
        all_blocks: 2,
    };
    let page = page(&[site(&["main", "</script>"], 100), site(&["main", "b"], 50)], "a<b");
    assert!(page.contains(r#""f":[150,2,300,4],"n":"main""#), "{page}");
    assert!(page.contains(r"\u003c/script>") && page.contains("a&lt;b"));
}
