//! Owns: `Member`, what is kept of a thread that takes part in regions; and who that is here.
//! May use: `told`, `wait`, `libc`, `raddle-core`.
//! Never: being freed; others poke it late.

use crate::engine::affinity::AffinityFacts;
use crate::engine::bound::Binding;
use crate::engine::here;
use crate::engine::task::{BlockStore, Task};
use crate::engine::team::Team;
use crate::told::ProgramSite;
use crate::wait::{Sleepers, WakeWord};
use raddle_core::door::futex;
use raddle_core::wait::{CallOn, Subject, WaitReason};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::panic::Location;
use std::ptr::{from_ref, null, null_mut, with_exposed_provenance};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Of the loop that a thread is in.
#[derive(Clone, Copy, Default)]
pub(crate) struct MyLoop {
    /// Which of the team's loops, counted from the region's begin.
    pub(crate) number: u32,
    /// Which of its own chunks comes next, where the schedule is static.
    pub(crate) turn: u64,
    /// The chunk at hand: from, and to, in iterations.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// How many iterations of the chunk have passed `ordered`.
    pub(crate) bumped: bool,
    pub(crate) is_inside: bool,
}

/// Where a member keeps its loop.
pub(crate) struct LoopCell(Cell<MyLoop>);

impl LoopCell {
    #[inline]
    pub(crate) fn get(&self) -> MyLoop {
        self.0.get()
    }

    #[inline]
    pub(crate) fn set(&self, my: MyLoop) {
        self.0.set(my);
    }

    /// Which of the team's loops it is.
    #[inline]
    pub(crate) fn number(&self) -> u32 {
        self.0.get().number
    }

    #[inline]
    pub(crate) fn is_inside(&self) -> bool {
        self.0.get().is_inside
    }
}

/// A loop, and the first value and the step of each dimension.
pub(crate) type Doacross = (MyLoop, Vec<(i64, i64)>);

/// A thread, for ever. What others write when a region begins comes first, and has a line of the cache to itself.
#[repr(C, align(64))]
pub(crate) struct Member {
    /// Where it sleeps.
    pub(crate) event: WakeWord,
    /// What a master has for it: a team, written before `job`.
    pub(crate) next_team: AtomicPtr<Team>,
    pub(crate) next_tid: AtomicU32,
    pub(crate) job: AtomicU32,
    _rest_of_line: [u64; 4],
    /// A number that no other has.
    pub(crate) gtid: u32,
    /// The region that it is in, and which of its members it is.
    pub(crate) team: Cell<*const Team>,
    pub(crate) tid: Cell<u32>,
    /// What it runs.
    pub(crate) task: Cell<*const Task>,
    /// The same, for others, when it sleeps until a task comes that descends from it.
    pub(crate) waits_in: WaitingTask,
    /// What its team's round waits for on its account, beside its arrival: it begins so many tasks, or has ended them.
    pub(crate) credit: Cell<u32>,
    /// A task that counts so many children more than it has, on this member's account.
    pub(crate) kin: Cell<(*const Task, u32)>,
    /// Memory for its tasks.
    pub(crate) blocks: BlockStore,
    /// The teams that it is master of, one at each level.
    pub(crate) hot: RefCell<Vec<&'static Team>>,
    /// Begun by `push_num_threads` and the like, for the next region.
    pub(crate) pushed: Cell<u32>,
    /// How that region says its threads are bound; 0 if it does not.
    pub(crate) pushed_bind: Cell<u32>,
    pub(crate) pushed_teams: Cell<(i32, i32)>,
    pub(crate) my_loop: LoopCell,
    /// Loops that were begun, and `single`s that were passed, in this region.
    pub(crate) loops: Cell<u32>,
    pub(crate) singles: Cell<u32>,
    /// Doacross loops that it is in: where their iterations are noted, and how they are counted.
    pub(crate) doacross: RefCell<Vec<Doacross>>,
    /// Of a `teams` construct.
    pub(crate) teams: Cell<(u32, u32)>,
    /// At barriers, and between regions.
    patience: [SpinHabit; 2],
    /// From where the program has called what may wait; none at the end of a region.
    pub(crate) site: Cell<ProgramSite>,
    /// It waits for its next region.
    pub(crate) is_between: Cell<bool>,
    /// Its copies of what is threadprivate by a table.
    pub(crate) privates: RefCell<HashMap<usize, usize>>,
    /// Where it is bound, if it is. By the master of its team, while it waits for a region.
    pub(crate) bound: Cell<Option<Binding>>,
    /// Since when it works, where that is measured.
    pub(crate) works_since: Cell<Option<Instant>>,
    /// What was last told of where it runs.
    pub(crate) told_affinity: Cell<Option<AffinityFacts>>,
}

