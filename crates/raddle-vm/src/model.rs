//! Owns: loom's models of the machine's protocols: every interleaving of two or three workers.
//! May use: `atom`, `comm`, `machine`, `prim`, `process`, `published`, `quiet`, `scheduler`, `table`, `loom`,
//! `raddle-bytecode`.
//! Never: the interpreter.
//!
//! It uses the protocols as they are; a scheduler that only notes who was made ready.

use crate::atom;
use crate::comm::{Message, Met};
use crate::machine::Machine;
use crate::prim::{AtomicU32, Ordering, ROWS, weakened};
use crate::process::{EXTENDED, IN_SLOT, INPUT, OUTPUT, Process, Step};
use crate::published::{CodeEntry, CodeTable};
use crate::quiet::Visits;
use crate::scheduler::{Port, Scheduler};
use crate::table::WorkerLocal;
use loom::sync::Arc;
use loom::thread;
use raddle_bytecode::build::ModuleBuilder;
use raddle_bytecode::verify;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Addresses: a channel, another one, what is sent, what is received, a count, an ALT's state.
const CHANNEL: u32 = 64;
const OTHER: u32 = 68;
const SENT: u32 = 72;
const RECEIVED: u32 = 80;
const COUNT: u32 = 84;
const STATE: u32 = 88;
const BARRIER: u32 = 112;

/// Notes how often each process was made ready.
struct Notes([AtomicU32; 6]);

impl Scheduler for Notes {
    const SHARED: bool = true;
    type Link = ();
    fn ready(&self, process: &Process<()>) {
        assert_eq!(process.ip.get(), 77, "made ready before it was saved, or so it seems from here");
        self.0[process.id() as usize].fetch_add(1, Ordering::Relaxed);
    }
    /// The models run nobody before whoever makes it ready has come to its end.
    fn ready_here(&self, process: &Process<()>) -> bool {
        self.ready(process);
        true
    }
    fn next(&self) -> Option<&Process<()>> {
        None
    }
    fn alarm(&self, _: &Process<()>, _: u32) {}
    fn cancel(&self, _: &Process<()>, _: u32) {}
    fn now(&self) -> u32 {
        0
    }
    fn output(&self, _: Port, _: &[u8]) {}
    fn want_key(&self) {}
    fn call(&self, _: i32, _: [u32; 4]) -> Option<[u32; 4]> {
        None
    }
    fn finished(&self) {}
}

struct Bench {
    machine: Machine<()>,
    notes: Notes,
}

impl Bench {
    fn new() -> Arc<Bench> {
        let mut module = ModuleBuilder::new();
        let main = module.declare("main");
        let mut code = module.function();
        code.ret();
        module.define(main, code, 2);
        // Keeps the heap away from the words that the models use.
        module.data(&[0; 64]);
        let verified = verify(module.finish()).expect("made by hand, and right");
        let machine = Machine::new(verified, 200, &mut WorkerLocal::default()).expect("enough memory");
        for id in 1..6 {
            machine.process(id).expect("in the first chunk").id.set(id);
        }
        machine.memory.store_w(SENT, 7).expect("there");
        Arc::new(Bench { machine, notes: Notes(Default::default()) })
    }

    fn process(&self, id: u32) -> &Process<()> {
        self.machine.process(id).expect("in the first chunk")
    }

    fn communicate(&self, id: u32, channel: u32, direction: u32) -> Step {
        self.communicate_and(id, channel, direction).0
    }

    /// And who was made ready here.
    fn communicate_and(&self, id: u32, channel: u32, direction: u32) -> (Step, u32) {
        let (me, mut met) = (self.process(id), Met::default());
        me.save(77, 0);
        let at = if direction == OUTPUT { SENT } else { RECEIVED };
        let message = Message { at, length: 4 | IN_SLOT };
        let done =
            self.machine.communicate::<_, true>(&self.notes, me, channel, direction, message, &mut met);
        (done.expect("nobody else uses that end"), met.kept)
    }

    /// An extended input.
    fn extend(&self, id: u32) -> Step {
        let me = self.process(id);
        me.save(77, 0);
        let message = Message { at: RECEIVED, length: 4 | IN_SLOT | EXTENDED };
        let done = self.machine.communicate::<_, true>(
            &self.notes,
            me,
            CHANNEL,
            INPUT,
            message,
            &mut Met::default(),
        );
        done.expect("nobody else uses that end")
    }

