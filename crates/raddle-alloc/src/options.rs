//! Owns: what can be chosen, and how it is written.
//! May use: `decay`, `hardened`, `profile`, `system`, `thread`, `libc`, `raddle-syscall`.
//! Never: reading the environment; that is for who loads the allocator.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{decay, hardened, profile, system, thread};

static REPORTS: AtomicBool = AtomicBool::new(false);

/// What was wrong with the options, and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownOption<'t> {
    /// The part of the text that is not understood.
    pub part: &'t str,
    /// What could stand there.
    pub allowed: &'static str,
}

impl std::fmt::Display for UnknownOption<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is no option of the allocator; allowed: {}", self.part, self.allowed)
    }
}

impl std::error::Error for UnknownOption<'_> {}

/// An option: its name, what it may be, and what it does; that answers whether it knows the value.
struct Setting {
    name: &'static str,
    allowed: &'static str,
    set: fn(&str) -> bool,
}

const ALL: &str = "decay, limit, huge_pages, hardened, stats, profile, profile_interval, with commas between them, \
                   as in `decay=500,stats=on`";

const SETTINGS: [Setting; 7] = [
    Setting {
        name: "decay",
        allowed: "decay=MILLISECONDS after which free memory goes back to the kernel, or decay=never",
        set: |value| {
            let ms = if value == "never" { Some(u64::MAX) } else { value.parse().ok() };
            ms.map(decay::set).is_some()
        },
    },
    Setting {
        name: "limit",
        allowed: "limit=BYTES of address space, with K, M, G or T behind the number if you like",
        set: |value| bytes(value).map(system::set_limit).is_some(),
    },
    Setting {
        name: "huge_pages",
        allowed: "huge_pages=always, huge_pages=never, huge_pages=default (what the kernel does)",
        set: |value| match value {
            "always" => advise(libc::MADV_HUGEPAGE),
            "never" => advise(libc::MADV_NOHUGEPAGE),
            "default" => advise(0),
            _ => false,
        },
    },
    Setting {
        name: "hardened",
        allowed: "hardened=on (each block is checked, for good), hardened=off",
        set: |value| match value {
            "on" => {
                hardened::turn_on();
                thread::leave_for_now();
                true
            }
            "off" => !hardened::is_on(),
            _ => false,
        },
    },
    Setting {
        name: "stats",
        allowed: "stats=on (JSON on standard error when the program ends), stats=off",
        set: |value| match value {
            "on" | "off" => {
                REPORTS.store(value == "on", Ordering::Relaxed);
                true
            }
            _ => false,
        },
    },
    Setting {
        name: "profile",
        allowed: "profile=FILE for the heap profile when the program ends; %p is the process id",
        set: profile::turn_on,
    },
    Setting {
        name: "profile_interval",
        allowed: "profile_interval=BYTES from one sample to the next on average, as in `64K`; not 0, nor above 128T",
        set: |value| {
            let interval = bytes(value).filter(|bytes| (1..=profile::INTERVAL_MAX).contains(bytes));
            interval.map(profile::set_interval).is_some()
        },
    },
];

fn advise(advice: i32) -> bool {
    system::set_advice(advice);
    true
}

/// A number of bytes: `4G`, `512M`, `1000`.
fn bytes(text: &str) -> Option<usize> {
    let number = text.trim_end_matches(['K', 'M', 'G', 'T']);
    let shift = match &text[number.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// Sets options, as in `decay=500,limit=4G,huge_pages=never`. They hold for what is mapped afterwards.
///
/// # Errors
/// The first part that is none, with what is allowed; the parts before it are set.
///
/// ```
/// let refused = raddle_alloc::configure("decay=soon").unwrap_err();
/// assert!(refused.to_string().contains("decay=MILLISECONDS"));
/// ```
pub fn configure(text: &str) -> Result<(), UnknownOption<'_>> {
    // bounded: by the text.
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let setting = SETTINGS
            .iter()
            .find(|setting| setting.name == name)
            .ok_or(UnknownOption { part, allowed: ALL })?;
        if !(setting.set)(value) {
            return Err(UnknownOption { part, allowed: setting.allowed });
        }
    }
    Ok(())
}

/// Says on standard error what was wrong, and ends the program with 2.
pub fn refuse(refused: &UnknownOption<'_>) -> ! {
    let parts = ["raddle-alloc: `", refused.part, "` is no option; allowed: ", refused.allowed, "\n"];
    let _if_it_can = parts.iter().try_for_each(|part| raddle_syscall::write(2, part.as_bytes()).map(|_| ()));
    // SAFETY: it ends the program.
    unsafe { libc::_exit(2) }
}

/// Whether statistics are wanted when the program ends.
pub(crate) fn reports() -> bool {
    REPORTS.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_understood_or_told() {
        assert_eq!(configure("decay=1000,stats=off,huge_pages=default"), Ok(()));
        assert_eq!(configure(""), Ok(()));
        assert_eq!(configure("speed=11"), Err(UnknownOption { part: "speed=11", allowed: ALL }));
        for wrong in [
            "decay=x",
            "limit=4X",
            "limit=",
            "limit=99999999T",
            "huge_pages=1",
            "stats",
            "profile_interval=129T",
        ] {
            let refused = configure(wrong).unwrap_err();
            assert_eq!(refused.part, wrong);
            assert!(refused.allowed.starts_with(wrong.split('=').next().unwrap()));
        }
        assert_eq!((bytes("4G"), bytes("12"), bytes("1K")), (Some(4 << 30), Some(12), Some(1024)));
    }
}
