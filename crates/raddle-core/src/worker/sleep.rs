//! Owns: what a worker does when its own places are empty: search, spin by the budget, sleep.
//! May use: `counters`, `message`, `observe::watcher`, `policy`, `raddle-protocol`.
//! Never: burning the processor beyond the spin budget.

use super::LocalWorker;
use crate::counters::Counters;
use crate::message;
use crate::observe::note_change;
use crate::policy::STEAL_NS;
use raddle_protocol::header::Runnable;
use raddle_protocol::protocol::idle::{Watch, Woken};
use std::time::{Duration, Instant};

/// Debug builds only: so often a sleeping worker looks for work that was not announced to it.
const SUSPECT: Duration = Duration::from_secs(2);
/// Work that lies so long was not. Its publisher, or another sleeper that was woken for it, may have had no processor
/// until then: 2 s were not enough beside twelve other programs.
const LOST: Duration = Duration::from_secs(120);
/// The watcher's first doze; doubles up to the tick.
const FIRST_DOZE_NS: u64 = 25_000;
/// So often is looked for what comes from another worker before the clock is read: about a microsecond.
const LOOKS: u32 = 64;
/// When nobody is busy any more, a watcher's next doze is this part of the tick at least. It doubles, and a doze of a
/// whole tick has no end.
const LINGERS: u64 = 4;
/// From this doze on, who spawns is asked to knock.
const KNOCK_DOZE_NS: u64 = 1_600_000;

impl LocalWorker {
    /// Searches and sleeps until there is something to run. `None` when the runtime stops, or whoever the loop runs for
    /// goes on.
    #[cold]
    pub(super) fn wait_for_work(&self) -> Option<Runnable> {
        if self.ways.is_extra {
            return self.wait_beside();
        }
        if self.ways.spins && self.look_out_for_mail() {
            return self.turns().batch.pop();
        }
        let shared = self.shared();
        let began = shared.clock.now_ns();
        self.note_idle_begin(began);
        self.renew_budget(began);
        let mut doze = FIRST_DOZE_NS;
        let mut searching = !self.look_out_hungry(began) && shared.idle.try_search();
        let (mut is_fresh, mut ask_again, mut begun) = (true, None, shared.pollers.outstanding.begun());
        // Who sees work as it lies down takes it, though another is on its way to search: that one may have no
        // processor yet, and to lie down and get up again until it has come would keep it from one.
        let (mut lingers, mut saw_work, mut leaves_den) = (false, false, false);
        let mut budget_ns = shared.policy.spin_ns().max(self.lingers(began));
        loop {
            let now = shared.clock.now_ns();
            self.fire_timers(now);
            shared.sampler.look(shared, now);
            let mut found = self.take_own();
            if found.is_none() && (searching || saw_work) {
                found = self.search(now);
            }
            if found.is_none() {
                begun = shared.pollers.outstanding.begun();
                ask_again = self.ask_when_idle(now, is_fresh, &mut leaves_den);
                is_fresh = false;
                found = self.take_own();
            }
            if found.is_none() {
                found = self.spin(now, budget_ns, searching);
                budget_ns = shared.policy.spin_ns();
            }
            found = found.or_else(|| super::rests::rest(self, doze, ask_again));
            if found.is_some() {
                self.leave_idle((searching, saw_work), now, began);
                return found;
            }
            if self.own().nested.is_over() {
                self.leave_idle((searching, saw_work), now, began);
                return None;
            }
            if shared.is_stopping() {
                return self.stop(searching);
            }
            if ask_again == Some(0) {
                searching = self.stays_up(searching);
                continue;
            }
            let woken;
            // What an extra worker makes while all others lie down is found as beside any other who is up.
            let watches = (searching, lingers || shared.extras.is_anybody_up());
            (woken, saw_work) = self.sleep_once(watches, &mut doze, (ask_again, leaves_den), begun);
            searching = woken == Woken::ToSearch || (woken == Woken::ByItself && shared.idle.try_search());
            if woken == Woken::ToSearch {
                doze = FIRST_DOZE_NS << self.own().steal.note_call();
            }
            lingers = self.lingers_asleep(woken, &mut doze);
            self.take_mail();
        }
    }