    fn end_extended(&self, id: u32) {
        let ended = self.machine.end_extended::<_, true>(&self.notes, self.process(id), CHANNEL);
        ended.expect("a sender waits");
    }

    /// Makes a barrier of so many members.
    fn enrolled(&self, count: u32) {
        for word in [BARRIER, BARRIER + 4] {
            self.machine.memory.store_w(word, count).expect("there");
        }
    }

    fn sync(&self, id: u32) -> Step {
        self.process(id).save(77, 0);
        self.machine.sync::<_, true>(&self.notes, self.process(id), BARRIER).expect("a barrier")
    }

    fn word(&self, at: u32) -> u32 {
        self.machine.memory.load_w(at).expect("there")
    }

    /// A child of process 3 comes to its end.
    fn end(&self, id: u32, kept: u32) {
        let child = self.process(id);
        child.parent.set(3);
        child.join.set(COUNT);
        let ended = self.machine.end::<_, true>(&self.notes, &mut WorkerLocal::default(), child, kept);
        ended.expect("it was awaited");
    }

    fn readied(&self, id: u32) -> u32 {
        self.notes.0[id as usize].load(Ordering::Relaxed)
    }

    fn received(&self) -> u32 {
        self.machine.memory.load_w(RECEIVED).expect("there")
    }

    fn check_waiter(&self, id: u32, step: Step) {
        assert_eq!(self.readied(id), u32::from(step == Step::Waits), "process {id}, whose step was {step:?}");
    }
}

/// The first waits and is made ready once; the second copies, and sees what the first has left.
fn rendezvous() {
    let bench = Bench::new();
    let other = bench.clone();
    let sender = thread::spawn(move || other.communicate(1, CHANNEL, OUTPUT));
    let received = bench.communicate(2, CHANNEL, INPUT);
    let sent = sender.join().expect("no panic");
    assert!((sent == Step::Waits) != (received == Step::Waits));
    bench.check_waiter(1, sent);
    bench.check_waiter(2, received);
    assert_eq!(bench.received(), 7);
    assert_eq!(bench.machine.memory.load_w(CHANNEL), Some(0));
}

/// What the sender writes just before is what arrives, whoever copies.
fn late_value() {
    let bench = Bench::new();
    let other = bench.clone();
    let sender = thread::spawn(move || {
        other.machine.memory.store_w(SENT, 9).expect("there");
        other.communicate(1, CHANNEL, OUTPUT)
    });
    bench.communicate(2, CHANNEL, INPUT);
    sender.join().expect("no panic");
    assert_eq!(bench.received(), 9);
}

fn alternate(bench: &Bench, channels: &[u32]) -> Step {
    let (machine, me) = (&bench.machine, bench.process(3));
    machine.alt_open(me, STATE).expect("there");
    for &channel in channels {
        machine.enable::<_, true>(&bench.notes, me, channel, STATE).expect("a channel");
    }
    // As the interpreter does: saved last.
    me.save(77, 0);
    machine.alt_wait::<_, true>(&bench.notes, me, STATE).expect("some are enabled")
}

/// Who waits in an ALT is made ready once, and then finds who outputs.
fn alternation(channels: &'static [u32]) {
    let bench = Bench::new();
    let senders: Vec<_> = (1..)
        .zip(channels)
        .map(|(id, &channel)| {
            let bench = bench.clone();
            thread::spawn(move || assert_eq!(bench.communicate(id, channel, OUTPUT), Step::Waits))
        })
        .collect();
    let step = alternate(&bench, channels);
    // If it need not wait it goes on at once, while the others are under way.
    let early = (step == Step::Done).then(|| disable(&bench, channels));
    senders.into_iter().for_each(|sender| sender.join().expect("no panic"));
    bench.check_waiter(3, step);
    let ready = early.unwrap_or_else(|| disable(&bench, channels));
    assert!(ready.is_some(), "nobody was there, after all");
    let Some((id, channel)) = ready else { return };
    assert_eq!(bench.communicate(3, channel, INPUT), Step::Done);
    assert_eq!((bench.received(), bench.readied(id)), (7, 1));
}

fn disable(bench: &Bench, channels: &[u32]) -> Option<(u32, u32)> {
    let mut ready = None;
    for (id, &channel) in (1..).zip(channels) {
        if bench.machine.disable::<true>(bench.process(3), channel).expect("a channel") {
            ready = Some((id, channel));
        }
    }
    ready
}

