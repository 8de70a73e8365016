//! Owns: the search through all interleavings of two or three ends, of what they say, and of their processes' steps.
//! May use: nothing.
//! Never: a schedule that is left out, but for messages on different channels that nobody could tell apart.
//!
//! A scene is a process that sends on each channel, and one that receives from all of them: by plain receives, or by an
//! alternation that takes any that is ready. What ends say goes through queues, and arrives at any later time. Mistakes
//! are planted, and each must be noticed.

use super::{BOUNDLESS, EndIsGone, ReceivingEnd, SendingEnd};
use std::collections::{HashSet, VecDeque};

/// What is done wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlantedMistake {
    None,
    /// A sender goes on as soon as its offer has left: what a send of MPI would tell it.
    GoesOnWhenSent,
    /// An alternation takes from all that are ready, and receives from one.
    TakesAll,
    /// `Close` goes by another way than offers.
    CloseOvertakes,
    /// A receiver that has a message says nothing.
    SaysNothing,
    /// Room is given back when an offer is heard, not when it is taken.
    RoomAtOffer,
    /// What nobody is to answer is answered.
    AnswersAll,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum ModelWord {
    /// The message, and whether its bytes ride along.
    Offer(u32, bool),
    Take,
    Close,
}

/// What a sender is about.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Sends {
    /// Its next message.
    Wants,
    /// Until that offer, of that message, was taken.
    Waits(u64, u32),
    Ended,
}

/// A channel with its sender, whose messages are numbered from 0.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ModelLine {
    sending: SendingEnd<u32>,
    receiving: ReceivingEnd<(u32, bool)>,
    forth: VecDeque<ModelWord>,
    back: VecDeque<ModelWord>,
    /// Bytes that did not ride along.
    bytes: VecDeque<u32>,
    sender: Sends,
    next: u32,
    /// Messages whose send was answered with success, and with the end's being gone.
    sent: Vec<u32>,
    returned: Vec<u32>,
    received: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ModelWorld {
    lines: Vec<ModelLine>,
    /// How many messages the receiver has yet to receive before it drops its ends; and the bytes it waits for.
    wanted: u32,
    fetches: Option<usize>,
    is_done: bool,
}

#[derive(Clone, Copy)]
struct SearchScene {
    channels: usize,
    capacity: usize,
    /// So many each sender sends, of which every second one is large, from that one on.
    messages: u32,
    first_large: u32,
    /// So many are received, then the receiver ends.
    wanted: u32,
    mistake: PlantedMistake,
}

impl SearchScene {
    fn begin(self) -> ModelWorld {
        let line = ModelLine {
            sending: SendingEnd::new(self.capacity),
            receiving: ReceivingEnd::new(self.capacity),
            forth: VecDeque::new(),
            back: VecDeque::new(),
            bytes: VecDeque::new(),
            sender: Sends::Wants,
            next: 0,
            sent: Vec::new(),
            returned: Vec::new(),
            received: Vec::new(),
        };
        ModelWorld { lines: vec![line; self.channels], wanted: self.wanted, fetches: None, is_done: false }
    }

    fn rides(self, message: u32) -> bool {
        (message + self.first_large) % 2 == 1
    }

    /// All worlds that one step leads to.
    fn steps(self, world: &ModelWorld) -> Vec<ModelWorld> {
        let mut next = Vec::new();
        let mut change = |step: &dyn Fn(&mut ModelWorld) -> bool| {
            let mut new = world.clone();
            if step(&mut new) {
                next.push(new);
            }
        };
        for at in 0..self.channels {
            change(&|new| self.send(&mut new.lines[at]));
            change(&|new| self.hear_forth(&mut new.lines[at], 0));
            change(&|new| self.hear_back(&mut new.lines[at]));
            change(&|new| self.receive(new, at));
            if self.mistake == PlantedMistake::CloseOvertakes {
                change(&|new| {
                    let last = new.lines[at].forth.len().saturating_sub(1);
                    new.lines[at].forth.back() == Some(&ModelWord::Close)
                        && self.hear_forth(&mut new.lines[at], last)
                });
            }
        }
        change(&|new| self.fetch(new));
        change(&|new| self.end(new));
        next
    }

