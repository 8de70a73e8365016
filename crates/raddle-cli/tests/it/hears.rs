//! Owns: two ranks of an occam program in one process, whose link has all pauses as long as they may be: what is heard,
//! or written, is not left to one who pauses.
//! May use: `raddle-host`, `raddle-occam`.
//! Never: MPI, or a time that something must take: where a pause is waited for, a test hangs until a watchdog ends it.
//!
//! Between ranks of MPI a pause is 36 ms at most, and who is told sooner than it ends is not known from who was lucky.

use raddle_host::{Port, RankLink, RunOptions, World, run_on_ranks};
use raddle_occam::{pre::NoFiles, source::Sources};
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// As good as for ever.
const LONG: Duration = Duration::from_secs(3600);
/// Soon enough.
const SOON: Duration = Duration::from_micros(200);
/// A program that has not ended by then waits for one who pauses: as long as other watchdogs wait on a busy machine.
const STALLED: Duration = Duration::from_secs(300);
/// After so much of it a silence is one to who hears: a millisecond.
const SILENCE: Duration = Duration::from_millis(5);

/// Kinds of frames, as the first byte has them.
const TOUCHED: u8 = 2;
const OFFER: u8 = 3;
const TAKEN: u8 = 4;
/// Where an offer says which message was taken, and where its own one is: a word each.
const ALSO_TAKEN: std::ops::Range<usize> = 9..13;
const MESSAGE: std::ops::Range<usize> = 13..17;

/// What has gone between both ranks, and what the program does.
#[derive(Clone, Debug)]
struct Traffic {
    inboxes: [VecDeque<Vec<u8>>; 2],
    /// The kinds of the frames that each rank has sent, and got. An offer that says what was taken is two.
    sent: [Vec<u8>; 2],
    got: [Vec<u8>; 2],
    moved: Instant,
    /// Since the last call of the foreign routine by each rank has begun.
    called: [Option<Since>; 2],
    /// How many calls have begun while the other rank was not told that its message was taken.
    owing: usize,
    /// Since the screen is asked to take something.
    written: Option<Since>,
    /// A script, or what it is asked by, has panicked.
    has_panicked: bool,
}

/// How many frames a rank had sent and got.
#[derive(Clone, Copy, Debug)]
struct Since {
    sent: usize,
    got: usize,
}

impl Traffic {
    fn since(&self, rank: usize) -> Option<Since> {
        Some(Since { sent: self.sent[rank].len(), got: self.got[rank].len() })
    }

    fn has_got(&self, rank: usize, kind: u8) -> usize {
        self.got[rank].iter().filter(|it| **it == kind).count()
    }

    /// Whether rank 1 has told for all messages that they were taken.
    fn owes_nothing(&self) -> bool {
        self.has_got(1, OFFER) == self.sent[1].iter().filter(|it| **it == TAKEN).count()
    }
}

/// What a test has to say of the link, the screen and the routine.
struct Script {
    /// Whether rank 1 may get the next frame now.
    gives: fn(&Traffic) -> bool,
    /// How long the OS thread of rank 1 which hears where no worker does may pause.
    pause: fn(&Traffic) -> Duration,
    /// Whether a call of the foreign routine is over.
    returns: fn(&Traffic) -> bool,
    /// Whether the screen takes something.
    takes: fn(&Traffic) -> bool,
    /// Whether the next message to rank 1 is to be the last: it becomes 0.
    ends: fn(&Traffic) -> bool,
}

impl Default for Script {
    fn default() -> Script {
        Script { gives: |_| true, pause: |_| SOON, returns: |_| true, takes: |_| true, ends: |_| false }
    }
}

struct Wire {
    traffic: Mutex<Traffic>,
    changed: Condvar,
    script: Script,
}

/// The traffic, under its lock; a panic in it is noted, since who has panicked may be an OS thread that nobody joins.
struct Held<'w>(MutexGuard<'w, Traffic>);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.has_panicked |= thread::panicking();
    }
}

