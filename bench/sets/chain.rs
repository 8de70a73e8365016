//! Owns: sorted lists of numbers, one or many.
//! May use: raddle.
//! Never: a node of its own making.

use bench_common::sets::Spare;
use raddle::stm::{Snapshot, Stop, TVar, atomically, read_only};

/// What follows a node: its number, and its node. The last is followed by a number that none reaches.
type Link = TVar<(u32, u32)>;

const END: (u32, u32) = (u32::MAX, 0);

/// Lists, from the first nodes on.
pub struct Chains {
    links: Vec<Link>,
    heads: u32,
}

impl Chains {
    pub fn new(heads: u32, nodes: u32) -> Chains {
        Chains { links: (0..nodes).map(|_| TVar::new(END)).collect(), heads }
    }

    fn link(&self, node: u32) -> &Link {
        &self.links[node as usize]
    }

    /// The last node before where the number is or would be, and what follows it.
    fn find(&self, tx: &mut impl Snapshot, number: u32) -> Result<(u32, (u32, u32)), Stop> {
        let mut node = number.wrapping_mul(0x9e37_79b1) % self.heads;
        loop {
            let next = tx.read(self.link(node))?;
            if next.0 >= number {
                return Ok((node, next));
            }
            node = next.1;
        }
    }

    pub fn contains(&self, number: u32) -> bool {
        read_only(|tx| Ok(self.find(tx, number)?.1.0 == number))
    }

    pub fn insert(&self, number: u32, spare: &mut Spare) -> bool {
        let Some(&node) = spare.last() else { return false };
        let is_new = atomically(|tx| {
            let (before, next) = self.find(tx, number)?;
            if next.0 == number {
                return Ok(false);
            }
            tx.write(self.link(node), next)?;
            tx.write(self.link(before), (number, node))?;
            Ok(true)
        });
        if is_new {
            spare.pop();
        }
        is_new
    }

    pub fn remove(&self, number: u32, spare: &mut Spare) -> bool {
        let removed = atomically(|tx| {
            let (before, (found, node)) = self.find(tx, number)?;
            if found != number {
                return Ok(None);
            }
            let next = tx.read(self.link(node))?;
            tx.write(self.link(before), next)?;
            // Who adds behind it at the same time conflicts.
            tx.write(self.link(node), next)?;
            Ok(Some(node))
        });
        spare.extend(removed);
        removed.is_some()
    }
}