    /// Whoever is up for a moment, and again and again, finds one who looks already, and wakes nobody. A few long dozes
    /// do, since a spawn knocks. Whether that is this one, which was `woken` so.
    fn lingers_asleep(&self, woken: Woken, doze: &mut u64) -> bool {
        let shared = self.shared();
        let has_others = shared.workers().len() > 1 || shared.extra_workers().next().is_some();
        let lingers = has_others && shared.policy.looks() && *doze < shared.policy.tick_ns();
        if lingers && woken == Woken::ByItself && shared.idle.sleepers() + 1 == shared.workers().len() {
            *doze = (*doze).max(shared.policy.tick_ns() / LINGERS);
        }
        lingers
    }

    /// Whether it searches from now on, if it is asked again at once. Nobody sleeps who would be woken for what others
    /// make meanwhile, and nobody else searches, perhaps.
    fn stays_up(&self, searching: bool) -> bool {
        self.take_mail();
        searching || self.shared().idle.try_search()
    }

    /// What lies in this worker's own places: an alarm, or a poller, may have woken or spawned something.
    pub(super) fn take_own(&self) -> Option<Runnable> {
        let mut found = self.turns().batch.pop().or_else(|| self.my_ready().pop());
        // A waker that an alarm has called may have spawned.
        found = found.or_else(|| self.my_fresh().pop());
        found = found.or_else(|| self.my_later().pop());
        // It may have stood long enough for its worker's batch to be laid out.
        found = found.or_else(|| self.take_own_window());
        // It may have made a fork.
        found.or_else(|| self.take_own_job()).or_else(|| self.retire_storage_when_asked())
    }

    fn take_own_window(&self) -> Option<Runnable> {
        self.turns().batch.append(self.window.take());
        self.turns().batch.pop()
    }

    /// Who is not idle for longer than a moment tells nobody.
    fn look_out_for_mail(&self) -> bool {
        for _ in 0..LOOKS {
            if self.inbox.has_mail() {
                self.take_mail();
                return !self.turns().batch.is_empty();
            }
            std::hint::spin_loop();
        }
        false
    }

    /// Of one who was counted as `searching`, or has searched because it saw work.
    #[inline(never)]
    fn leave_idle(&self, (searching, saw_work): (bool, bool), now: u64, began: u64) {
        let shared = self.shared();
        self.pass_asking_on();
        // A search has taken time, by which counters and trace would differ.
        let now = if self.traces() { shared.clock.now_ns() } else { now };
        Counters::add(&self.counters.idle_incidents, 1);
        Counters::add(&self.counters.idle_ns, now - began);
        self.note_idle(now - began, searching);
        self.restart_clock(now);
        let has_searched = searching || saw_work;
        if has_searched {
            self.own().steal.note_found();
        }
        let others_sleep = if searching { shared.idle.found() } else { shared.idle.sleepers() > 0 };
        let more = || {
            let waiting = self.fresh.len_hint()
                + self.later.len_hint()
                + self.ready.len_hint()
                + self.turns().batch.movable();
            let more_here = has_searched && waiting > 1;
            more_here || shared.has_shared(self.index) || (has_searched && self.sees_work())
        };
        if others_sleep && (!shared.idle.is_watched() || more()) {
            // More than one can run, or the only one who looked around is we: the next sleeper searches in our place.
            self.fresh.set_mark();
            self.ready.set_mark();
            shared.notify_for(self.index);
        }
    }

    fn stop(&self, searching: bool) -> Option<Runnable> {
        if searching {
            self.shared().idle.found();
        }
        None
    }

