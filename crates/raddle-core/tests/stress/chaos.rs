//! Everything at once, from a seed: cancellation, locks, channels, timers, tasks and jobs, with panics at random.
//!
//! Each run says its seed; `STRESS_SEED=n` begins with that one. A seed does not fix the schedule, only who does what.
//! After each round the books must balance: no permit, message, or addition is lost or made.

use super::{Progress, everywhere};
use raddle::cancel::{self, ScopedHandle};
use raddle::{channel, csp, sync, task};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

const CHILDREN: u64 = 40;
const DEEDS: u64 = 8;
const PERMITS: usize = 2;

/// What a panic of this program carries; no message is printed.
struct Thrown;

/// xorshift64*, Vigna 2016.
struct Dice(u64);

impl Dice {
    fn of(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    /// A moment, often none at all.
    fn moment(&mut self) -> Duration {
        Duration::from_micros(self.below(200).saturating_sub(80))
    }

    /// Lets others run, throws, or does nothing.
    fn incident(&mut self) {
        match self.below(16) {
            0 => resume_unwind(Box::new(Thrown)),
            1..5 => csp::yield_now(),
            5 => csp::sleep(self.moment()),
            _ => {}
        }
    }
}

/// What the children share, and the books.
struct Shared {
    mutexes: [sync::Mutex<u64>; 2],
    lock: sync::RwLock<u64>,
    permits: sync::Semaphore,
    condition: sync::Condvar,
    meeting: sync::Barrier,
    once: sync::OnceLock<u64>,
    mcs: sync::McsLock<u64>,
    channels: [(channel::Sender<u64>, channel::Receiver<u64>); 3],
    added: [AtomicU64; 3],
    sent: AtomicU64,
    received: AtomicU64,
}

/// Locks a mutex when it is dropped, by a panic or a cancellation as well.
struct Tidies<'a>(&'a Shared);

