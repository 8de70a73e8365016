//! Owns: rule U2 under CLAIM against an enumerator that runs every instance.
//! May use: the public interface.
//! Never: excuses an accepted race; precision is counted, soundness is not negotiable.
//!
//! Each program is a tree of SEQ, PAR, replicated PAR and CLAIM whose leaves send to a SHARED channel, an element of an
//! array of them, or a channel of a SHARED bundle: directly, by an abbreviation, from a PROC that uses the channel by
//! itself, or from one that gets it as a parameter and claims it or does not. `RADDLE_FUZZ_ROUNDS=1000000` makes it a
//! long run.

use crate::generated::Random;
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse};

const HEAD: &str = "\
CHAN TYPE BUS
  MOBILE RECORD
    CHAN INT f0?:
    CHAN INT f1?:
:
PROC lent (CHAN INT c!)
  c ! 1
:
PROC claims (SHARED CHAN INT c!)
  CLAIM c!
    c ! 1
:
PROC lent.bus (BUS! b)
  b[f0] ! 1
:
PROC claims.bus (SHARED BUS! b)
  CLAIM b
    b[f0] ! 1
:
PROC p (SHARED CHAN INT c!, [3]SHARED CHAN INT v!, SHARED BUS! bus)
";

#[derive(Clone, Copy, PartialEq, Debug)]
enum Index {
    Constant(usize),
    /// The index of a replicated PAR around, by its depth.
    Loop(usize),
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Target {
    Plain,
    Element(Index),
    Field(usize),
}

/// How a leaf sends.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Direct,
    Abbreviated,
    Free,
    Lent,
    LentBundle,
    Claims,
}

enum Node {
    Send(Target, Way),
    Claim(Target, Box<Node>),
    Seq(Vec<Node>),
    Par(Vec<Node>),
    Each(usize, Box<Node>),
}

/// One use of a channel as the enumerator sees it.
struct Use {
    channel: (Lock, usize),
    /// The branches taken, each with whether its siblings run in parallel.
    place: Vec<(bool, usize)>,
    /// The number of the claim that is held, if one is.
    held: Option<usize>,
}

type Lock = (char, usize);

impl Target {
    fn random(random: &mut Random, depth: usize) -> Self {
        match random.below(4) {
            0 | 1 => Self::Plain,
            2 if depth > 0 && random.below(2) == 0 => {
                Self::Element(Index::Loop(random.below(depth as u64) as usize))
            }
            2 => Self::Element(Index::Constant(random.below(3) as usize)),
            _ => Self::Field(random.below(2) as usize),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Plain => "c".to_owned(),
            Self::Element(Index::Constant(at)) => format!("v[{at}]"),
            Self::Element(Index::Loop(at)) => format!("v[i{at}]"),
            Self::Field(at) => format!("bus[f{at}]"),
        }
    }

    fn claimed(self) -> String {
        if matches!(self, Self::Field(_)) { "bus".to_owned() } else { format!("{}!", self.text()) }
    }

    /// The lock, and which of its channels.
    fn channel(self, indices: &[usize]) -> (Lock, usize) {
        match self {
            Self::Plain => (('c', 0), 0),
            Self::Element(Index::Constant(at)) => (('v', at), 0),
            Self::Element(Index::Loop(at)) => (('v', indices[at]), 0),
            Self::Field(at) => (('b', 0), at),
        }
    }
}

impl Node {
    /// `around`: what is claimed; often that is what is used.
    fn random(random: &mut Random, size: u32, depth: usize, around: Option<Target>) -> Self {
        let target = match around {
            Some(target) if random.below(4) > 0 => target,
            _ => Target::random(random, depth),
        };
        let list = |random: &mut Random| {
            (0..2).map(|_| Self::random(random, size - 1, depth, around)).collect::<Vec<_>>()
        };
        match if size == 0 { 0 } else { random.below(7) } {
            0 | 1 => {
                let ways =
                    [Way::Direct, Way::Abbreviated, Way::Free, Way::Lent, Way::LentBundle, Way::Claims];
                let way = ways[random.below(ways.len() as u64) as usize];
                match (target, way) {
                    (Target::Field(_), Way::Lent) => Self::Send(target, way),
                    (Target::Field(_), Way::LentBundle | Way::Claims) => Self::Send(Target::Field(0), way),
                    (_, Way::LentBundle) => Self::Send(target, Way::Direct),
                    _ => Self::Send(target, way),
                }
            }
            2 => Self::Seq(list(random)),
            3 => Self::Par(list(random)),
            4 => Self::Each(
                random.between(1, 3) as usize,
                Box::new(Self::random(random, size - 1, depth + 1, around)),
            ),
            _ => Self::Claim(target, Box::new(Self::random(random, size - 1, depth, Some(target)))),
        }
    }

