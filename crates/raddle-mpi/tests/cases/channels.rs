//! Owns: what ranks do to try channels between them, and what is expected of that.
//! May use: `raddle`, `raddle-mpi`.
//! Never: more ranks than a case needs; each job takes its time.

use super::support::{Job, each_mpi};
use super::{BRIEF, PATIENT, all_do, ends, signalled_by, start};
use raddle::{channel, csp};
use raddle_mpi::{Mode, Net, NetError, RemoteMessage, RemoteReceiver, RemoteRecvError, RemoteSendError};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const MODES: [Mode; 4] = [Mode::Inline, Mode::Shared, Mode::Dedicated { core: None }, Mode::Watched];

/// On two ranks.
pub(crate) fn pairs() {
    let net = start();
    for (round, mode) in MODES.into_iter().enumerate() {
        net.set_mode(mode).expect("a mode");
        ping_pong(&net, round, 7_u64);
        ping_pong(&net, round, [0.5_f64, -1.0, 2.0]);
        ping_pong(&net, round, "grün".to_owned());
        for size in [0, 1, 8192, 8193, 300_000] {
            ping_pong(&net, round, (0..size).map(|at| at as u8).collect::<Vec<u8>>());
        }
        ping_pong(&net, round, vec![0.25_f64; 5000]);
        rendezvous(&net, round);
        buffered(&net, round);
        hang_up(&net, round);
    }
    own(&net);
    disagree(&net);
    for mode in MODES {
        net.set_mode(mode).expect("a mode");
        ends::boxes(&net);
    }
    ends::not_chosen(&net);
    ends::same_names(&net);
    ends::many_places(&net);
    ends::many_ends(&net);
    let rank = net.rank();
    end_before_another(net);
    println!("rank {rank} is done");
}

/// The net of rank 1 ends before that of rank 0, and both before some ends.
fn end_before_another(net: Net) {
    let peer = 1 - net.rank();
    let mut to = net.sender::<u64>("last", peer).expect("an end");
    let mut from = net.receiver::<u64>("last", peer).expect("an end");
    if net.rank() == 0 {
        assert_eq!(from.recv(), Ok(1));
        println!("rank 0: {}", from.recv().expect_err("there is no other"));
    } else {
        to.send(1).expect("it is taken");
    }
    end_beside_a_choice(net);
    assert_eq!(to.send(2), Err(RemoteSendError::Failed(2, NetError::Over)));
}

/// The net ends while a process waits, without a time, for an end that nobody has bound.
fn end_beside_a_choice(net: Net) {
    let mut never = net.receiver::<u8>("never", 1 - net.rank()).expect("an end");
    let (begins, begun) = channel::bounded(1);
    let waits = csp::spawn(move || {
        let mut sent = never.when_sent().expect("the net is there");
        begins.send(()).expect("somebody waits for it");
        csp::alt! { recv(sent) -> _ => never.recv() }
    });
    begun.recv().expect("it listens");
    drop(net);
    assert_eq!(waits.join().expect("no panic"), Err(RemoteRecvError::Failed(NetError::Over)));
}

/// A message goes and comes back; as often as need be for both ends to begin.
fn ping_pong<T: RemoteMessage + Clone + PartialEq + Debug>(net: &Net, round: usize, message: T) {
    let peer = 1 - net.rank();
    let name = format!("ping {round}");
    let mut to = net.sender::<T>(&name, peer).expect("an end");
    let mut from = net.receiver::<T>(&name, peer).expect("another");
    for _ in 0..3 {
        if net.rank() == 0 {
            to.send(message.clone()).expect("it is taken");
            assert_eq!(from.recv().expect("it comes back"), message);
        } else {
            let came = from.recv().expect("it comes");
            to.send(came).expect("it is taken");
        }
    }
}

