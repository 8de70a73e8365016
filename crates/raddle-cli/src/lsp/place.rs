//! Owns: places as the protocol counts them, names of files as it spells them, and extents by indentation.
//! May use: `serde_json`.
//! Never: reads a file.
//!
//! A character is a unit of UTF-16. What lies beyond a line or a text is its end.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The byte at a position of the protocol.
pub(super) fn offset(text: &str, position: &Value) -> usize {
    let line = position["line"].as_u64().unwrap_or(0) as usize;
    let units = position["character"].as_u64().unwrap_or(0) as usize;
    let start = match line {
        0 => 0,
        _ => match text.match_indices('\n').nth(line - 1) {
            Some((at, _)) => at + 1,
            None => return text.len(),
        },
    };
    let content = text[start..].split('\n').next().unwrap_or("");
    let mut passed = 0;
    for (at, character) in content.char_indices() {
        if passed >= units {
            return start + at;
        }
        passed += character.len_utf16();
    }
    start + content.trim_end_matches('\r').len()
}

/// The position of a byte.
pub(super) fn position(text: &str, offset: usize) -> Value {
    let before = &text[..floor(text, offset)];
    let line = before.bytes().filter(|&it| it == b'\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": line, "character": before[start..].encode_utf16().count() })
}

/// The range of the bytes from `lo` to `hi`.
pub(super) fn range(text: &str, lo: usize, hi: usize) -> Value {
    json!({ "start": position(text, lo), "end": position(text, hi.max(lo)) })
}

/// A text of which many positions are asked for.
pub(super) struct Lined<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lined<'t> {
    pub(super) fn of(text: &'t str) -> Lined<'t> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|it| it.0 + 1)).collect();
        Lined { text, starts }
    }

    /// The number of the line that holds a byte.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }

    pub(super) fn position(&self, offset: usize) -> Value {
        let (line, offset) = (self.line(offset), floor(self.text, offset));
        let before = &self.text[self.starts[line].min(offset)..offset];
        json!({ "line": line, "character": before.encode_utf16().count() })
    }

    pub(super) fn range(&self, lo: usize, hi: usize) -> Value {
        json!({ "start": self.position(lo), "end": self.position(hi.max(lo)) })
    }

    /// For each line up to the one that holds a byte: how far left the lines between the two go at least.
    pub(super) fn least_between(&self, offset: usize) -> Vec<usize> {
        let last = self.line(offset);
        let mut list = vec![usize::MAX; last + 1];
        for line in (0..last).rev() {
            let below =
                if line + 1 < last { indent(self.whole(line + 1)).unwrap_or(usize::MAX) } else { usize::MAX };
            list[line] = list[line + 1].min(below);
        }
        list
    }

    /// A line.
    pub(super) fn whole(&self, line: usize) -> &'t str {
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        &self.text[self.starts[line]..end]
    }
}

fn floor(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The file that a `file:` name means.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let spelt = &rest[rest.find('/')?..];
    let mut bytes = Vec::new();
    let mut left = spelt.bytes();
    while let Some(byte) = left.next() {
        let hex = |digit: Option<u8>| char::from(digit?).to_digit(16);
        bytes.push(match byte {
            b'%' => (hex(left.next())? * 16 + hex(left.next())?) as u8,
            _ => byte,
        });
    }
    use std::os::unix::ffi::OsStringExt as _;
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

/// The name of a file as the protocol spells it.
pub(super) fn uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let spelt = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    format!("file://{}", absolute.as_os_str().as_bytes().iter().map(spelt).collect::<String>())
}

/// The columns before the first word of a line; none if the line is empty.
pub(super) fn indent(line: &str) -> Option<usize> {
    let rest = line.trim_start();
    (!rest.is_empty() && !rest.starts_with("--")).then(|| line.len() - rest.len())
}

/// The start of the line that holds a byte.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text[..floor(text, offset)].rfind('\n').map_or(0, |at| at + 1)
}

/// The end of what begins in the line at `start`: the lines further right, and the `:` below them.
pub(super) fn extent(text: &str, start: usize) -> usize {
    let start = line_start(text, start);
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().unwrap_or("");
    let column = indent(first).unwrap_or(0);
    let (mut at, mut end) = (start + first.len(), start + first.trim_end().len());
    for line in lines {
        match indent(line) {
            Some(here) if here <= column => {
                let closes = here == column && line.trim_start().starts_with(':');
                return if closes { at + column + 1 } else { end };
            }
            Some(_) => end = at + line.trim_end().len(),
            None => {}
        }
        at += line.len();
    }
    end
}

/// The comment lines right above a line.
pub(super) fn comment_above(text: &str, offset: usize) -> Vec<&str> {
    let mut lines: Vec<&str> = Vec::new();
    for line in text[..line_start(text, offset)].lines().rev() {
        match line.trim_start().strip_prefix("--") {
            Some(words) => lines.push(words.trim_matches('-').trim()),
            None => break,
        }
    }
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_units_of_utf16() {
        let text = "a\n\u{1F600}é = x\r\n";
        let end = json!({ "line": 1, "character": 3 });
        assert_eq!(offset(text, &end), 2 + 4 + 2);
        assert_eq!(position(text, 8), end);
        assert_eq!(offset(text, &json!({ "line": 1, "character": 99 })), text.len() - 2);
        assert_eq!(offset(text, &json!({ "line": 9, "character": 0 })), text.len());
        assert_eq!(position(text, 4), json!({ "line": 1, "character": 0 }), "half a character");
    }

    #[test]
    fn names_of_files_go_there_and_back() {
        let file = Path::new("/a b/\u{e9}%.occ");
        assert_eq!(uri(file), "file:///a%20b/%C3%A9%25.occ");
        assert_eq!(path(&uri(file)).as_deref(), Some(file));
        assert_eq!(path("untitled:Untitled-1"), None);
        assert_eq!(path("file:///%zz"), None);
    }

    #[test]
    fn an_extent_ends_with_its_colon() {
        let text = "-- one\n-- two\nPROC p ()\n\n  SKIP\n:\nVAL n IS 1:\n";
        let start = text.find("PROC").expect("it is there");
        assert_eq!(&text[start..extent(text, start)], "PROC p ()\n\n  SKIP\n:");
        assert_eq!(comment_above(text, start), ["one", "two"]);
        let start = text.find("VAL").expect("it is there");
        assert_eq!(&text[start..extent(text, start)], "VAL n IS 1:");
    }
}
