//! Owns: what a rank does to try plans: halos with edges and corners, regions, blocks, modes that change, and faults.
//! May use: `raddle-mpi`.
//! Never: a test; `ranks` starts these.

use super::{BRIEF, start};
use raddle_mpi::{
    BlockPlan, Cart, DistArray, EmulatedLink, Leg, Mode, Net, NetConfig, NetError, Reach, Region, Request,
};
use std::time::{Duration, Instant};

const MODES: [Mode; 5] =
    [Mode::Inline, Mode::Shared, Mode::Watched, Mode::Dedicated { core: None }, Mode::Auto { core: None }];

/// A number that says which cell it is.
fn cell([x, y, z]: [usize; 3]) -> f64 {
    (x + 100 * (y + 100 * z)) as f64
}

fn places(array: &DistArray<f64>) -> Vec<[usize; 3]> {
    let [x, y, z] = array.own();
    let mut all = Vec::new();
    z.for_each(|z| y.clone().for_each(|y| all.extend(x.clone().map(|x| [x, y, z]))));
    all
}

/// On eight ranks: all ghosts that there should be have come, and no others.
pub(crate) fn corners() {
    let net = start();
    let cart = Cart::new(&net, [2, 2, 2]).expect("a grid");
    for (mode, reach) in MODES.into_iter().zip([Reach::Corners, Reach::Edges, Reach::Faces].iter().cycle()) {
        net.set_mode(mode).expect("a mode");
        let mut u = DistArray::<f64>::new("u", &cart, [5, 4, 3]).expect("an array");
        let mut halo = net.plan_halo_of(&u, *reach).expect("a plan");
        places(&u).into_iter().for_each(|at| u.set(at, 1.0 + cell(at)));
        let u = halo.start(&mut u).expect("a start").wait().expect("an exchange");
        let own = u.own();
        for dx in -1..=1_isize {
            for dy in -1..=1_isize {
                for dz in -1..=1_isize {
                    // The cell beyond a corner of this rank's part, to that side.
                    let side = [dx, dy, dz];
                    let at = [0, 1, 2].map(|axis| match side[axis] {
                        0 => own[axis].start as isize,
                        step if step > 0 => own[axis].end as isize,
                        _ => own[axis].start as isize - 1,
                    });
                    let is_there = (0..3).all(|axis| at[axis] >= 0 && (at[axis] as usize) < u.size()[axis]);
                    let steps = side.iter().filter(|step| **step != 0).count();
                    let expected = if is_there && steps <= *reach as usize {
                        1.0 + cell(at.map(|at| at as usize))
                    } else {
                        0.0
                    };
                    assert_eq!(u.get_with_ghosts(at), expected, "{reach:?} {side:?} at {at:?}");
                }
            }
        }
    }
    println!("rank {} is done", net.rank());
}

/// On two ranks: a message of a cell and, behind it, one that an MPI offers first meet in their order.
fn a_cell_and_a_plane(net: &Net) {
    let (rank, peer) = (net.rank(), 1 - net.rank());
    let cart = Cart::new(net, [2, 1, 1]).expect("a grid");
    let mut u = DistArray::<f64>::new("planes", &cart, [8, 120, 120]).expect("an array");
    let start = 4 * rank as isize;
    let at = |x, extent| Region::solid([start + x, 0, 0], extent);
    let (one, plane) = ([1, 1, 1], [1, 120, 120]);
    let legs = [
        Leg::send(peer, at(0, one)),
        Leg::send(peer, at(2, plane)),
        Leg::receive(peer, at(1, one)),
        Leg::receive(peer, at(3, plane)),
    ];
    let mut plan = net.plan_regions(&u, &legs).expect("a plan");
    for mode in MODES {
        net.set_mode(mode).expect("a mode");
        places(&u).into_iter().for_each(|at| u.set(at, cell(at)));
        let u = plan.start(&mut u).expect("a start").wait().expect("an exchange");
        assert_eq!(u.get([4 * rank + 1, 0, 0]), cell([4 * peer, 0, 0]), "{mode:?}");
        for (y, z) in [(0, 0), (119, 7), (119, 119)] {
            assert_eq!(u.get([4 * rank + 3, y, z]), cell([4 * peer + 2, y, z]), "{mode:?}");
        }
    }
}