/// A sender goes on only when its message was taken, not when it is known to be there.
fn rendezvous(net: &Net, round: usize) {
    let peer = 1 - net.rank();
    for bytes in [10, 20_000] {
        let name = |what: &str| format!("{what} {round} {bytes}");
        if net.rank() == 0 {
            let mut slow = net.sender::<Vec<u8>>(&name("slow"), peer).expect("an end");
            let mut is_there = net.receiver::<()>(&name("there"), peer).expect("an end");
            let mut go = net.sender::<()>(&name("go"), peer).expect("an end");
            let sent = Arc::new(AtomicU32::new(0));
            let counts = sent.clone();
            let sends = csp::spawn(move || {
                slow.send(vec![1; bytes]).expect("it is taken in the end");
                counts.fetch_add(1, Ordering::Relaxed);
            });
            is_there.recv().expect("the other one has seen the offer");
            assert_eq!(sent.load(Ordering::Relaxed), 0, "nobody has taken it");
            go.send(()).expect("the other one waits for it");
            sends.join().expect("no panic");
        } else {
            let mut slow = net.receiver::<Vec<u8>>(&name("slow"), peer).expect("an end");
            let mut is_there = net.sender::<()>(&name("there"), peer).expect("an end");
            let mut go = net.receiver::<()>(&name("go"), peer).expect("an end");
            channel::select! { recv(slow.when_sent().expect("an end")) -> _ => {} }
            is_there.send(()).expect("it is taken");
            go.recv().expect("it comes");
            assert_eq!(slow.recv().expect("it is still there"), vec![1; bytes]);
        }
    }
}

/// Three places, of which a large message takes one, too; what is in them outlives the sender.
fn buffered(net: &Net, round: usize) {
    let (peer, name) = (1 - net.rank(), format!("buffer {round}"));
    let message = |n: usize| vec![n as u32; if n.is_multiple_of(2) { 3 } else { 9000 }];
    if net.rank() == 0 {
        let mut to = net.buffered_sender::<Vec<u32>>(&name, peer, 3).expect("an end");
        let mut full = net.sender::<u32>(&format!("full {round}"), peer).expect("an end");
        (0..3).for_each(|n| to.send(message(n)).expect("there is a place"));
        let sends = csp::spawn(move || (3..8).for_each(|n| to.send(message(n)).expect("in the end")));
        full.send(3).expect("it is taken");
        sends.join().expect("no panic");
    } else {
        let mut from = net.buffered_receiver::<Vec<u32>>(&name, peer, 3).expect("an end");
        let mut full = net.receiver::<u32>(&format!("full {round}"), peer).expect("an end");
        assert_eq!(full.recv(), Ok(3));
        (0..8).for_each(|n| assert_eq!(from.recv(), Ok(message(n))));
        assert_eq!(from.recv(), Err(RemoteRecvError::Disconnected));
    }
    net.barrier().expect("both");
}

/// Ends that are dropped.
fn hang_up(net: &Net, round: usize) {
    let (peer, name) = (1 - net.rank(), |what: &str| format!("{what} {round}"));
    if net.rank() == 0 {
        let mut to = net.sender::<u64>(&name("dropped while offered"), peer).expect("an end");
        assert_eq!(to.send(5), Err(RemoteSendError::Disconnected(5)));
        assert_eq!(to.send(6), Err(RemoteSendError::Disconnected(6)), "nor later");
        let large = vec![1_u8; 100_000];
        let mut to = net.sender::<Vec<u8>>(&name("large"), peer).expect("an end");
        assert_eq!(to.send(large.clone()), Err(RemoteSendError::Disconnected(large)));
        drop(net.sender::<u8>(&name("never sends"), peer));
    } else {
        let offered: RemoteReceiver<u64> =
            net.receiver(&name("dropped while offered"), peer).expect("an end");
        csp::alt! { recv(offered.when_sent().expect("an end")) -> _ => {} }
        drop(offered);
        let large: RemoteReceiver<Vec<u8>> = net.receiver(&name("large"), peer).expect("an end");
        csp::alt! { recv(large.when_sent().expect("an end")) -> _ => {} }
        drop(large);
        let mut from = net.receiver::<u8>(&name("never sends"), peer).expect("an end");
        assert_eq!(from.recv(), Err(RemoteRecvError::Disconnected));
        assert_eq!(from.try_recv(), Err(RemoteRecvError::Disconnected));
    }
}