/// A parent that waits is made ready once, by the last of its children; and it sees what they did.
fn join() {
    let bench = Bench::new();
    bench.machine.memory.store_w(COUNT, 3).expect("there");
    let children: Vec<_> = (1..3)
        .map(|id| {
            let bench = bench.clone();
            thread::spawn(move || {
                bench.machine.memory.store_w(SENT + 4 * (id - 1), 40 + id).expect("there");
                bench.end(id, 0);
            })
        })
        .collect();
    bench.process(3).save(77, 0);
    let step = bench.machine.join::<true>(bench.process(3), COUNT).expect("there");
    if step == Step::Done {
        let left = |at| bench.machine.memory.load_w(at).expect("there");
        assert_eq!((left(SENT), left(SENT + 4)), (41, 42));
    }
    children.into_iter().for_each(|child| child.join().expect("no panic"));
    bench.check_waiter(3, step);
}

/// A child that has just woken its parent counts itself down without an exchange, if it is the last, while the parent
/// is in its worker's batch; its sibling ends on another worker, which may be given the parent.
fn join_kept() {
    let bench = Bench::new();
    bench.machine.memory.store_w(COUNT, 3).expect("there");
    assert_eq!(bench.communicate(3, CHANNEL, INPUT), Step::Waits);
    let given = Arc::new(AtomicU32::new(0));
    let run_parent = |bench: &Bench, given: &AtomicU32| {
        let was_given = given.swap(0, Ordering::AcqRel); // pairs with the swap that gives
        if was_given == 0 {
            return None;
        }
        let step = bench.machine.join::<true>(bench.process(3), COUNT).expect("there");
        if step == Step::Done {
            let left = |at| bench.machine.memory.load_w(at).expect("there");
            assert_eq!((left(STATE), left(STATE + 4)), (41, 42));
        }
        Some(step)
    };
    let (other, theirs) = (bench.clone(), given.clone());
    let sibling = thread::spawn(move || {
        other.machine.memory.store_w(STATE + 4, 42).expect("there");
        other.end(2, 0);
        run_parent(&other, &theirs)
    });
    let (step, kept) = bench.communicate_and(1, CHANNEL, OUTPUT);
    assert_eq!((step, kept), (Step::Done, 3));
    bench.machine.memory.store_w(STATE, 41).expect("there");
    bench.end(1, kept);
    given.swap(1, Ordering::AcqRel); // pairs with the swap in `run_parent`
    let here = run_parent(&bench, &given);
    let there = sibling.join().expect("no panic");
    let step = here.or(there).expect("one of them ran it");
    assert_eq!(bench.readied(3), if step == Step::Waits { 2 } else { 1 });
}

/// A lock is held by one at a time, and handed over.
fn lock() {
    let bench = Bench::new();
    let other = bench.clone();
    let hold = |bench: &Bench, id: u32| {
        bench.process(id).save(77, 0);
        let step = bench.machine.claim::<true>(bench.process(id), OTHER).expect("a lock");
        if step == Step::Done {
            let count = bench.machine.memory.load_w(COUNT).expect("there");
            bench.machine.memory.store_w(COUNT, count + 1).expect("there");
            bench.machine.release::<_, true>(&bench.notes, bench.process(id), OTHER).expect("a lock");
        }
        step
    };
    let first = thread::spawn(move || hold(&other, 1));
    let second = hold(&bench, 2);
    let first = first.join().expect("no panic");
    bench.check_waiter(1, first);
    bench.check_waiter(2, second);
    assert!(first == Step::Done || second == Step::Done);
    if first == Step::Done && second == Step::Done {
        assert_eq!(bench.machine.memory.load_w(COUNT), Some(2));
    }
}

