//! Owns: `TMap`, a hash map in transactions.
//! May use: `stop`, `tvar`, `tx`.
//! Never: a variable that all operations write.
//!
//! A trie by the bits of a key's hash. Its leaves hold a few entries each, and one that overflows becomes a branch of
//! thirty-two, which never changes again: so who reads or writes an entry conflicts with those who write in the same
//! leaf, and with nobody else. (Bagwell: Ideal Hash Trees, 2001; as variables of transactions: Haskell's
//! `stm-containers`.) A hash table that grows would be read and written whole by one transaction.
//!
//! PERF: of 64 numbers, on one core, in ns (of 16384): a look-up 39 (77), a change 157 (231), removed and inserted
//! again 260 (347). With a variable for each value in the leaves a change took 70 (200), but the others 50 (130) and
//! 450 (600), since a leaf's copy counts the handles of all that are in it; with chains whose links are variables 115
//! (300), 40 (110) and 370 (620): it is the making and the later end of a variable that costs most.

use crate::stop::Stop;
use crate::tvar::TVar;
use crate::tx::{Snapshot, Tx, WalkStep};
use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::ControlFlow;
use std::panic::Location;
use std::sync::Arc;

/// So many bits of a hash lead on from a branch.
const BITS: u32 = 5;
/// So many branches lead to a leaf at most: then there are no bits any more, and a leaf holds what it must.
const DEPTH_MAX: u32 = u64::BITS / BITS;
/// So many entries has a leaf that can be split.
const ENTRIES_MAX: usize = 8;
/// In so many variables its size is counted.
const COUNTS: usize = 8;

/// A map whose operations are parts of transactions.
///
/// A handle, as a [`TVar`] is: a clone is another handle of the same map. Transactions conflict if they write entries
/// whose keys have nearly the same hash (a few of a large map), and one in eight times if both insert or remove an
/// entry; who only reads conflicts with nobody who does not write what he reads. [`len`](Self::len) is counted, and
/// [`for_each`](Self::for_each) sees one moment.
///
/// Keys and values are `Clone`, since others may still see them when they are replaced; put what is dear to clone in an
/// [`Arc`]. A key's hash and its equality must not change while it is in the map, as for
/// [`HashMap`](std::collections::HashMap).
///
/// What was removed gives its memory back, but for the branches by which the map has grown: about 3 KB for 32 entries
/// of the most it had, until [`clear`](Self::clear).
///
/// ```
/// use raddle::stm::{TMap, atomically};
///
/// let (rooms, guests) = (TMap::new(), TMap::new());
/// // Both know of the other, or neither.
/// atomically(|tx| {
///     rooms.insert(tx, 12, "Ada".to_string())?;
///     guests.insert(tx, "Ada".to_string(), 12)
/// });
/// let moved = atomically(|tx| {
///     let Some(guest) = rooms.remove(tx, &12)? else { return Ok(false) };
///     guests.insert(tx, guest.clone(), 14)?;
///     rooms.insert(tx, 14, guest)?;
///     Ok(true)
/// });
/// assert!(moved);
/// assert_eq!(atomically(|tx| guests.get(tx, "Ada")), Some(14));
/// ```
pub struct TMap<K, V, S = RandomState>(Arc<Trie<K, V, S>>);

struct Trie<K, V, S> {
    root: TVar<TrieNode<K, V>>,
    /// Entries minus those that were counted elsewhere: their sum is the size.
    counts: [TVar<isize>; COUNTS],
    hasher: S,
    site: &'static Location<'static>,
}

enum TrieNode<K, V> {
    Leaf(Vec<MapEntry<K, V>>),
    Branch(Arc<Children<K, V>>),
}

type Children<K, V> = [TVar<TrieNode<K, V>>; 1 << BITS];

#[derive(Clone)]
struct MapEntry<K, V> {
    hash: u64,
    key: K,
    value: V,
}

impl<K, V, S> Clone for TMap<K, V, S> {
    fn clone(&self) -> TMap<K, V, S> {
        TMap(self.0.clone())
    }
}

impl<K, V> TMap<K, V>
where
    K: Eq + Hash + Clone + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// An empty map.
    #[track_caller]
    pub fn new() -> TMap<K, V> {
        TMap::with_hasher(RandomState::new())
    }
}

