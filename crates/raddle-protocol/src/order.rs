//! Owns: every memory ordering stronger than relaxed that a protocol of this crate relies on, in one table.
//! May use: `prim::model`, `prim::real`, `loom`.
//! Never: an entry without its partner on the other side and the reason.
//!
//! x86 hides ordering bugs, so an ordering here is a claim that must be able to fail. Each row names the site, the
//! kind of ordering, the site that it pairs with, and what breaks without it. Protocols read the ordering from the
//! row; so does `tests/loom`, which weakens the rows one at a time and demands that some model fails. A row that
//! can be weakened unnoticed is an ordering that nobody needs, or a model that does not look.
//!
//! In a normal build a row is a constant and costs nothing. Under `--cfg loom` it is looked up in a cell which the
//! mutation test sets before it starts a model.

#[cfg(not(loom))]
use crate::prim::Ordering;

/// What kind of ordering a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(loom),
    allow(dead_code, unreachable_pub, reason = "fences are read by the mutation test only")
)]
pub enum Kind {
    /// A load, or the load half of a read-modify-write, that sees what the partner published.
    Acquire,
    /// A store, or the store half of a read-modify-write, that publishes.
    Release,
    /// Both halves of a read-modify-write; the mutation weakens each half in turn.
    AcqRel,
    /// A full fence of a store-then-load handshake; the mutation removes it.
    Fence,
    /// The owner's half of an asymmetric full fence; the mutation removes it.
    LightFence,
    /// The thief's half of an asymmetric full fence; the mutation removes it.
    HeavyFence,
}

/// One row of the table.
#[cfg(loom)]
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The site's name, as in the code.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The site or sites on the other side.
    pub pairs_with: &'static str,
    /// What goes wrong without it.
    pub why: &'static str,
}

macro_rules! sites {
    ($($name:ident: $kind:ident, pairs with $partner:literal, $why:literal;)*) => {
        #[repr(usize)]
        enum Row { $($name),* }

        /// The table, in the order of the code.
        #[cfg(loom)]
        pub const SITES: &[Site] = &[
            $(Site { name: stringify!($name), kind: Kind::$kind, pairs_with: $partner, why: $why }),*
        ];

        $(sites!(@row $name $kind $partner $why);)*
    };
    (@row $name:ident Fence $partner:literal $why:literal) => {
        #[doc = $why]
        #[inline(always)]
        #[allow(dead_code, reason = "a protocol under loom may use a subset of the rows")]
        pub fn $name() {
            if !left_out(Row::$name as usize) { crate::prim::fence(crate::prim::Ordering::SeqCst) }
        }
    };
    (@row $name:ident LightFence $partner:literal $why:literal) => {
        #[doc = $why]
        #[inline(always)]
        pub fn $name(asymmetric: bool) {
            if !left_out(Row::$name as usize) { crate::prim::light_fence(asymmetric) }
        }
    };
    (@row $name:ident HeavyFence $partner:literal $why:literal) => {
        #[doc = $why]
        pub fn $name(asymmetric: bool) {
            if !left_out(Row::$name as usize) { crate::prim::heavy_fence(asymmetric) }
        }
    };
    (@row $name:ident $kind:ident $partner:literal $why:literal) => {
        #[doc = $why]
        #[inline(always)]
        #[allow(dead_code, reason = "a protocol under loom may use a subset of the rows")]
        pub fn $name() -> crate::prim::Ordering { ordering(Row::$name as usize, Kind::$kind) }
    };
}

#[allow(non_snake_case, non_camel_case_types, reason = "rows are constants that became functions for loom")]
mod rows {
    #[cfg(loom)]
    use super::Site;
    use super::{Kind, left_out, ordering};

