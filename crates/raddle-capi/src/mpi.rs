//! Owns: `raddle_net_t`: the ranks of MPI, messages between them, who looks after what is under way.
//! May use: `fault`, `handle`, `raddle`, `raddle-mpi`.
//! Never: what a rank's program says of another rank.

use crate::fault::{CResult, Fault, entry};
use crate::handle::{
    Handle, Object, Users, Using, bytes, copy_for_program, end, expect, get, make, put, put_if, room,
};
use raddle_mpi::{EmulatedLink, Mode, Net, NetConfig, NetError, OnLate};
use std::ffi::c_int;
use std::time::Duration;

/// `raddle_net_t`.
pub(crate) struct NetObject {
    net: Net,
    users: Users,
}

impl Object for NetObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlnet");
}

impl NetObject {
    pub(crate) fn net(&self) -> &Net {
        &self.net
    }

    /// A call that waits is in it: it is not ended meanwhile.
    pub(crate) fn enter(&self) -> Using<'_> {
        self.users.enter()
    }
}

impl Fault {
    /// What a net has answered.
    #[cold]
    pub(crate) fn of_net(error: &NetError) -> Fault {
        let fault = match error {
            NetError::NotInstalled(_) | NetError::WrongLibrary(_) | NetError::ThreadLevel(_) => {
                Fault::Unsupported
            }
            NetError::Late(_) | NetError::GivenUp { .. } => Fault::Late,
            NetError::Misuse(_) => Fault::Invalid,
            NetError::Over => Fault::Closed,
            _ => Fault::Mpi,
        };
        fault.told(error)
    }
}

/// `RADDLE_LATE_`.
fn on_late(number: c_int) -> CResult<OnLate> {
    match number {
        0 => Ok(OnLate::Error),
        1 => Ok(OnLate::Abort),
        2 => Ok(OnLate::ErrorOnAll),
        _ => Err(Fault::Invalid),
    }
}

/// `RADDLE_MODE_`.
fn mode(number: c_int, processor: c_int) -> CResult<Mode> {
    let core = match processor {
        -1 => None,
        number => Some(usize::try_from(number).map_err(|_| Fault::Invalid)?),
    };
    match number {
        0 => Ok(Mode::Inline),
        1 => Ok(Mode::Shared),
        2 => Ok(Mode::Watched),
        3 => Ok(Mode::Dedicated { core }),
        4 => Ok(Mode::Auto { core }),
        _ => Err(Fault::Invalid),
    }
}

/// A call that waits on a net, which is not destroyed meanwhile.
fn on(net: *const Handle<NetObject>, call: impl FnOnce(&Net) -> Result<(), NetError>) -> CResult {
    let net = get(net)?;
    let _using = net.enter();
    call(&net.net).map_err(|error| Fault::of_net(&error))
}

/// A copy of what is sent. Its size is looked at first: to copy what MPI takes no message of might end the program.
fn copied(data: *const u8, size: usize) -> CResult<Vec<u8>> {
    if c_int::try_from(size).is_err() {
        return Err(Fault::Invalid.told(format!("a message of {size} bytes: MPI takes less than 2^31")));
    }
    bytes(data, size).map(<[u8]>::to_vec)
}

