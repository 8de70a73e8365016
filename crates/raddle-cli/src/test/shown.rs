//! Owns: how the bytes that a test wrote are shown.
//! May use: nothing.
//! Never: loses a byte.

/// Each line behind a bar; what cannot be seen is written as in occam.
pub(super) fn lines(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "  (nothing)\n".to_owned();
    }
    let mut text = String::from("  | ");
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' if at + 1 == bytes.len() => return text + "\n",
            b'\n' => text += "\n  | ",
            b' '..=b'~' => text.push(char::from(byte)),
            b'\t' => text += "*t",
            b'\r' => text += "*c",
            _ => text += &format!("*#{byte:02X}"),
        }
    }
    text + "  (no end of the line)\n"
}

#[test]
fn every_byte_is_seen() {
    assert_eq!(lines(b""), "  (nothing)\n");
    assert_eq!(lines(b"a\n\nb\t\x07\n"), "  | a\n  | \n  | b*t*#07\n");
    assert_eq!(lines(b"a"), "  | a  (no end of the line)\n");
}