    sites! {
        ALTERNATION_CHOOSE: AcqRel, pairs with "ALTERNATION_LEFT (release) and ALTERNATION_WAIT (acquire)",
            "the owner would not see what was copied, or use its frame again while a peer reads it; and the peer would \
             queue a context that it does not see saved";
        ALTERNATION_WAIT: Release, pairs with "ALTERNATION_CHOOSE",
            "a peer would queue a context that it does not see saved";
        ALTERNATION_LEFT: Acquire, pairs with "ALTERNATION_CHOOSE",
            "the owner would not see what was copied, or use its frame again while a peer reads it";

        BARRIER_ARRIVE: AcqRel, pairs with "BARRIER_ARRIVE",
            "who completes a phase would not find all others in the list, nor a member see what the others did before";

        CLAIM_TAKE: Acquire, pairs with "CLAIM_RELEASE and CLAIM_WAIT",
            "the holder would not see what the last one did, or follow a link that it does not see yet";
        CLAIM_WAIT: Release, pairs with "CLAIM_TAKE",
            "the holder would follow a link, or queue a context, that it does not see yet";
        CLAIM_RELEASE: Release, pairs with "CLAIM_TAKE",
            "the next holder would not see what the last one did";

        DEPARTURE_LEAVE: Release, pairs with "DEPARTURE_LOOK",
            "a waker would resume a context that it does not see saved";
        DEPARTURE_LOOK: Acquire, pairs with "DEPARTURE_LEAVE",
            "a waker would resume a context that it does not see saved";

        INBOX_PUSH: AcqRel, pairs with "INBOX_TAKE (release), and IDLE_SLEEPER_FENCE before `try_sleep` (acquire)",
            "the owner would follow a link that it does not see yet; the pusher would see an old word and wake nobody";
        INBOX_TAKE: Acquire, pairs with "INBOX_PUSH",
            "the owner would follow a link that it does not see yet";

        FRESH_PUSH: Release, pairs with "FRESH_THIEF_FENCE, which comes after the load of the tail",
            "a thief would take a slot whose runnable it does not see yet";
        FRESH_LOCK: Acquire, pairs with "FRESH_UNLOCK",
            "two thieves, or a thief and the growing owner, would read each other's half-made claim";
        FRESH_UNLOCK: Release, pairs with "FRESH_LOCK",
            "two thieves, or a thief and the growing owner, would read each other's half-made claim";
        FRESH_OWNER_FENCE: LightFence, pairs with "FRESH_THIEF_FENCE",
            "owner and thief would both take the same runnable: announce-then-look on either side";
        FRESH_THIEF_FENCE: HeavyFence, pairs with "FRESH_OWNER_FENCE",
            "owner and thief would both take the same runnable: announce-then-look on either side";

        WINDOW_PUBLISH: Release, pairs with "WINDOW_TAKE",
            "the thief would walk a chain whose links it does not see yet";
        WINDOW_TAKE: Acquire, pairs with "WINDOW_PUBLISH",
            "the thief would walk a chain whose links it does not see yet";

        IDLE_SLEEPER_FENCE: Fence, pairs with "IDLE_NOTIFIER_FENCE",
            "a sleeper would miss work published before its last look, whose publisher missed the sleeper";
        IDLE_NOTIFIER_FENCE: Fence, pairs with "IDLE_SLEEPER_FENCE",
            "a sleeper would miss work published before its last look, whose publisher missed the sleeper";
        IDLE_FOUND_FENCE: Fence, pairs with "IDLE_NOTIFIER_FENCE",
            "work whose publisher relied on this searcher would be left to nobody when it stops searching";
        IDLE_ALL_ASLEEP: Acquire, pairs with "IDLE_ANNOUNCE",
            "a runtime would end while a letter that an announcer sent before lies in an inbox";
        IDLE_ANNOUNCE: Release, pairs with "IDLE_KNOCK and IDLE_ALL_ASLEEP",
            "the one knocker would use up the wish for knocks without seeing the sleep word of whoever wished";
        IDLE_CANCEL: Release, pairs with "IDLE_SLEEPER_FENCE, which comes after the announcement",
            "who announces itself last would take one who is up already for a sleeper, and sleep without a time-out";
        IDLE_KNOCK: Acquire, pairs with "IDLE_ANNOUNCE",
            "the one knocker would use up the wish for knocks without seeing the sleep word of whoever wished";

        GATE_CLOSE: Release, pairs with "GATE_SEE_CLOSED",
            "one who was called earlier, and comes now, would not see what the inspector wants of it";
        GATE_SEE_CLOSED: Acquire, pairs with "GATE_CLOSE",
            "one who was called earlier, and comes now, would not see what the inspector wants of it";
        GATE_ARRIVE: Release, pairs with "GATE_SEE_ARRIVED",
            "the inspector would read what one who stands still is seen to be writing";
        GATE_SEE_ARRIVED: Acquire, pairs with "GATE_ARRIVE",
            "the inspector would read what one who stands still is seen to be writing";
        GATE_COUNT: Release, pairs with "GATE_SEE_COUNT",
            "the inspector would see that somebody has come, not who, and sleep until another comes";
        GATE_SEE_COUNT: Acquire, pairs with "GATE_COUNT",
            "the inspector would see that somebody has come, not who, and sleep until another comes";
        GATE_OPEN: Release, pairs with "GATE_SEE_OPEN",
            "who goes on would write what the inspector still reads";
        GATE_SEE_OPEN: Acquire, pairs with "GATE_OPEN",
            "who goes on would write what the inspector still reads";

        JOBS_LOCK: Acquire, pairs with "JOBS_UNLOCK",
            "a thief would run a job whose frame it does not see yet, or follow a link that is being changed";
        JOBS_UNLOCK: Release, pairs with "JOBS_LOCK",
            "a thief would run a job whose frame it does not see yet, or follow a link that is being changed";

        JOIN_FINISH: AcqRel, pairs with "JOIN_SEE_DONE, JOIN_REGISTER_LOST (as release), JOIN_REGISTER, JOIN_DETACH",
            "the joiner would read a result, or the finisher a joiner, that it does not see yet";
        JOIN_SEE_JOINER: Acquire, pairs with "JOIN_REGISTER",
            "the finisher would wake a joiner whose saved context it does not see yet";
        JOIN_SEE_DONE: Acquire, pairs with "JOIN_FINISH",
            "the joiner would read a result that it does not see yet";
        JOIN_REGISTER: Release, pairs with "JOIN_SEE_JOINER and JOIN_FINISH",
            "the finisher would wake a joiner whose saved context it does not see yet";
        JOIN_REGISTER_LOST: Acquire, pairs with "JOIN_FINISH",
            "the joiner that comes too late to wait would read a result that it does not see yet";
        JOIN_DETACH: AcqRel, pairs with "JOIN_FINISH",
            "whoever comes second frees the block, and must see all that the first one did with it";

        PROMISE_PROMOTE: Release, pairs with "PROMISE_SEE",
            "who has the handle of a fork would look at its job's record before it is made";
        PROMISE_SEE: Acquire, pairs with "PROMISE_PROMOTE",
            "who has the handle of a fork would look at its job's record before it is made";
        PROMISE_ASK: Release, pairs with "PROMISE_HEED",
            "the flow would look at an asker, or queue a context, that it does not see yet; or use a place again while \
             who has dropped the handle still looks at it";
        PROMISE_HEED: Acquire, pairs with "PROMISE_ASK",
            "the flow would look at an asker, or queue a context, that it does not see yet; or use a place again while \
             who has dropped the handle still looks at it";

        SHARES_LEAVE: AcqRel, pairs with "SHARES_LEAVE and SHARES_ALONE",
            "who uses a chunk of forks next would write what one that has left still reads";
        SHARES_ALONE: Acquire, pairs with "SHARES_LEAVE",
            "a flow would use a chunk again while one that has left still reads it";

        RENDEZVOUS_ENTER: Release, pairs with "RENDEZVOUS_LOOK and RENDEZVOUS_TAKE",
            "the second to arrive would copy to or from a frame, or queue a context, that it does not see yet";
        RENDEZVOUS_LOOK: Acquire, pairs with "RENDEZVOUS_ENTER",
            "the second to arrive would copy to or from a frame, or queue a context, that it does not see yet";
        RENDEZVOUS_TAKE: Acquire, pairs with "RENDEZVOUS_ENTER",
            "a waiter that has gone and come back would be served by what its frame held before";
        RENDEZVOUS_ANSWER: Release, pairs with "RENDEZVOUS_ANSWERED",
            "a waiter that looks out would go on before its value was copied";
        RENDEZVOUS_ANSWERED: Acquire, pairs with "RENDEZVOUS_ANSWER",
            "a waiter that looks out would go on before its value was copied";
        RENDEZVOUS_END: AcqRel, pairs with "RENDEZVOUS_ENTER (acquire) and RENDEZVOUS_END_SEEN (release)",
            "who ends would not see the waiter that it wakes; who frees would not come after the other end's last look";
        RENDEZVOUS_END_SEEN: Acquire, pairs with "RENDEZVOUS_END",
            "who frees the channel would not come after the other end's last look at it";

        SCOPE_LEAVE: AcqRel, pairs with "SCOPE_LEAVE",
            "who leaves last wakes the scope's owner, who must see what every child did";

        SELECTION_SELECT: AcqRel, pairs with "SELECTION_PARK (acquire) and SELECTION_SEE (release)",
            "who was selected must see what the selector did before, and the selector the saved context it queues";
        SELECTION_PARK: Release, pairs with "SELECTION_SELECT",
            "the selector would queue a context that it does not see saved";
        SELECTION_SEE: Acquire, pairs with "SELECTION_SELECT",
            "who was selected must see what the selector did before";

        SHORT_TAKE: Acquire, pairs with "SHORT_GIVE",
            "who enters would not see all that the one before did inside";
        SHORT_GIVE: Release, pairs with "SHORT_TAKE",
            "who enters would not see all that the one before did inside";
        SHORT_LOOK_FENCE: Fence, pairs with "SHORT_LOOK_FENCE, of the other who has sent and now looks",
            "two who each send into one channel and look into the other's would both find nothing";

        TASK_BEGIN: Acquire, pairs with "TASK_PENDING, TASK_WAKE and TASK_WAKE_AGAIN",
            "a poll would not see what the last one did, or what those did who woke the task";
        TASK_PENDING: Release, pairs with "TASK_BEGIN and TASK_WAKE",
            "the next poll would not see what this one did, nor who queues the task where it ran";
        TASK_WAKE: AcqRel, pairs with "TASK_PENDING (acquire) and TASK_BEGIN (release)",
            "who queues the task would not see where it ran, or the poll not see what its waker did";
        TASK_WAKE_AGAIN: Release, pairs with "TASK_BEGIN",
            "the poll would not see what one did who found the task woken already";
        TASK_DROP: AcqRel, pairs with "TASK_DROP",
            "who frees the task would not come after all that the others did with it";

        TOKEN_NOTIFY: AcqRel, pairs with "TOKEN_PARK (acquire) and TOKEN_TAKE (release)",
            "who is unparked must see what the unparker did before, and the unparker the saved context it queues";
        TOKEN_PARK: Release, pairs with "TOKEN_NOTIFY",
            "the unparker would queue a context that it does not see saved";
        TOKEN_TAKE: Acquire, pairs with "TOKEN_NOTIFY",
            "who is unparked must see what the unparker did before";

        MUTEX_LOCK: Acquire, pairs with "MUTEX_UNLOCK",
            "a holder would not see what its predecessor did to the data and to the queue";
        MUTEX_PART: AcqRel, pairs with "MUTEX_PART",
            "a node would be freed while the other of the two, its owner or who stood in for it, still looks at it";
        MUTEX_UNLOCK: Release, pairs with "MUTEX_LOCK",
            "a holder would not see what its predecessor did to the data and to the queue";
        MUTEX_STAND_BACK: Release, pairs with "MUTEX_SEE_QUEUE",
            "the next to stand in would free the node while one who has found it given up still looks at it";
        MUTEX_ENQUEUE: Release, pairs with "MUTEX_SEE_QUEUE",
            "the holder would follow a link, or wake a sleeper, that it does not see yet";
        MUTEX_SEE_QUEUE: Acquire, pairs with "MUTEX_ENQUEUE and MUTEX_STAND_BACK",
            "the holder would follow a link, or wake a sleeper, that it does not see yet";

        WAITLIST_LOCK: Acquire, pairs with "WAITLIST_UNLOCK",
            "two would read each other's half-made changes to the list";
        WAITLIST_UNLOCK: Release, pairs with "WAITLIST_LOCK",
            "two would read each other's half-made changes to the list";

        FUTEX_LOCK: Acquire, pairs with "FUTEX_UNLOCK",
            "two would read each other's half-made changes to a bucket, or one who waits not see the word changed";
        FUTEX_UNLOCK: Release, pairs with "FUTEX_LOCK",
            "two would read each other's half-made changes to a bucket, or one who waits not see the word changed";
        FUTEX_WAIT_FENCE: Fence, pairs with "FUTEX_WAKE_FENCE",
            "one who waits would miss a change of the word whose maker missed the one who waits";
        FUTEX_WAKE_FENCE: Fence, pairs with "FUTEX_WAIT_FENCE",
            "one who waits would miss a change of the word whose maker missed the one who waits";

        RWLOCK_ENTER: Acquire, pairs with "RWLOCK_LEAVE",
            "a writer would not see that the readers are done, or a reader what the writer did";
        RWLOCK_LEAVE: Release, pairs with "RWLOCK_ENTER and RWLOCK_GRANT",
            "a writer would not see that the readers are done, or a reader what the writer did";
        RWLOCK_GRANT: Acquire, pairs with "RWLOCK_LEAVE",
            "who is let in by another would not see what those before it did";

        SEMAPHORE_TAKE: Acquire, pairs with "SEMAPHORE_GIVE",
            "who gets a permit would not see what the one did who had it before";
        SEMAPHORE_GIVE: Release, pairs with "SEMAPHORE_TAKE",
            "who gets a permit would not see what the one did who had it before";

        ONCE_SEE: Acquire, pairs with "ONCE_FINISH",
            "who finds it done would not see what was done";
        ONCE_BEGIN: Acquire, pairs with "ONCE_FINISH",
            "who tries again after a panic would not see what the first attempt left";
        ONCE_ENQUEUE: Release, pairs with "ONCE_FINISH",
            "the finisher would wake a sleeper that it does not see yet";
        ONCE_FINISH: AcqRel, pairs with "ONCE_SEE, ONCE_BEGIN (release) and ONCE_ENQUEUE (acquire)",
            "who finds it done would not see what was done, or the finisher not see who waits";

        WATCH_CHANGE_FENCE: Fence, pairs with "WATCH_SLEEP_FENCE",
            "the watcher would sleep over a change whose maker saw it awake";
        WATCH_SLEEP_FENCE: Fence, pairs with "WATCH_CHANGE_FENCE",
            "the watcher would sleep over a change whose maker saw it awake";
        WATCH_CALL: Release, pairs with "WATCH_HEAR, and WATCH_SLEEP_FENCE after it",
            "the watcher would use a call up and not see what is asked for";
        WATCH_HEAR: Acquire, pairs with "WATCH_CALL",
            "the watcher would use a call up and not see what is asked for";

        MCS_SWAP: Acquire, pairs with "MCS_LEAVE",
            "who comes would not see what the last holder did";
        MCS_LINK: Release, pairs with "MCS_SEE_LINK",
            "who releases would grant a node that it does not see ready";
        MCS_SEE_LINK: Acquire, pairs with "MCS_LINK",
            "who releases would grant a node that it does not see ready";
        MCS_LEAVE: Release, pairs with "MCS_SWAP",
            "who comes would not see what the last holder did";
        MCS_GRANT: AcqRel, pairs with "MCS_SEE_GRANT (release) and MCS_SLEEP (acquire)",
            "the next would not see what its predecessor did, or be queued before its context is seen saved";
        MCS_SEE_GRANT: Acquire, pairs with "MCS_GRANT",
            "the next would not see what its predecessor did";

        MCS_SLEEP: Release, pairs with "MCS_CALL and MCS_GRANT",
            "who wakes would queue a context that it does not see saved";
        MCS_CALL: Acquire, pairs with "MCS_SLEEP",
            "who calls up would queue a context that it does not see saved";

        CLH_SWAP: AcqRel, pairs with "CLH_SWAP",
            "who comes would not see the node before it ready to be looked at";
        CLH_RELEASE: Release, pairs with "CLH_SEE_RELEASE",
            "the next would not see what its predecessor did";
        CLH_SEE_RELEASE: Acquire, pairs with "CLH_RELEASE",
            "the next would not see what its predecessor did";
        CLH_SLEEP: Release, pairs with "CLH_CALL",
            "who calls up would queue a context that it does not see saved";
        CLH_CALL: Acquire, pairs with "CLH_SLEEP",
            "who calls up would queue a context that it does not see saved";
    }
}

