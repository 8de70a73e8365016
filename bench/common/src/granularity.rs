//! Owns: the shape of the replicated PAR, its work and its checksum.
//! May use: nothing.
//! Never: a process.

use raddle_measure::Job;

/// The number of packets, of rounds of each, and of updates per round.
#[derive(Clone, Copy, Debug)]
pub struct PacketShape {
    pub packets: usize,
    pub rounds: usize,
    pub grain: usize,
}

impl PacketShape {
    /// # Errors
    /// When a parameter is missing.
    pub fn of(job: &Job) -> Result<PacketShape, String> {
        let number = |name| job.number(name).map(|n| n as usize);
        Ok(PacketShape { packets: number("packets")?, rounds: number("rounds")?, grain: number("grain")? })
    }

    pub fn rounds_in_all(&self) -> u64 {
        (self.packets * self.rounds) as u64
    }

    /// The sum of a packet's array.
    pub fn checked(&self, array: &[i32]) -> u64 {
        array.iter().map(|n| u64::from(n.unsigned_abs())).sum()
    }
}

/// One round's updates.
#[inline(never)]
pub fn work(array: &mut [i32], packet: usize) {
    for place in array {
        *place = place.wrapping_add(packet as i32);
    }
}