/// On two ranks: a wrap-round, every other cell, and something for oneself.
pub(crate) fn regions() {
    let net = start();
    let (rank, peer) = (net.rank(), 1 - net.rank());
    let cart = Cart::new(&net, [2, 1, 1]).expect("a grid");
    let mut u = DistArray::<f64>::new("u", &cart, [8, 3, 2]).expect("an array");
    let start = 4 * rank as isize;
    let legs = [
        // Its last column goes to the other's ghosts, round the end of the array.
        Leg::send(peer, Region::solid([start + 3, 0, 0], [1, 3, 2])),
        Leg::receive(peer, Region::solid([start - 1, 0, 0], [1, 3, 2])),
        // Every other cell of a row to the other's corresponding ones.
        Leg::send(peer, Region { offset: [start, 1, 1], extent: [2, 1, 1], stride: [2, 1, 1] }),
        Leg::receive(peer, Region { offset: [start + 1, 1, 1], extent: [2, 1, 1], stride: [2, 1, 1] }),
        // A cell to a ghost of its own.
        Leg::send(rank, Region::solid([start, 0, 0], [1, 1, 1])),
        Leg::receive(rank, Region::solid([start, -1, 0], [1, 1, 1])),
    ];
    let mut plan = net.plan_regions(&u, &legs).expect("a plan");
    for mode in MODES {
        net.set_mode(mode).expect("a mode");
        places(&u).into_iter().for_each(|at| u.set(at, cell(at)));
        let u = plan.start(&mut u).expect("a start").wait().expect("an exchange");
        let theirs = 4 * peer;
        for (y, z) in [(0, 0), (2, 1)] {
            let ghost = u.get_with_ghosts([start - 1, y as isize, z as isize]);
            assert_eq!(ghost, cell([theirs + 3, y, z]), "{mode:?}");
        }
        let row = [0, 1, 2, 3].map(|x| u.get([4 * rank + x, 1, 1]));
        let (own, other) = (|x| cell([4 * rank + x, 1, 1]), |x| cell([theirs + x, 1, 1]));
        assert_eq!(row, [own(0), other(0), own(2), other(2)], "{mode:?}");
        assert_eq!(u.get_with_ghosts([start, -1, 0]), cell([4 * rank, 0, 0]));
    }
    // What makes no sense is told on the rank that says it, and the other one does not wait.
    let beyond = [Leg::send(peer, Region::solid([start + 4, 0, 0], [1, 1, 1]))];
    let made = net.plan_regions(&u, if rank == 0 { &beyond } else { &[] }).err().expect("it is not there");
    assert_eq!(matches!(made, NetError::Misuse(_)), rank == 0, "{made:?}");
    assert_eq!(matches!(made, NetError::Disagree(_)), rank == 1, "{made:?}");
    let twice = Leg::receive(peer, Region::solid([start, 0, 0], [2, 1, 1]));
    assert!(matches!(net.plan_regions(&u, &[twice, twice]), Err(NetError::Misuse(_))));
    // One expects a message more.
    let sent = Leg::send(peer, Region::solid([start, 0, 0], [2, 1, 1]));
    let made = net
        .plan_regions(&u, if rank == 0 { std::slice::from_ref(&sent) } else { &[] })
        .err()
        .expect("they differ");
    println!("rank {rank}: {made}");
    // Of another size.
    let of_three = Leg::receive(peer, Region::solid([start, 0, 0], [3, 1, 1]));
    let made = net.plan_regions(&u, &[if rank == 0 { sent } else { of_three }]).err().expect("they differ");
    println!("rank {rank}: {made}");
    // Another kind.
    let made =
        if rank == 0 { net.plan_halo(&u).err() } else { net.plan_shift::<f64>("s", &cart, 0, 1, 10).err() };
    println!("rank {rank}: {}", made.expect("they differ"));
    a_cell_and_a_plane(&net);
    println!("rank {rank} is done");
}

fn filled(rank: usize, step: usize) -> impl FnOnce(&mut [u64]) {
    move |block| {
        block.iter_mut().enumerate().for_each(|(at, one)| *one = (rank * 1000 + step * 10 + at) as u64)
    }
}

fn expect(block: &[u64], rank: usize, step: usize) {
    let mut wanted = vec![0; block.len()];
    filled(rank, step)(&mut wanted);
    assert_eq!(block, wanted, "from rank {rank}, step {step}");
}

