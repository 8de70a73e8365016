//! Owns: the texts under check and every position in them.
//! May use: nothing.
//! Never: reads a file; the caller hands texts in.
//!
//! All texts share one line of positions: a text added later starts where the one before it ended. A [`Span`] is
//! therefore two numbers, cheap to keep in every token and node, and still says which file it lies in.

use std::fmt;

/// A stretch of source text, as byte positions in the common line of [`Sources`]; `lo` is inside, `hi` is not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte.
    pub lo: u32,
    /// First byte after the stretch.
    pub hi: u32,
}

impl Span {
    /// The stretch from `lo` up to but not including `hi`.
    pub const fn new(lo: u32, hi: u32) -> Self {
        Self { lo, hi }
    }

    /// The smallest stretch that covers both.
    ///
    /// ```
    /// # use raddle_occam_syntax::source::Span;
    /// assert_eq!(Span::new(3, 5).to(Span::new(9, 10)), Span::new(3, 10));
    /// ```
    pub fn to(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}..{}", self.lo, self.hi)
    }
}

/// One text of a [`Sources`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileId(pub u32);

/// A place as people count it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceLocation<'s> {
    /// The name under which the text was added.
    pub file: &'s str,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The whole line, without its end.
    pub text: &'s str,
}

struct File {
    name: String,
    text: String,
    base: u32,
    line_starts: Vec<u32>,
}

/// Every text of one check.
#[derive(Default)]
pub struct Sources {
    files: Vec<File>,
    end: u32,
}

/// Added texts may hold this many bytes together; positions are 32 bits wide.
pub const SOURCE_BYTES_MAX: u32 = u32::MAX / 2;

impl Sources {
    /// No texts yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text under a name, or returns `None` when all texts together would exceed [`SOURCE_BYTES_MAX`].
    pub fn add(&mut self, name: &str, text: &str) -> Option<FileId> {
        let length = u32::try_from(text.len()).ok()?;
        let end = self.end.checked_add(length)?.checked_add(1)?;
        if end > SOURCE_BYTES_MAX {
            return None;
        }
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1)).collect();
        self.files.push(File { name: name.to_owned(), text: text.to_owned(), base: self.end, line_starts });
        self.end = end;
        Some(FileId(self.files.len() as u32 - 1))
    }

    /// The file added under this name, if there is one.
    pub fn find(&self, name: &str) -> Option<FileId> {
        self.files.iter().position(|file| file.name == name).map(|at| FileId(at as u32))
    }

    /// All files, in the order in which they were added.
    pub fn files(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..self.files.len() as u32).map(FileId)
    }

    /// The file that holds a position, and the byte of its text.
    pub fn locate(&self, position: u32) -> Option<(FileId, usize)> {
        let after = self.files.partition_point(|file| file.base <= position);
        let file = self.file_at(position)?;
        Some((FileId(after as u32 - 1), (position - file.base) as usize))
    }

    /// The text of a file.
    ///
    /// # Panics
    /// If `file` comes from another `Sources`.
    pub fn text(&self, file: FileId) -> &str {
        &self.files[file.0 as usize].text
    }

    /// The name under which a file was added.
    ///
    /// # Panics
    /// If `file` comes from another `Sources`.
    pub fn name(&self, file: FileId) -> &str {
        &self.files[file.0 as usize].name
    }

    /// Where a file's first byte stands in the common line.
    ///
    /// # Panics
    /// If `file` comes from another `Sources`.
    pub fn base(&self, file: FileId) -> u32 {
        self.files[file.0 as usize].base
    }

    /// The text of a span; empty where the span leaves its file.
    pub fn slice(&self, span: Span) -> &str {
        let Some(file) = self.file_at(span.lo) else { return "" };
        let (lo, hi) = ((span.lo - file.base) as usize, span.hi.saturating_sub(file.base) as usize);
        file.text.get(lo..hi).unwrap_or("")
    }

    /// The place of a position, or `None` when no text holds it.
    ///
    /// ```
    /// # use raddle_occam_syntax::source::Sources;
    /// let mut sources = Sources::new();
    /// sources.add("a.occ", "SEQ\n  SKIP\n");
    /// let place = sources.place(6).unwrap();
    /// assert_eq!((place.line, place.column, place.text), (2, 3, "  SKIP"));
    /// ```
    pub fn place(&self, position: u32) -> Option<SourceLocation<'_>> {
        let file = self.file_at(position)?;
        let at = position - file.base;
        let line = file.line_starts.partition_point(|&start| start <= at) - 1;
        let start = file.line_starts[line] as usize;
        let rest = &file.text[start..];
        let text = rest.split('\n').next().unwrap_or("").trim_end_matches('\r');
        let column = file.text.get(start..at as usize).map_or(1, |before| before.chars().count() as u32 + 1);
        Some(SourceLocation { file: &file.name, line: line as u32 + 1, column, text })
    }

    fn file_at(&self, position: u32) -> Option<&File> {
        let after = self.files.partition_point(|file| file.base <= position);
        let file = self.files.get(after.checked_sub(1)?)?;
        (position - file.base <= file.text.len() as u32).then_some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_say_which_file() {
        let mut sources = Sources::new();
        let first = sources.add("one", "ab\ncd").unwrap();
        let second = sources.add("two", "é = x\n").unwrap();
        assert_eq!(sources.base(first), 0);
        let base = sources.base(second);
        assert_eq!(sources.place(3).map(|at| (at.line, at.column)), Some((2, 1)));
        let place = sources.place(base + 3).unwrap();
        assert_eq!((place.file, place.line, place.column), ("two", 1, 3), "columns count characters");
        assert_eq!(sources.slice(Span::new(base, base + 2)), "é");
        assert_eq!(sources.slice(Span::new(base, base + 1)), "", "half a character is no text");
        assert!(sources.place(base + 100).is_none());
    }
}
