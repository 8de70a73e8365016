//! Owns: jobs of several ranks, under each MPI that is here: messages, modes, and faults that end by name.
//! May use: `raddle`, `raddle-mpi`.
//! Never: expecting that something takes less than a time.
//!
//! This program starts itself by `mpirun`; a rank is its test `as_a_rank`. The group `mpi` of tests sets
//! `TEST_MPI`, without which nothing is done: `mpirun` is not everywhere.
#![allow(clippy::print_stdout, reason = "a rank talks to the test that has started it")]

#[path = "cases/channels.rs"]
mod channels;
#[path = "cases/ends.rs"]
mod ends;
#[path = "cases/late.rs"]
mod late;
#[path = "cases/plans.rs"]
mod plans;
#[path = "cases/simulated.rs"]
mod simulated;
mod support;
#[path = "cases/traced.rs"]
mod traced;

use raddle::Runtime;
use raddle_mpi::{Cart, DistArray, Mode, Net, NetConfig, NetError};
use std::process::Command;
use std::time::Duration;
use support::{Job, each_mpi};

const PATIENT: Duration = Duration::from_secs(120);
/// What a fault is given.
const BRIEF: Duration = Duration::from_millis(500);

fn start() -> Net {
    Net::start(NetConfig::default().deadline(PATIENT)).expect("a net")
}

/// One rank of a job; as a test by itself it does nothing.
#[test]
fn as_a_rank() {
    let Ok(case) = std::env::var("TEST_MPI_CASE") else { return };
    let runtime = Runtime::builder().workers(1).stack_size(1 << 20);
    let runtime = if case == "traced" { runtime.trace_level(raddle::trace::Level::Sched) } else { runtime };
    let runtime = runtime.build().expect("a runtime");
    runtime.run(move || match case.as_str() {
        "messages" => messages(),
        "truncated" => truncated(),
        "wrong tag" => wrong_tag(),
        "missing" => missing(),
        "killed" => signalled("-KILL"),
        "stopped" => signalled("-STOP"),
        "leaves" => leaves(),
        "refused" => refused(),
        "careless" => careless(),
        "crossed" => crossed(),
        "corners" => plans::corners(),
        "regions" => plans::regions(),
        "blocks" => plans::blocks(),
        "broken chain" => plans::broken_chain("-KILL"),
        "halted chain" => plans::broken_chain("-STOP"),
        "late root" => plans::late_root(),
        "auto" => plans::auto(),
        "calls" => plans::calls(),
        "traced" => traced::exchanges(),
        "slow link" => late::slow_link(),
        "abort" => late::abort(),
        "policies differ" => late::policies_differ(),
        "two builds" => late::two_builds(),
        "error on all" => late::error_on_all(),
        "asked" => late::asked(),
        "orphans" => late::orphans(),
        "huge" => late::huge(),
        "kept" => late::kept(),
        "channels" => channels::pairs(),
        "channels of four" => channels::four(),
        "channel missing" => channels::missing(),
        "channel leaves" => channels::gone("leaves"),
        "channel -KILL" => channels::gone("-KILL"),
        other => panic!("no case {other}"),
    });
}

fn messages() {
    let net = start();
    let (rank, peer) = (net.rank(), 1 - net.rank());
    for mode in [
        Mode::Inline,
        Mode::Shared,
        Mode::Dedicated { core: None },
        Mode::Watched,
        Mode::Auto { core: None },
        Mode::Shared,
        Mode::Inline,
    ] {
        net.set_mode(mode).expect("a mode");
        for size in [0, 1, 1000, 300_000] {
            let out: Vec<u8> = (0..size).map(|at| (at * 7 + rank) as u8).collect();
            let mut room = vec![0; size + 1];
            assert_eq!(net.exchange(peer, 3, &out, &mut room), Ok(size), "{mode:?}");
            assert!(
                room[..size].iter().enumerate().all(|(at, byte)| *byte == (at * 7 + peer) as u8),
                "{mode:?}"
            );
        }
        if rank == 0 {
            net.send(1, 4, b"there").expect("a send");
        } else {
            let mut room = [0; 5];
            assert_eq!((net.receive(0, 4, &mut room), &room), (Ok(5), b"there"));
        }
        net.barrier().expect("a barrier");
        assert_eq!(net.all_gather(&[rank as u8, 9]), Ok(vec![0, 9, 1, 9]));
    }
    // Other processes run while one waits.
    net.set_mode(Mode::Shared).expect("a mode");
    if rank == 0 {
        let (sender, ready) = raddle::channel::bounded(0);
        let other = raddle::csp::spawn(move || ready.recv());
        sender.send(7).expect("somebody receives");
        assert_eq!(other.join().expect("no panic"), Ok(7));
        net.send(1, 5, &[1; 200_000]).expect("a send");
    } else {
        net.receive(0, 5, &mut [0; 200_000]).expect("a receive");
    }
    let given = net.all_gather(&vec![0; rank]);
    assert!(matches!(given, Err(NetError::Disagree(_))), "{given:?}");
    assert!(matches!(net.send(2, 0, &[]), Err(NetError::Misuse(_))));
    assert!(net.counters().polls > 0);
    println!("rank {rank} is done");
}