/// On six ranks, two rows of three: broadcasts along rows and columns from everyone, shifts, a gather, in all modes,
/// with blocks of one segment and of several, and two under way at a time.
pub(crate) fn blocks() {
    let net = start();
    let rank = net.rank();
    let cart = Cart::new(&net, [3, 2, 1]).expect("a grid");
    // The last one is long: several segments of which the last is short.
    for (mode, count) in MODES.into_iter().zip([1, 10, 40_000, 32_768, 100_001]) {
        net.set_mode(mode).expect("a mode");
        let plan = |name, axis| net.plan_broadcast::<u64>(name, &cart, axis, count).expect("a plan");
        let mut spare = (plan("row", 0), plan("column", 1));
        let mut other = Some((plan("row'", 0), plan("column'", 1)));
        let begin = |(row, column): (BlockPlan<u64>, BlockPlan<u64>), step: usize| {
            let row = row.start_from(step % 3, filled(rank, step)).expect("a start");
            (row, column.start_from(step % 2, filled(rank, step)).expect("a start"))
        };
        let mut coming = begin(other.take().expect("a pair"), 0);
        for step in 0..7 {
            let next = begin(spare, step + 1);
            let (row, column) = (coming.0.wait().expect("a row"), coming.1.wait().expect("a column"));
            expect(&row, cart.line(0)[step % 3], step);
            expect(&column, cart.line(1)[step % 2], step);
            spare = (row.free(), column.free());
            coming = next;
        }
        // One is dropped, one is waited for.
        drop(coming.0);
        expect(&coming.1.wait().expect("a column"), cart.line(1)[7 % 2], 7);
        for by in [1, -1, 2, 3] {
            let plan = net.plan_shift::<u64>("ring", &cart, 0, by, count).expect("a plan");
            let block = plan.start(filled(rank, 3)).expect("a start").wait().expect("a block");
            let from = (cart.at()[0] as isize - by).rem_euclid(3) as usize;
            expect(&block, cart.line(0)[from], 3);
        }
        let plan = net.plan_gather::<u64>("all", 4, count).expect("a plan");
        let all = plan.start(filled(rank, 5)).expect("a start").wait().expect("blocks");
        if rank == 4 {
            (0..6).for_each(|from| expect(&all[from * count..(from + 1) * count], from, 5));
        } else {
            assert!(all.is_empty());
        }
        net.barrier().expect("all");
    }
    assert!(matches!(net.plan_broadcast::<u64>("b", &cart, 3, 1), Err(NetError::Misuse(_))));
    let plan = net.plan_broadcast::<u64>("b", &cart, 1, 1).expect("a plan");
    assert!(matches!(plan.start_from(2, |_| ()), Err(NetError::Misuse(_))));
    let count = if rank == 5 { 9 } else { 8 };
    if let Err(error) = net.plan_broadcast::<u64>("wrong", &cart, 0, count) {
        println!("rank {rank}: {error}");
    }
    println!("rank {rank} is done");
}

/// Rank 2 of three is the end of a chain; the middle one is killed, or stopped, in a broadcast.
pub(crate) fn broken_chain(signal: &str) {
    let mut net = start();
    net.set_mode(Mode::Watched).expect("a mode");
    let cart = Cart::new(&net, [3, 1, 1]).expect("a grid");
    let plan = net.plan_broadcast::<u64>("panel", &cart, 0, 1 << 20).expect("a plan");
    // Not by a barrier: who has left one may still have something to send for it, which a stopped process does not.
    if net.rank() == 1 {
        for rank in [0, 2] {
            net.receive(rank, 5, &mut []).expect("it is there");
        }
        let sent =
            std::process::Command::new("kill").args([signal, &std::process::id().to_string()]).status();
        println!("{sent:?}");
        std::thread::sleep(Duration::from_secs(60));
    }
    net.send(1, 5, &[]).expect("a small message goes at once");
    net.set_deadline(BRIEF);
    // The plan was made with the deadline of before: a message by itself shows who is late.
    drop(plan);
    println!("rank {}: {}", net.rank(), net.receive(1, 6, &mut [0; 8]).expect_err("it does not come"));
}

/// A broadcast whose root does not begin: the plan's own deadline.
pub(crate) fn late_root() {
    let net = start();
    let cart = Cart::new(&net, [2, 1, 1]).expect("a grid");
    let mut plan = net.plan_broadcast::<u64>("panel", &cart, 0, 1000).expect("a plan");
    plan.set_deadline(BRIEF);
    if net.rank() == 1 {
        let error = plan.start_from(0, |_| ()).expect("a start").wait().expect_err("it does not come");
        println!("rank 1: {error}");
    } else {
        println!("{:?}", net.receive(1, 2, &mut []));
    }
}

/// Spins for so long: a task without boundaries.
fn spin(span: Duration) {
    let began = Instant::now();
    while began.elapsed() < span {
        std::hint::spin_loop();
    }
}

