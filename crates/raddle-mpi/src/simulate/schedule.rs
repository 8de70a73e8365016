//! Owns: `Half`: what a rank does for half of an iteration: as a schedule that SimGrid replays, and as the formula.
//! May use: `halo`, `share`, `sweep`.
//! Never: starting a program.
//!
//! With a message's own overhead `o`, the time `G` of a byte and the latency `L`, `m` messages of `B` bytes together:
//!
//! | model | half an iteration |
//! |---|---|
//! | sync, async | `W + m o + B G + L` |
//! | shared | `max(W_inner + m o, B G + L) + W_annulus` |
//! | dedicated | the same, `W` longer by the kernel ratio |
//!
//! A message that moves while nobody looks is shared's in async, too.

use super::{Scene, SimulatedModel};
use crate::halo::{Reach, sides_of};
use crate::share::Share;
use crate::sweep::Element;
use std::fmt::Write as _;
use std::ops::Range;

/// What a rank does for half of an iteration.
#[derive(Debug, PartialEq)]
pub(super) struct Half {
    /// Peers, and what each gets and gives.
    messages: Vec<(usize, usize)>,
    /// Cells whose turn it is: those that no neighbour is concerned with, and the others.
    inner: f64,
    annulus: f64,
}

impl Half {
    pub(super) fn of<T: Element>(share: &Share) -> Half {
        let count = |part: [Range<usize>; 3]| part.iter().map(|range| range.len() as f64).product::<f64>();
        let (all, inner) = (count(share.inside()), count(share.inner_box()));
        let sides = sides_of::<T>(share, Reach::Faces);
        Half {
            messages: sides.into_iter().map(|side| (side.peer, side.bytes)).collect(),
            inner: inner / 2.0,
            annulus: (all - inner) / 2.0,
        }
    }

    /// Nanoseconds of computing: inner cells, and the others.
    fn work(&self, scene: &Scene, model: SimulatedModel) -> [f64; 2] {
        let longer = if model == SimulatedModel::Dedicated { scene.kernel_ratio } else { 1.0 };
        [self.inner, self.annulus].map(|cells| cells * scene.cell_ns * longer)
    }

    /// Whether it moves while the inner cells are computed.
    fn overlaps(bytes: usize, scene: &Scene, model: SimulatedModel) -> bool {
        match model {
            SimulatedModel::Sync => false,
            SimulatedModel::Async => bytes <= scene.eager_bytes,
            SimulatedModel::Shared | SimulatedModel::Dedicated => true,
        }
    }

    /// In seconds.
    pub(super) fn formula(&self, scene: &Scene, model: SimulatedModel) -> f64 {
        let [inner, annulus] = self.work(scene, model).map(|ns| ns * 1e-9);
        // Overheads, wires and latency of those that overlap, and of the others.
        let costs = |overlaps: bool| {
            let which =
                self.messages.iter().filter(|(_, bytes)| Half::overlaps(*bytes, scene, model) == overlaps);
            let (count, bytes) =
                which.fold((0.0, 0.0), |(count, all), (_, bytes)| (count + 1.0, all + *bytes as f64));
            let latency = if count > 0.0 { scene.latency.as_secs_f64() } else { 0.0 };
            (count * scene.overhead.as_secs_f64(), bytes / scene.bytes_per_second + latency)
        };
        let ((early, hidden), (late, exposed)) = (costs(true), costs(false));
        (inner + early).max(hidden) + late + exposed + annulus
    }

    /// All iterations, a line for each thing that the rank does; messages are posted as a plan posts them.
    pub(super) fn schedule(&self, rank: usize, scene: &Scene, model: SimulatedModel) -> String {
        let [inner, annulus] = self.work(scene, model);
        let post = |overlaps: bool| {
            let which =
                self.messages.iter().filter(|(_, bytes)| Half::overlaps(*bytes, scene, model) == overlaps);
            which.fold(String::new(), |mut text, (peer, bytes)| {
                let _ = writeln!(text, "{rank} irecv {peer} 0 {bytes}\n{rank} isend {peer} 0 {bytes}");
                text
            })
        };
        let wait = if self.messages.is_empty() { String::new() } else { format!("{rank} waitall\n") };
        let compute = |ns: f64| if ns > 0.0 { format!("{rank} compute {ns}\n") } else { String::new() };
        let half = if model == SimulatedModel::Sync {
            format!("{}{wait}{}", post(false), compute(inner + annulus))
        } else {
            format!("{}{}{}{wait}{}", post(true), compute(inner), post(false), compute(annulus))
        };
        format!("{rank} init\n{}{rank} finalize\n", half.repeat(2 * scene.iterations))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cart::Cart;
    use std::time::Duration;

    fn scene() -> Scene {
        let (latency, overhead) = (Duration::from_micros(10), Duration::from_micros(1));
        Scene {
            ranks: 27,
            cells: 10,
            iterations: 1,
            cell_ns: 4.0,
            bytes_per_second: 1e9,
            latency,
            overhead,
            ..Scene::default()
        }
    }

    fn half(rank: usize) -> Half {
        let cart = Cart::of(rank, 27, [3, 3, 3]).expect("a grid");
        Half::of::<f64>(&Share::new("u", &cart, [30; 3]).expect("a share"))
    }

    #[test]
    fn a_rank_in_the_middle_has_six_neighbours_and_one_in_a_corner_three() {
        assert_eq!(half(13).messages.len(), 6);
        assert_eq!(
            half(0),
            Half { messages: vec![(1, 800), (3, 800), (9, 800)], inner: 364.5, annulus: 135.5 }
        );
    }

    #[test]
    fn the_formula_is_the_one_that_is_written_above() {
        let of = |model| (half(13).formula(&scene(), model) * 1e9).round();
        // W 2000, of which 1024 inner; m o 6000; B G 4800; L 10000.
        assert_eq!(of(SimulatedModel::Sync), 2000.0 + 6000.0 + 4800.0 + 10_000.0);
        assert_eq!(of(SimulatedModel::Shared), 14_800.0 + 976.0);
        assert_eq!(of(SimulatedModel::Async), of(SimulatedModel::Shared));
        let large = Scene { eager_bytes: 100, ..scene() };
        assert_eq!((half(13).formula(&large, SimulatedModel::Async) * 1e9).round(), of(SimulatedModel::Sync));
        let slow = Scene { cell_ns: 1000.0, kernel_ratio: 1.5, ..scene() };
        assert_eq!(
            (half(13).formula(&slow, SimulatedModel::Dedicated) * 1e9).round(),
            1.5 * 500_000.0 + 6000.0
        );
    }

    #[test]
    fn a_schedule_posts_computes_and_waits_in_the_order_of_its_model() {
        let words = |model, scene: &Scene| -> String {
            let text = half(0).schedule(0, scene, model);
            text.lines()
                .map(|line| line.split(' ').nth(1).expect("what is done").chars().nth(1).expect("a letter"))
                .collect()
        };
        // The second letters of init, irecv, isend, waitall, compute, finalize.
        assert_eq!(words(SimulatedModel::Sync, &scene()), format!("n{0}{0}i", "rsrsrsao"));
        assert_eq!(words(SimulatedModel::Shared, &scene()), format!("n{0}{0}i", "rsrsrsoao"));
        let large = Scene { eager_bytes: 100, ..scene() };
        assert_eq!(words(SimulatedModel::Async, &large), format!("n{0}{0}i", "orsrsrsao"));
    }
}
