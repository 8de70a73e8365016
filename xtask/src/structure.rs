//! Owns: the structure of every crate in figures, as `cargo xtask structure` shows it.
//! May use: `graph`, `report`, `tree`, `anyhow`.
//! Never: judging; the rules in `tidy` do.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::graph::Graph;
use crate::graph::circles::{circles, upward};
use crate::{report, tree};

/// The figures of one crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) lines: usize,
    pub(crate) files: usize,
    /// Folders and files directly below the root.
    pub(crate) rooms: usize,
    /// Between those.
    pub(crate) arrows: usize,
    pub(crate) upward: usize,
    /// The most top-level modules that all reach each other.
    pub(crate) room_circle: usize,
    /// The most files that all reach each other.
    pub(crate) file_circle: usize,
}

/// The top-level modules of a crate by name, and the arrows between them. The root is none of them.
pub(crate) struct Rooms {
    pub(crate) names: Vec<String>,
    /// Numbers of rooms, and the first arrow between files that makes it.
    pub(crate) arrows: Vec<(usize, usize, crate::graph::Arrow)>,
}

impl Rooms {
    pub(crate) fn of(graph: &Graph) -> Rooms {
        let files = graph.modules.files.iter().filter(|file| !file.test);
        let names: BTreeSet<_> = files.filter_map(|file| file.module.first().cloned()).collect();
        let names: Vec<_> = names.into_iter().collect();
        let room = |file: usize| {
            let first = graph.path(file).first()?;
            names.iter().position(|name| name == first)
        };
        let (mut seen, mut arrows) = (BTreeSet::new(), Vec::new());
        for arrow in graph.counted() {
            if let (Some(from), Some(to)) = (room(arrow.from), room(arrow.to))
                && from != to
                && seen.insert((from, to))
            {
                arrows.push((from, to, arrow));
            }
        }
        Rooms { names, arrows }
    }

    pub(crate) fn pairs(&self) -> Vec<(usize, usize)> {
        self.arrows.iter().map(|(from, to, _)| (*from, *to)).collect()
    }

    /// Each set of top-level modules that all reach each other, as numbers.
    pub(crate) fn circles(&self) -> Vec<Vec<usize>> {
        circles(self.names.len(), &self.pairs())
    }
}

/// Each set of files that all reach each other, as indices of files.
pub(crate) fn file_circles(graph: &Graph) -> Vec<Vec<usize>> {
    let arrows: Vec<_> = graph.counted().map(|arrow| (arrow.from, arrow.to)).collect();
    circles(graph.modules.files.len(), &arrows)
}

impl Figures {
    pub(crate) fn of(graph: &Graph) -> Figures {
        let rooms = Rooms::of(graph);
        let largest = |circles: &[Vec<usize>]| circles.first().map_or(0, Vec::len);
        Figures {
            lines: graph.modules.files.iter().map(|file| file.lines).sum(),
            files: graph.modules.files.len(),
            rooms: rooms.names.len(),
            arrows: rooms.arrows.len(),
            upward: upward(rooms.names.len(), &rooms.pairs()),
            room_circle: largest(&rooms.circles()),
            file_circle: largest(&file_circles(graph)),
        }
    }
}

/// Prints the table.
pub(crate) fn show() -> anyhow::Result<()> {
    let graphs = Graph::all(&tree::files())?;
    let rows: Vec<_> = graphs.iter().map(|graph| (graph.package.name.as_str(), Figures::of(graph))).collect();
    report::say(&table(&rows));
    Ok(())
}

fn table(rows: &[(&str, Figures)]) -> String {
    let mut text = String::from(
        "| crate | lines | files | top modules | arrows between them | upward \
         | largest circle of top modules | of files |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for (name, figures) in rows {
        let Figures { lines, files, rooms, arrows, upward, room_circle, file_circle } = figures;
        let _ = writeln!(
            text,
            "| {name} | {lines} | {files} | {rooms} | {arrows} | {upward} | {room_circle} | {file_circle} |"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::graph_of;

    #[test]
    fn a_crate_is_counted() {
        let graph = graph_of(&[
            ("lib.rs", "mod a; mod b; mod c;\npub use a::A;\n"),
            ("a.rs", "use crate::b::B;\npub struct A;\n"),
            ("b/mod.rs", "mod x; mod y; pub struct B;"),
            ("b/x.rs", "use super::y; use super::B; use crate::A;"),
            ("b/y.rs", "use super::x;"),
            ("c.rs", "use crate::a;"),
        ]);
        let expected =
            Figures { lines: 8, files: 6, rooms: 3, arrows: 3, upward: 1, room_circle: 2, file_circle: 2 };
        assert_eq!(Figures::of(&graph), expected);
        assert!(table(&[("a", expected)]).ends_with("| a | 8 | 6 | 3 | 3 | 1 | 2 | 2 |\n"));
    }
}
