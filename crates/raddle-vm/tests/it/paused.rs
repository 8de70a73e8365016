//! Owns: tests of a program that stops where its world says, and goes on; and of the picture taken meanwhile.
//! May use: programs in occam.
//! Never: real time.

use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse, lower};
use raddle_vm::solo::{self, Event, Failure, Solo, TurnEnd, Until, World};
use raddle_vm::{Machine, Network, Port, Stats, WorkerLocal};

/// A world that wants a turn to end at each look, or at none.
struct Turns {
    each: bool,
    now: u64,
    text: Vec<u8>,
}

impl World for &mut Turns {
    fn now(&mut self) -> u64 {
        self.now
    }

    fn wait(&mut self, until: Until, _: bool) -> Event {
        match until {
            Until::At(time) if time > self.now => self.now = time,
            Until::Ever => return Event::NoMoreKeys,
            _ => {}
        }
        if self.each { Event::Pause } else { Event::Nothing }
    }

    fn output(&mut self, _: Port, bytes: &[u8]) {
        self.text.extend(bytes);
    }

    fn call(&mut self, _: i32, _: [u32; 4]) -> Option<[u32; 4]> {
        None
    }
}

fn machine(text: &str, local: &mut WorkerLocal) -> Machine<()> {
    let mut sources = Sources::new();
    let root = sources.add("a.occ", text).unwrap();
    let checked = analyse(&mut sources, root, &Options::default(), &mut NoFiles).checked();
    let checked = checked.unwrap_or_else(|complaints| panic!("{complaints:?}"));
    let module = lower::lower(&checked, &sources).unwrap();
    Machine::new(raddle_bytecode::verify(module).unwrap(), 1 << 20, local).unwrap()
}

/// What it writes, how it ends, what is counted; in one run, or in turns of so many dispatches.
fn run(text: &str, seed: u64, dispatches: Option<u32>) -> (Vec<u8>, Result<(), Failure>, Stats) {
    let mut local = WorkerLocal::default();
    let machine = machine(text, &mut local);
    let mut turns = Turns { each: dispatches.is_some(), now: 0, text: Vec::new() };
    let ended = match dispatches {
        None => solo::run(&machine, &mut turns, &mut local, seed).map(drop),
        Some(dispatches) => {
            let solo = Solo::<_, _, false>::new(&machine, &mut turns, seed);
            loop {
                match solo.go_on(&mut local, dispatches) {
                    Ok(TurnEnd::Paused) => {}
                    Ok(TurnEnd::Ended) => break Ok(()),
                    Err(failure) => break Err(failure),
                }
            }
        }
    };
    (turns.text, ended, local.stats())
}

const PIPELINE: &str = "
PROC stage (CHAN INT in?, out!)
  SEQ i = 0 FOR 20
    INT n:
    SEQ
      in ? n
      out ! n + 1
:
PROC main (CHAN BYTE keyboard?, screen!, error!)
  [4]CHAN INT c:
  TIMER clock:
  INT now:
  PAR
    SEQ i = 0 FOR 20
      c[0] ! i
    PAR i = 0 FOR 3
      stage (c[i]?, c[i + 1]!)
    SEQ
      clock ? now
      clock ? AFTER now PLUS 1000
      SEQ i = 0 FOR 20
        INT n:
        SEQ
          c[3] ? n
          screen ! BYTE (n + 60)
:
";

const CIRCLE: &str = "
PROC pass (CHAN INT in?, out!)
  INT n:
  SEQ
    in ? n
    out ! n
:
PROC main (CHAN BYTE keyboard?, screen!, error!)
  CHAN INT there, back:
  SEQ
    screen ! 'x'
    PAR
      pass (back?, there!)
      pass (there?, back!)
:
";

#[test]
fn a_program_in_turns_does_what_it_does_at_once() {
    for (text, seed) in [(PIPELINE, 0), (PIPELINE, 7), (CIRCLE, 0), (CIRCLE, 3)] {
        let at_once = run(text, seed, None);
        for dispatches in [1, 2, 1000] {
            assert_eq!(run(text, seed, Some(dispatches)), at_once, "seed {seed}, turns of {dispatches}");
        }
    }
}

/// What a picture shows of the pipeline after so many steps.
fn picture(text: &str, steps: u32) -> Network {
    let mut local = WorkerLocal::default();
    let machine = machine(text, &mut local);
    let mut turns = Turns { each: true, now: 0, text: Vec::new() };
    let solo = Solo::<_, _, false>::new(&machine, &mut turns, 0);
    for _ in 0..steps {
        assert_eq!(solo.go_on(&mut local, 1), Ok(TurnEnd::Paused));
    }
    machine.network(100)
}

#[test]
fn a_picture_shows_each_channel_from_its_writer_to_its_reader() {
    let net = picture(PIPELINE, 12);
    let name = |&at: &usize| (&*net.processes[at].name, net.processes[at].indices.first().copied());
    let mut channels: Vec<_> = net.channels.iter().filter(|it| it.name != "screen").collect();
    channels.sort_by(|one, other| one.name.cmp(&other.name));
    let names: Vec<&str> = channels.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["c[0]", "c[1]", "c[2]", "c[3]"], "{net:#?}");
    let ends = |at: usize| {
        let (from, to) = (&channels[at].writers, &channels[at].readers);
        assert_eq!((from.len(), to.len()), (1, 1), "{net:#?}");
        (name(&from[0]), name(&to[0]))
    };
    assert_eq!(ends(1), (("stage", Some(0)), ("stage", Some(1))));
    assert_eq!(ends(2), (("stage", Some(1)), ("stage", Some(2))));
    assert_eq!(ends(3).0, ("stage", Some(2)));
}

#[test]
fn a_picture_of_few_says_how_many_are_left_out() {
    let mut local = WorkerLocal::default();
    let machine = machine(CIRCLE, &mut local);
    let mut turns = Turns { each: false, now: 0, text: Vec::new() };
    assert_eq!(solo::run(&machine, &mut turns, &mut local, 0), Err(Failure::Deadlock));
    let (all, one) = (machine.network(100), machine.network(1));
    // Who has begun the other one, and runs the last branch itself; and the other one.
    assert_eq!((all.processes.len(), all.more), (2, 0));
    assert_eq!((one.processes.len(), one.more), (1, 1));
    let channel = all.channels.iter().find(|it| it.name == "there").unwrap();
    assert_eq!((channel.writers.len(), channel.readers.len()), (1, 1));
}
