//! Owns: libgomp's tasks: dependences in its form, groups, loops of tasks, reductions, events.
//! May use: `abi`, `engine`, `icv`, `report`, `told`, `raddle-core`.
//! Never: the order of tasks.

use crate::abi::{At, CFunction};
use crate::engine::depend::UseKind;
use crate::engine::fork;
use crate::engine::member::me;
use crate::engine::reduction;
use crate::engine::task::{self, Group, Made, Task, TaskBody};
use crate::engine::team::RegionWork;
use crate::told::ProgramSite;

const UNTIED: u32 = 1;
const FINAL: u32 = 2;
const DEPEND: u32 = 8;
const PRIORITY: u32 = 16;
const UP: u32 = 256;
const GRAINSIZE: u32 = 512;
const IF: u32 = 1024;
const NOGROUP: u32 = 2048;
const REDUCTION: u32 = 4096;
const DETACH: u32 = 8192;
const STRICT: u32 = 16384;

type CopyArguments = Option<unsafe extern "C-unwind" fn(*mut u8, *mut u8)>;

/// Copies a task's arguments, by the compiler's function or byte by byte.
fn copy_arguments(copy: CopyArguments, to: *mut u8, from: *mut u8, bytes: usize) {
    match copy {
        // SAFETY: the compiler's, for these.
        Some(copy) => unsafe { copy(to, from) },
        // SAFETY: as large as the compiler says.
        None => unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) },
    }
}

