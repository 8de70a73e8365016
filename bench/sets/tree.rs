//! Owns: a red-black tree of numbers.
//! May use: raddle.
//! Never: a node of its own making.
//!
//! As in Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, chapter 13; node 0 is none, and black.

use bench_common::sets::Spare;
use raddle::stm::{Snapshot, Stop, TVar, Tx, atomically, read_only};

/// A node: what is needed on the way down, and what only changes need.
struct Node {
    /// Its number; both sons, the left in the lower half.
    low: TVar<(u64, u64)>,
    /// Its parent, and its colour.
    up: TVar<(u32, u32)>,
}

const BLACK: u32 = 0;
const RED: u32 = 1;

/// The son to this side: 0 is the left.
fn son_of(sons: u64, side: usize) -> u32 {
    (sons >> (32 * side)) as u32
}

pub struct Tree {
    nodes: Vec<Node>,
    root: TVar<u32>,
}

/// Where a number is, or would be.
struct Found {
    /// Its node, or 0.
    node: u32,
    parent: u32,
    side: usize,
}

impl Tree {
    pub fn new(nodes: u32) -> Tree {
        let node = |_| Node { low: TVar::new((0, 0)), up: TVar::new((0, BLACK)) };
        Tree { nodes: (0..nodes).map(node).collect(), root: TVar::new(0) }
    }

    pub fn contains(&self, number: u32) -> bool {
        read_only(|tx| Ok(self.find(tx, number)?.node != 0))
    }

    pub fn insert(&self, number: u32, spare: &mut Spare) -> bool {
        let Some(&node) = spare.last() else { return false };
        let is_new = atomically(|tx| self.add(tx, number, node));
        if is_new {
            spare.pop();
        }
        is_new
    }

    pub fn remove(&self, number: u32, spare: &mut Spare) -> bool {
        let removed = atomically(|tx| self.take(tx, number));
        spare.extend(removed);
        removed.is_some()
    }

    fn find(&self, tx: &mut impl Snapshot, number: u32) -> Result<Found, Stop> {
        let mut found = Found { node: tx.read(&self.root)?, parent: 0, side: 0 };
        while found.node != 0 {
            let (here, sons) = tx.read(&self.at(found.node).low)?;
            if here == u64::from(number) {
                break;
            }
            let side = usize::from(here < u64::from(number));
            found = Found { node: son_of(sons, side), parent: found.node, side };
        }
        Ok(found)
    }