    /// Announces, looks once more, sleeps. The watcher's doze doubles. Not for longer than until it is to `ask_again`.
    /// Not in the den if it leaves that to another: then that nobody asks is meant, and ends with the time.
    /// Returns how it was woken, and whether the last look saw work.
    fn sleep_once(
        &self,
        (was_searcher, lingers): (bool, bool),
        doze: &mut u64,
        (ask_again, leaves_den): (Option<u64>, bool),
        begun: usize,
    ) -> (Woken, bool) {
        let shared = self.shared();
        // What it was asked about may have ended since, or go on elsewhere.
        self.end_put_by();
        let watch = shared.idle.announce(self.index, was_searcher, lingers, || shared.extras.is_anybody_up());
        let outstanding = &shared.pollers.outstanding;
        let has_begun = || outstanding.any() && outstanding.begun() != begun;
        let asks = !leaves_den && (outstanding.is_unkept() || has_begun());
        let sees_work = self.sees_work();
        if sees_work || asks || !self.inbox.try_sleep() {
            let woken = shared.idle.cancel(self.index, watch);
            // It said that it sleeps, and who looks for hangs may have seen that, and lain down.
            note_change();
            return (woken, sees_work);
        }
        shared.note_quiet();
        // Who looks beside the watcher does so until its doze would be as long as that one's may be.
        let is_on_watch =
            watch == Watch::Watcher || (watch == Watch::Beside && *doze < shared.policy.tick_ns());
        let looks = (is_on_watch && shared.policy.looks()).then_some(*doze);
        if looks.is_some_and(|doze| doze >= KNOCK_DOZE_NS) {
            shared.idle.ask_for_knocks();
        }
        let until_alarm = self.timers.next_ns().map(|at| at.saturating_sub(shared.clock.now_ns()));
        let at_most = [looks, until_alarm, ask_again].into_iter().flatten().min().map(Duration::from_nanos);
        Counters::advance(&self.counters.parks, 1);
        let woken = if leaves_den { None } else { self.sleep_in_den(watch, at_most) };
        let woken = woken.unwrap_or_else(|| self.sleep_watched(watch, at_most));
        note_change();
        *doze = (*doze * 2).min(shared.policy.tick_ns().max(FIRST_DOZE_NS));
        (woken, false)
    }

    /// Sleeps. In a debug build, a sleep that nobody ends looks for a wake that was lost.
    ///
    /// Work that lies here for [`LOST`] while this worker's word still says asleep was published by somebody who
    /// should have changed the word since: a bug of ours, and the one kind that a test would only see as a hang.
    fn sleep_watched(&self, watch: Watch, at_most: Option<Duration>) -> Woken {
        let idle = &self.shared().idle;
        if !cfg!(debug_assertions) || at_most.is_some_and(|t| t < SUSPECT) {
            return idle.sleep(self.index, watch, at_most);
        }
        let deadline = at_most.map(|t| Instant::now() + t);
        let mut seen_since = None;
        loop {
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left < SUSPECT) {
                return idle.sleep(self.index, watch, left);
            }
            if !idle.doze(self.index, SUSPECT) {
                return idle.cancel(self.index, watch);
            }
            let work_lies_here = self.inbox.has_mail() || self.shared().has_shared(self.index);
            let since = seen_since.get_or_insert_with(Instant::now);
            if work_lies_here && since.elapsed() >= LOST {
                message::fatal("a wake was lost: work has waited for minutes at a worker that sleeps");
            }
            seen_since = seen_since.filter(|_| work_lies_here);
        }
    }

    /// Whether the running process, which has to wait, looks out for its peer first: this worker spins, and has nothing
    /// else to run. Counts as a dispatch, so that boundaries come.
    #[inline(always)]
    pub fn looks_out(&self) -> bool {
        self.ways.spins && self.has_time_to_look_out()
    }

    #[inline(never)]
    pub(super) fn has_time_to_look_out(&self) -> bool {
        let budget = self.budget.get() - 1;
        if budget == 0 || !self.is_alone() || self.jobs.waiting() > 0 || self.window.filled() > 0 {
            return false;
        }
        self.budget.set(budget);
        self.own().ran_dry.set(true);
        true
    }

    /// Looks for `what` for a moment. False if it has not come, or if there is mail.
    pub fn look_out(&self, what: impl Fn() -> bool) -> bool {
        for _ in 0..LOOKS {
            if what() {
                Counters::add(&self.counters.met_hot, 1);
                return true;
            }
            if self.inbox.has_mail() {
                break;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// Looks again and again for so long: zero by default, but for one that has just run a job of another's. Who is not
    /// the one that searches looks at its own inbox only.
    fn spin(&self, since: u64, budget_ns: u64, searching: bool) -> Option<Runnable> {
        let shared = self.shared();
        let until = since + budget_ns;
        let mut now = since;
        while now < until {
            for _ in 0..32 {
                if self.inbox.has_mail() {
                    break;
                }
                std::hint::spin_loop();
            }
            if self.inbox.has_mail() {
                self.take_mail();
                return self.turns().batch.pop().or_else(|| self.my_ready().pop());
            }
            now = shared.clock.now_ns();
            if searching
                && (now - since >= STEAL_NS || self.sees_jobs())
                && let Some(found) = self.search(now)
            {
                return Some(found);
            }
        }
        None
    }
}
