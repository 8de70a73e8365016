//! Owns: `raddle_array_t` and `raddle_halo_t`: arrays over ranks, and the plans that bring their ghosts.
//! May use: `fault`, `handle`, `mpi`, `raddle-mpi`.
//! Never: a lock that is held while somebody waits.
//!
//! Rust lends an array to its exchange. Here the exchange takes it: while it is under way the array's object is empty,
//! and who wants to begin another one, or to destroy it, is told that it is busy. The cells stay where they are.

use crate::fault::{CResult, Fault, entry};
use crate::handle::{Handle, Object, end, expect, get, make, put, text};
use crate::mpi::{NetObject, nanoseconds};
use raddle_mpi::{Cart, DistArray, HaloPlan, Reach};
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Cells = DistArray<f64>;

/// `raddle_array_t`.
pub(crate) struct ArrayObject {
    /// None while an exchange has it.
    cells: Mutex<Option<Cells>>,
    /// What the program is told, which does not change.
    first: AtomicPtr<f64>,
    place: CellPlace,
}

#[derive(Clone, Copy)]
struct CellPlace {
    stride: [usize; 3],
    start: [usize; 3],
    length: [usize; 3],
    inner_start: [usize; 3],
    inner_length: [usize; 3],
}

/// `raddle_part_t`.
#[repr(C)]
pub(crate) struct PartOfArray {
    first: *mut f64,
    stride: [usize; 3],
    start: [usize; 3],
    length: [usize; 3],
    inner_start: [usize; 3],
    inner_length: [usize; 3],
}

impl Object for ArrayObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlarr");
}

/// `raddle_halo_t`.
pub(crate) struct HaloObject(Mutex<HaloState>);

enum HaloState {
    Free(HaloPlan<f64>),
    Flying(Flight),
    /// A call has it.
    Taken,
}

/// An exchange that is under way.
struct Flight {
    plan: HaloPlan<f64>,
    cells: Cells,
    /// Whose they are; it is not destroyed while it is empty.
    home: &'static ArrayObject,
}

impl Object for HaloObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlhal");
}