    /// The sender's process goes on, if it can.
    fn send(self, line: &mut ModelLine) -> bool {
        match line.sender.clone() {
            Sends::Ended => return false,
            Sends::Wants if line.next == self.messages => {
                line.sending.close();
                line.forth.push_back(ModelWord::Close);
                line.sender = Sends::Ended;
            }
            Sends::Wants => match line.sending.room() {
                None => return false,
                Some(Err(EndIsGone)) => {
                    line.returned.push(line.next);
                    line.next += 1;
                }
                Some(Ok(())) => {
                    let rides = self.rides(line.next);
                    let offer = line.sending.offer((!rides).then_some(line.next)).expect("there is room");
                    line.forth.push_back(ModelWord::Offer(line.next, rides));
                    line.sender = Sends::Waits(offer, line.next);
                    line.next += 1;
                    if !line.sending.is_rendezvous() || self.mistake == PlantedMistake::GoesOnWhenSent {
                        self.goes_on(line, Ok(()));
                    }
                }
            },
            Sends::Waits(offer, _) => match line.sending.is_taken(offer) {
                None => return false,
                Some(answer) => self.goes_on(line, answer),
            },
        }
        true
    }

    fn goes_on(self, line: &mut ModelLine, answer: Result<(), EndIsGone>) {
        let Sends::Waits(_, message) = std::mem::replace(&mut line.sender, Sends::Wants) else {
            panic!("it waits for none")
        };
        match answer {
            Ok(()) => line.sent.push(message),
            Err(EndIsGone) => line.returned.push(message),
        }
        // Bytes that did not ride along are on their way then.
        let is_there = line.received.contains(&message) || line.bytes.contains(&message);
        assert!(!line.sending.is_rendezvous() || answer.is_err() || is_there, "it goes on only when taken");
    }

    fn hear_forth(self, line: &mut ModelLine, at: usize) -> bool {
        match line.forth.remove(at) {
            None => return false,
            Some(ModelWord::Offer(message, rides)) => {
                line.receiving.hear_offer((message, rides)).expect("it has room");
                if self.mistake == PlantedMistake::RoomAtOffer {
                    line.back.push_back(ModelWord::Take);
                }
            }
            Some(ModelWord::Close) => line.receiving.hear_close(),
            Some(ModelWord::Take) => panic!("senders do not take"),
        }
        true
    }

    fn hear_back(self, line: &mut ModelLine) -> bool {
        match line.back.pop_front() {
            None => return false,
            Some(ModelWord::Take) => {
                let kept = line.sending.hear_take().expect("something was offered");
                line.bytes.extend(kept);
            }
            Some(ModelWord::Close) => line.sending.hear_close(),
            Some(ModelWord::Offer(..)) => panic!("receivers do not offer"),
        }
        true
    }

    /// The receiver takes from that channel, if it is ready: with several channels that is an alternation.
    fn receive(self, world: &mut ModelWorld, at: usize) -> bool {
        if world.is_done
            || world.fetches.is_some()
            || world.wanted == 0
            || !world.lines[at].receiving.is_ready()
        {
            return false;
        }
        if self.mistake == PlantedMistake::TakesAll {
            for other in (0..self.channels).filter(|other| *other != at) {
                if let Some(Ok(_)) = world.lines[other].receiving.take() {
                    world.lines[other].back.push_back(ModelWord::Take);
                }
            }
        }
        let line = &mut world.lines[at];
        match line.receiving.take().expect("it is ready") {
            // Its sender is gone: it is asked no more.
            Err(EndIsGone) => return false,
            Ok((message, rides)) => {
                let says =
                    !rides || line.receiving.answers_all() || self.mistake == PlantedMistake::AnswersAll;
                if says && !matches!(self.mistake, PlantedMistake::SaysNothing | PlantedMistake::RoomAtOffer)
                {
                    line.back.push_back(ModelWord::Take);
                }
                world.wanted -= 1;
                if rides {
                    line.received.push(message);
                } else {
                    world.fetches = Some(at);
                }
            }
        }
        true
    }

    /// The bytes that it has taken arrive.
    fn fetch(self, world: &mut ModelWorld) -> bool {
        let Some(at) = world.fetches else { return false };
        let line = &mut world.lines[at];
        let Some(message) = line.bytes.pop_front() else { return false };
        line.received.push(message);
        world.fetches = None;
        true
    }

    /// It has all that it wants, or all senders are gone and nothing is left: it drops its ends.
    fn end(self, world: &mut ModelWorld) -> bool {
        let is_empty = |line: &ModelLine| line.receiving.clone().take() == Some(Err(EndIsGone));
        let has_all = world.wanted == 0 || world.lines.iter().all(is_empty);
        if world.is_done || world.fetches.is_some() || !has_all {
            return false;
        }
        world.is_done = true;
        for line in &mut world.lines {
            line.receiving.close();
            line.back.push_back(ModelWord::Close);
        }
        true
    }