impl Drop for Tidies<'_> {
    fn drop(&mut self) {
        if let Some(mut held) = self.0.mutexes[1].try_lock_for(Duration::from_micros(50)).ok_or_poisoned() {
            *held += 1;
            self.0.added[1].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The guard, poisoned or not.
trait OkOrPoisoned<G> {
    fn ok_or_poisoned(self) -> Option<G>;
}

impl<G> OkOrPoisoned<G> for sync::TryLockResult<G> {
    fn ok_or_poisoned(self) -> Option<G> {
        match self {
            Ok(guard) => Some(guard),
            Err(sync::TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(sync::TryLockError::WouldBlock) => None,
        }
    }
}

impl Shared {
    fn new() -> Shared {
        Shared {
            mutexes: Default::default(),
            lock: sync::RwLock::new(0),
            permits: sync::Semaphore::new(PERMITS),
            condition: sync::Condvar::new(),
            meeting: sync::Barrier::new(3),
            once: sync::OnceLock::new(),
            mcs: sync::McsLock::new(0),
            channels: [channel::bounded(0), channel::bounded(2), channel::unbounded()],
            added: Default::default(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        }
    }

    fn note_added(&self, which: usize) {
        self.added[which].fetch_add(1, Ordering::Relaxed);
    }

    fn note_sent(&self, succeeded: bool) {
        self.sent.fetch_add(succeeded.into(), Ordering::Relaxed);
    }

    fn note_received(&self, succeeded: bool) {
        self.received.fetch_add(succeeded.into(), Ordering::Relaxed);
    }

    fn lock_something(&self, dice: &mut Dice) {
        match dice.below(6) {
            0..2 => {
                let mut held = self.mutexes[0].lock().unwrap_or_else(PoisonError::into_inner);
                *held += 1;
                self.note_added(0);
                dice.incident();
            }
            2 => {
                if let Some(mut held) = self.mutexes[1].try_lock_for(dice.moment()).ok_or_poisoned() {
                    *held += 1;
                    self.note_added(1);
                    dice.incident();
                }
            }
            3 => {
                let mut held = self.lock.write().unwrap_or_else(PoisonError::into_inner);
                *held += 1;
                self.note_added(2);
                dice.incident();
            }
            4 => {
                let _held = self.lock.read().unwrap_or_else(PoisonError::into_inner);
                dice.incident();
            }
            _ => *self.mcs.lock() += 1,
        }
    }

    fn wait_somewhere(&self, dice: &mut Dice) {
        match dice.below(9) {
            0 => {
                let _permit = self.permits.acquire().unwrap();
                dice.incident();
            }
            1 => drop(self.permits.acquire_timeout(dice.moment())),
            2 => {
                let held = self.mutexes[0].lock().unwrap_or_else(PoisonError::into_inner);
                drop(self.condition.wait(held));
            }
            3 => {
                let held = self.mutexes[0].lock().unwrap_or_else(PoisonError::into_inner);
                drop(self.condition.wait_timeout(held, dice.moment()));
            }
            4 => self.condition.notify_one(),
            5 => _ = self.meeting.wait_timeout(dice.moment()),
            6 => csp::sleep(dice.moment()),
            7 => csp::park_timeout(dice.moment()),
            _ => {
                let made = catch_unwind(AssertUnwindSafe(|| {
                    *self.once.get_or_init(|| {
                        dice.incident();
                        7
                    })
                }));
                assert!(made.is_err() || made.is_ok_and(|value| value == 7));
            }
        }
    }

    fn communicate(&self, dice: &mut Dice) {
        let (sends, receives) = &self.channels[dice.below(3) as usize];
        let (others, from_others) = &self.channels[dice.below(3) as usize];
        match dice.below(7) {
            0 => self.note_sent(sends.send(1).is_ok()),
            1 => self.note_sent(sends.send_timeout(1, dice.moment()).is_ok()),
            2 => self.note_sent(sends.try_send(1).is_ok()),
            3 => self.note_received(receives.recv().is_ok()),
            4 => self.note_received(receives.recv_timeout(dice.moment()).is_ok()),
            5 => raddle::select! {
                recv(receives) -> got => self.note_received(got.is_ok()),
                recv(from_others) -> got => self.note_received(got.is_ok()),
                default(dice.moment()) => {}
            },
            _ => raddle::select! {
                send(others, 1) -> done => self.note_sent(done.is_ok()),
                recv(receives) -> got => self.note_received(got.is_ok()),
            },
        }
    }

    /// Children of its own, which it may cancel or poison.
    fn have_children(&self, dice: &mut Dice) {
        let (mut one, mut two) = (Dice::of(dice.below(1 << 30)), Dice::of(dice.below(1 << 30)));
        match dice.below(5) {
            0 => {
                let (mut to, mut from) = csp::channel::<u64>();
                csp::scope(|s| {
                    let child = s.spawn(move || {
                        csp::alt! { recv(from) -> _ => (), after(one.moment()) => () }
                        if one.below(2) == 0 {
                            from.poison();
                        }
                        one.incident();
                    });
                    let _sent = to.send_timeout(1, two.moment());
                    drop(child.join());
                });
            }
            1 => cancel::scope(|s| {
                let children =
                    [s.spawn(move || self.deed(&mut one, 1)), s.spawn(move || self.deed(&mut two, 1))];
                dice.incident();
                s.cancel();
                children.into_iter().map(ScopedHandle::join).for_each(drop);
            }),
            2 => _ = raddle::join(|| self.lock_something(&mut one), || self.lock_something(&mut two)),
            3 => {
                let task = task::spawn(async move {
                    task::sleep(one.moment()).await;
                    one.incident_of_a_task();
                    task::yield_now().await;
                    one.below(9)
                });
                drop(task::block_on(async {
                    if two.below(2) == 0 {
                        task::yield_now().await;
                    }
                    if two.below(4) == 0 { Ok(0) } else { task.await }
                }));
            }
            _ => {
                let thread = raddle::thread::spawn(move || one.incident());
                drop(thread.join());
            }
        }
    }

    fn deed(&self, dice: &mut Dice, depth: u64) {
        let _tidies = (dice.below(4) == 0).then_some(Tidies(self));
        dice.incident();
        match dice.below(16) {
            0..5 => self.lock_something(dice),
            5..8 => self.wait_somewhere(dice),
            8..12 => self.communicate(dice),
            12 if depth == 0 => _ = cancel::within(dice.moment(), || self.deed(dice, 1)),
            13 => cancel::shield(|| self.lock_something(dice)),
            14 if depth == 0 => drop(catch_unwind(AssertUnwindSafe(|| self.have_children(dice)))),
            15 => _ = raddle::blocking(|| dice.below(3)),
            _ => csp::yield_now(),
        }
    }

    /// All that was done has been done whole, and whatever was held is free.
    fn balances(mut self) {
        assert_eq!(self.permits.available_permits(), PERMITS);
        let left: usize = self.channels.iter().map(|(_, receives)| receives.try_iter().count()).sum();
        let (sent, received) = (self.sent.get_mut(), self.received.get_mut());
        assert_eq!(*sent, *received + left as u64, "messages");
        assert!(self.mutexes.iter().all(|mutex| mutex.try_lock().ok_or_poisoned().is_some()), "held");
        assert!(self.lock.try_write().ok_or_poisoned().is_some(), "held");
        let [one, two] = self.mutexes.map(|mutex| mutex.into_inner().unwrap_or_else(PoisonError::into_inner));
        let three = self.lock.into_inner().unwrap_or_else(PoisonError::into_inner);
        assert_eq!([one, two, three], self.added.map(AtomicU64::into_inner), "two at once");
    }
}

impl Dice {
    fn incident_of_a_task(&mut self) {
        if self.below(4) == 0 {
            resume_unwind(Box::new(Thrown));
        }
    }
}

/// The first seed: the one that is asked for, or another each time.
fn first_seed() -> u64 {
    let asked = std::env::var("STRESS_SEED").ok().and_then(|seed| seed.parse().ok());
    asked.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is after 1970");
        now.as_secs() << 20
    })
}

/// Children that do whatever their dice say, and are cancelled at whatever moment.
#[test]
fn everything_at_once_with_panics_at_random() {
    let seed = AtomicU64::new(first_seed());
    everywhere("everything at once", |rt, progress: &Progress| {
        let seed = seed.fetch_add(1, Ordering::Relaxed);
        eprintln!("STRESS_SEED={seed}");
        rt.run(|| {
            let shared = Shared::new();
            let mut dice = Dice::of(seed);
            cancel::scope(|s| {
                let (shared, progress) = (&shared, &progress);
                let child = |n| {
                    move || {
                        let mut dice = Dice::of(seed.wrapping_mul(CHILDREN) + n);
                        for _ in 0..DEEDS {
                            if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| shared.deed(&mut dice, 0)))
                                && !thrown.is::<Thrown>()
                            {
                                resume_unwind(thrown);
                            }
                            progress.note();
                        }
                    }
                };
                let children: Vec<_> = (0..CHILDREN).map(|n| s.spawn(child(n))).collect();
                for child in &children {
                    match dice.below(6) {
                        0 => child.cancel(),
                        1 => csp::sleep(dice.moment()),
                        2 => shared.condition.notify_all(),
                        _ => csp::yield_now(),
                    }
                }
                csp::sleep(dice.moment() * 4);
                s.cancel();
                for child in children {
                    if let Err(payload) = child.join() {
                        assert!(
                            cancel::was_cancelled(&*payload) || payload.is::<Thrown>(),
                            "a panic of ours"
                        );
                    }
                }
            });
            shared.balances();
        });
    });
}