#[cfg(loom)]
pub use rows::SITES;
#[allow(unused_imports, reason = "a protocol under loom may use a subset of the rows")]
pub use rows::*;

#[cfg(not(loom))]
#[inline(always)]
fn ordering(_row: usize, kind: Kind) -> Ordering {
    match kind {
        Kind::Acquire => Ordering::Acquire,
        Kind::Release => Ordering::Release,
        _ => Ordering::AcqRel,
    }
}

#[cfg(not(loom))]
#[inline(always)]
fn left_out(_row: usize) -> bool {
    false
}

#[cfg(loom)]
pub use mutation::{Mutation, mutations};
#[cfg(loom)]
use mutation::{left_out, ordering};

/// Weakening one row at a time, for the models.
#[cfg(loom)]
mod mutation {
    use super::{Kind, SITES, Site};
    use loom::sync::atomic::Ordering;
    use std::sync::atomic::{AtomicUsize, Ordering as StdOrdering};

    /// `row * 4 + variant + 1`; zero when nothing is weakened. Set before a model runs, never during one.
    static WEAKENED: AtomicUsize = AtomicUsize::new(0);

    /// One way to weaken one row.
    #[derive(Clone, Copy, Debug)]
    pub struct Mutation {
        row: usize,
        variant: usize,
        /// What is left instead.
        pub becomes: &'static str,
    }