/// The addresses that gcc lists: how many of which kind, then they.
fn uses_of(depend: At<usize>) -> Vec<(usize, UseKind)> {
    let word = |n: usize| depend.at(n).get();
    if depend.is_null() {
        return Vec::new();
    }
    if word(0) != 0 {
        let (all, out) = (word(0), word(1));
        let kind = |n| if n < out { UseKind::Out } else { UseKind::In };
        return (0..all).map(|n| (word(2 + n), kind(n))).collect();
    }
    let (all, out, exclusive, ins) = (word(1), word(2), word(3), word(4));
    let one = |n: usize| {
        let address = word(5 + n);
        if n < out + exclusive {
            return (address, UseKind::Out);
        }
        if n < out + exclusive + ins {
            return (address, UseKind::In);
        }
        // An object of the program's: an address and a kind.
        let object = At::<usize>::new(std::ptr::with_exposed_provenance_mut(address));
        let kind = match object.at(1).get() {
            1 => UseKind::In,
            5 => UseKind::Set,
            _ => UseKind::Out,
        };
        (object.get(), kind)
    };
    (0..all).map(one).collect()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_task(
    function: CFunction,
    data: *mut u8,
    copy: CopyArguments,
    bytes: usize,
    align: usize,
    is_deferred: bool,
    flags: u32,
    depend: At<usize>,
    priority: i32,
    detach: At<*mut u8>,
) {
    let member = me();
    let parent = member.task();
    if parent.is_cancelled() {
        return;
    }
    let mut uses = if flags & DEPEND != 0 { uses_of(depend) } else { Vec::new() };
    let is_final = flags & FINAL != 0 || parent.is_final.get();
    let has_event = flags & DETACH != 0;
    let team = member.team();
    // What is not deferred runs at once; so does one of very many, if it need not wait for others.
    let is_crowded = || uses.is_empty() && !has_event && team.queues.is_full(member.tid.get());
    // Outside of all regions nobody would wait for it.
    let is_alone = team.level == 0 && !has_event;
    let runs_now = !is_deferred || parent.is_final.get() || is_alone || is_crowded();
    let made = Made {
        body: TaskBody::None,
        destroys: None,
        is_tied: flags & UNTIED == 0,
        is_final,
        priority: if flags & PRIORITY != 0 { priority.min(crate::icv::settings().priority_max) } else { 0 },
    };
    if runs_now && copy.is_none() {
        let (task, _) = Task::make(&Made { body: TaskBody::Data(function, data), ..made }, 0, 16);
        open_event(task, has_event, detach, data);
        task::submit(task, &uses, true);
        return;
    }
    let (task, arguments) = Task::make(&made, bytes, align);
    open_event(task, has_event, detach, data);
    copy_arguments(copy, arguments, data, bytes);
    // SAFETY: just made, and nobody else's.
    unsafe { &*task }.set_body(TaskBody::Data(function, arguments), None);
    task::submit(task, &std::mem::take(&mut uses), runs_now);
}

/// The event's handle goes to the program's variable, and into the first word of the arguments.
fn open_event(task: *const Task, has_event: bool, detach: At<*mut u8>, data: *mut u8) {
    if has_event {
        // SAFETY: just made, and nobody else's.
        unsafe { &*task }.open_event();
        detach.set_if(task.cast_mut().cast());
        At::<*mut u8>::new(data.cast()).set_if(task.cast_mut().cast());
    }
}

extern "C-unwind" fn taskwait(code: usize) {
    me().site.set(ProgramSite::of_return(code));
    task::wait_for_children();
}

extern "C-unwind" fn taskgroup_end(code: usize) {
    me().site.set(ProgramSite::of_return(code));
    task::end_group();
}

crate::micro::from_where! {
    GOMP_taskwait => taskwait, "rdi";
    GOMP_taskgroup_end => taskgroup_end, "rdi";
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_taskwait_depend(depend: At<usize>) {
    task::wait_for_dependences(&uses_of(depend));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_taskyield() {
    raddle_core::door::tick::yield_if_due();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_taskgroup_start() {
    Group::begin();
}

/// The tables that the caller's group has.
pub(super) fn registered() -> usize {
    me().task().group().map_or(0, |group| group.tables.get())
}

pub(super) fn set_registered(tables: usize) {
    if let Some(group) = me().task().group() {
        group.tables.set(tables);
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_taskgroup_reduction_register(data: At<usize>) {
    reduction::register_tables(data, registered(), 0, me().team().threads() as usize);
    set_registered(data.pointer().expose_provenance());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_taskgroup_reduction_unregister(data: At<usize>) {
    reduction::unregister_tables(data);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_task_reduction_remap(count: usize, originals: usize, addresses: At<usize>) {
    let (data, tid) = (registered(), me().tid.get() as usize);
    for n in 0..count {
        let address = addresses.at(n).get();
        let Some((copy, original)) = reduction::remap(data, address, tid) else {
            crate::report::fatal(&format!("no reduction over tasks has the variable at {address:#x}"));
        };
        addresses.at(n).set(copy);
        if n < originals {
            addresses.at(count + n).set(original);
        }
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel_reductions(
    function: CFunction,
    data: *mut u8,
    threads: u32,
    flags: u32,
) -> u32 {
    super::note_flags(flags);
    let count = fork::count_for(me(), threads);
    let tables = At::<At<usize>>::new(data.cast()).get();
    reduction::register_tables(tables, registered(), 0, count as usize);
    let body = RegionWork::Data(function, data);
    let team = fork::begin_with(body, count, None, tables.pointer().expose_provenance());
    let count = team.threads();
    fork::work(team, me());
    fork::end();
    count
}

/// How many iterations each task of a loop has.
fn shares(trip: u64, flags: u32, number: u64, threads: u64) -> Vec<u64> {
    let even = |tasks: u64| {
        let (share, rest) = (trip / tasks, trip % tasks);
        (0..tasks).map(|n| share + u64::from(n < rest)).collect()
    };
    if flags & GRAINSIZE == 0 {
        let tasks = if number == 0 { threads } else { number };
        return even(tasks.clamp(1, trip));
    }
    let grain = number.max(1);
    if flags & STRICT == 0 {
        return even((trip / grain).max(1));
    }
    (0..trip.div_ceil(grain)).map(|n| grain.min(trip - n * grain)).collect()
}

/// A loop of tasks, as gcc passes it.
struct Loop {
    function: CFunction,
    data: *mut u8,
    copy: CopyArguments,
    bytes: usize,
    align: usize,
    flags: u32,
    tasks: u64,
    priority: i32,
}

impl Loop {
    fn run(&self, (first, step, trip): (u64, u64, u64)) {
        let has_group = self.flags & NOGROUP == 0;
        // Behind the two bounds.
        let reductions = || At::<At<usize>>::new(self.data.cast()).at(2).get();
        if trip == 0 || me().task().is_cancelled() {
            if has_group && self.flags & REDUCTION != 0 {
                // The program is told that nothing has been registered.
                reductions().at(2).set(0);
            }
            return;
        }
        if has_group {
            Group::begin();
            if self.flags & REDUCTION != 0 {
                GOMP_taskgroup_reduction_register(reductions());
            }
        }
        self.tasks(first, step, trip);
        if has_group {
            task::end_group();
        }
    }

    fn tasks(&self, mut first: u64, step: u64, trip: u64) {
        let parent = me().task();
        let threads = me().team().threads().into();
        let runs_now = self.flags & IF == 0 || parent.is_final.get();
        for share in shares(trip, self.flags, self.tasks, threads) {
            let made = Made {
                body: TaskBody::None,
                destroys: None,
                is_tied: self.flags & UNTIED == 0,
                is_final: self.flags & FINAL != 0,
                priority: if self.flags & PRIORITY != 0 { self.priority } else { 0 },
            };
            let (task, arguments) = Task::make(&made, self.bytes.max(16), self.align);
            copy_arguments(self.copy, arguments, self.data, self.bytes);
            let end = first.wrapping_add(share.wrapping_mul(step));
            let bounds = At::<u64>::new(arguments.cast());
            bounds.set(first);
            bounds.at(1).set(end);
            first = end;
            // SAFETY: just made, and nobody else's.
            unsafe { &*task }.set_body(TaskBody::Data(self.function, arguments), None);
            let crowded = me().team().queues.is_full(me().tid.get());
            task::submit(task, &[], runs_now || crowded);
        }
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_taskloop(
    function: CFunction,
    data: *mut u8,
    copy: CopyArguments,
    bytes: usize,
    align: usize,
    flags: u32,
    tasks: u64,
    priority: i32,
    start: i64,
    end: i64,
    step: i64,
) {
    let all = Loop { function, data, copy, bytes, align, flags, tasks, priority };
    let trip = if step > 0 {
        if start < end { (end.wrapping_sub(start) as u64).div_ceil(step as u64) } else { 0 }
    } else if start > end {
        (start.wrapping_sub(end) as u64).div_ceil(step.unsigned_abs())
    } else {
        0
    };
    all.run((start as u64, step as u64, trip));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_taskloop_ull(
    function: CFunction,
    data: *mut u8,
    copy: CopyArguments,
    bytes: usize,
    align: usize,
    flags: u32,
    tasks: u64,
    priority: i32,
    start: u64,
    end: u64,
    step: u64,
) {
    let all = Loop { function, data, copy, bytes, align, flags, tasks, priority };
    let trip = if flags & UP != 0 {
        if start < end { (end - start).div_ceil(step) } else { 0 }
    } else if start > end {
        (start - end).div_ceil(step.wrapping_neg())
    } else {
        0
    };
    all.run((start, step, trip));
}

/// For a construct that runs on the host.
pub(super) fn wait_for(depend: At<usize>) {
    task::wait_for_dependences(&uses_of(depend));
}