impl Wire {
    fn hold(&self) -> Held<'_> {
        Held(self.traffic.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does that, and tells all.
    fn with<R>(&self, act: impl FnOnce(&mut Traffic) -> R) -> R {
        let done = act(&mut self.hold().0);
        self.changed.notify_all();
        done
    }

    fn wait_for(&self, is_so: impl Fn(&Traffic) -> bool) {
        while !is_so(&self.hold().0) {
            let held = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
            // A while, since it may have changed between both locks.
            drop(self.changed.wait_timeout(held, SOON));
        }
    }
}

/// A rank's link and world.
struct Rank {
    wire: Arc<Wire>,
    rank: usize,
}

impl RankLink for Rank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        2
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<(), String> {
        self.wire.with(|traffic| {
            let tells = message[0] == OFFER && message[ALSO_TAKEN] != [u8::MAX; 4];
            traffic.sent[self.rank].extend(tells.then_some(TAKEN));
            traffic.sent[self.rank].push(message[0]);
            traffic.inboxes[to].push_back(message);
            traffic.moved = Instant::now();
        });
        Ok(())
    }

    fn receive(&self, _: Duration) -> Result<Option<(usize, Vec<u8>)>, String> {
        loop {
            if let Some(frame) = self.look()? {
                return Ok(Some(frame));
            }
            thread::sleep(SOON);
        }
    }

    fn look(&self) -> Result<Option<(usize, Vec<u8>)>, String> {
        Ok(self.wire.with(|traffic| {
            let gives = self.rank == 0 || (self.wire.script.gives)(traffic);
            let mut frame = if gives { traffic.inboxes[self.rank].pop_front() } else { None }?;
            if self.rank == 1 && frame[0] == OFFER && (self.wire.script.ends)(traffic) {
                frame[MESSAGE].fill(0);
            }
            traffic.got[self.rank].push(frame[0]);
            traffic.moved = Instant::now();
            Some((1 - self.rank, frame))
        }))
    }

    fn lull(&self) -> Duration {
        let listens = self.rank == 1 && thread::current().name() == Some("ranks");
        if listens { self.wire.with(|traffic| (self.wire.script.pause)(traffic)) } else { SOON }
    }

    fn deadline(&self) -> Duration {
        3 * LONG
    }
}

impl World for Rank {
    fn output(&self, _: Port, _: &[u8]) {
        self.wire.with(|traffic| traffic.written = traffic.since(self.rank));
        self.wire.wait_for(|traffic| (self.wire.script.takes)(traffic));
    }

    fn key(&self) -> Option<u8> {
        None
    }

    fn call(&self, _: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        self.wire.with(|traffic| {
            traffic.called[self.rank] = traffic.since(self.rank);
            traffic.owing += usize::from(self.rank == 1 && !traffic.owes_nothing());
        });
        self.wire.wait_for(|traffic| (self.wire.script.returns)(traffic));
        Some(words)
    }
}

fn compile(text: &str) -> raddle_bytecode::Verified {
    let mut sources = Sources::new();
    let root = sources.add("hears.occ", text).unwrap();
    let analysis = raddle_occam::analyse(&mut sources, root, &raddle_occam::Options::default(), &mut NoFiles);
    let shown: String =
        analysis.diagnostics().iter().map(|it| raddle_occam::diag::render(it, &sources)).collect();
    let checked = analysis.checked().unwrap_or_else(|_| panic!("{shown}"));
    let module = raddle_occam::lower::lower(&checked, &sources).unwrap_or_else(|_| panic!("{shown}"));
    raddle_bytecode::verify(module).unwrap()
}

