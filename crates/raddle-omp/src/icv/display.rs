//! Owns: what `OMP_DISPLAY_ENV` and `omp_display_env` print.
//! May use: `report`.
//! Never: standard output.

use super::{AUTO, DYNAMIC, GUIDED, MONOTONIC, TARGET, TEAMS, TEAMS_LIMIT, settings};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

fn flag(value: bool) -> &'static str {
    if value { "TRUE" } else { "FALSE" }
}

fn bind(bind: u32) -> &'static str {
    ["FALSE", "TRUE", "PRIMARY", "CLOSE", "SPREAD"].get(bind as usize).unwrap_or(&"FALSE")
}

/// All variables with their values, to standard error.
pub(crate) fn display(verbose: bool) {
    let set = settings();
    let mut text = String::from("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '201511'\n");
    let mut line = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  [host] {name} = '{value}'");
    };
    let joined = |all: &[u32], one: u32| match all {
        [] => one.to_string(),
        all => all.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    };
    let kind = match set.first.schedule & !MONOTONIC {
        DYNAMIC => "DYNAMIC",
        GUIDED => "GUIDED",
        AUTO => "AUTO",
        _ => "STATIC",
    };
    let chunk = if set.first.chunk > 1 { format!(",{}", set.first.chunk) } else { String::new() };
    line("OMP_DYNAMIC", flag(set.first.is_dynamic));
    line("OMP_NESTED", flag(set.first.levels_max > 1));
    line("OMP_NUM_THREADS", &joined(&set.threads, set.first.threads));
    line("OMP_SCHEDULE", &format!("{kind}{chunk}"));
    line("OMP_PROC_BIND", bind(set.first.bind));
    line("OMP_PLACES", &super::places::written());
    line("OMP_STACKSIZE", &format!("{}K", set.stack_bytes >> 10));
    line("OMP_WAIT_POLICY", if set.is_active_wait == Some(true) { "ACTIVE" } else { "PASSIVE" });
    line("OMP_THREAD_LIMIT", &set.first.limit.to_string());
    line("OMP_MAX_ACTIVE_LEVELS", &set.first.levels_max.to_string());
    line("OMP_NUM_TEAMS", &TEAMS.load(Ordering::Relaxed).to_string());
    line("OMP_TEAMS_THREAD_LIMIT", &TEAMS_LIMIT.load(Ordering::Relaxed).to_string());
    line("OMP_CANCELLATION", flag(set.is_cancellation));
    line("OMP_DEFAULT_DEVICE", &set.first.device.to_string());
    line("OMP_MAX_TASK_PRIORITY", &set.priority_max.to_string());
    line("OMP_DISPLAY_AFFINITY", flag(set.display_affinity));
    line("OMP_ALLOCATOR", &set.first.allocator.to_string());
    let target = ["DISABLED", "DEFAULT", "MANDATORY"][TARGET.load(Ordering::Relaxed) as usize % 3];
    line("OMP_TARGET_OFFLOAD", target);
    if verbose {
        line("RADDLE_WORKERS", &std::env::var("RADDLE_WORKERS").unwrap_or_default());
        line("OPENMP_SPIN", &std::env::var("OPENMP_SPIN").unwrap_or_default());
    }
    text.push_str("OPENMP DISPLAY ENVIRONMENT END\n");
    crate::report::write(&text);
}
