//! Owns: on which cores a thread may run.
//! May use: `sched_setaffinity`.
//! Never: more than the calling thread (and what it starts later).

/// Lets the calling thread, and threads that it starts from now on, run on the first `count` cores only.
pub fn use_first(count: usize) -> Result<(), String> {
    set(0..count)
}

/// Pins the calling thread to core `index`.
pub fn pin(index: usize) -> Result<(), String> {
    set(index..index + 1)
}

fn set(cores: std::ops::Range<usize>) -> Result<(), String> {
    // SAFETY: cpu_set_t is a plain bit mask, for which all zeros is the empty set.
    let mut mask: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for core in cores.clone() {
        // SAFETY: CPU_SET checks its index against the size of the mask.
        unsafe { libc::CPU_SET(core, &mut mask) };
    }
    // SAFETY: the mask is initialised and as large as the size that is passed; 0 means the calling thread.
    let refused = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &mask) };
    match refused {
        0 => Ok(()),
        _ => Err(format!("cannot run on cores {cores:?}: {}", std::io::Error::last_os_error())),
    }
}