/// A rank with itself.
fn own(net: &Net) {
    let mut to = net.sender::<Vec<u64>>("own", net.rank()).expect("an end");
    let mut from = net.receiver::<Vec<u64>>("own", net.rank()).expect("an end");
    assert_eq!(from.try_recv(), Err(RemoteRecvError::Empty));
    assert_eq!(from.recv_timeout(Duration::from_millis(1)), Err(RemoteRecvError::Empty));
    let sends = csp::spawn(move || [2, 3000].map(|n| to.send(vec![n; n as usize]).expect("it is taken")));
    assert_eq!(from.iter().map(|message| message.len()).collect::<Vec<_>>(), [2, 3000]);
    sends.join().expect("no panic");
}

/// Ends that do not fit.
fn disagree(net: &Net) {
    let (rank, peer) = (net.rank(), 1 - net.rank());
    assert!(matches!(net.sender::<u8>("nobody", 2), Err(NetError::Misuse(_))));
    assert!(matches!(net.sender::<u8>(&"x".repeat(256), peer), Err(NetError::Misuse(_))));
    if rank == 0 {
        let mut to = net.sender::<f64>("types", peer).expect("an end");
        assert!(matches!(net.sender::<f64>("types", peer), Err(NetError::Misuse(_))));
        println!("rank 0: {}", to.send(1.0).expect_err("the other one wants something else"));
        drop(to);
        let _to = net.buffered_sender::<u8>("places", peer, 4).expect("an end");
        println!("rank 0: {}", net.bind_channels().expect_err("the other one has no buffer"));
        net.barrier().expect("both");
    } else {
        let mut from = net.receiver::<u32>("types", peer).expect("an end");
        println!("rank 1: {}", from.recv().expect_err("the other one has something else"));
        let mut from = net.receiver::<u8>("places", peer).expect("an end");
        println!("rank 1: {}", from.recv().expect_err("the other one has a buffer"));
        net.barrier().expect("both");
    }
}

/// On four ranks.
pub(crate) fn four() {
    let net = start();
    ring(&net);
    choice(&net);
    println!("rank {} is done", net.rank());
}

/// Tokens go around, by two channels between each two neighbours, and in both directions.
fn ring(net: &Net) {
    net.set_mode(Mode::Shared).expect("a mode");
    let (rank, size) = (net.rank(), net.size());
    let neighbours = [(rank + 1) % size, (rank + size - 1) % size];
    let passes: Vec<_> = [("one", 0), ("two", 0), ("back", 1)]
        .into_iter()
        .map(|(name, way)| {
            let mut to = net.sender::<u64>(name, neighbours[way]).expect("an end");
            let mut from = net.receiver::<u64>(name, neighbours[1 - way]).expect("an end");
            // How many have passed it on before.
            let before = if way == 0 { rank } else { (size - rank) % size } as u64;
            csp::spawn(move || {
                let mut last = 0;
                for _ in 0..30 {
                    if rank == 0 {
                        to.send(last).expect("it goes");
                        last = from.recv().expect("it has gone around");
                    } else {
                        last = from.recv().expect("it comes");
                        to.send(last + 1).expect("it goes on");
                    }
                }
                let rounds = if rank == 0 { 30 } else { 29 };
                assert_eq!(last, rounds * (size as u64 - 1) + before.saturating_sub(1), "{name}");
            })
        })
        .collect();
    net.bind_channels().expect("all ends are there");
    passes.into_iter().for_each(|each| each.join().expect("no panic"));
}

/// Rank 0 chooses among what two others send, and a process of its own, and time; the fourth only meets them.
fn choice(net: &Net) {
    for (round, mode) in [Mode::Inline, Mode::Shared].into_iter().enumerate() {
        net.set_mode(mode).expect("a mode");
        let name = format!("to rank 0 {round}");
        if net.rank() == 0 {
            choose(net, &name);
        } else if net.rank() == 3 {
            net.barrier().expect("all");
        } else {
            let mut to = net.sender::<u64>(&name, 0).expect("an end");
            // Until rank 0 has seen that nothing comes.
            net.barrier().expect("all");
            (0..20).for_each(|n| to.send(n).expect("it is taken"));
        }
    }
}