    impl Mutation {
        /// The row that this weakens.
        #[inline]
        pub fn site(&self) -> &'static Site {
            &SITES[self.row]
        }

        /// Runs `f` with this row weakened.
        #[inline]
        pub fn apply<T>(&self, f: impl FnOnce() -> T) -> T {
            WEAKENED.store(self.row * 4 + self.variant + 1, StdOrdering::SeqCst);
            let out = f();
            WEAKENED.store(0, StdOrdering::SeqCst);
            out
        }
    }

    /// Every way to weaken every row.
    #[inline]
    pub fn mutations() -> Vec<Mutation> {
        let ways = |kind| match kind {
            Kind::Acquire | Kind::Release => &["Relaxed"][..],
            Kind::AcqRel => &["Acquire", "Release"][..],
            Kind::Fence | Kind::LightFence | Kind::HeavyFence => &["nothing"][..],
        };
        let rows = SITES.iter().enumerate();
        rows.flat_map(|(row, site)| {
            let one = move |(variant, &becomes)| Mutation { row, variant, becomes };
            ways(site.kind).iter().enumerate().map(one)
        })
        .collect()
    }

    #[inline]
    pub(super) fn ordering(row: usize, kind: Kind) -> Ordering {
        let weakened = WEAKENED.load(StdOrdering::SeqCst);
        let hit = weakened != 0 && (weakened - 1) / 4 == row;
        match (kind, hit, weakened.wrapping_sub(1) % 4) {
            (Kind::AcqRel, true, 0) => Ordering::Acquire,
            (Kind::AcqRel, true, _) => Ordering::Release,
            (_, true, _) => Ordering::Relaxed,
            (Kind::Acquire, false, _) => Ordering::Acquire,
            (Kind::Release, false, _) => Ordering::Release,
            (_, false, _) => Ordering::AcqRel,
        }
    }

    #[inline]
    pub(super) fn left_out(row: usize) -> bool {
        let weakened = WEAKENED.load(StdOrdering::SeqCst);
        weakened != 0 && (weakened - 1) / 4 == row
    }
}
