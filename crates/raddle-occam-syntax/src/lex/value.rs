//! Owns: the values of literals.
//! May use: nothing.
//! Never: complains; the scanner has seen the spelling already.

/// What the text between quotes says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByteText {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Byte offset, within the text, of the first escape that means nothing.
    pub bad_escape: Option<u32>,
}

/// The bytes of a string's inside, escapes replaced and line breaks between `*` and `*` removed.
///
/// ```
/// # use raddle_occam_syntax::lex::byte_text;
/// assert_eq!(byte_text("a*n*#7F*\n   *b").bytes, b"a\n\x7fb");
/// assert_eq!(byte_text("a*z").bad_escape, Some(1));
/// ```
pub fn byte_text(inside: &str) -> ByteText {
    let text = inside.as_bytes();
    let mut result = ByteText::default();
    let mut at = 0;
    while at < text.len() {
        let (byte, length) = match text[at] {
            b'*' => match escape(&text[at + 1..]) {
                Some((byte, length)) => (byte, length + 1),
                None => {
                    result.bad_escape = result.bad_escape.or(Some(at as u32));
                    (None, 2)
                }
            },
            byte => (Some(byte), 1),
        };
        result.bytes.extend(byte);
        at += length;
    }
    result
}

/// The byte and length of what follows a `*`.
fn escape(rest: &[u8]) -> Option<(Option<u8>, usize)> {
    let byte = match rest.first()? {
        b'c' | b'C' => 13,
        b'n' | b'N' => 10,
        b't' | b'T' => 9,
        b's' | b'S' => 32,
        b'\'' => b'\'',
        b'"' => b'"',
        b'*' => b'*',
        b'#' => {
            let digit = |at: usize| rest.get(at).and_then(|&byte| (byte as char).to_digit(16));
            return Some((Some((digit(1)? * 16 + digit(2)?) as u8), 3));
        }
        b'\n' | b'\r' => {
            let end = rest.iter().position(|&byte| byte == b'*')?;
            return rest[..end].iter().all(u8::is_ascii_whitespace).then_some((None, end + 1));
        }
        _ => return None,
    };
    Some((Some(byte), 1))
}

/// The value of a byte literal's inside, when it is exactly one byte.
pub fn parse_byte(inside: &str) -> Option<u8> {
    let text = byte_text(inside);
    match (text.bad_escape, text.bytes.as_slice()) {
        (None, &[byte]) => Some(byte),
        _ => None,
    }
}

/// The value of a decimal or (after `#`) hexadecimal number, when 64 bits hold it.
///
/// ```
/// # use raddle_occam_syntax::lex::parse_integer;
/// assert_eq!((parse_integer("#fF"), parse_integer("007")), (Some(255), Some(7)));
/// ```
pub fn parse_integer(text: &str) -> Option<u64> {
    match text.strip_prefix('#') {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The value of a real number, nearest even.
pub fn parse_real(text: &str) -> Option<f64> {
    text.parse().ok()
}