fn choose(net: &Net, name: &str) {
    let mut inputs = [1, 2].map(|rank| net.receiver::<u64>(name, rank).expect("an end"));
    net.bind_channels().expect("all are there");
    let [one, two] = &mut inputs;
    let (mut own, mut local) = csp::channel();
    let mut chosen = || {
        csp::alt! {
            recv(one.when_sent().expect("an end")) -> _ => Some((0, one.recv().ok())),
            recv(two.when_sent().expect("an end")) -> _ => Some((1, two.recv().ok())),
            recv(local) -> n => Some((2, n.ok())),
            after(Duration::from_millis(20)) => None,
        }
    };
    assert_eq!(chosen(), None, "nobody sends");
    let sends = csp::spawn(move || (0..20).for_each(|n| own.send(n).expect("it is taken")));
    assert_eq!(chosen(), Some((2, Some(0))), "only this one does");
    net.barrier().expect("all");
    let mut next = [0, 0, 1];
    while next != [20; 3] {
        if let Some((which, Some(n))) = chosen() {
            assert_eq!(n, next[which], "each in its order");
            next[which] += 1;
        }
    }
    sends.join().expect("no panic");
    // Their senders are gone: both are always ready.
    let [one, two] = &mut inputs;
    let which = channel::select! {
        recv(one.when_sent().expect("an end")) -> _ => one.recv(),
        recv(two.when_sent().expect("an end")) -> _ => two.recv(),
    };
    assert_eq!(which, Err(RemoteRecvError::Disconnected));
}

/// On two ranks: one has bound another name, neither takes what is offered, and then one is stopped.
pub(crate) fn missing() {
    let mut net = start();
    let (rank, peer) = (net.rank(), 1 - net.rank());
    net.set_deadline(BRIEF);
    // The net ends the job, and an end that is dropped closes a channel: not before both have said what is late.
    if rank == 0 {
        let _to = net.sender::<u64>("ring", peer).expect("an end");
        let _both = net.receiver::<u64>("there", peer).expect("an end");
        println!("rank 0: {}", net.bind_channels().expect_err("one is missing"));
        late_choice(&net);
        net.set_deadline(PATIENT);
        net.barrier().expect("both");
        circle(&net);
        stopped(&net);
    } else {
        let _from = net.receiver::<u64>("rung", peer).expect("an end");
        let mut to = net.sender::<u64>("there", peer).expect("an end");
        println!("rank 1: {}", to.send(1).expect_err("nobody takes it"));
        net.set_deadline(PATIENT);
        net.barrier().expect("both");
        circle(&net);
        stopped(&net);
    }
}

/// Each waits for what the other one is to send: rank 0 to receive, rank 1 that its message is taken.
fn circle(net: &Net) {
    let (rank, peer) = (net.rank(), 1 - net.rank());
    if rank == 0 {
        let mut from = net.receiver::<u64>("there first", peer).expect("an end");
        let mut other = net.receiver::<u64>("there second", peer).expect("an end");
        let mut used = net.sender::<u64>("used", peer).expect("an end");
        assert_eq!((from.recv(), other.recv()), (Ok(1), Ok(2)));
        from.set_deadline(Duration::from_secs(4));
        let waits = csp::Builder::new().name("first").stack_size(1 << 20).spawn(move || {
            assert_eq!(other.try_recv(), Err(RemoteRecvError::Empty), "it is this one's now");
            used.send(0).expect("it is taken");
            println!("rank 0: {}", from.recv().expect_err("nobody sends it"));
            other.recv()
        });
        assert_eq!(waits.expect("a process").join().expect("no panic"), Ok(3));
    } else {
        let mut to = net.sender::<u64>("there first", peer).expect("an end");
        let mut other = net.sender::<u64>("there second", peer).expect("an end");
        let mut used = net.receiver::<u64>("used", peer).expect("an end");
        to.send(1).expect("it is taken");
        other.send(2).expect("it is taken");
        // Else the message may come before the process looks whose end it is to be.
        assert_eq!(used.recv(), Ok(0));
        other.send(3).expect("in the end");
    }
}

