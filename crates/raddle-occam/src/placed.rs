//! Owns: what keeps a PLACED PAR from being shared by ranks, which have no memory in common.
//! May use: `free`, `program`, `types`, `raddle-occam-syntax`.
//! Never: a program refused for it: on one machine a PLACED PAR is a PAR.

use crate::ast::{ProcessId, ProcessKind, SharedEnds};
use crate::diag::{Code, Diagnostic};
use crate::free::Free;
use crate::program::{NameId, NameKind, Program};
use crate::types::Type;

/// Warns of each PLACED PAR that could not be shared.
pub(crate) fn check(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    if program.placed.is_empty() {
        return;
    }
    let free = Free::new(program, program.entry());
    let mut placed: Vec<u32> = program.placed.keys().copied().collect();
    placed.sort_unstable();
    for id in placed {
        let span = program.ast.process(ProcessId(id)).span;
        for reason in reasons(program, &free, ProcessId(id)) {
            let message = format!("ranks cannot share this PLACED PAR: {reason}");
            let complaint = Diagnostic::new(Code::PlacedPar, span, message);
            diagnostics
                .push(complaint.help("on one machine it runs as PAR; with `--ranks` this is an error"));
        }
    }
}

/// Why ranks cannot share this PLACED PAR; nothing if they can.
pub(crate) fn reasons(program: &Program, free: &Free, id: ProcessId) -> Vec<String> {
    let ProcessKind::Construct { body, .. } = &program.ast.process(id).kind else { return Vec::new() };
    let Some(&first) = program.placed.get(&id.0) else { return Vec::new() };
    let (names, _) = free.of_processes(program, body, first);
    let mut reasons: Vec<String> =
        names.into_iter().filter_map(|(name, changed)| reason(program, name, changed)).collect();
    if free.fork_outwards(program, body) {
        reasons.push("a branch forks processes that a FORKING around it counts".to_owned());
    }
    reasons
}

fn reason(program: &Program, name: NameId, changed: bool) -> Option<String> {
    let (ty, types, text) = (program.name(name).ty, &program.types, program.spelling(name));
    if types.holds_barriers(ty) {
        return Some(format!(
            "its branches use the barrier `{text}`, whose members would be on several ranks"
        ));
    }
    match types.get(types.plain(types.innermost(ty))) {
        Type::Chan { shared, .. } if shared != SharedEnds::No => Some(format!(
            "its branches use the SHARED channel `{text}`, whose lock would be on several ranks"
        )),
        Type::Chan { protocol, .. } if types.carries_addresses(protocol) => {
            Some(format!("messages of channel `{text}` have MOBILEs in them, which lie in one rank's memory"))
        }
        Type::Chan { .. } | Type::Timer => None,
        Type::End { .. } => Some(format!("its branches use `{text}`, an end that is mobile")),
        _ if changed && program.name(name).kind != NameKind::Index => {
            Some(format!("a branch changes `{text}`, of which every rank has a copy of its own"))
        }
        _ => None,
    }
}
