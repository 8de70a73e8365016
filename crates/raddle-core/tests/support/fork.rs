//! A fork whose child runs on and whose parent waits for it.

/// Forks; returns in the child only, with `None`, and in the parent with the child's exit code.
pub(crate) fn fork() -> Option<i32> {
    // SAFETY: the child uses only what the tests say that it may.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        return None;
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just made.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    Some(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 })
}