    /// Nothing can happen any more.
    fn check_end(self, world: &ModelWorld) {
        assert!(world.is_done, "the receiver waits for ever");
        let mut received = 0;
        for line in &world.lines {
            assert!(line.sender == Sends::Ended, "a sender waits for ever");
            assert!(line.sending.is_over() && line.receiving.is_over(), "an end is not over");
            assert!(line.received.iter().copied().eq(0..line.received.len() as u32), "in order, none twice");
            assert!(line.bytes.is_empty(), "bytes that nobody has asked for");
            assert_eq!(line.sent.len() + line.returned.len(), self.messages as usize, "each has an answer");
            if self.capacity == 0 {
                assert_eq!(line.sent, line.received, "what was sent was received");
            } else {
                assert!(line.received.len() <= line.sent.len(), "what was received was sent");
            }
            received += line.received.len();
        }
        let all = self.channels * self.messages as usize;
        assert_eq!(received, all.min(self.wanted as usize), "nothing is lost while it is wanted");
    }

    /// Goes through all worlds; how many there are.
    fn search(self) -> usize {
        let begin = self.begin();
        let (mut seen, mut open) = (HashSet::from([begin.clone()]), vec![begin]);
        while let Some(world) = open.pop() {
            let next = self.steps(&world);
            if next.is_empty() {
                self.check_end(&world);
            }
            open.extend(next.into_iter().filter(|new| seen.insert(new.clone())));
        }
        seen.len()
    }
}

const SCENE: SearchScene = SearchScene {
    channels: 1,
    capacity: 0,
    messages: 3,
    first_large: 0,
    wanted: 3,
    mistake: PlantedMistake::None,
};

#[test]
fn a_channel_keeps_its_promises_in_all_interleavings() {
    for capacity in [0, 1, 2, BOUNDLESS] {
        for (first_large, wanted) in [(0, 9), (1, 9), (0, 0), (0, 1), (1, 1), (1, 2)] {
            let scene = SearchScene { capacity, first_large, wanted, ..SCENE };
            assert!(scene.search() > 20, "something has happened");
        }
    }
}

#[test]
fn an_alternation_over_two_ranks_needs_no_retraction() {
    for capacity in [0, 1, BOUNDLESS] {
        for (first_large, wanted) in [(0, 9), (1, 1), (0, 2)] {
            let scene = SearchScene { channels: 2, capacity, messages: 2, first_large, wanted, ..SCENE };
            assert!(scene.search() > 100, "something has happened");
        }
    }
}

#[test]
#[should_panic(expected = "it goes on only when taken")]
fn who_goes_on_when_mpi_has_sent_is_noticed() {
    SearchScene { mistake: PlantedMistake::GoesOnWhenSent, ..SCENE }.search();
}

#[test]
#[should_panic(expected = "it goes on only when taken")]
fn who_takes_from_all_that_are_ready_is_noticed() {
    SearchScene {
        channels: 2,
        messages: 1,
        first_large: 1,
        wanted: 2,
        mistake: PlantedMistake::TakesAll,
        ..SCENE
    }
    .search();
}

#[test]
#[should_panic(expected = "it has room")]
fn a_close_that_overtakes_an_offer_is_noticed() {
    SearchScene { capacity: 2, mistake: PlantedMistake::CloseOvertakes, ..SCENE }.search();
}

#[test]
#[should_panic(expected = "waits for ever")]
fn a_receiver_that_says_nothing_is_noticed() {
    SearchScene { mistake: PlantedMistake::SaysNothing, ..SCENE }.search();
}

#[test]
#[should_panic(expected = "it goes on only when taken")]
fn room_that_is_given_back_too_soon_is_noticed() {
    SearchScene { mistake: PlantedMistake::RoomAtOffer, first_large: 1, ..SCENE }.search();
}

#[test]
#[should_panic(expected = "something was offered")]
fn an_answer_to_what_needs_none_is_noticed() {
    SearchScene { capacity: BOUNDLESS, mistake: PlantedMistake::AnswersAll, ..SCENE }.search();
}

#[test]
fn an_end_that_is_gone_is_offered_nothing_that_would_be_kept() {
    let mut sending = SendingEnd::new(2);
    assert_eq!(sending.offer(Some(1)), Ok(1));
    assert_eq!(sending.room(), Some(Ok(())));
    sending.hear_close();
    assert_eq!(sending.offer(Some(2)), Err(EndIsGone));
    assert_eq!((sending.kept(), sending.counts()), (0, (1, 0)));
}
