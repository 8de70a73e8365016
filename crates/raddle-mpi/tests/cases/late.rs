//! Owns: what a rank does to be late, what it may decide then, and what it leaves behind.
//! May use: `raddle-mpi`.
//! Never: a test; `ranks` starts these.

use super::{BRIEF, PATIENT, start};
use raddle_mpi::{
    Cart, DistArray, EmulatedLink, LateAnswer, Net, NetConfig, NetError, OnLate, Reach, Request,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

fn start_with(on_late: OnLate) -> Net {
    Net::start(NetConfig::default().deadline(PATIENT).on_late(on_late)).expect("a net")
}

/// A face of 320 KB takes 26 ms at 100 Mbit/s, and 2.6 s at a hundredth of that.
pub(crate) fn slow_link() {
    let link = EmulatedLink { window_bytes: u64::MAX, ..EmulatedLink::megabits(1.0) };
    let mut net = Net::start(NetConfig::default().deadline(PATIENT).link(link)).expect("a net");
    let cart = Cart::new(&net, [1, 1, 2]).expect("a grid");
    let mut u = DistArray::<f64>::new("u", &cart, [200, 200, 2]).expect("an array");
    let mut halo = net.plan_halo(&u).expect("a plan");
    halo.start(&mut u).expect("a start").wait().expect("it takes its time");
    net.barrier().expect("a barrier");
    if net.rank() == 0 {
        net.set_deadline(BRIEF);
        halo.set_deadline(BRIEF);
    }
    match halo.start(&mut u).expect("a start").wait() {
        Ok(_) => println!("{:?}", net.barrier()),
        Err(error) => println!("rank {}: {error}", net.rank()),
    }
}

pub(crate) fn abort() {
    let mut net = start_with(OnLate::Abort);
    net.barrier().expect("all are there");
    if net.rank() == 0 {
        net.set_deadline(BRIEF);
    }
    println!("after the abort: {:?}", net.receive(1 - net.rank(), 6, &mut [0; 8]));
}

/// Whether `mpirun` says that this is the last of three ranks.
fn is_last() -> bool {
    std::env::var("OMPI_COMM_WORLD_RANK").or_else(|_| std::env::var("PMI_RANK")).as_deref() == Ok("2")
}

/// On three ranks, the last of which is of a build whose messages differ.
pub(crate) fn two_builds() {
    let config = NetConfig::default().deadline(PATIENT);
    let config = if is_last() { config.of_another_build(77) } else { config };
    let error = Net::start(config).err().expect("they differ");
    assert!(matches!(error, NetError::Disagree(_)), "{error:?}");
    println!("refused: {error}");
}

/// On three ranks, the last of which is to end the job where the others would return errors.
pub(crate) fn policies_differ() {
    let on_late = if is_last() { OnLate::Abort } else { OnLate::ErrorOnAll };
    let error =
        Net::start(NetConfig::default().deadline(PATIENT).on_late(on_late)).err().expect("they differ");
    assert!(matches!(error, NetError::Disagree(_)), "{error:?}");
    println!("refused: {error}");
}

/// On three ranks: rank 0 is late, rank 1 waits for rank 0, rank 2 comes to a wait afterwards.
pub(crate) fn error_on_all() {
    let mut net = start_with(OnLate::ErrorOnAll);
    net.barrier().expect("all are there");
    let error = match net.rank() {
        0 => {
            net.set_deadline(BRIEF);
            let error = net.receive(2, 6, &mut [0; 8]).expect_err("it does not come");
            net.set_deadline(PATIENT);
            error
        }
        1 => net.receive(0, 6, &mut [0; 8]).expect_err("it does not come"),
        _ => net.barrier().expect_err("the others do not come"),
    };
    let is_here = matches!(error, NetError::Late(_));
    let is_there = matches!(error, NetError::GivenUp { rank: 0, .. });
    assert!(if net.rank() == 0 { is_here } else { is_there }, "{error:?}");
    println!("rank {} puts away: {error}", net.rank());
}

/// Rank 1 sends late; rank 0 is asked, and waits again: the net ends in good order.
pub(crate) fn asked() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let mut net = start_with(OnLate::ask(move |late| {
        if count.fetch_add(1, Ordering::Relaxed) == 0 {
            println!("rank 0 was asked: {late}");
        }
        LateAnswer::Wait(Duration::from_millis(20))
    }));
    net.barrier().expect("all are there");
    if net.rank() == 0 {
        net.set_deadline(Duration::from_millis(20));
        net.send(1, 5, &[]).expect("it goes at once");
        let mut room = [0; 8];
        assert_eq!((net.receive(1, 6, &mut room), room), (Ok(8), [9; 8]));
        net.set_deadline(PATIENT);
        assert_ne!(asked.load(Ordering::Relaxed), 0);
    } else {
        net.receive(0, 5, &mut []).expect("it is sent");
        // No sooner than the other one is late.
        std::thread::sleep(Duration::from_millis(100));
        net.send(0, 6, &[9; 8]).expect("a send");
    }
    net.barrier().expect("a barrier");
    println!("rank {} is done", net.rank());
}

/// Plans that go while an exchange of theirs is leaked leave no requests behind.
pub(crate) fn orphans() {
    let net = start();
    let cart = Cart::new(&net, [1, 1, 2]).expect("a grid");
    let mut u = DistArray::<f64>::new("u", &cart, [9, 9, 4]).expect("an array");
    for reach in [Reach::Faces, Reach::Corners] {
        let mut halo = net.plan_halo_of(&u, reach).expect("a plan");
        assert_eq!(net.persistent_requests(), 2);
        std::mem::forget(halo.start(&mut u).expect("an exchange"));
        drop(halo);
        // The exchange has ended when one that was begun after it has.
        let mut after = net.plan_halo(&u).expect("a plan");
        after.start(&mut u).expect("a start").wait().expect("an exchange");
        net.barrier().expect("a barrier");
        drop(after);
        assert_eq!(net.persistent_requests(), 0, "{reach:?}");
    }
    println!("rank {} is done", net.rank());
}

pub(crate) fn huge() {
    let net = start();
    for room in [usize::MAX, 1 << 31] {
        let refused = net.call(Request::receive(1 - net.rank(), 3, room)).err();
        assert!(matches!(refused, Some(NetError::Misuse(_))), "{refused:?}");
    }
    // All that MPI takes: there is address space for it, or not.
    if let Err(refused) = net.call(Request::receive(1 - net.rank(), 3, i32::MAX as usize)).map(drop) {
        assert!(matches!(refused, NetError::Misuse(_)), "{refused:?}");
    } else {
        net.send(1 - net.rank(), 3, &[7; 3]).expect("what it waits for");
    }
    net.barrier().expect("a barrier");
    println!("rank {} is done", net.rank());
}

/// The net ends in good order, but for a receive that MPI does not give back: so this shim has it.
pub(crate) fn kept() {
    let mut net = start();
    if net.rank() == 0 {
        net.sender::<u64>("last", 1).expect("an end").send(7).expect("it is taken");
    } else {
        assert_eq!(net.receiver::<u64>("last", 0).expect("an end").recv(), Ok(7));
    }
    net.barrier().expect("a barrier");
    net.set_deadline(8 * BRIEF);
}