/// A task that a member waits in, and its depth. Who reads it does not touch the task, and bears that it is another by
/// now, or that the two do not belong together: then its member is awake again, and looks by itself.
#[derive(Default)]
pub(crate) struct WaitingTask {
    task: AtomicPtr<Task>,
    depth: AtomicU32,
}

impl WaitingTask {
    pub(crate) fn set(&self, task: *const Task, depth: u32) {
        self.task.store(task.cast_mut(), Ordering::Relaxed);
        self.depth.store(depth, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> (*const Task, u32) {
        (self.task.load(Ordering::Relaxed), self.depth.load(Ordering::Relaxed))
    }
}

/// How often in a row a member has been woken soon after it fell asleep: at barriers, or for its next region.
#[derive(Default)]
struct SpinHabit(Cell<u32>);

impl SpinHabit {
    /// For how long to spin where the team says so long.
    #[inline]
    fn spin(&self, usual: Duration) -> Duration {
        const OFTEN: u32 = 16;
        const LONG: Duration = Duration::from_millis(1);
        if self.0.get() >= OFTEN { usual.max(LONG) } else { usual }
    }

    fn note(&self, slept: Duration) {
        const SOON: Duration = Duration::from_micros(500);
        self.0.set(if slept < SOON { self.0.get().saturating_add(1) } else { 0 });
    }
}

/// In what members wait.
pub(crate) type MemberCall = CallOn<Member>;

pub(crate) static BARRIER: MemberCall = CallOn::new("a barrier", WaitReason::Barrier);
pub(crate) static TASKS: MemberCall = CallOn::new("a wait for tasks", WaitReason::Join);
pub(crate) static NEXT: MemberCall = CallOn::new("the next region", WaitReason::Park);

impl Subject for Member {
    const KIND: &'static str = "region";

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.is_between.get() {
            return Ok(());
        }
        self.write_place(out)?;
        let site = self.site.get();
        if !site.is_known() {
            return out.write_str(", at its end");
        }
        out.write_str(", at ")?;
        site.write(out)
    }
}

/// Sleeps while the member's word has this value; also for no reason.
fn sleep_in(call: &'static MemberCall, member: &'static Member, word: &AtomicU32, seen: u32) {
    let _ = futex::wait_in(word, seen, None, (call, member, Location::caller()));
}

static NUMBERS: AtomicI32 = AtomicI32::new(0);

impl Member {
    pub(crate) fn make() -> &'static Member {
        let gtid = NUMBERS.fetch_add(1, Ordering::Relaxed).cast_unsigned();
        Box::leak(Box::new(Member {
            event: WakeWord::new(),
            next_team: AtomicPtr::default(),
            next_tid: AtomicU32::new(0),
            job: AtomicU32::new(0),
            _rest_of_line: [0; 4],
            gtid,
            team: Cell::new(null()),
            tid: Cell::new(0),
            task: Cell::new(null()),
            waits_in: WaitingTask::default(),
            credit: Cell::new(0),
            kin: Cell::new((null(), 0)),
            blocks: BlockStore::new(),
            hot: RefCell::new(Vec::new()),
            pushed: Cell::new(0),
            pushed_bind: Cell::new(0),
            bound: Cell::new(None),
            works_since: Cell::new(None),
            told_affinity: Cell::new(None),
            pushed_teams: Cell::new((0, 0)),
            my_loop: LoopCell(Cell::new(MyLoop::default())),
            loops: Cell::new(0),
            singles: Cell::new(0),
            doacross: RefCell::new(Vec::new()),
            teams: Cell::new((0, 1)),
            patience: Default::default(),
            site: Cell::new(ProgramSite::default()),
            is_between: Cell::new(false),
            privates: RefCell::new(HashMap::new()),
        }))
    }

