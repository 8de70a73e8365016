//! Owns: mistakes of the analysis that are made on purpose, so that it can be seen that the tests find them.
//! May use: nothing.
//! Never: one of them in a build without the feature `mistakes`.

/// A mistake, by the number that `RADDLE_FUZZ_MISTAKE` has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RangeMistake {
    /// What is added to the index is not seen where the loop is entered.
    Offset = 1,
    /// What a loop writes is taken for what does not change in it.
    Written,
    /// A count below 1 is taken for one without a sign.
    Sign,
    /// One slot may be index and count.
    OneSlot,
    /// An element of one view of an array is taken for one of another.
    OtherCount,
    /// Where the index seems to go is not compared.
    Guess,
    /// What was shown on one of two ways is taken for shown on both.
    OneWay,
    /// The index may be added to beyond the largest number.
    Edge,
    /// The fuel is not looked at.
    Fuel,
    /// The step of a loop with a test may be negative.
    Step,
    /// What a slot is set to wherever it is set is taken for what it is.
    Settled,
    /// A check of a real is left for later beyond a store.
    Window,
    /// What divides is taken for checked where the quotient is.
    Divisor,
    /// No access by an address in a loop is taken for one that may reach a slot.
    Unseen,
    /// Of a product the lowest number is taken to be that of the lowest ones.
    Product,
    /// A loop with a test is taken to add to its variable in each turn.
    Once,
    /// Elements are set together for which there is no more room.
    Room,
    /// Of a pair whose first word is written, the second one is taken for written.
    Half,
    /// What sums are made of may be any number that is not below 0.
    Parts,
    /// What was shown to be less than a count is taken for less than one less.
    Limit,
    /// A loop without spans is entered as if it had been compared that they are words.
    Again,
    /// What is written on one of two ways is taken for written on both.
    Either,
    /// What is wrong is taken for the last that was to be checked.
    Last,
    /// What divides by -1 is taken for wrong.
    Certain,
}

/// Whether it is made.
#[cfg(feature = "mistakes")]
pub(crate) fn makes(mistake: RangeMistake) -> bool {
    std::env::var("RADDLE_FUZZ_MISTAKE").is_ok_and(|number| number.parse() == Ok(mistake as u32))
}

/// Whether it is made.
#[cfg(not(feature = "mistakes"))]
pub(crate) const fn makes(_: RangeMistake) -> bool {
    false
}
