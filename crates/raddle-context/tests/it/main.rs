//! What a user of stacks and the switch may rely on, grouped by behaviour.

mod dropped;
// The sanitizers handle these signals themselves, and say more; the twin has no stacks to run off.
mod note;
#[cfg(not(any(raddle_asan, raddle_tsan, raddle_twin)))]
mod overflow;
mod stacks;
mod support;
mod switch;
// The sanitizers make system calls of their own.
#[cfg(not(any(raddle_asan, raddle_tsan)))]
mod syscalls;
mod tls;
// There is no walk under the twin and ThreadSanitizer; and AddressSanitizer's frames have parts that nobody may read.
#[cfg(not(any(raddle_asan, raddle_tsan, raddle_twin)))]
mod walk;