fn truncated() {
    let net = start();
    if net.rank() == 0 {
        net.send(1, 1, &[7; 100]).expect("a small message goes at once");
    } else {
        let error = net.receive(0, 1, &mut [0; 10]).expect_err("it is longer");
        println!("rank 1: {error}");
    }
}

fn wrong_tag() {
    let mut net = start();
    if net.rank() == 0 {
        net.send(1, 9, &[7; 8]).expect("a small message goes at once");
        net.send(1, 1, &[]).expect("as this one");
        println!("{:?}", net.receive(1, 2, &mut []));
    } else {
        net.receive(0, 1, &mut []).expect("what was sent later");
        net.set_deadline(BRIEF);
        println!("rank 1: {}", net.receive(0, 5, &mut [0; 8]).expect_err("nobody sends it"));
    }
}

fn missing() {
    let mut net = start();
    net.barrier().expect("all are there");
    if net.rank() == 0 {
        net.set_deadline(BRIEF);
        println!("rank 0: {}", net.barrier().expect_err("rank 1 does not come"));
    } else {
        println!("{:?}", net.receive(0, 2, &mut []));
    }
}

/// Rank 1 gets a signal and rank 0 waits for it.
fn signalled(signal: &str) {
    let mut net = start();
    net.barrier().expect("all are there");
    if net.rank() == 0 {
        net.set_deadline(BRIEF);
        println!("rank 0: {}", net.receive(1, 6, &mut [0; 8]).expect_err("it does not come"));
    } else {
        signalled_by(signal);
        println!("{:?}", net.receive(0, 2, &mut []));
    }
}

/// The caller's rank gets a signal.
fn signalled_by(signal: &str) {
    let sent = Command::new("kill").args([signal, &std::process::id().to_string()]).status();
    println!("{sent:?}");
}

fn leaves() {
    let mut net = start();
    net.barrier().expect("all are there");
    if net.rank() == 1 {
        std::process::exit(0);
    }
    net.set_deadline(BRIEF);
    println!("rank 0: {}", net.receive(1, 6, &mut [0; 8]).expect_err("it does not come"));
}

fn refused() {
    let error = Net::start(NetConfig::default().deadline(PATIENT)).err().expect("it cannot be had");
    println!("refused: {error}");
    // MPI is at its end: it may not be used again, which is another refusal.
    let again = Net::start(NetConfig::default().deadline(PATIENT)).err().expect("nor again");
    println!("again: {again}");
}

/// Exchanges that outlive the net, or are leaked, and no deadline.
fn careless() {
    let net = Net::start(NetConfig::default().deadline(Duration::MAX)).expect("a net");
    let cart = Cart::new(&net, [1, 1, 2]).expect("a grid");
    let mut arrays = [0, 1].map(|_| DistArray::<f64>::new("u", &cart, [3, 3, 4]).expect("an array"));
    let mut halos = [0, 1].map(|at| net.plan_halo(&arrays[at]).expect("a plan"));
    let (own, other) = (net.rank(), 1 - net.rank());
    let faces = [1, 2];
    arrays[1].set([1, 1, faces[own]], 1.0 + own as f64);
    let [first, second] = &mut arrays;
    let [leaked, kept] = &mut halos;
    std::mem::forget(leaked.start(first).expect("an exchange"));
    let exchange = kept.start(second).expect("another one");
    drop(net);
    let array = exchange.wait().expect("the net waits for what is under way");
    let seen = array.fold(0.0, |sum, cell| sum + if own == 0 { cell.above } else { cell.below });
    // The ghost, and its own face as the neighbour of the cell behind it.
    assert_eq!(seen, 1.0 + other as f64 + 1.0 + own as f64);
    assert!(matches!(leaked.start(first), Err(NetError::Over)));
    println!("rank {own} is done");
}

