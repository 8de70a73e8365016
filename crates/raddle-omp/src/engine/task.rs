//! Owns: `Task`: implicit and explicit ones, their making, running, ending; groups.
//! May use: `abi`, `icv`, `report`, `told`, `raddle-core`.
//! Never: a task moving from one thread to another once it has begun.
//!
//! A tied task that waits may run only descendants of what waits, on its own stack: so what it holds cannot be waited
//! for by what it runs above, and its stack is no deeper than the tree of tasks. Untied ones are run as tied ones. At a
//! barrier there is nothing that waits, and any task of the team will do.

mod block;
mod wait;

pub(crate) use block::BlockStore;
pub(crate) use kin::settle;
pub(crate) use wait::{Group, end_group, run_any, wait_for, wait_for_children};

use crate::abi::CFunction;
use crate::engine::depend::{Depends, UseKind};
use crate::engine::member::{Member, me};
use crate::engine::queue::ReadyTask;
use crate::engine::team::Team;
use crate::icv::Icv;
use crate::told::{self, Construct, ProgramSite};
use raddle_core::trace::TeamStep;
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::{from_ref, null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

/// What a task runs.
#[derive(Clone, Copy)]
pub(crate) enum TaskBody {
    None,
    /// gcc's: a function with one argument.
    Data(CFunction, *mut u8),
    /// clang's: a function of a number and the task, and another one that destroys what it has.
    Routine(Routine, *mut u8),
}

pub(crate) type Routine = unsafe extern "C-unwind" fn(i32, *mut u8) -> i32;

const REFERENCE: u64 = 1 << 32;
const CHILD: u64 = 1;

/// A task.
pub(crate) struct Task {
    pub(crate) parent: Cell<*const Task>,
    pub(crate) depth: Cell<u32>,
    /// An ancestor further up: two tasks of one depth have theirs at one depth, and by parents and these any ancestor
    /// is found in a number of steps that grows with the logarithm of the depth. Implicit tasks have none.
    ///
    /// (E. W. Myers, *An applicative random-access stack*, Information Processing Letters 17, 1983.)
    jump: Cell<*const Task>,
    pub(crate) team: Cell<*const Team>,
    /// Who runs it.
    pub(crate) member: AtomicPtr<Member>,
    /// References (itself, until it is over, and its children, until they are freed) << 32 | children not over.
    family: AtomicU64,
    pub(crate) group: Cell<*const Group>,
    pub(crate) icv: Cell<Icv>,
    pub(crate) priority: Cell<i32>,
    pub(crate) is_final: Cell<bool>,
    pub(crate) is_tied: bool,
    /// Whoever made it waits to run it himself.
    is_awaited: Cell<bool>,
    is_announced: Cell<bool>,
    /// It runs within its parent, whose body goes on behind it: nothing counts it.
    is_included: Cell<bool>,
    /// Of one that is untied and whose parent waits for its end: it has given itself back in its middle, and goes on at
    /// once.
    goes_on: Cell<bool>,
    body: Cell<TaskBody>,
    destroys: Cell<Option<Routine>>,
    /// Whether what the compiler keeps of it names what destroys it.
    pub(crate) destroys_by_data: Cell<bool>,
    pub(crate) depends: Depends,
    /// Of a task with an event: 1 while it runs or the event is open, 2 for both.
    open: AtomicU32,
    layout: Option<Layout>,
    /// Whether its memory is a block of a member's.
    is_block: bool,
}

impl Task {
    pub(crate) fn implicit() -> Task {
        Task {
            parent: Cell::new(null()),
            depth: Cell::new(0),
            jump: Cell::new(null()),
            team: Cell::new(null()),
            member: AtomicPtr::default(),
            family: AtomicU64::new(REFERENCE),
            group: Cell::new(null()),
            icv: Cell::new(crate::icv::settings().first),
            priority: Cell::new(0),
            is_final: Cell::new(false),
            is_tied: true,
            is_awaited: Cell::new(false),
            is_announced: Cell::new(false),
            is_included: Cell::new(false),
            goes_on: Cell::new(false),
            body: Cell::new(TaskBody::None),
            destroys: Cell::new(None),
            destroys_by_data: Cell::new(false),
            depends: Depends::new(),
            open: AtomicU32::new(0),
            layout: None,
            is_block: false,
        }
    }

    /// The implicit task of a member of a region: nothing of the former region's is left.
    pub(crate) fn begin_implicit(&self, team: *const Team, member: &Member, icv: Icv, parent: *const Task) {
        self.icv.set(icv);
        self.parent.set(parent);
        self.depth.set(0);
        self.team.set(team);
        self.member.store(from_ref(member).cast_mut(), Ordering::Relaxed);
        self.group.set(null());
        self.depends.forget();
        // SAFETY: null, or a task that has the region in it.
        self.is_final.set(unsafe { parent.as_ref() }.is_some_and(|parent| parent.is_final.get()));
    }

    /// A child of what runs here.
    #[inline(always)]
    fn child(member: &Member, settings: &Made, (layout, is_block): (Layout, bool)) -> Task {
        let parent = member.task();
        Task {
            parent: Cell::new(parent),
            depth: Cell::new(parent.depth.get() + 1),
            jump: Cell::new(parent.next_jump()),
            team: Cell::new(member.team.get()),
            member: AtomicPtr::default(),
            family: AtomicU64::new(REFERENCE),
            group: Cell::new(parent.group.get()),
            icv: Cell::new(parent.icv.get()),
            priority: Cell::new(settings.priority),
            is_final: Cell::new(settings.is_final || parent.is_final.get()),
            is_tied: settings.is_tied,
            is_awaited: Cell::new(false),
            is_announced: Cell::new(false),
            is_included: Cell::new(false),
            goes_on: Cell::new(false),
            body: Cell::new(settings.body),
            destroys: Cell::new(settings.destroys),
            destroys_by_data: Cell::new(false),
            depends: Depends::new(),
            open: AtomicU32::new(1),
            layout: Some(layout),
            is_block,
        }
    }

    /// With so many bytes behind it, aligned so, whose address is the second.
    ///
    /// PERF: inline, as the settings are a word each: from memory, where they were just written one by one, they would
    /// be read two at a time, and wait until the writes are done. BOTS's fib with `if`, cut off at 12: 118 ms, then 95.
    #[inline(always)]
    pub(crate) fn make(settings: &Made, bytes: usize, align: usize) -> (*const Task, *mut u8) {
        let member = me();
        let (memory, (layout, offset), is_block) = Task::room(member, bytes, align);
        let task = memory.cast::<Task>();
        // SAFETY: the memory is new, large enough, and aligned.
        unsafe { task.write(Task::child(member, settings, (layout, is_block))) };
        (task, memory.wrapping_add(offset))
    }

    /// Memory for one with so many bytes behind it, which begin at the offset; and whether it is a block.
    fn room(member: &Member, bytes: usize, align: usize) -> (*mut u8, (Layout, usize), bool) {
        let head = Layout::new::<Task>();
        let tail = Layout::from_size_align(bytes, align.max(16)).ok();
        let joined = tail.and_then(|tail| head.extend(tail).ok());
        let Some((layout, offset)) = joined else { crate::report::fatal("a task is too large") };
        let fits = layout.size() <= block::BYTES && layout.align() <= block::ALIGN;
        let mut memory = if fits { member.blocks.take() } else { null_mut() };
        let is_block = !memory.is_null();
        if !is_block {
            // SAFETY: the layout is not empty.
            memory = unsafe { std::alloc::alloc(layout) };
        }
        if memory.is_null() {
            crate::report::fatal("no memory for a task");
        }
        (memory, (layout, offset), is_block)
    }

    /// Another of the same size, with the same bytes behind it; a child of what runs here.
    pub(crate) fn copy(task: *const Task) -> (*const Task, *mut u8) {
        let this = at(task);
        let bytes = this.layout.map_or(0, |layout| layout.size()) - Task::offset(16);
        let made = Made {
            body: TaskBody::None,
            destroys: None,
            is_tied: this.is_tied,
            is_final: this.is_final.get(),
            priority: this.priority.get(),
        };
        let (copy, data) = Task::make(&made, bytes, 16);
        let from = task.cast::<u8>().wrapping_add(Task::offset(16));
        // SAFETY: both have so many bytes, and one of them is new.
        unsafe { std::ptr::copy_nonoverlapping(from, data, bytes) };
        (copy, data)
    }

    /// Gives back one that was never announced.
    pub(crate) fn discard(task: *const Task) {
        free(task);
    }

    /// How far behind a task of that alignment its bytes begin.
    pub(crate) fn offset(align: usize) -> usize {
        size_of::<Task>().next_multiple_of(align.max(16))
    }

    pub(crate) fn set_body(&self, body: TaskBody, destroys: Option<Routine>) {
        self.body.set(body);
        self.destroys.set(destroys);
    }

    pub(crate) fn team(&self) -> &'static Team {
        // SAFETY: teams are never freed.
        unsafe { &*self.team.get() }
    }

    pub(crate) fn group<'g>(&self) -> Option<&'g Group> {
        // SAFETY: a group stays until all of its tasks are over.
        unsafe { self.group.get().as_ref() }
    }

    pub(crate) fn parent<'p>(&self) -> &'p Task {
        at(self.parent.get())
    }

    pub(crate) fn has_no_children(&self) -> bool {
        self.family.load(Ordering::Acquire) as u32 == 0 // pairs with the release in `kin`
    }

    /// The jump of its children.
    #[inline(always)]
    fn next_jump(&self) -> *const Task {
        if self.depth.get() == 0 {
            return self;
        }
        let one = at(self.jump.get());
        if one.depth.get() == 0 {
            return self;
        }
        let two = at(one.jump.get());
        let (first, second) = (self.depth.get() - one.depth.get(), one.depth.get() - two.depth.get());
        if first == second { two } else { self }
    }

    /// What it descends from at that depth, or itself.
    fn ancestor(&self, depth: u32) -> &Task {
        let mut task = self;
        while task.depth.get() > depth {
            let far = at(task.jump.get());
            task = if far.depth.get() >= depth { far } else { task.parent() };
        }
        task
    }

    /// Whether it descends from the other.
    fn descends_from(&self, other: &Task) -> bool {
        let depth = other.depth.get();
        self.depth.get() > depth && std::ptr::eq(self.ancestor(depth), other)
    }

    /// Whether it is that one, which may be gone, or descends from it.
    pub(crate) fn is_of(&self, (task, depth): (*const Task, u32)) -> bool {
        self.depth.get() >= depth && std::ptr::eq(self.ancestor(depth), task)
    }

    /// Whether its region or its group is cancelled, and so what it would make.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.team().is_cancelled(crate::engine::team::PARALLEL)
            || self.group().is_some_and(Group::is_cancelled)
    }

    /// What it has is destroyed as the compiler says.
    fn destroy(&self) {
        if let Some(destroys) = self.destroys.take()
            && let TaskBody::Routine(_, data) = self.body.get()
        {
            // SAFETY: the compiler's own, for this task.
            unsafe { destroys(me().gtid.cast_signed(), data) };
        }
    }

    /// Whether its end is that of its body.
    pub(crate) fn has_no_event(&self) -> bool {
        self.open.load(Ordering::Relaxed) == 1
    }

    /// It has an event now, whose completion it waits for besides its end.
    pub(crate) fn open_event(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }
}