    /// See [`WakeWord::wait`]; a report says in which call it waits.
    ///
    /// PERF: one who has been woken soon after it fell asleep, again and again, spins for up to a millisecond, until a
    /// sleep lasts long: the members of NPB's cg come 50 to 300 us apart, and a sleep and a wake of an OS thread each
    /// time made it 1.1 to 1.4 times libgomp's, which spins. Where another program takes a core, waits are long.
    pub(crate) fn wait(
        &'static self,
        call: &'static MemberCall,
        spin: Duration,
        sleepers: (&'static Sleepers, bool),
        done: impl Fn() -> bool,
    ) {
        let patience = &self.patience[usize::from(std::ptr::eq(call, &raw const NEXT))];
        let most = if spin.is_zero() { spin } else { patience.spin(spin) };
        self.event.wait(most, sleepers, done, |word, seen| {
            if spin.is_zero() || !crate::engine::fork::spin_adapts() {
                return sleep_in(call, self, word, seen);
            }
            let begin = Instant::now();
            sleep_in(call, self, word, seen);
            patience.note(begin.elapsed());
        });
    }

    /// For a report: its region, and who it is there.
    pub(crate) fn write_place(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let team = self.team();
        if team.level == 0 {
            return out.write_str("none");
        }
        team.site.get().write(out)?;
        write!(out, ", member {} of {}", self.tid.get(), team.threads())
    }

    /// The team that it is in.
    pub(crate) fn team(&self) -> &'static Team {
        // SAFETY: teams are never freed, and a member that runs has one.
        unsafe { &*self.team.get() }
    }

    /// By the master of its team, between regions: its thread ends.
    pub(crate) fn end(&self) {
        self.next_team.store(null_mut(), Ordering::Relaxed);
        self.job.fetch_add(1, Ordering::Release); // pairs with the acquire in `start::serve`
        self.event.poke();
    }

    /// Which team of a league it is in, of how many: what its master is in.
    pub(crate) fn teams_around(&self) -> (u32, u32) {
        if self.tid.get() == 0 {
            return self.teams.get();
        }
        let mut team = self.team();
        while let Some(outer) = team.outer().filter(|_| team.level > 0) {
            if team.outer_tid.get() == 0 {
                break;
            }
            team = outer;
        }
        team.master.teams.get()
    }

    /// What the affinity format tells of it.
    pub(crate) fn facts(&self) -> AffinityFacts {
        let team = self.team();
        AffinityFacts {
            team: self.teams_around(),
            level: team.level,
            thread: self.tid.get(),
            threads: team.threads(),
            ancestor: team.outer().map_or(-1, |_| team.outer_tid.get().cast_signed()),
            gtid: self.gtid,
            place: self.bound.get().map(|bound| bound.place),
        }
    }

    /// The task that it runs.
    pub(crate) fn task<'t>(&self) -> &'t Task {
        // SAFETY: a task stays while it runs, and the caller is what runs.
        unsafe { &*self.task.get() }
    }
}

/// Who calls.
#[inline]
pub(crate) fn me() -> &'static Member {
    let here = here::load().cast::<Member>();
    if here.is_null() {
        return root();
    }
    // SAFETY: members are never freed.
    unsafe { &*here }
}

/// Whether the caller has had to do with OpenMP yet.
pub(crate) fn become_here(member: &'static Member) {
    here::store(from_ref(member).cast());
}

/// A thread of the program's that comes for the first time.
#[cold]
fn root() -> &'static Member {
    crate::engine::start::begin();
    let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner).pop();
    // SAFETY: members are never freed, and this one's thread has ended.
    let left = left.map(|address| unsafe { &*with_exposed_provenance::<Member>(address) });
    let member = left.unwrap_or_else(Member::make);
    become_here(member);
    if LEAVES.try_with(|leaves| leaves.0.set(member)).is_err() {
        leaves_late(member);
    }
    let team = if left.is_some() { member.team() } else { Team::make(1, 0, member) };
    team.begin_root(member);
    member
}

/// Members whose threads have ended outside of any region: the next thread of the program's has their teams.
static LEFT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

struct Leaves(Cell<*const Member>);

thread_local! {
    static LEAVES: Leaves = const { Leaves(Cell::new(null())) };
}

impl Drop for Leaves {
    fn drop(&mut self) {
        leave(self.0.get());
    }
}

/// Its thread ends.
fn leave(member: *const Member) {
    // SAFETY: null, or a member; those are never freed.
    if let Some(gone) = unsafe { member.as_ref() }.filter(|member| member.team().level == 0) {
        // Whoever has it next is not bound.
        gone.bound.set(None);
        here::store(null());
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(member.expose_provenance());
    }
}

/// A thread that has left comes again: what the program has registered for its end has a region. Such functions run
/// once more for keys that have a value by then.
fn leaves_late(member: &'static Member) {
    unsafe extern "C" fn end(member: *mut c_void) {
        leave(member.cast());
    }
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place for the key; the function takes what is set below.
        let refused = unsafe { libc::pthread_key_create(&raw mut key, Some(end)) };
        (refused == 0).then_some(key)
    });
    if let Some(key) = *key {
        // Without, the member is not used again.
        // SAFETY: the key is never deleted.
        unsafe { libc::pthread_setspecific(key, from_ref(member).cast()) };
    }
}