/// Two grids, by which the ranks are neighbours along different axes, with faces of one size.
fn crossed() {
    let net = start();
    let ranks = if net.rank() == 0 { [1, 1, 2] } else { [2, 1, 1] };
    let cart = Cart::new(&net, ranks).expect("a grid");
    let array = DistArray::<f64>::new("u", &cart, [4, 4, 4]).expect("an array");
    let refusal = net.plan_halo(&array).err().expect("they do not fit");
    println!("rank {}: {refusal}", net.rank());
}

#[test]
fn what_is_under_way_when_the_net_ends_comes_to_its_end() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "careless").run();
        ended.expect_well();
        ended.expect("rank 0 is done");
        ended.expect("rank 1 is done");
    });
}

#[test]
fn plans_along_different_axes_are_refused() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "crossed").run();
        ended.expect_well();
        ended.expect("rank 0: `u`, face z+: rank 0 has");
        ended.expect("rank 1: `u`, face x-: rank 1 has");
    });
}

#[test]
fn messages_arrive_in_every_mode() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "messages").run();
        ended.expect_well();
        ended.expect("rank 0 is done");
        ended.expect("rank 1 is done");
    });
}

#[test]
fn a_message_that_is_too_long_is_named() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "truncated").run();
        ended.expect_well();
        ended.expect("rank 1: a receive from rank 0: receive from rank 0, tag 1, 10 bytes: MPI_ERR_TRUNCATE");
    });
}

#[test]
fn a_wrong_tag_is_named() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "wrong tag").run();
        ended.expect_ill();
        ended.expect("outstanding: receive from rank 0, tag 5, 8 bytes");
        ended.expect("nobody asks for it: a message of rank 0, tag 9, 8 bytes");
    });
}

#[test]
fn who_does_not_come_is_named() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "missing").run();
        ended.expect_ill();
        ended.expect("rank 0: a barrier (the 2. collective call) is not done");
        ended.expect("receive from rank 1");
    });
}

/// Whether it is this library or `mpirun` that finds it is a matter of who is faster.
#[test]
fn a_killed_peer_ends_the_job() {
    each_mpi(|mpi| Job::new(mpi, "killed").run().expect_ill());
}

#[test]
fn a_stopped_peer_is_named() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "stopped").run();
        ended.expect_ill();
        ended.expect("rank 0: a receive from rank 1 is not done");
    });
}

#[test]
fn who_leaves_early_ends_the_job() {
    each_mpi(|mpi| Job::new(mpi, "leaves").run().expect_ill());
}

#[test]
fn an_mpi_without_the_thread_level_is_refused_and_at_its_end() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "refused").with_shim("level", &["-DRADDLE_TEST_THREAD_LEVEL=0"]).run();
        ended.expect_well();
        ended.expect("does not let one thread after another call it (MPI_THREAD_SERIALIZED)");
        ended.expect("again: MPI is already in use in this program, or at its end");
    });
}

#[test]
fn the_shim_of_another_mpi_than_mpiruns_is_refused() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "refused").with_the_other().run();
        ended.expect_well();
        ended.expect("but this program was started by the mpirun of");
    });
}

/// A rank of a job of so many, which does what `case` names, under every MPI; each comes to its end.
fn all_do(ranks: usize, case: &str, expected: &[&str]) {
    each_mpi(|mpi| {
        let ended = Job::ranks(mpi, ranks, case).run();
        ended.expect_well();
        (0..ranks).for_each(|rank| ended.expect(&format!("rank {rank} is done")));
        expected.iter().for_each(|text| ended.expect(text));
    });
}

#[test]
fn edges_and_corners_come_in_every_mode() {
    all_do(8, "corners", &[]);
}

#[test]
fn regions_go_where_a_program_says_and_disagreements_are_named() {
    let expected = [
        "rank 0: plan 3: rank 0 has 1 messages with rank 1, which has 0 with it",
        "rank 1: plan 3: rank 0 has 1 messages with rank 1, which has 0 with it",
        "sent to rank 1: rank 0 has 16 bytes of f64 from rank 0 to rank 1, `u`; rank 1 has 24 bytes of f64",
        "rank 1: plan 5: rank 0 makes a halo, rank 1 a shift",
    ];
    all_do(2, "regions", &expected);
}

#[test]
fn blocks_are_broadcast_shifted_and_gathered_in_every_mode() {
    let expected = [
        "`wrong`, broadcast: rank 4 has 64 bytes of u64 along [3, 4, 5] in 1 messages, `wrong`; rank 5 has 72",
        "rank 0: ranks [3, 4, 5] do not agree on plan",
    ];
    all_do(6, "blocks", &expected);
}