/// How a task is made.
pub(crate) struct Made {
    pub(crate) body: TaskBody,
    pub(crate) destroys: Option<Routine>,
    pub(crate) is_tied: bool,
    pub(crate) is_final: bool,
    pub(crate) priority: i32,
}

impl Made {
    pub(crate) fn plain(body: TaskBody) -> Made {
        Made { body, destroys: None, is_tied: true, is_final: false, priority: 0 }
    }
}

fn at<'t>(task: *const Task) -> &'t Task {
    // SAFETY: the caller has a reference to it, or is its child or its queue.
    unsafe { &*task }
}

/// The task counts from now on, as one of its parent's, group's and team's.
pub(crate) fn announce(task: *const Task) {
    let task = at(task);
    task.is_announced.set(true);
    let member = me();
    kin::one_more(member, at(task.parent.get()));
    if let Some(group) = task.group() {
        group.enter();
    }
    task.team().one_more(member);
}

/// Whether it has begun: then it is an untied task that gives itself back, to go on later where it stands.
pub(crate) fn goes_on_later(task: *const Task) -> bool {
    let this = at(task);
    if this.is_included.get() || this.is_awaited.get() {
        // Its parent goes on behind its end. It begins anew when it has returned: so its stack is no deeper.
        this.goes_on.set(true);
        return true;
    }
    if !this.is_announced.get() {
        return false;
    }
    this.open.fetch_add(1, Ordering::Relaxed);
    kin::settle_own(me(), this);
    put(task);
    true
}