    fn text(&self, depth: usize, indent: usize, into: &mut String) {
        let mut line = |deeper: usize, text: &str| {
            into.push_str(&format!("{}{text}\n", "  ".repeat(indent + deeper)));
        };
        match self {
            Self::Send(target, way) => {
                let name = target.text();
                let bundle = matches!(target, Target::Field(_));
                match way {
                    Way::Direct => line(0, &format!("{name} ! 1")),
                    Way::Abbreviated if bundle => {
                        line(0, &format!("d IS {name}:"));
                        line(0, "d ! 1");
                    }
                    Way::Abbreviated => {
                        line(0, &format!("d IS {name}!:"));
                        line(0, "d ! 1");
                    }
                    Way::Free => {
                        line(0, "PROC free ()");
                        line(1, &format!("{name} ! 1"));
                        line(0, ":");
                        line(0, "free ()");
                    }
                    Way::Lent if bundle => line(0, &format!("lent ({name})")),
                    Way::Lent => line(0, &format!("lent ({name}!)")),
                    Way::LentBundle => line(0, "lent.bus (bus)"),
                    Way::Claims if bundle => line(0, "claims.bus (bus)"),
                    Way::Claims => line(0, &format!("claims ({name}!)")),
                }
            }
            Self::Claim(target, body) => {
                line(0, &format!("CLAIM {}", target.claimed()));
                body.text(depth, indent + 1, into);
            }
            Self::Seq(list) | Self::Par(list) => {
                line(0, if matches!(self, Self::Seq(_)) { "SEQ" } else { "PAR" });
                list.iter().for_each(|node| node.text(depth, indent + 1, into));
            }
            Self::Each(count, body) => {
                line(0, &format!("PAR i{depth} = 0 FOR {count}"));
                body.text(depth + 1, indent + 1, into);
            }
        }
    }

    fn run(&self, world: &mut World) {
        match self {
            Self::Send(target, way) => {
                let channel = target.channel(&world.indices);
                let own = *way == Way::Claims;
                if own {
                    world.claim(channel.0);
                }
                let held = world.held.iter().rev().find(|held| held.0 == channel.0).map(|held| held.1);
                world.uses.push(Use { channel, place: world.place.clone(), held });
                if own {
                    world.held.pop();
                }
            }
            Self::Claim(target, body) => {
                world.claim(target.channel(&world.indices).0);
                body.run(world);
                world.held.pop();
            }
            Self::Seq(list) | Self::Par(list) => {
                for (at, node) in list.iter().enumerate() {
                    world.within(matches!(self, Self::Par(_)), at, |world| node.run(world));
                }
            }
            Self::Each(count, body) => {
                for at in 0..*count {
                    world.indices.push(at);
                    world.within(true, at, |world| body.run(world));
                    world.indices.pop();
                }
            }
        }
    }
}

#[derive(Default)]
struct World {
    indices: Vec<usize>,
    place: Vec<(bool, usize)>,
    held: Vec<(Lock, usize)>,
    claims: usize,
    uses: Vec<Use>,
    /// Whether something claims what it holds, or another end while it holds the bundle's client end: no program.
    stuck: bool,
}

impl World {
    fn claim(&mut self, lock: Lock) {
        self.claims += 1;
        self.stuck |= self.held.iter().any(|held| held.0 == lock || held.0.0 == 'b');
        self.held.push((lock, self.claims));
    }

    fn within(&mut self, parallel: bool, at: usize, run: impl FnOnce(&mut Self)) {
        self.place.push((parallel, at));
        run(self);
        self.place.pop();
    }

    /// A use outside CLAIM, or two in parallel that no claims keep apart.
    fn wrong(&self) -> Option<String> {
        if let Some(it) = self.uses.iter().find(|it| it.held.is_none()) {
            return Some(format!("{:?} is used without its claim", it.channel));
        }
        for (at, one) in self.uses.iter().enumerate() {
            for two in &self.uses[at + 1..] {
                let fork = one.place.iter().zip(&two.place).find(|(one, two)| one != two);
                let parallel = fork.is_some_and(|(one, _)| one.0);
                if parallel && one.channel == two.channel && one.held == two.held {
                    return Some(format!("{:?} is used twice in parallel", one.channel));
                }
            }
        }
        None
    }
}

fn accepted(text: &str) -> bool {
    let mut sources = Sources::new();
    let root = sources.add("generated", text).unwrap();
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    for it in analysis.diagnostics() {
        let code = it.code.to_string();
        assert!(code.starts_with("O07") || code == "O1002", "{it:?}\n{text}");
    }
    analysis.diagnostics().is_empty()
}

#[test]
fn no_accepted_program_uses_an_end_twice_under_claims() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut safe, mut proved, mut races) = (0, 0, 0);
    let rounds =
        std::env::var("RADDLE_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(4000);
    for _ in 0..rounds {
        let node = Node::random(&mut random, 4, 0, None);
        let mut text = HEAD.to_owned();
        node.text(0, 1, &mut text);
        text.push_str(":\n");
        let mut world = World::default();
        node.run(&mut world);
        match (world.wrong(), accepted(&text)) {
            (Some(wrong), true) => panic!("accepted, but {wrong}:\n{text}"),
            (Some(_), false) => races += 1,
            (None, _) if world.stuck => {}
            (None, proof) => {
                safe += 1;
                proved += u32::from(proof);
            }
        }
    }
    assert!(safe > 300 && races > 300, "{safe} safe, {races} wrong: the generator is lopsided");
    assert!(proved * 100 >= safe * PROVED_PERCENT_MIN, "{proved} of {safe} proved");
}

const PROVED_PERCENT_MIN: u32 = 90;
