//! Owns: the kinds of token, and the table of words and symbols.
//! May use: `source`, `symbol`.
//! Never: grammar.

use crate::source::Span;
use crate::symbol::Symbol;

macro_rules! kinds {
    (
        special { $($special:ident $shown:literal)* }
        symbols { $($symbol:ident $sign:literal)* }
        words { $($word:ident $text:literal)* }
    ) => {
        /// What a token is.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum TokenKind {
            $(#[doc = $shown] $special,)*
            $(#[doc = $sign] $symbol,)*
            $(#[doc = $text] $word,)*
        }

        impl TokenKind {
            /// How the kind is named in messages.
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$special => $shown,)*
                    $(Self::$symbol => concat!("`", $sign, "`"),)*
                    $(Self::$word => concat!("`", $text, "`"),)*
                }
            }

            /// The reserved word that is spelt so.
            pub(super) fn word(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$word),)*
                    _ => None,
                }
            }

            /// How it is written, if that is always the same; else what it is.
            pub(crate) const fn spelling(self) -> &'static str {
                match self {
                    $(Self::$special => $shown,)*
                    $(Self::$symbol => $sign,)*
                    $(Self::$word => $text,)*
                }
            }

            /// Every reserved word.
            pub(super) const WORDS: &'static [&'static str] = &[$($text),*];

            /// Every symbol with its spelling.
            pub(super) const SYMBOLS: &'static [(&'static str, Self)] = &[$(($sign, Self::$symbol),)*];
        }
    };
}

kinds! {
    special {
        End "the end of the text"
        Newline "the end of the line"
        Indent "an indented line"
        Outdent "the end of an indented block"
        Directive "a directive"
        Name "a name"
        Integer "a number"
        Hex "a hexadecimal number"
        Real "a real number"
        Byte "a byte literal"
        Text "a string"
        Operator "an operator for programs to define"
        Unknown "an unknown character"
    }
    symbols {
        Assign ":=" Colons "::" Colon ":" Semi ";" Comma "," Open "(" Close ")" OpenSquare "[" CloseSquare "]"
        QuestionTwo "??" Question "?" Bang "!" Ampersand "&" Bar "|" Hashes "##"
        Plus "+" Minus "-" Star "*" Slash "/" Backslash "\\" BitAndSign "/\\" BitOrSign "\\/" BitXor "><" BitNotSign "~"
        ShiftLeft "<<" ShiftRight ">>" Equal "=" NotEqual "<>" LessEqual "<=" GreaterEqual ">=" Less "<" Greater ">"
    }
    words {
        After "AFTER" Alt "ALT" And "AND" Any "ANY" Asm "ASM" At "AT" Barrier "BARRIER" BitAnd "BITAND" BitNot "BITNOT"
        BitOr "BITOR" Bool "BOOL" ByteType "BYTE" BytesIn "BYTESIN" Case "CASE" Chan "CHAN" Claim "CLAIM" Clone "CLONE"
        Data "DATA" Defined "DEFINED" Else "ELSE" Enroll "ENROLL" Extends "EXTENDS" False "FALSE" For "FOR" Fork "FORK"
        Forking "FORKING" From "FROM" Function "FUNCTION" Guy "GUY" If "IF" In "IN" Initial "INITIAL" Inline "INLINE"
        Int "INT" Int16 "INT16" Int32 "INT32" Int64 "INT64" Is "IS" MinusWord "MINUS" Mobile "MOBILE" MostNeg "MOSTNEG"
        MostPos "MOSTPOS" Not "NOT" Of "OF" OffsetOf "OFFSETOF" Or "OR" Packed "PACKED" Par "PAR" Place "PLACE"
        Placed "PLACED" PlusWord "PLUS" Port "PORT" Pri "PRI" Proc "PROC" Processor "PROCESSOR" Protocol "PROTOCOL"
        Real32 "REAL32" Real64 "REAL64" Rec "REC" Record "RECORD" Recursive "RECURSIVE" Rem "REM" Reshapes "RESHAPES"
        Resign "RESIGN" Result "RESULT" Retypes "RETYPES" Round "ROUND" Seq "SEQ" Shared "SHARED" Size "SIZE"
        Skip "SKIP" Step "STEP" Stop "STOP" Suspend "SUSPEND" Sync "SYNC" Timer "TIMER" Times "TIMES" True "TRUE"
        Trunc "TRUNC" Type "TYPE" Uint "UINT" Uint16 "UINT16" Uint32 "UINT32" Uint64 "UINT64" Uint8 "UINT8" Val "VAL"
        Valof "VALOF" Vecspace "VECSPACE" While "WHILE" Workspace "WORKSPACE"
    }
}

/// One token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// The number of a name, a directive, or (in quotes) a definable operator; otherwise 0.
    pub symbol: Symbol,
    /// Where it stands.
    pub span: Span,
}

impl TokenKind {
    /// Whether it begins one of the predefined types' names.
    pub fn is_basic_type(self) -> bool {
        use TokenKind::*;
        matches!(
            self,
            Bool | ByteType
                | Int
                | Int16
                | Int32
                | Int64
                | Uint
                | Uint8
                | Uint16
                | Uint32
                | Uint64
                | Real32
                | Real64
        )
    }
}