/// It may run: somebody takes it. It may be gone at once, but not its parent, which the caller is, or a sibling of the
/// caller's has, or the task itself where it goes on later.
pub(crate) fn put(task: *const Task) {
    let this = at(task);
    let (team, parent, priority) = (this.team(), this.parent(), this.priority.get());
    let member = me();
    let tid = if std::ptr::eq(member.team.get(), team) { member.tid.get() } else { 0 };
    if team.queues.push(tid, ReadyTask(task), priority) {
        team.wake_for(parent);
    }
}

/// Of one that waits for others: one of them is over. If it was the last, the task may run; one that somebody waits to
/// run himself is left to him.
pub(crate) fn one_dependence_less(task: *const Task) {
    let this = at(task);
    // Before it may be gone.
    let (is_awaited, parent) = (this.is_awaited.get(), at(this.parent.get()));
    let runner = parent.member.load(Ordering::Relaxed);
    if !this.depends.one_less() {
        return;
    }
    if !is_awaited {
        put(task);
        return;
    }
    fence(Ordering::SeqCst); // pairs with the fence in `WakeWord::wait`
    // SAFETY: null, or a member; those are never freed.
    if let Some(runner) = unsafe { runner.as_ref() } {
        runner.event.poke();
    }
}

/// What runs here waits for those before it by these addresses, as a task with them would.
pub(crate) fn wait_for_dependences(uses: &[(usize, UseKind)]) {
    let (task, _) = Task::make(&Made::plain(TaskBody::None), 0, 16);
    let this = at(task);
    this.is_awaited.set(true);
    announce(task);
    if !this.depends.enter(this, at(this.parent.get()), uses) {
        wait_for(|| this.depends.are_met());
    }
    run(task);
}

