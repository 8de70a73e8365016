//! Owns: tests of the tree: it is a map of lists, and no distance between addresses makes it slow.
//! May use: nothing.
//! Never: a thread.

use super::{Node, Tree, hash};
use std::collections::{BTreeMap, VecDeque};

type BoxedNode = Box<Node<usize>>;

/// The steps from the root to the first at `address`.
fn depth(tree: &Tree<usize>, address: usize) -> usize {
    let (mut link, mut way, mut steps) = (&tree.root, hash(address), 0);
    // SAFETY: the nodes of a test outlive its tree.
    while let Some(node) = unsafe { link.get().as_ref() }
        && node.address() != address
    {
        link = &node.below[(way & 1) as usize];
        way >>= 1;
        steps += 1;
    }
    assert!(!link.get().is_null(), "{address:#x} is not there");
    steps
}

/// A tree and a map of lists are given the same thousand operations for each seed, and agree.
#[test]
fn it_is_a_map_of_lists() {
    for seed in 0..200_u64 {
        let (tree, mut map) = (Tree::new(), BTreeMap::<usize, VecDeque<BoxedNode>>::new());
        let mut random = seed;
        let mut choose = |n: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % n
        };
        let addresses = 1 + choose(40);
        for number in 0..1000 {
            let address = 64 * choose(addresses);
            let list = map.entry(address).or_default();
            let at = (!list.is_empty()).then(|| choose(list.len()));
            match at.filter(|_| choose(2) == 0) {
                Some(at) => {
                    let node = list.remove(at).expect("there are more");
                    assert!(tree.remove(&node) && !tree.remove(&node), "it is in once");
                }
                None => {
                    list.push_back(Box::new(Node::new(address, 0, number)));
                    tree.push(list.back().expect("it was pushed"));
                }
            }
            let wanted: Vec<usize> = map[&address].iter().map(|node| node.sleeper).collect();
            let found = std::iter::successors(tree.first(address), |node| node.next());
            assert_eq!(found.map(|node| node.sleeper).collect::<Vec<_>>(), wanted, "seed {seed}");
        }
        map.values().flatten().for_each(|node| assert!(tree.remove(node), "seed {seed}"));
        assert!(tree.is_empty());
    }
}

/// Addresses at whatever distance from each other are spread over buckets and over a tree as random ones would be.
#[test]
fn no_stride_fills_a_bucket_or_a_branch() {
    const MANY: usize = 1 << 14;
    const BUCKETS: usize = 1024;
    let powers = (2..48).map(|power| 1_usize << power);
    let odd = [12, 40, 64 + 8, 4096 + 64, 0x9e37_79b9_7f4a_7c15, 0x61c8_8646_80b5_83eb, 1_000_003 * 4];
    for stride in powers.chain(odd) {
        let addresses = || (0..MANY).map(|n| 0x7f00_0000_1000_usize.wrapping_add(n.wrapping_mul(stride)));
        let mut count = [0; BUCKETS];
        addresses().for_each(|address| count[(hash(address) >> 54) as usize] += 1);
        let most = count.into_iter().max().expect("there are buckets");
        assert!(most <= 4 * MANY / BUCKETS, "stride {stride:#x}: {most} in one bucket");

        let (tree, nodes) = (Tree::new(), addresses().map(|address| Box::new(Node::new(address, 0, 0))));
        let nodes: Vec<BoxedNode> = nodes.collect();
        // High strides wrap around to addresses that were there already, which form lists.
        nodes.iter().for_each(|node| tree.push(node));
        let deepest = nodes.iter().map(|node| depth(&tree, node.address())).max();
        assert!(deepest < Some(14 + 16), "stride {stride:#x}: {deepest:?} steps");
        nodes.iter().for_each(|node| assert!(tree.remove(node)));
    }
}