#[test]
fn traces_show_each_message_who_looked_and_who_waited() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "traced").run();
        // Something was late.
        ended.expect_ill();
        ended.expect("rank 0 is done");
        ended.expect("rank 1 is done");
    });
}

#[test]
fn a_link_that_is_a_hundred_times_slower_is_late() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "slow link").run();
        ended.expect_ill();
        ended.expect("the exchange of `u`, the 2. time, is not done after");
        ended.expect("outstanding: `u`, face z+: receive from rank 1, tag 0, 320000 bytes");
    });
}

#[test]
fn a_job_ends_at_once_if_that_is_asked_for() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "abort").run();
        ended.expect_ill();
        ended.expect("rank 0: a receive from rank 1 is not done after");
        ended.expect("; the job ends");
        ended.expect_not("after the abort");
    });
}

#[test]
fn all_ranks_get_an_error_if_that_is_asked_for() {
    each_mpi(|mpi| {
        let ended = Job::ranks(mpi, 3, "error on all").run();
        ended.expect_ill();
        ended.expect("rank 0 puts away: a receive from rank 2 is not done after");
        ended.expect("rank 1 puts away: rank 0 has given up: a receive from rank 2 is not done after");
        ended.expect("rank 2 puts away: rank 0 has given up: a receive from rank 2 is not done after");
    });
}

#[test]
fn a_program_is_asked_and_may_wait_again() {
    all_do(2, "asked", &["rank 0 was asked: a receive from rank 1 is not done after"]);
}

#[test]
fn requests_of_a_plan_that_goes_under_way_are_freed() {
    all_do(2, "orphans", &[]);
}

#[test]
fn more_bytes_than_there_is_memory_for_are_refused() {
    all_do(2, "huge", &[]);
}

#[test]
fn a_chain_whose_middle_is_killed_ends_the_job() {
    each_mpi(|mpi| Job::ranks(mpi, 3, "broken chain").run().expect_ill());
}

#[test]
fn a_chain_whose_middle_is_stopped_is_named() {
    each_mpi(|mpi| {
        let ended = Job::ranks(mpi, 3, "halted chain").run();
        ended.expect_ill();
        ended.expect("a receive from rank 1 is not done");
    });
}

#[test]
fn a_broadcast_that_does_not_begin_is_named() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "late root").run();
        ended.expect_ill();
        ended.expect("rank 1: the broadcast of `panel` from rank 0, the 1. time, is not done after");
        ended.expect("outstanding: `panel`, from rank 0, part 0: receive from rank 0, tag 0, 8000 bytes");
    });
}

#[test]
fn auto_says_what_it_has_chosen_and_why() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "auto").run();
        ended.expect_well();
        // Which one is best is a matter of what else the machine does.
        for rank in 0..2 {
            for kind in ["large", "dull", "small"] {
                ended.expect(&format!("rank {rank} {kind}: "));
            }
            ended.expect(&format!("rank {rank} is done"));
        }
        ended.expect("ms an iteration");
    });
}

#[test]
fn tasks_await_messages_in_every_mode_and_a_late_one_is_named() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "calls").run();
        // Something was late: the net ends the job.
        ended.expect_ill();
        ended.expect("rank 1: a receive from rank 0: receive from rank 0, tag 4, 8 bytes: MPI_ERR_TRUNCATE");
        ended.expect(", inline: a receive from rank");
        ended.expect("is not done after");
    });
}

#[test]
fn ranks_that_differ_in_what_they_do_about_lateness_are_named_at_the_beginning() {
    each_mpi(|mpi| {
        let ended = Job::ranks(mpi, 3, "policies differ").run();
        // All end in good order.
        ended.expect_well();
        ended.expect("refused: what is done when something is late: rank 0 has ErrorOnAll, rank 2 Abort;");
    });
}

#[test]
fn a_receive_that_mpi_does_not_give_back_is_named_when_its_time_is_over() {
    each_mpi(|mpi| {
        let job = Job::new(mpi, "kept").with_shim("keeps", &["-DRADDLE_TEST_CANCELS_NOTHING"]);
        let ended = job.run();
        ended.expect_ill();
        ended.expect("the end of channels is not done after");
        ended.expect("MPI has not taken back the receive of the next frame");
    });
}

#[test]
fn ranks_of_two_builds_are_told_at_the_beginning() {
    each_mpi(|mpi| {
        let ended = Job::ranks(mpi, 3, "two builds").run();
        ended.expect_well();
        ended.expect("refused: ranks are of two builds of Raddle: rank 0 speaks protocol");
        ended.expect(", rank 2 protocol 77; all are to be of one build");
    });
}