/// Announces a task and queues it when those before it are over. `run_now` has the caller run it then, and wait.
pub(crate) fn submit(task: *const Task, uses: &[(usize, UseKind)], run_now: bool) {
    let this = at(task);
    // PERF: to be counted by parent, group and team is dear: BOTS's fib(32) with `if` took 208 ms, and 120 without.
    if run_now && uses.is_empty() && this.has_no_event() {
        this.is_included.set(true);
        return run(task);
    }
    this.is_awaited.set(run_now);
    announce(task);
    let is_free = uses.is_empty() || this.depends.enter(this, at(this.parent.get()), uses);
    if run_now {
        if !is_free {
            wait_for(|| this.depends.are_met());
        }
        // One with an event is over when that has come.
        let has_event = !this.has_no_event();
        if has_event {
            this.family.fetch_add(REFERENCE, Ordering::Relaxed);
        }
        run(task);
        if has_event {
            // pairs with the release in `close`
            wait_for(|| this.open.load(Ordering::Acquire) == 0);
            drop_reference(task);
        }
    } else if is_free {
        put(task);
    }
}

/// Runs one that was announced or is included, here and now, and ends it.
pub(crate) fn run(task: *const Task) {
    let member = me();
    let this = at(task);
    kin::settle_others(member, this.parent.get());
    let before = member.task.replace(task);
    this.member.store(from_ref(member).cast_mut(), Ordering::Relaxed);
    let (loops, my_loop) = (member.loops.get(), member.my_loop.get());
    if !this.is_cancelled() {
        if told::is_traced() {
            enter_noted(this, member);
        } else {
            enter(this);
        }
    }
    kin::settle_own(member, this);
    member.loops.set(loops);
    member.my_loop.set(my_loop);
    member.task.set(before);
    if this.is_included.get() { conclude(task) } else { close(task) }
}

/// An included task is over. Its children keep it, and by it its parent, in whose body the caller still is.
fn conclude(task: *const Task) {
    let this = at(task);
    this.destroy();
    // pairs with the release of children that are freed
    if this.family.load(Ordering::Acquire) == REFERENCE {
        return free(task);
    }
    this.parent().family.fetch_add(REFERENCE, Ordering::Relaxed);
    drop_reference(task);
}

/// Runs the body, and a trace is told of it.
#[cold]
fn enter_noted(this: &Task, member: &Member) {
    let site = match this.body.get() {
        TaskBody::None => return,
        TaskBody::Data(function, _) => {
            ProgramSite::of_function(function.map_or(0, |function| function as usize))
        }
        TaskBody::Routine(routine, _) => ProgramSite::of_function(routine as usize),
    };
    let team = this.team();
    told::note(TeamStep::TaskBegin, Construct::Task, site, (member.tid.get(), team.number.get()));
    enter(this);
    told::note(TeamStep::TaskEnd, Construct::Task, site, (member.tid.get(), team.number.get()));
}

