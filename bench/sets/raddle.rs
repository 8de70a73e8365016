//! Owns: sets of numbers in transactions of `raddle::stm`, used by processes.
//! May use: raddle.
//! Never: a setting other than the number of workers.
//!
//! Nodes have numbers and stay: who comes to one that was taken out meanwhile finds its variable written later than its
//! transaction began, and begins anew. What belongs together is one variable of two words, so that a step is one read.

mod chain;
mod tree;

use std::process::ExitCode;

use bench_common::sets::{NumberSet, Shape, Spare, run};
use bench_raddle::on_processes;
use chain::Chains;
use raddle_measure::program;
use tree::Tree;

fn main() -> ExitCode {
    program::main(|job| run::<Set>(job, on_processes(job.workers)?))
}

enum Set {
    Chains(Chains),
    Tree(Tree),
}

impl NumberSet for Set {
    fn new(shape: Shape, nodes: u32) -> Set {
        match shape {
            Shape::List | Shape::Table => Set::Chains(Chains::new(shape.heads(), nodes)),
            Shape::Tree => Set::Tree(Tree::new(nodes)),
        }
    }

    fn contains(&self, number: u32) -> bool {
        match self {
            Set::Chains(chains) => chains.contains(number),
            Set::Tree(tree) => tree.contains(number),
        }
    }

    fn insert(&self, number: u32, spare: &mut Spare) -> bool {
        match self {
            Set::Chains(chains) => chains.insert(number, spare),
            Set::Tree(tree) => tree.insert(number, spare),
        }
    }

    fn remove(&self, number: u32, spare: &mut Spare) -> bool {
        match self {
            Set::Chains(chains) => chains.remove(number, spare),
            Set::Tree(tree) => tree.remove(number, spare),
        }
    }
}