/// Nobody ever says that the machine stands still while somebody is ready: 1 waits for 2, which runs, wakes it, and
/// waits for it in turn; then 1 runs on another worker.
fn quiet() {
    let bench = Bench::new();
    bench.process(2).start.set(0);
    assert_eq!(bench.communicate(1, CHANNEL, INPUT), Step::Waits);
    let visits = Arc::new([Visits::default(), Visits::default()]);
    let (other, theirs) = (bench.clone(), visits.clone());
    let workers = thread::spawn(move || {
        let [mut first, mut second] = [WorkerLocal::default(), WorkerLocal::default()];
        theirs[0].enter(&mut first);
        assert_eq!(other.communicate(2, CHANNEL, OUTPUT), Step::Done);
        assert_eq!(other.communicate(2, OTHER, INPUT), Step::Waits);
        theirs[0].leave(&mut first);
        theirs[1].enter(&mut second);
        assert_eq!(other.communicate(1, OTHER, OUTPUT), Step::Done);
        assert_eq!(other.communicate(1, CHANNEL, INPUT), Step::Waits);
        theirs[1].leave(&mut second);
    });
    let sum = || Visits::sum(visits.iter());
    if let Some(before) = sum() {
        assert!(!bench.machine.stands_still(before, sum), "somebody is ready");
    }
    workers.join().expect("no panic");
    let before = sum().expect("all have left");
    assert!(!bench.machine.stands_still(before, sum), "2 is ready");
    bench.process(2).wait.store(OTHER | INPUT, Ordering::Relaxed);
    assert!(bench.machine.stands_still(before, sum), "now both wait");
}

/// Who outputs waits until the end of the input's process, whoever comes first, and is made ready once.
fn extended() {
    let bench = Bench::new();
    let other = bench.clone();
    let sender = thread::spawn(move || other.communicate(1, CHANNEL, OUTPUT));
    let received = bench.extend(2);
    if received == Step::Done {
        assert_eq!((bench.received(), bench.readied(1)), (7, 0));
        bench.end_extended(2);
    }
    assert_eq!(sender.join().expect("no panic"), Step::Waits);
    bench.check_waiter(2, received);
    if received == Step::Waits {
        assert_eq!((bench.received(), bench.readied(1)), (7, 0));
        bench.end_extended(2);
    }
    assert_eq!((bench.readied(1), bench.word(CHANNEL)), (1, 0));
}

/// The last to come sees what the others did before, and lets each of them go on once.
fn barrier() {
    let bench = Bench::new();
    bench.enrolled(2);
    let come = |bench: &Bench, id: u32| {
        bench.machine.memory.store_w(SENT + 4 * (id - 1), 40 + id).expect("there");
        let step = bench.sync(id);
        if step == Step::Done {
            assert_eq!((bench.word(SENT), bench.word(SENT + 4)), (41, 42));
        }
        step
    };
    let other = bench.clone();
    let first = thread::spawn(move || come(&other, 1));
    let second = come(&bench, 2);
    let first = first.join().expect("no panic");
    assert!((first == Step::Done) != (second == Step::Done));
    bench.check_waiter(1, first);
    bench.check_waiter(2, second);
    assert_eq!([0, 4, 8].map(|word| bench.word(BARRIER + word)), [2, 2, 0]);
}

/// One comes while another becomes a member: it goes on once, with the new one or before it.
fn barrier_enroll() {
    let bench = Bench::new();
    bench.enrolled(1);
    let other = bench.clone();
    let first = thread::spawn(move || other.sync(1));
    bench.machine.enroll::<true>(BARRIER, 1).expect("a barrier");
    let first = first.join().expect("no panic");
    assert_eq!((bench.readied(1), bench.word(BARRIER)), (0, 2));
    let second = bench.sync(2);
    assert!((first == Step::Done) != (second == Step::Done));
    bench.check_waiter(1, first);
    assert_eq!(bench.word(BARRIER + 4), if second == Step::Done { 2 } else { 1 });
}

/// One comes while the other resigns: it goes on once.
fn barrier_resign() {
    let bench = Bench::new();
    bench.enrolled(2);
    let other = bench.clone();
    let first = thread::spawn(move || other.sync(1));
    bench.process(2).save(77, 0);
    bench.machine.resign::<_, true>(&bench.notes, bench.process(2), BARRIER).expect("a barrier");
    let first = first.join().expect("no panic");
    bench.check_waiter(1, first);
    assert_eq!([0, 4, 8].map(|word| bench.word(BARRIER + word)), [1, 1, 0]);
}

