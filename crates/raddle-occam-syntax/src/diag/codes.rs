//! Owns: the one table of complaint codes.
//! May use: nothing.
//! Never: a code whose number changes; a dropped one stays as a gap.
//!
//! `raddle explain CODE` prints an entry's long text; `docs` derive from the same table. The hundreds say which stage
//! complains: 1 characters and layout, 2 grammar, 3 names, 4 types, 5 rules of processes and functions, 6 channel
//! directions, 7 parallel usage (U1-U6), 8 aliasing (A1-A4), 9 undefined values, 10 not supported yet.

use super::Severity;
use std::fmt;

/// What the table says of one code.
#[derive(Clone, Copy, Debug)]
pub struct CodeEntry {
    /// The code itself.
    pub code: Code,
    /// The number after the `O`.
    pub number: u16,
    /// Error or warning.
    pub severity: Severity,
    /// The rule in a few words.
    pub title: &'static str,
    /// The long explanation.
    pub explanation: &'static str,
}

macro_rules! codes {
    ($($name:ident $number:literal $severity:ident $title:literal $explanation:literal)*) => {
        /// The stable codes of all complaints.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        /// Every code, by number.
        pub const CODES: &[CodeEntry] = &[
            $(CodeEntry {
                code: Code::$name,
                number: $number,
                severity: Severity::$severity,
                title: $title,
                explanation: $explanation,
            },)*
        ];
    };
}

