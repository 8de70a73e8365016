//! Owns: the mistakes that the models put into the protocols, one at a time, each of which some model must find.
//! May use: nothing.
//! Never: an instruction in a program: outside of this crate's own models none is ever made.
//!
//! A program of models makes the mistake that the variable `RADDLE_ALLOC_MISTAKE` names; `model::mistakes` starts
//! itself with each.

/// What could be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// A push stores the word without looking whether it has changed.
    PushesBlindly,
    /// A push links its chain before the list that it saw first, not before the one that it replaces.
    LinksOnce,
    /// A push publishes links that a taker may not see.
    PushesRelaxed,
    /// A taker looks at links that it may not see.
    TakesRelaxed,
    /// Who pushes into a page of nobody leaves it so.
    NeverClaims,
    /// A page is given up although somebody has pushed into it.
    DisownsBlindly,
    /// A page is given up before what its holder wrote can be seen.
    DisownsRelaxed,
    /// Who claims a page may not see what its last holder wrote.
    ClaimsRelaxed,
    /// A page is claimed without looking whether it still is nobody's.
    ClaimsBlindly,
    /// A run of slices is taken without looking whether they still are free.
    TakesRunBlindly,
    /// A run over two words that is half taken is not given back.
    KeepsHalf,
    /// Slices are given back before what was done with them can be seen.
    GivesBackRelaxed,
    /// A hint that an arena is full is left although slices came back meanwhile.
    LeavesHint,
    /// The list of records has no tag.
    ForgetsTag,
    /// A record's link is not seen by who takes the record.
    RecordsRelaxed,
    /// Who claims the heap of a thread that rests may not see what that thread did there.
    RestsRelaxed,
    /// As above, by the other side.
    ClaimsRestRelaxed,
    /// A word is put into a slot before what it stands for can be seen.
    PutsRelaxed,
    /// A word is taken out of a slot without looking whether it still is there.
    TakesWordBlindly,
    /// Who wakes takes its heap back without looking whether it still is its own.
    WakesBlindly,
}

/// Whether the program is to make this mistake.
#[cfg(not(all(test, loom)))]
#[inline(always)]
pub(crate) const fn made(_mistake: Mistake) -> bool {
    false
}

/// Whether the program is to make this mistake.
#[cfg(all(test, loom))]
pub(crate) fn made(mistake: Mistake) -> bool {
    use std::sync::OnceLock;
    static ASKED_FOR: OnceLock<Option<String>> = OnceLock::new();
    let asked_for = ASKED_FOR.get_or_init(|| std::env::var(VARIABLE).ok());
    asked_for.as_ref().is_some_and(|name| *name == format!("{mistake:?}"))
}

/// It names the mistake.
#[cfg(all(test, loom))]
pub(crate) const VARIABLE: &str = "RADDLE_ALLOC_MISTAKE";