/// Two ends of which nothing comes, one of which has less patience, and one that wants none.
fn late_choice(net: &Net) {
    let peer = 1 - net.rank();
    let [mut one, mut other] = ["one", "other"].map(|name| net.receiver::<u64>(name, peer).expect("an end"));
    other.set_deadline(PATIENT);
    let error = csp::alt! {
        recv(one.when_sent().expect("an end")) -> _ => one.recv(),
        recv(other.when_sent().expect("an end")) -> _ => other.recv(),
    };
    println!(
        "rank 0: {}",
        match error {
            Err(RemoteRecvError::Failed(error)) => error,
            came => panic!("{came:?}"),
        }
    );
}

fn stopped(net: &Net) {
    last(net, || signalled_by("-STOP"));
}

/// Rank 1 leaves, or is killed, with its net open.
pub(crate) fn gone(how: &str) {
    last(&start(), || if how == "leaves" { std::process::exit(0) } else { signalled_by(how) });
}

/// Rank 1 sends a message, and then does something instead of the next.
fn last(net: &Net, does: impl FnOnce()) {
    let peer = 1 - net.rank();
    if net.rank() == 0 {
        let mut from = net.receiver::<u64>("last", peer).expect("an end");
        assert_eq!(from.recv(), Ok(1));
        from.set_deadline(BRIEF);
        println!("rank 0: {}", from.recv().expect_err("there is no other"));
    } else {
        let mut to = net.sender::<u64>("last", peer).expect("an end");
        to.send(1).expect("it is taken");
        does();
        println!("{:?}", net.receive(0, 2, &mut []));
    }
}

#[test]
fn channels_keep_the_rendezvous_and_their_ends() {
    let expected = [
        "rank 0: channel `types`: rank 0 sends f64 of 8 bytes, without a buffer; rank 1 receives u32 of 4 bytes",
        "rank 1: channel `types`: rank 1 receives u32 of 4 bytes, without a buffer; rank 0 sends f64 of 8 bytes",
        "rank 0: channel `places`: rank 0 sends u8 of 1 bytes, with a buffer of 4; rank 1 receives u8 of 1 bytes, w",
        "rank 1: channel `places`: rank 1 receives u8 of 1 bytes, without a buffer; rank 0 sends u8 of 1 bytes, wi",
        "rank 0: receiving on a channel whose sender is gone",
    ];
    all_do(2, "channels", &expected);
}

#[test]
fn tokens_go_around_a_ring_and_an_alternation_chooses_among_ranks_processes_and_time() {
    all_do(4, "channels of four", &[]);
}

#[test]
fn ends_that_are_missing_take_nothing_or_say_nothing_are_named() {
    each_mpi(|mpi| {
        let ended = Job::new(mpi, "channel missing").run();
        ended.expect_ill();
        ended.expect("rank 0: the binding of channels is not done after");
        ended.expect("channel `ring` to rank 1: rank 1 has not bound the end that receives u64");
        ended.expect("rank 1 has bound `rung`, and receives u64 of 8 bytes, without a buffer");
        ended.expect("rank 1: a send on channel `there` is not done after");
        ended.expect("channel `there` to rank 0: 1 messages were offered, and rank 0 has taken 0");
        ended.expect("rank 0: a choice among others at channel `one` is not done after");
        ended.expect(
            "channel `one` from rank 1: rank 1 has not bound the end that sends u64; also waited for: ch",
        );
        let circle = ended.line("raddle-mpi: these ranks wait for each other in a circle");
        let rank_0 = "rank 0 for rank 1: a receive on channel `there first` at crates/raddle-mpi/tests/";
        assert!(circle.contains(rank_0) && circle.contains("by process 'first' (#"), "{circle}");
        assert!(
            circle.contains("rank 1 for rank 0: a send on channel `there second` at crates/"),
            "{circle}"
        );
        ended.expect("rank 0: a receive on channel `there first` is not done after");
        ended.expect("a receive on channel `last` is not done after");
    });
}

#[test]
fn who_leaves_or_is_killed_with_channels_open_ends_the_job() {
    each_mpi(|mpi| {
        Job::new(mpi, "channel leaves").run().expect_ill();
        Job::new(mpi, "channel -KILL").run().expect_ill();
    });
}
