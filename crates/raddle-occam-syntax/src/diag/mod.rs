//! Owns: complaints as data: what, where, which rule, what to do.
//! May use: `source`.
//! Never: prints; rendering for people is the command line's, `render` here serves tests.
//!
//! Every stage is total: it hands on what it understood together with its complaints. A complaint has a stable code
//! (`O0703`) from the one table in `codes`, a message that says what was seen, the place, the other places that play
//! a part (each with its own label), and where possible one thing to try.

mod codes;
mod render;

pub use codes::{CODES, Code, CodeEntry};
pub use render::render;

use crate::source::Span;

/// Of what has more complaints than this, the rest is not looked at: nobody reads them, and they take memory.
pub const COMPLAINTS_MAX: usize = 1000;

/// How bad a complaint is. Only errors keep a program from running.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The program is not accepted.
    Error,
    /// The program is accepted; the author will want to know.
    Warning,
}

/// A place with what it has to do with the complaint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// Its part in the story; may be empty for the primary place.
    pub text: String,
}

/// A change of the text that a complaint advises.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// What is done, in a few words.
    pub title: String,
    /// What is replaced; nothing if it is empty.
    pub span: Span,
    /// By this.
    pub text: String,
}

/// One complaint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The stable code, and by it the rule and its long explanation.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// What was seen and what was expected, in one line.
    pub message: String,
    /// Where.
    pub primary: Label,
    /// The other places.
    pub secondary: Vec<Label>,
    /// Facts that explain it, such as a witness for a race.
    pub notes: Vec<String>,
    /// One thing to try.
    pub help: Option<String>,
    /// Changes of the text of which one may be what is meant.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// An error or warning (as the code's table entry says) with nothing but a message and a place.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.entry().severity,
            message: message.into(),
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
            fixes: Vec::new(),
        }
    }

    /// Says what the primary place has to do with it.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds the thing to try.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Adds a change of the text that may be what is meant.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        self.fixes.push(Fix { title: title.into(), span, text: text.into() });
        self
    }

    /// Whether it keeps the program from running.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