/// What panics under a lock here leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Three numbers of the program's.
fn three(numbers: *const usize) -> CResult<[usize; 3]> {
    if numbers.is_null() || !numbers.is_aligned() {
        return Err(Fault::Invalid);
    }
    // SAFETY: the interface asks for three numbers there.
    Ok(unsafe { numbers.cast::<[usize; 3]>().read() })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_array_create(
    net: *const Handle<NetObject>,
    name: *const c_char,
    cells: *const usize,
    ranks: *const usize,
    out: *mut *mut Handle<ArrayObject>,
) -> c_int {
    entry(|| {
        expect(out)?;
        let (net, name, size) = (get(net)?.net(), text(name)?, three(cells)?);
        let cart = if ranks.is_null() { Cart::fitting(net, size) } else { Cart::new(net, three(ranks)?) };
        let cells = cart.and_then(|cart| Cells::new(name, &cart, size));
        let mut cells = cells.map_err(|error| Fault::of_net(&error))?;
        let (first, stride, inner) = cells.lie();
        let own = cells.own();
        let place = CellPlace {
            stride,
            start: [0, 1, 2].map(|axis| own[axis].start),
            length: [0, 1, 2].map(|axis| own[axis].len()),
            inner_start: [0, 1, 2].map(|axis| inner[axis].start),
            inner_length: [0, 1, 2].map(|axis| inner[axis].len()),
        };
        let object = ArrayObject { cells: Mutex::new(Some(cells)), first: AtomicPtr::new(first), place };
        make(out, object)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_array_destroy(array: *mut Handle<ArrayObject>) -> c_int {
    entry(|| {
        if lock(&get(array)?.cells).is_none() {
            return Err(Fault::Busy);
        }
        end(array).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_array_part(array: *const Handle<ArrayObject>, out: *mut PartOfArray) -> c_int {
    entry(|| {
        let array = get(array)?;
        let CellPlace { stride, start, length, inner_start, inner_length } = array.place;
        let first = array.first.load(Ordering::Relaxed);
        put(out, PartOfArray { first, stride, start, length, inner_start, inner_length })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_halo_create(
    net: *const Handle<NetObject>,
    array: *const Handle<ArrayObject>,
    reach: c_int,
    out: *mut *mut Handle<HaloObject>,
) -> c_int {
    entry(|| {
        expect(out)?;
        let reach = match reach {
            1 => Reach::Faces,
            2 => Reach::Edges,
            3 => Reach::Corners,
            _ => return Err(Fault::Invalid),
        };
        let (net, array) = (get(net)?, get(array)?);
        // The plan is made without a lock: it waits for the other ranks, and nobody ends the net under it.
        let _using = net.enter();
        let lent = LentCells { cells: Some(lock(&array.cells).take().ok_or(Fault::Busy)?), home: array };
        let cells = lent.cells.as_ref().ok_or(Fault::Busy)?;
        let plan = net.net().plan_halo_of(cells, reach).map_err(|error| Fault::of_net(&error))?;
        make(out, HaloObject(Mutex::new(HaloState::Free(plan))))
    })
}

/// Cells that go home, whatever happens.
struct LentCells<'h> {
    cells: Option<Cells>,
    home: &'h ArrayObject,
}

impl Drop for LentCells<'_> {
    fn drop(&mut self) {
        if let Some(cells) = self.cells.take() {
            *lock(&self.home.cells) = Some(cells);
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_halo_destroy(halo: *mut Handle<HaloObject>) -> c_int {
    entry(|| {
        if !matches!(*lock(&get(halo)?.0), HaloState::Free(_)) {
            return Err(Fault::Busy);
        }
        end(halo).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_halo_start(halo: *mut Handle<HaloObject>, array: *mut Handle<ArrayObject>) -> c_int {
    entry(|| {
        let (halo, home): (_, &'static ArrayObject) = (get(halo)?, get(array)?);
        let mut state = lock(&halo.0);
        if !matches!(*state, HaloState::Free(_)) {
            return Err(Fault::Busy);
        }
        let cells = lock(&home.cells).take().ok_or(Fault::Busy)?;
        let HaloState::Free(plan) = std::mem::replace(&mut *state, HaloState::Taken) else {
            return Err(Fault::Busy);
        };
        drop(state);
        let mut begins = BeginsExchange { parts: Some((plan, cells)), halo, home };
        let (plan, cells) = begins.parts.as_mut().ok_or(Fault::Busy)?;
        // Mode auto may change who looks, and that waits for who looks now.
        plan.begin(cells).map_err(|error| Fault::of_net(&error))?;
        if let Some((plan, cells)) = begins.parts.take() {
            *lock(&halo.0) = HaloState::Flying(Flight { plan, cells, home });
        }
        Ok(())
    })
}

/// A plan that begins with cells: both are free again if it is refused, or if that panics.
struct BeginsExchange<'h> {
    parts: Option<(HaloPlan<f64>, Cells)>,
    halo: &'h HaloObject,
    home: &'static ArrayObject,
}

impl Drop for BeginsExchange<'_> {
    fn drop(&mut self) {
        if let Some((plan, cells)) = self.parts.take() {
            *lock(&self.home.cells) = Some(cells);
            *lock(&self.halo.0) = HaloState::Free(plan);
        }
    }
}

/// An exchange for which somebody waits: it is under way again if he is cancelled.
struct Awaited<'h> {
    flight: Option<Flight>,
    halo: &'h HaloObject,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        if let Some(flight) = self.flight.take() {
            *lock(&self.halo.0) = HaloState::Flying(flight);
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_halo_wait(halo: *mut Handle<HaloObject>) -> c_int {
    entry(|| {
        let halo = get(halo)?;
        let mut state = lock(&halo.0);
        let flight = match std::mem::replace(&mut *state, HaloState::Taken) {
            HaloState::Flying(flight) => flight,
            other => {
                let is_taken = matches!(other, HaloState::Taken);
                *state = other;
                return Err(if is_taken { Fault::Busy } else { Fault::Invalid });
            }
        };
        drop(state);
        let mut awaited = Awaited { flight: Some(flight), halo };
        let flight = awaited.flight.as_mut().ok_or(Fault::Busy)?;
        let ended = flight.plan.finish(&mut flight.cells);
        let Flight { plan, cells, home } = awaited.flight.take().ok_or(Fault::Busy)?;
        *lock(&home.cells) = Some(cells);
        *lock(&halo.0) = HaloState::Free(plan);
        ended.map_err(|error| Fault::of_net(&error))
    })
}

/// `raddle_halo_report_t`.
#[repr(C)]
pub(crate) struct ReportOfHalo {
    exchanges: u64,
    waited_ns: u64,
    under_way_ns: u64,
    copying_ns: u64,
    bytes: u64,
}

#[unsafe(no_mangle)]
extern "C" fn raddle_halo_report(halo: *const Handle<HaloObject>, out: *mut ReportOfHalo) -> c_int {
    entry(|| {
        let state = lock(&get(halo)?.0);
        let HaloState::Free(plan) = &*state else { return Err(Fault::Busy) };
        let report = plan.report();
        put(
            out,
            ReportOfHalo {
                exchanges: report.exchanges,
                waited_ns: nanoseconds(report.waited),
                under_way_ns: nanoseconds(report.under_way),
                copying_ns: nanoseconds(report.copying),
                bytes: plan.bytes() as u64,
            },
        )
    })
}
