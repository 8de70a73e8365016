//! Owns: libomp's tasks: their layout, dependences in its form, groups, loops of tasks, reductions, events.
//! May use: `abi`, `engine`, `icv`, `report`, `told`, `raddle-core`.
//! Never: the order of tasks.

use super::SourceSite;
use crate::abi::At;
use crate::engine::depend::UseKind;
use crate::engine::member::me;
use crate::engine::reduction::{self, Input, OldInput};
use crate::engine::task::{self, Group, Made, Routine, Task, TaskBody};
use crate::told::ProgramSite;

const TIED: i32 = 1;
const FINAL: i32 = 2;
const DESTROYS: i32 = 8;
const PRIORITY: i32 = 32;

/// `kmp_task_t`: what the compiler knows of a task; its private variables follow.
#[repr(C)]
pub(super) struct KmpTask {
    shareds: *mut u8,
    routine: Option<Routine>,
    part: i32,
    /// A function that destroys what the task has.
    destroys: Option<Routine>,
    priority: i32,
}

fn of(data: *mut KmpTask) -> *const Task {
    data.cast::<u8>().wrapping_sub(Task::offset(16)).cast()
}

fn task_of<'t>(data: *mut KmpTask) -> &'t Task {
    // SAFETY: made by `alloc`, and not over.
    unsafe { &*of(data) }
}

