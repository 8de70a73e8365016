//! Owns: where a blank stands between two tokens of a line.
//! May use: `lex`, `operator::table`.
//! Never: columns.

use crate::lex::{Token, TokenKind};
use crate::operator::Dyadic;

/// What of the lines around must be known of a line that goes on in others.
pub(super) struct Logical {
    /// It declares something: `!` and `?` belong to types and names.
    declares: bool,
    before: Option<Token>,
    after: Option<Token>,
}

impl Logical {
    /// Of a line whose first and last rows have these tokens, the row between those two.
    pub(super) fn new(
        first: &[Token],
        last: &[Token],
        before: Option<Token>,
        after: Option<Token>,
    ) -> Logical {
        use TokenKind::*;
        let heading = matches!(first[0].kind, Proc | Rec | Recursive | Inline | Function);
        let declares = heading || last.last().is_some_and(|token| token.kind == Colon);
        Logical { declares, before, after }
    }
}

/// The tokens of a line with the blanks between them.
pub(super) fn written(text: &str, base: u32, tokens: &[Token], line: &Logical) -> String {
    let mut code = String::new();
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 && has_blank(tokens, at, line) {
            code.push(' ');
        }
        code += &text[(token.span.lo - base) as usize..(token.span.hi - base) as usize];
    }
    code
}

/// Whether a blank stands before the token of that number.
fn has_blank(tokens: &[Token], at: usize, line: &Logical) -> bool {
    use TokenKind::*;
    let (left, right) = (tokens[at - 1].kind, tokens[at].kind);
    match (left, right) {
        (_, Comma | Semi | Close | CloseSquare | Colon | Colons) => false,
        (Open | OpenSquare | Hashes | Colons, _) => false,
        (_, Bang | Question) if is_end(tokens, at, line) => false,
        (Bang | Question, OpenSquare) if is_end(tokens, at - 1, line) => false,
        _ if is_sign(tokens, at - 1, line) => is_symbol(right),
        (Integer | Hex | Real | Byte, Open) => false,
        (Name | CloseSquare | Close | Text, OpenSquare) => false,
        (CloseSquare, Chan | Mobile | Timer | Barrier | Shared | Port | Name) => false,
        (CloseSquare, _) => !right.is_basic_type(),
        _ => true,
    }
}

/// Whether `!` or `?` names an end of a channel, instead of communicating.
fn is_end(tokens: &[Token], at: usize, line: &Logical) -> bool {
    use TokenKind::*;
    if !matches!(tokens[at].kind, Bang | Question) {
        return false;
    }
    let before = at.checked_sub(1).map(|at| tokens[at].kind);
    let after = tokens.get(at + 1).or(line.after.as_ref()).map(|token| token.kind);
    let Some(after) = after else { return true };
    let stops = matches!(
        after,
        Comma | Close | CloseSquare | Colon | Semi | Is | From | For | Retypes | Reshapes | Assign
    );
    let computes = Dyadic::of(after).is_some() && !matches!(after, Minus | Operator | MinusWord | After);
    line.declares || stops || computes || before == Some(Shared)
}

/// Whether the token is an operator of one operand, written as a sign.
fn is_sign(tokens: &[Token], at: usize, line: &Logical) -> bool {
    use TokenKind::*;
    let before = at.checked_sub(1).map(|at| tokens[at].kind).or(line.before.map(|token| token.kind));
    let operand = before.is_some_and(|kind| {
        matches!(kind, Name | Integer | Hex | Real | Byte | Text | True | False | Close | CloseSquare)
            || kind.is_basic_type()
    });
    match tokens[at].kind {
        BitNotSign => true,
        Minus | Operator => !operand,
        _ => false,
    }
}

/// Whether it could become another sign together with one before it.
fn is_symbol(kind: TokenKind) -> bool {
    use TokenKind::*;
    let is_word = |text: &str| text.starts_with(|first: char| first.is_ascii_alphabetic());
    !matches!(kind, Open | OpenSquare | Name | Integer | Hex | Real | Byte | Text)
        && !is_word(kind.spelling())
}