fn tag(number: c_int) -> CResult<u16> {
    u16::try_from(number).map_err(|_| Fault::Invalid)
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_start(
    deadline_ns: i64,
    late: c_int,
    emulated_megabits: f64,
    out: *mut *mut Handle<NetObject>,
) -> c_int {
    entry(|| {
        expect(out)?;
        let mut config = NetConfig::default().on_late(on_late(late)?);
        if let Ok(deadline) = u64::try_from(deadline_ns) {
            config = config.deadline(Duration::from_nanos(deadline));
        }
        if !emulated_megabits.is_finite() || emulated_megabits < 0.0 {
            return Err(Fault::Invalid);
        }
        if emulated_megabits > 0.0 {
            config = config.link(EmulatedLink::megabits(emulated_megabits));
        }
        let net = Net::start(config).map_err(|error| Fault::of_net(&error))?;
        make(out, NetObject { net, users: Users::default() })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_end(net: *mut Handle<NetObject>) -> c_int {
    entry(|| {
        get(net)?.users.none()?;
        let net = end(net)?;
        // Half an end would leave the other ranks waiting.
        raddle::cancel::shield(|| drop(net));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_place(net: *const Handle<NetObject>, rank: *mut usize, size: *mut usize) -> c_int {
    entry(|| {
        let net = &get(net)?.net;
        put_if(rank, net.rank());
        put_if(size, net.size());
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_library(net: *const Handle<NetObject>, out: *mut *mut u8) -> c_int {
    entry(|| {
        expect(out)?;
        put(out, copy_for_program(get(net)?.net.library().as_bytes())?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_mode(net: *const Handle<NetObject>, number: c_int, processor: c_int) -> c_int {
    entry(|| {
        let mode = mode(number, processor)?;
        // What it refuses is that there are no workers.
        get(net)?.net.set_mode(mode).map_err(|error| Fault::Unsupported.told(error))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_report(net: *const Handle<NetObject>, out: *mut *mut u8) -> c_int {
    entry(|| {
        expect(out)?;
        let net = &get(net)?.net;
        let text = match net.auto_report() {
            Some(report) if report.reason.is_empty() => {
                format!("auto: nothing is chosen yet; {}", report.acting)
            }
            Some(report) => format!("auto, {}", report.reason),
            None => net.mode().to_string(),
        };
        put(out, copy_for_program(text.as_bytes())?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_point(net: *const Handle<NetObject>) -> c_int {
    entry(|| {
        get(net)?.net.point();
        Ok(())
    })
}

/// `raddle_net_counters_t`.
#[repr(C)]
pub(crate) struct CountersOfNet {
    looks: u64,
    empty: u64,
    longest_gap_ns: u64,
    processor_ns: u64,
}

/// Of a time; centuries are not told apart.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_counters(net: *const Handle<NetObject>, out: *mut CountersOfNet) -> c_int {
    entry(|| {
        let counters = get(net)?.net.counters();
        put(
            out,
            CountersOfNet {
                looks: counters.polls,
                empty: counters.empty,
                longest_gap_ns: nanoseconds(counters.longest_gap),
                processor_ns: nanoseconds(counters.processor),
            },
        )
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_send(
    net: *const Handle<NetObject>,
    peer: usize,
    number: c_int,
    data: *const u8,
    size: usize,
) -> c_int {
    entry(|| {
        let (tag, data) = (tag(number)?, bytes(data, size)?);
        on(net, |net| net.send(peer, tag, data))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_receive(
    net: *const Handle<NetObject>,
    peer: usize,
    number: c_int,
    data: *mut u8,
    size: usize,
    done: *mut usize,
) -> c_int {
    entry(|| {
        let (tag, room) = (tag(number)?, room(data, size)?);
        on(net, |net| net.receive(peer, tag, room).map(|came| put_if(done, came)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_exchange(
    net: *const Handle<NetObject>,
    peer: usize,
    number: c_int,
    out: *const u8,
    out_size: usize,
    into: *mut u8,
    in_size: usize,
    done: *mut usize,
) -> c_int {
    entry(|| {
        // What is sent is copied before anything is received: both may be one.
        let (tag, out, room) = (tag(number)?, copied(out, out_size)?, room(into, in_size)?);
        on(net, |net| net.exchange(peer, tag, &out, room).map(|came| put_if(done, came)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_barrier(net: *const Handle<NetObject>) -> c_int {
    entry(|| on(net, Net::barrier))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_net_all_gather(
    net: *const Handle<NetObject>,
    data: *const u8,
    size: usize,
    all: *mut u8,
) -> c_int {
    entry(|| {
        let count = get(net)?.net.size().checked_mul(size).ok_or(Fault::Invalid)?;
        let data = bytes(data, size)?;
        // Refused before anybody waits.
        room(all, count)?;
        let mut came = Vec::new();
        on(net, |net| {
            came = net.all_gather(data)?;
            Ok(())
        })?;
        // What was sent, which is not looked at any more, may lie there, too.
        room(all, count)?.copy_from_slice(&came);
        Ok(())
    })
}
