//! Owns: the division of a picture into tiles, and the threads that draw them.
//! May use: `scene`, `trace`, `ledger`, `raddle`, `raddle-measure`.
//! Never: two threads at one tile.
//!
//! Each thread takes the next free tile, draws it, and yields. Which thread draws a tile depends on the schedule; the
//! pixels do not.

use std::fmt::{self, Display, Formatter};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ledger::{Moment, Period};
use raddle::sync::Mutex;
use raddle::{Runtime, thread};
use raddle_measure::table::{Table, figure};

use crate::scene::Scene;
use crate::trace::View;

/// How a picture is drawn.
#[derive(Clone, Copy, Debug)]
pub struct DrawPlan {
    /// Points across.
    pub width: u32,
    /// Points down.
    pub height: u32,
    /// The square root of the number of rays per point.
    pub samples: u32,
    /// Points of a tile's side.
    pub tile: u32,
    /// Threads that draw.
    pub threads: usize,
}

impl Default for DrawPlan {
    fn default() -> Self {
        DrawPlan { width: 640, height: 360, samples: 2, tile: 16, threads: 8 }
    }
}

/// A picture and the figures of its drawing.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Red, green and blue of each point, row by row.
    pub pixels: Vec<u8>,
    /// How long it took.
    pub elapsed: Duration,
    /// How many tiles each thread drew.
    pub done: Vec<u64>,
    /// The workers' counters of that time.
    pub period: Period,
}

/// A tile's place and its pixels.
type Tile = (usize, Vec<[u8; 3]>);

impl DrawPlan {
    fn across(self) -> usize {
        self.width.div_ceil(self.tile) as usize
    }

    fn tiles(self) -> usize {
        self.across() * self.height.div_ceil(self.tile) as usize
    }

    /// The columns and rows of a tile.
    fn place(self, tile: usize) -> (std::ops::Range<u32>, std::ops::Range<u32>) {
        let span = |index: usize, end: u32| {
            let first = index as u32 * self.tile;
            first..(first + self.tile).min(end)
        };
        (span(tile % self.across(), self.width), span(tile / self.across(), self.height))
    }

    fn tile(self, view: &View<'_>, tile: usize) -> Tile {
        let (columns, rows) = self.place(tile);
        let points = rows.flat_map(|y| columns.clone().map(move |x| (x, y)));
        (tile, points.map(|(x, y)| view.point(x, y, self.samples)).collect())
    }

    fn assemble(self, tiles: &[Tile]) -> Vec<u8> {
        let mut pixels = vec![0; self.width as usize * self.height as usize * 3];
        for (tile, colours) in tiles {
            let (columns, rows) = self.place(*tile);
            let points = rows.flat_map(|y| columns.clone().map(move |x| (x, y)));
            for ((x, y), colour) in points.zip(colours) {
                let at = (y as usize * self.width as usize + x as usize) * 3;
                pixels[at..at + 3].copy_from_slice(colour);
            }
        }
        pixels
    }
}

/// Draws `scene` on `runtime`.
pub fn draw(runtime: &Runtime, scene: &Scene, plan: DrawPlan) -> Picture {
    let view = View::new(scene, plan.width, plan.height);
    let (next, tiles) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(plan.tiles())));
    let (before, begun) = (Moment::of(runtime), Instant::now());
    let work = || {
        let mut mine = Vec::new();
        loop {
            let tile = next.fetch_add(1, Ordering::Relaxed);
            if tile >= plan.tiles() {
                break;
            }
            mine.push(plan.tile(&view, tile));
            thread::yield_now();
        }
        let count = mine.len() as u64;
        tiles.lock().expect("nobody panics").append(&mut mine);
        count
    };
    let done = runtime.run(|| {
        thread::scope(|threads| {
            let drawers: Vec<_> = (0..plan.threads).map(|_| threads.spawn(work)).collect();
            drawers.into_iter().map(|drawer| drawer.join().expect("nobody panics")).collect()
        })
    });
    let elapsed = begun.elapsed();
    let period = before.until(&Moment::of(runtime));
    let pixels = plan.assemble(&tiles.into_inner().expect("nobody panics"));
    Picture { pixels, elapsed, done, period }
}

/// The same picture in a plain loop.
pub fn floor(scene: &Scene, plan: DrawPlan) -> Picture {
    let view = View::new(scene, plan.width, plan.height);
    let begun = Instant::now();
    let tiles: Vec<Tile> = (0..plan.tiles()).map(|tile| plan.tile(&view, tile)).collect();
    let elapsed = begun.elapsed();
    let (pixels, done) = (plan.assemble(&tiles), vec![plan.tiles() as u64]);
    Picture { pixels, elapsed, done, period: Period::default() }
}

impl Picture {
    /// A checksum of the pixels (FNV-1a).
    pub fn checksum(&self) -> u64 {
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.pixels.iter().fold(0xcbf2_9ce4_8422_2325, mix)
    }
}

impl Display for Picture {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut threads = Table::new(["thread", "tiles"]);
        for (number, done) in self.done.iter().enumerate() {
            threads.row([number.to_string(), done.to_string()]);
        }
        let rate = self.done.iter().sum::<u64>() as f64 / self.elapsed.as_secs_f64();
        writeln!(f, "{threads}")?;
        writeln!(f, "throughput     {} tiles per second over {:.2?}", figure(rate), self.elapsed)?;
        writeln!(f, "thread spread  {} %", figure(ledger::thread_spread(&self.done)))?;
        writeln!(f, "migrations     {}\n\n{}", self.period.migrations(), self.period)?;
        writeln!(f, "checksum       {:016x}", self.checksum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_the_same_for_any_number_of_workers_and_threads() {
        let scene = Scene::read(include_str!("../scenes/still-life.scene")).unwrap();
        // Sides that no tile divides.
        let plan = DrawPlan { width: 101, height: 55, samples: 1, tile: 8, threads: 5 };
        let expected = floor(&scene, plan);
        for (workers, threads, migration) in [(1, 5, true), (2, 1, true), (2, 7, false), (3, 7, true)] {
            let runtime = Runtime::builder().workers(workers).migration(migration).build().unwrap();
            let picture = draw(&runtime, &scene, DrawPlan { threads, ..plan });
            assert_eq!(picture.pixels, expected.pixels, "{workers} workers, {threads} threads");
            assert_eq!(picture.done.iter().sum::<u64>(), 13 * 7);
        }
        assert!(
            expected.pixels.iter().any(|part| *part > 200) && expected.pixels.iter().any(|part| *part < 60)
        );
    }
}