/// Runs that program on two ranks, which have so many workers.
fn run(branches: &str, workers: [usize; 2], script: Script) {
    let text = format!(
        "#PRAGMA EXTERNAL \"PROC C.long () = 0\"\nPROC main (CHAN BYTE keyboard?, screen!, error!)\n  \
         CHAN INT c, d:\n  PLACED PAR\n{branches}:\n"
    );
    let program = compile(&text);
    let traffic = Traffic {
        inboxes: Default::default(),
        sent: Default::default(),
        got: Default::default(),
        moved: Instant::now(),
        called: [None; 2],
        owing: 0,
        written: None,
        has_panicked: false,
    };
    let wire = Arc::new(Wire { traffic: Mutex::new(traffic), changed: Condvar::new(), script });
    let ranks = [0, 1].map(|rank| {
        let (program, wire) = (program.clone(), wire.clone());
        thread::spawn(move || {
            let options =
                RunOptions { workers: workers[rank], memory_bytes: 16 << 20, ..RunOptions::default() };
            let [world, link] = [(); 2].map(|()| Arc::new(Rank { wire: wire.clone(), rank }));
            run_on_ranks(program, options, world, link).expect("a runtime")
        })
    });
    let (began, mut left) = (Instant::now(), Vec::from(ranks));
    // At once what one has ended by: the other one may wait for it for ever.
    while !left.is_empty() {
        for ended in left.extract_if(.., |rank| rank.is_finished()) {
            let (outcome, of_ranks) = ended.join().unwrap_or_else(|panic| resume_unwind(panic));
            assert!(!wire.with(|it| it.has_panicked), "see above");
            assert_eq!((outcome.result, of_ranks.told), (Ok(()), None));
        }
        let traffic = wire.with(|it| it.clone());
        assert!(!traffic.has_panicked, "see above");
        assert!(began.elapsed() < STALLED, "a rank waits for one who pauses: {traffic:?}");
        thread::sleep(SOON);
    }
}

/// The worker of rank 1 hears the first message after a silence, and goes on to a long call: the OS thread, which
/// pauses for ever while nothing has come, hears the next one.
#[test]
fn who_pauses_is_told_that_another_one_has_heard() {
    let branches = "
    PROCESSOR 0
      SEQ
        c ! 1
        d ! 2
    PROCESSOR 1
      INT x, y:
      SEQ
        c ? x
        C.long ()
        d ? y
";
    run(
        branches,
        [1, 1],
        Script {
            gives: |traffic| match (traffic.has_got(1, OFFER), traffic.called[1]) {
                // Who hears it is told by nobody else: the last word is long ago.
                (0, _) => traffic.moved.elapsed() >= SILENCE,
                (_, called) => called.is_some(),
            },
            pause: |traffic| if traffic.has_got(1, OFFER) == 0 { LONG } else { SOON },
            returns: |traffic| traffic.called[1].is_some_and(|since| traffic.got[1].len() > since.got),
            ..Script::default()
        },
    );
}

/// A screen takes nothing of what rank 1 has written, by the port that is not buffered. The process at rank 0 goes on.
#[test]
fn a_screen_that_takes_nothing_keeps_nobody_from_speaking() {
    let branches = "
    PROCESSOR 0
      SEQ
        C.long ()
        c ! 1
    PROCESSOR 1
      INT x:
      SEQ
        error ! '3'
        c ? x
";
    run(
        branches,
        [2, 2],
        Script {
            returns: |traffic| traffic.written.is_some(),
            takes: |traffic| match traffic.written {
                Some(since) => traffic.sent[0][since.sent..].contains(&TOUCHED),
                None => true,
            },
            ..Script::default()
        },
    );
}

/// The only worker of rank 1 takes a message, of which it is to tell with the next offer, and goes on to a long call:
/// the OS thread tells it, which was woken when the message was heard and found nothing to tell yet, though it would
/// pause for ever whenever it has looked.
#[test]
fn what_is_owed_is_told_while_the_worker_is_in_a_long_call() {
    for workers in [1, 2] {
        let branches = "
    PROCESSOR 0
      INT y:
      SEQ
        y := 1
        WHILE y <> 0
          SEQ
            c ! 1
            d ? y
    PROCESSOR 1
      INT x:
      SEQ
        x := 1
        WHILE x <> 0
          SEQ
            c ? x
            C.long ()
            d ! x
";
        run(
            branches,
            [1, workers],
            Script {
                pause: |_| LONG,
                returns: Traffic::owes_nothing,
                // Of two workers the other one may always be faster.
                ends: |traffic| traffic.owing > 2 || traffic.has_got(1, OFFER) > 500,
                ..Script::default()
            },
        );
    }
}

/// A panic in what a test says of the link ends the test, whoever has asked it.
#[test]
#[should_panic(expected = "see above")]
fn a_script_that_panics_is_seen_at_once() {
    let branches = "
    PROCESSOR 0
      c ! 1
    PROCESSOR 1
      INT x:
      c ? x
";
    run(branches, [1, 1], Script { pause: |_| panic!("as the script says"), ..Script::default() });
}
