//! Owns: `Held`, who holds a lock and since where, as a report says it.
//! May use: nothing.
//! Never: following the address of a holder.

use std::fmt;
use std::panic::Location;

/// Where a lock that is held was taken, and by what kind of thread; `Mutex::held` tells.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// None for an adaptor's lock, which does not come to a user's hands.
    site: Option<&'static Location<'static>>,
    /// The header of the process, or an address of the OS thread's own: compared, never followed.
    who: *const (),
    by_os_thread: bool,
    by_caller: bool,
}

impl Held {
    pub(crate) fn new(
        site: &'static Location<'static>,
        who: *const (),
        by_os_thread: bool,
        by_caller: bool,
    ) -> Held {
        Held { site: Some(site), who, by_os_thread, by_caller }
    }

    /// As the owner of an adaptor's lock says, who does not note where it was taken.
    pub(crate) fn by_owner(who: *const (), by_os_thread: bool, by_caller: bool) -> Held {
        Held { site: None, who, by_os_thread, by_caller }
    }

    /// Where it was taken.
    pub fn site(&self) -> &'static Location<'static> {
        self.site.expect("a lock of ours notes where it is taken")
    }

    /// Where it was taken, if that has been noted.
    pub fn since(&self) -> Option<&'static Location<'static>> {
        self.site
    }

    /// What tells the holder from all others that live: compared, never followed.
    pub fn who(&self) -> *const () {
        self.who
    }

    /// Whether it is the one that asks that holds it.
    pub fn by_caller(&self) -> bool {
        self.by_caller
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match (self.by_caller, self.by_os_thread) {
            (true, _) => "the caller",
            (_, true) => "an OS thread",
            _ => "a process",
        };
        f.write_str(&held_by(Some(by), self.site))
    }
}

// SAFETY: the address is compared, never followed.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

/// `held by WHO since WHERE`, for reports: `who` is none if it is not among those who wait there, `since` if nobody has
/// noted it.
pub fn held_by(who: Option<&str>, since: Option<&Location<'_>>) -> String {
    let who = who.unwrap_or("one that has ended, or an OS thread");
    since.map_or_else(|| format!("held by {who}"), |since| format!("held by {who} since {since}"))
}