fn iterate(
    net: &Net,
    halo: &mut raddle_mpi::HaloPlan<f64>,
    u: &mut DistArray<f64>,
    count: usize,
    pause: bool,
) {
    for _ in 0..count {
        let exchange = halo.start(u).expect("a start");
        for _ in 0..10 {
            spin(Duration::from_micros(500));
            if pause {
                net.point();
            }
        }
        exchange.wait().expect("an exchange");
    }
}

/// With a link that is emulated: what is under way moves only when somebody looks; `Auto` finds out who should.
pub(crate) fn auto() {
    let config = NetConfig::default().deadline(super::PATIENT).link(EmulatedLink::megabits(1000.0));
    let net = Net::start(config).expect("a net");
    let cart = Cart::new(&net, [1, 1, 2]).expect("a grid");
    let mut u = DistArray::<f64>::new("u", &cart, [512, 512, 4]).expect("an array");
    let mut halo = net.plan_halo(&u).expect("a plan");
    assert!(net.auto_report().is_none());
    net.set_mode(Mode::Auto { core: None }).expect("a mode");
    assert_eq!((net.mode(), net.acting()), (Mode::Auto { core: None }, Mode::Inline));
    iterate(&net, &mut halo, &mut u, 50, true);
    let report = net.auto_report().expect("it is auto");
    println!("rank {} large: {}: {}", net.rank(), report.acting, report.reason);
    net.barrier().expect("all");
    // Without a boundary there is the watchdog.
    net.set_mode(Mode::Auto { core: None }).expect("a mode");
    iterate(&net, &mut halo, &mut u, 50, false);
    let report = net.auto_report().expect("it is auto");
    println!("rank {} dull: {}: {}", net.rank(), report.acting, report.reason);
    net.barrier().expect("all");
    net.set_mode(Mode::Auto { core: None }).expect("a mode");
    let mut small = DistArray::<f64>::new("small", &cart, [8, 8, 4]).expect("an array");
    let mut halo = net.plan_halo(&small).expect("a plan");
    iterate(&net, &mut halo, &mut small, 50, true);
    let report = net.auto_report().expect("it is auto");
    println!("rank {} small: {}: {}", net.rank(), report.acting, report.reason);
    // What is under way while the mode changes comes to its end.
    for mode in MODES.into_iter().cycle().take(20) {
        let exchange = halo.start(&mut small).expect("a start");
        net.set_mode(mode).expect("a mode");
        exchange.wait().expect("an exchange");
    }
    println!("rank {} is done", net.rank());
}

/// Messages that tasks await, in every mode; a late one, one that is dropped, one that is waited for.
pub(crate) fn calls() {
    let mut net = start();
    let (rank, peer) = (net.rank(), 1 - net.rank());
    for mode in MODES {
        net.set_mode(mode).expect("a mode");
        for size in [0, 10, 300_000] {
            let came = raddle::task::block_on(async {
                let out = net.call(Request::send(peer, 1, vec![rank as u8 + 1; size])).expect("a send");
                let came = net.call(Request::receive(peer, 1, size + 5)).expect("a receive").await;
                assert_eq!(out.await, Ok(Vec::new()), "{mode:?}");
                came
            });
            assert_eq!(came, Ok(vec![peer as u8 + 1; size]), "{mode:?}");
            let out = net.call(Request::send(peer, 2, vec![7; size])).expect("a send");
            let came = net.call(Request::receive(peer, 2, size)).expect("a receive").wait();
            assert_eq!((came, out.wait()), (Ok(vec![7; size]), Ok(Vec::new())), "{mode:?}");
        }
        // It goes, and is received, though nobody awaits it.
        drop(net.call(Request::send(peer, 3, [1, 2, 3])).expect("a send"));
        drop(net.call(Request::receive(peer, 3, 3)).expect("a receive"));
        net.barrier().expect("all");
    }
    assert!(matches!(net.call(Request::send(2, 1, [])), Err(NetError::Misuse(_))));
    let long = net.call(if rank == 0 { Request::send(1, 4, [0; 9]) } else { Request::receive(0, 4, 8) });
    let told = raddle::task::block_on(long.expect("a call"));
    if rank == 1 {
        println!("rank 1: {}", told.expect_err("it is longer"));
    }
    net.barrier().expect("all");
    for mode in [Mode::Inline, Mode::Shared] {
        net.set_mode(mode).expect("a mode");
        net.set_deadline(BRIEF);
        let late = raddle::task::block_on(net.call(Request::receive(peer, 5, 8)).expect("a receive"));
        println!("rank {rank}, {mode}: {}", late.expect_err("nobody sends it"));
    }
}