codes! {
    BadCharacter 101 Error "a character that occam does not know"
        "Outside strings and comments a program is made of letters, digits, the dot within names, and \
         occam's symbols."
    OpenString 102 Error "a string or byte literal that does not end"
        "A string ends with `\"` on its line. A long string goes on in the next line when this line ends \
         with `*` and the next begins with `*`."
    BadEscape 103 Error "an unknown escape after `*`"
        "In strings and byte literals `*c` `*n` `*t` `*s` `*'` `*\"` `**` and `*#hh` (two hexadecimal \
         digits) stand for single characters."
    BadNumber 104 Error "a number that cannot be read"
        "Whole numbers are decimal, or hexadecimal after `#`; real numbers have digits on both sides of the \
         dot and may have an exponent such as `E+3`."
    Indentation 105 Error "indentation that is not two columns"
        "Layout is syntax: what belongs to a construct stands two columns further right than it. A tab \
         counts to the next multiple of eight."
    Continuation 106 Error "a continued line that stands too far left"
        "A line may break after an operator, a comma, `:=`, `IS`, `FROM`, `FOR` or an opening bracket; the \
         next line must not be indented less than the first."
    Directive 107 Error "a directive that cannot be read"
        "The directives are #INCLUDE, #USE, #IF, #ELSE, #ENDIF, #DEFINE, #UNDEFINE, #PRAGMA, #OPTION, \
         #COMMENT and #RELAX."
    FileNotFound 108 Error "a file that is not there"
        "#INCLUDE and #USE name a text by its path relative to the including file, or a library that raddle \
         brings along. `.occ` is added to a bare name."
    IncludeDepth 109 Error "files that include each other without end"
        "A file may be included from a file that was itself included, but only to a limited depth, and all \
         included text together is limited."
    OptionUnsafe 110 Warning "checks switched off for the whole program"
        "#OPTION \"A\" switches alias checking off, \"N\" usage checking. The program may then contain \
         races that nothing reports."
    Unexpected 201 Error "a construct that the grammar does not have here"
        "The message names what was seen and what could have stood there."
    MissingColon 202 Error "a declaration without its colon"
        "Every specification ends with `:`, and so do the bodies of PROC, FUNCTION, PROTOCOL and RECORD, on \
         a line of their own at the indentation of the heading."
    NeedsBrackets 203 Error "operators without brackets"
        "occam's operators have no precedence: `a + (b * c)` needs its brackets. Only a chain of the same \
         one of AND OR PLUS TIMES /\\ \\/ >< may go without."
    TooDeep 204 Error "nesting without end"
        "Processes and expressions may be nested a few hundred deep."
    MissingBody 205 Error "a construct without its body"
        "The body stands in the next line, two columns further right. An empty body is written SKIP."
    Undeclared 301 Error "a name that is not declared here"
        "A name must be declared before its use, in the same or an enclosing specification."
    WrongKind 302 Error "a name of another kind"
        "The name is declared, but as something that cannot stand here: a PROC is called, a type is \
         declared with, a variable is used."
    Repeated 303 Error "the same name twice in one list"
        "The names of one parameter list, one record, one protocol or one declaration must differ."
    TypeMismatch 401 Error "a value of another type"
        "occam converts nothing silently. Write the conversion: `INT x`, `BYTE x`, `REAL32 ROUND x`. INT \
         and INT32 are different types."
    OperatorTypes 402 Error "operands that the operator does not take"
        "Both operands of an operator have the same type. Arithmetic takes numbers, AND, OR and NOT take \
         BOOL, the bit operators whole numbers; shifts take an INT count."
    ArgumentCount 403 Error "too many or too few of something"
        "The number of actual parameters, of values in an assignment, or of items in a message does not \
         match."
    NotAssignable 404 Error "an assignment to what is no variable"
        "VAL names, replicator indices and constants cannot be assigned, input to, or passed where a PROC \
         changes them."
    NotAnArray 405 Error "a subscript on what is no array"
        "Only arrays, records and channel bundles take a subscript."
    UnknownField 406 Error "a field that the record does not have"
        "A record or channel bundle is subscripted by the names of its fields."
    Protocol 407 Error "a message that the protocol does not have"
        "What is sent or received must follow the channel's PROTOCOL item by item; a variant protocol \
         begins with one of its tags."
    Conversion 408 Error "a conversion that does not exist"
        "Between REAL types and from REAL to whole numbers a conversion says ROUND or TRUNC; BOOL converts \
         from and to whole numbers; arrays and records do not convert."
    LiteralRange 409 Error "a number too large for its type"
        "BYTE holds 0 to 255, INT16 -32768 to 32767, INT and INT32 32 bits, INT64 64 bits."
    NotConstant 411 Error "a value that is not known at compile time"
        "Array sizes in types, CASE options and typed sizes must be computable by the compiler."
    ArraySize 412 Error "an array of another size"
        "Array types agree only when every dimension does; an open dimension `[]` takes any size."
    ConstantFault 413 Error "a constant expression that would stop"
        "Overflow, a division by zero or a subscript out of range in a constant expression is reported \
         before the program runs."
    SideEffect 501 Error "a function with a side effect"
        "A FUNCTION or VALOF may not assign a variable of its surroundings, communicate, use PAR or ALT, or \
         call a PROC that does."
    Guard 502 Error "an alternative that is no guard"
        "A guard is an input, a timer input with AFTER, or SKIP with a condition."
    CaseOption 503 Error "an option that occurs twice"
        "Each value may select only one option of a CASE, and ELSE stands once."
    PriPar 504 Warning "PRI PAR, which runs as PAR"
        "The branches of a PRI PAR run as those of a PAR, each in its turn: no branch waits until all before it \
         wait. Programs whose results depend on priority say more than the language promises on several cores; \
         where one input must win over another, use PRI ALT."
    Entry 505 Error "a program that cannot begin"
        "The last PROC is the program. Its parameters are some of `CHAN BYTE keyboard?, screen!, error!`, of which \
         the last two may be SHARED. Which is which follows from the direction, or the use where none is written, \
         and from the name; a name that says nothing takes what is left, in this order."
    PlacedPar 506 Warning "a PLACED PAR that ranks cannot share"
        "PLACED PAR says which processor of a network runs which branch. On one machine the branches run as those of a \
         PAR, on whatever core is free; with `raddle run --ranks` they run on ranks of MPI, and talk by the channels \
         that are declared around the PLACED PAR. Ranks share no memory: a branch there cannot change a variable of \
         its surroundings, use a SHARED channel, a barrier, or an end that is mobile, send a MOBILE, or fork for a \
         FORKING around. With --ranks this is an error."
    Direction 601 Error "the wrong end of a channel"
        "A channel parameter with `?` may only be read from, one with `!` only written to, and an end can \
         only be passed where that end is wanted."
    BothEnds 602 Warning "one process uses both ends of a channel"
        "A process that both writes and reads the same channel, and not in parallel, waits for itself. KRoC \
         rejects it."
    RaceVariable 701 Error "a variable changed in one branch of a PAR and used in another"
        "Rule U1: what one branch of a PAR assigns or inputs, no other branch may read or change. Reading \
         in several branches is fine. Send the value over a channel, or give each branch its own variable."
    RaceChannel 702 Error "two branches of a PAR at the same end of a channel"
        "Rule U2: at most one branch may read from a channel and at most one may write to it. Use one \
         channel each, or a SHARED end with CLAIM."
    RaceElement 703 Error "two branches of a PAR can touch the same element"
        "Rule U3: arrays are checked by element. The witness in the message gives values of the index \
         variables with which both branches touch the same element."
    RaceUnproved 704 Error "elements that cannot be proved different"
        "Rule U3, sound first: the checker knows +, -, * , / and \\ on whole numbers, the ranges of \
         replicators, conditions of IF, abbreviations, results of FUNCTIONs, and variables to which each round of a \
         loop adds the same. What it cannot prove disjoint is rejected. If you \
         know better, say so with #PRAGMA SHARED; a race gives one value or another then, and nothing worse."
    MultipleTargets 705 Error "a multiple assignment to overlapping targets"
        "Rule U4: the targets of `a, b := x, y` must be different variables, and one target may not \
         subscript another."
    ForkOutlives 706 Error "a forked process that may outlive what it uses"
        "Rule U5: a forked process runs until its FORKING ends, also when the call that forked it is over. VAL \
         parameters are copied to it, MOBILEs move; all else that it uses must be declared before the \
         FORKING, or be a parameter of the PROC that forks without one."
    AliasReference 801 Error "a variable used while it has another name"
        "Rule A1: within the scope of `y IS x:` the variable x may only be used as y. Provably different \
         parts of an array stay usable."
    AliasFrozen 802 Error "a variable changed while an abbreviation depends on it"
        "Rule A2: within the scope of `VAL v IS e:` no variable in e may change; nor may the subscripts of \
         an abbreviated element."
    AliasArgument 803 Error "parameters that overlap"
        "Rule A3: parameters are abbreviations, so what is passed to be changed may not overlap another \
         parameter, nor a variable that the PROC uses by itself."
    Undefined 901 Error "a variable used before it has a value"
        "No path from its declaration to this place assigns or inputs the variable."
    MaybeUndefined 902 Warning "a variable that may have no value yet"
        "On some path from its declaration to this place the variable is neither assigned nor input, such as in the \
         first round of a loop. It then reads as zero. `--deny O0902` makes it an error."
    Moved 903 Error "a mobile used after it has moved away"
        "Assigning or sending a MOBILE moves it: the source is undefined afterwards, in the next round of a loop, \
         too. Keep a copy with CLONE, or ask DEFINED."
    NotSupported 1001 Error "not supported yet"
        "The construct belongs to occam-pi, and this version of raddle recognises but does not run it."
    Claim 1002 Error "a SHARED end used outside CLAIM"
        "Rule U6: the channels of a SHARED end are used only within a CLAIM of it; no further claim is made \
         inside the claim of a client end, and a claimed end is not moved."
    Barrier 1003 Error "a barrier used by who is no member of it"
        "Rule U6: several branches of a PAR use a barrier only if the PAR says ENROLL. In the body of a RESIGN the \
         process is no member, and must not SYNC on the barrier, nor pass it on."
    Extended 1004 Error "a channel used in the process of its extended input"
        "Rule U6: who outputs waits until the process of `c ?? x` has ended. Until then nobody uses `c`, at either \
         end, and there must be somebody: a timer or a port has none."
    Suspend 1005 Error "a mobile process that cannot suspend, or move, here"
        "SUSPEND belongs to a MOBILE PROC, or to a PROC that it calls, and stops all processes in it until whoever has \
         it activates it again. What it was given then may be gone: so it does not suspend in a CLAIM, a RESIGN, a \
         FORKING or the process of `??`, keeps no other name for a channel of a bundle that it was given, and uses \
         nothing of its surroundings but what it is given."
}

impl Code {
    /// The code's entry in the table.
    pub fn entry(self) -> &'static CodeEntry {
        &CODES[self as usize]
    }

    /// The code that is written so, such as `O0703`.
    ///
    /// ```
    /// # use raddle_occam_syntax::diag::Code;
    /// assert_eq!(Code::parse("O0703"), Some(Code::RaceElement));
    /// assert_eq!(Code::parse("E0703"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let number: u16 = text.strip_prefix('O')?.parse().ok()?;
        CODES.iter().find(|entry| entry.number == number).map(|entry| entry.code)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "O{:04}", self.entry().number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_complete() {
        for (at, entry) in CODES.iter().enumerate() {
            assert_eq!(entry.code as usize, at);
            assert_eq!(Code::parse(&entry.code.to_string()), Some(entry.code));
            assert!(entry.explanation.len() > 30 && entry.explanation.ends_with('.'), "{}", entry.code);
        }
        assert!(CODES.windows(2).all(|pair| pair[0].number < pair[1].number));
    }
}
