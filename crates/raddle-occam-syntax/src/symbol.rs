//! Owns: the one number that stands for each different name.
//! May use: nothing.
//! Never: forgets a name; numbers stay valid as long as the table.
//!
//! Names are compared and looked up millions of times, so each spelling becomes a small number once. The hash is
//! the multiply-and-rotate of the rustc project (`FxHash`): names are short and nobody attacks this table.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A name's number; numbers are dense from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Symbol(pub u32);

/// The hasher of this crate's tables.
#[derive(Clone, Copy, Default)]
pub struct FastHasher(u64);

/// A map with this crate's hasher.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// All names of one check.
#[derive(Default, Clone)]
pub struct Symbols {
    numbers: FastMap<Box<str>, Symbol>,
    texts: Vec<Box<str>>,
}

impl Symbols {
    /// No names yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a name, made on first sight.
    ///
    /// ```
    /// # use raddle_occam_syntax::symbol::Symbols;
    /// let mut symbols = Symbols::new();
    /// let out = symbols.intern("out.string");
    /// assert_eq!(symbols.intern("out.string"), out);
    /// assert_eq!(symbols.text(out), "out.string");
    /// ```
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(&symbol) = self.numbers.get(text) {
            return symbol;
        }
        let symbol = Symbol(self.texts.len() as u32);
        self.texts.push(text.into());
        self.numbers.insert(text.into(), symbol);
        symbol
    }

    /// The number of a name that has been seen, or `None`.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.numbers.get(text).copied()
    }

    /// The spelling of a name.
    ///
    /// # Panics
    /// If the number comes from another table.
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.0 as usize]
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is no name at all.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