/// A forked process forks another into its block, while who opened it comes to the end of that.
fn forks() {
    let bench = Bench::new();
    bench.machine.memory.store_w(COUNT, 2).expect("there");
    let end = |bench: &Bench, id: u32| {
        bench.machine.memory.store_w(SENT + 4 * (id - 1), 40 + id).expect("there");
        bench.end(id, 0);
    };
    let other = bench.clone();
    let forked = thread::spawn(move || {
        atom::add::<true>(other.machine.memory.word(COUNT).expect("there"), 1);
        let another = other.clone();
        let second = thread::spawn(move || end(&another, 2));
        end(&other, 1);
        second.join().expect("no panic");
    });
    bench.process(3).save(77, 0);
    let step = bench.machine.join::<true>(bench.process(3), COUNT).expect("there");
    if step == Step::Done {
        assert_eq!((bench.word(SENT), bench.word(SENT + 4)), (41, 42));
    }
    forked.join().expect("no panic");
    bench.check_waiter(3, step);
}

/// Code that is made while another runs: the table of codes, and what the code reads beside its number.
#[derive(Clone)]
struct NewCode {
    table: CodeTable,
    reads: Arc<AtomicU32>,
}

impl NewCode {
    const PLACE: usize = 4096;

    fn new() -> NewCode {
        NewCode { table: CodeTable::new(2, 0), reads: Arc::new(AtomicU32::new(0)) }
    }

    /// Makes code that has two entries.
    fn make(&self, show_to_all: impl FnOnce()) {
        self.reads.store(5, Ordering::Relaxed);
        let entries = (0..2).map(|at| CodeEntry { at, number: 10 + at, code: NewCode::PLACE });
        self.table.publish(entries, show_to_all);
    }

    /// Runs the code if it is there, as whoever finds that in its word.
    fn run(&self, at: usize, found: usize) {
        if found == NewCode::PLACE {
            assert_eq!(self.table.number(at), 10 + at as u32, "the code begins elsewhere");
            assert_eq!(self.reads.load(Ordering::Relaxed), 5, "the code reads what was not there");
        }
    }
}

/// Who finds code by an acquire, as the machine does, and on x86 compiled code, finds what it reads.
fn code_found() {
    let code = NewCode::new();
    let other = code.clone();
    let runner = thread::spawn(move || {
        for at in [1, 0, 1] {
            other.run(at, other.table.get(at).expect("there are two"));
        }
    });
    code.make(|| ());
    runner.join().expect("no panic");
}

/// Who finds it by a plain load does, too, if its maker first has everybody pass a barrier; which here everybody does
/// by itself, at some moment.
fn code_shown(shows: bool) {
    let code = NewCode::new();
    let (other, asked) = (code.clone(), Arc::new([AtomicU32::new(0), AtomicU32::new(0)]));
    let theirs = asked.clone();
    let runner = thread::spawn(move || {
        let look = || other.run(1, other.table.glance(1));
        look();
        // Pairs with the release of who asks.
        while shows && theirs[0].load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        // Pairs with the acquire of who has asked.
        theirs[1].store(1, Ordering::Release);
        look();
    });
    code.make(|| {
        // Release pairs with the acquire of who is asked.
        asked[0].store(1, Ordering::Release);
        // Acquire pairs with the release of who was asked.
        while shows && asked[1].load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
    });
    runner.join().expect("no panic");
}

const MODELS: &[(&str, fn())] = &[
    ("rendezvous", rendezvous),
    ("late_value", late_value),
    ("alternation", || alternation(&[CHANNEL])),
    ("alternation of two", || alternation(&[CHANNEL, OTHER])),
    ("join", join),
    ("join_kept", join_kept),
    ("lock", lock),
    ("quiet", quiet),
    ("extended", extended),
    ("barrier", barrier),
    ("barrier_enroll", barrier_enroll),
    ("barrier_resign", barrier_resign),
    ("forks", forks),
    ("code_found", code_found),
    ("code_shown", || code_shown(true)),
];

fn explore(model: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// One test: the row that is weakened is one for the whole program.
#[test]
fn the_protocols_hold_and_need_every_ordering() {
    for (name, model) in MODELS {
        assert!(catch_unwind(|| explore(*model)).is_ok(), "{name}");
    }
    for row in 0..ROWS {
        weakened::set(row);
        let noticed =
            MODELS.iter().any(|(_, model)| catch_unwind(AssertUnwindSafe(|| explore(*model))).is_err());
        weakened::set(usize::MAX);
        assert!(noticed, "no model notices that ordering {row} is weakened");
    }
    let unshown = catch_unwind(|| explore(|| code_shown(false)));
    assert!(unshown.is_err(), "no model notices that code is not shown to all");
}