fn fields<'t>(data: *mut KmpTask) -> &'t mut KmpTask {
    // SAFETY: the compiler's task, of which the caller alone has a reference.
    unsafe { &mut *data }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_task_alloc(
    _: SourceSite,
    _: i32,
    flags: i32,
    bytes: usize,
    shared_bytes: usize,
    routine: Option<Routine>,
) -> *mut KmpTask {
    let made = Made {
        body: TaskBody::None,
        destroys: None,
        is_tied: flags & TIED != 0,
        is_final: flags & FINAL != 0,
        priority: if flags & PRIORITY != 0 { 1 } else { 0 },
    };
    let before = bytes.max(size_of::<KmpTask>()).next_multiple_of(16);
    let (task, data) = Task::make(&made, before + shared_bytes, 16);
    let data = data.cast::<KmpTask>();
    let shareds =
        if shared_bytes > 0 { data.cast::<u8>().wrapping_add(before) } else { std::ptr::null_mut() };
    // SAFETY: just made, and large enough.
    unsafe { data.write(KmpTask { shareds, routine, part: 0, destroys: None, priority: 0 }) };
    // SAFETY: just made.
    let task = unsafe { &*task };
    task.destroys_by_data.set(flags & DESTROYS != 0);
    if let Some(routine) = routine {
        task.set_body(TaskBody::Routine(routine, data.cast()), None);
    }
    data
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_target_task_alloc(
    site: SourceSite,
    gtid: i32,
    flags: i32,
    bytes: usize,
    shared_bytes: usize,
    routine: Option<Routine>,
    _: i64,
) -> *mut KmpTask {
    __kmpc_omp_task_alloc(site, gtid, flags, bytes, shared_bytes, routine)
}

/// What the compiler has written into the task since it was made.
fn settle(data: *mut KmpTask) {
    let (task, fields) = (task_of(data), fields(data));
    if task.destroys_by_data.get()
        && let Some(routine) = fields.routine
    {
        task.set_body(TaskBody::Routine(routine, data.cast()), fields.destroys);
    }
    if task.priority.get() > 0 {
        task.priority.set(fields.priority.min(crate::icv::settings().priority_max));
    }
}

/// Whether a task of the caller's runs at once.
fn runs_now(is_free: bool) -> bool {
    let member = me();
    let task = member.task();
    // Outside of all regions nobody would wait for it.
    let is_alone = member.team().level == 0 && is_free;
    task.is_final.get()
        || task.is_cancelled()
        || is_alone
        || is_free && member.team().queues.is_full(member.tid.get())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_task(_: SourceSite, _: i32, data: *mut KmpTask) -> i32 {
    if !task::goes_on_later(of(data)) {
        settle(data);
        task::submit(of(data), &[], runs_now(task_of(data).has_no_event()));
    }
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_task_parts(site: SourceSite, gtid: i32, data: *mut KmpTask) -> i32 {
    __kmpc_omp_task(site, gtid, data)
}

/// `kmp_depend_info`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Depend {
    address: usize,
    bytes: usize,
    flags: u8,
}

fn uses_of((count, list): (i32, At<Depend>), (more, others): (i32, At<Depend>)) -> Vec<(usize, UseKind)> {
    let one = |depend: Depend| {
        let kind = match depend.flags & 15 {
            1 => UseKind::In,
            8 => UseKind::Set,
            _ => UseKind::Out,
        };
        (depend.address, kind)
    };
    let first = (0..count as usize).map(|n| list.at(n).get());
    let second = (0..more as usize).map(|n| others.at(n).get());
    // What names nothing depends on nothing.
    first.chain(second).filter(|depend| depend.flags != 0).map(one).collect()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_task_with_deps(
    _: SourceSite,
    _: i32,
    data: *mut KmpTask,
    count: i32,
    list: At<Depend>,
    more: i32,
    others: At<Depend>,
) -> i32 {
    settle(data);
    let uses = uses_of((count, list), (more, others));
    task::submit(of(data), &uses, runs_now(false));
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_wait_deps(
    _: SourceSite,
    _: i32,
    count: i32,
    list: At<Depend>,
    more: i32,
    others: At<Depend>,
) {
    task::wait_for_dependences(&uses_of((count, list), (more, others)));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_taskwait_deps_51(
    site: SourceSite,
    gtid: i32,
    count: i32,
    list: At<Depend>,
    more: i32,
    others: At<Depend>,
    _: i32,
) {
    __kmpc_omp_wait_deps(site, gtid, count, list, more, others);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_task_begin_if0(_: SourceSite, _: i32, data: *mut KmpTask) {
    settle(data);
    task::begin_included(of(data));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_task_complete_if0(_: SourceSite, _: i32, data: *mut KmpTask) {
    task::end_included(of(data));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_task_begin(site: SourceSite, gtid: i32, data: *mut KmpTask) {
    __kmpc_omp_task_begin_if0(site, gtid, data);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_task_complete(site: SourceSite, gtid: i32, data: *mut KmpTask) {
    __kmpc_omp_task_complete_if0(site, gtid, data);
}

extern "C-unwind" fn taskwait(source: SourceSite, _: i32, code: usize) -> i32 {
    me().site.set(ProgramSite::of_source(source, code));
    task::wait_for_children();
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_taskyield(_: SourceSite, _: i32, _: i32) -> i32 {
    raddle_core::door::tick::yield_if_due();
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_taskgroup(_: SourceSite, _: i32) {
    Group::begin();
}

extern "C-unwind" fn end_taskgroup(source: SourceSite, _: i32, code: usize) {
    me().site.set(ProgramSite::of_source(source, code));
    task::end_group();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_task_allow_completion_event(
    _: SourceSite,
    _: i32,
    data: *mut KmpTask,
) -> *mut u8 {
    task_of(data).open_event();
    of(data).cast_mut().cast()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_fulfill_event(event: *mut u8) {
    task::fulfil(event);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_omp_reg_task_with_affinity(
    _: SourceSite,
    _: i32,
    _: *mut u8,
    _: i32,
    _: *mut u8,
) -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_proxy_task_completed(_: i32, data: *mut KmpTask) {
    task::close(of(data));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_proxy_task_completed_ooo(data: *mut KmpTask) {
    task::close(of(data));
}

type Duplicate = unsafe extern "C-unwind" fn(*mut KmpTask, *mut KmpTask, i32);

/// How many iterations each task of a loop has.
fn shares(trip: u64, (schedule, number, strict): (i32, u64, bool), threads: u64) -> Vec<u64> {
    let even = |tasks: u64| {
        let (share, rest) = (trip / tasks, trip % tasks);
        (0..tasks).map(|n| share + u64::from(n < rest)).collect::<Vec<_>>()
    };
    match schedule {
        1 if strict => {
            let grain = number.max(1);
            (0..trip.div_ceil(grain)).map(|n| grain.min(trip - n * grain)).collect()
        }
        1 => even((trip / number.max(1)).max(1)),
        2 => even(number.clamp(1, trip)),
        _ => even((threads * 10).clamp(1, trip)),
    }
}

/// A loop of tasks, as clang passes it: the task is the pattern of all, with its bounds inside of it.
struct Loop {
    pattern: *mut KmpTask,
    lower: At<u64>,
    upper: At<u64>,
    step: i64,
    duplicate: Option<Duplicate>,
}

impl Loop {
    /// Where the other task has what lies there in the pattern.
    fn same(&self, place: At<u64>, other: *mut KmpTask) -> At<u64> {
        let offset = place.pointer().addr().wrapping_sub(self.pattern.addr());
        At::new(other.cast::<u8>().wrapping_add(offset).cast())
    }

    fn one(&self, from: u64, to: u64, is_last: bool, runs_now: bool) {
        let pattern = of(self.pattern);
        let (copy, data) = Task::copy(pattern);
        let data = data.cast::<KmpTask>();
        let shareds = fields(self.pattern).shareds;
        if !shareds.is_null() {
            let offset = shareds.addr().wrapping_sub(self.pattern.addr());
            fields(data).shareds = data.cast::<u8>().wrapping_add(offset);
        }
        self.same(self.lower, data).set(from);
        self.same(self.upper, data).set(to);
        if let Some(duplicate) = self.duplicate {
            // SAFETY: the compiler's, for these.
            unsafe { duplicate(data, self.pattern, is_last.into()) };
        }
        // SAFETY: just made.
        unsafe { &*copy }.destroys_by_data.set(task_of(self.pattern).destroys_by_data.get());
        if let Some(routine) = fields(data).routine {
            // SAFETY: as above.
            unsafe { &*copy }.set_body(TaskBody::Routine(routine, data.cast()), None);
        }
        settle(data);
        task::submit(copy, &[], runs_now);
    }

    fn run(&self, is_deferred: bool, how: (i32, u64, bool)) {
        let (mut from, to) = (self.lower.get(), self.upper.get());
        let span = if self.step > 0 { to.wrapping_sub(from) as i64 } else { from.wrapping_sub(to) as i64 };
        if span < 0 {
            return;
        }
        let trip = span.unsigned_abs() / self.step.unsigned_abs().max(1) + 1;
        let all = shares(trip, how, me().team().threads().into());
        let count = all.len();
        for (n, share) in all.into_iter().enumerate() {
            let next = from.wrapping_add(share.wrapping_mul(self.step as u64));
            let is_last = n + 1 == count;
            self.one(from, next.wrapping_sub(self.step as u64), is_last, !is_deferred || runs_now(true));
            from = next;
        }
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_taskloop_5(
    _: SourceSite,
    _: i32,
    pattern: *mut KmpTask,
    condition: i32,
    lower: At<u64>,
    upper: At<u64>,
    step: i64,
    nogroup: i32,
    schedule: i32,
    number: u64,
    modifier: i32,
    duplicate: Option<Duplicate>,
) {
    if nogroup == 0 {
        Group::begin();
    }
    let all = Loop { pattern, lower, upper, step, duplicate };
    all.run(condition != 0, (schedule, number, modifier != 0));
    if task_of(pattern).destroys_by_data.get()
        && let Some(destroys) = fields(pattern).destroys
    {
        // SAFETY: the compiler's, for this task; all others have copies of what it has.
        unsafe { destroys(me().gtid.cast_signed(), pattern.cast()) };
    }
    Task::discard(of(pattern));
    if nogroup == 0 {
        task::end_group();
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_taskloop(
    site: SourceSite,
    gtid: i32,
    pattern: *mut KmpTask,
    condition: i32,
    lower: At<u64>,
    upper: At<u64>,
    step: i64,
    nogroup: i32,
    schedule: i32,
    number: u64,
    duplicate: Option<Duplicate>,
) {
    let strict = 0;
    __kmpc_taskloop_5(
        site, gtid, pattern, condition, lower, upper, step, nogroup, schedule, number, strict, duplicate,
    );
}

fn group_word() -> *mut u8 {
    me().task().group.get().cast_mut().cast()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_taskred_init(_: i32, number: i32, inputs: At<Input>) -> *mut u8 {
    if let Some(group) = me().task().group() {
        let all = (0..number as usize).map(|n| reduction::register(&inputs.at(n).get(), true));
        group.add_reductions(all);
    }
    group_word()
}

fn newer(old: &OldInput) -> Input {
    let &OldInput { shared, bytes, init, finish, combine, flags } = old;
    Input { shared, original: shared, bytes, init, finish, combine, flags }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_task_reduction_init(_: i32, number: i32, inputs: At<OldInput>) -> *mut u8 {
    if let Some(group) = me().task().group() {
        let all = (0..number as usize).map(|n| reduction::register(&newer(&inputs.at(n).get()), false));
        group.add_reductions(all);
    }
    group_word()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_task_reduction_get_th_data(_: i32, _: *mut u8, data: usize) -> usize {
    match reduction::copy_of(data) {
        Some(copy) => copy,
        None => crate::report::fatal(&format!("no reduction over tasks has the variable at {data:#x}")),
    }
}

fn begin_modified(is_loop: i32, inputs: &[Input], has_original: bool) -> *mut u8 {
    Group::begin();
    let member = me();
    if let Some(group) = member.task().group() {
        group.is_shared.set(true);
    }
    let modifier = &member.team().modifiers[usize::from(is_loop != 0)];
    let make = || inputs.iter().map(|input| reduction::register(input, has_original)).collect();
    let mine = modifier.begin(make, |n| inputs[n].shared);
    if let Some(group) = member.task().group() {
        group.add_reductions(mine);
    }
    group_word()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_taskred_modifier_init(
    _: SourceSite,
    _: i32,
    is_loop: i32,
    number: i32,
    inputs: At<Input>,
) -> *mut u8 {
    let all: Vec<Input> = (0..number as usize).map(|n| inputs.at(n).get()).collect();
    begin_modified(is_loop, &all, true)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_task_reduction_modifier_init(
    _: SourceSite,
    _: i32,
    is_loop: i32,
    number: i32,
    inputs: At<OldInput>,
) -> *mut u8 {
    let all: Vec<Input> = (0..number as usize).map(|n| newer(&inputs.at(n).get())).collect();
    begin_modified(is_loop, &all, false)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_task_reduction_modifier_fini(_: SourceSite, _: i32, is_loop: i32) {
    let member = me();
    let items = member.task().group().map(|group| group.reductions().clone()).unwrap_or_default();
    task::end_group();
    let team = member.team();
    team.modifiers[usize::from(is_loop != 0)].end(&items, team.threads());
}

crate::micro::from_where! {
    __kmpc_omp_taskwait => taskwait, "rdx";
    __kmpc_end_taskgroup => end_taskgroup, "rdx";
}
