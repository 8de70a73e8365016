//! Owns: the numbered lists beside the instructions: run-time errors, functions on reals, predefined routines.
//! May use: nothing.
//! Never: computes.

use alloc::string::String;

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal $what:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum $name {
            $(#[doc = $what] $variant,)*
        }

        impl $name {
            /// Every one, by number.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The one of that number.
            pub fn from_number(number: i32) -> Option<$name> {
                usize::try_from(number).ok().and_then(|at| $name::ALL.get(at)).copied()
            }

            /// In words.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// In more words.
            pub const fn what(self) -> &'static str {
                match self { $($name::$variant => $what,)* }
            }
        }
    };
}

numbered! {
    /// What can go wrong while a program runs.
    Trap {
        Stop = "STOP" "the process came to a STOP";
        Overflow = "overflow" "the result does not fit into its type";
        Division = "division by zero" "the divisor is zero";
        Range = "out of range" "the value does not fit into the type that it is converted to";
        Subscript = "subscript out of range" "a subscript is negative or beyond the array's end";
        Slice = "slice out of range" "a slice reaches beyond the array";
        Size = "sizes differ" "two arrays that must have equal sizes have not";
        Shift = "shift out of range" "a shift by less than none or more than all bits";
        Count = "negative count" "a replicator's count is negative";
        If = "no choice of the IF" "no condition of an IF is true";
        Case = "no option of the CASE" "no option of a CASE matches";
        Alt = "no guard of the ALT" "no guard of an ALT is enabled";
        Message = "message sizes differ" "sender and receiver disagree about the size of a message";
        Tag = "unexpected tag" "no variant of the input takes the tag that came";
        Channel = "channel in use" "a second process uses the same end of a channel, or its word is damaged";
        Memory = "out of memory" "the machine's memory is used up, or its limit is reached";
        Address = "bad address" "an access outside the machine's memory";
        Undefined = "undefined mobile" "a mobile that has been moved away or never had a value is used";
        Assert = "assertion failed" "an ASSERT is FALSE";
        Alias = "aliased" "two names that must be different things are the same";
        Host = "refused by the host" "the host knows no such call, or refuses it";
        Depth = "too many processes" "more processes than the machine can number";
        Race = "race" "two processes use the same thing, one changes it, and nothing puts them into an order";
        Placed = "cannot be placed" "ranks cannot share what this PLACED PAR is, uses, or does";
    }
}

numbered! {
    /// Functions of one real number: `fn_f`, `fn_d`.
    Real {
        Abs = "abs" "absolute value";
        Sqrt = "sqrt" "square root";
        Trunc = "trunc" "towards zero to a whole number";
        Round = "round" "to the nearest whole number, ties to even";
        Floor = "floor" "downwards to a whole number";
        Exp = "exp" "e to the power of it";
        Log = "log" "natural logarithm";
        Log10 = "log10" "decimal logarithm";
        Sin = "sin" "sine";
        Cos = "cos" "cosine";
        Tan = "tan" "tangent";
        Asin = "asin" "inverse sine";
        Acos = "acos" "inverse cosine";
        Atan = "atan" "inverse tangent";
        Sinh = "sinh" "hyperbolic sine";
        Cosh = "cosh" "hyperbolic cosine";
        Tanh = "tanh" "hyperbolic tangent";
    }
}

numbered! {
    /// Predefined routines on 32-bit words in the slots from `a` on: arguments first, results from `a` on again.
    Long {
        LongAdd = "longadd" "left, right, carry.in -> sum, checked";
        LongSub = "longsub" "left, right, borrow.in -> difference, checked";
        LongSum = "longsum" "left, right, carry.in -> carry, sum";
        LongDiff = "longdiff" "left, right, borrow.in -> borrow, difference";
        LongProd = "longprod" "left, right, carry -> high, low";
        LongDiv = "longdiv" "high, low, divisor -> quotient, remainder; traps";
        ShiftRight = "shiftright" "high, low, places -> high, low";
        ShiftLeft = "shiftleft" "high, low, places -> high, low";
        Normalise = "normalise" "high, low -> places, high, low";
        AshiftRight = "ashiftright" "value, places -> value";
        AshiftLeft = "ashiftleft" "value, places -> value, checked";
        RotateRight = "rotateright" "value, places -> value";
        RotateLeft = "rotateleft" "value, places -> value";
        BitCount = "bitcount" "word, count.in -> count";
        BitRevWord = "bitrevword" "word -> reversed";
        BitRevNBits = "bitrevnbits" "word, n -> its low n bits reversed";
        CrcWord = "crcword" "data, crc.in, generator -> crc";
        CrcByte = "crcbyte" "data, crc.in, generator -> crc (the top byte of data)";
        PowF = "powf" "REAL32 x, y -> x to the power of y";
        PowD = "powd" "REAL64 x, y (two slots each) -> x to the power of y";
        Atan2F = "atan2f" "REAL32 y, x -> angle";
        Atan2D = "atan2d" "REAL64 y, x (two slots each) -> angle";
        ScaleF = "scalef" "REAL32 x, INT n -> x * 2^n";
        ScaleD = "scaled" "REAL64 x (two slots), INT n -> x * 2^n";
        DigitsF = "digitsf" "REAL32 x -> INT64 digits (two slots), INT e: |x| is d.ddd * 10^e, no shorter one is it";
        DigitsD = "digitsd" "REAL64 x (two slots) -> INT64 digits (two slots), INT e: as `digitsf`";
        RealF = "realf" "INT64 digits (two slots), INT e -> REAL32: the nearest to digits * 10^e";
        RealD = "reald" "INT64 digits (two slots), INT e -> REAL64: the nearest to digits * 10^e";
    }
}

impl Long {
    /// Whether it computes with reals, of either size.
    pub const fn is_on_reals(self) -> bool {
        use Long::*;
        matches!(self, PowF | PowD | Atan2F | Atan2D | ScaleF | ScaleD | DigitsF | DigitsD | RealF | RealD)
    }
}

/// A name as it may be shown: what moves a terminal's cursor, turns the direction of its text, or cannot be seen,
/// becomes U+FFFD. (A test of `raddle-cli` compares the list with that for traces.)
///
/// ```
/// assert_eq!(raddle_bytecode::printable("a\x1bb\u{202e}c"), "a\u{fffd}b\u{fffd}c");
/// ```
pub fn printable(text: &str) -> String {
    let moves = |it: char| {
        it.is_control()
            || matches!(it,
                '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().map(|it| if moves(it) { '\u{fffd}' } else { it }).collect()
}