fn enter(this: &Task) {
    match this.body.get() {
        TaskBody::None => {}
        TaskBody::Data(function, data) => crate::abi::call(function, data),
        TaskBody::Routine(routine, data) => {
            // SAFETY: the compiler's own, for this task.
            unsafe { routine(me().gtid.cast_signed(), data) };
        }
    }
    go_on(this);
}

/// The rest of a task whose parent waits for its end, if it has given itself back.
fn go_on(this: &Task) {
    if this.goes_on.replace(false) {
        enter_again(this);
    }
}

#[cold]
fn enter_again(this: &Task) {
    let TaskBody::Routine(routine, data) = this.body.get() else { return };
    loop {
        // SAFETY: the compiler's own, for this task, which goes on where it has given itself back.
        unsafe { routine(me().gtid.cast_signed(), data) };
        if !this.goes_on.replace(false) {
            return;
        }
    }
}

/// Its body has ended, or its event has come; the second of both ends it.
pub(crate) fn close(task: *const Task) {
    let this = at(task);
    // pairs with itself: who ends it sees what both did
    if this.open.load(Ordering::Acquire) == 1 {
        // The other one has been, or there is none.
        this.open.store(0, Ordering::Release); // pairs with the acquire in `submit`
    } else if this.open.fetch_sub(1, Ordering::AcqRel) > 1 {
        return;
    }
    this.destroy();
    over(task);
}

/// A task is over: who waits for it learns of it, and it goes.
fn over(task: *const Task) {
    let this = at(task);
    let (team, parent, is_awaited) = (this.team(), this.parent(), this.is_awaited.get());
    this.depends.release(task);
    if let Some(group) = this.group() {
        group.leave();
    }
    let member = me();
    // pairs with the release of children that are freed
    let is_alone = this.family.load(Ordering::Acquire) == REFERENCE && this.layout.is_some();
    if is_alone {
        free(task);
    }
    if is_alone && !is_awaited {
        kin::one_less(member, parent);
    } else {
        kin::leave(parent, is_alone, is_awaited);
        if !is_alone {
            drop_reference(task);
        }
    }
    team.one_less(member);
}

/// Gives back its memory. Nobody refers to it.
fn free(task: *const Task) {
    let Some(layout) = at(task).layout else { return };
    let is_block = at(task).is_block;
    // SAFETY: nobody refers to it.
    unsafe { task.cast_mut().drop_in_place() };
    if is_block {
        return me().blocks.give(task.cast_mut().cast());
    }
    // SAFETY: it was allocated so.
    unsafe { std::alloc::dealloc(task.cast_mut().cast(), layout) };
}

/// Nobody refers to the task any more; implicit ones stay.
fn free_last(task: *const Task) {
    let this = at(task);
    if this.layout.is_some() {
        let parent = this.parent.get();
        free(task);
        drop_reference(parent);
    }
}

fn drop_reference(task: *const Task) {
    // pairs with itself: who frees it sees what all did
    if at(task).family.fetch_sub(REFERENCE, Ordering::AcqRel) < 2 * REFERENCE {
        free_last(task);
    }
}

/// Of the interface of clang: the task begins here, and its body is what follows in the program.
pub(crate) fn begin_included(task: *const Task) {
    let member = me();
    if at(task).has_no_event() {
        at(task).is_included.set(true);
        kin::settle_others(member, at(task).parent.get());
    } else {
        at(task).is_awaited.set(true);
        announce(task);
    }
    at(task).member.store(from_ref(member).cast_mut(), Ordering::Relaxed);
    member.task.set(task);
}

/// Its end.
pub(crate) fn end_included(task: *const Task) {
    go_on(at(task));
    let member = me();
    kin::settle_own(member, at(task));
    member.task.set(at(task).parent.get());
    if at(task).is_included.get() { conclude(task) } else { close(task) }
}

/// The event of a task has come, from wherever.
pub(crate) fn fulfil(event: *mut u8) {
    if !event.is_null() {
        close(event.cast::<Task>());
        settle(me());
    }
}