impl<K, V, S> TMap<K, V, S>
where
    K: Eq + Hash + Clone + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    S: BuildHasher,
{
    /// An empty map, whose keys are hashed by `hasher`. All bits of a hash count.
    #[track_caller]
    pub fn with_hasher(hasher: S) -> TMap<K, V, S> {
        let site = Location::caller();
        let counts = [0; COUNTS].map(|count| TVar::new_at(count, site));
        TMap(Arc::new(Trie { root: TVar::new_at(TrieNode::Leaf(Vec::new()), site), counts, hasher, site }))
    }

    /// A clone of the value of `key`, if there is one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn get<Q>(&self, tx: &mut impl Snapshot, key: &Q) -> Result<Option<V>, Stop>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.with(tx, key, V::clone)
    }

    /// What `f` makes of the value of `key`, if there is one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn with<Q, R>(
        &self,
        tx: &mut impl Snapshot,
        key: &Q,
        f: impl FnOnce(&V) -> R,
    ) -> Result<Option<R>, Stop>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.0.hasher.hash_one(key);
        let mut f = Some(f);
        let mut depth = 0;
        tx.walk(&self.0.root, |_, node| match node {
            TrieNode::Branch(children) => down(children, hash, &mut depth),
            TrieNode::Leaf(entries) => {
                let found = find(entries, hash, key).and_then(|at| Some((f.take()?, &entries[at].value)));
                ControlFlow::Break(found.map(|(f, value)| f(value)))
            }
        })
    }

    /// Whether there is a value of `key`.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn contains_key<Q>(&self, tx: &mut impl Snapshot, key: &Q) -> Result<bool, Stop>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        Ok(self.with(tx, key, |_| ())?.is_some())
    }

    /// Gives `key` the value `value`, and returns that which it had. The key that is there stays.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn insert(&self, tx: &mut Tx<'_>, key: K, value: V) -> Result<Option<V>, Stop> {
        let hash = self.0.hasher.hash_one(&key);
        let (leaf, depth, mut entries) = self.leaf(tx, hash)?;
        if let Some(at) = find(&entries, hash, &key) {
            let before = std::mem::replace(&mut entries[at].value, value);
            tx.write(&leaf, TrieNode::Leaf(entries))?;
            return Ok(Some(before));
        }
        entries.push(MapEntry { hash, key, value });
        let node = self.node(entries, depth);
        tx.write(&leaf, node)?;
        self.count(tx, hash, 1)?;
        Ok(None)
    }

    /// Takes out the value of `key`, if there is one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn remove<Q>(&self, tx: &mut Tx<'_>, key: &Q) -> Result<Option<V>, Stop>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.0.hasher.hash_one(key);
        let (leaf, _, mut entries) = self.leaf(tx, hash)?;
        let Some(at) = find(&entries, hash, key) else { return Ok(None) };
        let gone = entries.swap_remove(at);
        tx.write(&leaf, TrieNode::Leaf(entries))?;
        self.count(tx, hash, -1)?;
        Ok(Some(gone.value))
    }

    /// Gives `key` what `f` makes of its value, if there is one; says whether there was.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn modify<Q>(&self, tx: &mut Tx<'_>, key: &Q, f: impl FnOnce(V) -> V) -> Result<bool, Stop>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.0.hasher.hash_one(key);
        let (leaf, _, mut entries) = self.leaf(tx, hash)?;
        let Some(at) = find(&entries, hash, key) else { return Ok(false) };
        entries[at].value = f(entries[at].value.clone());
        tx.write(&leaf, TrieNode::Leaf(entries))?;
        Ok(true)
    }

    /// The value of `key`; if there is none it is what `f` returns, from now on.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn get_or_insert_with(&self, tx: &mut Tx<'_>, key: K, f: impl FnOnce() -> V) -> Result<V, Stop> {
        if let Some(there) = self.get(tx, &key)? {
            return Ok(there);
        }
        let value = f();
        self.insert(tx, key, value.clone())?;
        Ok(value)
    }

    /// Takes out all entries.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn clear(&self, tx: &mut Tx<'_>) -> Result<(), Stop> {
        tx.write(&self.0.root, TrieNode::Leaf(Vec::new()))?;
        self.0.counts.iter().try_for_each(|count| tx.write(count, 0))
    }

    /// How many entries there are. Who asks conflicts with all who insert or remove one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn len(&self, tx: &mut impl Snapshot) -> Result<usize, Stop> {
        let sum = self.0.counts.iter().try_fold(0, |sum, count| Ok::<isize, Stop>(sum + tx.read(count)?))?;
        Ok(usize::try_from(sum).expect("what was removed was there"))
    }

    /// Whether there is no entry. Who asks conflicts with all who insert or remove one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn is_empty(&self, tx: &mut impl Snapshot) -> Result<bool, Stop> {
        Ok(self.len(tx)? == 0)
    }

    /// Calls `f` with each entry, in no particular order. It reads the whole map: a transaction that writes meanwhile
    /// may have it run again, until it gets its turn.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn for_each(&self, tx: &mut impl Snapshot, mut f: impl FnMut(&K, &V)) -> Result<(), Stop> {
        let mut left = vec![self.0.root.clone()];
        while let Some(variable) = left.pop() {
            let children = tx.with(&variable, |node| match node {
                TrieNode::Branch(children) => Some(children.clone()),
                TrieNode::Leaf(entries) => {
                    entries.iter().for_each(|entry| f(&entry.key, &entry.value));
                    None
                }
            })?;
            left.extend(children.iter().flat_map(|children| children.iter().cloned()));
        }
        Ok(())
    }

    /// All entries, in no particular order: as [`for_each`](Self::for_each).
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn to_vec(&self, tx: &mut impl Snapshot) -> Result<Vec<(K, V)>, Stop> {
        let mut all = Vec::new();
        self.for_each(tx, |key, value| all.push((key.clone(), value.clone())))?;
        Ok(all)
    }

    /// The leaf of a hash, how deep it is, and a copy of what it holds.
    #[allow(clippy::type_complexity, reason = "a name for it would be used once")]
    fn leaf(
        &self,
        tx: &mut Tx<'_>,
        hash: u64,
    ) -> Result<(TVar<TrieNode<K, V>>, u32, Vec<MapEntry<K, V>>), Stop> {
        let mut depth = 0;
        let (leaf, entries) = tx.walk(&self.0.root, |variable, node| match node {
            TrieNode::Branch(children) => down(children, hash, &mut depth),
            TrieNode::Leaf(entries) => {
                let mut copy = Vec::with_capacity(entries.len() + 1);
                copy.extend_from_slice(entries);
                ControlFlow::Break((variable.clone(), copy))
            }
        })?;
        Ok((leaf, depth, entries))
    }

    /// A leaf of these entries at that depth, or a branch with leaves if they are too many for one.
    fn node(&self, entries: Vec<MapEntry<K, V>>, depth: u32) -> TrieNode<K, V> {
        if entries.len() <= ENTRIES_MAX || depth >= DEPTH_MAX {
            return TrieNode::Leaf(entries);
        }
        let mut parts = [const { Vec::new() }; 1 << BITS];
        for entry in entries {
            parts[index(entry.hash, depth)].push(entry);
        }
        let child = |part| TVar::new_at(self.node(part, depth + 1), self.0.site);
        TrieNode::Branch(Arc::new(parts.map(child)))
    }

    fn count(&self, tx: &mut Tx<'_>, hash: u64, more: isize) -> Result<(), Stop> {
        // By other bits than those that choose the first branch.
        tx.modify(&self.0.counts[(hash >> (u64::BITS - 3)) as usize % COUNTS], |count| count + more)
    }
}

/// Which child of a branch at that depth leads to a hash.
fn index(hash: u64, depth: u32) -> usize {
    (hash >> (BITS * depth)) as usize % (1 << BITS)
}

fn down<'a, K, V, R>(
    children: &'a Children<K, V>,
    hash: u64,
    depth: &mut u32,
) -> WalkStep<'a, TrieNode<K, V>, R> {
    let child = &children[index(hash, *depth)];
    *depth += 1;
    ControlFlow::Continue(child)
}

fn find<K, V, Q>(entries: &[MapEntry<K, V>], hash: u64, key: &Q) -> Option<usize>
where
    K: Borrow<Q>,
    Q: Eq + ?Sized,
{
    entries.iter().position(|entry| entry.hash == hash && entry.key.borrow() == key)
}

impl<K, V, S> Default for TMap<K, V, S>
where
    K: Eq + Hash + Clone + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    S: BuildHasher + Default,
{
    #[track_caller]
    fn default() -> TMap<K, V, S> {
        TMap::with_hasher(S::default())
    }
}

impl<K, V, S> fmt::Debug for TMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TMap").field("made_at", &format_args!("{}", self.0.site)).finish_non_exhaustive()
    }
}