    fn at(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    fn son(&self, tx: &mut Tx<'_>, node: u32, side: usize) -> Result<u32, Stop> {
        Ok(son_of(tx.read(&self.at(node).low)?.1, side))
    }

    fn set_son(&self, tx: &mut Tx<'_>, node: u32, side: usize, son: u32) -> Result<(), Stop> {
        let (number, sons) = tx.read(&self.at(node).low)?;
        let other = u64::from(son_of(sons, 1 - side)) << (32 * (1 - side));
        tx.write(&self.at(node).low, (number, other | u64::from(son) << (32 * side)))
    }

    fn parent(&self, tx: &mut Tx<'_>, node: u32) -> Result<u32, Stop> {
        Ok(tx.read(&self.at(node).up)?.0)
    }

    fn set_parent(&self, tx: &mut Tx<'_>, node: u32, parent: u32) -> Result<(), Stop> {
        if node == 0 {
            return Ok(());
        }
        let colour = self.colour(tx, node)?;
        tx.write(&self.at(node).up, (parent, colour))
    }

    fn colour(&self, tx: &mut Tx<'_>, node: u32) -> Result<u32, Stop> {
        if node == 0 { Ok(BLACK) } else { Ok(tx.read(&self.at(node).up)?.1) }
    }

    fn paint(&self, tx: &mut Tx<'_>, node: u32, colour: u32) -> Result<(), Stop> {
        let (parent, before) = tx.read(&self.at(node).up)?;
        if before == colour { Ok(()) } else { tx.write(&self.at(node).up, (parent, colour)) }
    }

    /// On which side of its parent the node is.
    fn side_of(&self, tx: &mut Tx<'_>, parent: u32, node: u32) -> Result<usize, Stop> {
        if parent == 0 { Ok(0) } else { Ok(usize::from(self.son(tx, parent, 1)? == node)) }
    }

    /// Below `parent` stands `new` where `old` stood.
    fn replace(&self, tx: &mut Tx<'_>, parent: u32, old: u32, new: u32) -> Result<(), Stop> {
        if parent == 0 {
            return tx.write(&self.root, new);
        }
        let side = self.side_of(tx, parent, old)?;
        self.set_son(tx, parent, side, new)
    }

    /// The node goes down to this side, and its other son comes up.
    fn rotate(&self, tx: &mut Tx<'_>, node: u32, side: usize) -> Result<(), Stop> {
        let parent = self.parent(tx, node)?;
        let son = self.son(tx, node, 1 - side)?;
        let grandson = self.son(tx, son, side)?;
        self.set_son(tx, node, 1 - side, grandson)?;
        self.set_parent(tx, grandson, node)?;
        self.set_parent(tx, son, parent)?;
        self.replace(tx, parent, node, son)?;
        self.set_son(tx, son, side, node)?;
        self.set_parent(tx, node, son)
    }

    fn add(&self, tx: &mut Tx<'_>, number: u32, new: u32) -> Result<bool, Stop> {
        let found = self.find(tx, number)?;
        if found.node != 0 {
            return Ok(false);
        }
        tx.write(&self.at(new).low, (u64::from(number), 0))?;
        tx.write(&self.at(new).up, (found.parent, RED))?;
        if found.parent == 0 {
            tx.write(&self.root, new)?;
        } else {
            self.set_son(tx, found.parent, found.side, new)?;
        }
        self.mend_added(tx, new)?;
        Ok(true)
    }

    /// A red node may have a red parent.
    fn mend_added(&self, tx: &mut Tx<'_>, mut node: u32) -> Result<(), Stop> {
        loop {
            let mut parent = self.parent(tx, node)?;
            if parent == 0 {
                return self.paint(tx, node, BLACK);
            }
            if self.colour(tx, parent)? == BLACK {
                return Ok(());
            }
            // A red one is not the root.
            let above = self.parent(tx, parent)?;
            let side = self.side_of(tx, above, parent)?;
            let uncle = self.son(tx, above, 1 - side)?;
            if self.colour(tx, uncle)? == RED {
                self.paint(tx, parent, BLACK)?;
                self.paint(tx, uncle, BLACK)?;
                self.paint(tx, above, RED)?;
                node = above;
                continue;
            }
            if self.side_of(tx, parent, node)? != side {
                self.rotate(tx, parent, side)?;
                parent = node;
            }
            self.paint(tx, parent, BLACK)?;
            self.paint(tx, above, RED)?;
            return self.rotate(tx, above, 1 - side);
        }
    }

    /// Takes the number out; the node that is free now.
    fn take(&self, tx: &mut Tx<'_>, number: u32) -> Result<Option<u32>, Stop> {
        let node = self.find(tx, number)?.node;
        if node == 0 {
            return Ok(None);
        }
        let goes = self.with_a_son_at_most(tx, node)?;
        let (left, right) = (self.son(tx, goes, 0)?, self.son(tx, goes, 1)?);
        let son = if left == 0 { right } else { left };
        let (parent, colour) = tx.read(&self.at(goes).up)?;
        let side = self.side_of(tx, parent, goes)?;
        self.replace(tx, parent, goes, son)?;
        self.set_parent(tx, son, parent)?;
        if colour == BLACK {
            self.mend_taken(tx, son, parent, side)?;
        }
        Ok(Some(goes))
    }

    /// The node itself, or if it has two sons the next one, whose number it gets.
    fn with_a_son_at_most(&self, tx: &mut Tx<'_>, node: u32) -> Result<u32, Stop> {
        let (left, right) = (self.son(tx, node, 0)?, self.son(tx, node, 1)?);
        if left == 0 || right == 0 {
            return Ok(node);
        }
        let mut next = right;
        loop {
            let (number, sons) = tx.read(&self.at(next).low)?;
            if son_of(sons, 0) == 0 {
                let own = tx.read(&self.at(node).low)?.1;
                tx.write(&self.at(node).low, (number, own))?;
                return Ok(next);
            }
            next = son_of(sons, 0);
        }
    }

    /// On this side of `parent`, where `node` is or nothing, ways down have a black one less.
    fn mend_taken(
        &self,
        tx: &mut Tx<'_>,
        mut node: u32,
        mut parent: u32,
        mut side: usize,
    ) -> Result<(), Stop> {
        while parent != 0 && self.colour(tx, node)? == BLACK {
            let mut other = self.son(tx, parent, 1 - side)?;
            if self.colour(tx, other)? == RED {
                self.paint(tx, other, BLACK)?;
                self.paint(tx, parent, RED)?;
                self.rotate(tx, parent, side)?;
                other = self.son(tx, parent, 1 - side)?;
            }
            let (near, far) = (self.son(tx, other, side)?, self.son(tx, other, 1 - side)?);
            let is_far_black = self.colour(tx, far)? == BLACK;
            if is_far_black && self.colour(tx, near)? == BLACK {
                self.paint(tx, other, RED)?;
                node = parent;
                parent = self.parent(tx, node)?;
                side = self.side_of(tx, parent, node)?;
                continue;
            }
            if is_far_black {
                self.paint(tx, near, BLACK)?;
                self.paint(tx, other, RED)?;
                self.rotate(tx, other, 1 - side)?;
                other = near;
            }
            let colour = self.colour(tx, parent)?;
            self.paint(tx, other, colour)?;
            self.paint(tx, parent, BLACK)?;
            let far = self.son(tx, other, 1 - side)?;
            self.paint(tx, far, BLACK)?;
            return self.rotate(tx, parent, side);
        }
        if node == 0 { Ok(()) } else { self.paint(tx, node, BLACK) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// So many black ones are on each way down, and so many numbers are there.
    fn checked(tree: &Tree, node: u32, parent: u32, from: u64, to: u64) -> (usize, usize) {
        if node == 0 {
            return (0, 0);
        }
        let ((number, sons), (up, colour)) = (tree.at(node).low.load(), tree.at(node).up.load());
        assert!((from..to).contains(&number) && up == parent);
        assert!(colour == BLACK || tree.at(parent).up.load().1 == BLACK);
        let left = checked(tree, son_of(sons, 0), node, from, number);
        let right = checked(tree, son_of(sons, 1), node, number + 1, to);
        assert_eq!(left.0, right.0, "ways of one length");
        (left.0 + usize::from(colour == BLACK), left.1 + right.1 + 1)
    }

    #[test]
    fn a_tree_has_what_a_set_has_and_stays_balanced() {
        let tree = Tree::new(301);
        let mut spare: Spare = (1..=300).collect();
        let mut set = BTreeSet::new();
        let mut toss = 1_u32;
        for round in 0..20_000 {
            toss = toss.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = toss >> 16 & 255;
            match toss >> 28 {
                0..6 => assert_eq!(tree.insert(number, &mut spare), set.insert(number)),
                6..12 => assert_eq!(tree.remove(number, &mut spare), set.remove(&number)),
                _ => assert_eq!(tree.contains(number), set.contains(&number)),
            }
            if round % 100 == 0 {
                assert_eq!(checked(&tree, tree.root.load(), 0, 0, u64::MAX).1, set.len());
            }
        }
    }
}
