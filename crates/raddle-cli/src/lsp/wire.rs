//! Owns: messages of the language server protocol as bytes: a header with the length, and JSON.
//! May use: `serde_json`.
//! Never: what a message means.

use std::io::{self, BufRead, Read as _, Write};

use serde_json::Value;

/// A message may have so many bytes at most; a file of occam has 64 MiB, of which JSON may make more.
const BYTES_MAX: u64 = 512 << 20;

/// What was read.
pub(super) enum Incoming {
    Message(Value),
    /// Bytes that are no JSON; the next message can be read all the same.
    Garbage(String),
    End,
}

/// The next message.
pub(super) fn read(input: &mut dyn BufRead) -> io::Result<Incoming> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let (mut length, mut begun) = (None, false);
    loop {
        let mut line = Vec::new();
        io::Read::take(&mut *input, 4096).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return if begun { Err(wrong("the input ends within a message")) } else { Ok(Incoming::End) };
        }
        begun = true;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(wrong("a message begins with lines such as `Content-Length: 12`"));
        };
        if name.eq_ignore_ascii_case("Content-Length") {
            length = value.trim().parse::<u64>().ok();
        }
    }
    let length = length.ok_or_else(|| wrong("a message has no Content-Length"))?;
    if length > BYTES_MAX {
        return Err(wrong("a message is longer than 512 MiB"));
    }
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Err(wrong("the input ends within a message"));
    }
    Ok(match serde_json::from_slice(&bytes) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::Garbage(error.to_string()),
    })
}

/// Writes a message.
pub(super) fn write(out: &mut dyn Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    write!(out, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    out.flush()
}

#[test]
fn messages_are_read_one_by_one() {
    let mut bytes: &[u8] =
        b"content-length: 2\r\nX: y\r\n\r\n{}Content-Length: 3\r\n\r\n{]}Content-Length: 9\r\n\r\n[]";
    assert!(matches!(read(&mut bytes), Ok(Incoming::Message(Value::Object(_)))));
    assert!(matches!(read(&mut bytes), Ok(Incoming::Garbage(_))));
    assert!(read(&mut bytes).is_err(), "it is cut off");
    assert!(matches!(read(&mut bytes), Ok(Incoming::End)));
    assert!(read(&mut &b"hello\r\n\r\n"[..]).is_err());
    assert!(read(&mut &b"Content-Length: 99999999999\r\n\r\n"[..]).is_err());
}