mod kin {
    //! How a task counts its children: in advance, and late.
    //!
    //! A task's word counts the children that are not over, and the references to it. Both are changed by who
    //! makes a child, its own member, and by who ends one, whoever that is. One addition for each would be the
    //! dearest of what a small task costs. So a member counts for one task at a time, ahead: what it makes for
    //! that one uses up what has ended. The word may be too high on account of a member, which *settles* before
    //! anybody could wait for it in vain:
    //!
    //! | when | why |
    //! |---|---|
    //! | before it runs a task of another parent | that may take long |
    //! | when it finds nothing to run | it may sleep |
    //! | when it has run others in a wait for something else, and goes on | what follows may take long |
    //! | for a task of its own: before it waits for its children, and at its end | it is asked how many it has |
    //! | before it lets others go on with a task of its own that is not over | they count for it, too |
    //! | when it has fulfilled an event | it may be anybody, who never settles else |
    //!
    //! Meanwhile it runs children of that task, for whose end that has to wait anyway, or is that task itself.
    //!
    //! A task that somebody waits to run himself is counted at once, since its maker waits for it alone.

    use super::{CHILD, REFERENCE, Task, at, free_last};
    use crate::engine::member::Member;
    use std::ptr::null;
    use std::sync::atomic::{Ordering, fence};

    const WHOLE: u64 = REFERENCE + CHILD;
    /// So many are counted ahead.
    const AHEAD: u32 = 16;
    /// So many are counted late: the word has room for 2^32.
    const LATE_MOST: u32 = 1 << 16;

    /// By the member that runs `parent`: it has one more child.
    #[inline]
    pub(super) fn one_more(member: &Member, parent: &Task) {
        let (of, count) = member.kin.get();
        if std::ptr::eq(of, parent) && count > 0 {
            member.kin.set((of, count - 1));
            return;
        }
        settle(member);
        parent.family.fetch_add(WHOLE * u64::from(AHEAD), Ordering::Relaxed);
        member.kin.set((parent, AHEAD - 1));
    }

    /// One of its children is over, and freed.
    #[inline]
    pub(super) fn one_less(member: &Member, parent: &Task) {
        let (of, count) = member.kin.get();
        if std::ptr::eq(of, parent) && count < LATE_MOST {
            member.kin.set((of, count + 1));
            return;
        }
        settle(member);
        member.kin.set((parent, 1));
    }

    /// What the member has counted is as it should be.
    #[inline]
    pub(crate) fn settle(member: &Member) {
        let (of, count) = member.kin.replace((null(), 0));
        if count > 0 {
            subtract(at(of), u64::from(count) * WHOLE, false);
        }
    }

    /// The same, if it is of others than this parent.
    #[inline]
    pub(super) fn settle_others(member: &Member, parent: *const Task) {
        if !std::ptr::eq(member.kin.get().0, parent) {
            settle(member);
        }
    }

    /// The same of a task that the member runs itself, and has run to here.
    #[inline]
    pub(super) fn settle_own(member: &Member, task: &Task) {
        let (of, count) = member.kin.get();
        if !std::ptr::eq(of, task) {
            return;
        }
        member.kin.set((null(), 0));
        let less = u64::from(count) * WHOLE;
        // If it has no other child nobody else knows the word.
        // pairs with the release in `subtract`
        if task.family.load(Ordering::Acquire) == REFERENCE + less {
            task.family.store(REFERENCE, Ordering::Relaxed);
        } else if count > 0 {
            subtract(task, less, false);
        }
    }

    /// A child is over; it is freed, if it is `alone`, and somebody waits for it, if it is awaited.
    pub(super) fn leave(parent: &Task, is_alone: bool, is_awaited: bool) {
        subtract(parent, if is_alone { WHOLE } else { CHILD }, is_awaited);
    }

    fn subtract(parent: &Task, less: u64, is_awaited: bool) {
        // The parent may be gone when it is told.
        let runner = parent.member.load(Ordering::Relaxed);
        // pairs with the acquire of who waits, and with itself: who frees it sees what all did
        let before = parent.family.fetch_sub(less, Ordering::AcqRel);
        // Whoever made it may wait for it alone, while others of its siblings are not over.
        if before as u32 == less as u32 || is_awaited {
            fence(Ordering::SeqCst); // pairs with the fence in `WakeWord::wait`
            // SAFETY: null, or a member; those are never freed.
            if let Some(runner) = unsafe { runner.as_ref() } {
                runner.event.poke_sleeper();
            }
        }
        if before - less < REFERENCE {
            free_last(parent);
        }
    }
}
